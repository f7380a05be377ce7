//! The data records of an instrumented program: one a function, with the hash
//! of its name and its FuncHash, as a raw profile holds them.

use crate::bytes::{Encoding, Endian, PointerWidth};
use crate::error::{Error, Result};
use crate::fit::program::ProgramFunction;
use crate::limits::Limits;
use crate::model::{ProfileKind, SymbolTable};
use crate::objects::contents;
use crate::raw::layout::RecordLayout;
use crate::raw::names::RawNames;
use object::{BinaryFormat, Object, ObjectSection, ObjectSymbol};

/// The names of a section in ELF and Mach-O, and in COFF.
#[derive(Debug, Clone, Copy)]
pub(super) struct SectionName(pub(super) &'static str, pub(super) &'static str);

const DATA: SectionName = SectionName("__llvm_prf_data", ".lprfd");
const NAMES: SectionName = SectionName("__llvm_prf_names", ".lprfn");
const VTABLE_NAMES: SectionName = SectionName("__llvm_prf_vns", ".lprfvn");
const CORRELATION_DATA: SectionName = SectionName("__llvm_covdata", ".lcovd");
const CORRELATION_NAMES: SectionName = SectionName("__llvm_covnames", ".lcovn");

/// The variable of an instrumented image that holds the version of its profiles.
const VERSION_VARIABLE: &[u8] = b"__llvm_profile_raw_version";

/// Records and what the image says of them.
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

/// Reads the records of an image; `None` where it has none.
///
/// # Errors
///
/// Malformed where the section has no known layout or the names are damaged.
pub(super) fn read(file: &object::File<'_>, limits: &Limits) -> Result<Option<DataRecords>> {
    for (data_name, names_name) in [(DATA, NAMES), (CORRELATION_DATA, CORRELATION_NAMES)] {
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
        names.absorb(&vtable_names)?;
        let (has_vtables, is_correlation) = (!vtable_names.is_empty(), data_name.0 == CORRELATION_DATA.0);
        return Ok(Some(DataRecords { functions, names, version_word, has_vtables, is_correlation }));
    }
    Ok(None)
}

/// The names of functions, as far as the image has any.
pub(super) fn function_names(file: &object::File<'_>, limits: &Limits) -> Result<SymbolTable> {
    let mut names = read_names(file, NAMES, limits)?;
    names.absorb(&read_names(file, CORRELATION_NAMES, limits)?)?;
    Ok(names)
}

impl SectionName {
    /// The name in that file's format.
    pub(super) fn of(self, file: &object::File<'_>) -> &'static str {
        if matches!(file.format(), BinaryFormat::Coff | BinaryFormat::Pe) { self.1 } else { self.0 }
    }
}

/// The contents of all sections of a name: object files have one for each
/// function that the linker may drop. Those of COFF are sorted by what follows
/// a `$` and may still be apart.
pub(super) fn sections(file: &object::File<'_>, name: SectionName, limits: &Limits) -> Result<Vec<Vec<u8>>> {
    let name = name.of(file);
    let is_it = |section: &object::Section<'_, '_>| {
        section
            .name()
            .is_ok_and(|found| found == name || found.strip_prefix(name).is_some_and(|rest| rest.starts_with('$')))
    };
    file.sections().filter(is_it).map(|section| contents(&section, limits)).collect()
}

fn read_names(file: &object::File<'_>, name: SectionName, limits: &Limits) -> Result<SymbolTable> {
    let mut symbols = SymbolTable::new();
    for part in sections(file, name, limits)? {
        let names = RawNames::read_section(&part, limits).map_err(|error| error.in_section(name.of(file)))?;
        symbols.absorb(names.symbols())?;
    }
    Ok(symbols)
}

/// The value of the variable with the version, unless symbols were stripped.
fn version_word(file: &object::File<'_>) -> Option<u64> {
    let is_it = |name: &[u8]| name == VERSION_VARIABLE || name.strip_prefix(b"_") == Some(VERSION_VARIABLE);
    let symbol = file.symbols().chain(file.dynamic_symbols()).find(|symbol| symbol.name_bytes().is_ok_and(is_it))?;
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
    let pointer = if file.is_64() { PointerWidth::Bits64 } else { PointerWidth::Bits32 };
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
                Some(version) => format!("{bytes} bytes are no records of raw version {version} with names"),
                None => format!("{bytes} bytes are no records of any raw version from 2 to 11 with names"),
            };
            Err(Error::malformed(detail).with_hint("give a raw profile of the new build instead"))
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
