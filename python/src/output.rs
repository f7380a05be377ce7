//! Output files, which are replaced completely or not at all, and compressed according to their names.

use crate::detached;
use crate::error::OrRaise;
use profbridge::families::require_earlier_output;
use profbridge::input::Family;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Writes a profile, compressed according to the file extension. Without `force`, only an earlier output is replaced.
///
/// # Errors
///
/// The errors of the file system; usage for an existing file of another kind.
pub(crate) fn replace(py: Python<'_>, path: PathBuf, bytes: Vec<u8>, family: Family, force: bool) -> PyResult<()> {
    let written = detached::run(py, None, move |_| {
        if !force {
            require_earlier_output(&path, family)?;
        }
        profbridge::input::output::replace_by_name(&path, &bytes)
    })?;
    written.or_raise(py)
}
