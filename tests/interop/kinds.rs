//! What each release's compiler writes by every kind of instrumentation becomes
//! what its own tool makes of it. `testdata` has these for the releases that
//! Debian packages; here are the others.

use crate::tools::{Workspace, available};

/// A source, what instruments it, and the first release that can.
const KINDS: [(&str, &str, u32); 13] = [
    ("calc.c", "-O1 -fprofile-generate", 14),
    ("calc.c", "-O1 -fprofile-instr-generate", 14),
    ("calc.c", "-O1 -fprofile-instr-generate -Xclang -mllvm -Xclang -enable-value-profiling=true", 14),
    ("calc.c", "-O1 -fprofile-generate -mllvm -pgo-instrument-entry", 14),
    ("calc.c", "-O1 -fprofile-generate -mllvm -pgo-function-entry-coverage", 14),
    ("calc.c", "-O1 -fprofile-generate -mllvm -pgo-block-coverage", 17),
    ("calc.c", "-O1 -fprofile-generate -mllvm -pgo-temporal-instrumentation", 17),
    ("calc.c", "-O1 -fprofile-generate -mllvm -pgo-instrument-loop-entries", 20),
    ("calc.c", "-O1 -fprofile-generate -Wl,--build-id=sha1", 14),
    ("conditions.c", "-fprofile-instr-generate -fcoverage-mapping", 14),
    ("conditions.c", "-fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc", 18),
    ("shapes.cpp", "-stdlib=libstdc++ -O1 -fprofile-generate -Wl,--build-id=sha1", 14),
    ("shapes.cpp", "-stdlib=libstdc++ -O1 -fprofile-generate -mllvm -enable-vtable-value-profiling", 19),
];

/// Merges the last dump alone and with the first one, with both tools.
fn merge_alike(ws: &Workspace, release: u32, dumps: &[String], with_text: bool) {
    let (first, last) = (&dumps[0], &dumps[dumps.len() - 1]);
    let text = with_text.then(|| format!("--text {last}"));
    let own = format!("merge --for llvm-{release}");
    let mut calls: Vec<(&str, String)> = vec![(&own, last.clone()), (&own, format!("--sparse {last}"))];
    calls.extend(text.map(|line| (own.as_str(), line)));
    // profbridge mode does not merge two kinds.
    let drop_in = format!("llvm-profdata-{release} merge");
    calls.push((&drop_in, format!("--weighted-input=3,{last} --weighted-input=7,{first}")));
    for (call, line) in calls {
        ws.run(&format!("llvm-profdata-{release} merge --num-threads=1 {line} -o theirs"));
        ws.run(&format!("profbridge {call} {line} -o ours"));
        assert!(ws.bytes("ours") == ws.bytes("theirs"), "llvm-{release} makes something else of {line}");
    }
}

fn every_kind_is_merged_as_by(release: u32) {
    let (clang, profdata) = (format!("clang-{release}"), format!("llvm-profdata-{release}"));
    let cxx = format!("clang++-{release}");
    if !available(&format!("kinds of {clang}"), &[&clang, &cxx, &profdata]) {
        return;
    }
    let ws = Workspace::with(&["calc.c", "conditions.c", "shapes.cpp"]);
    let mut dumps = Vec::new();
    for (number, (source, flags, since)) in KINDS.into_iter().enumerate() {
        if release < since {
            continue;
        }
        let compiler = if source.ends_with(".cpp") { &cxx } else { &clang };
        ws.run(&format!("{compiler} {flags} {source} -o program"));
        let dump = format!("kind-{number}.profraw");
        ws.train("./program 50 3", &dump);
        dumps.push(dump);
        // Our text names vtables, for which LLVM writes that it does not know them.
        merge_alike(&ws, release, &dumps, !flags.contains("vtable"));
    }
    let first = dumps.first().expect("a dump was written").clone();
    ws.run(&format!("{profdata} merge {first} -o first.profdata"));
    ws.run(&format!("{clang} -O2 -fprofile-use=first.profdata -fcs-profile-generate calc.c -o program"));
    ws.train("./program 400 3", "second.profraw");
    merge_alike(&ws, release, &[first, "second.profraw".to_string()], true);
}

#[test]
fn every_kind_is_merged_as_by_llvm_17() {
    every_kind_is_merged_as_by(17);
}

#[test]
fn every_kind_is_merged_as_by_llvm_18() {
    every_kind_is_merged_as_by(18);
}

#[test]
fn every_kind_is_merged_as_by_llvm_20() {
    every_kind_is_merged_as_by(20);
}

#[test]
fn every_kind_is_merged_as_by_llvm_21() {
    every_kind_is_merged_as_by(21);
}

#[test]
fn every_kind_is_merged_as_by_llvm_23() {
    every_kind_is_merged_as_by(23);
}

/// Tools of earlier releases take loop entries for other counters, without an error.
#[test]
fn doctor_names_the_tools_that_know_the_properties_of_a_program() {
    let tools = ["clang-22", "llvm-profdata-19", "llvm-profdata-22"];
    if !available("tools for loop entries", &tools) {
        return;
    }
    let ws = Workspace::with(&["calc.c"]);
    for (flags, expected) in [("", [true, true]), ("-mllvm -pgo-instrument-loop-entries", [false, true])] {
        ws.run(&format!("clang-22 -O1 -fprofile-generate {flags} calc.c -o program"));
        let output = ws.run("profbridge doctor program");
        let named = String::from_utf8_lossy(&output.stdout);
        let is_named = ["19", "22"].map(|release| named.contains(&format!("/llvm-profdata-{release}\n")));
        assert_eq!(is_named, expected, "{flags}: {named}");
    }
}
