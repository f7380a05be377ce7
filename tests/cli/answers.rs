//! Tests that messages are true, that hints lead on, and that `--function` means the same everywhere.

use crate::program::{Finished, Folder};
use std::fs;

fn testdata(name: &str) -> String {
    format!("{}/testdata/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn out(finished: &Finished) -> String {
    String::from_utf8_lossy(&finished.stdout).into_owned()
}

fn refused(folder: &Folder, line: &[&str], code: i32, words: &[&str]) {
    let finished = folder.run(line);
    assert_eq!(finished.code, Some(code), "{line:?}: {}", finished.stderr);
    for word in words {
        assert!(finished.stderr.contains(word), "{line:?}: {word:?} in {}", finished.stderr);
    }
}

fn done(folder: &Folder, line: &[&str]) -> String {
    let finished = folder.run(line);
    assert_eq!(finished.code, Some(0), "{line:?}: {}", finished.stderr);
    out(&finished)
}

/// `--function` shortens lists; the numbers are those of the whole profile.
#[test]
fn methods_of_sample_profiles_are_selected_by_the_names_that_are_drawn() {
    let folder = Folder::new();
    fs::write(folder.path("a.proftext"), "_ZN2W24postEm:10:5\n 1: 10\nmain:2:1\n 1: 2\n").unwrap();
    let draw = |options: &[&str]| {
        done(&folder, &[&["flamegraph", "a.proftext", "-o", "x.svg"], options].concat());
        fs::read_to_string(folder.path("x.svg")).unwrap()
    };
    for name in ["W2::post", "W2::post(unsigned long)", "/W2::post/", "_ZN2W24postEm"] {
        assert!(!draw(&["--exclude", name]).contains("W2::post"), "{name}");
        let only = draw(&["--include", name]);
        assert!(only.contains("W2::post") && !only.contains("main:"), "{name}");
    }
}

#[test]
fn a_filter_of_diff_does_not_change_the_number_of_changed_receivers() {
    let folder = Folder::new();
    let profile = |target: &str| {
        let caller = format!("caller\n1\n1\n9\n1\n0\n1\n1\n{target}:5\n\n");
        format!(":ir\n{caller}one\n2\n1\n5\n\ntwo\n3\n1\n5\n")
    };
    fs::write(folder.path("a"), profile("one")).unwrap();
    fs::write(folder.path("b"), profile("two")).unwrap();
    for line in [&["diff", "a", "b"][..], &["diff", "a", "b", "--function=two"]] {
        assert!(done(&folder, line).contains("Changed receivers: 1 of 1 site"), "{line:?}");
    }
    // The runtime does not know every target: it may be the same one.
    fs::write(folder.path("c"), profile("** External Symbol **")).unwrap();
    let unknown = done(&folder, &["diff", "a", "c"]);
    assert!(unknown.contains("Changed receivers: 0 of 1 site"), "{unknown}");
}

/// A filter drops the records of functions that stay in the traces.
#[test]
fn functions_without_a_name_are_not_ordered() {
    let folder = Folder::new();
    let traces = ":ir\n:temporal_prof_traces\n1\n1\n1\na,b,c,\n\n";
    let functions = "a\n1\n1\n1\n\nb\n2\n1\n1\n\nc\n3\n1\n1\n";
    fs::write(folder.path("t.proftext"), format!("{traces}{functions}")).unwrap();
    done(&folder, &["merge", "t.proftext", "--function=^[ac]$", "-o", "t.profdata"]);
    let ordered = folder.run(&["order", "t.profdata"]);
    let names: Vec<String> = out(&ordered).lines().filter(|line| !line.starts_with('#')).map(str::to_string).collect();
    assert!(names == ["a", "c"] || names == ["c", "a"], "{names:?}");
    assert!(ordered.stderr.contains("dropped 1 function of the traces"), "{}", ordered.stderr);
}

#[test]
fn doctor_reports_that_a_merge_needs_the_program() {
    let folder = Folder::new();
    let said = done(&folder, &["doctor", &testdata("correlate/clang-19-binary.binary")]);
    assert!(said.contains("keep this file and name it when you merge its profiles"), "{said}");
}

#[test]
fn function_is_one_rule_for_every_family() {
    let folder = Folder::new();
    fs::write(folder.path("i.proftext"), ":ir\na.cpp;_Z3addii\n1\n1\n5\n\nmain\n2\n1\n7\n\nmainline\n3\n1\n9\n")
        .unwrap();
    fs::write(folder.path("s.prof"), "_Z3addii:20:1\n 1: 9\nmain:10:1\n 1: 5\nmainline:4:1\n 1: 2\n").unwrap();
    fs::write(folder.path("c.folded"), "main;_Z3addii 9\nmain 1\nmainline 2\n").unwrap();
    let rules = [
        ("main", &["main", "mainline"][..]),
        ("=main", &["main"]),
        ("/^main$/", &["main"]),
        ("add(int", &["_Z3addii"]),
        ("=add(int, int)", &["_Z3addii"]),
        ("/Z.add/", &["_Z3addii"]),
    ];
    for (pattern, expected) in rules {
        for file in ["i.proftext", "s.prof", "c.folded"] {
            let text = done(&folder, &["show", file, "--function", pattern]);
            let found: Vec<&str> = ["_Z3addii", "main", "mainline"]
                .into_iter()
                .filter(|name| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == *name))
                .collect();
            let mut expected = expected.to_vec();
            expected.sort_unstable();
            assert_eq!(found, expected, "{file} {pattern}: {text}");
        }
    }
    let demangled = done(&folder, &["show", "i.proftext", "--demangle", "--function", "add(int, int)"]);
    assert!(demangled.contains("add(int, int)"), "{demangled}");
    let iprof = testdata("iprof/even-or-odd.iprof");
    let text = done(&folder, &["show", &iprof, "--function", "printOdd"]);
    assert!(text.contains("printOdd") && !text.contains("printEven()  "), "{text}");
    // Branches and receivers are those in the method.
    let fibonacci = testdata("iprof/fibonacci.iprof");
    let all = done(&folder, &["show", &fibonacci]);
    assert!(all.contains("Fib.fibonacci():10 <") && all.contains("HashMap.get(java.lang.Object):3\n"), "{all}");
    let text = done(&folder, &["show", &fibonacci, "--function", "HashMap.get"]);
    assert!(!text.contains("Fib.fibonacci():10 <") && text.contains("HashMap.get(java.lang.Object):3\n"), "{text}");
    assert!(text.contains("Branches: 2 executed") && text.contains("bimorphic  java.util.HashMap.get"), "{text}");
    let text = done(&folder, &["show", &fibonacci, "--function", "Fib.fibonacci"]);
    assert!(text.contains("Fib.fibonacci():10 <") && !text.contains("bimorphic  java.util.HashMap.get"), "{text}");
}

#[test]
fn functions_that_do_not_exist_are_errors_before_any_output() {
    let folder = Folder::new();
    fs::write(folder.path("i.proftext"), ":ir\nmain\n2\n1\n7\n").unwrap();
    fs::write(folder.path("s.prof"), "main:10:1\n 1: 5\n").unwrap();
    fs::write(folder.path("c.folded"), "main;work 9\nmain 1\n").unwrap();
    let iprof = testdata("iprof/even-or-odd.iprof");
    for file in ["i.proftext", "s.prof", "c.folded", &iprof] {
        for (pattern, words) in [
            ("nosuch", "no function name contains \"nosuch\""),
            ("=nosuch", "no function has the name \"nosuch\""),
            ("/nosuch/", "no function name matches /nosuch/"),
        ] {
            for line in [vec!["show", file], vec!["diff", file, file], vec!["overlap", file, file]] {
                if line[0] == "overlap" && (file == "c.folded" || file == iprof) {
                    continue;
                }
                let finished = folder.run(&[&line[..], &["--function", pattern]].concat());
                assert_eq!(finished.code, Some(1), "{line:?} {pattern}: {}", finished.stderr);
                assert!(finished.stdout.is_empty() && finished.stderr.contains(words), "{}", finished.stderr);
            }
        }
        refused(&folder, &["show", file, "--function", "/(/"], 2, &["is not a regular expression"]);
    }
}

#[test]
fn symbols_are_found_by_a_part_of_their_name() {
    let folder = Folder::new();
    fs::write(folder.path("c.folded"), "main;memcpy@@GLIBC_2.34 9\nmain;std::map<int, int>::find 1\n").unwrap();
    assert!(done(&folder, &["show", "c.folded", "--callers", "memcpy"]).contains("memcpy@@GLIBC_2.34"));
    done(&folder, &["flamegraph", "c.folded", "--include", "std::map", "-o", "x.svg"]);
    assert!(fs::read_to_string(folder.path("x.svg")).unwrap().contains("std::map"));
    refused(&folder, &["show", "c.folded", "--callers", "nosuch"], 1, &["pass the name of a function, a part of it"]);
}

#[test]
fn go_stacks_are_not_advised_to_become_an_iprof() {
    let folder = Folder::new();
    let go = testdata("pprof/circles.pprof");
    for more in [&[][..], &["--events", "all"]] {
        let line = [&["convert", &go, "-o", "go.iprof"][..], more].concat();
        refused(&folder, &line, 1, &["no sample has a Java frame", "name the output .collapsed or .pprof"]);
    }
    for line in [["convert", &go, "-o", "go.profdata"], ["merge", &go, "-o", "go.profdata"]] {
        let finished = folder.run(&line);
        assert!(finished.code == Some(2) && !finished.stderr.contains(".iprof"), "{}", finished.stderr);
    }
    let fit = folder.run(&["fit", &go, "--against", &go]);
    assert!(fit.code == Some(1) && !fit.stderr.contains("convert"), "{}", fit.stderr);
    // The formats of the hints work.
    done(&folder, &["convert", &go, "-o", "go.collapsed"]);
    done(&folder, &["convert", &go, "-o", "go.pprof"]);
}

#[test]
fn hints_name_commands_that_work_on_the_file() {
    let folder = Folder::new();
    let raw = testdata("raw/clang-22-ir.profraw");
    let whole = fs::read(&raw).unwrap();
    fs::write(folder.path("cut.profraw"), &whole[..300]).unwrap();
    let memory = testdata("memprof/clang-22-plain.v4.profdata");
    let program = testdata("memprof/clang-22-plain.binary");
    let dump = testdata("memprof/clang-22-plain.memprofraw");
    // A command that fails, what its hint says, and the command of the hint with its exit code.
    let cases: [(&[&str], &str, &[&str], i32); 8] = [
        (&["repair", &raw, "-o", "x.iprof"], "`profbridge check`", &["check", &raw], 0),
        (&["repair", "cut.profraw", "-o", "x.iprof"], "`profbridge check`", &["check", "cut.profraw"], 3),
        (&["report", &raw, "-o", "x.svg"], ".html", &["report", &raw, "-o", "x.html"], 0),
        (&["flamegraph", &raw, "-o", "x.svg"], ".html", &["report", &raw, "-o", "x.html"], 0),
        (&["overlap", &memory, &memory], "`profbridge diff`", &["diff", &memory, &memory], 0),
        (
            &["merge", &dump, "-o", "m.profdata"],
            "--profiled-binary; its build id is probably 00b6337daf19299af795d8567a404df73628c205",
            &["merge", &dump, "-o", "m.profdata", "--profiled-binary", &program],
            0,
        ),
        (&["merge", &raw, "-o", "x.lcov"], "llvm-cov export", &["merge", &raw, "-o", "app.profdata"], 0),
        (&["merge", &raw, "-o", "x.jfr"], ".collapsed or .pprof", &["convert", "a.folded", "-o", "x.pprof"], 0),
    ];
    fs::write(folder.path("a.folded"), "a;b 1\n").unwrap();
    for (line, hint, then, code) in cases {
        let finished = folder.run(line);
        assert!(matches!(finished.code, Some(1 | 2)), "{line:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(hint), "{line:?}: {}", finished.stderr);
        let followed = folder.run(then);
        assert_eq!(followed.code, Some(code), "{then:?}: {}", followed.stderr);
    }
}

#[test]
fn shares_are_percentages_and_sections_have_the_names_of_thresholds() {
    let folder = Folder::new();
    fs::write(folder.path("a.proftext"), ":ir\nmain\n2\n2\n70\n30\n").unwrap();
    fs::write(folder.path("b.proftext"), ":ir\nmain\n2\n2\n30\n70\n").unwrap();
    let finished = folder.run(&["diff", "a.proftext", "b.proftext", "--fail-below", "99.99%"]);
    assert_eq!(finished.code, Some(3));
    assert!(finished.stderr.contains("the overlap of all sections is 60.00 %, below 99.99 %"), "{}", finished.stderr);
    let first = testdata("iprof/even-or-odd.iprof");
    let text = done(&folder, &["diff", &first, &first]);
    for line in text.lines().skip(1).take_while(|line| !line.starts_with("Overlap")) {
        let name = line.split_whitespace().next().unwrap();
        done(&folder, &["diff", &first, &first, "--fail-below", &format!("{name}=90%")]);
    }
    assert!(text.contains("\ncall-counts "), "{text}");
    refused(&folder, &["fit", "a.proftext", "--against", "b.proftext", "--fail-below", "x"], 2, &["is not a share"]);
    done(&folder, &["fit", "a.proftext", "--against", "b.proftext", "--fail-below", "0.9"]);
}

#[test]
fn notes_of_stacks_are_about_their_language() {
    let folder = Folder::new();
    fs::write(folder.path("c.folded"), "main;work;[kernel.kallsyms] 5\nmain;work 65\n").unwrap();
    let native = done(&folder, &["show", "c.folded"]);
    for word in ["safepoint", "PreserveFramePointer", "error frame", "Method"] {
        assert!(!native.contains(word), "{word}: {native}");
    }
    fs::write(folder.path("ps.txt"), "app 1/1 1.1: 250000 cycles:\n\t1 work+0x1 (/a)\n\t2 main+0x1 (/a)\n\n").unwrap();
    let perf = done(&folder, &["show", "ps.txt"]);
    assert!(perf.contains("-fno-omit-frame-pointer") && !perf.contains("XX:"), "{perf}");
    done(&folder, &["report", "c.folded", "-o", "c.html"]);
    assert!(fs::read_to_string(folder.path("c.html")).unwrap().contains("Each box is a function"));
    fs::write(folder.path("j.collapsed"), "app/Main.run;app/Main.loop 5\napp/Main.run;[unknown_Java] 5\n").unwrap();
    let java = done(&folder, &["show", "j.collapsed"]);
    for word in ["safepoint", "5 of 10 hits (50.000 %) end in an error frame", "Method name"] {
        assert!(java.contains(word), "{word}: {java}");
    }
}

#[test]
fn text_keeps_the_unit_of_values() {
    let folder = Folder::new();
    let heap = testdata("pprof/heap.pprof");
    done(&folder, &["convert", &heap, "-o", "heap.folded"]);
    assert!(fs::read_to_string(folder.path("heap.folded")).unwrap().starts_with("# unit: bytes\n"));
    done(&folder, &["convert", "heap.folded", "-o", "again.pprof"]);
    for file in ["heap.folded", "again.pprof"] {
        let text = done(&folder, &["show", file]);
        assert!(text.contains("Bytes: 262967 (256.80 kB)"), "{text}");
    }
}

#[test]
fn check_ends_with_totals_and_lists_problems_on_demand() {
    let folder = Folder::new();
    fs::create_dir(folder.path("d")).unwrap();
    fs::write(folder.path("d/a.proftext"), ":ir\nmain\n2\n1\n7\n").unwrap();
    fs::write(folder.path("d/b.prof"), "main:10:1\n 1: 5\n").unwrap();
    fs::write(folder.path("d/README"), "hello\nworld\n").unwrap();
    let all = folder.run(&["check", "d"]);
    assert_eq!(all.code, Some(3));
    assert!(out(&all).ends_with("3 files: 1 not a profile, 2 usable; 1 error, 0 warnings\n"), "{}", out(&all));
    let problems = out(&folder.run(&["check", "d", "--only-problems"]));
    assert!(problems.contains("README") && !problems.contains("a.proftext"), "{problems}");
    let quiet = folder.run(&["check", "-q", "d"]);
    assert!(quiet.code == Some(3) && quiet.stdout.is_empty() && quiet.stderr.contains("README"), "{}", quiet.stderr);
    // A warning that fails the check is its reason.
    fs::write(folder.path("never.proftext"), ":ir\nmain\n2\n1\n0\n").unwrap();
    let strict = folder.run(&["check", "-q", "--strict", "never.proftext"]);
    assert!(
        strict.code == Some(3) && strict.stderr.contains("never.proftext: text.never-executed"),
        "{}",
        strict.stderr
    );
    let json = out(&folder.run(&["check", "--json", "--only-problems", "d"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["files"].as_array().unwrap().len(), 1);
    assert_eq!((&json["totals"]["files"], &json["totals"]["verdicts"]["usable"]), (&3.into(), &2.into()));
}

#[test]
fn equal_warnings_are_counted_after_three() {
    let folder = Folder::new();
    let raw = fs::read(testdata("raw/clang-22-ir.profraw")).unwrap();
    fs::create_dir(folder.path("d")).unwrap();
    for number in 0..9 {
        fs::write(folder.path(&format!("d/cut{number}.profraw")), &raw[..300 + number]).unwrap();
        fs::write(folder.path(&format!("d/empty{number}.profraw")), "").unwrap();
    }
    fs::write(folder.path("d/whole.profraw"), &raw).unwrap();
    let finished = folder.run(&["merge", "d", "--failure-mode=all", "-o", "x.profdata"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(finished.stderr.matches("warning: ").count(), 8, "{}", finished.stderr);
    assert_eq!(finished.stderr.matches("hint: ").count(), 1, "{}", finished.stderr);
    assert!(finished.stderr.contains("6 more files with the same problem as d/cut0.profraw"), "{}", finished.stderr);
}

#[test]
fn lists_accept_every_name_and_report_lines() {
    let folder = Folder::new();
    let raw = fs::read(testdata("raw/clang-22-ir.profraw")).unwrap();
    for name in ["a,b.profraw", "3,c.profraw", " x.profraw", "#x.profraw", "plain.profraw"] {
        fs::write(folder.path(name), &raw).unwrap();
        fs::write(folder.path("list"), format!("{name}\n")).unwrap();
        done(&folder, &["merge", "-f", "list", "-o", "x.profdata"]);
        fs::write(folder.path("list0"), format!("{name}\0")).unwrap();
        done(&folder, &["merge", "-0", "-f", "list0", "-o", "x.profdata"]);
    }
    fs::write(folder.path("list"), "# comment\nplain.profraw\n0,plain.profraw\n").unwrap();
    let words = ["list: line 3, \"0,plain.profraw\": input weight must be a positive integer"];
    refused(&folder, &["merge", "-f", "list", "-o", "x.profdata"], 2, &words);
    fs::write(folder.path("list"), "plain.profraw\nx,plain.profraw\n").unwrap();
    refused(&folder, &["merge", "-f", "list", "-o", "x.profdata"], 1, &["x,plain.profraw: cannot open", "line 2"]);
    refused(&folder, &["merge", "*.profraw", "-o", "x.profdata"], 1, &["remove quotes around it"]);
}

#[test]
fn profiles_that_go_rejects_are_not_written_as_default_pgo() {
    let folder = Folder::new();
    let heap = testdata("pprof/heap.pprof");
    let words = ["Go's compiler rejects this profile: expected a sample type samples/count or cpu/nanoseconds"];
    refused(&folder, &["merge", &heap, "-o", "default.pgo"], 2, &words);
    assert!(!folder.path("default.pgo").exists());
    done(&folder, &["merge", &heap, "-o", "heap.pprof"]);
    done(&folder, &["merge", &testdata("pprof/circles.pprof"), "-o", "default.pgo"]);
}

#[test]
fn joined_stacks_are_not_called_dropped() {
    let folder = Folder::new();
    fs::write(folder.path("a.collapsed"), "[t tid=1];a/B.f_[j];a/B.g_[j] 3\n[t tid=1];a/B.f_[i];a/B.g_[i] 4\n")
        .unwrap();
    let finished = folder.run(&["convert", "a.collapsed", "-o", "a.pprof"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(!finished.stderr.contains("lowest values"), "{}", finished.stderr);
    assert!(done(&folder, &["show", "a.pprof"]).contains("Hits: 7"));
}

#[test]
fn small_answers_are_specific() {
    let folder = Folder::new();
    let raw = testdata("raw/clang-22-ir.profraw");
    refused(&folder, &["merge", &raw, "-o", "x", "--for=rustc"], 2, &["add the version, as in rustc-1.75"]);
    refused(&folder, &["merge", &raw, "-o", "x", "--min-total-count", "1e9"], 3, &["below 1000000000"]);
    fs::write(folder.path("c.folded"), "[x];a 1\n").unwrap();
    refused(&folder, &["show", "c.folded", "--time", "2s..1s"], 2, &["the start of the range is after its end"]);
    let usage = folder.run(&["merge", "-v"]);
    assert!(!usage.stderr.contains("\n\n\n"), "{}", usage.stderr);
    let json = folder.run(&["--json", "info", &raw]);
    assert!(out(&json).contains("\"command\":\"info\""), "{}", out(&json));
    let monitor = folder.run(&["check", &testdata("iprof/bad/monitor-context.iprof")]);
    assert!(out(&monitor).contains("the context of a monitor entry must be 0:0"), "{}", out(&monitor));
    let old = testdata("raw/clang-14-ir.profraw");
    let kept = folder.run(&["merge", &old, "-o", "x.profdata", "--for", "llvm-14"]);
    assert!(kept.stderr.starts_with("note: "), "{}", kept.stderr);
    fs::write(folder.path("bom.prof"), "\u{feff}main:5:5\n 1: 5\n").unwrap();
    assert!(done(&folder, &["show", "bom.prof"]).starts_with("Function: main:"));
}

#[test]
fn reports_demangle_names_of_every_family() {
    let folder = Folder::new();
    fs::write(folder.path("s.prof"), "_Z3addii:20:1\n 1: 9\n").unwrap();
    fs::write(folder.path("c.folded"), "main;_Z3addii 9\nmain 1\n").unwrap();
    for (file, name) in [("s.prof", "s.html"), ("c.folded", "c.html"), ("c.folded", "c.svg")] {
        let command = if name.ends_with("svg") { "flamegraph" } else { "report" };
        done(&folder, &[command, file, "-o", name]);
        let page = fs::read_to_string(folder.path(name)).unwrap();
        assert!(page.contains("add(int, int)") && !page.contains("_Z3addii"), "{file}");
        done(&folder, &[command, file, "-o", name, "--no-demangle"]);
        assert!(fs::read_to_string(folder.path(name)).unwrap().contains("_Z3addii"), "{file}");
    }
}

#[test]
fn both_sides_of_a_drawing_name_functions_alike() {
    let folder = Folder::new();
    fs::write(folder.path("names.prof"), "main:60:1\n 1: 10\n 3: foo:50\n  1: 50\nfoo:7:2\n 1: 7\n").unwrap();
    done(&folder, &["convert", "names.prof", "--sample-format", "extbinary", "--use-md5", "-o", "hashes.afdo"]);
    fs::write(folder.path("typed.collapsed"), "a.B.main(I)V;a.B.work(J)J 5\na.B.main(I)V 1\n").unwrap();
    fs::write(folder.path("plain.collapsed"), "a.B.main;a.B.work 5\na.B.main 1\n").unwrap();
    let [file, dump, program] =
        ["v4.profdata", "memprofraw", "binary"].map(|name| testdata(&format!("memprof/clang-22-plain.{name}")));
    let of_memory = ["--profiled-binary", &program];
    for (one, other, options) in [
        ("names.prof", "hashes.afdo", &[][..]),
        ("typed.collapsed", "plain.collapsed", &[]),
        (&dump, &file, &of_memory),
    ] {
        for (profile, baseline) in [(one, other), (other, one)] {
            done(&folder, &[&["flamegraph", profile, "--baseline", baseline, "-o", "x.svg"], options].concat());
            let page = fs::read_to_string(folder.path("x.svg")).unwrap();
            let (all, equal) = (page.matches("; change ").count(), page.matches("; change +0.000 points").count());
            assert!(all > 1 && all == equal, "{profile}: {equal} of {all}");
        }
    }
    done(&folder, &["flamegraph", "names.prof", "hashes.afdo", "-o", "x.svg"]);
    assert!(fs::read_to_string(folder.path("x.svg")).unwrap().contains("foo: 100 samples, 74.627 %"));
    // A baseline without the selected samples is no baseline.
    fs::write(folder.path("threads.collapsed"), "[one tid=1];a.B.main 5\n").unwrap();
    let line = ["flamegraph", "threads.collapsed", "--baseline", "plain.collapsed", "--thread", "one", "-o", "y.svg"];
    refused(&folder, &line, 1, &["plain.collapsed: no samples are left to compare"]);
    // The functions of several LLVM profiles have the names of one release.
    let of_release = |mark: char| format!(":ir\na.c{mark}f\n5\n1\n7\n");
    fs::write(folder.path("old.proftext"), of_release(':')).unwrap();
    fs::write(folder.path("new.proftext"), of_release(';')).unwrap();
    done(&folder, &["report", "new.proftext", "old.proftext", "-o", "x.html"]);
    let page = fs::read_to_string(folder.path("x.html")).unwrap();
    assert!(page.contains("a.c;f") && !page.contains("a.c:f"), "{page}");
}

#[test]
#[cfg(unix)]
fn a_link_called_rust_profdata_is_llvm_profdata() {
    let folder = Folder::new();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_profbridge"), folder.path("rust-profdata")).unwrap();
    let printed = std::process::Command::new(folder.path("rust-profdata")).arg("--version").output().unwrap();
    assert!(String::from_utf8_lossy(&printed.stdout).contains("LLVM version"), "{printed:?}");
}

#[test]
fn diff_compares_data_accesses() {
    let folder = Folder::new();
    let document = |x: u32, y: u32| {
        let record = |name: &str, count: u32| format!("    - {{ Symbol: {name}, AccessCount: {count} }}\n");
        format!("---\nDataAccessProfiles:\n  SampledRecords:\n{}{}...\n", record("x", x), record("y", y))
    };
    fs::write(folder.path("a.memprofyaml"), document(1, 3)).unwrap();
    fs::write(folder.path("b.memprofyaml"), document(6, 2)).unwrap();
    let printed = folder.run(&["diff", "a.memprofyaml", "b.memprofyaml"]);
    let found = String::from_utf8_lossy(&printed.stdout).into_owned();
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    assert!(
        found.contains("data-accesses             50.000 % 100.000 %           2           0           0\n"),
        "{found}"
    );
    let judged = folder.run(&["diff", "--fail-below=data-accesses=60%", "a.memprofyaml", "b.memprofyaml"]);
    assert_eq!(judged.code, Some(3), "{}", judged.stderr);
}

#[test]
fn fit_does_not_compare_memory_profiles() {
    let folder = Folder::new();
    let program = testdata("memprof/clang-22-plain.binary");
    let files = ["clang-22-plain.v4.profdata", "clang-22-plain.memprofraw", "clang-22-plain.yaml"];
    for file in files.map(|file| testdata(&format!("memprof/{file}"))) {
        let words = ["comparing a memory profile with a new build is not supported", "`profbridge diff`"];
        refused(&folder, &["fit", &file, "--against", &program], 1, &words);
    }
    done(&folder, &["diff", &testdata(&format!("memprof/{}", files[0])), &testdata(&format!("memprof/{}", files[2]))]);
    let counts = testdata("raw/clang-22-ir.profraw");
    done(&folder, &["merge", &counts, &testdata(&format!("memprof/{}", files[0])), "-o", "both.profdata"]);
    let both = folder.run(&["fit", "both.profdata", "--against", &counts]);
    assert_eq!(both.code, Some(0), "{}", both.stderr);
    assert!(both.stderr.contains("the memory profile is not compared with the new build"), "{}", both.stderr);
}

#[test]
fn context_sensitive_records_do_not_count_runs_again() {
    let folder = Folder::new();
    let text = ":csir\nmain\n1\n2\n10\n5\n\nmain\n1152921504606846977\n1\n7\n\nidle\n2\n1\n0\n\nidle\n1152921504606846978\n1\n3\n\n";
    fs::write(folder.path("a.proftext"), text).unwrap();
    done(&folder, &["report", "a.proftext", "-o", "a.html"]);
    let page = fs::read_to_string(folder.path("a.html")).unwrap();
    for fact in [
        "<dt>Total of all counters</dt><dd>15</dd>",
        "<dt>Context-sensitive records, not counted</dt><dd>2</dd>",
        "<dt>Records that never ran</dt><dd>1</dd>",
    ] {
        assert!(page.contains(fact), "{fact}: {page}");
    }
    assert!(done(&folder, &["check", "a.proftext"]).contains("1 function of 2 never ran"));
}

#[test]
fn profiles_of_function_entries_are_not_for_optimization() {
    let folder = Folder::new();
    let text = ":ir\n:single_byte_coverage\nmain\n1\n1\n1\n\n";
    fs::write(folder.path("a.proftext"), text).unwrap();
    done(&folder, &["merge", "a.proftext", "-o", "a.profdata"]);
    let mut bytes = fs::read(folder.path("a.profdata")).unwrap();
    // The variant bit of function entries.
    bytes[15] |= 0x20;
    fs::write(folder.path("b.profdata"), bytes).unwrap();
    assert!(done(&folder, &["check", "b.profdata"]).contains("function-entries-only"));
    let fit = folder.run(&["fit", "b.profdata", "--against", "b.profdata"]);
    assert!(fit.stderr.contains("function entries only, which no compiler optimizes with"), "{}", fit.stderr);
}
