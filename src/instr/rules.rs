//! What changed between releases of LLVM in how profiles are added up.

use crate::model::Release;
use crate::model::summary::SummaryRules;

/// How the kinds of inputs combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KindRule {
    /// Release 13 and earlier: IR with IR, anything else with anything else;
    /// the last input decides whether the entry counter comes first.
    LevelsMustMatch,
    /// Release 14 on: only text marked `:fe` conflicts with what is not so
    /// marked, and entry-only coverage with entry-first counters.
    MarkedLevelsMustMatch,
    /// profbridge mode: the counters of all inputs are of one kind, see
    /// [`ProfileKind::of_counters`](crate::model::ProfileKind::of_counters).
    OneKind,
}

/// How temporal traces are sampled when there are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceRule {
    /// Release 17 and 18: as 19, but a trace is cut, and left out when it is
    /// empty, only where it is added on its own; traces that come in by a swap
    /// of the sides or take the place of others stay whole.
    Release17,
    /// Release 19 to 21: all traces of an input are cut before they are sampled.
    Release19,
    /// Release 22 on: what is left when the reservoir is full is shuffled, and
    /// takes the places of kept ones.
    Release22,
}

/// The rules of one release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergeRules {
    /// Counters do not grow beyond this. 2^64 - 3 from release 16, which
    /// reserves the two larger values for pseudo counts; before 2^64 - 1.
    pub max_count: u64,
    /// Whether the first counter may be a mark (release 16 on).
    pub pseudo_counts: bool,
    /// Whether values are sorted by a stable sort (up to release 18) or by the
    /// introsort of libstdc++ (from 19). It shows only where a site of more
    /// than 16 values holds equal ones.
    pub stable_value_sort: bool,
    /// How kinds combine.
    pub kinds: KindRule,
    /// Whether sums of several threads are joined by the same rule (release 16
    /// on), or with the kind of the first.
    pub joins_kinds: bool,
    /// How traces are sampled.
    pub traces: TraceRule,
    /// Whether every repeated memory size at a site is reported (release 15
    /// on), or a repeated size of zero only.
    pub reports_every_repeated_size: bool,
    /// How counts enter the summary.
    pub summary: SummaryRules,
}

impl MergeRules {
    /// The rules of a release. Older ones than 13 are taken to be like 13.
    pub fn of(release: Release) -> Self {
        let Release(major) = release;
        let pseudo_counts = major >= 16;
        Self {
            max_count: if pseudo_counts { u64::MAX - 2 } else { u64::MAX },
            pseudo_counts,
            stable_value_sort: major < 19,
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
