//! Reads a sample profile of any encoding, whole or function by function.

use super::options::{Encoding, ReadOptions};
use super::profile::{Kind, SampleProfile, Summary};
use super::record::{FunctionName, FunctionRecord, NameId, Names};
use super::{binary, compact, ext_binary, gcc, text};
use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Confidence, Cursor, Endian, Head};
use crate::error::{Error, ErrorKind, Result};

/// Returns the encoding of a sample profile; `None` for other files.
pub fn detect(file: &[u8]) -> Option<Encoding> {
    let head = &file[..file.len().min(16)];
    let mut cursor = Cursor::new(head, 0, Endian::Little, "header");
    match read_uleb128(&mut cursor, "magic") {
        Ok(binary::MAGIC) => return Some(Encoding::Binary),
        Ok(ext_binary::MAGIC) => return Some(Encoding::ExtBinary),
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
/// Unrecognized format for other files; truncated, malformed and so on for a damaged profile.
pub fn read(file: &[u8], options: &ReadOptions) -> Result<SampleProfile> {
    let mut profile = SampleProfile::default();
    read_into(file, options, &mut profile)?;
    Ok(profile)
}

/// Like [`read`], but into an empty profile, which keeps the stated kind and the records before an error.
///
/// # Errors
///
/// The errors of [`read`].
pub fn read_into(file: &[u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<()> {
    let encoding = detect(file).filter(|encoding| {
        *encoding != Encoding::CompactBinary || options.every_release || options.rules.has_compact_binary()
    });
    let Some(encoding) = encoding else { return Err(ErrorKind::UnrecognizedFormat.into()) };
    let done = match encoding {
        Encoding::Text => text::read(file, options, profile),
        Encoding::Binary => binary::read(file, options, profile),
        Encoding::ExtBinary => ext_binary::read(file, options, profile),
        Encoding::CompactBinary => compact::read(file, options, profile),
        Encoding::Gcc => gcc::read(file, options, profile),
    };
    done.map_err(|error| error.in_format(encoding.to_string()))
}

/// Returns the error of reading a file as a text profile, even if it does not look like one.
pub(crate) fn text_fault(file: &[u8]) -> Option<Error> {
    text::read(file, &ReadOptions::default(), &mut SampleProfile::default()).err()
}

/// The tag of the names in GCC's encoding. Coverage counts of the same version have another tag there.
const GCC_NAMES_TAG: [u8; 4] = [0, 0, 0, 0xaa];

/// Returns the encoding of a sample profile by its magic number or its first lines.
///
/// LLVM reads every text whose first line could be the head of a record. Here the second line must also fit.
pub fn evidence(head: &Head<'_>) -> Option<(Encoding, Confidence)> {
    match detect(head.bytes()) {
        Some(Encoding::Text) => text_evidence(head).map(|confidence| (Encoding::Text, confidence)),
        Some(Encoding::Gcc) if head.bytes().get(12..16) != Some(&GCC_NAMES_TAG) => None,
        found => found.map(|encoding| (encoding, Confidence::Certain)),
    }
}

/// A text profile begins with a line `NAME:TOTAL:HEAD`, followed by an indented line, another such line or the end. In the
/// text of an instrumentation profile, a line with nothing but a hash follows the name, whatever the name is.
fn text_evidence(head: &Head<'_>) -> Option<Confidence> {
    let mut lines = head.lines().filter(|line| !line.is_empty() && line[0] != b'#');
    if !lines.next().is_some_and(is_record_head) {
        return None;
    }
    match lines.next() {
        None => Some(Confidence::Likely),
        Some(line) if line[0] == b' ' || is_record_head(line) => Some(Confidence::Certain),
        Some(_) => None,
    }
}

/// Returns true for a name and two numbers, separated by colons.
fn is_record_head(line: &[u8]) -> bool {
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let mut parts = line.rsplitn(3, |byte| *byte == b':');
    let numbers = parts.next().is_some_and(is_number) && parts.next().is_some_and(is_number);
    numbers && line[0] != b' ' && parts.next().is_some()
}

/// A profile whose functions are read one by one: an extensible binary with a table of offsets, or a compact binary.
/// Damage elsewhere in the file is not detected.
///
/// ```
/// # fn main() -> profbridge::Result<()> {
/// use profbridge::sampleprof::{self, ReadOptions, SampleProfileView, WriteOptions};
///
/// let options = ReadOptions::default();
/// let profile = sampleprof::read(b"foo:30:10\n 1: 30\nbar:5:5\n 1: 5\n", &options)?;
/// let file = sampleprof::write(&profile, &WriteOptions::default())?;
/// let view = SampleProfileView::open(&file, &options)?.expect("an extensible binary has a table");
/// assert_eq!(view.function(b"foo")?[0].total, 30);
/// assert!(view.function(b"baz")?.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SampleProfileView<'data> {
    options: ReadOptions,
    /// The profile without functions and symbols.
    frame: SampleProfile,
    index: Index<'data>,
}

#[derive(Debug)]
enum Index<'data> {
    Ext(ext_binary::Index<'data>),
    Compact(compact::Index<'data>),
}

impl<'data> SampleProfileView<'data> {
    /// Reads names, contexts and the table of offsets. Returns `None` if the file has no such table, as text, plain
    /// binaries and GCC's encoding.
    ///
    /// # Errors
    ///
    /// Unrecognized format for other files; truncated, malformed and so on if these parts are damaged.
    pub fn open(file: &'data [u8], options: &ReadOptions) -> Result<Option<Self>> {
        let Some(encoding) = detect(file) else { return Err(ErrorKind::UnrecognizedFormat.into()) };
        let mut frame = SampleProfile::default();
        let index = match encoding {
            Encoding::ExtBinary => {
                ext_binary::Index::read(file, options, &mut frame).map(|index| index.map(Index::Ext))
            }
            Encoding::CompactBinary => {
                compact::Index::read(file, options, &mut frame).map(|index| Some(Index::Compact(index)))
            }
            Encoding::Text | Encoding::Binary | Encoding::Gcc => Ok(None),
        };
        let index = index.map_err(|error| error.in_format(encoding.to_string()))?;
        Ok(index.map(|index| Self { options: *options, frame, index }))
    }

    /// Returns the names of the file, to which the ids in its records refer.
    pub fn names(&self) -> &Names {
        &self.frame.names
    }

    /// Returns the kind of the profile if it is read alone.
    pub fn kind(&self) -> Kind {
        self.frame.kind()
    }

    /// Returns the summary that the file stores.
    pub fn summary(&self) -> Option<&Summary> {
        self.frame.summary.as_ref()
    }

    /// Reads the records of a function: its own, or those of its calling contexts. If the file stores hashes, the name
    /// is hashed.
    ///
    /// # Errors
    ///
    /// Truncated or malformed records; offsets that lead to another function.
    pub fn function(&self, name: &[u8]) -> Result<Vec<FunctionRecord>> {
        let hash = FunctionName::Text(name).hash();
        // By the rules of early releases, hashes are read as strings of digits.
        let digits = hash.to_string();
        let spellings = [FunctionName::Text(name), FunctionName::Hash(hash), FunctionName::Text(digits.as_bytes())];
        let known = if self.frame.stated.hashed { &spellings[..] } else { &spellings[..1] };
        let mut records = Vec::new();
        for id in known.iter().filter_map(|spelling| self.frame.names.find(*spelling)) {
            records.extend(self.records(id)?);
        }
        Ok(records)
    }

    /// Checks the table of offsets of an extensible binary, which compilers use. Every reader uses that of a compact
    /// binary.
    ///
    /// # Errors
    ///
    /// Truncated or malformed, if an offset does not lead to its function.
    pub fn check_offsets(&self) -> Result<()> {
        match &self.index {
            Index::Ext(index) => index.check_offsets(),
            Index::Compact(_) => Ok(()),
        }
    }

    fn records(&self, name: NameId) -> Result<Vec<FunctionRecord>> {
        match &self.index {
            Index::Ext(index) => index.function(name, &self.options),
            Index::Compact(index) => {
                let mut found = SampleProfile::default();
                index.add_records(Some(name), &self.options, &mut found)?;
                Ok(found.functions)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Option<(Encoding, Confidence)> {
        evidence(&Head::new(bytes))
    }

    #[test]
    fn the_lines_below_the_first_decide() {
        for text in ["foo:10:1\n 1: 5\n", "foo:10:1\nbar:3:0\n", "[a:1 @ b]:3:4\n 1: 2\n"] {
            assert_eq!(of(text.as_bytes()), Some((Encoding::Text, Confidence::Certain)), "{text}");
        }
        assert_eq!(of(b"# comment\n\nfoo:10:1"), Some((Encoding::Text, Confidence::Likely)));
        for text in ["foo:10:1\n123\n1\n5\n", "foo\n 1: 5\n", "12\n", "a.c:f\n12\n", "foo:10:1\n# hash\n7\n"] {
            assert_eq!(of(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn magic_numbers_are_certain() {
        // The first bytes that llvm-profdata 22 writes with --binary and --extbinary.
        let binary = [0xff, 0xe5, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 0x67, 0x0a];
        assert_eq!(of(&binary), Some((Encoding::Binary, Confidence::Certain)));
        let extensible = [0x84, 0xe4, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 0x67, 0x07];
        assert_eq!(of(&extensible), Some((Encoding::ExtBinary, Confidence::Certain)));
        assert_eq!(of(b"adcg*704\0\0\0\0\0\0\0\xaa"), Some((Encoding::Gcc, Confidence::Certain)));
        assert_eq!(of(b"adcg*704\0\0\0\0\0\0\0\x01"), None);
    }
}
