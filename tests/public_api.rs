//! Tests of the public interface: types that can be sent to other threads, parsed from text, and iterated.

use flate2::Compression;
use flate2::write::GzEncoder;
use profbridge::families::{self, MergeOptions, MergeReport, ReadOptions, open_reader};
use profbridge::indexed::{IndexedProfile, IndexedReader};
use profbridge::input::{Input, WeightedInput};
use profbridge::instr::Merger;
use profbridge::instr::{FunctionRecord, FunctionTable, ProfileKind, ProfileReader, Release, ValueSites};
use profbridge::raw::{RawProfile, RawReader};
use profbridge::text::TextReader;
use profbridge::{Error, OutputFormat, Profile, Warning};
use profbridge::{call_chains, iprof, memprof, sampleprof};
use std::error::Error as _;
use std::io::Write;

fn sent<T: Send>() {}
fn shared<T: Send + Sync>() {}

#[test]
fn models_and_views_can_be_shared_and_readers_sent() {
    shared::<Profile>();
    shared::<FunctionTable>();
    shared::<FunctionRecord>();
    shared::<RawProfile<'_>>();
    shared::<IndexedProfile<'_>>();
    shared::<iprof::Document>();
    shared::<sampleprof::SampleProfile>();
    shared::<memprof::MemoryProfile>();
    shared::<call_chains::StackTable>();
    shared::<Error>();
    shared::<Warning>();
    shared::<MergeReport>();
    sent::<Merger>();
    sent::<Box<dyn ProfileReader>>();
    sent::<RawReader<'_>>();
    sent::<IndexedReader<'_>>();
    sent::<TextReader<'_>>();
}

#[test]
fn a_reader_is_read_on_another_thread() {
    let bytes = std::fs::read("testdata/raw/clang-22-ir.profraw").expect("it is in the tree");
    let options = ReadOptions::default();
    let mut reader = open_reader(&bytes, &options).unwrap();
    let records = std::thread::scope(|scope| {
        let counted = scope.spawn(move || {
            let mut records = 0;
            while reader.next_record().unwrap().is_some() {
                records += 1;
            }
            records
        });
        counted.join().unwrap()
    });
    let read = Profile::open(Input::from_bytes("bytes", bytes.to_vec()), &ReadOptions::default()).unwrap();
    assert_eq!(records, read.value.functions.records_len());
}

#[test]
fn displayed_values_parse_back() {
    for release in [Release(4), Release(16), Release::DEFAULT] {
        assert_eq!(release.to_string().parse::<Release>().unwrap(), release);
        let format = OutputFormat::for_release(release);
        assert_eq!(format.to_string().parse::<OutputFormat>().unwrap(), format);
    }
    let kind = ProfileKind::IR | ProfileKind::TEMPORAL;
    assert_eq!(kind.to_string().parse::<ProfileKind>().unwrap(), kind);
    let input: WeightedInput = "3,some folder/a,b.profraw".parse().unwrap();
    assert_eq!(input.to_string(), "3,some folder/a,b.profraw");
    for text in ["0,a", "-1,a", "a", "a,1", "1,"] {
        assert!(text.parse::<WeightedInput>().is_err(), "{text:?}");
    }
}

#[test]
fn an_exceeded_limit_has_a_name_that_can_be_set() {
    let mut options = ReadOptions::default();
    options.limits.set("stream-bytes", 10).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = &*folder.path().join("app.profdata.gz");
    let mut packed = GzEncoder::new(std::fs::File::create(path).unwrap(), Compression::fast());
    packed.write_all(&std::fs::read("testdata/merge/clang-22/llvm-22.profdata").unwrap()).unwrap();
    packed.finish().unwrap();
    let error = Profile::open(path, &options).unwrap_err();
    assert_eq!(error.limit_name(), Some("stream-bytes"), "{error}");
    assert_eq!(error.hint().unwrap().to_string(), "raise the limit stream-bytes");
    options.limits.set(error.limit_name().unwrap(), 1 << 20).unwrap();
    assert!(Profile::open(path, &options).is_ok());
}

#[test]
fn failed_merges_have_the_first_failure_as_source() {
    let paths = ["testdata/raw/clang-22-ir.profraw", "Cargo.toml", "README.md"];
    let options = MergeOptions::default();
    let report = families::merge_files(&paths.map(Input::new), &options, &mut |_, _| {}).unwrap();
    let error = report.verdict(&options).unwrap_err();
    assert_eq!(error.to_string(), "2 of 3 inputs cannot be read");
    let first = error.source().and_then(|source| source.downcast_ref::<Error>()).expect("an error of this library");
    assert_eq!(first.path(), Some("Cargo.toml".as_ref()));
    assert_eq!(first.to_string(), report.failures().next().unwrap().1.to_string());
}

#[test]
fn functions_and_sites_are_walked_from_both_ends() {
    let profile = Profile::open("testdata/raw/clang-22-ir.profraw", &ReadOptions::default()).unwrap().value;
    let forward: Vec<&[u8]> = (&profile).into_iter().map(|function| function.name()).collect();
    let mut backward: Vec<&[u8]> = profile.functions.iter().rev().map(|function| function.name()).collect();
    backward.reverse();
    assert_eq!((forward.len(), &forward), (profile.functions.iter().len(), &backward));
    let mut sites = ValueSites::new();
    for values in [&[][..], &[Default::default(); 2]] {
        sites.push_site(values);
    }
    let mut lens: Vec<usize> = (&sites).into_iter().map(<[_]>::len).collect();
    assert_eq!(lens, [0, 2]);
    lens.reverse();
    assert_eq!(sites.iter().rev().map(<[_]>::len).collect::<Vec<_>>(), lens);
}

#[test]
fn every_page_with_examples_in_rust_is_among_the_doctests() {
    let root = std::fs::read_to_string("src/lib.rs").unwrap();
    let mut with_examples = 0;
    let mut paths = vec![std::path::PathBuf::from("docs")];
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let name = path.to_string_lossy().into_owned();
        let has_examples = std::fs::read_to_string(&path).unwrap().lines().any(|line| line.starts_with("```rust"));
        let is_included = root.contains(&format!("include_str!(\"../{name}\")"));
        assert!(!has_examples || is_included, "the examples of {name} are not tested");
        with_examples += u32::from(has_examples);
    }
    assert!(with_examples > 0);
}

/// Runs an example. Cargo builds the examples when it runs all tests.
fn example(name: &str, arguments: &[&str]) -> Option<String> {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_profbridge")).with_file_name("examples").join(name);
    if !program.exists() {
        let _ =
            Write::write_all(&mut std::io::stderr(), format!("SKIPPED: the example {name} was not built\n").as_bytes());
        return None;
    }
    let output = std::process::Command::new(program).args(arguments).output().expect("it starts");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_examples_work() {
    if let Some(listed) = example("raw_profile", &["testdata/raw/clang-22-ir.profraw"]) {
        assert!(listed.starts_with("version 10, ") && listed.contains(" main ["), "{listed}");
    }
    if let Some(found) = example("indexed_profile", &["testdata/merge/clang-22/llvm-22.profdata", "main"]) {
        assert_eq!(found.lines().count(), 2, "{found}");
    }
    let folder = tempfile::tempdir().unwrap();
    let merged = folder.path().join("merged.profdata");
    let inputs = ["1,testdata/raw/clang-14-ir.profraw", "3,testdata/raw/clang-22-ir.profraw"];
    let arguments = [&[merged.to_str().unwrap()], &inputs[..]].concat();
    if let Some(said) = example("merge_profiles", &arguments) {
        let profile = Profile::open(&merged, &ReadOptions::default()).unwrap().value;
        assert!(said.starts_with(&format!("{} functions, ", profile.functions.len())), "{said}");
    }
}

/// Weights mean the same in the mergers of all families: 0 counts as 1, and sums saturate.
#[test]
fn weights_have_one_rule() {
    let read = |path: &str| Profile::open(path, &ReadOptions::default()).unwrap().value;
    let count = |weights: &[u64]| {
        let mut merger = Merger::new(Default::default());
        for weight in weights {
            merger.add(&read("testdata/raw/clang-22-ir.profraw"), *weight).unwrap();
        }
        let profile = merger.finish().unwrap().value;
        profile.functions.find(b"main").unwrap().records().next().unwrap().counters.iter().max().unwrap()
    };
    assert!(count(&[1]) > 0);
    assert_eq!((count(&[0]), count(&[0, 1])), (count(&[1]), count(&[2])));
    assert_eq!(count(&[u64::MAX, u64::MAX]), count(&[u64::MAX]));

    let samples = |weight| {
        let mut merger = sampleprof::Merger::new(sampleprof::MergeOptions::default());
        let profile = sampleprof::read(b"f:20:10\n 1: 10\n", &sampleprof::ReadOptions::default()).unwrap();
        merger.add(&profile, weight).unwrap();
        merger.finish().unwrap().value.functions[0].total
    };
    assert_eq!((samples(0), samples(1), samples(u64::MAX)), (20, 20, u64::MAX));

    let text = std::fs::read("testdata/iprof/fibonacci.iprof").unwrap();
    let document = iprof::Reader::new(&text[..], &iprof::ReadOptions::default()).read().unwrap().0;
    let merged = |weight: u64| {
        let mut merger = iprof::Merger::new(iprof::MergeOptions::default());
        merger.add(&document, weight).unwrap();
        iprof::Writer::new(&iprof::WriteOptions::default()).to_bytes(&merger.finish().unwrap().value)
    };
    assert_eq!(merged(0), merged(1));

    let memory = memprof::MemoryProfile::open("testdata/memprof/clang-22-plain.yaml", &ReadOptions::default());
    let memory = memory.expect("a good file").value;
    let bytes = |weight| {
        let mut merger = memprof::Merger::new(memprof::MergeOptions::default());
        merger.add(&memory, weight).unwrap();
        let merged = merger.finish().unwrap().value;
        merged.alloc_sites().map(|site| site.info.value(memprof::Field::TotalSize)).max()
    };
    assert!(bytes(1) > Some(0) && bytes(1) < bytes(2));
    assert_eq!((bytes(0), bytes(u64::MAX)), (bytes(1), Some(u64::MAX)));

    let pprof = Input::new("testdata/pprof/circles.pprof").bytes(Default::default(), &Default::default()).unwrap();
    let pprof = profbridge::stacks::pprof::read(&pprof, &Default::default()).unwrap().0;
    let values = |weight| {
        let mut merger = profbridge::stacks::pprof::Merger::new(Default::default());
        merger.add(&pprof, weight).unwrap();
        merger.finish().unwrap().value.samples.get(0).values.iter().copied().max()
    };
    assert!(values(1) > Some(0));
    assert_eq!((values(0), values(u64::MAX)), (values(1), Some(i64::MAX)));
}

/// The reader of iprof files has limits of its own.
#[test]
fn limits_of_iprof_files_have_names() {
    let of = |text: &str, set: fn(&mut iprof::ReadOptions)| {
        let mut options = iprof::ReadOptions::default();
        set(&mut options);
        iprof::Reader::from_bytes(text.as_bytes(), &options).read().unwrap_err().limit_name()
    };
    let nested = r#"{"version":"1.0.0","types":[],"methods":[],"more":[[[[1]]]]}"#;
    let named = r#"{"version":"1.0.0","types":[{"id":1,"name":"app.Main"}],"methods":[]}"#;
    assert_eq!(of(nested, |options| options.limits.json_depth = 2), Some("json-depth"));
    assert_eq!(of(named, |options| options.limits.name_bytes = 3), Some("name-bytes"));
}

/// What a merger drops is a warning of its result.
#[test]
fn mergers_warn_of_dropped_records() {
    let open = |text: &str| Input::from_bytes("f.proftext", text.into());
    let mut merger = Merger::new(Default::default());
    for text in [":ir\nf\n7\n2\n1\n2\n", ":ir\nf\n7\n3\n1\n2\n3\n"] {
        merger.add(&Profile::open(open(text), &ReadOptions::default()).unwrap().value, 1).unwrap();
    }
    let merged = merger.finish().unwrap();
    assert_eq!(merged.warnings.len(), 1, "{:?}", merged.warnings);
    assert_eq!(merged.warnings[0].function.as_deref(), Some(&b"f"[..]));
    assert_eq!(merged.value.functions.find(b"f").unwrap().records().next().unwrap().counters, [1, 2]);

    let samples = |text: &str| {
        sampleprof::SampleProfile::open(Input::from_bytes("a.prof", text.into()), &ReadOptions::default())
            .unwrap()
            .value
    };
    let mut merger = sampleprof::Merger::new(Default::default());
    for checksum in [1, 2] {
        merger.add(&samples(&format!("f:20:10\n 1: 10\n !CFGChecksum: {checksum}\n")), 1).unwrap();
    }
    let merged = merger.finish().unwrap();
    assert_eq!(merged.warnings.len(), 1, "{:?}", merged.warnings);
    assert_eq!(merged.value.functions[0].total, 20);
}

/// Each family refuses a file of another family and says how to read it.
#[test]
fn a_profile_of_another_family_is_an_error() {
    let iprof = "testdata/iprof/fibonacci.iprof";
    let error = sampleprof::SampleProfile::open(iprof, &ReadOptions::default()).unwrap_err();
    assert!(matches!(error.kind(), profbridge::ErrorKind::Unsupported { .. }), "{error}");
    assert_eq!(error.path(), Some(iprof.as_ref()));
    assert!(memprof::MemoryProfile::open("testdata/raw/clang-22-ir.profraw", &ReadOptions::default()).is_err());
    assert!(call_chains::StackTable::open(iprof, &ReadOptions::default()).is_err());
    assert!(iprof::Document::open("testdata/pprof/circles.pprof", &ReadOptions::default()).is_err());
    assert!(profbridge::stacks::pprof::Profile::open(iprof, &ReadOptions::default()).is_err());
}

/// A file that `write_to_path` wrote is the profile that `open` reads.
#[test]
fn written_profiles_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let read = ReadOptions::default();
    let path = |name: &str| folder.path().join(name);

    let samples = sampleprof::SampleProfile::open("testdata/sampleprof/plain.prof", &read).unwrap().value;
    let mut options = sampleprof::WriteOptions::default();
    options.encoding = sampleprof::Encoding::Text;
    samples.write_to_path(path("a.prof"), &options).unwrap();
    assert_eq!(sampleprof::SampleProfile::open(path("a.prof"), &read).unwrap().value.functions, samples.functions);

    let memory = memprof::MemoryProfile::open("testdata/memprof/clang-22-plain.yaml", &read).unwrap().value;
    memory.write_to_path(path("a.profdata"), OutputFormat::default()).unwrap();
    let stored = memprof::MemoryProfile::open(path("a.profdata"), &read).unwrap().value;
    assert_eq!(stored.alloc_sites().count(), memory.alloc_sites().count());
    assert!(memory.write_to_path(path("b.profdata"), OutputFormat::for_release(Release(14))).is_err());
    assert!(memory.write_to_path(path("b.proftext"), "text".parse().unwrap()).is_err());

    let document = iprof::Document::open("testdata/iprof/fibonacci.iprof", &read).unwrap().value;
    document.write_to_path(path("a.iprof"), &iprof::WriteOptions::default()).unwrap();
    assert_eq!(iprof::Document::open(path("a.iprof"), &read).unwrap().value, document);

    use profbridge::stacks::pprof;
    let circles = pprof::Profile::open("testdata/pprof/circles.pprof", &read).unwrap().value;
    circles.write_to_path(path("a.pprof")).unwrap();
    assert_eq!(std::fs::read(path("a.pprof")).unwrap()[..2], [0x1f, 0x8b]);
    assert_eq!(pprof::Profile::open(path("a.pprof"), &read).unwrap().value, circles);
}

/// A path is only a path. Standard input and the notation of command lines have constructors of their own.
#[test]
fn a_dash_is_a_file_name() {
    assert!(!Input::new("-").is_stdin() && !Input::from("-").is_pipe());
    assert!(Input::stdin().is_stdin() && Input::argument("-").is_stdin() && !Input::argument("./-").is_stdin());
    assert!("2,-".parse::<Input>().unwrap().is_stdin());
    assert_ne!(Input::new("-"), Input::stdin());
}

#[test]
fn models_with_equal_content_are_equal() {
    let read = |path: &str| Profile::open(path, &ReadOptions::default()).expect("a good file").value;
    let profile = read("testdata/raw/clang-22-ir.profraw");
    assert_eq!(profile, read("testdata/raw/clang-22-ir.profraw"));
    let mut twice = Merger::new(profbridge::instr::MergeOptions::default());
    twice.add(&profile, 2).expect("it can be merged");
    assert_ne!(profile, twice.finish().unwrap().value);
    assert!(format!("{profile:?}").contains("\"main\""));

    // Names have other numbers.
    let samples = |names: &[&str], head| {
        let mut profile = sampleprof::SampleProfile::default();
        for name in names {
            profile.names.insert(sampleprof::FunctionName::Text(name.as_bytes()));
        }
        let main = profile.names.insert(sampleprof::FunctionName::Text(b"main"));
        profile.functions.push(sampleprof::FunctionRecord { head, ..sampleprof::FunctionRecord::new(main) });
        profile
    };
    assert_eq!(samples(&[], 3), samples(&["unused"], 3));
    assert_ne!(samples(&[], 3), samples(&[], 4));

    let bytes = std::fs::read("testdata/iprof/fibonacci.iprof").expect("it is in the tree");
    let read = iprof::Reader::from_bytes(&bytes, &iprof::ReadOptions::default()).read();
    let (document, _) = read.expect("a good file");
    let mut changed = document.clone();
    assert_eq!(document, changed);
    changed.add_type(b"another.Type");
    assert_ne!(document, changed);

    let input = Input::from_bytes("a.collapsed", b"a;b;c 3\na;d 4\n".to_vec());
    let (stacks, _) = families::read_stacks(&[input], &families::StackOptions::default()).expect("good stacks");
    // Frames have other numbers.
    assert_eq!(stacks, stacks.reversed().reversed());
    assert_ne!(stacks, stacks.reversed());

    let frame = |function| memprof::Frame { function, line_offset: 1, column: 2, is_inline: false };
    let memory = |functions: &[u64]| {
        let mut profile = memprof::MemoryProfile::default();
        for function in functions {
            let frame = profile.stacks.intern_frame(frame(*function));
            let stack = profile.stacks.intern(&[frame]);
            if *function == 7 {
                let site = memprof::CallSite { frames: stack, callees: vec![1] };
                profile.record_mut(7).call_sites.push(site);
            }
        }
        profile
    };
    assert_eq!(memory(&[7]), memory(&[5, 7]));
    assert_ne!(memory(&[7]), memory(&[5]));
}
