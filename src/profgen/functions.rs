//! The functions of a program by address.

use super::names::{canonical, is_ambiguous, is_mangled, without_copy_suffixes, without_suffixes};
use crate::objects::Subprogram;
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A function. Functions of one name are one function with the code of all.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: Arc<[u8]>,
    /// Start and end of the parts of its code.
    pub(super) ranges: Vec<(u64, u64)>,
    /// Debug info does not have it.
    is_from_symbols: bool,
    /// The file and line of its declaration; 0 if unknown.
    declaration: (u64, u32),
    /// Whether functions of this name are declared in different places.
    has_other_declarations: bool,
    /// Names of symbols that debug info has with another name.
    pub(super) other_names: Vec<Box<[u8]>>,
}

impl Function {
    fn new(name: Arc<[u8]>) -> Self {
        Self {
            name,
            ranges: Vec::new(),
            is_from_symbols: false,
            declaration: (0, 0),
            has_other_declarations: false,
            other_names: Vec::new(),
        }
    }
}

impl Function {
    /// Returns true if debug info has several functions of the name, declared in different places.
    pub(super) fn is_declared_again(&self) -> bool {
        self.has_other_declarations && !is_ambiguous(&self.name)
    }

    fn note_declaration(&mut self, file: u64, line: u32) {
        let (known_file, known_line) = std::mem::replace(&mut self.declaration, (file, line));
        let is_other_file = known_file != 0 && file != 0 && known_file != file;
        self.has_other_declarations |= known_line != 0 && line != 0 && (known_line != line || is_other_file);
    }
}

/// A part of the code of a function.
#[derive(Debug)]
pub(super) struct FunctionRange {
    pub(super) start: u64,
    pub(super) end: u64,
    function: usize,
    /// Whether the function is entered at the start: it is not a part that was split off.
    is_entry: bool,
    /// Whether a symbol at the start has the name of the function.
    has_own_symbol: bool,
    /// The first mangled name of a symbol at the start, without suffixes.
    mangled_symbol: Option<Box<[u8]>>,
}

impl FunctionRange {
    fn new(start: u64, end: u64, function: usize) -> Self {
        Self { start, end, function, is_entry: false, has_own_symbol: false, mangled_symbol: None }
    }
}

/// All functions.
#[derive(Debug, Default)]
pub(super) struct Functions {
    functions: Vec<Function>,
    /// By start, one for each start.
    ranges: Vec<FunctionRange>,
    /// Addresses where several functions start.
    pub(super) shared_starts: u64,
}

impl Functions {
    /// Arranges the functions of debug info whose code is at `base` or above.
    pub(super) fn new(subprograms: Vec<Subprogram>, base: u64) -> Self {
        let mut functions: Vec<Function> = Vec::new();
        let mut by_name: HashMap<Arc<[u8]>, usize, RandomState> = HashMap::default();
        let mut by_start: HashMap<u64, FunctionRange, RandomState> = HashMap::default();
        let mut shared = HashSet::<u64, RandomState>::default();
        for Subprogram { name, ranges, line, file } in subprograms {
            let at = *by_name.entry(Arc::clone(&name)).or_insert_with(|| {
                functions.push(Function::new(name));
                functions.len() - 1
            });
            for (start, end) in ranges.into_iter().filter(|(start, end)| end > start && *start >= base) {
                functions[at].note_declaration(file, line);
                functions[at].ranges.push((start, end));
                match by_start.entry(start) {
                    hashbrown::hash_map::Entry::Occupied(_) => {
                        shared.insert(start);
                    }
                    hashbrown::hash_map::Entry::Vacant(free) => {
                        free.insert(FunctionRange::new(start, end, at));
                    }
                }
            }
        }
        let mut ranges: Vec<FunctionRange> = by_start.into_values().collect();
        ranges.sort_unstable_by_key(|range| range.start);
        Self { functions, ranges, shared_starts: shared.len() as u64 }
    }

    /// Adds the functions of a symbol table that debug info lacks: name, start and length of each.
    pub(super) fn add_symbols<'n>(&mut self, symbols: impl Iterator<Item = (&'n [u8], u64, u64)>) {
        let mut by_name: HashMap<Arc<[u8]>, usize, RandomState> =
            (0..).zip(&self.functions).map(|(at, function)| (Arc::clone(&function.name), at)).collect();
        let mut added: BTreeMap<u64, FunctionRange> = BTreeMap::new();
        for (name, start, len) in symbols {
            let Some(end) = start.checked_add(len).filter(|end| *end > start) else { continue };
            let name = without_suffixes(name);
            let after = self.ranges.partition_point(|range| range.start <= start);
            let known = after.checked_sub(1).map(|at| &self.ranges[at]).into_iter();
            let known = known.chain(added.range(..=start).next_back().map(|(_, range)| range));
            let known = known.max_by_key(|range| range.start);
            match known.filter(|range| start < range.end) {
                Some(range) => {
                    let function = &mut self.functions[range.function];
                    if *function.name != *name {
                        function.other_names.push(name.into());
                    }
                }
                None => {
                    let at = *by_name.entry(name.into()).or_insert_with(|| {
                        self.functions.push(Function::new(name.into()));
                        self.functions.len() - 1
                    });
                    self.functions[at].is_from_symbols = true;
                    self.functions[at].ranges.push((start, end));
                    added.entry(start).or_insert(FunctionRange::new(start, end, at));
                }
            }
        }
        self.ranges.extend(added.into_values());
        self.ranges.sort_by_key(|range| range.start);
    }

    /// Returns true if debug info does not have the function of a part, or has another name for it than the symbol table.
    pub(super) fn is_from_symbols(&self, range: &FunctionRange) -> bool {
        let function = &self.functions[range.function];
        function.is_from_symbols || !function.other_names.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    fn position(&self, address: u64) -> Option<usize> {
        let after = self.ranges.partition_point(|range| range.start <= address);
        after.checked_sub(1).filter(|at| address < self.ranges[*at].end)
    }

    /// The part of a function that contains an address.
    pub(super) fn range_at(&self, address: u64) -> Option<&FunctionRange> {
        self.position(address).map(|at| &self.ranges[at])
    }

    /// Returns true if a part of a function starts after `from`, or at `to`, or between them.
    pub(super) fn has_start(&self, from: Option<u64>, to: u64) -> bool {
        let after = self.ranges.partition_point(|range| range.start <= to);
        after.checked_sub(1).is_some_and(|at| from.is_none_or(|from| self.ranges[at].start > from))
    }

    /// The number of the function that contains an address.
    pub(super) fn number_at(&self, address: u64) -> Option<usize> {
        self.range_at(address).map(|range| range.function)
    }

    /// The start of the part of a function that contains an address.
    pub(super) fn start_at(&self, address: u64) -> Option<u64> {
        self.range_at(address).map(|range| range.start)
    }

    /// The function that contains an address.
    pub(super) fn function_at(&self, address: u64) -> Option<&Function> {
        self.range_at(address).map(|range| &self.functions[range.function])
    }

    /// All functions, in the order of debug info.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter()
    }

    /// Takes note of a symbol: it can make the part of a function that it lies in one that is called. With `of_copies`, so
    /// does a symbol of a copy by GCC (`f.constprop.0`).
    pub(super) fn note_symbol(&mut self, name: &[u8], address: u64, of_copies: bool) {
        let Some(at) = self.position(address) else { return };
        let range = &mut self.ranges[at];
        let function = &self.functions[range.function];
        range.is_entry |= function.ranges.len() == 1 || *function.name == *canonical(name);
        if range.start == address {
            range.is_entry |= of_copies && *function.name == *without_copy_suffixes(name);
            range.has_own_symbol |= *function.name == *name;
            if range.mangled_symbol.is_none() && is_mangled(name) {
                range.mangled_symbol = Some(without_suffixes(name).into());
            }
        }
    }

    /// Returns the functions in which code starts and that have a short name in debug info, without their classes and
    /// parameters, although their symbols have mangled names.
    pub(super) fn short_names(&self, starts: impl Iterator<Item = u64>) -> Vec<&Function> {
        let is_short = |range: &&FunctionRange| {
            range.mangled_symbol.is_some() && !range.has_own_symbol && !is_mangled(&self.functions[range.function].name)
        };
        let found: BTreeSet<usize> =
            starts.filter_map(|start| self.range_at(start)).filter(is_short).map(|range| range.function).collect();
        found.into_iter().map(|at| &self.functions[at]).collect()
    }

    /// Returns the functions in which code starts.
    pub(super) fn starting_at(&self, starts: impl Iterator<Item = u64>) -> impl Iterator<Item = &Function> {
        let functions: BTreeSet<usize> = starts.filter_map(|start| self.number_at(start)).collect();
        functions.into_iter().map(|at| &self.functions[at])
    }

    /// Returns true if symbols with different mangled names begin the parts of a function with a short name: it is several
    /// functions to which debug info gives one name.
    pub(super) fn is_several(&self, function: &Function) -> bool {
        let starts = function.ranges.iter().filter_map(|(start, _)| self.range_at(*start));
        let mut symbols = starts.filter_map(|range| range.mangled_symbol.as_ref());
        symbols.next().is_some_and(|first| symbols.any(|symbol| symbol != first))
    }

    /// The name of the function that is entered at an address.
    pub(super) fn entered_at(&self, address: u64) -> Option<&[u8]> {
        self.function_entered_at(address).map(|function| canonical(&function.name))
    }

    /// Where the function that contains an address is entered.
    pub(super) fn entry_of(&self, address: u64) -> Option<u64> {
        let range = self.range_at(address)?;
        let parts = self.functions[range.function].ranges.iter().map(|(start, _)| *start);
        std::iter::once(range.start).chain(parts).find(|start| self.function_entered_at(*start).is_some())
    }

    /// The function that is entered at an address.
    pub(super) fn function_entered_at(&self, address: u64) -> Option<&Function> {
        let range = self.range_at(address).filter(|range| range.start == address && range.is_entry)?;
        Some(&self.functions[range.function])
    }

    /// The number of functions with code at `code_start` or above that no symbol makes callable, and that of all functions.
    pub(super) fn without_entry(&self, code_start: u64) -> (u64, u64) {
        let is_entered = |(start, _): &(u64, u64)| self.range_at(*start).is_some_and(|range| range.is_entry);
        let has_code = |function: &Function| function.ranges.iter().any(|(start, _)| *start >= code_start);
        let lacks = |function: &&Function| has_code(function) && !function.ranges.iter().any(is_entered);
        (self.functions.iter().filter(lacks).count() as u64, self.functions.len() as u64)
    }

    /// The names of all parts of functions, in the form of a profile symbol list.
    pub(super) fn range_names(&self) -> impl Iterator<Item = &[u8]> {
        self.ranges.iter().map(|range| canonical(&self.functions[range.function].name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functions(list: &[(&str, &[(u64, u64)])]) -> Functions {
        let subprogram = |(name, ranges): &(&str, &[(u64, u64)])| Subprogram {
            name: name.as_bytes().into(),
            ranges: ranges.to_vec(),
            line: 0,
            file: 0,
        };
        Functions::new(list.iter().map(subprogram).collect(), 0x1000)
    }

    #[test]
    fn a_symbol_makes_a_whole_function_callable() {
        let mut all = functions(&[("f", &[(0x1000, 0x1010)])]);
        assert_eq!((all.entered_at(0x1000), all.without_entry(0x1000)), (None, (1, 1)));
        all.note_symbol(b"alias", 0x1004, false);
        assert_eq!((all.entered_at(0x1000), all.without_entry(0x1000)), (Some(&b"f"[..]), (0, 1)));
        assert_eq!(all.entered_at(0x1004), None);
    }

    #[test]
    fn names_in_debug_info_are_short_if_only_symbols_have_mangled_ones() {
        let mut all = functions(&[
            ("foo", &[(0x1000, 0x1010)]),
            ("_ZN1AC2Ev", &[(0x1010, 0x1020)]),
            ("main", &[(0x1020, 0x1030)]),
            ("folded", &[(0x1030, 0x1040)]),
            ("bar", &[(0x1040, 0x1050)]),
        ]);
        for (name, address) in [
            ("_ZN1A3fooEv", 0x1000),
            ("_ZN1AC1Ev", 0x1010),
            ("main", 0x1020),
            ("_Z5otherv", 0x1024),
            ("_Z4samev", 0x1030),
            ("folded", 0x1030),
            ("_RNv1a3bar", 0x1040),
        ] {
            all.note_symbol(name.as_bytes(), address, false);
        }
        let short = all.short_names([0x1000, 0x1008, 0x1010, 0x1020, 0x1030, 0x1040].into_iter());
        assert_eq!(short.len(), 2);
        assert!(!short.iter().any(|function| all.is_several(function)));
        assert!(all.short_names([0x1010, 0x1020].into_iter()).is_empty());
    }

    #[test]
    fn functions_with_one_name_in_debug_info_are_distinguished_by_their_symbols() {
        let mut all =
            functions(&[("run", &[(0x1000, 0x1010), (0x1010, 0x1020)]), ("f", &[(0x1020, 0x1030), (0x1030, 0x1040)])]);
        for (name, address) in
            [("_ZL1Arun", 0x1000), ("_ZL1Brun", 0x1010), ("_ZL1fi.part.0", 0x1020), ("_ZL1fi.cold", 0x1030)]
        {
            all.note_symbol(name.as_bytes(), address, false);
        }
        let several: Vec<bool> = all.iter().map(|function| all.is_several(function)).collect();
        assert_eq!(several, [true, false]);
    }

    #[test]
    fn functions_of_one_name_in_different_places_are_declared_again() {
        let subprogram = |name: &[u8], at: u64, (file, line): (u64, u32)| {
            let ranges = vec![(at, at + 8)];
            Subprogram { name: name.into(), ranges, line, file }
        };
        let all = Functions::new(
            vec![
                subprogram(b"helper", 0x1000, (1, 3)),
                subprogram(b"helper", 0x1010, (1, 5)),
                subprogram(b"of_header", 0x1020, (1, 7)),
                subprogram(b"of_header", 0x1030, (1, 7)),
                subprogram(b"unknown", 0x1040, (1, 0)),
                subprogram(b"unknown", 0x1050, (2, 7)),
                subprogram(b"unknown_file", 0x1060, (1, 7)),
                subprogram(b"unknown_file", 0x1070, (0, 7)),
                subprogram(b"twin", 0x1080, (1, 7)),
                subprogram(b"twin", 0x1090, (2, 7)),
                subprogram(b"__cxx_global_var_init", 0x10a0, (1, 1)),
                subprogram(b"__cxx_global_var_init", 0x10b0, (1, 2)),
            ],
            0x1000,
        );
        let several = all.iter().filter(|function| function.is_declared_again());
        assert_eq!(several.map(|function| &*function.name).collect::<Vec<_>>(), [&b"helper"[..], b"twin"]);
    }

    #[test]
    fn a_part_that_was_split_off_is_not_callable() {
        let mut all = functions(&[("f.llvm.7", &[(0x1000, 0x1010), (0x2000, 0x2010)])]);
        all.note_symbol(b"f.llvm.7", 0x1000, false);
        all.note_symbol(b"f.cold", 0x2000, false);
        // The name in debug info is not the canonical one.
        assert_eq!((all.entered_at(0x1000), all.entered_at(0x2000)), (None, None));
        let mut all = functions(&[("f", &[(0x1000, 0x1010), (0x2000, 0x2010)])]);
        all.note_symbol(b"f.llvm.7", 0x1000, false);
        all.note_symbol(b"f.cold", 0x2000, false);
        assert_eq!((all.entered_at(0x1000), all.entered_at(0x2000)), (Some(&b"f"[..]), None));
    }

    #[test]
    fn copies_by_gcc_are_callable_if_asked_for() {
        for (of_copies, expected) in [(false, None), (true, Some(&b"f"[..]))] {
            let mut all = functions(&[("f", &[(0x2000, 0x2010), (0x1000, 0x1010)])]);
            all.note_symbol(b"f.constprop.0", 0x2000, of_copies);
            all.note_symbol(b"f.constprop.0.cold", 0x1000, of_copies);
            assert_eq!((all.entered_at(0x2000), all.entered_at(0x1000)), (expected, None));
        }
    }

    #[test]
    fn the_first_function_at_an_address_counts_and_code_below_the_base_does_not() {
        let all = functions(&[("f", &[(0x1000, 0x1010)]), ("g", &[(0x1000, 0x1008)]), ("dead", &[(0, 8)])]);
        assert_eq!(&*all.function_at(0x1008).unwrap().name, b"f");
        assert_eq!(all.shared_starts, 1);
        assert!(all.function_at(4).is_none());
        assert!(all.function_at(0x1010).is_none());
    }
}
