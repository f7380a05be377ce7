//! Tests of the expectations of new users: helpful messages, and nothing lost or skipped silently.

use crate::program::{json, path, run, succeed};
use crate::schema::assert_has_schema;
use std::path::Path;

/// Returns the standard error of a run with this exit code.
#[track_caller]
fn fail(code: i32, folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let said = String::from_utf8(output.stderr).expect("messages are text");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    said
}

/// Returns the standard error of a run that succeeds.
#[track_caller]
fn remarks(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let said = String::from_utf8(output.stderr).expect("messages are text");
    assert!(output.status.success(), "{arguments:?}: {said}");
    said
}

/// Returns a document of one method with a branch to `rows` at 3.
fn branch(rows: &str) -> String {
    format!(
        r#"{{"version":"1.0.0","types":[{{"id":0,"name":"A"}}],"methods":[{{"id":0,"name":"m","signature":[0,0]}}],"conditionalProfiles":[{{"ctx":"0:3","records":[{rows}]}}]}}"#
    )
}

/// Creates a directory with `kept.iprof`: two shapes of one branch, stored separately.
fn kept_shapes() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.iprof"), branch("5,0,9,8,1,1")).expect("written");
    std::fs::write(folder.path().join("b.iprof"), branch("5,0,1,7,1,2")).expect("written");
    let said = fail(1, folder.path(), &["merge", "--strict", "a.iprof", "b.iprof", "-o", "kept.iprof"]);
    assert!(said.contains("would be missing: contradictory branch lists"), "{said}");
    let keep = ["merge", "--strict", "--on-branch-clash", "keep", "a.iprof", "b.iprof", "-o", "kept.iprof"];
    succeed(folder.path(), &keep);
    folder
}

#[test]
fn an_unrepairable_file_gets_a_helpful_hint() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, advice, option) in [
        ("bad-json", "--salvage", Some("--salvage")),
        ("bad-version", "--assume-version", Some("--assume-version=1.0.0")),
        ("duplicate-key", "--join-sections", Some("--join-sections")),
        ("unsupported-major", "profbridge convert", None),
        ("bad-encoding", "no entry can be recovered", None),
        ("root-not-object", "no entry can be recovered", None),
        ("empty-file", "run it again", None),
    ] {
        let file = path(&format!("bad/{name}.iprof"));
        for command in ["repair", "convert"] {
            if (name, command) == ("unsupported-major", "convert") {
                continue;
            }
            let said = fail(1, folder.path(), &[command, &file, "-o", "x.iprof"]);
            assert!(said.contains(advice) && !said.contains("`profbridge repair` to keep the valid entries"), "{said}");
        }
        let checked = run(folder.path(), &["check", &file]);
        let text = String::from_utf8(checked.stdout).expect("text");
        assert!(text.contains("\n  hint: ") && text.contains(advice), "{text}");
        let checked = run(folder.path(), &["check", "--json", &file]);
        let report = json(&String::from_utf8(checked.stdout).expect("text"));
        assert_has_schema(&report, "check-2.json");
        assert!(report["files"][0]["hint"].as_str().expect("a hint").contains(advice));
        if let Some(option) = option {
            let repaired = run(folder.path(), &["repair", &file, "-o", "x.iprof", option]);
            let said = String::from_utf8(repaired.stderr).expect("text");
            assert!(repaired.status.success() && !said.contains("nothing to repair"), "{option}: {said}");
            assert_eq!(run(folder.path(), &["check", "x.iprof"]).status.code(), Some(0));
        }
    }
    let valid = json(&succeed(folder.path(), &["check", "--json", &path("statistics.iprof")]));
    assert_has_schema(&valid, "check-2.json");
    assert!(valid["files"][0]["hint"].is_null());
}

#[test]
fn complete_entries_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let checked = run(folder.path(), &["check", &path("bad/truncated.iprof")]);
    let text = String::from_utf8(checked.stdout).expect("text");
    assert!(text.contains("complete: 2 of callCountProfiles") && !text.contains("of version"), "{text}");
}

#[test]
fn sorting_and_repairing_lose_no_shape_of_a_branch() {
    let folder = kept_shapes();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("written");
    let kept = read("kept.iprof");
    assert!(kept.contains("[5,0,9,8,1,1]") && kept.contains("[5,0,1,7,1,2]"), "{kept}");
    succeed(folder.path(), &["convert", "--canonical", "kept.iprof", "-o", "sorted.iprof"]);
    assert_eq!(read("sorted.iprof"), kept);
    succeed(folder.path(), &["repair", "kept.iprof", "-o", "repaired.iprof"]);
    assert_eq!(read("repaired.iprof"), kept);
}

#[test]
fn a_filter_that_keeps_nothing_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let example = path("statistics.iprof");
    let nothing = ["convert", &example, "-o", "x.iprof", "--only", "no.such"];
    let refused = run(folder.path(), &nothing);
    assert_eq!(refused.status.code(), Some(1));
    assert!(!folder.path().join("x.iprof").exists());
    let said = remarks(folder.path(), &[&nothing[..], &["--allow-empty"]].concat());
    assert!(said.contains("warning") && said.contains("no entries are left"), "{said}");
    let said = remarks(folder.path(), &["convert", &example, "-o", "x.iprof", "--only", "app"]);
    assert!(said.is_empty(), "{said}");
    // The LLVM records of an iprof cannot be filtered.
    std::fs::write(folder.path().join("a.proftext"), "main\n1\n1\n5\n\nother\n2\n1\n7\n").expect("written");
    succeed(folder.path(), &["convert", "a.proftext", "-o", "a.iprof"]);
    let said = remarks(folder.path(), &["convert", "a.iprof", "-o", "b.iprof", "--exclude", "other"]);
    assert!(said.contains("dropped the member \"llvm\""), "{said}");
    succeed(folder.path(), &["convert", "b.iprof", "-o", "b.profdata"]);
}

#[test]
fn options_for_llvm_profiles_are_errors_in_a_merge_of_iprofs() {
    let folder = tempfile::tempdir().expect("a folder");
    let example = path("statistics.iprof");
    for (option, advice) in [
        ("--function=main", "profbridge convert --only"),
        ("--no-function=main", "profbridge convert --exclude"),
        ("--sparse", "profbridge convert --prune"),
        ("--show", "profbridge show"),
        ("--for=llvm-19", "--to-version"),
        ("--text", "omit --text"),
    ] {
        let said = fail(2, folder.path(), &["merge", &example, "-o", "x.iprof", option]);
        assert!(said.contains(option.split('=').next().expect("a name")) && said.contains(advice), "{said}");
        assert!(!folder.path().join("x.iprof").exists());
    }
    succeed(folder.path(), &["merge", &example, "-o", "x.iprof", "-j", "2", "--failure-mode=any"]);
}

#[test]
fn call_chains_of_a_method_are_found_by_its_name_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let example = path("statistics.iprof");
    let full = succeed(folder.path(), &["show", "--callers", "app.Shape.draw", &example]);
    for name in ["draw", "Shape.draw", "draw()", "app.Shape.draw()"] {
        assert_eq!(succeed(folder.path(), &["show", "--callers", name, &example]), full, "{name}");
    }
    let said = fail(1, folder.path(), &["show", "--callers", "raw", &example]);
    assert!(said.contains("no method of the profile matches `raw`"), "{said}");
}

#[test]
fn branches_alone_are_not_a_flame_graph() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("b.iprof"), branch("5,0,9,8,1,1")).expect("written");
    for baseline in [&[][..], &["--baseline", "b.iprof"]] {
        let arguments = [&["flamegraph", "b.iprof", "-o", "b.svg"], baseline].concat();
        let said = fail(1, folder.path(), &arguments);
        assert!(
            said.contains("no stacks to draw") && said.contains("use `profbridge report` to show branches"),
            "{said}"
        );
        assert!(!folder.path().join("b.svg").exists());
    }
    succeed(folder.path(), &["report", "b.iprof", "-o", "b.html"]);
    let page = std::fs::read_to_string(folder.path().join("b.html")).expect("written");
    assert!(page.contains("conditionalProfiles"), "the branches are shown");
}

#[test]
fn reports_do_not_mix_with_a_profile_on_standard_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let example = path("statistics.iprof");
    for command in ["repair", "merge"] {
        let said = fail(2, folder.path(), &[command, &example, "--json", "-o", "-"]);
        assert!(said.contains("standard output is already used for the profile"), "{said}");
    }
    let report = succeed(folder.path(), &["repair", &path("bad/bad-context.iprof"), "--json", "-o", "x.iprof"]);
    assert_has_schema(&json(&report), "repair-2.json");
    let report = succeed(folder.path(), &["merge", &example, &example, "--json", "-o", "x.iprof"]);
    assert_has_schema(&json(&report), "merge-2.json");
}

#[test]
fn options_for_iprof_output_select_the_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let example = path("even-or-odd.iprof");
    let pretty = succeed(folder.path(), &["convert", &example, "-o", "-", "--pretty"]);
    assert!(pretty.starts_with("{\n  \"version\""), "{pretty}");
    assert!(
        succeed(folder.path(), &["convert", &example, "-o", "-", "--graal-spelling"]).contains("instanceOfProfiles")
    );
}

#[test]
fn folders_are_checked_file_by_file() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("runs")).expect("made");
    std::fs::copy(path("bad/bad-context.iprof"), folder.path().join("runs/a.iprof")).expect("copied");
    std::fs::copy(path("statistics.iprof"), folder.path().join("runs/b.iprof")).expect("copied");
    let checked = run(folder.path(), &["check", "runs"]);
    let text = String::from_utf8(checked.stdout).expect("text");
    assert_eq!(checked.status.code(), Some(3), "{text}");
    assert!(text.contains("runs/a.iprof: iprof 1.1.0: partly usable") && text.contains("runs/b.iprof: "), "{text}");
    std::fs::create_dir(folder.path().join("none")).expect("made");
    let empty = run(folder.path(), &["check", "none"]);
    assert_eq!(empty.status.code(), Some(1), "a folder without files checks nothing");
}

#[test]
fn a_weight_without_a_file_is_distinguished_from_a_missing_file() {
    let folder = tempfile::tempdir().expect("a folder");
    for text in ["3", "a.iprof", "x,a.iprof", "0,a.iprof"] {
        let said = fail(2, folder.path(), &["merge", &format!("--weighted-input={text}"), "-o", "x.iprof"]);
        assert!(said.contains("WEIGHT,FILE"), "{said}");
    }
}

#[test]
fn every_command_keeps_to_the_limits_given() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = path("statistics.iprof");
    std::fs::write(folder.path().join("a.proftext"), "main\n1\n1\n5\n").expect("written");
    for arguments in [
        &["show", &file][..],
        &["diff", &file, &file],
        &["diff", &file, "a.proftext"],
        &["merge", &file, "-o", "x.iprof"],
        &["merge", &file, "a.proftext", "-o", "x.iprof"],
        &["merge", &file, "-o", "x.profdata"],
        &["convert", &file, "-o", "x.iprof"],
        &["convert", &file, "-o", "x.profdata"],
        &["flamegraph", &file, "-o", "x.svg"],
        &["report", &file, "-o", "x.html"],
    ] {
        let limited = [&["--limit", "context-depth=2"], arguments].concat();
        let said = fail(1, folder.path(), &limited);
        assert!(said.contains("context"), "{arguments:?}: {said}");
        assert!(run(folder.path(), arguments).status.success(), "{arguments:?}");
    }
}

#[test]
fn an_empty_file_is_compared_with_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("empty"), "").expect("written");
    for files in [["empty", &path("statistics.iprof")], [&path("statistics.iprof"), "empty"], ["empty", "empty"]] {
        let said = fail(1, folder.path(), &["diff", files[0], files[1]]);
        assert!(said.contains("empty: the file is empty"), "{said}");
    }
}

/// An option for a view that the format does not have is an error, not ignored.
#[test]
fn options_of_the_other_kind_of_profile_are_refused_by_show() {
    let folder = tempfile::tempdir().expect("a folder");
    let iprof = path("fibonacci.iprof");
    let text = folder.path().join("f.proftext");
    std::fs::write(&text, ":ir\nf\n1\n1\n7\n").expect("written");
    let llvm = text.to_str().expect("a plain path");
    let views: [&[&str]; 5] =
        [&["--counts"], &["--text"], &["--covered"], &["--value-cutoff=3"], &["--detailed-summary-cutoffs=10000"]];
    for view in views {
        let said = fail(2, folder.path(), &[&["show", &iprof], view].concat());
        let option = view[0].split('=').next().expect("an option");
        assert!(
            said.contains(&format!("{option} is for LLVM profiles")) && said.contains("not for an iprof"),
            "{said}"
        );
        assert!(said.contains("--callers"), "{said}");
        succeed(folder.path(), &[&["show", llvm], view].concat());
    }
    let stacks = folder.path().join("s.collapsed");
    std::fs::write(&stacks, "a/B.run;a/B.step 3\n").expect("written");
    let said = fail(2, folder.path(), &["show", stacks.to_str().expect("a plain path"), "--counts"]);
    assert!(said.contains("--counts is for LLVM profiles, not for stacks"), "{said}");
    for view in [["--callers=f"], ["--chains-by=calls"], ["--bci"], ["--min-events=2"]] {
        let said = fail(2, folder.path(), &["show", llvm, view[0]]);
        assert!(said.contains("is for iprof files and stacks, not for LLVM profiles"), "{said}");
    }
}

#[test]
fn flame_graphs_of_call_counts_are_not_those_of_samples() {
    let folder = tempfile::tempdir().expect("a folder");
    let iprof = path("fibonacci.iprof");
    let draw = |command: &str, options: &[&str]| {
        let output = if command == "report" { "out.html" } else { "out.svg" };
        succeed(folder.path(), &[&[command, &iprof, "-o", output], options].concat());
        std::fs::read_to_string(folder.path().join(output)).expect("text")
    };
    assert!(draw("flamegraph", &[]).contains(": 11 hits"));
    let calls = draw("flamegraph", &["--call-counts"]);
    assert!(calls.contains(" calls") && !calls.contains(" hits"));
    assert!(draw("report", &[]).contains("Hottest methods by samples"));
    let calls = draw("report", &["--call-counts"]);
    assert!(calls.contains("Hottest methods by calls") && !calls.contains("Hottest methods by samples"));
}

#[test]
fn a_flame_graph_without_matching_samples_does_not_change_to_calls() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = fail(1, folder.path(), &["flamegraph", &path("fibonacci.iprof"), "--exclude", "main", "-o", "out.svg"]);
    assert!(said.contains("there are no stacks to draw"), "{said}");
}

#[test]
fn a_file_of_another_program_is_reported_among_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = |from: &str, name: &str| std::fs::copy(path(from), folder.path().join(name)).expect("copied");
    for name in ["1.iprof", "2.iprof", "3.iprof", "4.iprof"] {
        copy("fibonacci.iprof", name);
    }
    copy("even-or-odd.iprof", "5.iprof");
    let checked = run(folder.path(), &["check", "1.iprof", "2.iprof", "3.iprof", "4.iprof", "5.iprof"]);
    let text = String::from_utf8(checked.stdout).expect("text");
    let warned: Vec<&str> = text.lines().filter(|line| line.contains("different-distribution")).collect();
    assert_eq!(warned.len(), 1, "{text}");
    assert!(text.split_once("5.iprof: ").is_some_and(|(_, last)| last.contains(warned[0])), "{text}");
}
