//! Which format bytes are in, by their beginning.

use crate::bytes::{Endian, PointerWidth};
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
    /// GCC coverage counts (`.gcda`).
    Gcda,
    /// BOLT profile (`.fdata`, YAML form included).
    BoltYaml,
    /// Linux perf recording.
    PerfData,
    /// None of these.
    Unknown,
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
            Self::Gcda => "GCC coverage counts",
            Self::BoltYaml => "BOLT profile in YAML",
            Self::PerfData => "Linux perf recording",
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
    const PREFIXES: [(&[u8], Format); 7] = [
        (&[0x1f, 0x8b], Format::Gzip),
        (b"FLR\0", Format::Jfr),
        (&SAMPLE_BINARY, Format::SampleBinary),
        (&SAMPLE_EXT_BINARY, Format::SampleExtBinary),
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
    Format::Unknown
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
        if has(b"HeapProfileRecords") {
            return Format::YamlMemProf;
        }
        if has(b"profile-version") {
            return Format::BoltYaml;
        }
    }
    Format::Text
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
    fn sample_profiles_are_recognised() {
        // The first bytes that llvm-profdata 22 writes with --binary and --extbinary.
        assert_eq!(detect(&[0xff, 0xe5, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 0x67, 0x0a]), Format::SampleBinary);
        assert_eq!(
            detect(&[0x84, 0xe4, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 0x67, 0x07]),
            Format::SampleExtBinary
        );
    }
}
