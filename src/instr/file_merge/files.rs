//! The merge of many files into one profile.

use crate::driver;
use crate::driver::{InputOutcome, InputReport, InputTurn, InputVersion, Merge, Merged, OnProgress};
use crate::error::{Error, ErrorKind, Result};
use crate::indexed::IndexedReader;
use crate::input::{Access, Format, Input, WeightedInput};
use crate::instr::cross_release::CrossReleaseOptions;
use crate::instr::encode::WriteOptions;
use crate::instr::file_merge::input_merge::InputMerge;
use crate::instr::file_merge::options::MergeOptions;
use crate::instr::file_merge::report::{MergeReport, RecordError};
use crate::instr::file_merge::single_file::SingleFile;
use crate::instr::file_merge::state::{FileMerge, Images, MergedFiles, Sums, Worker};
use crate::instr::partial::files::{finish, merge_partially};
use crate::instr::{InputOptions, MergeRules, Merger, SoftError, repeated_sizes};
use crate::limits::Limits;
use crate::memory::{self, HOLD_SUMS};
use crate::model::{FunctionTable, Profile, ProfileReader, RecordId};
use crate::partial::Frame;
use std::collections::BTreeSet;
use std::sync::PoisonError;

/// Merges inputs in order.
///
/// The report contains the faults of single inputs. [`MergeReport::verdict`] decides whether the result can be used
/// despite them.
///
/// # Errors
///
/// Only faults that make all further steps pointless, such as too little memory; a damaged input is not such a fault.
/// Cancelled by `options.cancel`.
pub fn merge_files(inputs: &[WeightedInput], options: &MergeOptions, progress: OnProgress<'_>) -> Result<MergeReport> {
    let is_own = !options.read.compat.is_llvm();
    if is_own && inputs.iter().any(WeightedInput::is_partial) {
        return finish(&merge_partially(inputs, options, progress)?, options);
    }
    let Merged { output: MergedFiles { merger, soft_errors }, inputs: reports } =
        driver::merge(inputs, &options.run(), |job| FileMerge::new(job, options), &mut *progress)?;
    let memory_shares_nothing = merger.memory_shares_nothing();
    let shared_kind = merger.shared_kind().clone();
    let (profile, losses) = options.memprof.finish(merger, options.release, options.read.compat)?;
    let rules = MergeRules::of(options.release);
    let repeats_memory_size = repeated_sizes(&profile, &rules, |name| options.filter.keeps(name)).next().is_some();
    let rest = MergeReport::of(profile, reports);
    let report = MergeReport { repeats_memory_size, losses, memory_shares_nothing, shared_kind, soft_errors, ..rest };
    if report.must_weigh_new_values(options) {
        drop(report);
        return merge_files(inputs, &options.clone().weighing_new_values(), progress);
    }
    Ok(report)
}

impl Merge for FileMerge<'_> {
    type Merger = Sums;
    type Worker = Worker;
    type Output = MergedFiles;

    fn merger(&self) -> Sums {
        let merger = Merger::new(self.options.merger_options());
        let (values_out, evicted) = (None, Vec::new());
        Sums { merger, values_out, evicted, bound: 0, has_image_sums: false, has_uniformity: false }
    }

    fn add_input(
        &self,
        worker: &mut Worker,
        input: &Input,
        turn: &mut InputTurn<'_, Sums>,
        report: &mut InputReport,
    ) -> Result<()> {
        let place = turn.place();
        let added = InputMerge::new(self, input, turn, report).run(worker);
        if let Some(mut images) = self.images() {
            images.passed(place);
        }
        if added.is_ok() && !turn.is_passed() {
            turn.wait()?.flush_evicted();
        }
        added
    }

    fn needs_restart(&self, sums: &Sums) -> Result<bool> {
        if sums.merger.is_out_of_memory() {
            return Err(memory::refused(HOLD_SUMS));
        }
        // Pending image sums must not be added too late if counts saturate, or if uniformity is weighted by counts.
        Ok(sums.has_image_sums && (sums.has_uniformity || sums.bound > 1 << 63))
    }

    fn finish(self, mut sums: Sums) -> Result<MergedFiles> {
        sums.restore_value_sites(None);
        let images = self.images.map(|images| images.into_inner().unwrap_or_else(PoisonError::into_inner));
        let known = images.map(Images::into_known).unwrap_or_default();
        sums.evicted.iter().chain(&known).for_each(|known| known.flush(&mut sums.merger));
        if sums.merger.is_out_of_memory() {
            return Err(memory::refused(HOLD_SUMS));
        }
        let mut soft_errors = self.soft_errors.into_inner().unwrap_or_else(PoisonError::into_inner);
        soft_errors.sort_by_key(|(place, ..)| *place);
        let soft_errors = with_names(soft_errors, sums.merger.functions());
        Ok(MergedFiles { merger: sums.merger, soft_errors })
    }
}

/// Adds the names of the functions to soft errors, which have the position of their input and their record.
fn with_names(errors: Vec<(usize, RecordId, SoftError)>, functions: &FunctionTable) -> Vec<RecordError> {
    if errors.is_empty() {
        return Vec::new();
    }
    let (names, mut seen) = (names_of_records(functions), BTreeSet::new());
    let name = |(input, record, error): (usize, RecordId, SoftError)| {
        let function = names[record.index()].to_vec();
        RecordError { input, function, error, is_first: seen.insert(error) }
    };
    errors.into_iter().map(name).collect()
}

/// Returns the name of each record's function.
fn names_of_records(functions: &FunctionTable) -> Vec<&[u8]> {
    let mut names = vec![&[][..]; functions.records_len()];
    for function in functions.iter() {
        function.record_ids().for_each(|record| names[record.index()] = function.name());
    }
    names
}

/// Returns the result of [`merge_files`](crate::families::merge_files) for one valid indexed file whose functions can
/// stay in it, because the result is then [written](MergeReport::write_file) completely as text with the options
/// `write`, after it got the names and hashes that the target in `crossing` computes. Returns `None` for other inputs.
pub fn leave_in_file(
    inputs: &[WeightedInput],
    options: &MergeOptions,
    write: &WriteOptions,
    crossing: Option<&CrossReleaseOptions>,
) -> Option<MergeReport> {
    let [input] = inputs else { return None };
    let takes_all = options.filter.is_none() && options.remapping.is_empty() && input.weight.get() == 1;
    let is_text = write.release_of_whole_text().is_some_and(|release| release == options.release);
    // LLVM does not count data that text cannot store.
    let counts_losses = write.compat.is_llvm() && write.strict;
    if !takes_all || !is_text || !SingleFile::is_for(options.release) || counts_losses || input.is_pipe() {
        return None;
    }
    if !matches!(input.format(), Ok(Format::Indexed)) {
        return None;
    }
    let size = std::fs::metadata(&input.path).ok()?.len();
    let bytes = input.stored_bytes(Access::Read, &options.read.limits).ok()?;
    let is_partial = !options.read.compat.is_llvm() && Frame::is_at_end_of(&bytes);
    if bytes.len() as u64 != size || is_partial {
        return None;
    }
    let file = SingleFile::scan(bytes, options, crossing)?;
    let mut report = rest_of(&file, input, options)?;
    (report.repeats_memory_size, report.file) = (file.repeats_memory_size(), Some(file));
    Some(report)
}

/// Returns the result of merging the file, without functions.
fn rest_of(file: &SingleFile, input: &Input, options: &MergeOptions) -> Option<MergeReport> {
    let mut reader = IndexedReader::new(file.bytes(), file.reading()).ok()?;
    let mut merger = Merger::new(options.merger_options());
    merger.begin_input(reader.kind()).ok()?;
    let mut adding = InputOptions::default();
    adding.takes_memprof = !options.read.compat.is_llvm();
    merger.add_rest(&mut reader, &adding, Ok(())).ok()?;
    let mut report = InputReport::new(input, InputOutcome::Used);
    report.version = Some(InputVersion::Indexed(reader.version_word()));
    (report.kind, report.records) = (Some(reader.kind()), file.records_len() as u64);
    report.warnings = reader.take_warnings();
    let (profile, losses) = options.memprof.finish(merger, options.release, options.read.compat).ok()?;
    Some(MergeReport { losses, ..MergeReport::of(profile, vec![report]) })
}

// Reading a whole instrumentation profile of any format.

/// Reads a whole profile with the result that a merge of this file alone has.
pub(crate) fn read_profile(input: &Input, limits: &Limits) -> Result<Profile> {
    let mut options = MergeOptions::default();
    options.read.limits = *limits;
    options.keep_vtable_names = true;
    let mut report = merge_files(std::slice::from_ref(input), &options, &mut |_, _| {})?;
    for merged in &mut report.inputs {
        match std::mem::replace(&mut merged.outcome, InputOutcome::Used) {
            InputOutcome::Failed(error) => return Err(error),
            InputOutcome::Empty => return Err(Error::new(ErrorKind::EmptyProfile).in_file(&input.path)),
            InputOutcome::Used | InputOutcome::NotAProfile | InputOutcome::NotReached => {}
        }
    }
    Ok(report.profile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::{Encoding, Endian, PointerWidth};
    use crate::compat::Compat;
    use crate::driver::{FactsRequest, FailureMode};
    use crate::instr::cross_release::apply::cross;
    use crate::instr::encode::OutputFormat;
    use crate::model::{FunctionRecord, Profile, ProfileKind, Release, ValueCount, ValueKind};
    use crate::{indexed, raw};
    use proptest::prelude::*;
    use std::num::NonZeroUsize;
    use std::path::{Path, PathBuf};

    /// Merges files, and leaves functions in the only one if possible.
    fn merge_for_output(
        inputs: &[WeightedInput],
        options: &MergeOptions,
        write: &WriteOptions,
        crossing: Option<&CrossReleaseOptions>,
    ) -> MergeReport {
        let report = leave_in_file(inputs, options, write, crossing);
        report.unwrap_or_else(|| merge_files(inputs, options, &mut |_, _| {}).unwrap())
    }

    /// Both modes, and releases with the rules of 22.
    const WAYS: [(Compat, u32); 4] =
        [(Compat::Llvm22, 22), (Compat::InPlaceOfLlvm22, 22), (Compat::Profbridge, 22), (Compat::Profbridge, 19)];

    fn options((compat, release): (Compat, u32)) -> (MergeOptions, WriteOptions) {
        let (mut merge, mut write) = (MergeOptions::default(), WriteOptions::default());
        (merge.read.compat, merge.release) = (compat, Release(release));
        (merge.failure_mode, merge.keep_vtable_names) = (FailureMode::Warn, !compat.is_llvm());
        write.compat = compat;
        write.format = OutputFormat::Text { release: merge.release };
        (merge, write)
    }

    /// Returns the adaptation to the release, unless it is llvm-profdata's own.
    fn crossing((compat, release): (Compat, u32)) -> Option<CrossReleaseOptions> {
        let version = Release(release).indexed_version().unwrap();
        (!compat.is_llvm()).then(|| CrossReleaseOptions::new(Release(release), version, Default::default()))
    }

    /// Returns everything that is reported and written of a result.
    fn outcome(mut report: MergeReport, way: (Compat, u32), threads: usize) -> String {
        let (mut merge, mut write) = options(way);
        write.threads = NonZeroUsize::new(threads);
        let mut wanted = FactsRequest::default();
        wanted.total_count = true;
        let facts = report.facts(&write, &merge.read.limits, wanted).unwrap();
        let origins = report.origins();
        let of_input = |input: &InputReport| {
            format!("{:?} {:?} {} {:?} {:?}", input.outcome, input.version, input.records, input.kind, input.warnings)
        };
        let inputs: Vec<String> = report.inputs.iter().map(of_input).collect();
        let findings = crossing(way).map(|mut options| {
            options.origins = origins;
            let crossed = cross(&mut report.profile, &mut merge.filter, &options, false).unwrap();
            write.format = OutputFormat::Text { release: crossed.release };
            format!("{:?}", crossed.findings)
        });
        let output = tempfile::NamedTempFile::new().unwrap();
        let saved = report.write_file(&write, output.path()).unwrap();
        assert!(saved.stopped.is_none());
        let text = std::fs::read(output.path()).unwrap();
        format!(
            "{facts:?} {origins:?} {inputs:?} {findings:?} {:?} {:?} {} {}",
            saved.losses,
            report.losses,
            report.repeats_memory_size,
            text.escape_ascii()
        )
    }

    /// Returns `None` if the functions are not left in the file.
    fn from_file(input: &Path, way: (Compat, u32), threads: usize) -> Option<String> {
        let (merge, write) = options(way);
        let crossing = crossing(way);
        let inputs = [WeightedInput::new(input)];
        let report = merge_for_output(&inputs, &merge, &write, crossing.as_ref());
        report.file.is_some().then(|| outcome(report, way, threads))
    }

    fn merged(input: &Path, way: (Compat, u32)) -> String {
        let report = merge_files(&[WeightedInput::new(input)], &options(way).0, &mut |_, _| {}).unwrap();
        outcome(report, way, 1)
    }

    fn indexed_files(folder: &str) -> Vec<PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(folder);
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "profdata"));
        files.sort();
        files
    }

    #[test]
    fn a_single_file_gives_the_result_of_a_merge() {
        for way in WAYS {
            let mut count = 0;
            for folder in
                ["raw", "bad", "memprof", "merge/clang-13", "merge/clang-14", "merge/clang-19", "merge/clang-22"]
            {
                for file in indexed_files(folder) {
                    if let Some(outcome) = from_file(&file, way, 2) {
                        assert_eq!(outcome, merged(&file, way), "{} {way:?}", file.display());
                        count += 1;
                    }
                }
            }
            assert!(count >= 20, "{count} files were written without a merge, {way:?}");
        }
    }

    fn written(profile: &Profile) -> Vec<u8> {
        indexed::write(profile, &indexed::WriteOptions::default()).unwrap()
    }

    fn on_disk(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    /// Returns functions with one or two records, some of which have values.
    fn profile(functions: u64) -> Profile {
        let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
        for index in 0..functions {
            let function = profile.functions.intern(format!("function{index:04}").as_bytes());
            for hash in (0..=index % 3).rev() {
                let mut record = FunctionRecord::new(hash, vec![index, index << 40, 0]);
                if index % 4 == 1 {
                    let target = crate::model::name_ref(b"function0002");
                    let values = [(target, 1), (7, index)].map(|(value, count)| ValueCount { value, count });
                    record.sites_mut(ValueKind::IndirectCallTarget).push_site(&values);
                    record.sites_mut(ValueKind::MemOpSize).push_site(&values[1..]);
                }
                profile.functions.push_record(function, &record);
            }
        }
        profile
    }

    /// Returns a raw file whose second record repeats the name and FuncHash of the first.
    fn raw_with_a_repeated_record() -> Vec<u8> {
        let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
        for index in 0..3000 {
            let function = profile.functions.intern(format!("function{index:04}").as_bytes());
            profile.functions.push_record(function, &FunctionRecord::new(index, vec![index; 200]));
        }
        let encoding = Encoding { version: 10, endian: Endian::Little, pointer: PointerWidth::Bits64 };
        let mut bytes = raw::write(&profile, &raw::WriteOptions::new(encoding)).unwrap();
        let at = |hash: u64| bytes.windows(8).position(|word| word == hash.to_le_bytes()).unwrap();
        let [first, second] = [b"function0000", b"function0001"].map(|name| at(crate::model::name_ref(name)));
        bytes.copy_within(first..first + 16, second);
        bytes
    }

    #[test]
    fn counters_that_stay_in_a_raw_file_are_those_of_a_merge() {
        let file = on_disk(&raw_with_a_repeated_record());
        let mut inputs = [WeightedInput::new(file.path())];
        for way in WAYS {
            for threads in [1, 2] {
                let (mut merge, write) = options(way);
                merge.threads = NonZeroUsize::new(threads);
                let report = merge_for_output(&inputs, &merge, &write, None);
                let table = &report.profile.functions;
                assert_eq!((table.len(), table.records_len()), (2999, 2999));
                let pieces: Vec<&[u64]> = table.counter_blocks().map(|piece| piece.as_words().unwrap()).collect();
                assert!(pieces.len() == 2999 && pieces.iter().all(|piece| piece.len() == 200));
                // The second record was added to the first one. The others are adjacent, as in the file.
                let is_next = |pair: &[&[u64]]| std::ptr::addr_eq(pair[0].as_ptr_range().end, pair[1].as_ptr());
                assert!(!is_next(&pieces[..2]) && pieces[1..].windows(2).all(is_next));
                assert_eq!(table.find(b"function0000").unwrap().records().next().unwrap().counters, [1; 200]);
                assert_eq!(outcome(report, way, threads), merged(file.path(), way));
            }
        }
        // Weighted counters are copied.
        inputs[0].weight = 3.try_into().unwrap();
        let (merge, write) = options(WAYS[0]);
        let weighted = merge_for_output(&inputs, &merge, &write, None);
        assert!(weighted.profile.functions.counter_blocks().count() < 10);
        assert_eq!(
            weighted.profile.functions.find(b"function0007").unwrap().records().next().unwrap().counters,
            [21; 200]
        );
    }

    #[test]
    fn several_records_and_values_are_as_a_merge_leaves_them() {
        let file = on_disk(&written(&profile(1000)));
        for way in WAYS {
            for threads in [1, 2, 5] {
                assert!(from_file(file.path(), way, threads).is_some_and(|found| found == merged(file.path(), way)));
            }
        }
    }

    #[test]
    fn names_are_fixed_for_text_in_profbridge_mode() {
        let mut profile = profile(3);
        for name in ["#comment", ":ir", "$5", "17", "line\nend"] {
            let function = profile.functions.intern(name.as_bytes());
            profile.functions.push_record(function, &FunctionRecord::new(5, vec![1, 2]));
        }
        let file = on_disk(&written(&profile));
        for way in WAYS {
            assert_eq!(from_file(file.path(), way, 1), Some(merged(file.path(), way)));
        }
    }

    #[test]
    fn names_of_both_releases_are_merged_in_profbridge_mode() {
        let mut profile = profile(3);
        for name in ["a.c;f", "a.c:f"] {
            let function = profile.functions.intern(name.as_bytes());
            profile.functions.push_record(function, &FunctionRecord::new(5, vec![1, 2]));
        }
        let file = on_disk(&written(&profile));
        for way in WAYS {
            assert_eq!(from_file(file.path(), way, 1).is_some(), way.0.is_llvm());
        }
    }

    #[test]
    fn files_with_duplicates_are_merged() {
        let bytes = written(&profile(2));
        let at = bytes.windows(12).position(|name| name == b"function0001").unwrap();
        let mut twice = bytes.clone();
        twice[at + 11] = b'0';
        let file = on_disk(&bytes);
        for way in WAYS {
            assert_eq!(from_file(on_disk(&twice).path(), way, 1), None);
            assert!(from_file(file.path(), way, 1).is_some());
            let (merge, mut write) = options(way);
            let mut inputs = vec![WeightedInput::new(file.path())];
            let stays = |inputs: &[WeightedInput], write: &WriteOptions| {
                merge_for_output(inputs, &merge, write, None).file.is_some()
            };
            assert!(stays(&inputs, &write));
            write.sparse = true;
            assert!(!stays(&inputs, &write));
            write.sparse = false;
            inputs.push(inputs[0].clone());
            assert!(!stays(&inputs, &write));
        }
    }

    #[test]
    fn a_result_in_a_file_is_written_as_it_was_asked_for_only() {
        let file = on_disk(&written(&profile(2)));
        let (merge, write) = options(WAYS[2]);
        let inputs = [WeightedInput::new(file.path())];
        let report = merge_for_output(&inputs, &merge, &write, None);
        let output = tempfile::NamedTempFile::new().unwrap();
        assert!(report.write_file(&WriteOptions::default(), output.path()).is_err());
        assert!(report.write_file(&write, Path::new("/no/such/folder/out")).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn a_damaged_file_is_written_as_it_is_merged_or_left_to_the_merge(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = written(&profile(12));
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let file = on_disk(&bytes);
            for way in [WAYS[0], WAYS[2]] {
                if let Some(outcome) = from_file(file.path(), way, 1) {
                    prop_assert_eq!(outcome, merged(file.path(), way));
                }
            }
        }
    }
}
