//! What a format cannot hold.

use std::collections::BTreeMap;
use std::fmt;

/// A sort of information that some version of some format has no place for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LossKind {
    /// Records beyond the first of a name (indexed version 1).
    FurtherRecords,
    /// Value sites of indirect calls and memory sizes (indexed versions below 3).
    ValueSites,
    /// Value sites of vtables (before LLVM 19).
    VTableSites,
    /// Bytes of MC/DC bitmaps (before LLVM 18).
    BitmapBytes,
    /// Identities of images (before LLVM 16).
    BinaryIds,
    /// Temporal traces (before LLVM 17).
    TemporalTraces,
    /// The memory profile (before LLVM 15).
    MemProf,
    /// Names of vtables.
    VTableNames,
    /// A variant bit that the release does not know.
    KindBits,
    /// Names that the text format cannot say.
    UnspeakableNames,
    /// Call or vtable targets whose names are not known.
    TargetNames,
    /// Records without counters (raw files).
    RecordsWithoutCounters,
    /// Counts above 1 in byte coverage, which knows covered or not (raw files).
    CounterValues,
    /// Values of a site beyond the 255 most frequent.
    ValuesBeyondLimit,
    /// Entries of a trace that name no record, or one again (raw files).
    TraceEntries,
    /// Anything else; the format's documentation says what.
    Other,
}

impl LossKind {
    /// What is lost, in words, for one and for several.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::FurtherRecords => ("further record of a name", "further records of a name"),
            Self::ValueSites => ("value site", "value sites"),
            Self::VTableSites => ("vtable value site", "vtable value sites"),
            Self::BitmapBytes => ("bitmap byte", "bitmap bytes"),
            Self::BinaryIds => ("binary id", "binary ids"),
            Self::TemporalTraces => ("temporal trace", "temporal traces"),
            Self::MemProf => ("memory profile", "memory profiles"),
            Self::VTableNames => ("vtable name", "vtable names"),
            Self::KindBits => ("property of the profile", "properties of the profile"),
            Self::UnspeakableNames => {
                ("function whose name cannot be written", "functions whose names cannot be written")
            }
            Self::TargetNames => ("target without a name", "targets without a name"),
            Self::RecordsWithoutCounters => ("record without counters", "records without counters"),
            Self::CounterValues => ("count above 1 of a byte counter", "counts above 1 of byte counters"),
            Self::ValuesBeyondLimit => ("value beyond 255 of a site", "values beyond 255 of a site"),
            Self::TraceEntries => ("entry of a temporal trace", "entries of a temporal trace"),
            Self::Other => ("item", "items"),
        }
    }
}

/// Something lost, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// What.
    pub kind: LossKind,
    /// How many.
    pub count: u64,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (one, several) = self.kind.words();
        write!(f, "{} {}", self.count, if self.count == 1 { one } else { several })
    }
}

/// Counts losses by kind.
#[derive(Debug, Clone, Default)]
pub struct Losses(BTreeMap<LossKind, u64>);

impl Losses {
    /// No loss.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts `count` more of a kind; 0 is no loss.
    pub fn add(&mut self, kind: LossKind, count: u64) {
        if count != 0 {
            let sum = self.0.entry(kind).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// All losses, in the order of the kinds.
    pub fn into_vec(self) -> Vec<Loss> {
        self.0.into_iter().map(|(kind, count)| Loss { kind, count }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_counted_and_said_in_words() {
        let mut losses = Losses::new();
        losses.add(LossKind::BinaryIds, 1);
        losses.add(LossKind::BitmapBytes, 4);
        losses.add(LossKind::BitmapBytes, 3);
        losses.add(LossKind::MemProf, 0);
        let words: Vec<String> = losses.into_vec().iter().map(Loss::to_string).collect();
        assert_eq!(words, ["7 bitmap bytes", "1 binary id"]);
    }
}
