//! The names of one image, hashed: built once, shared by all its files.

use super::layout::Section;
use super::profile::RawProfile;
use crate::bytes::names::{Chunks, split_names};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::manner::Manner;
use crate::model::SymbolTable;

/// Name hash → name for the functions and vtables of one image.
///
/// Inflating and hashing names is most of the work of reading a raw file, and
/// all files of one image have the same: see [`RawNames::are_those_of`].
#[derive(Debug, Clone, Default)]
pub struct RawNames {
    symbols: SymbolTable,
    vtable_names: Vec<Vec<u8>>,
    /// The two sections they were read from; `None` for versions 1 and 2,
    /// whose names are cut by the records.
    source: Option<Source>,
}

/// Bytes of the two sections with names.
#[derive(Debug, Clone)]
struct Source {
    functions: Vec<u8>,
    vtables: Vec<u8>,
}

impl RawNames {
    /// Names that do not come from the file's own sections.
    pub fn from_symbols(symbols: SymbolTable) -> Self {
        Self { symbols, vtable_names: Vec::new(), source: None }
    }

    /// Reads the chunks of both names sections.
    pub(super) fn read(profile: &RawProfile<'_>, manner: Manner, limits: &Limits) -> Result<Self> {
        let mut names = Self::default();
        let (functions, vtables) = (profile.section(Section::Names), profile.section(Section::VTableNames));
        let base = |section| profile.section_range(section).start as u64;
        let symbols = &mut names.symbols;
        read_chunks(functions, base(Section::Names), manner, limits, |name| {
            symbols.insert(name);
        })?;
        read_chunks(vtables, base(Section::VTableNames), manner, limits, |name| {
            symbols.insert(name);
            names.vtable_names.push(name.to_vec());
        })?;
        names.source = Some(Source { functions: functions.to_vec(), vtables: vtables.to_vec() });
        Ok(names)
    }

    /// Takes the names that the records of versions 1 and 2 point to.
    pub(super) fn read_plain(profile: &RawProfile<'_>) -> Result<Self> {
        let mut names = Self::default();
        for (index, record) in profile.records().enumerate() {
            names.symbols.insert(profile.plain_name(index, &record)?);
        }
        Ok(names)
    }

    /// Whether these are the names of that profile, byte for byte.
    pub fn are_those_of(&self, profile: &RawProfile<'_>) -> bool {
        self.source.as_ref().is_some_and(|source| {
            source.functions == profile.section(Section::Names)
                && source.vtables == profile.section(Section::VTableNames)
        })
    }

    /// Name hash → name.
    pub fn symbols(&self) -> &SymbolTable {
        &self.symbols
    }

    /// Names of vtables in file order.
    pub fn vtable_names(&self) -> &[Vec<u8>] {
        &self.vtable_names
    }
}

fn read_chunks(section: &[u8], base: u64, manner: Manner, limits: &Limits, mut add: impl FnMut(&[u8])) -> Result<()> {
    if manner.is_llvm() && section.first() == Some(&0) {
        // LLVM takes leading zeros for an empty chunk.
        let error = Error::malformed("the names begin with a zero byte").with_llvm_detail("symbol name is empty");
        return Err(error.at("names", base));
    }
    let mut chunks = Chunks::new(section, base, *limits);
    while let Some(chunk) = chunks.next_chunk()? {
        for name in split_names(&chunk.text()?) {
            let name = name.map_err(|error| error.at("names", chunk.offset))?;
            if name.len() as u64 > limits.name_bytes {
                let kind = crate::error::ErrorKind::LimitExceeded {
                    what: "length of a name",
                    found: name.len() as u64,
                    limit: limits.name_bytes,
                };
                return Err(Error::new(kind).at("names", chunk.offset));
            }
            add(name);
        }
    }
    Ok(())
}
