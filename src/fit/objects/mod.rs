//! Reads the functions of a new build from programs and libraries: from instrumented ones, and for sample profiles from
//! any program.
//!
//! Debug info has the length of functions: sample profiles count lines from the declaration of the function.

use super::program::{Program, ProgramFunction, ProgramSource};
use super::samples::{Places, SampledFunction, SampledProgram};
use crate::compat::Compat;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::model::{ProfileKind, Release, SymbolTable, name_ref};
use crate::objects::{
    self, Entry, NEEDS_SPLIT_FILES, Slice, SplitDebugInfo, contents, damaged, find_attribute, function_name, is_of_gcc,
    lacks_first_lines, lacks_mangled_names, load_sections, ranges_of,
};
use crate::raw::correlate::{CorrelationKind, Image};
use gimli::{Dwarf, EndianSlice, Unit, constants};
use object::{FileKind, Object, ObjectSymbol, SymbolKind};
use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroU64;
use std::path::Path;

mod go;
mod instrumentation;
mod records;

pub(crate) use instrumentation::{ProgramFacts, readers};

/// Reads the functions of a program from its data records, its debug info or its coverage map.
///
/// # Errors
///
/// Not an object; not instrumented if it has none of these, with the instrumentation or stripping that was found; the
/// errors of the one that exists.
pub fn read_program(path: &Path, bytes: &[u8], limits: &Limits) -> Result<Program> {
    let file = parse(bytes)?;
    let mut program = match records::read_data_records(&file, limits)? {
        Some(found) => {
            // Instrumented IR has the variable in every object file, the front end only in the runtime.
            let is_of_front_end = file.kind() == object::ObjectKind::Relocatable;
            let kind = found.kind().or_else(|| is_of_front_end.then_some(ProfileKind::NONE));
            let source =
                if found.is_correlation { ProgramSource::CorrelationRecords } else { ProgramSource::DataRecords };
            let functions = without_timestamps(found.functions, kind);
            let mut program = Program::new(source, functions, found.names);
            (program.kind, program.has_vtables) = (kind, found.has_vtables);
            program
        }
        None => match probes(path, bytes, records::version_word(&file), limits) {
            Some(program) => program,
            None => coverage(&file, limits)?.ok_or_else(|| not_instrumented(&file))?,
        },
    };
    program.release = release(&file, limits);
    Ok(program)
}

/// Reads the headers of a program.
///
/// # Errors
///
/// Not an object, with a hint.
pub(super) fn parse(bytes: &[u8]) -> Result<object::File<'_>> {
    if let Some(architectures) = fat_architectures(bytes) {
        let detail = format!("a universal Mach-O file with {architectures} architectures");
        let error = Error::new(ErrorKind::NotAnObject { detail });
        return Err(error.with_hint("extract the profiled architecture with `lipo -thin ARCHITECTURE`"));
    }
    if matches!(FileKind::parse(bytes), Ok(FileKind::Archive)) {
        let error = Error::new(ErrorKind::NotAnObject { detail: "an archive".to_string() });
        return Err(error.with_hint("pass the program that it is linked into, or extract an object file with `ar x`"));
    }
    let hint = "pass the new build (ELF, Mach-O or COFF), or a profile that it wrote";
    objects::parse(bytes).map_err(|error| error.with_hint(hint))
}

/// Returns the number of architectures in a fat file. Class files start with the same bytes, followed by a version of
/// at least 45.
pub(crate) fn fat_architectures(bytes: &[u8]) -> Option<u32> {
    const FAT: [u32; 2] = [0xcafe_babe, 0xcafe_babf];
    const FIRST_CLASS_VERSION: u32 = 45;
    let word = |at: usize| bytes.get(at..)?.first_chunk::<4>().map(|word| u32::from_be_bytes(*word));
    word(4).filter(|count| word(0).is_some_and(|magic| FAT.contains(&magic)) && *count < FIRST_CLASS_VERSION)
}

/// Returns functions without the timestamps of temporal instrumentation, which precede the counters of a function.
fn without_timestamps(mut functions: Vec<ProgramFunction>, kind: Option<ProfileKind>) -> Vec<ProgramFunction> {
    let Some(kind) = kind.filter(|kind| kind.contains(ProfileKind::TEMPORAL)) else { return functions };
    let counters_of_timestamp = if kind.intersects(ProfileKind::BYTE_COVERAGE) { 8 } else { 1 };
    for count in functions.iter_mut().filter_map(|function| function.num_counters.as_mut()) {
        // Compilers leave no room for a timestamp next to a single byte for the function entry.
        *count = count.checked_sub(counters_of_timestamp).unwrap_or(*count);
    }
    functions
}

/// Returns the functions of the debug info, if it has probes.
fn probes(path: &Path, bytes: &[u8], version_word: Option<u64>, limits: &Limits) -> Option<Program> {
    let image = Image::read(path, bytes, CorrelationKind::DebugInfo, Compat::Profbridge, limits).ok()?;
    let mut names = SymbolTable::new();
    let functions = image.probes().iter().map(|probe| ProgramFunction {
        name_ref: names.insert(&probe.function_name),
        func_hash: probe.func_hash,
        num_counters: Some(probe.num_counters),
    });
    let kind = version_word.map(ProfileKind::from_version_word);
    let functions = without_timestamps(functions.collect(), kind);
    let mut program = Program::new(ProgramSource::DebugInfo, functions, names);
    program.kind = kind;
    Some(program)
}

fn coverage(file: &object::File<'_>, limits: &Limits) -> Result<Option<Program>> {
    let Some((functions, names)) = records::read_coverage_map(file, limits)? else { return Ok(None) };
    let mut program = Program::new(ProgramSource::CoverageMap, functions, names);
    // Only the front end creates coverage maps.
    program.kind = Some(ProfileKind::NONE);
    Ok(Some(program))
}

/// Returns the error for a readable program without instrumentation.
fn not_instrumented(file: &object::File<'_>) -> Error {
    use object::Object;
    let is_stripped = file.symbols().next().is_none();
    let detail = "the program has no data records (__llvm_prf_data) and no coverage map (__llvm_covfun)";
    let hint = if is_stripped {
        "pass the instrumented program before it is stripped, built with \
         -fprofile-generate or -fprofile-instr-generate, or a profile that it wrote"
    } else {
        "compile the new build with -fprofile-generate or -fprofile-instr-generate, the same as for the profile, \
         and otherwise with the options of the release; or pass a profile that it wrote"
    };
    Error::new(ErrorKind::UnableToCompare { detail: detail.to_string() }).with_hint(hint)
}

/// Returns the LLVM release in the section `.comment` of an ELF file, such as `clang version 22.1.8`. If there are
/// several compilers, returns the newest.
pub(super) fn release(file: &object::File<'_>, limits: &Limits) -> Option<Release> {
    let section = file.section_by_name(".comment")?;
    let text = contents(&section, limits).ok()?;
    text.split(|byte| *byte == 0).filter_map(release_of).max()
}

fn release_of(line: &[u8]) -> Option<Release> {
    // clang and flang.
    let words = b"lang version ";
    let at = line.windows(words.len()).position(|window| window == words)?;
    let digits: String = line[at + words.len()..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .map(|byte| char::from(*byte))
        .collect();
    digits.parse().ok().map(Release)
}

/// Reads names from the symbols, checksums from the descriptors of probes and lengths from debug info, as far as they
/// exist.
///
/// # Errors
///
/// Not an object; unable to compare if a program has none of these; the errors of damaged ones; unable to correlate if debug
/// info is split and its files are missing.
pub fn read_sampled_program(path: &Path, bytes: &[u8], limits: &Limits) -> Result<SampledProgram> {
    let file = parse(bytes)?;
    let mut functions: BTreeMap<Vec<u8>, SampledFunction> = BTreeMap::new();
    let probes = records::read_probed_functions(&file, limits)?;
    let lines = read_source_lines(&file, path, limits)?;
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let defined = symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    for symbol in defined {
        let Some(name) = objects::symbol_name(&file, &symbol) else { continue };
        let function = functions.entry(name.to_vec()).or_default();
        function.has_lines |= lines.cover(symbol.address());
    }
    let has_symbols = !functions.is_empty();
    let (has_checksums, has_lines) = (!probes.is_empty(), !lines.last_lines.is_empty());
    let lacks_first_lines = lines.lack_first_lines;
    for probe in probes {
        functions.entry(probe.name).or_default().checksum = Some(probe.checksum);
    }
    let mut short_names = HashSet::new();
    for (name, last) in lines.last_lines {
        if !last.has_full_name && !functions.contains_key(&name) {
            short_names.insert(name_ref(&name));
            continue;
        }
        let function = functions.entry(name).or_default();
        let lines = last.lines.filter(|_| last.has_whole_copy);
        function.last_line = lines.map(|(last_line, _)| last_line);
        function.line_at_bounds = lines.map_or(0, |(_, at_bounds)| at_bounds);
        (function.has_lines, function.has_first_line) = (true, last.has_first_line);
    }
    if functions.is_empty() {
        let detail = "the program has no symbols, probes or debug info".to_string();
        let hint = "pass the program before it is stripped, or its debug file";
        return Err(Error::new(ErrorKind::UnableToCompare { detail }).with_hint(hint));
    }
    let sources =
        [(has_symbols, "symbols"), (has_checksums, "descriptors of probes"), (has_lines, "lines of debug info")];
    let words: Vec<&str> = sources.iter().filter(|(is_there, _)| *is_there).map(|(_, words)| *words).collect();
    let mut program = SampledProgram::new(format!("{} of the program", words.join(", ")), functions);
    program.has_checksums = has_checksums;
    program.short_names = short_names;
    program.lacks_first_lines = lacks_first_lines;
    program.release = release(&file, limits);
    // Addresses of object files count from the start of each section.
    let is_linked = file.kind() != object::ObjectKind::Relocatable;
    let has_own_lines = file.format() == object::BinaryFormat::Elf && file.section_by_name(".gnu_debuglink").is_none();
    let needs_lines = is_linked && has_own_lines && !makes_its_own_lines(&file, limits);
    program.places = Places { are_of_program: true, needs_lines };
    Ok(program)
}

/// Returns true if clang alone built a program: it makes line tables for sample profiles even without debug info.
fn makes_its_own_lines(file: &object::File<'_>, limits: &Limits) -> bool {
    let Some(section) = file.section_by_name(".comment") else { return false };
    let Ok(text) = contents(&section, limits) else { return false };
    let names = |word: &[u8]| text.windows(word.len()).any(|window| window == word);
    names(b"clang version ") && !names(b"rustc version ")
}

/// The lines of a program.
struct SourceLines {
    /// The last lines of each function.
    last_lines: BTreeMap<Vec<u8>, LastLines>,
    /// The addresses of rows of line tables, sorted: from, to.
    covered: Vec<(u64, u64)>,
    /// Whether there are units whose functions have no line of their declaration.
    lack_first_lines: bool,
}

/// The last lines of the copies of a function.
#[derive(Default)]
struct LastLines {
    /// The last line of its rows, and of the rows at its bounds. `None` if all rows are in front of its declaration, as
    /// those of macros, or if none are left.
    lines: Option<(u32, u32)>,
    /// Whether there is a copy that is not inlined. Inlined copies often lack the last lines.
    has_whole_copy: bool,
    /// Whether compilers use this name, even if no symbol has it.
    has_full_name: bool,
    /// Whether there is the line of its declaration.
    has_first_line: bool,
}

impl SourceLines {
    /// Returns true if a line table covers an address.
    fn cover(&self, address: u64) -> bool {
        let after = self.covered.partition_point(|(from, _)| *from <= address);
        after.checked_sub(1).is_some_and(|at| address < self.covered[at].1)
    }
}

/// Reads the address ranges of the line tables, one per sequence of rows.
fn covered(unit: &Unit<Slice<'_>>, found: &mut Vec<(u64, u64)>) -> Result<()> {
    let Some(program) = unit.line_program.clone() else { return Ok(()) };
    let (mut steps, mut first) = (program.rows(), None);
    while let Some((_, row)) = steps.next_row().map_err(damaged)? {
        let from = *first.get_or_insert(row.address());
        if row.end_sequence() {
            // The linker sets the address of dropped functions to 0.
            if from != 0 && from < row.address() {
                found.push((from, row.address()));
            }
            first = None;
        }
    }
    Ok(())
}

/// Reads the last line of each function by its linkage name, relative to its declaration. Of several copies, the
/// longest counts.
///
/// # Errors
///
/// Unable to correlate if debug info is damaged, or its split files are missing.
fn read_source_lines(file: &object::File<'_>, path: &Path, limits: &Limits) -> Result<SourceLines> {
    let mut found = SourceLines { last_lines: BTreeMap::new(), covered: Vec::new(), lack_first_lines: false };
    // In ELF object files, the references between sections are relocations, which the linker applies.
    if file.format() == object::BinaryFormat::Elf && file.kind() == object::ObjectKind::Relocatable {
        return Ok(found);
    }
    let (sections, endian) = load_sections(file, limits)?;
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, endian));
    let (mut units, mut headers) = (Vec::new(), dwarf.units());
    while let Some(header) = headers.next().map_err(damaged)? {
        units.push(dwarf.unit(header).map_err(damaged)?);
    }
    let split = SplitDebugInfo::of(path, limits)?;
    for (at, unit) in units.iter().enumerate() {
        let sections = split.sections(&dwarf, unit).map_err(|error| error.with_hint(NEEDS_SPLIT_FILES))?;
        let rest = sections.as_ref().map(|sections| split.unit(sections, &dwarf, unit)).transpose()?.flatten();
        let lines = match &rest {
            Some((dwarf, rest)) => {
                UnitLines::read(UnitEntries { dwarf, units: std::slice::from_ref(rest), at: 0 }, unit)?
            }
            None => UnitLines::read(UnitEntries { dwarf: &dwarf, units: &units, at }, unit)?,
        };
        let (dwarf, named) = rest.as_ref().map_or((&dwarf, unit), |(dwarf, rest)| (dwarf, rest));
        // GCC finds functions by their plain names.
        let has_full_names = !lacks_mangled_names(named)? || is_of_gcc(dwarf, named, None);
        found.lack_first_lines |= lacks_first_lines(named)?;
        lines.add_to(&mut found.last_lines, has_full_names);
        covered(unit, &mut found.covered)?;
    }
    found.covered.sort_unstable();
    Ok(found)
}

/// A function, or an inlined copy.
struct Subroutine {
    depth: isize,
    name: Option<Vec<u8>>,
    first_line: u64,
    last_line: u64,
    /// The last line of rows in which it begins or ends.
    line_at_bounds: u64,
    /// Whether it is code that is not inlined.
    is_whole: bool,
}

/// The entries of a unit, which can refer to those of other units.
#[derive(Clone, Copy)]
struct UnitEntries<'u, 'a> {
    dwarf: &'u Dwarf<Slice<'a>>,
    units: &'u [Unit<Slice<'a>>],
    at: usize,
}

impl<'a> UnitEntries<'_, 'a> {
    fn line(self, entry: &Entry<'a>, attribute: gimli::DwAt) -> u64 {
        let found = find_attribute(self.units, (self.at, entry.offset()), &[attribute]);
        found.and_then(|(value, _)| value.udata_value()).unwrap_or(0)
    }

    /// Returns the linkage name of a function, or its only name.
    fn name(self, entry: &Entry<'a>) -> Option<Vec<u8>> {
        let name = function_name(self.dwarf, self.units, (self.at, entry.offset()))?;
        Some(name.slice().to_vec())
    }
}

/// The subroutines of a unit.
struct UnitLines {
    subroutines: Vec<Subroutine>,
    /// Start and end addresses, and their subroutine.
    ranges: Vec<(u64, u64, usize)>,
}

impl UnitLines {
    /// Reads the entries of a unit, and the rows of a unit, which is its skeleton if debug info is split.
    fn read(unit_entries: UnitEntries<'_, '_>, with_rows: &Unit<Slice<'_>>) -> Result<Self> {
        let unit = &unit_entries.units[unit_entries.at];
        let mut lines = Self { subroutines: Vec::new(), ranges: Vec::new() };
        // The subroutines that contain the current entry.
        let mut around: Vec<usize> = Vec::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs().map_err(damaged)? {
            while around.last().is_some_and(|last| lines.subroutines[*last].depth >= entry.depth()) {
                around.pop();
            }
            let outer = around.last().copied();
            match entry.tag() {
                constants::DW_TAG_subprogram => around.push(lines.add(unit_entries, entry)?),
                constants::DW_TAG_inlined_subroutine => {
                    lines.note(outer, unit_entries.line(entry, constants::DW_AT_call_line));
                    around.push(lines.add(unit_entries, entry)?);
                }
                constants::DW_TAG_variable | constants::DW_TAG_label => {
                    lines.note(outer, unit_entries.line(entry, constants::DW_AT_decl_line));
                }
                _ => {}
            }
        }
        lines.note_rows(with_rows)?;
        Ok(lines)
    }

    fn add<'a>(&mut self, unit_entries: UnitEntries<'_, 'a>, entry: &Entry<'a>) -> Result<usize> {
        let at = self.subroutines.len();
        let mut ranges = ranges_of(unit_entries.dwarf, &unit_entries.units[unit_entries.at], entry)?;
        let ranges_before = self.ranges.len();
        while let Some(range) = ranges.next().map_err(damaged)? {
            if range.begin < range.end {
                self.ranges.push((range.begin, range.end, at));
            }
        }
        // Declared functions can be those of other programs.
        let is_declared_only = entry.attr_value(constants::DW_AT_declaration).is_some();
        let name = if is_declared_only { None } else { unit_entries.name(entry) };
        let first_line = unit_entries.line(entry, constants::DW_AT_decl_line);
        let is_whole = entry.tag() == constants::DW_TAG_subprogram && self.ranges.len() > ranges_before;
        let depth = entry.depth();
        self.subroutines.push(Subroutine { depth, name, first_line, last_line: 0, line_at_bounds: 0, is_whole });
        Ok(at)
    }

    fn note(&mut self, subroutine: Option<usize>, line: u64) {
        if let Some(at) = subroutine {
            let last = &mut self.subroutines[at].last_line;
            *last = (*last).max(line);
        }
    }

    /// Assigns every row of the line table to the innermost subroutine. If a subroutine begins or ends within a row, tools
    /// that look up addresses find the row there, too.
    fn note_rows(&mut self, unit: &Unit<Slice<'_>>) -> Result<()> {
        let Some(program) = unit.line_program.clone() else { return Ok(()) };
        // At one address, the row is in front of the bounds.
        let mut places = Vec::new();
        let mut steps = program.rows();
        while let Some((_, row)) = steps.next_row().map_err(damaged)? {
            let line = row.line().filter(|_| !row.end_sequence());
            places.push((row.address(), false, line.map_or(0, NonZeroU64::get)));
        }
        let bounds = self.ranges.iter().flat_map(|(from, to, _)| [*from, *to]);
        places.extend(bounds.map(|address| (address, true, 0)));
        places.sort_unstable();
        self.ranges.sort_unstable_by_key(|(from, to, at)| (*from, std::cmp::Reverse(*to), *at));
        let (ranges, mut next, mut open) = (std::mem::take(&mut self.ranges), 0, Vec::<(u64, usize)>::new());
        let mut line = 0;
        for (address, is_bound, line_of_row) in places {
            if !is_bound {
                line = line_of_row;
            }
            while let Some((from, to, at)) = ranges.get(next).filter(|(from, ..)| *from <= address) {
                debug_assert!(from < to);
                open.push((*to, *at));
                next += 1;
            }
            open.retain(|(to, _)| *to > address);
            // The range that was opened last lies in the others.
            let innermost = open.last().map(|(_, at)| *at);
            match innermost.and_then(|at| self.subroutines.get_mut(at)).filter(|_| is_bound) {
                Some(subroutine) => subroutine.line_at_bounds = subroutine.line_at_bounds.max(line),
                None => self.note(innermost, line),
            }
        }
        Ok(())
    }

    fn add_to(self, found: &mut BTreeMap<Vec<u8>, LastLines>, has_full_names: bool) {
        for subroutine in self.subroutines {
            let (Some(name), first, last) = (subroutine.name, subroutine.first_line, subroutine.last_line) else {
                continue;
            };
            let of_function = found.entry(name).or_default();
            of_function.has_whole_copy |= subroutine.is_whole;
            of_function.has_full_name |= has_full_names;
            of_function.has_first_line |= first > 0;
            if first > 0 && last >= first {
                let (known, at_bounds) = of_function.lines.get_or_insert_default();
                let lines = |line: u64| u32::try_from(line.saturating_sub(first)).unwrap_or(u32::MAX);
                *known = (*known).max(lines(last));
                *at_bounds = (*at_bounds).max(lines(subroutine.line_at_bounds));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::fit::objects::*;

    #[test]
    fn the_major_number_is_the_release() {
        assert_eq!(release_of(b"Debian clang version 16.0.6 (15~deb12u1)"), Some(Release(16)));
        assert_eq!(release_of(b"clang version 22.1.8"), Some(Release(22)));
        assert_eq!(release_of(b"Debian flang version 21.1.8 (1)"), Some(Release(21)));
        assert_eq!(release_of(b"GCC: (Debian 12.2.0) 12.2.0"), None);
        assert_eq!(release_of(b"clang version "), None);
    }
}
