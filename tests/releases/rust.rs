//! Coverage of Rust programs: the hashes are rustc's own for every reader.

use crate::compilers::{ALL, skip};
use crate::toolchain::program;
use crate::workspace::{Case, Desk, names_and_hashes};

#[test]
fn coverage_of_rustc_keeps_its_hashes_for_every_release() {
    if program("rustc").is_none() {
        return skip("coverage of rustc", "rustc not installed");
    }
    let desk = Desk::new(Case { source: "program.rs", name: "program.rs", is_front_end: true });
    let dump = desk.train_rust();
    let written = desk.names_and_hashes(&dump);
    assert!(written.len() >= 10, "{written:?}");
    let large = written.iter().filter(|(_, hash)| hash >> 60 != 0).count();
    assert!(large >= 5, "hashes of all 64 bits: {written:?}");
    for release in ALL {
        for policy in ["keep", "reader"] {
            let hashes = format!("--hashes={policy}");
            let line = ["--for", &format!("llvm-{release}"), &hashes, &dump, "-o", "crossed.profdata", "--strict"];
            desk.merge(&line);
            assert_eq!(desk.names_and_hashes("crossed.profdata"), written, "for LLVM {release} with {hashes}");
        }
        desk.merge(&["--for", &format!("llvm-{release}"), "--text", &dump, "-o", "crossed.proftext"]);
        let text = std::fs::read_to_string(desk.path("crossed.proftext")).expect("text was written");
        assert_eq!(names_and_hashes(&text), written, "text for LLVM {release}");
    }
}
