//! A file that is read in chunks.

use super::file::open_file;
use super::pages::read_at;
use crate::bytes::window::StableSource;
use crate::error::{Error, Result};
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// A file that must not change during the read.
#[derive(Debug)]
pub(crate) struct StableFile {
    file: File,
    len: u64,
    modified: Option<SystemTime>,
}

impl StableFile {
    /// Opens a file; `None` for paths that are not regular files, such as a directory.
    ///
    /// # Errors
    ///
    /// I/O errors with the path.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>> {
        let file = open_file(path)?;
        let Some(found) = file.metadata().ok().filter(Metadata::is_file) else { return Ok(None) };
        Ok(Some(Self { file, len: found.len(), modified: found.modified().ok() }))
    }

    /// The open file.
    pub(crate) fn as_file(&self) -> &File {
        &self.file
    }
}

impl StableSource for StableFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, memory: &mut [u8], offset: u64) -> Result<()> {
        let is_filled = read_at(&self.file, memory, offset).map_err(|source| Error::io("cannot read", source))?;
        if is_filled { Ok(()) } else { Err(changed()) }
    }

    fn check(&self) -> Result<()> {
        let found = self.file.metadata().map_err(|source| Error::io("cannot read", source))?;
        let is_same = found.len() == self.len && found.modified().ok() == self.modified;
        if is_same { Ok(()) } else { Err(changed()) }
    }
}

fn changed() -> Error {
    let error = Error::io("cannot read", io::Error::other("the file changed during the read"));
    error.with_hint("try again when no other process writes the file")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::window::Window;
    use std::sync::Arc;

    #[test]
    fn a_file_that_changes_is_an_error() {
        type Change = fn(&File);
        let changes: [Change; 3] = [
            |file| file.set_len(10).unwrap(),
            |file| file.set_len(101).unwrap(),
            |file| file.set_modified(SystemTime::UNIX_EPOCH).unwrap(),
        ];
        for change in changes {
            let kept = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(kept.path(), [7; 100]).unwrap();
            let file = Arc::new(StableFile::open(kept.path()).unwrap().unwrap());
            let mut window = Window::in_chunks(file, 0..100, 40);
            assert!(window.more().unwrap());
            change(kept.as_file());
            let outcome = window.more().and_then(|_| window.more());
            let error = outcome.unwrap_err();
            assert_eq!(error.to_string(), "cannot read: the file changed during the read");
        }
    }

    #[test]
    fn directories_are_not_files() {
        assert!(StableFile::open(Path::new(".")).unwrap().is_none());
        assert!(StableFile::open(Path::new("no/such/file")).is_err());
    }
}
