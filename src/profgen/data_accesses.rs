//! Accesses of vtables: which classes the objects at a place have.
//!
//! `perf mem record` samples instructions with the address of the data that they read. The text of `perf report -D` has
//! them, and where the program's data was mapped.

use super::counters::VtableAccesses;
use super::mapping_lines::{MappingLine, Patterns};
use super::program::{Program, ProgramImages};
use super::script::Lines;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::limits::Limits;
use crate::objects;
use object::elf::{PF_X, PT_LOAD, SHF_ALLOC};
use object::read::elf::ProgramHeader;
use object::{File, Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind};
use regex::bytes::Regex;
use std::collections::BTreeMap;

/// The names of vtables begin with it.
const VTABLE: &[u8] = b"_ZTV";

const SAMPLE: &str = r"(?-u)PERF_RECORD_SAMPLE\([A-Za-z]+, 0x[0-9a-fA-F]+\): ([0-9]+)/[0-9]+: 0x([0-9a-fA-F]+) period: [0-9]+ addr: 0x([0-9a-fA-F]+)";

/// Reads the accesses of a process, or of all. The first executable segment of the program was at `loaded_at`.
///
/// # Errors
///
/// The errors of the input and of the program; malformed for mappings that overlap, and for numbers that are too large.
pub(super) fn read(
    input: &Input,
    images: &ProgramImages,
    program: &Program<'_>,
    loaded_at: u64,
    process: Option<i64>,
    limits: &Limits,
) -> Result<VtableAccesses> {
    let symbols = Symbols::of(&objects::parse(images.symbolized())?);
    let segments = data_segments(&objects::parse(&images.program)?);
    let mut data = Data { segments, mappings: BTreeMap::new() };
    let compile = |pattern: &str| Regex::new(pattern).map_err(|error| Error::malformed(error.to_string()));
    let (patterns, samples) = (Patterns::new()?, compile(SAMPLE)?);
    let mut accesses = VtableAccesses::new();
    let mut lines = Lines::new(input.content(limits)?);
    while lines.next()? {
        let line = &lines.line;
        if memchr::memmem::find(line, b"PERF_RECORD_MMAP2").is_some() {
            let mapping = patterns.mapping(line).filter(|mapping| program.is_mapped_as(mapping.path));
            if let Some(mapping) = mapping.filter(|mapping| !mapping.protection.contains(&b'x')) {
                data.map(&mapping)?;
            }
            continue;
        }
        let Some(fields) = samples.captures(line) else { continue };
        let field =
            |at| fields.get(at).and_then(|field| std::str::from_utf8(field.as_bytes()).ok()).unwrap_or_default();
        let too_large = || {
            Error::malformed("a number of a sample is too large")
                .with_llvm_message("Failed to parse data address from perf trace line")
        };
        let of_process: i64 = field(1).parse().map_err(|_| too_large())?;
        if process.is_some_and(|wanted| wanted != of_process) {
            continue;
        }
        let [instruction, address] = [2, 3].map(|at| u64::from_str_radix(field(at), 16).map_err(|_| too_large()));
        let Some(symbol) = symbols.at(data.link_time(address?)).filter(|name| name.starts_with(VTABLE)) else {
            continue;
        };
        let instruction = instruction?.wrapping_sub(loaded_at).wrapping_add(program.base());
        *accesses.entry((instruction, symbol.to_vec())).or_default() += 1;
    }
    Ok(accesses)
}

/// A loaded segment without code.
struct DataSegment {
    offset: u64,
    len: u64,
    address: u64,
}

fn data_segments(file: &File<'_>) -> Vec<DataSegment> {
    fn of<H: ProgramHeader>(headers: &[H], endian: H::Endian) -> Vec<DataSegment> {
        let is_data = |header: &&H| header.p_type(endian) == PT_LOAD && header.p_flags(endian).0 & PF_X.0 == 0;
        let segment = |header: &H| DataSegment {
            offset: header.p_offset(endian).into(),
            len: header.p_filesz(endian).into(),
            address: header.p_vaddr(endian).into(),
        };
        headers.iter().filter(is_data).map(segment).collect()
    }
    match file {
        File::Elf32(file) => of(file.elf_program_headers(), file.endian()),
        File::Elf64(file) => of(file.elf_program_headers(), file.endian()),
        _ => Vec::new(),
    }
}

/// Where the program's data is.
struct Data {
    segments: Vec<DataSegment>,
    /// Length and offset in the file, by start.
    mappings: BTreeMap<u64, (u64, u64)>,
}

impl Data {
    fn map(&mut self, mapping: &MappingLine<'_>) -> Result<()> {
        let MappingLine { start, len, offset, .. } = *mapping;
        let end = start.wrapping_add(len);
        let before = self.mappings.range(..end).next_back();
        if before.is_some_and(|(other, (len, _))| other.wrapping_add(*len) > start) {
            let llvm = format!("Non-text mmap event overlaps with existing event at address: {start:x}");
            return Err(Error::malformed(format!("data of the program is mapped twice at {start:#x}"))
                .with_llvm_message(llvm)
                .with_hint("select one process"));
        }
        self.mappings.insert(start, (len, offset));
        Ok(())
    }

    /// The link-time address of an address of the process. Other addresses stay.
    fn link_time(&self, address: u64) -> u64 {
        let find = || {
            let (start, (len, offset)) = self.mappings.range(..=address).next_back()?;
            let at = offset.wrapping_add(Some(address - start).filter(|distance| distance < len)?);
            let is_inside = |segment: &&DataSegment| {
                at != 0 && at.checked_sub(segment.offset).is_some_and(|distance| distance < segment.len)
            };
            self.segments.iter().find(is_inside).map(|segment| segment.address.wrapping_add(at - segment.offset))
        };
        find().unwrap_or(address)
    }
}

/// The loaded symbols of a program: address, size and name, ascending.
struct Symbols<'d>(Vec<(u64, u64, &'d [u8])>);

impl<'d> Symbols<'d> {
    fn of(file: &File<'d>) -> Self {
        let is_loaded = |section: object::Section<'_, '_>| match section.flags() {
            SectionFlags::Elf { sh_flags, .. } => sh_flags.0 & SHF_ALLOC.0 != 0,
            _ => true,
        };
        let wanted = file.symbols().filter(|symbol| {
            let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
            matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Data | SymbolKind::Unknown)
                && section.is_some_and(is_loaded)
        });
        let mut symbols: Vec<_> =
            wanted.map(|symbol| (symbol.address(), symbol.size(), symbol.name_bytes().unwrap_or_default())).collect();
        symbols.sort_by_key(|(address, size, _)| (*address, *size));
        Self(symbols)
    }

    /// The name of the symbol that contains an address.
    fn at(&self, address: u64) -> Option<&'d [u8]> {
        let after = self.0.partition_point(|(start, ..)| *start <= address);
        let (start, size, name) = *self.0.get(after.checked_sub(1)?)?;
        (size == 0 || address - start < size).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_data_is_found_by_its_offset_in_the_file() {
        let segments = vec![
            DataSegment { offset: 0, len: 0x800, address: 0x1000 },
            DataSegment { offset: 0x2e00, len: 0x300, address: 0x5e00 },
        ];
        let mut data = Data { segments, mappings: BTreeMap::new() };
        let mapping =
            |start, offset| MappingLine { process: 1, start, len: 0x1000, offset, protection: b"r--p", path: b"app" };
        data.map(&mapping(0x7000_0000, 0)).unwrap();
        data.map(&mapping(0x7000_4000, 0x2000)).unwrap();
        for (address, expected) in [
            (0x7000_0010, 0x1010),
            (0x7000_4e08, 0x5e08),
            (0x7000_0000, 0x7000_0000),
            (0x7000_0900, 0x7000_0900),
            (0x7000_1000, 0x7000_1000),
            (0x5e08, 0x5e08),
        ] {
            assert_eq!(data.link_time(address), expected, "{address:#x}");
        }
        for start in [0x7000_4800, 0x7000_3001, 0x7000_4000] {
            let error = data.map(&mapping(start, 0)).unwrap_err();
            let expected = format!("Non-text mmap event overlaps with existing event at address: {start:x}");
            assert_eq!(error.llvm_message(), expected);
        }
        data.map(&mapping(0x7000_3000, 0)).unwrap();
    }

    #[test]
    fn a_symbol_with_a_size_has_an_end() {
        let symbols = Symbols(vec![(0x10, 8, b"a"), (0x20, 0, b"b")]);
        let found = [0x8, 0x17, 0x18, 0x20, 0x99].map(|address| symbols.at(address));
        assert_eq!(found, [None, Some(&b"a"[..]), None, Some(b"b"), Some(b"b")]);
    }
}
