//! Single functions of a profile that is not read as a whole.

use super::names::{FunctionName, NameId, Names};
use super::options::{Encoding, ReadOptions};
use super::profile::{Kind, SampleProfile};
use super::read::detect;
use super::record::FunctionRecord;
use super::summary::Summary;
use super::{binary, ext};
use crate::error::{ErrorKind, Result};

/// A profile of which functions are read one by one, where its encoding says
/// where they are: an extensible binary with a table of offsets, or a compact
/// binary. What is wrong elsewhere in the file goes unseen.
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
    /// Everything but the functions and the symbols.
    frame: SampleProfile,
    index: Index<'data>,
}

#[derive(Debug)]
enum Index<'data> {
    Ext(ext::Index<'data>),
    Compact(binary::CompactIndex<'data>),
}

impl<'data> SampleProfileView<'data> {
    /// Reads names, contexts and the table of offsets. `None` when the file has
    /// no such table: text, plain binaries, GCC's form.
    ///
    /// # Errors
    ///
    /// Unrecognized format for what is no sample profile; truncated, malformed
    /// and so on where these parts are damaged.
    pub fn open(file: &'data [u8], options: &ReadOptions) -> Result<Option<Self>> {
        let Some(encoding) = detect(file) else { return Err(ErrorKind::UnrecognizedFormat.into()) };
        let mut frame = SampleProfile::default();
        let index = match encoding {
            Encoding::ExtBinary => ext::Index::read(file, options, &mut frame).map(|index| index.map(Index::Ext)),
            Encoding::CompactBinary => {
                binary::CompactIndex::read(file, options, &mut frame).map(|index| Some(Index::Compact(index)))
            }
            Encoding::Text | Encoding::Binary | Encoding::Gcc => Ok(None),
        };
        let index = index.map_err(|error| error.in_format(encoding.to_string()))?;
        Ok(index.map(|index| Self { options: *options, frame, index }))
    }

    /// The names of the file, to which those of its records belong.
    pub fn names(&self) -> &Names {
        &self.frame.names
    }

    /// The kind of the profile by itself.
    pub fn kind(&self) -> Kind {
        self.frame.kind()
    }

    /// The summary that the file holds.
    pub fn summary(&self) -> Option<&Summary> {
        self.frame.summary.as_ref()
    }

    /// Reads the records of a function: its own, or those in its calling
    /// contexts. Where the file has hashes, the name finds them too.
    ///
    /// # Errors
    ///
    /// Truncated or malformed records; offsets that lead to another function.
    pub fn function(&self, name: &[u8]) -> Result<Vec<FunctionRecord>> {
        let hash = FunctionName::Text(name).hash();
        // By the rules of early releases hashes are read as their digits.
        let digits = hash.to_string();
        let spellings = [FunctionName::Text(name), FunctionName::Hash(hash), FunctionName::Text(digits.as_bytes())];
        let known = if self.frame.stated.hashed { &spellings[..] } else { &spellings[..1] };
        let mut records = Vec::new();
        for id in known.iter().filter_map(|spelling| self.frame.names.find(*spelling)) {
            records.extend(self.records(id)?);
        }
        Ok(records)
    }

    /// Whether the table of an extensible binary leads to the functions that it
    /// names; compilers go by it. That of a compact binary is followed by all
    /// readers.
    ///
    /// # Errors
    ///
    /// Truncated or malformed where it does not.
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
