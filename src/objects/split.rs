//! Split debug info: what a compiler left beside the program, a file for each
//! unit (`.dwo`) or all of them in one (`.dwp`).
//!
//! The program keeps a skeleton of each unit, with its addresses and lines.

use super::debug_info::{Slice, damaged, section_bytes, split_file};
use super::image::unable;
use crate::error::{Error, Result};
use crate::limits::Limits;
use gimli::{Dwarf, DwarfPackageSections, DwarfSections, EndianSlice, RunTimeEndian, SectionId, Unit};
use object::Object;
use std::path::{Path, PathBuf};

/// The split debug info of an image.
pub(crate) struct SplitDebugInfo<'i> {
    image: &'i Path,
    limits: Limits,
    package: Option<(DwarfPackageSections<Vec<u8>>, RunTimeEndian)>,
}

/// Where the rest of a unit is.
pub(crate) enum SplitSections {
    /// In the package of the image.
    Package,
    /// In a file of its own.
    File(Box<DwarfSections<Vec<u8>>>, RunTimeEndian),
}

/// What a skeleton stands for, and the sections that it needs.
pub(crate) type SplitUnit<'a> = (Dwarf<Slice<'a>>, Unit<Slice<'a>>);

impl<'i> SplitDebugInfo<'i> {
    /// That of an image: the package lies beside it, `IMAGE.dwp`.
    ///
    /// # Errors
    ///
    /// Unable to correlate when the package is damaged.
    pub(crate) fn of(image: &'i Path, limits: &Limits) -> Result<Self> {
        let mut name = image.as_os_str().to_os_string();
        name.push(".dwp");
        let path = PathBuf::from(name);
        let package = match std::fs::read(&path) {
            Ok(bytes) => {
                let load = |file: &object::File<'_>| load_package(file, limits);
                Some(with_object(&path, &bytes, load)?)
            }
            Err(_) => None,
        };
        Ok(Self { image, limits: *limits, package })
    }

    /// Finds what a skeleton leaves out; nothing for a unit that is whole.
    ///
    /// # Errors
    ///
    /// Unable to correlate when its file is not there, or is damaged.
    pub(crate) fn sections(
        &self,
        dwarf: &Dwarf<Slice<'_>>,
        skeleton: &Unit<Slice<'_>>,
    ) -> Result<Option<SplitSections>> {
        let Some(path) = split_file(dwarf, skeleton, self.image)? else { return Ok(None) };
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

/// Loads the sections of an object file, and says how its numbers stand.
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
