//! Tests of sample profiles: checksums computed by compilers, and line tables.

use crate::support::{Folder, available, errors, functions, lost, names, testdata};
use std::collections::{BTreeMap, BTreeSet};

const SOURCE: &str = include_str!("src/edited.c");
const PROBES: &str = "-O2 -fpseudo-probe-for-profiling";

/// Returns the checksums of all functions of a version, from the compiler's own LLVM IR.
fn checksums(folder: &Folder, release: u32, version: &str) -> BTreeMap<String, u64> {
    let output = folder.run(&format!("clang-{release} {PROBES} {version} edited.c -S -emit-llvm -o -"));
    let code = String::from_utf8(output.stdout).unwrap();
    let row = |line: &str| {
        // !12 = !{i64 GUID, i64 CHECKSUM, !"name"}
        let (_, rest) = line.split_once(" = !{i64 ")?;
        let mut parts = rest.split(", ");
        let (_, checksum, name) = (parts.next()?, parts.next()?.strip_prefix("i64 ")?, parts.next()?);
        let name = name.strip_prefix("!\"")?.strip_suffix("\"}")?;
        Some((name.to_string(), checksum.parse::<i64>().ok()?.cast_unsigned()))
    };
    code.lines().filter_map(row).collect()
}

/// A gate does not pass on a profile that the compiler rejects.
#[test]
fn encodings_that_the_compiler_does_not_read_are_errors() {
    if !available("encodings that the compiler does not read", &["clang-22"]) {
        return;
    }
    let folder = Folder::new();
    folder.write("program.c", "int work(int x) { return 3 * x; }\nint main(int c, char **v) { return work(c); }\n");
    folder.write("p.prof", "work:100:10\n 1: 100\n");
    folder.run("clang-22 -g program.c -o program");
    folder.run("profbridge convert p.prof --sample-format compact --for llvm-16 -o old.afdo");
    folder.run("profbridge convert p.prof --sample-format-version 104 --for llvm-23 -o new.afdo");
    folder.run("profbridge convert p.prof --sample-format gcc -o gcc.afdo");
    for (file, target, is_read) in [
        ("p.prof", "", true),
        ("old.afdo", "", false),
        ("old.afdo", "--for llvm-19", false),
        ("old.afdo", "--for llvm-16", true),
        ("new.afdo", "", false),
        ("new.afdo", "--for llvm-23", true),
        ("gcc.afdo", "", true),
        ("gcc.afdo", "--for llvm-22", false),
    ] {
        let line = format!("profbridge fit {file} --against program {target}");
        let output = folder.try_run(&line);
        assert_eq!(output.status.success(), is_read, "{line}: {}", errors(&output));
        assert_eq!(errors(&output).contains("does not read the encoding of the profile"), !is_read, "{line}");
    }
}

#[test]
fn probe_checksums_detect_the_changes_that_compilers_detect() {
    let test = "checksums_of_probes_tell_what_changed_as_compilers_do";
    for release in [16, 19, 22] {
        if !available(test, &[&format!("clang-{release}")]) {
            continue;
        }
        let folder = Folder::new();
        folder.write("edited.c", SOURCE);
        let (before, after) = (checksums(&folder, release, "-DBEFORE"), checksums(&folder, release, "-DEDITED"));
        assert!(before.len() > 9, "{before:?}");
        let profile: String = before
            .iter()
            .map(|(name, checksum)| format!("{name}:100:10\n 1: 100\n !CFGChecksum: {checksum}\n"))
            .collect();
        folder.write("old.prof", profile);
        folder.run(&format!("clang-{release} {PROBES} -DEDITED edited.c -o program"));
        let report = folder.fit("old.prof --against program");
        let changed: BTreeSet<String> = before
            .iter()
            .filter(|(name, checksum)| after.get(*name).is_some_and(|now| now != *checksum))
            .map(|(name, _)| name.clone())
            .collect();
        assert!(changed.len() >= 3, "{changed:?}");
        assert_eq!(names(&report["changed"]), changed, "{release}: {report:#}");
        let gone: BTreeSet<String> = lost(&report, "gone").into_iter().map(|(name, _)| name).collect();
        assert_eq!(gone, BTreeSet::from(["only_before".to_string()]), "{report:#}");
        // The names of local functions contain a hash of their file.
        let renamed: BTreeSet<String> = lost(&report, "renamed").into_iter().filter_map(|(_, now)| now).collect();
        let expected = ["count_the_new_things", "first_local_then_global"].map(str::to_string);
        assert_eq!(renamed, BTreeSet::from(expected), "{report:#}");
        // The compiler counts functions with another checksum, except local ones.
        let line = format!(
            "clang-{release} {PROBES} -fprofile-sample-use=old.prof -DEDITED edited.c -c -o used.o \
             -mllvm -report-profile-staleness"
        );
        let said = errors(&folder.run(&line));
        let global = changed.iter().filter(|name| !name.starts_with("local_")).count();
        assert!(said.contains(&format!("({global}/")), "{release}: {global} of {said}");
    }
}

#[test]
fn samples_after_the_end_show_a_shorter_function() {
    let test = "samples_behind_a_functions_end_show_that_it_became_shorter";
    for release in [14, 16, 19, 22] {
        if !available(test, &[&format!("clang-{release}"), "strip"]) {
            continue;
        }
        let folder = Folder::new();
        let source = "__attribute__((noinline)) static int f(int n) {\n  int s = n;\n  while (n-- > 0)\n    s *= 3;\n  \
                      return s;\n}\nstatic inline __attribute__((always_inline)) int g(int n) {\n  return f(n) +\n    \
                      1;\n}\nint main(int c, char **v) {\n  return g(c) == 5;\n}\n";
        folder.write("a.c", source);
        folder.run(&format!("clang-{release} -O1 -g a.c -o program"));
        // `f` returns four lines after its name. `g` is inlined everywhere, so only debug info names it.
        folder.write("fits.prof", "main:90:1\n 1: 50\n 1: f:20\n  4: 20\n 1: g:20\n  1: 20\n");
        folder.write("old.prof", "main:90:1\n 1: 50\n 1: g:20\n  1: 20\nf:50:1\n 2: 30\n 9: 20\nh:5:5\n 1: 5\n");
        let report = folder.fit("old.prof --against program");
        assert_eq!((functions(&report, "changed"), functions(&report, "used")), (1, 2), "{release}: {report:#}");
        let row = &report["lost"][0];
        assert_eq!((row["function"].as_str(), row["count"].as_u64()), (Some("f"), Some(50)));
        assert_eq!(row["detail"], "samples at line 9, after the last line, 4", "{release}");
        // Lines far after the end are of other functions: tools find them at the bounds of inlined code.
        folder.write("far.prof", "main:90:1\n 1: 50\nf:50:1\n 2: 30\n 1713: 20\n 65529: 3\n");
        assert_eq!(folder.fit("far.prof --against program")["used_counts"], 1.0);
        let fitting = folder.fit("fits.prof --against program");
        assert_eq!(fitting["used_counts"], 1.0, "{fitting:#}");
        // Inlined copies of `g` can lack its last lines, which shows nothing.
        folder.write("inlined.prof", "main:90:1\n 1: 50\n 1: g:20\n  7: 20\n");
        let inlined = folder.fit("inlined.prof --against program");
        assert_eq!((functions(&inlined, "changed"), functions(&inlined, "used")), (0, 2), "{release}: {inlined:#}");
        // With symbols only.
        folder.run("strip --strip-debug program -o named");
        let named = folder.fit("old.prof --against named");
        assert_eq!((functions(&named, "used"), functions(&named, "changed")), (2, 0), "{release}: {named:#}");
        folder.run("strip program -o stripped");
        let (code, said) = folder.failure("profbridge fit old.prof --against stripped");
        assert!(code == Some(1) && said.contains("cannot compare"), "{said}");
    }
}

/// Bodies of macros, and lines that a `#line` sets, are in front of the declaration.
#[test]
fn inlined_functions_with_earlier_lines_only_are_not_gone() {
    if !available("lines_in_front_of_a_declaration", &["clang-22"]) {
        return;
    }
    let folder = Folder::new();
    let function = "static inline long g(long x) {\n#line 2\n  return x * x + 3;\n#line 8\n}\n";
    let main = "int main(int c, char **v) {\n  return g(c) == 7;\n}\nlong declared(long);\n";
    folder.write("a.c", format!("\n\n\n\n{function}{main}"));
    folder.run("clang-22 -O1 -g a.c -o program");
    folder.write("a.prof", "main:30:1\n 1: 10\n 1: g:20\n  65533: 20\ng:5:1\n 65533: 5\ndeclared:7:1\n 1: 7\n");
    let report = folder.fit("a.prof --against program");
    assert_eq!((functions(&report, "used"), functions(&report, "gone")), (2, 1), "{report:#}");
    assert_eq!(report["lost"][0]["function"], "declared");
    let note = "functions that are always inlined in the new build, and have no debug info, count as gone";
    assert!(report["notes"].as_array().unwrap().contains(&note.into()), "{report:#}");
    folder.write("b.prof", "main:30:1\n 1: 10\n");
    let report = folder.fit("b.prof --against program");
    assert!(!report["notes"].as_array().unwrap().contains(&note.into()), "{report:#}");
}

#[test]
fn split_and_old_debug_info_name_inlined_functions() {
    if !available("split_debug_info_of_programs", &["clang++-22"]) {
        return;
    }
    let folder = Folder::new();
    let function = "static inline __attribute__((always_inline)) int one(int x) {\n  return x * 3 + 1;\n}\n";
    folder.write("a.cpp", format!("{function}int main(int c, char **v) {{\n  return one(c);\n}}\n"));
    folder.write("a.prof", "main:30:1\n 1: 10\n 1: _ZL3onei:20\n  1: 20\n");
    folder.run("clang++-22 -O1 -g -gsplit-dwarf -c a.cpp -o split.o");
    folder.run("clang++-22 -O1 -g -gdwarf-3 -c a.cpp -o old.o");
    for kind in ["split", "old"] {
        folder.run(&format!("clang++-22 {kind}.o -o {kind}"));
        let report = folder.fit(&format!("a.prof --against {kind}"));
        assert_eq!(report["used_counts"], 1.0, "{kind}: {report:#}");
    }
    std::fs::remove_file(folder.path("split.dwo")).unwrap();
    let (code, said) = folder.failure("profbridge fit a.prof --against split");
    assert!(code == Some(1) && said.contains("debug info is split, and ") && said.contains("split.dwo"), "{said}");
    assert!(said.contains("hint: keep the .dwo files"), "{said}");
    folder.write(
        "a.txt",
        "PERF_RECORD_MMAP2 1/1: [0x1000(0x1000) @ 0x1000 08:01 1 0]: r-xp split\n 1139 0x1139/0x1140/P/-/-/0\n",
    );
    let (code, said) = folder.failure("profbridge convert a.txt --binary split -o b.prof");
    assert!(code == Some(1) && said.contains("split.dwo"), "{said}");
    assert!(said.contains("hint: keep the .dwo files"), "{said}");
}

/// The debug info of an ELF object file cannot be read before it is linked. Its symbols and probes can.
#[test]
fn object_files_have_symbols_and_probes() {
    if !available("object_files_have_symbols_and_probes", &["clang-22"]) {
        return;
    }
    let folder = Folder::new();
    folder.write("a.c", "__attribute__((noinline)) int f(int n) {\n  return n * 3;\n}\nint main(int c, char **v) {\n  return f(c);\n}\n");
    folder.write("a.prof", "main:30:1\n 1: 10\nf:20:1\n 1: 20\ng:5:1\n 1: 5\n");
    for flags in ["-g", "-g -gdwarf-4", "-g -fpseudo-probe-for-profiling"] {
        folder.run(&format!("clang-22 -O2 {flags} -c a.c -o a.o"));
        let report = folder.fit("a.prof --against a.o");
        assert_eq!(functions(&report, "gone"), 1, "{flags}: {report:#}");
        assert_eq!(functions(&report, "used"), 2, "{flags}: {report:#}");
    }
}

const LOCALS: &str = "__attribute__((noinline)) static int one(int n) {\n  return n * 3;\n}\n\
    __attribute__((noinline)) static int two(int n) {\n  return n * 5;\n}\n\
    __attribute__((noinline)) int other(int n) {\n  return n * 7;\n}\n\
    int main(int c, char **v) {\n  return one(c) + two(c) + other(c);\n}\n";

/// Functions that have a profile in the compiler's own LLVM IR, without the suffixes of local functions.
fn used_by_clang(folder: &Folder, release: u32, options: &str, profile: &str) -> BTreeSet<String> {
    let line = format!("clang++-{release} -O1 {options} -fprofile-sample-use={profile} -S -emit-llvm locals.cpp -o -");
    let code = String::from_utf8(folder.run(&line).stdout).unwrap();
    let has_profile = |line: &&str| {
        let number = line.split("!prof ").nth(1).and_then(|rest| rest.split([' ', '{']).next()).unwrap_or_default();
        let counts = code.lines().find(|line| line.starts_with(&format!("{number} = ")));
        counts.is_some_and(|counts| counts.contains("function_entry_count") && !counts.contains("i64 -1"))
    };
    let name = |line: &str| Some(line.split('@').nth(1)?.split(['(', '.']).next()?.to_string());
    code.lines().filter(|line| line.starts_with("define ")).filter(has_profile).filter_map(name).collect()
}

/// The suffixes of `-funique-internal-linkage-names` in the profile and in the program decide what clang finds.
#[test]
fn names_of_local_functions_are_found_as_clang_finds_them() {
    for release in [16, 19, 22] {
        if !available("names_of_local_functions_are_found_as_clang_finds_them", &[&format!("clang++-{release}"), "nm"])
        {
            continue;
        }
        let folder = Folder::new();
        folder.write("locals.cpp", LOCALS);
        let unique = "-g -funique-internal-linkage-names";
        folder.run(&format!("clang++-{release} -O1 -g locals.cpp -o plain"));
        folder.run(&format!("clang++-{release} -O1 {unique} locals.cpp -o unique"));
        let symbols = String::from_utf8(folder.run("nm unique").stdout).unwrap();
        let suffix = symbols.lines().find_map(|line| line.split_once(" _ZL3onei.")).expect("a local function").1;
        let profile = |one: &str, two: &str| {
            let of = |name: &str| format!("{name}:100:100\n 1: 100\n");
            [of(one), of(two), of("_Z5otheri"), of("main")].concat()
        };
        let (one, two) = (format!("_ZL3onei.{suffix}"), format!("_ZL3twoi.{suffix}"));
        for (name, text) in [
            ("with", profile(&one, &two)),
            ("without", profile("_ZL3onei", "_ZL3twoi")),
            ("one", profile(&one, "_ZL3twoi")),
        ] {
            folder.write(&format!("{name}.proftext"), text);
            folder.run(&format!("profbridge convert {name}.proftext -o {name}.afdo --for llvm-{release}"));
            folder
                .run(&format!("profbridge convert {name}.proftext -o {name}.md5.afdo --use-md5 --for llvm-{release}"));
            for (program, options) in [("plain", "-g"), ("unique", unique)] {
                for file in [format!("{name}.proftext"), format!("{name}.afdo"), format!("{name}.md5.afdo")] {
                    let expected = used_by_clang(&folder, release, options, &file);
                    let report = folder.fit(&format!("{file} --against {program}"));
                    assert_eq!(
                        functions(&report, "used"),
                        expected.len() as u64,
                        "{release} {file} {program}: {report:#}"
                    );
                }
            }
        }
        // Hashes of such names fit no function from LLVM 17 on, nor an inlined copy.
        folder.write("inlined.prof", format!("main:90:1\n 1: 50\n 1: {one}:40\n  1: 40\n"));
        folder.run(&format!("profbridge convert inlined.prof -o inlined.afdo --use-md5 --for llvm-{release}"));
        for (file, lost) in [("inlined.prof", 0), ("inlined.afdo", if release < 17 { 0 } else { 40 })] {
            let report = folder.fit(&format!("{file} --against unique"));
            assert_eq!(report["lost"][0]["count"].as_u64().unwrap_or(0), lost, "{release} {file}: {report:#}");
        }
        // The file of the functions decides about the suffix. A remapping file has the new names.
        let report = folder.fit("with.afdo --against plain --write-remapping names.txt");
        assert_eq!(functions(&report, "moved"), 2, "{report:#}");
        folder.run(&format!("profbridge merge with.afdo -r names.txt -o renamed.afdo --for llvm-{release}"));
        assert_eq!(used_by_clang(&folder, release, "-g", "renamed.afdo").len(), 4);
    }
}

/// LLVM looks for names up to the first dot, which names of legacy mangling contain.
#[test]
fn names_with_dots_are_used_only_where_they_are_inlined() {
    if !available("names_with_dots_are_used_only_where_they_are_inlined", &["clang-22", "objcopy"]) {
        return;
    }
    let folder = Folder::new();
    folder.write("locals.c", LOCALS);
    folder.run("clang-22 -O1 -g -c locals.c -o locals.o");
    folder.run("objcopy --redefine-sym other=other..name locals.o dotted.o");
    folder.write("dotted.prof", "main:90:1\n 1: 50\n 2: other..name:40\n  1: 40\nother..name:30:30\n 1: 30\n");
    let report = folder.fit("dotted.prof --against dotted.o");
    assert_eq!(report["lost"][0]["detail"], "the compiler looks for the name up to its first dot", "{report:#}");
    assert_eq!(report["lost"][0]["count"], 30, "{report:#}");
    folder.write("cut.prof", "main:90:1\n 1: 50\nother:30:30\n 1: 30\n");
    assert_eq!(folder.fit("cut.prof --against dotted.o")["used_counts"], 1.0);
}

#[test]
fn a_newer_sample_profile_gives_names_and_checksums() {
    let folder = Folder::new();
    let profile = testdata("sampleprof/context-probes-22.ext");
    let report = folder.fit(&format!("{0} --against {0}", profile.display()));
    assert_eq!((&report["used_functions"], &report["used_counts"]), (&1.0.into(), &1.0.into()), "{report:#}");
    // Names that are hashes are found, too.
    let hashed = testdata("sampleprof/context-probes-22.md5");
    let report = folder.fit(&format!("{} --against {}", profile.display(), hashed.display()));
    assert_eq!(report["used_functions"], 1.0, "{report:#}");
    let report = folder.fit(&format!("{} --against {}", hashed.display(), profile.display()));
    assert_eq!(report["used_functions"], 1.0, "{report:#}");
}

#[test]
fn stale_functions_are_pruned_with_their_inlinees() {
    let folder = Folder::new();
    let function = |name: &str, checksum: u64| format!("{name}:10:1\n 1: 10\n !CFGChecksum: {checksum}\n");
    let inlined = "main:30:1\n 1: 10\n 2: stays:10\n  1: 10\n  !CFGChecksum: 1\n 3: changes:10\n  1: 4\n  2: stays:6\n   1: 6\n   \
                   !CFGChecksum: 1\n  !CFGChecksum: 5\n !CFGChecksum: 9\n";
    folder.write("old.prof", [inlined, &function("stays", 1), &function("changes", 5)].concat());
    let new = [function("main", 9), function("stays", 1), function("changes", 6)].concat();
    folder.write("new.prof", new);
    let report = folder.fit("old.prof --against new.prof --prune -o pruned.prof --for llvm-16");
    // The samples of functions inlined into a lost function are lost, too.
    assert_eq!(report["lost"][0]["count"], 20, "{report:#}");
    let pruned = std::fs::read_to_string(folder.path("pruned.prof")).unwrap();
    assert!(pruned.contains("main:20:1") && !pruned.contains("changes"), "{pruned}");
    assert_eq!(folder.fit("pruned.prof --against new.prof")["used_counts"], 1.0);
    // So are call targets that are gone, but not those that never had samples, such as functions of libraries.
    let caller = |targets: &str| format!("main:30:1\n 1: 10{targets}\n 2: gone:10\n  1: 10 gone:4 stays:1\n");
    folder.write("old.prof", [caller(" gone:3 stays:2 printf:1"), function("gone", 3), function("stays", 1)].concat());
    folder.write("new.prof", [caller(""), function("stays", 1)].concat().replace("gone", "stays"));
    folder.fit("old.prof --against new.prof --prune -o pruned.prof");
    let pruned = std::fs::read_to_string(folder.path("pruned.prof")).unwrap();
    assert!(pruned.contains(" stays:2") && pruned.contains(" printf:1") && !pruned.contains("gone"), "{pruned}");
}

#[test]
fn functions_inlined_only_into_lost_ones_are_not_used() {
    let folder = Folder::new();
    let lost = "gone:100:10\n 1: 10\n 2: stays:90\n  1: 90\n";
    folder.write("old.prof", format!("{lost}main:5:5\n 1: 5\n"));
    folder.write("new.prof", "main:5:5\n 1: 5\nstays:5:5\n 1: 5\n");
    let report = folder.fit("old.prof --against new.prof");
    assert_eq!((functions(&report, "used"), functions(&report, "unusable")), (1, 1), "{report:#}");
    assert_eq!(report["lost"][1]["detail"], "inlined only into functions that are lost", "{report:#}");
    assert_eq!((&report["lost"][0]["count"], &report["lost"][1]["count"]), (&100.into(), &0.into()), "{report:#}");
    assert_eq!(report["profiled_functions"], 0.5, "{report:#}");
    // One place that is not lost is enough.
    folder.write("old.prof", format!("{lost}main:5:5\n 1: 5\n 2: stays:0\n"));
    assert_eq!(functions(&folder.fit("old.prof --against new.prof"), "used"), 2);
}

/// LLVM 17 and later map the samples of functions with another checksum to the new code by its calls.
#[test]
fn changed_functions_with_probes_are_kept_for_compilers_that_use_them() {
    let folder = Folder::new();
    let function = |name: &str, checksum: u64| format!("{name}:10:1\n 1: 10\n !CFGChecksum: {checksum}\n");
    folder.write("old.prof", [function("main", 9), function("changes", 5), function("goes", 3)].concat());
    folder.write("new.prof", [function("main", 9), function("changes", 6)].concat());
    for (target, is_kept) in [("", true), ("--for llvm-17", true), ("--for llvm-16", false)] {
        let report = folder.fit(&format!("old.prof --against new.prof --prune -o pruned.prof {target}"));
        let pruned = std::fs::read_to_string(folder.path("pruned.prof")).unwrap();
        assert_eq!(pruned.contains("changes:10:1"), is_kept, "{target}: {pruned}");
        assert!(!pruned.contains("goes"), "{pruned}");
        assert_eq!(
            report["notes"].to_string().contains("uses a part of the samples of changed"),
            is_kept,
            "{target}: {report:#}"
        );
    }
}

#[test]
fn functions_that_moved_to_another_file_and_changed_are_changed() {
    let folder = Folder::new();
    let function = |name: &str, checksum: u64| format!("{name}:10:1\n 1: 10\n !CFGChecksum: {checksum}\n");
    folder.write("old.prof", [function("main", 9), function("_ZL3foo.__uniq.111", 5)].concat());
    for (checksum, class) in [(5, "moved"), (6, "changed")] {
        folder.write("new.prof", [function("main", 9), function("_ZL3foo.__uniq.222", checksum)].concat());
        let report = folder.fit("old.prof --against new.prof --prune -o pruned.prof --write-remapping names.txt");
        assert_eq!(functions(&report, class), 1, "{report:#}");
        let [pruned, names] =
            ["pruned.prof", "names.txt"].map(|name| std::fs::read_to_string(folder.path(name)).unwrap());
        assert_eq!((pruned.contains("foo"), names.contains("foo")), (checksum == 5, checksum == 5), "{pruned}{names}");
    }
    folder.write("new.prof", function("main", 9));
    let (code, said) = folder.failure("profbridge fit old.prof --against new.prof");
    assert!(
        code == Some(1) && said.contains("none of the 2 functions of the profile, except main, is among the 1"),
        "{said}"
    );
}

#[test]
fn functions_with_samples_of_their_own_are_not_successors() {
    let folder = Folder::new();
    let function = |name: &str| format!("{name}:10:1\n 1: 10\n");
    for (lost, other) in [("_ZL3foo.__uniq.111", "_ZL3foo.__uniq.222"), ("_ZL3foo", "_Z3foo")] {
        folder.write("old.prof", ["main", lost, other].map(function).concat());
        folder.write("new.prof", ["main", other].map(function).concat());
        let report = folder.fit("old.prof --against new.prof --write-remapping names.txt");
        let found = ["used", "moved", "gone"].map(|class| functions(&report, class));
        assert_eq!(found, [2, 0, 1], "{report:#}");
        let names = std::fs::read_to_string(folder.path("names.txt")).unwrap();
        assert!(names.lines().all(|line| line.is_empty() || line.starts_with('#')), "{names}");
    }
    // Of two functions, at most one is the new one.
    folder.write("old.prof", ["bar", "_ZL3foo.__uniq.111", "_ZL3foo.__uniq.222"].map(function).concat());
    folder.write("new.prof", ["bar", "_ZL3foo.__uniq.333"].map(function).concat());
    let report = folder.fit("old.prof --against new.prof");
    assert_eq!(["moved", "gone"].map(|class| functions(&report, class)), [0, 2], "{report:#}");
}

const RUST: &str = "#[inline(never)]\npub fn square(x: u64) -> u64 {\n    if x > 3 { x * x } else { x }\n}\n\
                    fn main() {\n    println!(\"{}\", square(std::env::args().count() as u64));\n}\n";

/// Without debug info, rustc uses nothing of the profile, although names match. clang creates line tables itself if it
/// reads a sample profile.
#[test]
fn builds_without_line_tables_use_no_samples() {
    if !available("builds_without_line_tables_use_no_samples", &["rustc", "clang-22"]) {
        return;
    }
    let folder = Folder::new();
    folder.write("app.rs", RUST);
    let name = |ir: &str| {
        let line =
            ir.lines().find(|line| line.starts_with("define") && line.contains("square")).expect("it is defined");
        let from = line.find('@').expect("a name") + 1;
        line[from..].split('(').next().expect("an end").trim_matches('"').to_string()
    };
    let rustc = |arguments: &str| {
        let mut command = std::process::Command::new("rustc");
        command.env("RUSTC_BOOTSTRAP", "1").current_dir(folder.path("."));
        let output = command.args(arguments.split(' ')).output().expect("rustc runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    rustc("-O -C symbol-mangling-version=v0 --emit=llvm-ir app.rs -o first.ll");
    let function = name(&std::fs::read_to_string(folder.path("first.ll")).expect("IR"));
    folder.write("app.prof", format!("{function}:1000:100\n 0: 100\n 1: 900\n"));
    for (debug, used) in [(0, false), (1, true)] {
        let common = format!("-O -C symbol-mangling-version=v0 -C debuginfo={debug} app.rs");
        rustc(&format!("{common} -o app"));
        rustc(&format!("-Zprofile-sample-use=app.prof --emit=llvm-ir {common} -o used.ll"));
        let ir = std::fs::read_to_string(folder.path("used.ll")).expect("IR");
        assert_eq!(ir.contains("\"function_entry_count\", i64 10"), used, "rustc with debuginfo={debug}");
        let report = folder.fit("app.prof --against app");
        assert_eq!(
            (functions(&report, "used"), functions(&report, "unusable")),
            (used.into(), (!used).into()),
            "{report:#}"
        );
        let gate = folder.try_run("profbridge fit app.prof --against app --fail-below used-counts=1%");
        assert_eq!(gate.status.code(), Some(if used { 0 } else { 3 }));
    }
    folder.write(
        "app.c",
        "int square(int x) { if (x > 3) return x * x; return x; }\nint main(int c, char **v) { return square(c); }\n",
    );
    folder.write("c.prof", "square:1000:100\n 0: 100\n");
    folder.run("clang-22 -O1 app.c -o app");
    folder.run("clang-22 -O1 -fprofile-sample-use=c.prof -S -emit-llvm app.c -o used.ll");
    assert!(std::fs::read_to_string(folder.path("used.ll")).expect("IR").contains("\"function_entry_count\", i64 10"));
    assert_eq!(functions(&folder.fit("c.prof --against app"), "used"), 1);
}

#[test]
fn a_build_without_probes_uses_nothing_of_a_profile_with_probes() {
    if !available("a_build_without_probes_uses_nothing_of_a_profile_with_probes", &["clang-22"]) {
        return;
    }
    let folder = Folder::new();
    folder.write(
        "app.c",
        "int square(int x) { if (x > 3) return x * x; return x; }\nint main(int c, char **v) { return square(c); }\n",
    );
    folder.write("app.prof", "square:1000:100\n 1: 100\n 2: 900\n !CFGChecksum: 111\n");
    let use_it = "clang-22 -O1 -g -fprofile-sample-use=app.prof -c app.c -o /dev/null";
    assert!(errors(&folder.run(use_it)).contains("Pseudo-probe-based profile requires"));
    folder.run("clang-22 -O1 -g app.c -o app");
    let report = folder.fit("app.prof --against app");
    assert_eq!((functions(&report, "used"), functions(&report, "unusable")), (0, 1), "{report:#}");
    let gate = folder.try_run("profbridge fit app.prof --against app --fail-below used-counts=1%");
    assert_eq!(gate.status.code(), Some(3));
    let text = folder.run("profbridge fit app.prof --against app");
    assert!(String::from_utf8_lossy(&text.stdout).contains("the compiler ignores the profile: it has pseudo-probes"));
}

/// With `-g1`, debug info has only plain names, by which LLVM finds no function of C++.
#[test]
fn names_of_debug_info_without_mangled_names_are_not_used() {
    if !available("names_of_debug_info_without_mangled_names_are_not_used", &["clang-22"]) {
        return;
    }
    let folder = Folder::new();
    folder.write(
        "app.cpp",
        "static int square(int x) { return x * x; }\n\
         __attribute__((noinline)) int helper(int x) {\n  return square(x);\n}\n\
         int main(int count, char **) {\n  return helper(count);\n}\n",
    );
    folder.write("app.prof", "helper:100:10\n 1: 10\nmain:5:1\n 1: 1 helper:1\n");
    folder.run("clang++-22 -g1 -O1 app.cpp -o app");
    let report = folder.fit("app.prof --against app");
    // Nor has debug info the line of main.
    assert_eq!((functions(&report, "not-compared"), functions(&report, "unusable")), (1, 1), "{report:#}");
}

/// Symbols of Apple's files and of 32-bit COFF of x86 have an underscore before the names of sample profiles.
#[test]
fn sample_profiles_fit_objects_of_every_system() {
    if !available("sample_profiles_fit_objects_of_every_system", &["clang-22"]) {
        return;
    }
    let folder = Folder::new();
    folder.write("work.c", "int work(int x) { return x * x; }\n");
    folder.write("work.prof", "work:10:1\n 0: 10\n");
    for target in ["i686-w64-windows-gnu", "x86_64-w64-windows-gnu", "arm64-apple-macos", "i386-unknown-linux-gnu"] {
        folder.run(&format!("clang-22 --target={target} -c work.c -o work.o"));
        let output = folder.run("profbridge fit work.prof --against work.o --json");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
        assert_eq!(report["used_counts"], 1.0, "{target}: {report:#}");
    }
}
