//! Damages a generated file at a position that the report names.

use super::generated::{Checksum, Generated, Lengths};
use super::random::Random;
use crate::ascii::to_hex;
use crate::bytes::{Cursor, Endian, Sink, leb128};
use crate::compat::Compat;
use crate::error::{Error, Result};
use crate::raw::Header;
use crate::raw::layout::Word;
use memchr::memmem;
use serde::Serialize;
use std::ops::Range;

/// A kind of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Damage {
    /// The end of the file is missing.
    Truncate,
    /// One bit is inverted.
    Flip,
    /// A size or a number of entries is too large.
    Lengths,
    /// A FuncHash or a checksum of a control flow graph is another one.
    Checksums,
    /// A name of a function is another one.
    Names,
}

impl Damage {
    const ROWS: [(Self, &'static str); 5] = [
        (Self::Truncate, "truncate"),
        (Self::Flip, "flip"),
        (Self::Lengths, "lengths"),
        (Self::Checksums, "checksums"),
        (Self::Names, "names"),
    ];

    /// The names of all kinds of damage.
    pub const NAMES: &'static [&'static str] = &["truncate", "flip", "lengths", "checksums", "names"];

    /// Returns the kind of damage of this name.
    ///
    /// # Errors
    ///
    /// A usage error that lists all names.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Self::ROWS.iter().find(|row| row.1 == name).map(|row| row.0);
        found.ok_or_else(|| {
            Error::usage(format!("unknown kind of damage {name:?}"))
                .with_hint(format!("kinds: {}", Self::NAMES.join(", ")))
        })
    }

    /// Returns the name, as [`parse`](Self::parse) accepts it.
    pub fn name(self) -> &'static str {
        Self::ROWS.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }
}

/// The position and content of the damage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DamageReport {
    /// The kind of damage, as [`Damage::name`] returns it.
    pub kind: &'static str,
    /// The first changed byte of the uncompressed file; for `truncate` its new size.
    pub offset: u64,
    /// The bytes before the damage in hexadecimal; for `truncate` absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The new bytes in hexadecimal; absent for `truncate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The size of the file before the damage in bytes.
    pub intact_size: u64,
}

/// The header words of a raw profile that count bytes or entries.
const SIZES: [Word; 8] = [
    Word::BinaryIdsSize,
    Word::NumData,
    Word::NumCounters,
    Word::NumBitmapBytes,
    Word::NumUniformCounters,
    Word::NamesSize,
    Word::NumVTables,
    Word::VNamesSize,
];

impl Generated {
    /// Damages the file.
    ///
    /// # Errors
    ///
    /// A usage error if the file has no content that this kind of damage can hit.
    pub fn damage(&mut self, damage: Damage, seed: u64) -> Result<DamageReport> {
        let mut random = Random::of(&[seed, 6]);
        let intact_size = self.bytes.len() as u64;
        let none = || {
            Error::usage(format!("the file has no {} to damage", damage.name()))
                .with_hint("truncate and flip damage every file that is not empty")
        };
        if damage == Damage::Truncate {
            // At least one byte and at most three quarters are left.
            let offset = 1 + random.below(intact_size.saturating_sub(1) * 3 / 4);
            self.bytes.truncate(usize::try_from(offset).unwrap_or(usize::MAX));
            let kind = damage.name();
            return match intact_size {
                0 | 1 => Err(none()),
                _ => Ok(DamageReport { kind, offset, before: None, after: None, intact_size }),
            };
        }
        let (place, after) = self.edit(damage, &mut random).ok_or_else(none)?;
        let before = to_hex(&self.bytes[place.clone()]);
        let report = DamageReport {
            kind: damage.name(),
            offset: place.start as u64,
            before: Some(before),
            after: Some(to_hex(&after)),
            intact_size,
        };
        self.bytes.splice(place, after);
        Ok(report)
    }

    /// Returns the range to replace, and the new bytes.
    fn edit(&self, damage: Damage, random: &mut Random) -> Option<(Range<usize>, Vec<u8>)> {
        match damage {
            Damage::Truncate => None,
            Damage::Flip => {
                let at = random.position(self.bytes.len());
                let bit = random.below(8);
                Some((at..at + 1, vec![self.bytes.get(at)? ^ (1 << bit)]))
            }
            Damage::Names => {
                let place = self.find(self.landmarks.name.as_deref()?)?;
                let at = place.start + random.position(place.len());
                // Letters and digits become others, so that text stays text.
                Some((at..at + 1, vec![self.bytes.get(at)? ^ 1]))
            }
            Damage::Checksums => {
                let place = self.checksum()?;
                let mut after = self.bytes[place.clone()].to_vec();
                *after.first_mut()? ^= 1;
                Some((place, after))
            }
            Damage::Lengths => self.lengths(random),
        }
    }

    fn find(&self, needle: &[u8]) -> Option<Range<usize>> {
        let at = memmem::find(&self.bytes, needle)?;
        Some(at..at + needle.len())
    }

    fn checksum(&self) -> Option<Range<usize>> {
        match self.landmarks.checksum.as_ref()? {
            Checksum::Bytes(bytes) => self.find(bytes),
            Checksum::Digits(digits) => self.find(digits.as_bytes()),
            Checksum::Line(digits) => {
                let line = self.find(format!("\n{digits}\n").as_bytes())?;
                Some(line.start + 1..line.end - 1)
            }
        }
    }

    fn lengths(&self, random: &mut Random) -> Option<(Range<usize>, Vec<u8>)> {
        let bytes = &self.bytes;
        match self.landmarks.lengths {
            Lengths::None => None,
            Lengths::RawHeader(endian) => {
                let header = Header::read(bytes, 0, Compat::Profbridge).ok()?;
                let sizes: Vec<(usize, u64)> = header
                    .words()
                    .enumerate()
                    .filter(|(_, (word, value))| SIZES.contains(word) && *value > 0)
                    .map(|(at, (_, value))| (16 + 8 * at, value))
                    .collect();
                let (at, value) = *sizes.get(random.position(sizes.len()))?;
                Some((at..at + 8, endian.u64_bytes(self.too_large(value)).to_vec()))
            }
            Lengths::IndexedHeader => self.word(crate::indexed::HASH_OFFSET_AT),
            Lengths::KeyAndData => {
                let name = self.landmarks.name.as_deref()?;
                let key = |at: &usize| at.checked_sub(16).and_then(|at| self.number_at(at)) == Some(name.len() as u64);
                let at = memmem::find_iter(bytes, name).find(key)?;
                self.word(at - 16 + 8 * random.position(2))
            }
            Lengths::LineAfterChecksum => {
                let place = self.checksum()?;
                let start = place.end + memmem::find(&bytes[place.end..], b"Num Counters:\n")? + 14;
                let end = start + memchr::memchr(b'\n', &bytes[start..])?;
                let count: u64 = std::str::from_utf8(&bytes[start..end]).ok()?.parse().ok()?;
                Some((start..end, self.too_large(count).to_string().into_bytes()))
            }
            Lengths::NameTable(count) => {
                let name = self.find(self.landmarks.name.as_deref()?)?;
                Some((self.name_count(count, name.start)?, uleb(self.too_large(count))))
            }
            Lengths::Messages => {
                let places = messages(bytes);
                let place = places.get(random.position(places.len()))?.clone();
                let mut cursor = Cursor::new(&bytes[place.clone()], 0, Endian::Little, "message");
                let size = leb128::read_uleb128(&mut cursor, "size").ok()?;
                Some((place, uleb(self.too_large(size))))
            }
        }
    }

    /// A number that is larger than the file has entries or bytes.
    fn too_large(&self, number: u64) -> u64 {
        number.saturating_add(self.bytes.len() as u64)
    }

    fn number_at(&self, at: usize) -> Option<u64> {
        self.bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }

    fn word(&self, at: usize) -> Option<(Range<usize>, Vec<u8>)> {
        let value = self.number_at(at)?;
        Some((at..at + 8, self.too_large(value).to_le_bytes().to_vec()))
    }

    /// Finds the number of names, after which that many names follow, each with a zero byte at its end.
    fn name_count(&self, count: u64, name: usize) -> Option<Range<usize>> {
        let number = uleb(count);
        let before = self.bytes.get(..name)?;
        let starts_table = |at: &usize| {
            let names = self.bytes[at + number.len()..].split_inclusive(|byte| *byte == 0);
            let names = names.take(usize::try_from(count).unwrap_or(usize::MAX));
            let mut start = at + number.len();
            for text in names {
                if start == name {
                    return true;
                }
                let is_name =
                    matches!(text, [first @ .., 0] if !first.is_empty() && first.iter().all(u8::is_ascii_graphic));
                if !is_name {
                    return false;
                }
                start += text.len();
            }
            false
        };
        memmem::find_iter(before, &number).find(starts_table).map(|at| at..at + number.len())
    }
}

fn uleb(number: u64) -> Vec<u8> {
    let mut sink = Sink::new(Endian::Little);
    leb128::write_uleb128(&mut sink, number);
    sink.as_slice().to_vec()
}

/// Returns the positions of the sizes of the top-level messages in a pprof.
fn messages(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut cursor = Cursor::new(bytes, 0, Endian::Little, "pprof");
    let mut places = Vec::new();
    while let Ok(tag) = leb128::read_uleb128(&mut cursor, "tag") {
        let start = bytes.len() - cursor.rest().len();
        let Ok(size) = leb128::read_uleb128(&mut cursor, "size") else { break };
        if tag & 7 == 2 {
            places.push(start..bytes.len() - cursor.rest().len());
            if cursor.take("message", size).is_err() {
                break;
            }
        }
    }
    places
}
