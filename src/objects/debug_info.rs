//! DWARF: sections, entries and their attributes.

use super::image::{contents, unable};
use crate::error::{Error, Result};
use crate::limits::Limits;
use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, DwarfSections, EndianSlice, RangeIter, RunTimeEndian, Unit,
    constants,
};
use object::Object;
use std::path::{Path, PathBuf};

/// Bytes of debug info.
pub(crate) type Slice<'a> = EndianSlice<'a, RunTimeEndian>;
/// An entry of debug info.
pub(crate) type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

/// Debug info cannot be read.
pub(crate) fn damaged(error: gimli::Error) -> Error {
    unable(format!("debug info: {error}"))
}

/// All sections of debug info, and their byte order.
pub(crate) fn load_sections(
    file: &object::File<'_>,
    limits: &Limits,
) -> Result<(DwarfSections<Vec<u8>>, RunTimeEndian)> {
    let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    Ok((DwarfSections::load(|id| section_bytes(file, id.name(), limits))?, endian))
}

/// The bytes of a section, none if the file lacks it.
pub(super) fn section_bytes(file: &object::File<'_>, name: &str, limits: &Limits) -> Result<Vec<u8>> {
    file.section_by_name(name).map_or(Ok(Vec::new()), |section| contents(&section, limits))
}

/// Where the rest of a skeleton unit is.
pub(super) fn split_file(dwarf: &Dwarf<Slice<'_>>, unit: &Unit<Slice<'_>>, image: &Path) -> Result<Option<PathBuf>> {
    if unit.dwo_id.is_none() {
        return Ok(None);
    }
    let Some(name) = unit.dwo_name().map_err(damaged)? else { return Ok(None) };
    let name = dwarf.attr_string(unit, name).map_err(damaged)?;
    let name = PathBuf::from(String::from_utf8_lossy(name.slice()).into_owned());
    let folder = unit.comp_dir.map(|folder| PathBuf::from(String::from_utf8_lossy(folder.slice()).into_owned()));
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
        return Err(unable(format!("debug info: {size} bytes at 0x{low:x} are more than there are addresses")));
    }
    dwarf.die_ranges(unit, entry).map_err(damaged)
}

/// The addresses of a unit.
///
/// # Errors
///
/// As [`ranges_of`].
pub(super) fn ranges_of_unit<'a>(dwarf: &Dwarf<Slice<'a>>, unit: &Unit<Slice<'a>>) -> Result<RangeIter<Slice<'a>>> {
    let mut entries = unit.entries();
    entries.next_dfs().map_err(damaged)?;
    let root = entries.current().ok_or_else(|| damaged(gimli::Error::MissingUnitDie))?;
    ranges_of(dwarf, unit, root)
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
