//! Tests of the program with iprof files: output, files and exit codes.

use crate::testdata;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the program in a directory. Paths of test data are absolute.
pub fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
    command.args(arguments).current_dir(folder).output().expect("the program starts")
}

#[track_caller]
pub fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is text")
}

pub fn path(name: &str) -> String {
    testdata(name).to_str().expect("the path is text").to_string()
}

pub fn json(text: &str) -> Value {
    assert!(text.starts_with("{\"schema\":\"profbridge."), "{text}");
    serde_json::from_str(text).expect("output is JSON")
}

#[test]
fn check_reports_location_and_severity() {
    let folder = tempfile::tempdir().expect("a folder");
    let clean = run(folder.path(), &["check", &path("fibonacci.iprof")]);
    assert_eq!(clean.status.code(), Some(0));
    let bad = run(folder.path(), &["check", "--json", &path("bad/bad-context.iprof")]);
    assert_eq!(bad.status.code(), Some(3));
    let report = json(&String::from_utf8(bad.stdout).expect("text"));
    assert_eq!(report["schema"], "profbridge.check/2");
    let file = &report["files"][0];
    assert_eq!(
        (&file["format"], &file["version"], &file["verdict"]),
        (&"iprof".into(), &"1.1.0".into(), &"partly usable".into())
    );
    let finding = &file["findings"][0];
    assert_eq!((&finding["level"], &finding["code"]), (&"error".into(), &"bad-context".into()));
    assert_eq!((&finding["path"], &finding["more"]), (&"callCountProfiles[2].ctx".into(), &0.into()));
    assert!(finding["offset"].is_u64() && finding["message"].is_string());
    let odd = path("bad/odd-bci.iprof");
    assert_eq!(run(folder.path(), &["check", &odd]).status.code(), Some(0));
    assert_eq!(run(folder.path(), &["check", "--strict", &odd]).status.code(), Some(3));
    assert_eq!(run(folder.path(), &["check", "no-such.iprof"]).status.code(), Some(1));
    assert_eq!(run(folder.path(), &["check", "--no-such-option"]).status.code(), Some(2));
}

#[test]
fn repair_reports_dropped_data_and_writes_a_valid_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(folder.path(), &["repair", &path("bad/truncated.iprof"), "-o", "sound.iprof"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("truncated: closed") && said.contains("partly usable"), "{said}");
    assert_eq!(run(folder.path(), &["check", "sound.iprof"]).status.code(), Some(0));
    let refused = run(folder.path(), &["repair", &path("bad/unsupported-major.iprof"), "-o", "no.iprof"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(!folder.path().join("no.iprof").exists());
}

#[test]
fn merge_adds_weighs_and_compresses() {
    let folder = tempfile::tempdir().expect("a folder");
    let example = path("even-or-odd.iprof");
    succeed(folder.path(), &["merge", "-o", "same.iprof", &example]);
    let read = |name: &str| std::fs::read(folder.path().join(name)).expect("the output is there");
    assert_eq!(read("same.iprof"), std::fs::read(&example).expect("the example is there"));
    let weighted = format!("--weighted-input=3,{example}");
    let report = succeed(folder.path(), &["merge", "--json", "-o", "four.iprof.gz", &example, &weighted]);
    assert_eq!(json(&report)["entries"][0], serde_json::json!({"section": "callCountProfiles", "entries": 7}));
    assert!(read("four.iprof.gz").starts_with(&[0x1f, 0x8b]));
    let statistics = json(&succeed(folder.path(), &["show", "--json", "four.iprof.gz"]));
    assert_eq!(statistics["schema"], "profbridge.show-iprof/2");
    assert_eq!(statistics["sections"][0]["events"], 4 * 35);
    std::fs::write(folder.path().join("list.txt"), format!("2,{example}\n")).expect("written");
    std::fs::create_dir(folder.path().join("runs")).expect("made");
    std::fs::copy(&example, folder.path().join("runs/a.iprof")).expect("copied");
    succeed(folder.path(), &["merge", "-o", "three.iprof", "runs", "-f", "list.txt"]);
    succeed(folder.path(), &["merge", "-o", "normal.iprof", "--normalize", &example, "three.iprof"]);
    let statistics = json(&succeed(folder.path(), &["show", "--json", "normal.iprof"]));
    assert_eq!(statistics["sections"][0]["events"], 2 * 3 * 35);
}

/// The output of an earlier merge.
const OLD_RESULT: &str = "{\"version\":\"1.0.0\",\"types\":[]}";

#[test]
fn merge_rejects_damaged_files_and_keeps_the_old_output() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("out.iprof"), OLD_RESULT).expect("written");
    let good = path("even-or-odd.iprof");
    let output = run(folder.path(), &["merge", "-o", "out.iprof", &good, &path("bad/dangling-method.iprof")]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("dangling-method") && said.contains("callCountProfiles[2].ctx") && said.contains("hint"),
        "{said}"
    );
    assert_eq!(std::fs::read(folder.path().join("out.iprof")).expect("there"), OLD_RESULT.as_bytes());
}

#[test]
fn show_lists_call_chains() {
    let folder = tempfile::tempdir().expect("a folder");
    let example = path("fibonacci.iprof");
    let text = succeed(folder.path(), &["show", &example]);
    assert!(text.contains("Hot methods by calls:") && text.contains("java.lang.Thread.sleep(long)"), "{text}");
    let callers = succeed(folder.path(), &["show", "--callers", "java.lang.Thread.sleep", "--bci", &example]);
    assert!(
        callers.contains("\n  Fib.fibonacci() @16   9  100 %\n    Fib.main(java.lang.String[]) @9   9  100 %\n"),
        "{callers}"
    );
    let callees = succeed(folder.path(), &["show", "--callees", "Fib.main", "--chains-by", "calls", &example]);
    assert!(callees.contains("Callees, by calls:\nFib.main(java.lang.String[])   23\n"), "{callees}");
}

#[test]
fn convert_filters_prunes_and_reformats() {
    let folder = tempfile::tempdir().expect("a folder");
    let example = path("even-or-odd.iprof");
    succeed(folder.path(), &["convert", &example, "-o", "same.iprof"]);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("the output is there");
    assert_eq!(read("same.iprof"), std::fs::read_to_string(&example).expect("there"));
    succeed(
        folder.path(),
        &["convert", &example, "-o", "small.iprof", "--prune", "--sections", "calls", "--only", "java.io"],
    );
    assert_eq!(
        read("small.iprof"),
        concat!(
            r#"{"version":"1.1.0","types":[{"id":8,"name":"void"},{"id":12,"name":"java.lang.String"},{"id":14,"name":"java.io.PrintStream"}],"#,
            r#""methods":[{"id":6,"name":"println","signature":[14,8,12]}],"callCountProfiles":[{"ctx":"6:0","records":[7]}]}"#
        )
    );
    succeed(folder.path(), &["convert", "small.iprof", "-o", "old.iprof", "--to-version", "1.0.0", "--canonical"]);
    assert!(read("old.iprof").starts_with(r#"{"version":"1.0.0","types":[{"id":0,"name":"java.io.PrintStream"}"#));
    let lossy = run(folder.path(), &["convert", &example, "-o", "x.iprof", "--to-version", "1.0.0"]);
    assert_eq!(lossy.status.code(), Some(1));
    succeed(folder.path(), &["convert", &path("bad/unsupported-major.iprof"), "-o", "future.iprof", "--pretty"]);
    assert!(read("future.iprof").starts_with("{\n  \"version\": \"2.0.0\",\n"));
}

#[test]
fn diff_is_a_gate() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, other) = (path("even-or-odd.iprof"), path("fibonacci.iprof"));
    let same = json(&succeed(folder.path(), &["diff", "--json", "--fail-below", "1", &one, &one]));
    assert_eq!((&same["total_overlap"], &same["schema"]), (&1.0.into(), &"profbridge.diff/2".into()));
    let different = run(folder.path(), &["diff", "--fail-below", "90%", &one, &other]);
    assert_eq!(different.status.code(), Some(3));
    assert_eq!(run(folder.path(), &["diff", &one, &other]).status.code(), Some(0));
}

#[test]
fn convert_writes_the_same_bytes_whatever_the_white_space_and_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let read = |name: &str| std::fs::read(folder.path().join(name)).expect("written");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    succeed(folder.path(), &["convert", &path("fibonacci.iprof"), "-o", "compact.iprof"]);
    let compact = String::from_utf8(read("compact.iprof")).expect("text");
    succeed(folder.path(), &["convert", "compact.iprof", "--pretty", "-o", "pretty.iprof"]);
    write("newline.iprof", &format!("{compact}\n"));
    write("spaced.iprof", &compact.replace(",", " ,\t"));
    for name in ["pretty.iprof", "newline.iprof", "spaced.iprof"] {
        succeed(folder.path(), &["convert", name, "-o", "out.iprof", "--force"]);
        assert_eq!(read("out.iprof"), compact.as_bytes(), "{name}");
        succeed(folder.path(), &["convert", name, "-o", "out.iprof.gz", "--force"]);
        succeed(folder.path(), &["convert", "out.iprof.gz", "-o", "again.iprof", "--force"]);
        assert_eq!(read("again.iprof"), compact.as_bytes(), "{name}");
    }
}

#[test]
fn contradictory_branch_lists_of_one_input_are_not_called_another_inputs() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = concat!(
        r#"{"version":"1.0.0","types":[{"id":0,"name":"A"}],"methods":[{"id":0,"name":"m","signature":[0,0]}],"#,
        r#""conditionalProfiles":[{"ctx":"0:3","records":[5,0,9]},{"ctx":"0:3","records":[7,0,1]}]}"#
    );
    std::fs::write(folder.path().join("a.iprof"), text).expect("written");
    let merged = run(folder.path(), &["merge", "a.iprof", "-o", "out.iprof"]);
    let said = String::from_utf8_lossy(&merged.stderr);
    assert!(merged.status.success(), "{said}");
    assert!(
        said.contains("contradictory branch lists: 1 list at 1 site; the list with more events was kept"),
        "{said}"
    );
}
