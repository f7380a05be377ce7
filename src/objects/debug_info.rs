//! Object files and their DWARF: sections, segments, identities, entries, attributes, split
//! debug info and line tables.
//!
//! With split debug info, the program has a skeleton of each unit with addresses and lines. The
//! rest is in one file per unit (`.dwo`) or in one package (`.dwp`).

use crate::bytes::window::StableSource;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::memory::{self, HOLD_INPUT};
use gimli::{
    AttributeValue, ColumnType, DebuggingInformationEntry, Dwarf, DwarfPackageSections, DwarfSections, EndianSlice,
    LineProgramHeader, RangeIter, RunTimeEndian, SectionId, Unit, UnitOffset, constants,
};
use object::elf::SHF_EXECINSTR;
use object::pe::IMAGE_SCN_CNT_CODE;
use object::{Architecture, BinaryFormat, Object, ObjectSection, ObjectSegment, ObjectSymbol};
use object::{SectionFlags, SectionKind, SegmentFlags};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads the headers of an object file.
///
/// # Errors
///
/// Not an object; for LLVM bitcode, with a hint.
pub(crate) fn parse(bytes: &[u8]) -> Result<object::File<'_>> {
    if is_bitcode(bytes) {
        let error = Error::new(ErrorKind::NotAnObject { detail: "LLVM bitcode".to_string() });
        return Err(error.with_hint(LINK_BITCODE));
    }
    object::File::parse(bytes).map_err(|error| Error::new(ErrorKind::NotAnObject { detail: error.to_string() }))
}

/// The advice for LLVM bitcode where a program is expected.
pub(crate) const LINK_BITCODE: &str = "link it, and pass the linked program: with -flto, object files are bitcode";

/// Returns true for LLVM bitcode, with or without a wrapper.
pub(crate) fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(b"BC\xc0\xde") || bytes.starts_with(b"\xde\xc0\x17\x0b")
}

/// Returns the name of a symbol, without the underscore that Mach-O and 32-bit COFF of x86 have before it.
pub(crate) fn symbol_name<'d>(file: &object::File<'d>, symbol: &object::Symbol<'d, '_>) -> Option<&'d [u8]> {
    let name = symbol.name_bytes().ok()?;
    let has_underscore = match file.format() {
        BinaryFormat::MachO => true,
        BinaryFormat::Coff | BinaryFormat::Pe => file.architecture() == Architecture::I386,
        _ => false,
    };
    Some(name.strip_prefix(b"_").filter(|_| has_underscore).unwrap_or(name))
}

/// Returns true if pointers have 64 bits. The header of a COFF object does not say it, its machine does.
pub(crate) fn is_64(file: &object::File<'_>) -> bool {
    file.architecture().address_size().map_or(file.is_64(), |size| size.bytes() == 8)
}

/// A profile and an image do not go together.
pub(crate) fn unable(detail: impl Into<String>) -> Error {
    Error::new(ErrorKind::UnableToCorrelate { detail: detail.into() })
}

/// The bytes of a section, inflated if they are compressed.
pub(crate) fn contents(section: &object::Section<'_, '_>, limits: &Limits) -> Result<Vec<u8>> {
    match contents_in_place(section, limits)? {
        Cow::Borrowed(bytes) => memory::copied(bytes, HOLD_INPUT),
        Cow::Owned(bytes) => Ok(bytes),
    }
}

/// Like [`contents`], in the file if they are not compressed.
pub(crate) fn contents_in_place<'d>(section: &object::Section<'d, '_>, limits: &Limits) -> Result<Cow<'d, [u8]>> {
    let damaged = |error: object::Error| {
        let name = section.name().unwrap_or("?").to_string();
        unable(format!("section {name}: {error}"))
    };
    let compressed = section.compressed_data().map_err(damaged)?;
    let (most, name) = limits.of_section(compressed.data.len() as u64);
    if compressed.format != object::CompressionFormat::None && compressed.uncompressed_size > most {
        let found = compressed.uncompressed_size;
        return Err(Error::above_limit(Some(name), "size of an inflated section", found, most));
    }
    compressed.decompress().map_err(damaged)
}

/// The identity that a linker gave an image: the build id of ELF, the UUID of
/// Mach-O.
pub(crate) fn build_id(file: &object::File<'_>) -> Option<Vec<u8>> {
    if let Ok(Some(id)) = file.build_id() {
        return Some(id.to_vec());
    }
    file.mach_uuid().ok().flatten().map(|uuid| uuid.to_vec())
}

/// Returns an error if a part of the debug info is in a file that several images share (`dwz -m`), which is not read.
pub(crate) fn shared_debug_info(file: &object::File<'_>) -> Option<Error> {
    let (name, _) = file.gnu_debugaltlink().ok()??;
    let detail = format!("a part of the debug info is in {}, which is not read", name.escape_ascii());
    Some(unable(detail).with_hint("use the program as it was before `dwz -m` moved the debug info"))
}

/// Returns an error if the debug info of a program of Windows is in a PDB and not in DWARF.
pub(crate) fn pdb_without_dwarf(file: &object::File<'_>) -> Option<Error> {
    // Linkers also store build ids in this form, without a path.
    file.pdb_info().ok().flatten().filter(|pdb| !pdb.path().is_empty())?;
    let error = unable("the debug info of the program is in a PDB, which is not read");
    let hint = "compile it with `-gdwarf`, and link it with lld's option `-debug:dwarf`";
    file.section_by_name(".debug_info").is_none().then(|| error.with_hint(hint))
}

/// A part of an image that is loaded to be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExecutableSegment {
    /// Link-time address.
    pub(crate) address: u64,
    /// Bytes in memory.
    pub(crate) size: u64,
}

/// Returns true for an executable segment of an ELF file.
pub(crate) fn is_executable(segment: &object::Segment<'_, '_>) -> bool {
    matches!(segment.flags(), SegmentFlags::Elf { p_flags, .. } if p_flags.0 & object::elf::PF_X.0 != 0)
}

/// The executable segments of an ELF file, in its order.
pub(crate) fn executable_segments(file: &object::File<'_>) -> Vec<ExecutableSegment> {
    let segments = file.segments().filter(is_executable);
    segments.map(|segment| ExecutableSegment { address: segment.address(), size: segment.size() }).collect()
}

/// Bytes of debug info.
pub(crate) type Slice<'a> = EndianSlice<'a, RunTimeEndian>;
/// An entry of debug info.
pub(crate) type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

/// Debug info cannot be read.
pub(crate) fn damaged(error: gimli::Error) -> Error {
    unable(format!("debug info: {error}"))
}

/// All sections of debug info, in the file unless they are compressed, and their byte order.
pub(crate) fn load_sections<'d>(
    file: &object::File<'d>,
    limits: &Limits,
) -> Result<(DwarfSections<Cow<'d, [u8]>>, RunTimeEndian)> {
    load_wanted(file, limits, |_| true)
}

fn load_wanted<'d>(
    file: &object::File<'d>,
    limits: &Limits,
    is_wanted: impl Fn(SectionId) -> bool,
) -> Result<(DwarfSections<Cow<'d, [u8]>>, RunTimeEndian)> {
    let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let load = |id: SectionId| match file.section_by_name(id.name()).filter(|_| is_wanted(id)) {
        Some(section) => contents_in_place(&section, limits),
        None => Ok(Cow::Borrowed(&[][..])),
    };
    Ok((DwarfSections::load(load)?, endian))
}

/// The sections of debug info with the functions and the lines of addresses, without names.
const SECTIONS_OF_CODE: [SectionId; 9] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugAranges,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStrOffsets,
];

/// Returns true for a section of code.
pub(crate) fn is_code(section: &object::Section<'_, '_>) -> bool {
    match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.0 & SHF_EXECINSTR.0 != 0,
        SectionFlags::Coff { characteristics } => characteristics.0 & IMAGE_SCN_CNT_CODE.0 != 0,
        _ => false,
    }
}

/// Returns true for sections of code that are in the file. Separate debug files have only their headers.
pub(crate) fn is_code_in_file(section: &object::Section<'_, '_>) -> bool {
    is_code(section) && section.kind() != SectionKind::UninitializedData
}

/// Returns the first address of code; `None` without sections of code. An executable segment can begin with the headers of
/// the file.
pub(crate) fn code_start(file: &object::File<'_>) -> Option<u64> {
    file.sections().filter(is_code).map(|section| section.address()).min()
}

/// Returns true for a section of debug info that [`DebugInfo`](super::DebugInfo) reads.
pub(crate) fn is_section_of_code(name: &str) -> bool {
    SECTIONS_OF_CODE.iter().any(|id| id.name() == name)
}

/// The strings of a program's debug info, which stay in its file: most of them are names of types.
#[derive(Debug)]
pub(crate) struct StringSection {
    file: Arc<dyn StableSource>,
    start: u64,
    len: u64,
}

impl StringSection {
    pub(crate) const NAME: &str = ".debug_str";

    /// The section of `len` bytes from `start` on.
    pub(crate) fn new(file: Arc<dyn StableSource>, start: u64, len: u64) -> Self {
        Self { file, start, len }
    }

    /// Checks that the file has not changed since it was opened.
    ///
    /// # Errors
    ///
    /// I/O if it has.
    pub(super) fn check(&self) -> Result<()> {
        self.file.check()
    }

    /// Reads the string at an offset.
    ///
    /// # Errors
    ///
    /// I/O; unable to correlate if the section does not have the end of the string.
    fn read(&self, mut offset: u64) -> Result<Vec<u8>> {
        let (mut found, mut part) = (Vec::new(), [0; 256]);
        loop {
            let len = self.len.saturating_sub(offset).min(part.len() as u64);
            if len == 0 {
                return Err(unable("debug info: a string has no end"));
            }
            let part = &mut part[..len as usize];
            self.file.read(part, self.start + offset)?;
            let end = memchr::memchr(0, part);
            found.extend_from_slice(&part[..end.unwrap_or(part.len())]);
            if end.is_some() {
                return Ok(found);
            }
            offset += len;
        }
    }
}

/// The text of an attribute. `strings` are those of the program if they are not in memory.
///
/// # Errors
///
/// Unable to correlate for damaged debug info; I/O.
pub(super) fn string<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    value: AttributeValue<Slice<'a>>,
    strings: Option<&StringSection>,
) -> Result<Cow<'a, [u8]>> {
    let offset = match value {
        AttributeValue::DebugStrRef(offset) => Some(offset),
        AttributeValue::DebugStrOffsetsIndex(index) => Some(dwarf.string_offset(unit, index).map_err(damaged)?),
        _ => None,
    };
    match (strings, offset) {
        (Some(strings), Some(offset)) => strings.read(offset.0 as u64).map(Cow::Owned),
        _ => dwarf.attr_string(unit, value).map(|text| Cow::Borrowed(text.slice())).map_err(damaged),
    }
}

/// Like [`load_sections`], but only those with the functions and lines of addresses, and the names unless they stay in the
/// file.
pub(super) fn load_sections_of_code<'d>(
    file: &object::File<'d>,
    has_strings: bool,
    limits: &Limits,
) -> Result<(DwarfSections<Cow<'d, [u8]>>, RunTimeEndian)> {
    load_wanted(file, limits, |id| SECTIONS_OF_CODE.contains(&id) || (id == SectionId::DebugStr && has_strings))
}

/// The bytes of a section, none if the file lacks it.
fn section_bytes(file: &object::File<'_>, name: &str, limits: &Limits) -> Result<Vec<u8>> {
    file.section_by_name(name).map_or(Ok(Vec::new()), |section| contents(&section, limits))
}

/// Where the rest of a skeleton unit is.
fn split_file(
    dwarf: &Dwarf<Slice<'_>>,
    unit: &Unit<Slice<'_>>,
    image: &Path,
    strings: Option<&StringSection>,
) -> Result<Option<PathBuf>> {
    if unit.dwo_id.is_none() {
        return Ok(None);
    }
    let Some(name) = unit.dwo_name().map_err(damaged)? else { return Ok(None) };
    let path = |text: &[u8]| PathBuf::from(String::from_utf8_lossy(text).into_owned());
    let name = path(&string(dwarf, unit, name, strings)?);
    let folder = match strings {
        None => unit.comp_dir.map(|folder| path(folder.slice())),
        Some(_) => {
            let folder = root_of(unit)?.attr_value(constants::DW_AT_comp_dir);
            folder.map(|folder| string(dwarf, unit, folder, strings)).transpose()?.map(|folder| path(&folder))
        }
    };
    let beside_image = image.parent().unwrap_or(Path::new("")).join(&name);
    let as_compiled = folder.unwrap_or_default().join(&name);
    Ok(Some(if as_compiled.is_file() { as_compiled } else { beside_image }))
}

/// The addresses of an entry.
///
/// # Errors
///
/// As any damage; an entry that goes on beyond the last address, which gimli
/// adds up unchecked, among them.
pub(crate) fn ranges_of<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    entry: &Entry<'a>,
) -> Result<RangeIter<Slice<'a>>> {
    let low = entry.attr_value(constants::DW_AT_low_pc).map(|value| dwarf.attr_address(unit, value));
    let low = low.transpose().map_err(damaged)?.flatten();
    if let (Some(low), Some(AttributeValue::Udata(size))) = (low, entry.attr_value(constants::DW_AT_high_pc))
        && low.checked_add(size).is_none()
    {
        return Err(unable(format!("debug info: {size} bytes at 0x{low:x} exceed the address space")));
    }
    dwarf.die_ranges(unit, entry).map_err(damaged)
}

/// The addresses of a unit.
///
/// # Errors
///
/// As [`ranges_of`].
pub(super) fn ranges_of_unit<'a>(dwarf: &Dwarf<Slice<'a>>, unit: &Unit<Slice<'a>>) -> Result<RangeIter<Slice<'a>>> {
    ranges_of(dwarf, unit, &root_of(unit)?)
}

/// The entry of a unit itself.
pub(super) fn root_of<'a>(unit: &Unit<Slice<'a>>) -> Result<Entry<'a>> {
    let mut entries = unit.entries();
    entries.next_dfs().map_err(damaged)?;
    entries.current().cloned().ok_or_else(|| damaged(gimli::Error::MissingUnitDie))
}

/// An attribute of an entry, or of the declaration that it completes.
pub(crate) fn attribute<'a>(
    unit: &Unit<Slice<'a>>,
    entry: &Entry<'a>,
    name: gimli::DwAt,
) -> Option<AttributeValue<Slice<'a>>> {
    const MOST_STEPS: usize = 4; // a concrete function, its origin, its declaration
    let mut entry = entry.clone();
    for _ in 0..MOST_STEPS {
        if let Some(value) = entry.attr_value(name) {
            return Some(value);
        }
        let further = [constants::DW_AT_specification, constants::DW_AT_abstract_origin];
        let AttributeValue::UnitRef(offset) = further.into_iter().find_map(|link| entry.attr_value(link))? else {
            return None;
        };
        entry = unit.entry(offset).ok()?;
    }
    None
}

/// The offset of a unit in its section.
pub(super) fn offset_of(unit: &Unit<Slice<'_>>) -> usize {
    unit.header.debug_info_offset().map_or(0, |offset| offset.0)
}

/// An entry: the position of its unit among all units, and its offset in the unit.
pub(crate) type EntryPlace = (usize, UnitOffset<usize>);

/// Returns the first of some attributes of an entry, of its declaration, or of its abstract origin, and the entry that has
/// it. Links between units are followed, which programs with link-time optimization have.
pub(crate) fn find_attribute<'a>(
    units: &[Unit<Slice<'a>>],
    place: EntryPlace,
    names: &[gimli::DwAt],
) -> Option<(AttributeValue<Slice<'a>>, EntryPlace)> {
    const MOST_STEPS: usize = 8; // a call, its origin, its declaration; more only in a damaged file
    let mut left = vec![place];
    for _ in 0..MOST_STEPS {
        let (at, offset) = left.pop()?;
        let unit = &units[at];
        let Ok(entry) = unit.entry(offset) else { continue };
        if let Some(value) = names.iter().find_map(|name| entry.attr_value(*name)) {
            return Some((value, (at, offset)));
        }
        let links = [constants::DW_AT_abstract_origin, constants::DW_AT_specification];
        left.extend(links.into_iter().filter_map(|link| linked(units, at, entry.attr_value(link)?)));
    }
    None
}

/// A name of a function in debug info.
pub(super) struct FunctionName<'a> {
    pub(super) value: AttributeValue<Slice<'a>>,
    /// The entry that has it.
    pub(super) place: EntryPlace,
    /// Whether it is not the linkage name.
    pub(super) is_plain: bool,
}

/// Returns the linkage name of a function, otherwise its plain name.
pub(super) fn find_function_name<'a>(units: &[Unit<Slice<'a>>], place: EntryPlace) -> Option<FunctionName<'a>> {
    let find = |is_plain, names: &[gimli::DwAt]| {
        find_attribute(units, place, names).map(|(value, place)| FunctionName { value, place, is_plain })
    };
    // DWARF 3 has the second attribute.
    let linkage = find(false, &[constants::DW_AT_linkage_name, constants::DW_AT_MIPS_linkage_name]);
    linkage.or_else(|| find(true, &[constants::DW_AT_name]))
}

/// Returns the linkage name of a function, otherwise its plain name.
pub(crate) fn function_name<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    units: &[Unit<Slice<'a>>],
    place: EntryPlace,
) -> Option<Slice<'a>> {
    let FunctionName { value, place: (unit, _), .. } = find_function_name(units, place)?;
    dwarf.attr_string(&units[unit], value).ok()
}

/// Returns the entry that a link in a unit leads to.
fn linked(units: &[Unit<Slice<'_>>], at: usize, link: AttributeValue<Slice<'_>>) -> Option<EntryPlace> {
    match link {
        AttributeValue::UnitRef(offset) => Some((at, offset)),
        AttributeValue::DebugInfoRef(offset) => {
            let after = units.partition_point(|unit| offset_of(unit) <= offset.0);
            let at = after.checked_sub(1)?;
            Some((at, offset.to_unit_offset(&units[at].header)?))
        }
        _ => None,
    }
}

/// The text of such an attribute.
pub(crate) fn text<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    entry: &Entry<'a>,
    name: gimli::DwAt,
) -> Option<Vec<u8>> {
    let value = attribute(unit, entry, name)?;
    dwarf.attr_string(unit, value).ok().map(|text| text.slice().to_vec())
}

/// The advice for missing split debug info.
pub(crate) const NEEDS_SPLIT_FILES: &str =
    "keep the .dwo files where they were compiled or next to the program, or join them to PROGRAM.dwp with `llvm-dwp`";

/// The split debug info of an image.
pub(crate) struct SplitDebugInfo<'i> {
    image: &'i Path,
    limits: Limits,
    /// The strings of the image if they are not in memory.
    strings: Option<&'i StringSection>,
    package: Option<(DwarfPackageSections<Vec<u8>>, RunTimeEndian)>,
}

/// Where the rest of a unit is.
pub(crate) enum SplitSections {
    /// In the package of the image.
    Package,
    /// In a file of its own.
    File(Box<DwarfSections<Vec<u8>>>, RunTimeEndian),
}

/// The unit of a skeleton, and the sections that it needs.
pub(crate) type SplitUnit<'a> = (Dwarf<Slice<'a>>, Unit<Slice<'a>>);

impl<'i> SplitDebugInfo<'i> {
    /// The package of an image is next to it, `IMAGE.dwp`.
    ///
    /// # Errors
    ///
    /// Unable to correlate when the package is damaged.
    pub(crate) fn of(image: &'i Path, limits: &Limits) -> Result<Self> {
        Self::with_package(image, None, None, limits)
    }

    /// Like [`of`](Self::of), but for the path of the package, and for an image whose strings are not in memory.
    ///
    /// # Errors
    ///
    /// As [`of`](Self::of).
    pub(crate) fn with_package(
        image: &'i Path,
        package: Option<&Path>,
        strings: Option<&'i StringSection>,
        limits: &Limits,
    ) -> Result<Self> {
        let path = package.map_or_else(
            || {
                let mut name = image.as_os_str().to_os_string();
                name.push(".dwp");
                PathBuf::from(name)
            },
            Path::to_path_buf,
        );
        let package = match std::fs::read(&path) {
            Ok(bytes) => {
                let load = |file: &object::File<'_>| load_package(file, limits);
                Some(with_object(&path, &bytes, load)?)
            }
            Err(_) => None,
        };
        Ok(Self { image, limits: *limits, strings, package })
    }

    /// Finds the rest of a skeleton unit. `None` for a complete unit.
    ///
    /// # Errors
    ///
    /// Unable to correlate when its file is not there, or is damaged.
    pub(crate) fn sections(
        &self,
        dwarf: &Dwarf<Slice<'_>>,
        skeleton: &Unit<Slice<'_>>,
    ) -> Result<Option<SplitSections>> {
        let Some(path) = split_file(dwarf, skeleton, self.image, self.strings)? else { return Ok(None) };
        if skeleton.dwo_id.is_some_and(|id| self.package_has(id)) {
            return Ok(Some(SplitSections::Package));
        }
        let bytes = std::fs::read(&path).map_err(|error| {
            let source = crate::error::io_message(&error);
            unable(format!("debug info is split, and {} cannot be opened: {source}", path.display()))
        })?;
        let (sections, endian) = with_object(&path, &bytes, |file| {
            let load = |id: SectionId| section_of(file, id, &self.limits);
            DwarfSections::load(load)
        })?;
        Ok(Some(SplitSections::File(Box::new(sections), endian)))
    }

    /// Returns true if the rest of a skeleton unit is not where it should be.
    ///
    /// # Errors
    ///
    /// Unable to correlate for damaged debug info.
    pub(super) fn is_missing(&self, dwarf: &Dwarf<Slice<'_>>, skeleton: &Unit<Slice<'_>>) -> Result<bool> {
        let Some(path) = split_file(dwarf, skeleton, self.image, self.strings)? else { return Ok(false) };
        Ok(!skeleton.dwo_id.is_some_and(|id| self.package_has(id)) && !path.is_file())
    }

    fn package_has(&self, id: gimli::DwoId) -> bool {
        let Some((sections, endian)) = &self.package else { return false };
        let borrowed = sections.borrow(|bytes| EndianSlice::new(bytes, *endian), EndianSlice::new(&[], *endian));
        borrowed.is_ok_and(|package| package.cu_index.find(id.0).is_some())
    }

    /// The unit that a skeleton stands for; nothing when the file holds another.
    ///
    /// # Errors
    ///
    /// Unable to correlate when debug info is damaged.
    pub(crate) fn unit<'a>(
        &'a self,
        sections: &'a SplitSections,
        parent: &Dwarf<Slice<'a>>,
        skeleton: &Unit<Slice<'a>>,
    ) -> Result<Option<SplitUnit<'a>>> {
        let dwarf = match (sections, &self.package) {
            (SplitSections::File(sections, endian), _) => {
                let mut dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, *endian));
                // The address table and line tables of the image serve the split file.
                dwarf.make_dwo(parent);
                Some(dwarf)
            }
            (SplitSections::Package, Some((package, endian))) => {
                let slice = |bytes: &'a Vec<u8>| EndianSlice::new(bytes.as_slice(), *endian);
                let package = package.borrow(slice, EndianSlice::new(&[], *endian)).map_err(damaged)?;
                let found = skeleton.dwo_id.map(|id| package.find_cu(id, parent)).transpose().map_err(damaged)?;
                found.flatten()
            }
            (SplitSections::Package, None) => None,
        };
        let Some(dwarf) = dwarf else { return Ok(None) };
        let mut units = dwarf.units();
        while let Some(header) = units.next().map_err(damaged)? {
            let mut unit = dwarf.unit(header).map_err(damaged)?;
            if unit.dwo_id == skeleton.dwo_id {
                unit.copy_relocated_attributes(skeleton);
                return Ok(Some((dwarf, unit)));
            }
        }
        Ok(None)
    }
}

/// Loads the sections of an object file, and reports its byte order.
fn with_object<T>(
    path: &Path,
    bytes: &[u8],
    load: impl FnOnce(&object::File<'_>) -> Result<T>,
) -> Result<(T, RunTimeEndian)> {
    let file = object::File::parse(bytes).map_err(|error| unable(format!("{}: {error}", path.display())))?;
    let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    Ok((load(&file)?, endian))
}

fn section_of(file: &object::File<'_>, id: SectionId, limits: &Limits) -> Result<Vec<u8>> {
    id.dwo_name().map_or(Ok(Vec::new()), |name| section_bytes(file, name, limits))
}

/// Returns true for an object file with an index of split units.
pub(crate) fn is_package(file: std::fs::File) -> bool {
    let cache = object::ReadCache::new(file);
    let index = SectionId::DebugCuIndex.dwo_name().unwrap_or_default();
    object::File::parse(&cache).is_ok_and(|file| file.section_by_name(index).is_some())
}

fn load_package(file: &object::File<'_>, limits: &Limits) -> Result<DwarfPackageSections<Vec<u8>>> {
    /// An error of ours where gimli wants one that its own can become.
    struct Failed(Error);

    impl From<gimli::Error> for Failed {
        fn from(error: gimli::Error) -> Self {
            Self(damaged(error))
        }
    }

    DwarfPackageSections::load(|id| section_of(file, id, limits).map_err(Failed)).map_err(|failed| failed.0)
}

/// A place in a source file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) file: u64,
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) discriminator: u32,
}

/// The line table of a unit.
#[derive(Debug, Default)]
pub(super) struct LineTable {
    /// Runs of rows with rising addresses, ordered by their ends.
    sequences: Vec<Sequence>,
}

#[derive(Debug)]
struct Sequence {
    start: u64,
    end: u64,
    rows: Vec<(u64, Place)>,
}

impl LineTable {
    /// Reads the table of a unit; empty if it has none.
    pub(super) fn read(unit: &Unit<Slice<'_>>) -> Result<Self> {
        let Some(program) = unit.line_program.clone() else { return Ok(Self::default()) };
        let (mut sequences, mut rows) = (Vec::new(), Vec::new());
        let mut steps = program.rows();
        while let Some((_, row)) = steps.next_row().map_err(damaged)? {
            if row.end_sequence() {
                let rows: Vec<(u64, Place)> = std::mem::take(&mut rows);
                let Some(start) = rows.first().map(|(address, _)| *address) else { continue };
                sequences.push(Sequence { start, end: row.address(), rows });
                continue;
            }
            let column = match row.column() {
                ColumnType::LeftEdge => 0,
                // A line table of LLVM has columns of 16 bits.
                ColumnType::Column(column) => u32::from(column.get() as u16),
            };
            let line = row.line().map_or(0, |line| line.get() as u32);
            let discriminator = row.discriminator() as u32;
            let place = Place { file: row.file_index(), line, column, discriminator };
            rows.push((row.address(), place));
        }
        sequences.sort_by_key(|sequence| sequence.end);
        Ok(Self { sequences })
    }

    /// The last row at or before an address.
    pub(super) fn find(&self, address: u64) -> Option<Place> {
        let at = self.sequences.partition_point(|sequence| sequence.end <= address);
        let sequence = self.sequences.get(at).filter(|sequence| sequence.start <= address)?;
        let row = sequence.rows.partition_point(|(start, _)| *start <= address);
        row.checked_sub(1).map(|row| sequence.rows[row].1)
    }
}

/// The path of a file of a line table, without `.` and `..`.
pub(super) fn path_of_file(
    dwarf: &Dwarf<Slice<'_>>,
    unit: &Unit<Slice<'_>>,
    strings: Option<&StringSection>,
    file: u64,
) -> Option<Vec<u8>> {
    let Some(header) = unit.line_program.as_ref().map(|program| program.header()) else {
        // Split debug info may have no files. The first is that of the unit.
        let first = if unit.encoding().version < 5 { 1 } else { 0 };
        return unit.name.filter(|_| file == first).map(|name| name.slice().to_vec());
    };
    let file = header.file(file)?;
    let text = |value| string(dwarf, unit, value, strings).ok();
    let folder = file.directory(header).and_then(text).unwrap_or_default();
    let parts = [unit.comp_dir.map(|folder| Cow::Borrowed(folder.slice())), Some(folder), text(file.path_name())];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    // An absolute path replaces the folders before it.
    let first = parts.iter().rposition(|part| part.starts_with(b"/")).unwrap_or(0);
    let mut path: Vec<&[u8]> = Vec::new();
    for name in parts[first..].iter().flat_map(|part| part.split(|byte| *byte == b'/')) {
        match name {
            b"" | b"." => {}
            b".." if path.last().is_some_and(|last| *last != b"..") => {
                path.pop();
            }
            _ => path.push(name),
        }
    }
    Some(path.join(&b'/'))
}

/// The name of a file as a line table spells it, without its folder.
pub(super) fn file_name(
    dwarf: &Dwarf<Slice<'_>>,
    unit: &Unit<Slice<'_>>,
    header: &LineProgramHeader<Slice<'_>>,
    file: u64,
) -> Option<Vec<u8>> {
    let name = dwarf.attr_string(unit, header.file(file)?.path_name()).ok()?;
    name.slice().rsplit(|byte| *byte == b'/').next().map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::StableFile;
    use std::io::Write;

    #[test]
    fn strings_are_read_from_a_file_that_must_not_change() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let long = "n".repeat(600);
        file.write_all(format!("head\0main\0{long}\0tail").as_bytes()).expect("it is written");
        let stable = StableFile::open(file.path()).expect("it opens").expect("it is a file");
        let strings = StringSection::new(Arc::new(stable), 5, 5 + 601 + 4);
        assert_eq!(strings.read(0).expect("it is there"), b"main");
        assert_eq!(strings.read(5).expect("it is there"), long.as_bytes());
        assert_eq!(strings.read(7).expect("it is there"), &long.as_bytes()[2..]);
        let text = |error: Error| error.to_string();
        for offset in [606, 610, u64::MAX] {
            assert!(text(strings.read(offset).unwrap_err()).contains("a string has no end"), "{offset}");
        }
        strings.check().expect("it is unchanged");
        file.write_all(b"more").expect("it is written");
        assert!(text(strings.check().unwrap_err()).contains("changed"));
    }
}
