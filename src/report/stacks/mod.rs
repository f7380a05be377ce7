//! What sampled stacks say: the flat table of hot methods, threads, call
//! chains, and how far the statistics can be trusted.
//!
//! *Exclusive* hits of a method are those of stacks with it as leaf,
//! *inclusive* ones those of stacks with it anywhere, once a stack however
//! often it recurs. Percentages are of all hits.

pub mod chains;
mod hits;
pub mod notes;
mod text;

pub use chains::{
    CallChain, ChainOptions, Direction, MethodPattern, call_chains, functions_meant, samples_with_methods,
};
pub use hits::percent;
pub use text::{write_chains, write_statistics};

use crate::stacks::model::{Certainty, FunctionId, StackTable, ThreadId, Unit};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// One method of the flat table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HotMethod {
    /// As people write it: `app.Main.loop(int)`.
    pub method: String,
    /// Hits of stacks with this leaf.
    pub exclusive: u128,
    /// Hits of stacks that have it anywhere.
    pub inclusive: u128,
    /// Of the exclusive hits: those the source calls exact.
    pub exact: u128,
    /// Of the exclusive hits: those the source calls guessed or moved.
    pub heuristic: u128,
}

/// Hits of one thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ThreadHits {
    /// Its name; `None` for samples without a thread.
    pub thread: Option<String>,
    /// Hits.
    pub hits: u128,
}

/// An array of objects with names.
fn sorts_as_objects<S: Serializer>(event_types: &[(&'static str, u128)], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Row {
        sort: &'static str,
        hits: u128,
    }
    serializer.collect_seq(event_types.iter().map(|(sort, hits)| Row { sort, hits: *hits }))
}

/// All statistics of a table of stacks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SampleStatistics {
    /// What wrote the samples.
    pub sources: Vec<String>,
    /// What a hit is: `hits` for samples, `bytes`, `ns`; `mixed` for samples that count different things.
    pub unit: &'static str,
    /// All hits.
    pub hits: u128,
    /// Distinct stacks with hits.
    pub stacks: u64,
    /// Frames of the deepest stack.
    pub max_depth: u32,
    /// Frames of a stack, the mean over hits.
    pub mean_depth: f64,
    /// Nanoseconds covered, 0 where the source does not tell.
    pub duration_nanos: u64,
    /// Whether the source tells exact hits from guesses.
    pub has_certainty: bool,
    /// Hits by sort of sample.
    #[serde(rename = "hits_by_sort", serialize_with = "sorts_as_objects")]
    pub hits_by_event_type: Vec<(&'static str, u128)>,
    /// Methods by falling exclusive, then inclusive hits, then name.
    pub methods: Vec<HotMethod>,
    /// Threads by falling hits, then name; empty where the source has none.
    pub threads: Vec<ThreadHits>,
    /// How far the statistics can be trusted, from what the file itself shows.
    pub notes: Vec<String>,
}

/// Computes all statistics.
pub fn statistics(table: &StackTable) -> SampleStatistics {
    let mut methods: Vec<HotMethod> = table
        .functions()
        .map(|id| HotMethod { method: table.display_function(id), exclusive: 0, inclusive: 0, exact: 0, heuristic: 0 })
        .collect();
    let mut seen_in: Vec<usize> = vec![usize::MAX; methods.len()];
    let mut threads: BTreeMap<Option<ThreadId>, u128> = BTreeMap::new();
    let (mut depths, mut max_depth) = (0u128, 0);
    let mut stacks = std::collections::BTreeSet::new();
    for (number, sample) in table.samples().enumerate() {
        let hits = u128::from(sample.hits);
        let function = |frame| -> FunctionId { table.frame(frame).function };
        let leaf = &mut methods[function(table.leaf(sample.key.stack)).index()];
        leaf.exclusive += hits;
        match sample.key.certainty {
            Certainty::Exact => leaf.exact += hits,
            Certainty::Heuristic => leaf.heuristic += hits,
            Certainty::Unknown => {}
        }
        for frame in table.frames(sample.key.stack) {
            let index = function(frame).index();
            if seen_in[index] != number {
                seen_in[index] = number;
                methods[index].inclusive += hits;
            }
        }
        *threads.entry(sample.key.thread).or_default() += hits;
        let depth = table.depth(sample.key.stack);
        depths += hits * u128::from(depth);
        max_depth = max_depth.max(depth);
        stacks.insert(sample.key.stack);
    }
    methods.retain(|method| method.inclusive > 0);
    methods.sort_by(|a, b| {
        (b.exclusive, b.inclusive).cmp(&(a.exclusive, a.inclusive)).then_with(|| a.method.cmp(&b.method))
    });
    let total = table.total_hits();
    let by_sort = table.hits_by_source().into_iter().map(|(source, hits)| (source.word(), hits)).collect();
    SampleStatistics {
        sources: table.observed.sources.clone(),
        unit: table.unit().map_or("mixed", Unit::word),
        hits: total,
        stacks: stacks.len() as u64,
        max_depth,
        mean_depth: if total == 0 { 0.0 } else { depths as f64 / total as f64 },
        duration_nanos: table.observed.duration_nanos,
        has_certainty: table.samples().any(|sample| sample.key.certainty != Certainty::Unknown),
        hits_by_event_type: by_sort,
        methods,
        threads: thread_rows(table, threads),
        notes: notes::notes(table),
    }
}

fn thread_rows(table: &StackTable, threads: BTreeMap<Option<ThreadId>, u128>) -> Vec<ThreadHits> {
    if threads.keys().all(Option::is_none) {
        return Vec::new();
    }
    let mut rows: Vec<ThreadHits> = threads
        .into_iter()
        .map(|(thread, hits)| ThreadHits { thread: thread.map(|id| table.thread(id).to_string()), hits })
        .collect();
    rows.sort_by(|a, b| b.hits.cmp(&a.hits).then_with(|| a.thread.cmp(&b.thread)));
    rows
}

#[cfg(test)]
mod tests;
