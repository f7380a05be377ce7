//! Tests of the command's options, output and exit codes.

use crate::schema::assert_has_schema;
use crate::support::{Folder, available, errors, functions, lost, names, testdata, tool};
use serde_json::Value;

/// Returns a text profile of functions with hash and counters.
fn text(kind: &str, functions: &[(&str, u64, &[u64])]) -> String {
    let mut text = format!("{kind}\n");
    for (name, hash, counters) in functions {
        text.push_str(&format!("{name}\n{hash}\n{}\n", counters.len()));
        counters.iter().for_each(|count| text.push_str(&format!("{count}\n")));
        text.push('\n');
    }
    text
}

const OLD: [(&str, u64, &[u64]); 6] = [
    ("main", 10, &[1, 2]),
    ("a.c;edited", 20, &[40]),
    ("a.c;moved", 30, &[5, 5]),
    ("parse_the_header", 40, &[10, 10, 10]),
    ("gone", 50, &[7]),
    ("b.c;to_global", 60, &[3]),
];
const NEW: [(&str, u64, &[u64]); 6] = [
    ("main", 10, &[0, 0]),
    ("a.c;edited", 21, &[0]),
    ("lib/b.c;moved", 30, &[0, 0]),
    ("parse_the_headers", 40, &[0, 0, 0]),
    ("brand_new", 70, &[0]),
    ("to_global", 60, &[0]),
];

fn two_profiles() -> Folder {
    let folder = Folder::new();
    folder.write("old.proftext", text(":ir", &OLD));
    folder.write("new.proftext", text(":ir", &NEW));
    folder
}

#[test]
fn a_function_in_the_same_file_is_the_first_guess() {
    let folder = Folder::new();
    let names = |encoder: &'static str, decoder: &'static str| {
        text(":ir", &[("main", 10, &[1]), (encoder, 20, &[5, 6]), (decoder, 20, &[7, 8])])
    };
    folder.write("old.proftext", names("encoder.c;encoder_find", "decoder.c;decoder_find"));
    folder.write("new.proftext", names("encoder.c;coder_find", "decoder.c;coder_find"));
    let report = folder.fit("old.proftext --against new.proftext");
    let now = |name: &str, now: &str| (name.to_string(), Some(now.to_string()));
    let expected =
        [now("decoder.c;decoder_find", "decoder.c;coder_find"), now("encoder.c;encoder_find", "encoder.c;coder_find")];
    assert_eq!(lost(&report, "renamed").into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn every_function_has_its_class() {
    let folder = two_profiles();
    let report = folder.fit("old.proftext --against new.proftext");
    for (class, count) in [
        ("used", 1),
        ("other-release", 0),
        ("changed", 1),
        ("renamed", 1),
        ("moved", 2),
        ("gone", 1),
        ("unusable", 0),
        ("not-compared", 0),
    ] {
        assert_eq!(functions(&report, class), count, "{class}");
    }
    let now = |name: &str, now: &str| (name.to_string(), Some(now.to_string()));
    assert_eq!(
        lost(&report, "renamed").into_iter().collect::<Vec<_>>(),
        [now("parse_the_header", "parse_the_headers")]
    );
    assert_eq!(
        lost(&report, "moved").into_iter().collect::<Vec<_>>(),
        [now("a.c;moved", "lib/b.c;moved"), now("b.c;to_global", "to_global")]
    );
    assert_eq!(report["used_counts"], 3.0 / 93.0);
    assert_eq!(report["used_functions"], 1.0 / 6.0);
    assert_eq!(report["profiled_functions"], 1.0 / 6.0);
    assert_eq!(names(&report["changed"]).into_iter().collect::<Vec<_>>(), ["a.c;edited"]);
    assert_eq!(names(&report["unprofiled"]).into_iter().collect::<Vec<_>>(), ["brand_new"]);
    // The hottest function comes first.
    assert_eq!(report["lost"][0]["function"], "a.c;edited");
    // Compilers read the profile only if it is not compressed.
    let note = "compilers do not read compressed profiles; decompress this one";
    for (output, is_noted) in [("old.profdata", false), ("old.profdata.gz", true)] {
        folder.run(&format!("profbridge merge old.proftext -o {output}"));
        let report = folder.fit(&format!("{output} --against new.proftext"));
        assert_eq!(report["notes"].as_array().unwrap().iter().any(|found| found == note), is_noted, "{report:#}");
    }
    // Both tables say of a function that was moved and edited that it changed.
    folder.write("edited.proftext", text(":ir", &NEW).replace("a.c;edited", "lib/a.c;edited"));
    let report = folder.fit("old.proftext --against edited.proftext");
    assert_eq!(functions(&report, "changed"), 1);
    assert_eq!(names(&report["changed"]).into_iter().collect::<Vec<_>>(), ["lib/a.c;edited"]);
    assert_eq!(names(&report["unprofiled"]).into_iter().collect::<Vec<_>>(), ["brand_new"]);
}

#[test]
fn the_text_matches_the_json_and_marks_guesses() {
    let folder = two_profiles();
    let output = folder.run("profbridge fit old.proftext --against new.proftext --topn 2");
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "used unchanged                       1   16.67 %                     3    3.23 %",
        "renamed (a guess)                    1   16.67 %                    30   32.26 %",
        "                    40   43.01 %  changed: a.c;edited",
        "                    30   32.26 %  renamed (a guess): parse_the_header → parse_the_headers",
        "… and 3 more",
        "  brand_new",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
}

#[test]
fn the_gate_has_an_exit_code_of_its_own() {
    let folder = two_profiles();
    let line = |gate: &str| format!("profbridge fit old.proftext --against new.proftext --fail-below {gate}");
    assert_eq!(folder.failure(&line("used-counts=0.03,used-functions=10%")).0, Some(0));
    let (code, said) = folder.failure(&line("used-counts=0.9,used-functions=0.1,profiled-functions=1"));
    assert_eq!(code, Some(3));
    assert!(
        said.contains("used-counts is 3.23 %, below 90 %")
            && said.contains("profiled-functions is 16.67 %, below 100 %")
    );
    assert!(!said.contains("used-functions"), "{said}");
    for bad in ["used=0.9", "used-counts=2", "used-counts", "9"] {
        assert_eq!(folder.failure(&line(bad)).0, Some(2), "{bad}");
    }
    for wrong in [
        "profbridge fit old.proftext",
        "profbridge fit old.proftext --against new.proftext --prune",
        "profbridge fit old.proftext --against new.proftext -o x",
        "profbridge fit old.proftext --against new.proftext --for llvm-2",
    ] {
        assert_eq!(folder.failure(wrong).0, Some(2), "{wrong}");
    }
    assert_eq!(folder.failure("profbridge fit absent --against new.proftext").0, Some(1));
}

#[test]
fn names_can_be_given_back_and_misfits_left_out() {
    let folder = two_profiles();
    let both = "--write-remapping names.txt --prune -o pruned.proftext";
    folder.run(&format!("profbridge fit old.proftext --against new.proftext {both}"));
    let remapping = std::fs::read_to_string(folder.path("names.txt")).unwrap();
    let pairs: Vec<&str> = remapping.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(pairs, ["a.c;moved lib/b.c;moved", "b.c;to_global to_global", "parse_the_header parse_the_headers"]);
    assert!(remapping.find("# Guesses") > remapping.find("to_global"), "{remapping}");
    // Functions that match with the remapping file stay.
    folder.run("profbridge merge pruned.proftext -r names.txt --text -o fixed.proftext");
    let report = folder.fit("fixed.proftext --against new.proftext");
    assert_eq!((functions(&report, "used"), &report["used_counts"]), (4, &1.0.into()));
    // Without it, only functions that match unchanged stay.
    folder.run("profbridge fit old.proftext --against new.proftext --prune -o pruned.proftext");
    let pruned = std::fs::read_to_string(folder.path("pruned.proftext")).unwrap();
    assert!(pruned.contains("main") && !pruned.contains("edited") && !pruned.contains("parse"), "{pruned}");
}

#[test]
fn targets_that_no_longer_exist_are_listed_and_pruned() {
    let folder = Folder::new();
    let sites = "caller\n1\n1\n9\n1\n0\n1\n3\nstays:5\ngoes:3\n** External Symbol **:1\n\n";
    let rest = |goes: bool| {
        let both = [("stays", 2u64, &[1u64][..]), ("goes", 3, &[1])];
        text("", &both[..if goes { 2 } else { 1 }]).trim_start().to_string()
    };
    folder.write("old.proftext", format!(":ir\n{sites}{}", rest(true)));
    folder.write("new.proftext", format!(":ir\ncaller\n1\n1\n0\n\n{}", rest(false)));
    let report = folder.fit("old.proftext --against new.proftext");
    let targets = &report["targets"];
    assert_eq!((&targets["there_count"], &targets["gone_count"]), (&5.into(), &3.into()), "{targets:#}");
    assert_eq!((&targets["unknown"], &targets["unknown_count"]), (&1.into(), &1.into()), "{targets:#}");
    assert_eq!(targets["top"][0]["target"], "goes");
    folder.run("profbridge fit old.proftext --against new.proftext --prune -o pruned.proftext");
    let pruned = std::fs::read_to_string(folder.path("pruned.proftext")).unwrap();
    assert!(pruned.contains("stays:5") && !pruned.contains("goes"), "{pruned}");
}

#[test]
fn functions_that_leave_temporal_traces_with_their_records_are_counted() {
    let folder = Folder::new();
    let both = [("stays", 2u64, &[1u64][..]), ("goes", 3, &[1])];
    let records = |some: &[(&str, u64, &[u64])]| text("", some).trim_start().to_string();
    let traces = ":temporal_prof_traces\n2\n2\n1\ngoes,stays\n1\ngoes\n\n";
    folder.write("old.proftext", format!(":ir\n{traces}{}", records(&both)));
    folder.write("new.proftext", format!(":ir\n{}", records(&both[..1])));
    let notes = errors(&folder.run("profbridge fit old.proftext --against new.proftext --prune -o pruned.proftext"));
    assert!(notes.contains("dropped 1 record, 0 targets and 2 functions of temporal traces"), "{notes}");
    let pruned = std::fs::read_to_string(folder.path("pruned.proftext")).unwrap();
    assert!(pruned.contains("\nstays\n") && !pruned.contains("goes"), "{pruned}");
}

#[test]
fn targets_of_another_release_are_there_under_their_other_name() {
    let folder = Folder::new();
    let caller = |target: &str, count: u64| format!("caller\n1\n1\n9\n1\n0\n1\n1\n{target}:{count}\n\n");
    let callee = |name: &str| text("", &[(name, 2, &[1])]).trim_start().to_string();
    folder.write("old.proftext", format!(":ir\n{}{}", caller("a.c;local", 5), callee("a.c;local")));
    folder.write("new.proftext", format!(":ir\n{}{}", caller("a.c:local", 1), callee("a.c:local")));
    for line in ["old.proftext --against new.proftext", "new.proftext --against old.proftext"] {
        let targets = &folder.fit(line)["targets"];
        assert_eq!((&targets["there"], &targets["gone"]), (&1.into(), &0.into()), "{line}: {targets:#}");
    }
    folder.run("profbridge fit old.proftext --against new.proftext --prune -o pruned.proftext");
    assert!(std::fs::read_to_string(folder.path("pruned.proftext")).unwrap().contains("a.c;local:5"));
}

#[test]
fn of_two_hash_versions_the_compiler_uses_the_one_of_the_file() {
    let folder = Folder::new();
    let (whole, cleared) = (0x4c09_d3f6_8c42_3a76, 0x0c09_d3f6_8c42_3a76);
    folder.write("old.proftext", text("", &[("main", whole, &[3]), ("main", cleared, &[5]), ("f", 24, &[7])]));
    folder.write("new.proftext", text("", &[("main", cleared, &[1]), ("f", 24, &[1])]));
    let report = folder.fit("old.proftext --against new.proftext");
    assert_eq!((functions(&report, "used"), functions(&report, "other-release")), (2, 1), "{report:#}");
    // A compiler before LLVM 22 computes bits that are lost.
    folder.write("short.proftext", text("", &[("main", cleared, &[5]), ("f", 24, &[7])]));
    folder.write("third.proftext", text("", &[("main", whole, &[1]), ("f", 24, &[1])]));
    let report = folder.fit("short.proftext --against third.proftext");
    assert_eq!((functions(&report, "used"), functions(&report, "unusable")), (1, 1), "{report:#}");
}

#[test]
fn a_program_with_nothing_but_main_is_compared() {
    let folder = Folder::new();
    folder.write("old.proftext", text(":ir", &[("main", 1, &[1]), ("of_library", 2, &[9])]));
    folder.write("new.proftext", text(":ir", &[("main", 1, &[1])]));
    let report = folder.fit("old.proftext --against new.proftext");
    assert_eq!((functions(&report, "used"), functions(&report, "gone")), (1, 1), "{report:#}");
}

#[test]
fn records_of_other_counters_are_not_used() {
    let folder = Folder::new();
    folder.write("old.proftext", text("", &[("main", 1, &[1, 2]), ("same", 2, &[3])]));
    folder.write("new.proftext", text("", &[("main", 1, &[1, 2, 3]), ("same", 2, &[3])]));
    let report = folder.fit("old.proftext --against new.proftext");
    assert_eq!((functions(&report, "used"), functions(&report, "changed")), (1, 1), "{report:#}");
    folder.write("loops.proftext", text(":ir\n:instrument_loop_entries", &[("main", 1, &[1, 2])]));
    folder.write("plain.proftext", text(":ir", &[("main", 1, &[1, 2])]));
    let refused = folder.try_run("profbridge fit loops.proftext --against plain.proftext");
    assert_eq!(refused.status.code(), Some(1));
    let said = errors(&refused);
    assert!(
        said.contains(
            "kinds of their counters differ (IR instrumentation, loop entries instrumented; IR instrumentation)"
        ),
        "{said}"
    );
}

#[test]
fn context_sensitive_records_are_compared_with_their_like() {
    let folder = Folder::new();
    let second = 1 << 60 | 5;
    folder.write("old.proftext", text(":csir", &[("f", 4, &[1]), ("f", second, &[2]), ("g", second, &[3])]));
    folder.write("plain.proftext", text(":ir", &[("f", 4, &[0])]));
    folder.write("second.proftext", text(":csir", &[("f", second, &[0]), ("g", second + 1, &[0])]));
    let plain = folder.fit("old.proftext --against plain.proftext");
    assert_eq!((functions(&plain, "used"), functions(&plain, "not-compared")), (1, 2), "{plain:#}");
    let both = folder.fit("old.proftext --against second.proftext");
    assert_eq!((functions(&both, "used"), functions(&both, "changed"), functions(&both, "not-compared")), (1, 1, 1));
    // The first pass says nothing about functions of the second one.
    let neither = folder.fit("plain.proftext --against second.proftext");
    assert_eq!((functions(&neither, "changed"), functions(&neither, "not-compared")), (0, 1), "{neither:#}");
    assert_eq!(neither["unprofiled"], serde_json::json!(["f", "g"]), "{neither:#}");
    assert!(neither["notes"].to_string().contains("only those of the other pass"), "{neither:#}");
}

#[test]
fn targets_of_the_other_pass_are_neither_judged_nor_pruned() {
    let folder = Folder::new();
    let second = 1 << 60 | 5;
    let calls = "1\n0\n1\n1\nhelper:3\n";
    let with_calls = |hash: u64| format!("main\n{hash}\n1\n7\n{calls}\n");
    let plain = format!(":csir\n{}helper\n9\n1\n3\n\nmain\n{second}\n1\n7\n\n", with_calls(4));
    folder.write("plain-calls.proftext", plain);
    // The second pass has inlined the helper.
    folder.write("second.proftext", text(":csir", &[("main", second, &[0])]));
    let report = folder.fit("plain-calls.proftext --against second.proftext");
    assert_eq!((functions(&report, "used"), functions(&report, "not-compared")), (1, 2), "{report:#}");
    assert!(report["targets"].is_null(), "{report:#}");
    folder.run("profbridge fit plain-calls.proftext --against second.proftext --prune -o pruned.proftext");
    let pruned = std::fs::read_to_string(folder.path("pruned.proftext")).unwrap();
    assert!(pruned.contains("helper:3"), "{pruned}");
    // Targets of the pass that is compared are.
    folder.write("first.proftext", text(":ir", &[("main", 4, &[0])]));
    let report = folder.fit("plain-calls.proftext --against first.proftext");
    assert_eq!(report["targets"]["gone"], 1, "{report:#}");
    folder.run("profbridge fit plain-calls.proftext --against first.proftext --prune -o pruned.proftext");
    let pruned = std::fs::read_to_string(folder.path("pruned.proftext")).unwrap();
    assert!(!pruned.contains("helper:3"), "{pruned}");
}

/// Raw profiles of the program itself, and of its shared libraries.
#[test]
fn functions_are_found_in_sections_and_debug_info() {
    let folder = Folder::new();
    for release in [19, 22, 23] {
        for (kind, source) in [("binary", "correlation records"), ("debug-info", "debug info")] {
            let stem = testdata(&format!("correlate/clang-{release}-{kind}"));
            let (profile, image) = (stem.with_extension("profdata"), stem.with_extension("binary"));
            let report = folder.fit(&format!("{} --against {}", profile.display(), image.display()));
            assert_eq!(report["used_functions"], 1.0, "{release} {kind}: {report:#}");
            assert!(report["program_is"].as_str().unwrap().starts_with(source), "{report:#}");
            assert_eq!(functions(&report, "gone"), 0);
        }
    }
}

#[test]
fn a_raw_dump_of_the_new_build_is_as_good() {
    let folder = Folder::new();
    for stem in ["raw/clang-14-ir", "raw/clang-16-ir", "raw/clang-22-ir"] {
        let dump = testdata(&format!("{stem}.profraw"));
        folder.run(&format!("profbridge merge {} -o own.profdata", dump.display()));
        let report = folder.fit(&format!("own.profdata --against {}", dump.display()));
        assert_eq!((&report["used_functions"], &report["profiled_functions"]), (&1.0.into(), &1.0.into()));
    }
    // LLVM 18 names local functions differently and also finds the old names.
    let (old, new) = (testdata("raw/clang-16-ir.profraw"), testdata("raw/clang-22-ir.profraw"));
    folder.run(&format!("profbridge merge {} -o own.profdata", old.display()));
    let report = folder.fit(&format!("own.profdata --against {}", new.display()));
    assert_eq!(functions(&report, "gone") + functions(&report, "moved"), 0, "{report:#}");
}

#[test]
fn a_coverage_map_will_do_where_data_records_are_gone() {
    let test = "a_coverage_map_will_do_where_data_records_are_gone";
    for release in [14, 16, 17, 18, 19, 20, 21, 22, 23] {
        let Some((clang, profdata)) = tool("clang", release).zip(tool("llvm-profdata", release)) else { continue };
        if !available(test, &[&clang, &profdata, "objcopy"]) {
            continue;
        }
        let folder = Folder::new();
        // Three units, one with a function that is never emitted.
        folder.write("a.c", "int f(int); int g(int); int main(void) { return f(3) + g(4) - 9; }\n");
        folder.write("b.c", "static inline int unused(int n) { return n; }\nint f(int n) { return n > 2 ? 5 : 7; }\n");
        folder.write(
            "c.c",
            "static int h(int n) { while (n > 1) n /= 2; return n; }\nint g(int n) { return n + h(n) - 1; }\n",
        );
        let options = "-fprofile-instr-generate=old.profraw -fcoverage-mapping";
        folder.run(&format!("{clang} {options} a.c b.c c.c -o old"));
        folder.run("./old");
        folder.run(&format!("{profdata} merge old.profraw -o old.profdata"));
        folder.write(
            "b.c",
            "static inline int unused(int n) { return n; }\nint f(int n) { return n > 2 && n < 9 ? 5 : 7; }\n",
        );
        folder.run(&format!("{clang} {options} a.c b.c c.c -o new"));
        let whole = folder.fit("old.profdata --against new");
        assert!(whole["program_is"].as_str().unwrap().starts_with("data records"), "{whole:#}");
        // Remove the data records, then also the names, so that only hashes are left.
        folder.run("objcopy --remove-section __llvm_prf_data new without-data");
        folder.run("objcopy --remove-section __llvm_prf_names without-data without-names");
        for program in ["without-data", "without-names"] {
            let report = folder.fit(&format!("old.profdata --against {program}"));
            assert!(report["program_is"].as_str().unwrap().starts_with("coverage map"), "{report:#}");
            assert_eq!(report["functions"], whole["functions"], "{release} {program}");
            assert_eq!(report["program"], whole["program"], "{release} {program}");
        }
        let changed: Vec<String> = names(&whole["changed"]).into_iter().collect();
        assert_eq!(changed, ["f"], "{release}");
    }
}

#[test]
fn a_stripped_program_and_an_object_file_are_readable() {
    let test = "a_stripped_program_and_an_object_file_still_tell";
    for release in [16, 19, 22] {
        if !available(test, &[&format!("clang-{release}"), &format!("llvm-profdata-{release}"), "strip"]) {
            continue;
        }
        let folder = Folder::new();
        folder.write(
            "a.c",
            "static int h(int n) { while (n > 1) n /= 2; return n; }\nint main(void) { return h(8) - 1; }\n",
        );
        folder.run(&format!("clang-{release} -fprofile-generate=dumps a.c -o program"));
        folder.run("./program");
        folder.run(&format!("llvm-profdata-{release} merge dumps -o own.profdata"));
        folder.run("strip program -o stripped");
        folder.run(&format!("clang-{release} -fprofile-generate -c a.c -o a.o"));
        folder.run(&format!("clang-{release} -fprofile-generate -shared -fPIC a.c -o liba.so"));
        for thing in ["program", "stripped", "a.o", "liba.so"] {
            let report = folder.fit(&format!("own.profdata --against {thing}"));
            assert_eq!(report["used_functions"], 1.0, "{release} {thing}: {report:#}");
            assert_eq!(report["profiled_functions"], 1.0, "{release} {thing}: {report:#}");
            let reader = &report["releases"]["reader"];
            assert!(*reader == release || (thing == "stripped" && reader.is_null()), "{thing}: {reader}");
        }
    }
}

#[test]
fn timestamps_of_temporal_instrumentation_are_not_counted() {
    let test = "timestamps_of_temporal_instrumentation_are_not_counted";
    let kinds = ["", " -mllvm -pgo-block-coverage", " -g -mllvm -profile-correlate=debug-info"];
    for release in [19, 22] {
        let (clang, profdata) = (format!("clang-{release}"), format!("llvm-profdata-{release}"));
        if !available(test, &[&clang, &profdata]) {
            continue;
        }
        for kind in kinds {
            let folder = Folder::new();
            // With blocks that block coverage counts.
            let main = "int main(int c, char **v) {\n int s = 0;\n for (int i = 0; i < 5; i++) s += f(i + c);\n \
                        if (s > 100) return 1;\n return 0;\n}\n";
            folder.write("a.c", format!("int f(int n) {{ return n > 2 ? n : 3; }}\n{main}"));
            let options = format!("-fprofile-generate=dumps -mllvm -pgo-temporal-instrumentation{kind}");
            folder.run(&format!("{clang} {options} a.c -o program"));
            folder.run("./program");
            let program = if kind.contains("correlate") { " --debug-info=program" } else { "" };
            folder.run(&format!("{profdata} merge{program} dumps -o own.profdata"));
            let report = folder.fit("own.profdata --against program");
            assert_eq!(report["used_functions"], 1.0, "{release}{kind}: {report:#}");
        }
    }
}

#[test]
fn the_page_shows_the_comparison_and_escapes_names() {
    let folder = two_profiles();
    let strange = [("main", 10, &[1u64, 2][..]), ("<script>alert(1)</script>", 9, &[5])];
    folder.write("old.proftext", text(":ir", &[&OLD[1..], &strange].concat()));
    folder.run("profbridge report old.proftext --fit new.proftext -o page.html");
    let page = std::fs::read_to_string(folder.path("page.html")).unwrap();
    for words in
        ["old.proftext in new.proftext", "Lost profiles", "parse_the_headers", "renamed (a guess)", "brand_new"]
    {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("<script>alert") && page.contains("&lt;script&gt;alert(1)"), "names are escaped");
    for (line, words) in [
        ("profbridge report old.proftext new.proftext --fit new.proftext -o x.html", "--fit requires one profile"),
        ("profbridge report old.proftext --fit new.proftext -o x.svg", "--fit requires HTML output"),
    ] {
        let output = folder.try_run(line);
        assert!(!output.status.success() && errors(&output).contains(words), "{line}: {}", errors(&output));
    }
}

#[test]
fn reports_are_the_same_whatever_runs() {
    let folder = two_profiles();
    let line = "profbridge fit --json old.proftext --against new.proftext";
    let first: Vec<u8> = folder.run(line).stdout;
    assert_has_schema(&serde_json::from_slice::<Value>(&first).unwrap(), "fit-2.json");
    for _ in 0..5 {
        assert_eq!(folder.run(line).stdout, first);
    }
}

#[test]
fn a_profile_and_a_new_build_come_through_pipes_as_from_files() {
    let folder = Folder::new();
    let [old, new] =
        ["raw/clang-16-ir.profraw", "raw/clang-22-ir.profraw"].map(|name| testdata(name).display().to_string());
    let expected = folder.run(&format!("profbridge fit {old} --against {new}")).stdout;
    let program = env!("CARGO_BIN_EXE_profbridge");
    for piped in
        [format!("cat {old} | {program} fit - --against {new}"), format!("cat {new} | {program} fit {old} --against -")]
    {
        folder.write("piped.sh", &piped);
        let reported = folder.run("sh piped.sh");
        assert!(reported.stdout == expected, "{piped}: {}", errors(&reported));
    }
}

#[test]
fn the_extension_selects_the_format_of_a_pruned_profile() {
    let folder = two_profiles();
    let line = |output: &str| format!("profbridge fit old.proftext --against new.proftext --prune -o {output}");
    let beginning = |output: &str| {
        folder.run(&line(output));
        std::fs::read(folder.path(output)).unwrap()[..2].to_vec()
    };
    assert_eq!((beginning("p.profdata"), beginning("p.proftext.gz")), (b"\xffl".to_vec(), b"\x1f\x8b".to_vec()));
    folder.run("profbridge fit p.profdata --against new.proftext --prune -o again.proftext");
    assert!(std::str::from_utf8(&std::fs::read(folder.path("again.proftext")).unwrap()).is_ok());
    for wrong in ["p.iprof", "p.profraw", "p.collapsed", "p.svg"] {
        let (code, said) = folder.failure(&line(wrong));
        assert_eq!(code, Some(2), "{wrong}: {said}");
        assert!(!folder.path(wrong).exists(), "{wrong}");
    }
}
