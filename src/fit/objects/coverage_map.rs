//! The coverage map of a program: a FuncHash for each function, also where its
//! data records are gone.
//!
//! From version 4 (LLVM 11 on) each function has a record of its own in
//! `__llvm_covfun`; before, those of a translation unit followed its header in
//! `__llvm_covmap`. Headers hold the version less one.

use super::data_records::SectionName;
use super::data_records::{function_names, sections};
use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, ErrorKind, Result};
use crate::fit::program::ProgramFunction;
use crate::limits::Limits;
use crate::model::SymbolTable;
use object::Object;

const FUNCTIONS: SectionName = SectionName("__llvm_covfun", ".lcovfun");
const MAP: SectionName = SectionName("__llvm_covmap", ".lcovmap");

/// The first version with records of their own, as headers store it.
const RECORDS_APART: u32 = 3;
/// The newest version that is known, as headers store it: 7, of LLVM 18 to 23.
const NEWEST: u32 = 6;
/// Versions 2 and 3 have hashes of names in records of 20 bytes.
const OLDEST: u32 = 1;

/// Reads the functions of a coverage map; `None` where the image has none.
///
/// # Errors
///
/// Unsupported for a version that is not known; truncated, malformed.
pub(super) fn read(file: &object::File<'_>, limits: &Limits) -> Result<Option<(Vec<ProgramFunction>, SymbolTable)>> {
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
            return Err(cursor.place(error.with_hint("versions 2 to 7 are read: LLVM 4 to 23")));
        }
        if version < RECORDS_APART {
            for _ in 0..records {
                let (name_ref, _, func_hash) =
                    (cursor.u64("NameRef")?, cursor.u32("DataSize")?, cursor.u64("FuncHash")?);
                // What is not instrumented has no hash; functions without branches may have none either.
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

#[cfg(test)]
mod tests {
    use super::*;

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
