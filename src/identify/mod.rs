//! Format detection from the beginning of an input, with a confidence.
//!
//! This is the only place that detects formats: files, pipes, and the content of directories and compressed streams are
//! all identified here, from equally many bytes. Each family evaluates the evidence for its formats, and the strongest
//! evidence wins. Text without evidence is text of an unsupported format.

mod format;
mod other_formats;
pub(crate) mod sample_profiles;

pub use crate::family::Family;
pub use format::Format;
pub use other_formats::OtherFormat;

use crate::bytes::{Confidence, Head};
use crate::compression::Compression;
use crate::{indexed, iprof, memprof, raw, stacks, text};

/// The detected format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// The format; for a compressed stream, that of its content.
    pub format: Format,
    /// The confidence of the detection.
    pub confidence: Confidence,
}

impl Identity {
    /// Returns the family of a readable profile; `None` for everything else.
    pub fn family(&self) -> Option<Family> {
        self.format.family()
    }
}

/// Evaluates the evidence for one or several formats.
type Evidence = fn(&Head<'_>) -> Option<(Format, Confidence)>;

/// All evaluations. If two have the same confidence, the first wins: formats with a magic number precede line formats.
const EVIDENCE: [Evidence; 6] = [instr, sample_profiles::evidence, memprof, iprof, other, stacks];

/// Identifies an input by its beginning.
///
/// A compressed stream is reported as such. Decompress it to identify its content.
pub fn identify(head: &Head<'_>) -> Identity {
    if head.bytes().is_empty() {
        return Identity { format: Format::Empty, confidence: Confidence::Certain };
    }
    if let Some(compression) = Compression::of(head.bytes()) {
        return Identity { format: Format::Compressed(compression), confidence: Confidence::Certain };
    }
    let mut best: Option<(Format, Confidence)> = None;
    for evidence in EVIDENCE {
        let Some(found) = evidence(head) else { continue };
        if found.1 == Confidence::Certain {
            return Identity { format: found.0, confidence: found.1 };
        }
        if best.is_none_or(|best| found.1 > best.1) {
            best = Some(found);
        }
    }
    let (format, confidence) = best.unwrap_or_else(|| of_no_family(head));
    Identity { format, confidence }
}

/// Returns true if a file of this format has no records, provided that `head` is the whole file. Such a file is not
/// evidence of the producer of other inputs.
pub(crate) fn is_blank(format: Format, head: &Head<'_>) -> bool {
    let data = head.bytes();
    head.is_whole()
        && match format {
            Format::Text => text::is_blank(head),
            Format::Raw { .. } => raw::is_blank(data),
            Format::Indexed => indexed::is_blank(data),
            Format::Iprof => iprof::has_tables_only(data),
            _ => false,
        }
}

/// Returns the format of bytes without its confidence.
pub fn detect(data: &[u8]) -> Format {
    identify(&Head::new(data)).format
}

fn instr(head: &Head<'_>) -> Option<(Format, Confidence)> {
    if let Some((endian, pointer)) = raw::detect(head.bytes()) {
        return Some((Format::Raw { endian, pointer }, Confidence::Certain));
    }
    if head.begins(&indexed::MAGIC) {
        return Some((Format::Indexed, Confidence::Certain));
    }
    let confidence = text::evidence(head).filter(|_| !stacks::lacks_fields(head.bytes()))?;
    Some((Format::Text, confidence))
}

fn memprof(head: &Head<'_>) -> Option<(Format, Confidence)> {
    let (form, confidence) = memprof::evidence(head)?;
    let format = match form {
        memprof::Form::Raw => Format::RawMemProf,
        memprof::Form::Yaml => Format::YamlMemProf,
    };
    Some((format, confidence))
}

fn iprof(head: &Head<'_>) -> Option<(Format, Confidence)> {
    iprof::evidence(head).map(|confidence| (Format::Iprof, confidence))
}

fn other(head: &Head<'_>) -> Option<(Format, Confidence)> {
    other_formats::detect(head).map(|format| (Format::Other(format), Confidence::Certain))
}

fn stacks(head: &Head<'_>) -> Option<(Format, Confidence)> {
    use stacks::StackFormat;
    let (format, confidence) = stacks::evidence(head)?;
    let format = match format {
        StackFormat::Jfr => Format::Jfr,
        StackFormat::PerfData => Format::PerfData,
        StackFormat::Collapsed if confidence == Confidence::Certain && stacks::are_branch_records(head.bytes()) => {
            Format::Other(OtherFormat::BranchRecords)
        }
        StackFormat::Collapsed => Format::Collapsed,
        StackFormat::Pprof => Format::Pprof,
    };
    Some((format, confidence))
}

/// Classifies a file without evidence for any family.
fn of_no_family(head: &Head<'_>) -> (Format, Confidence) {
    if iprof::is_json(head) {
        return (Format::OtherJson, Confidence::Likely);
    }
    let format = if is_text(head.bytes()) { Format::OtherText } else { Format::Unknown };
    (format, Confidence::Possible)
}

/// The number of bytes that distinguish text from binary data.
const TEXT_BYTES: usize = 4096;

/// Returns true if the bytes are UTF-8 without control characters.
fn is_text(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(TEXT_BYTES)];
    let is_control = |byte: &u8| *byte < 0x20 && !matches!(byte, 9..=13 | 0x1b) || *byte == 0x7f;
    // The head can end inside a character.
    let is_utf8 = std::str::from_utf8(start).map_or_else(|error| error.error_len().is_none(), |_| true);
    is_utf8 && !start.iter().any(is_control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::{Endian, PointerWidth};

    #[test]
    fn magic_numbers_select_width_and_byte_order() {
        let cases = [
            ([0x81, 0x72, 0x66, 0x6f, 0x72, 0x70, 0x6c, 0xff], Endian::Little, PointerWidth::Bits64),
            ([0xff, 0x6c, 0x70, 0x72, 0x6f, 0x66, 0x72, 0x81], Endian::Big, PointerWidth::Bits64),
            ([0x81, 0x52, 0x66, 0x6f, 0x72, 0x70, 0x6c, 0xff], Endian::Little, PointerWidth::Bits32),
            ([0xff, 0x6c, 0x70, 0x72, 0x6f, 0x66, 0x52, 0x81], Endian::Big, PointerWidth::Bits32),
        ];
        for (magic, endian, pointer) in cases {
            assert_eq!(detect(&magic), Format::Raw { endian, pointer });
        }
        assert_eq!(detect(b"\xfflprofi\x81"), Format::Indexed);
        assert_eq!(detect(&[0x81, 0x72, 0x66, 0x6f, 0x72, 0x70, 0x6d, 0xff]), Format::RawMemProf);
    }

    #[test]
    fn each_family_is_known_by_its_text() {
        let cases = [
            ("", Format::Empty, None),
            ("main\n10\n", Format::Text, Some(Family::Instr)),
            ("{closure}\n1\n", Format::Text, Some(Family::Instr)),
            ("foo:10:1\n 1: 5\n", Format::SampleText, Some(Family::SampleProf)),
            ("---\nHeapProfileRecords:\n", Format::YamlMemProf, Some(Family::MemProf)),
            ("  {\n \"version\": \"1.0\"", Format::Iprof, Some(Family::Iprof)),
            ("a;b 1\nc;d 2\n", Format::Collapsed, Some(Family::Stacks)),
            ("{\"name\":\"x\"}", Format::OtherJson, None),
            ("public class Demo {\n  int a = 1;\n}\n", Format::OtherText, None),
            ("int main(void) { return 0; }\n", Format::OtherText, None),
            // `perf script` with the fields comm,tid,sym; comm,tid,period,sym; comm,tid,ip; tid,sym; comm,ip; ip.
            ("            spin  2909 \n            spin  2909 \n", Format::OtherText, None),
            ("            spin  2909     250000 \n            spin  2909     250000 \n", Format::OtherText, None),
            ("spin  2909 \n\t           14645\n\t               0\n\n", Format::OtherText, None),
            (" 2909 \n 2909 \n 2909 \n", Format::OtherText, None),
            ("spin \n\t           14645\n\t               0\n\n", Format::OtherText, None),
            ("\n\t           14645\n\t               0\n\n", Format::OtherText, None),
            ("1 main 3d 1 foo 0 0 17\n", Format::Other(OtherFormat::BoltText), None),
        ];
        for (text, format, family) in cases {
            let found = identify(&Head::new(text.as_bytes()));
            assert_eq!((found.format, found.family()), (format, family), "{text}");
        }
    }

    /// A function name can look like the head of a record of the other format. The lines after it decide.
    #[test]
    fn sample_text_and_instrumentation_text_are_never_mistaken() {
        for name in ["foo", "foo:10:1", "1:2:3", "a.c:f", "[a:1 @ b]:3:4", ":1:2"] {
            let counted = format!("{name}\n123\n1\n5\n");
            assert_eq!(detect(counted.as_bytes()), Format::Text, "{counted}");
            let counted = format!("{name}\n# Func Hash:\n123\n# Num Counters:\n1\n# Counter Values:\n5\n");
            assert_eq!(detect(counted.as_bytes()), Format::Text, "{counted}");
            let sampled = format!("{name}:7:0\n 1: 5\n 2.3: 4 {name}:3\n");
            assert_eq!(detect(sampled.as_bytes()), Format::SampleText, "{sampled}");
            let sampled = format!("{name}:7:0\n{name}2:7:0\n");
            assert_eq!(detect(sampled.as_bytes()), Format::SampleText, "{sampled}");
        }
    }

    #[test]
    fn unrecognized_binaries_are_unknown() {
        for bytes in [&b"\x7fELG\x02\x01\x01\0"[..], b"\n\x04main\n", b"\0\0\0", b"a\x01b"] {
            assert_eq!(detect(bytes), Format::Unknown, "{}", bytes.escape_ascii());
        }
        assert_eq!(detect(b"\x1f\x8b\x08\0"), Format::Compressed(Compression::Gzip));
        assert_eq!(detect("Grüße\n".as_bytes()), Format::OtherText);
    }

    #[test]
    fn truncated_heads_lower_the_confidence() {
        let of = |text: &str| identify(&Head::new(text.as_bytes())).confidence;
        assert!(of(":ir\nmain\n") > of("main\n1\n"));
        assert!(of("{\"types\":[]}") > of("{\"version\":\"1.0.0\"}"));
        assert!(of("{\"version\":\"1.0.0\"}") > of("{}"));
    }
}
