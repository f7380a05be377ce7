//! The messages for common mistakes and damaged files. `cargo test --test json messages -- --nocapture` prints them.
//! `PROFBRIDGE_RENEW=1` rewrites `messages.txt`; review it as if you were a new user.

use crate::program::Folder;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// The mistakes, and their command lines.
const MISTAKES: [(&str, &str); 46] = [
    ("a command mistyped", "merg a.profraw"),
    ("an option mistyped", "merge a.profraw --sprase -o out.profdata"),
    ("an option of another command", "show a.profraw --sparse"),
    ("a number that is none", "merge a.profraw -o out.profdata --min-inputs=many"),
    ("no inputs", "merge -o out.profdata"),
    ("an input that is not there", "merge a.profraw absent.profraw -o out.profdata"),
    ("a profile to be shown that is not there", "show absent.profdata"),
    ("a damaged profile among good ones", "merge a.profraw cut.profraw -o out.profdata"),
    ("the same, the others merged", "merge a.profraw cut.profraw -o out.profdata --failure-mode=all"),
    ("the same, what is sound kept", "merge a.profraw cut.profraw -o out.profdata --failure-mode=all --salvage"),
    ("nothing but damaged profiles", "merge cut.profraw -o out.profdata"),
    ("nothing but empty profiles", "merge empty.profraw -o out.profdata"),
    ("an empty profile among good ones", "merge a.profraw empty.profraw -o out.profdata"),
    ("an input that is no profile", "merge a.profraw notes.txt -o out.profdata"),
    ("another file shown", "show notes.txt"),
    ("another JSON file shown", "show settings.json"),
    ("a profile of a later LLVM", "show version-15.profdata"),
    ("two families, and no word on the result", "merge a.profraw a.iprof -o out"),
    ("stacks into an LLVM profile", "merge a.collapsed -o out.profdata"),
    ("a recording into a recording", "merge a.jfr -o out.jfr"),
    ("sample profiles with others", "merge a.prof a.profraw -o out.prof"),
    ("an option of LLVM profiles for iprof files", "merge a.iprof --sparse -o out.iprof"),
    ("an option of iprof files for LLVM profiles", "show a.profraw --callers main"),
    ("a report and the profile on one output", "merge --json a.profraw"),
    ("a weight of nothing", "merge --weighted-input=0,a.profraw -o out.profdata"),
    ("fewer inputs than asked for", "merge a.profraw -o out.profdata --min-inputs=2"),
    ("one input that is nearly all", "merge one.proftext other.proftext -o out.profdata --max-input-share=0.5"),
    ("a toolchain that does not exist", "merge a.profraw -o out.profdata --for llvm-1999"),
    ("a toolchain mistyped", "merge a.profraw -o out.profdata --for lvm-16"),
    ("a recording with an output that names no format", "convert a.jfr -o out"),
    ("a version that cannot be written", "convert a.profraw -o out.profraw --raw-version 6"),
    ("several profiles converted", "convert a.profraw b.profraw -o out.proftext"),
    ("profiles of two kinds compared", "diff a.profraw a.collapsed"),
    ("an overlap too small", "diff one.proftext other.proftext --fail-below 0.9"),
    ("a section that no profile has", "diff a.collapsed b.collapsed --fail-below calls=0.9"),
    ("a section that these profiles lack", "diff a.collapsed b.collapsed --fail-below call-counts=0.9"),
    ("a share that is none", "diff a.iprof b.iprof --fail-below 90"),
    ("a damaged iprof checked", "check damaged.iprof"),
    ("a damaged raw profile checked", "check cut.profraw"),
    ("a damaged iprof shown", "show damaged.iprof"),
    ("an LLVM profile repaired", "repair cut.profraw -o out.profraw"),
    ("an order without traces", "order old.proftext"),
    ("counters that add up to nothing", "overlap never-ran.proftext old.proftext"),
    ("a method that is in no stack", "show a.collapsed --callers missing"),
    ("a picture of counters", "flamegraph a.profraw -o out.svg"),
    ("a limit that does not exist", "show a.profraw --limit depth=5"),
];

#[test]
fn common_mistakes_get_helpful_messages() {
    let folder = Folder::new();
    let mut text = String::from("What profbridge says after common mistakes; tests/json/messages.rs writes this.\n");
    for (title, line) in MISTAKES {
        let run = folder.run(line);
        let code = run.code.map_or("none".to_string(), |code| code.to_string());
        // The findings of `check` are its output.
        let found = if line.starts_with("check") { run.stdout.as_str() } else { "" };
        writeln!(text, "\n== {title}\n$ profbridge {line}\n{found}{}exit code {code}", run.stderr).unwrap();
        assert!(!run.stderr.contains("panicked"), "{line}: {}", run.stderr);
        assert!(!run.stderr.contains("1 inputs") && !run.stderr.contains(" 1 functions"), "{line}: {}", run.stderr);
        if run.code != Some(0) && !line.starts_with("check") {
            assert!(run.stderr.contains("error: "), "{line} fails without a word");
        }
    }
    print!("{text}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/json/messages.txt");
    if std::env::var_os("PROFBRIDGE_RENEW").is_some() {
        std::fs::write(&path, &text).expect("the file can be written");
        return;
    }
    let golden = std::fs::read_to_string(&path).expect("the file is there");
    for (at, (said, wanted)) in text.lines().zip(golden.lines()).enumerate() {
        assert_eq!(said, wanted, "line {} of {}", at + 1, path.display());
    }
    assert_eq!(text.lines().count(), golden.lines().count(), "{}", path.display());
}

/// Directories of `testdata` with damaged files.
const DAMAGED: [&str; 5] = ["bad", "iprof/bad", "memprof/bad", "partial/bad", "pprof/bad"];

#[test]
fn damaged_files_get_an_error_message() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    for directory in DAMAGED {
        let files = std::fs::read_dir(testdata.join(directory)).expect("a directory");
        let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).filter(|file| file.is_file()).collect();
        files.sort();
        for file in files {
            let shown =
                Command::new(env!("CARGO_BIN_EXE_profbridge")).arg("show").arg(&file).output().expect("it starts");
            let messages = String::from_utf8_lossy(&shown.stderr);
            let name = file.strip_prefix(&testdata).expect("a file of testdata").display();
            println!("\n== {name}\n{}", messages.replace(&format!("{}/", testdata.display()), "").trim_end());
            assert!(!messages.contains("panicked"), "{name}: {messages}");
            assert!(shown.status.success() || messages.contains("error: "), "{name} fails without a message");
        }
    }
}
