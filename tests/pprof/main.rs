//! pprof profiles: those that Go's runtime wrote, from `testdata/pprof`, and
//! what Go's own tools make of ours.

mod commands;
mod golang;
mod malformed;
#[path = "../compat/schema.rs"]
mod schema;
mod support;
