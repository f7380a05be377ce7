//! The settings that all merges share, with their names in Python.

use crate::error::{OrRaise, usage};
use profbridge::call_chains::SampleSource;
use profbridge::families::{
    Facts, FactsRequest, FailureMode, MergeOptions, Minimums, Target, TargetRequest, TargetSource,
};
use profbridge::input::{Access, Family, Input};
use profbridge::instr::release;
use profbridge::instr::target::{ENVIRONMENT, Evidence};
use profbridge::instr::{FunctionFilter, Release, Remapping};
use profbridge::memprof::raw::Programs;
use profbridge::raw::correlate::{CorrelationKind, Images};
use profbridge::{Compat, Error, Limits, Result};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

/// The settings of a merge. The defaults are those of the program.
#[derive(Debug, Clone, Default, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct MergeSettings {
    pub(crate) target: Option<String>,
    pub(crate) failure_mode: String,
    pub(crate) salvage: bool,
    pub(crate) allow_duplicates: bool,
    pub(crate) function: Option<String>,
    pub(crate) no_function: Option<String>,
    pub(crate) remapping_file: Option<PathBuf>,
    pub(crate) keep_vtable_symbols: bool,
    pub(crate) min_inputs: u64,
    pub(crate) min_functions: u64,
    pub(crate) min_total_count: u64,
    pub(crate) binary_files: Vec<PathBuf>,
    pub(crate) debug_info: Vec<PathBuf>,
    pub(crate) profiled_binaries: Vec<PathBuf>,
    /// The event types of recordings.
    pub(crate) events: Vec<String>,
    /// Whether exact call counts of recordings are read, too, for an iprof.
    pub(crate) reads_calls: bool,
    /// The programs of recordings of perf.
    pub(crate) binary: Vec<PathBuf>,
    pub(crate) threads: Option<usize>,
    pub(crate) limits: HashMap<String, u64>,
    /// The family of inputs that are not profiles, if no other input determines it.
    pub(crate) family: Option<String>,
    /// Whether a file is only read. Then a wrong environment variable has no effect, and all of the file is kept.
    pub(crate) is_read: bool,
}

/// The thresholds: the options of the program, and the settings.
pub(crate) const THRESHOLDS: [(&str, &str); 3] =
    [("--min-inputs", "min_inputs"), ("--min-functions", "min_functions"), ("--min-total-count", "min_total_count")];

fn refuse(settings: &[(bool, &str)], meant: &str) -> Result<()> {
    match settings.iter().find(|(is_given, _)| *is_given) {
        Some((_, setting)) => Err(Error::usage(format!("{setting} cannot be used for {meant}"))),
        None => Ok(()),
    }
}

/// A target that crosses processes.
#[derive(Serialize, Deserialize)]
pub(crate) struct TargetState {
    release: Release,
    versions: [u32; 2],
    is_given: bool,
}

impl TargetState {
    pub(crate) fn of(target: &Target) -> Self {
        let is_given = target.source != TargetSource::Inputs;
        Self { release: target.release, versions: [target.indexed_version, target.raw_version], is_given }
    }

    pub(crate) fn target(&self) -> Target {
        let mut target =
            Target::default_release(if self.is_given { TargetSource::Option } else { TargetSource::Inputs });
        target.release = self.release;
        [target.indexed_version, target.raw_version] = self.versions;
        target
    }
}

impl MergeSettings {
    /// Returns the failure mode.
    ///
    /// # Errors
    ///
    /// Usage for an unknown mode.
    pub(crate) fn failure_mode(&self) -> Result<FailureMode> {
        match self.failure_mode.as_str() {
            "any" => Ok(FailureMode::Any),
            "all" => Ok(FailureMode::All),
            "warn" => Ok(FailureMode::Warn),
            other => Err(Error::usage(format!("failure_mode must be \"any\", \"all\" or \"warn\", not {other:?}"))),
        }
    }

    /// Returns the settings of a single input, which must be valid.
    pub(crate) fn one() -> Self {
        Self { failure_mode: "any".into(), ..Self::default() }
    }

    /// Returns the limits for untrusted input.
    ///
    /// # Errors
    ///
    /// Usage for an unknown limit, and for a number outside its range.
    pub(crate) fn limits(&self) -> Result<Limits> {
        limits(&self.limits)
    }

    /// Returns the requested target: that of the caller, otherwise that of the environment.
    ///
    /// # Errors
    ///
    /// Usage for an unknown toolchain.
    pub(crate) fn asked_target(&self) -> Result<Option<Target>> {
        match asked_target(self.target.as_deref()) {
            Err(_) if self.is_read => Ok(None),
            asked => asked,
        }
    }

    /// Returns filters and renamings as options of the program.
    pub(crate) fn filters(&self) -> Vec<String> {
        let patterns = [("--function", &self.function), ("--no-function", &self.no_function)];
        let mut words: Vec<String> = patterns
            .into_iter()
            .filter_map(|(option, pattern)| Some(format!("{option}={}", pattern.as_ref()?)))
            .collect();
        words.extend(self.remapping_file.iter().map(|path| format!("--remapping-file={}", path.display())));
        words
    }

    /// Returns the family of inputs that are not profiles.
    ///
    /// # Errors
    ///
    /// Usage for an unknown family.
    pub(crate) fn family(&self) -> Result<Option<Family>> {
        let Some(name) = self.family.as_deref() else { return Ok(None) };
        let found = Family::ALL.iter().copied().find(|family| family.name() == name);
        found.map(Some).ok_or_else(|| {
            let known = Family::ALL.iter().map(|family| family.name()).collect::<Vec<_>>().join(", ");
            Error::usage(format!("unknown family {name:?}; known families are {known}"))
        })
    }

    /// Returns the event types of recordings to read.
    ///
    /// # Errors
    ///
    /// Usage for an unknown type.
    pub(crate) fn event_types(&self) -> Result<Vec<SampleSource>> {
        let type_of = |word: &String| {
            SampleSource::ALL.iter().copied().find(|source| source.word() == word).ok_or_else(|| {
                let known = SampleSource::ALL.iter().map(|source| source.word()).collect::<Vec<_>>().join(", ");
                Error::usage(format!("unknown event type {word:?}; known types are {known}"))
            })
        };
        self.events.iter().map(type_of).collect()
    }

    /// The number of threads.
    pub(crate) fn threads(&self) -> Option<NonZeroUsize> {
        self.threads.and_then(NonZeroUsize::new)
    }

    /// Checks the thresholds. The sum of the counts is only requested if it has a threshold.
    ///
    /// # Errors
    ///
    /// Gate failed if a value is below its threshold; the errors of `facts`.
    pub(crate) fn check(&self, facts: impl FnOnce(FactsRequest) -> Result<Facts>) -> Result<Facts> {
        let minimums = Minimums::new(self.min_inputs, self.min_functions, self.min_total_count);
        let mut wanted = minimums.wanted();
        wanted.functions = true;
        let facts = facts(wanted)?;
        minimums.check(&facts)?;
        Ok(facts)
    }

    /// Returns the settings that apply at the end of a merge, as options of the program.
    pub(crate) fn kept(&self) -> Vec<String> {
        let target = self.target.iter().map(|target| format!("--for={target}"));
        let values = [self.min_inputs, self.min_functions, self.min_total_count];
        let given = THRESHOLDS.into_iter().zip(values).filter(|(_, value)| *value > 0);
        target.chain(given.map(|((option, _), value)| format!("{option}={value}"))).collect()
    }

    /// Rejects settings that select functions by name.
    ///
    /// # Errors
    ///
    /// Usage.
    pub(crate) fn refuse_filters(&self, meant: &str) -> Result<()> {
        refuse(&[(self.function.is_some(), "function"), (self.no_function.is_some(), "no_function")], meant)
    }

    /// Rejects settings that a family does not have.
    ///
    /// # Errors
    ///
    /// Usage.
    pub(crate) fn refuse_for(&self, family: Option<Family>) -> Result<()> {
        let Some(family) = family else { return Ok(()) };
        let words = family.words();
        if matches!(family, Family::Iprof | Family::Stacks) {
            self.refuse_filters(words)?;
            let settings = [(self.target.is_some(), "target"), (self.remapping_file.is_some(), "remapping_file")];
            refuse(&settings, words)?;
        }
        if !matches!(family, Family::Instr | Family::MemProf) {
            let settings = [
                (self.keep_vtable_symbols, "keep_vtable_symbols"),
                (!self.binary_files.is_empty(), "binary_files"),
                (!self.debug_info.is_empty(), "debug_info"),
                (!self.profiled_binaries.is_empty(), "profiled_binaries"),
            ];
            refuse(&settings, words)?;
        }
        if family != Family::Stacks {
            refuse(&[(!self.binary.is_empty(), "binary"), (!self.events.is_empty(), "events")], words)?;
        }
        Ok(())
    }

    /// Returns the functions that are renamed during the read.
    ///
    /// # Errors
    ///
    /// The errors of the file.
    pub(crate) fn remapping(&self) -> Result<Remapping> {
        let Some(path) = &self.remapping_file else { return Ok(Remapping::default()) };
        let text = Input::new(path).stored_bytes(Access::Read, &self.limits()?)?;
        Remapping::parse(&text).map_err(|error| error.in_file(path))
    }

    /// Returns the options for a merge of instrumentation profiles.
    ///
    /// # Errors
    ///
    /// Usage for unknown settings; the errors of given files.
    pub(crate) fn instr(&self, target: &Target) -> Result<MergeOptions> {
        let mut options = MergeOptions::default();
        options.read.limits = self.limits()?;
        options.release = target.release;
        options.failure_mode = self.failure_mode()?;
        options.salvage = self.salvage;
        options.allow_duplicates = self.allow_duplicates;
        options.threads = self.threads();
        // Text and the tables have them; other outputs can drop them.
        options.keep_vtable_names = true;
        if self.is_read {
            // The traces of one profile are not sampled or cut.
            (options.trace_reservoir_size, options.max_trace_length) = (Some(u64::MAX), Some(u64::MAX));
        }
        options.filter = FunctionFilter::new(self.function.as_deref(), self.no_function.as_deref())?;
        options.remapping = self.remapping()?;
        options.read.correlator = self.images()?.map(|images| Arc::new(images) as _);
        if !self.profiled_binaries.is_empty() {
            options.read.programs = Arc::new(Programs::new(self.profiled_binaries.clone(), &self.limits()?));
        }
        Ok(options)
    }

    fn images(&self) -> Result<Option<Images>> {
        let (kind, files) = match (self.debug_info.as_slice(), self.binary_files.as_slice()) {
            ([], []) => return Ok(None),
            ([], files) => (CorrelationKind::Binary, files),
            (files, []) => (CorrelationKind::DebugInfo, files),
            _ => return Err(Error::usage("pass binary_files or debug_info, but not both")),
        };
        let mut images = Images::new(kind, Compat::Profbridge, self.limits()?);
        files.iter().try_for_each(|file| images.add(file))?;
        Ok(Some(images))
    }
}

/// Returns the target: the requested one, otherwise that of the environment, otherwise the oldest release that can have
/// written the newest input.
///
/// # Errors
///
/// Usage for an unknown toolchain.
pub(crate) fn target(settings: &MergeSettings, inputs: &[Input]) -> Result<Target> {
    match settings.asked_target()? {
        Some(target) => Ok(target),
        None => Ok(Target::of_inputs(&Evidence::look(inputs, Compat::Profbridge))),
    }
}

/// Returns limits with the given changes.
///
/// # Errors
///
/// Usage for an unknown limit, and for a number outside its range.
pub(crate) fn limits(changes: &HashMap<String, u64>) -> Result<Limits> {
    let mut limits = Limits::default();
    changes.iter().try_for_each(|(name, value)| limits.set(&name.replace('_', "-"), *value))?;
    Ok(limits)
}

/// Returns the requested target: the given one, otherwise that of the environment.
///
/// # Errors
///
/// Usage for an unknown toolchain.
pub(crate) fn asked_target(asked: Option<&str>) -> Result<Option<Target>> {
    let environment = std::env::var_os(ENVIRONMENT);
    let mut request = TargetRequest::default();
    request.toolchain = asked;
    request.environment = environment.as_deref();
    request.target()
}

/// Returns the newest known release, whose formats store the most.
pub(crate) fn newest_release() -> Release {
    release::RELEASES[release::RELEASES.len() - 1].release()
}

/// Parses the treatment of hashes that releases compute differently.
///
/// # Errors
///
/// Usage for an unknown word.
pub(crate) fn hash_policy(py: Python<'_>, word: &str) -> PyResult<profbridge::instr::cross_release::HashPolicy> {
    use profbridge::instr::cross_release::HashPolicy;
    match word {
        "keep" => Ok(HashPolicy::Keep),
        "reader" => Ok(HashPolicy::Reader),
        other => Err(usage(py, format!("hashes must be \"keep\" or \"reader\", not {other:?}"))),
    }
}

/// Checks that a toolchain exists, so that an unknown name is reported before the merge starts.
///
/// # Errors
///
/// Usage, with the known names.
pub(crate) fn check_toolchain(py: Python<'_>, name: Option<&str>) -> PyResult<()> {
    name.map_or(Ok(()), |name| release::parse(name).map(drop).or_raise(py))
}
