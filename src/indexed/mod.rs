//! Indexed profiles (`.profdata`), versions 1 to 14: what compilers read.
//!
//! All numbers are little-endian, whatever the host. In file order:
//!
//! | part | from version | |
//! |---|---|---|
//! | header | 1 | magic, version word, hash type, offsets: 40 to 72 bytes |
//! | summary | 4 | totals and cutoff rows; two with the context-sensitive bit |
//! | hash table payload | 1 | bucket after bucket: names and their records |
//! | hash table index | 1 | number of buckets and entries, offset of each bucket |
//! | memory profile | 8 | only with its variant bit |
//! | binary ids | 9 | always |
//! | vtable names | 12 | always, mostly empty |
//! | temporal traces | 10 | only with their variant bit |
//!
//! | version | LLVM | new |
//! |---|---|---|
//! | 1 | 3.5 | one record for a name |
//! | 2 | 3.6 | several records for a name |
//! | 3 | 3.8 | value sites |
//! | 4 | 3.9 | summary |
//! | 5, 6, 7 | 6, 11, 12 | other structural hashes, same layout |
//! | 8 | 15 | memory profile |
//! | 9 | 16 | binary ids |
//! | 10 | 17 | temporal traces |
//! | 11 | 18 | bitmap bytes |
//! | 12 | 19 | vtable names, value kind 2 |
//! | 13 | 22 | another structural hash, same layout |
//! | 14 | 23 | bitmap bytes packed, uniformity bits |
//!
//! (`InstrProf.h`, `InstrProfReader.cpp`, `InstrProfWriter.cpp` in LLVM.)

use crate::ascii::to_hex;
use crate::bytes::{Cursor, Endian};
use crate::compat::Compat;
use crate::error::Result;
use crate::limits::Limits;
use crate::model::description::{Description, PartDescription};
use crate::model::{ProfileKind, release};
use layout::{HEADER_WORDS, header_size, since};

pub(crate) use layout::DEFAULT_VERSION;
pub(crate) use layout::HASH_OFFSET_AT;
pub(crate) use layout::MEMPROF_OFFSET_AT;
pub use layout::{MAGIC, NEWEST_VERSION};
pub use lookup::Entry;
pub(crate) use memprof::section_version as memory_section_version;
pub use profile::{IndexedProfile, ReadOptions};
pub use reader::IndexedReader;
pub(crate) use reader::Outline;
pub(crate) use reader::is_blank;
pub use records::Records;
pub(crate) use write::Encoder;
pub use write::{WriteOptions, losses, write};

mod layout;
mod lookup;
mod memprof;
mod profile;
mod reader;
mod records;
mod write;

/// Describes an indexed file. Damage becomes part of the description: everything
/// before it is described.
pub fn describe(file: &[u8], limits: &Limits) -> Description {
    let mut description = Description::new("LLVM indexed profile", file.len() as u64);
    description.supported = true;
    let profile = IndexedProfile::read(file, ReadOptions::new(*limits, Compat::Profbridge));
    match profile.and_then(|profile| describe_profile(file, &profile)) {
        Ok(part) => description.parts.push(part),
        Err(error) => description.set_error(&error),
    }
    description
}

fn describe_profile(file: &[u8], profile: &IndexedProfile<'_>) -> Result<PartDescription> {
    let (version, kind) = (profile.version(), profile.kind());
    let mut variant = kind.sentence_words();
    // Without records, the missing bit of IR instrumentation does not mean that the front end placed counters.
    if profile.is_empty() && kind.contains(ProfileKind::MEMPROF) && !kind.is_ir() {
        variant.remove(0);
    }
    let mut part = PartDescription {
        version: Some(version.to_string()),
        variant,
        byte_order: Some(Endian::Little.to_string()),
        written_by: release::indexed_writers(version.into(), kind.known_since(), profile.memory_version()),
        read_by: release::indexed_readers(version.into(), kind.known_since(), profile.memory_version()),
        binary_ids: profile.binary_ids()?.iter().map(|id| to_hex(id)).collect(),
        ..PartDescription::default()
    };
    let header = header_size(version) as u64;
    part.section("header", Some(0), header, Some(header / 8));
    let mut cursor = Cursor::new(file, 0, Endian::Little, "header");
    cursor.take("header", header)?;
    for (name, summary) in
        [("summary", profile.summary()), ("context-sensitive summary", profile.context_sensitive_summary())]
    {
        if let Some(summary) = summary {
            let start = cursor.position();
            let fields = cursor.u64("number of summary fields")?;
            let rows = cursor.u64("number of summary rows")?;
            cursor.take("summary", fields.saturating_mul(8).saturating_add(rows.saturating_mul(24)))?;
            part.section(name, Some(start), cursor.position() - start, Some(summary.rows.len() as u64));
        }
    }
    let index = word(file, version, "HashOffset")?;
    part.section("records", Some(cursor.position()), index.saturating_sub(cursor.position()), Some(profile.len()));
    let mut buckets = Cursor::new(file.get(index as usize..).unwrap_or_default(), index, Endian::Little, "hash table");
    let buckets = buckets.u64("number of buckets")?;
    part.section("hash table index", Some(index), 16 + 8 * buckets, Some(buckets));
    for section in later_sections(file, profile)? {
        let size = section.end - section.start;
        part.section(section.name, Some(section.start), size, section.entries);
    }
    part.fact("functions", profile.len().to_string());
    if let Some(summary) = profile.summary() {
        part.fact("largest count", summary.max_count.to_string());
        // A sum of counters is not smaller than one of them.
        let wraps = if summary.total_count < summary.max_count { " (the stored sum wraps at 2^64)" } else { "" };
        part.fact("total count", format!("{}{wraps}", summary.total_count));
    }
    Ok(part)
}

struct Later {
    name: &'static str,
    start: u64,
    end: u64,
    entries: Option<u64>,
}

/// Returns the sections after the hash table, in file order. Each ends where the next starts.
fn later_sections(file: &[u8], profile: &IndexedProfile<'_>) -> Result<Vec<Later>> {
    let version = profile.version();
    let has_memprof = profile.kind().contains(ProfileKind::MEMPROF);
    let has_traces = profile.kind().contains(ProfileKind::TEMPORAL);
    let offered = [
        (has_memprof && version >= since::MEMPROF, "MemProfOffset", "memory profile", None),
        (version >= since::BINARY_IDS, "BinaryIdOffset", "binary ids", Some(profile.binary_ids()?.len())),
        (version >= since::VTABLES, "VTableNamesOffset", "vtable names", Some(profile.vtable_names()?.len())),
        (has_traces, "TemporalProfTracesOffset", "temporal traces", Some(profile.temporal()?.traces.len())),
    ];
    let mut found = Vec::new();
    for (_, field, name, entries) in offered.into_iter().filter(|(there, ..)| *there) {
        let start = word(file, version, field)?;
        found.push(Later { name, start, end: file.len() as u64, entries: entries.map(|entries| entries as u64) });
    }
    found.sort_by_key(|section| section.start);
    for at in 1..found.len() {
        found[at - 1].end = found[at].start;
    }
    Ok(found)
}

/// A word of the header by its name.
fn word(file: &[u8], version: u32, name: &str) -> Result<u64> {
    let words = HEADER_WORDS.iter().filter(|word| word.since <= version);
    let at = words.take_while(|word| word.name != name).count() as u64;
    let mut cursor = Cursor::new(file, 0, Endian::Little, "header");
    cursor.take("header", 24 + 8 * at)?;
    cursor.u64("header word")
}
