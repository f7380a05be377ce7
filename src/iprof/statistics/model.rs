//! The statistics themselves, as they are handed out and written as JSON.

use super::chains::CallTree;
use serde::Serialize;

/// All statistics of a file.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Statistics {
    /// The version as the file spells it.
    pub version: Option<String>,
    /// What the file is good for.
    pub verdict: &'static str,
    /// Declared types.
    pub types: usize,
    /// Declared methods.
    pub methods: usize,
    /// Sections with entries, in the order of [`SectionKind::ALL`](crate::iprof::SectionKind::ALL).
    pub sections: Vec<SectionStatistics>,
    /// Size of every top-level member, largest first.
    pub sizes: Vec<SizeStatistics>,
    /// Methods by calls.
    pub hot_methods: Vec<HotMethod>,
    /// Methods by samples with the method innermost.
    pub exclusive_samples: Vec<SampledMethod>,
    /// Methods by samples with the method anywhere.
    pub inclusive_samples: Vec<SampledMethod>,
    /// Branches.
    pub branches: BranchStatistics,
    /// Receivers of virtual calls.
    pub receivers: ReceiverStatistics,
    /// Types tested by `instanceof`.
    pub instanceofs: ReceiverStatistics,
    /// Types by how often they were synchronized on.
    pub monitors: Vec<TypeStatistics>,
    /// Methods declared and executed.
    pub coverage: Coverage,
    /// Coverage by package, in order of name.
    pub packages: Vec<Coverage>,
    /// How many packages the text has: those with most methods executed.
    #[serde(skip)]
    pub packages_shown: usize,
    /// Who calls the methods asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callers: Option<CallTree>,
    /// What the methods asked for call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callees: Option<CallTree>,
}

/// Totals of a section.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct SectionStatistics {
    /// The section's name.
    pub section: &'static str,
    /// Entries.
    pub sites: u64,
    /// The sum of all counts.
    pub events: u128,
    /// Distinct innermost methods.
    pub leaf_methods: usize,
    /// Mean number of frames; 0 for monitors.
    pub mean_depth: f64,
    /// Largest number of frames.
    pub max_depth: usize,
    /// Bytes of text.
    pub bytes: u64,
}

/// Size of a top-level member.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct SizeStatistics {
    /// The member's name.
    pub name: String,
    /// Bytes of text.
    pub bytes: u64,
    /// Share of the whole text.
    pub share: f64,
    /// Elements, where they are known.
    pub entries: u64,
}

/// A method by calls.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct HotMethod {
    /// The method as people write it.
    pub method: String,
    /// Times it was entered.
    pub calls: u128,
    /// Share of all calls.
    pub share: f64,
    /// Chains it was entered by.
    pub chains: u64,
    /// Share of its calls in chains of more than one frame.
    pub inlined_share: f64,
}

/// A method by samples.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct SampledMethod {
    /// The method as people write it.
    pub method: String,
    /// Samples.
    pub hits: u128,
    /// Their share of all samples, from 0 to 1.
    pub share: f64,
}

/// Branches by bias. Those that never ran are not counted.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct BranchStatistics {
    /// Sites with events.
    pub executed: u64,
    /// Sites without.
    pub never_executed: u64,
    /// All events went one way.
    pub one_sided: u64,
    /// At least nine of ten events went one way.
    pub biased: u64,
    /// The rest.
    pub mixed: u64,
    /// Sites with most events.
    pub sites: Vec<BranchSite>,
}

/// A branch.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct BranchSite {
    /// The context as people write it, innermost first.
    pub site: String,
    /// The sum of all counts.
    pub events: u128,
    /// Share of the largest target.
    pub bias: f64,
    /// The targets, largest first.
    pub targets: Vec<BranchTarget>,
}

/// A target of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BranchTarget {
    /// Its bytecode index, or a placeholder.
    pub bci: i32,
    /// The producer's number.
    pub index: u32,
    /// How often.
    pub events: u128,
}

/// Sites by the number of types seen at them.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct ReceiverStatistics {
    /// One type.
    pub monomorphic: u64,
    /// Two types.
    pub bimorphic: u64,
    /// Three to seven types.
    pub polymorphic: u64,
    /// Eight or more: the recorder's limit, so the true number is not known.
    pub saturated: u64,
    /// No type was seen.
    pub never_executed: u64,
    /// Sites with most events.
    pub sites: Vec<ReceiverSite>,
}

/// A site with types.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ReceiverSite {
    /// The context as people write it, innermost first.
    pub site: String,
    /// The sum of all counts.
    pub events: u128,
    /// `monomorphic`, `bimorphic`, `polymorphic` or `saturated`.
    pub class: &'static str,
    /// Share of the type seen most.
    pub dominant_share: f64,
    /// Types, most frequent first.
    pub types: Vec<TypeStatistics>,
}

/// A type and how often it was seen.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct TypeStatistics {
    /// The type's name.
    #[serde(rename = "type")]
    pub name: String,
    /// How often.
    pub events: u128,
}

/// Methods declared, and those that occur in an entry with counters.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Coverage {
    /// The package, empty for the unnamed one; `None` for all together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// Methods in the table.
    pub declared: u64,
    /// Methods that counters show to have run.
    pub executed: u64,
}
