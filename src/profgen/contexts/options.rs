//! Options of profiles with calling contexts.

use crate::sampleprof::{Layout, Threshold};

/// The sizes up to which functions are inlined. The defaults are those of llvm-profgen.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct InlineSizes {
    /// The size at the hottest calls, in hundreds of bytes.
    pub hot: i32,
    /// The size at cold calls, in bytes.
    pub cold: i32,
    /// The factor for functions that the program has inlined, except before LLVM 17.
    pub factor_of_inlined: i32,
    /// The factor that limits the growth of a function.
    pub growth: i32,
    /// The least limit of the size of a function with its inlined callees.
    pub least_limit: i32,
    /// The highest limit of this size, unless it is below the least one. `None` for that of the release.
    pub highest_limit: Option<i32>,
}

impl Default for InlineSizes {
    fn default() -> Self {
        Self { hot: 1500, cold: 0, factor_of_inlined: 100, growth: 12, least_limit: 100, highest_limit: None }
    }
}

/// Options of profiles with calling contexts.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ContextOptions {
    /// The number of frames that contexts keep, without the function itself.
    pub most_frames: usize,
    /// The number of calls that contexts of a program with pseudo-probes keep, before inlined functions count.
    pub most_address_frames: usize,
    /// The longest sequence of frames of which repetitions are left out.
    pub longest_repetition: usize,
    /// The number of frames that are inferred in a row, where tail calls removed them. Only programs with pseudo-probes need
    /// them. 0 for none.
    pub most_inferred: usize,
    /// Whether to decide about inlining. The contexts of functions that are not inlined are merged.
    pub preinline: bool,
    /// Whether the size of a function for this decision is that of its code, not its number of places.
    pub by_code_size: bool,
    /// Whether functions are inlined where the program has inlined them.
    pub replay_inlining: bool,
    /// The sizes up to which functions are inlined.
    pub inline_sizes: InlineSizes,
    /// Whether to merge contexts that are not hot into shorter ones.
    pub merge_cold: bool,
    /// The number of frames that merged contexts keep, with the function itself.
    pub cold_frames: usize,
    /// Whether to remove contexts that are not hot; functions, if the pre-inliner has merged contexts.
    pub trim_cold: bool,
    /// The total from which a context is hot.
    pub hot: Threshold,
    /// The samples of calls that are too few for inlining.
    pub cold: Threshold,
    /// The layout of the result; `None` keeps contexts.
    pub layout: Option<Layout>,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self {
            most_frames: usize::MAX,
            most_address_frames: usize::MAX,
            longest_repetition: usize::MAX,
            most_inferred: usize::MAX,
            preinline: true,
            by_code_size: true,
            replay_inlining: false,
            inline_sizes: InlineSizes::default(),
            merge_cold: false,
            cold_frames: 1,
            trim_cold: false,
            hot: Threshold::HOT,
            cold: Threshold::COLD,
            layout: Some(Layout::Nest { merged_base: false }),
        }
    }
}
