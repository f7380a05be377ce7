//! Tests that the bytes equal those of llvm-profdata 23.

use crate::files::{Shape, difference, merged, random_inputs};
use crate::toolchain;
use profbridge::input::WeightedInput;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `PROFBRIDGE_CASES` sets a larger number.
fn cases() -> u64 {
    std::env::var("PROFBRIDGE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(25)
}

fn tool() -> Option<PathBuf> {
    let program = toolchain::program("llvm-profdata-23");
    if program.is_none() {
        // Not `eprintln!`, because the test harness hides that in a test that passes.
        let _ = std::io::stderr().write_all(b"SKIPPED: merges of uniform counts: llvm-profdata-23 is not installed\n");
    }
    program
}

fn genuine(tool: &Path, inputs: &[WeightedInput], shape: Shape, out: &Path) -> Vec<u8> {
    let mut command = Command::new(tool);
    command.args(["merge", "--num-threads=1", "-o"]).arg(out);
    match shape {
        Shape::Indexed => {}
        Shape::Sparse => drop(command.arg("--sparse")),
        Shape::Text => drop(command.arg("--text")),
        Shape::Previous => drop(command.arg("--write-prev-version")),
    }
    for input in inputs {
        command.arg(format!("--weighted-input={},{}", input.weight, input.path.display()));
    }
    let run = command.output().expect("the tool can be run");
    assert!(run.status.success(), "{command:?}: {}", String::from_utf8_lossy(&run.stderr));
    std::fs::read(out).expect("the tool wrote its output")
}

#[test]
fn random_merges_give_the_genuine_bytes() {
    let Some(tool) = tool() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    for seed in 0..cases() {
        let inputs = random_inputs(folder.path(), seed);
        for shape in Shape::ALL {
            let theirs = genuine(&tool, &inputs, shape, &folder.path().join("out"));
            for threads in [1, 2] {
                let ours = merged(&inputs, shape, threads);
                if ours != theirs {
                    let kept = folder.keep();
                    std::fs::write(kept.join("ours"), &ours).expect("file can be written");
                    panic!("case {seed} {shape:?} in {}: {inputs:?} {}", kept.display(), difference(&ours, &theirs));
                }
            }
        }
    }
}

#[test]
fn the_two_largest_hashes_are_hashes_as_any_other() {
    let Some(tool) = tool() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let input = folder.path().join("in.proftext");
    let record = |hash: u64| format!("f\n{hash}\n1\n{}\n\n", hash % 1000);
    let records = [5, u64::MAX, 6, u64::MAX - 1, 7].map(record).concat();
    std::fs::write(&input, format!(":ir\n{records}")).expect("file can be written");
    let inputs = [WeightedInput::new(&input)];
    for shape in Shape::ALL {
        let theirs = genuine(&tool, &inputs, shape, &folder.path().join("out"));
        let ours = merged(&inputs, shape, 1);
        assert!(ours == theirs, "{shape:?}: {}", difference(&ours, &theirs));
    }
}
