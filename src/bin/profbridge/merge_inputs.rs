//! Messages of `merge` about its inputs, before and after reading them.

use crate::console;
use crate::merge_document::MergeDocument;
use crate::plural::number_of;
use profbridge::families::inputs::{earlier_merges, skip_foreign_files};
use profbridge::input::{Format, Input, InputList};
use profbridge::system::is_same_file;
use profbridge::{Error, ErrorKind, Result, Warning};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The sizes of the inputs when the merge began; `None` for pipes.
pub(crate) struct Sizes(Vec<Option<u64>>);

impl Sizes {
    pub(crate) fn of(inputs: &[Input]) -> Self {
        Self(inputs.iter().map(size).collect())
    }

    /// Warns about inputs whose size changed during the merge: another process may still be writing them, so the data
    /// may be truncated. An input that is the output was replaced by now.
    pub(crate) fn warn_of_changed(&self, inputs: &[Input], output: &Path, quiet: bool, document: &mut MergeDocument) {
        for (input, before) in inputs.iter().zip(&self.0) {
            let (Some(before), Some(after)) = (*before, size(input)) else { continue };
            if before == after || is_same_file(&input.path, output) {
                continue;
            }
            let before = number_of(before, "byte");
            let words = format!(
                "the file size changed from {before} to {after} during the merge; another process may be writing it"
            );
            let warning = Warning::new(words).in_file(&input.path);
            if !quiet {
                console::warning(&warning);
            }
            // A partial merge has added its own inputs to the list.
            let path = input.path.to_string_lossy();
            if let Some(at) = document.inputs.iter().position(|reported| reported.file.path == path) {
                document.warn_of(at, [warning.to_string()]);
            }
        }
    }
}

fn size(input: &Input) -> Option<u64> {
    let found = || std::fs::metadata(&input.path).ok().filter(std::fs::Metadata::is_file);
    if input.is_stdin() { None } else { found().map(|file| file.len()) }
}

/// The requirements on the inputs of a merge.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ErrorPolicy {
    /// Whether skipped files are an error.
    pub(crate) strict: bool,
    /// Whether a file, a directory or a list was given.
    pub(crate) any_named: bool,
    /// Whether the given directories and lists may contain no profile.
    pub(crate) may_be_none: bool,
}

/// Returns the inputs, and the files in directories that are not profiles.
pub(crate) fn filter_inputs(list: InputList, tolerance: ErrorPolicy) -> Result<(Vec<Input>, Vec<PathBuf>)> {
    if tolerance.strict {
        let inputs = list.into_inputs();
        let is_empty = |input: &&Input| input.format().is_ok_and(|format| format == Format::Empty);
        if let Some(empty) = inputs.iter().find(is_empty) {
            let error = Error::new(ErrorKind::EmptyProfile).in_file(&empty.path);
            return Err(error.with_hint("omit --strict to skip it"));
        }
        return require_inputs(inputs, Vec::new(), tolerance);
    }
    let filter_inputs = skip_foreign_files(list);
    if let Some(words) = skipped(&filter_inputs.skipped) {
        console::note(&words);
    }
    require_inputs(filter_inputs.inputs, filter_inputs.skipped, tolerance)
}

/// Warns of merges of profiles that are in the same directory.
pub(crate) fn warn_of_earlier_merges(inputs: &[Input], found: &BTreeSet<PathBuf>) {
    for input in earlier_merges(inputs, found, &crate::limits::read_options()) {
        let words =
            "it is a merge of the same program as the raw profiles in the directory, and may already contain them";
        let advice = "move it to another directory if it does: its counts would be counted twice";
        console::warning_with(&Warning::new(words).in_file(&input.path), Some(advice));
    }
}

/// Rejects an empty list of inputs, which is a usage error only if nothing was given, and standard input given twice.
fn require_inputs(
    inputs: Vec<Input>,
    skipped: Vec<PathBuf>,
    tolerance: ErrorPolicy,
) -> Result<(Vec<Input>, Vec<PathBuf>)> {
    if inputs.iter().filter(|input| input.is_stdin()).count() > 1 {
        let error = Error::usage("`-` is given twice, but standard input can be read only once");
        return Err(error.with_hint("use --weighted-input=2,- to count it twice"));
    }
    if !inputs.is_empty() || (tolerance.any_named && tolerance.may_be_none) {
        return Ok((inputs, skipped));
    }
    if tolerance.any_named {
        return Err(Error::nothing_found("no profiles found in the given directories and lists")
            .with_hint("check that the program ran, and where it writes its profiles (LLVM_PROFILE_FILE)"));
    }
    Err(Error::usage("no input files").with_hint("pass profiles or directories, or a list of inputs with -f"))
}

/// Describes the skipped files: their number, and the name of the first.
fn skipped(files: &[PathBuf]) -> Option<String> {
    let [first, rest @ ..] = files else { return None };
    let first = first.display();
    Some(match rest.len() {
        0 => format!("skipped 1 file that is not a profile: {first}"),
        more => format!("skipped {} files that are not profiles: {first} and {more} more", more + 1),
    })
}
