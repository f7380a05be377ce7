//! The writer for what was asked.

use crate::error::{Error, ErrorKind, Result};
use crate::indexed;
use crate::manner::Manner;
use crate::merge::FunctionFilter;
use crate::model::{Loss, Profile, Release, Selection};

/// The format of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputFormat {
    /// Indexed, as this release writes it.
    Indexed {
        /// The release; the profile was merged by its rules.
        release: Release,
        /// The version, 1 to 13; not always the release's own:
        /// `--write-prev-version` of LLVM 22 writes 11.
        version: u32,
    },
    /// Text.
    Text,
}

impl Default for OutputFormat {
    fn default() -> Self {
        Self::Indexed { release: Release::DEFAULT, version: indexed::NEWEST_VERSION }
    }
}

/// How a profile is written.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The format.
    pub format: OutputFormat,
    /// Leave out functions of which every count is zero.
    pub sparse: bool,
    /// Functions that are written.
    pub filter: FunctionFilter,
    /// Fail rather than leave out what the format cannot hold.
    pub strict: bool,
    /// Whose rules decide.
    pub manner: Manner,
}

/// An encoded profile and what could not be encoded.
#[derive(Debug)]
#[non_exhaustive]
pub struct Encoded {
    /// The file's content.
    pub bytes: Vec<u8>,
    /// What was left out, by kind.
    pub losses: Vec<Loss>,
}

/// Encodes a profile.
///
/// # Errors
///
/// Would lose, when `strict` and something cannot be written; else what the
/// format's writer says.
pub fn encode(profile: &Profile, options: &WriteOptions) -> Result<Encoded> {
    let keeps = |name: &[u8]| options.filter.keeps(name);
    let mut selection = Selection::all().sparse(options.sparse);
    if !options.filter.is_none() {
        selection = selection.names(&keeps);
    }
    let encoded = match options.format {
        OutputFormat::Indexed { release, version } => {
            let writing = indexed::WriteOptions::for_version_by(version, release).selection(selection);
            let losses = indexed::losses(profile, &writing);
            check_losses(&losses, options.strict)?;
            Encoded { bytes: indexed::write(profile, &writing)?, losses }
        }
        OutputFormat::Text => return Err(ErrorKind::Unsupported { what: "text output".into() }.into()),
    };
    Ok(encoded)
}

fn check_losses(losses: &[Loss], strict: bool) -> Result<()> {
    if !strict || losses.is_empty() {
        return Ok(());
    }
    let detail: Vec<String> = losses.iter().map(Loss::to_string).collect();
    let kind = ErrorKind::WouldLose { detail: format!("the format asked for cannot hold {}", detail.join(", ")) };
    Err(Error::new(kind).with_hint("without --strict it is written all the same, and what is lost is listed"))
}
