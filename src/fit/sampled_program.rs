//! The new build as a sample profile sees it: names, checksums, lengths.

use crate::model::{NameRef, Release, name_ref};
use std::collections::{BTreeMap, HashMap};

/// What is known of a function of the new build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SampledFunction {
    /// Checksum of its control flow, where it has pseudo-probes.
    pub checksum: Option<u64>,
    /// Its largest line, counted from its declaration, where debug info tells.
    pub last_line: Option<u32>,
}

/// The functions of a new build by name.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SampledProgram {
    /// Where they were read, in words.
    pub source: String,
    /// The functions by name.
    pub functions: BTreeMap<Vec<u8>, SampledFunction>,
    /// Whether functions with probes have their checksums.
    pub has_checksums: bool,
    /// The release of LLVM that built it, where the program tells.
    pub release: Option<Release>,
    by_hash: HashMap<NameRef, Vec<u8>>,
}

impl SampledProgram {
    /// A program with these functions.
    pub fn new(source: String, functions: BTreeMap<Vec<u8>, SampledFunction>) -> Self {
        let by_hash = functions.keys().map(|name| (name_ref(name), name.clone())).collect();
        Self { source, functions, has_checksums: false, release: None, by_hash }
    }

    /// Says that a name is that hash in digits: profiles may hold hashes alone.
    pub fn set_hash(&mut self, name: &[u8], hash: NameRef) {
        self.by_hash.insert(hash, name.to_vec());
    }

    /// The function whose name has that hash.
    pub fn find_hashed(&self, hash: NameRef) -> Option<(&[u8], SampledFunction)> {
        let name = self.by_hash.get(&hash)?;
        self.functions.get(name).map(|function| (name.as_slice(), *function))
    }
}
