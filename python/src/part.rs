//! The class `Part`: a merge that can be continued. The package's `Merger` uses it.

use crate::detached::{self, Watch};
use crate::error::{OrRaise, raise, usage};
use crate::instr;
use crate::iprof;
use crate::merge::Merged;
use crate::options::{MergeSettings, THRESHOLDS, asked_target};
use crate::sample;
use crate::source::{AnyPath, UNNAMED, input, weight_of};
use crate::stacks;
use crate::text::to_python;
use profbridge::families::partial::{Finished, Partial, PartialOptions};
use profbridge::families::{AnyProfile, FailureMode, ReadOptions, Target};
use profbridge::input::{Family, Input, InputList};
use profbridge::partial::{self, Duplicates, InputState};
use profbridge::{Cancel, Compat, Error, ErrorKind, Result};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

const NAME_THE_FAMILY: &str = "a file that is not a profile was read as an instrumentation profile; set family=";

/// The names of mergers in messages about inputs that would count twice.
const OTHER_MERGER: &str = "another merger";
const THIS_MERGER: &str = "this merger";

/// The files of a directory that are profiles, or the path itself.
#[pyfunction]
pub(crate) fn files_of(py: Python<'_>, path: AnyPath) -> PyResult<Vec<PathBuf>> {
    let mut list = InputList::new(Compat::Profbridge);
    list.push_weighted(&path.0, NonZeroU64::MIN).or_raise(py)?;
    Ok(list.into_inputs().into_iter().map(|input| input.path.clone()).collect())
}

/// A merge that can be continued. Inputs are added completely or not at all, also after a cancellation.
#[pyclass(frozen, module = "profbridge._profbridge", name = "Part")]
pub(crate) struct Part {
    settings: MergeSettings,
    sum: Mutex<Option<Partial>>,
    /// The inputs. Those of a pickled merger count as files, although some may be from a partial merge.
    duplicates: Mutex<Duplicates>,
}

impl Part {
    fn sum(&self) -> MutexGuard<'_, Option<Partial>> {
        self.sum.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn duplicates(&self) -> MutexGuard<'_, Duplicates> {
        self.duplicates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a partial merge and the known data about its inputs.
    fn join(&self, later: Partial, inputs: Duplicates) -> Result<()> {
        let mut duplicates = self.duplicates();
        if !self.settings.allow_duplicates {
            duplicates.check(&inputs)?;
        }
        self.join_sums(later)?;
        duplicates.append_unchecked(inputs);
        Ok(())
    }

    fn join_sums(&self, mut later: Partial) -> Result<()> {
        let mut sum = self.sum();
        let Some(earlier) = sum.as_mut() else {
            *sum = Some(later);
            return Ok(());
        };
        // Empty files can belong to any family.
        if earlier.family() != later.family() {
            if is_nothing(earlier) {
                *earlier = nothing_of(later.family(), earlier, &self.settings)?;
            } else if is_nothing(&later) {
                later = nothing_of(earlier.family(), &later, &self.settings)?;
            }
        }
        let is_used = |part: &Partial| part.inputs().into_iter().any(|about| about.state == InputState::Used);
        let hint = (!is_used(earlier) || !is_used(&later)).then_some(NAME_THE_FAMILY);
        earlier.append(later).map_err(|error| match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        })
    }
}

#[pymethods]
impl Part {
    #[new]
    fn new(py: Python<'_>, settings: MergeSettings) -> PyResult<Self> {
        asked_target(settings.target.as_deref()).or_raise(py)?;
        settings.failure_mode().or_raise(py)?;
        Ok(Self { settings, sum: Mutex::new(None), duplicates: Mutex::default() })
    }

    /// The number of inputs.
    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.sum().as_ref().map_or(0, |sum| sum.inputs().len()))
    }

    /// Adds an input.
    fn add(&self, source: &Bound<'_, PyAny>, weight: &Bound<'_, PyAny>, name: Option<&str>) -> PyResult<()> {
        let py = source.py();
        let input = input(source, name)?.weighted_by(weight_of(weight)?);
        let settings = self.settings.clone();
        let known = py.detach(|| self.sum().as_ref().map(Partial::family));
        let added = detached::run(py, None, move |watch| {
            let one = of_input(&input, known, &settings, &watch)?;
            let inputs = Duplicates::of(&input.path, input.is_partial(), one.inputs());
            Ok((one, inputs))
        })?;
        let (one, inputs) = added.or_raise(py)?;
        py.detach(|| self.join(one, inputs)).or_raise(py)
    }

    /// Adds the inputs of another part after the inputs of this one.
    fn append(&self, py: Python<'_>, later: &Bound<'_, Self>) -> PyResult<()> {
        let later = later.get();
        if std::ptr::eq(self, later) {
            return Err(usage(py, "a merger cannot be merged with itself"));
        }
        if let (Some(one), Some(other)) = (&self.settings.target, &later.settings.target)
            && one != other
        {
            return Err(usage(py, format!("the mergers have different targets: {one} and {other}")));
        }
        let appended = py.detach(|| {
            let inputs = later.duplicates().for_other_merger(OTHER_MERGER.as_ref());
            let sum = later.sum().clone();
            sum.map_or(Ok(()), |sum| self.join(sum, inputs))
        });
        appended.or_raise(py)
    }

    /// Adds the inputs of a partial merge, which is an input itself or the state of a pickled merger. Returns the
    /// settings that it names.
    fn restore<'py>(&self, py: Python<'py>, part: Vec<u8>, is_input: bool) -> PyResult<Bound<'py, PyDict>> {
        let settings = self.settings.clone();
        let restored = detached::run(py, None, move |watch| {
            let options = partial_options(&settings, &default_target(&settings)?, watch.cancel())?;
            Partial::from_bytes(&part, &options)
        })?;
        let restored = restored.or_raise(py)?;
        let kept = kept_settings(py, &restored)?;
        let own = Duplicates::of(THIS_MERGER.as_ref(), false, restored.inputs());
        let inputs = if is_input { own.for_other_merger(UNNAMED.as_ref()) } else { own };
        py.detach(|| self.join(restored, inputs)).or_raise(py)?;
        Ok(kept)
    }

    /// Returns the partial merge.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| {
            let mut sum = self.sum().clone();
            if let Some(sum) = &mut sum {
                self.settings.kept().into_iter().for_each(|words| sum.note_applied(words));
            }
            sum.as_ref().map(Partial::to_bytes).transpose()
        });
        bytes.or_raise(py)?.map(|bytes| PyBytes::new(py, &bytes)).ok_or_else(|| usage(py, "no inputs were added"))
    }

    /// Returns the inputs and their outcomes.
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let inputs = py.detach(|| self.sum().as_ref().map(inputs_json).unwrap_or_default());
        to_python(py, &inputs)
    }

    /// Returns the merged profile.
    fn finish(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let Some(sum) = py.detach(|| self.sum().clone()) else { return Err(usage(py, "no input")) };
        let settings = self.settings.clone();
        match detached::run(py, None, move |watch| finish(&sum, &settings, &watch))? {
            Ok(merged) => merged.into_object(py),
            Err(error) => Err(raise(py, &error)),
        }
    }
}

/// Returns the settings that a partial merge names, which apply at the end of the merge.
fn kept_settings<'py>(py: Python<'py>, part: &Partial) -> PyResult<Bound<'py, PyDict>> {
    let kept = PyDict::new(py);
    for words in part.applied() {
        match words.split_once('=') {
            Some(("--for", toolchain)) => kept.set_item("target", toolchain)?,
            Some((option, number)) => {
                let setting = THRESHOLDS.into_iter().find(|(known, _)| *known == option);
                if let (Some((_, setting)), Ok(number)) = (setting, number.parse::<u64>()) {
                    kept.set_item(setting, number)?;
                }
            }
            None => {}
        }
    }
    Ok(kept)
}

/// Returns the partial merge of one input. A file that is not a profile belongs to the `known` family. If the failure
/// mode is `any`, a damaged input is an error.
fn of_input(input: &Input, known: Option<Family>, settings: &MergeSettings, watch: &Watch) -> Result<Partial> {
    // The readers of the family report files that cannot be opened.
    let family = match input.family().ok().flatten() {
        Some(family) => family,
        None => known.or(settings.family()?).unwrap_or(Family::Instr),
    };
    settings.refuse_for(Some(family))?;
    let is_stored = matches!(family, Family::Iprof | Family::Stacks) && !input.is_partial() && !settings.salvage;
    if is_stored && settings.failure_mode()? == FailureMode::Any {
        // The partial merge only stores the file.
        match read_again(input, settings) {
            Some(error) if !matches!(error.kind(), ErrorKind::EmptyProfile) => return Err(error),
            _ => {}
        }
    }
    let inputs = std::slice::from_ref(input);
    let target = crate::options::target(settings, inputs)?;
    let mut part = Partial::of(inputs, family, &partial_options(settings, &target, watch.cancel())?)?;
    settings.filters().into_iter().for_each(|words| part.note_applied(words));
    if settings.failure_mode()? == FailureMode::Any {
        part.inputs().into_iter().try_for_each(|about| match &about.state {
            InputState::Failed(error) => Err(Error::from(&**error).in_file(&about.path)),
            _ => Ok(()),
        })?;
    }
    Ok(part)
}

/// Returns true if all inputs were empty.
fn is_nothing(part: &Partial) -> bool {
    part.inputs().into_iter().all(|about| about.state == InputState::Empty)
}

/// Returns the same empty inputs as inputs of a family.
fn nothing_of(family: Family, part: &Partial, settings: &MergeSettings) -> Result<Partial> {
    let empty = |about: &partial::PartialInput| {
        let weight = NonZeroU64::new(about.weight).unwrap_or(NonZeroU64::MIN);
        Input::from_bytes(&about.path, Vec::new()).weighted_by(weight)
    };
    let inputs: Vec<Input> = part.inputs().into_iter().map(empty).collect();
    Partial::of(&inputs, family, &partial_options(settings, &default_target(settings)?, Cancel::default())?)
}

fn read_again(input: &Input, settings: &MergeSettings) -> Option<Error> {
    let mut options = ReadOptions::new(Compat::Profbridge);
    options.limits = settings.limits().ok()?;
    AnyProfile::open(input, &options).err()
}

fn default_target(settings: &MergeSettings) -> Result<Target> {
    crate::options::target(settings, &[])
}

fn partial_options(settings: &MergeSettings, target: &Target, cancel: Cancel) -> Result<PartialOptions> {
    let mut options = PartialOptions::default();
    options.instr = settings.instr(target)?;
    options.sample = sample::options(settings)?;
    options.iprof = iprof::options(settings)?;
    options.stacks = stacks::options(settings)?;
    if !settings.events.is_empty() {
        return Err(Error::usage("events cannot be used for a merger, which keeps all of them"));
    }
    (options.instr.cancel, options.sample.cancel) = (cancel.clone(), cancel.clone());
    (options.iprof.read.cancel, options.stacks.cancel) = (cancel.clone(), cancel);
    Ok(options)
}

/// Finishes the merge.
fn finish(sum: &Partial, settings: &MergeSettings, watch: &Watch) -> Result<Merged> {
    let target = match settings.asked_target()? {
        Some(target) => target,
        None => Target::of_inputs(&sum.evidence()),
    };
    let options = partial_options(settings, &target, watch.cancel())?;
    match sum {
        Partial::Instr(sums) => instr::finish(sums, options.instr, target, settings).map(Merged::Instr),
        Partial::SampleProf(sums) => sample::finish(sums, &options.sample, settings).map(Merged::Sample),
        _ => match sum.finish(&options)? {
            Finished::Iprof(report) => iprof::of_report(report, settings).map(Merged::Iprof),
            Finished::Pprof(sum) => stacks::of_pprof(sum, settings).map(Merged::Stacks),
            Finished::Stacks(sum) => stacks::of_tables(sum, settings).map(Merged::Stacks),
            _ => Err(Error::usage("the family of the merge is unknown")),
        },
    }
}

fn inputs_json(sum: &Partial) -> Vec<serde_json::Value> {
    let one = |about: &partial::PartialInput| {
        let (outcome, error) = match &about.state {
            InputState::Used => ("used", None),
            InputState::Empty => ("empty", None),
            InputState::Failed(error) => ("failed", Some(about.message(error))),
            _ => ("other", None),
        };
        serde_json::json!({
            "path": about.path.to_string_lossy(),
            "weight": about.weight,
            "outcome": outcome,
            "error": error,
            "records": about.records,
            "warnings": about.warnings,
        })
    };
    sum.inputs().into_iter().map(one).collect()
}
