//! Losses: the parts of a profile that a format cannot store.

use crate::error::{Error, ErrorKind, Result};
use crate::hint::Hint;
use crate::model::kind::ProfileKind;
use std::collections::BTreeMap;
use std::fmt;

/// A sort of information that some version of some format has no place for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
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
    /// Bits that say which blocks the waves of a GPU enter whole (before LLVM 23).
    UniformityBits,
    /// The number of times that GPU waves entered blocks with all lanes (raw files before LLVM 23).
    UniformCounts,
    /// Identities of images (before LLVM 16).
    BinaryIds,
    /// Temporal traces (before LLVM 17).
    TemporalTraces,
    /// The memory profile (before LLVM 15).
    MemProf,
    /// Functions called at call sites of a memory profile (before LLVM 21).
    MemProfCallees,
    /// The data access profile of a memory profile (before LLVM 21).
    MemProfDataRecords,
    /// Fields of a memory profile's allocations that are not written.
    MemProfFields,
    /// Sums of a memory profile that are limited to the maximum of their field.
    SaturatedMemProfSums,
    /// Histograms of accesses, which only raw memory profiles store.
    AccessHistograms,
    /// Names of vtables.
    VTableNames,
    /// A variant bit that the release does not know.
    KindBits,
    /// Names that the text format cannot say.
    UnrepresentableNames,
    /// Call or vtable targets whose names are not known.
    TargetNames,
    /// Records without counters (raw files).
    RecordsWithoutCounters,
    /// Counts above 1 in byte coverage, which knows covered or not (raw files).
    CounterValues,
    /// Counts above 2^56, which are written, but for which readers reject the file (raw files of LLVM 18 and later).
    LargeCounts,
    /// Values of a site beyond the 255 most frequent.
    ValuesBeyondLimit,
    /// Entries of a trace that name no record, or one again (raw files).
    TraceEntries,
    /// Weights of traces (raw files: a trace is one run).
    TraceWeights,
    /// FuncHashes (no place in iprof's own sections).
    FuncHashes,
    /// Counters that are not call counts (iprof's own sections cannot store them).
    FurtherCounters,
    /// Context-sensitive records (no place in iprof's own sections).
    ContextSensitiveRecords,
    /// Records whose counts are a mark: hot or warm.
    PseudoCounts,
    /// Properties that state the kind of the counters.
    ProfileKinds,
    /// Members of an iprof file that belong to no known section.
    UnknownSections,
    /// Members of an iprof file's entries that the format does not know.
    UnknownMembers,
    /// Value sites that have LLVM's 255 values: its merge may have cut some.
    FullSites,
    /// Counts above 2^63-1, the largest of an iprof file.
    SaturatedCounts,
    /// Branch lists of one site that contradict a heavier one.
    BranchClashes,
    /// Attributes of functions (sample profiles).
    Attributes,
    /// Checksums of control flow graphs (sample profiles).
    Checksums,
    /// Places where virtual tables were seen (sample profiles before LLVM 22).
    VirtualTables,
    /// The list of the program's symbols (sample profiles).
    Symbols,
    /// Names of which the hashes stay (sample profiles).
    Names,
    /// Hashes of names, which become names made of digits (sample profiles).
    NameHashes,
    /// The coldest functions, for which the size limit has no room (sample profiles).
    FunctionsBeyondSize,
    /// Call chains of samples (recordings that become a sample profile without calling contexts).
    CallChains,
    /// Other data; see the documentation of the format.
    Other,
}

impl LossKind {
    /// The name of the loss, singular and plural.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::FurtherRecords => ("further record of a name", "further records of a name"),
            Self::ValueSites => ("value site", "value sites"),
            Self::VTableSites => ("vtable value site", "vtable value sites"),
            Self::BitmapBytes => ("bitmap byte", "bitmap bytes"),
            Self::UniformityBits => ("uniformity bit of a block", "uniformity bits of blocks"),
            Self::UniformCounts => ("uniform count of a block", "uniform counts of blocks"),
            Self::BinaryIds => ("binary id", "binary ids"),
            Self::TemporalTraces => ("temporal trace", "temporal traces"),
            Self::MemProf => ("memory profile", "memory profiles"),
            Self::Attributes => ("set of attributes", "sets of attributes"),
            Self::Checksums => ("checksum", "checksums"),
            Self::VirtualTables => ("line location with vtables", "line locations with vtables"),
            Self::Symbols => ("profile symbol", "profile symbols"),
            Self::Names => ("name, of which only the hash remains", "names, of which only the hashes remain"),
            Self::NameHashes => {
                ("hash of a name, which is written as digits", "hashes of names, which are written as digits")
            }
            Self::FunctionsBeyondSize => {
                ("function beyond the size limit of the output", "functions beyond the size limit of the output")
            }
            Self::CallChains => ("call chain", "call chains"),
            Self::MemProfCallees => ("callee of a memory profile", "callees of a memory profile"),
            Self::MemProfDataRecords => {
                ("record of static data of a memory profile", "records of static data of a memory profile")
            }
            Self::MemProfFields => ("field of the memory profile", "fields of the memory profile"),
            Self::SaturatedMemProfSums => (
                "part of a sum above the maximum of its field of the memory profile",
                "parts of sums above the maximum of their fields of the memory profile",
            ),
            Self::AccessHistograms => ("access histogram", "access histograms"),
            Self::TraceWeights => ("weight of a trace", "weights of traces"),
            Self::VTableNames => ("vtable name", "vtable names"),
            Self::KindBits => ("property of the profile", "properties of the profile"),
            Self::UnrepresentableNames => {
                ("function whose name cannot be written", "functions whose names cannot be written")
            }
            Self::TargetNames => ("target without a name", "targets without a name"),
            Self::RecordsWithoutCounters => ("record without counters", "records without counters"),
            Self::CounterValues => ("count above 1 of a byte counter", "counts above 1 of byte counters"),
            Self::LargeCounts => (
                "count above 2^56, which LLVM 18 and later reject",
                "counts above 2^56, which LLVM 18 and later reject",
            ),
            Self::ValuesBeyondLimit => ("value beyond 255 of a site", "values beyond 255 of a site"),
            Self::TraceEntries => ("entry of a temporal trace", "entries of a temporal trace"),
            Self::FuncHashes => ("function hash", "function hashes"),
            Self::FurtherCounters => ("counter that is not a call count", "counters that are not call counts"),
            Self::ContextSensitiveRecords => ("context-sensitive record", "context-sensitive records"),
            Self::PseudoCounts => ("record with a pseudo count", "records with a pseudo count"),
            Self::ProfileKinds => ("kind of the profile", "kinds of profiles"),
            Self::UnknownSections => ("section outside the format", "sections outside the format"),
            Self::UnknownMembers => ("member of an entry outside the format", "members of entries outside the format"),
            Self::FullSites => {
                ("value site that is full, perhaps cut by a merge", "value sites that are full, perhaps cut by a merge")
            }
            Self::SaturatedCounts => ("count above 2^63-1", "counts above 2^63-1"),
            Self::BranchClashes => {
                ("branch list that contradicts a heavier one", "branch lists that contradict a heavier one")
            }
            Self::Other => ("item", "items"),
        }
    }
}

/// Something lost, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// The kind of the loss.
    pub kind: LossKind,
    /// The number of lost items.
    pub count: u64,
    /// The properties that are lost, for [`LossKind::KindBits`].
    pub properties: ProfileKind,
}

impl Loss {
    /// A loss of another kind than properties.
    pub fn new(kind: LossKind, count: u64) -> Self {
        Self { kind, count, properties: ProfileKind::NONE }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (one, several) = self.kind.words();
        write!(f, "{} {}", self.count, if self.count == 1 { one } else { several })?;
        if self.properties.is_none() { Ok(()) } else { write!(f, " ({})", self.properties.nouns()) }
    }
}

/// Counts losses by kind.
#[derive(Debug, Clone, Default)]
pub struct Losses {
    counts: BTreeMap<LossKind, u64>,
    properties: ProfileKind,
}

impl Losses {
    /// No loss.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts `count` more of a kind; 0 is ignored.
    pub fn add(&mut self, kind: LossKind, count: u64) {
        if count != 0 {
            let sum = self.counts.entry(kind).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Adds properties of the profile.
    pub fn add_properties(&mut self, properties: ProfileKind) {
        self.properties |= properties;
        self.add(LossKind::KindBits, u64::from(properties.bits().count_ones()));
    }

    /// All losses, in the order of the kinds.
    pub fn into_vec(self) -> Vec<Loss> {
        let properties = |kind| if kind == LossKind::KindBits { self.properties } else { ProfileKind::NONE };
        self.counts.into_iter().map(|(kind, count)| Loss { kind, count, properties: properties(kind) }).collect()
    }
}

/// Turns losses into an error, for those who allow none (`--strict`).
///
/// # Errors
///
/// [`ErrorKind::WouldLose`], which lists all of them, when there are some.
pub fn refuse_losses(losses: &[Loss]) -> Result<()> {
    if losses.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = losses.iter().map(Loss::to_string).collect();
    let detail = format!("some data cannot be converted: {}", list.join(", "));
    Err(Error::new(ErrorKind::WouldLose { detail }).with_hint(Hint::AllowLeavingOut))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_can_be_refused() {
        let loss = Loss::new;
        let error = refuse_losses(&[loss(LossKind::BinaryIds, 1), loss(LossKind::ValuesBeyondLimit, 2)]).unwrap_err();
        let text = "some data cannot be converted: 1 binary id, 2 values beyond 255 of a site";
        assert_eq!(error.to_string(), text);
        assert!(refuse_losses(&[]).is_ok());
    }

    #[test]
    fn losses_are_counted_and_described() {
        let mut losses = Losses::new();
        losses.add(LossKind::BinaryIds, 1);
        losses.add(LossKind::BitmapBytes, 4);
        losses.add(LossKind::BitmapBytes, 3);
        losses.add(LossKind::MemProf, 0);
        losses.add_properties(ProfileKind::LOOP_ENTRIES | ProfileKind::ENTRY_FIRST);
        let words: Vec<String> = losses.into_vec().iter().map(Loss::to_string).collect();
        let properties = "2 properties of the profile (loop entries, entry counters first)";
        assert_eq!(words, ["7 bitmap bytes", "1 binary id", properties]);
    }
}
