//! Partial merges: whatever the parts and the order in which they are joined,
//! the outcome is that of one merge of all inputs.

mod damaged;
mod families;
#[path = "../indexed/generate.rs"]
mod generate;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../uniformity/generate.rs"]
mod gpu;
mod laws;
mod program;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../sampleprof/generate.rs"]
mod sample_text;

/// What the generator of random texts asks for: no comparison with other tools is made here.
mod oracle {
    pub const BUILT_WITH_LIBCXX: &[u32] = &[];
}
