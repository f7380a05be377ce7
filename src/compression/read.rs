//! Reading compressed streams with limits.

use super::{Compression, MAGIC_BYTES};
use crate::error::{Error, ErrorKind, Result, io_message};
use crate::limits::Limits;
use crate::memory::{HOLD_INFLATED, refused_or};
use flate2::bufread::GzDecoder;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

/// The maximum number of nested compressions that are removed: a pprof profile, which is always in gzip, can be in a
/// zstd stream.
const MOST_LAYERS: usize = 2;

/// The number of bytes of a compressed stream that are read at a time.
const BUFFER_BYTES: usize = 1 << 15;

/// Decompresses a stream of one or more members or frames. Bytes that are not compressed are copied.
///
/// # Errors
///
/// Uncompress failed for a damaged stream, and for a compression that this build cannot read; limit exceeded above
/// [`Limits::stream_bytes`] or [`Limits::inflate_ratio`].
pub fn decompress(stream: &[u8], limits: &Limits) -> Result<Vec<u8>> {
    let (most, name) = limits.of_stream(stream.len() as u64);
    let mut bytes = Vec::new();
    let read =
        open(stream, limits).and_then(|opened| opened.stream.take(most.saturating_add(1)).read_to_end(&mut bytes));
    read.map_err(|error| refused_or(error, HOLD_INFLATED, Failure::into_error))?;
    if bytes.len() as u64 > most {
        return Err(Error::above_limit(Some(name), "size of the inflated input", bytes.len() as u64, most));
    }
    Ok(bytes)
}

/// A stream with its compression removed.
pub(crate) struct Opened<'a> {
    /// The compression of the stream; of two the outer one.
    pub(crate) compression: Option<Compression>,
    /// The content.
    pub(crate) stream: Box<dyn Read + 'a>,
}

/// Opens a stream, which can be compressed.
///
/// # Errors
///
/// I/O errors of the stream. Damage is an error of the content: everything before it can be read.
pub(crate) fn open<'a>(stream: impl Read + 'a, limits: &Limits) -> io::Result<Opened<'a>> {
    let mut opened = Opened { compression: None, stream: Box::new(stream) };
    for _ in 0..MOST_LAYERS {
        let mut start = Vec::with_capacity(MAGIC_BYTES);
        if let Err(error) = opened.stream.by_ref().take(MAGIC_BYTES as u64).read_to_end(&mut start)
            && Failure::of(&error).is_none()
        {
            return Err(error);
        }
        let found = Compression::of(&start);
        let whole = io::Cursor::new(start).chain(opened.stream);
        let Some(compression) = found else {
            opened.stream = Box::new(whole);
            break;
        };
        opened.compression.get_or_insert(compression);
        opened.stream = Box::new(Decoder::new(compression, BufReader::with_capacity(BUFFER_BYTES, whole), limits));
    }
    Ok(opened)
}

/// The content of a compressed stream, up to its end or the first damage.
struct Decoder<'a> {
    compression: Compression,
    tool: Box<dyn Read + 'a>,
    source: Rc<Source>,
    window_bytes: u64,
    /// The reason why the content ends here.
    failure: Option<Failure>,
}

impl<'a> Decoder<'a> {
    fn new(compression: Compression, stream: impl BufRead + 'a, limits: &Limits) -> Self {
        let source = Rc::new(Source::default());
        let counted = Counted { stream, source: Rc::clone(&source) };
        let (tool, failure) = match tool(compression, counted, limits) {
            Ok(Some(tool)) => (tool, None),
            Ok(None) => (empty(), Some(Cause::Unsupported)),
            Err(error) => (empty(), Some(Cause::of(&error, 0, limits.window_bytes))),
        };
        let failure = failure.map(|cause| Failure { compression, cause });
        Self { compression, tool, source, window_bytes: limits.window_bytes, failure }
    }
}

fn empty<'a>() -> Box<dyn Read + 'a> {
    Box::new(io::empty())
}

/// Returns the decoder of a compression, if this build has one.
fn tool<'a>(
    compression: Compression,
    stream: impl BufRead + 'a,
    #[cfg_attr(not(any(feature = "zstd", feature = "xz")), expect(unused_variables))] limits: &Limits,
) -> io::Result<Option<Box<dyn Read + 'a>>> {
    Ok(Some(match compression {
        Compression::Gzip => Box::new(GzipMembers { member: Some(GzDecoder::new(stream)) }),
        #[cfg(feature = "zstd")]
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(stream)?;
            decoder.window_log_max(zstd_window_log(limits))?;
            Box::new(decoder)
        }
        #[cfg(feature = "xz")]
        Compression::Xz => {
            let kibibytes = (limits.window_bytes >> 10).saturating_add(XZ_STATE_KIB);
            let kibibytes = u32::try_from(kibibytes).unwrap_or(u32::MAX);
            Box::new(lzma_rust2::XzReader::new_mem_limit(stream, true, kibibytes))
        }
        _ => return Ok(None),
    }))
}

/// The members of a gzip stream. Unlike flate2's decoder of several members, it knows where one ends.
struct GzipMembers<R> {
    /// The current member; `None` after an error.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(member) = &mut self.member else { return Ok(0) };
            let read = member.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            let Some(mut stream) = self.member.take().map(GzDecoder::into_inner) else { return Ok(0) };
            match stream.fill_buf()? {
                [] => return Ok(0),
                [0x1f, ..] => self.member = Some(GzDecoder::new(stream)),
                _ => return Err(io::Error::new(io::ErrorKind::InvalidData, TRAILING_DATA)),
            }
        }
    }
}

/// Logarithms of the window sizes that zstd can be limited to.
#[cfg(feature = "zstd")]
const ZSTD_WINDOW_LOG: (u32, u32) = (10, if usize::BITS >= 64 { 31 } else { 30 });

/// Returns the logarithm of the largest window that the limits allow.
#[cfg(feature = "zstd")]
pub(super) fn zstd_window_log(limits: &Limits) -> u32 {
    limits.window_bytes.max(1).ilog2().clamp(ZSTD_WINDOW_LOG.0, ZSTD_WINDOW_LOG.1)
}

/// The size in KiB that the decoder of xz counts in addition to the window.
#[cfg(feature = "xz")]
const XZ_STATE_KIB: u64 = 104;

impl Read for Decoder<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if let Some(failure) = &self.failure {
            return Err(failure.clone().into());
        }
        self.tool.read(buffer).map_err(|error| {
            if error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            // A decoder can report an error of the stream as truncation.
            if let Some(error) = self.source.error.take() {
                return error;
            }
            let mut cause = Cause::of(&error, self.source.consumed.get(), self.window_bytes);
            if let Cause::Damaged { detail, .. } = &mut cause
                && self.source.has_ended.get()
            {
                *detail = "the data ends early".to_string();
            }
            let failure = Failure { compression: self.compression, cause };
            self.failure.insert(failure).clone().into()
        })
    }
}

/// The state of a compressed stream while it is read.
#[derive(Debug, Default)]
struct Source {
    /// The number of bytes that the decoder consumed.
    consumed: Cell<u64>,
    /// Whether the decoder wanted more bytes than there are.
    has_ended: Cell<bool>,
    /// The error of the stream itself.
    error: RefCell<Option<io::Error>>,
}

impl Source {
    /// Stores the first error of the stream, and returns an error of the same kind for the decoder.
    fn note(&self, error: io::Error) -> io::Error {
        let kind = error.kind();
        if kind != io::ErrorKind::Interrupted {
            self.error.borrow_mut().get_or_insert(error);
        }
        kind.into()
    }

    fn count(&self, bytes: usize) {
        self.consumed.set(self.consumed.get().saturating_add(bytes as u64));
    }
}

/// A compressed stream that counts its bytes.
struct Counted<R> {
    stream: R,
    source: Rc<Source>,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer).map_err(|error| self.source.note(error))?;
        self.source.count(read);
        self.source.has_ended.set(read == 0 && !buffer.is_empty());
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let source = &self.source;
        let available = self.stream.fill_buf().map_err(|error| source.note(error))?;
        source.has_ended.set(available.is_empty());
        Ok(available)
    }

    fn consume(&mut self, bytes: usize) {
        self.source.count(bytes);
        self.stream.consume(bytes);
    }
}

/// The reason why the content of a compressed stream ends early.
#[derive(Debug, Clone)]
struct Failure {
    compression: Compression,
    cause: Cause,
}

#[derive(Debug, Clone)]
enum Cause {
    /// The stream is truncated or damaged.
    Damaged { detail: String, consumed: u64 },
    /// The decoder needs a window above the limit.
    WindowTooLarge { limit: u64 },
    /// Memory for the decoder was refused.
    OutOfMemory,
    /// This build has no decoder.
    Unsupported,
}

impl Cause {
    /// Returns the cause of a decoder's error. Only the text of the error shows that the window is too large.
    fn of(error: &io::Error, consumed: u64, limit: u64) -> Self {
        let mut detail = io_message(error);
        if [ZSTD_TRAILING_DATA, XZ_TRAILING_DATA].contains(&&*detail) {
            detail = TRAILING_DATA.to_string();
        }
        if detail == ZSTD_WINDOW_TOO_LARGE || detail == XZ_WINDOW_TOO_LARGE {
            Self::WindowTooLarge { limit }
        } else if error.kind() == io::ErrorKind::OutOfMemory || detail == ZSTD_OUT_OF_MEMORY {
            Self::OutOfMemory
        } else {
            Self::Damaged { detail, consumed }
        }
    }
}

const TRAILING_DATA: &str = "other data follows the compressed data";
/// The stream begins with a frame, so this one is a later one.
const ZSTD_TRAILING_DATA: &str = "Unknown frame descriptor";
const XZ_TRAILING_DATA: &str = "invalid data after stream";
const ZSTD_WINDOW_TOO_LARGE: &str = "Frame requires too much memory for decoding";
const ZSTD_OUT_OF_MEMORY: &str = "Allocation error : not enough memory";
const XZ_WINDOW_TOO_LARGE: &str = "needed memory too big for mem_limit_kb";

impl Failure {
    /// Returns the failure inside an I/O error.
    fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// Converts a failure to the error of the content, and other I/O errors to read errors.
    fn into_error(error: io::Error) -> Error {
        let Some(failure) = Self::of(&error) else { return Error::io("cannot read", error) };
        let error = match failure.cause {
            Cause::Unsupported => Error::new(ErrorKind::Unsupported { what: failure.compression.name().to_string() }),
            _ => Error::new(ErrorKind::UncompressFailed { detail: failure.to_string() }),
        };
        match failure.cause {
            Cause::WindowTooLarge { .. } => error.above_named_limit("window-bytes"),
            Cause::Unsupported => error.with_hint("decompress the file first"),
            _ => error.with_hint("the file is truncated or damaged; copy it again"),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.compression.name();
        match &self.cause {
            Cause::Damaged { detail, consumed } => write!(f, "{name}: {detail}, after byte {consumed:#x}"),
            Cause::WindowTooLarge { limit } => {
                write!(f, "{name}: the window is larger than the limit of {limit} bytes")
            }
            Cause::OutOfMemory => write!(f, "{name}: out of memory"),
            Cause::Unsupported => write!(f, "{name} is not supported"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        match failure.cause {
            Cause::OutOfMemory => io::ErrorKind::OutOfMemory.into(),
            Cause::Unsupported => Self::new(io::ErrorKind::Unsupported, failure),
            _ => Self::new(io::ErrorKind::InvalidData, failure),
        }
    }
}
