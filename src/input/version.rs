//! The format version in the first bytes of a file.

use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Cursor, Endian};
use crate::identify::Format;
use crate::identify::sample_profiles::GccVersion;
use std::fmt;

/// A version in the notation of its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FormatVersion {
    /// A number, in binary formats of LLVM, GCC and perf.
    Number(u64),
    /// Major and minor number of a JFR recording.
    MajorMinor(u16, u16),
    /// Major, minor and patch number of an iprof.
    MajorMinorPatch(u32, u32, u32),
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::MajorMinor(major, minor) => write!(f, "{major}.{minor}"),
            Self::MajorMinorPatch(major, minor, patch) => write!(f, "{major}.{minor}.{patch}"),
        }
    }
}

impl FormatVersion {
    /// Reads the version from the beginning of a file. `None` for formats without a version, and if the version is
    /// at a later offset: an iprof can have it at its end.
    pub(super) fn of(format: Format, head: &[u8]) -> Option<Self> {
        let word = |at: usize| head.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        match format {
            // The upper half contains flags.
            Format::Raw { endian, .. } => Some(Self::Number(endian.u64(word(8)?) & u64::from(u32::MAX))),
            Format::Indexed => Some(Self::Number(u64::from_le_bytes(word(8)?) & u64::from(u32::MAX))),
            Format::RawMemProf => Some(Self::Number(u64::from_le_bytes(word(8)?))),
            Format::Jfr => {
                let half = |at: usize| Some(u16::from_be_bytes([*head.get(at)?, *head.get(at + 1)?]));
                Some(Self::MajorMinor(half(4)?, half(6)?))
            }
            Format::Iprof => of_json(head),
            Format::SampleBinary | Format::SampleExtBinary | Format::SampleCompactBinary => {
                let mut cursor = Cursor::new(head, 0, Endian::Little, "header");
                read_uleb128(&mut cursor, "magic").ok()?;
                Some(Self::Number(read_uleb128(&mut cursor, "version").ok()?))
            }
            // PERFILE2 is the second version of PERFFILE, in either byte order.
            Format::PerfData => Some(Self::Number(if head.starts_with(b"PERFFILE") { 1 } else { 2 })),
            Format::SampleGcc => GccVersion::of(head).map(|version| Self::Number(version.number())),
            _ => None,
        }
    }
}

/// Returns the value of the first member `version` that consists of three numbers.
fn of_json(head: &[u8]) -> Option<FormatVersion> {
    const MEMBER: &[u8] = b"\"version\"";
    let at = head.windows(MEMBER.len()).position(|window| window == MEMBER)?;
    let text = head[at + MEMBER.len()..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let text = text.strip_prefix(b"\"")?;
    let end = text.iter().position(|byte| *byte == b'"')?;
    let mut numbers = std::str::from_utf8(&text[..end]).ok()?.split('.').map(|part| part.parse::<u32>().ok());
    let version = FormatVersion::MajorMinorPatch(numbers.next()??, numbers.next()??, numbers.next()??);
    numbers.next().is_none().then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::PointerWidth;

    fn reported(format: Format, head: &[u8]) -> Option<String> {
        FormatVersion::of(format, head).map(|version| version.to_string())
    }

    #[test]
    fn headers_give_the_version_of_each_format() {
        let raw = Format::Raw { endian: Endian::Big, pointer: PointerWidth::Bits64 };
        let head = [&[0; 8][..], &[1, 0, 0, 0, 0, 0, 0, 9]].concat();
        assert_eq!(reported(raw, &head).as_deref(), Some("9"));
        let head = [&[0; 8][..], &[12, 0, 0, 0, 0, 0, 0, 1]].concat();
        assert_eq!(reported(Format::Indexed, &head).as_deref(), Some("12"));
        assert_eq!(reported(Format::Indexed, &head[..15]), None);
        assert_eq!(reported(Format::Jfr, b"FLR\0\0\x02\0\x01").as_deref(), Some("2.1"));
        assert_eq!(reported(Format::Iprof, b"{ \"version\" : \"0.4.0\", ").as_deref(), Some("0.4.0"));
        for bad in
            ["{}", "{\"version\":1}", "{\"version\":\"1.0\"}", "{\"version\":\"1.0.0.0\"}", "{\"version\":\"1.0.0"]
        {
            assert_eq!(reported(Format::Iprof, bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(reported(Format::Text, b":ir\n"), None);
        assert_eq!(reported(Format::SampleExtBinary, b"\x84\x01\x67").as_deref(), Some("103"));
        assert_eq!(reported(Format::SampleExtBinary, b"\x84"), None);
        for (magic, version) in [(b"PERFILE2", "2"), (b"2ELIFREP", "2"), (b"PERFFILE", "1")] {
            assert_eq!(reported(Format::PerfData, magic).as_deref(), Some(version));
        }
        let head = b"adcg\x02\0\0\0\0\0\0\0\0\0\0\xaa";
        assert_eq!(reported(Format::SampleGcc, head).as_deref(), Some("2"));
    }
}
