//! Files that are replaced whole or not at all.

use crate::detached;
use crate::error::OrRaise;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Writes a file.
///
/// # Errors
///
/// Those of the file system.
pub(crate) fn replace(py: Python<'_>, path: PathBuf, bytes: Vec<u8>) -> PyResult<()> {
    detached::run(py, None, move |_| profbridge::input::output::replace(&path, &bytes))?.or_raise(py)
}
