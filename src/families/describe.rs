//! Descriptions from headers: of formats that are recognized but not read, and of formats whose header is enough.

use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, ErrorKind, Result};
use crate::error_report::ErrorReport;
use crate::identify::sample_profiles::GccVersion;
use crate::input::{Format, Input, OtherFormat};
use crate::limits::Limits;
use crate::model::description::{Description, PartDescription};
use crate::model::release;
use crate::sampleprof::{self, FunctionRecord};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// Describes a file of another format, or of a family whose header contains all facts.
pub(crate) fn describe(data: &[u8], format: Format, limits: &Limits) -> Description {
    let mut description = Description::new(format.to_string(), data.len() as u64);
    let part = match format {
        Format::Empty => {
            description.set_error(&ErrorKind::EmptyProfile.into());
            description.hint = Some(
                "check that the process ended normally, and where it writes its profile (LLVM_PROFILE_FILE)".into(),
            );
            Ok(None)
        }
        Format::Jfr => {
            description.supported = true;
            let header = |at: u64| Ok(data[at as usize..].iter().take(JFR_HEADER_BYTES).copied().collect());
            jfr_chunks(data.len() as u64, header).map(Some)
        }
        Format::RawMemProf => {
            description.supported = true;
            memprof_dumps(data).map(Some)
        }
        Format::SampleText => Ok(Some(reads(SAMPLE_TOOLS))),
        Format::SampleGcc => Ok(GccVersion::of(data).map(|version| {
            let tools = match version {
                GccVersion::One => "gcc -fauto-profile of GCC 11 and earlier",
                GccVersion::Two => "gcc -fauto-profile of GCC 12 and later",
                GccVersion::Of704 => SAMPLE_TOOLS,
            };
            versioned(version.number(), tools)
        })),
        Format::SampleBinary => sample(data, false).map(Some),
        Format::SampleCompactBinary => sample(data, false)
            .map(|part| Some(PartDescription { read_by: Some(format!("{SAMPLE_TOOLS} of LLVM 8 to 16")), ..part })),
        Format::SampleExtBinary => sample(data, true).map(Some),
        Format::Other(other) => {
            let error = ErrorKind::NotAProfile { what: other.words() };
            description.error = Some(ErrorReport::of_message(error.name(), error.to_string()));
            description.hint = Some(other.advice().into());
            match other {
                OtherFormat::Gcda => gcda(data).map(Some),
                OtherFormat::BoltText => Ok(Some(reads("llvm-bolt, merge-fdata"))),
                OtherFormat::BoltYaml => Ok(Some(reads("llvm-bolt"))),
                _ => Ok(None),
            }
        }
        Format::YamlMemProf => {
            description.supported = true;
            Ok(Some(reads("llvm-profdata of LLVM 20 and later, profbridge")))
        }
        Format::Collapsed => {
            description.supported = true;
            Ok(Some(reads("flame graph tools, profbridge")))
        }
        Format::OtherText | Format::OtherJson => {
            description.error = Some(unrecognized("not a profile of any known format"));
            Ok(None)
        }
        _ => {
            description.error = Some(unrecognized("the first bytes match no known format"));
            Ok(None)
        }
    };
    match part {
        Ok(Some(mut part)) if format.is_sample_profile() => {
            describe_sample(data, limits, &mut part, &mut description);
            description.parts.push(part);
        }
        Ok(part) => description.parts.extend(part),
        Err(error) => description.set_error(&error),
    }
    description
}

const SAMPLE_TOOLS: &str = "llvm-profdata --sample, clang -fprofile-sample-use";

fn reads(tool: &str) -> PartDescription {
    PartDescription { read_by: Some(tool.to_string()), ..PartDescription::default() }
}

fn unrecognized(message: &str) -> ErrorReport {
    ErrorReport::of_message(ErrorKind::UnrecognizedFormat.name(), message)
}

fn versioned(version: impl ToString, tool: &str) -> PartDescription {
    PartDescription { version: Some(version.to_string()), ..reads(tool) }
}

/// Describes a recording from the headers of its chunks.
pub(crate) fn describe_recording(input: &Input) -> Result<Description> {
    let size = input.len()?;
    let mut description = Description::new(Format::Jfr.to_string(), size);
    description.supported = true;
    let unreadable = |source| Error::io("cannot read", source).in_file(&input.path);
    let mut file = File::open(&input.path).map_err(unreadable)?;
    let header = |at: u64| {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(at)).map_err(unreadable)?;
        (&file).take(JFR_HEADER_BYTES as u64).read_to_end(&mut bytes).map_err(unreadable)?;
        Ok(bytes)
    };
    match jfr_chunks(size, header) {
        Ok(part) => description.parts.push(part),
        Err(error) => description.set_error(&error),
    }
    Ok(description)
}

/// The bytes of a chunk's header that describe it.
const JFR_HEADER_BYTES: usize = 16;

/// Chunks of a recording, each with a header of its own, which `header` reads.
fn jfr_chunks(len: u64, mut header: impl FnMut(u64) -> Result<Vec<u8>>) -> Result<PartDescription> {
    let mut part = reads("jfr, JDK Mission Control, profbridge");
    let mut start = 0;
    while start < len {
        let header = header(start)?;
        let mut cursor = Cursor::new(&header, start, Endian::Big, "chunk");
        cursor.take("magic", 4)?;
        let (major, minor) = (cursor.u16("major version")?, cursor.u16("minor version")?);
        let size = cursor.u64("chunk size")?;
        part.version.get_or_insert_with(|| format!("{major}.{minor}"));
        // A recording that was not finished says 0 and reaches to the end.
        let size = if size < 16 || size > len - start { len - start } else { size };
        part.section("chunk", Some(start), size, None);
        start += size;
    }
    Ok(part)
}

/// Dumps of a memory profile, back to back.
fn memprof_dumps(data: &[u8]) -> Result<PartDescription> {
    let mut cursor = Cursor::new(data, 0, Endian::Little, "header");
    let mut part = PartDescription { byte_order: Some(Endian::Little.to_string()), ..PartDescription::default() };
    while cursor.left() >= 48 {
        let start = cursor.position();
        let mut dump = cursor.clone();
        dump.take("Magic", 8)?;
        let version = dump.u64("Version")?;
        let total = dump.u64("TotalSize")?;
        let starts = [dump.u64("SegmentOffset")?, dump.u64("MIBOffset")?, dump.u64("StackOffset")?];
        let bytes = cursor.take("dump", total.max(48))?;
        part.version.get_or_insert_with(|| version.to_string());
        let unknown = || "an unknown LLVM release".to_string();
        part.written_by.get_or_insert_with(|| release::raw_memory_writers(version).unwrap_or_else(unknown));
        part.section("header", Some(start), 48, None);
        let ends = [starts[1], starts[2], total];
        for ((name, from), to) in ["segments", "records", "stacks"].into_iter().zip(starts).zip(ends) {
            let count =
                usize::try_from(from).ok().and_then(|from| bytes.get(from..)).and_then(|rest| rest.first_chunk());
            let count = count.map(|word| Endian::Little.u64(*word));
            part.section(name, Some(start.saturating_add(from)), to.saturating_sub(from), count);
        }
    }
    Ok(part)
}

/// Header of a sample profile, and the section table of the extensible form.
/// Reads the profile, for its kind and totals.
fn describe_sample(data: &[u8], limits: &Limits, part: &mut PartDescription, description: &mut Description) {
    description.supported = true;
    let mut options = sampleprof::ReadOptions::default();
    options.limits = *limits;
    let profile = match sampleprof::read(data, &options) {
        Ok(profile) => profile,
        Err(error) => return description.set_error(&error),
    };
    let kind = profile.kind();
    let has_vtables = profile.functions.iter().any(FunctionRecord::has_vtables);
    if let (Some(oldest), Some(SAMPLE_TOOLS)) = (sampleprof::oldest_reader(data, &profile), part.read_by.as_deref()) {
        part.read_by = Some(format!("{SAMPLE_TOOLS} of {oldest} and later"));
    }
    let properties = [
        (kind.context_sensitive, "calling contexts"),
        (kind.probe_based, "pseudo-probes"),
        (kind.preinlined, "pre-inlined"),
        (kind.flow_sensitive, "flow-sensitive discriminators"),
        (kind.hashed, "names are hashes"),
        (kind.partial, "partial"),
        (has_vtables, "vtables"),
    ];
    let words: Vec<&str> = properties.into_iter().filter(|(is_so, _)| *is_so).map(|(_, word)| word).collect();
    if !words.is_empty() {
        part.fact("kind", words.join(", "));
    }
    part.fact("functions", profile.functions.len().to_string());
    part.fact("names", profile.names.len().to_string());
    if let Some(symbols) = &profile.symbols {
        part.fact("symbols", symbols.len().to_string());
    }
    if let Some(density) = sampleprof::density(&profile.functions) {
        let functions = if kind.context_sensitive { "context" } else { "function" };
        let hot = crate::digits::number_of(density.hot, functions);
        part.fact(
            "density",
            format!("{:.1} samples per line location ({hot} with 99 % of the samples)", density.samples),
        );
    }
    let profile = profile.in_container_order(options.rules);
    // The total of the summary wraps, as in LLVM.
    let total = sampleprof::total_count(&profile.functions.iter().collect::<Vec<_>>(), options.rules);
    part.fact("total count", total.to_string());
    part.fact("largest count", profile.compute_summary(options.rules).max.to_string());
}

fn sample(data: &[u8], extensible: bool) -> Result<PartDescription> {
    let mut cursor = Cursor::new(data, 0, Endian::Little, "header");
    read_uleb128(&mut cursor, "magic")?;
    let version = read_uleb128(&mut cursor, "version")?;
    let mut part = versioned(version, SAMPLE_TOOLS);
    if !extensible {
        return Ok(part);
    }
    let count = cursor.u64("number of sections")?;
    for _ in 0..count.min(cursor.left() / 32) {
        let (kind, flags) = (cursor.u64("section type")?, cursor.u64("section flags")?);
        let (offset, size) = (cursor.u64("section offset")?, cursor.u64("section size")?);
        let packed = if flags & 1 != 0 { ", compressed" } else { "" };
        part.section(format!("{}{packed}", sample_section(kind as u32)), Some(offset), size, None);
    }
    Ok(part)
}

fn sample_section(kind: u32) -> String {
    let name = match kind {
        1 => "summary",
        2 => "names",
        3 => "symbol list",
        4 => "function offsets",
        5 => "function metadata",
        6 => "contexts",
        32 => "records",
        other => return format!("section type {other}"),
    };
    name.to_string()
}

/// `gcda` in the byte order of the machine, version and stamp.
fn gcda(data: &[u8]) -> Result<PartDescription> {
    let endian = if data.starts_with(b"adcg") { Endian::Little } else { Endian::Big };
    let mut cursor = Cursor::new(data, 0, endian, "header");
    cursor.take("magic", 4)?;
    let version = cursor.u32("version")?.to_be_bytes();
    // GCC 4.8 had the version that clang writes.
    let reader = if &version == b"408*" { "llvm-cov gcov" } else { "gcov of the GCC that compiled the program" };
    let mut part = versioned(version.escape_ascii(), reader);
    part.byte_order = Some(endian.to_string());
    part.fact("stamp", format!("{:#010x}", cursor.u32("stamp")?));
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gcda_versions_read_in_either_byte_order() {
        for (bytes, order) in
            [(b"adcg*21B\x04\x03\x02\x01", Endian::Little), (b"gcdaB12*\x01\x02\x03\x04", Endian::Big)]
        {
            let part = gcda(bytes).unwrap();
            assert_eq!(part.version.as_deref(), Some("B12*"));
            assert_eq!(part.byte_order, Some(order.to_string()));
            assert_eq!(part.facts[0].value, "0x01020304");
            assert_eq!(part.read_by.as_deref(), Some("gcov of the GCC that compiled the program"));
        }
        assert_eq!(gcda(b"adcg*804\x04\x03\x02\x01").unwrap().read_by.as_deref(), Some("llvm-cov gcov"));
    }

    #[test]
    fn cut_headers_are_errors_and_do_not_panic() {
        let heads: [(&[u8], Format); 5] = [
            (b"FLR\0\0\x02", Format::Jfr),
            (b"adcg", Format::Other(OtherFormat::Gcda)),
            (&[0x84, 0xe4, 0xd0], Format::SampleExtBinary),
            (&[0xff, 0xe5, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53], Format::SampleBinary),
            (&[0x84, 0xe4, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 0x67, 1, 0], Format::SampleExtBinary),
        ];
        for (bytes, format) in heads {
            assert!(describe(bytes, format, &Limits::default()).error.is_some(), "{format}");
        }
    }
}
