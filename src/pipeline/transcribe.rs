//! The text of one indexed file, written from its bytes.
//!
//! A merge of a single file that holds every function once changes nothing but
//! the order of records and of values, so the profile need not be built in
//! memory first. Whatever is unusual about the file is left to the merge.

use super::encode::{OutputFormat, WriteOptions};
use super::merge::MergeOptions;
use crate::error::Result;
use crate::indexed::{self, Entry, IndexedProfile};
use crate::input::{Access, Format, WeightedInput, output};
use crate::instr::name_order::name_order;
use crate::instr::{FunctionRecord, ProfileKind, RecordView, Release, SymbolTable, ValueKind};
use crate::merge::{MergeRules, Merger, repeats_size, sort_record_sites};
use crate::text;
use std::path::Path;

/// Writes the text of a single indexed file as llvm-profdata's merge does, and
/// as [`merge_files`](super::merge_files) and [`write_file`](super::write_file)
/// would. `false` when that has to be left to them: anything but one sound
/// indexed file, all of it wanted, as text.
///
/// Calls `repeats_memory_size` before it writes a file of which
/// [`MergeReport::repeats_memory_size`](super::MergeReport::repeats_memory_size)
/// would say so.
///
/// # Errors
///
/// As [`output::replace`].
pub fn transcribe(
    inputs: &[WeightedInput],
    merge: &MergeOptions,
    write: &WriteOptions,
    path: &Path,
    repeats_memory_size: impl FnOnce(),
) -> Result<bool> {
    let (OutputFormat::Text { release }, [input]) = (write.format, inputs) else { return Ok(false) };
    // How names and values are ordered is known here for one release.
    if release != Release::DEFAULT || merge.release != release {
        return Ok(false);
    }
    let takes_all = merge.filter.is_none() && write.filter.is_none() && !write.sparse && merge.remapping.is_empty();
    let is_plain = merge.read.compat.is_llvm() && write.compat.is_llvm() && !write.strict;
    if !takes_all || !is_plain || input.weight.get() != 1 || input.is_pipe() {
        return Ok(false);
    }
    if !matches!(input.format(), Ok(Format::Indexed)) {
        return Ok(false);
    }
    let Ok(bytes) = input.stored_bytes(Access::Read, &merge.read.limits) else { return Ok(false) };
    let Some(content) = Content::read(&bytes, merge) else { return Ok(false) };
    let source = text::Source {
        kind: content.kind,
        symbols: &content.symbols,
        functions: content.order.len(),
        each: &|at, push| content.hand_out(at, push),
    };
    if content.repeats_memory_size {
        repeats_memory_size();
    }
    output::replace_with(path, |out| text::write_source(&source, release, write.threads(), out))?;
    Ok(true)
}

/// The content of a file, still encoded.
struct Content<'data> {
    kind: ProfileKind,
    entries: Vec<Entry<'data>>,
    /// Indexes into `entries` in the order of the names.
    order: Vec<u32>,
    symbols: SymbolTable,
    repeats_memory_size: bool,
}

impl<'data> Content<'data> {
    /// Looks the file through; `None` when something is wrong or unusual.
    fn read(file: &'data [u8], merge: &MergeOptions) -> Option<Self> {
        let options = indexed::ReadOptions::new(merge.read.limits, merge.read.compat);
        let profile = IndexedProfile::read(file, options).ok()?;
        if profile.kind().contains(ProfileKind::TEMPORAL) || !profile.vtable_names().ok()?.is_empty() {
            return None;
        }
        let mut merger = Merger::new(merge.merger_options());
        merger.begin_input(profile.kind()).ok()?;
        let mut values = Values::new(merge.release);
        let mut entries = Vec::new();
        for entry in profile.entries() {
            let entry = entry.ok()?;
            let len = entry.name.len() as u64;
            if len == 0 || len > merge.read.limits.name_bytes {
                return None;
            }
            if entry.records.has_value_sites() || entry.records.len() > 1 {
                values.look_at(&entry)?;
            }
            entries.push(entry);
        }
        let count = u32::try_from(entries.len()).ok()?;
        let name = |at: u32| entries[at as usize].name;
        let order = name_order(count, name);
        if !order.is_sorted_by(|one, other| name(*one) < name(*other)) {
            return None;
        }
        let mut symbols = SymbolTable::new();
        if values.name_something {
            for at in &order {
                symbols.insert(name(*at));
            }
        }
        let repeats_memory_size = values.repeat_a_size;
        Some(Self { kind: merger.kind(), entries, order, symbols, repeats_memory_size })
    }

    fn hand_out(&self, at: usize, push: &mut dyn FnMut(&[u8], RecordView<'_>)) {
        let entry = &self.entries[self.order[at] as usize];
        // Sound from end to end: that was found out when the file was looked through.
        let mut records = decode(entry).unwrap_or_default();
        records.sort_by_key(|record| record.func_hash);
        for record in &mut records {
            sort_record_sites(record);
            push(entry.name, record.view());
        }
    }
}

/// What the values of a file ask for.
struct Values {
    rules: MergeRules,
    /// Some value stands for a name.
    name_something: bool,
    /// Some site lists a memory size twice.
    repeat_a_size: bool,
}

impl Values {
    fn new(release: Release) -> Self {
        Self { rules: MergeRules::of(release), name_something: false, repeat_a_size: false }
    }

    /// `None` when a FuncHash stands twice: records that have to be merged.
    fn look_at(&mut self, entry: &Entry<'_>) -> Option<()> {
        let mut records = decode(entry).ok()?;
        for record in &mut records {
            sort_record_sites(record);
            self.repeat_a_size |= repeats_size(record.view(), &self.rules);
            self.name_something |=
                ValueKind::ALL.iter().any(|kind| kind.is_name() && record.sites(*kind).values_len() != 0);
        }
        records.sort_by_key(|record| record.func_hash);
        records.is_sorted_by(|one, other| one.func_hash < other.func_hash).then_some(())
    }
}

fn decode(entry: &Entry<'_>) -> Result<Vec<FunctionRecord>> {
    let mut encoded = entry.records.clone();
    let mut records = Vec::with_capacity(encoded.len());
    let mut record = FunctionRecord::default();
    while encoded.next_into(&mut record)? {
        records.push(std::mem::take(&mut record));
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::Compat;
    use crate::instr::Profile;
    use crate::pipeline::{Silent, encode, merge_files};
    use proptest::prelude::*;
    use std::num::NonZeroUsize;
    use std::path::PathBuf;

    fn options() -> (MergeOptions, WriteOptions) {
        let (mut merge, mut write) = (MergeOptions::default(), WriteOptions::default());
        merge.read.compat = Compat::Llvm22;
        write.compat = Compat::Llvm22;
        write.format = OutputFormat::Text { release: merge.release };
        (merge, write)
    }

    /// The text and whether a size repeats; `None` when it is not transcribed.
    fn transcribed(input: &Path, threads: usize) -> Option<(Vec<u8>, bool)> {
        let (merge, mut write) = options();
        write.threads = NonZeroUsize::new(threads);
        let output = tempfile::NamedTempFile::new().unwrap();
        let mut repeats = false;
        let inputs = [WeightedInput::new(input)];
        let done = transcribe(&inputs, &merge, &write, output.path(), || repeats = true).unwrap();
        done.then(|| (std::fs::read(output.path()).unwrap(), repeats))
    }

    fn merged(input: &Path) -> Option<(Vec<u8>, bool)> {
        let (merge, write) = options();
        let report = merge_files(&[WeightedInput::new(input)], &merge, &mut Silent).unwrap();
        report.verdict(&merge).ok()?;
        assert!(report.inputs[0].warnings.is_empty());
        let encoded = encode(&report.profile, &write).unwrap();
        assert!(encoded.stopped.is_none());
        Some((encoded.bytes, report.repeats_memory_size))
    }

    fn indexed_files(folder: &str) -> Vec<PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(folder);
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "profdata"));
        files.sort();
        files
    }

    #[test]
    fn what_is_transcribed_is_what_a_merge_writes() {
        let mut count = 0;
        for folder in ["raw", "bad", "merge/clang-13", "merge/clang-14", "merge/clang-19", "merge/clang-22"] {
            for file in indexed_files(folder) {
                if let Some(text) = transcribed(&file, 2) {
                    assert_eq!(Some(text), merged(&file), "{}", file.display());
                    count += 1;
                }
            }
        }
        assert!(count >= 20, "{count} files were transcribed");
    }

    fn written(profile: &Profile) -> Vec<u8> {
        indexed::write(profile, &indexed::WriteOptions::default()).unwrap()
    }

    fn on_disk(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    /// Functions with one record or two, of which some have values.
    fn profile(functions: u64) -> Profile {
        let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
        for index in 0..functions {
            let function = profile.functions.intern(format!("function{index:04}").as_bytes());
            for hash in (0..=index % 3).rev() {
                let mut record = FunctionRecord::new(hash, vec![index, index << 40, 0]);
                if index % 4 == 1 {
                    let target = crate::instr::name_ref(b"function0002");
                    let values =
                        [(target, 1), (7, index)].map(|(value, count)| crate::instr::ValueCount { value, count });
                    record.sites_mut(ValueKind::IndirectCallTarget).push_site(&values);
                    record.sites_mut(ValueKind::MemOpSize).push_site(&values[1..]);
                }
                profile.functions.push_record(function, &record);
            }
        }
        profile
    }

    #[test]
    fn several_records_and_values_are_as_a_merge_leaves_them() {
        let file = on_disk(&written(&profile(1000)));
        let expected = merged(file.path());
        assert!(expected.is_some());
        for threads in [1, 2, 5] {
            assert!(transcribed(file.path(), threads) == expected, "{threads} threads");
        }
    }

    #[test]
    fn what_has_to_be_merged_is_left_to_the_merge() {
        let bytes = written(&profile(2));
        let at = bytes.windows(12).position(|name| name == b"function0001").unwrap();
        let mut twice = bytes.clone();
        twice[at + 11] = b'0';
        assert_eq!(transcribed(on_disk(&twice).path(), 1), None);
        assert!(transcribed(on_disk(&bytes).path(), 1).is_some());
        let (merge, mut write) = options();
        let file = on_disk(&bytes);
        let mut inputs = vec![WeightedInput::new(file.path())];
        write.sparse = true;
        assert!(!transcribe(&inputs, &merge, &write, Path::new("/no/such/folder/out"), || ()).unwrap());
        write.sparse = false;
        inputs.push(inputs[0].clone());
        assert!(!transcribe(&inputs, &merge, &write, Path::new("/no/such/folder/out"), || ()).unwrap());
        assert!(transcribe(&inputs[..1], &merge, &write, Path::new("/no/such/folder/out"), || ()).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn a_damaged_file_is_transcribed_as_it_is_merged_or_not_at_all(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = written(&profile(12));
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let file = on_disk(&bytes);
            if let Some(text) = transcribed(file.path(), 1) {
                prop_assert_eq!(Some(text), merged(file.path()));
            }
        }
    }
}
