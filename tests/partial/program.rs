//! Tests of `merge --partial`, and of other tools that read its files.

use profbridge::Limits;
use profbridge::families::partial::{Partial, PartialOptions};
use profbridge::instr::partial::PartialMerge;
use profbridge::partial::{FOOTER_BYTES, Frame, append};
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

/// Creates two partial merges of the runs of each release, and the merge of all runs.
fn parts(folder: &Path) -> Vec<String> {
    let all: Vec<String> = [14, 19].into_iter().flat_map(runs).collect();
    for (number, part) in all.chunks(3).enumerate() {
        let name = format!("part-{number}.profdata");
        let mut arguments = vec!["merge", "--partial", "-o", &name];
        arguments.extend(part.iter().map(String::as_str));
        assert!(succeed(folder, &arguments).contains("partial merge, to be merged with others"));
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
    assert!(said.contains("for LLVM 19 (raw version 10)"), "{said}");
    assert!(said.contains(" of 8 inputs") || said.contains("from 8"), "{said}");
    let read = |name: &str| std::fs::read(folder.path().join(name)).expect("it was written");
    assert!(read("joined.profdata") == read("whole.profdata"));
    // In other formats, too: each binary id is listed once.
    for form in ["profraw", "iprof"] {
        let (joined, whole) = (format!("joined.{form}"), format!("whole.{form}"));
        let mut arguments = vec!["merge", "-q", "-o", &joined];
        arguments.extend(parts.iter().map(String::as_str));
        succeed(folder.path(), &arguments);
        let all: Vec<String> = [14, 19].into_iter().flat_map(runs).collect();
        let mut arguments = vec!["merge", "-q", "-o", &whole];
        arguments.extend(all.iter().map(String::as_str));
        succeed(folder.path(), &arguments);
        assert!(read(&joined) == read(&whole), "{form}");
    }
}

#[test]
fn llvm_reads_the_profile_in_front_of_a_part() {
    let folder = tempfile::tempdir().expect("there is room for files");
    for release in [14, 15, 16, 19, 22] {
        let tool = format!("llvm-profdata-{release}");
        if Command::new(&tool).arg("--version").output().is_err() {
            let _ = std::io::Write::write_all(
                &mut std::io::stderr(),
                format!("SKIPPED: {tool} is not installed\n").as_bytes(),
            );
            continue;
        }
        // Names follow the target when the merge is finished, so here they are those of the target.
        let (wanted, runs) = (format!("llvm-{release}"), runs(if release < 18 { 14 } else { release }));
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

/// Returns the size of a partial merge, and of its inputs together.
fn sizes(folder: &Path, part: &str, inputs: &[String], options: &[&str]) -> (u64, u64) {
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    succeed(folder, &[&["merge", "--partial", "-o", part], options, &inputs[..]].concat());
    let size = |path: &str| std::fs::metadata(folder.join(path)).expect("it is there").len();
    (size(part), inputs.iter().map(|input| size(input)).sum())
}

#[test]
fn parts_are_not_larger_than_their_inputs() {
    let folder = tempfile::tempdir().expect("there is room for files");
    let no_larger = |part: &str, inputs: &[String]| {
        let (size, together) = sizes(folder.path(), part, inputs, &[]);
        assert!(size <= together, "{part}: {size} bytes of {together}");
    };
    for clang in [14, 19, 22] {
        no_larger("part.profdata", &runs(clang));
    }
    let written = |end: &str, content: &dyn Fn(usize) -> String| -> Vec<String> {
        let write = |run: usize| {
            let name = format!("{run}.{end}");
            std::fs::write(folder.path().join(&name), content(run)).expect("the folder takes files");
            name
        };
        (0..3).map(write).collect()
    };
    let functions = |line: &dyn Fn(usize) -> String| (0..300).map(line).collect::<String>();
    let collapsed = written("collapsed", &|run| {
        functions(&|at| format!("main;Loop.run;Work.step{};Work.leaf{at} {}\n", at % 7, at * run + 1))
    });
    no_larger("part.collapsed", &collapsed);
    let samples = written("prof", &|run| {
        functions(&|at| format!("_ZN4work4step{at}Ev:{}:{at}\n 1: {}\n 2.1: {}\n", at * run + 2, at * run + 1, at))
    });
    no_larger("part.prof", &samples);
    let iprofs = written("iprof", &|run| iprof(300, run));
    no_larger("part.iprof", &iprofs);
    let memory: Vec<String> = ["19-plain", "22-plain", "22-histogram"]
        .map(|name| testdata(&format!("memprof/clang-{name}.memprofraw")).display().to_string())
        .to_vec();
    let programs: Vec<String> = ["19-plain", "22-plain", "22-histogram"]
        .map(|name| format!("--profiled-binary={}", testdata(&format!("memprof/clang-{name}.binary")).display()))
        .to_vec();
    let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
    let (size, together) = sizes(folder.path(), "memory.profdata", &memory, &programs);
    assert!(size <= together, "memory: {size} bytes of {together}");
}

/// Tests the page's statement about partial merges that may be larger than their inputs: compressed and tiny inputs.
#[test]
fn parts_of_compressed_and_of_tiny_inputs_may_be_larger() {
    let folder = tempfile::tempdir().expect("there is room for files");
    std::fs::write(folder.path().join("a.iprof"), iprof(300, 1)).expect("the folder takes files");
    succeed(folder.path(), &["merge", "a.iprof", "-o", "a.iprof.gz"]);
    let (size, together) = sizes(folder.path(), "part.iprof.gz", &["a.iprof.gz".into()], &[]);
    assert!((together..3 * together).contains(&size), "{size} bytes of {together}");
    std::fs::write(folder.path().join("a.proftext"), ":ir\nmain\n1\n1\n5\n").expect("the folder takes files");
    let (size, together) = sizes(folder.path(), "part.profdata", &["a.proftext".into()], &[]);
    assert!((together..together + 1000).contains(&size), "{size} bytes of {together}");
}

/// Returns an iprof with this number of methods. The counts depend on the run.
fn iprof(methods: usize, run: usize) -> String {
    let list = |line: &dyn Fn(usize) -> String| (0..methods).map(line).collect::<Vec<_>>().join(",");
    format!(
        "{{\"version\":\"1.0.0\",\"types\":[{}],\"methods\":[{}],\"callCountProfiles\":[{}]}}",
        list(&|at| format!("{{\"id\":{at},\"name\":\"work.Type{at}\"}}")),
        list(&|at| format!("{{\"id\":{at},\"name\":\"step{at}\",\"signature\":[{at},{at}]}}")),
        list(&|at| format!("{{\"ctx\":\"{at}:0\",\"records\":[{}]}}", at * run + 1)),
    )
}

/// Merges with the file `piped` on standard input.
fn merge_piped(folder: &Path, piped: &str, arguments: &[&str]) {
    let input = std::fs::File::open(folder.join(piped)).expect("it was written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
    let output = command.current_dir(folder).arg("merge").args(arguments).stdin(pipe_of(input)).output();
    let output = output.expect("the program starts");
    assert!(output.status.success(), "{piped} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the reading end of a pipe that a thread fills with the file.
fn pipe_of(mut file: std::fs::File) -> std::io::PipeReader {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    std::thread::spawn(move || std::io::copy(&mut file, &mut writer));
    reader
}

#[test]
fn compressed_and_piped_parts_become_the_bytes_of_one_merge() {
    let folder = tempfile::tempdir().expect("there is room for files");
    let runs = runs(22);
    let inputs: Vec<&str> = runs.iter().map(String::as_str).collect();
    let path = folder.path();
    succeed(path, &[&["merge", "-o", "whole.profdata"], &inputs[..]].concat());
    succeed(path, &[&["merge", "--partial", "-o", "plain.profdata"], &inputs[..1]].concat());
    succeed(path, &[&["merge", "--partial", "-o", "rest.profdata.gz"], &inputs[1..]].concat());
    succeed(path, &["merge", "plain.profdata", "rest.profdata.gz", "-o", "both.profdata"]);
    merge_piped(path, "plain.profdata", &["-", "rest.profdata.gz", "-o", "piped.profdata"]);
    let first = [&["merge", inputs[0], "rest.profdata.gz"], &["-o", "beside.profdata"][..]].concat();
    succeed(path, &first);
    let expected = std::fs::read(path.join("whole.profdata")).expect("it was written");
    for name in ["both.profdata", "piped.profdata", "beside.profdata"] {
        assert!(std::fs::read(path.join(name)).expect("it was written") == expected, "{name}");
    }
}

#[test]
fn changed_weighted_and_piped_parts_are_errors() {
    let folder = tempfile::tempdir().expect("there is room for files");
    parts(folder.path());
    let refused = |arguments: &[&str]| {
        let output = profbridge(folder.path(), arguments);
        assert!(!output.status.success() && !folder.path().join("x.profdata").exists(), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = refused(&["merge", "--weighted-input=2,part-0.profdata", "-o", "x.profdata"]);
    assert!(said.contains("a partial merge cannot have a weight"), "{said}");
    let mut bytes = std::fs::read(folder.path().join("part-0.profdata")).expect("it was written");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(folder.path().join("changed.profdata"), &bytes).expect("the folder takes files");
    let said = refused(&["merge", "changed.profdata", "part-1.profdata", "-o", "x.profdata"]);
    assert!(said.contains("the checksum of a partial merge does not match"), "{said}");
    // Failure modes apply to partial merges like to other inputs.
    let arguments = ["merge", "--failure-mode=warn", "changed.profdata", "part-1.profdata", "-o", "rest.profdata"];
    let said = succeed(folder.path(), &arguments);
    assert!(said.contains("the checksum of a partial merge does not match"), "{said}");
    succeed(folder.path(), &["merge", "part-1.profdata", "-o", "alone.profdata"]);
    let read = |name: &str| std::fs::read(folder.path().join(name)).expect("it was written");
    assert!(read("rest.profdata") == read("alone.profdata"));
}

#[test]
fn parts_that_would_change_their_family_are_refused() {
    let folder = tempfile::tempdir().expect("there is room for files");
    std::fs::write(folder.path().join("a.collapsed"), "main;a 3\n").expect("the folder takes files");
    let iprof = testdata("iprof/statistics.iprof").display().to_string();
    let sample = testdata("sampleprof/context-probes-14.ext").display().to_string();
    let run = &runs(22)[0];
    for (inputs, output) in [
        (vec!["a.collapsed"], "x.iprof"),
        (vec![&**run, &*iprof], "x.profdata"),
        (vec!["--scale=1/2", &*iprof], "x.iprof"),
        (vec!["--convert-sample-profile-layout=flat", &*sample], "x.afdo"),
        (vec!["--sample-format=binary", &*sample], "x.afdo"),
    ] {
        let finished = profbridge(folder.path(), &[&["merge", "--partial", "-o", output], &inputs[..]].concat());
        let said = String::from_utf8_lossy(&finished.stderr);
        assert!(!finished.status.success() && said.contains("part"), "{inputs:?}: {said}");
        assert!(!folder.path().join(output).exists(), "{inputs:?}");
    }
}

/// A partial merge keeps its functions, so a filter would apply to the other inputs only.
#[test]
fn filters_apply_to_all_inputs_of_a_part_or_to_none() {
    let folder = tempfile::tempdir().expect("there is room for files");
    let write =
        |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("the folder takes files");
    write("a.proftext", ":ir\nmain\n1\n1\n1\n\nwork\n2\n1\n90\n");
    write("a.prof", "main:10:1\n 1: 10\nwork:20:2\n 1: 20\n");
    let filter = "--function=main";
    for (input, output) in [("a.proftext", "profdata"), ("a.prof", "afdo")] {
        let name = |stem: &str| format!("{stem}.{output}");
        let [all, main, both, last] = ["all", "main", "both", "last"].map(name);
        succeed(folder.path(), &["merge", "--partial", input, "-o", &all]);
        succeed(folder.path(), &["merge", "--partial", filter, input, "-o", &main]);
        for option in [filter, "--no-function=work"] {
            let finished = profbridge(folder.path(), &["merge", "--partial", option, &all, input, "-o", "x"]);
            let said = String::from_utf8_lossy(&finished.stderr);
            assert_eq!(finished.status.code(), Some(2), "{said}");
            assert!(said.contains(&format!("{all}: the filter cannot apply to a partial merge")), "{said}");
        }
        // Both with the filter, and the filter for the last merge.
        write(input, &std::fs::read_to_string(folder.path().join(input)).expect("it is there").replace("90", "91"));
        succeed(folder.path(), &["merge", "--partial", filter, &main, input, "-o", &both, "--allow-duplicates"]);
        for input in [&both, &all] {
            let options: &[&str] = if *input == all { &[filter] } else { &[] };
            let said = succeed(folder.path(), &[&["merge", input, "-o", &last, "--force"], options].concat());
            assert!(said.contains(&format!("{last}: 1 function from")), "{said}");
        }
    }
    // A layout makes functions of inlined ones, which the filter would drop.
    write("inlined.prof", "main:15:1\n 1: 10\n 2: work:5\n  1: 5\n");
    succeed(folder.path(), &["merge", "--partial", "--no-function=work", "inlined.prof", "-o", "inlined.afdo"]);
    let flat = ["merge", "--convert-sample-profile-layout=flat", "inlined.afdo", "-o", "flat.afdo"];
    let said = String::from_utf8_lossy(&profbridge(folder.path(), &flat).stderr).into_owned();
    assert!(said.contains("a filter was applied to partial merges"), "{said}");
}

/// A partial merge keeps everything, so a selection would show in it and be gone in the last merge.
#[test]
fn selections_of_stacks_are_for_the_last_merge() {
    let folder = tempfile::tempdir().expect("there is room for files");
    std::fs::write(folder.path().join("a.collapsed"), "[one tid=1];main;a 3\n").expect("the folder takes files");
    let pprof = testdata("pprof/circles.pprof").display().to_string();
    for (option, input, output) in [
        ("--thread=one", "a.collapsed", "x.collapsed"),
        ("--events=all", "a.collapsed", "x.collapsed"),
        ("--drop-truncated", "a.collapsed", "x.collapsed"),
        ("--sample-type=cpu", &pprof, "x.pprof"),
        ("--max-stacks=3", &pprof, "x.pprof"),
        ("--drop-labels", &pprof, "x.pprof"),
    ] {
        let finished = profbridge(folder.path(), &["merge", "--partial", option, input, "-o", output]);
        let said = String::from_utf8_lossy(&finished.stderr);
        assert_eq!(finished.status.code(), Some(2), "{option}: {said}");
        let option = option.split('=').next().unwrap_or(option);
        assert!(said.contains(&format!("{option} is not for partial merges")), "{said}");
        assert!(said.contains("use it when you finish the merge"), "{said}");
        assert!(!folder.path().join(output).exists(), "{option}");
    }
    succeed(folder.path(), &["merge", "--partial", "a.collapsed", "-o", "part.collapsed"]);
    succeed(folder.path(), &["merge", "--thread=one", "part.collapsed", "-o", "one.collapsed"]);
    // Inputs without samples that are selected by default may have others.
    std::fs::write(folder.path().join("none.collapsed"), "main;a 0\n").expect("the folder takes files");
    succeed(folder.path(), &["merge", "--partial", "none.collapsed", "-o", "none.part.collapsed"]);
    succeed(folder.path(), &["merge", "none.part.collapsed", "part.collapsed", "-o", "both.collapsed"]);
}

#[test]
fn parts_of_stacks_lose_nothing() {
    let folder = tempfile::tempdir().expect("there is room for files");
    for input in ["java/shapes-jdk17.jfr.gz", "pprof/squares.pprof"] {
        let input = testdata(input).display().to_string();
        let said = succeed(folder.path(), &["merge", "--partial", "--strict", &input, "-o", "part.collapsed"]);
        assert!(!said.contains("dropped"), "{said}");
        let finished = profbridge(folder.path(), &["merge", "--strict", "part.collapsed", "-o", "whole.collapsed"]);
        let said = String::from_utf8_lossy(&finished.stderr);
        assert!(!finished.status.success() && said.contains("dropped"), "{input}: {said}");
    }
}

/// Creates two partial merges of the inputs, and the merge of all inputs, with the program.
fn joined(folder: &Path, inputs: &[String], end: &str, options: &[&str]) {
    let names: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let (first, second) = names.split_at(1);
    let name = |stem: &str| format!("{stem}.{end}");
    let run = |partial: bool, output: &str, inputs: &[&str]| {
        let mut arguments = vec!["merge", "-o", output];
        // Some inputs are given twice.
        arguments.push(if partial { "--partial" } else { "--allow-duplicates" });
        succeed(folder, &[&arguments[..], options, inputs].concat())
    };
    run(true, &name("first"), first);
    run(true, &name("second"), second);
    let said = run(false, &name("joined"), &[&name("first"), &name("second")]);
    let expected = run(false, &name("whole"), &names);
    let read = |stem: &str| std::fs::read(folder.join(name(stem))).expect("it was written");
    assert!(read("joined") == read("whole"), "{inputs:?} {options:?}: {said}\n{expected}");
    let reported = profbridge(folder, &["info", &name("second")]);
    let reported = String::from_utf8_lossy(&reported.stdout).into_owned();
    let wanted = format!("{} of {} input", second.len(), second.len());
    assert!(reported.contains(&wanted), "{reported}");
    let check = |name: &str| {
        let output = profbridge(folder, &["check", name]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(!check(&name("first")).contains("partial"), "{}", check(&name("first")));
    let mut damaged = read("first");
    let at = damaged.len() - 80;
    damaged[at] ^= 1;
    std::fs::write(folder.join(name("damaged")), damaged).expect("the folder takes files");
    assert!(check(&name("damaged")).contains("checksum"), "{}", check(&name("damaged")));
    let refused = profbridge(folder, &["merge", "-o", &name("x"), &name("damaged"), &name("second")]);
    assert!(!refused.status.success() && !folder.join(name("x")).exists());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("checksum"));
    // A damaged partial merge is treated like other damaged inputs.
    run(false, &name("rest"), &["--failure-mode=warn", &name("damaged"), &name("second")]);
}

#[test]
fn parts_of_every_family_become_the_bytes_of_one_merge() {
    let folder = tempfile::tempdir().expect("there is room for files");
    let files = |names: &[&str]| names.iter().map(|name| testdata(name).display().to_string()).collect::<Vec<_>>();
    let samples = files(&["sampleprof/plain-22.ext", "sampleprof/plain-22.text", "sampleprof/plain-19.ext"]);
    joined(folder.path(), &samples, "afdo", &[]);
    joined(folder.path(), &samples, "afdo", &["--no-function=^_Z"]);
    let contexts = files(&["sampleprof/context-probes-22.ext", "sampleprof/context-probes-22.text"]);
    joined(folder.path(), &contexts, "afdo", &[]);
    let iprofs = files(&["iprof/even-or-odd.iprof", "iprof/fibonacci.iprof", "iprof/even-or-odd.iprof"]);
    joined(folder.path(), &iprofs, "iprof", &[]);
    let stacks = files(&["stacks/web.collapsed", "pprof/squares.pprof", "stacks/web.collapsed"]);
    joined(folder.path(), &stacks, "collapsed", &[]);
    let pprofs = files(&["pprof/squares.pprof", "pprof/circles.pprof", "pprof/squares.pprof"]);
    joined(folder.path(), &pprofs, "pprof", &[]);
    let memory = files(&["memprof/clang-22-plain.v4.profdata", "memprof/clang-22-plain.yaml"]);
    joined(folder.path(), &memory, "profdata", &[]);
}

/// The order of frames, call stacks and records in the tables of a section depends on their order in the inputs.
#[test]
fn parts_of_memory_profiles_keep_the_order_of_their_inputs() {
    let folder = tempfile::tempdir().expect("there is room for files");
    let yaml: Vec<String> = (1..4).map(|number| format!("{number}.memprofyaml")).collect();
    for (seed, name) in yaml.iter().enumerate() {
        let seed = format!("--seed={seed}");
        succeed(folder.path(), &["generate", "--format=memory-yaml", "--functions=60", &seed, "-o", name]);
    }
    for target in ["--for=llvm-16", "--for=llvm-19", "--for=llvm-22"] {
        joined(folder.path(), &yaml, "profdata", &[target]);
    }
    let names = ["plain", "histogram", "no-pie", "two-dumps"];
    let file = |name: &str, end: &str| testdata(&format!("memprof/clang-22-{name}.{end}")).display().to_string();
    let raw: Vec<String> = names.iter().map(|name| file(name, "memprofraw")).collect();
    let programs: Vec<String> =
        names.iter().map(|name| format!("--profiled-binary={}", file(name, "binary"))).collect();
    let options: Vec<&str> = programs.iter().map(String::as_str).chain(["--for=llvm-18"]).collect();
    joined(folder.path(), &raw, "profdata", &options);
}

/// Other tools read a partial merge as its profile.
#[test]
fn llvm_reads_the_sample_profile_in_front_of_a_part() {
    let folder = tempfile::tempdir().expect("there is room for files");
    let mut tools: Vec<(u32, PathBuf)> =
        [14, 16, 19, 22].map(|release| (release, PathBuf::from(format!("llvm-profdata-{release}")))).into();
    tools.extend(std::env::var_os("LLVM_23_BIN").map(|bin| (22, Path::new(&bin).join("llvm-profdata"))));
    for (release, tool) in tools {
        if Command::new(&tool).arg("--version").output().is_err() {
            let words = format!("SKIPPED: {} is not installed\n", tool.display());
            let _ = std::io::Write::write_all(&mut std::io::stderr(), words.as_bytes());
            continue;
        }
        for kind in ["plain", "context-probes"] {
            let inputs = [14, 14].map(|of| testdata(&format!("sampleprof/{kind}-{of}.ext")).display().to_string());
            let wanted = format!("--for=llvm-{release}");
            let options = ["merge", &wanted, "--sample-format=extbinary", &inputs[0], &inputs[1]];
            succeed(folder.path(), &[&options[..], &["-o", "plain.afdo"]].concat());
            succeed(folder.path(), &[&options[..], &["--partial", "-o", "part.afdo"]].concat());
            let read = |name: &str| std::fs::read(folder.path().join(name)).expect("it was written");
            assert!(read("part.afdo").starts_with(&read("plain.afdo")) && read("part.afdo") != read("plain.afdo"));
            for arguments in [&["show", "--sample"][..], &["merge", "--sample", "--text", "-o", "-"]] {
                let reported = |name: &str| {
                    let arguments = [arguments, &[name]].concat();
                    let output = Command::new(&tool).current_dir(folder.path()).args(arguments).output();
                    let output = output.expect("the tool runs");
                    assert!(output.status.success(), "{tool:?}: {}", String::from_utf8_lossy(&output.stderr));
                    assert!(!output.stdout.is_empty());
                    output.stdout
                };
                assert!(reported("part.afdo") == reported("plain.afdo"), "{tool:?} {arguments:?} {kind}");
            }
        }
    }
}

#[test]
fn a_memory_profile_without_end_takes_no_state() {
    let folder = tempfile::tempdir().expect("there is room for files");
    let memory = testdata("memprof/clang-16-plain.v0.profdata").display().to_string();
    let part = ["merge", "--partial", "-o", "part.profdata", &memory];
    let refused = profbridge(folder.path(), &[&part[..], &["--for", "llvm-15"]].concat());
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("LLVM 15") && said.contains("llvm-16"), "{said}");
    succeed(folder.path(), &[&part[..], &["--for", "llvm-16"]].concat());
    for name in ["whole", "joined"] {
        let (input, output) = (if name == "whole" { &*memory } else { "part.profdata" }, format!("{name}.profdata"));
        succeed(folder.path(), &["merge", "--for", "llvm-15", "-o", &output, input]);
    }
    let read = |name: &str| std::fs::read(folder.path().join(name)).expect("it was written");
    assert!(read("joined.profdata") == read("whole.profdata"));
}

#[test]
fn check_info_and_show_know_a_part() {
    let folder = tempfile::tempdir().expect("there is room for files");
    let (runs, pattern) = (runs(19), "--no-function=^keep");
    succeed(folder.path(), &["merge", "--partial", "-o", "part.profdata", pattern, &runs[0], &runs[1]]);
    let stdout =
        |arguments: &[&str]| String::from_utf8_lossy(&profbridge(folder.path(), arguments).stdout).into_owned();
    let reported = stdout(&["info", "part.profdata"]);
    for expected in ["2 of 2 inputs", pattern, "records"] {
        assert!(reported.contains(expected), "{expected}: {reported}");
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
    assert!(changed(bytes).contains("follow the profile and are ignored"), "foreign bytes");
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

#[test]
fn parts_can_be_salvaged_and_empty_inputs_are_not_failures() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for (name, text) in [("a.afdo", "main:5:1\n 1: 5\n"), ("empty.afdo", ""), ("b.afdo", "f:7:1\n 1: 7\n")] {
        std::fs::write(folder.join(name), text).expect("it is written");
    }
    std::fs::write(folder.join("s.folded"), "main;f 3\n").expect("it is written");
    let refused = |arguments: &[&str]| {
        let output = profbridge(folder, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let words = String::from_utf8(output.stderr).expect("text");
        assert!(words.contains("alvage"), "{words}");
        assert!(!folder.join("no").exists());
    };
    refused(&["merge", "--partial", "--salvage", "--failure-mode=warn", "a.afdo", "b.afdo", "-o", "no"]);
    refused(&["merge", "--partial", "--salvage", "--failure-mode=warn", "s.folded", "--to=collapsed", "-o", "no"]);
    succeed(folder, &["merge", "--partial", "a.afdo", "empty.afdo", "-o", "part.afdo"]);
    succeed(folder, &["merge", "part.afdo", "b.afdo", "-o", "all.afdo"]);
    succeed(folder, &["merge", "a.afdo", "empty.afdo", "b.afdo", "-o", "one.afdo"]);
    let bytes = |name: &str| std::fs::read(folder.join(name)).expect("it was written");
    assert_eq!(bytes("all.afdo"), bytes("one.afdo"));
    refused(&["merge", "--salvage", "--failure-mode=warn", "part.afdo", "b.afdo", "-o", "no"]);
}

#[test]
fn a_shard_whose_programs_never_ran_is_a_part_of_any_family() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::create_dir(folder.join("shard")).expect("a folder");
    std::fs::write(folder.join("0.profraw"), "").expect("it is written");
    let iprof = testdata("iprof/fibonacci.iprof");
    for (text, output) in [
        (":ir\nmain\n1\n1\n5\n", "all.profdata"),
        ("main:5:1\n 1: 5\n", "all.afdo"),
        ("main;f 3\n", "all.collapsed"),
        (std::str::from_utf8(&std::fs::read(iprof).expect("it is read")).expect("text"), "all.iprof"),
    ] {
        std::fs::write(folder.join("a"), text).expect("it is written");
        succeed(folder, &["merge", "--partial", "a", "-o", output]);
        std::fs::rename(folder.join(output), folder.join("a.part")).expect("it was written");
        succeed(folder, &["merge", "a", "-o", output]);
        let expected = std::fs::read(folder.join(output)).expect("it was written");
        for inputs in ["shard", "0.profraw"] {
            let said = succeed(folder, &["merge", "--partial", inputs, "-o", "empty.part"]);
            assert!(said.contains("empty.part: no records from 0 "), "{said}");
            for parts in [["empty.part", "a.part"], ["a.part", "empty.part"]] {
                let said = succeed(folder, &[&["merge"], &parts[..], &["-o", output]].concat());
                assert!(said.contains("empty.part: ") && said.contains("the file is empty"), "{said}");
                assert!(std::fs::read(folder.join(output)).expect("it was written") == expected, "{output}");
            }
        }
        // Partial merges of empty inputs are empty.
        let nothing = profbridge(folder, &["merge", "empty.part", "-o", "no.profdata"]);
        assert_eq!(nothing.status.code(), Some(1));
        assert!(!folder.join("no.profdata").exists());
    }
    // A partial merge without functions, with a threshold that requires one.
    std::fs::write(folder.join("a"), ":ir\nmain\n1\n1\n5\n").expect("it is written");
    let said = succeed(folder, &["merge", "--partial", "a", "--function=nosuch", "-o", "filtered.profdata"]);
    assert!(said.contains("filtered.profdata: 0 functions from 1 input"), "{said}");
    let gated = profbridge(folder, &["merge", "--partial", "shard", "--min-functions=1", "-o", "gated.profdata"]);
    assert_eq!(gated.status.code(), Some(3));
    assert!(!folder.join("gated.profdata").exists());
    // Missing arguments and missing files are errors.
    assert_eq!(profbridge(folder, &["merge", "--partial", "-o", "no"]).status.code(), Some(2));
    assert_eq!(profbridge(folder, &["merge", "--partial", "nosuch", "-o", "no.profdata"]).status.code(), Some(1));
}

/// The error of a merge that fails with exit code 2 and writes nothing.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = profbridge(folder, &[arguments, &["-o", "no.profdata"]].concat());
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(!folder.join("no.profdata").exists());
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn a_profile_in_a_partial_merge_and_in_another_input_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for (name, count) in [("a.proftext", 5), ("b.proftext", 7), ("c.proftext", 9)] {
        std::fs::write(folder.join(name), format!(":ir\nmain\n1\n1\n{count}\n")).expect("it is written");
    }
    succeed(folder, &["merge", "--partial", "a.proftext", "b.proftext", "-o", "1.profdata"]);
    succeed(folder, &["merge", "--partial", "c.proftext", "-o", "2.profdata"]);
    succeed(folder, &["merge", "--partial", "1.profdata", "2.profdata", "-o", "3.profdata"]);
    for (first, second, name) in [
        ("1.profdata", "1.profdata", "a.proftext"),
        ("1.profdata", "b.proftext", "b.proftext"),
        ("c.proftext", "2.profdata", "c.proftext"),
        ("3.profdata", "2.profdata", "c.proftext"),
    ] {
        for partial in [&["merge"][..], &["merge", "--partial"]] {
            let said = refused(folder, &[partial, &[first, second]].concat());
            let error = format!("error: {second} and {first} both contain {name}, which would be counted twice\n");
            assert!(said.starts_with(&error), "{said}");
            assert!(said.contains("use --allow-duplicates to count it twice"), "{said}");
            succeed(folder, &[partial, &["--allow-duplicates", first, second, "-o", "yes.profdata"]].concat());
        }
    }
    // A lenient merge does not count an input twice either.
    refused(folder, &["merge", "--failure-mode=warn", "1.profdata", "1.profdata"]);
    succeed(folder, &["merge", "--allow-duplicates", "1.profdata", "a.proftext", "-o", "yes.profdata"]);
    succeed(folder, &["merge", "--text", "a.proftext", "a.proftext", "b.proftext", "-o", "twice.proftext"]);
    succeed(folder, &["merge", "--text", "yes.profdata", "-o", "yes.proftext"]);
    let read = |name: &str| std::fs::read(folder.join(name)).expect("it was written");
    assert_eq!(read("yes.proftext"), read("twice.proftext"));
    // Equal bytes of two programs are two inputs.
    succeed(folder, &["merge", "--partial", "a.proftext", "a.proftext", "-o", "both.profdata"]);
    // Profiles without records are not duplicates.
    std::fs::write(folder.join("blank.proftext"), ":ir\n").expect("it is written");
    succeed(folder, &["merge", "--partial", "a.proftext", "blank.proftext", "-o", "4.profdata"]);
    succeed(folder, &["merge", "4.profdata", "2.profdata", "blank.proftext", "-o", "no-duplicates.profdata"]);
}

#[test]
fn a_partial_merge_keeps_data_that_its_profile_cannot_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let vtables = testdata("raw/clang-19-vtables.profraw");
    let input = vtables.to_str().expect("text");
    let part =
        profbridge(folder, &["merge", "--partial", "--strict", input, "--for", "llvm-16", "-o", "part.profdata"]);
    let said = String::from_utf8_lossy(&part.stderr).into_owned();
    assert!(part.status.success() && !said.contains("dropped"), "{said}");
    succeed(folder, &["merge", "part.profdata", "-o", "parts.profdata"]);
    succeed(folder, &["merge", input, "-o", "one.profdata"]);
    let read = |name: &str| std::fs::read(folder.join(name)).expect("it was written");
    assert!(read("parts.profdata") == read("one.profdata"));
}

#[test]
fn salvaged_inputs_of_a_partial_merge_are_reported_as_such() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("cut.proftext"), "f\n1\n1\n100\n\ng\n1\n1\n7\n\nh\n1\n").expect("it is written");
    std::fs::write(folder.join("ok.proftext"), "f\n1\n1\n5\n").expect("it is written");
    let lenient = ["merge", "--failure-mode=warn", "--json"];
    let report = |arguments: &[&str]| {
        let output = profbridge(folder, &[&lenient[..], arguments].concat());
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
        let outcomes: Vec<String> =
            document["inputs"].as_array().expect("a list").iter().map(|input| input["outcome"].to_string()).collect();
        (outcomes.join(" "), String::from_utf8(output.stderr).expect("text"))
    };
    let one = report(&["--salvage", "cut.proftext", "ok.proftext", "-o", "one.profdata"]);
    assert_eq!(one.0, r#""salvaged" "used""#);
    report(&["--partial", "--salvage", "cut.proftext", "ok.proftext", "-o", "part.profdata"]);
    let parts = report(&["part.profdata", "-o", "parts.profdata"]);
    assert_eq!(parts.0, one.0);
    let without = report(&["cut.proftext", "ok.proftext", "-o", "without.profdata"]);
    assert_eq!(without.0, r#""failed" "used""#);
    let read = |name: &str| std::fs::read(folder.join(name)).expect("it was written");
    assert!(read("parts.profdata") == read("one.profdata") && read("without.profdata") != read("one.profdata"));
}

#[test]
fn functions_of_a_partial_merge_are_not_renamed() {
    for (end, [first, second]) in
        [(".proftext", ["f1\n1\n1\n5\n", "f1\n1\n1\n50\n"]), (".prof", ["f1:5:1\n 1: 5 f2:3\n", "f1:50:1\n 1: 50\n"])]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("it is written");
        write("rules", "f1 g1\n");
        let [a, b] = ["a", "b"].map(|name| format!("{name}{end}"));
        write(&a, first);
        write(&b, second);
        succeed(folder, &["merge", "--partial", &a, "-o", "part.out"]);
        succeed(folder, &["merge", "--partial", &a, "-r", "rules", "-o", "renamed.out"]);
        for inputs in [&["part.out"][..], &["part.out", &b], &[&b, "part.out"]] {
            let said = refused(folder, &[&["merge", "-r", "rules"], inputs].concat());
            assert!(said.contains("part.out: a partial merge cannot be renamed, but it has the function f1"), "{said}");
        }
        succeed(folder, &["merge", "--text", "renamed.out", &b, "-r", "rules", "-o", "parts.txt"]);
        succeed(folder, &["merge", "--text", &a, &b, "-r", "rules", "-o", "one.txt"]);
        let read = |name: &str| std::fs::read(folder.join(name)).expect("it was written");
        assert_eq!(read("parts.txt"), read("one.txt"));
        let text = String::from_utf8(read("one.txt")).expect("text");
        assert!(text.contains("g1") && text.contains("55") && !text.contains("f1"), "{text}");
        refused(folder, &["merge", "--partial", &a, "--hashes", "reader"]);
    }
}

#[test]
fn partial_merges_of_version_1_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    for entry in std::fs::read_dir(testdata("partial")).expect("testdata is there") {
        let path = entry.expect("an entry").path();
        let Some(name) = path.to_str().filter(|name| name.ends_with(".partial")) else { continue };
        let bytes = std::fs::read(name).expect("it is there");
        assert_eq!(bytes[bytes.len() - 12..bytes.len() - 8], [1, 0, 0, 0], "{name}");
        // Their inputs have no digests.
        succeed(folder.path(), &["merge", "--partial", name, name, "-o", "out.profdata"]);
        succeed(folder.path(), &["merge", "out.profdata", "-o", "out.profdata", "--force"]);
    }
}

#[test]
fn parts_of_every_version_have_the_same_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let (folder, options) = (folder.path(), PartialOptions::default());
    let entries = std::fs::read_dir(testdata("partial/version-5")).expect("testdata is there");
    let mut short = 0;
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        let bytes = std::fs::read(&path).expect("it is there");
        let frame = Frame::find(&bytes, &Limits::default()).expect("it is a part").expect("it is a part");
        assert_eq!(frame.version, 5);
        short += usize::from(PartialMerge::decode(&frame.state, &Limits::default()).is_err());
        // A state of version 4 has all that the profile in front of it has.
        let whole = Partial::from_bytes(&bytes, &options).expect("it is a part").to_bytes().expect("it is written");
        let state = Frame::find(&whole, &Limits::default()).expect("it is a part").expect("it is a part").state;
        let mut earlier = append(frame.profile.to_vec(), frame.family, frame.origins, &state).expect("it is small");
        let version = earlier.len() - FOOTER_BYTES + 52;
        earlier[version] = 4;
        std::fs::write(folder.join("4.profdata"), &earlier).expect("it is written");
        let first = path.parent().unwrap().with_file_name(path.file_name().unwrap());
        let merged = [&path, &folder.join("4.profdata"), &first].map(|part| {
            succeed(folder, &["merge", "--force", "-o", "merged.profdata", part.to_str().unwrap()]);
            std::fs::read(folder.join("merged.profdata")).expect("it was written")
        });
        assert!(merged[0] == merged[1] && merged[0] == merged[2], "{}", path.display());
    }
    assert!(short > 3, "{short} states refer to their profiles");
}

/// Large enough that counters stay in the file, which they begin at any byte.
#[test]
fn a_large_part_becomes_the_bytes_of_one_merge() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let generate = ["generate", "--format=raw", "--functions=2000", "--counters=300"];
    for (seed, path) in [("1", "a.profraw"), ("2", "b.profraw")] {
        succeed(folder, &[&generate[..], &["--seed", seed, "-o", path]].concat());
    }
    let read = |name: &str| std::fs::read(folder.join(name)).expect("it was written");
    let merged = |inputs: &[&str], options: &[&str]| {
        succeed(folder, &[&["merge", "--force", "-o", "merged.profdata"], options, inputs].concat());
        read("merged.profdata")
    };
    for options in [&[][..], &["--for=llvm-14"], &["--function=1"]] {
        let made = [&["merge", "--partial", "--force", "a.profraw", "-o", "part.profdata"], options].concat();
        succeed(folder, &made);
        assert!(read("part.profdata").len() > 4 << 20 || options.contains(&"--function=1"));
        // A part of a part.
        succeed(folder, &["merge", "--partial", "--force", "part.profdata", "-o", "again.profdata"]);
        for part in ["part.profdata", "again.profdata"] {
            let whole = merged(&["a.profraw"], options);
            assert!(merged(&[part], options) == whole, "{part} with {options:?}");
            let both = merged(&["a.profraw", "b.profraw"], options);
            assert!(merged(&[part, "b.profraw"], options) == both, "{part} and a dump with {options:?}");
        }
    }
}

#[test]
fn duplicates_are_an_error_in_every_family() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let iprof = std::fs::read_to_string(testdata("iprof/fibonacci.iprof")).expect("text");
    for (text, other, output) in [
        ("main:5:1\n 1: 5\n", "f:7:1\n 1: 7\n", "all.afdo"),
        ("main;f 3\n", "main;g 4\n", "all.collapsed"),
        (&iprof, "", "all.iprof"),
    ] {
        std::fs::write(folder.join("a"), text).expect("it is written");
        std::fs::write(folder.join("b"), other).expect("it is written");
        for name in ["all", "1", "2"] {
            let _ = std::fs::remove_file(folder.join(output.replace("all", name)));
        }
        let part = output.replace("all", "1");
        succeed(folder, &["merge", "--partial", "a", "b", "-o", &part]);
        for inputs in [["a", &part], [&part, "a"], [&part, &part]] {
            for partial in [&["merge"][..], &["merge", "--partial"]] {
                let merge = [partial, &inputs, &["-o", output]].concat();
                let refused = profbridge(folder, &merge);
                let said = String::from_utf8(refused.stderr).expect("text");
                assert_eq!(refused.status.code(), Some(2), "{merge:?}: {said}");
                assert!(said.contains("both contain a, which would be counted twice"), "{said}");
                assert!(!folder.join(output).exists());
                succeed(folder, &[&merge[..], &["--allow-duplicates"]].concat());
                std::fs::remove_file(folder.join(output)).expect("it was written");
            }
        }
    }
}

#[test]
fn a_partial_merge_is_recognised_whatever_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let runs = runs(19);
    succeed(folder, &["merge", "--partial", &runs[0], &runs[1], "-o", "part.profdata"]);
    succeed(folder, &["merge", "part.profdata", &runs[2], "-o", "expected.profdata"]);
    std::fs::rename(folder.join("part.profdata"), folder.join("part.profraw")).expect("it was written");
    succeed(folder, &["merge", "part.profraw", &runs[2], "-o", "found.profdata"]);
    let read = |name: &str| std::fs::read(folder.join(name)).expect("it was written");
    assert!(read("found.profdata") == read("expected.profdata"));
}

#[test]
fn a_part_of_unreadable_inputs_only_is_merged_like_others() {
    let iprof = r#"{"version":"1.0.0","types":[{"id":0,"name":"A"}],"methods":[{"id":0,"name":"f","signature":[0,0]}],"callCountProfiles":[{"ctx":"0:0","records":[5]}]}"#;
    for (end, good, bad) in [
        ("proftext", "f\n1\n1\n5\n", "f\n1\n1\n"),
        ("prof", "f:5:1\n 1: 5\n", "f:5:1\n 1 5\n"),
        ("iprof", iprof, r#"{"version":"1.0.0","types":"#),
        ("collapsed", "a;b 5\n", "a;b 5\na;b 18446744073709551616000\n"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let [good_file, bad_file] = [("good", good), ("bad", bad)].map(|(name, text)| {
            let name = format!("{name}.{end}");
            std::fs::write(folder.join(&name), text).expect("it is written");
            name
        });
        let [one, out, nothing] = ["one", "out", "nothing"].map(|name| format!("{name}.{end}"));
        refused(folder, &["merge", "--partial", "--failure-mode=all", &bad_file, "-o", "bad.part"]);
        succeed(folder, &["merge", "--partial", "--failure-mode=warn", &bad_file, "-o", "bad.part"]);
        succeed(folder, &["merge", "--partial", &good_file, "-o", "good.part"]);
        refused(folder, &["merge", "bad.part", "good.part", "-o", &out]);
        succeed(folder, &["merge", "--failure-mode=warn", &bad_file, &good_file, "-o", &one]);
        let said = profbridge(folder, &["merge", "--failure-mode=warn", "bad.part", "good.part", "-o", &out]);
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.contains(&bad_file), "{end}: {said}");
        let read = |name: &str| std::fs::read(folder.join(name)).expect("it was written");
        assert!(read(&one) == read(&out), "{end}");
        succeed(folder, &["merge", "--failure-mode=warn", "--allow-empty", &bad_file, "-o", &nothing]);
        refused(folder, &["merge", "--failure-mode=warn", &bad_file, "-o", "none.out"]);
    }
}

#[test]
fn the_last_merge_takes_the_target_from_partial_merges_of_sample_profiles() {
    let folder = tempfile::tempdir().expect("there is room for files");
    let folder = folder.path();
    let input = testdata("sampleprof/plain.prof").display().to_string();
    for number in ["1", "2"] {
        let part = format!("part-{number}.afdo");
        succeed(folder, &["merge", "--partial", "--allow-duplicates", &input, "--for", "llvm-13", "-o", &part]);
    }
    let parts = ["merge", "--allow-duplicates", "part-1.afdo", "part-2.afdo", "-o"];
    succeed(folder, &[&parts[..], &["joined.afdo"]].concat());
    succeed(folder, &["merge", "--allow-duplicates", &input, &input, "--for", "llvm-13", "-o", "once.afdo"]);
    let read = |name: &str| std::fs::read(folder.join(name)).expect("it was written");
    assert!(read("joined.afdo") == read("once.afdo"));
    let output = profbridge(folder, &[&parts[..], &["x.afdo", "--for", "llvm-22"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("targets LLVM 13, but the result targets LLVM 22"), "{said}");
}
