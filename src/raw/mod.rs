//! Raw profiles (`.profraw`), versions 1 to 11: reader, writer, correlation.
//!
//! A raw profile contains the profiling sections of one running image in the byte
//! order and pointer width of its machine. A file has one or more, one per image
//! that wrote to it. In order:
//!
//! | section | versions | content |
//! |---|---|---|
//! | header | all | magic, version and variant, sizes, deltas ([`Header`]) |
//! | binary ids | 7 on | identities of the image |
//! | data | all | one [`DataRecord`] for each function |
//! | counters | all | 8 bytes each, or 1 with byte coverage |
//! | bitmap | 9 on | MC/DC bitmaps |
//! | uniform counters | 11 | GPU offload |
//! | names | all | chunks of names, or from 1 to 2 names back to back |
//! | vtables, vtable names | 10 on | address ranges, and chunks of names |
//! | value data | 2 on | which values were seen at value sites |
//!
//! | version | written by LLVM | what it changed |
//! |---|---|---|
//! | 1 | 3.5 to 3.7 | first; records point to their names |
//! | 2 | 3.8 | value profiling |
//! | 3 | in development, 2016 | names by MD5 |
//! | 4 | 3.9 to 9 | self-describing value data |
//! | 5 | 10 to 12 | padding around the counters |
//! | 6 | in development, 2021 | not known, rejected |
//! | 7 | 13 | binary ids |
//! | 8 | 14 to 17 | relative pointers, padded binary ids |
//! | 9 | 18 | bitmaps |
//! | 10 | 19 to 22 | vtables |
//! | 11 | 23 | uniform counters |
//!
//! The versions are those of `INSTR_PROF_RAW_VERSION` in each release's
//! `InstrProfData.inc`. [`layout`] has the tables, [`RawProfile`] is a view of
//! one profile, [`RawReader`] reads whole files, [`write()`] writes a profile.

use crate::ascii::to_hex;
use crate::compat::Compat;
use crate::error::ErrorKind;
use crate::limits::Limits;
use crate::model::description::{Description, PartDescription};
use crate::model::{ProfileKind, ProfileReader, release};

pub use correlate::{Correlator, ImageRecords};
pub use header::Header;
pub(crate) use header::detect;
#[doc(hidden)]
pub use image::{Image, ImageSum, PlausibleCounters};
pub use layout::{DataRecord, Section};
pub(crate) use layout::{RecordLayout, Word};
pub(crate) use names::NameChunks;
pub use names::RawNames;
pub(crate) use profile::make_counters_native;
pub use profile::{Counters, RawProfile, TimedCounters};
pub(crate) use reader::is_blank;
pub use reader::{LargeCounters, RawOptions, RawReader};
#[doc(hidden)]
pub use values::Targets;
pub(crate) use write::{Encoder, parse_architecture, written};
pub use write::{WriteOptions, losses, write};

pub mod correlate;
mod header;
#[doc(hidden)]
pub mod image;
pub mod layout;
mod names;
mod plan;
mod profile;
mod read_names;
mod reader;
mod values;
mod write;

#[cfg(test)]
mod tests;

/// Describes a raw file. Damage becomes part of the description: everything before
/// it is described.
pub fn describe(file: &[u8], limits: &Limits) -> Description {
    let mut description = Description::new("LLVM raw profile", file.len() as u64);
    description.supported = true;
    let mut options = RawOptions::new(Compat::Profbridge);
    options.limits = *limits;
    let mut reader = match RawReader::new(file, options) {
        Ok(reader) => reader,
        Err(error) => {
            if let Ok(profile) = RawProfile::read(file, 0, Compat::Profbridge) {
                description.parts.push(describe_profile(&profile, profile.end_of_sections()));
            } else if let Ok(header) = Header::read(file, 0, Compat::Profbridge) {
                let mut part = describe_header(&header);
                part.section(
                    Section::Header.name(),
                    Some(0),
                    header.size() as u64,
                    Some(header.words().count() as u64 + 2),
                );
                description.parts.push(part);
            }
            if matches!(error.kind(), ErrorKind::MissingCorrelation) {
                // Such a file is valid, and the hint names the necessary option.
                description.hint = error.hint().cloned();
            } else {
                description.set_error(&error);
            }
            return description;
        }
    };
    let fault = loop {
        match reader.next_record() {
            Ok(Some(_)) => {}
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    description.parts = reader.profiles().map(|(profile, end)| describe_profile(profile, end)).collect();
    description.warnings = reader.take_warnings().iter().map(ToString::to_string).collect();
    if let Some(error) = fault {
        description.set_error(&error);
    }
    description
}

/// Describes the header.
fn describe_header(header: &Header) -> PartDescription {
    let encoding = header.encoding();
    PartDescription {
        version: Some(header.version().to_string()),
        variant: header.kind().sentence_words(),
        byte_order: Some(encoding.endian.to_string()),
        pointer_bits: Some(encoding.pointer.bytes() as u32 * 8),
        written_by: release::raw_writers(header.version().into(), header.kind().known_since()),
        read_by: release::raw_readers(header.version().into(), header.kind().known_since()),
        ..PartDescription::default()
    }
}

/// Describes one profile, whose value data ends at byte `end`.
fn describe_profile(profile: &RawProfile<'_>, end: usize) -> PartDescription {
    let header = profile.header();
    let mut part = describe_header(header);
    part.offset = profile.start() as u64;
    part.binary_ids = profile.binary_ids().unwrap_or_default().iter().map(|id| to_hex(id)).collect();
    let count = |word| Some(header.word(word));
    let sections = [
        (Section::Header, Some(header.words().count() as u64 + 2)),
        (Section::BinaryIds, Some(part.binary_ids.len() as u64)),
        (Section::Data, count(Word::NumData)),
        (Section::Counters, count(Word::NumCounters)),
        (Section::Bitmap, count(Word::NumBitmapBytes)),
        (Section::UniformCounters, count(Word::NumUniformCounters)),
        (Section::Names, None),
        (Section::VTables, count(Word::NumVTables)),
        (Section::VTableNames, None),
    ];
    for (section, entries) in sections {
        let range = profile.section_range(section);
        if !range.is_empty() {
            part.section(section.name(), Some(range.start as u64), range.len() as u64, entries);
        }
    }
    let values = profile.section_range(Section::ValueData).start;
    if end > values {
        let blobs = profile.records().filter(|record| record.has_value_sites()).count();
        part.section(Section::ValueData.name(), Some(values as u64), (end - values) as u64, Some(blobs as u64));
    }
    if profile.needs_correlation() {
        let how = match profile.kind().contains(ProfileKind::DEBUG_INFO_CORRELATE) {
            true => "needed, with debug info",
            false => "needed, with the unstripped image",
        };
        part.fact("correlation", how);
    }
    if profile.is_relative_version_7() {
        part.fact("layout", "relative pointers, as LLVM 13 wrote them in development");
    }
    part
}
