//! The outcome of a merge and of each input.

use crate::driver::report::kind_conflict;
use crate::driver::{Facts, FactsRequest, InputOutcome, InputReport, InputVersion};
use crate::error::{Error, Result, Warning};
use crate::input::Input;
use crate::instr::SharedKind;
use crate::instr::SoftError;
use crate::instr::cross_release::{Origins, has_both_names};
use crate::instr::encode::{self, Saved, WriteOptions};
use crate::instr::file_merge::options::MergeOptions;
use crate::instr::file_merge::single_file::SingleFile;
use crate::limits::Limits;
use crate::model::{Loss, Profile, ProfileKind};
use std::collections::HashSet;
use std::path::Path;

/// A record that was not merged, or only in part.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordError {
    /// The position of the input.
    pub input: usize,
    /// The name of the function.
    pub function: Vec<u8>,
    /// The fault.
    pub error: SoftError,
    /// Whether this is the first error of its kind in the merge.
    pub is_first: bool,
}

impl RecordError {
    /// Returns the fault as a warning about the function in the input.
    pub fn warning(&self, input: &Input) -> Warning {
        Warning::of_loss(self.error.to_string()).in_file(&input.path).in_function(self.function.as_slice())
    }
}

/// The merged profile and the outcome of each input.
#[derive(Debug)]
#[non_exhaustive]
pub struct MergeReport {
    /// The result. After [`leave_in_file`](crate::families::leave_in_file) its functions may be missing; the
    /// report still counts and writes them.
    pub profile: Profile,
    /// One report per input, in order.
    pub inputs: Vec<InputReport>,
    /// A site of the result lists a memory size twice (LLVM: `invalid profile created`).
    pub repeats_memory_size: bool,
    /// Data that the merge dropped: parts of memory profiles that their section cannot store, and traces that the target
    /// cannot read.
    pub losses: Vec<Loss>,
    /// Functions that filters dropped from partial merges among the inputs. Their names are still in the profile
    /// because they determine the order of others ([`FunctionFilter::without`](crate::instr::FunctionFilter::without)
    /// drops them).
    pub left_out: HashSet<Vec<u8>>,
    /// Whether there are several memory profiles that have no function in common.
    pub memory_shares_nothing: bool,
    /// Records that were not merged, or only in part, in the order of the inputs.
    pub soft_errors: Vec<RecordError>,
    /// The kind that the inputs share.
    pub(crate) shared_kind: SharedKind,
    /// The functions, if they can stay in the only input.
    pub(crate) file: Option<SingleFile>,
}

impl MergeReport {
    /// Returns true if the result has functions, in memory or in the only input.
    pub(crate) fn has_functions(&self) -> bool {
        self.file.is_some() || !self.profile.functions.is_empty()
    }

    /// Returns a report with a profile and inputs only.
    pub(crate) fn of(profile: Profile, inputs: Vec<InputReport>) -> Self {
        let (losses, left_out) = (Vec::new(), HashSet::new());
        Self {
            profile,
            inputs,
            repeats_memory_size: false,
            losses,
            left_out,
            memory_shares_nothing: false,
            soft_errors: Vec::new(),
            shared_kind: SharedKind::default(),
            file: None,
        }
    }

    /// Writes the result like [`write_file`](crate::families::write_file).
    ///
    /// # Errors
    ///
    /// The errors of [`write_file`](crate::families::write_file); a usage error for a form other than the one passed to
    /// [`leave_in_file`](crate::families::leave_in_file).
    pub fn write_file(&self, options: &WriteOptions, path: &Path) -> Result<Saved> {
        let Some(file) = &self.file else {
            return encode::write_with(&self.profile, options, path, |out, write| write(out));
        };
        let Some(release) = options.release_of_whole_text() else {
            return Err(Error::usage("the inputs were merged for text output, which has all functions"));
        };
        encode::write_text_file(&self.profile, options, release, path, |text, out| {
            file.write_text(&self.profile, text, out)
        })
    }

    /// Returns the number of functions of the result.
    pub fn functions_len(&self) -> usize {
        self.file.as_ref().map_or_else(|| self.profile.functions.len(), SingleFile::functions_len)
    }

    /// Returns the number of records of the result.
    pub fn records_len(&self) -> usize {
        self.file.as_ref().map_or_else(|| self.profile.functions.records_len(), SingleFile::records_len)
    }

    /// Inputs that could not be read, in order.
    pub fn failures(&self) -> impl Iterator<Item = (&InputReport, &Error)> {
        self.inputs.iter().filter_map(|report| match &report.outcome {
            InputOutcome::Failed(error) => Some((report, error)),
            _ => None,
        })
    }

    /// Checks that enough inputs could be used.
    ///
    /// # Errors
    ///
    /// The first kind conflict if the options ask for it; an error for failed inputs if
    /// `options.failure_mode` does not allow them.
    pub fn verdict(&self, options: &MergeOptions) -> Result<()> {
        match kind_conflict(&self.inputs).filter(|_| options.reports_kind_conflict()) {
            Some(conflict) => Err(conflict),
            None => options.failure_mode.verdict(&self.inputs),
        }
    }

    /// Returns the facts about the records that are written.
    ///
    /// # Errors
    ///
    /// The errors of [`facts_of`](encode::facts_of).
    pub fn facts(&self, write: &WriteOptions, limits: &Limits, wanted: FactsRequest) -> Result<Facts> {
        let facts = match &self.file {
            Some(file) => {
                let total = wanted.total_count.then(|| file.total_count().into());
                let mut facts = Facts::new(file.functions_len(), total);
                facts.records = Some(file.records_len() as u64);
                encode::with_the_rest(facts, &self.profile, write, limits, wanted)?
            }
            None => encode::facts_of(&self.profile, write, limits, wanted)?,
        };
        Ok(facts.of_inputs(self.used()))
    }

    /// Returns the releases that may have written the inputs.
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
        self.inputs.iter().flat_map(|input| &input.later_versions).for_each(|version| origins.add_raw(*version));
        origins
    }

    /// Returns true if the weights of inputs must apply to values that are new to a site, which LLVM's rules exclude: a
    /// local function has two names, so it is a new call target under the second one.
    pub(crate) fn must_weigh_new_values(&self, options: &MergeOptions) -> bool {
        !options.weighs_new_values
            && !options.read.compat.is_llvm()
            && self.inputs.iter().any(|report| report.input.weight.get() > 1)
            && has_both_names(&self.profile)
    }

    /// Returns true if there are several inputs with functions that have no function in common, apart from `main` with
    /// another hash, which most programs have. Memory profiles count if there are no other profiles.
    pub fn shares_nothing(&self) -> bool {
        if self.functions_len() == 0 {
            return self.memory_shares_nothing;
        }
        let inputs = || self.inputs.iter().filter(|input| input.records > 0);
        let is_second_pass = |input: &InputReport| input.kind.is_some_and(ProfileKind::is_context_sensitive);
        if inputs().any(is_second_pass) && !inputs().all(is_second_pass) {
            // Hashes differ between the two passes, and with link-time optimization also the names of local functions.
            return false;
        }
        let mains = self.profile.functions.find(b"main").map_or(0, |main| main.records().count());
        let records: u64 = inputs().map(|input| input.records).sum();
        inputs().count() > 1 && records == (self.functions_len() + mains.saturating_sub(1)) as u64
    }

    /// Returns the number of used inputs; inputs without records do not count.
    pub fn used(&self) -> usize {
        self.inputs.iter().filter(|report| matches!(report.outcome, InputOutcome::Used) && !report.is_empty()).count()
    }
}
