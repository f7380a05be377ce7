//! Tests of profiles that the program converts from one LLVM release to another.

use crate::program::{Finished, Folder, testdata};

/// A text profile of functions with one counter each.
fn text(level: &str, functions: &[(&str, u64, u64)]) -> String {
    let record = |(name, hash, count): &(&str, u64, u64)| format!("{name}\n{hash}\n1\n{count}\n\n");
    format!("{level}{}", functions.iter().map(record).collect::<String>())
}

fn folder(files: &[(&str, String)]) -> Folder {
    let folder = Folder::new();
    for (name, content) in files {
        std::fs::write(folder.path(name), content).expect("the folder takes files");
    }
    folder
}

/// Creates a directory with two text profiles, one per release range. Both have the same local function, and each has
/// another one.
fn both_releases() -> Folder {
    folder(&[
        ("old.proftext", text(":ir\n", &[("a.c:local", 1, 5), ("a.c:old", 2, 7), ("main", 3, 1)])),
        ("new.proftext", text(":ir\n", &[("a.c;local", 1, 6), ("a.c;new", 4, 8), ("main", 3, 1)])),
    ])
}

/// Returns names and first counters of a text profile.
fn counts(folder: &Folder, name: &str) -> Vec<(String, u64)> {
    let text = std::fs::read_to_string(folder.path(name)).expect("the output is there");
    let lines: Vec<&str> = text.lines().collect();
    let heads = lines.iter().enumerate().filter(|(_, line)| **line == "# Func Hash:");
    heads.map(|(at, _)| (lines[at - 1].to_string(), lines[at + 5].parse().expect("a count"))).collect()
}

#[track_caller]
fn assert_done(finished: &Finished) {
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

fn rows(rows: &[(&str, u64)]) -> Vec<(String, u64)> {
    rows.iter().map(|(name, count)| ((*name).to_string(), *count)).collect()
}

#[test]
fn a_local_function_has_the_sum_under_the_name_that_the_reader_computes() {
    let folder = both_releases();
    let merge = |release: &str| {
        let finished =
            folder.run(&["merge", "old.proftext", "new.proftext", "--text", "-o", "x.proftext", "--for", release]);
        assert_done(&finished);
        assert!(finished.stderr.contains("1 local function had two names"), "{}", finished.stderr);
        counts(&folder, "x.proftext")
    };
    assert_eq!(merge("llvm-17"), rows(&[("a.c:local", 11), ("a.c:new", 8), ("a.c:old", 7), ("main", 2)]));
    assert_eq!(merge("llvm-18"), rows(&[("a.c;local", 11), ("a.c;new", 8), ("a.c;old", 7), ("main", 2)]));
}

#[test]
fn a_raw_file_of_two_releases_is_merged_like_two_files() {
    let folder = Folder::new();
    let [old, new] =
        ["raw/clang-16-ir.profraw", "raw/clang-22-ir.profraw"].map(|name| std::fs::read(testdata(name)).unwrap());
    for (name, bytes) in [("old.profraw", &old), ("new.profraw", &new)] {
        std::fs::write(folder.path(name), bytes).unwrap();
    }
    for parts in [[&old[..], &new[..]], [&new[..], &old[..]]] {
        std::fs::write(folder.path("both.profraw"), parts.concat()).unwrap();
        for target in [&[][..], &["--for", "llvm-16"], &["--for", "llvm-22"]] {
            let merge = |inputs: &[&str], output: &str| {
                let finished = folder.run(&[&["merge", "--text", "-o", output], inputs, target].concat());
                assert_done(&finished);
                let words = "3 local functions had two names";
                assert!(finished.stderr.contains(words), "{target:?} {}", finished.stderr);
                std::fs::read(folder.path(output)).unwrap()
            };
            let apart = merge(&["old.profraw", "new.profraw"], "apart.proftext");
            assert_eq!(merge(&["both.profraw"], "together.proftext"), apart, "{target:?}");
        }
        // A partial merge stores the version of an input.
        let refused = folder.run(&["merge", "--partial", "both.profraw", "-o", "both.partial"]);
        assert_eq!(refused.code, Some(1));
        assert!(refused.stderr.contains("split the file"), "{}", refused.stderr);
    }
}

#[test]
fn a_remapping_renames_both_forms_of_a_local_name() {
    let folder = both_releases();
    let merge = |program: &[&str], release: &[&str]| {
        let inputs = ["merge", "old.proftext", "new.proftext", "--text", "-o", "x.proftext", "-r", "rules.txt"];
        let finished = folder.run(&[program, &inputs, release].concat());
        assert_done(&finished);
        (counts(&folder, "x.proftext"), finished.stderr)
    };
    for (old, new, expected) in [
        ("a.c;local", "b.c;local", [["b.c;local"; 2], ["b.c:local"; 2]]),
        ("a.c:local", "b.c:local", [["b.c;local"; 2], ["b.c:local"; 2]]),
        ("a.c;local", "global", [["global"; 2], ["global"; 2]]),
    ] {
        std::fs::write(folder.path("rules.txt"), format!("{old} {new}\n")).unwrap();
        for (release, expected) in ["llvm-18", "llvm-17"].into_iter().zip(expected) {
            let (found, messages) = merge(&[], &["--for", release]);
            let found: Vec<_> = found.into_iter().filter(|(name, _)| name.ends_with("l")).collect();
            assert_eq!(found, rows(&[(expected[0], 11)]), "{old} {new} {release}");
            assert!(!messages.contains("match no name"), "{messages}");
        }
    }
    // A rule for one form is preferred to that for the other, and a rule is used if either form is.
    std::fs::write(folder.path("rules.txt"), "a.c;old one\na.c:new two\na.c;local three\na.c:local four\n").unwrap();
    let (found, messages) = merge(&[], &["--for", "llvm-18"]);
    assert_eq!(found, rows(&[("four", 5), ("main", 2), ("one", 7), ("three", 6), ("two", 8)]));
    assert!(!messages.contains("rule"), "{messages}");
    // New names get the form of the target even if all inputs have it.
    for (target, rule, expected) in
        [("llvm-19", "a.c:local b.c:local", "b.c;local"), ("llvm-16", "a.c;local b.c;local", "b.c:local")]
    {
        assert_done(&folder.run(&["convert", "new.proftext", "-o", "x.profraw", "--force", "--for", target]));
        std::fs::write(folder.path("rules.txt"), format!("{rule}\n")).unwrap();
        let inputs = ["merge", "x.profraw", "--text", "-o", "x.proftext", "-r", "rules.txt", "--for", target];
        assert_done(&folder.run(&inputs));
        let found: Vec<_> = counts(&folder, "x.proftext").into_iter().filter(|(name, _)| name.ends_with("l")).collect();
        assert_eq!(found, rows(&[(expected, 6)]), "{target}");
    }
    // As in llvm-profdata.
    std::fs::write(folder.path("rules.txt"), "a.c;local b.c;local\n").unwrap();
    let (found, _) = merge(&["llvm-profdata"], &[]);
    let found: Vec<_> = found.into_iter().filter(|(name, _)| name.ends_with("local")).collect();
    assert_eq!(found, rows(&[("a.c:local", 5), ("b.c;local", 6)]));
}

#[test]
fn bitmaps_of_18_stay_in_the_version_of_18() {
    let folder = Folder::new();
    let (raw, expected) = (testdata("raw/clang-18-mcdc.profraw"), testdata("raw/clang-18-mcdc.profdata"));
    let (raw, expected) = (raw.to_str().unwrap(), std::fs::read(expected).unwrap());
    for release in ["llvm-18", "llvm-19", "llvm-22", "llvm-23"] {
        assert_done(&folder.run(&["merge", "--strict", raw, "-o", "x.profdata", "--for", release]));
        assert!(std::fs::read(folder.path("x.profdata")).unwrap() == expected, "{release}");
    }
    // Tools of LLVM 22 read no raw profiles of LLVM 18.
    let converted = folder.run(&["convert", "--strict", raw, "--to", "raw", "-o", "x.profraw", "--for", "llvm-22"]);
    converted.assert_refused(1, &["MC/DC bitmap"]);
    let later = testdata("raw/clang-22-mcdc.profraw");
    let both = folder.run(&["merge", "--strict", raw, later.to_str().unwrap(), "-o", "both.profdata"]);
    both.assert_refused(1, &["MC/DC bitmap"]);
}

#[test]
fn notes_count_only_functions_that_a_filter_keeps() {
    let folder = both_releases();
    for (function, words) in [("main", None), ("a.c;local", Some("100.00 %")), ("a.c:local", Some("100.00 %"))] {
        let inputs = ["merge", "old.proftext", "new.proftext", "--text", "--for", "llvm-18"];
        let finished = folder.run(&[&inputs[..], &["--function", function, "-o", "x.proftext"]].concat());
        assert_done(&finished);
        let said = finished.stderr;
        assert_eq!(said.contains("had two names"), words.is_some(), "{function}: {said}");
        assert!(words.is_none_or(|words| said.contains(words)), "{function}: {said}");
    }
}

#[test]
fn targets_without_records_cannot_be_renamed_for_older_releases() {
    let caller = "main\n3\n1\n9\n1\n0\n1\n1\na.c;local:5\n\n";
    let folder = folder(&[("in.proftext", format!(":ir\n{caller}"))]);
    let merge = |release: &str| folder.run(&["merge", "in.proftext", "-o", "x.profdata", "--for", release]);
    let finished = merge("llvm-17");
    assert_done(&finished);
    assert!(finished.stderr.contains("calls targets whose names are not in the inputs"), "{}", finished.stderr);
    assert!(!merge("llvm-18").stderr.contains("names are not in the inputs"));
    let strict = folder.run(&["merge", "in.proftext", "-o", "x.profdata", "--for", "llvm-17", "--strict"]);
    assert_eq!(strict.code, Some(1), "{}", strict.stderr);
}

#[test]
fn convert_renames_as_merge_does() {
    let folder = both_releases();
    assert_done(&folder.run(&["convert", "new.proftext", "-o", "c.proftext", "--for", "rustc-1.75"]));
    assert_done(&folder.run(&["merge", "new.proftext", "--text", "-o", "m.proftext", "--for", "rustc-1.75"]));
    assert_eq!(counts(&folder, "c.proftext"), rows(&[("a.c:local", 6), ("a.c:new", 8), ("main", 1)]));
    assert_eq!(counts(&folder, "m.proftext"), counts(&folder, "c.proftext"));
}

#[test]
fn a_filter_finds_a_renamed_function_under_either_name() {
    let folder = both_releases();
    for pattern in ["a.c;new", "a.c:new"] {
        let arguments =
            ["merge", "new.proftext", "--text", "-o", "f.proftext", "--for", "llvm-16", "--function", pattern];
        assert_done(&folder.run(&arguments));
        assert_eq!(counts(&folder, "f.proftext"), rows(&[("a.c:new", 8)]), "{pattern}");
    }
}

/// Large hashes as LLVM 21 and 22 compute them.
const OF_21: u64 = 0x4c09_d3f6_8c42_3a76;
const OF_22: u64 = 0x0c09_d3f6_8c42_3a76;

#[test]
fn unusable_records_are_reported_and_errors_when_strict() {
    let folder = folder(&[("new.proftext", text("", &[("large", OF_22, 30), ("small", 24, 10)]))]);
    let arguments = ["merge", "new.proftext", "-o", "x.profdata", "--for", "llvm-16"];
    let finished = folder.run(&arguments);
    assert_done(&finished);
    let words = "1 function has a hash like those of LLVM 22 or later (75.00 % of all counts): large";
    assert!(finished.stderr.contains(words), "{}", finished.stderr);
    std::fs::remove_file(folder.path("x.profdata")).expect("it is there");
    folder.run(&[&arguments[..], &["--strict"]].concat()).assert_refused(1, &["LLVM 16", words]);
    assert_eq!(folder.names(), ["new.proftext"]);
}

/// LLVM 12 changed the hashes of IR profiles. The first hash is of LLVM 11, the second is of the same function in LLVM 22.
#[test]
fn ir_hashes_of_llvm_11_are_a_loss_for_later_releases_in_every_form() {
    let folder = folder(&[
        ("early.proftext", text(":ir\n", &[("steps", 0x0100_0006_cd39_8548, 7)])),
        ("later.proftext", text(":ir\n", &[("steps", 0x0d14_0a68_bd39_8548, 7)])),
    ]);
    let merge = |input: &str, options: &[&str]| folder.run(&[&["merge", input, "--force"], options].concat());
    assert_done(&merge("early.proftext", &["-o", "early.profdata", "--for", "llvm-11", "--strict"]));
    assert_done(&merge("later.proftext", &["-o", "later.profdata", "--for", "llvm-22", "--strict"]));
    assert_done(&merge("early.profdata", &["-o", "early.part", "--for", "llvm-22", "--partial"]));
    let words = "1 function has an IR hash that the target does not compute (100.00 % of all counts): steps";
    for (input, release) in [
        ("early.proftext", "llvm-22"),
        ("early.profdata", "llvm-12"),
        ("early.part", "llvm-22"),
        ("later.profdata", "llvm-11"),
    ] {
        for form in [&["-o", "x.profdata"][..], &["-o", "x.proftext", "--text"]] {
            let finished = merge(input, &[form, &["--for", release]].concat());
            assert_done(&finished);
            assert!(finished.stderr.contains(words), "{input}: {}", finished.stderr);
            merge(input, &[form, &["--for", release, "--strict"]].concat()).assert_refused(1, &[words]);
        }
    }
}

#[test]
fn hashes_of_both_versions_are_merged_only_on_request() {
    let folder = folder(&[
        ("old.proftext", text("", &[("large", OF_21, 5)])),
        ("new.proftext", text("", &[("large", OF_22, 6)])),
    ]);
    let merge = |options: &[&str]| {
        let arguments = ["merge", "old.proftext", "new.proftext", "--text", "-o", "x.proftext"];
        let finished = folder.run(&[&arguments[..], options].concat());
        assert_done(&finished);
        (counts(&folder, "x.proftext"), finished.stderr)
    };
    let (kept, said) = merge(&["--for", "llvm-22"]);
    assert_eq!(kept, rows(&[("large", 6), ("large", 5)]));
    assert!(said.contains("1 function has two records") && said.contains("--hashes=reader"), "{said}");
    for release in ["llvm-16", "llvm-22", "llvm-23"] {
        let (united, said) = merge(&["--for", release, "--hashes=reader"]);
        assert_eq!(united, rows(&[("large", 11)]), "{release}");
        assert!(said.contains("coverage of binaries with the old hashes"), "{said}");
    }
}

#[test]
fn the_version_goes_by_the_hashes_unless_one_is_asked_for() {
    let folder = folder(&[("old.proftext", text("", &[("large", OF_21, 5)]))]);
    let version = |options: &[&str]| {
        assert_done(&folder.run(&[&["merge", "old.proftext", "-o", "x.profdata"], options].concat()));
        let bytes = std::fs::read(folder.path("x.profdata")).expect("the output is there");
        u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes"))
    };
    assert_eq!(version(&["--for", "llvm-22"]), 12);
    assert_eq!(version(&["--for", "llvm-22", "--hashes=reader"]), 13);
    assert_eq!(version(&["--format-version", "13"]), 13);
    assert_eq!(version(&["--for", "llvm-16"]), 9);
}

/// Tools of LLVM 22 make indexed files of version 13 of text and raw profiles, for which compilers compute other hashes.
#[test]
fn text_and_raw_profiles_do_not_choose_a_version() {
    let folder = folder(&[("old.proftext", text("", &[("big", 0x4c09_d3f6_8c42_3a76, 7), ("main", 0x18, 1)]))]);
    for output in ["x.profraw", "x.proftext"] {
        for (target, is_lost) in [("llvm-21", false), ("llvm-22", true), ("llvm-23", true)] {
            let convert = ["convert", "old.proftext", "-o", output, "--force", "--for", target];
            let finished = folder.run(&convert);
            assert_done(&finished);
            let finding = "1 function has a hash of LLVM 11 to 21 (87.50 % of all counts): big";
            assert_eq!(finished.stderr.contains(finding), is_lost, "{output} {target}: {}", finished.stderr);
            let strict = folder.run(&[&convert[..], &["--strict"]].concat());
            assert_eq!(strict.code, Some(i32::from(is_lost)), "{output} {target}: {}", strict.stderr);
            let rehashed = folder.run(&[&convert[..], &["--strict", "--hashes=reader"]].concat());
            assert_done(&rehashed);
        }
    }
}

#[test]
fn findings_are_in_the_report_for_programs() {
    let folder = folder(&[("new.proftext", text("", &[("large", OF_22, 30), ("small", 24, 10)]))]);
    let finished = folder.run(&["merge", "new.proftext", "-o", "x.profdata", "--for", "llvm-16", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&finished.stdout).expect("JSON");
    let expected = serde_json::json!([{
        "kind": "hash-of-later-release", "is_loss": true, "functions": 1, "share": 0.75, "first_names": ["large"],
    }]);
    assert_eq!(report["findings"], expected);
}

#[test]
fn text_keeps_the_release_of_names() {
    let folder = folder(&[("new.proftext", text(":ir\n", &[("pro;gram:1.c;left", 1, 5)]))]);
    let expected = rows(&[("pro;gram:1.c:left", 5)]);
    assert_done(&folder.run(&["convert", "new.proftext", "-o", "old.proftext", "--for", "llvm-16"]));
    assert_eq!(counts(&folder, "old.proftext"), expected);
    assert_done(&folder.run(&["convert", "old.proftext", "-o", "again.proftext", "--for", "llvm-14"]));
    assert_eq!(counts(&folder, "again.proftext"), expected);
    // There is no message if all names are unambiguous.
    let plain = both_releases().run(&["convert", "new.proftext", "-o", "-", "--to", "text", "--for", "llvm-16"]);
    assert!(!String::from_utf8_lossy(&plain.stdout).contains("#!"));
}

/// Runs a comparison of two files of `testdata/raw`.
fn compare(command: &str, first: &str, second: &str, options: &[&str]) -> Finished {
    let path = |name: &str| testdata("raw").join(name).display().to_string();
    let (first, second) = (path(first), path(second));
    Folder::new().run(&[&[command, first.as_str(), second.as_str()], options].concat())
}

fn json_of(finished: &Finished) -> serde_json::Value {
    serde_json::from_slice(&finished.stdout).expect("the output is JSON")
}

#[test]
fn diff_follows_local_names_between_releases() {
    for kind in ["cxx", "ir"] {
        let files = [format!("clang-16-{kind}.profraw"), format!("clang-22-{kind}.profraw")];
        for (first, second) in [(&files[0], &files[1]), (&files[1], &files[0])] {
            let finished = compare("diff", first, second, &["--fail-below", "smallest=100%"]);
            assert_done(&finished);
            assert!(finished.stderr.contains("functions have different names"), "{}", finished.stderr);
            assert!(finished.stderr.contains("--exact-names"), "{}", finished.stderr);
            assert!(!String::from_utf8_lossy(&finished.stdout).contains("functions:"), "{kind}");
        }
        let exact = compare("diff", &files[0], &files[1], &["--exact-names", "--fail-below", "99%"]);
        assert_eq!(exact.code, Some(3), "{}", exact.stderr);
        assert!(!exact.stderr.contains("two profiles"), "{}", exact.stderr);
    }
}

#[test]
fn diff_follows_front_end_hashes_between_releases() {
    for kind in ["fe", "fe-values", "coverage"] {
        let files = [format!("clang-16-{kind}.profraw"), format!("clang-22-{kind}.profraw")];
        let finished = compare("diff", &files[0], &files[1], &["--fail-below", "smallest=100%", "--json"]);
        assert_done(&finished);
        assert!(finished.stderr.contains("different hashes"), "{}", finished.stderr);
        let followed = &json_of(&finished)["followed"][0];
        assert_eq!(followed["kind"], "hash");
        assert_eq!(followed["functions"].as_u64(), followed["first_names"].as_array().map(|names| names.len() as u64));
        let exact = compare("diff", &files[0], &files[1], &["--exact-names", "--fail-below", "99%"]);
        assert_eq!(exact.code, Some(3), "{}", exact.stderr);
    }
}

#[test]
fn overlap_follows_names_and_hashes_between_releases() {
    for kind in ["cxx", "ir", "fe", "fe-values", "coverage"] {
        let files = [format!("clang-16-{kind}.profraw"), format!("clang-22-{kind}.profraw")];
        for (base, test) in [(&files[0], &files[1]), (&files[1], &files[0])] {
            let finished = compare("overlap", base, test, &[]);
            assert_done(&finished);
            let text = String::from_utf8_lossy(&finished.stdout);
            assert!(text.contains("Edge profile overlap: 100.000%"), "{kind}: {text}");
            assert!(!text.contains("mismatch") && !text.contains("IndirectCall profile overlap: 9"), "{kind}: {text}");
            assert!(finished.stderr.contains("in the two profiles"), "{}", finished.stderr);
        }
        let followed = json_of(&compare("overlap", &files[0], &files[1], &["--json"]))["followed"].clone();
        assert!(followed[0]["functions"].as_u64() > Some(0), "{followed}");
        let exact = compare("overlap", &files[0], &files[1], &["--exact-names"]);
        let text = String::from_utf8_lossy(&exact.stdout);
        assert!(text.contains("mismatch") || text.contains("only in test_profile"), "{kind}: {text}");
    }
}

#[test]
fn comparisons_of_one_release_follow_nothing() {
    for (first, second) in [("clang-16-cxx", "clang-16-cxx"), ("clang-22-fe", "clang-22-fe")] {
        for command in ["diff", "overlap"] {
            let finished = compare(command, &format!("{first}.profraw"), &format!("{second}.profraw"), &["--json"]);
            assert_done(&finished);
            assert_eq!(json_of(&finished)["followed"], serde_json::json!([]), "{first}, {second}");
            assert!(!finished.stderr.contains("two profiles"), "{}", finished.stderr);
        }
    }
}

#[test]
fn a_report_follows_names_of_its_baseline() {
    let path = |name: &str| testdata("raw").join(name).display().to_string();
    let (now, before) = (path("clang-22-cxx.profraw"), path("clang-16-cxx.profraw"));
    let finished = Folder::new().run(&["report", now.as_str(), "--baseline", before.as_str(), "-o", "-"]);
    assert_done(&finished);
    let page = String::from_utf8_lossy(&finished.stdout);
    assert!(page.contains("functions have different names"), "{page}");
    assert!(!page.contains("shapes.cpp:"), "{page}");
}

#[test]
fn exact_names_are_for_instrumentation_profiles() {
    let folder = folder(&[("a.collapsed", "a;b 1\n".into()), ("b.collapsed", "a;b 2\n".into())]);
    for command in ["diff", "overlap"] {
        let finished = folder.run(&[command, "a.collapsed", "b.collapsed", "--exact-names"]);
        finished.assert_refused(2, &["--exact-names", "LLVM instrumentation profiles"]);
    }
}

#[test]
fn records_with_other_numbers_of_counters_are_not_compared() {
    let folder = Folder::new();
    std::fs::write(folder.path("a.proftext"), ":ir\nf\n1\n2\n5\n6\n").unwrap();
    std::fs::write(folder.path("b.proftext"), ":ir\nf\n1\n3\n5\n6\n7\n").unwrap();
    let shown = folder.run(&["diff", "a.proftext", "b.proftext", "--fail-below", "60%"]);
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.code == Some(3) && text.contains("Overlap of all sections: 0.000 %"), "{text}");
    let overlap = folder.run(&["overlap", "a.proftext", "b.proftext"]);
    let text = String::from_utf8_lossy(&overlap.stdout).into_owned();
    assert!(text.contains("# of functions mismatch: 1") && text.contains("Edge profile overlap: 0.000%"), "{text}");
}

/// A text profile of `main`, which calls a local function through a pointer, and of that function.
fn calls(local: &str) -> String {
    let values = format!("1\n0\n1\n2\n{local}:50\nglobal:25\n");
    format!(":ir\nmain\n1\n1\n100\n{values}\n{local}\n2\n1\n50\n\nglobal\n3\n1\n25\n\n")
}

#[test]
fn weights_apply_to_call_targets_that_have_two_names() {
    let folder = folder(&[("old.proftext", calls("a.c:local")), ("new.proftext", calls("a.c;local"))]);
    let merge = |inputs: &[&str], output: &str| {
        assert_done(&folder.run(&[&["merge", "-q", "--force", "-o", output], inputs].concat()));
        let text = std::fs::read_to_string(folder.path(output)).expect("the output is there");
        let is_target = |line: &&str| line.starts_with("a.c;local:") || line.starts_with("global:");
        text.lines().filter(is_target).map(str::to_string).collect::<Vec<_>>()
    };
    let (text, weighted) = (["--text", "--for", "llvm-22"], ["a.c;local:550", "global:275"]);
    for (heavy, light) in [("old.proftext", "new.proftext"), ("new.proftext", "old.proftext")] {
        let heavy = format!("--weighted-input=10,{heavy}");
        assert_eq!(merge(&[&text[..], &[&heavy, light]].concat(), "x.proftext"), weighted);
        for (part, input) in [("1.part", &*heavy), ("2.part", light)] {
            assert_done(&folder.run(&["merge", "-q", "--force", "--partial", input, "-o", part]));
        }
        for parts in [["1.part", "2.part"], ["2.part", "1.part"]] {
            assert_eq!(merge(&[&text[..], &parts].concat(), "x.proftext"), weighted, "{parts:?}");
        }
    }
    // Without two names, the bytes are those of LLVM, which does not weight new values.
    let other = calls("a.c;other");
    std::fs::write(folder.path("other.proftext"), other).expect("written");
    let inputs = ["other.proftext", "--weighted-input=10,new.proftext"];
    assert_eq!(merge(&[&text[..], &inputs].concat(), "x.proftext"), ["global:275", "a.c;local:50"]);
}
