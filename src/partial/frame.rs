//! The frame of a partial merge: a profile, a state, and a footer with their lengths.

use crate::bytes::{Cursor, Endian, Sink};
use crate::error::{Error, ErrorKind, Result};
use crate::family::Family;
use crate::limits::Limits;
use crate::memory::{self, Buffer, HOLD_INFLATED, HOLD_OUTPUT};
use flate2::read::ZlibDecoder;
use flate2::{Compression, write::ZlibEncoder};
use std::borrow::Cow;
use std::io::{self, Read, Write};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

/// The last bytes of a partial merge.
pub const MAGIC: [u8; 8] = *b"\xffpbpart\x81";

/// The version that is written. Also read are versions 1, which has no digests of inputs, 2, whose state is always
/// compressed, 3, which has only the messages of failed inputs, and 4, whose states do not need the profile.
const VERSION: u32 = 5;

/// The first version with states that are not compressed: their two lengths are equal.
const STORED_SINCE: u32 = 3;

/// The first version in which states of instrumentation profiles do not repeat names, counters and bitmaps of the profile.
const SHORT_SINCE: u32 = 5;

/// Takes a third of the time of zlib's default level, and the result is hardly larger.
const LEVEL: u32 = 3;

/// The size of the footer in bytes.
pub const FOOTER_BYTES: usize = 6 * 8 + 2 * 4 + MAGIC.len();

/// The families with partial merges, and their numbers in the footer.
const NUMBERS: [(u32, Family); 4] =
    [(1, Family::Instr), (2, Family::SampleProf), (3, Family::Iprof), (4, Family::Stacks)];

fn numbered(number: u32) -> Option<Family> {
    NUMBERS.into_iter().find(|(known, _)| *known == number).map(|(_, family)| family)
}

/// Returns the number of a family. Memory profiles belong to instrumentation.
fn number(family: Family) -> u32 {
    NUMBERS.into_iter().find(|(_, known)| *known == family).map_or(1, |(number, _)| number)
}

/// Returns true if readers of the family's files read them to their end, so that opening a partial merge returns only
/// the document at its start.
fn ends_at_a_document(family: Family) -> bool {
    matches!(family, Family::Iprof | Family::Stacks)
}

/// Returns the length of the document before the state of a partial merge, from the last bytes and the length of the
/// file; `None` for any other file, and for families whose readers ignore bytes after a profile.
pub(crate) fn document_len(end: &[u8], file_len: u64) -> Option<u64> {
    let footer = end.last_chunk::<FOOTER_BYTES>().filter(|footer| footer.ends_with(&MAGIC))?;
    let word = |at: usize| Some(u64::from_le_bytes(footer[at..at + 8].try_into().ok()?));
    let (profile_len, stored_len) = (word(0)?, word(8)?);
    let ends_early = ends_at_a_document(Frame::family_of_footer(footer)?);
    let adds_up = profile_len.checked_add(stored_len)?.checked_add(FOOTER_BYTES as u64)? == file_len;
    (ends_early && adds_up).then_some(profile_len)
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
    pub state: Cow<'data, [u8]>,
    /// The version of the format.
    pub version: u32,
}

/// Appends a state and its footer to a profile.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub fn append(mut profile: Vec<u8>, family: Family, origins: u64, state: &[u8]) -> Result<Vec<u8>> {
    let (stored, footer) = end(profile.len() as u64, xxh3_64(&profile), family, origins, state)?;
    memory::extend(&mut profile, &stored, HOLD_OUTPUT)?;
    memory::extend(&mut profile, &footer, HOLD_OUTPUT)?;
    Ok(profile)
}

/// Writes a partial merge whose profile is written by `write_profile`.
///
/// # Errors
///
/// The errors of `out` and of `write_profile`.
pub(crate) fn write(
    out: &mut (dyn Write + Send),
    family: Family,
    origins: u64,
    state: &[u8],
    write_profile: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<()> {
    let mut front = Front { out, hash: Xxh3Default::new(), len: 0 };
    write_profile(&mut front)?;
    let Front { out, hash, len } = front;
    let (stored, footer) = end(len, hash.digest(), family, origins, state).map_err(io::Error::other)?;
    out.write_all(&stored)?;
    out.write_all(&footer)
}

/// The profile at the start of a partial merge, while it is written.
struct Front<'a> {
    out: &'a mut (dyn Write + Send),
    hash: Xxh3Default,
    len: u64,
}

impl Write for Front<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write_all(bytes)?;
        self.hash.update(bytes);
        self.len += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns the stored state and the footer after a profile with this length and hash.
fn end(
    profile_len: u64,
    profile_hash: u64,
    family: Family,
    origins: u64,
    state: &[u8],
) -> Result<(Cow<'_, [u8]>, Vec<u8>)> {
    let mut stored = Cow::Borrowed(state);
    // Compression would take longer than all other steps, so it has to make the file much smaller. Stored inputs are
    // compressed.
    if state.len() as u64 > profile_len && !ends_at_a_document(family) {
        let mut encoder = ZlibEncoder::new(Buffer::default(), Compression::new(LEVEL));
        let deflated = encoder.write_all(state).and_then(|()| encoder.finish());
        let deflated = deflated.map_err(|error| Error::io(HOLD_OUTPUT, error))?.0;
        if deflated.len() < state.len() {
            stored = Cow::Owned(deflated);
        }
    }
    let mut footer = Sink::new(Endian::Little);
    footer.u64s(&[profile_len, stored.len() as u64, state.len() as u64]);
    footer.u64s(&[profile_hash ^ origins.rotate_left(32), xxh3_64(&stored), origins]);
    footer.u32(number(family));
    footer.u32(VERSION);
    footer.bytes(&MAGIC);
    Ok((stored, footer.into_bytes()))
}

/// The fields of a footer.
struct Footer {
    profile_len: u64,
    stored_len: u64,
    state_len: u64,
    profile_hash: u64,
    stored_hash: u64,
    origins: u64,
    family: Family,
    version: u32,
}

impl Footer {
    /// Reads the footer after `content_len` bytes.
    fn read(footer: &[u8], content_len: u64) -> Result<Self> {
        let mut cursor = Cursor::new(footer, content_len, Endian::Little, "footer of a partial merge");
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
        let family =
            numbered(family).ok_or_else(|| cursor.place(Error::bad_header(format!("unknown family {family}"))))?;
        if profile_len.checked_add(stored_len) != Some(content_len) {
            let detail = format!(
                "the profile has {profile_len} and the state {stored_len} bytes, but the file has {content_len} before \
                 its footer"
            );
            return Err(cursor.place(Error::bad_header(detail)).with_hint(CUT));
        }
        Ok(Self { profile_len, stored_len, state_len, profile_hash, stored_hash, origins, family, version })
    }

    /// Checks the profile.
    fn check(&self, profile_hash: u64) -> Result<()> {
        // The checksum also covers the origins.
        if profile_hash ^ self.origins.rotate_left(32) == self.profile_hash {
            Ok(())
        } else {
            Err(damaged("profile", 0))
        }
    }

    /// Checks the stored state, and returns the state.
    fn state<'data>(&self, stored: &'data [u8], limits: &Limits) -> Result<Cow<'data, [u8]>> {
        let section = "state of a partial merge";
        if xxh3_64(stored) != self.stored_hash {
            return Err(damaged(section, self.profile_len));
        }
        if self.version >= STORED_SINCE && self.stored_len == self.state_len {
            return Ok(Cow::Borrowed(stored));
        }
        let state = inflate(stored, self.state_len, limits).map_err(|error| error.at(section, self.profile_len))?;
        Ok(Cow::Owned(state))
    }
}

fn damaged(section: &'static str, offset: u64) -> Error {
    Error::malformed("the checksum of a partial merge does not match").at(section, offset).with_hint(CHANGED)
}

impl<'data> Frame<'data> {
    /// Returns true if the state of instrumentation profiles does not repeat what the profile has.
    pub(crate) fn state_needs_profile(&self) -> bool {
        self.version >= SHORT_SINCE && !self.profile.is_empty()
    }

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
        numbered(u32::from_le_bytes(footer[48..52].try_into().ok()?))
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
        let footer = Footer::read(footer, content.len() as u64)?;
        let (profile, stored) = content.split_at(footer.profile_len as usize);
        footer.check(xxh3_64(profile))?;
        let state = footer.state(stored, limits)?;
        let Footer { family, origins, version, .. } = footer;
        Ok(Some(Self { profile, family, origins, state, version }))
    }
}

const CUT: &str = "the file was truncated, or appended to another file; write the partial merge again from its inputs";
const CHANGED: &str = "the file was changed after it was written; write the partial merge again from its inputs";

fn inflate(stored: &[u8], len: u64, limits: &Limits) -> Result<Vec<u8>> {
    let (limit, name) = limits.of_section(stored.len() as u64);
    if len > limit {
        return Err(Error::above_limit(Some(name), "inflated size", len, limit));
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
        assert_eq!(*frame.state, *b"state state state");
        assert_eq!(Frame::find(b"profile", &Limits::default()).unwrap(), None);
        assert_eq!(Frame::find(&MAGIC, &Limits::default()).unwrap(), None);
    }

    /// A frame whose state is not compressed.
    fn stored() -> Vec<u8> {
        append(b"a profile that is longer".to_vec(), Family::Instr, 7, b"state state state").unwrap()
    }

    #[test]
    fn small_states_are_stored_and_large_ones_compressed() {
        let has = |bytes: Vec<u8>| bytes.windows(17).any(|window| window == b"state state state");
        assert!(has(stored()) && !has(append(Vec::new(), Family::Instr, 7, &b"state ".repeat(9)).unwrap()));
        let bytes = stored();
        let frame = Frame::find(&bytes, &Limits::default()).unwrap().unwrap();
        assert_eq!((frame.profile, &*frame.state), (&b"a profile that is longer"[..], &b"state state state"[..]));
    }

    #[test]
    fn frames_are_written_in_pieces() {
        for good in [framed(), stored()] {
            let frame = Frame::find(&good, &Limits::default()).unwrap().unwrap();
            let mut written = Vec::new();
            let pieces =
                |out: &mut (dyn Write + Send)| frame.profile.chunks(3).try_for_each(|piece| out.write_all(piece));
            write(&mut written, frame.family, frame.origins, &frame.state, pieces).unwrap();
            assert_eq!(written, good);
        }
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        for good in [framed(), stored()] {
            for at in 0..good.len() {
                let mut bytes = good.clone();
                bytes[at] ^= 0x10;
                let found = Frame::find(&bytes, &Limits::default());
                assert!(!matches!(found, Ok(Some(_))), "byte {at}");
            }
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
        for version in [0, 6] {
            let words = format!("version {version} is not supported: supported versions are 1 to 5");
            assert!(fault(&changed(52, version)).contains(&words));
        }
        assert!(fault(&changed(48, 9)).contains("bad header: unknown family 9"));
        assert!(fault(&changed(0, 1)).contains("bad header: the profile has 1 and the state"));
        assert!(fault(&changed(16, 1)).contains("cannot decompress: the state inflates to 2 bytes, expected 1"));
        assert!(fault(&changed(23, 1)).contains("inflated size"));
    }
}
