//! Generated files, and the positions that can be damaged.

use crate::bytes::Endian;
use std::collections::BTreeMap;

/// A generated file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Generated {
    /// The file's bytes.
    pub bytes: Vec<u8>,
    /// Totals of the model from which the file was written, by name. No reader was involved.
    pub totals: BTreeMap<&'static str, u64>,
    pub(super) landmarks: Landmarks,
}

/// Adds to a total.
pub(super) fn add(totals: &mut BTreeMap<&'static str, u64>, name: &'static str, count: u64) {
    let sum = totals.entry(name).or_default();
    *sum = sum.saturating_add(count);
}

/// Content of a file that damage can hit, as bytes of the file.
#[derive(Debug, Clone, Default)]
pub(super) struct Landmarks {
    /// The name of a function as the file stores it.
    pub(super) name: Option<Vec<u8>>,
    /// A FuncHash or checksum.
    pub(super) checksum: Option<Checksum>,
    /// The position of a size or of a number of entries.
    pub(super) lengths: Lengths,
}

/// A FuncHash or checksum as the file stores it.
#[derive(Debug, Clone)]
pub(super) enum Checksum {
    /// Binary.
    Bytes(Vec<u8>),
    /// Decimal digits on a line of their own.
    Line(String),
    /// Decimal digits.
    Digits(String),
}

/// The way to a size or number of entries.
#[derive(Debug, Clone, Default)]
pub(super) enum Lengths {
    /// The format has none.
    #[default]
    None,
    /// Words of the header of a raw profile.
    RawHeader(Endian),
    /// The hash table offset of an indexed profile.
    IndexedHeader,
    /// Sizes of key and data before a name in the hash table of an indexed profile.
    KeyAndData,
    /// The number of counters in a text profile, two lines after the FuncHash.
    LineAfterChecksum,
    /// The number of names before the first name in a binary sample profile, which has this many.
    NameTable(u64),
    /// The sizes of the messages of a pprof.
    Messages,
}
