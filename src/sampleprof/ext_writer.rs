//! Writes extensible binary sample profiles; see [`ext_binary`](super::ext_binary) for the format.

use super::binary::{BodyWriter, Content, NameCollector, NameTable, write_header, write_names, write_summary};
use super::ext_binary::SectionKind::{
    self, Contexts, Metadata, Names as NameSection, Offsets, Records, Summary, Symbols,
};
use super::ext_binary::flags;
use super::options::{SymbolList, WriteOptions};
use super::order;
use super::profile::summarize;
use super::record::{Frame, FunctionName, FunctionRecord, Names};
use crate::bytes::leb128::write_uleb128;
use crate::bytes::names::compress_level_9;
use crate::bytes::{Endian, Sink};
use crate::error::Result;
use crate::identify::sample_profiles::EXT_BINARY_MAGIC;
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Rows of the section table: the content of a section, and whether it is for functions without inlined callees.
type Rows = &'static [(SectionKind, bool)];

const DEFAULT_TABLE: Rows = &[
    (Summary, false),
    (NameSection, false),
    (Contexts, false),
    (Offsets, false),
    (Records, false),
    (Symbols, false),
    (Metadata, false),
];
/// Positions in the table, in the order of the sections in the file.
const DEFAULT_FILE: &[usize] = &[0, 1, 2, 4, 5, 3, 6];
/// The table of LLVM 13, which has no section for contexts.
const OLD_TABLE: Rows =
    &[(Summary, false), (NameSection, false), (Offsets, false), (Records, false), (Symbols, false), (Metadata, false)];
const OLD_FILE: &[usize] = &[0, 1, 3, 4, 2, 5];
const SPLIT_TABLE: Rows = &[
    (Summary, false),
    (NameSection, false),
    (Offsets, false),
    (Records, false),
    (Offsets, true),
    (Records, true),
    (Symbols, false),
    (Metadata, false),
];
const SPLIT_FILE: &[usize] = &[0, 1, 3, 2, 5, 4, 6, 7];

/// Writes an extensible binary. `has_unique_suffix` is true if an earlier, longer output had a name with the suffix of
/// unique static functions; it receives whether this output has one.
///
/// # Errors
///
/// Memory for the output is refused.
pub(super) fn write_records(
    content: &Content<'_>,
    symbols: Option<&SymbolList>,
    options: &WriteOptions,
    has_unique_suffix: &mut bool,
) -> Result<Vec<u8>> {
    let Content { names, records, .. } = *content;
    let with_vtables = options.vtables && content.rules.knows_vtables();
    let mut collector = NameCollector::new(names);
    for record in records {
        for frame in record.context.iter().flatten() {
            collector.add(frame.function);
        }
        order::each_name(record, with_vtables, &mut |name| collector.add(name));
    }
    let table = collector.finish();
    *has_unique_suffix |= any_unique_suffix(names, &table);
    let contexts = HashMap::default();
    Writer { content, options, with_vtables, table, contexts, has_unique_suffix: *has_unique_suffix }.write(symbols)
}

fn any_unique_suffix(names: &Names, table: &NameTable) -> bool {
    const SUFFIX: &[u8] = b".__uniq.";
    table.names.iter().any(|name| match names.get(*name) {
        FunctionName::Text(text) => text.windows(SUFFIX.len()).any(|part| part == SUFFIX),
        FunctionName::Hash(_) => false,
    })
}

struct Writer<'a> {
    content: &'a Content<'a>,
    options: &'a WriteOptions,
    with_vtables: bool,
    table: NameTable,
    /// The index of each context.
    contexts: HashMap<&'a [Frame], u32, RandomState>,
    has_unique_suffix: bool,
}

impl<'a> Writer<'a> {
    fn write(&mut self, symbols: Option<&SymbolList>) -> Result<Vec<u8>> {
        let Content { names, records, container, rules, kind: profile_kind } = *self.content;
        let split = self.options.split_layout && rules.knows_split_layout();
        let (rows, file) = match split {
            true => (SPLIT_TABLE, SPLIT_FILE),
            false if rules.knows_context_section() => (DEFAULT_TABLE, DEFAULT_FILE),
            false => (OLD_TABLE, OLD_FILE),
        };
        let mut sink = Sink::new(Endian::Little);
        write_header(&mut sink, EXT_BINARY_MAGIC, self.options.version);
        sink.u64(rows.len() as u64);
        let places: Vec<_> =
            rows.iter().map(|_| (sink.reserve(), sink.reserve(), sink.reserve(), sink.reserve())).collect();
        let contexts = self.context_section();
        let is_flat = |record: &&&FunctionRecord| record.call_sites.is_empty();
        let mut offsets = Vec::new();
        for &at in file {
            let (kind, flat) = rows[at];
            let mut content = Sink::new(Endian::Little);
            match kind {
                Summary => {
                    let records = container.iter().copied();
                    write_summary(&mut content, &summarize(records, names, profile_kind, rules));
                }
                NameSection => self.name_section(&mut content),
                Contexts => content.bytes(&contexts),
                Records if split => {
                    let chosen: Vec<_> = records.iter().filter(|record| is_flat(record) == flat).copied().collect();
                    offsets = self.records(&mut content, &chosen);
                }
                Records => offsets = self.records(&mut content, records),
                Offsets => self.offsets(&mut content, &mut offsets),
                Symbols => self.symbols(&mut content, symbols),
                Metadata => self.metadata(&mut content, container),
                SectionKind::Other(_) => {}
            }
            let start = sink.len() as u64;
            self.append(&mut sink, &content.into_bytes())?;
            let size = sink.len() as u64 - start;
            let (of_kind, of_flags, of_offset, of_size) = places[at];
            sink.patch(of_kind, u64::from(kind.number()));
            sink.patch(of_flags, self.flags(kind, flat));
            sink.patch(of_offset, start);
            sink.patch(of_size, size);
        }
        Ok(sink.into_bytes())
    }

    /// Appends a section. A section with content is compressed if the options request it.
    fn append(&self, sink: &mut Sink, content: &[u8]) -> Result<()> {
        if !self.options.compress || content.is_empty() {
            sink.bytes(content);
            return Ok(());
        }
        let stream = compress_level_9(content)?;
        write_uleb128(sink, content.len() as u64);
        write_uleb128(sink, stream.len() as u64);
        sink.bytes(&stream);
        Ok(())
    }

    fn flags(&self, kind: SectionKind, flat: bool) -> u64 {
        let (options, Content { kind: of, rules, .. }) = (self.options, *self.content);
        let chosen: &[(bool, u64)] = match kind {
            Summary => &[
                (of.partial && rules.knows_partial_profiles(), flags::PARTIAL),
                (of.context_sensitive, flags::CONTEXTS),
                (of.flow_sensitive && rules.knows_flow_sensitive_profiles(), flags::FLOW_SENSITIVE),
                (of.preinlined, flags::PREINLINED),
                (self.with_vtables, flags::VTABLES),
            ],
            NameSection => &[
                (options.use_md5, flags::MD5),
                (options.use_md5 && rules.has_fixed_length_hashes(), flags::FIXED_MD5),
                (
                    self.has_unique_suffix && (!options.use_md5 || rules.flags_unique_names_of_hashes()),
                    flags::UNIQUE_SUFFIX,
                ),
            ],
            Offsets => &[(of.context_sensitive, flags::ORDERED)],
            Metadata => &[(of.probe_based, flags::PROBES), (of.context_sensitive || of.preinlined, flags::ATTRIBUTES)],
            _ => &[],
        };
        let common = if options.compress { flags::COMPRESSED } else { 0 } | if flat { flags::FLAT } else { 0 };
        chosen.iter().filter(|(is_set, _)| *is_set).fold(common, |all, (_, flag)| all | flag)
    }

    fn name_section(&self, sink: &mut Sink) {
        if !self.options.use_md5 {
            write_names(sink, self.content.names, &self.table.names);
            return;
        }
        write_uleb128(sink, self.table.names.len() as u64);
        for name in &self.table.names {
            let hash = self.content.names.get(*name).hash();
            match self.content.rules.has_fixed_length_hashes() {
                true => sink.u64(hash),
                false => write_uleb128(sink, hash),
            }
        }
    }

    /// Returns the section of all contexts in their order, which determines their indices.
    fn context_section(&mut self) -> Vec<u8> {
        let Content { names, records, kind, .. } = *self.content;
        let mut contexts: Vec<&'a FunctionRecord> = Vec::new();
        if kind.context_sensitive {
            contexts.extend(records.iter().filter(|record| record.context.is_some()));
            contexts.sort_unstable_by(|a, b| order::compare_titles(names, a, b));
        }
        let mut sink = Sink::new(Endian::Little);
        write_uleb128(&mut sink, contexts.len() as u64);
        for (at, frames) in contexts.into_iter().filter_map(|record| record.context.as_deref()).enumerate() {
            write_uleb128(&mut sink, frames.len() as u64);
            for frame in frames {
                write_uleb128(&mut sink, u64::from(self.table.index[frame.function.index()]));
                write_uleb128(&mut sink, u64::from(frame.location.line));
                write_uleb128(&mut sink, u64::from(frame.location.discriminator));
            }
            self.contexts.insert(frames, at as u32);
        }
        sink.into_bytes()
    }

    fn bodies(&self) -> BodyWriter<'_> {
        BodyWriter { names: self.content.names, index: &self.table.index, with_vtables: self.with_vtables }
    }

    /// Returns the index that refers to a record: that of its context, or of its name.
    fn reference(&self, record: &FunctionRecord) -> u64 {
        match record.context.as_deref().filter(|_| self.content.kind.context_sensitive) {
            Some(frames) => u64::from(self.contexts.get(frames).copied().unwrap_or_default()),
            None => u64::from(self.table.index[record.name.index()]),
        }
    }

    fn records<'r>(&self, sink: &mut Sink, records: &[&'r FunctionRecord]) -> Vec<(&'r FunctionRecord, u64)> {
        let bodies = self.bodies();
        let mut offsets = Vec::with_capacity(records.len());
        for &record in records {
            offsets.push((record, sink.len() as u64));
            write_uleb128(sink, record.head);
            write_uleb128(sink, self.reference(record));
            bodies.write(sink, record);
        }
        offsets
    }

    fn offsets(&self, sink: &mut Sink, offsets: &mut Vec<(&FunctionRecord, u64)>) {
        if self.content.kind.context_sensitive {
            offsets.sort_by(|(a, _), (b, _)| order::compare_titles(self.content.names, a, b));
        }
        write_uleb128(sink, offsets.len() as u64);
        for (record, offset) in offsets.drain(..) {
            write_uleb128(sink, self.reference(record));
            write_uleb128(sink, offset);
        }
    }

    fn symbols(&self, sink: &mut Sink, symbols: Option<&SymbolList>) {
        for symbol in symbols.into_iter().flatten() {
            sink.bytes(symbol);
            sink.u8(0);
        }
    }

    fn metadata(&self, sink: &mut Sink, container: &[&FunctionRecord]) {
        let kind = self.content.kind;
        let writer = MetadataWriter {
            bodies: self.bodies(),
            with_checksums: kind.probe_based,
            with_attributes: kind.context_sensitive || kind.preinlined,
            with_callees: !kind.context_sensitive && self.options.rules.writes_nested_checksums(),
        };
        if !(writer.with_checksums || writer.with_attributes) {
            return;
        }
        for record in container {
            write_uleb128(sink, self.reference(record));
            writer.write(sink, record);
        }
    }
}

/// Writes metadata.
struct MetadataWriter<'a> {
    bodies: BodyWriter<'a>,
    with_checksums: bool,
    with_attributes: bool,
    with_callees: bool,
}

impl MetadataWriter<'_> {
    /// Appends the metadata of a record, after its reference.
    fn write(&self, sink: &mut Sink, record: &FunctionRecord) {
        if self.with_checksums {
            write_uleb128(sink, record.checksum);
        }
        if self.with_attributes {
            write_uleb128(sink, u64::from(record.attributes));
        }
        if !self.with_callees {
            return;
        }
        write_uleb128(sink, record.call_sites.len() as u64);
        for site in order::call_sites(self.bodies.names, record) {
            self.bodies.location(sink, site.location);
            self.bodies.name(sink, site.callee.name);
            self.write(sink, &site.callee);
        }
    }
}
