//! Tests of the results of `info` and `doctor` for programs of real compilers.

use crate::bad_input::{elf, part};
use crate::support::{Folder, available, errors, testdata};
use serde_json::Value;

const MAIN: &str = "#include <stdio.h>\nint helper(int);\nint square(int x) { if (x > 3) return x * x; return x; }\n\
                    int main(int c, char **v) { printf(\"%d\\n\", square(c) + helper(c)); return 0; }\n";
const HELPER: &str = "int helper(int x) { for (int i = 0; i < x; i++) if (i & 1) x += i; return x; }\n";

fn sources() -> Folder {
    let folder = Folder::new();
    folder.write("main.c", MAIN);
    folder.write("helper.c", HELPER);
    folder
}

/// Returns the description of one file as JSON.
#[track_caller]
fn info(folder: &Folder, file: &str) -> Value {
    let output = folder.run(&format!("profbridge info --json {file}"));
    let document: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    document["files"][0].clone()
}

/// Returns the values of a label.
fn facts(file: &Value, label: &str) -> Vec<String> {
    let all = file["parts"][0]["facts"].as_array().expect("a list").iter();
    all.filter(|fact| fact["label"] == label).map(|fact| fact["value"].as_str().expect("text").to_string()).collect()
}

fn warnings(file: &Value) -> String {
    file["warnings"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|text| text.as_str().expect("text"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// LLVM 22 writes the section of debug info of COFF also without debug info.
#[test]
fn coff_objects_have_debug_info_if_they_have_lines() {
    if !available("coff_objects_have_debug_info_if_they_have_lines", &["clang-22"]) {
        return;
    }
    let folder = sources();
    for (option, expected) in [("", "none, symbols only"), ("-g1", "line tables"), ("-gdwarf", "line tables")] {
        folder.run(&format!("clang-22 -target x86_64-pc-windows-msvc -O1 {option} -c helper.c -o helper.o"));
        assert_eq!(facts(&info(&folder, "helper.o"), "debug info"), [expected], "{option}");
    }
}

#[test]
fn instrumented_programs_of_each_release_state_their_raw_version() {
    for (release, version) in [(14, "8"), (16, "8"), (19, "10"), (22, "10")] {
        let clang = format!("clang-{release}");
        if !available("instrumented_programs_of_each_release_state_their_raw_version", &[&clang]) {
            continue;
        }
        let folder = sources();
        folder.run(&format!("{clang} -O1 -fprofile-generate=/data/out-%p main.c helper.c -o ir"));
        let ir = info(&folder, "ir");
        assert_eq!(ir["parts"][0]["variant"][0], "IR instrumentation");
        assert_eq!((facts(&ir, "raw version"), facts(&ir, "functions")), (vec![version.into()], vec!["3".into()]));
        assert_eq!(facts(&ir, "counters"), ["7"]);
        assert_eq!(facts(&ir, "writes to"), ["/data/out-%p/default_%m.profraw"]);
        assert_eq!((facts(&ir, "runtime"), warnings(&ir)), (vec!["linked in".into()], String::new()));

        folder.run(&format!("{clang} -g -fprofile-instr-generate -fcoverage-mapping main.c helper.c -o fe"));
        let fe = info(&folder, "fe");
        assert_eq!(fe["parts"][0]["variant"][0], "front-end instrumentation");
        assert_eq!(
            (facts(&fe, "raw version"), facts(&fe, "debug info")),
            (vec![version.into()], vec!["line tables".into()])
        );
        assert_eq!((facts(&fe, "coverage map").len(), warnings(&fe)), (1, String::new()));

        // The program's profile has the reported version.
        std::process::Command::new(folder.path("fe"))
            .env("LLVM_PROFILE_FILE", folder.path("fe.profraw"))
            .output()
            .expect("it runs");
        assert_eq!(info(&folder, "fe.profraw")["version"], version);
    }
}

#[test]
fn sample_profiles_of_plain_programs_are_described() {
    if !available("sample_profiles_of_plain_programs_are_described", &["clang-22", "gcc", "objcopy", "rustc"]) {
        return;
    }
    let folder = sources();
    for (command, expected) in [
        ("clang-22", "not usable: neither line tables nor pseudo-probes"),
        ("clang-22 -g", "usable, by lines, for functions that have them"),
        (
            "clang-22 -gline-tables-only",
            "usable, by lines, but not for functions without the line of their declaration in debug info",
        ),
        ("clang-22 -fpseudo-probe-for-profiling", "usable, by pseudo-probes"),
        ("gcc -g", "usable, by lines, for functions that have them"),
    ] {
        folder.run(&format!("{command} -O1 main.c helper.c -o app"));
        let app = info(&folder, "app");
        assert_eq!(
            (facts(&app, "instrumented"), facts(&app, "sample profile")),
            (vec!["no".into()], vec![expected.into()])
        );
    }
    folder.write(
        "app.cpp",
        "int helper(int x) { return x * x; }\nint main(int count, char **) { return helper(count); }\n",
    );
    folder.write("main.cpp", "int main() { return 0; }\n");
    folder.write("app.rs", "fn main() { println!(\"{}\", std::env::args().map(|a| a.len()).sum::<usize>()); }\n");
    folder.run("clang++-22 -O1 -g1 -Dmain=other -c app.cpp -o app.o");
    let of_lines = "usable, by lines, for functions that have them";
    let of_c_only = "usable, by lines, but not for functions of C++ and Rust whose debug info has no mangled names";
    for (command, expected) in [
        ("clang++-22 -O1 -g1 app.cpp", of_c_only),
        // No function has an inlined callee.
        ("clang++-22 -O0 -g1 main.cpp", "not usable: debug info has no functions"),
        ("clang++-22 -O1 -g1 -fdebug-info-for-profiling app.cpp", of_lines),
        ("clang++-22 -g app.cpp", of_lines),
        ("clang++-22 -g -gsplit-dwarf app.cpp", of_lines),
        ("clang++-22 -O1 -g1 -fpseudo-probe-for-profiling app.cpp", "usable, by pseudo-probes and lines"),
        ("clang++-22 -g main.cpp", of_lines),
        ("clang++-22 -g main.cpp app.o", of_c_only),
        ("rustc -O -C debuginfo=line-tables-only app.rs", of_c_only),
        ("rustc -O -C debuginfo=2 app.rs", of_lines),
    ] {
        folder.run(&format!("{command} -o app"));
        assert_eq!(facts(&info(&folder, "app"), "sample profile"), [expected], "{command}");
    }
    folder.run("gcc -g -O1 main.c helper.c -o app");
    folder.run("objcopy --only-keep-debug app app.debug");
    folder.run("objcopy --strip-all --add-gnu-debuglink=app.debug app stripped");
    let expected = "usable by lines, together with the file that has its debug info";
    assert_eq!(facts(&info(&folder, "stripped"), "sample profile"), [expected]);
    folder.run("clang-22 -g -fmemory-profile main.c helper.c -o app");
    assert_eq!(facts(&info(&folder, "app"), "memory profile"), ["yes (-fmemory-profile)"]);
    folder.run("gcc --coverage main.c helper.c -o app");
    assert!(facts(&info(&folder, "app"), "instrumented")[0].starts_with("by GCC"));
    folder.run("clang-22 --coverage main.c helper.c -o app");
    assert!(facts(&info(&folder, "app"), "instrumented")[0].starts_with("by clang, for gcov"));
}

/// The runtime's functions are hidden, so that no symbol shows whether a stripped library has them.
#[test]
fn the_runtime_of_stripped_libraries_is_unknown() {
    if !available("the_runtime_of_stripped_libraries_is_unknown", &["clang-19", "clang-22", "strip"]) {
        return;
    }
    let folder = sources();
    for clang in ["clang-19", "clang-22"] {
        folder.run(&format!("{clang} -O1 -fPIC -shared -fprofile-generate helper.c -o library.so"));
        assert_eq!(facts(&info(&folder, "library.so"), "runtime"), ["linked in"]);
        folder.run("strip library.so");
        let library = info(&folder, "library.so");
        assert_eq!(facts(&library, "runtime"), ["unknown: the program is stripped"]);
        assert_eq!((facts(&library, "debug info"), warnings(&library)), (vec!["none, stripped".into()], String::new()));
        let advice = folder.run("profbridge doctor library.so").stdout;
        assert!(!String::from_utf8_lossy(&advice).contains("link with the flag"), "{clang}");
    }
}

/// Linkers keep the first version variable. The other objects and the runtime do not matter.
#[test]
fn parts_of_different_releases_are_found() {
    if !available("parts_of_different_releases_are_found", &["clang-16", "clang-22", "ar"]) {
        return;
    }
    let folder = sources();
    for flag in ["-fprofile-generate", "-fprofile-instr-generate"] {
        folder.run(&format!("clang-16 -O1 {flag} -c helper.c -o helper.o"));
        folder.run(&format!("clang-22 -O1 {flag} -c main.c -o main.o"));
        folder.run(&format!("clang-22 {flag} main.o helper.o -o app"));
        let app = warnings(&info(&folder, "app"));
        assert!(
            app.contains("1 record has the size of raw version 4 to 8, but the program states version 10"),
            "{app}"
        );
    }
    folder.run("clang-16 -O1 -fprofile-generate -c helper.c -o helper.o");
    folder.run("clang-22 -O1 -fprofile-generate -c main.c -o main.o");
    folder.run("clang-22 -fprofile-generate helper.o main.o -o app");
    let app = warnings(&info(&folder, "app"));
    assert!(app.contains("expected 10, but get 8"), "{app}");
    folder.run("ar rcs libapp.a main.o helper.o");
    let archive = info(&folder, "libapp.a");
    assert_eq!(
        (facts(&archive, "instrumented"), facts(&archive, "raw version")),
        (vec!["2 of 2 object files".into()], vec!["8 and 10".into()])
    );
    assert!(warnings(&archive).contains("parts have raw version 8, others 10"));

    let doctor = folder.run("profbridge doctor app");
    let text = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(text.contains("- compile and link all parts with one release of LLVM"), "{text}");
}

#[test]
fn rust_programs_and_libraries_are_described() {
    if !available("rust_programs_and_libraries_are_described", &["rustc"]) {
        return;
    }
    let folder = Folder::new();
    folder.write("app.rs", "pub fn main() { println!(\"{}\", std::env::args().count()); }\n");
    folder.run("rustc -C profile-generate -C opt-level=1 app.rs -o app");
    let app = info(&folder, "app");
    assert_eq!((app["parts"][0]["variant"][0].as_str(), warnings(&app)), (Some("IR instrumentation"), String::new()));
    assert!(facts(&app, "compiler").iter().any(|line| line.starts_with("rustc version")), "{app}");
    folder.run("rustc --crate-type rlib -C instrument-coverage app.rs -o libapp.rlib");
    let library = info(&folder, "libapp.rlib");
    assert!(library["description"].as_str().expect("text").starts_with("archive of 2 object files"), "{library}");
    assert_eq!(facts(&library, "coverage map").len(), 1);
}

/// Objects for other systems do not need a linker.
#[test]
fn objects_of_other_systems_are_described() {
    if !available("objects_of_other_systems_are_described", &["clang-22"]) {
        return;
    }
    let folder = sources();
    for (target, words, functions) in [
        ("x86_64-pc-windows-msvc", "COFF object file, X86_64", "1"),
        ("arm64-apple-macos", "Mach-O object file, Aarch64", "1"),
        ("i386-unknown-linux-gnu", "ELF object file, I386", "1"),
    ] {
        folder.run(&format!("clang-22 --target={target} -O1 -fprofile-generate -c helper.c -o helper.o"));
        let object = info(&folder, "helper.o");
        assert_eq!(object["description"], words);
        assert_eq!(
            (facts(&object, "raw version"), facts(&object, "functions")),
            (vec!["10".into()], vec![functions.into()]),
            "{target}"
        );
        assert_eq!(facts(&object, "counters"), ["3"], "{target}");
    }
}

#[test]
fn debug_info_in_a_pdb_is_named() {
    if !available("debug_info_in_a_pdb_is_named", &["clang-22", "lld-link-22"]) {
        return;
    }
    let folder = Folder::new();
    folder.write("work.c", "int work(int x) { return x * x; }\n");
    folder.write("work.txt", " 0x140001000/0x140001003/P/-/-/0\n");
    for (debug_info, link, expected) in [
        ("-g", "/debug", "not usable: debug info is in a PDB, not in DWARF"),
        ("-gdwarf", "/debug:dwarf", "usable, by lines, for functions that have them"),
    ] {
        folder.run(&format!("clang-22 --target=x86_64-pc-windows-msvc -O1 {debug_info} -c work.c -o work.obj"));
        folder.run(&format!("lld-link-22 work.obj /entry:work /nodefaultlib /subsystem:console {link} /out:work.exe"));
        assert_eq!(facts(&info(&folder, "work.exe"), "sample profile"), [expected], "{link}");
        let convert = folder.try_run("profbridge convert work.txt --binary work.exe -o work.prof");
        let is_named = String::from_utf8_lossy(&convert.stderr).contains("is in a PDB, which is not read");
        assert_eq!(is_named, debug_info == "-g", "{convert:?}");
    }
}

/// Symbols of 32-bit programs of Windows and those of Apple begin with an underscore.
#[test]
fn the_runtime_and_its_file_name_are_found_on_every_system() {
    if !available("the_runtime_and_its_file_name_are_found_on_every_system", &["clang-22"]) {
        return;
    }
    let folder = Folder::new();
    folder.write("runtime.c", "int __llvm_profile_write_file(void) { return 0; }\n");
    for target in ["i686-w64-windows-gnu", "x86_64-w64-windows-gnu", "arm64-apple-macos", "i386-unknown-linux-gnu"] {
        folder.run(&format!("clang-22 --target={target} -fprofile-generate=out -c runtime.c -o runtime.o"));
        let object = info(&folder, "runtime.o");
        assert_eq!(facts(&object, "writes to"), ["out/default_%m.profraw"], "{target}");
        if folder.try_run("ld -m i386pe runtime.o -o runtime.exe").status.success() {
            assert_eq!(facts(&info(&folder, "runtime.exe"), "runtime"), ["linked in"], "{target}");
        }
    }
}

/// A program of Windows with the markers of its runtime.
const WINDOWS_PROGRAM: &str = "
int __llvm_profile_runtime;
__attribute__((section(\".lprfd$A\"), aligned(8))) char records_start[64] = {0};
__attribute__((section(\".lprfd$Z\"), aligned(8))) char records_end[64] = {0};
__attribute__((section(\".lprfc$A\"))) char counters_start = 0;
__attribute__((section(\".lprfc$Z\"))) char counters_end = 0;
__attribute__((section(\".lprfb$A\"))) char bitmaps_start = 0;
__attribute__((section(\".lprfb$Z\"))) char bitmaps_end = 0;
__attribute__((no_profile_instrument_function)) void __llvm_profile_set_timestamp(long long *time) { *time = 1; }
int twice(int a) { return a * 2; }
int pick(int a) { if (a > 3 && a < 7) return twice(a); return a; }
int entry(void) { int s = 0; for (int i = 0; i < 9; i++) s += pick(i); return s; }
";

#[test]
fn markers_of_windows_are_neither_records_nor_counters() {
    if !available("markers_of_windows_are_neither_records_nor_counters", &["clang-22", "ld"]) {
        return;
    }
    let folder = Folder::new();
    folder.write("windows.c", WINDOWS_PROGRAM);
    let described = |options: &str| {
        folder.run(&format!("clang-22 --target=x86_64-w64-windows-gnu {options} -c windows.c -o windows.o"));
        if !folder.try_run("ld -m i386pep -e entry windows.o -o windows.exe").status.success() {
            return None;
        }
        let program = info(&folder, "windows.exe");
        Some(["functions", "counters", "mc/dc"].map(|name| facts(&program, name).join(", ")))
    };
    let ordinary = ["3", "7", ""].map(String::from);
    let Some(found) = described("-fprofile-instr-generate") else { return };
    assert_eq!(found, ordinary);
    let mc_dc = described("-fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc");
    assert_eq!(mc_dc, Some(["3", "7", "yes, 1 bitmap byte"].map(String::from)));
    let temporal = described("-O1 -fprofile-generate -mllvm -pgo-temporal-instrumentation");
    assert_eq!(temporal, Some(["3", "4", ""].map(String::from)));
    let entries = described("-O1 -fprofile-generate -mllvm -pgo-function-entry-coverage");
    assert_eq!(entries, Some(["3", "3", ""].map(String::from)));

    // The front end does not say that the functions are in debug info.
    let correlated = described("-g -gdwarf -fprofile-instr-generate -mllvm -profile-correlate=debug-info");
    assert_eq!(correlated, Some(["", "7", ""].map(String::from)));
    let advice = folder.run("profbridge doctor windows.exe").stdout;
    assert!(String::from_utf8_lossy(&advice).contains("keep this file"));
}

/// Time stamps of temporal instrumentation are between the counters.
#[test]
fn time_stamps_are_not_counters() {
    if !available("time_stamps_are_not_counters", &["clang-19", "clang-22", "llvm-objcopy-22"]) {
        return;
    }
    let folder = sources();
    let temporal = "-O1 -fprofile-generate -mllvm -pgo-temporal-instrumentation main.c helper.c -o app";
    for clang in ["clang-19", "clang-22"] {
        folder.run(&format!("{clang} {temporal}"));
        let app = info(&folder, "app");
        assert_eq!((facts(&app, "functions"), facts(&app, "counters")), (vec!["3".into()], vec!["7".into()]));
        // The number of records, or of bytes between counters, is unknown.
        folder.run("llvm-objcopy-22 --rename-section __llvm_prf_data=data app other");
        folder.run(&format!("{clang} -mllvm -pgo-block-coverage {temporal}"));
        for program in ["other", "app"] {
            assert!(facts(&info(&folder, program), "counters").is_empty(), "{program} of {clang}");
        }
    }
}

/// No compiler of Go reads a sample profile.
#[test]
fn go_programs_use_pprof_profiles() {
    let folder = Folder::new();
    let go = |rest: &[u8]| part(".go.buildinfo", [b"\xff Go buildinf:\x08\x02", &[0; 16][..], rest].concat());
    let lines = || part(".debug_line", vec![0; 8]);
    let doctor = |parts: &[_]| {
        folder.write("app", elf(parts));
        String::from_utf8(folder.run("profbridge doctor app").stdout).expect("it prints text")
    };
    let text = doctor(&[go(b"\x08go1.27.3\0"), lines()]);
    assert!(text.contains("\n  compiler      go1.27.3\n"), "{text}");
    assert!(text.contains("\n  sample profile not usable: Go's compiler reads CPU profiles in pprof\n"), "{text}");
    assert!(text.contains("- for Go code, record CPU profiles"), "{text}");
    assert!(text.contains("default.pgo") && !text.contains("-fpseudo-probe"), "{text}");
    let text = doctor(&[go(b"\x50go1.27.3")]);
    assert!(text.contains("\n  compiler      go\n") && !text.contains("-fpseudo-probe"), "the version is cut: {text}");
    let text = doctor(&[go(b"\x08go1.27.3\0"), lines(), part(".comment", b"clang version 22.1.8\0".to_vec())]);
    assert!(text.contains("usable, by lines") && text.contains("- for Go code"), "with code of clang: {text}");
    let text = doctor(&[part(".go.buildinfo", b"something else".to_vec()), lines()]);
    assert!(!text.contains("compiler") && text.contains("usable, by lines"), "{text}");
}

#[test]
fn damaged_programs_are_errors() {
    let folder = Folder::new();
    let whole = std::fs::read(testdata("correlate/clang-22-binary.binary")).expect("the program is there");
    for len in [8, 64, 400, whole.len() / 2, whole.len() - 1] {
        folder.write("cut", &whole[..len]);
        let output = folder.try_run("profbridge info cut");
        assert_eq!(output.status.code(), Some(1), "{len}: {}", errors(&output));
    }
    // A PE header without sections.
    let mut pe = vec![0; 0x40];
    pe[..2].copy_from_slice(b"MZ");
    pe[0x3c] = 0x40;
    pe.extend(b"PE\0\0\x64\x86\0\0");
    pe.extend([0; 12]);
    pe.extend([0xf0, 0, 0x22, 0, 0x0b, 2]);
    pe.resize(pe.len() + 0xee, 0);
    folder.write("empty.exe", &pe);
    let output = folder.try_run("profbridge info empty.exe");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("empty.exe: PE executable, X86_64") || output.status.code() == Some(1), "{text}");
    // A class file starts like a Mach-O file of several architectures.
    folder.write("A.class", [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61, 0, 1]);
    assert_eq!(folder.try_run("profbridge info A.class").status.code(), Some(1));
    folder.write("notes.txt", "It was a dark night\n");
    let output = folder.try_run("profbridge doctor notes.txt");
    assert_eq!(output.status.code(), Some(1));
    assert!(!String::from_utf8_lossy(&output.stdout).contains("nothing to do"));
    folder.write("lto.o", b"BC\xc0\xde\x35\x14\0\0");
    let output = folder.try_run("profbridge doctor lto.o");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("lto.o: LLVM bitcode\n"), "{text}");
    assert!(text.contains("link it, and pass the linked program: with -flto, object files are bitcode"), "{text}");
    let described = folder.try_run("profbridge info lto.o");
    let text = String::from_utf8_lossy(&described.stdout).into_owned();
    assert!(text.contains("link it, and pass the linked program, or the profile that it writes"), "{text}");
    let member = |name: &str, bytes: &[u8]| {
        [format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, bytes.len()).as_bytes(), bytes].concat()
    };
    let bitcode = member("lto.o/", b"BC\xc0\xde\x35\x14\0\0");
    folder.write("lto.a", [b"!<arch>\n", bitcode.as_slice()].concat());
    let advice = "link it, and pass the linked program: with -flto, object files are bitcode";
    for (command, words) in
        [("doctor", format!("\nAdvice\n  - {advice}\n")), ("info", format!("  hint          {advice}\n"))]
    {
        let output = folder.run(&format!("profbridge {command} lto.a"));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.starts_with("lto.a: archive of 1 LLVM bitcode file\n"), "{text}");
        assert!(text.ends_with(&words) && !text.contains("instrumented"), "{text}");
    }
    let object = std::fs::read(testdata("correlate/clang-22-binary.binary")).expect("the program is there");
    folder.write("mixed.a", [b"!<arch>\n", bitcode.as_slice(), member("a.o/", &object).as_slice()].concat());
    let output = folder.run("profbridge doctor mixed.a");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("\n  LLVM bitcode  1\n") && text.contains(&format!("- {advice}\n")), "{text}");
    folder.write("cut.elf", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0");
    let output = folder.try_run("profbridge doctor cut.elf");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("- build or copy the program again: the file is damaged or truncated"), "{text}");
}
