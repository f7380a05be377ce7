//! Counters as they stand in a file, decoded when they are asked for.

use crate::bytes::Endian;

/// The counters of one function, borrowed from the file.
#[derive(Debug, Clone, Copy)]
pub enum Counters<'data> {
    /// Counts of 64 bits.
    Words(&'data [[u8; 8]], Endian),
    /// Byte coverage: 0 in the file means executed.
    Bytes(&'data [u8]),
}

impl<'data> Counters<'data> {
    /// Number of counters.
    pub fn len(&self) -> usize {
        match self {
            Self::Words(words, _) => words.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The counts in the order of the profile, decoded when they are asked
    /// for, so the file need not be aligned. With byte coverage 1 for executed.
    pub fn iter(&self) -> impl Iterator<Item = u64> + 'data {
        let (words, bytes, endian) = match *self {
            Self::Words(words, endian) => (words, &[][..], endian),
            Self::Bytes(bytes) => (&[][..], bytes, Endian::Little),
        };
        words.iter().map(move |word| endian.u64(*word)).chain(bytes.iter().map(|byte| u64::from(*byte == 0)))
    }

    /// The counts as they stand in the file, where this machine can use them there.
    pub(crate) fn in_place(&self) -> Option<&'data [u64]> {
        match *self {
            Self::Words(words, Endian::NATIVE) => bytemuck::try_cast_slice(words.as_flattened()).ok(),
            _ => None,
        }
    }

    /// Appends the counts to `counts`.
    pub fn append_to(&self, counts: &mut Vec<u64>) {
        match *self {
            Self::Words(words, Endian::Little) => counts.extend(words.iter().map(|word| u64::from_le_bytes(*word))),
            Self::Words(words, Endian::Big) => counts.extend(words.iter().map(|word| u64::from_be_bytes(*word))),
            Self::Bytes(bytes) => counts.extend(bytes.iter().map(|byte| u64::from(*byte == 0))),
        }
    }
}

/// A function's timestamp of first execution and its counters, apart.
#[derive(Debug, Clone, Copy)]
pub struct TimedCounters<'data> {
    /// Sequence number of the function's first call, from 1; `None` when it
    /// was never called or the profile is not temporal.
    pub timestamp: Option<u64>,
    /// The counters proper.
    pub counters: Counters<'data>,
}
