//! Memory profiles as inputs of a merge, and as files to show.

use crate::bytes::BYTE_ORDER_MARK;
use crate::compat::Compat;
use crate::driver::distribution::Distribution;
use crate::error::{Error, ErrorKind, Result};
use crate::indexed::{IndexedProfile, memory_section_version};
use crate::input::{Access, Family, Format, Input, detect};
use crate::instr::Merger;
use crate::instr::encode::Encoded;
use crate::instr::open::ReadOptions;
use crate::instr::target::Target;
use crate::memory;
use crate::memprof::indexed::{self, WriteOptions};
use crate::memprof::yaml::{Comments, EmptySites};
use crate::memprof::{self, HotnessThresholds, MemoryProfile, MergedMemory, Schema, Source};
use crate::model::release::{reads_memory_version, written_memory_versions};
use crate::model::{Loss, LossKind, MemProfSection, Profile, ProfileKind, Release};
use std::io::Write;

/// Options for writing the merged memory profile into an indexed profile.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MemProfOptions {
    /// Version of the section. `None` selects the default of the release, or the first version that the release can
    /// write and that stores everything.
    pub version: Option<u32>,
    /// Write all fields, not only those that distinguish hot from cold.
    pub full_schema: bool,
    /// Replace lifetimes and densities by random numbers with this seed, for tests of compilers.
    pub random_hotness: Option<u32>,
    /// The thresholds of the summary.
    pub thresholds: HotnessThresholds,
}

impl MemProfOptions {
    /// Finishes a merge and puts the merged memory profile into a section. Returns the profile and the data that the
    /// section cannot store.
    ///
    /// # Errors
    ///
    /// The errors of [`encode`](Self::encode).
    pub(crate) fn finish(&self, mut merger: Merger, release: Release, compat: Compat) -> Result<(Profile, Vec<Loss>)> {
        let memory = merger.take_memory();
        let mut profile = merger.into_profile();
        let Some(memory) = memory else {
            // LLVM writes an empty section instead of one that it drops.
            if compat.is_llvm() && profile.kind.contains(ProfileKind::MEMPROF) {
                let empty = MemoryProfile::default();
                let options = self.choose(&empty, release, compat)?;
                profile.memprof = Some(section(indexed::write(&empty, &options)?, release));
            }
            return Ok((profile, Vec::new()));
        };
        let mut losses = memory.losses();
        let (section, unwritten) = self.encode(memory, release, compat)?;
        losses.extend(unwritten);
        profile.memprof = Some(section);
        Ok((profile, losses))
    }

    /// Encodes the section of a merged memory profile. Returns it with the data that it cannot store.
    ///
    /// # Errors
    ///
    /// A usage error for a version that the release does not write.
    fn encode(&self, memory: MergedMemory, release: Release, compat: Compat) -> Result<(MemProfSection, Vec<Loss>)> {
        let MergedMemory { mut profile, carried, stored, .. } = memory;
        let asks_nothing = self.version.is_none()
            && !self.full_schema
            && self.random_hotness.is_none()
            && self.thresholds == HotnessThresholds::default();
        let is_read = |section: &MemProfSection| is_read_by(release, section, profile.schema);
        if let Some(section) = carried.filter(|section| asks_nothing && is_read(section)) {
            return Ok((section, Vec::new()));
        }
        if let Some(seed) = self.random_hotness {
            memprof::random_hotness(&mut profile, seed);
        }
        let options = self.choose(&profile, release, compat)?;
        let mut losses = indexed::losses(&profile, &options);
        // The merge has reported fields that not all inputs have.
        let stored = stored.intersection(profile.schema);
        let lost = stored.len() - stored.intersection(options.schema).len();
        if lost != 0 {
            losses.push(Loss::new(LossKind::MemProfFields, lost as u64));
        }
        Ok((section(indexed::write(&profile, &options)?, release), losses))
    }

    /// Chooses the version and the fields to write.
    fn choose(&self, profile: &MemoryProfile, release: Release, compat: Compat) -> Result<WriteOptions> {
        // The writer of the file reports what an older release cannot store.
        let release = if written_memory_versions(release).is_none() { Release::DEFAULT } else { release };
        let mut options = WriteOptions::new(release, self.version, self.full_schema)?;
        options.thresholds = self.thresholds;
        if compat.is_llvm() {
            return Ok(options);
        }
        let losses = |options: &WriteOptions| indexed::losses(profile, options).len();
        if let Some(newest) =
            written_memory_versions(release).map(|versions| *versions.end()).filter(|_| self.version.is_none())
        {
            let larger = WriteOptions::new(release, Some(newest), self.full_schema)?;
            if losses(&larger) < losses(&options) {
                options = WriteOptions { thresholds: self.thresholds, ..larger };
            }
        }
        // Omit fields that no input has instead of writing zeros.
        if options.version >= indexed::CHOSEN_SCHEMA_SINCE {
            options.schema = options.schema.intersection(profile.schema);
        }
        Ok(options)
    }
}

/// Encodes a memory profile as an indexed profile without functions, with every field that the target's release can
/// store and the profile has.
///
/// # Errors
///
/// A usage error for a release that does not read memory profiles, which are read since LLVM 15; too large if a size does
/// not fit its field.
#[doc(hidden)]
pub fn encode_indexed(memory: MergedMemory, target: &Target) -> Result<Encoded> {
    if written_memory_versions(target.release).is_none() {
        return Err(Error::usage(format!("{} does not support memory profiles", target.release))
            .with_hint("target LLVM 15 or later"));
    }
    let (section, losses) = MemProfOptions::default().encode(memory, target.release, Compat::Profbridge)?;
    let whole = Profile { kind: ProfileKind::MEMPROF, memprof: Some(section), ..Profile::default() };
    let mut encoded = whole.to_bytes(target.indexed_format())?;
    encoded.losses.extend(losses);
    Ok(encoded)
}

/// Returns a section whose bytes were written for offset 0.
fn section(bytes: Vec<u8>, release: Release) -> MemProfSection {
    MemProfSection { bytes, offset: 0, indexed_version: release.indexed_version().unwrap_or_default() }
}

/// Returns true if a release reads a section with these fields unchanged.
fn is_read_by(release: Release, section: &MemProfSection, schema: Schema) -> bool {
    let knows_fields = schema.intersection(indexed::known_schema(release)) == schema;
    let first = section.bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let version = first.and_then(memory_section_version).and_then(|version| u32::try_from(version).ok());
    version.is_some_and(|version| reads_memory_version(release, version))
        && (knows_fields || written_memory_versions(release).is_none())
}

/// Returns true if the bytes are a raw memory profile or YAML. LLVM treats every file that begins with three dashes as
/// YAML.
pub(crate) fn is_memory_profile(data: &[u8], compat: Compat) -> bool {
    match detect(data) {
        Format::RawMemProf | Format::YamlMemProf => true,
        _ => compat.is_llvm() && data.starts_with(b"---"),
    }
}

/// Reads a memory profile from a file of its own.
///
/// # Errors
///
/// The errors of its reader; an empty-profile error for YAML without content.
pub(crate) fn read(data: &[u8], options: &ReadOptions, release: Release) -> Result<(MemoryProfile, Source)> {
    if detect(data) == Format::RawMemProf {
        return Ok((read_raw(data, options, release)?.1, Source::Raw));
    }
    if options.compat.is_llvm() && data.starts_with(BYTE_ORDER_MARK) {
        return Err(ErrorKind::UnrecognizedFormat.into());
    }
    let profile = memprof::yaml::read_until(data, options.compat, &options.limits, &options.cancel);
    if profile.as_ref().is_err_and(memory::is_refusal) {
        return Ok((profile?, Source::Yaml));
    }
    if options.compat.is_llvm() && profile.as_ref().map_or(true, MemoryProfile::is_empty) {
        let error = profile.err().unwrap_or_else(|| Error::malformed("the document is empty"));
        return Err(error.with_llvm_message("The profile is empty."));
    }
    Ok((profile?, Source::Yaml))
}

/// Reads a raw profile and symbolizes its addresses. Returns the number of remaining stacks.
#[cfg(feature = "correlate")]
fn read_raw<'data>(
    data: &'data [u8],
    options: &ReadOptions,
    release: Release,
) -> Result<(memprof::raw::RawMemProf<'data>, MemoryProfile, usize)> {
    let raw = memprof::raw::RawMemProf::read_until(data, &options.limits, options.cancel.clone())?;
    if raw.version < 3 && !options.compat.reads_every_raw_version() {
        let detail = "supported versions of raw memory profiles are 3 to 5".to_string();
        let error = Error::new(ErrorKind::UnsupportedVersion { found: raw.version, detail });
        return Err(error.in_raw_memory_profile(raw.version));
    }
    let programs = options.programs.find(&raw)?;
    if options.compat.is_llvm() {
        programs.iter().try_for_each(|program| program.expect_one_segment(&raw))?;
    }
    let resolved = memprof::raw::resolve(&raw, &programs, release)?;
    Ok((raw, resolved.profile, resolved.stacks))
}

#[cfg(not(feature = "correlate"))]
fn read_raw<'data>(
    data: &'data [u8],
    options: &ReadOptions,
    _release: Release,
) -> Result<(memprof::raw::RawMemProf<'data>, MemoryProfile, usize)> {
    let raw = memprof::raw::RawMemProf::read_until(data, &options.limits, options.cancel.clone())?;
    let build_ids = raw.build_ids().into_iter().map(crate::ascii::to_hex).collect();
    Err(ErrorKind::MissingProgram { build_ids }.into())
}

/// Returns LLVM's message for a memory profile next to a profile marked `:fe`.
pub(crate) fn conflict(error: Error, source: &Source) -> Error {
    let other = if *source == Source::Yaml { "incompatible" } else { "Clang generated" };
    error.with_llvm_message(format!("Cannot merge MemProf profile with {other} profile."))
}

/// Loads a memory profile from its own file or from an indexed profile, with the names of functions if known.
///
/// # Errors
///
/// The errors of the readers, with the path; a usage error for files without a memory profile.
pub fn load(input: impl Into<Input>, options: &ReadOptions) -> Result<MemoryProfile> {
    let input = input.into();
    let bytes = input.bytes(Access::Read, &options.limits)?;
    load_bytes(&bytes, &options.of_input(&input)).map_err(|error| error.in_file(&input.path))
}

/// Loads a memory profile from bytes like [`load`].
pub(crate) fn load_bytes(data: &[u8], options: &ReadOptions) -> Result<MemoryProfile> {
    if is_memory_profile(data, options.compat) {
        return Ok(read(data, options, Release::DEFAULT)?.0);
    }
    if detect(data) != Format::Indexed {
        let hint = "pass a raw memory profile, YAML, or an indexed profile with a memory profile";
        return Err(Error::nothing_found(format!("no memory profile: {}", detect(data))).with_hint(hint));
    }
    let indexed = open_indexed(data, options)?;
    let Some(stored) = read_section(&indexed, options)? else {
        return Err(Error::nothing_found("the indexed profile has no memory profile"));
    };
    let mut profile = stored.profile;
    for entry in indexed.entries() {
        options.cancel.check()?;
        let name = memprof::canonical_name(entry?.name);
        profile.names.insert(memprof::guid(name), name.to_vec());
    }
    Ok(profile)
}

fn open_indexed<'data>(data: &'data [u8], options: &ReadOptions) -> Result<IndexedProfile<'data>> {
    IndexedProfile::read(data, crate::indexed::ReadOptions::new(options.limits, options.compat))
}

/// Reads the section of an indexed profile, if there is one.
fn read_section(profile: &IndexedProfile<'_>, options: &ReadOptions) -> Result<Option<indexed::StoredProfile>> {
    let section = profile.memprof()?;
    let read =
        |section: MemProfSection| indexed::read_until(&section.bytes, section.offset, &options.limits, &options.cancel);
    section.map(read).transpose()
}

/// A memory profile that was read completely.
#[derive(Debug, Clone)]
pub(crate) struct Verified {
    /// The number of allocation contexts.
    pub(crate) contexts: usize,
    pub(crate) has_data_accesses: bool,
    /// Version of a raw profile.
    pub(crate) version: Option<u64>,
    /// The distribution of the bytes over the functions that allocate them; empty for raw profiles, which have addresses.
    pub(crate) bytes: Distribution,
}

impl Verified {
    fn new(profile: &MemoryProfile) -> Self {
        let contexts = profile.alloc_sites().count();
        let mut bytes = Distribution::new(Family::MemProf);
        for (stack, site) in memprof::report::contexts(profile) {
            if let Some(frame) = profile.stacks.frames_of(stack).next() {
                bytes.add(&frame.function.to_le_bytes(), site.info.total_size().into());
            }
        }
        Self { contexts, has_data_accesses: profile.data_access.is_some(), version: None, bytes }
    }
}

/// Reads the memory profile of a file to find its faults. A raw profile is read without its program.
///
/// # Errors
///
/// The errors of the readers.
pub(crate) fn verify(data: &[u8], options: &ReadOptions) -> Result<Option<Verified>> {
    Ok(match detect(data) {
        Format::RawMemProf => {
            let raw = memprof::raw::RawMemProf::read_until(data, &options.limits, options.cancel.clone())?;
            let (contexts, version) = (raw.contexts().len(), Some(raw.version));
            Some(Verified { contexts, has_data_accesses: false, version, bytes: Distribution::new(Family::MemProf) })
        }
        Format::Indexed => {
            let stored = read_section(&open_indexed(data, options)?, options)?;
            stored.map(|stored| Verified::new(&stored.profile))
        }
        _ if is_memory_profile(data, options.compat) => Some(Verified::new(&read(data, options, Release::DEFAULT)?.0)),
        _ => None,
    })
}

/// Prints a raw memory profile, or that of an indexed profile, like `llvm-profdata show --memory` of a release. In
/// profbridge mode YAML is accepted too. The thresholds are those of a summary that the file does not have.
///
/// # Errors
///
/// The errors of the readers, with the path; bad magic for other files.
pub fn show_yaml(
    input: impl Into<Input>,
    options: &ReadOptions,
    release: Release,
    thresholds: &HotnessThresholds,
    out: &mut dyn Write,
) -> Result<()> {
    let input = input.into();
    let bytes = input.bytes(Access::Read, &options.limits)?;
    show_bytes(&bytes, &options.of_input(&input), EmptySites::of(release), thresholds, out)
        .map_err(|error| error.in_file(&input.path))
}

fn show_bytes(
    data: &[u8],
    options: &ReadOptions,
    empty_sites: EmptySites,
    thresholds: &HotnessThresholds,
    out: &mut dyn Write,
) -> Result<()> {
    let failed = |source| Error::io("cannot write", source);
    if detect(data) == Format::RawMemProf {
        let (raw, profile, stacks) = read_raw(data, options, Release::DEFAULT)?;
        return memprof::raw::show(&raw, &profile, stacks, thresholds, out).map_err(failed);
    }
    let computed = Comments::ComputedSummary(*thresholds);
    if detect(data) == Format::Indexed {
        let stored = read_section(&open_indexed(data, options)?, options)?;
        let stored = stored.ok_or_else(|| Error::malformed("the profile has no memory profile"))?;
        let comments = stored.summary.map_or(computed, Comments::Summary);
        return memprof::yaml::write(&stored.profile, comments, empty_sites, out).map_err(failed);
    }
    if options.compat.is_llvm() || !is_memory_profile(data, options.compat) {
        let detail = format!("expected a memory profile, found: {}", detect(data));
        return Err(ErrorKind::BadMagic { detail }.into());
    }
    let (profile, _) = read(data, options, Release::DEFAULT)?;
    memprof::yaml::write(&profile, computed, empty_sites, out).map_err(failed)
}
