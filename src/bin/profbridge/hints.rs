//! The library's hints in the terms of this program: with the names of its commands and options.

use profbridge::families::FileCheck;
use profbridge::instr::Description;
use profbridge::{Error, Hint, ImagePart};
use std::borrow::Cow;

/// Returns the text of a hint.
pub(crate) fn hint_text(hint: &Hint) -> Cow<'static, str> {
    Cow::Borrowed(match hint {
        Hint::RecordTime => "record CPU or wall-clock samples; --value takes the numbers as hits all the same",
        Hint::ReadPerfScript => "--perf-raw glues them together",
        Hint::ChooseValue => "--sample-type and --weight choose what is counted",
        Hint::ChooseSort => "choose one sort with --events, or --weight count",
        Hint::Check => "`profbridge check` tells what a file is worth",
        Hint::CheckForMore => "`profbridge check` tells more",
        Hint::ShowOrMergeMemory => "`profbridge show --memory` shows memory profiles, `profbridge merge` adds them up",
        Hint::ConvertToLlvm => "`profbridge convert` turns it into an LLVM profile",
        Hint::ConvertToIprof => "`profbridge convert` turns it into an iprof",
        Hint::ConvertToIprofFirst => "`profbridge convert` turns it into an iprof first",
        Hint::CompareAsIprof => "`profbridge convert` makes an iprof of it, which can be",
        Hint::ShowStacks => "`profbridge show`, `report` and `flamegraph` show its stacks",
        Hint::AllowFailures => {
            "--failure-mode=all merges the others without them, --salvage as well keeps what is sound of these"
        }
        Hint::AllowEmpty => "--allow-empty writes a profile all the same",
        Hint::MergeOneKind => {
            "merge inputs of one kind at a time; --failure-mode=all keeps those of the first one's kind"
        }
        Hint::AllowLosses => "without --strict it is written all the same, and what is lost is listed",
        Hint::AllowLeavingOut => "without --strict these are left out and listed",
        Hint::AllowUnused => "without --strict it is written all the same, and this is said",
        Hint::WholeWeights => {
            "leave --scale and --normalize out, or drop the records with `profbridge convert --canonical`"
        }
        Hint::ProfileComesFirst => "the profile comes first, the new build behind --against",
        Hint::UniteHashes => "for optimizing, --hashes=reader unites them; coverage needs them as they are",
        Hint::ChooseNoVersion => "the compiler drops them: leave --format-version out, or use 12",
        Hint::LinkWithBuildId => "link the program with -Wl,--build-id, or merge without --same-program",
        Hint::AllowDuplicates => "leave one of them out; --allow-duplicates counts it twice",
        Hint::ReplaceFile => "choose another output with -o, or replace the file with --force",
        Hint::DrawIt => "`profbridge flamegraph` draws one",
        Hint::ReportIt => "`profbridge report` makes one",
        Hint::MakeIprofOrShow => {
            "name the output .iprof to make one; `profbridge show --json` prints what is in a profile"
        }
        Hint::ListReleases => "`profbridge info --versions` lists all that are known",
        Hint::NameLlvmRelease { newest } => {
            return Cow::Owned(format!(
                "name its release of LLVM with --for llvm-N; llvm-{newest} is the newest that is known"
            ));
        }
        Hint::ChooseFamily => "say what to write with --to llvm or --to iprof, or by the output's name",
        Hint::MergeFirst => "merge several with `profbridge merge` first",
        Hint::ReportFunctions => "`profbridge report` shows its functions, --memory its memory profile",
        Hint::ReportBranches => {
            "the input holds neither samples nor call counts; `profbridge report` shows branches and receivers"
        }
        Hint::Repair => "`profbridge check` lists all findings, `profbridge repair` keeps what is sound",
        Hint::RepairSalvage => "`profbridge repair --salvage` keeps what stands before the error",
        Hint::RepairAssumeVersion => "`profbridge repair --assume-version 1.0.0` takes the file for that version",
        Hint::RepairJoinSections => "`profbridge repair --join-sections` joins sections of one name",
        Hint::LayOutAnew => "only `profbridge convert` to iprof takes such a file, and lays its text out anew",
        Hint::ChooseSections => "--sections chooses the sections to write",
        Hint::ResolveClashes => "--on-branch-clash chooses what to do: heavier, first, union, keep or drop",
        Hint::ChooseTrusted => {
            "somebody changed one and not the other: --trust standard or --trust extension says which is right"
        }
        Hint::NameProgram { build_ids } => {
            let ids = build_ids.join(", ");
            return Cow::Owned(format!("name it with --profiled-binary; its build id is one of {ids}"));
        }
        Hint::AllowDepth => "--limit context-depth=N allows deeper ones",
        Hint::AllowFrames => "--limit inflated-bytes=N allows N / 4",
        Hint::GiveImage { part, build_id } => {
            let image = Hint::image(build_id.as_deref());
            return Cow::Owned(format!("give {image} with {}=FILE", option_for(*part)));
        }
        Hint::GiveImageAsWell(part) => {
            return Cow::Owned(format!("give that image as well with {}=FILE", option_for(*part)));
        }
        Hint::BuildForPart(ImagePart::DebugInfo) => {
            "the image needs debug info and -profile-correlate=debug-info; for -profile-correlate=binary use \
             --binary-file"
        }
        Hint::BuildForPart(ImagePart::Sections) => {
            "the image needs -profile-correlate=binary; for -profile-correlate=debug-info use --debug-info"
        }
        other => return Cow::Owned(other.to_string()),
    })
}

fn option_for(part: ImagePart) -> &'static str {
    match part {
        ImagePart::DebugInfo => "--debug-info",
        ImagePart::Sections => "--binary-file",
    }
}

/// Formats an error and its hint in one line, for the command line parser.
pub(crate) fn format_error_with_hint(error: Error) -> String {
    match error.hint() {
        Some(hint) => format!("{error} ({})", hint_text(hint)),
        None => error.to_string(),
    }
}

/// Rephrases the hints in the output of `info`.
pub(crate) fn word_description(description: &mut Description) {
    description.hint = description.hint.take().map(|hint| Hint::Text(hint_text(&hint)));
    if let Some(error) = description.error.take() {
        description.error = Some(error.with_hint_in(|hint| Hint::Text(hint_text(hint))));
    }
}

/// Appends the hints to the messages of `check`.
pub(crate) fn word_check(check: &mut FileCheck) {
    for finding in &mut check.findings {
        if let Some(hint) = finding.hint.take() {
            finding.message = format!("{} ({})", finding.message, hint_text(&hint));
        }
    }
    check.hint = check.hint.take().map(|hint| Hint::Text(hint_text(&hint)));
}
