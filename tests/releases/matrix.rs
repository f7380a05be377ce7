//! Every cell of `profbridge interop` holds, and the measurement sees the losses that are known.

use crate::comparison::Comparison;
use crate::compilers::{releases, skip};
use crate::toolchain::program;
use serde_json::Value;

/// From here on a large hash of the front end has no bits above the sixtieth.
const FOURTH_ALGORITHM: u32 = 22;

/// Returns the release in the name of a toolchain, such as `clang-19`.
pub fn release(toolchain: &Value) -> u32 {
    let name = toolchain.as_str().expect("a name");
    name.rsplit('-').next().and_then(|release| release.parse().ok()).unwrap_or_else(|| panic!("{name}"))
}

/// Returns the faults of the cells of a kind, of which each writer counts at least `least` functions.
fn faults(comparison: &Comparison, least: u64) -> Vec<String> {
    let mut faults = Vec::new();
    for cell in comparison.cells().filter(|cell| !cell["holds"].is_null()) {
        let (kind, through, direct) = (&cell["kind"], &cell["through"], &cell["direct"]);
        let (writer, reader) = (release(&cell["writer"]), release(&cell["reader"]));
        let number = |outcome: &Value, member: &str| outcome[member].as_u64().expect("a number");
        let has_hashes_of_clang = ["fe", "coverage", "mcdc"].iter().any(|name| kind == name);
        let is_lost = has_hashes_of_clang && writer >= FOURTH_ALGORITHM && reader < FOURTH_ALGORITHM;
        let lost = number(through, "lost");
        let used = number(through, "used");
        let total = number(through, "total");
        let mut expect = |is_met: bool, fact: &str| {
            if !is_met {
                faults.push(format!("{fact}: {cell}"));
            }
        };
        expect(cell["holds"] == true, "the cell holds");
        expect(total >= least, "enough functions are counted");
        let least_lost = if kind == "fe" { 8 } else { 1 };
        // llvm-cov lists functions that the program under test runs; `merge` reports losses among all functions.
        let is_complete =
            if kind == "coverage" || kind == "mcdc" { used + lost >= total } else { used + lost == total };
        expect(is_complete, "each function is used or reported as lost");
        expect(if is_lost { lost >= least_lost } else { lost == 0 }, "losses are those of hashes");
        let together = &cell["together"];
        let is_together = writer != reader && (kind == "ir" || kind == "fe");
        expect(together.is_object() == is_together, "profiles of both compilers are merged");
        expect(!is_together || together["used"] == together["total"], "merged counts are sums");
        if writer == reader {
            expect(direct["used"] == direct["total"], "a compiler uses its own profile");
        }
        let same_raw_version = [19, 20, 21, 22].contains(&writer) && [19, 20, 21, 22].contains(&reader);
        if kind == "fe" && same_raw_version && (writer < FOURTH_ALGORITHM) != (reader < FOURTH_ALGORITHM) {
            expect(number(direct, "used") < number(direct, "total"), "large functions are lost directly");
        }
    }
    faults
}

fn every_cell_holds(kind: &str, least: u64) {
    let releases = releases(&format!("profiles of kind {kind}"));
    if releases.len() < 2 {
        return;
    }
    let toolchains: Vec<String> = releases.iter().map(|release| format!("clang-{release}")).collect();
    let comparison = Comparison::new(&toolchains, kind);
    let faults = faults(&comparison, least);
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    let cells = comparison.document["cells"].as_u64().expect("a number");
    assert!(cells > 0 && cells == comparison.document["holding"], "{cells}");
}

#[test]
fn ir_profiles_are_used_across_releases() {
    every_cell_holds("ir", 20);
}

#[test]
fn front_end_profiles_are_used_across_releases() {
    every_cell_holds("fe", 20);
}

#[test]
fn other_kinds_are_used_across_releases() {
    every_cell_holds("cs,coverage,mcdc,vtables,temporal,sample,memprof", 2);
}

#[test]
fn profiles_of_rustc_are_used_by_rustc_and_llvm_cov() {
    if program("rustc").is_none() {
        return skip("profiles of rustc", "rustc not installed");
    }
    let comparison = Comparison::new(&["rustc".to_string()], "ir,coverage");
    for cell in comparison.cells() {
        if cell["through"]["status"] == "unsupported" {
            skip("profiles of rustc", &cell["through"]["reason"].to_string());
            continue;
        }
        let used = cell["through"]["used"].as_u64().expect("a number");
        assert!(cell["holds"] == true && used >= 9, "{cell}");
    }
}
