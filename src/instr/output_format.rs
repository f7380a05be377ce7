//! Formats of outputs as people write them.
//!
//! `indexed`, `text` or `raw`, then what differs from the usual: a version
//! (`v9`), for raw ones an architecture (`32be`), and for whom (`for rustc-1.75`).

use crate::bytes::{Encoding, Endian, PointerWidth};
use crate::error::{Error, Result};
use crate::indexed;
use crate::instr::encode::OutputFormat;
use crate::model::Release;
use crate::raw::layout;
use crate::raw::write::parse_architecture;
use std::fmt;
use std::str::FromStr;

/// Says all of it: `indexed v9 for LLVM 16`, `text for LLVM 16`, `raw v8 64le`.
impl fmt::Display for OutputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Indexed { release, version } => write!(f, "indexed v{version} for {release}"),
            Self::Text { release } => write!(f, "text for {release}"),
            Self::Raw { encoding: Encoding { endian, pointer, version } } => {
                let order = if *endian == Endian::Little { "le" } else { "be" };
                write!(f, "raw v{version} {}{order}", 8 * pointer.bytes())
            }
        }
    }
}

/// Reads `indexed`, `text` or `raw`, and what a format displays as. What is not
/// said is as [`Release::DEFAULT`] has it, on a machine of 64 bits and
/// little-endian.
///
/// ```
/// use profbridge::OutputFormat;
/// use profbridge::instr::Release;
///
/// assert_eq!("indexed".parse::<OutputFormat>()?, OutputFormat::default());
/// assert_eq!("indexed for llvm-16".parse::<OutputFormat>()?, OutputFormat::for_release(Release(16)));
/// assert_eq!("text for rustc-1.75".parse::<OutputFormat>()?.to_string(), "text for LLVM 17");
/// # Ok::<(), profbridge::Error>(())
/// ```
impl FromStr for OutputFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (format, release) = match text.split_once(" for ") {
            Some((format, toolchain)) => (format, toolchain.parse()?),
            None => (text, Release::DEFAULT),
        };
        let mut words = format.split_whitespace();
        let name = words.next().unwrap_or_default();
        let mut words = words.peekable();
        let version = words.next_if(|word| word.starts_with('v')).map(|word| version(name, word)).transpose()?;
        let made = match (name, version) {
            ("indexed", None) => Self::for_release(release),
            ("indexed", Some(version)) => Self::Indexed { release, version },
            ("text", None) => Self::Text { release },
            ("raw", _) => {
                let (pointer, endian) =
                    words.next().map_or(Ok((PointerWidth::Bits64, Endian::Little)), parse_architecture)?;
                let version = version.or(release.raw_version()).unwrap_or(layout::NEWEST_VERSION);
                Self::Raw { encoding: Encoding { endian, pointer, version } }
            }
            _ => return Err(unknown(text)),
        };
        if words.next().is_some() { Err(unknown(text)) } else { Ok(made) }
    }
}

/// The number of `v9`, if the format has such a version.
fn version(format: &str, word: &str) -> Result<u32> {
    let number = word[1..].parse().ok();
    let known = number.filter(|number| match format {
        "raw" => layout::is_known_version(*number),
        _ => (1..=indexed::NEWEST_VERSION).contains(number),
    });
    known.ok_or_else(|| Error::usage(format!("there is no version {word} of the format {format:?}")))
}

fn unknown(text: &str) -> Error {
    Error::usage(format!("unknown format {text:?}: write indexed, text or raw, and for whom, as in `text for llvm-16`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displayed_formats_parse_back() {
        let release = Release(16);
        let encoding = Encoding { endian: Endian::Big, pointer: PointerWidth::Bits32, version: 8 };
        for (format, text) in [
            (OutputFormat::Indexed { release, version: 9 }, "indexed v9 for LLVM 16"),
            (OutputFormat::Indexed { release: Release(22), version: 11 }, "indexed v11 for LLVM 22"),
            (OutputFormat::Text { release }, "text for LLVM 16"),
            (OutputFormat::Raw { encoding }, "raw v8 32be"),
        ] {
            assert_eq!(format.to_string(), text);
            assert_eq!(text.parse::<OutputFormat>().unwrap(), format);
        }
        let raw = "raw for llvm-17".parse::<OutputFormat>().unwrap();
        assert_eq!(raw.to_string(), "raw v8 64le");
    }

    #[test]
    fn unknown_format_names_are_errors() {
        for text in [
            "",
            "yaml",
            "indexed v99",
            "text v3",
            "raw v6",
            "raw 16le",
            "indexed 64le",
            "text for gcc-12",
            "raw v8 64le 64le",
        ] {
            assert!(text.parse::<OutputFormat>().is_err(), "{text:?}");
        }
    }
}
