//! Reading a profile of any encoding.

use super::profile::SampleProfile;
use super::rules::Rules;
use super::{binary, ext, gcc, text};
use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Cursor, Endian};
use crate::error::{ErrorKind, Result};
use crate::limits::Limits;
use std::fmt;

/// How a sample profile is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Encoding {
    /// Lines of text.
    Text,
    /// The plain binary.
    Binary,
    /// Sections behind a table.
    ExtBinary,
    /// The binary with hashes of LLVM 16 and earlier.
    CompactBinary,
    /// What GCC's AutoFDO reads.
    Gcc,
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "sample profile, text",
            Self::Binary => "sample profile, binary",
            Self::ExtBinary => "sample profile, extensible binary",
            Self::CompactBinary => "sample profile, compact binary",
            Self::Gcc => "sample profile of GCC",
        })
    }
}

/// How profiles are read.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The release whose rules hold.
    pub rules: Rules,
    /// Bounds.
    pub limits: Limits,
    /// Discriminators of text and plain binaries have bits of flow-sensitive
    /// passes; extensible binaries say so themselves.
    pub flow_sensitive: bool,
    /// How many low bits of discriminators of flow-sensitive profiles are kept:
    /// 8, 14, 20, 26 or 32.
    pub discriminator_bits: u32,
    /// Read what only other releases than that of `rules` read as it is meant:
    /// compact binaries, version 104, virtual tables, several records of one
    /// name. Which names are hashes still goes by `rules`.
    pub every_release: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            rules: Rules::default(),
            limits: Limits::default(),
            flow_sensitive: false,
            discriminator_bits: 32,
            every_release: true,
        }
    }
}

impl ReadOptions {
    /// Whether version 104 is read.
    pub(super) fn reads_104(&self) -> bool {
        self.every_release || self.rules.release().0 >= 23
    }

    /// Whether lines and lists of virtual tables are read.
    pub(super) fn reads_vtables(&self) -> bool {
        self.every_release || self.rules.knows_vtables()
    }

    /// Whether a second record of a name adds to the first one.
    pub(super) fn adds_repeated_records(&self) -> bool {
        self.every_release || self.rules.adds_repeated_records()
    }

    /// Whether the flag of pre-inlined extensible binaries counts.
    pub(super) fn reads_preinlined_flag(&self) -> bool {
        self.every_release || self.rules.keeps_preinlined_flag()
    }

    /// Bits of discriminators that are kept.
    pub(super) fn discriminator_mask(&self, flow_sensitive: bool) -> u32 {
        if flow_sensitive && self.discriminator_bits < 32 { (1 << self.discriminator_bits) - 1 } else { u32::MAX }
    }
}

/// The encoding of a sample profile; `None` when it is none.
pub fn detect(file: &[u8]) -> Option<Encoding> {
    let head = &file[..file.len().min(16)];
    let mut cursor = Cursor::new(head, 0, Endian::Little, "header");
    match read_uleb128(&mut cursor, "magic") {
        Ok(binary::MAGIC) => return Some(Encoding::Binary),
        Ok(ext::MAGIC) => return Some(Encoding::ExtBinary),
        Ok(binary::COMPACT_MAGIC) => return Some(Encoding::CompactBinary),
        _ => {}
    }
    if gcc::is_gcc(file) {
        return Some(Encoding::Gcc);
    }
    text::is_text(file).then_some(Encoding::Text)
}

/// Reads a profile.
///
/// # Errors
///
/// Unrecognized format for what is no sample profile; truncated, malformed and
/// so on for what is a damaged one.
pub fn read(file: &[u8], options: &ReadOptions) -> Result<SampleProfile> {
    let mut profile = SampleProfile::default();
    read_into(file, options, &mut profile)?;
    Ok(profile)
}

/// As [`read`], into an empty profile, which tells what the file stated of its
/// kind also when it cannot be read to the end.
///
/// # Errors
///
/// As [`read`].
pub fn read_into(file: &[u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<()> {
    let encoding = detect(file).filter(|encoding| {
        *encoding != Encoding::CompactBinary || options.every_release || options.rules.has_compact_binary()
    });
    let Some(encoding) = encoding else { return Err(ErrorKind::UnrecognizedFormat.into()) };
    let done = match encoding {
        Encoding::Text => text::read(file, options, profile),
        Encoding::Binary => binary::read(file, options, profile),
        Encoding::ExtBinary => ext::read(file, options, profile),
        Encoding::CompactBinary => binary::read_compact(file, options, profile),
        Encoding::Gcc => gcc::read(file, options, profile),
    };
    done.map_err(|error| error.in_format(encoding.to_string()))
}
