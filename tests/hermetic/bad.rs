//! Every file in `testdata/bad/` is rejected with a helpful message.

use crate::files::folder;
use profbridge::families::{self, MergeOptions};
use profbridge::input::WeightedInput;

/// Unusual files that are read, because nothing is lost.
const HARMLESS: &[&str] = &["counter-above-2-56.profraw", "empty.profraw"];

/// Returns the error for a file. `None` if it can be read.
fn refusal(path: &std::path::Path) -> Option<profbridge::Error> {
    let inputs = [WeightedInput::new(path)];
    let report =
        families::merge_files(&inputs, &MergeOptions::default(), &mut |_, _| {}).expect("a bad input is in the report");
    report.inputs.into_iter().find_map(|input| match input.outcome {
        families::InputOutcome::Failed(error) => Some(error),
        _ => None,
    })
}

#[test]
fn every_bad_file_is_refused_and_the_message_names_it() {
    let mut faults = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(folder("bad"))
        .expect("folder is readable")
        .map(|entry| entry.expect("folder is readable").path())
        .collect();
    files.sort();
    files.retain(|path| path.is_file());
    assert!(files.len() > 50);
    for path in files {
        let name = path.file_name().and_then(|name| name.to_str()).expect("names are text");
        match (refusal(&path), HARMLESS.contains(&name)) {
            (None, false) => faults.push(format!("{name} is read without complaint")),
            (Some(error), true) => faults.push(format!("{name} is refused: {error}")),
            (Some(error), false) if !error.to_string().contains(name) => {
                faults.push(format!("{name} is not named: {error}"))
            }
            _ => {}
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn damage_inside_a_file_is_reported_with_format_and_place() {
    let mut faults = Vec::new();
    for name in [
        "truncated.profraw",
        "truncated-in-header.profraw",
        "truncated-in-data.profraw",
        "truncated-in-counters.profraw",
        "truncated-in-names.profraw",
        "truncated-in-value-data.profraw",
        "huge-length.profraw",
        "huge-num-data.profraw",
        "huge-num-counters.profraw",
        "huge-binary-ids.profraw",
        "counters-out-of-range.profraw",
        "no-counters.profraw",
        "bad-zlib.profraw",
        "rubbish-behind.profraw",
        "truncated.profdata",
        "unknown-hash-type.profdata",
        "hash-table-out-of-range.profdata",
    ] {
        let error = refusal(&folder("bad").join(name)).unwrap_or_else(|| panic!("{name} is read"));
        if error.format().is_none() || (error.section().is_none() && error.offset().is_none()) {
            faults.push(format!("{name}: {error}"));
        }
    }
    assert!(faults.is_empty(), "no format or place in:\n{}", faults.join("\n"));
}

#[test]
fn an_unsupported_version_is_named_with_advice() {
    for (name, version) in
        [("unsupported-version.profraw", "99"), ("unsupported-version.profdata", "99"), ("version-6.profraw", "6")]
    {
        let error = refusal(&folder("bad").join(name)).unwrap_or_else(|| panic!("{name} is read"));
        assert!(error.to_string().contains(&format!("version {version}")), "{error}");
    }
}
