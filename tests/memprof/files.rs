//! Tests with the files in `testdata/memprof`.

use profbridge::families::{self, MergeOptions, OutputFormat, WriteOptions, encode};
use profbridge::indexed::{IndexedProfile, ReadOptions as IndexedOptions};
use profbridge::input::WeightedInput;
use profbridge::instr::Release;
use profbridge::memprof::HotnessThresholds;
use profbridge::memprof::indexed::StoredProfile;
use profbridge::memprof::raw::{self, Program, Programs, RawMemProf};
use profbridge::memprof::yaml::{self, Comments, EmptySites};
use profbridge::memprof::{self, DataAccessRecord, MemoryProfile, Schema};
use profbridge::{Compat, Limits};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/memprof")
}

/// Returns the file stems of a release's profiles, such as `clang-22-plain`.
pub fn stems(release: u32) -> Vec<PathBuf> {
    let prefix = format!("clang-{release}-");
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let is_raw = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "memprofraw");
    let mut stems: Vec<PathBuf> = entries.filter(is_raw).map(|path| path.with_extension("")).collect();
    stems.retain(|stem| stem.file_name().unwrap().to_string_lossy().starts_with(&prefix));
    stems.sort();
    assert!(!stems.is_empty(), "no file of release {release}");
    stems
}

pub fn file(stem: &Path, extension: &str) -> PathBuf {
    PathBuf::from(format!("{}.{extension}", stem.display()))
}

/// Returns the options for merging raw profiles of a program.
pub fn options(stem: &Path, release: u32, version: Option<u32>) -> MergeOptions {
    let mut options = MergeOptions::default();
    options.release = Release(release);
    options.read.programs = Arc::new(Programs::new(vec![file(stem, "binary")], &Limits::default()));
    options.memprof.version = version;
    options
}

/// Returns the indexed file of a merge.
pub fn merged(inputs: &[PathBuf], options: &MergeOptions) -> Vec<u8> {
    let inputs: Vec<WeightedInput> = inputs.iter().map(WeightedInput::new).collect();
    let report = families::merge_files(&inputs, options, &mut |_, _| {}).unwrap();
    report.verdict(options).unwrap_or_else(|_| panic!("{:?}", report.failures().collect::<Vec<_>>()));
    let mut write = WriteOptions::default();
    let version = options.release.indexed_version().unwrap();
    write.format = OutputFormat::Indexed { release: options.release, version };
    encode(&report.profile, &write).unwrap().bytes
}

/// Returns the memory profile of an indexed file.
pub fn stored(bytes: &[u8]) -> StoredProfile {
    let section = IndexedProfile::read(bytes, IndexedOptions::default()).unwrap().memprof().unwrap().unwrap();
    memprof::indexed::read(&section.bytes, section.offset, &Limits::default()).unwrap()
}

fn resolved(stem: &Path) -> (RawMemProf<'static>, raw::Resolved) {
    let bytes = std::fs::read(file(stem, "memprofraw")).unwrap().leak();
    let raw = RawMemProf::read(bytes, &Limits::default()).unwrap();
    let program = Arc::new(Program::open(&file(stem, "binary"), &Limits::default()).unwrap());
    let resolved = raw::resolve(&raw, &[program], Release::DEFAULT).unwrap();
    (raw, resolved)
}

#[test]
fn raw_profiles_become_the_bytes_of_each_releases_tool() {
    for (release, versions) in [(16, 0..=0), (17, 0..=0), (18, 0..=0), (19, 0..=3), (22, 2..=4)] {
        for stem in stems(release) {
            for version in versions.clone() {
                let golden = std::fs::read(file(&stem, &format!("v{version}.profdata"))).unwrap();
                let ours = merged(&[file(&stem, "memprofraw")], &options(&stem, release, Some(version)));
                assert!(ours == golden, "{} version {version}", stem.display());
            }
        }
    }
}

#[test]
fn each_release_has_its_version_of_raw_profiles() {
    for (release, version) in [(16, 2), (17, 3), (18, 3), (19, 4), (22, 5)] {
        for stem in stems(release) {
            let (raw, resolved) = resolved(&stem);
            assert_eq!(raw.version, version, "{}", stem.display());
            assert!(resolved.stacks > 20, "{}: {} stacks", stem.display(), resolved.stacks);
        }
    }
}

#[test]
fn raw_profiles_are_printed_as_release_22_prints_them() {
    for stem in stems(22) {
        let (raw, resolved) = resolved(&stem);
        let mut text = Vec::new();
        raw::show(&raw, &resolved.profile, resolved.stacks, &HotnessThresholds::default(), &mut text).unwrap();
        let golden = std::fs::read_to_string(file(&stem, "show")).unwrap();
        // LLVM prints a pointer of the ended process here.
        let without_pointers = |text: &str| {
            let lines =
                text.lines().map(|line| line.split_once("AccessHistogram: ").map_or(line, |(before, _)| before));
            lines.collect::<Vec<_>>().join("\n")
        };
        assert_eq!(
            without_pointers(&String::from_utf8(text).unwrap()),
            without_pointers(&golden),
            "{}",
            stem.display()
        );
    }
}

#[test]
fn sections_are_printed_as_release_22_prints_them() {
    for stem in stems(22) {
        let golden = std::fs::read_to_string(file(&stem, "yaml")).unwrap();
        let stored = stored(&std::fs::read(file(&stem, "v4.profdata")).unwrap());
        let mut text = Vec::new();
        yaml::write(&stored.profile, Comments::Summary(stored.summary.unwrap()), EmptySites::Omitted, &mut text)
            .unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), golden, "{}", stem.display());
        // The printed output reads back to the same data.
        let again = yaml::read(golden.as_bytes(), Compat::Profbridge, &Limits::default()).unwrap();
        assert_eq!(facts(&again), facts(&stored.profile));
    }
}

/// Returns the data of a profile independent of its order, one line per site.
pub fn facts(profile: &MemoryProfile) -> Vec<String> {
    let stack = |handle| profile.stacks.frames_of(handle).collect::<Vec<_>>();
    let mut facts = Vec::new();
    for record in profile.records() {
        for site in &record.alloc_sites {
            let numbers: Vec<u64> = Schema::HOT_COLD.fields().map(|field| site.info.value(field)).collect();
            facts.push(format!("{:x} allocates {numbers:?} {:?}", record.function, stack(site.stack)));
        }
        for site in &record.call_sites {
            facts.push(format!("{:x} calls {:x?} {:?}", record.function, site.callees, stack(site.frames)));
        }
    }
    for DataAccessRecord { symbol, access_count, locations } in
        profile.data_access.iter().flat_map(|data| &data.records)
    {
        let mut locations = locations.clone();
        locations.sort();
        facts.push(format!("{access_count} accesses to {symbol:?} {locations:?}"));
    }
    facts.sort();
    facts
}

#[test]
fn all_versions_have_the_same_content() {
    for (release, versions) in [(19, 0..=3), (22, 2..=4)] {
        for stem in stems(release) {
            let profile = |version| {
                let bytes = std::fs::read(file(&stem, &format!("v{version}.profdata"))).unwrap();
                facts(&stored(&bytes).profile)
            };
            let first = profile(*versions.start());
            versions.clone().for_each(|version| assert_eq!(profile(version), first, "version {version}"));
        }
    }
}

/// Returns all indexed profiles.
pub fn sections() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = entries.filter(|path| path.extension().is_some_and(|name| name == "profdata")).collect();
    paths.sort();
    assert!(paths.len() > 10, "{}", paths.len());
    paths
}

#[test]
fn a_release_gets_the_fields_that_it_knows() {
    for input in sections() {
        let before = stored(&std::fs::read(&input).unwrap());
        for (release, known) in [(15, 19), (16, 25), (18, 25), (19, 27)] {
            let mut options = MergeOptions::default();
            options.release = Release(release);
            let after = stored(&merged(std::slice::from_ref(&input), &options));
            let is_carried = before.version == after.version && before.profile.schema == after.profile.schema;
            let message = format!("{} for {release}: {:?}", input.display(), after.profile.schema);
            assert!(after.profile.schema.len() <= known, "{message}");
            assert!(is_carried || after.profile.schema.len() == known || after.version >= 2, "{message}");
            assert_eq!(facts(&after.profile).len(), facts(&before.profile).len(), "{message}");
        }
    }
}

/// Writes the program of a profile without its build id.
pub fn without_build_id(stem: &Path, folder: &Path) -> PathBuf {
    let mut bytes = std::fs::read(file(stem, "binary")).unwrap();
    let note = b"\x03\0\0\0GNU\0";
    let at = bytes.windows(note.len()).position(|window| window == note).expect("the program has a build id");
    // A note of another type.
    bytes[at] = 0x77;
    let path = folder.join("anonymous");
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_program_that_does_not_fit_is_refused_with_the_reason() {
    let stems = stems(22);
    let plain = stems.iter().find(|stem| stem.ends_with("clang-22-plain")).unwrap();
    let other = stems.iter().find(|stem| stem.ends_with("clang-22-no-pie")).unwrap();
    let failure = |programs: Vec<PathBuf>| {
        let mut options = MergeOptions::default();
        options.read.programs = Arc::new(Programs::new(programs, &Limits::default()));
        let inputs = [WeightedInput::new(file(plain, "memprofraw"))];
        let report = families::merge_files(&inputs, &options, &mut |_, _| {}).unwrap();
        let (_, error) = report.failures().next().expect("the merge fails");
        (error.to_string(), error.hint().map(ToString::to_string).unwrap_or_default())
    };
    let (message, hint) = failure(Vec::new());
    assert!(
        message.ends_with("the profile contains only addresses; the program that wrote it is required"),
        "{message}"
    );
    assert!(hint.starts_with("pass the program; its build id is probably "), "{hint}");
    let (message, _) = failure(vec![file(other, "binary")]);
    assert!(message.contains("is not one of the profile's"), "{message}");
    let (message, _) = failure(vec![file(plain, "memprofraw")]);
    assert!(message.contains("unable to look up addresses") && message.contains("not an object file"), "{message}");
    let folder = tempfile::tempdir().unwrap();
    let bitcode = folder.path().join("lto.o");
    std::fs::write(&bitcode, b"BC\xc0\xde").unwrap();
    let (message, hint) = failure(vec![bitcode]);
    assert!(message.ends_with("not an object file: LLVM bitcode"), "{message}");
    assert!(hint.starts_with("link it, and pass the linked program"), "{hint}");
    let (message, hint) = failure(vec![without_build_id(plain, folder.path())]);
    assert!(message.ends_with("the program has no build id"), "{message}");
    assert_eq!(hint, "link the program with -Wl,--build-id, and profile it again");
    let (message, _) = failure(vec![file(plain, "nothing")]);
    assert!(message.contains("cannot open: No such file"), "{message}");
    let (message, hint) = failure(vec![file(other, "binary"), file(other, "binary")]);
    assert!(message.ends_with("no given program has a build id of the profile"), "{message}");
    assert!(hint.starts_with("pass a program with one of the build ids ") && !hint.contains("link"), "{hint}");
    let (message, hint) = failure(vec![file(other, "binary"), without_build_id(plain, folder.path())]);
    assert!(message.contains("a build id of the profile; without a build id: "), "{message}");
    assert!(message.ends_with("/anonymous") && !message.contains("no-pie"), "{message}");
    assert!(hint.ends_with("; link programs without one with -Wl,--build-id, and profile them again"), "{hint}");
    // Of several programs, the matching one is used.
    let mut options = options(plain, 22, None);
    let programs = vec![file(other, "binary"), file(plain, "binary")];
    options.read.programs = Arc::new(Programs::new(programs, &Limits::default()));
    let golden = std::fs::read(file(plain, "v3.profdata")).unwrap();
    assert!(merged(&[file(plain, "memprofraw")], &options) == golden);
}

#[test]
fn info_of_a_memory_profile_names_no_instrumentation() {
    for name in ["clang-19-plain.v3.profdata", "clang-22-plain.v4.profdata"] {
        let bytes = std::fs::read(folder().join(name)).unwrap();
        let description = families::describe(&bytes, &Limits::default());
        assert_eq!(description.parts[0].variant, ["memory profile"], "{name}");
    }
}

#[test]
fn a_memory_profile_of_another_program_differs_from_the_others() {
    let plain = folder().join("clang-22-plain");
    let other = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    let site = "{Callstack: [{Function: 0x5, LineOffset: 1, Column: 1, IsInlineFrame: false}], MemInfoBlock: {AllocCount: 1, TotalSize: 90}}";
    std::fs::write(other.path(), format!("---\nHeapProfileRecords:\n  - GUID: 0x5\n    AllocSites: [{site}]\n...\n"))
        .unwrap();
    let mut files =
        ["yaml", "v2.profdata", "v3.profdata", "v4.profdata"].map(|extension| file(&plain, extension)).to_vec();
    // The addresses of raw profiles say nothing.
    files.push(file(&plain, "memprofraw"));
    files.push(other.path().to_path_buf());
    let checked =
        std::process::Command::new(env!("CARGO_BIN_EXE_profbridge")).arg("check").args(&files).output().unwrap();
    let text = String::from_utf8(checked.stdout).unwrap();
    let warned: Vec<&str> = text.lines().filter(|line| line.contains("different-distribution")).collect();
    assert!(warned.len() == 1 && warned[0].contains("memprof-yaml.") && warned[0].contains("4 other files"), "{text}");
}

#[test]
fn a_stripped_program_is_refused_with_the_reason() {
    let stem = stems(22).into_iter().find(|stem| stem.ends_with("clang-22-plain")).unwrap();
    let mut bytes = std::fs::read(file(&stem, "binary")).unwrap();
    // Remove the names of the debug info sections, so that they cannot be found.
    while let Some(at) = bytes.windows(7).position(|part| part == b".debug_") {
        bytes[at + 1] = b'x';
    }
    let dump = std::fs::read(file(&stem, "memprofraw")).unwrap();
    let raw = RawMemProf::read(&dump, &Limits::default()).unwrap();
    let program = Program::new(Path::new("stripped"), bytes, &Limits::default()).unwrap();
    let error = raw::resolve(&raw, &[Arc::new(program)], Release::DEFAULT).unwrap_err();
    assert!(error.to_string().contains("the program's debug info has no function"), "{error}");
    assert!(error.hint().unwrap().to_string().contains("pass the unstripped program"));
    assert_eq!(
        error.llvm_message(),
        "malformed instrumentation profile data: no entries in callstack map after symbolization"
    );
}

#[test]
fn pictures_have_the_totals_of_the_report() {
    use profbridge::families::draw::{Content, DrawOptions, Drawing};
    use profbridge::families::memory::AllocationUnit;
    use profbridge::families::stack_files::StackOptions;
    use profbridge::memprof::report::{MemoryReport, ReportOptions};
    for stem in stems(22) {
        let wanted = MemoryReport::new(&resolved(&stem).1.profile, &ReportOptions::default());
        for extension in ["memprofraw", "yaml", "v3.profdata", "v4.profdata"] {
            let content = |unit| {
                let mut stacks = StackOptions::default();
                stacks.memory.programs = Arc::new(Programs::new(vec![file(&stem, "binary")], &Limits::default()));
                stacks.memory.unit = unit;
                let options = DrawOptions { stacks, ..DrawOptions::default() };
                Drawing::read(vec![file(&stem, extension).into()], Vec::new(), options).unwrap()
            };
            let (bytes, count) = (content(AllocationUnit::Bytes), content(AllocationUnit::Allocations));
            let (Content::Memory(bytes), Content::Memory(count)) = (bytes.content(), count.content()) else {
                panic!("no memory profile")
            };
            assert_eq!(bytes.table.total_hits(), u128::from(wanted.bytes), "{} {extension}", stem.display());
            assert_eq!(count.table.total_hits(), u128::from(wanted.allocations), "{} {extension}", stem.display());
            assert_eq!((bytes.allocations, bytes.cold_bytes), (wanted.allocations, wanted.cold_bytes));
        }
    }
}

#[test]
fn each_damage_is_named_where_it_is() {
    let folder = folder().with_file_name("bad");
    for (name, place, reason) in [
        ("truncated-in-header.memprofraw", Some("header"), "size of the profile needs 8 bytes, 4 left"),
        ("truncated.memprofraw", Some("header"), "dump needs 8528 bytes, 4264 left"),
        ("unknown-version.memprofraw", Some("header"), "version 99 is not supported"),
        ("records-out-of-range.memprofraw", Some("header"), "bad header"),
        ("huge-number-of-records.memprofraw", Some("records"), "stack id of a record needs 8 bytes, 0 left"),
        ("stack-not-found.memprofraw", Some("stacks"), "there is no stack with the id 0x123456789abcdef"),
        ("huge-stack.memprofraw", Some("stacks"), "frames of a call stack is 2305843009213693952"),
        ("memprof-out-of-range.profdata", Some("memprof"), "truncated"),
        ("memprof-unknown-version.profdata", Some("memprof"), "version 9 is not supported"),
        ("memprof-stacks-out-of-range.profdata", Some("memprof"), "is not inside the section"),
        ("memprof-huge-schema.profdata", Some("memprof"), "schema needs"),
        ("memprof-unknown-field.profdata", Some("memprof"), "field 99, which is unknown"),
        ("memprof-id-0.profdata", Some("memprof"), "field 0, which is unknown"),
        ("memprof-index-out-of-range.profdata", Some("memprof"), "is not inside the section"),
        ("memprof-odd-stacks.profdata", Some("memprof"), "needs"),
        ("other-magic-behind.memprofraw", Some("header"), "bad magic: found 0x0000000000000001"),
        ("rubbish-behind.memprofraw", Some("header"), "magic needs 8 bytes, 7 left"),
        ("size-0.memprofraw", Some("header"), "a profile of 0 bytes is shorter than its header"),
        ("long-build-id.memprofraw", Some("segments"), "a build id has 33 bytes, at most 32 fit"),
        ("other-segments-behind.memprofraw", Some("segments"), "their segments differ"),
        ("huge-number-of-segments.memprofraw", Some("segments"), "start of a segment needs 8 bytes"),
        ("huge-histogram.memprofraw", Some("records"), "histogram needs 8589934590 bytes"),
        ("huge-number-of-stacks.memprofraw", Some("stacks"), "stack id needs 8 bytes, 0 left"),
        ("unknown-key.yaml", Some("yaml"), "unknown key \"Unknown\""),
        ("decimal-guid.yaml", Some("yaml"), "function \"12\" is decimal"),
        ("word-for-number.yaml", Some("yaml"), "AllocCount is \"many\", not a number"),
        ("open-bracket.yaml", Some("yaml"), "a bracket is not closed"),
        ("missing-key.yaml", Some("yaml"), "a record has no GUID"),
        ("alias.yaml", Some("yaml"), "aliases are not allowed in a memory profile"),
    ] {
        let inputs = [WeightedInput::new(folder.join(name))];
        let report = families::merge_files(&inputs, &MergeOptions::default(), &mut |_, _| {}).unwrap();
        let (_, error) = report.failures().next().unwrap_or_else(|| panic!("{name} is read"));
        assert!(error.to_string().contains(reason), "{name}: {error}");
        assert_eq!(error.section(), place, "{name}: {error}");
        assert!(error.offset().is_some(), "{name}: {error}");
    }
}
