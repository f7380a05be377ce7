//! The compatibility mode: profbridge's own rules, those of llvm-profdata 22, or the latter with support for all
//! versions.
//!
//! This is the only place that defines the differences between the modes. Other modules call a method here instead of
//! comparing modes.

/// The raw version that llvm-profdata 22 reads.
pub(crate) const LLVM_22_RAW_VERSION: u32 = 10;

/// The newest indexed version that llvm-profdata 22 reads.
pub(crate) const LLVM_22_INDEXED_VERSION: u32 = 13;

/// The rules for input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compat {
    /// profbridge mode: harmless deviations are accepted (older versions, large counters, missing value data), and
    /// damaged files are rejected with profbridge's messages.
    #[default]
    Profbridge,
    /// Exactly like llvm-profdata 22: accepts and rejects the same inputs, with its messages and exit codes. Its
    /// crashes become errors.
    Llvm22,
    /// A drop-in replacement of llvm-profdata 22: like [`Llvm22`](Self::Llvm22), but files of versions that it cannot
    /// read are accepted.
    InPlaceOfLlvm22,
}

impl Compat {
    /// Returns true if LLVM's rules apply, except those about versions.
    pub fn is_llvm(self) -> bool {
        matches!(self, Self::Llvm22 | Self::InPlaceOfLlvm22)
    }

    /// Returns true if raw versions other than 10 are read.
    pub(crate) fn reads_every_raw_version(self) -> bool {
        self != Self::Llvm22
    }

    /// Returns true if indexed versions above 13 are read.
    pub(crate) fn reads_every_indexed_version(self) -> bool {
        self != Self::Llvm22
    }

    /// Returns the mode for a raw file of `version`: profbridge mode for versions that llvm-profdata 22 rejects,
    /// because its rules for damaged files do not cover their layouts.
    #[must_use]
    pub(crate) fn for_raw_version(self, version: u32) -> Self {
        let others = self.is_llvm() && self.reads_every_raw_version();
        if others && version != LLVM_22_RAW_VERSION { Self::Profbridge } else { self }
    }

    /// Returns true if a raw counter above 2^56 makes the file count as failed (LLVM 18 and later).
    pub(crate) fn large_counter_fails_the_file(self) -> bool {
        self.is_llvm()
    }

    /// Returns true if a raw file without its value data is accepted.
    pub(crate) fn accepts_missing_value_data(self) -> bool {
        !self.is_llvm()
    }

    /// Returns true if text output changes names that LLVM's own reader cannot read back.
    pub(crate) fn fixes_text_output(self) -> bool {
        !self.is_llvm()
    }

    /// Returns true if a text record without a bitmap line inherits the last bitmap that no merge consumed (LLVM 19 to
    /// 22).
    pub(crate) fn text_bitmaps_stick(self) -> bool {
        self.is_llvm()
    }

    /// Returns true if `overlap` and `order` ignore faults after a file's header and use the records before them (LLVM
    /// does not check its readers there).
    pub(crate) fn ignores_faults_when_comparing(self) -> bool {
        self.is_llvm()
    }

    /// Returns true if there is a warning about each function that has no address in debug info, such as an inlined one.
    pub(crate) fn warns_of_functions_without_address(self) -> bool {
        self.is_llvm()
    }

    /// Returns true if `order` knows the names of local functions of LLVM up to 17, `file:function`, too.
    pub(crate) fn splits_names_at_colons(self) -> bool {
        !self.is_llvm()
    }

    /// Returns true if compressed inputs are decompressed.
    pub(crate) fn decompresses(self) -> bool {
        !self.is_llvm()
    }
}
