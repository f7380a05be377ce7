//! Profiles that cross processes: pickles.

use crate::error::OrRaise;
use crate::instr::{self, Profile};
use crate::iprof::Iprof;
use crate::memory::MemoryProfile;
use crate::sample::SampleProfile;
use crate::stacks::Stacks;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The result of `__reduce__`: the function that restores the object, and its arguments.
pub(crate) type Reduced<'py, A> = (Bound<'py, PyAny>, A);

/// The arguments of [`restore`].
pub(crate) type Arguments<'py> = (&'static str, Bound<'py, PyBytes>);

/// Returns the pickle of a profile.
///
/// # Errors
///
/// The errors of the interpreter.
pub(crate) fn reduce<'py>(
    py: Python<'py>,
    family: &'static str,
    state: &impl Serialize,
) -> PyResult<Reduced<'py, Arguments<'py>>> {
    let bytes = serde_json::to_vec(state).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((function(py, "restore")?, (family, PyBytes::new(py, &bytes))))
}

/// Returns a function of the extension module.
///
/// # Errors
///
/// The errors of the interpreter.
pub(crate) fn function<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("profbridge._profbridge")?.getattr(name)
}

/// Restore a pickled profile.
#[pyfunction]
pub(crate) fn restore(py: Python<'_>, family: &str, state: &[u8]) -> PyResult<Py<PyAny>> {
    match family {
        Profile::FAMILY => Profile::of_state(decode::<instr::State>(state)?).into_py_any(py),
        SampleProfile::FAMILY => SampleProfile::of_state(decode(state)?).into_py_any(py),
        MemoryProfile::FAMILY => MemoryProfile::of_state(decode(state)?).into_py_any(py),
        Iprof::FAMILY => Iprof::of_state(decode(state)?).or_raise(py)?.into_py_any(py),
        Stacks::FAMILY => Stacks::of_state(decode(state)?).or_raise(py)?.into_py_any(py),
        other => Err(PyValueError::new_err(format!("{other} is not a family"))),
    }
}

/// Bytes in a state, as a string with a character for each byte: JSON has a number for each byte of a list.
#[derive(Serialize, Deserialize)]
pub(crate) struct Bytes(String);

impl Bytes {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(bytes.iter().map(|byte| char::from(*byte)).collect())
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.chars().filter_map(|character| u8::try_from(character).ok()).collect()
    }
}

fn decode<T: DeserializeOwned>(state: &[u8]) -> PyResult<T> {
    serde_json::from_slice(state)
        .map_err(|error| PyValueError::new_err(format!("the pickle is of another version of profbridge: {error}")))
}
