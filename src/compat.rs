//! Whose rules decide what is accepted: ours, or those of llvm-profdata 22, or
//! its rules with ours for the files that it refuses for their version alone.
//!
//! This is the one place that says what differs between the two. Every module
//! that has to decide asks a method here rather than testing the name.

/// The raw version that llvm-profdata 22 reads.
pub const LLVM_22_RAW_VERSION: u32 = 10;

/// The newest indexed version that llvm-profdata 22 reads.
pub const LLVM_22_INDEXED_VERSION: u32 = 13;

/// Whose rules apply to input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compat {
    /// Everything harmless is accepted (older versions, large counters, missing
    /// value data), everything damaged is rejected with our own messages.
    #[default]
    Profbridge,
    /// As llvm-profdata 22: what it accepts is accepted, what it rejects is
    /// rejected, with its text and exit code. Its crashes become errors.
    Llvm22,
    /// In the place of llvm-profdata 22: as [`Llvm22`](Self::Llvm22), but a
    /// file of a version that it does not read is read.
    InPlaceOfLlvm22,
}

impl Compat {
    /// Whether LLVM's rules apply, those for versions aside.
    pub fn is_llvm(self) -> bool {
        matches!(self, Self::Llvm22 | Self::InPlaceOfLlvm22)
    }

    /// Raw versions other than 10 are read.
    pub fn reads_every_raw_version(self) -> bool {
        self != Self::Llvm22
    }

    /// Indexed versions above 13 are read.
    pub fn reads_every_indexed_version(self) -> bool {
        self != Self::Llvm22
    }

    /// Whose rules apply to a raw file of `version`: ours to one that
    /// llvm-profdata 22 would not look at any further, since its rules for
    /// damaged files say nothing about other layouts.
    #[must_use]
    pub fn for_raw_version(self, version: u32) -> Self {
        let others = self.is_llvm() && self.reads_every_raw_version();
        if others && version != LLVM_22_RAW_VERSION { Self::Profbridge } else { self }
    }

    /// A raw counter above 2^56 makes the file count as failed (LLVM 18 on).
    pub fn large_counter_fails_the_file(self) -> bool {
        self.is_llvm()
    }

    /// A raw file that ends where value data would begin is accepted.
    pub fn accepts_missing_value_data(self) -> bool {
        !self.is_llvm()
    }

    /// Text output mends names that LLVM's own reader cannot read back.
    pub fn fixes_text_output(self) -> bool {
        !self.is_llvm()
    }

    /// A text record without a bitmap line inherits the last bitmap that no
    /// merge took over (LLVM 19 to 22).
    pub fn text_bitmaps_stick(self) -> bool {
        self.is_llvm()
    }

    /// `overlap` and `order` pass over faults behind a file's header and use
    /// what was read before (LLVM never asks its readers).
    pub fn ignores_faults_when_comparing(self) -> bool {
        self.is_llvm()
    }

    /// Compressed inputs are decompressed.
    pub fn decompresses(self) -> bool {
        !self.is_llvm()
    }
}
