//! Hints as data. A program can phrase them with the names of its own commands and options.

use std::borrow::Cow;
use std::fmt;

/// A hint. Its displayed text is valid for every caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hint {
    /// A text that is the same for every caller.
    Text(Cow<'static, str>),
    /// The selected samples do not measure time, but an iprof needs time: record other events, or convert them anyway.
    RecordTime,
    /// The values do not measure time, but an iprof needs time: treat them as sample counts.
    AcceptWeights,
    /// A text has two lines per sample, as `perf script` writes them without folding.
    ReadPerfScript,
    /// The inputs count different things: choose the value, or a common weight.
    ChooseValue,
    /// The selected samples count different things: choose one event type, or count each sample as one.
    ChooseSort,
    /// Check the file to find out what it can be used for.
    Check,
    /// Check the file to list all of its faults.
    CheckForMore,
    /// The input is a memory profile, but an LLVM instrumentation profile was expected.
    ShowOrMergeMemory,
    /// A memory profile cannot be compared with a build, but with another memory profile.
    DiffMemory,
    /// The input is an iprof, but an LLVM profile was expected.
    ConvertToLlvm,
    /// The input is a recording, but a profile was expected.
    ConvertToIprof,
    /// An LLVM profile occurs among iprof files.
    ConvertToIprofFirst,
    /// A recording or pprof must be converted to iprof to be compared with a new build.
    CompareAsIprof,
    /// The input contains stacks, but an LLVM profile was expected.
    ShowStacks,
    /// Some inputs cannot be read. The others can be merged without them.
    AllowFailures,
    /// An empty result can be written on request.
    AllowEmpty,
    /// The inputs have several kinds, but a file can store only one.
    MergeOneKind,
    /// Data that cannot be stored can be dropped, and is listed.
    AllowLosses,
    /// Data that cannot be converted can be dropped, and is listed.
    AllowLeavingOut,
    /// A profile that compilers use only in part can be written, with a warning.
    AllowUnused,
    /// An iprof with LLVM records supports only integer weights.
    WholeWeights,
    /// The first argument is the profile, the second the new build.
    ProfileComesFirst,
    /// Records of one function have two hashes. For optimization, the hashes of the target merge them.
    UniteHashes,
    /// The hashes are those of an earlier release than the reader of the output.
    FollowReader,
    /// An input does not identify its program, but all inputs must be from one program.
    LinkWithBuildId,
    /// A profile that a partial merge holds occurs in another input, too: it may be counted twice.
    AllowDuplicates,
    /// A partial merge of recordings becomes a profile only with the program that was sampled.
    NameTheProgram,
    /// Recordings can be written as stacks, or as a sample profile with the program that was sampled.
    StacksOrProgram,
    /// Calling contexts cannot be written, but the profile can be nested.
    NestContexts,
    /// The output would replace a file that is not an earlier output.
    ReplaceFile,
    /// A flame graph was requested where a profile is written.
    DrawIt,
    /// A report was requested where a profile is written.
    ReportIt,
    /// JSON was requested for a profile that is not an iprof.
    MakeIprofOrShow,
    /// The toolchain is not in the release table.
    ListReleases,
    /// The toolchain is newer than those in the release table.
    NameLlvmRelease {
        /// The newest known release of LLVM.
        newest: &'static str,
    },
    /// The inputs belong to two families: choose the output.
    ChooseFamily,
    /// Several inputs were given where one is needed: merge them first.
    MergeFirst,
    /// An LLVM profile has no stacks to draw.
    ReportFunctions,
    /// An iprof without samples and call counts.
    ReportBranches,
    /// An iprof with errors.
    Repair,
    /// A truncated iprof.
    RepairSalvage,
    /// An iprof of an unknown version.
    RepairAssumeVersion,
    /// An iprof with several sections of one name.
    RepairJoinSections,
    /// An iprof of a later major version.
    LayOutAnew,
    /// The version cannot store some sections.
    ChooseSections,
    /// Branch lists of the inputs conflict.
    ResolveClashes,
    /// An iprof and its LLVM records contradict each other.
    ChooseTrusted,
    /// The program of a raw memory profile is missing. It has one of these build ids.
    NameProgram {
        /// Build ids in hexadecimal.
        build_ids: Vec<String>,
    },
    /// An input exceeds one of the [`Limits`](crate::Limits).
    RaiseLimit {
        /// The name of the limit.
        name: &'static str,
    },
    /// Call stacks exceed the total number of frames in [`Limits`](crate::Limits).
    AllowFrames,
    /// A raw profile without records of its own.
    GiveImage {
        /// The required part of the image; `None` if the profile does not show it.
        part: Option<ImagePart>,
        /// Its build id in hexadecimal, if the profile contains it.
        build_id: Option<String>,
    },
    /// None of the given images wrote the profile.
    GiveImageAsWell(ImagePart),
    /// An image does not contain this part, perhaps because it was built for the other one.
    BuildForPart(ImagePart),
}

/// The part of an image that completes a raw profile without records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImagePart {
    /// Its debug info.
    DebugInfo,
    /// Its sections. A stripped image has none.
    Sections,
}

impl Hint {
    /// Returns the noun phrase for the image that a [`GiveImage`](Self::GiveImage) needs.
    pub fn image(build_id: Option<&str>) -> String {
        match build_id {
            Some(id) => format!("the unstripped image with build id {id}"),
            None => "the unstripped image that wrote the profile".to_string(),
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(text) => text,
            Self::RecordTime => "record CPU or wall-clock samples, or treat these values as sample counts",
            Self::AcceptWeights => "treat the values as sample counts",
            Self::ReadPerfScript => "read it as perf script output, which joins them",
            Self::ChooseValue => "pass inputs that count the same, or choose the sample type or the weight of a sample",
            Self::ChooseSort => "choose one event type, or give each sample the weight 1",
            Self::Check => "check the file to list its problems",
            Self::CheckForMore => "check the file for details",
            Self::ShowOrMergeMemory => "use the operations for memory profiles",
            Self::DiffMemory => "compare it with another memory profile",
            Self::ConvertToLlvm => "convert it to an LLVM profile",
            Self::ConvertToIprof => "convert it to an iprof",
            Self::ConvertToIprofFirst => "convert it to an iprof first",
            Self::CompareAsIprof => "convert it to an iprof, and compare that",
            Self::ShowStacks => "show or draw its stacks",
            Self::AllowFailures => "allow failures to merge the other inputs, or salvage the valid records of these",
            Self::AllowEmpty => "allow an empty result to write it anyway",
            Self::MergeOneKind => "merge each kind separately",
            Self::AllowLosses => "allow losses to write it anyway and list the losses",
            Self::AllowLeavingOut => "allow losses to drop and list these",
            Self::AllowUnused => "allow losses to write it with a warning",
            Self::WholeWeights => "multiply inputs by whole numbers instead: give them weights",
            Self::ProfileComesFirst => "pass the profile first and the new build second",
            Self::UniteHashes => {
                "for optimization, use the hashes of the target to merge them; for coverage, keep them unchanged"
            }
            Self::FollowReader => {
                "the compiler ignores these records; write the default version of an indexed profile, or use the hashes of \
                 the reader"
            }
            Self::LinkWithBuildId => "pass raw profiles, or indexed profiles of LLVM 16 or later, of a program linked with a build id",
            Self::AllowDuplicates => "remove one of them, or allow duplicates to count it twice",
            Self::NameTheProgram => "give the program that was sampled",
            Self::StacksOrProgram => {
                "name the output .collapsed or .pprof, or give the program that was sampled for a sample profile"
            }
            Self::ReplaceFile => "choose another path, or force the replacement",
            Self::NestContexts => "make the layout nested: contexts become inlined callees",
            Self::DrawIt => "draw a flame graph instead",
            Self::ReportIt => "write a report instead",
            Self::MakeIprofOrShow => "name the output .iprof to write an iprof, or show the profile as JSON",
            Self::ListReleases => "choose a toolchain from the release table",
            Self::NameLlvmRelease { newest } => {
                return write!(
                    f,
                    "use its LLVM release; if that is newer than llvm-{newest}, use llvm-{newest}: later releases read its profiles"
                );
            }
            Self::ChooseFamily => "choose the family of the output, or its file extension",
            Self::MergeFirst => "merge the inputs first",
            Self::ReportFunctions => "write a report of its functions, or of its memory profile",
            Self::ReportBranches => {
                "the input has no samples and no call counts; write a report of its branches and receivers"
            }
            Self::Repair => "check the file to list all findings, or repair it to keep the valid entries",
            Self::RepairSalvage => "repair the file with salvaging to keep the entries before the error",
            Self::RepairAssumeVersion => "repair the file as version 1.0.0",
            Self::RepairJoinSections => "repair the file to join sections with the same name",
            Self::LayOutAnew => "convert it to iprof, which only rewrites the text layout of such a file",
            Self::ChooseSections => "choose the sections to write",
            Self::ResolveClashes => {
                "choose a treatment of lists that clash: the heavier, the first, their union, all, or none"
            }
            Self::ChooseTrusted => "they were edited separately; choose one of them",
            Self::NameProgram { build_ids } => {
                return match build_ids.first() {
                    Some(id) => write!(f, "pass the program; its build id is probably {id}"),
                    None => f.write_str("pass the program"),
                };
            }
            Self::RaiseLimit { name } => return write!(f, "raise the limit {name}"),
            Self::AllowFrames => "raise the limit of inflated bytes, which allows a quarter as many frames",
            Self::GiveImage { part, build_id } => {
                let image = Self::image(build_id.as_deref());
                return match part {
                    Some(ImagePart::DebugInfo) => write!(f, "pass {image}, with debug info"),
                    Some(ImagePart::Sections) | None => write!(f, "pass {image}"),
                };
            }
            Self::GiveImageAsWell(_) => "pass that image also",
            Self::BuildForPart(ImagePart::DebugInfo) => {
                "build the image with debug info and -profile-correlate=debug-info; for -profile-correlate=binary, correlate \
                 by sections"
            }
            Self::BuildForPart(ImagePart::Sections) => {
                "build the image with -profile-correlate=binary; for -profile-correlate=debug-info, correlate by \
                 debug info"
            }
        })
    }
}

/// Serializes the displayed text.
#[cfg(feature = "serde")]
impl serde::Serialize for Hint {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<&'static str> for Hint {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}
