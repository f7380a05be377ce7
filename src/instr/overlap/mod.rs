//! The similarity of two profiles.
//!
//! Each count is converted to its share of the profile's total. The overlap is the sum of the smaller share of each
//! counter (`OverlapStats` in LLVM's `InstrProf.h`). 100 % means the same distribution, whatever the totals.

use crate::error::Result;
use crate::model::{FunctionTable, ProfileReader, RecordView, ValueCount, ValueKind};
use crate::names::NamePattern;
use serde::{Serialize, Serializer};
use std::io;
use std::io::Write;

/// Options for comparing profiles.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OverlapOptions {
    /// Show details of the functions that this selects. Default: none.
    pub function: Option<NamePattern>,
    /// Show details of the functions of the test profile whose largest counter is at least this value. Default:
    /// `u64::MAX`.
    pub value_cutoff: u64,
    /// Compare the context-sensitive records of IR profiles instead of the plain ones. Default: `false`.
    pub context_sensitive: bool,
    /// Also visit the records of the other level, as llvm-profdata does: then shares can exceed 100 %. Default: `false`.
    pub as_llvm: bool,
    /// Require equal names and hashes; otherwise functions are matched across releases. Default: `false`; llvm-profdata
    /// never matches them.
    pub exact_names: bool,
}

impl Default for OverlapOptions {
    fn default() -> Self {
        Self { function: None, value_cutoff: u64::MAX, context_sensitive: false, as_llvm: false, exact_names: false }
    }
}

/// Counts or shares of counts, and their number of entries.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Sums {
    /// Functions, or the counters of one function.
    pub entries: u64,
    /// Edge counters.
    pub edges: f64,
    /// Value counts by kind.
    pub values: [f64; ValueKind::COUNT],
}

impl Sums {
    /// Adds a profile; of IR profiles either the plain or the context-sensitive records.
    ///
    /// # Errors
    ///
    /// The errors of the reader. `self` contains the records before the fault.
    pub fn add_profile(&mut self, reader: &mut dyn ProfileReader, context_sensitive: bool) -> Result<()> {
        loop {
            let is_ir = reader.kind().is_ir();
            let Some(read) = reader.next_record()? else { return Ok(()) };
            if !is_ir || read.record.is_context_sensitive() == context_sensitive {
                self.add_record(read.record);
                self.entries += 1;
            }
        }
    }

    /// Adds one record. Sums inside a record wrap, as in LLVM; sums over records are floating-point numbers.
    fn add_record(&mut self, record: RecordView<'_>) {
        self.edges += record.counters.iter().fold(0u64, |sum, count| sum.wrapping_add(count)) as f64;
        for (sum, kind) in self.values.iter_mut().zip(ValueKind::EACH) {
            *sum += record.sites(kind).values().iter().fold(0u64, |sum, v| sum.wrapping_add(v.count)) as f64;
        }
    }

    fn of_record(record: RecordView<'_>) -> Self {
        let mut sums = Self::default();
        sums.add_record(record);
        sums
    }

    /// Counts one function and adds its share of `total`.
    fn add_share(&mut self, function: &Self, total: &Self) {
        self.entries += 1;
        self.edges += function.edges / total.edges;
        for ((share, count), total) in self.values.iter_mut().zip(function.values).zip(total.values) {
            if total >= 1.0 {
                *share += count / total;
            }
        }
    }
}

/// One comparison, of two programs or of one function.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Overlap {
    /// Totals of the base profile.
    #[serde(serialize_with = "totals")]
    pub base: Sums,
    /// Totals of the test profile.
    #[serde(serialize_with = "totals")]
    pub test: Sums,
    /// Shares that both profiles have.
    #[serde(serialize_with = "shares")]
    pub common: Sums,
    /// Shares of functions that changed: they have another FuncHash or other counters.
    #[serde(serialize_with = "shares")]
    pub mismatch: Sums,
    /// Shares of functions that only the test profile has.
    #[serde(serialize_with = "shares")]
    pub unique: Sums,
}

/// The comparison of one function.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FunctionOverlap {
    /// The name, with bytes that are not UTF-8 replaced.
    pub name: String,
    /// The FuncHash.
    #[serde(serialize_with = "func_hash")]
    pub func_hash: u64,
    /// Shares relative to the function's own totals.
    pub overlap: Overlap,
    #[serde(skip)]
    raw_name: Vec<u8>,
}

/// The whole comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OverlapReport {
    /// Selected functions, in the order of the test profile.
    pub functions: Vec<FunctionOverlap>,
    /// All functions.
    pub program: Overlap,
    /// Whether the options select functions by name, and neither profile has one of them.
    #[serde(skip)]
    pub selects_nothing: bool,
}

/// Compares the records of `test` with those of `base`.
///
/// `base_sums` and `test_sums` are [`Sums::add_profile`] of the two files, so `test` is read a second time here.
///
/// # Errors
///
/// The errors of the reader, together with the comparison up to the fault.
pub fn overlap(
    base: &FunctionTable,
    base_sums: Sums,
    test_sums: Sums,
    test: &mut dyn ProfileReader,
    options: &OverlapOptions,
) -> (OverlapReport, Result<()>) {
    let program = Overlap { base: base_sums, test: test_sums, ..Overlap::default() };
    let mut report = OverlapReport { functions: Vec::new(), program, selects_nothing: false };
    let is_meant = |name: &[u8]| options.function.as_ref().is_some_and(|pattern| pattern.matches(name));
    let mut is_found = options.function.is_none() || base.iter().any(|function| is_meant(function.name()));
    let read = loop {
        let is_ir = test.kind().is_ir();
        match test.next_record() {
            Ok(Some(read)) => {
                if is_ir && !options.as_llvm && read.record.is_context_sensitive() != options.context_sensitive {
                    continue;
                }
                is_found = is_found || is_meant(read.name);
                let shown = compare(base, &mut report.program, read.name, read.record, options);
                report.functions.extend(shown.map(|overlap| FunctionOverlap {
                    name: String::from_utf8_lossy(read.name).into_owned(),
                    func_hash: read.record.func_hash,
                    overlap,
                    raw_name: read.name.to_vec(),
                }));
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    report.selects_nothing = !is_found;
    (report, read)
}

/// Adds one function of the test profile. Returns its own comparison if it is shown.
fn compare(
    base: &FunctionTable,
    program: &mut Overlap,
    name: &[u8],
    record: RecordView<'_>,
    options: &OverlapOptions,
) -> Option<Overlap> {
    let mut own = Overlap { test: Sums::of_record(record), ..Overlap::default() };
    let Some(function) = base.find(name) else {
        program.unique.add_share(&own.test, &program.test);
        return None;
    };
    if own.test.edges < 1.0 {
        program.common.entries += 1;
        return None;
    }
    let same_shape = function.records().find(|other| other.func_hash == record.func_hash).filter(|other| {
        let same_sites = |kind| other.sites(kind).len() == record.sites(kind).len();
        other.counters.len() == record.counters.len() && ValueKind::EACH.into_iter().all(same_sites)
    });
    let Some(other) = same_shape else {
        program.mismatch.add_share(&own.test, &program.test);
        return None;
    };
    own.base = Sums::of_record(other);
    add_common_values(program, &mut own, other, record);
    program.common.entries += 1;
    program.common.edges += common_edges(other, record, program.base.edges, program.test.edges);
    let is_named = options.function.as_ref().is_some_and(|pattern| pattern.matches(name));
    if !is_named && record.max_counter() < options.value_cutoff {
        return None;
    }
    own.common.entries = record.counters.len() as u64;
    own.common.edges = common_edges(other, record, own.base.edges, own.test.edges);
    Some(own)
}

fn common_edges(base: RecordView<'_>, test: RecordView<'_>, base_sum: f64, test_sum: f64) -> f64 {
    let pairs = base.counters.iter().zip(test.counters);
    pairs.fold(0.0, |sum, (b, t)| sum + common_share(b, t, base_sum, test_sum))
}

/// Returns the smaller of two shares; 0 if a total is 0.
fn common_share(base: u64, test: u64, base_sum: f64, test_sum: f64) -> f64 {
    if base_sum < 1.0 || test_sum < 1.0 {
        return 0.0;
    }
    let (base, test) = (base as f64 / base_sum, test as f64 / test_sum);
    if test < base { test } else { base }
}

/// Adds the shares of values that occur at the same site of both records, to the program's totals and to those of the
/// function.
fn add_common_values(program: &mut Overlap, own: &mut Overlap, base: RecordView<'_>, test: RecordView<'_>) {
    for kind in ValueKind::EACH {
        let at = kind as usize;
        for (base_site, test_site) in base.sites(kind).iter().zip(test.sites(kind).iter()) {
            let (mut in_program, mut in_function) = (0.0, 0.0);
            for (b, t) in equal_values(base_site, test_site) {
                in_program += common_share(b, t, program.base.values[at], program.test.values[at]);
                in_function += common_share(b, t, own.base.values[at], own.test.values[at]);
            }
            program.common.values[at] += in_program;
            own.common.values[at] += in_function;
        }
    }
}

/// Returns pairs of counts of the values that both sites have, by ascending value.
fn equal_values(base: &[ValueCount], test: &[ValueCount]) -> Vec<(u64, u64)> {
    let sorted = |site: &[ValueCount]| {
        let mut values = site.to_vec();
        values.sort_by_key(|value| value.value);
        values
    };
    let (base, test) = (sorted(base), sorted(test));
    let (mut base, mut test) = (base.iter().peekable(), test.iter().peekable());
    let mut pairs = Vec::new();
    while let (Some(b), Some(t)) = (base.peek(), test.peek()) {
        match b.value.cmp(&t.value) {
            std::cmp::Ordering::Less => drop(base.next()),
            std::cmp::Ordering::Greater => drop(test.next()),
            std::cmp::Ordering::Equal => {
                pairs.push((b.count, t.count));
                base.next();
                test.next();
            }
        }
    }
    pairs
}

impl OverlapReport {
    /// Writes the text of `llvm-profdata overlap`; `base` and `test` are the names of the files.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn write_text(&self, base: &[u8], test: &[u8], out: &mut dyn Write) -> io::Result<()> {
        for function in &self.functions {
            out.write_all(&[b"Function level:\n  Function: ", function.raw_name.as_slice()].concat())?;
            writeln!(out, " (Hash={})", function.func_hash)?;
            function.overlap.write_lines("edge counters", out)?;
        }
        let heading = [b"Profile overlap information for base_profile: ", base, b" and test_profile: ", test];
        out.write_all(&heading.concat())?;
        writeln!(out, "\nProgram level:")?;
        self.program.write_lines("functions", out)
    }
}

impl Overlap {
    fn write_lines(&self, entries: &str, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "  # of {entries} overlap: {}", self.common.entries)?;
        if self.mismatch.entries != 0 {
            writeln!(out, "  # of {entries} mismatch: {}", self.mismatch.entries)?;
        }
        if self.unique.entries != 0 {
            writeln!(out, "  # of {entries} only in test_profile: {}", self.unique.entries)?;
        }
        self.write_shares("Edge", |sums| sums.edges, out)?;
        for (kind, label) in ValueKind::EACH.into_iter().zip(["IndirectCall", "MemOP", "VTable"]) {
            let at = kind as usize;
            if self.base.values[at] >= 1.0 || self.test.values[at] >= 1.0 {
                self.write_shares(label, |sums| sums.values[at], out)?;
            }
        }
        Ok(())
    }

    fn write_shares(&self, label: &str, of: impl Fn(&Sums) -> f64, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "  {label} profile overlap: {:.3}%", of(&self.common) * 100.0)?;
        if self.mismatch.entries != 0 {
            writeln!(out, "  Mismatched count percentage ({label}): {:.3}%", of(&self.mismatch) * 100.0)?;
        }
        if self.unique.entries != 0 {
            writeln!(out, "  Percentage of {label} profile only in test_profile: {:.3}%", of(&self.unique) * 100.0)?;
        }
        writeln!(out, "  {label} profile base count sum: {:.0}", of(&self.base))?;
        writeln!(out, "  {label} profile test count sum: {:.0}", of(&self.test))
    }
}

#[cfg(test)]
mod tests;

// The comparison as JSON: totals are integers, shares lie between 0 and 1, values have the names of their kinds.

#[derive(Serialize)]
struct Amounts<T> {
    entries: u64,
    edges: T,
    values: Values<T>,
}

#[derive(Serialize)]
struct Values<T> {
    indirect_call_targets: T,
    memop_sizes: T,
    vtables: T,
}

fn amounts<T>(sums: &Sums, of: impl Fn(f64) -> T) -> Amounts<T> {
    let [indirect_call_targets, memop_sizes, vtables] = sums.values.map(&of);
    let values = Values { indirect_call_targets, memop_sizes, vtables };
    Amounts { entries: sums.entries, edges: of(sums.edges), values }
}

/// Serializes sums of counts. They are floating-point numbers, as in LLVM.
pub(super) fn totals<S: Serializer>(sums: &Sums, serializer: S) -> Result<S::Ok, S::Error> {
    amounts(sums, |sum| sum.round() as u64).serialize(serializer)
}

pub(super) fn shares<S: Serializer>(sums: &Sums, serializer: S) -> Result<S::Ok, S::Error> {
    // Rounding can lead to a sum above 1.
    amounts(sums, |share| share.clamp(0.0, 1.0)).serialize(serializer)
}

/// Serializes a hash as text, because many JSON readers lose digits of large numbers.
pub(super) fn func_hash<S: Serializer>(hash: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{hash:#018x}"))
}
