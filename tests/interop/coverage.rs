//! llvm-cov makes the same reports of our profiles as of llvm-profdata's.

use crate::tools::{Workspace, available};

/// Trains a program built with coverage, merges, and compares all `reports`.
fn report_alike(release: u32, flags: &str, reports: &[&str], expected: &str) {
    let (clang, profdata, cov) =
        (format!("clang-{release}"), format!("llvm-profdata-{release}"), format!("llvm-cov-{release}"));
    if !available(&format!("{cov} {flags}"), &[&clang, &profdata, &cov]) {
        return;
    }
    let ws = Workspace::with(&["conditions.c"]);
    ws.run(&format!("{clang} -fprofile-instr-generate -fcoverage-mapping {flags} conditions.c -o covered"));
    ws.train("./covered 3", "a.profraw");
    ws.train("./covered 1", "b.profraw");
    ws.run(&format!("{profdata} merge --num-threads=1 a.profraw b.profraw -o theirs.profdata"));
    ws.run(&format!("profbridge merge --for llvm-{release} a.profraw b.profraw -o ours.profdata"));
    ws.assert_same("ours.profdata", "theirs.profdata");
    let mut all = String::new();
    for report in reports {
        let make = |whose: &str| ws.run(&format!("{cov} {report} covered -instr-profile={whose}.profdata")).stdout;
        let ours = make("ours");
        assert_eq!(ours, make("theirs"), "{cov} {report}");
        all.push_str(&String::from_utf8_lossy(&ours));
    }
    assert!(all.contains(expected), "no {expected} in the reports of {cov} {flags}:\n{all}");
}

#[test]
fn coverage_reports_are_the_same() {
    for release in [13, 14, 15, 16, 19, 22, 23] {
        report_alike(release, "", &["export", "show", "report"], "\"functions\"");
    }
}

#[test]
fn mcdc_reports_are_the_same() {
    for release in [19, 22, 23] {
        report_alike(
            release,
            "-fcoverage-mcdc",
            &["export", "show --show-mcdc --show-branches=count", "report --show-mcdc-summary"],
            "MC/DC Decision Region",
        );
    }
}

#[test]
fn reports_of_single_byte_coverage_are_the_same() {
    report_alike(22, "-mllvm -enable-single-byte-coverage=true", &["export", "report"], "\"functions\"");
}
