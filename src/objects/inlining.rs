//! The functions at an address, inlined ones first.
//!
//! LLVM's symbolizer determines the frames of memory profiles, so this follows it
//! (`DWARFContext::getInliningInfoForAddress`): the innermost function has its location from
//! the line table, its callers that of the call. The crate addr2line omits the line of the
//! declaration and the column of the call, which frames of memory profiles need.

use super::debug_info::{EntryPlace, LineTable, Place as SourcePlace, file_name, find_attribute};
use super::debug_info::{FunctionName, find_function_name, offset_of};
use super::debug_info::{NEEDS_SPLIT_FILES, SplitDebugInfo, StringSection, shared_debug_info, string};
use super::debug_info::{Slice, damaged, load_sections_of_code, path_of_file, ranges_of};
use super::debug_info::{ranges_of_unit, symbol_name, unable};
use super::local_names::{LocalFunction, LocalNames};
use super::units::{has_functions, is_of_gcc, lacks_first_lines, lacks_mangled_names};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use foldhash::fast::RandomState;
use gimli::{ArangeHeader, AttributeValue, Dwarf, DwarfSections, EndianSlice, RunTimeEndian, Unit, constants};
use hashbrown::{HashMap, HashSet};
use object::Object;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use xxhash_rust::xxh3::xxh3_64;

/// A function at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InlineFrame {
    /// The linkage name, otherwise the plain name; `None` if debug info has no name.
    pub(crate) function: Option<Arc<[u8]>>,
    /// Line of the place in the function, 0 when unknown.
    pub(crate) line: u32,
    /// Column of the place in the function, 0 when unknown.
    pub(crate) column: u32,
    /// The encoded discriminator, which distinguishes copies of code of one line.
    pub(crate) discriminator: u32,
    /// Line where the function is declared, 0 when unknown.
    pub(crate) start_line: u32,
    /// Base name of the file, for the innermost function only.
    pub(crate) file: Option<Arc<[u8]>>,
}

/// Returns the functions at each link-time address of the image at `path`, innermost first. The addresses are
/// ascending. The chain of an address without debug info is empty. If split debug info is missing, its skeleton is
/// used.
///
/// All chains together have at most `most` functions, because inlined calls occur once in debug info but in the chain
/// of each address. See [`DebugInfo::code_start`].
///
/// # Errors
///
/// Unable to correlate when debug info is damaged; limit exceeded for more
/// functions, and for calls inlined into each other deeper than
/// [`Limits::context_depth`].
pub(crate) fn inline_chains(
    file: &object::File<'_>,
    path: &Path,
    addresses: &[u64],
    limits: &Limits,
    most: usize,
    code_start: u64,
) -> Result<(Vec<Vec<InlineFrame>>, Option<Error>)> {
    let mut debug = DebugInfo::load(file, path, None, None, limits)?;
    debug.code_start = code_start;
    let found = debug.inline_chains(addresses, most)?;
    if let (_, Some(error)) = debug.damage() {
        return Err(error);
    }
    let mut left = Bounds::new(limits, most);
    let chains = found.of_address.iter().map(|chain| {
        let chain: Vec<InlineFrame> = found.chain(*chain).cloned().collect();
        left.take(chain.len())?;
        Ok(chain)
    });
    Ok((chains.collect::<Result<_>>()?, shared_debug_info(file).or(found.missing)))
}

/// Data for sample profiles that debug info lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MissingDebugInfo {
    /// Whether no unit has a function.
    pub(crate) all_functions: bool,
    /// The number of units whose split debug info is not where it should be.
    pub(crate) split_units: u64,
    /// Functions of C++ and Rust that have neither a mangled name nor a symbol of their name.
    pub(crate) short_names: BTreeSet<Arc<[u8]>>,
    /// Functions without the line of their declaration, from which profiles count lines.
    pub(crate) first_lines: BTreeSet<Arc<[u8]>>,
}

impl MissingDebugInfo {
    /// Looks at the units of the image at `path`.
    ///
    /// # Errors
    ///
    /// Unable to correlate when debug info is damaged.
    pub(crate) fn find(file: &object::File<'_>, path: &Path, limits: &Limits) -> Result<Self> {
        let debug = DebugInfo::load(file, path, None, None, limits)?;
        let missing = debug.missing(file.symbols().filter_map(|symbol| symbol_name(file, &symbol)))?;
        debug.damage().1.map_or(Ok(missing), Err)
    }
}

/// The chains at some addresses. Each chain is known by its innermost function; callers are stored once.
#[derive(Debug)]
pub(crate) struct InlineChains {
    functions: Vec<InlinedFunction>,
    /// The innermost function at each address, 0 if there is none.
    pub(crate) of_address: Vec<u32>,
    /// Why the first missing file of split debug info cannot be read.
    missing: Option<Error>,
}

/// A function, and the function that it was inlined into, 0 if it was not.
#[derive(Debug)]
struct InlinedFunction {
    frame: InlineFrame,
    caller: u32,
}

impl InlineChains {
    fn new(addresses: usize) -> Self {
        Self { functions: Vec::new(), of_address: vec![0; addresses], missing: None }
    }

    /// The number of functions, and the highest number of a chain.
    pub(crate) fn len(&self) -> usize {
        self.functions.len()
    }

    fn get(&self, number: u32) -> Option<&InlinedFunction> {
        self.functions.get((number as usize).checked_sub(1)?)
    }

    /// The functions of a chain, innermost first.
    pub(crate) fn chain(&self, number: u32) -> impl Iterator<Item = &InlineFrame> {
        std::iter::successors(self.get(number), |function| self.get(function.caller)).map(|function| &function.frame)
    }

    /// Adds a function and returns its number.
    fn push(&mut self, frame: InlineFrame, caller: u32, bounds: &mut Bounds) -> Result<u32> {
        bounds.take(1)?;
        self.functions.push(InlinedFunction { frame, caller });
        u32::try_from(self.functions.len()).map_err(|_| too_many_chains())
    }
}

/// A function of a program, as debug info names it.
#[derive(Debug)]
pub(crate) struct Subprogram {
    /// Linkage name, or the plain one where it has no other.
    pub(crate) name: Arc<[u8]>,
    /// Start and end of each part of its code, in the order of debug info.
    pub(crate) ranges: Vec<(u64, u64)>,
    /// The line of its declaration; 0 if unknown.
    pub(crate) line: u32,
    /// A hash of the path of the file with that line; 0 if unknown.
    pub(crate) file: u64,
}

/// The functions of a program.
#[derive(Debug, Default)]
pub(crate) struct Subprograms {
    /// Those with a name and with code.
    pub(crate) functions: Vec<Subprogram>,
    /// Units whose split debug info was not found.
    pub(crate) missing_units: u64,
    /// Why the first of them was not found.
    pub(crate) missing: Option<Error>,
    /// The names that the symbol table has for functions with plain names.
    pub(crate) local_names: LocalNames,
}

/// The debug info of an image.
pub(crate) struct DebugInfo<'i> {
    sections: DwarfSections<Cow<'i, [u8]>>,
    endian: RunTimeEndian,
    split: SplitDebugInfo<'i>,
    /// The strings if they are not in memory. Then frames have no names of files.
    strings: Option<&'i StringSection>,
    /// The names of [`Subprograms::local_names`], if inlined calls have them.
    pub(crate) local_names: LocalNames,
    /// The first address of code. Functions that the linker removed stay in debug info, with code at address 0. Those that
    /// reach beyond this address are ignored. With 0, the code there is theirs, as in LLVM.
    pub(crate) code_start: u64,
    limits: Limits,
    /// The errors of damaged units, by their offset.
    damage: Mutex<BTreeMap<usize, Error>>,
}

impl<'i> DebugInfo<'i> {
    /// Reads the sections of the image at `path`, and those of the package of its split debug info: `package`, or the
    /// one next to the image. `strings` are those of the image if they are not in memory.
    ///
    /// # Errors
    ///
    /// Unable to correlate for damaged sections, and for a package that cannot be read.
    pub(crate) fn load(
        file: &object::File<'i>,
        path: &'i Path,
        package: Option<&Path>,
        strings: Option<&'i StringSection>,
        limits: &Limits,
    ) -> Result<Self> {
        let (sections, endian) = load_sections_of_code(file, strings.is_none(), limits)?;
        let split = SplitDebugInfo::with_package(path, package, strings, limits)?;
        let (local_names, damage) = (LocalNames::default(), Mutex::default());
        Ok(Self { sections, endian, split, strings, local_names, code_start: 0, limits: *limits, damage })
    }

    /// Returns true if the image has no debug info.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self.dwarf().units().next(), Ok(None))
    }

    /// The number of units that were damaged as far as they were read, and what is wrong with the first one.
    pub(crate) fn damage(&self) -> (u64, Option<Error>) {
        let damage = self.damage.lock().unwrap_or_else(PoisonError::into_inner);
        (damage.len() as u64, damage.values().next().cloned())
    }

    /// Takes note of a damaged unit. Other errors are returned.
    fn note(&self, offset: usize, result: Result<()>) -> Result<()> {
        let Err(error) = result else { return Ok(()) };
        if !matches!(error.kind(), ErrorKind::UnableToCorrelate { .. }) {
            return Err(error);
        }
        self.damage.lock().unwrap_or_else(PoisonError::into_inner).entry(offset).or_insert(error);
        Ok(())
    }

    /// All units that can be read.
    fn units<'a>(&self, dwarf: &Dwarf<Slice<'a>>) -> Result<Vec<Unit<Slice<'a>>>> {
        let (mut units, mut headers, mut end) = (Vec::new(), dwarf.units(), 0);
        loop {
            let header = match headers.next() {
                Ok(Some(header)) => header,
                Ok(None) => return Ok(units),
                Err(error) => {
                    self.note(end, Err(damaged(error)))?;
                    return Ok(units);
                }
            };
            let offset = header.debug_info_offset().map_or(end, |offset| offset.0);
            end = offset.saturating_add(header.length_including_self());
            match dwarf.unit(header) {
                Ok(unit) => units.push(unit),
                Err(error) => self.note(offset, Err(damaged(error)))?,
            }
        }
    }

    fn dwarf(&self) -> Dwarf<Slice<'_>> {
        self.sections.borrow(|bytes| EndianSlice::new(bytes, self.endian))
    }

    /// Lists the functions that have code. Damaged units are read as far as they can be, as LLVM does.
    ///
    /// Local functions of C++, for which GCC writes only plain names, have the names of `symbol_at`, the mangled symbol
    /// at an address.
    ///
    /// # Errors
    ///
    /// Unable to correlate when all units are damaged; I/O.
    pub(crate) fn subprograms<'s>(&self, symbol_at: impl Fn(u64) -> Option<&'s [u8]>) -> Result<Subprograms> {
        let dwarf = self.dwarf();
        let units = self.units(&dwarf)?;
        let mut found = Subprograms::default();
        let (none, mut local) = (LocalNames::default(), Vec::new());
        let mut functions = Functions::new(&dwarf, &units, self.strings, &none);
        for (at, unit) in units.iter().enumerate() {
            self.note(offset_of(unit), functions.list(at, &mut found.functions, &mut local))?;
        }
        for (at, unit) in units.iter().enumerate().filter(|(_, unit)| unit.dwo_id.is_some()) {
            let sections = match self.split.sections(&dwarf, unit) {
                Ok(Some(sections)) => sections,
                missing => {
                    found.missing_units += 1;
                    found.missing = found.missing.or(missing.err());
                    continue;
                }
            };
            let rest = self.split.unit(&sections, &dwarf, unit);
            self.note(
                offset_of(unit),
                rest.and_then(|rest| {
                    let Some((dwarf, unit)) = rest else {
                        found.missing_units += 1;
                        return Ok(());
                    };
                    Functions::of_split(&dwarf, &unit, at, &none).list(0, &mut found.functions, &mut local)
                }),
            )?;
        }
        for (at, function) in &local {
            let symbol = found.functions[*at].ranges.first().and_then(|(start, _)| symbol_at(*start));
            symbol.into_iter().for_each(|symbol| found.local_names.note(function, symbol));
        }
        for (at, function) in &local {
            found.local_names.find(function).into_iter().for_each(|name| found.functions[*at].name = Arc::clone(name));
        }
        self.strings.map_or(Ok(()), StringSection::check)?;
        match self.damage() {
            (number, Some(error)) if units.is_empty() => {
                Err(unable(format!("all units of debug info are damaged ({number}): {error}")))
            }
            _ => Ok(found),
        }
    }

    /// Looks for data that sample profiles need; `symbols` are the names of all symbols.
    ///
    /// # Errors
    ///
    /// Unable to correlate when abbreviations are damaged; I/O.
    pub(crate) fn missing<'s>(&self, symbols: impl Iterator<Item = &'s [u8]>) -> Result<MissingDebugInfo> {
        let dwarf = self.dwarf();
        let (units, none) = (self.units(&dwarf)?, LocalNames::default());
        let mut functions = Functions::new(&dwarf, &units, self.strings, &none);
        let all_functions = !units.iter().any(|unit| unit.dwo_id.is_some() || has_functions(unit));
        let mut missing = MissingDebugInfo { all_functions, ..MissingDebugInfo::default() };
        for (at, unit) in units.iter().enumerate() {
            if unit.dwo_id.is_some() {
                missing.split_units += u64::from(self.split.is_missing(&dwarf, unit)?);
                continue;
            }
            let (lacks_names, lacks_lines) = (lacks_mangled_names(unit)?, lacks_first_lines(unit)?);
            if lacks_names || lacks_lines {
                let mut names = Vec::new();
                self.note(offset_of(unit), functions.add_names(at, &mut names))?;
                missing.short_names.extend(names.iter().filter(|_| lacks_names).cloned());
                missing.first_lines.extend(names.into_iter().filter(|_| lacks_lines));
            }
        }
        if !missing.short_names.is_empty() {
            symbols.for_each(|symbol| {
                missing.short_names.remove(symbol);
            });
        }
        Ok(missing)
    }

    /// The functions at addresses, as in [`inline_chains`]; `most` bounds the functions of all stored chains. Damaged
    /// units are read as far as they can be.
    ///
    /// # Errors
    ///
    /// Limit exceeded as in [`inline_chains`]; I/O.
    pub(crate) fn inline_chains(&self, addresses: &[u64], most: usize) -> Result<InlineChains> {
        let dwarf = self.dwarf();
        let units = self.units(&dwarf)?;
        let mut bounds = Bounds::new(&self.limits, most);
        let table = AddressTable::read(&dwarf);
        let mut functions = Functions::new(&dwarf, &units, self.strings, &self.local_names);
        functions.code_start = self.code_start;
        let mut found = InlineChains::new(addresses.len());
        for (at, unit) in units.iter().enumerate() {
            let inside = table.addresses_of(&dwarf, unit, addresses, &found.of_address);
            let looked_up =
                inside.and_then(|inside| self.look_up(&mut functions, at, addresses, &inside, &mut bounds, &mut found));
            self.note(offset_of(unit), looked_up)?;
        }
        self.strings.map_or(Ok(()), StringSection::check)?;
        Ok(found)
    }

    /// Looks up the addresses at the positions `inside` in a unit.
    fn look_up<'a>(
        &self,
        functions: &mut Functions<'_, 'a>,
        at: usize,
        addresses: &[u64],
        inside: &[usize],
        bounds: &mut Bounds,
        found: &mut InlineChains,
    ) -> Result<()> {
        let (dwarf, unit) = (functions.dwarf, &functions.units[at]);
        if inside.is_empty() {
            return Ok(());
        }
        let mut lines = Lines::read(dwarf, unit)?;
        let rest = match self.split.sections(dwarf, unit) {
            Ok(sections) => sections,
            Err(error) => {
                found.missing.get_or_insert(error.with_hint(NEEDS_SPLIT_FILES));
                None
            }
        };
        let rest = rest.as_ref().map(|sections| self.split.unit(sections, dwarf, unit)).transpose()?.flatten();
        match rest {
            Some((dwarf, unit)) => {
                let mut functions = Functions::of_split(&dwarf, &unit, at, &self.local_names);
                functions.code_start = self.code_start;
                functions.look_up(0, addresses, inside, &mut lines, bounds, found)
            }
            None => functions.look_up(at, addresses, inside, &mut lines, bounds, found),
        }
    }
}

/// The table of the code of units (`.debug_aranges`), by the offset of the unit.
///
/// LLVM prefers it to the ranges of the unit. The two differ for functions that the linker removed: in the table, they
/// stay, with code at address 0.
struct AddressTable<'a>(HashMap<usize, Vec<ArangeHeader<Slice<'a>>>, RandomState>);

impl<'a> AddressTable<'a> {
    /// Reads the table as far as it is not damaged.
    fn read(dwarf: &Dwarf<Slice<'a>>) -> Self {
        let (mut by_unit, mut headers) = (HashMap::<_, Vec<_>, _>::default(), dwarf.debug_aranges.headers());
        while let Ok(Some(header)) = headers.next() {
            by_unit.entry(header.debug_info_offset().0).or_default().push(header);
        }
        Self(by_unit)
    }

    /// Returns the positions of the addresses in a unit that no earlier unit had.
    fn addresses_of(
        &self,
        dwarf: &Dwarf<Slice<'a>>,
        unit: &Unit<Slice<'a>>,
        addresses: &[u64],
        found: &[u32],
    ) -> Result<Vec<usize>> {
        let mut inside = Vec::new();
        let mut add = |range| inside.extend(within(addresses, range).filter(|index| found[*index] == 0));
        if let Some(headers) = self.0.get(&offset_of(unit)) {
            for header in headers {
                let mut entries = header.entries();
                while let Ok(Some(entry)) = entries.next() {
                    add(entry.range());
                }
            }
        } else {
            let mut ranges = ranges_of_unit(dwarf, unit)?;
            while let Some(range) = ranges.next().map_err(damaged)? {
                add(range);
            }
        }
        inside.sort_unstable();
        inside.dedup();
        Ok(inside)
    }
}

fn too_many_chains() -> Error {
    let what = "number of inlined chains";
    Error::above_limit(None, what, 1 << 32, u32::MAX.into())
}

/// The limits for data from debug info.
struct Bounds {
    /// Functions at one address.
    depth: u64,
    /// Functions at all addresses, and how many more there may be.
    most: usize,
    left: usize,
}

impl Bounds {
    fn new(limits: &Limits, most: usize) -> Self {
        Self { depth: limits.context_depth.into(), most, left: most }
    }

    /// Counts the functions at an address.
    fn take(&mut self, chain: usize) -> Result<()> {
        let Some(left) = self.left.checked_sub(chain) else {
            let (found, limit) = (self.most - self.left + chain, self.most as u64);
            let what = "number of functions at the addresses of call stacks";
            return Err(Error::above_limit(None, what, found as u64, limit));
        };
        self.left = left;
        Ok(())
    }

    /// Whether functions may be inlined into each other so deep.
    fn check_depth(&self, depth: usize) -> Result<()> {
        if depth as u64 > self.depth {
            let what = "depth of inlined calls";
            return Err(Error::above_limit(Some("context-depth"), what, depth as u64, self.depth));
        }
        Ok(())
    }
}

/// The lines of a unit, and the names of its files as far as they were asked for.
struct Lines<'u, 'a> {
    dwarf: &'u Dwarf<Slice<'a>>,
    unit: &'u Unit<Slice<'a>>,
    table: LineTable,
    files: HashMap<u64, Option<Arc<[u8]>>, RandomState>,
}

impl<'u, 'a> Lines<'u, 'a> {
    fn read(dwarf: &'u Dwarf<Slice<'a>>, unit: &'u Unit<Slice<'a>>) -> Result<Self> {
        Ok(Self { dwarf, unit, table: LineTable::read(unit)?, files: HashMap::default() })
    }

    /// The name of a file, if it is known.
    fn file(&mut self, file: u64) -> Option<Arc<[u8]>> {
        let name = self.files.entry(file).or_insert_with(|| {
            let header = self.unit.line_program.as_ref()?.header();
            file_name(self.dwarf, self.unit, header, file).map(Into::into)
        });
        name.clone()
    }
}

/// A function that was compiled, or a call that was inlined.
struct Subroutine {
    /// The one around it, for an inlined call.
    parent: Option<usize>,
    depth: isize,
    entry: EntryPlace,
    /// Where it was called, for an inlined call.
    call: SourcePlace,
    /// The chain of its callers, once it is known.
    callers: Option<u32>,
}

/// A name, and the function if it can have a name of the symbol table instead.
type NameInDebugInfo = (Arc<[u8]>, Option<LocalFunction>);

/// Name and line of a function.
#[derive(Clone, Default)]
struct Declaration {
    name: Option<Arc<[u8]>>,
    line: u32,
}

/// The functions of units.
struct Functions<'u, 'a> {
    dwarf: &'u Dwarf<Slice<'a>>,
    units: &'u [Unit<Slice<'a>>],
    strings: Option<&'u StringSection>,
    declarations: HashMap<EntryPlace, Declaration, RandomState>,
    /// The names of functions. Units repeat those of templates.
    names: HashSet<Arc<[u8]>, RandomState>,
    local_names: &'u LocalNames,
    /// The number of the first unit.
    first: usize,
    /// See [`DebugInfo::code_start`].
    code_start: u64,
    /// Whether GCC compiled a unit of C++.
    of_gcc: HashMap<usize, bool, RandomState>,
    /// Hashes of the paths of source files, by unit and index.
    files: HashMap<(usize, u64), u64, RandomState>,
}

impl<'u, 'a> Functions<'u, 'a> {
    fn new(
        dwarf: &'u Dwarf<Slice<'a>>,
        units: &'u [Unit<Slice<'a>>],
        strings: Option<&'u StringSection>,
        local_names: &'u LocalNames,
    ) -> Self {
        let (declarations, names) = (HashMap::default(), HashSet::default());
        let (of_gcc, files) = (HashMap::default(), HashMap::default());
        Self { dwarf, units, strings, declarations, names, local_names, first: 0, code_start: 0, of_gcc, files }
    }

    /// The functions of the split debug info of a unit.
    fn of_split(dwarf: &'u Dwarf<Slice<'a>>, unit: &'u Unit<Slice<'a>>, number: usize, names: &'u LocalNames) -> Self {
        Self { first: number, ..Self::new(dwarf, std::slice::from_ref(unit), None, names) }
    }

    /// Looks up the addresses at the positions `inside` in a unit.
    fn look_up(
        &mut self,
        at: usize,
        addresses: &[u64],
        inside: &[usize],
        lines: &mut Lines<'_, '_>,
        bounds: &mut Bounds,
        found: &mut InlineChains,
    ) -> Result<()> {
        let own: Vec<u64> = inside.iter().map(|index| addresses[*index]).collect();
        let (mut subroutines, owners) = self.subroutines(at, &own, bounds)?;
        let mut known: HashMap<_, u32, RandomState> = HashMap::default();
        for ((index, address), owner) in inside.iter().zip(own).zip(owners) {
            let Some(owner) = owner else { continue };
            let place = lines.table.find(address).unwrap_or_default();
            found.of_address[*index] = match known.get(&(owner, place)) {
                Some(chain) => *chain,
                None => {
                    let callers = self.callers(&mut subroutines, owner, bounds, found)?;
                    let frame = self.frame(subroutines[owner].entry, place, lines.file(place.file))?;
                    let number = found.push(frame, callers, bounds)?;
                    known.insert((owner, place), number);
                    number
                }
            };
        }
        Ok(())
    }

    /// The chain of the callers of an inlined call, 0 for a function that is not inlined.
    fn callers(
        &mut self,
        subroutines: &mut [Subroutine],
        of: usize,
        bounds: &mut Bounds,
        found: &mut InlineChains,
    ) -> Result<u32> {
        let parent = |subroutines: &[Subroutine], at: usize| match subroutines[at].callers {
            None => subroutines[at].parent,
            Some(_) => None,
        };
        let unknown: Vec<usize> = std::iter::successors(Some(of), |at| parent(subroutines, *at)).collect();
        let mut callers = 0;
        for at in unknown.into_iter().rev() {
            let Subroutine { callers: known, parent, call, .. } = subroutines[at];
            callers = match (known, parent) {
                (Some(known), _) => known,
                (None, None) => 0,
                (None, Some(parent)) => {
                    found.push(self.frame(subroutines[parent].entry, call, None)?, callers, bounds)?
                }
            };
            subroutines[at].callers = Some(callers);
        }
        Ok(callers)
    }

    /// A function with a place in it.
    fn frame(&mut self, entry: EntryPlace, place: SourcePlace, file: Option<Arc<[u8]>>) -> Result<InlineFrame> {
        let Declaration { name: function, line: start_line } = self.declaration(entry)?;
        let SourcePlace { line, column, discriminator, .. } = place;
        Ok(InlineFrame { function, line, column, discriminator, start_line, file })
    }

    /// Appends the functions of a unit that have a name and code, and the positions of the local ones among them.
    fn list(&mut self, at: usize, found: &mut Vec<Subprogram>, local: &mut Vec<(usize, LocalFunction)>) -> Result<()> {
        let unit = &self.units[at];
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs().map_err(damaged)? {
            if entry.tag() != constants::DW_TAG_subprogram {
                continue;
            }
            let mut ranges = Vec::new();
            let mut parts = ranges_of(self.dwarf, unit, entry)?;
            while let Some(range) = parts.next().map_err(damaged)? {
                ranges.push((range.begin, range.end));
            }
            if ranges.is_empty() {
                continue;
            }
            let place = (at, entry.offset());
            if let Some((name, function)) = self.name_in_debug_info(place)? {
                let line = self.number(place, constants::DW_AT_decl_line);
                local.extend(function.map(|function| (found.len(), function)));
                let file = self.file_of_declaration(place);
                found.push(Subprogram { name, ranges, line, file });
            }
        }
        Ok(())
    }

    /// Appends the names of all functions of a unit, also of those that have no code of their own.
    fn add_names(&mut self, at: usize, names: &mut Vec<Arc<[u8]>>) -> Result<()> {
        let mut entries = self.units[at].entries();
        while let Some(entry) = entries.next_dfs().map_err(damaged)? {
            if entry.tag() == constants::DW_TAG_subprogram {
                names.extend(self.name_in_debug_info((at, entry.offset()))?.map(|(name, _)| name));
            }
        }
        Ok(())
    }

    /// All subroutines of a unit, and the innermost one of each address in it.
    fn subroutines(
        &self,
        at: usize,
        addresses: &[u64],
        bounds: &Bounds,
    ) -> Result<(Vec<Subroutine>, Vec<Option<usize>>)> {
        let unit = &self.units[at];
        let (mut found, mut owners) = (Vec::new(), Owners::default());
        // The depth of a function that the linker removed, while its entries follow.
        let mut removed: Option<isize> = None;
        // Subroutines around the current entry.
        let mut around: Vec<usize> = Vec::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs().map_err(damaged)? {
            // Entries of other kinds end subroutines, too: a block beside an inlined call is not in it.
            while around.last().is_some_and(|last: &usize| {
                let last: &Subroutine = &found[*last];
                last.depth >= entry.depth()
            }) {
                around.pop();
            }
            removed = removed.filter(|depth| entry.depth() > *depth);
            let inlined = entry.tag() == constants::DW_TAG_inlined_subroutine;
            if !inlined && entry.tag() != constants::DW_TAG_subprogram {
                continue;
            }
            let number = |name| entry.attr_value(name).and_then(|value| value.udata_value()).unwrap_or(0) as u32;
            let subroutine = Subroutine {
                parent: if inlined { around.last().copied() } else { None },
                depth: entry.depth(),
                entry: (at, entry.offset()),
                call: SourcePlace {
                    file: 0,
                    line: number(constants::DW_AT_call_line),
                    column: number(constants::DW_AT_call_column),
                    discriminator: number(constants::DW_AT_GNU_discriminator),
                },
                callers: None,
            };
            found.push(subroutine);
            let this = found.len() - 1;
            around.push(this);
            bounds.check_depth(around.len())?;
            let mut ranges = ranges_of(self.dwarf, unit, entry)?;
            while let Some(range) = ranges.next().map_err(damaged)? {
                if range.begin < self.code_start && range.end > self.code_start {
                    removed.get_or_insert(entry.depth());
                }
                if removed.is_none() {
                    owners.add(addresses, range, this);
                }
            }
        }
        Ok((found, addresses.iter().map(|address| owners.of(*address)).collect()))
    }

    fn declaration(&mut self, place: EntryPlace) -> Result<Declaration> {
        if let Some(known) = self.declarations.get(&place) {
            return Ok(known.clone());
        }
        let line = self.number(place, constants::DW_AT_decl_line);
        let declaration = Declaration { name: self.name(place)?, line };
        self.declarations.insert(place, declaration.clone());
        Ok(declaration)
    }

    /// A number that an entry or its declaration has, 0 if there is none.
    fn number(&self, place: EntryPlace, attribute: gimli::DwAt) -> u32 {
        let number = find_attribute(self.units, place, &[attribute]);
        number.and_then(|(value, _)| value.udata_value()).unwrap_or(0) as u32
    }

    /// Returns a hash of the path of the file that declares a function; 0 if it is unknown.
    fn file_of_declaration(&mut self, place: EntryPlace) -> u64 {
        let Some((value, (at, _))) = find_attribute(self.units, place, &[constants::DW_AT_decl_file]) else { return 0 };
        let AttributeValue::FileIndex(index) = value else { return 0 };
        let (dwarf, unit, strings) = (self.dwarf, &self.units[at], self.strings);
        let hash = || path_of_file(dwarf, unit, strings, index).map_or(0, |path| xxh3_64(&path));
        *self.files.entry((at, index)).or_insert_with(hash)
    }

    /// The name of a function; `None` if it has none, or if the name is damaged.
    ///
    /// # Errors
    ///
    /// I/O.
    fn name(&mut self, place: EntryPlace) -> Result<Option<Arc<[u8]>>> {
        let Some((name, local)) = self.name_in_debug_info(place)? else { return Ok(None) };
        let symbol = local.and_then(|function| self.local_names.find(&function));
        Ok(Some(symbol.map_or(name, Arc::clone)))
    }

    /// Like [`name`](Self::name), without names of symbols. Functions that can have such a name are the second result.
    fn name_in_debug_info(&mut self, place: EntryPlace) -> Result<Option<NameInDebugInfo>> {
        let Some(FunctionName { value, place: entry, is_plain }) = find_function_name(self.units, place) else {
            return Ok(None);
        };
        let name = match string(self.dwarf, &self.units[entry.0], value, self.strings) {
            Ok(name) => name,
            Err(error) if matches!(error.kind(), ErrorKind::UnableToCorrelate { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let name = match self.names.get(&*name) {
            Some(known) => Arc::clone(known),
            None => {
                let name: Arc<[u8]> = name.into();
                self.names.insert(Arc::clone(&name));
                name
            }
        };
        let local = (is_plain && self.is_of_gcc(entry.0)).then(|| {
            let [line, column] = [constants::DW_AT_decl_line, constants::DW_AT_decl_column]
                .map(|attribute| self.number(entry, attribute));
            let entry = (self.first + entry.0, entry.1);
            LocalFunction { entry, declaration: (Arc::clone(&name), line, column) }
        });
        Ok(Some((name, local)))
    }

    /// Returns true if GCC compiled the unit from C++.
    fn is_of_gcc(&mut self, at: usize) -> bool {
        let (dwarf, unit, strings) = (self.dwarf, &self.units[at], self.strings);
        *self.of_gcc.entry(at).or_insert_with(|| is_of_gcc(dwarf, unit, strings))
    }
}

/// The innermost subroutines of ranges of code, by the start of each range: its end and its subroutine. Ranges of a
/// subroutine come after those around it.
///
/// Functions that the linker removed all start at 0, so that their ranges overlap. An address then has the subroutine
/// with the last start before it, as in LLVM.
#[derive(Default)]
struct Owners(BTreeMap<u64, (u64, usize)>);

impl Owners {
    /// Adds a range, if addresses are in it or at its end.
    fn add(&mut self, addresses: &[u64], range: gimli::Range, subroutine: usize) {
        let gimli::Range { begin, end } = range;
        let first = addresses.partition_point(|address| *address < begin);
        if begin >= end || addresses.get(first).is_none_or(|address| *address > end) {
            return;
        }
        let around = self.0.range(..=begin).next_back().map(|(start, around)| (*start, *around));
        if let Some((start, (end_around, outer))) = around.filter(|(_, (end_around, _))| begin < *end_around) {
            if end < end_around {
                self.0.insert(end, (end_around, outer));
            }
            self.0.insert(start, (begin, outer));
        }
        self.0.insert(begin, (end, subroutine));
    }

    fn of(&self, address: u64) -> Option<usize> {
        let (_, (end, subroutine)) = self.0.range(..=address).next_back()?;
        (address < *end).then_some(*subroutine)
    }
}

/// Positions of the addresses that are in a range.
fn within(addresses: &[u64], range: gimli::Range) -> std::ops::Range<usize> {
    let start = addresses.partition_point(|address| *address < range.begin);
    let end = addresses.partition_point(|address| *address < range.end);
    start..end.max(start)
}
