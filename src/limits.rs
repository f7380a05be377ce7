//! Bounds on what an input may make us do, asked before each allocation.
//!
//! Sizes inside a file are compared with the bytes that are there first;
//! these limits bound what a small file can expand to.

/// Bounds on hostile or broken input. The defaults fit every real profile known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes that one compressed section may inflate to. Default: 1 GiB.
    pub inflated_bytes: u64,
    /// Inflated bytes per compressed byte; deflate cannot exceed about 1032. Default: 1100.
    pub inflate_ratio: u64,
    /// Bytes read from a pipe or a gzip stream, where no file size bounds them. Default: 16 GiB.
    pub stream_bytes: u64,
    /// Bytes of one name. Default: 16 MiB.
    pub name_bytes: u64,
    /// Levels of nested JSON. Default: 256.
    pub json_depth: u32,
    /// Frames of one calling context. Default: 4096.
    pub context_depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            inflated_bytes: 1 << 30,
            inflate_ratio: 1100,
            stream_bytes: 16 << 30,
            name_bytes: 16 << 20,
            json_depth: 256,
            context_depth: 4096,
        }
    }
}
