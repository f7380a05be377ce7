//! The library's hints in the terms of this program: with the names of its commands and options.

use profbridge::families::FileCheck;
use profbridge::instr::Description;
use profbridge::{Error, ErrorKind, Hint, ImagePart};
use std::borrow::Cow;

/// Returns the text of a hint.
pub(crate) fn hint_text(hint: &Hint) -> Cow<'static, str> {
    Cow::Borrowed(match hint {
        Hint::RecordTime => "record CPU or wall-clock samples, or use --value to treat these values as sample counts",
        Hint::ReadPerfScript => "use --perf-raw to join them",
        Hint::ChooseValue => {
            "pass inputs that count the same, or choose the value with --sample-type or --weight (of pprof and recordings)"
        }
        Hint::ChooseSort => "choose one event type with --events, or use --weight count",
        Hint::Check => "run `profbridge check` to list the problems of the file",
        Hint::CheckForMore => "run `profbridge check` for details",
        Hint::ShowOrMergeMemory => {
            "use `profbridge show --memory` to show memory profiles, or `profbridge merge` to merge them"
        }
        Hint::DiffMemory => "use `profbridge diff` to compare two memory profiles",
        Hint::AcceptWeights => "use --value to treat the values as sample counts",
        Hint::ConvertToLlvm => "convert it to an LLVM profile with `profbridge convert`",
        Hint::ConvertToIprof => "convert it to an iprof with `profbridge convert`",
        Hint::ConvertToIprofFirst => "convert it to an iprof first, with `profbridge convert`",
        Hint::CompareAsIprof => "convert it to an iprof with `profbridge convert`, and compare that",
        Hint::ShowStacks => "use `profbridge show`, `report` or `flamegraph` to show its stacks",
        Hint::AllowFailures => {
            "use --failure-mode=all to merge the other inputs, with --salvage also the valid records of these"
        }
        Hint::AllowEmpty => "use --allow-empty to write an empty profile",
        Hint::MergeOneKind => {
            "merge each kind separately, or use --failure-mode=all to merge only the kind of the first input"
        }
        Hint::AllowLosses => "omit --strict to write the output anyway and list the losses",
        Hint::AllowLeavingOut => "omit --strict to drop and list these",
        Hint::AllowUnused => "omit --strict to write the output with a warning",
        Hint::WholeWeights => {
            "omit --scale and --normalize; --weighted-input multiplies the counts of a file by a whole number"
        }
        Hint::ProfileComesFirst => "pass the profile first, and the new build with --against",
        Hint::UniteHashes => "for optimization, use --hashes=reader to merge them; for coverage, keep them unchanged",
        Hint::FollowReader => {
            "the compiler ignores these records; write an indexed profile without --format-version, or use --hashes=reader"
        }
        Hint::LinkWithBuildId => {
            "pass raw profiles or indexed profiles of LLVM 16 or later, of programs linked with -Wl,--build-id; or omit \
             --same-program"
        }
        Hint::AllowDuplicates => "remove one of them, or use --allow-duplicates to count it twice",
        Hint::NameTheProgram => "make a sample profile with `profbridge merge --binary PROGRAM`",
        Hint::StacksOrProgram => {
            "name the output .collapsed or .pprof, or name the program with --binary for a sample profile"
        }
        Hint::NestContexts => "use --convert-sample-profile-layout=nest: contexts become inlined callees",
        Hint::ReplaceFile => "choose another output with -o, or replace the file with --force",
        Hint::DrawIt => "use `profbridge flamegraph` to draw a flame graph",
        Hint::ReportIt => "use `profbridge report` to write a report",
        Hint::MakeIprofOrShow => {
            "name the output .iprof to write an iprof, or use `profbridge show --json` to print a profile as JSON"
        }
        Hint::ListReleases => "run `profbridge info --versions` to list the known toolchains",
        Hint::NameLlvmRelease { newest } => {
            return Cow::Owned(format!(
                "use --for llvm-N with its LLVM release; if that is newer than llvm-{newest}, use --for llvm-{newest}: later releases \
                 read its profiles"
            ));
        }
        Hint::ChooseFamily => "choose the output with --to llvm or --to iprof, or by its file extension",
        Hint::MergeFirst => "merge the inputs with `profbridge merge` first",
        Hint::ReportFunctions => "use `profbridge report` with an output named .html, which lists its functions",
        Hint::ReportBranches => {
            "the input has no samples and no call counts; use `profbridge report` to show branches and receivers"
        }
        Hint::Repair => "use `profbridge check` to list all findings, or `profbridge repair` to keep the valid entries",
        Hint::RepairSalvage => "use `profbridge repair --salvage` to keep the entries before the error",
        Hint::RepairAssumeVersion => "use `profbridge repair --assume-version 1.0.0` to read the file as that version",
        Hint::RepairJoinSections => "use `profbridge repair --join-sections` to join sections with the same name",
        Hint::LayOutAnew => "use `profbridge convert` to iprof, which only rewrites the text layout of such a file",
        Hint::ChooseSections => "choose the sections to write with --sections",
        Hint::ResolveClashes => "choose a treatment with --on-branch-clash: heavier, first, union, keep or drop",
        Hint::ChooseTrusted => "they were edited separately; choose one with --trust standard or --trust extension",
        Hint::NameProgram { build_ids } => {
            // The first segment of a process is that of its program.
            let Some(id) = build_ids.first() else { return Cow::Borrowed("pass it with --profiled-binary") };
            return Cow::Owned(format!("pass it with --profiled-binary; its build id is probably {id}"));
        }
        Hint::RaiseLimit { name } => return Cow::Owned(format!("use --limit {name}=N to raise the limit")),
        Hint::AllowFrames => "use --limit inflated-bytes=N to allow N / 4 frames",
        Hint::GiveImage { part, build_id } => {
            let image = Hint::image(build_id.as_deref());
            return Cow::Owned(match part {
                Some(part) => format!("to merge it, pass {image} with {}=FILE", option_for(*part)),
                None => format!(
                    "to merge it, pass {image} with --debug-info=FILE or --binary-file=FILE, as its -profile-correlate \
                     option says"
                ),
            });
        }
        Hint::GiveImageAsWell(part) => {
            return Cow::Owned(format!("pass that image also with {}=FILE", option_for(*part)));
        }
        Hint::BuildForPart(ImagePart::DebugInfo) => {
            "build the image with debug info and -profile-correlate=debug-info; for -profile-correlate=binary use \
             --binary-file"
        }
        Hint::BuildForPart(ImagePart::Sections) => {
            "build the image with -profile-correlate=binary; for -profile-correlate=debug-info use --debug-info"
        }
        other => return Cow::Owned(other.to_string()),
    })
}

/// Adds a hint to the error of a path that cannot be read, if the path itself shows the reason.
pub(crate) fn with_path_advice(error: Error) -> Error {
    let (ErrorKind::Io { .. }, Some(path)) = (error.kind(), error.path()) else { return error };
    let is_pattern = path.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte));
    if path.join("data").is_file() && path.join("data.0").is_file() {
        error.with_hint(
            "a directory of `perf record --threads` is not supported: pass the output of `perf script -i DIRECTORY`, or \
             record without --threads",
        )
    } else if path.is_dir() {
        error.with_hint("pass a file; `profbridge merge` merges the files of a directory into one")
    } else if is_pattern && !path.exists() {
        error.with_hint("check that files match the pattern, and remove quotes around it, so that the shell expands it")
    } else {
        error
    }
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
