//! An input: its path, its weight, its format, and its bytes.
//!
//! An input is created once and passed from the command line to the reader. Each reader opens the file again, so that
//! many inputs need neither memory nor open files. A pipe can be read only once, so the input stores its bytes: its
//! format can be detected first, and it can be read again if a merge must restart. If a pipe is read as a stream, a
//! temporary file stores its bytes, and memory only the first of them.

use super::bytes::{Access, InputBytes, read_file, read_rest};
use super::file::open_file;
use super::pipe::{Pipe, PipeReader, StoredBytes};
use super::system_calls::reading;
use super::version::FormatVersion;
use crate::bytes::HEAD_BYTES;
use crate::bytes::{Confidence, Head};
use crate::cancel::Cancel;
use crate::compression::{Compression, Opened, decompress, open as open_stream, uncompressed_name};
use crate::error::{Error, Result, StoredError};
use crate::identify::{Family, Format, Identity, identify, is_blank};
use crate::limits::Limits;
use crate::partial::{FOOTER_BYTES, Frame, MAGIC, document_len};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// An input and its weight. Clones share the detected format and the bytes of a pipe.
#[derive(Debug, Clone)]
pub struct Input {
    /// The path as given, or as found in a directory; `-` for standard input.
    pub path: PathBuf,
    /// The factor for every count of the input.
    pub weight: NonZeroU64,
    cancel: Option<Cancel>,
    shared: Arc<Shared>,
}

/// An input of a merge, where weights matter.
pub type WeightedInput = Input;

/// The state that clones of an input share.
#[derive(Debug, Default)]
struct Shared {
    is_stdin: bool,
    is_pipe: OnceLock<bool>,
    probe: OnceLock<InputProbe>,
    footer: OnceLock<Option<Footer>>,
    pipe: Mutex<Pipe>,
}

/// The last bytes of a partial merge.
type Footer = [u8; FOOTER_BYTES];

/// The number of bytes that contain the magic number and the version of every format.
const START_BYTES: usize = 16;

/// The properties of an input that follow from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputProbe {
    /// The format; for a compressed stream, that of its content.
    pub identity: Identity,
    /// The compression, if the input is compressed.
    pub compression: Option<Compression>,
    /// The version of the format, if the beginning contains it.
    pub version: Option<FormatVersion>,
    /// Whether it is a small file without records.
    pub is_blank: bool,
    start: [u8; START_BYTES],
    start_len: usize,
}

impl InputProbe {
    /// Returns the first bytes of the content, at most 16.
    pub fn start(&self) -> &[u8] {
        &self.start[..self.start_len]
    }
}

/// A stream of an input that can be cancelled.
struct CancellableStream<S> {
    stream: S,
    cancel: Cancel,
}

impl<S: Read> Read for CancellableStream<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.cancel.check().map_err(io::Error::other)?;
        self.stream.read(buffer)
    }
}

impl PartialEq for Input {
    fn eq(&self, other: &Self) -> bool {
        let content = |input: &Self| (input.path.clone(), input.weight, input.is_stdin());
        content(self) == content(other)
    }
}

impl Eq for Input {}

impl From<&Input> for Input {
    fn from(input: &Input) -> Self {
        input.clone()
    }
}

impl From<PathBuf> for Input {
    fn from(path: PathBuf) -> Self {
        Self::new(path)
    }
}

impl From<&PathBuf> for Input {
    fn from(path: &PathBuf) -> Self {
        Self::new(path)
    }
}

impl From<&Path> for Input {
    fn from(path: &Path) -> Self {
        Self::new(path)
    }
}

impl From<&str> for Input {
    fn from(path: &str) -> Self {
        Self::new(path)
    }
}

impl Input {
    /// Creates an input with weight 1. The path is only a path: `-` is a file with this name. For a pipe there must be
    /// only one input and its clones.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::with_weight(path, NonZeroU64::MIN)
    }

    /// Creates an input that reads standard input. There must be only one and its clones.
    pub fn stdin() -> Self {
        let shared = Shared { is_stdin: true, ..Shared::default() };
        Self { path: "-".into(), weight: NonZeroU64::MIN, cancel: None, shared: Arc::new(shared) }
    }

    /// Creates an input from an argument of a command line, where `-` is standard input.
    pub fn argument(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        if path.as_os_str() == "-" { Self::stdin() } else { Self::new(path) }
    }

    /// Creates an input whose counts are multiplied by `weight`.
    pub fn with_weight(path: impl Into<PathBuf>, weight: NonZeroU64) -> Self {
        Self { path: path.into(), weight, cancel: None, shared: Arc::default() }
    }

    /// Creates an input from bytes in memory, compressed or not; `path` is its name in messages. A name with the
    /// extension `.iprof` marks it as iprof.
    ///
    /// ```
    /// use profbridge::input::{Format, Input};
    ///
    /// let input = Input::from_bytes("app.proftext", b":ir\nmain\n1\n1\n5\n".to_vec());
    /// assert_eq!(input.format()?, Format::Text);
    /// # Ok::<(), profbridge::Error>(())
    /// ```
    pub fn from_bytes(path: impl Into<PathBuf>, bytes: Vec<u8>) -> Self {
        let input = Self::new(path);
        *input.pipe() = Pipe::Whole(Arc::new(bytes));
        // Read like a pipe.
        let _ = input.shared.is_pipe.set(true);
        input
    }

    /// Creates an input that is known to be unreadable, with the reason.
    pub(crate) fn unreadable(path: impl Into<PathBuf>, error: &StoredError) -> Self {
        let input = Self::new(path);
        *input.pipe() = Pipe::Failed(Error::from(error));
        let _ = input.shared.is_pipe.set(true);
        input
    }

    /// Returns the input with another weight.
    #[must_use]
    pub fn weighted_by(self, weight: NonZeroU64) -> Self {
        Self { weight, ..self }
    }

    /// Returns the input with a token that cancels everything that reads it, at its next record or part.
    #[must_use]
    pub fn cancelled_by(self, cancel: &Cancel) -> Self {
        Self { cancel: Some(cancel.clone()), ..self }
    }

    /// Returns the token that cancels everything that reads it.
    pub(crate) fn cancel(&self) -> Option<&Cancel> {
        self.cancel.as_ref()
    }

    /// Returns the token that cancels everything that reads it, or one that cancels nothing.
    pub(crate) fn token(&self) -> Cancel {
        self.cancel.clone().unwrap_or_default()
    }

    /// Returns a stream that fails after cancellation.
    fn until_cancelled(&self, stream: impl Read + Send + 'static) -> Box<dyn Read + Send> {
        match &self.cancel {
            Some(cancel) => Box::new(CancellableStream { stream, cancel: cancel.clone() }),
            None => Box::new(stream),
        }
    }

    /// Marks a pipe that another input has read to its end.
    pub(super) fn drained(self) -> Self {
        *self.pipe() = Pipe::Whole(Arc::default());
        self
    }

    /// Returns true if the input reads standard input.
    pub fn is_stdin(&self) -> bool {
        self.shared.is_stdin
    }

    /// Returns an input that opens the same path again. A pipe has no content then.
    pub(crate) fn reopened(&self) -> Self {
        if self.is_stdin() { Self::stdin() } else { Self::new(&self.path) }
    }

    /// Returns true if the bytes can be read only once: standard input, pipes, devices.
    pub fn is_pipe(&self) -> bool {
        let special = |metadata: &std::fs::Metadata| !metadata.is_file() && !metadata.is_dir();
        let look = || self.is_stdin() || std::fs::metadata(&self.path).is_ok_and(|found| special(&found));
        *self.shared.is_pipe.get_or_init(look)
    }

    /// Examines the beginning of the input, once.
    ///
    /// # Errors
    ///
    /// I/O errors with the path.
    pub fn look(&self) -> Result<&InputProbe> {
        if let Some(probe) = self.shared.probe.get() {
            return Ok(probe);
        }
        let mut probe = look(self.stream()?).map_err(|source| Error::io("cannot read", source).in_file(&self.path))?;
        let footer = if probe.identity.family().is_none() { self.last_bytes().ok().flatten() } else { None };
        if footer.is_some_and(|footer| Frame::is_bare(&footer)) {
            probe.identity = Identity { format: Format::Partial, confidence: Confidence::Certain };
        }
        Ok(self.shared.probe.get_or_init(|| probe))
    }

    /// Returns the format; for a compressed stream, that of its content.
    ///
    /// # Errors
    ///
    /// The errors of [`look`](Self::look).
    pub fn format(&self) -> Result<Format> {
        Ok(self.look()?.identity.format)
    }

    /// Returns the profile family of the input; `None` for a file that is not a profile.
    ///
    /// A file with the extension `.iprof` and without the magic number of another format counts as iprof, because it
    /// may be a truncated or damaged one.
    ///
    /// # Errors
    ///
    /// The errors of [`look`](Self::look).
    pub fn family(&self) -> Result<Option<Family>> {
        let identity = self.look()?.identity;
        let is_text = matches!(identity.format, Format::Text | Format::SampleText | Format::Collapsed);
        let is_damaged = identity.family().is_none() || is_text;
        if is_damaged && is_iprof_name(&self.path) {
            return Ok(Some(Family::Iprof));
        }
        Ok(identity.family().or_else(|| self.part_family()))
    }

    /// Returns all bytes, decompressed; for a partial merge of iprof files or stacks, only the document at its start.
    ///
    /// # Errors
    ///
    /// I/O errors with the path; limit exceeded if a stream is longer than [`Limits::stream_bytes`].
    pub fn bytes(&self, access: Access, limits: &Limits) -> Result<InputBytes> {
        let bytes = self.stored_bytes(access, limits)?;
        let document = document_len(&bytes, bytes.len() as u64).map(|len| &bytes[..len as usize]);
        if Compression::of(&bytes).is_some() {
            let content = decompress(document.unwrap_or(&bytes), limits);
            return Ok(content.map_err(|error| error.in_file(&self.path))?.into());
        }
        Ok(match document {
            Some(document) => document.to_vec().into(),
            None => bytes,
        })
    }

    /// Returns true if an input ends like a partial merge. Returns false for a partial merge of iprof files or stacks
    /// that is compressed, or that comes through a pipe that was not read to its end.
    pub fn is_partial(&self) -> bool {
        // The reader reports the error.
        self.ends_as_part().unwrap_or(false)
    }

    /// Like [`is_partial`](Self::is_partial), but returns the error of a file that cannot be opened.
    pub(crate) fn ends_as_part(&self) -> Result<bool> {
        Ok(self.footer()?.is_some())
    }

    /// Returns the producers of the inputs of a partial merge, in one word whose meaning depends on the family; `None`
    /// for any other input, and for a pipe that was not read to its end.
    pub(crate) fn part_origins(&self) -> Option<u64> {
        Frame::origins_of_footer(&self.footer().ok()??)
    }

    /// Returns the family in the footer of a partial merge that does not begin with a profile.
    fn part_family(&self) -> Option<Family> {
        Frame::family_of_footer(&self.footer().ok()??)
    }

    /// Returns the little-endian word at an offset of the content, which can be compressed.
    pub(crate) fn word_at(&self, place: u64) -> Option<u64> {
        let mut word = [0; 8];
        if !self.is_pipe() && self.look().ok()?.compression.is_none() {
            let mut file = open_file(&self.path).ok()?;
            file.seek(SeekFrom::Start(place)).and_then(|_| file.read_exact(&mut word)).ok()?;
            return Some(u64::from_le_bytes(word));
        }
        // Only the beginning is decompressed, with a window of any size. Reading the whole content enforces the limit.
        let limits = Limits { window_bytes: u64::MAX, ..Limits::default() };
        let mut content = open_stream(self.stream().ok()?, &limits).ok()?.stream;
        io::copy(&mut content.by_ref().take(place), &mut io::sink()).ok()?;
        content.read_exact(&mut word).ok()?;
        Some(u64::from_le_bytes(word))
    }

    /// Returns the last bytes of a partial merge. An input that is known to be a raw profile is not one.
    fn footer(&self) -> Result<Option<Footer>> {
        if let Some(known) = self.shared.footer.get() {
            return Ok(*known);
        }
        if self.shared.probe.get().is_some_and(|probe| matches!(probe.identity.format, Format::Raw { .. })) {
            return Ok(None);
        }
        let found = match self.is_pipe() {
            true => self.last_bytes()?.map_or_else(|| self.footer_of_stream(), |end| Ok(Some(end)))?,
            false => {
                let mut file = open_file(&self.path)?;
                match last_bytes(&mut file) {
                    Some((end, _)) => Some(end),
                    None if is_compressed(file) => self.footer_of_stream()?,
                    None => None,
                }
            }
        };
        // The end of a pipe may become known later.
        if found.is_some() || !self.is_pipe() {
            let _ = self.shared.footer.set(found);
        }
        Ok(found)
    }

    /// Returns the last bytes of a partial merge of LLVM profiles that is compressed or comes through a pipe.
    fn footer_of_stream(&self) -> Result<Option<Footer>> {
        let can_be_part = |format| matches!(format, Format::Indexed | Format::SampleExtBinary);
        if !self.format().is_ok_and(can_be_part) {
            return Ok(None);
        }
        let limits = Limits::default();
        let most = match std::fs::metadata(&self.path) {
            Ok(found) if found.is_file() => found.len().saturating_mul(limits.inflate_ratio),
            _ => limits.stream_bytes,
        };
        // The reader reports damage.
        let Ok(content) = open_stream(self.stream()?, &limits) else { return Ok(None) };
        Ok(end_of(content.stream.take(most.min(limits.stream_bytes))).ok().flatten())
    }

    /// Returns the last bytes of an input that ends as partial merges do.
    fn last_bytes(&self) -> Result<Option<Footer>> {
        if !self.is_pipe() {
            return Ok(last_bytes(&mut open_file(&self.path)?).map(|(end, _)| end));
        }
        Ok(match &*self.pipe() {
            Pipe::Whole(bytes) => bytes.last_chunk().filter(|footer| footer.ends_with(&MAGIC)).copied(),
            _ => None,
        })
    }

    /// Returns the length of the stored bytes of a file.
    ///
    /// # Errors
    ///
    /// I/O errors with the path.
    pub(crate) fn len(&self) -> Result<u64> {
        let metadata = std::fs::metadata(&self.path);
        metadata.map(|found| found.len()).map_err(|source| Error::io("cannot read", source).in_file(&self.path))
    }

    /// Returns all bytes as they are stored, also for a partial merge.
    ///
    /// # Errors
    ///
    /// The errors of [`bytes`](Self::bytes).
    pub fn stored_bytes(&self, access: Access, limits: &Limits) -> Result<InputBytes> {
        let check = || self.cancel.as_ref().map_or(Ok(()), Cancel::check);
        check()?;
        let bytes = if self.is_pipe() { self.piped(limits)?.into() } else { read_file(&self.path, access, limits)? };
        check()?;
        Ok(bytes)
    }

    /// Returns all bytes of a pipe.
    pub(super) fn piped(&self, limits: &Limits) -> Result<Arc<Vec<u8>>> {
        let mut pipe = self.opened()?;
        pipe.whole(|rest, bytes| read_rest(rest, bytes, limits)).map_err(|error| error.in_file(&self.path))
    }

    /// Returns a stream of the stored bytes; for a partial merge of iprof files or stacks, only of the document at its
    /// start. The bytes of a pipe are kept for the next reader.
    ///
    /// # Errors
    ///
    /// I/O errors with the path.
    pub fn stream(&self) -> Result<Box<dyn Read + Send>> {
        if !self.is_pipe() {
            let mut file = open_file(&self.path)?;
            let document = last_bytes(&mut file).and_then(|(end, len)| document_len(&end, len));
            return Ok(match document {
                Some(len) => self.until_cancelled(reading(file).take(len)),
                None => self.until_cancelled(reading(file)),
            });
        }
        let end = self.opened()?.document_end();
        Ok(self.until_cancelled(PipeReader::new(SharedPipe(self.shared.clone())).take(end)))
    }

    /// Returns a stream of the bytes, decompressed; for a partial merge of iprof files or stacks, only of the document at
    /// its start.
    ///
    /// # Errors
    ///
    /// I/O errors with the path. The stream fails beyond [`Limits::stream_bytes`], and for a compressed file beyond
    /// [`Limits::inflate_ratio`].
    pub(crate) fn content(&self, limits: &Limits) -> Result<Box<dyn Read>> {
        let mut limits = *limits;
        // How long a pipe is shows at its end.
        if self.look()?.compression.is_some() && !self.is_pipe() {
            limits.stream_bytes = limits.stream_bytes.min(self.len()?.saturating_mul(limits.inflate_ratio));
        }
        let opened = open_stream(self.stream()?, &limits);
        Ok(opened.map_err(|source| Error::io("cannot read", source).in_file(&self.path))?.stream)
    }

    /// Like [`stream`](Self::stream), for the last reader: the bytes of a pipe are not kept, unless there are clones of
    /// the input.
    ///
    /// # Errors
    ///
    /// I/O errors with the path.
    pub fn into_stream(self) -> Result<Box<dyn Read + Send>> {
        let stream = self.stream()?;
        if !self.is_pipe() {
            return Ok(stream);
        }
        drop(stream);
        let end = self.opened()?.document_end();
        match Arc::try_unwrap(self.shared) {
            Ok(shared) => {
                let pipe = shared.pipe.into_inner().unwrap_or_else(PoisonError::into_inner);
                let stream = pipe.into_stream().map_err(|source| Error::io("cannot read", source).in_file(&self.path));
                Ok(Box::new(stream?.take(end)))
            }
            Err(shared) => Ok(Box::new(PipeReader::new(SharedPipe(shared)).take(end))),
        }
    }

    fn pipe(&self) -> MutexGuard<'_, Pipe> {
        self.shared.pipe.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the opened pipe.
    fn opened(&self) -> Result<MutexGuard<'_, Pipe>> {
        let mut pipe = self.pipe();
        if let Pipe::Failed(error) = &*pipe {
            return Err(error.clone().in_file(&self.path));
        }
        if matches!(*pipe, Pipe::Closed) {
            let rest: Box<dyn Read + Send> =
                if self.is_stdin() { Box::new(io::stdin()) } else { Box::new(reading(open_file(&self.path)?)) };
            *pipe = Pipe::Open { read: StoredBytes::default(), rest };
        }
        Ok(pipe)
    }
}

/// Opens a file and decompresses it.
///
/// # Errors
///
/// I/O errors with the path; limit exceeded if a stream is longer than [`Limits::stream_bytes`].
pub fn open(path: &Path, access: Access, limits: &Limits) -> Result<InputBytes> {
    Input::new(path).bytes(access, limits)
}

/// Returns true if a path has the extension of an iprof, compressed or not.
pub(crate) fn is_iprof_name(path: &Path) -> bool {
    uncompressed_name(path).is_some_and(|name| name.ends_with(".iprof"))
}

/// Reads the footer of a partial merge at the end of a file, and the length of the file. The position is then at the
/// beginning again.
fn last_bytes(file: &mut File) -> Option<(Footer, u64)> {
    let len = file.metadata().ok().filter(|found| found.is_file())?.len();
    let from = len.checked_sub(FOOTER_BYTES as u64)?;
    let mut end = [0; FOOTER_BYTES];
    let read = file.seek(SeekFrom::Start(from)).and_then(|_| file.read_exact(&mut end));
    file.rewind().ok()?;
    (read.is_ok() && end.ends_with(&MAGIC)).then_some((end, len))
}

fn is_compressed(file: File) -> bool {
    let mut head = Vec::new();
    file.take(START_BYTES as u64).read_to_end(&mut head).is_ok() && Compression::of(&head).is_some()
}

/// Returns the last bytes of a stream if it ends as partial merges do.
fn end_of(mut stream: impl Read) -> io::Result<Option<Footer>> {
    let (mut end, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            let footer: Option<Footer> = end.last_chunk().copied();
            return Ok(footer.filter(|footer| footer.ends_with(&MAGIC)));
        }
        end.extend_from_slice(&buffer[..read]);
        end.drain(..end.len().saturating_sub(FOOTER_BYTES));
    }
}

/// The pipe of an input.
struct SharedPipe(Arc<Shared>);

impl AsRef<Mutex<Pipe>> for SharedPipe {
    fn as_ref(&self) -> &Mutex<Pipe> {
        &self.0.pipe
    }
}

/// The number of bytes that are examined first: enough for all formats with a magic number.
const FIRST_BYTES: usize = 4096;

/// Examines the beginning of a stream, and more than the first bytes only if these are ambiguous.
fn look(stream: impl Read) -> io::Result<InputProbe> {
    // Only the beginning is decompressed, with a window of any size. Reading the whole content enforces the limit.
    let limits = Limits { window_bytes: u64::MAX, ..Limits::default() };
    let Opened { compression, mut stream } = open_stream(stream, &limits)?;
    let mut read_to = |head: &mut Vec<u8>, wanted| match read_on(&mut stream, head, wanted) {
        // The content before the damage counts. Reading the whole content reports the damage.
        Err(error) if compression.is_some() && error.kind() != io::ErrorKind::OutOfMemory => Ok(false),
        read => read,
    };
    let mut head = Vec::with_capacity(FIRST_BYTES);
    let mut is_whole = read_to(&mut head, FIRST_BYTES)?;
    let mut identity = match compression {
        Some(compression) if head.is_empty() && !is_whole => {
            Identity { format: Format::Compressed(compression), confidence: Confidence::Certain }
        }
        _ => identify(&Head::cut(&head, is_whole)),
    };
    if identity.confidence != Confidence::Certain && !is_whole {
        is_whole = read_to(&mut head, HEAD_BYTES)?;
        identity = identify(&Head::cut(&head, is_whole));
    }
    Ok(InputProbe::new(identity, compression, &Head::cut(&head, is_whole)))
}

/// Reads until there are `wanted` bytes. Returns true if the stream ends earlier.
fn read_on(stream: &mut impl Read, head: &mut Vec<u8>, wanted: usize) -> io::Result<bool> {
    let missing = wanted - head.len();
    Ok(stream.take(missing as u64).read_to_end(head)? < missing)
}

impl InputProbe {
    fn new(identity: Identity, compression: Option<Compression>, head: &Head<'_>) -> Self {
        let mut start = [0; START_BYTES];
        let start_len = head.bytes().len().min(START_BYTES);
        start[..start_len].copy_from_slice(&head.bytes()[..start_len]);
        let version = FormatVersion::of(identity.format, head.bytes());
        let is_blank = is_blank(identity.format, head);
        Self { identity, compression, version, is_blank, start, start_len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        Compression::Gzip.compress(bytes).unwrap()
    }

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn a_compressed_input_is_identified_by_its_content() {
        let packed = gzip(b"{\"version\":\"1.0.0\"}");
        let file = file(&packed);
        let input = Input::new(file.path());
        let probe = input.look().unwrap();
        assert_eq!((probe.identity.format, probe.compression), (Format::Iprof, Some(Compression::Gzip)));
        assert_eq!(probe.start(), b"{\"version\":\"1.0.");
        let mut bytes = Vec::new();
        input.stream().unwrap().read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, packed);
        assert_eq!(&*input.bytes(Access::Read, &Limits::default()).unwrap(), b"{\"version\":\"1.0.0\"}");
        assert!(Input::new("/no/such/file").look().is_err());
    }

    /// The head has the same length for a file and for the content of a compressed one.
    #[test]
    fn formats_are_detected_after_the_first_bytes() {
        for comments in [0, 10, 5000, 200_000] {
            let text = format!("{}:ir\nmain\n1\n1\n5\n", "# a comment\n".repeat(comments / 12));
            for content in [text.as_bytes().to_vec(), gzip(text.as_bytes())] {
                assert_eq!(Input::new(file(&content).path()).format().unwrap(), Format::Text, "{comments}");
            }
        }
    }

    #[test]
    fn a_name_rescues_a_damaged_iprof_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let family = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            Input::new(path).family().unwrap()
        };
        assert_eq!(family("a.iprof", b"hello"), Some(Family::Iprof));
        assert_eq!(family("a.json", b"hello"), None);
        assert_eq!(family("a.iprof", b"\xfflprofi\x81"), Some(Family::Instr));
        for name in ["a.iprof.gz", "a.iprof.zst", "a.iprof.xz"] {
            assert_eq!(family(name, b""), Some(Family::Iprof), "{name}");
        }
    }

    #[cfg(target_os = "linux")]
    mod pipes {
        use super::*;
        use std::io::PipeReader as SystemPipe;
        use std::os::fd::AsRawFd;

        /// Creates a pipe with this content. Its path is valid as long as the pipe exists.
        fn pipe(content: &[u8]) -> (SystemPipe, PathBuf) {
            let (reader, mut writer) = io::pipe().unwrap();
            writer.write_all(content).unwrap();
            let path = PathBuf::from(format!("/proc/self/fd/{}", reader.as_raw_fd()));
            (reader, path)
        }

        fn all(mut stream: Box<dyn Read + Send>) -> Vec<u8> {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            bytes
        }

        #[test]
        fn probed_inputs_can_be_read_repeatedly() {
            let content = b"{\"version\":\"1.0.0\"}";
            let (_pipe, path) = pipe(content);
            let input = Input::new(&path);
            assert!(
                input.is_pipe() && Input::stdin().is_pipe() && !Input::new("-").is_pipe() && !Input::new(".").is_pipe()
            );
            assert_eq!(input.format().unwrap(), Format::Iprof);
            let clone = input.clone();
            assert_eq!(all(input.stream().unwrap()), content);
            assert_eq!(all(clone.stream().unwrap()), content);
            assert_eq!(&*clone.bytes(Access::Read, &Limits::default()).unwrap(), content);
            assert_eq!(all(input.into_stream().unwrap()), content);
            assert_eq!(all(clone.into_stream().unwrap()), content);
        }

        #[test]
        fn streams_may_be_left_in_the_middle() {
            let (_pipe, path) = pipe(b"main\n1\n1\n5\n");
            let input = Input::new(&path);
            let mut two = [0; 2];
            input.stream().unwrap().read_exact(&mut two).unwrap();
            assert_eq!(&two, b"ma");
            assert_eq!(all(input.into_stream().unwrap()), b"main\n1\n1\n5\n");
        }

        #[test]
        fn a_pipe_longer_than_allowed_is_refused() {
            let (_pipe, path) = pipe(b"12345");
            let tight = Limits { stream_bytes: 4, ..Limits::default() };
            let input = Input::new(&path);
            input.look().unwrap();
            let error = input.bytes(Access::Read, &tight).unwrap_err();
            assert!(matches!(error.kind(), crate::ErrorKind::LimitExceeded { found: 5, .. }), "{error}");
        }

        #[test]
        fn a_pipe_that_was_drained_is_empty() {
            assert_eq!(Input::stdin().drained().format().unwrap(), Format::Empty);
        }
    }
}
