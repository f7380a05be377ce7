//! Inputs whose bytes come but once: standard input, pipes, devices.
//!
//! Who decides by content what to do with an input has to look at its
//! beginning first. What was looked at of a pipe is gone from it, for the whole
//! process: it is kept here, with the pipe, for whoever opens the path next.

use super::file::open_file;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An input that was looked at.
pub(super) struct Opened {
    /// What was read.
    pub(super) head: Vec<u8>,
    /// What follows.
    pub(super) rest: Box<dyn Read + Send>,
}

/// Inputs that were looked at and not read yet.
static LOOKED_AT: Mutex<BTreeMap<PathBuf, Opened>> = Mutex::new(BTreeMap::new());

fn looked_at() -> MutexGuard<'static, BTreeMap<PathBuf, Opened>> {
    LOOKED_AT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the bytes of `path` come but once; `-` is standard input.
pub fn comes_once(path: &Path) -> bool {
    let special = |metadata: &std::fs::Metadata| !metadata.is_file() && !metadata.is_dir();
    path.as_os_str() == "-" || std::fs::metadata(path).is_ok_and(|metadata| special(&metadata))
}

/// The first bytes of an input, at most `most`: fewer only if there are no
/// more. Whoever opens it afterwards gets them again.
///
/// # Errors
///
/// I/O errors with the path.
pub fn look(path: &Path, most: usize) -> Result<Vec<u8>> {
    let mut opened = match take(path) {
        Some(opened) => opened,
        None => Opened { head: Vec::new(), rest: open(path)? },
    };
    let missing = most.saturating_sub(opened.head.len()) as u64;
    let read = opened.rest.by_ref().take(missing).read_to_end(&mut opened.head);
    read.map_err(|source| Error::io("cannot read", source).in_file(path))?;
    if !comes_once(path) {
        return Ok(opened.head);
    }
    let head = opened.head[..opened.head.len().min(most)].to_vec();
    looked_at().insert(path.to_path_buf(), opened);
    Ok(head)
}

/// An input from its first byte, which is not looked at any more.
pub(super) fn take(path: &Path) -> Option<Opened> {
    looked_at().remove(path)
}

/// Opens an input that was not looked at.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdin()));
    }
    Ok(Box::new(open_file(path)?))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::{Access, Format, open as open_bytes, open_stream};
    use super::*;
    use crate::limits::Limits;
    use std::io::{PipeReader, Write};
    use std::os::fd::AsRawFd;

    /// A pipe with this content, and its path, which lasts as long as the pipe.
    fn pipe(content: &[u8]) -> (PipeReader, PathBuf) {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(content).unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", reader.as_raw_fd()));
        (reader, path)
    }

    #[test]
    fn what_was_looked_at_is_read_again() {
        let (_pipe, path) = pipe(b"{\"version\":\"1.0.0\"}");
        assert!(comes_once(&path) && comes_once(Path::new("-")) && !comes_once(Path::new(".")));
        assert_eq!(look(&path, 3).unwrap(), b"{\"v");
        assert_eq!(look(&path, 1).unwrap(), b"{");
        assert_eq!(look(&path, 100).unwrap(), b"{\"version\":\"1.0.0\"}");
        assert_eq!(&*open_bytes(&path, Access::Read, &Limits::default()).unwrap(), b"{\"version\":\"1.0.0\"}");
        assert!(take(&path).is_none());
    }

    #[test]
    fn a_stream_begins_with_what_was_looked_at() {
        let (_pipe, path) = pipe(b"main\n1\n1\n5\n");
        assert_eq!(look(&path, 2).unwrap(), b"ma");
        let mut input = open_stream(&path).unwrap();
        let mut bytes = Vec::new();
        input.stream.read_to_end(&mut bytes).unwrap();
        assert_eq!((input.format, &bytes[..]), (Format::Text, &b"main\n1\n1\n5\n"[..]));
    }
}
