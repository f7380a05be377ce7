//! The caller's inputs: paths or bytes.

use crate::error::{OrRaise, usage};
use profbridge::Compat;
use profbridge::input::{Input, InputList};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};
use std::num::NonZeroU64;
use std::path::PathBuf;

/// The name of unnamed bytes in messages.
pub(crate) const UNNAMED: &str = "<bytes>";

/// Returns one input.
///
/// # Errors
///
/// `TypeError` for anything except paths and bytes.
pub(crate) fn input(source: &Bound<'_, PyAny>, name: Option<&str>) -> PyResult<Input> {
    match bytes(source)? {
        Some(bytes) => Ok(Input::from_bytes(name.unwrap_or(UNNAMED), bytes)),
        None => path(source).map(Input::new),
    }
}

/// Returns the inputs of a merge with their weights. A directory means the profiles in it.
///
/// # Errors
///
/// Usage if the weights do not match the inputs; the errors of the file system.
pub(crate) fn inputs(sources: &Bound<'_, PyAny>, weights: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Input>> {
    let py = sources.py();
    let is_one = sources.is_instance_of::<PyString>() || bytes(sources)?.is_some() || sources.hasattr("__fspath__")?;
    let sources = if is_one { vec![sources.clone()] } else { sources.try_iter()?.collect::<PyResult<Vec<_>>>()? };
    let weights = match weights {
        Some(weights) => weights.try_iter()?.map(|weight| weight_of(&weight?)).collect::<PyResult<Vec<_>>>()?,
        None => vec![NonZeroU64::MIN; sources.len()],
    };
    if weights.len() != sources.len() {
        return Err(usage(py, format!("{} weights for {} inputs", weights.len(), sources.len())));
    }
    let mut inputs = Vec::with_capacity(sources.len());
    for (source, weight) in sources.iter().zip(weights) {
        match bytes(source)? {
            Some(bytes) => inputs.push(Input::from_bytes(UNNAMED, bytes).weighted_by(weight)),
            None => {
                let mut list = InputList::new(Compat::Profbridge);
                list.push_weighted(&path(source)?, weight).or_raise(py)?;
                inputs.extend(list.into_inputs());
            }
        }
    }
    if inputs.is_empty() {
        return Err(usage(py, "no input"));
    }
    Ok(inputs)
}

/// Returns a weight: an integer from 1.
///
/// # Errors
///
/// Usage for any other number.
pub(crate) fn weight_of(weight: &Bound<'_, PyAny>) -> PyResult<NonZeroU64> {
    let number: u64 = weight
        .extract()
        .map_err(|_| usage(weight.py(), format!("a weight must be an integer of at least 1, not {weight}")))?;
    NonZeroU64::new(number).ok_or_else(|| usage(weight.py(), "a weight must be an integer of at least 1, not 0"))
}

fn path(source: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    source.extract().map_err(|_| {
        let found = source.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
        PyTypeError::new_err(format!("expected a path or bytes, not {found}"))
    })
}

fn bytes(source: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    if let Ok(bytes) = source.cast::<PyBytes>() {
        return Ok(Some(bytes.as_bytes().to_vec()));
    }
    if let Ok(bytes) = source.cast::<PyByteArray>() {
        return Ok(Some(bytes.to_vec()));
    }
    if source.is_instance_of::<PyMemoryView>() {
        return Ok(Some(source.call_method0("tobytes")?.extract()?));
    }
    Ok(None)
}
