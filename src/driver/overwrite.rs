//! Protection of existing files that are not earlier outputs.

use crate::bytes::Confidence;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::input::output::is_replaced;
use crate::input::{Family, Format, Input, OtherFormat};
use std::io::Read;
use std::path::Path;

/// The content of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// A profile of this family.
    Profile(Family),
    /// A partial merge of profiles of this family.
    Partial(Family),
    /// A report, a drawing, or other text that is not a profile.
    Report,
}

/// Rejects an output that would replace a file other than an earlier output. Pipes, devices and open descriptors are not
/// replaced. `hint` says what to do.
///
/// Every output may replace an empty file. A profile may replace a merged profile of its family; raw profiles and
/// recordings are rejected because they cannot be created again, and partial merges of recordings because a profile holds
/// less. A partial merge may also replace a partial merge of its family. A report may replace text that is not a profile;
/// text that can be a report or collapsed stacks is a report, unless its name ends with `.collapsed` or `.folded`.
///
/// # Errors
///
/// A usage error for any other file; I/O errors with the path.
pub fn require_earlier_output(output: &Path, written: Written, hint: impl Into<Hint>) -> Result<()> {
    if !is_replaced(output) || !output.exists() {
        return Ok(());
    }
    let existing = Input::new(output);
    let format = existing.format()?;
    let is_earlier = match (written, format) {
        (_, Format::Empty) => true,
        (Written::Report, Format::OtherText | Format::OtherJson) => true,
        (Written::Report, Format::Other(OtherFormat::Html | OtherFormat::Xml)) => true,
        (Written::Report, Format::Iprof) => is_report(output),
        // Lines of reports that end with a number look like stacks.
        (Written::Report, Format::Collapsed) => {
            existing.look()?.identity.confidence != Confidence::Certain && !has_name_of_stacks(output)
        }
        (Written::Report, _) | (Written::Profile(_), Format::Partial) => false,
        (Written::Partial(family), Format::Partial) => is_of(existing.family()?, family),
        (Written::Profile(family) | Written::Partial(family), format) => is_of(written_family(format), family),
    };
    if is_earlier {
        return Ok(());
    }
    let detail = format!("the file exists and is not an earlier output: {format}");
    Err(Error::usage(detail).in_file(output).with_hint(hint))
}

fn has_name_of_stacks(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "collapsed" || extension == "folded")
}

/// Returns true for a JSON document of profbridge. Some have members of an iprof.
fn is_report(path: &Path) -> bool {
    const START: &[u8] = b"{\"schema\":\"profbridge.";
    let mut start = [0; START.len()];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == START
}

/// Returns the family of a format in which merged profiles are written.
fn written_family(format: Format) -> Option<Family> {
    match format {
        Format::Raw { .. } | Format::RawMemProf | Format::Jfr | Format::PerfData => None,
        format => format.family(),
    }
}

/// Returns true if an existing file has the family of an output. Memory profiles are merged with instrumentation profiles
/// into the same files.
fn is_of(existing: Option<Family>, family: Family) -> bool {
    let merges_as = |family| if family == Family::MemProf { Family::Instr } else { family };
    existing.is_some_and(|existing| merges_as(existing) == merges_as(family))
}
