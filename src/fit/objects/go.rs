//! Recognises Go programs by the build information that Go's linker stores in them.

use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Cursor, Endian};
use crate::limits::Limits;
use crate::objects::contents;
use object::{BinaryFormat, Object};

/// The first bytes of the build information.
const MAGIC: &[u8] = b"\xff Go buildinf:";
/// The bytes of its header; the version follows.
const HEADER_BYTES: usize = 32;
/// The position of the flags in the header.
const FLAGS: usize = 15;
/// The flag of Go 1.18 and later: the version follows the header. Earlier releases store its address.
const HAS_VERSION: u8 = 2;

/// Returns Go's compiler with its version, such as `go1.27.3`, or `go` if the version is unknown; `None` if the file has
/// no code of Go.
pub(super) fn compiler(file: &object::File<'_>, limits: &Limits) -> Option<String> {
    let name = match file.format() {
        BinaryFormat::MachO => "__go_buildinfo",
        BinaryFormat::Pe => ".data",
        _ => ".go.buildinfo",
    };
    let bytes = contents(&file.section_by_name(name)?, limits).ok()?;
    let start = memchr::memmem::find(&bytes, MAGIC)?;
    Some(version(&bytes[start..]).unwrap_or_else(|| "go".to_string()))
}

/// Returns the version in build information: its length and its text.
fn version(bytes: &[u8]) -> Option<String> {
    bytes.get(FLAGS).filter(|flags| *flags & HAS_VERSION != 0)?;
    let mut cursor = Cursor::new(bytes.get(HEADER_BYTES..)?, HEADER_BYTES as u64, Endian::Little, "build information");
    let len = read_uleb128(&mut cursor, "length of the version").ok()?;
    let text = std::str::from_utf8(cursor.take("version", len).ok()?).ok()?;
    Some(text.to_string()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_within_bounds() {
        let header = |flags: u8| [MAGIC, &[8, flags], &[0; 16]].concat();
        let of = |rest: &[u8]| version(&[&header(2), rest].concat());
        assert_eq!(of(b"\x08go1.27.3\x05path\t").as_deref(), Some("go1.27.3"));
        assert_eq!(of(b"\x09go1.27.3"), None, "truncated");
        assert_eq!(of(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01go1.27"), None, "longer than any file");
        assert_eq!((of(b"\x80"), of(b""), of(b"\0"), of(b"\x02\xff\xfe")), (None, None, None, None));
        assert_eq!(version(&[&header(0)[..], b"\x06go1.17"].concat()), None, "an address of Go 1.17 and earlier");
        assert_eq!((version(MAGIC), version(b"")), (None, None));
    }
}
