//! Memory profiles as YAML (`.memprofyaml`), which LLVM 20 and later read and `show --memory` prints.
//!
//! Documents are parsed like LLVM's parser, with its messages in its order, because a general YAML parser would accept
//! other documents. `scanner.rs` and `scalars.rs` create tokens, `tree.rs` creates nodes, and this file creates the
//! profile. Records are converted one by one, so memory does not grow with the document.

mod scalars;
mod scanner;
mod tree;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use write::write_summary;
pub use write::{Comments, EmptySites, write};

use crate::cancel::Cancel;
use crate::compat::Compat;
use crate::limits::Limits;
use crate::memprof::fields::{Field, MemInfoBlock, Schema};
use crate::memprof::model::{AllocSite, CallSite, MemoryProfile, guid};
use crate::memprof::model::{CallStacks, Frame, StackHandle};
use crate::memprof::model::{DataAccessProfile, DataAccessRecord, DataSymbol, SourceLocation, canonical_symbol};
use scanner::{Fault, Result};
use std::collections::HashSet;
use tree::{Content, Documents, Entry, Node};

/// Reads a memory profile. Its schema has the fields that the text names, and those that compilers read. With
/// [`Compat::Llvm22`], it has all fields; the second record of a function and all documents after the first are dropped.
///
/// # Errors
///
/// Malformed if it is not YAML or not a memory profile; limit exceeded for call stacks that are too deep.
pub fn read(text: &[u8], compat: Compat, limits: &Limits) -> crate::Result<MemoryProfile> {
    read_until(text, compat, limits, &Cancel::default())
}

/// Like [`read`], but fails at the next item of a list after cancellation.
///
/// # Errors
///
/// The errors of [`read`]; cancelled.
pub(crate) fn read_until(
    text: &[u8],
    compat: Compat,
    limits: &Limits,
    cancel: &Cancel,
) -> crate::Result<MemoryProfile> {
    let profile = MemoryProfile::new(Schema::FULL);
    let mut reader = Reader { profile, named: Schema::EMPTY, compat, limits: *limits };
    reader.read(text, cancel).map_err(|fault| fault.into_error(text).in_format("memprof YAML"))?;
    let Reader { mut profile, named, .. } = reader;
    // The minimum of a field that is not there would be 0 in a merge.
    if !compat.is_llvm() && !named.is_empty() {
        profile.schema = Schema::HOT_COLD.fields().fold(named, Schema::with);
    }
    Ok(profile)
}

struct Reader {
    profile: MemoryProfile,
    /// The fields that allocations have.
    named: Schema,
    compat: Compat,
    limits: Limits,
}

impl Reader {
    fn read(&mut self, text: &[u8], cancel: &Cancel) -> Result<()> {
        let (mut documents, is_llvm) = (Documents::new(text, cancel), self.compat.is_llvm());
        loop {
            let (mut functions, mut first_fault) = (HashSet::new(), None);
            // There are many records, so each is converted when it ends. LLVM reports syntax errors first, anywhere in
            // the document.
            let mut take_record = |record: Node<'_>| {
                if first_fault.is_none() {
                    first_fault = self.record(&record, &mut functions).err();
                }
            };
            let Some(document) = documents.next_root(!is_llvm, &mut take_record)? else { return Ok(()) };
            self.document(&document, first_fault)?;
            if is_llvm {
                return Ok(());
            }
        }
    }

    /// Reads a document except its records, which were read before it ended.
    fn document(&mut self, node: &Node<'_>, fault_of_records: Option<Box<Fault>>) -> Result<()> {
        let mut entries = Entries::new(node, "the document")?;
        list(entries.optional(tree::RECORDS), tree::RECORDS)?;
        if let Some(fault) = fault_of_records {
            return Err(fault);
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
            sites.push(self.alloc_site(site)?);
        }
        let mut calls = Vec::new();
        for site in list(entries.optional("CallSites"), "CallSites")? {
            calls.push(self.call_site(site)?);
        }
        entries.finish()?;
        // LLVM keeps the first record of a function. For its map, this function marks a free slot, which always exists
        // unless the map is empty.
        let is_free_place = function == u64::MAX && !self.profile.records().is_empty();
        let is_kept = functions.insert(function) && !is_free_place;
        if is_kept || !self.compat.is_llvm() {
            let record = self.profile.record_mut(function);
            record.alloc_sites.append(&mut sites);
            record.call_sites.append(&mut calls);
        }
        Ok(())
    }

    fn alloc_site(&mut self, node: &Node<'_>) -> Result<AllocSite> {
        let mut entries = Entries::new(node, "an allocation site")?;
        let stack = self.stack(entries.required("Callstack")?, "Callstack")?;
        let block = entries.required("MemInfoBlock")?;
        let info = read_block(block, &mut self.named)?;
        entries.finish()?;
        Ok(AllocSite { stack, info, histogram: None })
    }

    fn call_site(&mut self, node: &Node<'_>) -> Result<CallSite> {
        let mut entries = Entries::new(node, "a call site")?;
        let frames = self.stack(entries.required("Frames")?, "Frames")?;
        let callees = list(entries.optional("CalleeGuids"), "CalleeGuids")?;
        let callees = callees.iter().map(read_guid).collect::<Result<_>>()?;
        entries.finish()?;
        Ok(CallSite { frames, callees })
    }

    fn stack(&mut self, node: &Node<'_>, what: &str) -> Result<StackHandle> {
        let frames = node.list(what)?;
        if frames.len() as u64 > self.limits.context_depth.into() {
            return Err(crate::memprof::model::too_deep(frames.len() as u64, &self.limits)
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
            if !seen.insert(record.symbol.clone()) {
                return Err(node.error("the data of a record is in another record already").into());
            }
            profile.records.push(record);
        }
        for symbol in list(symbols, "KnownColdSymbols")? {
            let symbol = read_symbol(symbol)?;
            if !profile.cold_symbols.contains(&symbol) {
                profile.cold_symbols.push(symbol);
            }
        }
        for hash in list(hashes, "KnownColdStrHashes")? {
            let hash = hash.number("a hash", u64::MAX)?;
            if !profile.cold_string_hashes.contains(&hash) {
                profile.cold_string_hashes.push(hash);
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

/// Reads the measurements of an allocation, and adds their fields to `named`.
fn read_block(node: &Node<'_>, named: &mut Schema) -> Result<MemInfoBlock> {
    let mut info = MemInfoBlock::default();
    let mut found: Option<Box<Fault>> = None;
    let entries = node.map("MemInfoBlock")?;
    for (key, value) in entries {
        const WORDS: &str = "Key is not a valid validation event";
        let name = key.scalar("a key")?;
        match (Field::from_name(name), &mut found) {
            // Numbers too large for a field are truncated, like in LLVM.
            (Some(field), None) => match value.number(field.name(), u64::MAX) {
                Ok(number) => {
                    *named = named.with(field);
                    info.set(field, number);
                }
                Err(fault) => found = Some(fault),
            },
            (Some(_), Some(_)) => {}
            (None, None) => {
                let detail = format!("unknown key {:?}", String::from_utf8_lossy(name));
                found = Some(Fault::new(key.error(detail), node.mark.clone(), WORDS));
            }
            // LLVM reports every fault.
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

/// Reads a function, given as `0x` and its GUID, or by name.
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
        // LLVM requires neither of them; the hash is 0 then.
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

/// The entries of a map. Entries that are not requested are faults.
struct Entries<'n, 'a> {
    node: &'n Node<'a>,
    what: &'static str,
    left: Vec<&'n Entry<'a>>,
}

impl<'n, 'a> Entries<'n, 'a> {
    fn new(node: &'n Node<'a>, what: &'static str) -> Result<Self> {
        let entries = node.map(what)?;
        Ok(Self { node, what, left: entries.iter().collect() })
    }

    /// Reads a map that may be missing, because no key of it is required.
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
