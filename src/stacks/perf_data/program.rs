//! A program or library: its symbols, and the inlined functions in its debug info.

use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::names::demangled_cpp;
use crate::objects;
use cpp_demangle::DemangleOptions;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SectionFlags, SymbolKind};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The maximum size of a program in bytes.
const MOST_BYTES: u64 = 8 << 30;
/// The maximum average number of functions at an address.
const MOST_FRAMES: usize = 64;

/// A function at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResolvedFrame {
    /// The name, demangled.
    pub(super) name: Arc<str>,
    /// The line of the address, if known.
    pub(super) line: Option<u32>,
    /// The line where the function is declared, if known.
    pub(super) start_line: Option<u32>,
    /// Whether it is inlined into its caller.
    pub(super) is_inlined: bool,
}

/// A loaded segment of a file.
#[derive(Debug, Clone, Copy)]
struct Segment {
    offset: u64,
    size: u64,
    address: u64,
}

/// A function of the symbol table.
#[derive(Debug)]
struct Symbol {
    start: u64,
    end: u64,
    name: Vec<u8>,
}

/// A program in memory.
pub(super) struct Program {
    pub(super) path: PathBuf,
    bytes: Vec<u8>,
}

/// Reads a regular file.
pub(super) fn read_file(path: &Path) -> std::result::Result<Vec<u8>, String> {
    let failed = |source: std::io::Error| format!("cannot open: {}", crate::error::io_message(&source));
    let found = std::fs::metadata(path).map_err(failed)?;
    if !found.is_file() || found.len() > MOST_BYTES {
        return Err("not a regular file".to_string());
    }
    std::fs::read(path).map_err(failed)
}

impl Program {
    /// Reads a program.
    pub(super) fn open(path: &Path) -> std::result::Result<Self, String> {
        let bytes = read_file(path)?;
        objects::parse(&bytes).map_err(|error| error.to_string())?;
        Ok(Self { path: path.to_path_buf(), bytes })
    }

    /// Returns the build id, if there is one.
    pub(super) fn build_id(&self) -> Option<Vec<u8>> {
        objects::build_id(&objects::parse(&self.bytes).ok()?)
    }

    /// Returns false for a separate debug file: it has no code, and some tools give its segments other offsets.
    pub(super) fn has_code(&self) -> bool {
        let Ok(file) = objects::parse(&self.bytes) else { return false };
        if file.sections().any(|section| objects::is_code(&section)) {
            return file.sections().any(|section| objects::is_code_in_file(&section));
        }
        let mut code = file.segments().filter(objects::is_executable).peekable();
        code.peek().is_none() || code.any(|segment| segment.file_range().1 != 0)
    }

    /// Returns true if there are symbols besides those of the dynamic linker.
    pub(super) fn has_symbol_table(&self) -> bool {
        objects::parse(&self.bytes).is_ok_and(|file| file.symbols().next().is_some())
    }

    /// Returns the functions at file offsets, innermost first, and the reason why debug info was not used. Each offset
    /// has a flag: whether it is the last byte of a call, which may be the last instruction of its function.
    ///
    /// # Errors
    ///
    /// Not an object.
    pub(super) fn frames(
        &self,
        offsets: &[(u64, bool)],
        debug: Option<&Program>,
        limits: &Limits,
    ) -> Result<(Vec<Vec<ResolvedFrame>>, Option<Error>)> {
        let file = objects::parse(&self.bytes)?;
        let debug_file = debug.map(|debug| objects::parse(&debug.bytes)).transpose()?;
        let segments: Vec<Segment> = file.segments().map(Segment::of).collect();
        let addresses: Vec<Option<u64>> = offsets.iter().map(|(offset, _)| address_of(&segments, *offset)).collect();
        let mut symbols = debug_file.as_ref().map(symbols_of).unwrap_or_default();
        if symbols.is_empty() {
            symbols = symbols_of(&file);
        }
        symbols.extend(plt_symbols(&file));
        let symbols = fix_symbols(symbols);
        let mut sorted: Vec<u64> = addresses.iter().flatten().copied().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let has_debug_info = |file: &object::File<'_>| file.section_by_name(".debug_info").is_some();
        let source = match &debug_file {
            Some(debug_file) if has_debug_info(debug_file) && !has_debug_info(&file) => {
                debug.map(|debug| (debug_file, &debug.path))
            }
            _ => Some((&file, &self.path)),
        };
        let most = sorted.len().saturating_mul(MOST_FRAMES);
        let chains = source.map(|(info, path)| {
            let code_start = objects::code_start(&file).unwrap_or(0);
            objects::inline_chains(info, path, &sorted, limits, most, code_start)
        });
        let (chains, fault) = match chains {
            Some(Ok((chains, missing))) => (chains, missing),
            Some(Err(error)) => (Vec::new(), Some(error)),
            None => (Vec::new(), None),
        };
        let frames = addresses.into_iter().zip(offsets).map(|(address, (_, is_call))| {
            let Some(address) = address else { return Vec::new() };
            let symbol = find_symbol(&symbols, address);
            let symbol = symbol.or_else(|| find_symbol(&symbols, address.checked_add(1)?).filter(|_| *is_call));
            let chain = sorted.binary_search(&address).ok().and_then(|at| chains.get(at));
            frames_at(symbol, chain.map_or(&[][..], Vec::as_slice))
        });
        Ok((frames.collect(), fault))
    }
}

impl Segment {
    fn of(segment: object::Segment<'_, '_>) -> Self {
        let (offset, size) = segment.file_range();
        Self { offset, size, address: segment.address() }
    }
}

/// Returns the link-time address of an offset. Segments are mapped in whole pages.
fn address_of(segments: &[Segment], offset: u64) -> Option<u64> {
    const PAGE: u64 = 4096;
    let in_segment = |segment: &&Segment| {
        let start = segment.offset - segment.offset % PAGE;
        offset >= start && offset - start < (segment.offset % PAGE).saturating_add(segment.size)
    };
    let segment = segments.iter().find(|segment| offset >= segment.offset && in_segment(segment));
    let segment = segment.or_else(|| segments.iter().find(in_segment))?;
    Some(offset.wrapping_sub(segment.offset).wrapping_add(segment.address))
}

/// A symbol with the properties that select one of several at the same address.
struct Candidate {
    symbol: Symbol,
    is_weak: bool,
    is_local: bool,
}

/// Returns true if a section contains code. In a file with debug info only, the section has no content.
fn is_code_section(section: &object::Section<'_, '_>) -> bool {
    let executable = object::elf::SHF_EXECINSTR.0;
    matches!(section.flags(), SectionFlags::Elf { sh_flags, .. } if sh_flags.0 & executable != 0)
}

fn symbols_of(file: &object::File<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut add = |symbol: object::Symbol<'_, '_>| {
        let is_code = matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Unknown | SymbolKind::Label);
        let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
        let name = symbol.name_bytes().unwrap_or_default();
        if !is_code || symbol.is_undefined() || name.is_empty() || name.starts_with(b"$") {
            return;
        }
        if symbol.kind() == SymbolKind::Text || section.is_some_and(|section| is_code_section(&section)) {
            let (start, size) = (symbol.address(), symbol.size());
            let symbol_found = Symbol { start, end: start.saturating_add(size), name: name.to_vec() };
            found.push(Candidate { symbol: symbol_found, is_weak: symbol.is_weak(), is_local: symbol.is_local() });
        }
    };
    file.symbols().for_each(&mut add);
    if found.is_empty() {
        let mut add = |symbol: object::Symbol<'_, '_>| {
            let name = symbol.name_bytes().unwrap_or_default();
            if symbol.kind() == SymbolKind::Text && !symbol.is_undefined() && !name.is_empty() {
                let (start, size) = (symbol.address(), symbol.size());
                let symbol_found = Symbol { start, end: start.saturating_add(size), name: name.to_vec() };
                found.push(Candidate { symbol: symbol_found, is_weak: symbol.is_weak(), is_local: symbol.is_local() });
            }
        };
        file.dynamic_symbols().for_each(&mut add);
    }
    found
}

/// Returns the names of the stubs that call functions of other libraries.
fn plt_symbols(file: &object::File<'_>) -> Vec<Candidate> {
    const ENTRY: u64 = 16;
    let mut found = Vec::new();
    let header = match file.architecture() {
        object::Architecture::X86_64 => 16,
        object::Architecture::Aarch64 => 32,
        _ => return found,
    };
    let names: Vec<&[u8]> = match file.section_by_name(".rela.plt").and_then(|section| section.data().ok()) {
        Some(relocations) => relocations
            .as_chunks::<24>()
            .0
            .iter()
            .map(|entry| {
                let index = u32::from_le_bytes([entry[12], entry[13], entry[14], entry[15]]);
                let symbol = file
                    .dynamic_symbol_table()
                    .and_then(|table| {
                        object::ObjectSymbolTable::symbol_by_index(&table, object::SymbolIndex(index as usize)).ok()
                    })
                    .and_then(|symbol| symbol.name_bytes().ok());
                symbol.unwrap_or_default()
            })
            .collect(),
        None => return found,
    };
    for (section, header) in [(".plt", header), (".plt.sec", 0)] {
        let Some(section) = file.section_by_name(section) else { continue };
        for (at, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            let start = header + ENTRY * at as u64;
            if start + ENTRY <= section.size() {
                let start = section.address().saturating_add(start);
                let name = [name, &b"@plt"[..]].concat();
                let symbol = Symbol { start, end: start.saturating_add(ENTRY), name };
                found.push(Candidate { symbol, is_weak: false, is_local: true });
            }
        }
    }
    found
}

/// Sorts symbols, selects one per address like perf, and ends symbols without a size at the next symbol.
fn fix_symbols(mut candidates: Vec<Candidate>) -> Vec<Symbol> {
    let underscores = |name: &[u8]| name.iter().take_while(|byte| **byte == b'_').count();
    candidates.sort_by(|a, b| {
        let rank = |of: &Candidate| {
            let name = &of.symbol.name;
            let is_empty = of.symbol.start == of.symbol.end;
            (of.symbol.start, is_empty, of.is_weak, of.is_local, underscores(name), Reverse(name.len()))
        };
        rank(a).cmp(&rank(b)).then_with(|| a.symbol.name.cmp(&b.symbol.name))
    });
    candidates.dedup_by_key(|candidate| candidate.symbol.start);
    let mut symbols: Vec<Symbol> = candidates.into_iter().map(|candidate| candidate.symbol).collect();
    for at in 0..symbols.len() {
        if symbols[at].start == symbols[at].end {
            let end = symbols.get(at + 1).map(|next| next.start);
            symbols[at].end = end.unwrap_or_else(|| (symbols[at].start | 0xfff).saturating_add(4097));
        }
    }
    symbols
}

fn find_symbol(symbols: &[Symbol], address: u64) -> Option<&Symbol> {
    let after = symbols.partition_point(|symbol| symbol.start <= address);
    symbols.get(after.checked_sub(1)?).filter(|symbol| address < symbol.end)
}

/// Returns the inlined functions from debug info, and the function from the symbol table.
fn frames_at(symbol: Option<&Symbol>, chain: &[objects::InlineFrame]) -> Vec<ResolvedFrame> {
    let some = |line: u32| (line > 0).then_some(line);
    let mut frames = Vec::new();
    let (outermost, inlined) = match chain.split_last() {
        Some((outermost, inlined)) => (Some(outermost), inlined),
        None => (None, chain),
    };
    for frame in inlined {
        let Some(name) = &frame.function else { continue };
        let (line, start_line) = (some(frame.line), some(frame.start_line));
        frames.push(ResolvedFrame { name: demangled(name), line, start_line, is_inlined: true });
    }
    let name = symbol.map(|symbol| &symbol.name[..]).or_else(|| outermost?.function.as_deref());
    if let Some(name) = name {
        let line = outermost.and_then(|frame| some(frame.line));
        let start_line = outermost.and_then(|frame| some(frame.start_line));
        frames.push(ResolvedFrame { name: demangled(name), line, start_line, is_inlined: false });
    }
    frames
}

/// Returns the name as printed by perf: C++ without parameters, Rust without the hash.
fn demangled(symbol: &[u8]) -> Arc<str> {
    let symbol = String::from_utf8_lossy(symbol);
    if let Ok(rust) = rustc_demangle::try_demangle(&symbol) {
        return format!("{rust:#}").into();
    }
    if symbol.starts_with("_Z") {
        let options = DemangleOptions::new().no_params().no_return_type();
        let parsed = cpp_demangle::Symbol::new(&*symbol).ok();
        if let Some(name) = parsed.and_then(|parsed| demangled_cpp(&parsed, &options)) {
            return name.into();
        }
    }
    symbol.into()
}
