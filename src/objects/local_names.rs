//! Names of local functions of C++. GCC's debug info has only their plain names, which several functions have; the symbol
//! table has the mangled ones, by which compilers find samples.

use super::debug_info::EntryPlace;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::sync::Arc;

/// A function that has only a plain name in debug info.
pub(super) struct LocalFunction {
    /// The entry with the name, which the copies of the function refer to.
    pub(super) entry: EntryPlace,
    pub(super) declaration: Declaration,
}

/// Plain name, line and column of a declaration.
pub(super) type Declaration = (Arc<[u8]>, u32, u32);

/// Names of symbols. `None` if different symbols mark one function: constructors, and functions that the linker folded.
#[derive(Debug, Default)]
pub(crate) struct LocalNames {
    by_entry: HashMap<EntryPlace, Option<Arc<[u8]>>, RandomState>,
    /// A function of a header can be inlined in one unit, and have its symbol from another one.
    by_declaration: HashMap<Declaration, Option<Arc<[u8]>>, RandomState>,
}

impl LocalNames {
    /// Takes note of the symbol of a function.
    pub(super) fn note(&mut self, function: &LocalFunction, symbol: &[u8]) {
        let known = match self.by_declaration.get(&function.declaration) {
            Some(Some(known)) if **known == *symbol => Arc::clone(known),
            _ => symbol.into(),
        };
        for name in [
            self.by_entry.entry(function.entry).or_insert_with(|| Some(Arc::clone(&known))),
            self.by_declaration.entry(function.declaration.clone()).or_insert_with(|| Some(Arc::clone(&known))),
        ] {
            if name.as_deref() != Some(symbol) {
                *name = None;
            }
        }
    }

    /// Returns the name that the symbol table has for a function.
    pub(super) fn find(&self, function: &LocalFunction) -> Option<&Arc<[u8]>> {
        let by_entry = self.by_entry.get(&function.entry);
        by_entry.or_else(|| self.by_declaration.get(&function.declaration))?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gimli::UnitOffset;

    fn function(entry: usize, name: &str, line: u32) -> LocalFunction {
        LocalFunction { entry: (0, UnitOffset(entry)), declaration: (name.as_bytes().into(), line, 1) }
    }

    #[test]
    fn copies_in_other_units_have_the_name_of_the_symbol_unless_symbols_differ() {
        let mut names = LocalNames::default();
        names.note(&function(1, "run", 7), b"_ZL3runi");
        names.note(&function(2, "run", 8), b"_ZL3runi");
        names.note(&function(3, "run", 8), b"_ZL3rund");
        names.note(&function(4, "A", 9), b"_ZN1AC1Ev");
        names.note(&function(4, "A", 9), b"_ZN1AC2Ev");
        let found = [(1, "run", 7), (9, "run", 7), (2, "run", 8), (3, "run", 8), (9, "run", 8), (4, "A", 9)]
            .map(|(entry, name, line)| names.find(&function(entry, name, line)).map(|name| name.to_vec()));
        let name = |name: &str| Some(name.as_bytes().to_vec());
        assert_eq!(found, [name("_ZL3runi"), name("_ZL3runi"), name("_ZL3runi"), name("_ZL3rund"), None, None]);
    }
}
