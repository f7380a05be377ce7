//! Lines of `perf script` about mappings.

use crate::digits::parse_hex;
use crate::error::{Error, Result};
use regex::bytes::Regex;

/// The two forms of a mapping.
pub(super) struct Patterns {
    newer: Regex,
    older: Regex,
}

impl Patterns {
    pub(super) fn new() -> Result<Self> {
        let compile = |pattern: &str| Regex::new(pattern).map_err(|error| Error::malformed(error.to_string()));
        Ok(Self {
            newer: compile(
                r"(?s-u)PERF_RECORD_MMAP2 (-?[0-9]+)/[0-9]+: \[(0x[a-f0-9]+)\((0x[a-f0-9]+)\) @ (0x[a-f0-9]+|0) .*\]: ([-a-z]+) (.*)",
            )?,
            older: compile(
                r"(?s-u)PERF_RECORD_MMAP (-?[0-9]+)/[0-9]+: \[(0x[a-f0-9]+)\((0x[a-f0-9]+)\) @ (0x[a-f0-9]+|0)\]: ([-a-z]+) (.*)",
            )?,
        })
    }
}

/// The fields of a mapping.
pub(super) struct MappingLine<'t> {
    pub(super) process: i64,
    pub(super) start: u64,
    pub(super) len: u64,
    pub(super) offset: u64,
    pub(super) protection: &'t [u8],
    pub(super) path: &'t [u8],
}

impl Patterns {
    pub(super) fn mapping<'t>(&self, line: &'t [u8]) -> Option<MappingLine<'t>> {
        let is_newer = memchr::memmem::find(line, b"PERF_RECORD_MMAP2 ").is_some();
        let fields = if is_newer { &self.newer } else { &self.older }.captures(line)?;
        let field = |at| fields.get(at).map_or(&b""[..], |field| field.as_bytes());
        let number = |at| {
            let text: &[u8] = field(at);
            parse_hex(text.strip_prefix(b"0x").unwrap_or(text)).unwrap_or(0)
        };
        let process = std::str::from_utf8(field(1)).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        Some(MappingLine {
            process,
            start: number(2),
            len: number(3),
            offset: number(4),
            protection: field(5),
            path: field(6),
        })
    }
}
