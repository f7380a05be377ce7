//! Sections of a program that list its functions.
//!
//! The data records of an instrumented program have the hash of each name and its FuncHash,
//! as in a raw profile.
//!
//! The coverage map has a FuncHash for each function, even if its data records are gone. From
//! version 4 (LLVM 11) on, each function has a record in `__llvm_covfun`; before, the records
//! of a translation unit followed its header in `__llvm_covmap`. Headers store the version
//! minus one.
//!
//! Descriptors of pseudo-probes (`-fpseudo-probe-for-profiling`) have the name and checksum of
//! every function with probes, in the section `.pseudo_probe_desc`.

use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Cursor, Encoding, Endian, PointerWidth};
use crate::error::{Error, ErrorKind, Result};
use crate::fit::program::ProgramFunction;
use crate::limits::Limits;
use crate::model::{ProfileKind, SymbolTable};
use crate::objects::{self, PROBE_DESCRIPTORS, contents, read_probe_descriptors};
use crate::raw::{RawNames, RecordLayout};
use object::{BinaryFormat, Object, ObjectSection, ObjectSymbol};

/// The names of a section in ELF and Mach-O, and in COFF.
#[derive(Debug, Clone, Copy)]
pub(super) struct SectionName(pub(super) &'static str, pub(super) &'static str);

const DATA: SectionName = SectionName("__llvm_prf_data", ".lprfd");
const NAMES: SectionName = SectionName("__llvm_prf_names", ".lprfn");
const VTABLE_NAMES: SectionName = SectionName("__llvm_prf_vns", ".lprfvn");
const CORRELATION_DATA: SectionName = SectionName("__llvm_covdata", ".lcovd");
const CORRELATION_NAMES: SectionName = SectionName("__llvm_covnames", ".lcovn");

/// The sections with records, and those with their names.
pub(super) const RECORD_SECTIONS: [(SectionName, SectionName); 2] =
    [(DATA, NAMES), (CORRELATION_DATA, CORRELATION_NAMES)];

/// The variable of an instrumented image that holds the version of its profiles.
const VERSION_VARIABLE: &[u8] = b"__llvm_profile_raw_version";

/// Records, with the image's data about them.
#[derive(Debug)]
pub(super) struct DataRecords {
    pub(super) functions: Vec<ProgramFunction>,
    pub(super) names: SymbolTable,
    /// Version and variant bits, while the image has its symbols.
    pub(super) version_word: Option<u64>,
    /// Whether the names of vtables were there.
    pub(super) has_vtables: bool,
    /// Whether they came from sections that are not loaded.
    pub(super) is_correlation: bool,
}

impl DataRecords {
    /// The variant bits, while the image has its symbols.
    pub(super) fn kind(&self) -> Option<ProfileKind> {
        self.version_word.map(ProfileKind::from_version_word)
    }
}

/// Reads the records of an image. `None` if it has none.
///
/// # Errors
///
/// Malformed if the section has no known layout or the names are damaged.
pub(super) fn read_data_records(file: &object::File<'_>, limits: &Limits) -> Result<Option<DataRecords>> {
    for (data_name, names_name) in RECORD_SECTIONS {
        let parts = sections(file, data_name, limits)?;
        if parts.iter().all(Vec::is_empty) {
            continue;
        }
        let mut names = read_names(file, names_name, limits)?;
        let vtable_names = read_names(file, VTABLE_NAMES, limits)?;
        let version_word = version_word(file);
        let layout =
            choose_layout(file, &parts, &names, version_word).map_err(|error| error.in_section(data_name.of(file)))?;
        let functions = parts.iter().flat_map(|part| records(&layout, part)).collect();
        names.absorb(&vtable_names);
        let (has_vtables, is_correlation) = (!vtable_names.is_empty(), data_name.0 == CORRELATION_DATA.0);
        return Ok(Some(DataRecords { functions, names, version_word, has_vtables, is_correlation }));
    }
    Ok(None)
}

/// The names of functions, as far as the image has any.
fn function_names(file: &object::File<'_>, limits: &Limits) -> Result<SymbolTable> {
    let mut names = read_names(file, NAMES, limits)?;
    names.absorb(&read_names(file, CORRELATION_NAMES, limits)?);
    Ok(names)
}

impl SectionName {
    /// The name in that file's format.
    pub(super) fn of(self, file: &object::File<'_>) -> &'static str {
        if matches!(file.format(), BinaryFormat::Coff | BinaryFormat::Pe) { self.1 } else { self.0 }
    }
}

/// Returns the contents of all sections with a name. Object files have one per function that the linker may drop. Those
/// of COFF are sorted by the text after a `$` and may not be adjacent.
pub(super) fn sections(file: &object::File<'_>, name: SectionName, limits: &Limits) -> Result<Vec<Vec<u8>>> {
    let name = name.of(file);
    let is_it = |section: &object::Section<'_, '_>| {
        section
            .name()
            .is_ok_and(|found| found == name || found.strip_prefix(name).is_some_and(|rest| rest.starts_with('$')))
    };
    file.sections().filter(is_it).map(|section| contents(&section, limits)).collect()
}

pub(super) fn read_names(file: &object::File<'_>, name: SectionName, limits: &Limits) -> Result<SymbolTable> {
    let mut symbols = SymbolTable::new();
    for part in sections(file, name, limits)? {
        let names = RawNames::read_section(&part, limits).map_err(|error| error.in_section(name.of(file)))?;
        symbols.absorb(names.symbols());
    }
    Ok(symbols)
}

/// The value of the variable with the version, unless symbols were stripped.
pub(super) fn version_word(file: &object::File<'_>) -> Option<u64> {
    let mut symbols = file.symbols().chain(file.dynamic_symbols());
    let symbol = symbols.find(|symbol| objects::symbol_name(file, symbol) == Some(VERSION_VARIABLE))?;
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    let bytes = section.data_range(symbol.address(), 8).ok()??;
    let bytes: [u8; 8] = bytes.try_into().ok()?;
    Some(if file.is_little_endian() { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) })
}

/// The raw versions in which records have another size or order of fields.
const LAYOUTS: [u32; 5] = [11, 10, 9, 8, 2];

/// The layout of the version that the image names; without symbols, the one in
/// which most records have a name.
fn choose_layout(
    file: &object::File<'_>,
    parts: &[Vec<u8>],
    names: &SymbolTable,
    version_word: Option<u64>,
) -> Result<RecordLayout> {
    let endian = if file.is_little_endian() { Endian::Little } else { Endian::Big };
    let pointer = if objects::is_64(file) { PointerWidth::Bits64 } else { PointerWidth::Bits32 };
    let of_version = |version| RecordLayout::new(Encoding { endian, pointer, version });
    let score = |layout: &RecordLayout| {
        let all = parts.iter().flat_map(|part| records(layout, part));
        all.filter(|function| function.num_counters != Some(0) && names.find(function.name_ref).is_some()).count()
    };
    let stated = version_word.map(|word| word as u32).filter(|version| crate::raw::layout::is_known_version(*version));
    let versions = stated.map_or_else(|| LAYOUTS.to_vec(), |version| vec![version]);
    let candidates = versions.into_iter().map(of_version).filter(|layout| fits(layout, parts));
    let scored = candidates.map(|layout| (score(&layout), layout));
    // Of equal ones the newest, which comes first.
    let best = scored.reduce(|best, next| if next.0 > best.0 { next } else { best });
    match best {
        Some((named, layout)) if named > 0 || names.is_empty() => Ok(layout),
        _ => {
            let bytes: usize = parts.iter().map(Vec::len).sum();
            let detail = match stated {
                Some(version) => format!("{bytes} bytes are not records of raw version {version} with names"),
                None => format!("{bytes} bytes are not records of any raw version from 2 to 11 with names"),
            };
            Err(Error::malformed(detail).with_hint("pass a raw profile of the new build instead"))
        }
    }
}

/// Whether sections hold whole records; the last one may lack its padding.
fn fits(layout: &RecordLayout, parts: &[Vec<u8>]) -> bool {
    parts.iter().all(|part| {
        let rest = part.len() % layout.size();
        rest == 0 || rest >= layout.size_without_padding()
    })
}

fn records<'a>(layout: &'a RecordLayout, part: &'a [u8]) -> impl Iterator<Item = ProgramFunction> + 'a {
    let whole = part.chunks(layout.size()).filter(|bytes| bytes.len() >= layout.size_without_padding());
    let records = whole.map(|bytes| layout.read(bytes));
    // COFF's sections begin with a marker of zeros, as large as a record.
    records.filter(|record| record.name_ref != 0 || record.func_hash != 0 || record.num_counters != 0).map(|record| {
        ProgramFunction {
            name_ref: record.name_ref,
            func_hash: record.func_hash,
            num_counters: Some(record.num_counters),
        }
    })
}

const FUNCTIONS: SectionName = SectionName("__llvm_covfun", ".lcovfun");
const MAP: SectionName = SectionName("__llvm_covmap", ".lcovmap");

/// The first version with records of their own, as headers store it.
const RECORDS_APART: u32 = 3;
/// The newest version that is known, as headers store it: 7, of LLVM 18 to 23.
const NEWEST: u32 = 6;
/// Versions 2 and 3 have hashes of names in records of 20 bytes.
const OLDEST: u32 = 1;

/// Reads the functions of a coverage map. `None` if the image has none.
///
/// # Errors
///
/// Unsupported for a version that is not known; truncated, malformed.
pub(super) fn read_coverage_map(
    file: &object::File<'_>,
    limits: &Limits,
) -> Result<Option<(Vec<ProgramFunction>, SymbolTable)>> {
    let (functions, maps) = (sections(file, FUNCTIONS, limits)?, sections(file, MAP, limits)?);
    if maps.iter().all(Vec::is_empty) && functions.iter().all(Vec::is_empty) {
        return Ok(None);
    }
    let endian = if file.is_little_endian() { Endian::Little } else { Endian::Big };
    let mut found = Vec::new();
    for map in &maps {
        read_map(map, endian, &mut found).map_err(|error| error.in_section(MAP.of(file)))?;
    }
    for part in &functions {
        read_functions(part, endian, &mut found).map_err(|error| error.in_section(FUNCTIONS.of(file)))?;
    }
    Ok(Some((found, function_names(file, limits)?)))
}

/// The headers of all translation units, with the records of old versions.
fn read_map(map: &[u8], endian: Endian, found: &mut Vec<ProgramFunction>) -> Result<()> {
    let mut cursor = Cursor::new(map, 0, endian, "coverage map");
    while !cursor.is_empty() {
        let records = cursor.u32("NRecords")?;
        let file_names = cursor.u32("FilenamesSize")?;
        let coverage = cursor.u32("CoverageSize")?;
        let version = cursor.u32("Version")?;
        if !(OLDEST..=NEWEST).contains(&version) {
            let what = format!("a coverage map of version {}", u64::from(version) + 1);
            let error = Error::new(ErrorKind::Unsupported { what });
            return Err(cursor.place(error.with_hint("use a compiler of LLVM 4 to 23, which writes versions 2 to 7")));
        }
        if version < RECORDS_APART {
            for _ in 0..records {
                let (name_ref, _, func_hash) =
                    (cursor.u64("NameRef")?, cursor.u32("DataSize")?, cursor.u64("FuncHash")?);
                // Functions without instrumentation have no hash; functions without branches may have none either.
                found.push(ProgramFunction { name_ref, func_hash, num_counters: None });
            }
        }
        cursor.take("file names and coverage", u64::from(file_names) + u64::from(coverage))?;
        align(&mut cursor)?;
    }
    Ok(())
}

fn read_functions(part: &[u8], endian: Endian, found: &mut Vec<ProgramFunction>) -> Result<()> {
    let mut cursor = Cursor::new(part, 0, endian, "coverage functions");
    while !cursor.is_empty() {
        let name_ref = cursor.u64("NameRef")?;
        let len = cursor.u32("DataSize")?;
        let func_hash = cursor.u64("FuncHash")?;
        cursor.u64("FilenamesRef")?;
        let mapping = cursor.take("coverage mapping", len.into())?;
        align(&mut cursor)?;
        // Functions that were never emitted are mapped too, so that coverage shows them.
        if func_hash != 0 || !is_dummy(mapping) {
            found.push(ProgramFunction { name_ref, func_hash, num_counters: None });
        }
    }
    Ok(())
}

/// Each record and each header begins at a multiple of 8; the last one may lack its padding.
fn align(cursor: &mut Cursor<'_>) -> Result<()> {
    let padding = (8 - cursor.position() % 8) % 8;
    cursor.take("padding", padding.min(cursor.left())).map(drop)
}

/// Whether a mapping stands for a function without counters: one file, no
/// expression, one region whose counter is zero.
fn is_dummy(mapping: &[u8]) -> bool {
    let mut cursor = Cursor::new(mapping, 0, Endian::Little, "coverage mapping");
    let mut number = || read_uleb128(&mut cursor, "number").ok();
    let Some(files) = number() else { return false };
    files == 1 && {
        number();
        number() == Some(0) && number() == Some(1) && number() == Some(0)
    }
}

/// A function with probes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProbedFunction {
    pub(super) name: Vec<u8>,
    pub(super) checksum: u64,
}

/// Reads the functions with probes of an image. Empty if it has none.
///
/// # Errors
///
/// Truncated; a name longer than [`Limits::name_bytes`].
pub(super) fn read_probed_functions(file: &object::File<'_>, limits: &Limits) -> Result<Vec<ProbedFunction>> {
    let endian = if file.is_little_endian() { Endian::Little } else { Endian::Big };
    let mut found = Vec::new();
    // Object files have one section for each function that the linker may drop.
    for section in file.sections().filter(|section| section.name() == Ok(PROBE_DESCRIPTORS)) {
        let bytes = contents(&section, limits)?;
        read_probe_descriptors(&bytes, endian, limits, |descriptor| {
            found.push(ProbedFunction { name: descriptor.name.to_vec(), checksum: descriptor.checksum });
        })
        .map_err(|error| error.in_section(PROBE_DESCRIPTORS))?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use crate::fit::objects::records::*;

    fn record(name_ref: u64, hash: u64, mapping: &[u8]) -> Vec<u8> {
        let mut bytes = name_ref.to_le_bytes().to_vec();
        bytes.extend((mapping.len() as u32).to_le_bytes());
        bytes.extend(hash.to_le_bytes());
        bytes.extend([7; 8]);
        bytes.extend(mapping);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    fn functions(section: &[u8]) -> Result<Vec<(u64, u64)>> {
        let mut found = Vec::new();
        read_functions(section, Endian::Little, &mut found)?;
        Ok(found.iter().map(|function| (function.name_ref, function.func_hash)).collect())
    }

    #[test]
    fn functions_that_were_not_emitted_are_left_out() {
        let dummy = [1, 0, 0, 1, 0, 1, 1, 0, 1];
        let real = [1, 0, 0, 1, 1, 1, 1, 0, 1];
        let section = [record(1, 24, &real), record(2, 0, &dummy), record(3, 0, &real)].concat();
        assert_eq!(functions(&section).unwrap(), [(1, 24), (3, 0)]);
        // Without the padding of the last one it is all there.
        assert_eq!(functions(&section[..section.len() - 3]).unwrap().len(), 2);
    }

    #[test]
    fn cut_records_and_sizes_beyond_the_section_are_errors() {
        let section = record(1, 24, &[1, 0, 0, 1, 1, 1, 1, 0, 1]);
        for len in [1, 8, 12, 20, 28, 36] {
            assert!(functions(&section[..len]).is_err(), "{len}");
        }
        let mut huge = section;
        huge[8..12].fill(0xff);
        assert!(functions(&huge).unwrap_err().to_string().contains("coverage mapping needs 4294967295 bytes"));
    }

    #[test]
    fn units_follow_each_other_and_old_versions_hold_the_records() {
        let header = |records: u32, names: u32, version: u32| {
            [records, names, 0, version].iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()
        };
        let mut map = header(0, 5, 6);
        map.extend([9; 5]);
        map.extend([0; 3]);
        map.extend(header(1, 4, 2));
        map.extend(5u64.to_le_bytes());
        map.extend([0; 4]);
        map.extend(6u64.to_le_bytes());
        map.extend([1; 4]);
        let mut found = Vec::new();
        read_map(&map, Endian::Little, &mut found).unwrap();
        assert_eq!(found, [ProgramFunction { name_ref: 5, func_hash: 6, num_counters: None }]);
        let unknown = read_map(&header(0, 0, 7), Endian::Little, &mut found).unwrap_err();
        assert!(unknown.to_string().contains("a coverage map of version 8 is not supported"), "{unknown}");
    }
}
