//! The functions of a single indexed file that is written as text.
//!
//! A merge of one file in which every function occurs once only changes the order of records and values, so the
//! functions can stay encoded. Files with irregular content go through the merge.

use crate::error::{Error, Result};
use crate::indexed::{Entry, IndexedProfile, ReadOptions};
use crate::input::InputBytes;
use crate::instr::cross_release::apply::unknown_counters;
use crate::instr::cross_release::{CrossReleaseOptions, Origins, RewriteCheck};
use crate::instr::file_merge::options::MergeOptions;
use crate::instr::{MergeRules, repeats_size, sort_record_sites};
use crate::memory::{self, HOLD_NAMES};
use crate::model::hash_order::name_order;
use crate::model::{FunctionRecord, Profile, RecordView, Release, SymbolTable, ValueKind};
use crate::text::{self, Functions, Source, TextOptions};
use std::io::{self, Write};
use std::ops::Range;

/// The functions of a file, still encoded.
#[derive(Debug)]
pub(crate) struct SingleFile {
    bytes: InputBytes,
    reading: ReadOptions,
    /// Positions of the functions, in the order of their names.
    places: Vec<u64>,
    records: usize,
    seen: Seen,
}

/// Properties of the functions in a file.
#[derive(Debug, Default)]
struct Seen {
    /// Whether some value refers to a name.
    names_something: bool,
    /// Whether some site lists a memory size twice.
    repeats_a_size: bool,
    /// Whether some name cannot be written on a line of text.
    has_irregular_name: bool,
}

impl SingleFile {
    /// Returns true if a release orders merged functions and values as here.
    pub(super) fn is_for(release: Release) -> bool {
        // Files with traces go through the merge, and the rules differ in nothing else.
        let rules = |release| MergeRules { traces: MergeRules::default().traces, ..MergeRules::of(release) };
        rules(release) == rules(Release::DEFAULT)
    }

    /// Scans a file. Returns `None` if it is damaged or irregular, if its names and hashes may differ from those that the
    /// target in `crossing` computes, or if the target does not know its counters.
    pub(super) fn scan(
        bytes: InputBytes,
        merge: &MergeOptions,
        crossing: Option<&CrossReleaseOptions>,
    ) -> Option<Self> {
        let reading = ReadOptions::new(merge.read.limits, merge.read.compat);
        let profile = IndexedProfile::read(&bytes, reading).ok()?;
        let mut origins = Origins::default();
        origins.add_indexed(profile.version().into());
        let crossing = crossing.map(|crossing| CrossReleaseOptions { origins, ..*crossing });
        if crossing.is_some_and(|crossing| !unknown_counters(profile.kind(), crossing.release).is_none()) {
            return None;
        }
        let mut glance = crossing.map(|crossing| RewriteCheck::new(profile.kind(), &crossing));
        let rules = MergeRules::of(merge.release);
        let (mut seen, mut names, mut places, mut records) = (Seen::default(), Vec::new(), Vec::new(), 0);
        for entry in profile.entries() {
            let entry = entry.ok()?;
            seen.look_at(&entry, merge, &rules)?;
            if let Some(glance) = &mut glance {
                glance.look_at(entry.name, entry.records.func_hashes());
            }
            records += entry.records.len();
            names.push(entry.name);
            places.push(entry.place());
        }
        if glance.is_some_and(|glance| !glance.leaves_all()) {
            return None;
        }
        seen.has_irregular_name |= !profile.vtable_names().ok()?.iter().all(|name| text::is_plain_name(name));
        let places = in_order(&names, &places)?;
        Some(Self { bytes, reading, places, records, seen })
    }

    /// Returns the bytes of the file.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the options for reading the file.
    pub(super) fn reading(&self) -> ReadOptions {
        self.reading
    }

    /// Returns the number of functions.
    pub(crate) fn functions_len(&self) -> usize {
        self.places.len()
    }

    /// Returns the number of records.
    pub(crate) fn records_len(&self) -> usize {
        self.records
    }

    /// See [`MergeReport::repeats_memory_size`](crate::families::MergeReport::repeats_memory_size).
    pub(super) fn repeats_memory_size(&self) -> bool {
        self.seen.repeats_a_size
    }

    /// Returns the sum of all counters without pseudo counts. It saturates.
    pub(super) fn total_count(&self) -> u64 {
        let Ok(functions) = self.functions() else { return 0 };
        let mut total = 0u64;
        for at in 0..functions.len() {
            functions.each_record(at, &mut |record, _| {
                if record.pseudo_count().is_none() {
                    total = record.counters.iter().fold(total, |sum, count| sum.saturating_add(count));
                }
            });
        }
        total
    }

    /// Writes all functions, and the other content from `rest`, as text.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub(super) fn write_text(
        &self,
        rest: &Profile,
        options: &TextOptions<'_>,
        out: &mut (dyn Write + Send),
    ) -> io::Result<Option<Error>> {
        let functions = self.functions().map_err(io::Error::other)?;
        let mut symbols = SymbolTable::new();
        if self.seen.names_something || !rest.temporal.traces.is_empty() {
            (0..functions.len()).for_each(|at| _ = symbols.insert(functions.name(at)));
            rest.vtable_names.iter().for_each(|name| _ = symbols.insert(name));
        }
        let source = Source {
            kind: rest.kind,
            temporal: &rest.temporal,
            symbols: &symbols,
            functions: &functions,
            has_plain_names: !self.seen.has_irregular_name,
        };
        text::write_source(&source, options, out)
    }

    fn functions(&self) -> Result<EncodedFunctions<'_>> {
        let profile = IndexedProfile::read(&self.bytes, self.reading)?;
        Ok(EncodedFunctions { bytes: &self.bytes, profile, places: &self.places })
    }
}

/// Returns the positions in the order of the names; `None` if a name occurs twice.
fn in_order(names: &[&[u8]], places: &[u64]) -> Option<Vec<u64>> {
    let (order, all_differ) = name_order(u32::try_from(names.len()).ok()?, |at| names[at as usize]);
    all_differ.then(|| memory::collect(order.into_iter().map(|at| places[at as usize]), HOLD_NAMES).ok()).flatten()
}

impl Seen {
    /// Returns `None` for records that a merge changes or rejects.
    fn look_at(&mut self, entry: &Entry<'_>, merge: &MergeOptions, rules: &MergeRules) -> Option<()> {
        let len = entry.name.len() as u64;
        if len == 0 || len > merge.read.limits.name_bytes || entry.records.is_irregular() {
            return None;
        }
        self.has_irregular_name |= !text::is_plain_name(entry.name);
        if !entry.records.has_value_sites() && entry.records.len() == 1 {
            return Some(());
        }
        // `scan` validated all records.
        let records = as_merged(entry.records.clone().map_while(Result::ok));
        for record in &records {
            self.repeats_a_size |= repeats_size(record.view(), rules);
            self.names_something |=
                ValueKind::EACH.iter().any(|kind| kind.is_name() && record.sites(*kind).values_len() != 0);
        }
        // Records with the same FuncHash must be merged.
        records.is_sorted_by(|one, other| one.func_hash < other.func_hash).then_some(())
    }
}

/// Returns the records of one name in the order of a merge.
fn as_merged(records: impl Iterator<Item = FunctionRecord>) -> Vec<FunctionRecord> {
    let mut records: Vec<FunctionRecord> = records.collect();
    records.sort_by_key(|record| record.func_hash);
    records.iter_mut().for_each(sort_record_sites);
    records
}

struct EncodedFunctions<'a> {
    bytes: &'a [u8],
    profile: IndexedProfile<'a>,
    places: &'a [u64],
}

impl Functions for EncodedFunctions<'_> {
    fn len(&self) -> usize {
        self.places.len()
    }

    fn name(&self, at: usize) -> &[u8] {
        self.profile.entry_name_at(self.places[at])
    }

    fn has_several_records(&self, at: usize) -> bool {
        self.profile.records_at(self.places[at]).nth(1).is_some()
    }

    fn each_record(&self, at: usize, push: &mut dyn FnMut(RecordView<'_>, bool)) {
        if let Some(record) = self.profile.plain_record_at(self.places[at]) {
            return push(record, true);
        }
        let records = as_merged(self.profile.records_at(self.places[at]));
        for (number, record) in records.iter().enumerate() {
            push(record.view(), number + 1 == records.len());
        }
    }

    fn prefetch(&self, functions: Range<usize>) {
        // The processor itself loads what follows the first lines of an entry.
        const LINES: [u64; 3] = [0, 64, 128];
        let touched = self.places[functions].iter().flat_map(|place| LINES.map(|line| place + line));
        let byte = |at: u64| self.bytes.get(at as usize).copied().unwrap_or_default();
        std::hint::black_box(touched.fold(0, |touched, at| touched ^ byte(at)));
    }
}
