//! Tests of reports and flame graphs of sample profiles, also for single functions.

use crate::tools::Workspace;

const INLINED: &str = "main:60:1\n 1: 10\n 3: foo:50\n  1: 20\n  2: bar:30\n   7.2: 30\nfoo:7:2\n 1: 7\n";
const CONTEXTS: &str = "\
[main]:10:1\n 1: 10\n !CFGChecksum: 1\n\
[main:3 @ foo]:20:4\n 1: 20\n !CFGChecksum: 2\n !Attributes: 1\n\
[main:3 @ foo:2 @ bar]:30:0\n 7: 30\n !CFGChecksum: 3\n\
[foo]:7:2\n 1: 7\n !CFGChecksum: 2\n";

fn workspace() -> Workspace {
    let workspace = Workspace::with(&[]);
    workspace.write("inlined.prof", INLINED);
    workspace.write("contexts.prof", CONTEXTS);
    workspace.write("counters.proftext", "foo\n123\n1\n5\n");
    workspace
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn flame_graphs_show_inlining_and_contexts() {
    let workspace = workspace();
    for profile in ["inlined.prof", "contexts.prof"] {
        workspace.run(&format!("profbridge flamegraph {profile} -o out.svg"));
        let picture = text(&workspace.bytes("out.svg"));
        // Of 67 samples, 60 are in main and its callees, 30 in bar.
        for title in ["main: 60 samples, 89.552 %", "bar: 30 samples, 44.776 %", "foo: 50 samples, 74.627 %"] {
            assert!(picture.contains(title), "{profile}: {title}\n{picture}");
        }
    }
}

#[test]
fn reports_name_hot_functions_and_places() {
    let workspace = workspace();
    for (profile, facts) in [
        ("inlined.prof", ["functions, lines", "bar:7.2"]),
        ("contexts.prof", ["calling contexts, pseudo-probes", "bar:7"]),
    ] {
        workspace.run(&format!("profbridge report {profile} -o out.html"));
        let report = text(&workspace.bytes("out.html"));
        for part in facts.into_iter().chain(["Hottest line locations", "foo:1", "Distribution of samples"]) {
            assert!(report.contains(part), "{profile}: no {part}");
        }
    }
    // The same samples with calling contexts: nothing increases or decreases.
    workspace.write(
        "lines.prof",
        "[main]:10:1\n 1: 10\n[main:3 @ foo]:20:4\n 1: 20\n[main:3 @ foo:2 @ bar]:30:0\n 7.2: 30\n[foo]:7:2\n 1: 7\n",
    );
    workspace.run("profbridge report --baseline lines.prof inlined.prof -o out.html");
    let compared = text(&workspace.bytes("out.html"));
    assert!(compared.contains("Samples of the baseline") && compared.contains("Overlap %"), "{compared}");
    let probes = workspace.attempt("profbridge report --baseline contexts.prof inlined.prof -o out.html");
    assert!(text(&probes.stderr).contains("cannot compare probe-based profile with non-probe-based"), "{probes:?}");
    let mixed = workspace.attempt("profbridge report inlined.prof counters.proftext -o out.html");
    assert!(text(&mixed.stderr).contains("cannot draw"), "{mixed:?}");
    let kinds = workspace.attempt("profbridge report inlined.prof contexts.prof -o out.html");
    assert!(text(&kinds.stderr).contains("cannot merge probe-based profile"), "{kinds:?}");
}

#[test]
fn reports_name_inputs_that_differ_from_the_others() {
    let workspace = workspace();
    for run in 1..=3 {
        workspace.write(&format!("run-{run}.prof"), &format!("main:10{run}:1\n 1: 10{run}\n"));
    }
    workspace.write("other.prof", "fail:900:1\n 1: 900\n");
    let note = "other.prof: its counts are distributed differently from those of 3 other files";
    workspace.run("profbridge report run-1.prof run-2.prof run-3.prof other.prof -o out.html");
    assert!(text(&workspace.bytes("out.html")).contains(note));
    // Three files are too few to tell.
    workspace.run("profbridge report run-1.prof run-2.prof other.prof -o out.html");
    assert!(!text(&workspace.bytes("out.html")).contains(note));
}

#[test]
fn one_function_is_shown_in_all_its_contexts() {
    let workspace = workspace();
    workspace.run("profbridge convert contexts.prof -o contexts.afdo");
    workspace.run("profbridge convert contexts.prof --use-md5 -o hashed.afdo");
    let expected = text(&workspace.run("profbridge show --function=foo contexts.prof").stdout);
    assert!(expected.contains("Function: main:3 @ foo: CFG checksum 2\n20, 4, 1 sampled lines"), "{expected}");
    assert!(expected.contains("Function: foo: CFG checksum 2\n7, 2, 1 sampled lines"), "{expected}");
    assert_eq!(expected.matches("Function: ").count(), 2);
    let mut sorted: Vec<&str> = expected.lines().collect();
    sorted.sort_unstable();
    let found = text(&workspace.run("profbridge show --function=foo contexts.afdo").stdout);
    let mut lines: Vec<&str> = found.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, sorted);
    let hashed = text(&workspace.run("profbridge show --function=foo hashed.afdo").stdout);
    assert_eq!(hashed.matches("Function: ").count(), 2, "{hashed}");
    let unknown = workspace.attempt("profbridge show --function=missing contexts.afdo");
    assert!(!unknown.status.success());
    assert!(text(&unknown.stderr).contains("no function name contains \"missing\""), "{unknown:?}");
    let json = workspace.attempt("profbridge show --function=foo --json contexts.afdo");
    assert!(text(&json.stderr).contains("--json is for whole sample profiles"), "{json:?}");
}

#[test]
fn views_of_a_whole_profile() {
    let workspace = workspace();
    workspace.write("names.list", "foo\nmain\nnever\n");
    workspace.run("profbridge convert inlined.prof --prof-sym-list names.list -o inlined.afdo");
    let sections = text(&workspace.run("profbridge show --show-sec-info-only inlined.afdo").stdout);
    assert!(sections.starts_with("ProfileSummarySection - Offset: 242, Size: "), "{sections}");
    assert!(sections.contains("\nFile Size: "), "{sections}");
    let symbols = text(&workspace.run("profbridge show --show-prof-sym-list --topn=1 inlined.afdo").stdout);
    assert!(symbols.contains("Dump profile symbol list ========\nfoo\nmain\nnever\n"), "{symbols}");
    assert!(symbols.contains("2 out of 2 functions with profile (100.00%)"), "{symbols}");
    let hot = text(&workspace.run("profbridge show --hot-func-list --detailed-summary inlined.afdo").stdout);
    assert!(hot.contains(" 60 (89.55%)            30                10              main\n"), "{hot}");
    assert!(hot.contains("Total count: 67\n") && !hot.contains("Function: "), "{hot}");
    let both = text(&workspace.run("profbridge show --topn=1 --all-functions inlined.afdo").stdout);
    assert!(both.starts_with("Function: main: ") && both.contains(" Total sample (%) "), "{both}");
    let json: serde_json::Value =
        serde_json::from_slice(&workspace.run("profbridge show --json inlined.afdo").stdout).unwrap();
    assert_eq!(json["functions"][0]["callsites"][0]["samples"][0]["name"], "foo");
    assert_eq!((&json["functions"][0]["total"], &json["functions"][1]["head"]), (&60.into(), &2.into()));
    let json = workspace.attempt("profbridge show --json --show-sec-info-only inlined.afdo");
    assert_eq!(json.status.code(), Some(2), "{json:?}");
    assert!(text(&json.stdout).contains("use `profbridge info --json`"), "{json:?}");
    let text_sections = workspace.attempt("profbridge show --show-sec-info-only inlined.prof");
    assert!(
        text(&text_sections.stderr).contains("listing the sections of a sample profile, text"),
        "{text_sections:?}"
    );
    let others = workspace.attempt("profbridge show --show-sec-info-only counters.proftext");
    assert!(text(&others.stderr).contains("--show-sec-info-only is for sample profiles"), "{others:?}");
    let summed = workspace.attempt("profbridge show --json --hot-func-list inlined.afdo");
    assert!(text(&summed.stderr).contains("--hot-func-list is not for JSON"), "{summed:?}");
    let hottest: serde_json::Value =
        serde_json::from_slice(&workspace.run("profbridge show --json --topn=1 inlined.afdo").stdout).unwrap();
    let names: Vec<_> = hottest["functions"].as_array().unwrap().iter().map(|function| &function["name"]).collect();
    assert_eq!(names, ["main"]);
}

#[test]
fn check_follows_the_table_of_offsets_and_knows_the_program() {
    let workspace = workspace();
    workspace.write("names.list", "main\n");
    workspace.run("profbridge convert inlined.prof --prof-sym-list names.list -o inlined.afdo");
    let valid = text(&workspace.run("profbridge check inlined.afdo").stdout);
    assert!(valid.contains("sample.unlisted-function: foo: the function is not in the profile symbol list"), "{valid}");
    let mut bytes = workspace.bytes("inlined.afdo");
    // The fourth row of the section table is for the offsets: the number of functions, then the name and the offset of
    // each.
    let row = 18 + 3 * 32;
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    assert_eq!(word(row), 4);
    let offsets = word(row + 16);
    let (first, second) = (bytes[offsets + 1], bytes[offsets + 3]);
    (bytes[offsets + 1], bytes[offsets + 3]) = (second, first);
    std::fs::write(workspace.path("swapped.afdo"), &bytes).unwrap();
    let swapped = workspace.attempt("profbridge check swapped.afdo");
    assert_eq!(swapped.status.code(), Some(3));
    assert!(text(&swapped.stdout).contains("an offset is that of another function's record"), "{swapped:?}");
    let shown = workspace.attempt("profbridge show --function=foo swapped.afdo");
    assert!(text(&shown.stderr).contains("an offset is that of another function's record"), "{shown:?}");
    assert!(workspace.run("profbridge show swapped.afdo").status.success());
    // One offset less: a compiler does not find the last function. A merge writes a new table.
    (bytes[offsets + 1], bytes[offsets + 3]) = (first, second);
    bytes[offsets] -= 1;
    std::fs::write(workspace.path("short.afdo"), &bytes).unwrap();
    let short = workspace.attempt("profbridge check short.afdo");
    assert_eq!(short.status.code(), Some(3));
    let short = text(&short.stdout);
    assert!(short.contains("sample-extbinary 103: partly usable\n"), "{short}");
    assert!(short.contains("the table of offsets lacks the record that begins here (merge the file"), "{short}");
    workspace.run("profbridge merge short.afdo -o repaired.afdo");
    workspace.run("profbridge merge inlined.afdo -o merged.afdo");
    assert!(workspace.bytes("repaired.afdo") == workspace.bytes("merged.afdo"));
}
