//! Who will read a profile, and who may have written what it was merged from.

use crate::model::Release;

/// What becomes of the FuncHashes of front-end records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
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
