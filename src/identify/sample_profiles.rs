//! Detection of sample profiles.

use super::Format;
use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Confidence, Cursor, Endian, Head};

/// `SPROF42` and the byte of the plain binary.
pub(crate) const BINARY_MAGIC: u64 = 0x5350_524f_4634_32ff;
/// The magic number of extensible binaries.
pub(crate) const EXT_BINARY_MAGIC: u64 = 0x5350_524f_4634_3204;
/// The magic number of compact binaries.
pub(crate) const COMPACT_MAGIC: u64 = 0x5350_524f_4634_3202;
/// The magic number of GCC's encoding. Its version follows.
const GCC_MAGIC: &[u8] = b"adcg";
/// The tag of the names in GCC's encoding. Coverage counts of the same version have a different tag there.
const GCC_NAMES_TAG: [u8; 4] = [0, 0, 0, 0xaa];

/// A version of GCC's encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GccVersion {
    /// `*704`: the only one that LLVM reads.
    Of704,
    /// 1: GCC 5 to 11.
    One,
    /// 2, which counts the bytes of names instead of their words: GCC 12 and later.
    Two,
}

impl GccVersion {
    /// Returns the version of a file; `None` for other files.
    pub(crate) fn of(file: &[u8]) -> Option<Self> {
        let version = file.strip_prefix(GCC_MAGIC)?.first_chunk::<4>()?;
        let has_names = || file.get(12..16) == Some(&GCC_NAMES_TAG);
        match version {
            b"*704" if file.get(8) == Some(&0) => Some(Self::Of704),
            [1, 0, 0, 0] if has_names() => Some(Self::One),
            [2, 0, 0, 0] if has_names() => Some(Self::Two),
            _ => None,
        }
    }
}

impl GccVersion {
    /// Returns the number in the file.
    pub(crate) fn number(self) -> u64 {
        match self {
            Self::Of704 => 704,
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

/// Returns the binary format with the given magic number, which is stored as ULEB128.
pub(crate) fn binary_format(file: &[u8]) -> Option<Format> {
    let mut cursor = Cursor::new(&file[..file.len().min(16)], 0, Endian::Little, "header");
    match read_uleb128(&mut cursor, "magic").ok()? {
        BINARY_MAGIC => Some(Format::SampleBinary),
        EXT_BINARY_MAGIC => Some(Format::SampleExtBinary),
        COMPACT_MAGIC => Some(Format::SampleCompactBinary),
        _ => None,
    }
}

/// Returns the format of a sample profile by its magic number or its first lines.
///
/// LLVM reads every text whose first line could be the head of a record. Here the second line must also fit.
pub(super) fn evidence(head: &Head<'_>) -> Option<(Format, Confidence)> {
    let bytes = head.bytes();
    if let Some(format) = binary_format(bytes) {
        return Some((format, Confidence::Certain));
    }
    if GccVersion::of(bytes).is_some() {
        return (bytes.get(12..16) == Some(&GCC_NAMES_TAG)).then_some((Format::SampleGcc, Confidence::Certain));
    }
    text_confidence(head).map(|confidence| (Format::SampleText, confidence))
}

/// Evaluates a text file. A text profile begins with a line `NAME:TOTAL:HEAD`, followed by an indented line, another
/// such line or the end. In the text of an instrumentation profile, a line with only a hash follows the name, whatever
/// the name is.
fn text_confidence(head: &Head<'_>) -> Option<Confidence> {
    let mut lines = head.lines().filter(|line| !line.is_empty() && line[0] != b'#');
    if !lines.next().is_some_and(is_record_head) {
        return None;
    }
    match lines.next() {
        None => Some(Confidence::Likely),
        Some(line) if line[0] == b' ' || is_record_head(line) => Some(Confidence::Certain),
        Some(_) => None,
    }
}

/// Returns true for a name and two numbers, separated by colons.
fn is_record_head(line: &[u8]) -> bool {
    let is_number = |text: &[u8]| {
        text.first().is_some_and(u8::is_ascii_digit)
            && std::str::from_utf8(text).is_ok_and(|digits| digits.parse::<u64>().is_ok())
    };
    let mut parts = line.rsplitn(3, |byte| *byte == b':');
    let numbers = parts.next().is_some_and(is_number) && parts.next().is_some_and(is_number);
    // A NUL ends the text.
    numbers && line[0] != b' ' && parts.next().is_some_and(|name| !name.contains(&0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Option<(Format, Confidence)> {
        evidence(&Head::new(bytes))
    }

    #[test]
    fn the_lines_below_the_first_decide() {
        for text in ["foo:10:1\n 1: 5\n", "foo:10:1\nbar:3:0\n", "[a:1 @ b]:3:4\n 1: 2\n"] {
            assert_eq!(of(text.as_bytes()), Some((Format::SampleText, Confidence::Certain)), "{text}");
        }
        assert_eq!(of(b"# comment\n\nfoo:10:1"), Some((Format::SampleText, Confidence::Likely)));
        for text in ["foo:10:1\n123\n1\n5\n", "foo\n 1: 5\n", "12\n", "a.c:f\n12\n", "foo:10:1\n# hash\n7\n"] {
            assert_eq!(of(text.as_bytes()), None, "{text}");
        }
        for text in ["foo:10:18446744073709551616\n 1: 5\n", "fo\0o:10:1\n 1: 5\n", "foo:+1:1\n 1: 5\n"] {
            assert_eq!(of(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn magic_numbers_are_certain() {
        // The first bytes that llvm-profdata 22 writes with --binary and --extbinary.
        let binary = [0xff, 0xe5, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 0x67, 0x0a];
        assert_eq!(of(&binary), Some((Format::SampleBinary, Confidence::Certain)));
        let extensible = [0x84, 0xe4, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 0x67, 0x07];
        assert_eq!(of(&extensible), Some((Format::SampleExtBinary, Confidence::Certain)));
        assert_eq!(of(b"adcg*704\0\0\0\0\0\0\0\xaa"), Some((Format::SampleGcc, Confidence::Certain)));
        assert_eq!(of(b"adcg*704\0\0\0\0\0\0\0\x01"), None);
        for version in [1, 2] {
            let file = [b"adcg", &[version, 0, 0, 0][..], &[0, 0, 0, 0, 0, 0, 0, 0xaa]].concat();
            assert_eq!(of(&file), Some((Format::SampleGcc, Confidence::Certain)));
        }
        assert_eq!(of(b"adcg\x03\0\0\0\0\0\0\0\0\0\0\xaa"), None);
    }
}
