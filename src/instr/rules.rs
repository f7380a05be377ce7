//! Differences between LLVM releases in merging profiles.

use crate::error::{Error, ErrorKind, Warning};
use crate::hint::Hint;
use crate::model::summary::SummaryRules;
use crate::model::{LARGEST_COUNT, ProfileKind, RecordId, Release};
use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// The rule for combining the kinds of inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KindRule {
    /// Release 13 and earlier: IR profiles can only be merged with IR profiles, and others only with others. The last
    /// input determines whether the entry counter comes first.
    LevelsMustMatch,
    /// Release 14 and later: only text marked `:fe` conflicts with unmarked profiles, and entry-only coverage with
    /// entry-first counters.
    MarkedLevelsMustMatch,
    /// profbridge mode: the counters of all inputs are of one kind, see
    /// [`ProfileKind::of_counters`](crate::model::ProfileKind::of_counters).
    OneKind,
}

/// The sampling of temporal traces if there are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceRule {
    /// Release 17 and 18: like 19, but a trace is cut, and dropped if it is empty, only if it is added on its own.
    /// Traces that are swapped in, or that replace others, stay whole.
    Release17,
    /// Release 19 to 21: all traces of an input are cut before they are sampled.
    Release19,
    /// Release 22 and later: the traces that remain when the reservoir is full are shuffled, and replace kept ones.
    Release22,
}

/// The rules of one release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergeRules {
    /// The maximum of a counter. 2^64 - 3 since release 16, which reserves the two larger values for pseudo counts;
    /// 2^64 - 1 before.
    pub max_count: u64,
    /// Whether the first counter can be a pseudo count (release 16 and later).
    pub pseudo_counts: bool,
    /// Whether values are sorted by a stable sort (up to release 18) or by the introsort of libstdc++ (since release
    /// 19). The difference is visible only at a site with more than 16 values of which some are equal.
    pub stable_value_sort: bool,
    /// Whether the weight of an input applies to values that are new to a site, too. It does not in LLVM.
    pub(crate) weighs_new_values: bool,
    /// The rule for combining kinds.
    pub kinds: KindRule,
    /// Whether the merges of several threads are combined by the same rule (release 16 and later), or with the kind of
    /// the first.
    pub joins_kinds: bool,
    /// The sampling of traces.
    pub traces: TraceRule,
    /// Whether every repeated memory size at a site is reported (release 15 and later), or only a repeated size of
    /// zero.
    pub reports_every_repeated_size: bool,
    /// The effect of counts on the summary.
    pub summary: SummaryRules,
}

impl MergeRules {
    /// Returns the rules of a release. Releases before 13 use the rules of 13.
    pub fn of(release: Release) -> Self {
        let Release(major) = release;
        let pseudo_counts = major >= 16;
        Self {
            max_count: if pseudo_counts { LARGEST_COUNT } else { u64::MAX },
            pseudo_counts,
            stable_value_sort: major < 19,
            weighs_new_values: false,
            kinds: if major >= 14 { KindRule::MarkedLevelsMustMatch } else { KindRule::LevelsMustMatch },
            joins_kinds: major >= 16,
            traces: match major {
                0..=18 => TraceRule::Release17,
                19..=21 => TraceRule::Release19,
                _ => TraceRule::Release22,
            },
            reports_every_repeated_size: major >= 15,
            summary: if pseudo_counts { SummaryRules::PseudoCounts } else { SummaryRules::BeforePseudoCounts },
        }
    }
}

impl Default for MergeRules {
    fn default() -> Self {
        Self::of(Release::DEFAULT)
    }
}

// Compatibility of profile kinds.

/// The reason why two kinds conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KindConflict {
    /// IR and front-end profiles, for releases that distinguish them.
    Levels,
    /// A profile marked `:fe` and one without that mark.
    MarkedLevels,
    /// Entry-only coverage and profiles that count entry blocks first.
    EntryOnly,
}

impl KindConflict {
    pub(super) fn into_error(self) -> Error {
        let what = match self {
            Self::Levels => "IR and front-end profiles",
            Self::MarkedLevels => "a profile marked :fe and one without that mark",
            Self::EntryOnly => "entry-only coverage and profiles that count entry blocks first",
        };
        Error::new(ErrorKind::KindConflict { detail: format!("{what} cannot be merged") })
            .with_hint("merge each kind separately")
    }
}

/// The meaning of the counters of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CounterKind {
    /// Counters of a profile of this kind.
    Of(ProfileKind),
    /// Counts that fit every kind: records of the bridge, whose names describe each counter.
    AnyCount,
}

impl CounterKind {
    fn shares_file_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::Of(one), Self::Of(other)) => one.of_counters() == other.of_counters(),
            (Self::Of(kind), Self::AnyCount) | (Self::AnyCount, Self::Of(kind)) => {
                !kind.intersects(ProfileKind::BYTE_COVERAGE | ProfileKind::FUNCTION_ENTRY_ONLY)
            }
            (Self::AnyCount, Self::AnyCount) => true,
        }
    }

    fn words(self) -> String {
        match self {
            Self::Of(kind) => kind.of_counters().sentence_words().join(", "),
            Self::AnyCount => "iprof with full counts".to_string(),
        }
    }
}

/// The kind that the inputs of a merge share ([`KindRule::OneKind`]), and the input that determined it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedKind {
    first: Option<(CounterKind, Option<PathBuf>)>,
}

impl SharedKind {
    /// Adds an input with counters of the given kind; `name` is used in messages.
    ///
    /// # Errors
    ///
    /// Kind conflict, with both inputs and kinds.
    pub(crate) fn add(&mut self, new: CounterKind, name: Option<&Path>) -> Result<(), Error> {
        let Some((first, first_name)) = &self.first else {
            self.first = Some((new, name.map(Path::to_path_buf)));
            return Ok(());
        };
        if !first.shares_file_with(new) {
            let first_name = first_name.as_ref().map_or("an earlier input".into(), |name| name.to_string_lossy());
            let detail = format!("its kind ({}) differs from that of {first_name} ({})", new.words(), first.words());
            return Err(Error::new(ErrorKind::KindConflict { detail }).with_hint(Hint::MergeOneKind));
        }
        if *first == CounterKind::AnyCount && new != CounterKind::AnyCount {
            self.first = Some((new, name.map(Path::to_path_buf)));
        }
        Ok(())
    }
}

/// Returns the kind of a profile of kind `so_far` after a profile of kind `new` is merged into it.
pub(super) fn combine_kinds(
    rule: KindRule,
    so_far: ProfileKind,
    new: ProfileKind,
    any_before: bool,
) -> Result<ProfileKind, KindConflict> {
    const FRONT_END: ProfileKind = ProfileKind::FRONT_END;
    match rule {
        KindRule::LevelsMustMatch => {
            if any_before && so_far.is_ir() != new.is_ir() {
                return Err(KindConflict::Levels);
            }
            let known = ProfileKind::IR | ProfileKind::CONTEXT_SENSITIVE;
            let entry_first = new.intersection(ProfileKind::ENTRY_FIRST);
            Ok((so_far | new).intersection(known) | entry_first)
        }
        KindRule::MarkedLevelsMustMatch => {
            if so_far.is_none() {
                return Ok(new);
            }
            if so_far.contains(FRONT_END) != new.contains(FRONT_END) {
                return Err(KindConflict::MarkedLevels);
            }
            let first = ProfileKind::ENTRY_FIRST | ProfileKind::LOOP_ENTRIES;
            let only = ProfileKind::FUNCTION_ENTRY_ONLY;
            if (so_far.contains(only) && new.intersects(first)) || (new.contains(only) && so_far.intersects(first)) {
                return Err(KindConflict::EntryOnly);
            }
            Ok(so_far | new)
        }
        // `SharedKind` detects the conflicts.
        KindRule::OneKind => Ok(so_far | new),
    }
}

/// More contexts than any machine has threads.
const MOST_CONTEXTS: usize = 1 << 16;

/// Returns the conflict that ends a merge of llvm-profdata with `contexts` contexts (`--num-threads`) that are combined
/// at the end, for inputs of these kinds; `None` is an input that was not opened. A single context has no such
/// conflict: it drops inputs that do not fit.
///
/// Releases before 16 combine contexts without a check.
pub fn conflict_of_contexts(
    rules: &MergeRules,
    inputs: &[Option<ProfileKind>],
    contexts: NonZeroUsize,
) -> Option<KindConflict> {
    let contexts = contexts.get().min(MOST_CONTEXTS);
    if contexts < 2 || !rules.joins_kinds {
        return None;
    }
    let mut kinds = vec![ProfileKind::NONE; contexts];
    for (at, kind) in inputs.iter().enumerate() {
        let context = &mut kinds[at % contexts];
        if let Some(combined) = kind.and_then(|kind| combine_kinds(rules.kinds, *context, kind, true).ok()) {
            *context = combined;
        }
    }
    let (mut half, mut end) = (contexts / 2, contexts);
    while half > 0 {
        let odd = (end % 2 == 1).then_some((0, end - 1));
        for (into, from) in (0..half).map(|at| (at, at + half)).chain(odd) {
            match combine_kinds(rules.kinds, kinds[into], kinds[from], true) {
                Ok(combined) => kinds[into] = combined,
                Err(conflict) => return Some(conflict),
            }
        }
        (end, half) = (half, half / 2);
    }
    None
}

// The outcome of single records.

/// A fault of one record that does not stop the merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SoftError {
    /// The number of counters differs, or only one side has a pseudo count. The incoming record was dropped.
    CountMismatch,
    /// The number of bitmap bytes differs. The counters were added, the bitmap and the values were not.
    BitmapMismatch,
    /// The number of value sites of some kind differs. The values of that kind were dropped.
    ValueSiteCountMismatch,
    /// A counter or a value's count saturated.
    CounterOverflow,
}

impl SoftError {
    /// Returns true if LLVM advises to check that all inputs come from one binary.
    pub fn is_mismatch(self) -> bool {
        self != Self::CounterOverflow
    }

    /// Returns the text that llvm-profdata prints (`getInstrProfErrString`).
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
            Self::CountMismatch => "the number of counters differs from that of earlier inputs; record dropped",
            Self::BitmapMismatch => "the bitmap size differs from that of earlier inputs; bitmap and values dropped",
            Self::ValueSiteCountMismatch => {
                "the number of value sites differs from that of earlier inputs; values dropped"
            }
            Self::CounterOverflow => "a count reached its maximum",
        })
    }
}

/// The factors for a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weights {
    pub(super) counters: u64,
    pub(super) values: u64,
}

impl Weights {
    /// Returns the factors for a record of an input with this weight.
    pub(super) fn of_input(weight: u64) -> Self {
        Self { counters: weight, values: weight }
    }

    /// Returns the factors for a record whose counters are an already weighted sum, and whose values are those of one
    /// input with this weight.
    pub(super) fn of_sum(weight: u64) -> Self {
        Self { counters: 1, values: weight }
    }
}

/// The outcome of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AddOutcome {
    /// The record into which it was merged.
    pub record: RecordId,
    /// Whether it was the first record of its name and FuncHash.
    pub is_new: bool,
    /// The first fault.
    pub error: Option<SoftError>,
}

impl AddOutcome {
    /// Returns the fault as a warning about the function of that name.
    pub(crate) fn warning(self, name: &[u8]) -> Option<Warning> {
        self.error.map(|error| Warning::of_loss(error.to_string()).in_function(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::Compat;
    use crate::instr::{MergeOptions, Merger};
    use crate::model::{FunctionRecord, Profile, Release};

    const IR: Option<ProfileKind> = Some(ProfileKind::IR);
    const FRONT_END: Option<ProfileKind> = Some(ProfileKind::FRONT_END);
    const UNMARKED: Option<ProfileKind> = Some(ProfileKind::NONE);

    fn conflict(contexts: usize, inputs: &[Option<ProfileKind>]) -> bool {
        let contexts = NonZeroUsize::new(contexts).unwrap();
        conflict_of_contexts(&MergeRules::default(), inputs, contexts).is_some()
    }

    /// Each row was measured with llvm-profdata 22.
    #[test]
    fn sums_made_apart_conflict_when_they_are_joined() {
        assert!(!conflict(1, &[IR, FRONT_END]));
        assert!(conflict(2, &[IR, FRONT_END]));
        assert!(!conflict(2, &[UNMARKED, FRONT_END]));
        assert!(conflict(3, &[UNMARKED, FRONT_END]), "the third sum is empty");
        assert!(!conflict(3, &[IR, UNMARKED]));
        assert!(!conflict(2, &[IR, UNMARKED, FRONT_END]), "the last one is left out of the first sum");
        assert!(!conflict(2, &[IR, IR, FRONT_END, FRONT_END]));
        assert!(conflict(2, &[FRONT_END, IR, FRONT_END]));
        assert!(conflict(2, &[FRONT_END]), "the second sum is empty");
    }

    #[test]
    fn releases_before_16_do_not_look() {
        let two = NonZeroUsize::new(2).unwrap();
        for (release, conflicts) in [(14, false), (15, false), (16, true), (22, true)] {
            let found = conflict_of_contexts(&MergeRules::of(Release(release)), &[IR, FRONT_END], two);
            assert_eq!(found.is_some(), conflicts, "LLVM {release}");
        }
    }

    fn as_llvm(release: u32) -> Merger {
        let release = Release(release);
        Merger::new(MergeOptions { release, compat: Compat::Llvm22, ..MergeOptions::default() })
    }

    #[test]
    fn only_marked_front_end_profiles_conflict_since_release_14() {
        let (fe, ir, none) = (ProfileKind::FRONT_END, ProfileKind::IR, ProfileKind::NONE);
        let merges = |release, kinds: [ProfileKind; 2]| {
            let mut merger = as_llvm(release);
            merger.begin_input(kinds[0]).unwrap();
            merger.begin_input(kinds[1]).map(|()| merger.kind()).ok()
        };
        assert_eq!(merges(22, [ir, none]), Some(ir));
        assert_eq!(merges(22, [none, fe]), Some(fe));
        assert_eq!(merges(22, [fe, none]), None);
        assert_eq!(merges(22, [fe, ir]), None);
        assert_eq!(merges(13, [ir, none]), None);
        assert_eq!(merges(13, [fe, none]), Some(none));
        let (first, only) = (ir | ProfileKind::ENTRY_FIRST, ir | ProfileKind::FUNCTION_ENTRY_ONLY);
        assert_eq!(merges(22, [first, only]), None);
        assert_eq!(merges(22, [only, ir]), Some(only));
        assert_eq!(merges(13, [first, ir]), Some(ir));
    }

    #[test]
    fn a_kind_conflict_is_worded_for_both_compats() {
        let mut merger = as_llvm(22);
        merger.begin_input(ProfileKind::IR).unwrap();
        let error = merger.begin_input(ProfileKind::FRONT_END).unwrap_err();
        assert_eq!(error.to_string(), "a profile marked :fe and one without that mark cannot be merged");
        assert_eq!(error.llvm_message(), "Merge IR generated profile with Clang generated profile.");
    }

    /// Kinds whose counters mean different things.
    const KINDS: [ProfileKind; 7] = [
        ProfileKind::NONE,
        ProfileKind::BYTE_COVERAGE,
        ProfileKind::IR,
        ProfileKind::from_bits(ProfileKind::IR.bits() | ProfileKind::ENTRY_FIRST.bits()),
        ProfileKind::from_bits(ProfileKind::IR.bits() | ProfileKind::LOOP_ENTRIES.bits()),
        ProfileKind::from_bits(ProfileKind::IR.bits() | ProfileKind::BYTE_COVERAGE.bits()),
        ProfileKind::from_bits(ProfileKind::IR.bits() | ProfileKind::FUNCTION_ENTRY_ONLY.bits()),
    ];

    /// Bits that do not change the meaning of counters.
    const OTHERS: [ProfileKind; 5] = [
        ProfileKind::FRONT_END,
        ProfileKind::CONTEXT_SENSITIVE,
        ProfileKind::DEBUG_INFO_CORRELATE,
        ProfileKind::MEMPROF,
        ProfileKind::TEMPORAL,
    ];

    #[test]
    fn profbridge_merges_counters_of_one_kind_only() {
        for release in [13, 14, 22] {
            for (one, other) in KINDS.into_iter().flat_map(|one| KINDS.map(|other| (one, other))) {
                let mut merger = Merger::new(MergeOptions { release: Release(release), ..MergeOptions::default() });
                merger.begin_named_input(one, Some(Path::new("a.profraw"))).unwrap();
                let begun = merger.begin_input(other);
                assert_eq!(begun.is_ok(), one == other, "{one} and {other}");
                assert_eq!(merger.kind(), one);
                let Err(error) = begun else { continue };
                assert!(error.is_kind_conflict());
                assert!(error.to_string().contains(" that of a.profraw ("), "{error}");
            }
        }
    }

    #[test]
    fn other_bits_of_the_inputs_are_combined() {
        for (kind, other) in KINDS.into_iter().flat_map(|kind| OTHERS.map(|other| (kind, other))) {
            for inputs in [[kind, kind | other], [kind | other, kind]] {
                let mut merger = Merger::new(MergeOptions::default());
                inputs.into_iter().for_each(|input| merger.begin_input(input).unwrap());
                assert_eq!(merger.kind(), kind | other);
            }
        }
    }

    #[test]
    fn inputs_without_records_have_no_kind() {
        let (ir, first) = (ProfileKind::IR, ProfileKind::IR | ProfileKind::ENTRY_FIRST);
        let (empty, memory) = (Profile { kind: first, ..Profile::default() }, ProfileKind::MEMPROF);
        let mut counted = Profile { kind: ir, ..Profile::default() };
        let function = counted.functions.intern(b"f");
        counted.functions.push_record(function, &FunctionRecord::new(1, vec![2]));
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut merger = Merger::new(MergeOptions::default());
            for at in order {
                match at {
                    0 => merger.add(&counted, 1).unwrap(),
                    1 => merger.add(&empty, 1).unwrap(),
                    _ => merger.begin_without_records(memory).unwrap(),
                }
            }
            assert_eq!(merger.into_profile().kind, ir | memory, "{order:?}");
        }
        let mut merger = Merger::new(MergeOptions::default());
        merger.add(&empty, 1).unwrap();
        assert_eq!(merger.into_profile().kind, first, "alone it keeps what it says");
    }

    #[test]
    fn counts_of_an_iprof_have_the_kind_of_the_counts_in_the_inputs() {
        let iprof = Path::new("java.iprof");
        for kind in KINDS {
            let is_counted = !kind.intersects(ProfileKind::BYTE_COVERAGE | ProfileKind::FUNCTION_ENTRY_ONLY);
            let mut before = Merger::new(MergeOptions::default());
            before.begin_counts(iprof).unwrap();
            assert_eq!(before.begin_input(kind).is_ok(), is_counted, "{kind}");
            let mut after = Merger::new(MergeOptions::default());
            after.begin_input(kind).unwrap();
            assert_eq!(after.begin_counts(iprof).is_ok(), is_counted, "{kind}");
            assert_eq!(after.kind(), kind);
        }
        // The first LLVM profile determines the kind, whatever precedes it.
        let mut merger = Merger::new(MergeOptions::default());
        merger.begin_counts(iprof).unwrap();
        merger.begin_input(ProfileKind::IR).unwrap();
        assert!(merger.begin_input(ProfileKind::NONE).is_err());
    }
}
