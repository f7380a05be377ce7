//! Functions for files of any format.

use crate::detached;
use crate::error::OrRaise;
use crate::source::input;
use crate::text::to_python;
use profbridge::driver::diff::DiffOptions;
use profbridge::input::{Access, Family};
use profbridge::{Error, Limits, families, iprof};
use pyo3::prelude::*;

/// Checks a file. Returns a dictionary.
#[pyfunction]
#[pyo3(signature = (source, name=None))]
pub(crate) fn check<'py>(source: &Bound<'py, PyAny>, name: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    let (py, input) = (source.py(), input(source, name)?);
    let found = detached::run(py, None, move |_| families::check_file(input, &iprof::ReadOptions::default()))?;
    to_python(py, &found)
}

/// Describes a file and its sections. Returns a dictionary.
#[pyfunction]
#[pyo3(signature = (source, name=None))]
pub(crate) fn describe<'py>(source: &Bound<'py, PyAny>, name: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    let (py, input) = (source.py(), input(source, name)?);
    let limits = Limits::default();
    let described = detached::run(py, None, move |_| {
        let bytes = input.stored_bytes(Access::Read, &limits)?;
        Ok::<_, Error>(families::describe(&bytes, &limits))
    })?;
    to_python(py, &described.or_raise(py)?)
}

/// Compares two files. Returns a dictionary.
#[pyfunction]
#[pyo3(signature = (first, second, topn=10, exact_names=false))]
pub(crate) fn diff<'py>(
    first: &Bound<'py, PyAny>,
    second: &Bound<'py, PyAny>,
    topn: usize,
    exact_names: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, first, second) = (first.py(), input(first, None)?, input(second, None)?);
    let found = detached::run(py, None, move |_| {
        let mut options = DiffOptions::default();
        (options.topn, options.exact_names) = (topn, exact_names);
        families::diff_files(first, second, &options)
    })?;
    to_python(py, &found.or_raise(py)?)
}

/// Returns the profile family of a file; `None` if it is not a profile.
#[pyfunction]
#[pyo3(signature = (source, name=None))]
pub(crate) fn family_of(source: &Bound<'_, PyAny>, name: Option<&str>) -> PyResult<Option<&'static str>> {
    let (py, input) = (source.py(), input(source, name)?);
    let family = detached::run(py, None, move |_| input.family())?.or_raise(py)?;
    Ok(family.and_then(family_word))
}

/// Returns the name of a family.
pub(crate) fn family_word(family: Family) -> Option<&'static str> {
    match family {
        Family::Instr => Some("instr"),
        Family::SampleProf => Some("sampleprof"),
        Family::MemProf => Some("memprof"),
        Family::Iprof => Some("iprof"),
        Family::Stacks => Some("stacks"),
        _ => None,
    }
}
