//! Encodings, and how they are read.

use super::rules::Rules;
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
    /// How many symbols of a file's list are read, from its first on.
    pub most_symbols: usize,
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
            most_symbols: usize::MAX,
            every_release: true,
        }
    }
}

impl ReadOptions {
    /// Whether version 104 is read.
    pub(super) fn reads_104(&self) -> bool {
        self.every_release || self.rules.writes_104()
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
