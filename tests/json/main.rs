//! Tests of the output for scripts: documents, exit codes, thresholds, messages.

mod ci;
mod documents;
mod failures;
mod gates;
mod messages;
mod program;
#[path = "../compat/schema.rs"]
mod schema;
