//! Programs, libraries, object files and archives: which profiles they write, and which they can use.

use crate::ascii::to_hex;
use crate::digits::number_of;
use crate::error::Error;
use crate::fit::{ProgramFacts, fat_architectures, readers};
use crate::identify::{self, Format};
use crate::limits::Limits;
use crate::model::description::{Description, PartDescription};
use crate::model::{ProfileKind, Release};
use crate::objects;
use object::elf::{FileHeader32, FileHeader64};
use object::read::archive::ArchiveFile;
use object::read::elf::FileHeader;
use object::read::macho::{MachOFatFile32, MachOFatFile64};
use object::{Endianness, FileKind, Object, ObjectKind};
use serde::Serialize;
use std::path::Path;

/// The description of a program, with recommendations.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct ProgramReport {
    /// The output of `info`.
    #[serde(flatten)]
    pub description: Description,
    /// The raw version of the profiles that the program writes, if there is one.
    pub raw_version: Option<u32>,
    /// The first release that knows all properties of these profiles; earlier ones misread them.
    #[serde(skip)]
    pub known_since: Option<Release>,
    /// Instructions for the user.
    pub advice: Vec<String>,
}

/// Describes a program, a library, an object file or an archive of them; `None` for all other files. Split debug info is
/// looked for if the path is known.
pub(crate) fn describe(data: &[u8], path: Option<&Path>, limits: &Limits) -> Option<Description> {
    read(data, path, limits).map(|(description, _)| description)
}

/// Describes the content of the program at a path, with recommendations.
pub fn report_program(path: &Path, data: &[u8], limits: &Limits) -> ProgramReport {
    let Some((mut description, facts)) = read(data, Some(path), limits) else {
        return ProgramReport {
            description: describe_other(data),
            raw_version: None,
            known_since: None,
            advice: Vec::new(),
        };
    };
    let raw_version = facts.iter().find_map(|facts| match facts.raw_versions().as_slice() {
        [only] if only.0 == only.1 => Some(only.0),
        _ => None,
    });
    let kind = facts.iter().fold(ProfileKind::NONE, |all, facts| all | facts.profile_kind());
    let known_since = kind.known_since();
    let mut advice: Vec<String> = Vec::new();
    if description.error.is_none() {
        advice.extend(description.hint.take().map(|hint| hint.to_string()));
    }
    for line in facts.iter().flat_map(advice_on) {
        if !advice.contains(&line) {
            advice.push(line);
        }
    }
    if description.error.is_some() {
        advice.push("build or copy the program again: the file is damaged or truncated".to_string());
    }
    ProgramReport { description, raw_version, known_since, advice }
}

/// Describes a file that is not a program, with the name of its format if that is known.
fn describe_other(data: &[u8]) -> Description {
    let format = identify::detect(data);
    let is_known = format.family().is_some() || matches!(format, Format::Other(_));
    let words = if is_known { format.to_string() } else { "not a program".to_string() };
    let mut description = Description::new(words, data.len() as u64);
    let error = Error::usage("the file is not a program, a library, an object file or an archive");
    let error = if objects::is_bitcode(data) { error.with_hint(objects::LINK_BITCODE) } else { error };
    description.set_error(&error);
    description
}

fn read(data: &[u8], path: Option<&Path>, limits: &Limits) -> Option<(Description, Vec<ProgramFacts>)> {
    // Class files of Java begin like Mach-O files of several architectures.
    const CLASS_FILE: &[u8] = &[0xca, 0xfe, 0xba, 0xbe];
    if data.starts_with(CLASS_FILE) && fat_architectures(data).is_none() {
        return None;
    }
    let kind = FileKind::parse(data).ok()?;
    match kind {
        FileKind::Archive => Some(of_archive(data, limits)),
        FileKind::MachOFat32 | FileKind::MachOFat64 => Some(of_fat_file(data, kind, limits)),
        // The magic number of COFF is two bytes, which other files can begin with.
        FileKind::Coff | FileKind::CoffBig if objects::parse(data).is_err() => None,
        FileKind::Coff
        | FileKind::CoffBig
        | FileKind::Elf32
        | FileKind::Elf64
        | FileKind::MachO32
        | FileKind::MachO64
        | FileKind::Pe32
        | FileKind::Pe64 => Some(of_object(data, path, kind, limits)),
        _ => None,
    }
}

fn of_object(data: &[u8], path: Option<&Path>, kind: FileKind, limits: &Limits) -> (Description, Vec<ProgramFacts>) {
    let mut description = Description::new("program", data.len() as u64);
    let file = match objects::parse(data) {
        Ok(file) => file,
        Err(error) => {
            let missing = match kind {
                FileKind::Elf64 => missing_end::<FileHeader64<Endianness>>(data),
                FileKind::Elf32 => missing_end::<FileHeader32<Endianness>>(data),
                _ => None,
            };
            description.set_error(&missing.unwrap_or(error));
            return (description, Vec::new());
        }
    };
    description.format = words_of(&file);
    description.supported = true;
    let mut facts = ProgramFacts::default();
    facts.add(&file, limits);
    if let Some(path) = path {
        facts.add_debug_info(&file, path, limits);
    }
    push_part(&mut description, Some(&file), &facts, 0);
    (description, vec![facts])
}

/// Returns the error for a truncated ELF file. Its table of sections is its end.
fn missing_end<H: FileHeader<Endian = Endianness>>(data: &[u8]) -> Option<Error> {
    let (size, len) = (size_of::<H>() as u64, data.len() as u64);
    if len < size {
        return Some(Error::truncated("the header", size, len).at("header", 0));
    }
    let header = H::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let start: u64 = header.e_shoff(endian).into();
    let need = u64::from(header.e_shentsize(endian)) * u64::from(header.e_shnum(endian));
    let have = len.saturating_sub(start);
    (have < need).then(|| Error::truncated("the table of sections", need, have).at("sections", start))
}

/// All object files of an archive together; other members, such as the metadata of rustc, have no part in it. LLVM
/// bitcode has no facts before it is linked.
fn of_archive(data: &[u8], limits: &Limits) -> (Description, Vec<ProgramFacts>) {
    let mut description = Description::new("archive", data.len() as u64);
    let (mut facts, mut bitcode, mut others) = (ProgramFacts::default(), 0u64, 0u64);
    let mut machine = None;
    let added = ArchiveFile::parse(data).and_then(|archive| {
        for member in archive.members() {
            let bytes = member?.data(data)?;
            match object::File::parse(bytes) {
                Ok(file) => {
                    facts.add(&file, limits);
                    machine.get_or_insert_with(|| format!("{:?}", file.architecture()));
                }
                Err(_) if objects::is_bitcode(bytes) => bitcode += 1,
                Err(_) => others += 1,
            }
        }
        Ok(())
    });
    description.supported = true;
    description.format = match &machine {
        Some(machine) => format!("archive of {}, {machine}", number_of(facts.objects, "object file")),
        None if bitcode > 0 => format!("archive of {}", number_of(bitcode, "LLVM bitcode file")),
        None => "archive without object files".to_string(),
    };
    let has_facts = machine.is_some() || bitcode == 0;
    if has_facts {
        push_part(&mut description, None, &facts, 0);
    }
    if let Some(part) = description.parts.last_mut() {
        for (name, members) in [("LLVM bitcode", bitcode), ("other members", others)] {
            if members > 0 {
                part.fact(name, members.to_string());
            }
        }
    }
    if bitcode > 0 {
        description.hint = Some(objects::LINK_BITCODE.into());
    }
    if let Err(error) = added {
        description.set_error(&damaged(error));
    }
    (description, if has_facts { vec![facts] } else { Vec::new() })
}

fn of_fat_file(data: &[u8], kind: FileKind, limits: &Limits) -> (Description, Vec<ProgramFacts>) {
    use object::read::macho::FatArch;
    let mut description = Description::new("Mach-O file of several architectures", data.len() as u64);
    description.supported = true;
    let places: object::Result<Vec<(u64, u64)>> = if kind == FileKind::MachOFat32 {
        MachOFatFile32::parse(data).map(|fat| fat.arches().iter().map(FatArch::file_range).collect())
    } else {
        MachOFatFile64::parse(data).map(|fat| fat.arches().iter().map(FatArch::file_range).collect())
    };
    let mut all = Vec::new();
    match places {
        Ok(places) => {
            for (offset, size) in places {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let end = start.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
                let Some(bytes) = data.get(start..end) else {
                    let left = (data.len() as u64).saturating_sub(offset);
                    description.set_error(&Error::truncated("an architecture", size, left));
                    break;
                };
                match objects::parse(bytes) {
                    Ok(file) => {
                        let mut facts = ProgramFacts::default();
                        facts.add(&file, limits);
                        push_part(&mut description, Some(&file), &facts, offset);
                        if let Some(part) = description.parts.last_mut() {
                            part.variant.insert(0, format!("{:?}", file.architecture()));
                        }
                        all.push(facts);
                    }
                    Err(error) => description.set_error(&error),
                }
            }
        }
        Err(error) => description.set_error(&damaged(error)),
    }
    (description, all)
}

fn damaged(error: object::Error) -> Error {
    Error::malformed(error.to_string())
}

/// Returns the words for a file: `ELF executable, X86_64`.
fn words_of(file: &object::File<'_>) -> String {
    let kind = match file.kind() {
        ObjectKind::Relocatable => "object file",
        ObjectKind::Executable => "executable",
        ObjectKind::Dynamic if file.entry() != 0 => "executable",
        ObjectKind::Dynamic => "shared library",
        _ => "file",
    };
    let format = match file.format() {
        object::BinaryFormat::Elf => "ELF",
        object::BinaryFormat::MachO => "Mach-O",
        object::BinaryFormat::Pe => "PE",
        object::BinaryFormat::Coff => "COFF",
        _ => "object",
    };
    format!("{format} {kind}, {:?}", file.architecture())
}

fn push_part(description: &mut Description, file: Option<&object::File<'_>>, facts: &ProgramFacts, offset: u64) {
    let mut part = PartDescription { offset, ..PartDescription::default() };
    if let Some(file) = file {
        part.pointer_bits = Some(if objects::is_64(file) { 64 } else { 32 });
        part.byte_order = Some(if file.is_little_endian() { "little-endian" } else { "big-endian" }.to_string());
        part.binary_ids.extend(objects::build_id(file).map(|id| to_hex(&id)));
    }
    for compiler in &facts.compilers {
        part.fact("compiler", compiler);
    }
    if facts.is_instrumented() {
        push_instrumentation(&mut part, facts);
    } else if facts.has_gcov_of_clang {
        part.fact("instrumented", "by clang, for gcov; it writes .gcda files, which llvm-cov gcov reads");
    } else if facts.has_gcov {
        part.fact("instrumented", "by GCC; it writes .gcda files, which gcov reads");
    } else {
        part.fact("instrumented", "no");
    }
    if facts.has_memprof {
        let lacks = if facts.lacks_first_lines { ", but lines of functions are missing in debug info" } else { "" };
        part.fact("memory profile", format!("yes (-fmemory-profile){lacks}"));
    }
    part.fact("debug info", debug_words(facts));
    part.fact("sample profile", sample_words(facts));
    description.parts.push(part);
    description.warnings.extend(
        facts.conflicts().into_iter().map(|conflict| format!("parts were built by different releases: {conflict}")),
    );
    if facts.lacks_runtime() {
        description.warnings.push("no profile runtime is linked in, so no profile is written".to_string());
    }
    if facts.missing_units > 0 {
        let units = number_of(facts.missing_units, "unit");
        description.warnings.push(format!("the split debug info of {units} was not found"));
    }
    description.warnings.extend(facts.faults.iter().cloned());
}

fn push_instrumentation(part: &mut PartDescription, facts: &ProgramFacts) {
    part.variant.extend(facts.kinds());
    let versions = facts.raw_versions();
    let words = |words: Vec<String>| words.join(" and ");
    let mut raw = words(versions.iter().map(|versions| versions.words()).collect());
    if facts.version_words.is_empty() && !raw.is_empty() {
        raw += " (from the size of its records)";
    }
    let objects = match facts.objects {
        0 | 1 => "yes".to_string(),
        all => format!("{} of {all} object files", facts.instrumented),
    };
    part.fact("instrumented", objects);
    if !raw.is_empty() {
        part.fact("raw version", raw);
    }
    part.read_by = match versions.as_slice() {
        [only] => readers(*only, facts.profile_kind()),
        _ => None,
    };
    if facts.records_len() > 0 {
        part.fact("functions", facts.records_len().to_string());
    }
    if let Some(counters) = facts.counters() {
        part.fact("counters", counters.to_string());
    }
    let bitmaps = facts.bitmap_bytes();
    if bitmaps > 0 {
        part.fact("mc/dc", format!("yes, {}", number_of(bitmaps, "bitmap byte")));
    }
    if !facts.coverage_maps.is_empty() {
        let versions = words(facts.coverage_maps.iter().map(u32::to_string).collect());
        part.fact("coverage map", format!("version {versions}"));
    }
    for pattern in &facts.patterns {
        part.fact("writes to", pattern);
    }
    if facts.is_linked {
        part.fact(
            "runtime",
            match (facts.runtime, facts.has_symbols) {
                (Some(_), _) => "linked in",
                (None, true) => "none",
                (None, false) => "unknown: the program is stripped",
            },
        );
    }
    let added = facts.sections.values().fold(0u64, |sum, bytes| sum.saturating_add(*bytes));
    part.fact("adds", number_of(added, "byte"));
    for (name, size) in &facts.sections {
        part.section(name, None, *size, None);
    }
}

fn debug_words(facts: &ProgramFacts) -> &'static str {
    match (facts.has_lines, facts.has_debug_link, facts.has_symbols) {
        (true, ..) => "line tables",
        _ if facts.has_pdb => "in a PDB",
        (false, true, _) => "in a file of its own",
        (false, false, true) => "none, symbols only",
        (false, false, false) => "none, stripped",
    }
}

fn sample_words(facts: &ProgramFacts) -> &'static str {
    if facts.is_of_go_alone() {
        return "not usable: Go's compiler reads CPU profiles in pprof";
    }
    if facts.has_shared_debug_info && !facts.has_probes {
        return "usable, by lines, but not for functions whose debug info is in a shared file (dwz -m)";
    }
    if facts.lacks_functions && !facts.has_probes {
        return "not usable: debug info has no functions";
    }
    if facts.has_short_names && !facts.has_probes {
        return "usable, by lines, but not for functions of C++ and Rust whose debug info has no mangled names";
    }
    if facts.lacks_first_lines && !facts.has_probes {
        return "usable, by lines, but not for functions without the line of their declaration in debug info";
    }
    match (facts.has_probes, facts.has_lines, facts.has_debug_link) {
        (true, true, _) => "usable, by pseudo-probes and lines",
        (true, false, _) => "usable, by pseudo-probes",
        (false, true, _) => "usable, by lines, for functions that have them",
        (false, false, true) => "usable by lines, together with the file that has its debug info",
        (false, false, false) if facts.has_pdb => "not usable: debug info is in a PDB, not in DWARF",
        (false, false, false) => "not usable: neither line tables nor pseudo-probes",
    }
}

/// Returns instructions for the user of a program.
fn advice_on(facts: &ProgramFacts) -> Vec<String> {
    let mut advice = Vec::new();
    if facts.missing_units > 0 {
        advice.push(format!("for sample profiles, {}", objects::NEEDS_SPLIT_FILES));
    }
    if facts.has_shared_debug_info {
        advice
            .push("for samples, keep the program as it was before `dwz -m` moved a part of its debug info".to_string());
    }
    if facts.lacks_functions && !facts.has_probes {
        advice.push("for sample profiles, compile with -g, or add -fdebug-info-for-profiling of clang".to_string());
    } else if facts.has_short_names && !facts.has_probes {
        advice.push(
            "for sample profiles of C++ and Rust, compile with -g, or add -fdebug-info-for-profiling of clang: compilers \
             find functions by mangled names"
                .to_string(),
        );
    } else if facts.lacks_first_lines && !facts.has_probes {
        advice.push(
            "for sample and memory profiles, compile with -g, or add -fdebug-info-for-profiling of clang: lines count from \
             the declaration of their function"
                .to_string(),
        );
    }
    if facts.has_go {
        advice.push(
            "for Go code, record CPU profiles (runtime/pprof or /debug/pprof/profile) and merge them into default.pgo in the \
             directory of the main package: go build uses it from Go 1.21"
                .to_string(),
        );
    }
    if !facts.conflicts().is_empty() {
        advice.push(
            "compile and link all parts with one release of LLVM: rebuild the objects of the other compiler, or build \
             them without profiling (cc-rs and CMake pass the profiling flags of the main build on to C and C++ code)"
                .to_string(),
        );
    }
    if facts.lacks_runtime() {
        advice.push(
            "link with the flag that the objects were compiled with, -fprofile-generate or -fprofile-instr-generate"
                .to_string(),
        );
    }
    if facts.is_instrumented() {
        if facts.is_correlated() {
            advice.push(
                "keep this file and name it when you merge its profiles, which have no functions of their own"
                    .to_string(),
            );
        }
        if !facts.is_linked {
            advice.push(
                "link it with the clang or rustc that compiled it: the runtime decides the version of its profiles"
                    .to_string(),
            );
        } else if facts.patterns.is_empty() {
            let why = match facts.has_symbols {
                true => "without it, processes overwrite one file",
                false => "its own file name is unknown because it is stripped",
            };
            advice.push(format!("set LLVM_PROFILE_FILE when it runs, such as app-%p-%m.profraw: {why}"));
        }
        return advice;
    }
    if facts.has_gcov {
        advice.push(
            "counts for gcov are not an LLVM profile: read them with gcov (GCC) or llvm-cov gcov (clang), or compile with \
             clang -fprofile-generate"
                .to_string(),
        );
        return advice;
    }
    if facts.has_pdb && !facts.has_lines && !facts.has_probes {
        advice.push("for sample profiles, compile with -gdwarf, and link with lld's option -debug:dwarf".to_string());
    } else if !facts.is_of_go_alone() && !facts.has_lines && !facts.has_probes && !facts.has_debug_link {
        advice.push(
            "for sample profiles, compile with -gline-tables-only -fdebug-info-for-profiling (rustc: -C debuginfo=1), \
             or with -fpseudo-probe-for-profiling; for instrumentation, with -fprofile-generate (rustc: -C profile-generate)"
                .to_string(),
        );
    }
    advice
}
