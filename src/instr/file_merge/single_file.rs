//! The functions of a single indexed file that is written as text.
//!
//! A merge of one file that holds every function once changes nothing but the
//! order of records and of values, so its functions need not be taken out of it.
//! Whatever is irregular about the file is left to the merge.

use crate::error::{Error, Result};
use crate::indexed::{Entry, IndexedProfile, ReadOptions};
use crate::input::InputBytes;
use crate::instr::cross_release::{CrossReleaseOptions, Origins, RewriteCheck};
use crate::instr::file_merge::options::MergeOptions;
use crate::instr::{MergeRules, repeats_size, sort_record_sites};
use crate::memory::{self, HOLD_NAMES};
use crate::model::hash_order::name_order;
use crate::model::{FunctionRecord, Profile, RecordView, Release, SymbolTable, ValueKind};
use crate::text::{self, Functions, Source, TextOptions};
use std::io::{self, Write};

/// The functions of a file, still encoded.
#[derive(Debug)]
pub(crate) struct SingleFile {
    bytes: InputBytes,
    reading: ReadOptions,
    /// Where they stand, in the order of their names.
    places: Vec<u64>,
    records: usize,
    seen: Seen,
}

/// What the functions of a file ask for.
#[derive(Debug, Default)]
struct Seen {
    /// Some value stands for a name.
    names_something: bool,
    /// Some site lists a memory size twice.
    repeats_a_size: bool,
    /// Some name cannot stand on any line of a text.
    has_irregular_name: bool,
}

impl SingleFile {
    /// Whether functions and values that a release merges are ordered as here.
    pub(super) fn is_for(release: Release) -> bool {
        // A file with traces is merged as any other, and nothing else differs.
        let rules = |release| MergeRules { traces: MergeRules::default().traces, ..MergeRules::of(release) };
        rules(release) == rules(Release::DEFAULT)
    }

    /// Looks a file through; `None` when something is wrong or irregular, or its names and hashes
    /// may not be those that the reader in `crossing` computes, whatever origins stand there.
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

    /// The file's bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How it is read.
    pub(super) fn reading(&self) -> ReadOptions {
        self.reading
    }

    /// Number of functions.
    pub(crate) fn functions_len(&self) -> usize {
        self.places.len()
    }

    /// Number of records.
    pub(crate) fn records_len(&self) -> usize {
        self.records
    }

    /// See [`MergeReport::repeats_memory_size`](crate::families::merge::MergeReport::repeats_memory_size).
    pub(super) fn repeats_memory_size(&self) -> bool {
        self.seen.repeats_a_size
    }

    /// Sum of all counters, pseudo counts left out; stops at the largest number.
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

    /// Writes all functions, and what `rest` has beside functions, as text.
    ///
    /// # Errors
    ///
    /// Those of `out`.
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
        Ok(EncodedFunctions { profile, places: &self.places })
    }
}

/// The places in the order of the names; `None` when a name stands twice.
fn in_order(names: &[&[u8]], places: &[u64]) -> Option<Vec<u64>> {
    let order = name_order(u32::try_from(names.len()).ok()?, |at| names[at as usize]);
    let is_strict = order.is_sorted_by(|one, other| names[*one as usize] < names[*other as usize]);
    is_strict.then(|| memory::collect(order.into_iter().map(|at| places[at as usize]), HOLD_NAMES).ok()).flatten()
}

impl Seen {
    /// `None` for what a merge changes or refuses.
    fn look_at(&mut self, entry: &Entry<'_>, merge: &MergeOptions, rules: &MergeRules) -> Option<()> {
        let len = entry.name.len() as u64;
        if len == 0 || len > merge.read.limits.name_bytes || entry.records.is_irregular() {
            return None;
        }
        self.has_irregular_name |= !text::is_plain_name(entry.name);
        if !entry.records.has_value_sites() && entry.records.len() == 1 {
            return Some(());
        }
        // Sound from end to end: that was found out when the entry was found.
        let records = as_merged(entry.records.clone().map_while(Result::ok));
        for record in &records {
            self.repeats_a_size |= repeats_size(record.view(), rules);
            self.names_something |=
                ValueKind::ALL.iter().any(|kind| kind.is_name() && record.sites(*kind).values_len() != 0);
        }
        // Records with one FuncHash have to be merged.
        records.is_sorted_by(|one, other| one.func_hash < other.func_hash).then_some(())
    }
}

/// Records of one name as a merge leaves them.
fn as_merged(records: impl Iterator<Item = FunctionRecord>) -> Vec<FunctionRecord> {
    let mut records: Vec<FunctionRecord> = records.collect();
    records.sort_by_key(|record| record.func_hash);
    records.iter_mut().for_each(sort_record_sites);
    records
}

struct EncodedFunctions<'a> {
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
        let records = as_merged(self.profile.records_at(self.places[at]));
        for (number, record) in records.iter().enumerate() {
            push(record.view(), number + 1 == records.len());
        }
    }
}
