//! What to do about an error, as data: a program words it with the names of its own commands and options.

use std::borrow::Cow;
use std::fmt;

/// Advice. It displays in words that hold for every caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hint {
    /// What is the same for every caller.
    Text(Cow<'static, str>),
    /// Samples that measure no time were to be taken for hits: record others, or take them all the same.
    RecordTime,
    /// A text has two lines for one sample, as `perf script` writes them without folding.
    ReadPerfScript,
    /// Inputs count different things: choose the value, or what weighs.
    ChooseValue,
    /// The samples chosen count different things: choose one sort, or let each weigh one.
    ChooseSort,
    /// What a file is worth is told by checking it.
    Check,
    /// What is wrong with a file is told by checking it.
    CheckForMore,
    /// A memory profile, where an LLVM instrumentation profile was expected.
    ShowOrMergeMemory,
    /// An iprof, where an LLVM profile was expected.
    ConvertToLlvm,
    /// A recording, where a profile was expected.
    ConvertToIprof,
    /// An LLVM profile among iprof files.
    ConvertToIprofFirst,
    /// A recording or pprof, which is compared with a new build as an iprof.
    CompareAsIprof,
    /// Stacks, where an LLVM profile was expected.
    ShowStacks,
    /// Some inputs cannot be read: the others may be merged without them.
    AllowFailures,
    /// A result with nothing in it may be written.
    AllowEmpty,
    /// Inputs of several kinds, of which one file holds one.
    MergeOneKind,
    /// What cannot be written may be left out, and is listed.
    AllowLosses,
    /// What cannot be converted may be left out, and is listed.
    AllowLeavingOut,
    /// A profile of which compilers do not use all may be written, and this is said.
    AllowUnused,
    /// An iprof with records of LLVM has whole weights only.
    WholeWeights,
    /// The profile is the first of the two, the new build the second.
    ProfileComesFirst,
    /// Records of one function under two hashes: for optimizing, those of the reading compiler unite them.
    UniteHashes,
    /// Hashes of a release that is earlier than the version of the format that was asked for.
    ChooseNoVersion,
    /// An input that does not say which program wrote it, where all have to be of one.
    LinkWithBuildId,
    /// The output would replace a file that is not an earlier output.
    ReplaceFile,
    /// A picture where a profile is written.
    DrawIt,
    /// A page where a profile is written.
    ReportIt,
    /// JSON of a profile that is no iprof.
    MakeIprofOrShow,
    /// A toolchain that is not in the table of releases.
    ListReleases,
    /// A toolchain that is newer than those of the table.
    NameLlvmRelease {
        /// The newest release of LLVM that is known.
        newest: &'static str,
    },
    /// Inputs of two families: choose the one to write.
    ChooseFamily,
    /// Several inputs where one is wanted: merge them before.
    MergeFirst,
    /// An LLVM profile has no stacks to draw.
    ReportFunctions,
    /// An iprof without samples and call counts.
    ReportBranches,
    /// An iprof with errors.
    Repair,
    /// An iprof that is broken off.
    RepairSalvage,
    /// An iprof whose version is not known.
    RepairAssumeVersion,
    /// An iprof with sections of one name.
    RepairJoinSections,
    /// An iprof of a later major version.
    LayOutAnew,
    /// A version has no place for some sections.
    ChooseSections,
    /// Lists of branches clash.
    ResolveClashes,
    /// An iprof and the records of LLVM in it contradict each other.
    ChooseTrusted,
    /// The program of a raw memory profile is missing; its build id is one of these.
    NameProgram {
        /// Build ids in hexadecimal.
        build_ids: Vec<String>,
    },
    /// Call stacks are deeper than [`Limits`](crate::Limits) allow.
    AllowDepth,
    /// Call stacks have more frames in all than [`Limits`](crate::Limits) allow.
    AllowFrames,
    /// A raw profile without records of its own.
    GiveImage {
        /// What is needed of the image.
        part: ImagePart,
        /// Its build id in hexadecimal, if the profile says it.
        build_id: Option<String>,
    },
    /// None of the images that were given wrote the profile.
    GiveImageAsWell(ImagePart),
    /// An image has nothing of this part, perhaps because it was built for the other.
    BuildForPart(ImagePart),
}

/// What of an image tells about a raw profile without records of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImagePart {
    /// Its debug info.
    DebugInfo,
    /// Its sections, which a stripped image lacks.
    Sections,
}

impl Hint {
    /// What a [`GiveImage`](Self::GiveImage) asks for.
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

/// As it displays.
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
