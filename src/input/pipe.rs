//! Input from a pipe. It can be read only once, so its bytes are kept for the next reader: the first bytes in memory,
//! the rest in a file without a name.

use crate::error::{Error, Result};
use crate::input::temporary::scratch_file;
use crate::partial::document_len;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// The number of bytes of a pipe that are kept in memory when it is read as a stream.
const KEPT_IN_MEMORY: usize = 16 << 20;

/// The state of a pipe.
#[derive(Default)]
pub(super) enum Pipe {
    /// Not opened yet.
    #[default]
    Closed,
    /// The bytes read so far, and the rest of the pipe.
    Open { read: StoredBytes, rest: Box<dyn Read + Send> },
    /// All bytes.
    Whole(Arc<Vec<u8>>),
    /// A read error before the end.
    Failed(Error),
}

impl std::fmt::Debug for Pipe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Closed => f.write_str("Closed"),
            Self::Open { read, .. } => write!(f, "Open({} bytes read)", read.len()),
            Self::Whole(bytes) => write!(f, "Whole({} bytes)", bytes.len()),
            Self::Failed(error) => write!(f, "Failed({error})"),
        }
    }
}

/// The first bytes of a pipe.
#[derive(Debug)]
pub(super) struct StoredBytes {
    memory: Vec<u8>,
    most_in_memory: usize,
    /// The bytes after those in memory, in a file that is deleted with its last user.
    file: Option<File>,
    in_file: u64,
}

impl Default for StoredBytes {
    fn default() -> Self {
        Self { memory: Vec::new(), most_in_memory: KEPT_IN_MEMORY, file: None, in_file: 0 }
    }
}

impl StoredBytes {
    fn len(&self) -> u64 {
        self.memory.len() as u64 + self.in_file
    }

    /// Appends bytes.
    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.is_none() && self.memory.len() + bytes.len() > self.most_in_memory {
            // Falls back to memory if no file can be created, for example without a writable directory.
            self.file = scratch_file().ok();
        }
        let Some(file) = &mut self.file else {
            self.memory.extend_from_slice(bytes);
            return Ok(());
        };
        let failed = |error: io::Error| {
            io::Error::new(error.kind(), format!("cannot create a temporary file for the data of the pipe: {error}"))
        };
        file.seek(SeekFrom::Start(self.in_file)).and_then(|_| file.write_all(bytes)).map_err(failed)?;
        self.in_file += bytes.len() as u64;
        Ok(())
    }

    /// Reads from `position`, which is at most the end.
    fn read_at(&mut self, position: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let in_memory = self.memory.len() as u64;
        let Some(in_file) = position.checked_sub(in_memory) else {
            let from = usize::try_from(position).unwrap_or(usize::MAX);
            return self.memory.get(from..).unwrap_or_default().read(buffer);
        };
        let Some(file) = &mut self.file else { return Ok(0) };
        file.seek(SeekFrom::Start(in_file))?;
        file.take(self.in_file.saturating_sub(in_file)).read(buffer)
    }

    /// Returns all bytes as a stream.
    fn into_stream(self) -> io::Result<Box<dyn Read + Send>> {
        let memory = io::Cursor::new(self.memory);
        let Some(mut file) = self.file else { return Ok(Box::new(memory)) };
        file.seek(SeekFrom::Start(0))?;
        Ok(Box::new(memory.chain(file.take(self.in_file))))
    }

    /// Reads all bytes into memory.
    fn take_bytes(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        std::mem::take(self).into_stream()?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl Pipe {
    /// Returns the end of the document that readers see, for input that is completely in memory.
    pub(super) fn document_end(&self) -> u64 {
        match self {
            Self::Whole(bytes) => document_len(bytes, bytes.len() as u64).unwrap_or(u64::MAX),
            _ => u64::MAX,
        }
    }

    /// Returns the remaining bytes, which no one reads again.
    pub(super) fn into_stream(self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Closed | Self::Failed(_) => Box::new(io::empty()),
            Self::Open { read, rest } => Box::new(read.into_stream()?.chain(rest)),
            Self::Whole(bytes) => Box::new(io::Cursor::new(Arc::unwrap_or_clone(bytes))),
        })
    }

    /// Returns all bytes; `read_rest` appends the rest to the bytes read so far.
    pub(super) fn whole(
        &mut self,
        read_rest: impl FnOnce(&mut (dyn Read + Send), &mut Vec<u8>) -> Result<()>,
    ) -> Result<Arc<Vec<u8>>> {
        if let Self::Open { read, rest } = self {
            let mut bytes = read.take_bytes().map_err(|source| Error::io("cannot read", source))?;
            read_rest(rest, &mut bytes)?;
            *self = Self::Whole(Arc::new(bytes));
        }
        match self {
            Self::Whole(bytes) => Ok(bytes.clone()),
            _ => Ok(Arc::default()),
        }
    }

    /// Reads from `position`, and stores bytes that were not read before.
    fn read_at(&mut self, position: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Closed | Self::Failed(_) => Ok(0),
            Self::Whole(bytes) => {
                let from = usize::try_from(position).unwrap_or(usize::MAX);
                bytes.get(from..).unwrap_or_default().read(buffer)
            }
            Self::Open { read, .. } if position < read.len() => read.read_at(position, buffer),
            Self::Open { read, rest } => {
                let len = rest.read(buffer)?;
                read.push(&buffer[..len])?;
                Ok(len)
            }
        }
    }
}

/// A reader that starts at the first byte of a pipe.
pub(super) struct PipeReader<P> {
    pipe: P,
    position: u64,
}

impl<P> PipeReader<P> {
    pub(super) fn new(pipe: P) -> Self {
        Self { pipe, position: 0 }
    }
}

impl<P: AsRef<Mutex<Pipe>>> Read for PipeReader<P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut pipe = self.pipe.as_ref().lock().unwrap_or_else(PoisonError::into_inner);
        let len = pipe.read_at(self.position, buffer)?;
        drop(pipe);
        self.position += len as u64;
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(content: &[u8], most_in_memory: usize) -> Pipe {
        let read = StoredBytes { most_in_memory, ..StoredBytes::default() };
        Pipe::Open { read, rest: Box::new(io::Cursor::new(content.to_vec())) }
    }

    /// Reads everything from the first byte, a few bytes at a time.
    fn all(pipe: &mut Pipe) -> Vec<u8> {
        let (mut bytes, mut few) = (Vec::new(), [0; 7]);
        loop {
            let len = pipe.read_at(bytes.len() as u64, &mut few).unwrap();
            if len == 0 {
                return bytes;
            }
            bytes.extend_from_slice(&few[..len]);
        }
    }

    #[test]
    fn large_pipes_are_stored_in_a_file() {
        let content: Vec<u8> = (0..1000u32).map(|at| (at * 31 % 251) as u8).collect();
        for most in [0, 1, 50, 999, 1000, 5000] {
            let mut pipe = open(&content, most);
            assert!(all(&mut pipe) == content && all(&mut pipe) == content, "{most}");
            let Pipe::Open { read, .. } = &pipe else { panic!("{pipe:?}") };
            assert!(read.memory.len() <= most.max(1) && read.file.is_some() == (most < 1000), "{most}: {read:?}");
            let mut stream = Vec::new();
            pipe.into_stream().unwrap().read_to_end(&mut stream).unwrap();
            assert!(stream == content, "{most}");
        }
    }

    #[test]
    fn a_partly_read_pipe_can_be_read_again() {
        let content: Vec<u8> = (0..200).collect();
        for most in [10, 500] {
            let mut pipe = open(&content, most);
            let mut part = [0; 60];
            assert_eq!(pipe.read_at(0, &mut part).unwrap(), 60);
            let rest = |rest: &mut (dyn Read + Send), bytes: &mut Vec<u8>| {
                rest.read_to_end(bytes).map(|_| ()).map_err(|source| Error::io("cannot read", source))
            };
            assert!(**pipe.whole(rest).unwrap() == content, "{most}");
            assert!(all(&mut pipe) == content, "{most}");
        }
    }
}
