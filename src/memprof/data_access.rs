//! Accesses to static data, which profiles carry from LLVM 21 on.

/// A piece of static data.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum DataSymbol {
    /// A variable, by name.
    Name(#[cfg_attr(feature = "serde", serde(with = "crate::model::serialize::name"))] Vec<u8>),
    /// A string literal, by the hash of its content.
    StringHash(u64),
}

/// Where a piece of data is declared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SourceLocation {
    /// The file, as debug info spells it.
    #[cfg_attr(feature = "serde", serde(with = "crate::model::serialize::name"))]
    pub file: Vec<u8>,
    /// The line, from 1.
    pub line: u32,
}

/// How often a piece of data was accessed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DataAccessRecord {
    /// The data.
    pub symbol: DataSymbol,
    /// Sampled accesses.
    pub access_count: u64,
    /// Where it is declared.
    pub locations: Vec<SourceLocation>,
}

/// Accesses to static data, and what is known not to be accessed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DataAccessProfile {
    /// Data that was accessed, in order of first mention.
    pub records: Vec<DataAccessRecord>,
    /// Variables that are known to be cold, in order of first mention.
    #[cfg_attr(feature = "serde", serde(with = "crate::model::serialize::names"))]
    pub cold_symbols: Vec<Vec<u8>>,
    /// Hashes of string literals that are known to be cold, in order of first
    /// mention.
    pub cold_string_hashes: Vec<u64>,
}

impl DataAccessProfile {
    /// Variables and string literals that are known to be cold.
    pub fn cold_len(&self) -> usize {
        self.cold_symbols.len() + self.cold_string_hashes.len()
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.cold_len() == 0
    }
}

/// A variable's name without what optimizations put behind it: all from the
/// first dot on, or from the one behind `.__uniq.` and its number.
pub fn canonical_symbol(name: &[u8]) -> &[u8] {
    const UNIQUE: &[u8] = b".__uniq.";
    let unique = name.windows(UNIQUE.len()).position(|part| part == UNIQUE);
    let start = unique.map_or(0, |at| at + UNIQUE.len());
    match name[start..].iter().position(|byte| *byte == b'.') {
        Some(at) if start + at != 0 => &name[..start + at],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_end_at_their_first_dot_unless_it_makes_them_unique() {
        for (name, canonical) in [
            ("table", "table"),
            (".table", ".table"),
            ("table.llvm.7", "table"),
            ("table.__uniq.42", "table.__uniq.42"),
            ("table.__uniq.42.llvm.7", "table.__uniq.42"),
        ] {
            assert_eq!(canonical_symbol(name.as_bytes()), canonical.as_bytes(), "{name}");
        }
    }
}
