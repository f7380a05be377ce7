//! How much two sample profiles have in common.
//!
//! Functions match by name or context, places by location, inlined callees by
//! location and name. A function's similarity is that of its places, as shares
//! of the function, times how near its shares of the two profiles are.

mod blocks;
mod json;
mod report;
mod shared;

use super::names::FunctionName;
use super::profile::SampleProfile;
use super::record::FunctionRecord;
use super::summary::{HOT_CUTOFF, Summary};
use blocks::{Blocks, Tally};
use std::collections::HashMap;

pub use shared::Shared;

/// Differences below this are none.
const EPSILON: f64 = 0.000_005;

/// What to report besides the program as a whole.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OverlapOptions {
    /// Details of matching functions whose name or context contains this.
    pub function: Vec<u8>,
    /// Details of functions of the second profile whose largest count is at
    /// least this.
    pub value_cutoff: u64,
    /// Details of matching functions with a similarity below this, in millionths.
    pub similarity_cutoff: u64,
}

impl Default for OverlapOptions {
    fn default() -> Self {
        Self { function: Vec::new(), value_cutoff: u64::MAX, similarity_cutoff: 0 }
    }
}

/// One function of the second profile.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FunctionOverlap {
    /// Its name or context.
    pub title: Vec<u8>,
    /// From 0 to 1.
    pub similarity: f64,
    /// Its samples.
    pub samples: Shared,
    /// Its share of the first profile.
    pub base_weight: f64,
    /// Its share of the second profile.
    pub test_weight: f64,
}

/// What two profiles have in common.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct OverlapReport {
    /// From 0 to 1.
    pub similarity: f64,
    /// Samples of the program.
    pub samples: Shared,
    /// Functions.
    pub functions: Shared,
    /// Functions with a hot block.
    pub hot_functions: Shared,
    /// Hot blocks.
    pub hot_blocks: Shared,
    /// The functions that were asked for, by falling share of the first profile.
    pub details: Vec<FunctionOverlap>,
}

/// A profile in the order of LLVM's container, with its summary.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    /// The profile, as [`Merger::load`](super::Merger::load) orders it.
    pub profile: &'a SampleProfile,
    /// The summary that it holds, or the one computed of it.
    pub summary: &'a Summary,
}

/// Compares a profile with a first one, the base.
pub fn compare(base: Compared<'_>, test: Compared<'_>, options: &OverlapOptions) -> OverlapReport {
    let mut blocks = Blocks::new(threshold(base.summary), threshold(test.summary));
    let in_base = tallies(base.profile, blocks.base_threshold);
    let in_test = tallies(test.profile, blocks.test_threshold);
    let sum = |tallies: &[Tally]| tallies.iter().fold(0u64, |sum, tally| sum.wrapping_add(tally.sum));
    let mut report = OverlapReport::default();
    report.samples.base = sum(&in_base);
    report.samples.test = sum(&in_test);
    report.functions.base = in_base.len() as u64;
    report.functions.test = in_test.len() as u64;
    if report.samples.base == 0 || report.samples.test == 0 {
        return report;
    }
    let mut unmatched: HashMap<Vec<u8>, usize> = HashMap::new();
    for (at, record) in base.profile.functions.iter().enumerate() {
        unmatched.insert(key(base.profile, record), at);
    }
    let mut hot_in_both = 0;
    for (record, tally) in test.profile.functions.iter().zip(&in_test) {
        let found = unmatched.remove(&key(test.profile, record));
        let mut function = FunctionOverlap {
            title: test.profile.title(record),
            similarity: 0.0,
            samples: Shared { test: tally.sum, ..Shared::default() },
            base_weight: 0.0,
            test_weight: tally.sum as f64 / report.samples.test as f64,
        };
        if let Some(at) = found {
            function.samples.base = in_base[at].sum;
            function.base_weight = in_base[at].sum as f64 / report.samples.base as f64;
            let first = &base.profile.functions[at];
            compare_functions(&mut blocks, (base.profile, first), (test.profile, record), &mut function);
            report.functions.overlap += 1;
            report.similarity += function.similarity * (function.base_weight + function.test_weight) / 2.0;
            let is_hot = in_base[at].max >= blocks.base_threshold && tally.max >= blocks.test_threshold;
            hot_in_both += u64::from(is_hot);
        } else {
            report.functions.test_unique += 1;
            function.samples.test_unique = tally.sum;
            function.samples.union = 0;
            report.samples.union = report.samples.union.wrapping_add(tally.sum);
            blocks.count(0, tally.sum, tally.hot_blocks);
        }
        add(&mut report.samples, &function.samples);
        if is_wanted(&function, tally, found.is_some(), options) {
            report.details.push(function);
        }
    }
    for at in unmatched.into_values() {
        report.functions.base_unique += 1;
        report.samples.base_unique = report.samples.base_unique.wrapping_add(in_base[at].sum);
        report.samples.union = report.samples.union.wrapping_add(in_base[at].sum);
        blocks.count(in_base[at].sum, 0, in_base[at].hot_blocks);
    }
    report.functions.union = report.functions.base + report.functions.test_unique;
    if (report.similarity - 1.0).abs() < EPSILON {
        report.similarity = 1.0;
    }
    let hot = |tallies: &[Tally], threshold| tallies.iter().filter(|tally| tally.max >= threshold).count() as u64;
    report.hot_functions.base = hot(&in_base, blocks.base_threshold);
    report.hot_functions.test = hot(&in_test, blocks.test_threshold);
    report.hot_functions.overlap = hot_in_both;
    report.hot_functions.union = report.hot_functions.base + report.hot_functions.test - hot_in_both;
    report.hot_blocks = blocks.hot;
    report.details.sort_by(|a, b| b.base_weight.total_cmp(&a.base_weight));
    report
}

fn threshold(summary: &Summary) -> u64 {
    summary.threshold(HOT_CUTOFF).unwrap_or_default()
}

fn tallies(profile: &SampleProfile, threshold: u64) -> Vec<Tally> {
    profile.functions.iter().map(|record| Tally::of(record, threshold)).collect()
}

fn compare_functions(
    blocks: &mut Blocks,
    base: (&SampleProfile, &FunctionRecord),
    test: (&SampleProfile, &FunctionRecord),
    function: &mut FunctionOverlap,
) {
    let inside = blocks.compare(base, test, &mut function.samples);
    let inside = if inside.abs() < EPSILON { 0.0 } else { inside };
    function.similarity = inside * (1.0 - (function.base_weight - function.test_weight).abs());
}

fn add(sum: &mut Shared, function: &Shared) {
    for (sum, more) in [
        (&mut sum.overlap, function.overlap),
        (&mut sum.union, function.union),
        (&mut sum.base_unique, function.base_unique),
        (&mut sum.test_unique, function.test_unique),
    ] {
        *sum = sum.wrapping_add(more);
    }
}

fn is_wanted(function: &FunctionOverlap, tally: &Tally, is_matched: bool, options: &OverlapOptions) -> bool {
    let part = &options.function;
    let is_named = || !part.is_empty() && function.title.windows(part.len()).any(|window| window == part.as_slice());
    let is_low = || function.similarity < options.similarity_cutoff as f64 / 1_000_000.0;
    tally.max >= options.value_cutoff || (is_matched && (is_low() || is_named()))
}

/// What tells a record from all others, across profiles.
fn key(profile: &SampleProfile, record: &FunctionRecord) -> Vec<u8> {
    let mut key = Vec::new();
    let push = |key: &mut Vec<u8>, name: FunctionName<'_>| match name {
        FunctionName::Hash(hash) => {
            key.push(0);
            key.extend_from_slice(&hash.to_le_bytes());
        }
        FunctionName::Text(text) => {
            key.push(1);
            key.extend_from_slice(&(text.len() as u64).to_le_bytes());
            key.extend_from_slice(text);
        }
    };
    match &record.context {
        None => push(&mut key, profile.name(record.name)),
        Some(frames) => {
            key.push(2);
            for frame in frames {
                push(&mut key, profile.name(frame.function));
                key.extend_from_slice(&frame.location.line.to_le_bytes());
                key.extend_from_slice(&frame.location.discriminator.to_le_bytes());
            }
        }
    }
    key
}
