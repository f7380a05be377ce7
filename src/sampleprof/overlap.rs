//! Compares two sample profiles.
//!
//! Functions match by name or context, line locations by value, inlined callees by location and name. The similarity of
//! a function is that of its line locations, as shares of the function, times how close its shares of the two profiles
//! are.

use super::files::load_file;
use super::options::{ReadOptions, Threshold};
use super::order;
use super::profile::{SampleProfile, Summary};
use super::record::{BodyEntry, CallSite, FunctionName, FunctionRecord};
use crate::compat::Compat;
use crate::error::{Error, ErrorKind, Result};
use crate::input::Input;
use crate::names::NamePattern;
use serde::{Serialize, Serializer};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::io::{self, Write};

/// Smaller differences count as 0.
const EPSILON: f64 = 0.000_005;

/// The details to report in addition to the whole program.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OverlapOptions {
    /// Report matching functions whose name or context this selects.
    pub function: Option<NamePattern>,
    /// Report functions of the second profile whose largest count is at least this.
    pub value_cutoff: u64,
    /// Report matching functions with a similarity below this, in millionths.
    pub similarity_cutoff: u64,
    /// The counts of hot blocks.
    pub hot: Threshold,
}

impl Default for OverlapOptions {
    fn default() -> Self {
        Self { function: None, value_cutoff: u64::MAX, similarity_cutoff: 0, hot: Threshold::HOT }
    }
}

/// The details of one function of the second profile.
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

/// The comparison of two profiles.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct OverlapReport {
    /// From 0 to 1.
    pub similarity: f64,
    /// The samples of the program.
    pub samples: Shared,
    /// Functions.
    pub functions: Shared,
    /// Functions with a hot block.
    pub hot_functions: Shared,
    /// Hot blocks.
    pub hot_blocks: Shared,
    /// The requested functions, by falling share of the first profile.
    pub details: Vec<FunctionOverlap>,
    /// Whether the options select functions by name, and neither profile has one of them.
    pub selects_nothing: bool,
}

/// A profile in the order of LLVM's container, with its summary.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    /// The profile, as `Merger::load` orders it.
    pub profile: &'a SampleProfile,
    /// The summary that the file stores, or the one computed from the records.
    pub summary: &'a Summary,
}

/// Compares two sample profiles.
///
/// # Errors
///
/// The errors of the files; a kind conflict if only one of them is probe-based, or has calling contexts.
pub fn overlap_files(
    base: impl Into<Input>,
    test: impl Into<Input>,
    read: &ReadOptions,
    compat: Compat,
    options: &OverlapOptions,
) -> Result<OverlapReport> {
    let (base, base_summary) = load_file(base, read, compat)?;
    let (test, test_summary) = load_file(test, read, compat)?;
    let (of_base, of_test) = (base.kind(), test.kind());
    let detail = if of_base.probe_based != of_test.probe_based {
        "cannot compare probe-based profile with non-probe-based profile"
    } else if of_base.context_sensitive != of_test.context_sensitive {
        "cannot compare CS profile with non-CS profile"
    } else {
        let base = Compared { profile: &base, summary: &base_summary };
        let test = Compared { profile: &test, summary: &test_summary };
        return compare(base, test, options);
    };
    Err(Error::new(ErrorKind::KindConflict { detail: detail.to_string() }).with_llvm_detail(detail))
}

/// Compares a profile with the base profile.
///
/// # Errors
///
/// Usage, if a cutoff is larger than those of all summaries.
pub fn compare(base: Compared<'_>, test: Compared<'_>, options: &OverlapOptions) -> Result<OverlapReport> {
    let mut blocks = Blocks::new(base.summary.count_of(options.hot)?, test.summary.count_of(options.hot)?);
    let in_base = tallies(base.profile, blocks.base_threshold);
    let in_test = tallies(test.profile, blocks.test_threshold);
    let sum = |tallies: &[Tally]| tallies.iter().fold(0u64, |sum, tally| sum.wrapping_add(tally.sum));
    let mut report = OverlapReport::default();
    if let Some(pattern) = &options.function {
        let is_in =
            |profile: &SampleProfile| profile.functions.iter().any(|record| pattern.matches(&profile.title(record)));
        report.selects_nothing = !is_in(base.profile) && !is_in(test.profile);
    }
    report.samples.base = sum(&in_base);
    report.samples.test = sum(&in_test);
    report.functions.base = in_base.len() as u64;
    report.functions.test = in_test.len() as u64;
    if report.samples.base == 0 || report.samples.test == 0 {
        return Ok(report);
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
    Ok(report)
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
    let is_named = || options.function.as_ref().is_some_and(|pattern| pattern.matches(&function.title));
    let is_low = || function.similarity < options.similarity_cutoff as f64 / 1_000_000.0;
    tally.max >= options.value_cutoff || (is_matched && (is_low() || is_named()))
}

/// Returns a key that identifies a record in both profiles.
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

/// The samples, functions or blocks of two profiles. Sums are modulo 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Shared {
    /// In both; for samples, the smaller count of each block.
    pub overlap: u64,
    /// In at least one; for samples, the larger count of each block.
    pub union: u64,
    /// Only in the first.
    pub base_unique: u64,
    /// Only in the second.
    pub test_unique: u64,
    /// In the first.
    pub base: u64,
    /// In the second.
    pub test: u64,
}

/// The samples of a function, inlined callees included.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    sum: u64,
    max: u64,
    hot_blocks: u64,
}

impl Tally {
    fn of(record: &FunctionRecord, threshold: u64) -> Self {
        let mut tally = Self::default();
        tally.add(record, threshold);
        tally
    }

    fn add(&mut self, record: &FunctionRecord, threshold: u64) {
        for entry in &record.body {
            self.sum = self.sum.wrapping_add(entry.samples);
            self.max = self.max.max(entry.samples);
            self.hot_blocks += u64::from(entry.samples >= threshold);
        }
        record.call_sites.iter().for_each(|site| self.add(&site.callee, threshold));
    }
}

/// The profiles that contain a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Base,
    Test,
    Both,
}

/// The hot blocks so far.
struct Blocks {
    base_threshold: u64,
    test_threshold: u64,
    hot: Shared,
}

type In<'a> = (&'a SampleProfile, &'a FunctionRecord);

impl Blocks {
    fn new(base_threshold: u64, test_threshold: u64) -> Self {
        Self { base_threshold, test_threshold, hot: Shared::default() }
    }

    /// Counts blocks with the given samples.
    fn count(&mut self, base: u64, test: u64, blocks: u64) {
        let is_base_hot = base >= self.base_threshold;
        let is_test_hot = test >= self.test_threshold;
        if is_base_hot || is_test_hot {
            self.hot.union += blocks;
            self.hot.base += if is_base_hot { blocks } else { 0 };
            self.hot.test += if is_test_hot { blocks } else { 0 };
            self.hot.overlap += if is_base_hot && is_test_hot { blocks } else { 0 };
        }
    }

    /// Returns the similarity of two functions, from 0 to 1. `function` has their samples, and receives the shared ones.
    fn compare(&mut self, base: In<'_>, test: In<'_>, function: &mut Shared) -> f64 {
        let mut difference = 0.0;
        let bodies = join(&base.1.body, &test.1.body, |a, b| a.location.cmp(&b.location));
        for (first, second) in bodies {
            let samples = |entry: Option<&BodyEntry>| entry.map_or(0, |e| e.samples);
            let side = side_of(first.is_some(), second.is_some());
            self.block(side, samples(first), samples(second), 1, function, &mut difference);
        }
        let (names, other_names) = (&base.0.names, &test.0.names);
        let (sites, other_sites) = (order::call_sites(names, base.1), order::call_sites(other_names, test.1));
        let compare = |a: &&CallSite, b: &&CallSite| {
            let by_name = || names.get(a.callee.name).cmp(&other_names.get(b.callee.name));
            a.location.cmp(&b.location).then_with(by_name)
        };
        for pair in join(&sites, &other_sites, compare) {
            match pair {
                (Some(first), Some(second)) => {
                    let inside = self.compare((base.0, &first.callee), (test.0, &second.callee), function);
                    difference += 2.0 - 2.0 * inside;
                }
                (Some(first), None) => {
                    let tally = Tally::of(&first.callee, self.base_threshold);
                    self.block(Side::Base, tally.sum, 0, tally.hot_blocks, function, &mut difference);
                }
                (None, Some(second)) => {
                    let tally = Tally::of(&second.callee, self.test_threshold);
                    self.block(Side::Test, 0, tally.sum, tally.hot_blocks, function, &mut difference);
                }
                (None, None) => {}
            }
        }
        (2.0 - difference) / 2.0
    }

    fn block(&mut self, side: Side, base: u64, test: u64, blocks: u64, function: &mut Shared, difference: &mut f64) {
        match side {
            Side::Base => function.base_unique = function.base_unique.wrapping_add(base),
            Side::Test => function.test_unique = function.test_unique.wrapping_add(test),
            Side::Both => {}
        }
        function.union = function.union.wrapping_add(base.max(test));
        function.overlap = function.overlap.wrapping_add(base.min(test));
        let share = |part: u64, whole: u64| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
        let similarity = 1.0 - (share(base, function.base) - share(test, function.test)).abs();
        *difference += 1.0 - similarity;
        self.count(base, test, blocks);
    }
}

fn side_of(in_base: bool, in_test: bool) -> Side {
    match (in_base, in_test) {
        (true, false) => Side::Base,
        (false, true) => Side::Test,
        _ => Side::Both,
    }
}

/// Joins two sorted lists. An element without a partner comes alone.
fn join<'a, T>(
    first: &'a [T],
    second: &'a [T],
    compare: impl Fn(&T, &T) -> Ordering,
) -> Vec<(Option<&'a T>, Option<&'a T>)> {
    let (mut a, mut b) = (first.iter().peekable(), second.iter().peekable());
    let mut pairs = Vec::with_capacity(first.len().max(second.len()));
    loop {
        let order = match (a.peek(), b.peek()) {
            (None, None) => return pairs,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(first), Some(second)) => compare(first, second),
        };
        let left = if order.is_le() { a.next() } else { None };
        let right = if order.is_ge() { b.next() } else { None };
        pairs.push((left, right));
    }
}

/// Columns at which the parts of a row begin.
const COLUMNS: [usize; 9] = [0, 15, 30, 43, 53, 67, 81, 96, 111];

fn percent(part: u64, whole: u64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 * 100.0 } else { 0.0 }
}

impl OverlapReport {
    /// Prints the report of two files. If one of them has no samples, it prints only that. Without hot functions or blocks,
    /// llvm-profdata divides by zero, which llvm-profdata mode repeats.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn write_text(&self, base: &[u8], test: &[u8], compat: Compat, out: &mut dyn Write) -> io::Result<()> {
        let mut is_empty = false;
        for (name, samples) in [(base, self.samples.base), (test, self.samples.test)] {
            if samples == 0 {
                out.write_all(&[b"Sum of sample counts for profile ", name, b" is 0.\n"].concat())?;
                is_empty = true;
            }
        }
        if is_empty {
            return Ok(());
        }
        out.write_all(b"Profile overlap information for base_profile: ")?;
        out.write_all(&[base, b" and test_profile: ", test, b"\nProgram level:\n"].concat())?;
        self.write_program(out)?;
        for (what, hot) in [("function", &self.hot_functions), ("block", &self.hot_blocks)] {
            let shared = match hot.union {
                0 if compat.is_llvm() => "-nan%".to_string(),
                union => share(hot.overlap, union),
            };
            write_hot(out, what, &shared, hot)?;
        }
        if self.details.is_empty() {
            return Ok(());
        }
        writeln!(out, "Function-level details:")?;
        let titles = [
            "Base weight",
            "Test weight",
            "Similarity",
            "Overlap",
            "Base unique",
            "Test unique",
            "Base samples",
            "Test samples",
            "Function name",
        ];
        write_row(out, &titles.map(|title| title.as_bytes().to_vec()))?;
        self.details.iter().try_for_each(|function| write_function(out, function))
    }

    fn write_program(&self, out: &mut dyn Write) -> io::Result<()> {
        let (samples, functions) = (&self.samples, &self.functions);
        writeln!(out, "  Whole program profile similarity: {:.3}%", self.similarity * 100.0)?;
        writeln!(out, "  Whole program sample overlap: {:.3}%", percent(samples.overlap, samples.union))?;
        let base_unique = percent(samples.base_unique, samples.base);
        writeln!(out, "    percentage of samples unique in base profile: {base_unique:.3}%")?;
        let test_unique = percent(samples.test_unique, samples.test);
        writeln!(out, "    percentage of samples unique in test profile: {test_unique:.3}%")?;
        writeln!(out, "    total samples in base profile: {}", samples.base)?;
        writeln!(out, "    total samples in test profile: {}", samples.test)?;
        writeln!(out, "  Function overlap: {:.3}%", percent(functions.overlap, functions.union))?;
        writeln!(out, "    overlap functions: {}", functions.overlap)?;
        writeln!(out, "    functions unique in base profile: {}", functions.base_unique)?;
        writeln!(out, "    functions unique in test profile: {}", functions.test_unique)
    }
}

fn share(part: u64, whole: u64) -> String {
    format!("{:.3}%", percent(part, whole))
}

fn write_hot(out: &mut dyn Write, what: &str, shared: &str, hot: &Shared) -> io::Result<()> {
    writeln!(out, "  Hot-{what} overlap: {shared}")?;
    writeln!(out, "    overlap hot {what}s: {}", hot.overlap)?;
    writeln!(out, "    hot {what}s unique in base profile: {}", hot.base - hot.overlap)?;
    writeln!(out, "    hot {what}s unique in test profile: {}", hot.test - hot.overlap)
}

fn write_function(out: &mut dyn Write, function: &FunctionOverlap) -> io::Result<()> {
    let samples = &function.samples;
    let share = |value: f64| format!("{value:.2}%").into_bytes();
    write_row(
        out,
        &[
            share(function.base_weight * 100.0),
            share(function.test_weight * 100.0),
            share(function.similarity * 100.0),
            share(percent(samples.overlap, samples.union)),
            share(percent(samples.base_unique, samples.base)),
            share(percent(samples.test_unique, samples.test)),
            samples.base.to_string().into_bytes(),
            samples.test.to_string().into_bytes(),
            function.title.clone(),
        ],
    )
}

/// Writes the parts of a row at their columns, with at least one space between them.
fn write_row(out: &mut dyn Write, parts: &[Vec<u8>; 9]) -> io::Result<()> {
    let mut row = Vec::new();
    for (part, column) in parts.iter().zip(COLUMNS) {
        if column > 0 {
            row.resize(column.max(row.len() + 1), b' ');
        }
        row.extend_from_slice(part);
    }
    row.push(b'\n');
    out.write_all(&row)
}

/// The amounts of both profiles, and of each alone.
#[derive(Serialize)]
struct Amounts {
    /// The overlap as a share of the union; 0 if both are empty.
    share: f64,
    overlap: u64,
    union: u64,
    base: u64,
    test: u64,
    base_unique: u64,
    test_unique: u64,
}

impl From<&Shared> for Amounts {
    fn from(shared: &Shared) -> Self {
        let Shared { overlap, union, base_unique, test_unique, base, test } = *shared;
        let share = if union > 0 { overlap as f64 / union as f64 } else { 0.0 };
        Self { share, overlap, union, base, test, base_unique, test_unique }
    }
}

impl Amounts {
    /// The report does not count the hot functions and blocks of one profile alone.
    fn of_hot(hot: &Shared) -> Self {
        let (base_unique, test_unique) = (hot.base.wrapping_sub(hot.overlap), hot.test.wrapping_sub(hot.overlap));
        Self { base_unique, test_unique, ..Self::from(hot) }
    }
}

#[derive(Serialize)]
struct Program {
    similarity: f64,
    samples: Amounts,
    functions: Amounts,
    hot_functions: Amounts,
    hot_blocks: Amounts,
}

#[derive(Serialize)]
struct Function {
    name: String,
    similarity: f64,
    base_weight: f64,
    test_weight: f64,
    samples: Amounts,
}

#[derive(Serialize)]
struct Report {
    program: Program,
    functions: Vec<Function>,
}

impl From<&FunctionOverlap> for Function {
    fn from(function: &FunctionOverlap) -> Self {
        Self {
            name: String::from_utf8_lossy(&function.title).into_owned(),
            similarity: function.similarity,
            base_weight: function.base_weight,
            test_weight: function.test_weight,
            samples: Amounts::from(&function.samples),
        }
    }
}

/// Serializes the members `program` and `functions`, the requested ones. Bytes of names that are not UTF-8 are replaced.
impl Serialize for OverlapReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let program = Program {
            similarity: self.similarity,
            samples: Amounts::from(&self.samples),
            functions: Amounts::from(&self.functions),
            hot_functions: Amounts::of_hot(&self.hot_functions),
            hot_blocks: Amounts::of_hot(&self.hot_blocks),
        };
        Report { program, functions: self.details.iter().map(Function::from).collect() }.serialize(serializer)
    }
}
