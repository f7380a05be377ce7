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
//! cannot be had is in [`Crossed::findings`].

mod finding;
mod front_end;
pub(crate) mod hashes;
mod names;
mod rebuild;

#[cfg(test)]
mod tests;

pub use finding::{Finding, FindingKind};
pub(crate) use names::colon_form;

use crate::instr::{Profile, Release};
use finding::Counted;
use std::collections::HashMap;

/// What becomes of the FuncHashes of front-end records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HashPolicy {
    /// They stay as they are: coverage compares them with those in the binary.
    #[default]
    Keep,
    /// They become those that the reading compiler computes.
    Reader,
}

/// Which releases may have written the inputs of a merge, as far as names and
/// hashes go by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Origins {
    /// Some input is certainly of LLVM 17 or earlier: its local functions are
    /// `file:function`.
    pub before_18: bool,
    /// Some input may hold names of LLVM 17 or earlier.
    pub may_be_before_18: bool,
    /// Some input may hold names of LLVM 18 or later: `file;function`.
    pub may_be_from_18: bool,
    /// Some input is of LLVM 5 or earlier, whose front end computes hashes by
    /// its first algorithm.
    pub first_algorithm: bool,
    /// Some input may be of LLVM 6 to 10, the second algorithm.
    pub second_algorithm: bool,
    /// Some input may be of LLVM 22 or later, the fourth algorithm.
    pub may_be_fourth: bool,
}

impl Origins {
    /// Takes note of a raw profile of that version.
    pub fn add_raw(&mut self, version: u64) {
        self.before_18 |= version <= 8;
        self.may_be_before_18 |= version <= 8;
        self.may_be_from_18 |= version > 8;
        self.first_algorithm |= version <= 4;
        self.second_algorithm |= version == 5;
        self.may_be_fourth |= version >= 10;
    }

    /// Takes note of an indexed profile of that version. What it was merged
    /// from may be older.
    pub fn add_indexed(&mut self, version: u64) {
        self.before_18 |= version <= 10;
        self.may_be_before_18 = true;
        self.may_be_from_18 |= version > 10;
        self.first_algorithm |= version <= 4;
        self.second_algorithm |= version == 5;
        self.may_be_fourth |= version >= 12;
    }

    /// Takes note of a text that says that its names are of LLVM 17 or earlier.
    pub fn add_colon_names(&mut self) {
        self.before_18 = true;
        self.may_be_before_18 = true;
        self.may_be_fourth = true;
    }

    /// Takes note of a profile that does not say who wrote it: text, iprof.
    pub fn add_unknown(&mut self) {
        self.may_be_before_18 = true;
        self.may_be_from_18 = true;
        self.may_be_fourth = true;
    }
}

/// Who will read a profile, and what is known of its inputs.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct CrossReleaseOptions {
    /// The release that reads.
    pub release: Release,
    /// The version of the indexed format to be written.
    pub indexed_version: u32,
    /// Whether somebody asked for that release; else it follows from the inputs
    /// and gives way to what the hashes tell.
    pub release_is_given: bool,
    /// Whether somebody asked for that very version.
    pub version_is_given: bool,
    /// What becomes of the hashes of front-end records.
    pub hashes: HashPolicy,
    /// Who may have written the inputs.
    pub origins: Origins,
}

impl CrossReleaseOptions {
    /// For a release that somebody asked for, with its own version of the
    /// indexed format.
    pub fn new(release: Release, indexed_version: u32, origins: Origins) -> Self {
        Self {
            release,
            indexed_version,
            release_is_given: true,
            version_is_given: false,
            hashes: HashPolicy::Keep,
            origins,
        }
    }
}

/// A profile for a certain reader.
#[derive(Debug)]
#[non_exhaustive]
pub struct Crossed {
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
pub fn cross(profile: Profile, options: &CrossReleaseOptions) -> Crossed {
    let mut counted = Counted::default();
    let (mut release, mut indexed_version) = (options.release, options.indexed_version);
    let mut former_names = HashMap::new();
    let profile = if profile.kind.is_ir() {
        names::cross(profile, options, &mut counted, &mut former_names)
    } else {
        let (profile, release_of_hashes, version_of_hashes) = front_end::cross(profile, options, &mut counted);
        (release, indexed_version) = (release_of_hashes, version_of_hashes);
        profile
    };
    Crossed { profile, release, indexed_version, findings: counted.into_findings(), former_names }
}
