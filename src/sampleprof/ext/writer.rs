//! Writing extensible binaries.

use super::MAGIC;
use super::metadata::MetadataWriter;
use super::sections::{SectionKind, flags};
use crate::bytes::deflate::compress_level_9;
use crate::bytes::leb128::write_uleb128;
use crate::bytes::{Endian, Sink};
use crate::error::Result;
use crate::sampleprof::binary::VERSION;
use crate::sampleprof::binary::body::BodyWriter;
use crate::sampleprof::binary::tables::{NameCollector, NameTable, write_header, write_names, write_summary};
use crate::sampleprof::merge::summarize;
use crate::sampleprof::names::{FunctionName, Names};
use crate::sampleprof::order;
use crate::sampleprof::profile::{Kind, SymbolList};
use crate::sampleprof::record::{Frame, FunctionRecord};
use crate::sampleprof::rules::Rules;
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// How extensible binaries are written.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The release whose bytes they are to be.
    pub rules: Rules,
    /// The kind to state.
    pub kind: Kind,
    /// 103, or 104 of LLVM 23.
    pub version: u64,
    /// Store MD5 hashes in place of names.
    pub use_md5: bool,
    /// Compress every section.
    pub compress: bool,
    /// Functions without inlined callees in sections of their own.
    pub split_layout: bool,
    /// Write virtual tables.
    pub vtables: bool,
    /// Set the flag for names with a unique suffix, because a longer output had one.
    pub had_unique_suffix: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            rules: Rules::default(),
            kind: Kind::default(),
            version: VERSION,
            use_md5: false,
            compress: false,
            split_layout: false,
            vtables: false,
            had_unique_suffix: false,
        }
    }
}

/// A written file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Written {
    /// The file.
    pub bytes: Vec<u8>,
    /// Whether a name has the suffix that makes static functions unique.
    pub has_unique_suffix: bool,
}

/// Rows of the table: what a section holds, and whether it is of functions
/// without inlined callees.
type Rows = &'static [(SectionKind, bool)];
use SectionKind::{Contexts, Metadata, Names as NameTableKind, Offsets, Records, Summary, Symbols};

const DEFAULT_TABLE: Rows = &[
    (Summary, false),
    (NameTableKind, false),
    (Contexts, false),
    (Offsets, false),
    (Records, false),
    (Symbols, false),
    (Metadata, false),
];
/// Positions in the table in the order in which sections stand in the file.
const DEFAULT_FILE: &[usize] = &[0, 1, 2, 4, 5, 3, 6];
const SPLIT_TABLE: Rows = &[
    (Summary, false),
    (NameTableKind, false),
    (Offsets, false),
    (Records, false),
    (Offsets, true),
    (Records, true),
    (Symbols, false),
    (Metadata, false),
];
const SPLIT_FILE: &[usize] = &[0, 1, 3, 2, 5, 4, 6, 7];

/// The extensible binary of records in the order given; `container` are the
/// same in LLVM's order.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub(crate) fn write_records(
    names: &Names,
    records: &[&FunctionRecord],
    container: &[&FunctionRecord],
    symbols: Option<&SymbolList>,
    options: &WriteOptions,
) -> Result<Written> {
    let mut collector = NameCollector::new(names);
    for record in records {
        for frame in record.context.iter().flatten() {
            collector.add(frame.function);
        }
        order::each_name(record, options.vtables, &mut |name| collector.add(name));
    }
    let table = collector.finish();
    let has_unique_suffix = options.had_unique_suffix || has_unique_suffix(names, &table);
    let mut writer = Writer { names, options, table, contexts: HashMap::default(), has_unique_suffix };
    let bytes = writer.write(records, container, symbols)?;
    Ok(Written { bytes, has_unique_suffix })
}

fn has_unique_suffix(names: &Names, table: &NameTable) -> bool {
    const SUFFIX: &[u8] = b".__uniq.";
    table.names.iter().any(|name| match names.get(*name) {
        FunctionName::Text(text) => text.windows(SUFFIX.len()).any(|part| part == SUFFIX),
        FunctionName::Hash(_) => false,
    })
}

struct Writer<'a> {
    names: &'a Names,
    options: &'a WriteOptions,
    table: NameTable,
    /// Index of each context.
    contexts: HashMap<&'a [Frame], u32, RandomState>,
    has_unique_suffix: bool,
}

impl<'a> Writer<'a> {
    fn write(
        &mut self,
        records: &[&'a FunctionRecord],
        container: &[&'a FunctionRecord],
        symbols: Option<&SymbolList>,
    ) -> Result<Vec<u8>> {
        let split = self.options.split_layout && self.options.rules.knows_split_layout();
        let (rows, file) = if split { (SPLIT_TABLE, SPLIT_FILE) } else { (DEFAULT_TABLE, DEFAULT_FILE) };
        let mut sink = Sink::new(Endian::Little);
        write_header(&mut sink, MAGIC, self.options.version);
        sink.u64(rows.len() as u64);
        let places: Vec<_> =
            rows.iter().map(|_| (sink.reserve(), sink.reserve(), sink.reserve(), sink.reserve())).collect();
        let contexts = self.context_section(records);
        let is_flat = |record: &&&FunctionRecord| record.call_sites.is_empty();
        let mut offsets = Vec::new();
        for &at in file {
            let (kind, flat) = rows[at];
            let mut content = Sink::new(Endian::Little);
            match kind {
                Summary => self.summary(&mut content, container),
                NameTableKind => self.name_section(&mut content),
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
            self.append(&mut sink, &content.finish()?)?;
            let size = sink.len() as u64 - start;
            let (of_kind, of_flags, of_offset, of_size) = places[at];
            sink.patch(of_kind, u64::from(kind.number()));
            sink.patch(of_flags, self.flags(kind, flat));
            sink.patch(of_offset, start);
            sink.patch(of_size, size);
        }
        sink.finish()
    }

    /// Appends a section, compressed if that is wanted and there is something.
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
        let options = self.options;
        let of = options.kind;
        let chosen: &[(bool, u64)] = match kind {
            Summary => &[
                (of.partial, flags::PARTIAL),
                (of.context_sensitive, flags::CONTEXTS),
                (of.flow_sensitive, flags::FLOW_SENSITIVE),
                (of.preinlined, flags::PREINLINED),
                (options.vtables, flags::VTABLES),
            ],
            NameTableKind => &[
                (options.use_md5, flags::MD5 | flags::FIXED_MD5),
                (
                    self.has_unique_suffix && (!options.use_md5 || options.rules.flags_unique_names_of_hashes()),
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

    fn summary(&self, sink: &mut Sink, container: &[&FunctionRecord]) {
        let options = self.options;
        match summarize(container.iter().copied(), self.names, options.kind, options.rules) {
            Ok(summary) => write_summary(sink, &summary),
            Err(_) => sink.lack_memory(),
        }
    }

    fn name_section(&self, sink: &mut Sink) {
        if !self.options.use_md5 {
            write_names(sink, self.names, &self.table.names);
            return;
        }
        write_uleb128(sink, self.table.names.len() as u64);
        for name in &self.table.names {
            sink.u64(self.names.get(*name).hash());
        }
    }

    /// All contexts in their order, which gives them their indices.
    fn context_section(&mut self, records: &[&'a FunctionRecord]) -> Vec<u8> {
        let mut contexts: Vec<&'a FunctionRecord> = Vec::new();
        if self.options.kind.context_sensitive {
            contexts.extend(records.iter().filter(|record| record.context.is_some()));
            contexts.sort_unstable_by(|a, b| order::compare_titles(self.names, a, b));
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
        BodyWriter { names: self.names, index: &self.table.index, with_vtables: self.options.vtables }
    }

    /// What a record is referred to by.
    fn reference(&self, record: &FunctionRecord) -> u64 {
        match record.context.as_deref().filter(|_| self.options.kind.context_sensitive) {
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
        if self.options.kind.context_sensitive {
            offsets.sort_by(|(a, _), (b, _)| order::compare_titles(self.names, a, b));
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
        let kind = self.options.kind;
        let writer = MetadataWriter {
            bodies: self.bodies(),
            with_checksums: kind.probe_based,
            with_attributes: kind.context_sensitive || kind.preinlined,
            in_contexts: kind.context_sensitive,
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
