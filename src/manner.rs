//! Whose rules decide what is accepted: ours, or those of llvm-profdata 22.
//!
//! This is the one place that says what differs between the two. Every room
//! that has to decide asks a method here rather than testing the name.

/// Whose rules apply to input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Manner {
    /// Everything harmless is accepted (older versions, large counters, missing
    /// value data), everything damaged is rejected with our own messages.
    #[default]
    Profbridge,
    /// As llvm-profdata 22: what it accepts is accepted, what it rejects is
    /// rejected, with its text and exit code. Its crashes become errors.
    Llvm22,
}

impl Manner {
    /// Whether this is LLVM's manner.
    pub fn is_llvm(self) -> bool {
        self == Self::Llvm22
    }

    /// Raw versions other than 10, and indexed versions above 13, are read.
    pub fn reads_every_raw_version(self) -> bool {
        !self.is_llvm()
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
    pub fn mends_text_output(self) -> bool {
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

    /// Inputs compressed with gzip are inflated.
    pub fn inflates_gzip(self) -> bool {
        !self.is_llvm()
    }
}
