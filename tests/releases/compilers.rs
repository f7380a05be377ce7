//! Which compilers there are.

use crate::toolchain::program;
use std::io::Write;

/// Releases that Debian packages, one for each way in which names and hashes
/// differ: enough for every day.
pub const FEW: [u32; 4] = [14, 16, 19, 22];

/// All releases whose profiles cross.
pub const ALL: [u32; 10] = [14, 15, 16, 17, 18, 19, 20, 21, 22, 23];

/// The releases to test whose compiler is there; says loudly which are not.
pub fn releases(test: &str) -> Vec<u32> {
    let wanted = match std::env::var("PROFBRIDGE_RELEASES").as_deref() {
        Ok("all") => ALL.as_slice(),
        _ => FEW.as_slice(),
    };
    let is_there = |release: &u32| {
        let missing: Vec<String> = ["clang", "clang++"]
            .map(|tool| format!("{tool}-{release}"))
            .into_iter()
            .filter(|name| program(name).is_none())
            .collect();
        if !missing.is_empty() {
            skip(test, &format!("{} not installed", missing.join(", ")));
        }
        missing.is_empty()
    };
    let found: Vec<u32> = wanted.iter().copied().filter(is_there).collect();
    if found.len() < 2 {
        skip(test, "there are no two releases to cross");
    }
    found
}

/// Says that `test` is skipped and why.
///
/// Not `eprintln!`: the test harness would swallow that in a test that passes.
pub fn skip(test: &str, reason: &str) {
    let _ = std::io::stderr().write_all(format!("SKIPPED: {test}: {reason}\n").as_bytes());
}
