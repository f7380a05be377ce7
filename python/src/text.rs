//! Names as text, and reports as Python objects.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt::Write;

/// Returns a name from a file as text. Bytes that are not UTF-8 become `\xNN`.
pub(crate) fn printable(name: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(name) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(name.len() + 8);
    for chunk in name.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            write!(text, "\\x{byte:02x}").expect("writing to memory cannot fail");
        }
    }
    Cow::Owned(text)
}

/// Converts a report to dictionaries and lists.
///
/// # Errors
///
/// The errors of the interpreter.
pub(crate) fn to_python<'py>(py: Python<'py>, report: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text =
        serde_json::to_string(report).map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))?;
    py.import("json")?.call_method1("loads", (text,))
}

/// Returns a summary as a dictionary: its totals, and in `cutoffs` the number of counts that make up a share of the
/// total. Each row is that share in millionths, the smallest of these counts, and their number.
///
/// # Errors
///
/// The errors of the interpreter.
pub(crate) fn summary_fields<'py>(
    py: Python<'py>,
    totals: &[(&str, u64)],
    rows: impl Iterator<Item = (u32, u64, u64)>,
) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    totals.iter().try_for_each(|(name, total)| fields.set_item(name, total))?;
    let rows = rows.map(|(cutoff, least, counts)| (f64::from(cutoff) / 1e6, least, counts));
    fields.set_item("cutoffs", rows.collect::<Vec<_>>())?;
    Ok(fields)
}

/// Issues warnings of the package's own category, attributed to the caller of the package.
///
/// # Errors
///
/// The warning itself, if Python turns it into an error.
pub(crate) fn warn(py: Python<'_>, warnings: &[String]) -> PyResult<()> {
    if warnings.is_empty() {
        return Ok(());
    }
    let warn = py.import("profbridge._errors")?.getattr("_warn")?;
    warnings.iter().try_for_each(|text| warn.call1((text,)).map(drop))
}
