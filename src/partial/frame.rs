//! The frame of a partial merge: a profile, a state, and a footer with their lengths.

use crate::bytes::{Cursor, Endian, Sink};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::memory::{self, Buffer, HOLD_INFLATED, HOLD_OUTPUT};
use flate2::read::ZlibDecoder;
use flate2::{Compression, write::ZlibEncoder};
use std::fmt;
use std::io::{Read, Write};
use xxhash_rust::xxh3::xxh3_64;

/// The last bytes of a partial merge.
pub const MAGIC: [u8; 8] = *b"\xffpbpart\x81";

/// The version that is written. Version 1, which has no digests of inputs, is read as well.
const VERSION: u32 = 2;

/// The size of the footer in bytes.
pub const FOOTER_BYTES: usize = 6 * 8 + 2 * 4 + MAGIC.len();

/// The profile family of a partial merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// LLVM instrumentation profiles.
    Instr = 1,
    /// LLVM sample profiles.
    SampleProf = 2,
    /// GraalVM iprof.
    Iprof = 3,
    /// Sampled stacks.
    Stacks = 4,
}

impl Family {
    const ALL: [Self; 4] = [Self::Instr, Self::SampleProf, Self::Iprof, Self::Stacks];

    /// Returns zlib's level for the state.
    fn level(self) -> Compression {
        match self {
            // Takes a third of the time of zlib's default level, and the result is hardly larger.
            Self::Instr | Self::SampleProf => Compression::new(3),
            // The stored inputs are compressed.
            Self::Iprof | Self::Stacks => Compression::none(),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Instr => "instrumentation profiles",
            Self::SampleProf => "sample profiles",
            Self::Iprof => "iprof files",
            Self::Stacks => "sampled stacks",
        })
    }
}

/// Returns the length of the document before the state of a partial merge, from the last bytes and the length of the
/// file; `None` for any other file, and for families whose readers ignore bytes after a profile.
pub(crate) fn document_len(end: &[u8], file_len: u64) -> Option<u64> {
    let footer = end.last_chunk::<FOOTER_BYTES>().filter(|footer| footer.ends_with(&MAGIC))?;
    let word = |at: usize| Some(u64::from_le_bytes(footer[at..at + 8].try_into().ok()?));
    let (profile_len, stored_len) = (word(0)?, word(8)?);
    let ends_at_a_document = matches!(Frame::family_of_footer(footer)?, Family::Iprof | Family::Stacks);
    let adds_up = profile_len.checked_add(stored_len)?.checked_add(FOOTER_BYTES as u64)? == file_len;
    (ends_at_a_document && adds_up).then_some(profile_len)
}

/// The decoded parts of a partial merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame<'data> {
    /// The profile that other tools read; empty for families without one.
    pub profile: &'data [u8],
    /// The family of the inputs.
    pub family: Family,
    /// The producers of the inputs, in one word whose meaning depends on the family. It can be read without the state.
    pub origins: u64,
    /// The state, decompressed.
    pub state: Vec<u8>,
}

/// Appends a state and its footer to a profile.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub fn append(profile: Vec<u8>, family: Family, origins: u64, state: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Buffer::default(), family.level());
    let stored = encoder.write_all(state).and_then(|()| encoder.finish());
    let stored = stored.map_err(|error| Error::io(HOLD_OUTPUT, error))?.0;
    let profile_hash = xxh3_64(&profile) ^ origins.rotate_left(32);
    let profile_len = profile.len() as u64;
    let mut sink = Sink::onto(profile, Endian::Little);
    sink.bytes(&stored);
    let lengths = [profile_len, stored.len() as u64, state.len() as u64];
    sink.u64s(&lengths);
    sink.u64s(&[profile_hash, xxh3_64(&stored), origins]);
    sink.u32(family as u32);
    sink.u32(VERSION);
    sink.bytes(&MAGIC);
    Ok(sink.into_bytes())
}

impl<'data> Frame<'data> {
    /// Returns true if a file ends like a partial merge.
    pub(crate) fn is_at_end_of(data: &[u8]) -> bool {
        data.len() >= FOOTER_BYTES && data.ends_with(&MAGIC)
    }

    /// Returns the origins in the footer of a partial merge; `None` for other bytes.
    pub(crate) fn origins_of_footer(end: &[u8]) -> Option<u64> {
        let footer = end.last_chunk::<FOOTER_BYTES>().filter(|footer| footer.ends_with(&MAGIC))?;
        let word = footer[40..48].try_into().ok()?;
        Some(u64::from_le_bytes(word))
    }

    /// Returns the family in the footer of a partial merge; `None` for other bytes and for an unknown family.
    pub(crate) fn family_of_footer(end: &[u8]) -> Option<Family> {
        let footer = end.last_chunk::<FOOTER_BYTES>().filter(|footer| footer.ends_with(&MAGIC))?;
        let number = u32::from_le_bytes(footer[48..52].try_into().ok()?);
        Family::ALL.into_iter().find(|family| *family as u32 == number)
    }

    /// Returns true if bytes end like a partial merge without a profile at its start.
    pub(crate) fn is_bare(data: &[u8]) -> bool {
        Self::is_at_end_of(data) && data[data.len() - FOOTER_BYTES..].starts_with(&[0; 8])
    }

    /// Splits a partial merge into its parts; `None` for any other file.
    ///
    /// # Errors
    ///
    /// An unsupported version; bad header if the lengths contradict the file; malformed if a checksum does not match;
    /// limit exceeded for a state above [`Limits::inflated_bytes`]; uncompress failed.
    pub fn find(data: &'data [u8], limits: &Limits) -> Result<Option<Self>> {
        if !Self::is_at_end_of(data) {
            return Ok(None);
        }
        let (content, footer) = data.split_at(data.len() - FOOTER_BYTES);
        let mut cursor = Cursor::new(footer, content.len() as u64, Endian::Little, "footer of a partial merge");
        let [profile_len, stored_len, state_len] =
            [cursor.u64("profile length")?, cursor.u64("state length")?, cursor.u64("inflated length")?];
        let [profile_hash, stored_hash] = [cursor.u64("profile checksum")?, cursor.u64("state checksum")?];
        let origins = cursor.u64("origins")?;
        let family = cursor.u32("family")?;
        let version = cursor.u32("version")?;
        if !(1..=VERSION).contains(&version) {
            let detail = format!("supported versions are 1 to {VERSION}");
            return Err(cursor.place(Error::new(ErrorKind::UnsupportedVersion { found: version.into(), detail })));
        }
        let known = Family::ALL.into_iter().find(|known| *known as u32 == family);
        let family = known.ok_or_else(|| cursor.place(Error::bad_header(format!("unknown family {family}"))))?;
        if profile_len.checked_add(stored_len) != Some(content.len() as u64) {
            let detail = format!(
                "the profile has {profile_len} and the state {stored_len} bytes, but the file has {} before its footer",
                content.len()
            );
            return Err(cursor.place(Error::bad_header(detail)).with_hint(CUT));
        }
        let (profile, stored) = content.split_at(profile_len as usize);
        let damaged = |section: &'static str, offset: u64| {
            Error::malformed("the checksum of a partial merge does not match").at(section, offset).with_hint(CHANGED)
        };
        // The checksum also covers the origins.
        if xxh3_64(profile) ^ origins.rotate_left(32) != profile_hash {
            return Err(damaged("profile", 0));
        }
        if xxh3_64(stored) != stored_hash {
            return Err(damaged("state of a partial merge", profile_len));
        }
        let state =
            inflate(stored, state_len, limits).map_err(|error| error.at("state of a partial merge", profile_len))?;
        Ok(Some(Self { profile, family, origins, state }))
    }
}

const CUT: &str = "the file was truncated, or appended to another file; write the partial merge again from its inputs";
const CHANGED: &str = "the file was changed after it was written; write the partial merge again from its inputs";

fn inflate(stored: &[u8], len: u64, limits: &Limits) -> Result<Vec<u8>> {
    let limit = limits.inflated_bytes.min((stored.len() as u64).saturating_mul(limits.inflate_ratio));
    if len > limit {
        return Err(ErrorKind::LimitExceeded { what: "inflated size", found: len, limit }.into());
    }
    let mut state = Vec::new();
    let fault = |detail: String| Error::new(ErrorKind::UncompressFailed { detail });
    // One byte above the limit reveals a state that is too long.
    ZlibDecoder::new(stored)
        .take(len.saturating_add(1))
        .read_to_end(&mut state)
        .map_err(|error| memory::refused_or(error, HOLD_INFLATED, |error| fault(error.to_string())))?;
    if state.len() as u64 != len {
        return Err(fault(format!("the state inflates to {} bytes, expected {len}", state.len())));
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed() -> Vec<u8> {
        append(b"profile".to_vec(), Family::Instr, 7, b"state state state").unwrap()
    }

    fn fault(bytes: &[u8]) -> String {
        Frame::find(bytes, &Limits::default()).unwrap_err().to_string()
    }

    #[test]
    fn frames_round_trip() {
        let bytes = framed();
        assert!(bytes.starts_with(b"profile") && Frame::is_at_end_of(&bytes));
        let frame = Frame::find(&bytes, &Limits::default()).unwrap().unwrap();
        assert_eq!((frame.profile, frame.family, frame.origins), (&b"profile"[..], Family::Instr, 7));
        assert_eq!(frame.state, b"state state state");
        assert_eq!(Frame::find(b"profile", &Limits::default()).unwrap(), None);
        assert_eq!(Frame::find(&MAGIC, &Limits::default()).unwrap(), None);
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let good = framed();
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 0x10;
            let found = Frame::find(&bytes, &Limits::default());
            assert!(!matches!(found, Ok(Some(_))), "byte {at}");
        }
    }

    #[test]
    fn a_version_a_family_and_a_length_that_cannot_be_are_named() {
        let good = framed();
        let footer = good.len() - FOOTER_BYTES;
        let changed = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[footer + at] = byte;
            bytes
        };
        assert!(Frame::find(&changed(52, 1), &Limits::default()).is_ok_and(|frame| frame.is_some()));
        for version in [0, 3] {
            let words = format!("version {version} is not supported: supported versions are 1 to 2");
            assert!(fault(&changed(52, version)).contains(&words));
        }
        assert!(fault(&changed(48, 9)).contains("bad header: unknown family 9"));
        assert!(fault(&changed(0, 1)).contains("bad header: the profile has 1 and the state"));
        assert!(fault(&changed(16, 1)).contains("cannot decompress: the state inflates to 2 bytes, expected 1"));
        assert!(fault(&changed(23, 1)).contains("inflated size"));
    }
}
