//! The known formats and their families.

use super::other_formats::OtherFormat;
use crate::bytes::{Endian, PointerWidth};
use crate::compression::Compression;
use crate::error::{Error, ErrorKind};
use crate::family::Family;
use crate::hint::Hint;
use std::fmt;

/// A known format. Not all of them can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// No bytes.
    Empty,
    /// LLVM raw profile (`.profraw`).
    Raw {
        /// The byte order of the file.
        endian: Endian,
        /// The size of its pointer fields.
        pointer: PointerWidth,
    },
    /// LLVM indexed profile (`.profdata`).
    Indexed,
    /// LLVM text profile (`.proftext`).
    Text,
    /// GraalVM iprof (JSON).
    Iprof,
    /// A compressed stream, with content of another format.
    Compressed(Compression),
    /// Java Flight Recorder recording.
    Jfr,
    /// Collapsed stacks of async-profiler, or folded stacks of perf.
    Collapsed,
    /// LLVM raw memory profile.
    RawMemProf,
    /// LLVM memory profile as YAML.
    YamlMemProf,
    /// LLVM sample profile, plain binary.
    SampleBinary,
    /// LLVM sample profile, extensible binary.
    SampleExtBinary,
    /// LLVM sample profile, compact binary of LLVM 8 to 16.
    SampleCompactBinary,
    /// LLVM sample profile, text.
    SampleText,
    /// Sample profile of GCC's AutoFDO.
    SampleGcc,
    /// A format of another tool, which is not read.
    Other(OtherFormat),
    /// Linux perf recording.
    PerfData,
    /// pprof profile (`profile.proto`), decompressed.
    Pprof,
    /// A partial merge that does not begin with a profile. Its footer identifies it.
    Partial,
    /// JSON that is not an iprof.
    OtherJson,
    /// Text that is not a profile.
    OtherText,
    /// An unknown format.
    Unknown,
}

impl Format {
    /// Returns the family of a readable profile; `None` for everything else.
    pub fn family(self) -> Option<Family> {
        match self {
            Self::Raw { .. } | Self::Indexed | Self::Text => Some(Family::Instr),
            Self::SampleBinary
            | Self::SampleExtBinary
            | Self::SampleCompactBinary
            | Self::SampleText
            | Self::SampleGcc => Some(Family::SampleProf),
            Self::RawMemProf | Self::YamlMemProf => Some(Family::MemProf),
            Self::Iprof => Some(Family::Iprof),
            Self::Jfr | Self::PerfData | Self::Collapsed | Self::Pprof => Some(Family::Stacks),
            _ => None,
        }
    }

    /// Returns the stable name for programs: `raw`, `sample-text`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Raw { .. } => "raw",
            Self::Indexed => "indexed",
            Self::Text => "text",
            Self::Iprof => "iprof",
            Self::Compressed(compression) => compression.name(),
            Self::Jfr => "jfr",
            Self::Collapsed => "collapsed",
            Self::RawMemProf => "memprof-raw",
            Self::YamlMemProf => "memprof-yaml",
            Self::SampleBinary => "sample-binary",
            Self::SampleExtBinary => "sample-extbinary",
            Self::SampleCompactBinary => "sample-compact",
            Self::SampleText => "sample-text",
            Self::SampleGcc => "sample-gcc",
            Self::Other(other) => other.name(),
            Self::PerfData => "perf-data",
            Self::Pprof => "pprof",
            Self::Partial => "partial",
            Self::OtherJson => "other-json",
            Self::OtherText => "other-text",
            Self::Unknown => "unknown",
        }
    }

    /// Returns true for a sample profile in any encoding.
    pub fn is_sample_profile(self) -> bool {
        self.family() == Some(Family::SampleProf)
    }

    /// Returns true for a file that no family reads, whether its format is known or not.
    pub(crate) fn is_unread(self) -> bool {
        matches!(self, Self::Other(_) | Self::OtherText | Self::OtherJson | Self::Unknown)
    }

    /// Returns the error for a file that is not a profile, with advice; `None` for formats that are read.
    pub fn not_a_profile(self) -> Option<Error> {
        let hint = match self {
            Self::Other(other) => {
                let error = Error::new(ErrorKind::NotAProfile { what: other.words() });
                return Some(match other {
                    OtherFormat::BranchRecords | OtherFormat::Unsymbolized => error.with_hint(Hint::NameTheProgram),
                    _ => error.with_hint(other.advice()),
                });
            }
            Self::OtherText => {
                "the file is text, but not a profile: LLVM text has a function hash on the line after a function name, \
                 and output of `perf script` has the fields comm, tid, ip and sym"
            }
            Self::OtherJson => "the file is JSON, but not an iprof",
            Self::Unknown => "pass a profile; its first bytes identify the format",
            _ => return None,
        };
        Some(Error::new(ErrorKind::UnrecognizedFormat).with_hint(hint))
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
            Self::Compressed(compression) => return compression.fmt(f),
            Self::Jfr => "Flight Recorder recording",
            Self::Collapsed => "collapsed stacks",
            Self::RawMemProf => "LLVM raw memory profile",
            Self::YamlMemProf => "LLVM memory profile in YAML",
            Self::SampleBinary => "LLVM sample profile, binary",
            Self::SampleExtBinary => "LLVM sample profile, extensible binary",
            Self::SampleCompactBinary => "LLVM sample profile, compact binary",
            Self::SampleText => "LLVM sample profile, text",
            Self::SampleGcc => "GCC sample profile",
            Self::Other(other) => other.words(),
            Self::PerfData => "Linux perf recording",
            Self::Pprof => "pprof profile",
            Self::Partial => "partial merge",
            Self::OtherJson => "JSON file that is not a profile",
            Self::OtherText => "text file that is not a profile",
            Self::Unknown => "unknown format",
        };
        f.write_str(words)
    }
}
