//! Adaptation of a merged profile to the names and hashes of a target release.
//!
//! A compiler looks a function up by its name and its FuncHash. Both changed between releases, and compilers drop
//! functions that they do not find, often without a message:
//!
//! * IR profiles name a local function `file:function` up to LLVM 17 and `file;function` since LLVM 18. The hashes are
//!   the same (`names.rs`), except that LLVM 12 changed all of them (`ir_hashes.rs`).
//! * Front-end profiles of clang keep their names. Since LLVM 22 the four highest bits of a large FuncHash are zero.
//!   The version of the indexed file determines which of the two a compiler computes (`front_end_hashes.rs`). It also
//!   determines the meaning of MC/DC bitmaps, which changed in LLVM 19 (`bitmaps.rs`).
//!
//! These rules were measured with the compilers and tools of LLVM 14 to 23. [`AdaptedProfile::findings`] lists the
//! functions that cannot be adapted.

pub mod apply;
pub(crate) mod bitmaps;
mod finding;
mod follow;
pub(crate) mod front_end_hashes;
pub(crate) mod ir_hashes;
mod names;

#[cfg(test)]
mod tests;

pub use finding::{CrossReleaseOptions, HashPolicy, Origins};
pub use finding::{Finding, FindingKind};
pub(crate) use follow::RewriteCheck;
pub(crate) use follow::{Candidates, Following};
pub use follow::{Followed, FollowedKind};
pub(crate) use names::has_both_names;

use crate::instr::FunctionFilter;
use crate::model::{Profile, Release};
use finding::Counted;
use std::collections::HashMap;

/// A profile adapted to a target.
#[derive(Debug)]
#[non_exhaustive]
pub struct AdaptedProfile {
    /// The profile.
    pub profile: Profile,
    /// The release whose rules apply to the output.
    pub release: Release,
    /// The version of the indexed format in which the target uses the profile.
    pub indexed_version: u32,
    /// The changes, and the records that the target cannot use.
    pub findings: Vec<Finding>,
    /// Maps new names to former names, for renamed functions only.
    pub former_names: HashMap<Vec<u8>, Vec<u8>>,
}

/// Gives a merged profile the names that its target looks up, and chooses the version for which the target computes the
/// existing hashes.
///
/// A profile is unchanged if the releases of its inputs use the same names and hashes as the target.
pub fn cross(profile: Profile, options: &CrossReleaseOptions) -> AdaptedProfile {
    cross_kept(profile, options, &FunctionFilter::default())
}

/// Adapts a profile, of which only the functions that a filter keeps will be written: they alone have findings.
pub(crate) fn cross_kept(
    mut profile: Profile,
    options: &CrossReleaseOptions,
    filter: &FunctionFilter,
) -> AdaptedProfile {
    let Changed { rebuilt, release, indexed_version, counted, former_names } = Changed::of(&profile, options);
    let findings = if filter.is_none() {
        counted.into_findings(&profile, |_| true)
    } else {
        let filter = filter.clone().former_names(former_names.clone());
        let renamed: HashMap<&[u8], &[u8]> = former_names.iter().map(|(new, old)| (&**old, &**new)).collect();
        counted.into_findings(&profile, |name| filter.keeps(renamed.get(name).copied().unwrap_or(name)))
    };
    if let Some(rebuilt) = rebuilt {
        rebuilt.replace_in(&mut profile);
    }
    AdaptedProfile { profile, release, indexed_version, findings, former_names }
}

/// Returns the [findings](AdaptedProfile::findings) of [`cross`] without changing the profile.
#[cfg(feature = "correlate")]
pub(crate) fn findings(profile: &Profile, options: &CrossReleaseOptions) -> Vec<Finding> {
    Changed::of(profile, options).counted.into_findings(profile, |_| true)
}

/// The changes that [`cross`] makes.
struct Changed {
    /// `None` if the functions stay as they are.
    rebuilt: Option<names::Rebuilt>,
    release: Release,
    indexed_version: u32,
    counted: Counted,
    former_names: HashMap<Vec<u8>, Vec<u8>>,
}

impl Changed {
    fn of(profile: &Profile, options: &CrossReleaseOptions) -> Self {
        let (mut counted, mut former_names) = (Counted::default(), HashMap::new());
        let (rebuilt, release, indexed_version) = if profile.kind.is_ir() {
            ir_hashes::note_ir_hashes(profile, options, &mut counted);
            let rebuilt = names::adapt_names(profile, options, &mut counted, &mut former_names);
            (rebuilt, options.release, options.indexed_version)
        } else {
            let (rebuilt, release, version) = front_end_hashes::adapt_hashes(profile, options, &mut counted);
            let (release, version) = bitmaps::choose(profile, options, (release, version), &mut counted);
            (rebuilt, release, version)
        };
        Self { rebuilt, release, indexed_version, counted, former_names }
    }
}
