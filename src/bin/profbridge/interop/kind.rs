//! The kinds of profiles, the programs that write them, and the options of the compilers.

use clap::ValueEnum;
use serde::Serialize;

/// A kind of profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub(super) enum Kind {
    /// IR instrumentation
    Ir,
    /// Front-end instrumentation
    Fe,
    /// Context-sensitive IR instrumentation
    Cs,
    /// Source-based coverage, read by llvm-cov
    Coverage,
    /// Coverage of conditions (MC/DC), read by llvm-cov
    Mcdc,
    /// Vtables of virtual calls
    Vtables,
    /// Order of first calls, read by llvm-profdata order
    Temporal,
    /// Sample profiles
    Sample,
    /// Memory profiles
    Memprof,
}

impl Kind {
    pub(super) const ALL: [Self; 9] = [
        Self::Ir,
        Self::Fe,
        Self::Cs,
        Self::Coverage,
        Self::Mcdc,
        Self::Vtables,
        Self::Temporal,
        Self::Sample,
        Self::Memprof,
    ];

    /// Returns the name on the command line and in JSON.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ir => "ir",
            Self::Fe => "fe",
            Self::Cs => "cs",
            Self::Coverage => "coverage",
            Self::Mcdc => "mcdc",
            Self::Vtables => "vtables",
            Self::Temporal => "temporal",
            Self::Sample => "sample",
            Self::Memprof => "memprof",
        }
    }

    /// Returns the title of the table.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Ir => "IR instrumentation",
            Self::Fe => "front-end instrumentation",
            Self::Cs => "context-sensitive IR instrumentation",
            Self::Coverage => "coverage",
            Self::Mcdc => "coverage of conditions",
            Self::Vtables => "vtables of virtual calls",
            Self::Temporal => "order of first calls",
            Self::Sample => "sample profiles",
            Self::Memprof => "memory profiles",
        }
    }

    /// Returns the first LLVM release whose compiler and llvm-profdata support it.
    pub(super) fn first_llvm(self) -> u32 {
        match self {
            Self::Temporal | Self::Memprof => 17,
            Self::Mcdc => 18,
            Self::Vtables => 19,
            _ => 9,
        }
    }

    /// Returns true if a stable rustc supports it.
    pub(super) fn is_of_rustc(self) -> bool {
        matches!(self, Self::Ir | Self::Coverage)
    }

    /// Returns true if llvm-cov reads the program of the writer, and the compiler of the reader is not used.
    pub(super) fn is_coverage(self) -> bool {
        matches!(self, Self::Coverage | Self::Mcdc)
    }

    /// Returns true if the FuncHash of a function must be that of the reader.
    pub(super) fn has_hashes(self) -> bool {
        matches!(self, Self::Ir | Self::Fe | Self::Cs | Self::Vtables | Self::Temporal)
    }

    /// Returns true if profiles of two compilers are also merged for one of them.
    pub(super) fn is_merged_together(self) -> bool {
        matches!(self, Self::Ir | Self::Fe)
    }

    /// Returns the programs.
    pub(super) fn sources(self) -> &'static [Source] {
        const C_AND_CXX: [Source; 2] = [PROGRAM_C, PROGRAM_CXX];
        const ALL: [Source; 3] = [PROGRAM_C, PROGRAM_CXX, PROGRAM_RUST];
        match self {
            Self::Ir => &ALL,
            Self::Fe => &C_AND_CXX,
            Self::Cs | Self::Temporal | Self::Sample => &[PROGRAM_C],
            Self::Coverage => &[CONDITIONS, PROGRAM_RUST],
            Self::Mcdc => &[CONDITIONS],
            Self::Vtables => &[PROGRAM_CXX],
            Self::Memprof => &[MEMORY],
        }
    }

    /// Returns the options of clang that are the same in all steps.
    pub(super) fn common_options(self) -> &'static [&'static str] {
        match self {
            Self::Coverage | Self::Mcdc => &["-O0"],
            Self::Cs => &["-O2", "-mllvm", "-disable-icp"],
            Self::Memprof => &[
                "-O1",
                "-gmlt",
                "-fdebug-info-for-profiling",
                "-fno-omit-frame-pointer",
                "-fno-optimize-sibling-calls",
            ],
            _ => &["-O1"],
        }
    }

    /// Returns the options of clang that instrument a program.
    pub(super) fn instrumenting_options(self) -> &'static [&'static str] {
        match self {
            Self::Ir | Self::Cs => &["-fprofile-generate"],
            Self::Fe => &["-fprofile-instr-generate"],
            Self::Coverage => &["-fprofile-instr-generate", "-fcoverage-mapping"],
            Self::Mcdc => &["-fprofile-instr-generate", "-fcoverage-mapping", "-fcoverage-mcdc"],
            Self::Vtables => &["-fprofile-generate", "-mllvm", "-enable-vtable-value-profiling"],
            Self::Temporal => &["-fprofile-generate", "-mllvm", "-pgo-temporal-instrumentation"],
            // llvm-profdata finds the program of a memory profile by its build id.
            Self::Memprof => &["-fmemory-profile", "-Wl,--build-id"],
            Self::Sample => &[],
        }
    }

    /// Returns the option of clang that uses a profile, without the name of the file.
    pub(super) fn using_option(self) -> &'static str {
        match self {
            Self::Fe => "-fprofile-instr-use=",
            Self::Sample => "-fprofile-sample-use=",
            Self::Memprof => "-fmemory-profile-use=",
            _ => "-fprofile-use=",
        }
    }

    /// Returns the options of clang that report missing functions and keep the counts of the profile.
    pub(super) fn reporting_options(self) -> &'static [&'static str] {
        match self {
            Self::Fe => &["-Wprofile-instr-missing", "-Wprofile-instr-out-of-date", "-Wprofile-instr-unprofiled"],
            Self::Ir | Self::Cs | Self::Vtables => {
                &["-mllvm", "-pgo-warn-missing-function", "-mllvm", "-pgo-fix-entry-count=false"]
            }
            _ => &[],
        }
    }
}

/// The language of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    C,
    Cxx,
    Rust,
}

/// A program that is compiled and run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    /// The name of the file. Names of local functions contain it in profiles.
    pub(super) file: &'static str,
    pub(super) text: &'static str,
    pub(super) language: Language,
}

/// The file name contains the character that separates it from the names of local functions.
const PROGRAM_C: Source =
    Source { file: "local;names.c", text: include_str!("sources/program.c"), language: Language::C };
const PROGRAM_CXX: Source =
    Source { file: "program.cpp", text: include_str!("sources/program.cpp"), language: Language::Cxx };
const PROGRAM_RUST: Source =
    Source { file: "program.rs", text: include_str!("sources/program.rs"), language: Language::Rust };
const CONDITIONS: Source =
    Source { file: "conditions.c", text: include_str!("sources/conditions.c"), language: Language::C };
const MEMORY: Source = Source { file: "memory.cpp", text: include_str!("sources/memory.cpp"), language: Language::Cxx };

/// The sample profile of the C program, as text.
pub(super) const SAMPLES: &str = include_str!("sources/program.prof");

/// The programs of all kinds.
pub(super) const SOURCES: [Source; 5] = [PROGRAM_C, PROGRAM_CXX, PROGRAM_RUST, CONDITIONS, MEMORY];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_command_line() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_str(kind.name(), false), Ok(kind));
            assert!(kind.sources().iter().all(|source| SOURCES.iter().any(|known| known.file == source.file)));
        }
        assert_eq!(Kind::value_variants(), Kind::ALL);
    }
}
