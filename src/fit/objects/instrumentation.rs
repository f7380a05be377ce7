//! Finds out how a program was built: the profiles that it writes, and those that it can use.
//!
//! The version of raw profiles is in a variable that every instrumented object defines; a linker keeps the first. The
//! records of the other objects keep the size that their own compiler gave them. So records of several sizes, or a
//! runtime that is newer than the variable, show that parts of a program were built by different releases.

use super::records::{self, SectionName, sections};
use super::{go, release_of};
use crate::bytes::{Encoding, Endian, PointerWidth};
use crate::error::Result;
use crate::limits::Limits;
use crate::model::release::{self, RELEASES};
use crate::model::{ProfileKind, SymbolTable};
use crate::objects::{self, contents};
use crate::raw::RecordLayout;
use byteorder::{ByteOrder, LittleEndian};
use object::{BinaryFormat, Object, ObjectSection, ObjectSymbol, Symbol};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The facts about a program, or about all object files of an archive.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProgramFacts {
    /// The number of object files. An archive can have any number.
    pub(crate) objects: u64,
    /// The number of object files with records or counters.
    pub(crate) instrumented: u64,
    /// Whether it is linked: it contains the runtime, or needs none.
    pub(crate) is_linked: bool,
    /// The values of the version variables, with version and kind.
    pub(crate) version_words: BTreeSet<u64>,
    /// The number of records, by the raw versions with this record size.
    pub(crate) records: BTreeMap<RawVersions, u64>,
    /// The profile sections and their bytes.
    pub(crate) sections: BTreeMap<String, u64>,
    /// Whether it has the bytes of records. Zeros can be markers of the runtime of Windows.
    has_records: bool,
    /// The versions of the coverage maps, from 1 up.
    pub(crate) coverage_maps: BTreeSet<u32>,
    /// The output patterns that were set at build time.
    pub(crate) patterns: BTreeSet<String>,
    /// Whether a profile runtime is linked in, and the lowest raw version that it can have.
    pub(crate) runtime: Option<u32>,
    /// The compilers that the objects name.
    pub(crate) compilers: BTreeSet<String>,
    /// Whether it contains code of Go's compiler.
    pub(crate) has_go: bool,
    /// Whether allocations are profiled (`-fmemory-profile`).
    pub(crate) has_memprof: bool,
    /// Whether it was instrumented with `--coverage`, and writes `.gcda` files.
    pub(crate) has_gcov: bool,
    /// Whether that was clang.
    pub(crate) has_gcov_of_clang: bool,
    /// Whether debug info has line tables.
    pub(crate) has_lines: bool,
    /// Units whose split debug info was not found.
    pub(crate) missing_units: u64,
    /// Whether a part of debug info is in a file that several programs share.
    pub(crate) has_shared_debug_info: bool,
    /// Whether debug info has no function.
    pub(crate) lacks_functions: bool,
    /// Whether debug info has functions of C++ and Rust without their mangled names.
    pub(crate) has_short_names: bool,
    /// Whether debug info has functions without the line of their declaration.
    pub(crate) lacks_first_lines: bool,
    /// Whether debug info is in another file.
    pub(crate) has_debug_link: bool,
    /// Whether debug info is in a PDB, and not in DWARF.
    pub(crate) has_pdb: bool,
    /// Whether it has descriptors of pseudo-probes.
    pub(crate) has_probes: bool,
    /// Whether it has more symbols than those that it exports.
    pub(crate) has_symbols: bool,
    /// Sections that could not be read.
    pub(crate) faults: Vec<String>,
}

/// The first and last raw version of one size of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RawVersions(pub(crate) u32, pub(crate) u32);

impl RawVersions {
    pub(crate) fn words(self) -> String {
        if self.0 == self.1 { self.0.to_string() } else { format!("{} to {}", self.0, self.1) }
    }

    fn contains(self, version: u32) -> bool {
        (self.0..=self.1).contains(&version)
    }
}

/// The oldest raw version whose records can be distinguished by their size.
const OLDEST_RAW_VERSION: u32 = 4;
const NEWEST_RAW_VERSION: u32 = 11;

/// Functions of the runtime, and the raw version that brought them.
const RUNTIME_FUNCTIONS: [(&[u8], u32); 3] = [
    (b"__llvm_profile_get_num_vtable", 10),
    (b"__llvm_profile_get_num_bitmap_bytes", 9),
    (b"__llvm_profile_write_file", OLDEST_RAW_VERSION),
];

const PATTERN_VARIABLE: &[u8] = b"__llvm_profile_filename";
/// The maximum length of a path.
const MAX_PATTERN: usize = 4096;

const COVERAGE_MAP: SectionName = SectionName("__llvm_covmap", ".lcovmap");

impl ProgramFacts {
    /// Adds the facts about an object file. Parts of it that cannot be read are noted.
    pub(crate) fn add(&mut self, file: &object::File<'_>, limits: &Limits) {
        self.objects += 1;
        self.is_linked |= file.kind() != object::ObjectKind::Relocatable;
        self.version_words.extend(records::version_word(file));
        let before = self.sections.len();
        let had: u64 = self.sections.values().sum();
        self.add_sections(file);
        if self.sections.len() > before || self.sections.values().sum::<u64>() > had {
            self.instrumented += 1;
        }
        self.add_symbols(file);
        self.has_pdb |= objects::pdb_without_dwarf(file).is_some();
        let go = go::compiler(file, limits);
        self.has_go |= go.is_some();
        self.compilers.extend(go);
        for added in [self.add_records(file, limits), self.add_coverage(file, limits), self.add_compilers(file, limits)]
        {
            if let Err(error) = added {
                self.faults.push(error.to_string());
            }
        }
    }

    /// Looks at the debug info of the program at a path.
    pub(crate) fn add_debug_info(&mut self, file: &object::File<'_>, path: &Path, limits: &Limits) {
        if file.kind() == object::ObjectKind::Relocatable || file.section_by_name(".debug_info").is_none() {
            return;
        }
        self.has_shared_debug_info = objects::shared_debug_info(file).is_some();
        match objects::MissingDebugInfo::find(file, path, limits) {
            Ok(missing) => {
                self.missing_units = missing.split_units;
                self.lacks_functions = missing.all_functions;
                self.has_short_names = !missing.short_names.is_empty();
                self.lacks_first_lines = !missing.first_lines.is_empty();
            }
            Err(error) => self.faults.push(error.to_string()),
        }
    }

    fn add_sections(&mut self, file: &object::File<'_>) {
        for section in file.sections() {
            let (Ok(name), size) = (section.name(), section.size()) else { continue };
            self.has_lines |= name == ".debug$S" && section.data().is_ok_and(has_code_view_lines);
            let name = name.split('$').next().unwrap_or(name);
            if is_profile_section(name) && size > 0 {
                let bytes = self.sections.entry(name.to_string()).or_default();
                *bytes = bytes.saturating_add(size);
            }
            self.has_probes |= name == ".pseudo_probe_desc" && size > 0;
            self.has_debug_link |= name == ".gnu_debuglink";
            self.has_lines |= matches!(name, ".debug_line" | ".zdebug_line" | "__debug_line") && size > 0;
        }
    }

    fn add_symbols(&mut self, file: &object::File<'_>) {
        let is_mach = file.format() == BinaryFormat::MachO;
        // A stripped file keeps the symbols that it exports. Mach-O has them among the others.
        let is_exported = |symbol: &Symbol<'_, '_>| is_mach && self.is_linked && symbol.is_global();
        let mut defined = file.symbols().filter(|symbol| symbol.is_definition() && !is_exported(symbol));
        self.has_symbols |= defined.any(|symbol| symbol.name_bytes().is_ok_and(|name| !name.is_empty()));
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let Some(name) = objects::symbol_name(file, &symbol) else { continue };
            self.has_gcov |= name.starts_with(b"__gcov_");
            self.has_gcov_of_clang |= name.starts_with(b"__llvm_gcov_");
            self.has_memprof |= name.starts_with(b"__memprof_");
            if symbol.is_undefined() {
                continue;
            }
            if let Some((_, version)) = RUNTIME_FUNCTIONS.iter().find(|(function, _)| *function == name) {
                self.runtime = self.runtime.max(Some(*version));
            }
            if name == PATTERN_VARIABLE {
                self.patterns.extend(text_of(file, &symbol));
            }
        }
    }

    /// Counts the records by their size. A record starts with the hash of a name, so the next known hash is the start
    /// of the next record.
    fn add_records(&mut self, file: &object::File<'_>, limits: &Limits) -> Result<()> {
        let layouts = layouts(file);
        let is_pe = file.format() == BinaryFormat::Pe;
        for (data, names) in records::RECORD_SECTIONS {
            let parts = sections(file, data, limits)?;
            if parts.iter().flatten().all(|byte| *byte == 0) {
                continue;
            }
            self.has_records = true;
            let names = records::read_names(file, names, limits)?;
            for part in &parts {
                let starts = starts(part, &names, file.is_little_endian());
                let ends = starts.iter().skip(1).copied().chain([part.len()]);
                for (start, end) in starts.iter().zip(ends) {
                    // Padding may follow the last record of an object file, and a marker as large as a record that of a
                    // program of Windows.
                    let size = end - start;
                    let found = layouts.iter().find(|(_, layout)| {
                        let ends =
                            [layout.size_without_padding(), if is_pe { 2 * layout.size() } else { layout.size() }];
                        size == layout.size() || (end == part.len() && ends.contains(&size))
                    });
                    if let Some((versions, _)) = found {
                        *self.records.entry(*versions).or_default() += 1;
                    }
                }
            }
        }
        Ok(())
    }

    fn add_coverage(&mut self, file: &object::File<'_>, limits: &Limits) -> Result<()> {
        for map in sections(file, COVERAGE_MAP, limits)? {
            // Each header stores the version minus one in its fourth word; the first header is enough.
            let Some(word) = map.get(12..16).and_then(|bytes| bytes.first_chunk::<4>()) else { continue };
            let version = if file.is_little_endian() { u32::from_le_bytes(*word) } else { u32::from_be_bytes(*word) };
            self.coverage_maps.insert(version.saturating_add(1));
        }
        Ok(())
    }

    fn add_compilers(&mut self, file: &object::File<'_>, limits: &Limits) -> Result<()> {
        let Some(section) = file.section_by_name(".comment") else { return Ok(()) };
        let text = contents(&section, limits)?;
        let lines = text.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        self.compilers.extend(lines.map(|line| String::from_utf8_lossy(line).trim().to_string()));
        Ok(())
    }

    /// Returns true if Go's compiler made it, and no compiler of LLVM a part of it.
    pub(crate) fn is_of_go_alone(&self) -> bool {
        let is_of_llvm = |line: &String| line.contains("lang version ") || line.contains("rustc version ");
        self.has_go && !self.compilers.iter().any(is_of_llvm)
    }

    /// Returns true if LLVM instrumented a part of it.
    pub(crate) fn is_instrumented(&self) -> bool {
        self.instrumented > 0 || !self.version_words.is_empty()
    }

    /// Returns the raw versions that the variables state. Without a variable, those of the records, narrowed by the
    /// compilers.
    pub(crate) fn raw_versions(&self) -> Vec<RawVersions> {
        let stated: BTreeSet<u32> = self.version_words.iter().map(|word| *word as u32).collect();
        if stated.is_empty() {
            let of_compilers: BTreeSet<u32> = self.compilers.iter().filter_map(|line| raw_version_of(line)).collect();
            let narrowed = |versions: &RawVersions| {
                let mut known = of_compilers.iter().copied().filter(|version| versions.contains(*version));
                match (known.next(), known.next()) {
                    (Some(only), None) => RawVersions(only, only),
                    _ => *versions,
                }
            };
            return self.records.keys().map(narrowed).collect();
        }
        stated.into_iter().map(|version| RawVersions(version, version)).collect()
    }

    /// Returns the properties in the version variables.
    pub(crate) fn profile_kind(&self) -> ProfileKind {
        let kinds = self.version_words.iter().map(|word| ProfileKind::from_version_word(*word));
        kinds.fold(ProfileKind::NONE, |all, kind| all | kind)
    }

    /// Returns the names of the kinds in the version variables.
    pub(crate) fn kinds(&self) -> BTreeSet<String> {
        self.version_words.iter().flat_map(|word| ProfileKind::from_version_word(*word).sentence_words()).collect()
    }

    /// Returns true if its profiles have no functions, because these are in debug info or in sections that are not loaded.
    pub(crate) fn is_correlated(&self) -> bool {
        let is_marked = |word: &u64| ProfileKind::from_version_word(*word).contains(ProfileKind::DEBUG_INFO_CORRELATE);
        let is_data = |name: &String| name == "__llvm_covdata" || name == ".lcovd";
        // The front end does not mark profiles whose functions are in debug info.
        let has_counters_only = self.bytes_of(["prf_cnts", ".lprfc"]) > 0 && !self.has_records;
        has_counters_only || self.version_words.iter().any(is_marked) || self.sections.keys().any(is_data)
    }

    /// Returns the number of records.
    pub(crate) fn records_len(&self) -> u64 {
        self.records.values().fold(0, |sum, records| sum.saturating_add(*records))
    }

    /// Returns the number of counters. It is unknown if there are time stamps between them and counters have one byte,
    /// because of the padding, or the number of records is unknown.
    pub(crate) fn counters(&self) -> Option<u64> {
        let has = |kind| self.version_words.iter().any(|word| ProfileKind::from_version_word(*word).intersects(kind));
        let bytes = self.bytes_of(["_cnts", ".lprfc"]);
        match (has(ProfileKind::BYTE_COVERAGE), has(ProfileKind::TEMPORAL), self.records_len()) {
            (true, false, _) => Some(bytes),
            (false, false, _) => Some(bytes / 8),
            (true, true, _) | (false, true, 0) => None,
            // The counters of a function begin with its time stamp.
            (false, true, records) => Some((bytes / 8).saturating_sub(records)),
        }
    }

    /// Returns the number of bitmap bytes.
    pub(crate) fn bitmap_bytes(&self) -> u64 {
        self.bytes_of(["_bits", ".lprfb"])
    }

    /// Returns the bytes of counters or bitmaps in the sections whose names end with the first word, or have the second,
    /// which is that of COFF. The runtime of Windows has a marker of one byte before and after them.
    fn bytes_of(&self, [end, of_coff]: [&str; 2]) -> u64 {
        let marked = self.sections.get(of_coff).copied().unwrap_or(0);
        let markers = if self.is_linked { 2 } else { 0 };
        let others = self.sections.iter().filter(|(name, _)| name.ends_with(end)).map(|(_, bytes)| *bytes);
        others.fold(marked.saturating_sub(markers), u64::saturating_add)
    }

    /// Describes how parts were built by different releases; empty if nothing shows it.
    pub(crate) fn conflicts(&self) -> Vec<String> {
        let mut found = Vec::new();
        let stated = self.raw_versions();
        if let [first, rest @ ..] = stated.as_slice()
            && !rest.is_empty()
        {
            let others: Vec<String> = rest.iter().map(|versions| versions.words()).collect();
            found.push(format!("parts have raw version {}, others {}", first.words(), others.join(" and ")));
        }
        if self.version_words.is_empty() {
            return found;
        }
        for (versions, count) in &self.records {
            if !stated.iter().any(|known| versions.contains(known.0)) {
                let stated = stated.iter().map(|known| known.words()).collect::<Vec<_>>().join(" and ");
                let records = if *count == 1 { "1 record has".to_string() } else { format!("{count} records have") };
                let versions = versions.words();
                found.push(format!(
                    "{records} the size of raw version {versions}, but the program states version {stated}"
                ));
            }
        }
        if let (true, [stated], Some(runtime)) = (self.is_linked, stated.as_slice(), self.runtime)
            && runtime > stated.1
        {
            let stated = stated.words();
            found.push(format!(
                "the profile runtime is that of raw version {runtime} or later, but the program states version {stated}: \
                 its profiles have the wrong version (\"expected {runtime}, but get {stated}\")"
            ));
        }
        found.extend(self.compilers_of_one_size());
        found
    }

    /// Returns the compilers whose raw versions differ but not their record sizes.
    fn compilers_of_one_size(&self) -> Option<String> {
        let versions: BTreeSet<u32> = self.compilers.iter().filter_map(|line| raw_version_of(line)).collect();
        let is_hidden = |versions: &RawVersions| {
            self.records.contains_key(versions) && self.version_words.iter().all(|word| versions.contains(*word as u32))
        };
        let within = self
            .records
            .keys()
            .filter(|known| is_hidden(known))
            .find(|known| versions.iter().filter(|version| known.contains(**version)).count() > 1)?;
        let of_it: Vec<u32> = versions.into_iter().filter(|version| within.contains(*version)).collect();
        let words = of_it.iter().map(u32::to_string).collect::<Vec<_>>().join(" and ");
        Some(format!("its compilers write raw versions {words}, whose records have one size"))
    }

    /// Returns true if the linked program has no runtime, so that it writes no profile.
    pub(crate) fn lacks_runtime(&self) -> bool {
        self.is_linked && self.is_instrumented() && self.has_symbols && self.runtime.is_none()
    }
}

/// Returns the raw version that the compiler of a line of `.comment` writes.
fn raw_version_of(line: &str) -> Option<u32> {
    let rustc = line.split("rustc version ").nth(1).and_then(|rest| rest.split([' ', '(']).next());
    if let Some(version) = rustc {
        return release::parse(&format!("rustc-{version}")).ok().map(|row| row.raw_version);
    }
    release_of(line.as_bytes())?.raw_version()
}

/// Returns the releases whose tools read profiles of these versions with these properties.
pub(crate) fn readers(versions: RawVersions, kind: ProfileKind) -> Option<String> {
    let reads =
        |version: u32| RELEASES.iter().filter(move |row| row.raw_version == version && kind.is_known_by(row.release()));
    let all: Vec<_> = (versions.0..=versions.1).flat_map(reads).collect();
    let (first, last) = (all.first()?, all.last()?);
    if versions.0 == versions.1 {
        return release::raw_readers(versions.0.into(), kind.known_since());
    }
    Some(format!("LLVM {} to {}, depending on the version", first.llvm, last.llvm))
}

fn is_profile_section(name: &str) -> bool {
    ["__llvm_prf_", "__llvm_cov", ".lprf", ".lcov"].iter().any(|start| name.starts_with(start))
}

/// Returns true if a section of CodeView debug info has lines. Some compilers always write the section. It has a signature
/// and subsections of a kind, a length and data; each begins at a multiple of four bytes.
fn has_code_view_lines(section: &[u8]) -> bool {
    const LINES: u32 = 0xf2;
    let mut rest = section.get(4..).unwrap_or_default();
    while let Some((header, data)) = rest.split_first_chunk::<8>() {
        if LittleEndian::read_u32(&header[..4]) == LINES {
            return true;
        }
        let len = LittleEndian::read_u32(&header[4..]) as usize;
        rest = len.checked_next_multiple_of(4).and_then(|len| data.get(len..)).unwrap_or_default();
    }
    false
}

/// Returns the record layouts of the file's machine, one per size.
fn layouts(file: &object::File<'_>) -> Vec<(RawVersions, RecordLayout)> {
    let endian = if file.is_little_endian() { Endian::Little } else { Endian::Big };
    let pointer = if objects::is_64(file) { PointerWidth::Bits64 } else { PointerWidth::Bits32 };
    let mut found: Vec<(RawVersions, RecordLayout)> = Vec::new();
    for version in OLDEST_RAW_VERSION..=NEWEST_RAW_VERSION {
        let layout = RecordLayout::new(Encoding { endian, pointer, version });
        match found.last_mut().filter(|(_, last)| last.size() == layout.size()) {
            Some((versions, last)) => (versions.1, *last) = (version, layout),
            None => found.push((RawVersions(version, version), layout)),
        }
    }
    found
}

/// Returns the offsets of records, which are the offsets of hashes of known names.
fn starts(part: &[u8], names: &SymbolTable, is_little_endian: bool) -> Vec<usize> {
    const ALIGNMENT: usize = 4;
    let hash = |at: &usize| {
        let bytes = part.get(*at..)?.first_chunk::<8>()?;
        let hash = if is_little_endian { u64::from_le_bytes(*bytes) } else { u64::from_be_bytes(*bytes) };
        names.find(hash)
    };
    (0..part.len()).step_by(ALIGNMENT).filter(|at| hash(at).is_some()).collect()
}

/// The text of a variable; `None` if it is empty.
fn text_of<'a>(file: &object::File<'a>, symbol: &Symbol<'a, '_>) -> Option<String> {
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    let at = usize::try_from(symbol.address().checked_sub(section.address())?).ok()?;
    let bytes = section.data().ok()?.get(at..)?;
    let bytes = &bytes[..bytes.len().min(MAX_PATTERN)];
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_known_by_their_lines() {
        assert_eq!(raw_version_of("Debian clang version 16.0.6 (15~deb12u1)"), Some(8));
        assert_eq!(raw_version_of("rustc version 1.95.0 (59807616e 2026-04-14)"), Some(10));
        assert_eq!(raw_version_of("rustc version 1.97.0-nightly (e50aa6fba 2026-05-19)"), Some(10));
        assert_eq!(raw_version_of("GCC: (Debian 12.2.0-14) 12.2.0"), None);
    }

    #[test]
    fn compilers_conflict_if_their_records_have_one_size() {
        let facts = |lines: &[&str]| ProgramFacts {
            is_linked: true,
            version_words: [10].into(),
            records: [(RawVersions(9, 10), 3)].into(),
            compilers: lines.iter().map(ToString::to_string).collect(),
            ..ProgramFacts::default()
        };
        let conflicts = facts(&["clang version 18.1.8", "clang version 19.1.7"]).conflicts();
        assert_eq!(conflicts, ["its compilers write raw versions 9 and 10, whose records have one size"]);
        assert!(facts(&["clang version 16.0.6", "clang version 19.1.7"]).conflicts().is_empty());
    }

    #[test]
    fn a_newer_runtime_and_records_of_other_sizes_are_conflicts() {
        let facts = ProgramFacts {
            is_linked: true,
            version_words: [8].into(),
            records: [(RawVersions(5, 8), 1), (RawVersions(9, 10), 2)].into(),
            runtime: Some(10),
            ..ProgramFacts::default()
        };
        let conflicts = facts.conflicts();
        assert_eq!(conflicts[0], "2 records have the size of raw version 9 to 10, but the program states version 8");
        assert!(conflicts[1].contains("expected 10, but get 8"), "{conflicts:?}");
    }
}
