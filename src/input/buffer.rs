//! A reusable buffer for reading many files.

use super::bytes::read_into;
use super::pages;
use super::source::Input;
use crate::error::Result;
use crate::limits::Limits;
use crate::memory::{Pages, SharedBytes};
use std::sync::Arc;

/// Stores the bytes of one file at a time and reuses its memory.
#[derive(Debug, Default)]
pub struct ReadBuffer {
    small: Vec<u8>,
    large: Option<Pages>,
    piped: Arc<Vec<u8>>,
}

impl ReadBuffer {
    /// Reads an input as it is stored and replaces the previous content; a large file with up to `threads` threads.
    /// Bytes from a pipe are not copied.
    ///
    /// # Errors
    ///
    /// The errors of [`read_into`].
    pub fn read(&mut self, input: &Input, limits: &Limits, threads: usize) -> Result<&[u8]> {
        if input.is_pipe() {
            self.piped = input.piped(limits)?;
            return Ok(&self.piped);
        }
        let path = &input.path;
        self.large = pages::read(path, limits, threads, self.large.take())?;
        if let Some(pages) = &self.large {
            return Ok(pages);
        }
        read_into(path, &mut self.small, limits)?;
        Ok(&self.small)
    }
}

/// Reads an input as [`ReadBuffer::read`], but the caller can keep its bytes.
///
/// # Errors
///
/// The errors of [`read_into`].
pub(crate) fn read_shared(input: &Input, limits: &Limits, threads: usize) -> Result<SharedBytes> {
    if input.is_pipe() {
        return input.piped(limits).map(SharedBytes::Heap);
    }
    if let Some(pages) = pages::read(&input.path, limits, threads, None)? {
        return Ok(SharedBytes::Pages(Arc::new(pages)));
    }
    let mut bytes = Vec::new();
    read_into(&input.path, &mut bytes, limits)?;
    Ok(SharedBytes::Heap(Arc::new(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn large_and_small_files_follow_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let mut buffer = ReadBuffer::default();
        for len in [3, 9_000_005, 0, 5_000_000, 8_999_999, 20_000_000, 7] {
            let content: Vec<u8> = (0..len).map(|at: usize| (at * 31 + len) as u8).collect();
            let path = folder.path().join("file");
            std::fs::write(&path, &content).unwrap();
            assert!(buffer.read(&Input::new(&path), &Limits::default(), 2).unwrap() == content, "{len} bytes");
        }
    }

    #[test]
    fn a_large_file_is_refused_as_a_small_one_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![1; 9_000_000]).unwrap();
        let tight = Limits { stream_bytes: 8_999_999, ..Limits::default() };
        let error = ReadBuffer::default().read(&Input::new(&path), &tight, 2).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::LimitExceeded { .. }), "{error}");
        assert!(ReadBuffer::default().read(&Input::new(folder.path()), &tight, 2).is_err());
    }
}
