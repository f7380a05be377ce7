//! llvm-profdata loses memory profiles in some cases (`docs/reference/memprof.md`). In profbridge mode nothing is lost;
//! in llvm-profdata mode the bytes are the same.

use crate::files::{file, folder, merged, options, stored};
use profbridge::memprof::{DataSymbol, MemoryProfile, yaml};
use profbridge::{Compat, Limits};
use std::path::PathBuf;
use std::process::Command;

fn allocations(profile: &MemoryProfile) -> u64 {
    profile.alloc_sites().map(|site| site.info.alloc_count()).sum()
}

fn plain(extension: &str) -> PathBuf {
    file(&folder().join("clang-22-plain"), extension)
}

/// Merges inputs in profbridge mode.
fn sum(inputs: &[PathBuf]) -> MemoryProfile {
    stored(&merged(inputs, &options(&folder().join("clang-22-plain"), 22, Some(4)))).profile
}

/// Writes documents and returns their paths.
fn documents<const N: usize>(folder: &tempfile::TempDir, texts: [&str; N]) -> [PathBuf; N] {
    let mut number = 0;
    texts.map(|text| {
        number += 1;
        let path = folder.path().join(format!("{number}.yaml"));
        std::fs::write(&path, format!("---\n{text}...\n")).unwrap();
        path
    })
}

/// Merges in llvm-profdata mode and compares with the real llvm-profdata 22, if it is installed. Returns the memory
/// profile.
fn in_llvms_place(arguments: &[&str], inputs: &[PathBuf]) -> MemoryProfile {
    let folder = tempfile::tempdir().unwrap();
    let run = |mut command: Command, name: &str| {
        let path = folder.path().join(name);
        let command = command.args(["merge", "--num-threads=1", "--memprof-version=4"]).args(arguments);
        let binary = format!("--profiled-binary={}", plain("binary").display());
        let output = command.arg(binary).args(inputs).arg("-o").arg(&path).output();
        output.is_ok_and(|output| output.status.success()).then(|| std::fs::read(path).unwrap())
    };
    let mut ours = Command::new(env!("CARGO_BIN_EXE_profbridge"));
    ours.arg("llvm-profdata");
    let ours = run(ours, "ours").expect("the merge succeeds");
    match run(Command::new("llvm-profdata-22"), "theirs") {
        Some(theirs) => assert!(theirs == ours, "{arguments:?} {inputs:?}: other bytes"),
        None => {
            let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: llvm-profdata-22 is not installed\n");
        }
    }
    stored(&ours).profile
}

#[test]
fn indexed_profiles_are_emptied_in_llvm_mode() {
    for extension in ["v2.profdata", "v3.profdata", "v4.profdata"] {
        let indexed = [plain(extension)];
        assert_eq!(in_llvms_place(&[], &indexed).records().len(), 0, "{extension}");
        let inputs = [plain(extension), plain(extension)];
        assert_eq!(allocations(&sum(&inputs)), 2 * allocations(&sum(&indexed)), "{extension}");
    }
}

#[test]
fn inputs_with_an_indexed_profile_stay_alone_in_llvm_mode() {
    for other in ["memprofraw", "yaml"] {
        let inputs = [plain("v4.profdata"), plain(other)];
        let one = allocations(&sum(&inputs[1..]));
        assert_eq!(allocations(&in_llvms_place(&[], &inputs)), one, "{other}");
        assert_eq!(allocations(&sum(&inputs)), 2 * one, "{other}");
    }
}

#[test]
fn only_the_first_of_several_inputs_stays_in_llvm_mode() {
    for [first, second] in [["memprofraw", "memprofraw"], ["memprofraw", "yaml"], ["yaml", "memprofraw"]] {
        let inputs = [plain(first), plain(second)];
        let one = allocations(&sum(&inputs[..1]));
        assert_eq!(allocations(&in_llvms_place(&[], &inputs)), one, "{first}, {second}");
        assert_eq!(allocations(&sum(&inputs)), 2 * one, "{first}, {second}");
    }
}

#[test]
fn data_accesses_come_from_the_last_document_in_llvm_mode() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = documents(
        &folder,
        [
            "DataAccessProfiles:\n  SampledRecords:\n    - { Symbol: a, AccessCount: 3 }\n    - { Hash: 7, AccessCount: 1 }\n",
            "DataAccessProfiles:\n  SampledRecords:\n    - { Symbol: a, AccessCount: 4 }\n  KnownColdSymbols: [ b ]\n",
        ],
    );
    let records = |profile: MemoryProfile| {
        let data = profile.data_access.unwrap();
        let records = data.records.into_iter().map(|record| (record.symbol, record.access_count));
        (records.collect::<Vec<_>>(), data.cold_symbols)
    };
    let name = |name: &str| DataSymbol::Name(name.into());
    let cold = vec![b"b".to_vec()];
    assert_eq!(records(in_llvms_place(&[], &inputs)), (vec![(name("a"), 4)], cold.clone()));
    assert_eq!(records(sum(&inputs)), (vec![(name("a"), 7), (DataSymbol::StringHash(7), 1)], cold));
    // A last document without data access profiles removes all of them.
    let [with, without] = documents(
        &folder,
        [
            "DataAccessProfiles:\n  SampledRecords:\n    - { Symbol: a, AccessCount: 3 }\n",
            "HeapProfileRecords:\n  - GUID: f\n    AllocSites:\n      - Callstack: []\n        MemInfoBlock: { AllocCount: 1 }\n",
        ],
    );
    assert_eq!(in_llvms_place(&[], &[with.clone(), without.clone()]).data_access, None);
    assert_eq!(records(sum(&[with, without])).0, [(name("a"), 3)]);
}

#[test]
fn a_second_record_of_a_function_is_dropped_in_llvm_mode() {
    let record = "  - GUID: f\n    AllocSites:\n      - Callstack: [ { Function: f, LineOffset: 1, Column: 1, IsInlineFrame: false } ]\n        MemInfoBlock: { AllocCount: 5 }\n";
    let text = format!("HeapProfileRecords:\n{record}{record}");
    let count = |compat| {
        let profile = yaml::read(text.as_bytes(), compat, &Limits::default()).unwrap();
        profile.alloc_sites().map(|site| site.info.alloc_count()).sum::<u64>()
    };
    assert_eq!((count(Compat::Llvm22), count(Compat::Profbridge)), (5, 10));
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(allocations(&in_llvms_place(&[], &documents(&folder, [text.as_str()]))), 5);
}

#[test]
fn weights_are_ignored_in_llvm_mode() {
    let weighted = format!("--weighted-input=3,{}", plain("memprofraw").display());
    let one = allocations(&sum(&[plain("memprofraw")]));
    assert_eq!(allocations(&in_llvms_place(&[&weighted], &[])), one);
    let mut own = Command::new(env!("CARGO_BIN_EXE_profbridge"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.profdata");
    let binary = format!("--profiled-binary={}", plain("binary").display());
    let done = own.args(["merge", &weighted, &binary, "-o"]).arg(&path).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(allocations(&stored(&std::fs::read(&path).unwrap()).profile), 3 * one);
}

#[test]
fn dropped_histograms_are_losses() {
    let temporary = tempfile::tempdir().unwrap();
    let stem = folder().join("clang-22-histogram");
    let binary = format!("--profiled-binary={}", file(&stem, "binary").display());
    let run = |command: &[&str], output: &str| {
        let mut own = Command::new(env!("CARGO_BIN_EXE_profbridge"));
        let own = own.args(command).arg(&binary).arg(file(&stem, "memprofraw")).arg("-o");
        let done = own.arg(temporary.path().join(output)).output().unwrap();
        (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    for (command, output) in [("merge", "a.profdata"), ("convert", "a.yaml"), ("merge", "a.yaml")] {
        let (is_done, messages) = run(&[command], output);
        assert!(is_done && messages.contains("access histogram"), "{command} {output}: {messages}");
        let (is_done, messages) = run(&[command, "--strict"], output);
        assert!(!is_done && messages.contains("access histogram"), "{command} {output}: {messages}");
    }
}

#[test]
fn dumps_that_share_a_histogram_add_up() {
    // Here llvm-profdata 22 frees a buffer twice and aborts.
    let stem = folder().join("clang-22-histogram");
    let dump = std::fs::read(file(&stem, "memprofraw")).unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("twice.memprofraw");
    std::fs::write(&path, [dump.as_slice(), dump.as_slice()].concat()).unwrap();
    let options = options(&stem, 22, None);
    let once = allocations(&stored(&merged(&[file(&stem, "memprofraw")], &options)).profile);
    assert_eq!(allocations(&stored(&merged(&[path], &options)).profile), 2 * once);
}

/// LLVM 19 and earlier lose nothing of several raw profiles: they write the sites of all of them, one after another.
#[test]
fn links_of_llvm_19_and_earlier_keep_the_sites_of_all_raw_profiles() {
    for (release, inputs) in [(16, ["plain", "plain"]), (19, ["plain", "plain"]), (19, ["two-dumps", "two-dumps"])] {
        let temporary = tempfile::tempdir().unwrap();
        let link = temporary.path().join(format!("llvm-profdata-{release}"));
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_profbridge"), &link).unwrap();
        let stems = inputs.map(|name| folder().join(format!("clang-{release}-{name}")));
        let merge = |tool: &std::path::Path, stems: &[PathBuf]| {
            let output = temporary.path().join("out");
            let mut command = Command::new(tool);
            command.args(["merge", "--num-threads=1"]).args(stems.iter().map(|stem| file(stem, "memprofraw")));
            let binary = format!("--profiled-binary={}", file(&stems[0], "binary").display());
            let done = command.arg(binary).arg("-o").arg(&output).output();
            done.is_ok_and(|done| done.status.success()).then(|| std::fs::read(output).unwrap())
        };
        let ours = merge(&link, &stems).expect("the merge succeeds");
        let one = allocations(&stored(&merge(&link, &stems[..1]).expect("the merge succeeds")).profile);
        assert_eq!(allocations(&stored(&ours).profile), 2 * one, "{release} {inputs:?}");
        match merge(&PathBuf::from(format!("llvm-profdata-{release}")), &stems) {
            Some(theirs) => assert!(theirs == ours, "{release} {inputs:?}: other bytes"),
            None => {
                let skipped = format!("SKIPPED: llvm-profdata-{release} is not installed\n");
                let _ = std::io::Write::write_all(&mut std::io::stderr(), skipped.as_bytes());
            }
        }
    }
}
