//! Partial merges: whatever the parts and the order in which they are joined,
//! the outcome is that of one merge of all inputs.

#[path = "../indexed/generate.rs"]
mod generate;
mod laws;
mod program;

/// What the generator of random texts asks for: no comparison with other tools is made here.
mod oracle {
    pub const BUILT_WITH_LIBCXX: &[u32] = &[];
}
