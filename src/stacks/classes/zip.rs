//! The entries of a zip archive: jars, and `.jmod` files, which are zip
//! archives behind four bytes.

use crate::bytes::names::try_with_capacity;
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use flate2::{Decompress, FlushDecompress, Status};
use std::borrow::Cow;

const END: [u8; 4] = *b"PK\x05\x06";
const CENTRAL: u32 = 0x0201_4b50;
const LOCAL: u32 = 0x0403_4b50;
/// Bytes of the end record without its comment.
const END_BYTES: usize = 22;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// Whether these bytes are a zip archive or a `.jmod` file.
pub(super) fn is_archive(data: &[u8]) -> bool {
    data.starts_with(b"PK\x03\x04") || data.starts_with(&END) || data.starts_with(b"JM\x01\0PK")
}

/// One file of an archive.
#[derive(Debug)]
pub(super) struct Entry<'data> {
    pub(super) name: &'data [u8],
    method: u16,
    flags: u16,
    stored_len: u64,
    len: u64,
    /// Absolute offset of the local header.
    local: u64,
}

/// The files that the central directory lists.
///
/// # Errors
///
/// Malformed when there is no end record; unsupported for archives of more than
/// 65,534 files or 4 GiB; truncated.
pub(super) fn read_entries(data: &[u8]) -> Result<Vec<Entry<'_>>> {
    let end_at = data
        .windows(END_BYTES)
        .rposition(|window| window.starts_with(&END))
        .ok_or_else(|| Error::malformed("the archive has no end record").in_section("zip"))?;
    let mut end = Cursor::new(&data[end_at..], end_at as u64, Endian::Little, "zip end record");
    end.take("signature and disks", 8)?;
    end.u16("files on this disk")?;
    let count = end.u16("files")?;
    let directory_len = u64::from(end.u32("directory size")?);
    let directory_at = u64::from(end.u32("directory offset")?);
    if count == u16::MAX || directory_at == u64::from(u32::MAX) {
        let error = Error::new(ErrorKind::Unsupported { what: "an archive in zip64 form".to_string() });
        return Err(error.at("zip end record", end_at as u64).with_hint("unpack it and name the folder"));
    }
    // What stands before the archive moves all offsets, as in `.jmod` files.
    let moved = (end_at as u64).checked_sub(directory_len).and_then(|at| at.checked_sub(directory_at));
    let start = moved.and_then(|moved| usize::try_from(moved + directory_at).ok()).filter(|start| *start <= end_at);
    let (Some(moved), Some(start)) = (moved, start) else {
        return Err(Error::malformed("the directory lies outside of the archive").at("zip end record", end_at as u64));
    };
    let mut directory = Cursor::new(&data[start..end_at], start as u64, Endian::Little, "zip directory");
    let mut entries = Vec::new();
    for _ in 0..count {
        entries.push(read_entry(&mut directory, moved)?);
    }
    Ok(entries)
}

fn read_entry<'data>(directory: &mut Cursor<'data>, moved: u64) -> Result<Entry<'data>> {
    let signature = directory.u32("signature")?;
    if signature != CENTRAL {
        return Err(directory.place(Error::malformed(format!("found signature {signature:#x}, expected {CENTRAL:#x}"))));
    }
    directory.u32("versions")?;
    let flags = directory.u16("flags")?;
    let method = directory.u16("compression method")?;
    directory.take("time and checksum", 8)?;
    let stored_len = directory.u32("compressed size")?.into();
    let len = directory.u32("size")?.into();
    let name_len = directory.u16("name length")?;
    let extra_len = directory.u16("extra length")?;
    let comment_len = directory.u16("comment length")?;
    directory.take("disk and attributes", 8)?;
    let local = u64::from(directory.u32("offset of local header")?) + moved;
    let name = directory.take("name", name_len.into())?;
    directory.take("extra and comment", u64::from(extra_len) + u64::from(comment_len))?;
    Ok(Entry { name, method, flags, stored_len, len, local })
}

impl Entry<'_> {
    /// The file's bytes.
    ///
    /// # Errors
    ///
    /// Truncated, malformed, unsupported compression, or larger than
    /// [`Limits::inflated_bytes`] or [`Limits::inflate_ratio`] allow.
    pub(super) fn read<'data>(&self, data: &'data [u8], limits: &Limits) -> Result<Cow<'data, [u8]>> {
        let start = usize::try_from(self.local).ok().and_then(|at| data.get(at..)).unwrap_or_default();
        let mut local = Cursor::new(start, self.local, Endian::Little, "zip entry");
        let signature = local.u32("signature")?;
        if signature != LOCAL || self.flags & 1 != 0 {
            let detail = format!("entry {} is encrypted or has no local header", self.name.escape_ascii());
            return Err(local.place(Error::malformed(detail)));
        }
        local.take("local header", 22)?;
        let (name_len, extra_len) = (local.u16("name length")?, local.u16("extra length")?);
        local.take("name and extra", u64::from(name_len) + u64::from(extra_len))?;
        let stored = local.take("content", self.stored_len)?;
        match self.method {
            STORED => Ok(Cow::Borrowed(stored)),
            DEFLATED => self.inflate(stored, limits).map(Cow::Owned).map_err(|error| local.place(error)),
            other => {
                let what = format!("compression method {other} of entry {}", self.name.escape_ascii());
                Err(local.place(Error::new(ErrorKind::Unsupported { what })))
            }
        }
    }

    fn inflate(&self, stored: &[u8], limits: &Limits) -> Result<Vec<u8>> {
        let most = self.stored_len.saturating_mul(limits.inflate_ratio).min(limits.inflated_bytes);
        if self.len > most {
            let kind = ErrorKind::LimitExceeded { what: "size of an inflated entry", found: self.len, limit: most };
            return Err(Error::new(kind));
        }
        let mut bytes = try_with_capacity(usize::try_from(self.len).unwrap_or(0))?;
        let status = Decompress::new(false).decompress_vec(stored, &mut bytes, FlushDecompress::Finish);
        let failed = |detail: String| Err(Error::new(ErrorKind::UncompressFailed { detail }));
        match status {
            Ok(Status::StreamEnd) if bytes.len() as u64 == self.len => Ok(bytes),
            Ok(_) => failed(format!("inflates to another size than the promised {} bytes", self.len)),
            Err(error) => failed(error.to_string()),
        }
    }
}
