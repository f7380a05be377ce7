//! Object files: sections, segments and identities.

use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::memory::{self, HOLD_INPUT};
use object::{Object, ObjectSection, ObjectSegment, SegmentFlags};
use std::borrow::Cow;

/// Reads the headers of an object file.
///
/// # Errors
///
/// Not an object.
pub(crate) fn parse(bytes: &[u8]) -> Result<object::File<'_>> {
    object::File::parse(bytes).map_err(|error| Error::new(ErrorKind::NotAnObject { detail: error.to_string() }))
}

/// A profile and an image do not go together.
pub(crate) fn unable(detail: impl Into<String>) -> Error {
    Error::new(ErrorKind::UnableToCorrelate { detail: detail.into() })
}

/// The bytes of a section, inflated if they are compressed.
pub(crate) fn contents(section: &object::Section<'_, '_>, limits: &Limits) -> Result<Vec<u8>> {
    let damaged = |error: object::Error| {
        let name = section.name().unwrap_or("?").to_string();
        unable(format!("section {name}: {error}"))
    };
    let compressed = section.compressed_data().map_err(damaged)?;
    let most = (compressed.data.len() as u64).saturating_mul(limits.inflate_ratio).min(limits.inflated_bytes);
    if compressed.format != object::CompressionFormat::None && compressed.uncompressed_size > most {
        let found = compressed.uncompressed_size;
        return Err(ErrorKind::LimitExceeded { what: "size of an inflated section", found, limit: most }.into());
    }
    match compressed.decompress().map_err(damaged)? {
        Cow::Borrowed(bytes) => memory::copied(bytes, HOLD_INPUT),
        Cow::Owned(bytes) => Ok(bytes),
    }
}

/// The identity that a linker gave an image: the build id of ELF, the UUID of
/// Mach-O.
pub(crate) fn build_id(file: &object::File<'_>) -> Option<Vec<u8>> {
    if let Ok(Some(id)) = file.build_id() {
        return Some(id.to_vec());
    }
    file.mach_uuid().ok().flatten().map(|uuid| uuid.to_vec())
}

/// A part of an image that is loaded to be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExecutableSegment {
    /// Link-time address.
    pub(crate) address: u64,
    /// Bytes in memory.
    pub(crate) size: u64,
}

/// The executable segments of an ELF file, in its order.
pub(crate) fn executable_segments(file: &object::File<'_>) -> Vec<ExecutableSegment> {
    let is_executable =
        |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.0 & object::elf::PF_X.0 != 0);
    let segments = file.segments().filter(|segment| is_executable(segment.flags()));
    segments.map(|segment| ExecutableSegment { address: segment.address(), size: segment.size() }).collect()
}
