//! The families of profiles.

/// A family of profiles: formats with a common model, which can be merged with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Family {
    /// LLVM instrumentation profiles: raw, indexed, text.
    Instr,
    /// LLVM sample profiles.
    SampleProf,
    /// LLVM memory profiles in files of their own.
    MemProf,
    /// GraalVM iprof.
    Iprof,
    /// Sampled stacks: recordings, collapsed text, pprof.
    Stacks,
}

impl Family {
    /// All families.
    pub const ALL: &'static [Self] = &[Self::Instr, Self::SampleProf, Self::MemProf, Self::Iprof, Self::Stacks];

    /// Returns the stable name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Instr => "instr",
            Self::SampleProf => "sampleprof",
            Self::MemProf => "memprof",
            Self::Iprof => "iprof",
            Self::Stacks => "stacks",
        }
    }

    /// Returns the name of the family's files in messages.
    pub fn words(self) -> &'static str {
        match self {
            Self::Instr => "LLVM instrumentation profiles",
            Self::SampleProf => "LLVM sample profiles",
            Self::MemProf => "LLVM memory profiles",
            Self::Iprof => "iprof files",
            Self::Stacks => "sampled stacks",
        }
    }
}
