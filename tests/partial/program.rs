//! The program: `merge --partial`, and what others make of its files.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

fn profbridge(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_profbridge"))
        .current_dir(folder)
        .env_remove("PROFBRIDGE_FOR")
        .args(arguments)
        .output()
        .expect("the program runs")
}

fn runs(clang: u32) -> Vec<String> {
    let folder = testdata(&format!("merge/clang-{clang}"));
    let entries = std::fs::read_dir(folder).expect("testdata is there").map(|entry| entry.expect("an entry").path());
    let mut runs: Vec<String> = entries
        .filter(|path| path.extension().is_some_and(|end| end == "profraw"))
        .map(|path| path.display().to_string())
        .collect();
    runs.sort();
    runs
}

fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let output = profbridge(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    said
}

/// Two parts of the runs of each release, and the merge of all of them.
fn parts(folder: &Path) -> Vec<String> {
    let all: Vec<String> = [14, 19].into_iter().flat_map(runs).collect();
    for (number, part) in all.chunks(3).enumerate() {
        let name = format!("part-{number}.profdata");
        let mut arguments = vec!["merge", "--partial", "-o", &name];
        arguments.extend(part.iter().map(String::as_str));
        assert!(succeed(folder, &arguments).contains("a part, to be merged with others"));
    }
    let mut arguments = vec!["merge", "-o", "whole.profdata"];
    arguments.extend(all.iter().map(String::as_str));
    succeed(folder, &arguments);
    (0..all.chunks(3).len()).map(|number| format!("part-{number}.profdata")).collect()
}

#[test]
fn parts_of_several_releases_become_the_bytes_and_the_target_of_one_merge() {
    let folder = tempfile::tempdir().expect("there is room for files");
    let parts = parts(folder.path());
    let mut arguments = vec!["merge", "-o", "joined.profdata"];
    arguments.extend(parts.iter().map(String::as_str));
    let said = succeed(folder.path(), &arguments);
    assert!(said.contains("since the inputs are raw version 10"), "{said}");
    assert!(said.contains(" of 8 inputs") || said.contains("from 8"), "{said}");
    let read = |name: &str| std::fs::read(folder.path().join(name)).expect("it was written");
    assert!(read("joined.profdata") == read("whole.profdata"));
}

#[test]
fn llvm_reads_the_profile_in_front_of_a_part() {
    let folder = tempfile::tempdir().expect("there is room for files");
    for release in [14, 16, 19, 22] {
        let tool = format!("llvm-profdata-{release}");
        if Command::new(&tool).arg("--version").output().is_err() {
            let _ = std::io::Write::write_all(
                &mut std::io::stderr(),
                format!("SKIPPED: {tool} is not installed\n").as_bytes(),
            );
            continue;
        }
        let (wanted, runs) = (format!("llvm-{release}"), runs(14));
        let inputs: Vec<&str> = runs.iter().map(String::as_str).collect();
        succeed(folder.path(), &[&["merge", "--for", &wanted, "-o", "plain.profdata"], &inputs[..]].concat());
        succeed(
            folder.path(),
            &[&["merge", "--partial", "--for", &wanted, "-o", "part.profdata"], &inputs[..]].concat(),
        );
        let shown = |name: &str| {
            let output = Command::new(&tool)
                .current_dir(folder.path())
                .args(["show", "--all-functions", "--counts", name])
                .output()
                .expect("the tool runs");
            assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
            output.stdout
        };
        assert!(shown("part.profdata") == shown("plain.profdata"), "{tool} shows something else");
        let merged = |name: &str| {
            let status = Command::new(&tool)
                .current_dir(folder.path())
                .args(["merge", name, "-o", "merged.profdata"])
                .status()
                .expect("the tool runs");
            assert!(status.success(), "{tool} refuses {name}");
            std::fs::read(folder.path().join("merged.profdata")).expect("it was written")
        };
        assert!(merged("part.profdata") == merged("plain.profdata"), "{tool} merges something else");
    }
}

#[test]
fn parts_are_no_larger_than_their_inputs() {
    let folder = tempfile::tempdir().expect("there is room for files");
    for clang in [14, 19, 22] {
        let runs = runs(clang);
        let inputs: Vec<&str> = runs.iter().map(String::as_str).collect();
        succeed(folder.path(), &[&["merge", "--partial", "-o", "part.profdata"], &inputs[..]].concat());
        let size = |path: &Path| std::fs::metadata(path).expect("it is there").len();
        let inputs: u64 = runs.iter().map(|run| size(Path::new(run))).sum();
        let part = size(&folder.path().join("part.profdata"));
        assert!(part <= inputs, "clang {clang}: {part} bytes of {inputs}");
    }
}

#[test]
fn a_changed_part_a_part_with_a_weight_and_a_part_behind_a_pipe_are_refused() {
    let folder = tempfile::tempdir().expect("there is room for files");
    parts(folder.path());
    let refused = |arguments: &[&str]| {
        let output = profbridge(folder.path(), arguments);
        assert!(!output.status.success() && !folder.path().join("x.profdata").exists(), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = refused(&["merge", "--weighted-input=2,part-0.profdata", "-o", "x.profdata"]);
    assert!(said.contains("a partial merge has no weight of its own"), "{said}");
    let mut bytes = std::fs::read(folder.path().join("part-0.profdata")).expect("it was written");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(folder.path().join("changed.profdata"), &bytes).expect("the folder takes files");
    let said = refused(&["merge", "changed.profdata", "part-1.profdata", "-o", "x.profdata"]);
    assert!(said.contains("the checksum of a partial merge does not match"), "{said}");
}

#[test]
fn parts_of_other_families_are_refused_and_not_made_as_something_else() {
    let folder = tempfile::tempdir().expect("there is room for files");
    std::fs::write(folder.path().join("a.collapsed"), "main;a 3\n").expect("the folder takes files");
    let iprof = testdata("iprof/statistics.iprof").display().to_string();
    let sample = testdata("sampleprof/context-probes-14.ext").display().to_string();
    let run = &runs(22)[0];
    for (inputs, output) in [
        (vec!["a.collapsed"], "x.collapsed"),
        (vec![&*iprof], "x.iprof"),
        (vec![&*sample], "x.afdo"),
        (vec![&**run, &*iprof], "x.profdata"),
    ] {
        let finished = profbridge(folder.path(), &[&["merge", "--partial", "-o", output], &inputs[..]].concat());
        let said = String::from_utf8_lossy(&finished.stderr);
        assert!(!finished.status.success() && said.contains("--partial"), "{inputs:?}: {said}");
        assert!(!folder.path().join(output).exists(), "{inputs:?}");
    }
}

#[test]
fn check_info_and_show_know_a_part() {
    let folder = tempfile::tempdir().expect("there is room for files");
    let (runs, pattern) = (runs(19), "--no-function=^keep");
    succeed(folder.path(), &["merge", "--partial", "-o", "part.profdata", pattern, &runs[0], &runs[1]]);
    let stdout =
        |arguments: &[&str]| String::from_utf8_lossy(&profbridge(folder.path(), arguments).stdout).into_owned();
    let told = stdout(&["info", "part.profdata"]);
    for expected in ["2 of 2 inputs", pattern, "records"] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    assert!(stdout(&["check", "part.profdata"]).contains("usable"));
    assert!(stdout(&["show", "part.profdata"]).contains("Total functions"));
    let read = || std::fs::read(folder.path().join("part.profdata")).expect("it was written");
    let changed = |bytes: Vec<u8>| {
        std::fs::write(folder.path().join("changed.profdata"), bytes).expect("the folder takes files");
        stdout(&["check", "changed.profdata"])
    };
    let mut bytes = read();
    let last = bytes.len() - 100;
    bytes[last] ^= 1;
    assert!(changed(bytes).contains("checksum"), "damage");
    let mut bytes = read();
    bytes.extend_from_slice(b"more");
    assert!(changed(bytes).contains("belong to nothing"), "foreign bytes");
    // Through a pipe it is said, not merged as an ordinary profile.
    let script = format!("cat part.profdata | {} merge - -o x.profdata", env!("CARGO_BIN_EXE_profbridge"));
    let piped = Command::new("sh").current_dir(folder.path()).args(["-c", &script]).output().expect("a shell");
    assert!(!piped.status.success());
    assert!(String::from_utf8_lossy(&piped.stderr).contains("cannot come through a pipe"));
}

#[test]
fn filters_weights_and_bad_inputs_are_remembered() {
    let folder = tempfile::tempdir().expect("there is room for files");
    let (runs, bad) = (runs(22), testdata("bad/long-binary-id.profraw").display().to_string());
    let weighted = format!("--weighted-input=3,{}", runs[0]);
    let rest = ["--function=a|i", "--failure-mode=warn", &weighted, &runs[1], &bad];
    let split = [&["merge", "--partial", "-o", "a.profdata"], &rest[..]].concat();
    let whole = [&["merge", "-o", "whole.profdata", &runs[2]], &rest[..]].concat();
    succeed(folder.path(), &split);
    let first = succeed(folder.path(), &whole);
    let joined = ["merge", "-o", "joined.profdata", "--failure-mode=warn", "--function=a|i", &runs[2], "a.profdata"];
    let said = succeed(folder.path(), &joined);
    let summary =
        |said: &str| said.lines().last().unwrap_or_default().split_once(": ").map(|(_, rest)| rest.to_string());
    assert_eq!(summary(&said), summary(&first));
    assert!(said.contains("long-binary-id.profraw") && said.contains("4096 bytes"), "{said}");
    let read = |name: &str| std::fs::read(folder.path().join(name)).expect("it was written");
    assert!(read("joined.profdata") == read("whole.profdata"));
}
