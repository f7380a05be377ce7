//! Copying a file that needs no change.

use super::findings::Findings;
use super::reader::{Nobody, ReadOptions, read_with};
use super::window::Window;
use std::io::{self, Read, Write};

/// Copies a file, byte for byte, if [`write()`](super::write()) would write what it holds in just
/// this way: it is sound, has entries, and stands on one line without spaces. Nothing is kept of it
/// but the tables.
///
/// `None` for any other file. Part of it may have been copied then, which is of no use.
///
/// # Errors
///
/// Those of `out`.
pub fn copy_from(stream: impl Read, options: &ReadOptions, out: &mut dyn Write) -> io::Result<Option<Findings>> {
    let options = ReadOptions { only_as_written: true, keep_unknown: true, ..options.clone() };
    let mut copied = Copied { stream, out, failure: None };
    let reading = read_with(Window::from_reader(&mut copied, &options.limits), &options, &mut Nobody);
    if let Some(failure) = copied.failure {
        return Err(failure);
    }
    let is_sound = !reading.unreadable && !reading.findings.has_errors();
    Ok((is_sound && reading.is_as_written() && reading.sound_entries() > 0).then_some(reading.findings))
}

/// A stream that is copied as it is read.
struct Copied<'o, R> {
    stream: R,
    out: &'o mut dyn Write,
    failure: Option<io::Error>,
}

impl<R: Read> Read for Copied<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        if let Err(failure) = self.out.write_all(&buffer[..read]) {
            let kind = failure.kind();
            self.failure = Some(failure);
            return Err(kind.into());
        }
        Ok(read)
    }
}
