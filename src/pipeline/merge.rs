//! Many files into one profile.
//!
//! Inputs are merged in order. Several threads read them at a time, and each
//! input is taken over, or given back when it is bad, in its turn; so the bytes
//! and the messages are those of one thread always.

use super::memory::MemProfOptions;
use super::open::ReadOptions;
use super::partial;
use super::worker::{self, Prepared};
use crate::error::{Error, Result, Warning};
use crate::input::WeightedInput;
use crate::instr::{Loss, Profile, ProfileKind, Release};
use crate::merge::cross_release::Origins;
use crate::merge::{FunctionFilter, MergeRules, Remapping, SoftError, repeated_sizes};
use std::collections::HashSet;
use std::num::NonZeroUsize;

/// When bad inputs make the whole merge fail (`--failure-mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailureMode {
    /// One bad input is enough.
    #[default]
    Any,
    /// Only when every input is bad.
    All,
    /// Never; bad inputs are warned about.
    Warn,
}

impl FailureMode {
    /// Whether a merge may go on, of whose inputs so many failed.
    ///
    /// # Errors
    ///
    /// Usage when too many failed.
    pub(super) fn verdict(self, failures: usize, inputs: usize) -> Result<()> {
        let failed = match self {
            Self::Any => failures > 0,
            Self::All => failures > 0 && failures == inputs,
            Self::Warn => false,
        };
        if failed { Err(Error::usage("no profile can be merged")) } else { Ok(()) }
    }
}

/// The least that a result must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Minimums {
    /// Inputs that were used.
    pub inputs: u64,
    /// Functions in the result.
    pub functions: u64,
    /// Sum of all counters in the result.
    pub total_count: u64,
}

/// How profiles are merged.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MergeOptions {
    /// How inputs are read.
    pub read: ReadOptions,
    /// Whose merge rules apply: the release that the result is written for.
    pub release: Release,
    /// When bad inputs end the merge.
    pub failure_mode: FailureMode,
    /// Worker threads; `None` asks the machine. The result does not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// Most temporal traces kept. Default: LLVM's 100.
    pub trace_reservoir_size: Option<u64>,
    /// Functions kept of each trace. Default: LLVM's 10000.
    pub max_trace_length: Option<u64>,
    /// Keep the names of vtables.
    pub keep_vtable_names: bool,
    /// Functions whose names are changed while reading.
    pub remapping: Remapping,
    /// Functions that will be written. The merged profile holds all of them,
    /// since those left out still decide the order of the rest in files of
    /// older releases; give the same filter to the writer.
    pub filter: FunctionFilter,
    /// How the sum of memory profiles is written.
    pub memprof: MemProfOptions,
    /// Keep the good records of bad inputs when the merge goes on.
    pub salvage: bool,
    /// The least that the result must hold.
    pub minimums: Minimums,
}

impl Minimums {
    /// Whether a result that holds so much may be written.
    ///
    /// # Errors
    ///
    /// Usage when it is below one of these.
    pub(super) fn check(&self, held: &Self) -> Result<()> {
        let minimums = [
            ("inputs were used", held.inputs, self.inputs, "--min-inputs"),
            ("functions are in the result", held.functions, self.functions, "--min-functions"),
            ("is the total count of the result", held.total_count, self.total_count, "--min-total-count"),
        ];
        for (what, found, least, option) in minimums {
            if found < least {
                let detail = format!("the result is too thin: {found} {what}, {option} asks for {least}");
                return Err(Error::usage(detail).with_hint("nothing was written; look at the inputs that were skipped"));
            }
        }
        Ok(())
    }
}

impl MergeOptions {
    /// What of these options the merger takes.
    pub(super) fn merger_options(&self) -> crate::merge::MergeOptions {
        let mut options = crate::merge::MergeOptions::default();
        options.release = self.release;
        options.keep_vtable_names = self.keep_vtable_names;
        (options.compat, options.limits) = (self.read.compat, self.read.limits);
        options.trace_reservoir_size = self.trace_reservoir_size.unwrap_or(options.trace_reservoir_size);
        options.max_trace_length = self.max_trace_length.unwrap_or(options.max_trace_length);
        options
    }
}

/// What became of one input.
#[derive(Debug)]
#[non_exhaustive]
pub enum InputOutcome {
    /// Merged.
    Used,
    /// No bytes; skipped, as LLVM does.
    Empty,
    /// Found in a folder, and something else than a profile; passed over.
    NotAProfile,
    /// Could not be read to its end; records before the fault may be in the result.
    Failed(Error),
}

/// Format and version of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputVersion {
    /// Raw, of that version; of a file of several profiles that of the first.
    Raw(u64),
    /// Indexed, of that version.
    Indexed(u64),
    /// Text, which has no version.
    Text {
        /// See [`has_colon_names`](crate::text::has_colon_names).
        has_colon_names: bool,
    },
}

/// One input and what became of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct InputReport {
    /// The input.
    pub input: WeightedInput,
    /// What became of it.
    pub outcome: InputOutcome,
    /// What it is, once its header was read.
    pub version: Option<InputVersion>,
    /// Records read from it.
    pub records: u64,
    /// Its kind, if it could be opened.
    pub kind: Option<ProfileKind>,
    /// What is worth saying about it.
    pub warnings: Vec<Warning>,
}

/// The merged profile and how it came about.
#[derive(Debug)]
#[non_exhaustive]
pub struct MergeReport {
    /// The result.
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
}

impl MergeReport {
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
    /// Usage when too many inputs failed for `options.failure_mode`.
    pub fn verdict_of_inputs(&self, options: &MergeOptions) -> Result<()> {
        options.failure_mode.verdict(self.failures().count(), self.inputs.len())
    }

    /// Whether the result may be written.
    ///
    /// # Errors
    ///
    /// Usage when too many inputs failed for `options.failure_mode`, or when
    /// the result is below one of `options.minimums`.
    pub fn verdict(&self, options: &MergeOptions) -> Result<()> {
        self.verdict_of_inputs(options)?;
        if options.minimums == Minimums::default() {
            return Ok(());
        }
        options.minimums.check(&Minimums {
            inputs: self.used() as u64,
            functions: self.functions_kept(&options.filter),
            total_count: self.total_count(&options.filter),
        })
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
        self.profile.functions.iter().filter(|function| filter.keeps(function.name())).count() as u64
    }

    /// Sum of all counters of functions that a filter keeps, pseudo counts left
    /// out; stops at the largest number.
    pub fn total_count(&self, filter: &FunctionFilter) -> u64 {
        let functions = self.profile.functions.iter().filter(|function| filter.keeps(function.name()));
        functions
            .flat_map(|function| function.records())
            .filter(|record| record.pseudo_count().is_none())
            .flat_map(|record| record.counters)
            .fold(0u64, |sum, count| sum.saturating_add(*count))
    }

    /// Inputs that were used.
    pub fn used(&self) -> usize {
        self.inputs.iter().filter(|report| matches!(report.outcome, InputOutcome::Used)).count()
    }
}

/// Hears of what happens while it happens.
pub trait MergeObserver: Send {
    /// A record was not, or not wholly, merged; `first` says whether this kind
    /// of soft error is new in the run.
    fn soft_error(&mut self, input: &WeightedInput, function: &[u8], error: SoftError, first: bool);

    /// So many inputs are done.
    fn progress(&mut self, done: usize, total: usize);
}

/// An observer that says nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;

impl MergeObserver for Silent {
    fn soft_error(&mut self, _: &WeightedInput, _: &[u8], _: SoftError, _: bool) {}
    fn progress(&mut self, _: usize, _: usize) {}
}

/// Merges inputs in order.
///
/// What is wrong with single inputs is in the report; whether the result may
/// be used despite it is for [`MergeReport::verdict`] to say.
///
/// # Errors
///
/// Only what makes every further step pointless; damaged inputs are no such thing.
pub fn merge_files(
    inputs: &[WeightedInput],
    options: &MergeOptions,
    observer: &mut dyn MergeObserver,
) -> Result<MergeReport> {
    let is_own = !options.read.compat.is_llvm();
    if is_own && inputs.iter().any(|input| !input.is_pipe() && crate::partial::origins_of_file(&input.path).is_some()) {
        return partial::finish(&partial::merge_partially(inputs, options, &mut Silent)?, options, observer);
    }
    let prepared: Vec<Prepared> = inputs.iter().map(|input| Prepared::new(input.clone())).collect();
    let run = worker::run(&prepared, options, observer);
    let (profile, memprof_losses) = options.memprof.finish(run.merger, options.release, options.read.compat)?;
    let rules = MergeRules::of(options.release);
    let repeats_memory_size = repeated_sizes(&profile, &rules, |name| options.filter.keeps(name)).next().is_some();
    Ok(MergeReport { profile, inputs: run.reports, repeats_memory_size, memprof_losses, left_out: HashSet::new() })
}
