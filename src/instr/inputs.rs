//! Whole inputs: what a reader or a profile in memory has, into the merger.
//!
//! The protocol between readers and the merger stands here and nowhere else:
//! kind first, records in order, then what is complete only once all records
//! were read.

use crate::error::{Error, ErrorKind, Result};
use crate::instr::merger::Merger;
use crate::instr::rules::AddOutcome;
use crate::instr::rules::KindRule;
use crate::limits::Limits;
use crate::model::selection::Remapping;
use crate::model::{Profile, ProfileKind, ProfileReader, RecordRef};
use std::path::Path;

/// How one input is added.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct InputOptions<'a> {
    /// What every count is multiplied by, 1 and up. Default: 1.
    pub weight: u64,
    /// Functions whose names change. Default: none.
    pub remapping: Option<&'a Remapping>,
    /// Bytes that a name may have. Default: that of [`Limits`].
    pub most_name_bytes: u64,
    /// Whether the memory profile is taken along. Default: `true`.
    pub takes_memprof: bool,
    /// The file, for messages about other inputs. Default: none.
    pub path: Option<&'a Path>,
}

impl Default for InputOptions<'_> {
    fn default() -> Self {
        let most_name_bytes = Limits::default().name_bytes;
        Self { weight: 1, remapping: None, most_name_bytes, takes_memprof: true, path: None }
    }
}

impl InputOptions<'_> {
    /// An input whose counts are multiplied by `weight`.
    pub fn weighted(weight: u64) -> Self {
        Self { weight, ..Self::default() }
    }

    /// A record as it is to be added.
    ///
    /// # Errors
    ///
    /// Limit exceeded for a name that is too long.
    #[inline]
    pub fn prepare<'r>(&'r self, incoming: RecordRef<'r>) -> Result<RecordRef<'r>> {
        let (found, limit) = (incoming.name.len() as u64, self.most_name_bytes);
        if found > limit {
            return Err(ErrorKind::LimitExceeded { what: "length of a name", found, limit }.into());
        }
        let Some(remapping) = self.remapping else { return Ok(incoming) };
        let renamed = remapping.apply(incoming.name);
        Ok(if renamed == incoming.name {
            incoming
        } else {
            RecordRef { name: renamed, name_ref: None, text: None, record: incoming.record }
        })
    }
}

impl Merger {
    /// Adds all that a reader has, as one input; `observe` hears what became of
    /// each record. Returns the number of records.
    ///
    /// # Errors
    ///
    /// Those of [`add_records`](Self::add_records) and [`add_rest`](Self::add_rest).
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

    /// Begins an input, adds its records and counts them into `records`.
    ///
    /// # Errors
    ///
    /// Those of [`begin_input`](Self::begin_input), after which nothing was
    /// added; the first fault of the reader, after which the records before it were added; names
    /// that are too long, and counters that memory does not hold.
    pub fn add_records(
        &mut self,
        reader: &mut dyn ProfileReader,
        options: &InputOptions<'_>,
        records: &mut u64,
        observe: &mut dyn FnMut(RecordRef<'_>, AddOutcome),
    ) -> Result<()> {
        let (hashed, kind) = (reader.hashes_names(), reader.kind());
        // llvm-profdata looks at the kind before it knows whether there are records.
        let mut is_begun = self.rules.kinds != KindRule::OneKind;
        if is_begun {
            self.begin_named_input(kind, options.path)?;
        }
        loop {
            let incoming = match reader.next_record() {
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
            let outcome = match self.add_to_expected(&prepared, options.weight) {
                Some(outcome) => outcome,
                None => {
                    self.try_reserve(prepared.record)?;
                    match hashed {
                        true => self.add_hashed_record(prepared, options.weight),
                        false => self.add_record(prepared, options.weight),
                    }
                }
            };
            observe(prepared, outcome);
            if outcome.is_new {
                reader.record_taken_over();
            }
        }
    }

    /// Adds what a reader has beside records, once they were read with the
    /// outcome `records`, which is passed on.
    ///
    /// After a fault LLVM still takes traces and vtable names, and the binary
    /// ids only where the fault is a suspicious counter. An input of another kind adds nothing.
    ///
    /// # Errors
    ///
    /// `records`, and faults of the sections behind them.
    pub fn add_rest(
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
                temporal.traces.iter_mut().for_each(|trace| trace.weight = options.weight);
            }
            self.add_traces(temporal);
        }
        self.add_vtable_names(reader.vtable_names()?);
        if let Some(section) = reader.memprof()?.filter(|_| options.takes_memprof) {
            self.add_memprof(section, options.weight)?;
        }
        records
    }

    /// Adds a profile in memory as one input, every count times `weight`.
    ///
    /// # Errors
    ///
    /// As [`begin_input`](Self::begin_input): nothing was added then. Those of
    /// a damaged memory profile.
    pub fn add_profile(&mut self, profile: &Profile, weight: u64) -> Result<()> {
        self.add_named_profile(profile, weight, None)
    }

    /// As [`add_profile`](Self::add_profile); errors of later inputs name this one.
    pub(crate) fn add_named_profile(&mut self, profile: &Profile, weight: u64, path: Option<&Path>) -> Result<()> {
        match profile.functions.records_len() {
            0 => self.begin_without_records(profile.kind)?,
            _ => self.begin_named_input(profile.kind, path)?,
        }
        for function in profile.functions.iter() {
            for record in function.records() {
                let (name, name_ref, text) = (function.name(), Some(function.name_ref()), function.text());
                self.try_reserve(record)?;
                self.add_record(RecordRef { name, name_ref, text, record }, weight);
            }
        }
        self.add_binary_ids(profile.binary_ids.iter().cloned());
        self.add_traces(profile.temporal.clone());
        self.add_vtable_names(profile.vtable_names.iter().cloned());
        if let Some(section) = &profile.memprof {
            self.add_memprof(section.try_clone()?, weight)?;
        }
        Ok(())
    }
}
