//! Descriptors of pseudo-probes: name and checksum of every function that has
//! probes (`-fpseudo-probe-for-profiling`), in the section `.pseudo_probe_desc`.

use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Cursor, Endian};
use crate::error::{ErrorKind, Result};
use crate::limits::Limits;
use crate::objects::contents;
use object::{Object, ObjectSection};

const SECTION: &str = ".pseudo_probe_desc";

/// A function with probes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProbeDescriptor {
    pub(super) name: Vec<u8>,
    pub(super) checksum: u64,
}

/// Reads the descriptors of an image; empty where it has none.
///
/// # Errors
///
/// Truncated; a name longer than [`Limits::name_bytes`].
pub(super) fn read(file: &object::File<'_>, limits: &Limits) -> Result<Vec<ProbeDescriptor>> {
    let endian = if file.is_little_endian() { Endian::Little } else { Endian::Big };
    let mut found = Vec::new();
    // Object files have one section for each function that the linker may drop.
    for section in file.sections().filter(|section| section.name() == Ok(SECTION)) {
        let bytes = contents(&section, limits)?;
        read_section(&bytes, endian, limits, &mut found).map_err(|error| error.in_section(SECTION))?;
    }
    Ok(found)
}

fn read_section(bytes: &[u8], endian: Endian, limits: &Limits, found: &mut Vec<ProbeDescriptor>) -> Result<()> {
    let mut cursor = Cursor::new(bytes, 0, endian, SECTION);
    while !cursor.is_empty() {
        cursor.u64("GUID")?;
        let checksum = cursor.u64("checksum")?;
        let len = read_uleb128(&mut cursor, "length of a name")?;
        if len > limits.name_bytes {
            let kind = ErrorKind::LimitExceeded { what: "length of a name", found: len, limit: limits.name_bytes };
            return Err(cursor.place(kind.into()));
        }
        found.push(ProbeDescriptor { name: cursor.take("name", len)?.to_vec(), checksum });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_follow_each_other_and_a_cut_one_is_an_error() {
        let mut bytes = Vec::new();
        for (name, checksum) in [(&b"main"[..], 7u64), (b"f", 0x1_0000_0000)] {
            bytes.extend([1; 8]);
            bytes.extend(checksum.to_le_bytes());
            bytes.push(name.len() as u8);
            bytes.extend(name);
        }
        let read = |bytes: &[u8]| {
            let mut found = Vec::new();
            read_section(bytes, Endian::Little, &Limits::default(), &mut found).map(|()| found)
        };
        let found = read(&bytes).unwrap();
        let rows: Vec<_> = found.iter().map(|row| (row.name.as_slice(), row.checksum)).collect();
        assert_eq!(rows, [(&b"main"[..], 7), (&b"f"[..], 0x1_0000_0000)]);
        for len in (1..bytes.len()).filter(|len| *len != 21) {
            assert!(read(&bytes[..len]).is_err(), "{len}");
        }
        bytes[16] = 0xff;
        assert!(read(&bytes).is_err());
    }
}
