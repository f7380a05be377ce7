//! Tests of merges with inputs that are empty, truncated, of other formats, or from other programs.

use crate::program::{Finished, Folder};
use std::fs;
use std::path::Path;

/// For each family: valid files that can be merged with each other, the name of an output, and the part of it that a
/// truncated file contributes.
const FAMILIES: [(&str, [&str; 2], &str); 4] = [
    ("instr", [":ir\nmain\n1\n1\n5\n", ":ir\nmain\n1\n1\n7\n"], "x.proftext"),
    ("samples", ["foo:10:1\n 1: 5\n", "foo:20:2\n 1: 9\n"], "x.proftext"),
    ("stacks", ["a;b 1\nc;d 2\n", "a;b 4\n"], "x.collapsed"),
    ("iprof", [IPROF, IPROF], "x.iprof"),
];

const NEVER_RAN: &str = ":ir\nmain\n1\n1\n0\n";

const IPROF: &str = "{\"version\":\"1.0.0\",\"types\":[{\"id\":0,\"name\":\"A\"},{\"id\":1,\"name\":\"void\"}],\
    \"methods\":[{\"id\":0,\"name\":\"m\",\"signature\":[0,1]}],\"callCountProfiles\":[{\"ctx\":\"0:0\",\"records\":[3]}]}";

fn run(folder: &Folder, line: &str) -> Finished {
    folder.run(&line.split_whitespace().collect::<Vec<_>>())
}

#[track_caller]
fn done(folder: &Folder, line: &str) -> String {
    let finished = run(folder, line);
    assert_eq!(finished.code, Some(0), "{line}: {}", finished.stderr);
    finished.stderr
}

#[track_caller]
fn refused(code: i32, folder: &Folder, line: &str) -> String {
    let finished = run(folder, line);
    assert_eq!(finished.code, Some(code), "{line}: {}", finished.stderr);
    finished.stderr
}

#[test]
fn profiles_after_the_first_of_a_file_are_not_ignored_silently() {
    let folder = Folder::new();
    for (name, text, output) in [
        ("a.proftext", FAMILIES[0].1[0], "x.profdata"),
        ("s.proftext", FAMILIES[1].1[0], "x.afdo --sample-format extbinary"),
    ] {
        fs::write(folder.path(name), text).unwrap();
        let silent = done(&folder, &format!("merge {name} -o {output}"));
        assert_eq!(silent.matches("another profile").count(), 0, "{silent}");
        let file = output.split(' ').next().unwrap();
        let one = fs::read(folder.path(file)).unwrap();
        fs::write(folder.path("all"), one.repeat(2)).unwrap();
        let message = format!("all: another profile follows at {:#x} and is ignored", one.len());
        let warned = done(&folder, &format!("merge all --force -o {output}"));
        assert_eq!(warned.matches(&message).count(), 1, "{warned}");
        assert_eq!(fs::read(folder.path(file)).unwrap(), one);
        assert!(refused(1, &folder, &format!("merge all --strict --force -o {output}")).contains(&message));
    }
    fs::write(folder.path("two.profdata"), fs::read(folder.path("x.profdata")).unwrap().repeat(2)).unwrap();
    for line in ["show two.profdata", "diff x.profdata two.profdata", "overlap x.profdata two.profdata"] {
        let warned = done(&folder, line);
        assert_eq!(warned.matches("two.profdata: another profile follows at").count(), 1, "{line}: {warned}");
    }
    // Nothing follows the profile of a partial merge but its state.
    done(&folder, "merge a.proftext --partial -o x.part");
    let silent = done(&folder, "merge x.part x.part --allow-duplicates -o sum.profdata");
    assert!(!silent.contains("another profile"), "{silent}");
}

/// Their counts would be missed silently.
#[cfg(unix)]
#[test]
fn dangling_links_named_like_profiles_are_bad_inputs() {
    let folder = Folder::new();
    fs::create_dir(folder.path("in")).unwrap();
    fs::write(folder.path("in/a.proftext"), ":ir\nmain\n1\n1\n5\n").unwrap();
    for name in ["b.profraw", ".#notes.txt"] {
        std::os::unix::fs::symlink("nowhere", folder.path("in").join(name)).unwrap();
    }
    let words = "in/b.profraw: cannot open: No such file or directory";
    for options in ["", "--strict"] {
        let said = refused(1, &folder, &format!("merge in -o x.profdata {options}"));
        assert!(said.contains(words) && !said.contains("notes"), "{said}");
    }
    let said = done(&folder, "merge in -o x.profdata --failure-mode=warn");
    assert!(said.contains(&format!("warning: {words}")) && said.contains("skipped 1 unreadable"), "{said}");
    let checked = run(&folder, "check in");
    assert_eq!(checked.code, Some(1));
    assert!(
        String::from_utf8_lossy(&checked.stdout).contains("in/b.profraw: unknown: unreadable"),
        "{}",
        checked.stderr
    );
}

#[test]
fn merge_skips_other_files_in_directories() {
    for (family, contents, output) in FAMILIES {
        let folder = Folder::new();
        fs::create_dir_all(folder.path("in/sub")).unwrap();
        for (at, content) in contents.iter().enumerate() {
            fs::write(folder.path(&format!("in/{at}")), content).unwrap();
        }
        done(&folder, &format!("merge in -o {output}"));
        let expected = fs::read(folder.path(output)).unwrap();
        fs::write(folder.path("in/run.log"), "It was\na dark night\n").unwrap();
        fs::write(folder.path("in/sub/app"), b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0").unwrap();
        fs::write(folder.path("in/z.json"), "{\"event\":1}\n").unwrap();
        let said = done(&folder, &format!("merge in -o {output}"));
        assert!(said.contains("skipped 3 files that are not profiles: in/run.log"), "{family}: {said}");
        assert_eq!(fs::read(folder.path(output)).unwrap(), expected, "{family}");
        assert!(!done(&folder, &format!("merge in -o {output} --quiet")).contains("skipped"), "{family}");
        // A given file that is not a profile is an error. With --strict, so is such a file in a directory. Damaged
        // profiles are always errors.
        refused(1, &folder, &format!("merge in in/run.log -o {output}"));
        refused(1, &folder, &format!("merge in --strict -o {output}"));
        fs::write(folder.path("in/cut.profraw"), [0; 16]).unwrap();
        refused(1, &folder, &format!("merge in -o {output}"));
    }
    let folder = Folder::new();
    fs::create_dir(folder.path("in")).unwrap();
    fs::write(folder.path("in/run.log"), "It was\na dark night\n").unwrap();
    assert!(
        refused(1, &folder, "merge in -o x.profdata").contains("no profiles found in the given directories and lists")
    );
    fs::create_dir(folder.path("empty")).unwrap();
    fs::write(folder.path("list"), "").unwrap();
    for line in ["merge empty", "merge -f list", "merge empty --strict", "merge empty --allow-empty"] {
        let said = refused(1, &folder, &format!("{line} -o x.profdata"));
        assert!(said.contains("no profiles found in the given directories and lists"), "{line}: {said}");
    }
    assert!(refused(2, &folder, "merge -o x.profdata").contains("no input files"));
}

#[test]
fn the_output_in_a_directory_or_list_is_not_an_input() {
    let memory = [memory_profile(5), memory_profile(6)];
    let memory = ("memory", [memory[0].as_str(), memory[1].as_str()], "x.yaml");
    for (family, contents, output) in FAMILIES.into_iter().chain([memory]) {
        let folder = Folder::new();
        fs::create_dir(folder.path("in")).unwrap();
        for (at, content) in contents.iter().enumerate() {
            fs::write(folder.path(&format!("in/{at}")), content).unwrap();
        }
        fs::write(folder.path("list"), format!("in/0\n in/../in/{output}\n3,in/{output}\nin/1\n")).unwrap();
        let read = || fs::read(folder.path(&format!("in/{output}"))).unwrap();
        assert!(!done(&folder, &format!("merge in -o in/{output}")).contains("it is the output"), "{family}");
        let expected = read();
        for line in ["merge in", "merge in --strict", "merge in in/../in/.. -f list", "merge -f list"] {
            let said = done(&folder, &format!("{line} -o in/{output}"));
            assert!(
                said.contains("note: skipped in/") && said.contains("it is the output"),
                "{family}: {line}: {said}"
            );
            assert!(!said.contains("is it still being written"), "{family}: {line}: {said}");
            if !line.contains("..") {
                assert_eq!(read(), expected, "{family}: {line}");
            }
        }
        let found = outcomes(&folder, &format!("merge --json in -o in/{output}"));
        assert_eq!(found, ["in/0:used", "in/1:used", &format!("in/{output}:output")], "{family}");
        // An input that was given counts even if it is the output: users accumulate profiles like this.
        let once = read();
        let said = done(&folder, &format!("merge in/{output} in/1 -o in/{output}"));
        assert!(!said.contains("it is the output") && !said.contains("still being written"), "{family}: {said}");
        assert!(read() != once, "{family}");
    }
}

#[test]
fn empty_inputs_are_reported_and_skipped() {
    for (family, contents, output) in FAMILIES {
        let folder = Folder::new();
        fs::write(folder.path("a"), contents[0]).unwrap();
        fs::write(folder.path("empty"), "").unwrap();
        done(&folder, &format!("merge a -o {output}"));
        let expected = fs::read(folder.path(output)).unwrap();
        for inputs in ["a empty", "empty a"] {
            let said = done(&folder, &format!("merge {inputs} -o {output}"));
            assert!(said.contains("empty: ") && said.contains("the file is empty"), "{family}: {said}");
            assert_eq!(fs::read(folder.path(output)).unwrap(), expected, "{family}");
        }
        let said = refused(1, &folder, &format!("merge a empty --strict -o {output}"));
        assert!(said.contains("empty: ") && said.contains("omit --strict"), "{family}: {said}");
    }
}

#[test]
fn inputs_without_a_function_in_common_are_noted_for_every_family() {
    let other = [":ir\nother\n1\n1\n7\n", "bar:20:2\n 1: 9\n", "x;y 4\n", &IPROF.replace("\"m\"", "\"n\"")];
    for ((family, contents, output), other) in FAMILIES.into_iter().zip(other) {
        let folder = Folder::new();
        for (name, content) in [("a", contents[0]), ("b", contents[1]), ("c", other)] {
            fs::write(folder.path(name), content).unwrap();
        }
        let note = "have no function in common";
        assert!(done(&folder, &format!("merge a c -o {output}")).contains(note), "{family}");
        for (line, why) in [("a b c", "two share one"), ("a b", "they share one"), ("a", "it is alone")] {
            let said = done(&folder, &format!("merge {line} -o {output}"));
            assert!(!said.contains(note), "{family}: {why}: {said}");
        }
        assert!(!done(&folder, &format!("merge a c -q -o {output}")).contains(note), "{family}");
    }
}

#[test]
fn main_of_another_program_is_not_a_function_in_common() {
    let folder = Folder::new();
    let program = |hash: u64, other: &str| format!(":ir\nmain\n{hash}\n1\n1\n\n{other}\n5\n1\n7\n");
    for (name, content) in [("a", program(1, "one")), ("b", program(2, "two")), ("c", program(1, "three"))] {
        fs::write(folder.path(name), content).unwrap();
    }
    let note = "have no function in common";
    assert!(done(&folder, "merge a b -o x.profdata").contains(note));
    assert!(!done(&folder, "merge a c -o x.profdata").contains(note), "main has the same hash");
}

#[test]
fn the_passes_of_a_context_sensitive_build_are_of_one_program() {
    let folder = Folder::new();
    // Link-time optimization names local functions after its module.
    fs::write(folder.path("first"), ":ir\nmain\n1\n1\n1\n\na.c;f\n5\n1\n7\n").unwrap();
    let second = 1u64 << 60 | 1;
    fs::write(folder.path("second"), format!(":csir\nmain\n{second}\n1\n1\n\nld-temp.o;f\n{second}\n1\n7\n")).unwrap();
    let said = done(&folder, "merge first second -o x.profdata");
    assert!(!said.contains("have no function in common"), "{said}");
}

/// One function that allocates.
fn memory_profile(function: u64) -> String {
    format!(
        "---\nHeapProfileRecords:\n  - GUID:            {function:#x}\n    AllocSites:\n      - Callstack:\n          \
         - {{ Function: {function:#x}, LineOffset: 1, Column: 2, IsInlineFrame: false }}\n        MemInfoBlock:\n          \
         AllocCount:      1\n          TotalSize:       8\n          TotalLifetime:   1\n          \
         TotalLifetimeAccessDensity: 5\n    CallSites:       []\n...\n"
    )
}

#[test]
fn pprof_and_memory_profiles_without_a_function_in_common_are_noted_too() {
    let folder = Folder::new();
    for (name, text) in [("a", "a;b 1\n"), ("b", "a;b 4\nz 1\n"), ("c", "x;y 4\n")] {
        fs::write(folder.path(name), text).unwrap();
        done(&folder, &format!("convert {name} -o {name}.pprof"));
    }
    for (name, function) in [("a", 5), ("b", 5), ("c", 6)] {
        fs::write(folder.path(&format!("{name}.yaml")), memory_profile(function)).unwrap();
        done(&folder, &format!("merge {name}.yaml -o {name}.profdata"));
    }
    for (extension, outputs) in [
        ("pprof", ["x.pprof", "x.collapsed"]),
        ("yaml", ["x.yaml", "x.profdata"]),
        ("profdata", ["x.yaml", "x.profdata"]),
    ] {
        for output in outputs {
            let said = |names: &str| {
                let files: Vec<String> = names.split(' ').map(|name| format!("{name}.{extension}")).collect();
                done(&folder, &format!("merge {} -o {output}", files.join(" ")))
            };
            let note = "have no function in common";
            assert!(said("a c").contains(note), "{extension} to {output}: {}", said("a c"));
            for names in ["a b c", "a b", "a"] {
                assert!(!said(names).contains(note), "{extension} to {output}: {names}");
            }
        }
    }
}

/// The merge waits for a pipe; another input is written during the wait.
#[cfg(unix)]
#[test]
fn a_growing_input_is_reported_for_other_families() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    // Readers of instrumentation profiles report the change themselves.
    for (family, contents, output) in FAMILIES.into_iter().filter(|(family, ..)| *family != "instr") {
        let folder = Folder::new();
        fs::write(folder.path("growing"), contents[0]).unwrap();
        let made = Command::new("mkfifo").arg(folder.path("pipe")).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo makes a pipe");
        let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
        command.args(["merge", "-j1", "growing", "pipe", "-o", output]).current_dir(folder.path(""));
        let merge = command.stderr(Stdio::piped()).spawn().unwrap();
        // The merge has started before this pipe is opened.
        let mut pipe = fs::OpenOptions::new().write(true).open(folder.path("pipe")).unwrap();
        let mut growing = fs::OpenOptions::new().append(true).open(folder.path("growing")).unwrap();
        growing.write_all(b"\n").unwrap();
        drop(growing);
        pipe.write_all(contents[1].as_bytes()).unwrap();
        drop(pipe);
        let finished: Finished = merge.wait_with_output().unwrap().into();
        assert!(finished.stderr.contains("growing: the file size changed from"), "{family}: {}", finished.stderr);
        assert!(finished.stderr.contains("another process may be writing it"), "{family}: {}", finished.stderr);
    }
}

#[test]
fn a_list_that_nul_separates_needs_its_option() {
    let folder = Folder::new();
    fs::write(folder.path("a.proftext"), FAMILIES[0].1[0]).unwrap();
    fs::write(folder.path("list"), "a.proftext\0a.proftext\0").unwrap();
    let said = refused(1, &folder, "merge -f list -o x.proftext");
    assert!(said.contains("hint: use -0 for lists"), "{said}");
    done(&folder, "merge -0 -f list -o x.proftext");
}

#[test]
fn standard_input_is_one_profile_and_not_two() {
    let folder = Folder::new();
    let said = refused(2, &folder, "merge - - -o x.profdata");
    assert!(said.contains("standard input can be read only once"), "{said}");
    for line in
        ["merge - -f - -o x", "merge --weighted-input=2,- -f - -o x", "diff - -", "overlap - -", "fit - --against -"]
    {
        let finished = run(&folder, line);
        assert_eq!(finished.code, Some(2), "{line}: {}", finished.stderr);
        assert!(
            finished.stderr.contains("`-` is given twice, but standard input can be read only once"),
            "{line}: {}",
            finished.stderr
        );
    }
}

#[test]
fn an_earlier_merge_next_to_the_raw_profiles_gets_a_warning() {
    let folder = Folder::new();
    let runs = folder.path("runs");
    fs::create_dir(&runs).unwrap();
    let dumps = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/merge/clang-22");
    for name in ["run-1.profraw", "run-2.profraw"] {
        fs::copy(dumps.join(name), runs.join(name)).unwrap();
    }
    let words = "runs/old.profdata: it is a merge of the same program as the raw profiles in the directory";
    assert!(!done(&folder, "merge runs -o x.profdata").contains("it is a merge"));
    done(&folder, "merge runs -o runs/old.profdata");
    // The output itself is skipped, and files that are named count.
    assert!(!done(&folder, "merge runs -o runs/old.profdata").contains("it is a merge"));
    let warned = done(&folder, "merge runs -o x.profdata");
    assert!(warned.contains(words) && warned.contains("counted twice"), "{warned}");
    assert_eq!(done(&folder, "merge runs -o x.profdata --quiet"), "");
    // Of many, the first has the hint, and some are only counted.
    for copy in 1..5 {
        fs::copy(runs.join("old.profdata"), runs.join(format!("copy-{copy}.profdata"))).unwrap();
    }
    let warned = done(&folder, "merge runs -o x.profdata");
    assert!(warned.contains("2 more files with the same problem"), "{warned}");
    assert_eq!(warned.matches("counted twice").count(), 1, "{warned}");
    let watched = folder.run(&["merge", "--watch", "runs", "--until", "idle:0", "-o", "c.profdata"]);
    assert_eq!(watched.stderr.matches("counted twice").count(), 1, "{}", watched.stderr);
    (1..5).for_each(|copy| fs::remove_file(runs.join(format!("copy-{copy}.profdata"))).unwrap());
    let named = "merge runs/run-1.profraw runs/old.profdata -o x.profdata";
    assert!(!done(&folder, named).contains("it is a merge"));
    // A profile of another program, or without a binary id, is not an earlier merge.
    fs::write(folder.path("runs/old.profdata"), "").unwrap();
    fs::write(folder.path("other.proftext"), ":ir\nmain\n1\n1\n5\n").unwrap();
    done(&folder, "merge other.proftext -o runs/old.profdata");
    assert!(!done(&folder, "merge runs -o x.profdata").contains("it is a merge"));
}

#[test]
fn same_program_refuses_inputs_of_different_binary_ids() {
    let folder = Folder::new();
    let with_ids = |name: &str, id: [u8; 4]| {
        let input = profbridge::input::Input::from_bytes(name, b":ir\nmain\n1\n1\n5\n".to_vec());
        let options = profbridge::families::ReadOptions::default();
        let mut profile = profbridge::Profile::open(input, &options).unwrap().value;
        profile.binary_ids.push(id.to_vec());
        profile.write_to_path(folder.path(name), profbridge::OutputFormat::default()).unwrap();
    };
    with_ids("a.profdata", [1; 4]);
    with_ids("b.profdata", [1; 4]);
    with_ids("c.profdata", [2; 4]);
    fs::write(folder.path("d.proftext"), ":ir\nmain\n1\n1\n5\n").unwrap();
    done(&folder, "merge a.profdata b.profdata c.profdata d.proftext -o x.profdata");
    done(&folder, "merge --same-program a.profdata b.profdata -o x.profdata");
    // The merged profile has the images of both inputs.
    done(&folder, "merge --same-program a.profdata x.profdata -o y.profdata");
    let said = refused(1, &folder, "merge --same-program a.profdata c.profdata -o y.profdata");
    assert!(said.contains("not from the same program as a.profdata") && said.contains("01010101"), "{said}");
    let said = refused(1, &folder, "merge --same-program a.profdata d.proftext -o y.profdata");
    assert!(said.contains("the profile has no binary id"), "{said}");
    // The profile in front of a partial merge has the ids of all inputs.
    done(&folder, "merge --partial a.profdata c.profdata -o both.part.profdata");
    let said = refused(1, &folder, "merge --same-program both.part.profdata b.profdata -o y.profdata");
    assert!(said.contains("c.profdata: not from the same program as a.profdata"), "{said}");
    done(&folder, "merge --partial a.profdata -o one.part.profdata");
    done(&folder, "merge --same-program one.part.profdata b.profdata -o z.profdata");
    // The failure mode decides about inputs that cannot be read.
    let cut = &fs::read(folder.path("b.profdata")).unwrap()[..40];
    fs::write(folder.path("cut.profdata"), cut).unwrap();
    let said = done(&folder, "merge --same-program --failure-mode=warn a.profdata cut.profdata -o w.profdata");
    assert!(said.contains("warning: cut.profdata: "), "{said}");
    refused(1, &folder, "merge --same-program a.profdata cut.profdata -o v.profdata");
}

#[test]
fn salvage_keeps_records_before_the_damage() {
    let folder = Folder::new();
    fs::write(folder.path("a"), "foo:10:1\n 1: 5\n").unwrap();
    fs::write(folder.path("cut"), "bar:20:2\n 1: 9\nbaz:30:3\n 1: what\n").unwrap();
    refused(1, &folder, "merge a cut -o x.proftext");
    done(&folder, "merge a cut --failure-mode=all -o without.proftext");
    done(&folder, "merge a cut --failure-mode=all --salvage -o with.proftext");
    let [without, with] =
        ["without.proftext", "with.proftext"].map(|name| fs::read_to_string(folder.path(name)).unwrap());
    assert!(!without.contains("bar") && with.contains("bar:20"), "{with}");
    // A function has the counts before the damage.
    assert!(with.contains("baz:30:3") && !without.contains("baz"), "{with}");
}

#[test]
fn contexts_of_one_function_are_one_function() {
    let folder = Folder::new();
    fs::write(folder.path("a"), "[main:1 @ f]:9:1\n 1: 9\n[main:3 @ f]:8:1\n 1: 8\n[main]:7:1\n 1: 7\n").unwrap();
    let said = done(&folder, "merge a --min-functions 2 -o x.afdo");
    assert!(said.contains("2 functions (3 records) from 1 input"), "{said}");
    refused(3, &folder, "merge a --min-functions 3 -o y.afdo");
}

#[test]
fn options_of_other_families_are_errors() {
    let folder = Folder::new();
    let inputs = ["a.proftext", "s", "c", "f"];
    for (name, (_, contents, _)) in inputs.into_iter().zip(FAMILIES) {
        fs::write(folder.path(name), contents[0]).unwrap();
    }
    for (input, options) in [
        ("a.proftext", ["--pretty", "--dots", "--events=all", "--scale=1/3", "--use-md5", "--no-extension"]),
        ("s", ["--pretty", "--threads", "--thread=main", "--normalize", "--memprof-version=3", "--trust=standard"]),
        ("c", ["--pretty", "--use-md5", "--format-version=9", "--scale=1/3", "--memprof-version=3", "--no-extension"]),
        ("f", ["--sparse", "--dots", "--events=all", "--use-md5", "--memprof-version=3", "--function=x"]),
    ] {
        for option in options {
            let said = refused(2, &folder, &format!("merge {input} {option} -o out"));
            let name = option.split('=').next().unwrap();
            assert!(said.contains(name), "{input} {option}: {said}");
            assert!(!folder.path("out").exists());
        }
    }
    for (line, option) in [
        ("a.proftext -o x.profdata --prune", "--prune"),
        ("a.proftext -o x.profdata --raw-version 8", "--raw-version"),
        ("a.proftext -o x.profdata --pretty", "--pretty"),
        ("a.proftext -o x.profdata --dots", "--dots"),
        ("s -o x.proftext --raw-version 8", "--raw-version"),
        ("s -o x.proftext --only foo", "--only"),
        ("c -o x.collapsed --sparse", "--sparse"),
        ("c -o x.iprof --prune", "--prune"),
        ("c -o x.iprof --dots", "--dots"),
        ("c -o x.collapsed --bci-unknown 3", "--bci-unknown"),
        ("f -o x.iprof --for llvm-14", "--for"),
        ("f -o x.iprof --no-extension", "--no-extension"),
        ("f -o x.profdata --threads", "--threads"),
    ] {
        assert!(refused(2, &folder, &format!("convert {line}")).contains(option), "{line}");
    }
}

/// Returns the status of each input, from the JSON document of a merge.
fn outcomes(folder: &Folder, line: &str) -> Vec<String> {
    let finished = run(folder, line);
    let document: serde_json::Value = serde_json::from_slice(&finished.stdout).expect("a document");
    let inputs = document["inputs"].as_array().expect("inputs").iter();
    inputs.map(|input| format!("{}:{}", input["path"].as_str().unwrap(), input["outcome"].as_str().unwrap())).collect()
}

#[test]
fn the_document_distinguishes_used_failed_and_unread_inputs() {
    for (family, contents, output) in FAMILIES {
        let folder = Folder::new();
        fs::create_dir(folder.path("in")).unwrap();
        for (name, content) in
            [("a", contents[0]), ("b", contents[1]), ("in/c", contents[0]), ("in/run.log", "It was\na dark night\n")]
        {
            fs::write(folder.path(name), content).unwrap();
        }
        let found = outcomes(&folder, &format!("merge --json a b in -o {output}"));
        assert_eq!(found, ["a:used", "b:used", "in/c:used", "in/run.log:not-a-profile"], "{family}");
        fs::write(folder.path("bad"), [contents[1], "what is\nthis, now? 1 x\n"].concat()).unwrap();
        // The merge stops at the damaged input, so those after it are not used.
        let found = outcomes(&folder, &format!("merge --json -j1 a bad b -o {output}"));
        assert_eq!(found[..2], ["a:used", "bad:failed"], "{family}");
    }
    let folder = Folder::new();
    for (name, content) in [("a", "foo:10:1\n 1: 5\n"), ("cut", "bar:20:2\n 1: 9\nbaz:30:3\n 1: what\n")] {
        fs::write(folder.path(name), content).unwrap();
    }
    let found = outcomes(&folder, "merge --json a cut --failure-mode=all --salvage -o x.proftext");
    assert_eq!(found, ["a:used", "cut:salvaged"]);
    // The document and the threshold have the same number of used inputs.
    let line = "merge --json a cut --failure-mode=all --salvage -o x.proftext --min-inputs 2 --force";
    let finished = folder.run(&line.split(' ').collect::<Vec<_>>());
    let document: serde_json::Value = serde_json::from_slice(&finished.stdout).unwrap();
    assert_eq!((finished.code, &document["used"], &document["gates"][0]["found"]), (Some(3), &1.into(), &1.into()));
}

#[test]
fn a_result_with_nothing_in_it_is_written_on_demand_only() {
    let tables = "{\"version\":\"1.0.0\",\"types\":[{\"id\":0,\"name\":\"A\"}],\"methods\":[]}";
    for (input, content, line) in [
        ("a.proftext", FAMILIES[0].1[0], "merge a.proftext --filter nowhere -o x.proftext"),
        ("a.afdo", FAMILIES[1].1[0], "merge a.afdo --filter nowhere -o x.afdo"),
        ("a.iprof", tables, "merge a.iprof -o x.iprof"),
        ("a.iprof", IPROF, "convert a.iprof --only nowhere -o x.iprof"),
        ("a.iprof", IPROF, "convert a.iprof --sections samples -o x.iprof"),
        ("a.iprof", IPROF, "convert a.iprof --sections samples --prune -o x.iprof"),
        ("a.iprof", IPROF, "convert a.iprof --sections samples -o x.proftext"),
        ("a.iprof", IPROF, "convert a.iprof --only nowhere -o x.proftext"),
        ("a.iprof", tables, "convert a.iprof --pretty -o x.iprof"),
        ("a.proftext", NEVER_RAN, "merge a.proftext --sparse -o x.proftext"),
        ("a.proftext", NEVER_RAN, "convert a.proftext --sparse -o x.proftext"),
        ("a.proftext", NEVER_RAN, "convert a.proftext --sparse -o x.profraw"),
        ("a.proftext", ":ir\n", "convert a.proftext -o x.iprof"),
        ("c", FAMILIES[2].1[0], "merge c --thread missing -o x.collapsed"),
        ("c", FAMILIES[2].1[0], "merge c --thread missing -o x.pprof"),
        ("c", FAMILIES[2].1[0], "convert c --thread missing -o x.iprof"),
        ("c", FAMILIES[2].1[0], "convert c --max-stacks 0 -o x.pprof"),
    ] {
        let folder = Folder::new();
        fs::write(folder.path(input), content).unwrap();
        let finished = run(&folder, line);
        assert_eq!(finished.code, Some(1), "{line}: {}", finished.stderr);
        assert!(finished.stderr.contains("--allow-empty"), "{line}: {}", finished.stderr);
        assert_eq!(folder.names(), [input], "{line}");
        done(&folder, &format!("{line} --allow-empty"));
    }
}

#[test]
fn a_memory_profile_alone_is_not_written_where_it_has_no_place() {
    let folder = Folder::new();
    fs::write(folder.path("m.yaml"), memory_profile(5)).unwrap();
    for output in ["x.proftext", "x.profraw"] {
        for command in ["merge", "convert"] {
            let said = refused(1, &folder, &format!("{command} m.yaml -o {output}"));
            assert!(said.contains("cannot store memory profiles"), "{command} -o {output}: {said}");
            assert_eq!(folder.names(), ["m.yaml"], "{command} -o {output}");
        }
    }
    done(&folder, "merge m.yaml -o x.profdata");
}

#[test]
fn inputs_that_are_all_empty_give_an_empty_result_on_demand_only() {
    for output in ["x.profdata", "x.proftext", "x.afdo", "x.iprof", "x.collapsed", "x.pprof"] {
        let folder = Folder::new();
        fs::write(folder.path("a"), "").unwrap();
        fs::write(folder.path("b"), "").unwrap();
        for line in ["merge a b", "convert a"] {
            let finished = run(&folder, &format!("{line} -o {output}"));
            assert_eq!(finished.code, Some(1), "{line} -o {output}: {}", finished.stderr);
            assert_eq!(folder.names(), ["a", "b"], "{line} -o {output}");
            done(&folder, &format!("{line} -o {output} --allow-empty"));
            fs::remove_file(folder.path(output)).unwrap();
        }
    }
}

#[test]
fn the_document_distinguishes_empty_from_failed_inputs() {
    for (family, contents, output) in FAMILIES {
        let folder = Folder::new();
        fs::write(folder.path("a"), contents[0]).unwrap();
        fs::write(folder.path("b"), "").unwrap();
        assert_eq!(outcomes(&folder, &format!("merge --json a b -o {output}")), ["a:used", "b:empty"], "{family}");
    }
}

#[test]
fn nothing_to_compare_or_draw_is_an_error() {
    let folder = Folder::new();
    fs::write(folder.path("a.proftext"), NEVER_RAN).unwrap();
    fs::write(folder.path("c"), FAMILIES[2].1[0]).unwrap();
    fs::write(folder.path("f.iprof"), IPROF).unwrap();
    for (line, words) in [
        ("diff a.proftext a.proftext", "nothing to compare"),
        ("diff a.proftext a.proftext --fail-below 0.1", "nothing to compare"),
        ("overlap a.proftext a.proftext", "nothing to compare"),
        ("report c --include nowhere -o x.html", "no stacks to draw"),
        ("report c --thread missing -o x.html", "no samples match the options"),
        ("report f.iprof --include nowhere -o x.html", "no stacks to draw"),
        ("flamegraph c --include nowhere -o x.svg", "no stacks to draw"),
    ] {
        assert!(refused(1, &folder, line).contains(words), "{line}");
        assert_eq!(folder.names(), ["a.proftext", "c", "f.iprof"], "{line}");
    }
    let said = refused(2, &folder, "overlap f.iprof f.iprof");
    assert!(said.contains("use `profbridge diff` to compare iprof files"), "{said}");
}

#[test]
fn a_report_names_its_filtered_parts_and_keeps_mangled_names() {
    let folder = Folder::new();
    fs::write(folder.path("s.prof"), "_Z3addii:60:1\n 1: 60\nmain:10:1\n 1: 10\n").unwrap();
    fs::write(folder.path("c"), "main;_Z3addii 6\nmain 1\n").unwrap();
    fs::write(folder.path("i.proftext"), ":ir\n_Z3addii\n1\n1\n5\n").unwrap();
    let page = |arguments: &str| {
        done(&folder, &format!("report {arguments} -o x.html"));
        fs::read_to_string(folder.path("x.html")).unwrap()
    };
    for (arguments, is_noted) in [("s.prof --include add", true), ("s.prof", false), ("c --include add", false)] {
        assert_eq!(page(arguments).contains("other parts of this page are those of the whole profile"), is_noted);
    }
    for file in ["s.prof", "c", "i.proftext"] {
        assert!(!page(file).contains("_Z3addii") && page(file).contains("add(int, int)"), "{file}");
        let mangled = page(&format!("{file} --no-demangle"));
        assert!(mangled.contains("_Z3addii") && !mangled.contains("add(int, int)"), "{file}");
    }
}

#[test]
fn files_that_are_not_profiles_are_named_for_every_output() {
    for output in ["x.profdata", "x.afdo", "x.pprof", "x.collapsed"] {
        let folder = Folder::new();
        fs::write(folder.path("a.prof"), "main:60\n 1: 10\n").unwrap();
        let said = refused(1, &folder, &format!("merge a.prof -o {output}"));
        assert!(said.contains("a.prof: not a profile: unrecognized format"), "{output}: {said}");
        assert_eq!(said.contains("line 1"), output == "x.afdo", "{said}");
    }
}

#[test]
fn show_prints_nothing_for_a_function_that_is_not_there() {
    let folder = Folder::new();
    fs::write(folder.path("a.proftext"), NEVER_RAN).unwrap();
    let json = run(&folder, "show a.proftext --function=missing --json");
    assert_eq!(json.code, Some(1), "{}", json.stderr);
    for options in ["", " --covered", " --text", " --topn=3", " --list-below-cutoff --value-cutoff=9"] {
        let line = format!("show a.proftext --function=missing{options}");
        run(&folder, &line).assert_refused(1, &["a.proftext: no function name contains \"missing\""]);
        done(&folder, &line.replace("missing", "mai"));
    }
    done(&folder, "llvm-profdata show a.proftext --function=missing");
}

#[test]
fn options_for_stacks_are_refused_where_two_other_profiles_are_compared() {
    let folder = Folder::new();
    for (name, (_, contents, _)) in ["a.proftext", "s", "c", "f.iprof"].into_iter().zip(FAMILIES) {
        fs::write(folder.path(name), contents[0]).unwrap();
    }
    for name in ["a.proftext", "s", "f.iprof"] {
        for option in ["--thread=main", "--events=all", "--drop-truncated"] {
            let said = refused(2, &folder, &format!("diff {name} {name} {option}"));
            let option = option.split('=').next().unwrap();
            assert!(said.contains(&format!("{option} is for stacks")), "{name} {option}: {said}");
        }
    }
    for command in ["diff f.iprof f.iprof", "show f.iprof", "diff s s"] {
        let said = refused(2, &folder, &format!("{command} --call-counts"));
        assert!(said.contains("--call-counts is for iprof files that are drawn, converted to stacks"), "{said}");
    }
    done(&folder, "diff c c --drop-truncated");
}

#[test]
fn an_option_without_effect_is_refused_also_with_its_default_value() {
    let folder = Folder::new();
    fs::write(folder.path("a.proftext"), "main\n1\n1\n5\n").unwrap();
    for option in ["--sample-format-version=103", "--sample-frame-depth-for-cold-context=1", "--bci-unknown=-5"] {
        let said = refused(2, &folder, &format!("merge a.proftext {option} -o out.profdata"));
        let name = option.split('=').next().unwrap();
        assert!(said.contains(&format!("{name} is ")), "{option}: {said}");
    }
    done(&folder, "merge a.proftext -o out.profdata");
}

#[test]
fn options_for_stacks_are_refused_where_something_else_is_shown_or_drawn() {
    let folder = Folder::new();
    for (name, (_, contents, _)) in ["a.proftext", "s", "c", "f.iprof"].into_iter().zip(FAMILIES) {
        fs::write(folder.path(name), contents[0]).unwrap();
    }
    fs::write(folder.path("m.yaml"), memory_profile(5)).unwrap();
    for name in ["a.proftext", "s", "f.iprof", "m.yaml"] {
        for option in ["--thread=main", "--events=all", "--value", "--drop-truncated"] {
            for command in ["show", "flamegraph -o x.html", "report -o x.html"] {
                let said = refused(2, &folder, &format!("{command} {name} {option}"));
                let option = option.split('=').next().unwrap();
                assert!(said.contains(&format!("{option} is for stacks")), "{command} {name} {option}: {said}");
            }
        }
    }
    let said = refused(2, &folder, "flamegraph c --allocations -o x.svg");
    assert!(said.contains("--allocations is for memory profiles"), "{said}");
    for name in ["a.proftext", "s", "m.yaml"] {
        let said = refused(2, &folder, &format!("show {name} --callers=main"));
        assert!(said.contains("--callers is for iprof files and stacks"), "{name}: {said}");
    }
    for option in ["--include=main", "--exclude=main"] {
        let said = refused(2, &folder, &format!("report a.proftext {option} -o x.html"));
        assert!(said.contains("the profile has no stacks"), "{option}: {said}");
    }
    done(&folder, "report a.proftext -o x.html");
}

#[test]
fn an_input_that_fails_does_not_choose_the_target() {
    let folder = Folder::new();
    fs::write(folder.path("a.proftext"), ":ir\nmain\n1\n1\n5\n").unwrap();
    done(&folder, "merge a.proftext -o old.profdata --for llvm-13");
    done(&folder, "merge a.proftext -o new.profdata --for llvm-19");
    let new = fs::read(folder.path("new.profdata")).unwrap();
    fs::write(folder.path("bad.profdata"), &new[..new.len() - 40]).unwrap();
    done(&folder, "merge old.profdata -o alone.profdata");
    let alone = fs::read(folder.path("alone.profdata")).unwrap();
    for inputs in ["old.profdata bad.profdata", "bad.profdata old.profdata"] {
        let said = done(&folder, &format!("merge --failure-mode=warn {inputs} -o x.profdata"));
        assert!(said.contains("warning: bad.profdata"), "{said}");
        assert!(fs::read(folder.path("x.profdata")).unwrap() == alone, "{inputs}");
        done(&folder, &format!("merge --partial --failure-mode=warn {inputs} -o part.profdata"));
        done(&folder, "merge --failure-mode=warn part.profdata -o y.profdata");
        assert!(fs::read(folder.path("y.profdata")).unwrap() == alone, "a part of {inputs}");
    }
    done(&folder, "merge old.profdata new.profdata -o newest.profdata");
    assert!(fs::read(folder.path("newest.profdata")).unwrap() != alone);
    done(&folder, "convert old.profdata -o old.iprof");
    done(&folder, "merge old.iprof old.profdata -o both.profdata");
    done(&folder, "merge --failure-mode=warn old.iprof bad.profdata old.profdata -o z.profdata");
    assert!(fs::read(folder.path("both.profdata")).unwrap() == fs::read(folder.path("z.profdata")).unwrap());
}

#[test]
fn a_conversion_keeps_all_temporal_traces() {
    let folder = Folder::new();
    let trace = |length: u32| format!("1\n{}\n", (0..length).map(|at| format!("f{at}")).collect::<Vec<_>>().join(","));
    let traces: String = (0..130).map(|_| trace(2)).collect::<String>() + &trace(10_500);
    let text = format!(":ir\n:temporal_prof_traces\n131\n500\n{traces}\nf0\n1\n1\n5\n\nf1\n1\n1\n5\n\n");
    fs::write(folder.path("a.proftext"), text).unwrap();
    for target in ["llvm-17", "llvm-19", "llvm-22"] {
        done(&folder, &format!("convert --strict a.proftext --for {target} -o a.profdata"));
        done(&folder, "convert --strict a.profdata -o b.proftext");
        done(&folder, "convert --strict a.profdata -o a.iprof");
        done(&folder, &format!("convert --strict a.iprof --for {target} -o c.profdata"));
        done(&folder, "convert --strict c.profdata -o c.proftext");
        let text = fs::read_to_string(folder.path("b.proftext")).unwrap();
        assert_eq!(text.matches("\nf0,f1,").count(), 131, "{target}");
        let longest = text.lines().map(|line| line.matches(',').count()).max();
        assert!(longest >= Some(10_500) && text.contains("\n500\n"), "{target}: {longest:?}");
        assert_eq!(fs::read_to_string(folder.path("c.proftext")).unwrap(), text, "{target}");
    }
}

/// LLVM 14 to 16 read the same raw version as LLVM 17, but take the time stamps in it for counters.
#[test]
fn raw_profiles_for_tools_that_know_no_traces_have_no_time_stamps() {
    let folder = Folder::new();
    let (kind, traces) = (":ir\n", ":temporal_prof_traces\n1\n1\n1\nf,\n\n");
    fs::write(folder.path("a.proftext"), format!("{kind}{traces}f\n1\n2\n5\n6\n\n")).unwrap();
    fs::write(folder.path("plain.proftext"), format!("{kind}f\n1\n2\n5\n6\n\n")).unwrap();
    for (target, is_dropped) in [("llvm-14", true), ("llvm-16", true), ("llvm-17", false), ("llvm-18", false)] {
        done(&folder, &format!("convert plain.proftext --to raw --for {target} --force -o plain.profraw"));
        let plain = fs::read(folder.path("plain.profraw")).unwrap();
        for command in ["convert --to raw", "merge"] {
            let said = done(&folder, &format!("{command} a.proftext --for {target} --force -o a.profraw"));
            assert_eq!(said.contains("1 temporal trace"), is_dropped, "{target}: {said}");
            assert_eq!(fs::read(folder.path("a.profraw")).unwrap() == plain, is_dropped, "{target}");
            let strict = run(&folder, &format!("{command} a.proftext --for {target} --strict -o b.profraw --force"));
            assert_eq!(strict.code == Some(0), !is_dropped, "{target}: {}", strict.stderr);
        }
    }
}
