//! iprof from outside: the test data, the findings, the program.

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

/// A file of `testdata/iprof`.
fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/iprof").join(name)
}
