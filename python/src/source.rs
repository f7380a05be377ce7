//! The caller's inputs: paths, bytes, open files, profiles.

use crate::error::{OrRaise, usage};
use crate::instr::Profile;
use crate::iprof::Iprof;
use crate::memory::MemoryProfile;
use crate::sample::SampleProfile;
use crate::stacks::Stacks;
use profbridge::input::{Access, Input, InputList};
use profbridge::{Compat, Limits, Result};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView, PyString};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

/// The name of unnamed bytes in messages.
pub(crate) const UNNAMED: &str = "<bytes>";

/// A path of the caller: a string, bytes, or an object with `__fspath__`.
#[derive(Debug, Clone)]
pub(crate) struct AnyPath(pub(crate) PathBuf);

impl<'a, 'py> FromPyObject<'a, 'py> for AnyPath {
    type Error = PyErr;

    fn extract(path: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let text = path.py().import("os")?.call_method1("fsdecode", (path,))?;
        let path: PathBuf = text.extract()?;
        // In a package, `-` is a file of this name.
        Ok(Self(if path == Path::new("-") { Path::new(".").join(path) } else { path }))
    }
}

/// Returns one input.
///
/// # Errors
///
/// `TypeError` for anything except paths, bytes, open binary files and profiles; the errors of an open file.
pub(crate) fn input(source: &Bound<'_, PyAny>, name: Option<&str>) -> PyResult<Input> {
    let (found, bytes) = match content(source)? {
        Some(content) => content,
        None => return path(source).map(Input::new),
    };
    Ok(Input::from_bytes(name.map_or(found, ToString::to_string), bytes))
}

/// Returns the inputs of a merge with their weights. A directory means the profiles in it.
///
/// # Errors
///
/// Usage if the weights do not match the inputs; the errors of the file system.
pub(crate) fn inputs(sources: &Bound<'_, PyAny>, weights: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Input>> {
    let py = sources.py();
    let sources = match is_one(sources)? {
        true => vec![sources.clone()],
        false => sources.try_iter()?.collect::<PyResult<Vec<_>>>()?,
    };
    let weights = match weights {
        Some(weights) => weights.try_iter()?.map(|weight| weight_of(&weight?)).collect::<PyResult<Vec<_>>>()?,
        None => vec![NonZeroU64::MIN; sources.len()],
    };
    if weights.len() != sources.len() {
        let words = format!("the number of weights is {}, that of inputs is {}", weights.len(), sources.len());
        return Err(usage(py, words));
    }
    let mut inputs = Vec::with_capacity(sources.len());
    for (source, weight) in sources.iter().zip(weights) {
        match content(source)? {
            Some((name, bytes)) => inputs.push(Input::from_bytes(name, bytes).weighted_by(weight)),
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
    let number = weight.extract::<u64>().ok().and_then(NonZeroU64::new);
    match number {
        Some(number) => Ok(number),
        None => {
            let words = format!("a weight must be an integer from 1 to 2**64 - 1, not {}", weight.repr()?);
            Err(usage(weight.py(), words))
        }
    }
}

/// Gives an error about bytes that are probably the path of a file its hint. Nothing is looked up in the file system,
/// because bytes can come from anybody.
///
/// # Errors
///
/// The error.
pub(crate) fn or_raise_with_hint<T>(py: Python<'_>, result: Result<T>, inputs: &[Input]) -> PyResult<T> {
    let is_name = |input: &Input| {
        let is_unnamed = input.path == Path::new(UNNAMED) && matches!(input.family(), Ok(None));
        is_unnamed && input.stored_bytes(Access::Read, &Limits::default()).is_ok_and(|bytes| may_be_path(&bytes))
    };
    let is_about_name = result.is_err() && inputs.iter().any(is_name);
    result.or_raise(py).or_else(|error| {
        if is_about_name {
            error
                .value(py)
                .setattr("hint", "bytes are the content of a file; pass a path as str: os.fsdecode(path)")?;
        }
        Err(error)
    })
}

fn may_be_path(bytes: &[u8]) -> bool {
    (1..=4096).contains(&bytes.len()) && !bytes.iter().any(u8::is_ascii_control)
}

/// Returns true for one source, and false for an iterable of sources.
fn is_one(sources: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_path = sources.is_instance_of::<PyString>() || sources.hasattr("__fspath__")?;
    Ok(is_path || sources.hasattr("read")? || is_profile(sources) || PyMemoryView::from(sources).is_ok())
}

fn is_profile(source: &Bound<'_, PyAny>) -> bool {
    source.is_instance_of::<Profile>()
        || source.is_instance_of::<SampleProfile>()
        || source.is_instance_of::<MemoryProfile>()
        || source.is_instance_of::<Iprof>()
        || source.is_instance_of::<Stacks>()
}

fn path(source: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    source.extract::<AnyPath>().map(|path| path.0).map_err(|_| {
        let found = source.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
        PyTypeError::new_err(format!("expected a path, bytes, an open binary file or a profile, not {found}"))
    })
}

/// Returns the name and the bytes of a source that is not a path.
pub(crate) fn content(source: &Bound<'_, PyAny>) -> PyResult<Option<(String, Vec<u8>)>> {
    if let Some(bytes) = bytes_of(source)? {
        return Ok(Some((UNNAMED.to_string(), bytes)));
    }
    if source.is_instance_of::<PyString>() || source.hasattr("__fspath__")? {
        return Ok(None);
    }
    if source.hasattr("read")? {
        let read = source.call_method0("read")?;
        let Some(bytes) = bytes_of(&read)? else {
            return Err(PyTypeError::new_err("the file must be opened in binary mode"));
        };
        let name = source.getattr("name").and_then(|name| name.extract::<String>());
        return Ok(Some((name.unwrap_or_else(|_| UNNAMED.to_string()), bytes)));
    }
    encoded(source)
}

/// Returns a profile as a file without losses.
fn encoded(source: &Bound<'_, PyAny>) -> PyResult<Option<(String, Vec<u8>)>> {
    let py = source.py();
    let (class, bytes) = if let Ok(profile) = source.cast::<Profile>() {
        ("Profile", profile.get().exact_bytes(py)?)
    } else if let Ok(profile) = source.cast::<SampleProfile>() {
        ("SampleProfile", profile.get().exact_bytes(py)?)
    } else if let Ok(profile) = source.cast::<MemoryProfile>() {
        ("MemoryProfile", profile.get().exact_bytes(py)?)
    } else if let Ok(profile) = source.cast::<Iprof>() {
        ("Iprof", profile.get().exact_bytes(py)?)
    } else if let Ok(profile) = source.cast::<Stacks>() {
        ("Stacks", profile.get().exact_bytes(py)?)
    } else {
        return Ok(None);
    };
    Ok(Some((format!("<{class}>"), bytes)))
}

/// Returns the bytes of an object that has any.
fn bytes_of(source: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    if let Ok(bytes) = source.cast::<PyBytes>() {
        return Ok(Some(bytes.as_bytes().to_vec()));
    }
    // The stable interface of Python 3.9 has no buffers.
    match PyMemoryView::from(source) {
        Ok(memory) => memory.call_method0("tobytes")?.extract().map(Some),
        Err(_) => Ok(None),
    }
}
