//! What becomes of single records.

use crate::model::RecordId;
use std::fmt;

/// Something about one record that does not stop the merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SoftError {
    /// Another number of counters, or a pseudo count on one side only. The
    /// incoming record was left out.
    CountMismatch,
    /// Another number of bitmap bytes. The counters were added, the bitmap and
    /// the values were not.
    BitmapMismatch,
    /// Another number of value sites of some kind. The values of that kind
    /// were left out.
    ValueSiteCountMismatch,
    /// A counter or a value's count stopped at its maximum.
    CounterOverflow,
}

impl SoftError {
    /// Whether LLVM advises to check that all inputs come from one binary.
    pub fn is_mismatch(self) -> bool {
        self != Self::CounterOverflow
    }

    /// The text that llvm-profdata prints (`getInstrProfErrString`).
    pub fn llvm_message(self) -> &'static str {
        match self {
            Self::CountMismatch => "function basic block count change detected (counter mismatch)",
            Self::BitmapMismatch => "function bitmap size change detected (bitmap size mismatch)",
            Self::ValueSiteCountMismatch => "function value site count change detected (counter mismatch)",
            Self::CounterOverflow => "counter overflow",
        }
    }
}

impl fmt::Display for SoftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CountMismatch => "the number of counters differs from that of earlier inputs; record left out",
            Self::BitmapMismatch => "the bitmap size differs from that of earlier inputs; bitmap and values left out",
            Self::ValueSiteCountMismatch => {
                "the number of value sites differs from that of earlier inputs; values left out"
            }
            Self::CounterOverflow => "a count reached its maximum",
        })
    }
}

/// What became of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AddOutcome {
    /// The record it went into.
    pub record: RecordId,
    /// Whether it was the first of its name and FuncHash.
    pub is_new: bool,
    /// The first thing that was wrong with it.
    pub error: Option<SoftError>,
}
