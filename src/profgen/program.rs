//! The program that was sampled: its segments, its code, its functions and its debug info.

use super::code::{Code, TextSection};
use super::discriminator::Discriminators;
use super::functions::Functions;
use super::image::Image;
use super::names::{canonical, is_mangled, without_suffixes};
use super::probes::{PROBES, ProbeFilter, ProbeSections, Probes};
use crate::bytes::Endian;
use crate::error::{Error, ErrorKind, Result};
use crate::input::InputBytes;
use crate::limits::Limits;
use crate::model::{Release, name_ref};
use crate::objects::{self, DebugInfo, MissingDebugInfo, is_code, is_code_in_file, is_package};
use crate::sampleprof::{Rules, SymbolList};
use object::elf::{PF_X, PT_LOAD, SHF_ALLOC, STT_FUNC};
use object::pe::IMAGE_SCN_CNT_INITIALIZED_DATA;
use object::read::elf::ProgramHeader;
use object::{File, Object, ObjectSection, ObjectSymbol, SectionFlags, SectionIndex, SectionKind, SymbolFlags};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The page size that segments are rounded to.
const PAGE: u64 = 4096;

/// Files with parts of a program.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ProgramFiles {
    /// The program, with its code and symbols.
    pub program: PathBuf,
    /// The file with its debug info; `None` for the program itself.
    pub debug: Option<PathBuf>,
    /// The package of its split debug info; `None` for the file `PROGRAM.dwp`.
    pub package: Option<PathBuf>,
    /// Whether the profile counts lines even if the program has pseudo-probes.
    pub ignore_probes: bool,
    /// Whether debug info is the only source of functions. Otherwise the symbol table of a program with pseudo-probes
    /// adds functions, as in llvm-profgen 22.
    pub ignore_symbol_functions: bool,
    /// Whether a program without a symbol table has no symbols, and functions have the names of debug info only, as for
    /// `llvm-profgen`. Otherwise it has the symbols of the file with its debug info, local functions of C++ that GCC
    /// compiled have the names of symbols, and large functions that the linker removed have no code.
    pub ignore_debug_symbols: bool,
    /// The release whose `llvm-profgen` the profile follows.
    pub release: Release,
}

impl ProgramFiles {
    /// A program with its debug info.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), ..Self::default() }
    }

    /// Fails if [`package`](Self::package) is not a package. `llvm-profgen` ignores such a file.
    ///
    /// # Errors
    ///
    /// I/O; usage for another file.
    pub fn require_package(&self) -> Result<()> {
        let Some(path) = &self.package else { return Ok(()) };
        let file = std::fs::File::open(path).map_err(|source| Error::io("cannot open", source).in_file(path))?;
        if is_package(file) {
            return Ok(());
        }
        Err(Error::usage("the file is not a package of split debug info")
            .in_file(path)
            .with_hint("give the file that `llvm-dwp` or `dwp` wrote for this program"))
    }

    /// The path of the file that has the debug info.
    fn symbolized(&self) -> &Path {
        self.debug.as_deref().unwrap_or(&self.program)
    }

    /// Opens the files.
    ///
    /// # Errors
    ///
    /// I/O errors with the path.
    pub fn open(&self, limits: &Limits) -> Result<ProgramImages> {
        let program = Image::open(&self.program, limits)?;
        let debug = self.debug.as_ref().map(|path| Image::open(path, limits)).transpose()?;
        Ok(ProgramImages { program, debug })
    }
}

/// The contents of a program and of the file with its debug info. Sections of debug info stay in them.
#[derive(Debug)]
pub struct ProgramImages {
    pub(super) program: Image,
    debug: Option<Image>,
}

impl ProgramImages {
    /// The content of a program with its debug info.
    pub fn of_program(bytes: Vec<u8>) -> Self {
        Self { program: InputBytes::from(bytes).into(), debug: None }
    }

    /// The content of the file that has the debug info.
    pub(super) fn symbolized(&self) -> &Image {
        self.debug.as_ref().unwrap_or(&self.program)
    }
}

/// An executable segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    /// Link-time address, rounded to a page.
    pub(super) address: u64,
    /// Offset in the file, rounded to a page.
    pub(super) offset: u64,
}

/// Findings about a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct LoadFindings {
    /// Addresses at which debug info lets several functions start.
    pub shared_starts: u64,
    /// Units whose split debug info was not found.
    pub missing_units: u64,
    /// Units of debug info that are damaged. What could be read of them is used.
    pub damaged_units: u64,
    /// Debug info has no function with code.
    pub has_no_functions: bool,
    /// Runs of bytes in code that are not instructions.
    pub undecodable: u64,
    /// Functions that no symbol makes callable: their entries are not counted.
    pub functions_without_entry: u64,
    /// All functions.
    pub functions: u64,
}

/// A loaded program.
pub struct Program<'f> {
    path: &'f Path,
    /// The last component of the path, as mappings name it.
    pub(super) name: Vec<u8>,
    /// Whether it is a Windows program, whose mappings have Windows paths.
    pub(super) is_windows: bool,
    /// Whether Go's linker made it.
    pub(super) is_of_go: bool,
    /// Executable segments in the order of the headers, at least one.
    pub(super) segments: Vec<Segment>,
    /// Address of the first loaded segment, rounded to a page.
    pub(super) first_loaded: u64,
    pub(super) code: Code<'f>,
    pub(super) functions: Functions,
    pub(super) discriminators: Discriminators,
    pub(super) rules: Rules,
    pub(super) debug: DebugInfo<'f>,
    /// The file that has the debug info.
    pub(super) debug_path: &'f Path,
    /// The identity that the linker gave the program.
    pub(super) build_id: Option<Vec<u8>>,
    /// The sections of pseudo-probes; `None` if the profile counts lines.
    probe_sections: Option<ProbeSections>,
    /// Addresses and GUIDs of symbols of code, by address. Only programs with pseudo-probes need them.
    symbols: Vec<(u64, u64)>,
    /// Whether no symbol marks where code starts. Then no code is decoded.
    pub(super) has_no_symbols: bool,
    /// Whether the file is only the separate debug file of a program.
    pub(super) has_no_code: bool,
    /// Why split debug info was not found.
    pub(super) missing_debug_info: Option<Error>,
    /// Data that the debug info of functions lacks.
    pub(super) missing: MissingDebugInfo,
    findings: LoadFindings,
}

impl<'f> Program<'f> {
    /// Loads a program.
    ///
    /// # Errors
    ///
    /// I/O errors; not an object; no executable segment; unsupported for files other than ELF and PE, and for processors
    /// other than x86 and AArch64; unable to correlate for damaged sections and debug info.
    pub fn load(files: &'f ProgramFiles, images: &'f ProgramImages, limits: &Limits) -> Result<Self> {
        let path = files.program.as_path();
        let rules = Rules::of(files.release);
        let in_program = |error: Error| error.in_file(path);
        let file = objects::parse(&images.program).map_err(in_program)?;
        let (segments, first_loaded) = segments(&file).map_err(in_program)?;
        let base = segments.first().map_or(0, |segment| segment.address);
        let in_debug = |error: Error| error.in_file(files.symbolized());
        let debug_file = images.debug.as_ref().map(|bytes| objects::parse(bytes)).transpose().map_err(in_debug)?;
        let info = debug_file.as_ref().unwrap_or(&file);
        let strings = images.symbolized().strings.as_ref();
        let package = files.package.as_deref();
        let mut debug = DebugInfo::load(info, files.symbolized(), package, strings, limits).map_err(in_debug)?;
        let mut symbol_table = &file;
        let mut symbols = TextSymbols::of(&file, symbol_table);
        if symbols.all.is_empty() && !files.ignore_debug_symbols {
            symbol_table = info;
            symbols = TextSymbols::of(&file, symbol_table);
            if !symbols.all.is_empty() && objects::build_id(&file) != objects::build_id(info) {
                return Err(in_debug(
                    Error::usage("the file is of another build than the program, which has no symbol table")
                        .with_hint("give the file with the symbols and the debug info of this program"),
                ));
            }
        }
        // llvm-profgen has the names of debug info only.
        let mangled = OnceCell::new();
        let symbol_at = |address: u64| {
            if files.ignore_debug_symbols {
                return None;
            }
            *mangled.get_or_init(|| symbols.mangled()).get(&address)?
        };
        let subprograms = debug.subprograms(symbol_at).map_err(in_debug)?;
        debug.local_names = subprograms.local_names;
        if !files.ignore_debug_symbols {
            // The executable segment can begin with the headers of the file.
            debug.code_start = objects::code_start(&file).unwrap_or(base);
        }
        let mut functions = Functions::new(subprograms.functions, base);
        let has_no_functions = functions.is_empty();
        let probe_sections = match files.ignore_probes {
            true => None,
            false => probe_sections(&file, limits).map_err(in_program)?,
        };
        // Older releases have only the functions of debug info, and no profile of a program without it.
        let adds_symbols =
            !files.ignore_symbol_functions && (rules.adds_functions_of_symbols() || functions.is_empty());
        if probe_sections.is_some() && adds_symbols {
            functions.add_symbols(function_symbols(symbol_table));
        }
        let mut symbol_guids = Vec::new();
        if probe_sections.is_some() {
            symbol_guids.extend(symbols.all.iter().map(|(name, address)| (*address, name_ref(name))));
            symbol_guids.sort_by_key(|(address, _)| *address);
        }
        let of_copies = !files.ignore_debug_symbols;
        symbols.all.iter().for_each(|(name, address)| functions.note_symbol(name, *address, of_copies));
        let missing = debug.missing(symbols.all.iter().map(|(name, _)| &**name)).map_err(in_debug)?;
        let has_no_symbols = symbols.all.is_empty();
        let code = symbols.decode(&file, limits).map_err(in_program)?;
        let (functions_without_entry, number) = functions.without_entry(debug.code_start);
        let findings = LoadFindings {
            shared_starts: functions.shared_starts,
            missing_units: subprograms.missing_units,
            damaged_units: 0,
            has_no_functions,
            undecodable: code.undecodable,
            functions_without_entry,
            functions: number,
        };
        Ok(Self {
            path,
            name: path.file_name().map(|name| name.as_encoded_bytes().to_vec()).unwrap_or_default(),
            is_windows: matches!(file, File::Pe32(_) | File::Pe64(_)),
            is_of_go: [".go.buildinfo", "__go_buildinfo"].iter().any(|name| file.section_by_name(name).is_some()),
            segments,
            first_loaded,
            code,
            functions,
            discriminators: Discriminators {
                flow_sensitive: is_flow_sensitive(&file, symbol_table),
                of_probes: rules.reads_probe_discriminators(),
            },
            rules,
            debug,
            debug_path: files.symbolized(),
            build_id: objects::build_id(&file),
            probe_sections,
            symbols: symbol_guids,
            has_no_symbols,
            has_no_code: !file.sections().any(|section| is_code_in_file(&section)),
            missing_debug_info: objects::shared_debug_info(info)
                .or(subprograms.missing.map(|error| error.with_hint(objects::NEEDS_SPLIT_FILES)))
                .or_else(|| objects::pdb_without_dwarf(info)),
            missing,
            findings,
        })
    }

    /// Returns the rules of the release whose `llvm-profgen` is followed.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Returns the findings about the program.
    pub fn findings(&self) -> LoadFindings {
        LoadFindings { damaged_units: self.debug.damage().0, ..self.findings }
    }

    /// Returns what is wrong with the first damaged unit of debug info.
    pub fn damage(&self) -> Option<Error> {
        self.debug.damage().1
    }

    /// Returns true if the program has pseudo probes, so that its profile counts these instead of lines.
    pub(crate) fn has_probes(&self) -> bool {
        self.probe_sections.is_some()
    }

    /// Decodes the probes of the functions that contain addresses.
    ///
    /// # Errors
    ///
    /// The errors of [`Probes::decode`].
    pub(super) fn decode_probes(&self, addresses: &mut dyn Iterator<Item = u64>, limits: &Limits) -> Result<Probes> {
        let Some(sections) = &self.probe_sections else { return Ok(Probes::default()) };
        let mut wanted = ProbeFilter::default();
        for function in addresses.filter_map(|address| self.functions.function_at(address)) {
            if !wanted.functions.insert(name_ref(&function.name)) {
                continue;
            }
            wanted.functions.extend(function.other_names.iter().map(|name| name_ref(name)));
            for (start, _) in &function.ranges {
                let first = self.symbols.partition_point(|(address, _)| address < start);
                let here = self.symbols[first..].iter().take_while(|(address, _)| address == start);
                wanted.symbols.extend(here.map(|(address, guid)| (*guid, *address)));
            }
        }
        Probes::decode(sections, &wanted, limits).map_err(|error| error.in_file(self.path))
    }

    /// The name of the function that is entered at an address. If debug info has another name than the symbol table, the
    /// name of its probes counts.
    pub(super) fn callee_at<'a>(&'a self, address: u64, probes: &'a Probes) -> Option<&'a [u8]> {
        let function = self.functions.function_entered_at(address)?;
        let probe = (!function.other_names.is_empty()).then(|| {
            let mut entered =
                function.ranges.iter().filter(|(start, _)| self.functions.function_entered_at(*start).is_some());
            entered.find_map(|range| probes.first_in(*range))
        });
        let described = probe.flatten().and_then(|probe| probes.description(probes.outermost(probe).guid));
        Some(canonical(described.map_or(&function.name, |described| &described.name)))
    }

    /// The name of a function that debug info has at an instruction.
    pub(super) fn frame_name<'n>(&self, name: &'n [u8]) -> &'n [u8] {
        if self.rules.keeps_names_of_copies() { name } else { canonical(name) }
    }

    /// Returns true if the frame of the function is probably incomplete at an address, so that call chains lack frames:
    /// at the first two instructions, at a return and at the instruction before it.
    pub(super) fn is_in_prolog_or_epilog(&self, address: u64) -> bool {
        self.code.is_instruction(address) && (self.is_in_prolog(address) || self.code.is_in_epilog(address))
    }

    /// Returns true if a function compiled with frame pointers has its frame at an address.
    pub(super) fn has_frame(&self, address: u64) -> bool {
        !self.is_in_prolog(address) && !self.code.is_return(address)
    }

    /// Returns true at the first two instructions of a function.
    fn is_in_prolog(&self, address: u64) -> bool {
        let is_start =
            address.checked_sub(1).map_or(address == 0, |before| self.functions.has_start(Some(before), address));
        let first = self.code.previous(address);
        is_start || first.is_some_and(|first| self.functions.has_start(self.code.previous(first), first))
    }

    /// The call before a return address.
    pub(super) fn call_before(&self, address: u64) -> Option<u64> {
        self.code.previous(address).filter(|call| self.code.is_call(*call))
    }

    /// Returns true for the path of a mapping that has the name of the program.
    pub(super) fn is_mapped_as(&self, path: &[u8]) -> bool {
        let separates = |byte: &u8| *byte == b'/' || (self.is_windows && *byte == b'\\');
        path.rsplit(separates).next() == Some(&self.name)
    }

    /// Returns true if there are no functions.
    pub(super) fn has_no_functions(&self) -> bool {
        self.functions.is_empty()
    }

    /// The name of the program's file, as messages show it.
    pub fn name(&self) -> &str {
        std::str::from_utf8(&self.name).unwrap_or("?")
    }

    /// The names of all functions: the profile symbol list.
    pub fn symbols(&self) -> SymbolList {
        self.functions.range_names().map(<[u8]>::to_vec).collect()
    }

    /// The link-time address of the first executable segment, to which addresses of samples are related.
    pub fn base(&self) -> u64 {
        self.segments.first().map_or(0, |segment| segment.address)
    }
}

/// The executable segments, and the address of the first loaded one.
fn segments(file: &File<'_>) -> Result<(Vec<Segment>, u64)> {
    match file {
        File::Elf32(file) => segments_of(file.elf_program_headers(), file.endian()),
        File::Elf64(file) => segments_of(file.elf_program_headers(), file.endian()),
        File::Pe32(_) | File::Pe64(_) => sections_of(file),
        _ => {
            let what = "a program that is neither an ELF nor a PE file".to_string();
            Err(Error::new(ErrorKind::Unsupported { what }).with_llvm_message("not a valid ELF/COFF image"))
        }
    }
}

fn segments_of<H: ProgramHeader>(headers: &[H], endian: H::Endian) -> Result<(Vec<Segment>, u64)> {
    let page = |address: u64| address & !(PAGE - 1);
    let loaded = || headers.iter().filter(|header| header.p_type(endian) == PT_LOAD);
    let executable = loaded().filter(|header| header.p_flags(endian).0 & PF_X.0 != 0);
    let segments: Vec<Segment> = executable
        .map(|header| Segment {
            address: page(header.p_vaddr(endian).into()),
            offset: page(header.p_offset(endian).into()),
        })
        .collect();
    if segments.is_empty() {
        return Err(objects::unable("no executable segment")
            .with_llvm_message("no executable segment found")
            .with_hint("give the linked program, not an object file"));
    }
    let first = loaded().map(|header| page(header.p_vaddr(endian).into())).find(|address| *address != 0);
    Ok((segments, first.unwrap_or(0)))
}

/// The sections of code of a Windows program. Windows maps the file as a whole: mappings name the offset of a section in
/// memory, and the start of the program.
fn sections_of(file: &File<'_>) -> Result<(Vec<Segment>, u64)> {
    let base = file.relative_address_base();
    let code = file.sections().filter(is_code).enumerate();
    let segments: Vec<Segment> = code
        .map(|(at, section)| Segment {
            address: if at == 0 { base } else { section.address() },
            offset: section.address().wrapping_sub(base),
        })
        .collect();
    if segments.is_empty() || base == 0 {
        return Err(objects::unable("no section of code").with_llvm_message("Not a COFF image"));
    }
    Ok((segments, base))
}

/// Returns true for sections of data that are in the file.
fn is_data(section: &object::Section<'_, '_>) -> bool {
    let is_loaded = match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.0 & SHF_ALLOC.0 != 0 && !is_code(section),
        SectionFlags::Coff { characteristics } => characteristics.0 & IMAGE_SCN_CNT_INITIALIZED_DATA.0 != 0,
        _ => false,
    };
    is_loaded && section.kind() != SectionKind::UninitializedData && section.size() != 0
}

/// Symbols of code.
struct TextSymbols<'d> {
    /// Name and address of those of all sections of code.
    all: Vec<(&'d [u8], u64)>,
    /// Addresses by section; the jumps of the linker to shared libraries are not code of the program.
    of_section: HashMap<SectionIndex, Vec<u64>>,
}

impl<'d> TextSymbols<'d> {
    fn of(file: &File<'_>, table: &File<'d>) -> Self {
        let has_code =
            |section: &object::Section<'_, '_>| is_code_in_file(section) && section.name_bytes() != Ok(b".plt");
        let mut sections = sections_of_table(file, table);
        sections.retain(|_, index| file.section_by_index(*index).is_ok_and(|section| has_code(&section)));
        let mut symbols = Self { all: Vec::new(), of_section: HashMap::new() };
        for symbol in table.symbols() {
            let Some(section) = symbol.section_index().and_then(|index| sections.get(&index)) else { continue };
            symbols.all.push((symbol.name_bytes().unwrap_or_default(), symbol.address()));
            symbols.of_section.entry(*section).or_default().push(symbol.address());
        }
        symbols
    }

    /// The mangled names at addresses, without suffixes; `None` for several names.
    fn mangled(&self) -> HashMap<u64, Option<&'d [u8]>> {
        let mut found = HashMap::new();
        for (name, address) in self.all.iter().filter(|(name, _)| is_mangled(name)) {
            let name = canonical(without_suffixes(name));
            let known = found.entry(*address).or_insert(Some(name));
            if *known != Some(name) {
                *known = None;
            }
        }
        found
    }

    fn decode<'f>(mut self, file: &File<'f>, limits: &Limits) -> Result<Code<'f>> {
        let mut sections = Vec::new();
        for section in file.sections() {
            let Some(symbols) = self.of_section.remove(&section.index()) else { continue };
            let bytes = objects::contents_in_place(&section, limits)?;
            sections.push(TextSection { address: section.address(), bytes, symbols });
        }
        Code::decode(file.architecture(), sections)
    }
}

/// The sections of pseudo-probes, if the program has both of them.
fn probe_sections(file: &File<'_>, limits: &Limits) -> Result<Option<ProbeSections>> {
    let endian = if file.is_little_endian() { Endian::Little } else { Endian::Big };
    let mut found = ProbeSections { endian, ..ProbeSections::default() };
    for section in file.sections() {
        let sections = match section.name_bytes() {
            Ok(name) if name == objects::PROBE_DESCRIPTORS.as_bytes() => &mut found.descriptions,
            Ok(name) if name == PROBES.as_bytes() => &mut found.probes,
            _ => continue,
        };
        sections.push(objects::contents(&section, limits)?);
    }
    Ok((!found.descriptions.is_empty() && !found.probes.is_empty()).then_some(found))
}

/// Symbols of functions: name, address and size.
fn function_symbols<'d>(file: &File<'d>) -> impl Iterator<Item = (&'d [u8], u64, u64)> {
    let is_function = |symbol: &object::Symbol<'d, '_>| matches!(symbol.flags(), SymbolFlags::Elf { st_info, .. } if st_info.st_type() == STT_FUNC);
    let functions = file.symbols().filter(move |symbol| is_function(symbol) && symbol.size() != 0);
    functions.map(|symbol| (symbol.name_bytes().unwrap_or_default(), symbol.address(), symbol.size()))
}

/// The compiler marks a program with flow-sensitive discriminators by a variable.
fn is_flow_sensitive(file: &File<'_>, table: &File<'_>) -> bool {
    let sections = sections_of_table(file, table);
    table.symbols().filter(|symbol| symbol.name_bytes() == Ok(b"__llvm_fs_discriminator__")).any(|symbol| {
        symbol
            .section_index()
            .and_then(|index| file.section_by_index(*sections.get(&index)?).ok())
            .is_some_and(|section| is_data(&section))
    })
}

/// The sections of a program by their positions in the file with its symbol table. That file can be the one with the debug
/// info, whose sections have no content and sometimes other positions.
fn sections_of_table(file: &File<'_>, table: &File<'_>) -> HashMap<SectionIndex, SectionIndex> {
    let place = |section: &object::Section<'_, '_>| Some((section.address(), section.name_bytes().ok()?.to_vec()));
    let of_file: HashMap<_, _> =
        file.sections().filter_map(|section| Some((place(&section)?, section.index()))).collect();
    let pair = |of_table: object::Section<'_, '_>| {
        // Sections of object files can have one name and address.
        let at_same_position = file.section_by_index(of_table.index()).ok();
        let same = at_same_position.filter(|section| place(section) == place(&of_table)).map(|section| section.index());
        Some((of_table.index(), same.or_else(|| of_file.get(&place(&of_table)?).copied())?))
    };
    table.sections().filter_map(pair).collect()
}
