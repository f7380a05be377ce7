//! The new build: its functions as its compiler computes them.

use crate::model::{NameRef, ProfileKind, Release, SymbolTable, name_ref};
use hashbrown::HashMap;

/// The source of the new build's functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramSource {
    /// The data records of an instrumented program or library.
    DataRecords,
    /// The data records that are not loaded (`-profile-correlate=binary`).
    CorrelationRecords,
    /// Debug info (`-profile-correlate=debug-info`).
    DebugInfo,
    /// The coverage map.
    CoverageMap,
    /// A raw, indexed or text profile of the new build.
    Profile,
}

impl ProgramSource {
    /// The source in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::DataRecords => "data records of the program",
            Self::CorrelationRecords => "correlation records of the program",
            Self::DebugInfo => "debug info of the program",
            Self::CoverageMap => "coverage map of the program",
            Self::Profile => "profile of the new build",
        }
    }
}

/// A function of the new build with one FuncHash. A name has several hashes if several objects have different functions
/// with that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ProgramFunction {
    /// Hash of its profile name.
    pub name_ref: NameRef,
    /// Structural hash, by the algorithm of the compiler that built the program.
    pub func_hash: u64,
    /// Number of counters; unknown in a coverage map.
    pub num_counters: Option<u32>,
}

/// The functions of a new build, in a fixed order and each once.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Program {
    source: ProgramSource,
    functions: Vec<ProgramFunction>,
    names: SymbolTable,
    by_name: HashMap<NameRef, Vec<usize>, foldhash::fast::RandomState>,
    /// Variant bits, if the program has them: whether it has IR or front-end instrumentation.
    pub kind: Option<ProfileKind>,
    /// The LLVM release that built it, if the program has it.
    pub release: Option<Release>,
    /// Whether names of vtables are known, and so which of them exist.
    pub has_vtables: bool,
}

impl Program {
    /// A program with these functions; names by their hash, as far as known.
    pub fn new(source: ProgramSource, functions: Vec<ProgramFunction>, names: SymbolTable) -> Self {
        let mut all = functions;
        all.sort_unstable();
        // If two sources were joined, a function is listed with and without its number of counters; keep the number.
        all.dedup_by(|later, first| {
            let same = (later.name_ref, later.func_hash) == (first.name_ref, first.func_hash);
            if same {
                first.num_counters = first.num_counters.or(later.num_counters);
            }
            same
        });
        // Functions with the same name are in order already.
        all.sort_by_cached_key(|function| names.name(function.name_ref));
        let mut by_name: HashMap<NameRef, Vec<usize>, _> = HashMap::default();
        for (at, function) in all.iter().enumerate() {
            by_name.entry(function.name_ref).or_default().push(at);
        }
        Self { source, functions: all, names, by_name, kind: None, release: None, has_vtables: false }
    }

    /// Returns the source of the functions.
    pub fn source(&self) -> ProgramSource {
        self.source
    }

    /// All functions, by name; those without a name first.
    pub fn functions(&self) -> &[ProgramFunction] {
        &self.functions
    }

    /// The name of a function, if it is known.
    pub fn name(&self, function: &ProgramFunction) -> Option<&[u8]> {
        self.names.name(function.name_ref)
    }

    /// The functions of a name, as positions in [`functions`](Self::functions).
    pub fn find(&self, name: &[u8]) -> &[usize] {
        self.find_hashed(name_ref(name))
    }

    /// The functions whose name has that hash.
    pub fn find_hashed(&self, name: NameRef) -> &[usize] {
        self.by_name.get(&name).map_or(&[], Vec::as_slice)
    }

    /// Returns the names of functions, and of other items that values refer to, such as vtables.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(|(_, name)| name)
    }

    /// The hashes of all names, known or not.
    pub fn name_refs(&self) -> impl Iterator<Item = NameRef> {
        self.by_name.keys().copied().chain(self.names.iter().map(|(hash, _)| hash))
    }

    /// Whether IR was instrumented; `None` if the program does not show it.
    pub fn is_ir(&self) -> Option<bool> {
        self.kind.map(ProfileKind::is_ir)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_unique_and_sorted_by_name() {
        let mut names = SymbolTable::new();
        let [a, b] = ["zeta", "alpha"].map(|name| names.insert(name.as_bytes()));
        let function = |name_ref, func_hash, num_counters| ProgramFunction { name_ref, func_hash, num_counters };
        let functions =
            vec![function(a, 1, None), function(b, 5, Some(2)), function(a, 1, Some(3)), function(b, 4, Some(2))];
        let program = Program::new(ProgramSource::DataRecords, functions, names);
        let listed: Vec<_> = program.functions().iter().map(|f| (f.name_ref, f.func_hash, f.num_counters)).collect();
        assert_eq!(listed, [(b, 4, Some(2)), (b, 5, Some(2)), (a, 1, Some(3))]);
        assert_eq!((program.find(b"alpha"), program.find(b"gone")), (&[0usize, 1][..], &[][..]));
    }
}
