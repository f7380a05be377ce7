//! Tests of the commands `convert` and `merge` across the bridge.

use super::helpers::{canon, parse};
use std::path::Path;
use std::process::{Command, Output};

const FIBONACCI: &str = include_str!("fibonacci.iprof");

/// Runs the program in a directory.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
    command.current_dir(folder).args(arguments).output().expect("the program runs")
}

/// Runs the program, which must succeed, and returns its standard error.
fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    said
}

/// Runs the program, which must fail, and returns its standard error.
fn fail(code: i32, folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    std::fs::write(folder.path().join("a.iprof"), FIBONACCI).expect("the folder can be written");
    let text = ":ir\nmain\n7\n2\n3\n4\n\nf\n8\n1\n9223372036854775808\n";
    std::fs::write(folder.path().join("b.proftext"), text).expect("the folder can be written");
    folder
}

fn text(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).expect("the program wrote the file")
}

#[test]
fn an_iprof_goes_to_every_llvm_format_and_back() {
    let folder = folder();
    let folder = folder.path();
    let expected = canon(&parse(FIBONACCI.as_bytes()));
    for (name, options) in [
        ("a.profdata", vec![]),
        ("a.proftext", vec![]),
        ("a.profraw", vec![]),
        ("a8.profraw", vec!["--raw-version", "8"]),
        ("a14.profdata", vec!["--for", "llvm-14"]),
        ("a.data", vec!["--to", "indexed"]),
    ] {
        assert_eq!(succeed(folder, &[&["convert", "--quiet", "a.iprof", "-o", name], &options[..]].concat()), "");
        assert_eq!(succeed(folder, &["convert", name, "-o", "back.iprof"]), "", "{name}");
        assert_eq!(text(folder, "back.iprof"), expected, "{name}");
    }
    let bytes = std::fs::read(folder.join("a.profdata")).unwrap();
    assert_eq!(bytes[8], 13, "the version of LLVM 22, as merge writes it");
}

#[test]
fn an_llvm_profile_comes_back_from_iprof() {
    let folder = folder();
    let folder = folder.path();
    assert_eq!(succeed(folder, &["convert", "b.proftext", "-o", "b.iprof"]), "");
    succeed(folder, &["convert", "b.iprof", "-o", "back.proftext"]);
    succeed(folder, &["convert", "b.proftext", "-o", "same.proftext"]);
    assert_eq!(text(folder, "back.proftext"), text(folder, "same.proftext"));
    let iprof = text(folder, "b.iprof");
    assert!(iprof.contains("1 counts above 2^63-1 were set to 2^63-1"), "{iprof}");
}

#[test]
fn losses_are_listed_and_strict_rejects_them() {
    let folder = folder();
    let folder = folder.path();
    let said = succeed(folder, &["convert", "b.proftext", "-o", "b.iprof", "--no-extension"]);
    for loss in
        ["2 function hashes", "1 counter that is not a call count", "1 count above 2^63-1", "1 kind of the profile"]
    {
        assert!(said.contains(&format!("b.proftext: not converted: {loss}\n")), "{said}");
    }
    std::fs::remove_file(folder.join("b.iprof")).unwrap();
    let said = fail(1, folder, &["convert", "b.proftext", "-o", "b.iprof", "--no-extension", "--strict"]);
    assert!(said.contains("some data cannot be converted"), "{said}");
    assert!(!folder.join("b.iprof").exists(), "nothing is written");
}

#[test]
fn a_canonical_document_keeps_its_member_if_the_sections_agree() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["convert", "b.proftext", "-o", "b.iprof"]);
    succeed(folder, &["convert", "b.iprof", "--pretty", "-o", "pretty.iprof"]);
    for command in ["merge", "convert"] {
        succeed(folder, &[command, "pretty.iprof", "--canonical", "-o", "c.iprof", "--strict", "--force"]);
        assert_eq!(text(folder, "c.iprof"), text(folder, "b.iprof"), "{command}");
    }
    succeed(folder, &["convert", "c.iprof", "-o", "back.proftext"]);
    succeed(folder, &["convert", "b.proftext", "-o", "same.proftext"]);
    assert_eq!(text(folder, "back.proftext"), text(folder, "same.proftext"));
    // The sections of this file were edited.
    let edited = text(folder, "b.iprof").replace(r#""records":[3]"#, r#""records":[5]"#);
    std::fs::write(folder.join("edited.iprof"), edited).unwrap();
    let said = succeed(folder, &["convert", "edited.iprof", "--canonical", "-o", "d.iprof"]);
    assert!(said.contains("the member \"llvm\"") && !text(folder, "d.iprof").contains("llvm"), "{said}");
    let said = fail(1, folder, &["convert", "edited.iprof", "--canonical", "-o", "e.iprof", "--strict"]);
    assert!(said.contains("llvm") && said.contains("omit --strict"), "{said}");
}

#[test]
fn a_contradiction_is_an_error_unless_trust_selects_a_side() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["convert", "b.proftext", "-o", "b.iprof"]);
    let changed = text(folder, "b.iprof").replace(r#""records":[3]"#, r#""records":[5]"#);
    std::fs::write(folder.join("b.iprof"), changed).unwrap();
    let said = fail(1, folder, &["convert", "b.iprof", "-o", "c.proftext"]);
    assert!(said.contains("callCountProfiles at <global>#main()?:0 has 5, the extension has 3"), "{said}");
    assert!(said.contains("--trust standard or --trust extension"), "{said}");
    succeed(folder, &["convert", "b.iprof", "-o", "c.proftext", "--trust", "extension"]);
    assert!(
        text(folder, "c.proftext").contains("main\n# Func Hash:\n7\n# Num Counters:\n2\n# Counter Values:\n3\n4\n")
    );
    succeed(folder, &["convert", "b.iprof", "-o", "c.proftext", "--trust", "standard"]);
    assert!(text(folder, "c.proftext").contains("<global>#main()?\n"));
}

#[test]
fn sections_can_be_chosen() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["convert", "a.iprof", "-o", "samples.proftext", "--sections", "samples"]);
    let samples = text(folder, "samples.proftext");
    assert!(samples.contains("app.Fibonacci#fib(int)int:21]\n") && !samples.contains("calls"), "{samples}");
    succeed(folder, &["convert", "a.iprof", "-o", "counts.proftext", "--sections", "counts"]);
    let counts = text(folder, "counts.proftext");
    assert!(!counts.contains(":21]\n") && counts.contains("{calls 2?7,14}"), "{counts}");
}

#[test]
fn both_families_merge_into_either() {
    let folder = folder();
    let folder = folder.path();
    let said = succeed(folder, &["merge", "a.iprof", "b.proftext", "-o", "m.iprof"]);
    assert_eq!(said, "converting 1 LLVM profile and 1 iprof file to an iprof\n");
    std::fs::copy(folder.join("b.proftext"), folder.join("b2.proftext")).expect("the folder can be written");
    succeed(folder, &["merge", "--partial", "b.proftext", "b2.proftext", "-o", "llvm.part", "--quiet"]);
    succeed(folder, &["merge", "--partial", "a.iprof", "-o", "iprof.part", "--quiet"]);
    let said = succeed(folder, &["merge", "llvm.part", "iprof.part", "-o", "parts.iprof"]);
    assert!(said.starts_with("converting 2 LLVM profiles and 1 iprof file to an iprof\n"), "{said}");
    succeed(folder, &["merge", "b.proftext", "a.iprof", "-o", "m.profdata", "--quiet"]);
    succeed(folder, &["convert", "m.profdata", "-o", "m2.iprof"]);
    succeed(folder, &["convert", "m.iprof", "-o", "m.proftext"]);
    succeed(folder, &["convert", "m2.iprof", "-o", "m2.proftext"]);
    assert_eq!(text(folder, "m.proftext"), text(folder, "m2.proftext"));
    let said = fail(2, folder, &["merge", "a.iprof", "b.proftext", "-o", "m"]);
    assert!(said.contains("--to llvm or --to iprof"), "{said}");
    succeed(folder, &["merge", "a.iprof", "b.proftext", "-o", "m", "--to", "iprof"]);
    assert_eq!(text(folder, "m"), text(folder, "m.iprof"));
}

#[test]
fn documents_that_carry_profiles_merge_as_llvm_does() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["convert", "b.proftext", "-o", "b.iprof"]);
    succeed(folder, &["merge", "b.iprof", "b.iprof", "a.iprof", "-o", "m.iprof"]);
    succeed(folder, &["convert", "m.iprof", "-o", "m.proftext"]);
    let merged = text(folder, "m.proftext");
    assert!(merged.contains("main\n# Func Hash:\n7\n# Num Counters:\n2\n# Counter Values:\n6\n8\n"), "{merged}");
    assert!(merged.contains("app.Fibonacci#fib(int)int {calls 2?7,14}\n"), "{merged}");
}

#[test]
fn shapes_of_a_branch_stay_apart_in_llvm_and_settle_in_iprof() {
    let folder = folder();
    let folder = folder.path();
    let other = FIBONACCI.replace("[7,0,89,14,1,87]", "[8,0,1,15,1,2]");
    std::fs::write(folder.join("other.iprof"), other).unwrap();
    succeed(folder, &["merge", "a.iprof", "other.iprof", "--to", "llvm", "--text", "-o", "m.proftext"]);
    let merged = text(folder, "m.proftext");
    assert!(merged.contains("{calls 2?7,14}\n") && merged.contains("{2?8,15}\n"), "{merged}");
    let said = succeed(folder, &["convert", "m.proftext", "-o", "m.iprof"]);
    assert!(said.contains("1 branch list that contradicts a heavier one"), "{said}");
    assert!(text(folder, "m.iprof").contains("[7,0,89,14,1,87]"));
    succeed(folder, &["merge", "m.proftext", "--on-branch-clash", "keep", "-o", "kept.iprof"]);
    let kept = text(folder, "kept.iprof");
    assert!(kept.contains("[7,0,89,14,1,87]") && kept.contains("[8,0,1,15,1,2]"), "{kept}");
}

#[test]
fn merging_reports_as_json() {
    let folder = folder();
    let output = run(folder.path(), &["merge", "a.iprof", "b.proftext", "-o", "m.iprof", "--json", "--quiet"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.starts_with(
            r#"{"schema":"profbridge.merge/2","ok":true,"error":null,"gates":[],"family":"iprof","output":{"path":"m.iprof","#
        ),
        "{text}"
    );
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
}
