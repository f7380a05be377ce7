//! Whether bytes are a sample profile, and in which encoding.

use super::options::Encoding;
use super::read::detect;
use crate::bytes::{Confidence, Head};

/// Where the tag of the names stands in what GCC's AutoFDO reads; coverage
/// counts of the same version have another tag there.
const GCC_NAMES_TAG: [u8; 4] = [0, 0, 0, 0xaa];

/// What speaks for a sample profile: a magic number, or lines of its text.
///
/// LLVM takes a text for one whose first line could be a head; here the lines
/// that follow have to agree.
pub fn evidence(head: &Head<'_>) -> Option<(Encoding, Confidence)> {
    match detect(head.bytes()) {
        Some(Encoding::Text) => text(head).map(|confidence| (Encoding::Text, confidence)),
        Some(Encoding::Gcc) if head.bytes().get(12..16) != Some(&GCC_NAMES_TAG) => None,
        found => found.map(|encoding| (encoding, Confidence::Certain)),
    }
}

/// For a text speaks a first line `NAME:TOTAL:HEAD` before an indented line,
/// another such line, or the end; against it anything else, above all the line
/// with nothing but a hash that follows a function of an instrumentation
/// profile, whatever that function is called.
fn text(head: &Head<'_>) -> Option<Confidence> {
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

/// A name and two numbers, with colons between.
fn is_record_head(line: &[u8]) -> bool {
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let mut parts = line.rsplitn(3, |byte| *byte == b':');
    let numbers = parts.next().is_some_and(is_number) && parts.next().is_some_and(is_number);
    numbers && line[0] != b' ' && parts.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Option<(Encoding, Confidence)> {
        evidence(&Head::new(bytes))
    }

    #[test]
    fn the_lines_below_the_first_decide() {
        for text in ["foo:10:1\n 1: 5\n", "foo:10:1\nbar:3:0\n", "[a:1 @ b]:3:4\n 1: 2\n"] {
            assert_eq!(of(text.as_bytes()), Some((Encoding::Text, Confidence::Certain)), "{text}");
        }
        assert_eq!(of(b"# comment\n\nfoo:10:1"), Some((Encoding::Text, Confidence::Likely)));
        for text in ["foo:10:1\n123\n1\n5\n", "foo\n 1: 5\n", "12\n", "a.c:f\n12\n", "foo:10:1\n# hash\n7\n"] {
            assert_eq!(of(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn magic_numbers_are_certain() {
        // The first bytes that llvm-profdata 22 writes with --binary and --extbinary.
        let binary = [0xff, 0xe5, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 0x67, 0x0a];
        assert_eq!(of(&binary), Some((Encoding::Binary, Confidence::Certain)));
        let extensible = [0x84, 0xe4, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 0x67, 0x07];
        assert_eq!(of(&extensible), Some((Encoding::ExtBinary, Confidence::Certain)));
        assert_eq!(of(b"adcg*704\0\0\0\0\0\0\0\xaa"), Some((Encoding::Gcc, Confidence::Certain)));
        assert_eq!(of(b"adcg*704\0\0\0\0\0\0\0\x01"), None);
    }
}
