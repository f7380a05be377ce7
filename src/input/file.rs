//! Opening a file.

use super::system_calls::{Step, step};
use crate::error::{Error, Result};
use std::fs::File;
use std::path::Path;

/// Opens a file for reading. Opening a directory succeeds; reading it fails with the system's message.
pub(super) fn open_file(path: &Path) -> Result<File> {
    step(Step::Open, || File::open(path)).map_err(|source| Error::io("cannot open", source).in_file(path))
}
