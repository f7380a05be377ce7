//! Tests of pprof profiles: files of Go's runtime, from `testdata/pprof`, and our files in Go's own tools.

mod commands;
mod golang;
mod malformed;
#[path = "../compat/schema.rs"]
mod schema;
mod support;
