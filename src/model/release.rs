//! LLVM releases: which file versions each reads and writes, and which
//! toolchains carry it.

/// A major release of LLVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release(pub u32);

impl Release {
    /// The release that this program writes for unless told otherwise.
    pub const DEFAULT: Self = Self(22);
}

impl Default for Release {
    fn default() -> Self {
        Self::DEFAULT
    }
}
