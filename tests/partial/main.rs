//! Tests of partial merges: with any split and any order, the result is that of one merge of all inputs.

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

/// The generator of random text profiles needs this module. These tests do not compare with other tools.
mod oracle {
    pub const BUILT_WITH_LIBCXX: &[u32] = &[];
}
