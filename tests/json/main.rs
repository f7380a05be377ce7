//! What scripts read: documents, exit codes, gates, messages.

mod ci;
mod documents;
mod failures;
mod gates;
mod messages;
mod program;
#[path = "../compat/schema.rs"]
mod schema;
