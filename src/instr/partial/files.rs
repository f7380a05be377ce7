//! Partial merges: creating them from files, merging them further, finishing them.

use crate::bytes::Head;
use crate::compat::Compat;
use crate::driver::report::{failed, no_weight, remembered, unknown_failure};
use crate::driver::{self, InputOutcome, InputReport, InputTurn, InputVersion, Merge, OnProgress};
use crate::error::{Error, ErrorKind, Result};
use crate::family::Family;
use crate::indexed::{self, IndexedReader};
use crate::input::{self, Access, Format, WeightedInput};
use crate::instr::encode::{OutputFormat, Saved, WriteOptions, write_with};
use crate::instr::file_merge::{MANY_RECORDS, MergeOptions, MergeReport, RecordError};
use crate::instr::memory_profiles;
use crate::instr::open::read_with;
use crate::instr::partial::sums::{NextInput, counts_of};
use crate::instr::partial::{PartialMerge, Replayed};
use crate::instr::target::Evidence;
use crate::instr::{InputOptions, MergeRules, SoftError, repeated_sizes};
use crate::limits::Limits;
use crate::memory;
use crate::memprof::MergedMemory;
use crate::model::{FunctionTable, Profile, ProfileKind, ProfileReader, RecordRef, RecordStore, name_ref};
use crate::partial::{Duplicates, Frame, InputOrigin, InputState, PartialInput};
use crate::raw::RawReader;
use crate::text;
use crate::threads::{self, Task};
use std::collections::BTreeSet;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::Path;

/// Merges inputs, which can include partial merges, so that the merge can continue later. Faults of single inputs are
/// stored with them.
///
/// # Errors
///
/// A usage error for a partial merge with a weight, and for a profile that occurs in a partial merge and in another
/// input, unless the options allow it.
pub fn merge_partially(
    inputs: &[WeightedInput],
    options: &MergeOptions,
    progress: OnProgress<'_>,
) -> Result<PartialMerge> {
    let is_single = inputs.len() == 1;
    driver::merge(inputs, &options.run(), |_| PartialFileMerge { options, is_single }, progress)?.output
}

/// The inputs added so far.
struct Added {
    sums: PartialMerge,
    /// `None` if duplicates are allowed.
    duplicates: Option<Duplicates>,
}

/// A merge of inputs into a partial merge.
struct PartialFileMerge<'a> {
    options: &'a MergeOptions,
    is_single: bool,
}

impl PartialFileMerge<'_> {
    fn empty(&self) -> PartialMerge {
        PartialMerge::new(&MergeRules::of(self.options.release), self.options.read.limits)
    }
}

impl Merge for PartialFileMerge<'_> {
    /// The partial merge, or why it cannot be created.
    type Merger = Result<Added>;
    type Worker = ();
    type Output = Result<PartialMerge>;

    fn merger(&self) -> Result<Added> {
        let duplicates = (!self.options.allow_duplicates).then(Duplicates::default);
        Ok(Added { sums: self.empty(), duplicates })
    }

    /// Reads each input into a partial merge of its own, in parallel, and appends them in order.
    fn add_input(
        &self,
        (): &mut (),
        input: &WeightedInput,
        turn: &mut InputTurn<'_, Result<Added>>,
        _: &mut InputReport,
    ) -> Result<()> {
        let mut sums = self.empty();
        let added = add_input(&mut sums, input, self.options, self.is_single);
        let merger = turn.wait()?;
        if let Ok(before) = merger
            && let Err(error) = added.and_then(|is_partial| before.append(&input.path, is_partial, sums))
        {
            *merger = Err(error);
        }
        Ok(())
    }

    fn needs_restart(&self, _: &Result<Added>) -> Result<bool> {
        Ok(false)
    }

    fn finish(self, merger: Result<Added>) -> Result<Result<PartialMerge>> {
        Ok(merger.map(|added| added.sums))
    }
}

impl Added {
    /// Appends the sums of one input.
    fn append(&mut self, path: &Path, is_partial: bool, sums: PartialMerge) -> Result<()> {
        if let Some(duplicates) = &mut self.duplicates {
            duplicates.append(Duplicates::of(path, is_partial, sums.inputs()))?;
        }
        self.sums.append(sums);
        Ok(())
    }
}

/// Writes a partial merge as a file that LLVM's tools read as the profile at its start; `profile` is the result of
/// [`finish`].
///
/// # Errors
///
/// The errors of the profile's writer and of [`output::replace`](crate::input::output::replace); unsupported for a
/// memory profile for LLVM 15.
pub fn write_file(sums: PartialMerge, profile: &Profile, options: &WriteOptions, path: &Path) -> Result<Saved> {
    refuse_open_end(profile, options)?;
    let (origins, state) = (origins(&sums), options.encode_partial(&sums, profile)?);
    drop(sums);
    // Data that the profile cannot store is in the merge state.
    let options = WriteOptions { strict: false, ..options.clone() };
    let saved = write_with(profile, &options, path, |out, write_profile| {
        crate::partial::write(out, Family::Instr, origins, &state, write_profile)
    })?;
    Ok(Saved { losses: Vec::new(), ..saved })
}

/// Rejects version 8 with memory profiles: their section extends to the end of the file, so LLVM 15 would read the
/// merge state as part of it.
fn refuse_open_end(profile: &Profile, options: &WriteOptions) -> Result<()> {
    let is_version_8 = matches!(options.format, OutputFormat::Indexed { version: 8, .. });
    if !is_version_8 || !profile.kind.contains(ProfileKind::MEMPROF) {
        return Ok(());
    }
    let what = "a partial merge with a memory profile for LLVM 15 (its section has no size)".to_string();
    Err(Error::new(ErrorKind::Unsupported { what })
        .with_hint("write the partial merge for llvm-16; choose the target when you finish the merge"))
}

/// Returns the producers of the inputs, for [`Frame::origins`].
pub(crate) fn origins(sums: &PartialMerge) -> u64 {
    evidence(sums.inputs()).to_word()
}

/// Returns the evidence of the inputs for the target release.
pub(crate) fn evidence<'i>(inputs: impl IntoIterator<Item = &'i PartialInput>) -> Evidence {
    let mut evidence = Evidence::default();
    for input in inputs.into_iter().filter(|input| input.state != InputState::Empty) {
        add_evidence(&mut evidence, input);
    }
    evidence
}

fn add_evidence(evidence: &mut Evidence, input: &PartialInput) {
    match input.origin {
        Some(InputOrigin::Raw(version)) => evidence.add_raw(u32::try_from(version).unwrap_or_default()),
        Some(InputOrigin::Indexed(version)) => evidence.add_indexed(u32::try_from(version).unwrap_or_default()),
        Some(InputOrigin::RawMemory(version)) => evidence.add_raw_memory(version),
        // The remaining case is a memory profile in YAML.
        Some(InputOrigin::Text { .. } | InputOrigin::Other) => evidence.has_unversioned = true,
        None => {}
    }
    if matches!(input.origin, Some(InputOrigin::Raw(_) | InputOrigin::Indexed(_))) {
        evidence.properties |= input.kind.map_or(ProfileKind::NONE, ProfileKind::from_bits);
    }
}

/// Adds an input to sums, which may keep the bytes of a single one. Returns true if it is a partial merge.
fn add_input(sums: &mut PartialMerge, input: &WeightedInput, options: &MergeOptions, is_single: bool) -> Result<bool> {
    let mut about = PartialInput::new(&input.path, input.weight.get());
    match read_input(sums, input, &mut about, options, is_single) {
        Ok(Some(_)) if input.weight.get() != 1 => return Err(no_weight().in_file(&input.path)),
        Ok(Some(part)) => {
            part.require_unchanged(&options.remapping).map_err(|error| error.in_file(&input.path))?;
            sums.append(part);
            return Ok(true);
        }
        Ok(None) => {}
        // A damaged partial merge is treated like any damaged input.
        Err(error) => {
            let error = error.in_file(&input.path);
            about.state = match error.kind() {
                ErrorKind::EmptyProfile => InputState::Empty,
                _ => failed(&error),
            };
            match sums.inputs_mut().last_mut().filter(|last| options.salvage && is_salvaged(last, &about)) {
                Some(last) => last.state = about.state,
                None => sums.add_unused(about),
            }
        }
    }
    Ok(false)
}

/// Returns an input that is a partial merge, or adds it to the sums.
fn read_input(
    sums: &mut PartialMerge,
    input: &WeightedInput,
    about: &mut PartialInput,
    options: &MergeOptions,
    is_single: bool,
) -> Result<Option<PartialMerge>> {
    let limits = &options.read.limits;
    let data = input.bytes(Access::Read, limits)?.into_shared();
    if let Some(frame) = Frame::find(&data, limits)? {
        // Counters stay in the file until another input changes them.
        let mut no_sums = RecordStore::new();
        no_sums.keep(data.clone());
        if is_single {
            no_sums.keep_narrow();
        }
        return decode(&frame, no_sums, limits).map(Some);
    }
    let is_alone = is_single && data.len() >= memory::LARGE;
    // The bytes of several inputs would take more memory than their sums.
    if is_alone {
        sums.keep(data.clone());
    }
    let digest = || PartialInput::digest_of(&data);
    // Several inputs are read in parallel anyway.
    let threads = if is_alone { threads::wanted(options.threads) } else { NonZeroUsize::MIN };
    std::thread::scope(|scope| {
        let digest = if threads.get() > 1 { Task::start(scope, digest) } else { Task::Deferred(digest) };
        add_profile(sums, &data, about, input, options, threads)?;
        if let Some(last) = sums.inputs_mut().last_mut().filter(|last| can_count_twice(last)) {
            last.digest = Some(digest.finish());
        }
        Ok(None)
    })
}

/// Returns true if an input has records or a memory profile.
fn can_count_twice(input: &PartialInput) -> bool {
    let has_memory = |kind: u64| ProfileKind::from_bits(kind).contains(ProfileKind::MEMPROF);
    input.records > 0 || input.kind.is_some_and(has_memory)
}

/// Reads the state of a partial merge of instrumentation profiles; `None` for other files.
///
/// # Errors
///
/// The errors of [`Frame::find`], and of a damaged state.
pub fn open(data: &[u8], limits: &Limits) -> Result<Option<PartialMerge>> {
    let frame = Frame::find(data, limits)?.filter(|frame| frame.family == Family::Instr);
    frame.map(|frame| decode(&frame, RecordStore::new(), limits)).transpose()
}

/// Returns true if the records before a fault were added as this input.
fn is_salvaged(last: &PartialInput, about: &PartialInput) -> bool {
    last.path == about.path && last.kind.is_some() && last.state == InputState::Used && last.origin == about.origin
}

/// Reads a partial merge of instrumentation profiles. `no_sums` has no records; counters stay in the file that it keeps,
/// if that contains the frame.
///
/// # Errors
///
/// Kind conflict for another family; the errors of [`PartialMerge::decode`], and of the reader of the profile.
pub(crate) fn decode(frame: &Frame<'_>, no_sums: RecordStore, limits: &Limits) -> Result<PartialMerge> {
    if frame.family != Family::Instr {
        let (found, wanted) = (frame.family.words(), Family::Instr.words());
        return Err(Error::kind_conflict(format!("a partial merge of {found}, not of {wanted}")));
    }
    let mut front = FunctionTable::new();
    no_sums.file().into_iter().for_each(|file| front.keep(file.clone()));
    // Parts in other formats have whole states.
    if frame.state_needs_profile() && frame.profile.starts_with(&indexed::MAGIC) {
        read_front(&mut front, frame.profile, limits)?;
    }
    PartialMerge::decode_after(&frame.state, front, no_sums, limits)
}

/// A function of an indexed file has at least its hash, two lengths, a FuncHash and a number of counters.
const LEAST_FUNCTION_BYTES: usize = 40;

/// Reads the counters and bitmaps of the profile in front of a state.
fn read_front(front: &mut FunctionTable, profile: &[u8], limits: &Limits) -> Result<()> {
    let mut reader = IndexedReader::new(profile, indexed::ReadOptions::new(*limits, Compat::Profbridge))?;
    // A file can claim more functions than it has room for.
    let most = profile.len() / LEAST_FUNCTION_BYTES;
    front.reserve(usize::try_from(reader.profile().len()).map_or(most, |claimed| claimed.min(most)));
    while let Some(RecordRef { name, name_ref: hash, record, .. }) = reader.next_record()? {
        // The frame has a checksum, and the writer of the profile knew the hashes of its names.
        let function = front.intern_hashed(name, hash.unwrap_or_else(|| name_ref(name)));
        if front.find_record(function, record.func_hash).is_none() {
            front.push_record(function, counts_of(record));
        }
    }
    Ok(())
}

/// Adds an ordinary profile and records its properties in `about`.
fn add_profile(
    sums: &mut PartialMerge,
    data: &[u8],
    about: &mut PartialInput,
    input: &WeightedInput,
    options: &MergeOptions,
    threads: NonZeroUsize,
) -> Result<()> {
    let mut adding = InputOptions::weighted(about.weight);
    adding.remapping = (!options.remapping.is_empty()).then_some(&options.remapping);
    adding.renames_both_forms = true;
    adding.most_name_bytes = options.read.limits.name_bytes;
    adding.cancel = input.token();
    let mut add = |reader: &mut dyn ProfileReader, origin, next| {
        (about.origin, about.kind) = (Some(origin), Some(reader.kind().bits()));
        sums.next = next;
        sums.add_reader(reader, about.clone(), &adding, &options.filter, options.salvage)
    };
    match input::detect(data) {
        Format::Raw { .. } => {
            let mut raw = options.read.raw();
            raw.threads = Some(threads);
            raw.has_one_version = true;
            let mut reader = RawReader::new(data, raw)?;
            reader.names().stay();
            let (version, records) = (reader.profile().header().version().into(), reader.profile().len());
            let is_read_ahead = threads.get() > 1 && records >= MANY_RECORDS;
            add(&mut reader, InputOrigin::Raw(version), NextInput { records, is_read_ahead })
        }
        _ if memory_profiles::is_memory_profile(data, options.read.compat) => {
            about.origin = Some(match version_of_raw_memory(data) {
                Some(version) => InputOrigin::RawMemory(version),
                None => InputOrigin::Other,
            });
            let (profile, _) = memory_profiles::read(data, &options.read.of_input(input), options.release)?;
            sums.add_memory(&profile, about.clone())
        }
        Format::Text if !options.read.compat.is_llvm() && text::is_blank(&Head::new(data)) => {
            sums.add_unused(about.clone());
            Ok(())
        }
        format => read_with(data, &options.read, threads::wanted(options.threads).get(), |reader| {
            let version = reader.version_word() & u64::from(u32::MAX); // flags are in the upper half
            let origin = match format {
                Format::Indexed => InputOrigin::Indexed(version),
                _ => InputOrigin::Text { has_colon_names: text::has_colon_names(data) },
            };
            add(reader, origin, NextInput::default())
        }),
    }
}

fn version_of_raw_memory(data: &[u8]) -> Option<u64> {
    let is_raw = input::detect(data) == Format::RawMemProf;
    let word = data.get(8..16).filter(|_| is_raw)?.try_into().ok()?;
    Some(u64::from_le_bytes(word))
}

/// Finishes the merge of all inputs of a partial merge.
///
/// # Errors
///
/// A damaged state; memory profiles that cannot be written.
pub fn finish(sums: &PartialMerge, options: &MergeOptions) -> Result<MergeReport> {
    let (Replayed { merger, left_out, .. }, report) = replay(sums, options)?;
    let (profile, losses) = options.memprof.finish(merger, options.release, options.read.compat)?;
    let rules = MergeRules::of(options.release);
    let keeps = |name: &[u8]| options.filter.keeps(name) && !left_out.contains(name);
    let repeats_memory_size = repeated_sizes(&profile, &rules, keeps).next().is_some();
    let report = MergeReport { profile, left_out, repeats_memory_size, losses, ..report };
    if report.must_weigh_new_values(options) {
        drop(report);
        return finish(sums, &options.clone().weighing_new_values());
    }
    Ok(report)
}

/// Like [`finish`], but returns the memory profile instead of encoding it as a section.
pub(crate) fn finish_memory(
    sums: &PartialMerge,
    options: &MergeOptions,
) -> Result<(Option<MergedMemory>, MergeReport)> {
    let (Replayed { mut merger, .. }, report) = replay(sums, options)?;
    let memory = merger.take_memory();
    Ok((memory, MergeReport { profile: merger.into_profile(), ..report }))
}

/// Merges all inputs of a partial merge. The report has no profile yet.
fn replay(sums: &PartialMerge, options: &MergeOptions) -> Result<(Replayed, MergeReport)> {
    let inputs: Vec<WeightedInput> = sums.inputs().iter().map(weighted).collect();
    let (mut reported, mut soft_errors) = (BTreeSet::new(), Vec::new());
    let mut replayed = sums.replay(options.merger_options(), &mut |input, function, error: SoftError| {
        let is_first = reported.insert(error);
        soft_errors.push(RecordError { input, function: function.to_vec(), error, is_first });
    })?;
    let mut reports: Vec<InputReport> =
        sums.inputs().iter().zip(&inputs).map(|(about, input)| report(about, input)).collect();
    for (number, conflict) in std::mem::take(&mut replayed.conflicts) {
        let error = match reports[number].kind {
            Some(ProfileKind::MEMPROF) => memory_profiles::conflict(conflict, &crate::memprof::Source::Raw),
            _ => conflict,
        };
        let path = reports[number].input.path.clone();
        reports[number].records = 0;
        reports[number].outcome = InputOutcome::Failed(error.in_file(path));
    }
    let memory_shares_nothing = replayed.merger.memory_shares_nothing();
    let shared_kind = replayed.merger.shared_kind().clone();
    let report = MergeReport::of(Profile::default(), reports);
    Ok((replayed, MergeReport { memory_shares_nothing, shared_kind, soft_errors, ..report }))
}

fn weighted(about: &PartialInput) -> WeightedInput {
    WeightedInput::with_weight(&about.path, NonZeroU64::new(about.weight).unwrap_or(NonZeroU64::MIN))
}

fn report(about: &PartialInput, input: &WeightedInput) -> InputReport {
    let outcome = match &about.state {
        InputState::Used => InputOutcome::Used,
        InputState::Empty => InputOutcome::Empty,
        failed => InputOutcome::Failed(remembered(failed).unwrap_or_else(unknown_failure)),
    };
    let mut report = InputReport::new(input, outcome);
    report.version = about.origin.and_then(|origin| match origin {
        InputOrigin::Raw(version) => Some(InputVersion::Raw(version)),
        InputOrigin::Indexed(version) => Some(InputVersion::Indexed(version)),
        InputOrigin::Text { has_colon_names } => Some(InputVersion::Text { has_colon_names }),
        InputOrigin::RawMemory(_) | InputOrigin::Other => None,
    });
    (report.records, report.kind) = (about.records, about.kind.map(ProfileKind::from_bits));
    report.warnings = about.warnings().collect();
    report
}
