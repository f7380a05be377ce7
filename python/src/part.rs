//! `Part`: a merge that goes on, behind the package's `Merger`.

use crate::detached;
use crate::error::{OrRaise, raise, usage};
use crate::instr;
use crate::merge::Merged;
use crate::options::{MergeSettings, asked_target};
use crate::source::{input, weight_of};
use crate::text::to_python;
use profbridge::input::{Family, Input};
use profbridge::merge::partial::PartialMerge;
use profbridge::partial::{Family as PartFamily, InputOrigin, InputState, PartialInput, append};
use profbridge::pipeline::target::InputVersions;
use profbridge::pipeline::{FailureMode, Silent, Target, partial};
use profbridge::{Error, ErrorKind, Limits, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A merge that goes on. It is changed by whole inputs only: what was cancelled leaves nothing behind.
#[pyclass(frozen, module = "profbridge._profbridge", name = "Part")]
pub(crate) struct Part {
    settings: MergeSettings,
    sum: Mutex<Option<PartialMerge>>,
}

impl Part {
    fn sum(&self) -> MutexGuard<'_, Option<PartialMerge>> {
        self.sum.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, later: PartialMerge) {
        let mut sum = self.sum();
        match sum.as_mut() {
            None => *sum = Some(later),
            Some(sum) => sum.append(later),
        }
    }
}

#[pymethods]
impl Part {
    #[new]
    fn new(py: Python<'_>, settings: MergeSettings) -> PyResult<Self> {
        asked_target(settings.target.as_deref()).or_raise(py)?;
        settings.failure_mode().or_raise(py)?;
        Ok(Self { settings, sum: Mutex::new(None) })
    }

    /// Number of inputs.
    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.sum().as_ref().map_or(0, |sum| sum.inputs().len()))
    }

    /// Adds an input.
    fn add(&self, source: &Bound<'_, PyAny>, weight: &Bound<'_, PyAny>, name: Option<&str>) -> PyResult<()> {
        let py = source.py();
        let input = input(source, name)?.weighing(weight_of(weight)?);
        let settings = self.settings.clone();
        let one = detached::run(py, None, move |_| of_input(&input, &settings))?.or_raise(py)?;
        py.detach(|| self.join(one));
        Ok(())
    }

    /// Adds the inputs of another part, which come after these.
    fn append(&self, py: Python<'_>, later: &Bound<'_, Self>) {
        let later = later.get();
        let copy = py.detach(|| later.sum().clone());
        if let Some(later) = copy {
            py.detach(|| self.join(later));
        }
    }

    /// Adds the inputs of a partial merge.
    fn restore(&self, py: Python<'_>, part: Vec<u8>) -> PyResult<()> {
        let restored = detached::run(py, None, move |_| decode(&part))?.or_raise(py)?;
        py.detach(|| self.join(restored));
        Ok(())
    }

    /// The partial merge.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.sum().as_ref().map(encode));
        bytes.map(|bytes| PyBytes::new(py, &bytes)).ok_or_else(|| usage(py, "nothing was added yet"))
    }

    /// The inputs and what became of each.
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let inputs = py.detach(|| self.sum().as_ref().map(inputs_json).unwrap_or_default());
        to_python(py, &inputs)
    }

    /// The result.
    fn finish(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let Some(sum) = py.detach(|| self.sum().clone()) else { return Err(usage(py, "no input")) };
        let settings = self.settings.clone();
        match detached::run(py, None, move |_| finish(&sum, &settings))? {
            Ok(merged) => merged.into_object(py),
            Err(error) => Err(raise(py, &error)),
        }
    }
}

/// A part of one input. With the failure mode that one bad input is enough for, that is its error.
fn of_input(input: &Input, settings: &MergeSettings) -> Result<PartialMerge> {
    if let Ok(Some(family @ (Family::SampleProf | Family::Iprof | Family::Stacks))) = input.family() {
        let what = format!("merging {} in parts", family.words());
        return Err(Error::new(ErrorKind::Unsupported { what }).in_file(&input.path));
    }
    let inputs = std::slice::from_ref(input);
    let target = crate::options::target(settings.target.as_deref(), inputs)?;
    let part = partial::merge_partially(inputs, &settings.instr(&target)?, &mut Silent)?;
    if settings.failure_mode()? == FailureMode::Any {
        part.inputs().iter().try_for_each(|about| match &about.state {
            InputState::Failed { message, .. } => Err(error_of(input, message, settings)),
            _ => Ok(()),
        })?;
    }
    Ok(part)
}

/// The error of an input, of which a part remembers the words alone.
fn error_of(input: &Input, message: &str, settings: &MergeSettings) -> Error {
    instr::fault(input, settings).unwrap_or_else(|| Error::malformed(message)).in_file(&input.path)
}

/// Ends the merge.
fn finish(sum: &PartialMerge, settings: &MergeSettings) -> Result<Merged> {
    let target = match asked_target(settings.target.as_deref())? {
        Some(target) => target,
        None => Target::of_inputs(&versions(sum)),
    };
    instr::finish(sum, settings.instr(&target)?, target).map(Merged::Instr)
}

/// The state with its footer, and no profile in front of it.
fn encode(sum: &PartialMerge) -> Vec<u8> {
    append(Vec::new(), PartFamily::Instr, origins(&versions(sum)), &sum.encode())
}

/// The sums of a partial merge, as it was made here or by the program.
fn decode(part: &[u8]) -> Result<PartialMerge> {
    partial::open(part, &Limits::default())?
        .ok_or_else(|| Error::usage("this is no partial merge of instrumentation profiles"))
}

/// Who wrote the inputs, in the word that the footer has for it: a byte each for the oldest and the
/// newest raw version, the indexed one, and inputs without.
fn origins(versions: &InputVersions) -> u64 {
    let (oldest, newest) = versions.raw.unwrap_or_default();
    let byte = |number: u32| number.min(0xff) as u8;
    let indexed = byte(versions.indexed.unwrap_or_default());
    u64::from_le_bytes([byte(oldest), byte(newest), indexed, versions.unmarked.into(), 0, 0, 0, 0])
}

/// Who wrote the inputs.
fn versions(sum: &PartialMerge) -> InputVersions {
    let mut versions = InputVersions::default();
    for origin in sum.inputs().iter().filter_map(|about| about.origin) {
        match origin {
            InputOrigin::Raw(version) => {
                let version = version as u32;
                let (oldest, newest) = versions.raw.unwrap_or((version, version));
                versions.raw = Some((oldest.min(version), newest.max(version)));
            }
            InputOrigin::Indexed(version) => versions.indexed = versions.indexed.max(Some(version as u32)),
            InputOrigin::Text { .. } => versions.unmarked = true,
            _ => {}
        }
    }
    versions
}

fn inputs_json(sum: &PartialMerge) -> Vec<serde_json::Value> {
    let one = |about: &PartialInput| {
        let (outcome, error) = match &about.state {
            InputState::Used => ("used", None),
            InputState::Empty => ("empty", None),
            InputState::Failed { message, .. } => ("failed", Some(message.clone())),
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
    sum.inputs().iter().map(one).collect()
}
