//! What people see of a sample profile: llvm-profdata's listings.

mod hot;
mod json;
mod text;

pub use hot::write_hot_functions;
pub use json::write_json;
pub use text::{write_function, write_functions, write_records, write_summary, write_symbols};
