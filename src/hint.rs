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
    /// The hashes are those of a release before the requested format version.
    ChooseNoVersion,
    /// An input does not identify its program, but all inputs must be from one program.
    LinkWithBuildId,
    /// A profile that a partial merge holds occurs in another input, too: it may be counted twice.
    AllowDuplicates,
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
    /// Call stacks exceed the depth in [`Limits`](crate::Limits).
    AllowDepth,
    /// Call stacks exceed the total number of frames in [`Limits`](crate::Limits).
    AllowFrames,
    /// A raw profile without records of its own.
    GiveImage {
        /// The required part of the image.
        part: ImagePart,
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
            None => "the unstripped image that ran".to_string(),
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(text) => text,
            Self::RecordTime => "record CPU or wall-clock samples, or take the numbers as hits all the same",
            Self::ReadPerfScript => "read it as what perf script prints, which glues them together",
            Self::ChooseValue => "choose the value that is counted, or what each sample weighs",
            Self::ChooseSort => "choose one sort of events, or let each sample weigh one",
            Self::Check => "a check tells what a file is worth",
            Self::CheckForMore => "a check tells more",
            Self::ShowOrMergeMemory => "memory profiles are shown and merged as such",
            Self::ConvertToLlvm => "it can be converted to an LLVM profile",
            Self::ConvertToIprof => "it can be converted to an iprof",
            Self::ConvertToIprofFirst => "convert it to an iprof first",
            Self::CompareAsIprof => "convert it to an iprof, which can be",
            Self::ShowStacks => "its stacks can be shown and drawn",
            Self::AllowFailures => "the others can be merged without them, and what is sound of these be kept",
            Self::AllowEmpty => "it can be written all the same where an empty result is allowed",
            Self::MergeOneKind => "merge inputs of one kind at a time",
            Self::AllowLosses => "it can be written all the same where losses are allowed, which are then listed",
            Self::AllowLeavingOut => "where losses are allowed these are left out and listed",
            Self::AllowUnused => "it can be written all the same where losses are allowed",
            Self::WholeWeights => "do not scale or normalize it, or drop the records by a canonical conversion",
            Self::ProfileComesFirst => "the profile comes first, the new build second",
            Self::UniteHashes => {
                "for optimizing, hashes as the reading compiler has them unite them; coverage needs them as they are"
            }
            Self::ChooseNoVersion => "the compiler drops them: ask for no version of the format, or for 12",
            Self::LinkWithBuildId => "link the program with a build id, or do without knowing that it is the same",
            Self::AllowDuplicates => "leave one of them out, or allow duplicates to count it twice",
            Self::ReplaceFile => "choose another path, or force the replacement",
            Self::DrawIt => "stacks can be drawn as one",
            Self::ReportIt => "a report is one",
            Self::MakeIprofOrShow => "name the output .iprof to make one; what is in a profile can be shown as JSON",
            Self::ListReleases => "the table of releases has all that are known",
            Self::NameLlvmRelease { newest } => {
                return write!(f, "name its release of LLVM; llvm-{newest} is the newest that is known");
            }
            Self::ChooseFamily => "say which family to write, or name the output by it",
            Self::MergeFirst => "merge several first",
            Self::ReportFunctions => "a report shows its functions, and its memory profile where that is asked for",
            Self::ReportBranches => {
                "the input holds neither samples nor call counts; a report shows branches and receivers"
            }
            Self::Repair => "a check lists all findings, a repair keeps what is sound",
            Self::RepairSalvage => "a repair that salvages keeps what stands before the error",
            Self::RepairAssumeVersion => "a repair can take the file for version 1.0.0",
            Self::RepairJoinSections => "a repair can join sections of one name",
            Self::LayOutAnew => "only a conversion to iprof takes such a file, and lays its text out anew",
            Self::ChooseSections => "choose the sections to write",
            Self::ResolveClashes => {
                "say what becomes of lists that clash: the heavier, the first, their union, all, or none"
            }
            Self::ChooseTrusted => "somebody changed one and not the other: say which is right",
            Self::NameProgram { build_ids } => {
                return write!(f, "name the program; its build id is one of {}", build_ids.join(", "));
            }
            Self::AllowDepth => "the limit of the depth of contexts can be raised",
            Self::AllowFrames => "a fourth of the limit of inflated bytes is allowed, which can be raised",
            Self::GiveImage { part, build_id } => {
                let image = Self::image(build_id.as_deref());
                return match part {
                    ImagePart::DebugInfo => write!(f, "give {image}, with debug info"),
                    ImagePart::Sections => write!(f, "give {image}"),
                };
            }
            Self::GiveImageAsWell(_) => "give that image as well",
            Self::BuildForPart(ImagePart::DebugInfo) => {
                "the image needs debug info and -profile-correlate=debug-info; with -profile-correlate=binary it tells \
                 by its sections"
            }
            Self::BuildForPart(ImagePart::Sections) => {
                "the image needs -profile-correlate=binary; with -profile-correlate=debug-info it tells by its debug info"
            }
        })
    }
}

/// Serializes the displayed text.
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
