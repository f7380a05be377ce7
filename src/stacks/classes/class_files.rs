//! The methods of a class file (JVM specification, chapter 4).

use crate::bytes::names::try_with_capacity;
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use flate2::{Decompress, FlushDecompress, Status};
use std::borrow::Cow;

const MAGIC: u32 = 0xcafe_babe;

/// The declarations of a class file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClassFile {
    /// Internal name.
    pub(super) name: String,
    /// Name and descriptor of each method, in file order.
    pub(super) methods: Vec<(String, String)>,
    /// The bytecode of each method, in the same order; native and abstract ones
    /// have none.
    pub(super) code: Vec<Option<Vec<u8>>>,
}

/// An entry of the constant pool.
#[derive(Debug, Clone, Copy)]
enum Constant<'data> {
    Utf8(&'data [u8]),
    Class(u16),
    Other,
}

/// Whether these bytes begin a class file.
pub(super) fn is_class_files(data: &[u8]) -> bool {
    data.starts_with(&MAGIC.to_be_bytes())
}

/// Reads name and methods with their code, and skips other attributes.
///
/// # Errors
///
/// Bad magic, truncated or malformed, with the place.
pub(super) fn read_class_files(data: &[u8]) -> Result<ClassFile> {
    let mut cursor = Cursor::new(data, 0, Endian::Big, "class file");
    let magic = cursor.u32("magic")?;
    if magic != MAGIC {
        let detail = format!("found {magic:#x}, expected {MAGIC:#x}");
        return Err(Error::new(ErrorKind::BadMagic { detail }).at("class file", 0));
    }
    cursor.u32("version")?;
    let constants = read_constants(&mut cursor)?;
    cursor.u16("access flags")?;
    let this = cursor.u16("this_class")?;
    cursor.u16("super_class")?;
    let interfaces = cursor.u16("interfaces_count")?;
    cursor.take("interfaces", u64::from(interfaces) * 2)?;
    read_members(&mut cursor, &constants)?;
    let (methods, code) = read_members(&mut cursor, &constants)?;
    let name = match constants.get(usize::from(this)) {
        Some(Constant::Class(name)) => text(&constants, *name, &cursor)?,
        _ => return Err(cursor.place(Error::malformed(format!("this_class is constant {this}, which is not a class")))),
    };
    Ok(ClassFile { name, methods, code })
}

fn read_constants<'data>(cursor: &mut Cursor<'data>) -> Result<Vec<Constant<'data>>> {
    let count = cursor.u16("constant_pool_count")?;
    let mut constants = vec![Constant::Other];
    while constants.len() < usize::from(count) {
        let tag = cursor.u8("constant tag")?;
        let (constant, skip) = match tag {
            1 => {
                let len = cursor.u16("text length")?;
                (Constant::Utf8(cursor.take("text", len.into())?), 0)
            }
            7 => (Constant::Class(cursor.u16("name_index")?), 0),
            8 | 16 | 19 | 20 => (Constant::Other, 2),
            15 => (Constant::Other, 3),
            3 | 4 | 9 | 10 | 11 | 12 | 17 | 18 => (Constant::Other, 4),
            5 | 6 => (Constant::Other, 8),
            _ => {
                return Err(
                    cursor.place(Error::malformed(format!("constant {} has the unknown tag {tag}", constants.len())))
                );
            }
        };
        cursor.take("constant", skip)?;
        constants.push(constant);
        if matches!(tag, 5 | 6) {
            // Longs and doubles take two places.
            constants.push(Constant::Other);
        }
    }
    Ok(constants)
}

/// Names and descriptors, and the code of those that have some.
type Members = (Vec<(String, String)>, Vec<Option<Vec<u8>>>);

/// Fields or methods: name and descriptor of each, and the code of those that
/// have some.
fn read_members(cursor: &mut Cursor<'_>, constants: &[Constant<'_>]) -> Result<Members> {
    let count = cursor.u16("number of members")?;
    let (mut members, mut codes) = (Vec::new(), Vec::new());
    for _ in 0..count {
        cursor.u16("access flags")?;
        let (name, descriptor) = (cursor.u16("name_index")?, cursor.u16("descriptor_index")?);
        let mut code = None;
        for _ in 0..cursor.u16("attributes_count")? {
            let attribute = cursor.u16("attribute_name_index")?;
            let len = cursor.u32("attribute_length")?;
            let content = cursor.take("attribute", len.into())?;
            if matches!(constants.get(usize::from(attribute)), Some(Constant::Utf8(b"Code"))) {
                code = Some(read_code(content)?.to_vec());
            }
        }
        members.push((text(constants, name, cursor)?, text(constants, descriptor, cursor)?));
        codes.push(code);
    }
    Ok((members, codes))
}

/// The instructions in a Code attribute.
fn read_code(attribute: &[u8]) -> Result<&[u8]> {
    let mut cursor = Cursor::new(attribute, 0, Endian::Big, "Code attribute");
    cursor.u32("max_stack and max_locals")?;
    let len = cursor.u32("code_length")?;
    cursor.take("code", len.into())
}

fn text(constants: &[Constant<'_>], index: u16, cursor: &Cursor<'_>) -> Result<String> {
    match constants.get(usize::from(index)) {
        Some(Constant::Utf8(bytes)) => Ok(decode_modified_utf8(bytes)),
        _ => Err(cursor.place(Error::malformed(format!("constant {index} is not a string")))),
    }
}

/// Class files write a zero as two bytes and characters beyond the basic plane
/// as two surrogates of three bytes each.
fn decode_modified_utf8(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_string();
    }
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    loop {
        let low = |byte: u8| u16::from(byte & 0x3f);
        (rest, _) = match rest {
            [] => break,
            [a, after @ ..] if *a < 0x80 => (after, units.push((*a).into())),
            [a, b, after @ ..] if a & 0xe0 == 0xc0 => (after, units.push(u16::from(a & 0x1f) << 6 | low(*b))),
            [a, b, c, after @ ..] if a & 0xf0 == 0xe0 => {
                (after, units.push(u16::from(a & 0x0f) << 12 | low(*b) << 6 | low(*c)))
            }
            [_, after @ ..] => (after, units.push(0xfffd)),
        };
    }
    String::from_utf16_lossy(&units)
}

/// `class app/Main` with one field and two methods.
#[cfg(test)]
pub(super) fn class_bytes() -> Vec<u8> {
    let mut bytes = MAGIC.to_be_bytes().to_vec();
    bytes.extend([0, 0, 0, 61]);
    let texts: [&[u8]; 6] = [b"app/Main", b"loop", b"(I)V", b"x", b"I", b"\xc0\x80\xed\xa0\xbd\xed\xb8\x80"];
    bytes.extend([0, 11]);
    for text in texts {
        bytes.push(1);
        bytes.extend((text.len() as u16).to_be_bytes());
        bytes.extend(text);
    }
    bytes.extend([7, 0, 1]);
    bytes.extend([5, 0, 0, 0, 0, 0, 0, 0, 9]);
    bytes.extend([15, 1, 0, 1]);
    for word in [0x21u16, 7, 0, 0, 1, 0, 4, 5, 0, 2, 1, 2, 3, 1, 4] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend([0, 0, 0, 2, 0xaa, 0xbb]);
    for word in [1u16, 6, 3, 0] {
        bytes.extend(word.to_be_bytes());
    }
    bytes
}

// The entries of a zip archive: jars, and `.jmod` files, which are zip
// archives behind four bytes.

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
    // Bytes before the archive move all offsets, as in `.jmod` files.
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
        let (most, name) = limits.of_section(self.stored_len);
        if self.len > most {
            return Err(Error::above_limit(Some(name), "size of an inflated entry", self.len, most));
        }
        let mut bytes = try_with_capacity(usize::try_from(self.len).unwrap_or(0))?;
        let status = Decompress::new(false).decompress_vec(stored, &mut bytes, FlushDecompress::Finish);
        let failed = |detail: String| Err(Error::new(ErrorKind::UncompressFailed { detail }));
        match status {
            Ok(Status::StreamEnd) if bytes.len() as u64 == self.len => Ok(bytes),
            Ok(_) => failed(format!("does not inflate to the declared {} bytes", self.len)),
            Err(error) => failed(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_listed_in_file_order() {
        let class = read_class_files(&class_bytes()).unwrap();
        assert_eq!(class.name, "app/Main");
        let names: Vec<(&str, &str)> = class.methods.iter().map(|(n, d)| (n.as_str(), d.as_str())).collect();
        assert_eq!(names, [("loop", "(I)V"), ("\0\u{1f600}", "(I)V")]);
    }

    #[test]
    fn cut_class_files_are_errors() {
        let bytes = class_bytes();
        for len in 0..bytes.len() {
            assert!(read_class_files(&bytes[..len]).is_err(), "{len}");
        }
    }
}
