//! The new build: its functions as its compiler computes them.

use crate::model::hash_order::name_order;
use crate::model::{NameRef, ProfileKind, Release, SymbolTable};

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
        // Functions with the same name are in order already; those without a name come first.
        let same_name: Vec<&[ProgramFunction]> = all.chunk_by(|one, next| one.name_ref == next.name_ref).collect();
        let named = same_name.iter().filter_map(|same| Some((names.name(same[0].name_ref)?, *same)));
        let named: Vec<(&[u8], &[ProgramFunction])> = named.collect();
        let unnamed = same_name.iter().copied().filter(|same| names.find(same[0].name_ref).is_none());
        let count = u32::try_from(named.len()).expect("fewer than 2^32 names fit in memory");
        let (order, _) = name_order(count, |at| named[at as usize].0);
        let order = order.into_iter().map(|at| named[at as usize].1);
        let mut functions: Vec<ProgramFunction> = Vec::with_capacity(all.len());
        unnamed.chain(order).for_each(|same| functions.extend_from_slice(same));
        Self { source, functions, names, kind: None, release: None, has_vtables: false }
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

    /// Returns the names of functions, and of other items that values refer to, such as vtables.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(|(_, name)| name)
    }

    /// The hashes of all names, known or not.
    pub fn name_refs(&self) -> impl Iterator<Item = NameRef> {
        self.functions.iter().map(|function| function.name_ref).chain(self.names.iter().map(|(hash, _)| hash))
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
        let functions = vec![
            function(a, 1, None),
            function(b, 5, Some(2)),
            function(a, 1, Some(3)),
            function(b, 4, Some(2)),
            function(7, 9, None),
        ];
        let program = Program::new(ProgramSource::DataRecords, functions, names);
        let listed: Vec<_> = program.functions().iter().map(|f| (f.name_ref, f.func_hash, f.num_counters)).collect();
        assert_eq!(listed, [(7, 9, None), (b, 4, Some(2)), (b, 5, Some(2)), (a, 1, Some(3))]);
    }
}
