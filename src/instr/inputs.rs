//! Whole inputs: the transfer from a reader or a profile in memory to the merger.
//!
//! This is the only module that implements the protocol between readers and the merger: first the kind, then the
//! records in order, then the data that is complete only after all records were read.

use crate::cancel::Cancel;
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::instr::merger::Merger;
use crate::instr::rules::AddOutcome;
use crate::instr::rules::KindRule;
use crate::instr::rules::Weights;
use crate::limits::Limits;
use crate::model::selection::Remapping;
use crate::model::{Profile, ProfileKind, ProfileReader, RecordRef};
use std::path::Path;

/// Options for adding one input.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct InputOptions<'a> {
    /// The factor for every count; 0 counts as 1. Default: 1.
    pub weight: u64,
    /// Functions to rename. Default: none.
    pub remapping: Option<&'a Remapping>,
    /// Whether a rule for a local function counts for both forms of its name. llvm-profdata knows one.
    pub(crate) renames_both_forms: bool,
    /// The maximum length of a name in bytes. Default: that of [`Limits`].
    pub most_name_bytes: u64,
    /// Whether the memory profile is added. Default: `true`.
    pub takes_memprof: bool,
    /// The path for errors of later inputs. Default: none.
    pub path: Option<&'a Path>,
    /// Ends the reading at the next record, or in the memory profile.
    pub(super) cancel: Cancel,
}

impl Default for InputOptions<'_> {
    fn default() -> Self {
        let most_name_bytes = Limits::default().name_bytes;
        Self {
            weight: 1,
            remapping: None,
            renames_both_forms: false,
            most_name_bytes,
            takes_memprof: true,
            path: None,
            cancel: Cancel::default(),
        }
    }
}

impl InputOptions<'_> {
    /// Returns options that multiply counts by `weight`; 0 counts as 1.
    pub fn weighted(weight: u64) -> Self {
        Self { weight, ..Self::default() }
    }

    /// Returns a record in the form in which it is added.
    ///
    /// # Errors
    ///
    /// Limit exceeded for a name that is too long.
    #[inline]
    pub fn prepare<'r>(&'r self, incoming: RecordRef<'r>) -> Result<RecordRef<'r>> {
        let (found, limit) = (incoming.name.len() as u64, self.most_name_bytes);
        if found > limit {
            return Err(Error::above_limit(Some("name-bytes"), "length of a name", found, limit));
        }
        let Some(remapping) = self.remapping else { return Ok(incoming) };
        let renamed = match self.renames_both_forms {
            true => remapping.apply_to_forms(incoming.name),
            false => remapping.apply(incoming.name),
        };
        Ok(if renamed == incoming.name {
            incoming
        } else {
            RecordRef { name: renamed, name_ref: None, text: None, record: incoming.record }
        })
    }
}

impl Merger {
    /// Adds the whole content of a reader as one input, and calls `observe` with the outcome of each record. Returns
    /// the number of records.
    ///
    /// # Errors
    ///
    /// The errors of [`add_records`](Self::add_records) and `add_rest`.
    pub fn add_reader(
        &mut self,
        reader: &mut dyn ProfileReader,
        options: &InputOptions<'_>,
        observe: &mut dyn FnMut(RecordRef<'_>, AddOutcome),
    ) -> Result<u64> {
        let mut records = 0;
        let read = self.add_records(reader, options, &mut records, observe);
        self.add_rest(reader, options, read)?;
        Ok(records)
    }

    /// Begins an input, adds its records and counts them in `records`.
    ///
    /// # Errors
    ///
    /// The errors of [`begin_input`](Self::begin_input), after which nothing was added; the first fault of the reader,
    /// after which the records before it were added; names that are too long, and counters that do not fit in memory.
    pub fn add_records(
        &mut self,
        reader: &mut dyn ProfileReader,
        options: &InputOptions<'_>,
        records: &mut u64,
        observe: &mut dyn FnMut(RecordRef<'_>, AddOutcome),
    ) -> Result<()> {
        let (is_hashed, kind, weight) = (reader.hashes_names(), reader.kind(), options.weight.max(1));
        // llvm-profdata checks the kind before it reads the first record.
        let mut is_begun = self.rules.kinds != KindRule::OneKind;
        if is_begun {
            self.begin_named_input(kind, options.path)?;
        }
        loop {
            let incoming = match options.cancel.check().and_then(|()| reader.next_record()) {
                Ok(Some(incoming)) => incoming,
                end if is_begun => return end.map(|_| ()),
                end => return self.begin_without_records(kind).and(end).map(|_| ()),
            };
            if !is_begun {
                self.begin_named_input(kind, options.path)?;
                is_begun = true;
            }
            *records += 1;
            let prepared = options.prepare(incoming)?;
            let outcome = match self.add_to_expected(&prepared, weight) {
                Some(outcome) => outcome,
                None => {
                    self.try_reserve(prepared.record)?;
                    let function = self.function(&prepared, is_hashed);
                    self.add_to_function(function, prepared.record, Weights::of_input(weight))
                }
            };
            observe(prepared, outcome);
            if outcome.is_new {
                reader.record_taken_over();
            }
        }
    }

    /// Adds the content of a reader other than records, after these were read with the result `records`, which is
    /// passed through.
    ///
    /// After a fault LLVM still adds traces and vtable names, and the binary ids only if the fault is a suspicious
    /// counter. An input of a conflicting kind adds nothing.
    ///
    /// # Errors
    ///
    /// `records`, and faults of the sections after the records.
    pub(crate) fn add_rest(
        &mut self,
        reader: &mut dyn ProfileReader,
        options: &InputOptions<'_>,
        records: Result<()>,
    ) -> Result<()> {
        if records.as_ref().is_err_and(Error::is_kind_conflict) {
            return records;
        }
        let suspicious = |error: &Error| matches!(error.kind(), ErrorKind::CounterValueTooLarge { .. });
        if records.as_ref().map_or_else(suspicious, |()| true) {
            self.add_binary_ids(reader.binary_ids()?);
        }
        if reader.kind().contains(ProfileKind::TEMPORAL) {
            let mut temporal = reader.temporal();
            if reader.traces_take_input_weight() {
                temporal.traces.iter_mut().for_each(|trace| trace.weight = options.weight.max(1));
            }
            self.add_traces(temporal);
        }
        self.add_vtable_names(reader.vtable_names()?);
        if let Some(section) = reader.memprof()?.filter(|_| options.takes_memprof) {
            self.add_memprof_until(section, options.weight, &options.cancel)?;
        }
        records
    }

    /// Adds a profile in memory as one input, with every count multiplied by `weight`; 0 counts as 1. Counts above
    /// 2^64-1 saturate. [`finish`](Self::finish) returns warnings about records that were dropped or cut, such as those with
    /// another number of counters.
    ///
    /// # Errors
    ///
    /// The errors of [`begin_input`](Self::begin_input), after which nothing was added; the errors of a damaged memory
    /// profile.
    pub fn add(&mut self, profile: &Profile, weight: u64) -> Result<()> {
        let warnings = self.add_named_profile(profile, weight, None)?;
        self.warnings.extend(warnings);
        Ok(())
    }

    /// Like [`add`](Self::add), but returns the warnings; errors of later inputs name this one.
    pub(crate) fn add_named_profile(
        &mut self,
        profile: &Profile,
        weight: u64,
        path: Option<&Path>,
    ) -> Result<Vec<Warning>> {
        let mut warnings = Vec::new();
        match profile.functions.records_len() {
            0 => self.begin_without_records(profile.kind)?,
            _ => self.begin_named_input(profile.kind, path)?,
        }
        for function in profile.functions.iter() {
            for record in function.records() {
                let (name, name_ref, text) = (function.name(), Some(function.name_ref()), function.text());
                self.try_reserve(record)?;
                let outcome = self.add_record(RecordRef { name, name_ref, text, record }, weight);
                warnings.extend(outcome.warning(name));
            }
        }
        self.add_binary_ids(profile.binary_ids.iter().cloned());
        self.add_traces(profile.temporal.clone());
        self.add_vtable_names(profile.vtable_names.iter().cloned());
        if let Some(section) = &profile.memprof {
            self.add_memprof(section.try_clone()?, weight)?;
        }
        Ok(warnings)
    }
}
