//! Which format bytes are in, by their beginning.

use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Cursor, Endian, PointerWidth};
use std::fmt;

/// A format that is recognised; not all of them can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// No bytes at all.
    Empty,
    /// LLVM raw profile (`.profraw`).
    Raw {
        /// Byte order of the whole file.
        endian: Endian,
        /// Width of its pointer fields.
        pointer: PointerWidth,
    },
    /// LLVM indexed profile (`.profdata`).
    Indexed,
    /// LLVM text profile (`.proftext`), or other printable text LLVM takes for one.
    Text,
    /// GraalVM iprof (JSON).
    Iprof,
    /// A gzip stream; what is inside shows after inflating.
    Gzip,
    /// Flight Recorder recording.
    Jfr,
    /// LLVM raw memory profile.
    RawMemProf,
    /// LLVM memory profile as YAML.
    YamlMemProf,
    /// LLVM sample profile, plain binary.
    SampleBinary,
    /// LLVM sample profile, extensible binary.
    SampleExtBinary,
    /// LLVM sample profile, compact binary of LLVM 16 and earlier.
    SampleCompactBinary,
    /// LLVM sample profile, text.
    SampleText,
    /// Sample profile of GCC's AutoFDO.
    SampleGcc,
    /// GCC coverage counts (`.gcda`).
    Gcda,
    /// BOLT profile (`.fdata`, YAML form included).
    BoltYaml,
    /// Linux perf recording.
    PerfData,
    /// pprof profile (`profile.proto`), inflated.
    Pprof,
    /// None of these.
    Unknown,
}

impl Format {
    /// Whether it is a sample profile of any encoding.
    pub fn is_sample_profile(self) -> bool {
        matches!(
            self,
            Self::SampleBinary | Self::SampleExtBinary | Self::SampleCompactBinary | Self::SampleText | Self::SampleGcc
        )
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Empty => "empty file",
            Self::Raw { endian, pointer } => {
                return write!(f, "LLVM raw profile, {} bits, {endian}", pointer.bytes() * 8);
            }
            Self::Indexed => "LLVM indexed profile",
            Self::Text => "LLVM text profile",
            Self::Iprof => "GraalVM iprof",
            Self::Gzip => "gzip stream",
            Self::Jfr => "Flight Recorder recording",
            Self::RawMemProf => "LLVM raw memory profile",
            Self::YamlMemProf => "LLVM memory profile in YAML",
            Self::SampleBinary => "LLVM sample profile, binary",
            Self::SampleExtBinary => "LLVM sample profile, extensible binary",
            Self::SampleCompactBinary => "LLVM sample profile, compact binary",
            Self::SampleText => "LLVM sample profile, text",
            Self::SampleGcc => "GCC sample profile",
            Self::Gcda => "GCC coverage counts",
            Self::BoltYaml => "BOLT profile in YAML",
            Self::PerfData => "Linux perf recording",
            Self::Pprof => "pprof profile",
            Self::Unknown => "unknown format",
        };
        f.write_str(words)
    }
}

/// `\xFFlprofR\x81` with the width's letter, read as a big-endian number.
const RAW_64: u64 = 0xff6c_7072_6f66_7281;
const RAW_32: u64 = 0xff6c_7072_6f66_5281;
const MEMPROF_64: u64 = 0xff6d_7072_6f66_7281;
const INDEXED: [u8; 8] = *b"\xfflprofi\x81";
/// `SPROF42\xff` and its relatives as ULEB128 numbers are written by
/// LLVM's sample writer; the first bytes of the number are fixed.
const SAMPLE_BINARY: [u8; 9] = uleb128_of(0x5350_524f_4634_32ff);
const SAMPLE_EXT_BINARY: [u8; 9] = uleb128_of(0x5350_524f_4634_3204);
const SAMPLE_COMPACT_BINARY: [u8; 9] = uleb128_of(0x5350_524f_4634_3202);
/// Where the tag of the names stands in what GCC's AutoFDO reads; coverage
/// counts of the same version have another tag there.
const GCC_NAMES_TAG: [u8; 4] = [0, 0, 0, 0xaa];

/// The first nine groups of a 63-bit number in ULEB128.
const fn uleb128_of(mut value: u64) -> [u8; 9] {
    let mut bytes = [0; 9];
    let mut at = 0;
    while at < 9 {
        bytes[at] = (value & 0x7f) as u8 | 0x80;
        value >>= 7;
        at += 1;
    }
    bytes[8] &= 0x7f;
    bytes
}

/// Recognises the format of `data`, of which the first kilobyte is enough.
pub fn detect(data: &[u8]) -> Format {
    if data.is_empty() {
        return Format::Empty;
    }
    if let Some(magic) = data.first_chunk::<8>() {
        if *magic == INDEXED {
            return Format::Indexed;
        }
        for endian in [Endian::Big, Endian::Little] {
            match endian.u64(*magic) {
                RAW_64 => return Format::Raw { endian, pointer: PointerWidth::Bits64 },
                RAW_32 => return Format::Raw { endian, pointer: PointerWidth::Bits32 },
                MEMPROF_64 => return Format::RawMemProf,
                _ => {}
            }
        }
    }
    if data.starts_with(b"adcg*704\0") && data.get(12..16) == Some(&GCC_NAMES_TAG) {
        return Format::SampleGcc;
    }
    const PREFIXES: [(&[u8], Format); 8] = [
        (&[0x1f, 0x8b], Format::Gzip),
        (b"FLR\0", Format::Jfr),
        (&SAMPLE_BINARY, Format::SampleBinary),
        (&SAMPLE_EXT_BINARY, Format::SampleExtBinary),
        (&SAMPLE_COMPACT_BINARY, Format::SampleCompactBinary),
        (b"adcg", Format::Gcda),
        (b"gcda", Format::Gcda),
        (b"PERFILE2", Format::PerfData),
    ];
    for (prefix, format) in PREFIXES {
        if data.starts_with(prefix) {
            return format;
        }
    }
    if looks_like_json(data) {
        return Format::Iprof;
    }
    if looks_like_text(data) {
        return detect_text(data);
    }
    if looks_like_pprof(data) { Format::Pprof } else { Format::Unknown }
}

/// Whether `data`, perhaps cut, is a protocol buffer that begins as writers of
/// pprof begin, with the types of values, before which only single numbers stand:
/// a type is a message of at most two numbers. What follows has a tag of the schema.
fn looks_like_pprof(data: &[u8]) -> bool {
    let mut cursor = Cursor::new(data, 0, Endian::Little, "head");
    let number = |cursor: &mut Cursor<'_>| read_uleb128(cursor, "number").ok();
    let mut seen_type = false;
    while !cursor.is_empty() {
        let Some(tag) = number(&mut cursor) else { return seen_type };
        let (field, wire) = (tag >> 3, tag & 7);
        let is_known = matches!((field, wire), (1..=6 | 11, 2) | (7..=10 | 12..=15, 0) | (13, 2));
        if !is_known || (!seen_type && matches!(field, 2..=6)) {
            return false;
        }
        if seen_type && field != 1 {
            // Damage further on is for the reader to name.
            return true;
        }
        let Some(value) = number(&mut cursor) else { return seen_type };
        if wire == 2 {
            let Ok(content) = cursor.take("content", value) else { return seen_type };
            if matches!(field, 1 | 11) && !is_value_type(content) {
                return false;
            }
            seen_type |= field == 1;
        }
    }
    seen_type
}

/// Fields 1 and 2, numbers, each at most once, and at least one of them.
fn is_value_type(content: &[u8]) -> bool {
    let mut cursor = Cursor::new(content, 0, Endian::Little, "value type");
    let mut last = 0;
    while !cursor.is_empty() {
        match cursor.u8("tag") {
            Ok(tag @ (0x08 | 0x10)) if tag > last && read_uleb128(&mut cursor, "text").is_ok() => last = tag,
            _ => return false,
        }
    }
    last > 0
}

/// LLVM's test for a text profile: the first eight bytes are printable ASCII or
/// white space, whatever follows.
pub fn looks_like_text(data: &[u8]) -> bool {
    data.iter().take(8).all(|b| matches!(b, 0x20..=0x7e | 9..=13))
}

/// A JSON object, perhaps behind a byte order mark.
fn looks_like_json(data: &[u8]) -> bool {
    let data = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data);
    let mut rest = data.iter().skip_while(|b| b.is_ascii_whitespace());
    if rest.next() != Some(&b'{') {
        return false;
    }
    // An LLVM text profile may begin with a function named `{…`: an object
    // goes on with a member or ends.
    matches!(rest.find(|b| !b.is_ascii_whitespace()), None | Some(b'"' | b'}'))
}

fn detect_text(data: &[u8]) -> Format {
    let head = &data[..data.len().min(1024)];
    if head.starts_with(b"---") {
        let has = |word: &[u8]| head.windows(word.len()).any(|part| part == word);
        if has(b"HeapProfileRecords") || has(b"DataAccessProfiles") {
            return Format::YamlMemProf;
        }
        if has(b"profile-version") {
            return Format::BoltYaml;
        }
    }
    if looks_like_sample_text(data) { Format::SampleText } else { Format::Text }
}

/// For a sample profile speaks a first line `NAME:TOTAL:HEAD` before an indented
/// line, another such line, or the end; against it anything else, above all the
/// line with nothing but a hash that follows a function of an instrumentation
/// profile, whatever that function is called.
fn looks_like_sample_text(data: &[u8]) -> bool {
    let lines = data.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut lines = lines.filter(|line| !line.is_empty() && line[0] != b'#');
    let Some(first) = lines.next() else { return false };
    let second = lines.next();
    is_sample_head(first) && second.is_none_or(|line| line[0] == b' ' || is_sample_head(line))
}

/// A name and two numbers, with colons between.
fn is_sample_head(line: &[u8]) -> bool {
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let mut parts = line.rsplitn(3, |byte| *byte == b':');
    let numbers = parts.next().is_some_and(is_number) && parts.next().is_some_and(is_number);
    numbers && line[0] != b' ' && parts.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn magics_tell_width_and_byte_order() {
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
    fn text_json_and_rubbish_are_told_apart() {
        assert_eq!(detect(b""), Format::Empty);
        assert_eq!(detect(b"main\n10\n"), Format::Text);
        assert_eq!(detect(b"  {\n \"version\": \"1.0\""), Format::Iprof);
        assert_eq!(detect(b"{closure}\n1\n"), Format::Text);
        assert_eq!(detect(b"\x7fELF\x02\x01\x01\0"), Format::Unknown);
        assert_eq!(detect(b"\x1f\x8b\x08\0"), Format::Gzip);
        assert_eq!(detect(b"---\nHeapProfileRecords:\n"), Format::YamlMemProf);
    }

    #[test]
    fn sample_text_and_instrumentation_text_are_told_apart() {
        let samples = ["foo:10:1\n 1: 5\n", "foo:10:1\nbar:3:0\n", "# comment\n\nfoo:10:1", "[a:1 @ b]:3:4\n 1: 2\n"];
        for text in samples {
            assert_eq!(detect(text.as_bytes()), Format::SampleText, "{text}");
        }
        // A function can be called like the head of a record.
        for text in ["foo:10:1\n123\n1\n5\n", ":ir\nfoo\n1\n", "foo\n 1: 5\n", "a.c:f\n12\n", "foo:10:1\n# hash\n7\n"] {
            assert_eq!(detect(text.as_bytes()), Format::Text, "{text}");
        }
        assert_eq!(detect(b"adcg*704\0\0\0\0\0\0\0\xaa"), Format::SampleGcc);
        assert_eq!(detect(b"adcg*704\0\0\0\0\0\0\0\x01"), Format::Gcda);
    }

    #[test]
    fn pprof_profiles_are_recognised_by_their_first_messages() {
        let head = [0x0a, 4, 0x08, 1, 0x10, 2, 0x12, 4, 0x0a, 2, 1, 2];
        assert_eq!(detect(&head), Format::Pprof);
        // Go's runtime says the time first.
        assert_eq!(detect(&[&[0x48, 0xfb, 0xd3, 0xbf, 0xf9, 0xd6, 0xf5, 0x0e], &head[..]].concat()), Format::Pprof);
        // Cut anywhere behind the first message.
        assert_eq!(detect(&head[..9]), Format::Pprof);
        assert_eq!(detect(&head[..5]), Format::Unknown);
        assert_eq!(detect(&[0x0a, 4, 0x08, 1, 0x08, 2]), Format::Unknown);
        assert_eq!(detect(&[0x0a, 4, 0x08, 1, 0x10, 2, 0x13]), Format::Unknown);
        assert_eq!(detect(b"\n\x04main\n"), Format::Unknown);
    }

    #[test]
    fn sample_profiles_are_recognised() {
        // The first bytes that llvm-profdata 22 writes with --binary and --extbinary.
        assert_eq!(detect(&[0xff, 0xe5, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 0x67, 0x0a]), Format::SampleBinary);
        assert_eq!(
            detect(&[0x84, 0xe4, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 0x67, 0x07]),
            Format::SampleExtBinary
        );
    }
}
