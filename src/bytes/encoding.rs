//! Byte order and pointer width as data.

use byteorder::{BigEndian, ByteOrder, LittleEndian};
use std::fmt;

/// Byte order of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Endian {
    /// Least significant byte first.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

impl Endian {
    /// The order of this machine.
    pub(crate) const NATIVE: Self = if cfg!(target_endian = "little") { Self::Little } else { Self::Big };

    /// Decodes 8 bytes.
    #[inline]
    pub(crate) fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => LittleEndian::read_u64(&bytes),
            Self::Big => BigEndian::read_u64(&bytes),
        }
    }

    /// Decodes 4 bytes.
    #[inline]
    pub(crate) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => LittleEndian::read_u32(&bytes),
            Self::Big => BigEndian::read_u32(&bytes),
        }
    }

    /// Decodes 2 bytes.
    #[inline]
    pub(crate) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => LittleEndian::read_u16(&bytes),
            Self::Big => BigEndian::read_u16(&bytes),
        }
    }

    /// Encodes 8 bytes.
    #[inline]
    pub(crate) fn u64_bytes(self, value: u64) -> [u8; 8] {
        let mut bytes = [0; 8];
        match self {
            Self::Little => LittleEndian::write_u64(&mut bytes, value),
            Self::Big => BigEndian::write_u64(&mut bytes, value),
        }
        bytes
    }

    /// Encodes 4 bytes.
    #[inline]
    pub(crate) fn u32_bytes(self, value: u32) -> [u8; 4] {
        let mut bytes = [0; 4];
        match self {
            Self::Little => LittleEndian::write_u32(&mut bytes, value),
            Self::Big => BigEndian::write_u32(&mut bytes, value),
        }
        bytes
    }

    /// Encodes 2 bytes.
    #[inline]
    pub(crate) fn u16_bytes(self, value: u16) -> [u8; 2] {
        let mut bytes = [0; 2];
        match self {
            Self::Little => LittleEndian::write_u16(&mut bytes, value),
            Self::Big => BigEndian::write_u16(&mut bytes, value),
        }
        bytes
    }

    /// Encodes words back to back; `bytes` has 8 bytes per word.
    pub(crate) fn write_words(self, words: &[u64], bytes: &mut [u8]) {
        match self {
            Self::Little => LittleEndian::write_u64_into(words, bytes),
            Self::Big => BigEndian::write_u64_into(words, bytes),
        }
    }
}

impl fmt::Display for Endian {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Little => "little-endian",
            Self::Big => "big-endian",
        })
    }
}

/// Width of the `ptr` fields of a raw profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PointerWidth {
    /// 4 bytes.
    Bits32,
    /// 8 bytes.
    #[default]
    Bits64,
}

impl PointerWidth {
    /// Bytes of a pointer: 4 or 8.
    pub fn bytes(self) -> usize {
        match self {
            Self::Bits32 => 4,
            Self::Bits64 => 8,
        }
    }

    /// `value` modulo 2^32 or 2^64.
    #[inline]
    pub(crate) fn wrap(self, value: u64) -> u64 {
        match self {
            Self::Bits32 => value & 0xffff_ffff,
            Self::Bits64 => value,
        }
    }
}

/// The layout of numbers in a raw profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Encoding {
    /// Byte order of every number in the file.
    pub endian: Endian,
    /// Width of pointer fields; header words and counters are 64 bits always.
    pub pointer: PointerWidth,
    /// Format version, 1 to 11.
    pub version: u32,
}
