//! Tests of iprof through the public interface: test data, findings, and the program.

mod examples;
mod findings;
mod merging;
mod pipes;
mod program;
#[path = "../compat/schema.rs"]
mod schema;
mod statistics;
mod users;

use std::path::PathBuf;

/// The path of a file in `testdata/iprof`.
fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/iprof").join(name)
}
