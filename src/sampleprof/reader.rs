//! Reads a sample profile of any encoding, whole or function by function.

use super::options::{Encoding, ReadOptions, Rules};
use super::profile::{Kind, SampleProfile, Summary};
use super::record::{FunctionName, FunctionRecord, NameId, Names};
use super::{binary, compact, ext_binary, gcc, text};
use crate::bytes::without_byte_order_mark;
use crate::error::{Error, ErrorKind, Result};
use crate::identify::Format;
use crate::identify::sample_profiles::{GccVersion, binary_format};
use crate::model::Release;
use crate::model::release::RELEASES;

/// Returns the encoding of a sample profile; `None` for other files.
pub fn detect(file: &[u8]) -> Option<Encoding> {
    match binary_format(file) {
        Some(Format::SampleBinary) => return Some(Encoding::Binary),
        Some(Format::SampleExtBinary) => return Some(Encoding::ExtBinary),
        Some(Format::SampleCompactBinary) => return Some(Encoding::CompactBinary),
        _ => {}
    }
    if GccVersion::of(file).is_some() {
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
pub(crate) fn read_into(file: &[u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<()> {
    // The reader of extensible binaries names the version.
    let reads_every = |encoding: &Encoding| options.every_release || *encoding == Encoding::ExtBinary;
    let is_known = |encoding: &Encoding| reads_every(encoding) || reads_format(options.rules, *encoding, file);
    let encoding = detect(file).filter(is_known);
    let Some(encoding) = encoding else { return Err(ErrorKind::UnrecognizedFormat.into()) };
    let done = match encoding {
        Encoding::Text => {
            // llvm-profdata reads the mark of UTF-8 as part of the first name.
            let text = if options.every_release { without_byte_order_mark(file) } else { file };
            text::read(text, options, profile)
        }
        Encoding::Binary => binary::read(file, options, profile),
        Encoding::ExtBinary => ext_binary::read(file, options, profile),
        Encoding::CompactBinary => compact::read(file, options, profile),
        Encoding::Gcc => gcc::read(file, options, profile),
    };
    done.map_err(|error| error.in_format(encoding.to_string()))
}

/// Returns the offset of a profile after an extensible binary, as in concatenated files.
pub(crate) fn next_profile(file: &[u8], options: &ReadOptions) -> Option<u64> {
    let end = ext_binary::extent(file, options).ok().filter(|_| detect(file) == Some(Encoding::ExtBinary))?;
    let next = file.get(usize::try_from(end).ok()?..).and_then(detect)?;
    matches!(next, Encoding::Binary | Encoding::ExtBinary).then_some(end)
}

/// Returns the oldest release that reads a file with this profile, if later ones read it as well; `None` if all do.
pub(crate) fn oldest_reader(file: &[u8], profile: &SampleProfile) -> Option<Release> {
    let encoding = detect(file).filter(|encoding| matches!(encoding, Encoding::Text | Encoding::ExtBinary))?;
    let content = LaterContent::of(profile);
    let reads = |release: &Release| reads_content(Rules::of(*release), encoding, file, &content);
    let mut releases = RELEASES.iter().map(|row| row.release());
    let first = releases.next();
    first.into_iter().chain(releases).find(reads).filter(|oldest| first != Some(*oldest))
}

/// Returns true if a release reads a file with this profile.
pub(crate) fn is_read_by(rules: Rules, file: &[u8], profile: &SampleProfile) -> bool {
    detect(file).is_some_and(|encoding| reads_content(rules, encoding, file, &LaterContent::of(profile)))
}

/// Content of text profiles that early releases do not read.
struct LaterContent {
    vtables: bool,
    contexts_or_probes: bool,
}

impl LaterContent {
    fn of(profile: &SampleProfile) -> Self {
        let kind = profile.kind();
        Self {
            vtables: profile.functions.iter().any(FunctionRecord::has_vtables),
            contexts_or_probes: kind.context_sensitive || kind.probe_based,
        }
    }
}

/// Returns true if a release reads the encoding and the version of a file.
fn reads_format(rules: Rules, encoding: Encoding, file: &[u8]) -> bool {
    match encoding {
        Encoding::Gcc => GccVersion::of(file) == Some(GccVersion::Of704),
        Encoding::ExtBinary if ext_binary::is_next_version(file) => rules.writes_104(),
        _ => rules.reads(encoding),
    }
}

fn reads_content(rules: Rules, encoding: Encoding, file: &[u8], content: &LaterContent) -> bool {
    let knows_content = match encoding {
        Encoding::ExtBinary => ext_binary::knows_sections(rules, file),
        Encoding::Text => {
            (rules.knows_vtables() || !content.vtables)
                && (rules.knows_contexts_and_probes() || !content.contexts_or_probes)
        }
        Encoding::Gcc | Encoding::Binary | Encoding::CompactBinary => true,
    };
    knows_content && reads_format(rules, encoding, file)
}

/// Returns the error of reading a file as a text profile, even if it does not look like one.
pub(crate) fn text_fault(file: &[u8]) -> Option<Error> {
    text::read(file, &ReadOptions::default(), &mut SampleProfile::default()).err()
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
        Ok(index.map(|index| Self { options: options.clone(), frame, index }))
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

    /// Reads the records of the functions whose name `is_meant` accepts: their own, and those of their calling contexts.
    ///
    /// # Errors
    ///
    /// The errors of [`function`](Self::function).
    pub fn functions(&self, is_meant: impl Fn(FunctionName<'_>) -> bool) -> Result<Vec<FunctionRecord>> {
        let mut records = Vec::new();
        for (id, _) in self.frame.names.numbered().filter(|(_, name)| is_meant(*name)) {
            records.extend(self.records(id)?);
        }
        Ok(records)
    }

    /// Checks the table of offsets of an extensible binary, which compilers use. Every reader uses that of a compact
    /// binary.
    ///
    /// # Errors
    ///
    /// Truncated or malformed, if an offset does not lead to its function, or a record has no offset.
    pub fn check_offsets(&self) -> Result<()> {
        match &self.index {
            Index::Ext(index) => index.check_offsets(&self.options),
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
    use crate::cancel::Cancel;
    use crate::input::Input;
    use crate::model::Release;
    use crate::sampleprof::{Rules, WriteOptions, write};

    #[test]
    fn cancellation_ends_every_encoding() {
        let cancel = Cancel::default();
        cancel.cancel();
        let cancelled = ReadOptions::default().of_input(&Input::new("a").cancelled_by(&cancel));
        let profile = read(b"foo:30:10\n 1: 30\n", &ReadOptions::default()).unwrap();
        for encoding in [Encoding::Text, Encoding::Binary, Encoding::ExtBinary, Encoding::CompactBinary, Encoding::Gcc]
        {
            let mut options = WriteOptions::default();
            options.encoding = encoding;
            if encoding == Encoding::CompactBinary {
                options.rules = Rules::of(Release(16));
            }
            let error = read(&write(&profile, &options).unwrap(), &cancelled).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Cancelled), "{encoding}: {error}");
        }
    }
}
