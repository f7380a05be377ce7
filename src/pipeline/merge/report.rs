//! What became of a merge and of each input.

use super::options::{Extent, MergeOptions, Minimums};
use super::single_file::SingleFile;
use crate::driver::{InputOutcome, InputReport, InputVersion};
use crate::error::{Error, Result};
use crate::instr::{Loss, Profile};
use crate::memprof;
use crate::merge::FunctionFilter;
use crate::merge::cross_release::Origins;
use crate::pipeline::encode::{self, Saved, WriteOptions};
use crate::pipeline::input_totals::bytes_of;
use std::collections::HashSet;
use std::path::Path;

/// The merged profile and how it came about.
#[derive(Debug)]
#[non_exhaustive]
pub struct MergeReport {
    /// The result; of [`merge_for_output`](crate::pipeline::merge_for_output) perhaps without
    /// the functions, which the report tells and writes all the same.
    pub profile: Profile,
    /// One entry an input, in order.
    pub inputs: Vec<InputReport>,
    /// A site of the result lists a memory size twice (LLVM: `invalid profile created`).
    pub repeats_memory_size: bool,
    /// What the section of memory profiles cannot hold.
    pub memprof_losses: Vec<Loss>,
    /// Functions that filters left out of partial merges among the inputs; their
    /// names still stand in the profile, since they decide about the order of
    /// others ([`FunctionFilter::without`] leaves them out).
    pub left_out: HashSet<Vec<u8>>,
    /// There are several memory profiles, and no function is in two of them.
    pub memory_shares_nothing: bool,
    /// The functions, where they need not be taken out of the only input.
    pub(in crate::pipeline) file: Option<SingleFile>,
}

impl MergeReport {
    /// A result of which there is nothing else to say.
    pub(in crate::pipeline) fn of(profile: Profile, inputs: Vec<InputReport>) -> Self {
        let (memprof_losses, left_out) = (Vec::new(), HashSet::new());
        Self {
            profile,
            inputs,
            repeats_memory_size: false,
            memprof_losses,
            left_out,
            memory_shares_nothing: false,
            file: None,
        }
    }

    /// Writes the result, as [`write_file`](crate::pipeline::write_file).
    ///
    /// # Errors
    ///
    /// As [`write_file`](crate::pipeline::write_file); usage for another form than that which
    /// [`merge_for_output`](crate::pipeline::merge_for_output) was told.
    pub fn write_file(&self, options: &WriteOptions, path: &Path) -> Result<Saved> {
        let Some(file) = &self.file else { return encode::write_file(&self.profile, options, path) };
        let Some(release) = options.release_of_whole_text() else {
            return Err(Error::usage("the inputs were merged to be written as text, with all functions"));
        };
        encode::write_text_file(&self.profile, options, release, path, |text, out| {
            file.write_text(&self.profile, text, out)
        })
    }

    /// Number of functions of the result.
    pub fn functions_len(&self) -> usize {
        self.file.as_ref().map_or_else(|| self.profile.functions.len(), SingleFile::functions_len)
    }

    /// Number of records of the result.
    pub fn records_len(&self) -> usize {
        self.file.as_ref().map_or_else(|| self.profile.functions.records_len(), SingleFile::records_len)
    }

    /// Whether the result holds nothing that a filter keeps, no memory profile either.
    pub fn is_empty(&self, filter: &FunctionFilter) -> bool {
        let keeps = |name: &[u8]| filter.keeps(name);
        let has_functions = || {
            self.file.as_ref().is_some_and(|file| file.functions_len() > 0)
                || self.profile.functions.iter().any(|function| keeps(function.name()))
        };
        self.profile.memprof.is_none() && !has_functions()
    }

    /// Inputs that could not be read, in order.
    pub fn failures(&self) -> impl Iterator<Item = (&InputReport, &Error)> {
        self.inputs.iter().filter_map(|report| match &report.outcome {
            InputOutcome::Failed(error) => Some((report, error)),
            _ => None,
        })
    }

    /// Whether enough inputs could be read.
    ///
    /// # Errors
    ///
    /// Inputs failed when there are too many of them for `options.failure_mode`.
    pub fn verdict_of_inputs(&self, options: &MergeOptions) -> Result<()> {
        options.failure_mode.verdict(self.failures().count(), self.inputs.len())
    }

    /// Whether the result may be written.
    ///
    /// # Errors
    ///
    /// Inputs failed when there are too many of them for `options.failure_mode`; gate
    /// failed when the result is below one of `options.minimums`.
    pub fn verdict(&self, options: &MergeOptions) -> Result<()> {
        self.verdict_of_inputs(options)?;
        if options.minimums == Minimums::default() {
            return Ok(());
        }
        options.minimums.check(&self.extent(options))
    }

    /// How much of the result `options` keep. A memory profile counts by its
    /// functions and the bytes of all allocations where there is nothing else.
    pub fn extent(&self, options: &MergeOptions) -> Extent {
        let (functions, total_count) =
            (self.functions_kept(&options.filter), u128::from(self.total_count(&options.filter)));
        let memory = self.profile.memprof.as_ref().filter(|_| functions == 0);
        let memory = memory.and_then(|section| {
            memprof::indexed::read(&section.bytes, section.offset, &options.read.limits)
                .ok()
                .map(|stored| stored.profile)
        });
        match memory {
            Some(memory) => Extent::new(self.used(), memory.records().len(), bytes_of(&memory)),
            None => Extent::new(self.used(), usize::try_from(functions).unwrap_or(usize::MAX), total_count),
        }
    }

    /// Which releases may have written the inputs.
    pub fn origins(&self) -> Origins {
        let mut origins = Origins::default();
        for version in self.inputs.iter().filter_map(|input| input.version) {
            match version {
                InputVersion::Raw(version) => origins.add_raw(version),
                InputVersion::Indexed(version) => origins.add_indexed(version),
                InputVersion::Text { has_colon_names: true } => origins.add_colon_names(),
                InputVersion::Text { .. } => origins.add_unknown(),
            }
        }
        origins
    }

    /// Functions that a filter keeps.
    pub fn functions_kept(&self, filter: &FunctionFilter) -> u64 {
        if let Some(file) = &self.file {
            return file.functions_len() as u64;
        }
        self.profile.functions.iter().filter(|function| filter.keeps(function.name())).count() as u64
    }

    /// Sum of all counters of functions that a filter keeps, pseudo counts left
    /// out; stops at the largest number.
    pub fn total_count(&self, filter: &FunctionFilter) -> u64 {
        if let Some(file) = &self.file {
            return file.total_count();
        }
        let functions = self.profile.functions.iter().filter(|function| filter.keeps(function.name()));
        functions
            .flat_map(|function| function.records())
            .filter(|record| record.pseudo_count().is_none())
            .flat_map(|record| record.counters)
            .fold(0u64, |sum, count| sum.saturating_add(count))
    }

    /// Whether there are several inputs with functions, and no function is in two of them. Memory profiles are asked
    /// where there is nothing else.
    pub fn shares_nothing(&self) -> bool {
        if self.functions_len() == 0 {
            return self.memory_shares_nothing;
        }
        let records = || self.inputs.iter().map(|input| input.records).filter(|records| *records > 0);
        records().count() > 1 && records().sum::<u64>() == self.functions_len() as u64
    }

    /// Inputs that were used.
    pub fn used(&self) -> usize {
        self.inputs.iter().filter(|report| matches!(report.outcome, InputOutcome::Used)).count()
    }
}
