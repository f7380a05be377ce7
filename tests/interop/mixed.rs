//! Profiles of several compilers in one command, written for a chosen release.

use crate::tools::{Workspace, available};

const PROGRAMS: &[&str] = &[
    "clang-14",
    "clang-16",
    "llvm-profdata-14",
    "llvm-profdata-16",
    "llvm-profdata-22",
    "llvm-cov-14",
    "llvm-cov-16",
    "llvm-cov-22",
    "rustc",
];

/// Programs of clang 14, clang 16 and rustc, all run once. The genuine tools
/// can only meet over text: each reads its own release's raw profiles.
fn programs_of_three_compilers() -> Workspace {
    let ws = Workspace::with(&["conditions.c", "shapes.cpp", "words.rs"]);
    let coverage = "-fprofile-instr-generate -fcoverage-mapping";
    ws.run(&format!("clang-14 {coverage} conditions.c -o by-clang-14"));
    ws.run(&format!("clang++-16 {coverage} shapes.cpp -o by-clang-16"));
    ws.run("rustc --edition 2021 -Cinstrument-coverage words.rs -o by-rustc");
    for (program, profdata) in [("by-clang-14", 14), ("by-clang-16", 16), ("by-rustc", 22)] {
        ws.train(&format!("./{program}"), &format!("{program}.profraw"));
        ws.run(&format!("llvm-profdata-{profdata} merge --text {program}.profraw -o {program}.proftext"));
    }
    ws
}

#[test]
fn profiles_of_three_compilers_serve_the_chosen_release() {
    if !available("mixed compilers", PROGRAMS) {
        return;
    }
    let ws = programs_of_three_compilers();
    for (release, program) in [(14, "by-clang-14"), (16, "by-clang-16"), (22, "by-rustc")] {
        ws.run(&format!(
            "profbridge merge --for llvm-{release} by-clang-14.profraw by-clang-16.profraw by-rustc.profraw -o ours.profdata"
        ));
        ws.run(&format!(
            "llvm-profdata-{release} merge --num-threads=1 by-clang-14.proftext by-clang-16.proftext by-rustc.proftext -o theirs.profdata"
        ));
        let report = |whose: &str| {
            ws.run(&format!("llvm-cov-{release} export {program} -instr-profile={whose}.profdata")).stdout
        };
        let ours = report("ours");
        assert_eq!(ours, report("theirs"), "{program}");
        assert!(String::from_utf8_lossy(&ours).contains("\"count\""), "{program} is in the report");
    }
}
