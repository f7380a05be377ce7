//! The names of one image, hashed: built once, shared by all its files.

use crate::model::{NameText, SymbolTable};
use std::sync::Arc;

/// Name hash → name for the functions and vtables of one image.
///
/// Inflating and hashing names is most of the work of reading a raw file, and
/// all files of one image have the same.
#[derive(Debug, Clone, Default)]
pub struct RawNames {
    symbols: SymbolTable,
    vtable_names: Vec<Vec<u8>>,
    /// The two sections they were read from; `None` for versions 1 and 2,
    /// whose names are cut by the records.
    source: Option<Arc<NameSections>>,
}

/// The two sections with names, borrowed from a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct SectionBytes<'data> {
    pub(super) functions: &'data [u8],
    pub(super) vtables: &'data [u8],
}

/// Bytes of the two sections with names.
#[derive(Debug, Clone)]
pub(super) struct NameSections {
    functions: Vec<u8>,
    vtables: Vec<u8>,
}

impl NameSections {
    /// A copy of the sections.
    pub(super) fn new(sections: SectionBytes<'_>) -> Self {
        Self { functions: sections.functions.to_vec(), vtables: sections.vtables.to_vec() }
    }

    /// Whether these are those sections, byte for byte.
    pub(super) fn are(&self, sections: SectionBytes<'_>) -> bool {
        self.functions == sections.functions && self.vtables == sections.vtables
    }
}

impl RawNames {
    /// Names that do not come from the file's own sections.
    pub fn from_symbols(symbols: SymbolTable) -> Self {
        Self { symbols, vtable_names: Vec::new(), source: None }
    }

    /// Names that were read from those sections.
    pub(super) fn of_sections(symbols: SymbolTable, vtable_names: Vec<Vec<u8>>, sections: SectionBytes<'_>) -> Self {
        Self { symbols, vtable_names, source: Some(Arc::new(NameSections::new(sections))) }
    }

    /// Whether these are the names of those sections, byte for byte.
    pub(super) fn are_of(&self, sections: SectionBytes<'_>) -> bool {
        self.source.as_ref().is_some_and(|source| source.are(sections))
    }

    /// The sections that they were read from.
    pub(super) fn sections(&self) -> Option<&Arc<NameSections>> {
        self.source.as_ref()
    }

    /// Lets tables keep the texts of the names rather than copy the names, for
    /// whoever reads a single file and has room for all of it.
    pub fn stay(&self) {
        self.symbols.texts().for_each(NameText::stay);
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
