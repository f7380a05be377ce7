//! From nodes to a memory profile.

use super::fault::{Fault, Result};
use super::node::{Content, Entry, Node};
use super::regular::{NeedsFullParser, Parser};
use super::tree::Documents;
use crate::compat::Compat;
use crate::error::Error;
use crate::limits::Limits;
use crate::memory::{self, HOLD_INPUT};
use crate::memprof::data_access::{DataAccessProfile, DataAccessRecord, DataSymbol, SourceLocation, canonical_symbol};
use crate::memprof::fields::{Field, MemInfoBlock, Schema};
use crate::memprof::model::{AllocSite, CallSite, MemoryProfile, guid};
use crate::memprof::stacks::{CallStacks, Frame, StackHandle};
use std::collections::HashSet;

/// Reads a memory profile. Under [`Compat::Llvm22`] a function's second record
/// and all documents behind the first are left out.
///
/// # Errors
///
/// Malformed where it is no YAML, or not of the form; limit exceeded for call
/// stacks that are too deep.
pub fn read(text: &[u8], compat: Compat, limits: &Limits) -> crate::Result<MemoryProfile> {
    read_with(text, compat, limits, Way::Regular).or_else(|_| read_with(text, compat, limits, Way::Whole))
}

/// How documents are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Regular ones only, one record after the other.
    Regular,
    /// All of them, with the reason where one is refused.
    Whole,
}

/// Reads a memory profile one way.
pub(super) fn read_with(text: &[u8], compat: Compat, limits: &Limits, way: Way) -> crate::Result<MemoryProfile> {
    let mut reader = Reader { profile: MemoryProfile::new(Schema::FULL), compat, limits: *limits };
    match way {
        Way::Regular => {
            reader.read_regular(text).map_err(|NeedsFullParser| Error::malformed("the document is irregular"))?
        }
        Way::Whole => {
            reader.read_whole(text).map_err(|fault| fault.into_error(text).in_format("memprof YAML"))?;
        }
    }
    reader.profile.check_memory()?;
    Ok(reader.profile)
}

struct Reader {
    profile: MemoryProfile,
    compat: Compat,
    limits: Limits,
}

impl Reader {
    /// Reads documents of the usual form, one record after the other: they need
    /// not be in memory together.
    fn read_regular(&mut self, text: &[u8]) -> std::result::Result<(), NeedsFullParser> {
        let mut parser = Parser::new(text)?;
        while parser.next_document()? {
            self.regular_document(&mut parser)?;
            if self.compat.is_llvm() {
                break;
            }
        }
        Ok(())
    }

    fn regular_document(&mut self, parser: &mut Parser<'_>) -> std::result::Result<(), NeedsFullParser> {
        if parser.is_at_flow() {
            let node = parser.block(0)?;
            return Ok(self.document(&node)?);
        }
        let mut functions = HashSet::new();
        let (mut has_records, mut has_data) = (false, false);
        while let Some(key) = parser.next_key(0)? {
            match key.scalar("a key")? {
                b"HeapProfileRecords" if !std::mem::replace(&mut has_records, true) => {
                    self.regular_records(parser, &mut functions)?;
                }
                b"DataAccessProfiles" if !std::mem::replace(&mut has_data, true) => {
                    let value = parser.map_value(0)?;
                    self.data_access(&value)?;
                }
                _ => return Err(NeedsFullParser),
            }
        }
        Ok(())
    }

    fn regular_records(
        &mut self,
        parser: &mut Parser<'_>,
        functions: &mut HashSet<u64>,
    ) -> std::result::Result<(), NeedsFullParser> {
        if let Some(column) = parser.list_after_key(0) {
            while parser.next_item(column)? {
                let record = parser.block(column + 1)?;
                self.record(&record, functions)?;
            }
            return Ok(());
        }
        let value = parser.map_value(0)?;
        for record in value.list("HeapProfileRecords")? {
            self.record(record, functions)?;
        }
        Ok(())
    }

    /// Reads documents of any form.
    fn read_whole(&mut self, text: &[u8]) -> Result<()> {
        let mut documents = Documents::new(text);
        while let Some(document) = documents.next_root(!self.compat.is_llvm())? {
            self.document(&document)?;
            if self.compat.is_llvm() {
                break;
            }
        }
        Ok(())
    }

    fn document(&mut self, node: &Node<'_>) -> Result<()> {
        let mut entries = Entries::new(node, "the document")?;
        let mut functions = HashSet::new();
        for record in list(entries.optional("HeapProfileRecords"), "HeapProfileRecords")? {
            self.record(record, &mut functions)?;
        }
        if let Some(data) = entries.optional("DataAccessProfiles") {
            self.data_access(data)?;
        }
        entries.finish()
    }

    fn record(&mut self, node: &Node<'_>, functions: &mut HashSet<u64>) -> Result<()> {
        let mut entries = Entries::new(node, "a record")?;
        let function = read_guid(entries.required("GUID")?)?;
        let mut sites = Vec::new();
        for site in list(entries.optional("AllocSites"), "AllocSites")? {
            memory::push(&mut sites, self.alloc_site(site)?, HOLD_INPUT)?;
        }
        let mut calls = Vec::new();
        for site in list(entries.optional("CallSites"), "CallSites")? {
            memory::push(&mut calls, self.call_site(site)?, HOLD_INPUT)?;
        }
        entries.finish()?;
        memory::reserve(functions, 1, HOLD_INPUT)?;
        // LLVM keeps the first record of a function. Its map takes this function
        // for a free place, and finds it unless the map is empty.
        let is_free_place = function == u64::MAX && !self.profile.records().is_empty();
        let is_kept = functions.insert(function) && !is_free_place;
        if is_kept || !self.compat.is_llvm() {
            let record = self.profile.record_mut(function);
            memory::reserve(&mut record.alloc_sites, sites.len(), HOLD_INPUT)?;
            memory::reserve(&mut record.call_sites, calls.len(), HOLD_INPUT)?;
            record.alloc_sites.append(&mut sites);
            record.call_sites.append(&mut calls);
        }
        Ok(())
    }

    fn alloc_site(&mut self, node: &Node<'_>) -> Result<AllocSite> {
        let mut entries = Entries::new(node, "an allocation site")?;
        let stack = self.stack(entries.required("Callstack")?, "Callstack")?;
        let block = entries.required("MemInfoBlock")?;
        let info = read_block(block)?;
        entries.finish()?;
        Ok(AllocSite { stack, info, histogram: None })
    }

    fn call_site(&mut self, node: &Node<'_>) -> Result<CallSite> {
        let mut entries = Entries::new(node, "a call site")?;
        let frames = self.stack(entries.required("Frames")?, "Frames")?;
        let callees = list(entries.optional("CalleeGuids"), "CalleeGuids")?;
        let mut guids = Vec::new();
        memory::reserve(&mut guids, callees.len(), HOLD_INPUT)?;
        for callee in callees {
            guids.push(read_guid(callee)?);
        }
        entries.finish()?;
        let callees = guids;
        Ok(CallSite { frames, callees })
    }

    fn stack(&mut self, node: &Node<'_>, what: &str) -> Result<StackHandle> {
        let frames = node.list(what)?;
        if frames.len() as u64 > self.limits.context_depth.into() {
            return Err(crate::memprof::too_deep(frames.len() as u64, &self.limits)
                .at("yaml", node.mark.start as u64)
                .into());
        }
        let stacks: &mut CallStacks = &mut self.profile.stacks;
        let frames: Vec<_> =
            frames.iter().map(|frame| Ok(stacks.intern_frame(read_frame(frame)?))).collect::<Result<_>>()?;
        Ok(stacks.intern(&frames))
    }

    fn data_access(&mut self, node: &Node<'_>) -> Result<()> {
        let mut entries = Entries::of_optional(node, "DataAccessProfiles")?;
        let records = entries.optional("SampledRecords");
        let symbols = entries.optional("KnownColdSymbols");
        let hashes = entries.optional("KnownColdStrHashes");
        let mut profile = DataAccessProfile::default();
        let mut seen = HashSet::new();
        for node in list(records, "SampledRecords")? {
            let record = read_data_record(node, self.compat)?;
            memory::reserve(&mut seen, 1, HOLD_INPUT)?;
            if !seen.insert(record.symbol.clone()) {
                return Err(node.error("the data of a record is in another record already").into());
            }
            memory::push(&mut profile.records, record, HOLD_INPUT)?;
        }
        for symbol in list(symbols, "KnownColdSymbols")? {
            let symbol = read_symbol(symbol)?;
            if !profile.cold_symbols.contains(&symbol) {
                memory::push(&mut profile.cold_symbols, symbol, HOLD_INPUT)?;
            }
        }
        for hash in list(hashes, "KnownColdStrHashes")? {
            let hash = hash.number("a hash", u64::MAX)?;
            if !profile.cold_string_hashes.contains(&hash) {
                memory::push(&mut profile.cold_string_hashes, hash, HOLD_INPUT)?;
            }
        }
        entries.finish()?;
        if self.compat.is_llvm() && profile.is_empty() {
            return Ok(());
        }
        if let Some(_before) = self.profile.data_access.replace(profile) {
            return Err(node.error("a document before has accesses to data already").into());
        }
        Ok(())
    }
}

fn read_block(node: &Node<'_>) -> Result<MemInfoBlock> {
    let mut info = MemInfoBlock::default();
    let mut found: Option<Box<Fault>> = None;
    let entries = node.map("MemInfoBlock")?;
    check_keys(entries)?;
    for (key, value) in entries {
        const WORDS: &str = "Key is not a valid validation event";
        let name = key.scalar("a key")?;
        match (Field::from_name(name), &mut found) {
            // Numbers too large for a field are cut, as LLVM cuts them.
            (Some(field), None) => match value.number(field.name(), u64::MAX) {
                Ok(number) => info.set(field, number),
                Err(fault) => found = Some(fault),
            },
            (Some(_), Some(_)) => {}
            (None, None) => {
                let detail = format!("unknown key {:?}", String::from_utf8_lossy(name));
                found = Some(Fault::new(key.error(detail), node.mark.clone(), WORDS));
            }
            // Each of them is said.
            (None, Some(fault)) => fault.add(node.mark.clone(), WORDS),
        }
    }
    found.map_or(Ok(info), Err)
}

fn read_frame(node: &Node<'_>) -> Result<Frame> {
    let mut entries = Entries::new(node, "a frame")?;
    let frame = Frame {
        function: read_guid(entries.required("Function")?)?,
        line_offset: entries.required("LineOffset")?.number("LineOffset", u32::MAX.into())? as u32,
        column: entries.required("Column")?.number("Column", u32::MAX.into())? as u32,
        is_inline: entries.required("IsInlineFrame")?.boolean("IsInlineFrame")?,
    };
    entries.finish()?;
    Ok(frame)
}

/// A function as `0x` and its GUID, or by name.
fn read_guid(node: &Node<'_>) -> Result<u64> {
    const WORDS: &str = "use a hexadecimal GUID or a function instead";
    let text = node.scalar("a function").map_err(|fault| fault.and(WORDS))?;
    if text.iter().all(u8::is_ascii_digit) {
        let text = String::from_utf8_lossy(text).into_owned();
        return Err(node.fault(format!("function {text:?} is decimal; a name or 0x and the GUID is needed"), WORDS));
    }
    match text {
        [b'0', b'x' | b'X', ..] => node.number_as("a GUID", u64::MAX, "invalid hex64 number"),
        name => Ok(guid(name)),
    }
}

fn read_data_record(node: &Node<'_>, compat: Compat) -> Result<DataAccessRecord> {
    let mut entries = Entries::new(node, "a record of accesses")?;
    let (symbol, hash) = (entries.optional("Symbol"), entries.optional("Hash"));
    let access_count = entries.required("AccessCount")?.number("AccessCount", u64::MAX)?;
    let locations = entries.optional("Locations");
    let symbol = match (symbol, hash) {
        (Some(symbol), None) => DataSymbol::Name(read_symbol(symbol)?),
        // LLVM asks for neither, and takes the hash for 0 then.
        (Some(symbol), Some(_)) if compat.is_llvm() => DataSymbol::Name(read_symbol(symbol)?),
        (None, None) if compat.is_llvm() => DataSymbol::StringHash(0),
        (None, Some(hash)) => DataSymbol::StringHash(hash.number("Hash", u64::MAX)?),
        _ => return Err(node.error("a record of accesses needs either a Symbol or a Hash").into()),
    };
    let location = |node: &Node<'_>| {
        let mut entries = Entries::new(node, "a location")?;
        let file = entries.required("FileName")?.scalar("FileName")?.to_vec();
        let line = entries.required("Line")?.number("Line", u32::MAX.into())? as u32;
        entries.finish()?;
        Ok(SourceLocation { file, line })
    };
    let locations = list(locations, "Locations")?.iter().map(location).collect::<Result<_>>()?;
    entries.finish()?;
    Ok(DataAccessRecord { symbol, access_count, locations })
}

fn read_symbol(node: &Node<'_>) -> Result<Vec<u8>> {
    match canonical_symbol(node.scalar("a symbol")?) {
        [] => Err(node.error("the name of a symbol is empty").into()),
        symbol => Ok(symbol.to_vec()),
    }
}

fn list<'n, 'a>(node: Option<&'n Node<'a>>, what: &str) -> Result<&'n [Node<'a>]> {
    node.map_or(Ok(&[]), |node| node.list(what))
}

fn unknown(key: &Node<'_>, name: &[u8]) -> Box<Fault> {
    let name = String::from_utf8_lossy(name);
    key.fault(format!("unknown key {name:?}"), format!("unknown key '{name}'"))
}

fn repeated(key: &Node<'_>) -> Box<Fault> {
    let (detail, words) = key.repeated();
    key.fault(detail, words)
}

/// No key may be there twice.
fn check_keys(entries: &[Entry<'_>]) -> Result<()> {
    // Maps of the form are small.
    const FEW: usize = 32;
    let repeats = if entries.len() <= FEW {
        let is_repeated = |at: &usize| entries[..*at].iter().any(|(key, _)| key.content == entries[*at].0.content);
        (0..entries.len()).find(is_repeated)
    } else {
        let mut seen = HashSet::new();
        memory::reserve(&mut seen, entries.len(), HOLD_INPUT)?;
        entries.iter().position(|(key, _)| key.scalar("a key").is_ok_and(|text| !seen.insert(text)))
    };
    repeats.map_or(Ok(()), |at| Err(repeated(&entries[at].0)))
}

/// The entries of a map, each of which must be asked for.
struct Entries<'n, 'a> {
    node: &'n Node<'a>,
    what: &'static str,
    left: Vec<&'n Entry<'a>>,
}

impl<'n, 'a> Entries<'n, 'a> {
    fn new(node: &'n Node<'a>, what: &'static str) -> Result<Self> {
        let entries = node.map(what)?;
        check_keys(entries)?;
        Ok(Self { node, what, left: memory::collect(entries, HOLD_INPUT)? })
    }

    /// Of a map that may as well be nothing, since no key of it is required.
    fn of_optional(node: &'n Node<'a>, what: &'static str) -> Result<Self> {
        if node.content == Content::Null {
            return Ok(Self { node, what, left: Vec::new() });
        }
        Self::new(node, what)
    }

    fn optional(&mut self, key: &str) -> Option<&'n Node<'a>> {
        let is_key = |entry: &&Entry<'a>| entry.0.scalar("a key").is_ok_and(|text| text == key.as_bytes());
        let at = self.left.iter().position(is_key)?;
        Some(&self.left.remove(at).1)
    }

    fn required(&mut self, key: &str) -> Result<&'n Node<'a>> {
        self.optional(key).ok_or_else(|| {
            self.node.fault(format!("{} has no {key}", self.what), format!("missing required key '{key}'"))
        })
    }

    fn finish(self) -> Result<()> {
        match self.left.first() {
            None => Ok(()),
            Some((key, _)) => Err(unknown(key, key.scalar("a key")?)),
        }
    }
}
