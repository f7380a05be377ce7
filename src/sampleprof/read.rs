//! Reading a profile of any encoding.

use super::options::{Encoding, ReadOptions};
use super::profile::SampleProfile;
use super::{binary, ext, gcc, text};
use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, ErrorKind, Result};

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

/// What makes a text unreadable as a sample profile, also where nothing speaks for its being one.
pub(crate) fn text_fault(file: &[u8]) -> Option<Error> {
    text::read(file, &ReadOptions::default(), &mut SampleProfile::default()).err()
}
