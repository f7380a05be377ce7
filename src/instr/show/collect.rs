//! The output of `show` as data. In names, bytes that are not UTF-8 are replaced. Hashes are text, because many JSON
//! readers lose digits above 2^53.

use crate::ascii::to_hex;
use crate::error::Result;
use crate::instr::show::ShowOptions;
use crate::instr::show::scan::{Event, Totals, scan};
use crate::model::{ProfileKind, ProfileReader, PseudoCount, RecordView, SymbolTable, ValueKind};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// All requested parts. Parts that were not requested are absent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ShowReport {
    /// `ir` or `front-end`.
    pub level: &'static str,
    /// Names of the variant bits.
    pub kind: Vec<&'static str>,
    /// The number of functions that match the requested name, shown or not.
    #[serde(skip)]
    pub selected: u64,
    /// Functions with details, in file order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub functions: Option<Vec<FunctionDetails>>,
    /// Names of functions that ran, in file order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covered: Option<Vec<String>>,
    /// Functions below the cutoff, in file order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below_cutoff: Option<Vec<BelowCutoff>>,
    /// Totals.
    pub summary: SummaryTotals,
    /// The number of functions on each side of the cutoff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cutoff: Option<CutoffCounts>,
    /// Functions with the largest counters, in descending order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top: Option<Vec<NamedMaximum>>,
    /// Hot functions, in descending order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hot: Option<HotFunctions>,
    /// Value sites of the functions shown, by kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub value_sites: BTreeMap<&'static str, SiteStatistics>,
    /// The number of counters that contain most of the counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detailed_summary: Option<Vec<SummaryDetails>>,
    /// Binary ids, in lower-case hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binary_ids: Option<Vec<String>>,
    /// The version of the format: 0 for text, the number for indexed profiles, the whole word for raw profiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile_version: Option<u64>,
    /// Temporal traces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temporal_traces: Option<TraceList>,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FunctionDetails {
    /// PGO name.
    pub name: String,
    /// FuncHash, as `0x` and 16 digits.
    pub func_hash: String,
    /// Number of counters.
    pub counters_count: usize,
    /// `hot` or `warm` for a record whose counts were replaced by a pseudo count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pseudo: Option<&'static str>,
    /// All counters, the first one included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<Vec<u64>>,
    /// MC/DC bitmap, two hexadecimal digits per byte; absent if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bitmap: String,
    /// The uniformity of each block on a GPU: `U` if most waves enter it whole, otherwise `D`; absent if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uniformity: String,
    /// Value sites by kind, each a list of values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<&'static str, Vec<Vec<ValueView>>>,
}

/// One value of a site.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ValueView {
    /// Name of the target; absent for sizes and unknown targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A size in bytes; absent for targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Hash of a target's name, as `0x` and 16 digits; absent for sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_ref: Option<String>,
    /// The number of times that the value was seen.
    pub count: u64,
}

/// A function below the cutoff.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BelowCutoff {
    /// PGO name.
    pub name: String,
    /// Largest counter.
    pub max: u64,
    /// Sum of the counters, at most 2^64 - 1.
    pub sum: u64,
}

/// Totals over the records considered.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SummaryTotals {
    /// Records; pseudo records are not counted.
    pub functions: u32,
    /// Counters.
    pub blocks: u32,
    /// Largest first counter.
    pub max_function_count: u64,
    /// Largest of the other counters.
    pub max_internal_block_count: u64,
    /// Sum of all counters, at most 2^64 - 1.
    pub total_count: u64,
}

/// The number of functions on both sides of `--value-cutoff`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CutoffCounts {
    /// The cutoff.
    pub value: u64,
    /// Functions whose largest counter is smaller.
    pub below: u64,
    /// The others.
    pub at_least: u64,
}

/// A function and its largest counter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NamedMaximum {
    /// PGO name.
    pub name: String,
    /// Largest counter.
    pub max: u64,
}

/// The hot functions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HotFunctions {
    /// The minimum count of a hot function.
    pub threshold: u64,
    /// Functions in descending order of their largest counter.
    pub functions: Vec<NamedMaximum>,
}

/// Value sites of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SiteStatistics {
    /// All sites.
    pub sites: u64,
    /// Sites with values.
    pub with_values: u64,
    /// Values over all sites.
    pub values: u64,
    /// Maps a number of values to the number of sites with this number.
    #[serde(serialize_with = "histogram_as_objects")]
    pub histogram: BTreeMap<usize, u64>,
}

/// One row of the detailed summary.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SummaryDetails {
    /// Share of the total count, in parts per million.
    pub cutoff: u32,
    /// Smallest count among the counters that reach it.
    pub min_count: u64,
    /// The number of counters that reach it.
    pub blocks: u64,
}

/// The kept traces and the number of all traces.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TraceList {
    /// The number of traces seen, including dropped ones.
    pub seen: u64,
    /// Kept traces.
    pub traces: Vec<TraceView>,
}

/// One trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TraceView {
    /// The weight of the trace.
    pub weight: u64,
    /// Names of the functions in the order of their first execution; empty for an unknown function.
    pub functions: Vec<String>,
}

/// Collects the parts that `options` request. The option `text` has no effect here.
///
/// # Errors
///
/// The errors of the reader; a usage error if the hot list is requested and no cutoff is large enough; nothing found,
/// see [`must_find`](ShowOptions::must_find).
pub fn collect(reader: &mut dyn ProfileReader, options: &ShowOptions) -> Result<ShowReport> {
    let options = &ShowOptions { text: false, ..options.clone() };
    let mut functions = Vec::new();
    let mut covered = Vec::new();
    let mut below_cutoff = Vec::new();
    let totals = scan(reader, options, &mut |event| {
        match event {
            Event::Text { .. } => {}
            Event::Covered { name } => covered.push(text_of(name)),
            Event::Details { name, record, symbols } => functions.push(details(name, record, symbols, options)),
            Event::BelowCutoff { name, max, sum } => {
                let sum = u64::try_from(sum).unwrap_or(u64::MAX);
                below_cutoff.push(BelowCutoff { name: text_of(name), max, sum });
            }
        }
        Ok(())
    })?;
    options.require_found(totals.selected)?;
    // Covered functions are listed without a look at their largest counts.
    let knows_maxima = !options.covered;
    let lists_hot = options.hot_functions && knows_maxima;
    let hot = lists_hot.then(|| hot_functions(&totals, options)).transpose()?;
    let maximum = |(name, max): &(Vec<u8>, u64)| NamedMaximum { name: text_of(name), max: *max };
    Ok(ShowReport {
        level: if totals.kind.is_ir() { "ir" } else { "front-end" },
        kind: totals.kind.without(ProfileKind::FRONT_END).words(),
        selected: totals.selected,
        functions: options.selects_functions().then_some(functions),
        covered: options.covered.then_some(covered),
        below_cutoff: options.only_below_cutoff.then_some(below_cutoff),
        summary: SummaryTotals {
            functions: totals.summary.num_functions,
            blocks: totals.summary.num_counts,
            max_function_count: totals.summary.max_function_count,
            max_internal_block_count: totals.summary.max_internal_count,
            total_count: totals.total,
        },
        cutoff: (options.value_cutoff > 0 && knows_maxima).then(|| CutoffCounts {
            value: options.value_cutoff,
            below: totals.below_cutoff,
            at_least: u64::from(totals.summary.num_functions).saturating_sub(totals.below_cutoff),
        }),
        top: (options.top > 0 && knows_maxima).then(|| totals.maxima.iter().take(options.top).map(maximum).collect()),
        hot,
        value_sites: site_statistics(&totals, options),
        detailed_summary: options.detailed_summary.then(|| summary_rows(&totals)),
        binary_ids: if options.binary_ids {
            Some(reader.binary_ids()?.iter().map(|id| to_hex(id)).collect())
        } else {
            None
        },
        profile_version: options.profile_version.then(|| reader.version_word()),
        temporal_traces: if options.temporal_traces { Some(traces(reader)?) } else { None },
    })
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Serializes a histogram as an array of objects with named members.
fn histogram_as_objects<S: Serializer>(sites: &BTreeMap<usize, u64>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Row {
        values: usize,
        sites: u64,
    }
    serializer.collect_seq(sites.iter().map(|(values, sites)| Row { values: *values, sites: *sites }))
}

/// Returns the JSON member name of a value kind.
fn member_of(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::IndirectCallTarget => "indirect_call_targets",
        ValueKind::MemOpSize => "memop_sizes",
        ValueKind::VTableTarget => "vtables",
    }
}

fn details(name: &[u8], record: RecordView<'_>, symbols: &SymbolTable, options: &ShowOptions) -> FunctionDetails {
    let pseudo = record.pseudo_count();
    let kinds = ValueKind::EACH.into_iter().filter(|kind| options.shows(*kind) && pseudo.is_none());
    FunctionDetails {
        name: text_of(name),
        func_hash: format!("{:#018x}", record.func_hash),
        counters_count: record.counters.len(),
        pseudo: pseudo.map(|pseudo| match pseudo {
            PseudoCount::Hot => "hot",
            PseudoCount::Warm => "warm",
        }),
        counters: (options.counts && pseudo.is_none()).then(|| record.counters.to_vec()),
        bitmap: if options.counts { to_hex(record.bitmap) } else { String::new() },
        uniformity: if options.counts && pseudo.is_none() { uniformity(record) } else { String::new() },
        values: kinds.map(|kind| (member_of(kind), values(record, kind, symbols))).collect(),
    }
}

/// Returns a letter for each counter, if the uniformity is known.
fn uniformity(record: RecordView<'_>) -> String {
    let known = (0..record.counters.len()).map_while(|counter| record.uniformity.is_uniform(counter));
    known.map(|uniform| if uniform { 'U' } else { 'D' }).collect()
}

fn values(record: RecordView<'_>, kind: ValueKind, symbols: &SymbolTable) -> Vec<Vec<ValueView>> {
    let view = |value: &crate::model::ValueCount| ValueView {
        name: if kind.is_name() { symbols.name(value.value).map(text_of) } else { None },
        size: (!kind.is_name()).then_some(value.value),
        name_ref: kind.is_name().then(|| format!("{:#018x}", value.value)),
        count: value.count,
    };
    record.sites(kind).iter().map(|site| site.iter().map(view).collect()).collect()
}

fn hot_functions(totals: &Totals, options: &ShowOptions) -> Result<HotFunctions> {
    let threshold = totals.hot_threshold(options)?;
    let hot = totals.maxima.iter().take_while(|(_, max)| *max >= threshold);
    let functions = hot.map(|(name, max)| NamedMaximum { name: text_of(name), max: *max }).collect();
    Ok(HotFunctions { threshold, functions })
}

fn site_statistics(totals: &Totals, options: &ShowOptions) -> BTreeMap<&'static str, SiteStatistics> {
    let shown = ValueKind::EACH.into_iter().filter(|kind| options.shows(*kind) && totals.shown > 0);
    let statistics = shown.map(|kind| {
        let counts = &totals.sites[kind as usize];
        let statistics = SiteStatistics {
            sites: counts.sites,
            with_values: counts.with_values,
            values: counts.values,
            histogram: counts.histogram.clone(),
        };
        (member_of(kind), statistics)
    });
    statistics.collect()
}

fn summary_rows(totals: &Totals) -> Vec<SummaryDetails> {
    let row = |row: &crate::model::summary::SummaryRow| SummaryDetails {
        cutoff: row.cutoff,
        min_count: row.min_count,
        blocks: row.num_counts,
    };
    totals.summary.rows.iter().map(row).collect()
}

fn traces(reader: &mut dyn ProfileReader) -> Result<TraceList> {
    let temporal = reader.temporal();
    let symbols = reader.symbols()?;
    let view = |trace: &crate::model::TemporalTrace| TraceView {
        weight: trace.weight,
        functions: trace.functions.iter().map(|id| symbols.name(*id).map(text_of).unwrap_or_default()).collect(),
    };
    Ok(TraceList { seen: temporal.stream_size, traces: temporal.traces.iter().map(view).collect() })
}
