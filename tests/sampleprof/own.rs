//! Tests of the commands in profbridge mode.

use crate::tools::{Workspace, available};
use profbridge::sampleprof::{self, ReadOptions, WriteOptions};
use std::collections::BTreeSet;

const PLAIN: &str = "foo:300:10\n 1: 10\n 2: 20 bar:15 baz:5\n 3: bar:270\n  1: 100\n  2.1: 170\nbaz:50:5\n 1: 50\n";
const CONTEXTS: &str =
    "[main:2 @ foo]:50:20\n 1: 20\n !CFGChecksum: 7\n !Attributes: 1\n[main]:30:10\n 1: 10\n !CFGChecksum: 9\n";

fn workspace() -> Workspace {
    let workspace = Workspace::with(&[]);
    workspace.write("plain.prof", PLAIN);
    workspace.write("contexts.prof", CONTEXTS);
    workspace.write("counters.proftext", "foo:10:1\n123\n1\n5\n");
    workspace
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_new_user_converts_and_merges() {
    let workspace = workspace();
    workspace.run("profbridge convert plain.prof -o plain.afdo --for llvm-19");
    let many = "plain.afdo plain.prof ".repeat(50);
    workspace.run(&format!("profbridge merge {many} -o sum.afdo"));
    let shown = workspace.run("profbridge show --topn=1 sum.afdo");
    assert!(
        text(&shown.stdout).contains(" 30000 (85.71%)         17000             1000            foo\n"),
        "{shown:?}"
    );
    let once = workspace.run("profbridge merge --weighted-input=100,plain.prof --text -o -");
    let again = workspace.run("profbridge convert sum.afdo --to text -o -");
    assert_eq!(text(&again.stdout), text(&once.stdout));
}

#[test]
fn version_104_differs_in_its_number_and_is_only_for_23() {
    let workspace = workspace();
    workspace.run("profbridge convert plain.prof --for llvm-23 -o default.afdo");
    workspace.run("profbridge convert plain.prof --for llvm-23 --sample-format-version 104 -o next.afdo");
    let mut expected = workspace.bytes("default.afdo");
    assert_eq!(std::mem::replace(&mut expected[9], 104), 103);
    assert_eq!(workspace.bytes("next.afdo"), expected);
    assert!(workspace.run("profbridge show next.afdo").status.success());
    for (release, version, known) in [(22, 104, "LLVM 22 writes 103"), (23, 105, "LLVM 23 writes 103 and 104")] {
        let line =
            format!("profbridge convert plain.prof --for llvm-{release} --sample-format-version {version} -o x.afdo");
        let refused = workspace.attempt(&line);
        assert!(text(&refused.stderr).contains(known), "{refused:?}");
        assert!(!workspace.path("x.afdo").exists());
    }
}

#[test]
fn options_of_extensible_binaries_select_this_encoding_or_are_errors() {
    let workspace = workspace();
    for option in ["--use-md5", "--compress-all-sections", "--split-layout", "--gen-partial-profile"] {
        for command in ["merge", "convert"] {
            // The default encoding of LLVM 16 is the plain binary.
            workspace.run(&format!("profbridge {command} plain.prof {option} --for llvm-16 -o a.afdo --force"));
            let named = "--sample-format extbinary";
            workspace.run(&format!("profbridge {command} plain.prof {option} {named} --for llvm-16 -o b.afdo --force"));
            assert_eq!(workspace.bytes("a.afdo"), workspace.bytes("b.afdo"), "{command} {option}");
        }
        for encoding in ["text", "binary", "compact", "gcc"] {
            let line =
                format!("profbridge merge plain.prof {option} --for llvm-16 -o x.prof --sample-format {encoding}");
            // Text can mark functions without inlined callees, and a compact binary has hashes only.
            if matches!((option, encoding), ("--split-layout", "text") | ("--use-md5", "compact")) {
                workspace.run(&line);
                std::fs::remove_file(workspace.path("x.prof")).unwrap();
                continue;
            }
            let refused = workspace.attempt(&line);
            assert!(text(&refused.stderr).contains("omit the option"), "{option} {encoding}: {refused:?}");
            assert!(!workspace.path("x.prof").exists());
        }
    }
}

#[test]
fn vtables_stay_where_the_target_knows_them() {
    let workspace = workspace();
    workspace.write("vtables.prof", "foo:300:10\n 1: 10\n 1: vtables _ZTV1A:5\nbar:3:1\n 1: 1\n");
    workspace.run("profbridge merge vtables.prof --for llvm-22 --strict -o a.afdo");
    workspace.run("profbridge convert a.afdo --sample-format text --strict -o back.prof");
    assert!(text(&workspace.bytes("back.prof")).contains("vtables _ZTV1A:5"));
    for name in ["a.afdo", "vtables.prof"] {
        let info = text(&workspace.run(&format!("profbridge info {name}")).stdout);
        assert!(info.contains("-fprofile-sample-use of LLVM 22 and later"), "{info}");
    }
    let earlier = workspace.run("profbridge merge vtables.prof --for llvm-21 -o b.afdo");
    assert!(text(&earlier.stderr).contains("dropped 1 line location with vtables"), "{earlier:?}");
    if available("vtables in extensible binaries", &["llvm-profdata-22"]) {
        workspace.run("profbridge llvm-profdata merge --sample --extbinary -extbinary-write-vtable-type-prof vtables.prof -o own.afdo");
        workspace.run("llvm-profdata-22 merge --sample --extbinary -extbinary-write-vtable-type-prof vtables.prof -o genuine.afdo");
        assert_eq!(workspace.bytes("a.afdo"), workspace.bytes("genuine.afdo"));
        assert_eq!(workspace.bytes("own.afdo"), workspace.bytes("genuine.afdo"));
    }
}

#[test]
fn threads_do_not_change_the_bytes() {
    let workspace = workspace();
    let inputs = "contexts.prof contexts.prof contexts.prof contexts.prof contexts.prof";
    workspace.run(&format!("profbridge merge -j 1 {inputs} -o one.afdo"));
    workspace.run(&format!("profbridge merge -j 4 {inputs} -o four.afdo"));
    assert_eq!(workspace.bytes("one.afdo"), workspace.bytes("four.afdo"));
}

#[test]
fn losses_are_named_and_strict_rejects_them() {
    let workspace = workspace();
    let made = workspace.run("profbridge convert plain.prof --use-md5 -o hashed.afdo");
    assert!(text(&made.stderr).contains("3 names, of which only the hashes remain"), "{made:?}");
    let refused = workspace.attempt("profbridge convert plain.prof --use-md5 --strict -o strict.afdo");
    assert!(
        !refused.status.success() && text(&refused.stderr).contains("3 names, of which only the hashes remain"),
        "{refused:?}"
    );
    assert!(!workspace.path("strict.afdo").exists());
    let back = workspace.run("profbridge convert hashed.afdo --to text -o -");
    assert!(text(&back.stderr).contains("3 hashes of names, which are written as digits"), "{back:?}");
    // LLVM 13 stores no checksums of inlined callees.
    workspace.write(
        "inlined.prof",
        "main:900:10\n 1: 100\n 3: bar:800\n  1: 800\n  !CFGChecksum: 8\n !CFGChecksum: 7\nfoo:5:5\n 1: 5\n !CFGChecksum: 9\n",
    );
    for format in ["text", "extbinary"] {
        let line = format!("profbridge convert inlined.prof --sample-format {format} -o x.afdo --force");
        let made = workspace.run(&format!("{line} --for llvm-13"));
        assert!(text(&made.stderr).contains("dropped 1 checksum"), "{format}: {made:?}");
        assert!(!workspace.attempt(&format!("{line} --for llvm-13 --strict")).status.success(), "{format}");
        workspace.run(&format!("{line} --for llvm-14 --strict"));
    }
    let contexts = workspace.attempt("profbridge convert contexts.prof --sample-format=binary -o x.afdo");
    assert!(text(&contexts.stderr).contains("hint: write an extensible binary or text, or make the layout flat"));
}

/// Encodings without sections have no place for flags. By default, a profile with flags gets sections.
#[test]
fn flags_stay_or_are_losses() {
    let workspace = workspace();
    workspace.run("profbridge convert plain.prof --gen-partial-profile -o partial.afdo");
    let mut profile = sampleprof::read(&workspace.bytes("partial.afdo"), &ReadOptions::default()).unwrap();
    profile.stated.flow_sensitive = Some(true);
    let mut options = WriteOptions::default();
    options.partial = true;
    std::fs::write(workspace.path("both.afdo"), sampleprof::write(&profile, &options).unwrap()).unwrap();
    let kind = |file: &str| {
        let shown = text(&workspace.run(&format!("profbridge info {file}")).stdout);
        shown.lines().find_map(|line| Some(line.trim().strip_prefix("kind")?.trim().to_string()))
    };
    let both = Some("flow-sensitive discriminators, partial".to_string());
    assert_eq!(kind("both.afdo"), both);
    for target in ["llvm-13", "llvm-16", "llvm-22"] {
        workspace.run(&format!("profbridge merge both.afdo --for {target} --strict -o same.afdo"));
        assert_eq!(kind("same.afdo"), both, "{target}");
    }
    workspace.run("profbridge merge --partial both.afdo -o part.afdo");
    workspace.run("profbridge merge part.afdo -o same.afdo");
    assert_eq!(kind("same.afdo"), both);
    // The sum of a partial profile and a whole one is whole.
    for inputs in ["partial.afdo plain.prof", "plain.prof partial.afdo"] {
        workspace.run(&format!("profbridge merge {inputs} --strict -o whole.afdo"));
        assert_eq!(kind("whole.afdo"), None, "{inputs}");
    }
    for encoding in ["text", "binary", "gcc"] {
        let line = format!("profbridge convert both.afdo --sample-format {encoding} -o lost.out");
        let said = text(&workspace.run(&line).stderr);
        assert!(said.contains("2 properties of the profile"), "{encoding}: {said}");
        assert!(!workspace.attempt(&format!("{line} --strict")).status.success(), "{encoding}");
    }
}

/// A compiler finds functions by the hash of their names: digits in place of a hash would be hashed again.
#[test]
fn hashes_of_names_stay_hashes() {
    let workspace = workspace();
    workspace.run("profbridge convert plain.prof --use-md5 -o hashed.afdo --for llvm-22");
    workspace.run("profbridge convert plain.prof --sample-format compact -o hashed.compact --for llvm-16");
    let names = |file: &str| {
        let profile = sampleprof::read(&workspace.bytes(file), &ReadOptions::default()).unwrap();
        profile.names.iter().map(|name| format!("{name:?}")).collect::<BTreeSet<String>>()
    };
    let expected = names("hashed.afdo");
    assert!(expected.iter().all(|name| name.starts_with('#')), "{expected:?}");
    for release in [13, 14, 16, 17, 19, 22] {
        for input in ["hashed.afdo", "hashed.compact", "hashed.afdo hashed.compact"] {
            workspace.run(&format!("profbridge merge {input} --for llvm-{release} --strict -o again.afdo"));
            assert_eq!(names("again.afdo"), expected, "{input} for LLVM {release}");
        }
        workspace.run(&format!("profbridge merge --partial hashed.afdo --for llvm-{release} -o part.afdo"));
        workspace.run("profbridge merge part.afdo --strict -o again.afdo");
        assert_eq!(names("again.afdo"), expected, "in parts for LLVM {release}");
        let said = workspace.attempt(&format!(
            "profbridge convert hashed.afdo --for llvm-{release} --sample-format binary --strict -o x.afdo"
        ));
        assert!(text(&said.stderr).contains("hashes of names, which are written as digits"), "{said:?}");
    }
    // Names of which another input has the hash are known.
    workspace.run("profbridge merge hashed.afdo plain.prof --strict -o named.afdo");
    assert_eq!(names("named.afdo"), BTreeSet::from(["bar", "baz", "foo"].map(String::from)));
}

#[test]
fn families_are_not_mixed_and_each_is_recognised() {
    let workspace = workspace();
    let info = text(&workspace.run("profbridge info plain.prof contexts.prof counters.proftext").stdout);
    assert!(info.contains("plain.prof: LLVM sample profile, text"), "{info}");
    assert!(info.contains("calling contexts, pseudo-probes"), "{info}");
    assert!(info.contains("counters.proftext: LLVM text profile"), "{info}");
    let counters = "plain.prof: reading LLVM sample profile, text as an LLVM instrumentation profile is not supported";
    let samples = "counters.proftext: not a sample profile: LLVM text profile";
    for (arguments, error) in [
        ("plain.prof counters.proftext -o x", samples),
        ("counters.proftext plain.prof -o x", counters),
        ("counters.proftext plain.prof -o x.afdo", samples),
    ] {
        let mixed = workspace.attempt(&format!("profbridge merge {arguments} --force"));
        assert_eq!((mixed.status.code(), text(&mixed.stderr).contains(error)), (Some(1), true), "{mixed:?}");
        // What is skipped is named even if quiet.
        let skipped = workspace.run(&format!("profbridge merge {arguments} --force --failure-mode=warn -q"));
        assert!(text(&skipped.stderr).contains(error), "{skipped:?}");
    }
    workspace.run("profbridge merge counters.proftext plain.prof --failure-mode=warn -o some.profdata");
    workspace.run("profbridge merge counters.proftext -o all.profdata");
    assert_eq!(std::fs::read(workspace.path("some.profdata")).ok(), std::fs::read(workspace.path("all.profdata")).ok());
    let kinds = workspace.attempt("profbridge merge plain.prof contexts.prof -o y");
    assert!(text(&kinds.stderr).contains("cannot merge probe-based profile with non-probe-based profile"), "{kinds:?}");
}

/// Binary profiles without probes and contexts do not state that they have none, so that llvm-profdata takes them for the
/// kind of the file before.
#[test]
fn kinds_are_not_mixed_in_any_order_and_encoding() {
    let workspace = workspace();
    let kinds = [
        ("lines", "foo:10:1\n 1: 10\n"),
        ("probes", "foo:10:1\n 1: 10\n !CFGChecksum: 7\n"),
        ("contexts", "[main:1 @ foo]:10:1\n 1: 10\n"),
    ];
    for (kind, content) in kinds {
        workspace.write(&format!("{kind}.text"), content);
        workspace.run(&format!("profbridge convert {kind}.text --sample-format extbinary -o {kind}.ext"));
        workspace.run(&format!("profbridge merge --partial {kind}.ext -o {kind}.part"));
    }
    for (first, second) in kinds.iter().flat_map(|(first, _)| kinds.map(|(second, _)| (first, second))) {
        for (form, other) in [("text", "ext"), ("ext", "text"), ("ext", "ext"), ("part", "ext"), ("part", "part")] {
            let inputs = format!("{first}.{form} {second}.{other}");
            let merged =
                workspace.attempt(&format!("profbridge merge {inputs} --allow-duplicates -o x --failure-mode=all"));
            assert_eq!(merged.status.success(), *first == second, "{inputs}: {merged:?}");
            assert_eq!(text(&merged.stderr).contains("cannot merge"), *first != second, "{inputs}: {merged:?}");
        }
    }
}

#[test]
fn overlap_compares_profiles() {
    let workspace = workspace();
    workspace.write("other.prof", "foo:50:1\n 1: 20\n 2: 30 bar:15\nqux:9:1\n 1: 9\n");
    let said = text(&workspace.run("profbridge overlap --value-cutoff=1 plain.prof other.prof").stdout);
    // The results of llvm-profdata 22 for these two.
    for line in [
        "  Whole program profile similarity: 8.440%\n",
        "    hot blocks unique in base profile: 3\n",
        "85.71%         84.75%         9.90%        9.38%     90.00%        0.00%         300            50             foo\n",
    ] {
        assert!(said.contains(line), "{said}");
    }
    let kinds = workspace.attempt("profbridge overlap plain.prof contexts.prof");
    assert!(text(&kinds.stderr).contains("cannot compare probe-based profile with non-probe-based profile"));
}

#[test]
fn check_judges_structure_and_sums() {
    let workspace = workspace();
    workspace.write("odd.prof", "foo:3:1\n 1: 5\n");
    workspace.write("bad.prof", "foo:3:1\n 1: x\n");
    assert!(workspace.run("profbridge check plain.prof contexts.prof").status.success());
    let odd = workspace.attempt("profbridge check odd.prof");
    assert!(
        text(&odd.stdout).contains("sample.total-below-sum: foo: the total is 3, but the sum of its parts is 5"),
        "{odd:?}"
    );
    workspace.write("inlined.prof", "foo:9:1\n 3: bar:2\n  1: 5\n");
    let inlined = workspace.attempt("profbridge check inlined.prof");
    let expected = "sample.total-below-sum: foo: the total of bar, inlined at 3, is 2, but the sum of its parts is 5";
    assert!(text(&inlined.stdout).contains(expected), "{inlined:?}");
    let bad = workspace.attempt("profbridge check bad.prof");
    assert_eq!(bad.status.code(), Some(3));
    assert!(text(&bad.stdout).contains("sample.malformed: line 2"), "{bad:?}");
}

/// Lines of unrolled code count every iteration, totals count the samples once.
#[test]
fn strict_check_accepts_totals_below_the_sum_of_lines() {
    let workspace = workspace();
    workspace.write("unrolled.prof", "foo:145:8\n 0: 6\n 0.2: 160\n");
    let checked = workspace.run("profbridge check --strict unrolled.prof");
    assert!(text(&checked.stdout).contains("info: sample.total-below-sum"), "{checked:?}");
}

/// The writer does not add up contexts of a function with different checksums, and the file does not keep their order.
#[test]
fn check_compares_the_summary_of_contexts_with_different_checksums_only_where_it_can() {
    let workspace = workspace();
    for (at, checksums) in [[2, 3], [2, 0], [0, 2]].iter().enumerate() {
        let checksum = |value: i32| if value == 0 { String::new() } else { format!(" !CFGChecksum: {value}\n") };
        let (outer, inner) = (checksum(checksums[0]), checksum(checksums[1]));
        workspace.write("in.prof", &format!("[main]:5:5\n{outer}[main:4 @ main]:5:10\n{inner}"));
        workspace.run(&format!("profbridge merge in.prof -o {at}.afdo --for llvm-22"));
        let checked = workspace.run(&format!("profbridge check --strict {at}.afdo"));
        assert!(!text(&checked.stdout).contains("stale-summary"), "{checked:?}");
    }
}

#[test]
fn check_names_the_numbers_of_a_stale_summary() {
    let workspace = workspace();
    workspace.write("in.prof", "main:7:5\n 1: 7\n");
    workspace.run("profbridge merge in.prof -o in.afdo --sample-format binary --for llvm-22");
    let mut bytes = workspace.bytes("in.afdo");
    // After the magic number and the version follow the total, the largest count, and the largest entry count.
    let at = bytes.windows(3).position(|three| three == [7, 7, 5]).expect("the summary is found");
    bytes[at + 2] = 6;
    std::fs::write(workspace.path("stale.afdo"), bytes).unwrap();
    let checked = workspace.attempt("profbridge check stale.afdo");
    let expected = "sample.stale-summary: summary: the summary is not that of the records: its largest entry count is 6, \
                    expected 5\n";
    assert!(text(&checked.stdout).contains(expected), "{checked:?}");
}

/// llvm-profgen computes the same density.
#[test]
fn thin_profiles_fail_the_density_threshold() {
    let workspace = workspace();
    workspace.write(
        "thin.prof",
        "foo:1000:10\n 1: 500\n 2: 300\n 3: bar:200\n  1: 150\n  2: 50\nbaz:30:3\n 1: 20\n 2: 5\n 3: 5\n",
    );
    workspace.write("app.c", "int main(void) { return 0; }\n");
    assert!(workspace.run("profbridge check --min-density 10 thin.prof").status.success());
    let thin = workspace.attempt("profbridge check --min-density 50 thin.prof");
    assert_eq!(thin.status.code(), Some(3));
    assert!(text(&thin.stdout).contains("the density is 10.0 samples per line location, below 50"), "{thin:?}");
    assert!(text(&thin.stdout).starts_with("thin.prof: sample-text: usable, but fails the check\n"), "{thin:?}");
    let quiet = workspace.attempt("profbridge check -q --min-density 50 thin.prof");
    let reason = "error: thin.prof: sample.low-density: the density is 10.0";
    assert!(text(&quiet.stderr).starts_with(reason), "{quiet:?}");
    let other = workspace.attempt("profbridge check --min-density 1 app.c");
    assert_ne!(other.status.code(), Some(0));
    let info = workspace.run("profbridge info thin.prof");
    assert!(text(&info.stdout).contains("density       10.0 samples per line location (2 functions"), "{info:?}");
    if available("thin_profiles_fail_the_density_threshold", &["llvm-profgen-22", "clang-22"]) {
        workspace.run("clang-22 -g app.c -o app");
        let genuine = "llvm-profgen-22 --llvm-sample-profile=thin.prof --binary=app --show-density -o out.prof";
        assert!(text(&workspace.run(genuine).stdout).contains("Functions with density >= 10.0 account for 99.00%"));
    }
}

#[test]
fn functions_beyond_the_size_limit_are_listed() {
    let workspace = workspace();
    let lines: String = (1..=40).map(|n| format!("function_{n}:{n}:{n}\n 1: {n}\n")).collect();
    workspace.write("many.prof", &lines);
    let merge = "profbridge merge many.prof --text -o small.prof --output-size-limit";
    let merged = workspace.run(&format!("{merge} 500"));
    let kept = text(&workspace.bytes("small.prof")).matches("function_").count();
    assert!((1..40).contains(&kept) && workspace.bytes("small.prof").len() <= 500);
    let expected = format!("small.prof: dropped {} functions beyond the size limit of the output", 40 - kept);
    assert!(text(&merged.stderr).contains(&format!("warning: {expected}\n")), "{merged:?}");
    let json = workspace.run(&format!("{merge} 500 --json"));
    let losses = &serde_json::from_slice::<serde_json::Value>(&json.stdout).unwrap()["losses"];
    assert_eq!((&losses[0]["kind"], &losses[0]["count"]), (&"functions-beyond-size".into(), &(40 - kept).into()));
    let strict = workspace.attempt(&format!("{merge} 500 --strict"));
    assert!(!strict.status.success() && text(&strict.stderr).contains("functions beyond the size limit"), "{strict:?}");
    // The smallest output that is possible has one function.
    let one = workspace.attempt(&format!("{merge} 5"));
    let size = "function_40:40:40\n 1: 40\n".len();
    let message = format!("the output with one function is {size} bytes, 5 left");
    assert!(!one.status.success() && text(&one.stderr).contains(&message), "{one:?}");
    workspace.run(&format!("{merge} {size}"));
    assert_eq!(workspace.bytes("small.prof").len(), size);
}

/// llvm-profdata keeps neither contexts nor checksums of functions that get new names.
#[test]
fn new_names_keep_contexts_and_checksums() {
    let workspace = workspace();
    workspace.write("names", "inner core\nouter core\nmoved gone\n");
    let contexts = "[main:1 @ inner]:100:10\n 1: 90 leaf:9\n !CFGChecksum: 7\n !Attributes: 3\n[main:1 @ outer]:50:5\n 1: 50\n \
                    !CFGChecksum: 7\n !Attributes: 3\n[main:1 @ outer:2 @ leaf]:40:5\n 1: 40\n !CFGChecksum: 4\n[main]:7:1\n 1: 7\n \
                    !CFGChecksum: 5\n";
    workspace.write("contexts.prof", contexts);
    workspace.run("profbridge merge --strict contexts.prof -r names --text -o out.prof");
    let expected = "[main:1 @ core]:150:15\n 1: 140 leaf:9\n !CFGChecksum: 7\n !Attributes: 3\n[main:1 @ core:2 @ leaf]:40:5\n \
                    1: 40\n !CFGChecksum: 4\n[main]:7:1\n 1: 7\n !CFGChecksum: 5\n";
    assert_eq!(text(&workspace.bytes("out.prof")), expected);
    workspace.run("profbridge merge contexts.prof -r names --partial -o half.partial");
    workspace.run("profbridge merge half.partial --text -o finished.prof");
    assert_eq!(text(&workspace.bytes("finished.prof")), expected);
    // Inlined callees of one place that have the same name now, but other code.
    let nested = "main:30:1\n 1: inner:10\n  1: 10\n  !CFGChecksum: 3\n 1: outer:20\n  1: 20\n  !CFGChecksum: 4\n !CFGChecksum: 2\n";
    workspace.write("nested.prof", nested);
    for options in ["--text", "--partial"] {
        let merged = workspace.run(&format!("profbridge merge nested.prof -r names {options} --force -o joined.prof"));
        let warning = "main: the checksum of the control flow graph differs; dropped";
        assert!(text(&merged.stderr).contains(warning), "{merged:?}");
        let strict = format!("profbridge merge --strict nested.prof -r names {options} --force -o joined.prof");
        assert!(!workspace.attempt(&strict).status.success(), "{options}");
    }
}

/// The total of a function also counts how long its lines took.
#[test]
fn the_minimum_of_the_total_count_is_that_of_the_summary() {
    let workspace = workspace();
    workspace.write("thin.prof", "foo:9000:10\n 1: 10\n 2: bar:500\n  1: 5\n");
    assert!(text(&workspace.run("profbridge info thin.prof").stdout).contains("15"));
    workspace.run("profbridge merge thin.prof -o out.prof --min-total-count 15");
    let refused = workspace.attempt("profbridge merge thin.prof -o out.prof --min-total-count 16");
    assert!(text(&refused.stderr).contains("the total count is 15, below 16"), "{refused:?}");
}

#[test]
fn early_releases_get_encodings_that_they_read() {
    let workspace = workspace();
    let hashes = "--sample-format extbinary --use-md5";
    workspace.run(&format!("profbridge convert plain.prof {hashes} -o hashes.afdo"));
    workspace.write("probes.prof", "foo:10:1\n 1: 10\n !CFGChecksum: 7\n");
    workspace.write("plain-contexts.prof", "[main:2 @ foo]:50:20\n 1: 20\n[main]:30:10\n 1: 10\n");
    for (input, options, release, expected) in [
        ("plain.prof", "--sample-format compact", 7, "LLVM 8 to 16 read compact binaries"),
        ("plain.prof", "--sample-format compact", 8, ""),
        ("plain.prof", "--sample-format compact", 17, "LLVM 8 to 16 read compact binaries"),
        ("plain.prof", "--sample-format extbinary", 9, "LLVM 10 and later read extensible binaries"),
        ("plain.prof", "--sample-format extbinary", 10, ""),
        ("plain.prof", hashes, 10, "LLVM 11 and later read them"),
        ("plain.prof", hashes, 11, ""),
        ("hashes.afdo", "--sample-format extbinary", 10, "LLVM 11 and later read them"),
        ("plain-contexts.prof", "", 9, "use --convert-sample-profile-layout=nest"),
        ("plain-contexts.prof", "--sample-format text", 11, "use --convert-sample-profile-layout=nest"),
        ("plain-contexts.prof", "--sample-format text", 12, ""),
        ("probes.prof", "", 11, "LLVM 12 and later read them"),
        ("probes.prof", "", 12, ""),
    ] {
        let line = format!("profbridge convert {input} {options} --for llvm-{release} -o x.afdo");
        let output = workspace.attempt(&line);
        let said = text(&output.stderr);
        assert_eq!(
            (output.status.success(), said.contains("hint: ")),
            (expected.is_empty(), !expected.is_empty()),
            "{line}: {said}"
        );
        assert!(said.contains(expected), "{line}: {said}");
        let _ = std::fs::remove_file(workspace.path("x.afdo"));
    }
    // The default is an encoding that keeps the hashes, if there is one.
    for (release, encoding) in [(7, "binary"), (8, "compact binary"), (10, "compact binary"), (11, "extensible binary")]
    {
        workspace.run(&format!("profbridge convert hashes.afdo --for llvm-{release} -o x.afdo --force"));
        let info = text(&workspace.run("profbridge info x.afdo").stdout);
        assert!(info.contains(&format!("LLVM sample profile, {encoding}, version")), "LLVM {release}: {info}");
    }
    for release in [10, 11] {
        let line = format!("profbridge merge plain.prof --gen-partial-profile --for llvm-{release} -o x.afdo --force");
        let said = text(&workspace.run(&line).stderr);
        assert_eq!(said.contains("dropped 1 property of the profile"), release == 10, "{said}");
        let shown = text(&workspace.run("profbridge show --show-sec-info-only x.afdo").stdout);
        assert_eq!(shown.contains("partial"), release == 11, "{shown}");
    }
}

#[test]
fn hashes_of_names_have_the_length_that_the_target_reads() {
    let workspace = workspace();
    for release in [11, 12] {
        workspace.run(&format!("profbridge convert plain.prof --use-md5 --for llvm-{release} -o {release}.afdo"));
        workspace.run(&format!("profbridge convert {release}.afdo --sample-format text -o {release}.prof"));
    }
    assert_eq!(workspace.bytes("11.prof"), workspace.bytes("12.prof"));
    let readers = |name: &str| text(&workspace.run(&format!("profbridge info {name}")).stdout);
    assert!(readers("11.afdo").contains("-fprofile-sample-use of LLVM 11 and later"), "{}", readers("11.afdo"));
    assert!(readers("12.afdo").contains("-fprofile-sample-use of LLVM 12 and later"), "{}", readers("12.afdo"));
    let flags = |name: &str| text(&workspace.run(&format!("profbridge show --show-sec-info-only {name}")).stdout);
    assert!(flags("11.afdo").contains("{md5}") && flags("12.afdo").contains("{fixlenmd5}"), "{}", flags("11.afdo"));
}

#[test]
fn early_summaries_do_not_count_inlined_callees() {
    let workspace = workspace();
    let facts = |release: u32| {
        workspace.run(&format!(
            "profbridge convert plain.prof --for llvm-{release} --sample-format binary -o x.afdo --force"
        ));
        text(&workspace.run("profbridge show --detailed-summary x.afdo").stdout)
    };
    assert!(facts(8).contains("Total number of blocks: 3"), "{}", facts(8));
    assert!(facts(9).contains("Total number of blocks: 5"), "{}", facts(9));
}
