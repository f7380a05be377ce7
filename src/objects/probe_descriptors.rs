//! The descriptors of functions with pseudo-probes in a program.

use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The section that has them.
pub(crate) const PROBE_DESCRIPTORS: &str = ".pseudo_probe_desc";

/// A function with probes.
pub(crate) struct ProbeDescriptor<'d> {
    pub(crate) guid: u64,
    /// The checksum of the control flow graph.
    pub(crate) checksum: u64,
    pub(crate) name: &'d [u8],
}

/// Reads the descriptors of a section.
///
/// # Errors
///
/// Truncated; a name longer than [`Limits::name_bytes`].
pub(crate) fn read_probe_descriptors<'d>(
    section: &'d [u8],
    endian: Endian,
    limits: &Limits,
    mut each: impl FnMut(ProbeDescriptor<'d>),
) -> Result<()> {
    let mut cursor = Cursor::new(section, 0, endian, PROBE_DESCRIPTORS);
    while !cursor.is_empty() {
        let (guid, checksum) = (cursor.u64("GUID")?, cursor.u64("checksum")?);
        let len = read_uleb128(&mut cursor, "length of a name")?;
        if len > limits.name_bytes {
            let error = Error::above_limit(Some("name-bytes"), "length of a name", len, limits.name_bytes);
            return Err(cursor.place(error));
        }
        each(ProbeDescriptor { guid, checksum, name: cursor.take("name", len)? });
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
            let each = |row: ProbeDescriptor<'_>| found.push((row.guid, row.name.to_vec(), row.checksum));
            read_probe_descriptors(bytes, Endian::Little, &Limits::default(), each).map(|()| found)
        };
        let guid = u64::from_le_bytes([1; 8]);
        assert_eq!(read(&bytes).unwrap(), [(guid, b"main".to_vec(), 7), (guid, b"f".to_vec(), 0x1_0000_0000)]);
        for len in (1..bytes.len()).filter(|len| *len != 21) {
            assert!(read(&bytes[..len]).is_err(), "{len}");
        }
        bytes[16] = 0xff;
        assert!(read(&bytes).is_err());
    }
}
