//! What programs and libraries tell of their functions.

mod coverage_map;
mod data_records;
mod probe_descriptors;
mod producer;
mod program;
mod sampled;
mod source_lines;

pub use program::read_program;
pub use sampled::read_sampled_program;
