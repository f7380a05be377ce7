//! clang reads the same counts from a profile that an iprof was merged into.

use crate::tools::{Workspace, available};
use std::path::Path;

/// Branch weights and entry counts in the order of the program.
fn weights(ws: &Workspace, use_flag: &str, profile: &str) -> Vec<String> {
    let flags = "-Werror=profile-instr-out-of-date -Werror=profile-instr-unprofiled";
    let output = ws.run(&format!("clang-22 -O1 {flags} {use_flag}={profile} -S -emit-llvm calc.c -o -"));
    let module = String::from_utf8(output.stdout).expect("LLVM IR is text");
    let nodes = module.lines().filter_map(|line| line.strip_prefix('!')?.split_once(" = "));
    let counts = nodes.filter(|(_, node)| node.contains("branch_weights") || node.contains("function_entry_count"));
    let weights: Vec<String> = counts.map(|(_, node)| node.to_string()).collect();
    assert!(weights.len() > 5, "{weights:?}");
    weights
}

/// Trains a program and merges its profile with iprof files.
fn weights_stay(instrument: &str, use_flag: &str) {
    if !available(&format!("clang-22 {instrument}"), &["clang-22"]) {
        return;
    }
    let ws = Workspace::with(&["calc.c"]);
    ws.run(&format!("clang-22 -O1 {instrument} calc.c -o trained"));
    ws.train("./trained 400 3", "a.profraw");
    ws.run("profbridge merge a.profraw -o plain.profdata --for llvm-22");
    let plain = weights(&ws, use_flag, "plain.profdata");
    for name in ["even-or-odd", "fibonacci", "statistics"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("testdata/iprof/{name}.iprof"));
        std::fs::copy(from, ws.path("java.iprof")).expect("testdata can be copied");
        for target in ["llvm-22", "llvm-19"] {
            ws.run(&format!("profbridge merge java.iprof a.profraw -o mixed.profdata --for {target}"));
            // A later merge sees an LLVM profile alone.
            ws.run("profbridge merge mixed.profdata -o again.profdata --for llvm-22");
            for profile in ["mixed.profdata", "again.profdata"] {
                // LLVM 22 computes other hashes in the front end than 19.
                if target == "llvm-22" || !use_flag.contains("instr") {
                    assert_eq!(weights(&ws, use_flag, profile), plain, "{instrument}: {name} for {target}, {profile}");
                }
            }
        }
    }
    ws.run("profbridge convert plain.profdata -o p.iprof");
    ws.run("profbridge merge p.iprof a.profraw -o both.profdata --for llvm-22");
    ws.run("profbridge merge a.profraw a.profraw -o twice.profdata --for llvm-22");
    ws.assert_same("both.profdata", "twice.profdata");
}

#[test]
fn an_iprof_leaves_the_weights_of_ir_profiles() {
    weights_stay("-fprofile-generate", "-fprofile-use");
}

#[test]
fn an_iprof_leaves_the_weights_of_entry_first_profiles() {
    weights_stay("-fprofile-generate -mllvm -pgo-instrument-entry", "-fprofile-use");
}

#[test]
fn an_iprof_leaves_the_weights_of_front_end_profiles() {
    weights_stay("-fprofile-instr-generate", "-fprofile-instr-use");
}
