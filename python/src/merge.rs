//! Reading and merging files of any family.

use crate::detached::{self, Watch};
use crate::error::OrRaise;
use crate::instr::{self, Profile};
use crate::iprof::{self, Iprof};
use crate::memory::{self, MemoryProfile};
use crate::options::MergeSettings;
use crate::sample::{self, SampleProfile};
use crate::source::{input, inputs};
use crate::stacks::{self, Stacks};
use profbridge::families::partial::{StoredFamily, open_kept};
use profbridge::families::plan::MergeRequest;
use profbridge::input::{Family, Input};
use profbridge::{Error, Limits, Result};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// A result of any family.
pub(crate) enum Merged {
    Instr(instr::Merged),
    Sample(sample::Merged),
    Memory(memory::Merged),
    Iprof(iprof::Merged),
    Stacks(stacks::Merged),
}

impl Merged {
    /// Converts the result to a Python object.
    ///
    /// # Errors
    ///
    /// A warning that Python turns into an error.
    pub(crate) fn into_object(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Self::Instr(merged) => Profile::of(py, merged)?.into_py_any(py),
            Self::Sample(merged) => SampleProfile::of(py, merged)?.into_py_any(py),
            Self::Memory(merged) => MemoryProfile::of(py, merged)?.into_py_any(py),
            Self::Iprof(merged) => Iprof::of(py, merged)?.into_py_any(py),
            Self::Stacks(merged) => Stacks::of(py, merged)?.into_py_any(py),
        }
    }
}

/// Reads one file.
#[pyfunction]
pub(crate) fn read(source: &Bound<'_, PyAny>, name: Option<&str>, settings: MergeSettings) -> PyResult<Py<PyAny>> {
    let (py, input) = (source.py(), input(source, name)?);
    let read = detached::run(py, None, move |watch| merge_family(input.family()?, &[input], &settings, watch))?;
    read.or_raise(py)?.into_object(py)
}

/// Merges files in order.
#[pyfunction]
pub(crate) fn merge(
    sources: &Bound<'_, PyAny>,
    weights: Option<&Bound<'_, PyAny>>,
    settings: MergeSettings,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let py = sources.py();
    let inputs = inputs(sources, weights)?;
    let merged = detached::run(py, progress, move |watch| {
        merge_family(family_of(&inputs, &settings)?, &inputs, &settings, watch)
    })?;
    merged.or_raise(py)?.into_object(py)
}

/// Returns the family of the inputs.
///
/// # Errors
///
/// Usage for inputs of different families.
fn family_of(inputs: &[Input], settings: &MergeSettings) -> Result<Option<Family>> {
    if !inputs.iter().any(|input| matches!(input.family(), Ok(Some(_)))) {
        return settings.family();
    }
    if inputs.iter().any(|input| matches!(input.family(), Ok(Some(Family::Stacks)))) {
        return Ok(Some(Family::Stacks));
    }
    let family = MergeRequest::new(Path::new("-")).plan(inputs)?.family();
    let several = || Error::usage("the inputs are of several families; use the program to merge them");
    family.map(Some).ok_or_else(several)
}

/// Replaces partial merges with their inputs. Returns `None` if there are no partial merges.
fn opened(
    inputs: &[Input],
    family: StoredFamily,
    settings: &MergeSettings,
) -> Result<Option<(Vec<Input>, Vec<PathBuf>)>> {
    open_kept(inputs, family, settings.allow_duplicates, &Limits::default())
}

fn merge_family(family: Option<Family>, inputs: &[Input], settings: &MergeSettings, watch: Watch) -> Result<Merged> {
    refuse_filters(family, settings)?;
    match family {
        Some(Family::SampleProf) => sample::merge(inputs, settings, &watch).map(Merged::Sample),
        Some(Family::Iprof) => iprof::merge(inputs, settings, &watch).map(Merged::Iprof),
        Some(Family::Stacks) => {
            let opened = opened(inputs, StoredFamily::Stacks, settings)?;
            stacks::merge(opened.as_ref().map_or(inputs, |(inputs, _)| inputs), settings, &watch).map(Merged::Stacks)
        }
        Some(Family::MemProf) => memory::merge(inputs, settings, &watch).map(Merged::Memory),
        // The readers of instrumentation profiles report files that are not profiles.
        _ => {
            let merged = instr::merge(inputs, settings, &watch)?;
            let is_memory = merged.profile.functions.is_empty() && merged.profile.memprof.is_some();
            if is_memory {
                memory::merge(inputs, settings, &watch).map(Merged::Memory)
            } else {
                Ok(Merged::Instr(merged))
            }
        }
    }
}

/// Rejects filters for a family that does not support them.
///
/// # Errors
///
/// Usage.
pub(crate) fn refuse_filters(family: Option<Family>, settings: &MergeSettings) -> Result<()> {
    match family {
        Some(family @ (Family::Iprof | Family::Stacks)) => settings.refuse_filters(family.words()),
        _ => Ok(()),
    }
}
