//! clang optimises with our profiles as with those of llvm-profdata.

use crate::tools::{Workspace, available};

/// Out-of-date or missing counts end the compilation.
const STRICT: &str = "-Werror=profile-instr-out-of-date -Werror=profile-instr-unprofiled";

/// Merges `inputs` with both tools and asserts the same bytes.
fn merge_alike(ws: &Workspace, release: u32, inputs: &str) {
    ws.run(&format!("llvm-profdata-{release} merge --num-threads=1 {inputs} -o theirs.profdata"));
    ws.run(&format!("profbridge merge --for llvm-{release} {inputs} -o ours.profdata"));
    ws.assert_same("ours.profdata", "theirs.profdata");
}

/// Compiles with our profile, with theirs and with none: the first two give
/// the same object, and it is not that of the third.
fn compile_alike(ws: &Workspace, compiler: &str, flags: &str, use_flag: &str, source: &str) {
    for whose in ["ours", "theirs"] {
        let output =
            ws.run(&format!("{compiler} {flags} {STRICT} {use_flag}={whose}.profdata -c {source} -o {whose}.o"));
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!messages.contains("profile"), "{compiler} complains: {messages}");
    }
    ws.run(&format!("{compiler} {flags} -c {source} -o without.o"));
    ws.assert_same("ours.o", "theirs.o");
    assert_ne!(ws.bytes("ours.o"), ws.bytes("without.o"), "the profile changed nothing");
}

/// Trains a program twice and compiles it again with both profiles.
fn optimise_alike(release: u32, source: &str, instrument: &str, use_flag: &str) {
    let compiler = if source.ends_with(".cpp") { format!("clang++-{release}") } else { format!("clang-{release}") };
    let profdata = format!("llvm-profdata-{release}");
    if !available(&format!("{compiler} {instrument}"), &[&compiler, &profdata]) {
        return;
    }
    let ws = Workspace::with(&[source]);
    ws.run(&format!("{compiler} -O2 {instrument} {source} -o trained"));
    ws.train("./trained 100 3", "a.profraw");
    ws.train("./trained 7000 9", "b.profraw");
    merge_alike(&ws, release, "a.profraw b.profraw");
    compile_alike(&ws, &compiler, "-O2", use_flag, source);
}

#[test]
fn ir_profiles_optimise_alike() {
    optimise_alike(22, "calc.c", "-fprofile-generate", "-fprofile-use");
}

#[test]
fn ir_profiles_of_cxx_with_virtual_calls_optimise_alike() {
    optimise_alike(22, "shapes.cpp", "-fprofile-generate", "-fprofile-use");
}

#[test]
fn vtable_profiles_optimise_alike() {
    optimise_alike(22, "shapes.cpp", "-fprofile-generate -mllvm -enable-vtable-value-profiling", "-fprofile-use");
}

#[test]
fn front_end_profiles_optimise_alike() {
    optimise_alike(22, "calc.c", "-fprofile-instr-generate", "-fprofile-instr-use");
}

#[test]
fn other_releases_accept_profiles_written_for_them() {
    for release in (13..=21).chain([23]) {
        optimise_alike(release, "calc.c", "-fprofile-generate", "-fprofile-use");
        optimise_alike(release, "calc.c", "-fprofile-instr-generate", "-fprofile-instr-use");
    }
    for release in [17, 18, 20, 21, 23] {
        optimise_alike(
            release,
            "shapes.cpp",
            "-stdlib=libstdc++ -fprofile-generate",
            "-stdlib=libstdc++ -fprofile-use",
        );
    }
}

#[test]
fn context_sensitive_second_pass_optimises_alike() {
    if !available("context-sensitive second pass", &["clang-22", "llvm-profdata-22"]) {
        return;
    }
    let ws = Workspace::with(&["calc.c"]);
    ws.run("clang-22 -O2 -fprofile-generate calc.c -o first");
    ws.train("./first 400 3", "first.profraw");
    merge_alike(&ws, 22, "first.profraw");
    std::fs::rename(ws.path("ours.profdata"), ws.path("first.profdata")).expect("file can be renamed");
    ws.run(&format!("clang-22 -O2 {STRICT} -fprofile-use=first.profdata -fcs-profile-generate calc.c -o second"));
    ws.train("./second 400 3", "second.profraw");
    merge_alike(&ws, 22, "first.profdata second.profraw");
    compile_alike(&ws, "clang-22", "-O2", "-fprofile-use", "calc.c");
}

#[test]
fn many_runs_give_the_genuine_bytes_for_every_number_of_threads() {
    if !available("many runs", &["clang-22", "llvm-profdata-22"]) {
        return;
    }
    let ws = Workspace::with(&["calc.c"]);
    ws.run("clang-22 -O1 -fprofile-generate calc.c -o trained");
    let names: Vec<String> = (0..24).map(|run| format!("run-{run}.profraw")).collect();
    for (run, name) in names.iter().enumerate() {
        ws.train(&format!("./trained {} {}", run * run * 31, run % 9 + 1), name);
    }
    let inputs = names.join(" ");
    ws.run(&format!("llvm-profdata-22 merge --num-threads=1 {inputs} -o theirs.profdata"));
    for threads in [1, 2, 3, 5, 24] {
        ws.run(&format!("profbridge merge --for llvm-22 --num-threads={threads} {inputs} -o ours.profdata"));
        ws.assert_same("ours.profdata", "theirs.profdata");
    }
}
