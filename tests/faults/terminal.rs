//! Tests that data from files is escaped on a terminal.

use super::program::{Finished, command, indexed_bytes, profile, text_bytes};
use std::fs;

/// Sets the title and clears the screen, with 7-bit and 8-bit control codes.
const EVIL: &str = "evil\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\u{8}\u{7f}\r";

#[track_caller]
fn assert_harmless(finished: &Finished, what: &str) {
    for (stream, text) in
        [("stdout", String::from_utf8_lossy(&finished.stdout)), ("stderr", finished.stderr.as_str().into())]
    {
        let found = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
        assert!(found.is_none(), "{what}: {stream} has {found:?} in {text:?}");
    }
}

#[test]
fn control_characters_of_a_file_are_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let evil = profile(&[(EVIL, 3), ("f", 1)]);
    fs::write(path("a.profdata"), indexed_bytes(&evil)).unwrap();
    fs::write(path("b.proftext"), text_bytes(&profile(&[("f", 2)]))).unwrap();
    // A name with a fault, because messages quote such names.
    fs::write(path("bad.proftext"), format!("{}\n1\nx{EVIL}\n", EVIL.trim_end())).unwrap();
    fs::write(path("bad.iprof"), format!("{{\"version\":\"1.0.0{EVIL}\",\"types\":[],\"{EVIL}\":[")).unwrap();
    fs::write(path(EVIL), "neither this nor that").unwrap();
    let runs: [&[&str]; 12] = [
        &["show", "--all-functions", "--counts", "a.profdata"],
        &["show", "--topn=5", "a.profdata"],
        &["info", "a.profdata"],
        &["info", EVIL],
        &["check", "a.profdata", "bad.iprof", "bad.proftext", EVIL],
        &["diff", "a.profdata", "b.proftext"],
        &["overlap", "a.profdata", "b.proftext"],
        &["merge", "-o", "o1", "bad.proftext"],
        &["merge", "-o", "o2", "bad.iprof"],
        &["merge", "-o", "o3", EVIL],
        &["repair", "-o", "o4.iprof", "bad.iprof"],
        &["merge", "-o", "o5", "a.profdata", "--limit", EVIL],
    ];
    for arguments in runs {
        let mut command = command();
        let output = command.current_dir(folder.path()).args(arguments).output().unwrap();
        let finished = Finished::from(output);
        finished.assert_orderly();
        assert_harmless(&finished, &arguments.join(" ").escape_debug().to_string());
    }
}

#[test]
fn documents_with_control_characters_are_json() {
    let name = "evil\u{7f}\u{85}\u{9b}31m";
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &str, text: String| fs::write(folder.path().join(file), text).unwrap();
    write("a.proftext", format!(":ir\n{name}\n1\n1\n5\n\n"));
    write("a.prof", format!("{name}:100:5\n 1: 5\n"));
    write("a.collapsed", format!("main;{name} 3\n"));
    for arguments in
        ["show a.prof", "show a.collapsed", "show a.proftext --all-functions --counts", "diff a.prof a.prof"]
    {
        let mut command = command();
        let arguments: Vec<&str> = arguments.split(' ').chain(["--json"]).collect();
        let finished = Finished::from(command.current_dir(folder.path()).args(&arguments).output().unwrap());
        assert_harmless(&finished, &arguments.join(" "));
        let document: serde_json::Value = serde_json::from_slice(&finished.stdout).unwrap();
        let is_named = arguments[0] == "diff" || format!("{document:?}").contains(&format!("{name:?}")[1..]);
        assert!(is_named, "{arguments:?}: {document:?}");
    }
}

#[test]
fn linkers_get_names_as_they_are() {
    let name = "evil\u{7f}\u{85}";
    let folder = tempfile::tempdir().unwrap();
    let trace = format!(":temporal_prof_traces\n1\n1\n1\n{name},\n\n{name}\n1\n1\n5\n\n");
    fs::write(folder.path().join("a.proftext"), format!(":ir\n{trace}")).unwrap();
    let mut command = command();
    let finished = Finished::from(command.current_dir(folder.path()).args(["order", "a.proftext"]).output().unwrap());
    assert!(finished.stdout.ends_with(format!("\n{name}\n").as_bytes()), "{finished:?}");
    let Some((shown, code)) = on_a_terminal(folder.path(), "order a.proftext") else { return };
    assert!(code == Some(0) && shown.contains("evil\\u007f\\u0085"), "{shown:?}");
}

/// Runs a command line on a pseudo-terminal. Returns the output and the exit code.
fn on_a_terminal(folder: &std::path::Path, line: &str) -> Option<(String, Option<i32>)> {
    let program = env!("CARGO_BIN_EXE_profbridge");
    let mut script = std::process::Command::new("script");
    script.args(["-q", "-e", "-c", &format!("'{program}' {line}"), "/dev/null"]).current_dir(folder);
    match script.stdin(std::process::Stdio::null()).output() {
        Ok(output) => Some((String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())),
        Err(_) => {
            let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: script is not installed (bsdutils)\n");
            None
        }
    }
}

#[test]
fn no_binary_goes_to_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("a.proftext", ":ir\nmain\n1\n1\n5\n");
    write("s.afdo", "foo:10:1\n 1: 5\n");
    write("c.collapsed", "a;b 1\nc;d 2\n");
    for line in [
        "merge a.proftext",
        "merge a.proftext -o /dev/tty",
        "merge s.afdo",
        "convert a.proftext --to raw -o -",
        "convert c.collapsed --to pprof -o -",
        "merge c.collapsed --to pprof",
    ] {
        let Some((text, code)) = on_a_terminal(folder.path(), line) else { return };
        assert!(
            text.contains("cannot write binary output to a terminal") && text.contains("with -o"),
            "{line}: {text}"
        );
        assert_eq!(code, Some(2), "{line}: {code:?} {text}");
    }
    for (line, found) in [
        ("merge a.proftext --text", "# Counter Values"),
        ("merge s.afdo --to text", "foo:10:1"),
        ("convert c.collapsed --to collapsed -o -", "a;b 1"),
        ("merge a.proftext | wc -c", "632"),
    ] {
        let Some((text, code)) = on_a_terminal(folder.path(), line) else { return };
        assert!(text.contains(found), "{line}: {text}");
        assert_eq!(code, Some(0), "{line}: {text}");
    }
}
