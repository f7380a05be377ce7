//! Output files, whose form follows from the file extension. They are replaced completely or not at all.

use crate::detached;
use crate::error::OrRaise;
use profbridge::families::{OutputForm, Written, require_earlier_output};
use profbridge::input::{Family, output};
use profbridge::{Error, Hint, Result};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// Returns the requested form, otherwise that of the file extension.
///
/// # Errors
///
/// Usage for a form that is not among `forms`, and for an extension that contradicts the request.
pub(crate) fn form(
    path: &Path,
    what: &str,
    forms: &[OutputForm],
    asked: Option<OutputForm>,
) -> Result<Option<OutputForm>> {
    match OutputForm::choose(path, asked)? {
        Some(form) if !forms.contains(&form) => {
            let extensions: Vec<&str> = forms.iter().map(|form| form.extension()).collect();
            let error = Error::usage(format!("{what} cannot be written as {}", form.words())).in_file(path);
            Err(error.with_hint(format!("name the output {}", extensions.join(" or "))))
        }
        form => Ok(form),
    }
}

/// Writes a profile, compressed according to the file extension. Without `force`, only an earlier output is replaced.
///
/// # Errors
///
/// The errors of the file system; usage for an existing file of another kind.
pub(crate) fn replace(py: Python<'_>, path: PathBuf, bytes: Vec<u8>, family: Family, force: bool) -> PyResult<()> {
    replace_with(py, path, family, force, move |path| output::replace_by_name(path, &bytes))
}

/// Like [`replace`], but writes the bytes as they are.
pub(crate) fn replace_encoded(
    py: Python<'_>,
    path: PathBuf,
    bytes: Vec<u8>,
    family: Family,
    force: bool,
) -> PyResult<()> {
    replace_with(py, path, family, force, move |path| output::replace(path, &bytes))
}

fn replace_with(
    py: Python<'_>,
    path: PathBuf,
    family: Family,
    force: bool,
    write: impl FnOnce(&Path) -> Result<()> + Send + 'static,
) -> PyResult<()> {
    let written = detached::run(py, None, move |_| {
        if !force {
            require_earlier_output(&path, Written::Profile(family), Hint::ReplaceFile)?;
        }
        write(&path)
    })?;
    written.or_raise(py)
}
