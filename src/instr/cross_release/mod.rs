//! Making a merged profile one that a certain release of LLVM *uses*.
//!
//! A compiler looks a function up by its name and its FuncHash. Both changed
//! between releases, and a function that is not found is dropped, often without
//! a word:
//!
//! * IR profiles name a local function `file:function` up to LLVM 17 and
//!   `file;function` from 18 on; hashes are the same (`names.rs`).
//! * Front-end profiles of clang keep their names, and from LLVM 22 on the four
//!   highest bits of a large FuncHash are zero. Which of the two a compiler
//!   computes goes by the version of the indexed file (`front_end.rs`).
//!
//! All of it was measured with the compilers and tools of LLVM 14 to 23. What
//! cannot be had is in [`AdaptedProfile::findings`].

pub mod apply;
mod finding;
mod follow;
pub(crate) mod names;

#[cfg(test)]
mod tests;

pub use finding::{CrossReleaseOptions, HashPolicy, Origins};
pub use finding::{Finding, FindingKind};
pub(crate) use follow::RewriteCheck;
pub(crate) use follow::{Candidates, Following};
pub use follow::{Followed, FollowedKind};
#[cfg(feature = "correlate")]
pub(crate) use names::colon_form;

use crate::model::{Profile, Release};
use finding::Counted;
use std::collections::HashMap;

/// A profile for a certain reader.
#[derive(Debug)]
#[non_exhaustive]
pub struct AdaptedProfile {
    /// The profile.
    pub profile: Profile,
    /// The release by whose rules it is to be written.
    pub release: Release,
    /// The version of the indexed format in which that reader uses it.
    pub indexed_version: u32,
    /// What was changed, and what that reader will not use.
    pub findings: Vec<Finding>,
    /// What functions were called before, by their names now; only those that
    /// were renamed.
    pub former_names: HashMap<Vec<u8>, Vec<u8>>,
}

/// Gives a merged profile the names that its reader looks for, and chooses the
/// version by which the reader computes the hashes that are there.
///
/// Where nothing has to change nothing does: inputs of one era written for that
/// era stay as they are.
pub fn cross(profile: Profile, options: &CrossReleaseOptions) -> AdaptedProfile {
    let mut counted = Counted::default();
    let (mut release, mut indexed_version) = (options.release, options.indexed_version);
    let mut former_names = HashMap::new();
    let profile = if profile.kind.is_ir() {
        names::adapt_names(profile, options, &mut counted, &mut former_names)
    } else {
        let (profile, release_of_hashes, version_of_hashes) = names::adapt_hashes(profile, options, &mut counted);
        (release, indexed_version) = (release_of_hashes, version_of_hashes);
        profile
    };
    AdaptedProfile { profile, release, indexed_version, findings: counted.into_findings(), former_names }
}
