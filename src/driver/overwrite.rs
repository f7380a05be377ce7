//! Protection of existing files that are not earlier outputs.

use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::input::output::is_replaced;
use crate::input::{Family, Format, Input};
use std::path::Path;

/// Rejects an output that would replace a file other than an earlier output: an empty file or a merged profile of
/// `family`. Raw profiles and recordings are rejected because they cannot be created again. Pipes, devices and open
/// descriptors are not replaced.
///
/// # Errors
///
/// A usage error for any other file; I/O errors with the path.
pub fn require_earlier_output(output: &Path, family: Family) -> Result<()> {
    if !is_replaced(output) || !output.exists() {
        return Ok(());
    }
    let existing = Input::new(output);
    let format = existing.format()?;
    let found = if format == Format::Partial { existing.family()? } else { written_family(format) };
    if format == Format::Empty || found.is_some_and(|found| merges_as(found) == merges_as(family)) {
        return Ok(());
    }
    let detail = format!("the file exists and is not an earlier output: {format}");
    Err(Error::usage(detail).in_file(output).with_hint(Hint::ReplaceFile))
}

/// Returns the family of a format in which merged profiles are written.
fn written_family(format: Format) -> Option<Family> {
    match format {
        Format::Raw { .. } | Format::RawMemProf | Format::Jfr | Format::PerfData => None,
        format => format.family(),
    }
}

/// Returns the family whose outputs can be replaced: memory profiles are merged with instrumentation profiles into the
/// same files.
fn merges_as(family: Family) -> Family {
    if family == Family::MemProf { Family::Instr } else { family }
}
