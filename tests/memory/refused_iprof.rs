//! Large allocations that are refused while iprof files are read and merged.

use super::refused::{Command, drive};
use super::{ONE, alone};
use profbridge::Result;
use profbridge::families::merge::iprof::{IprofMergeOptions, merge_iprof_files};
use profbridge::families::merge::{FailedMerge, FailureMode, InputOutcome};
use profbridge::input::{WeightedInput, output};
use profbridge::iprof::{self, Document, ReadOptions, WriteOptions};
use std::fs::File;
use std::path::Path;

/// From so many bytes on: what is made for a piece of the text at a time is smaller.
const LARGE: usize = 160 << 10;

/// A file of which half is tables, and half entries of three kinds; the second of two has other tables.
fn file(count: usize, other: bool) -> String {
    let prefix = if other { "org.other" } else { "org.example" };
    let list = |entry: &dyn Fn(usize) -> String| (0..count).map(entry).collect::<Vec<_>>().join(",");
    let types = list(&|at| format!("{{\"id\":{at},\"name\":\"{prefix}.Class{at}\"}}"));
    let methods = list(&|at| format!("{{\"id\":{at},\"name\":\"m{at}\",\"signature\":[{at},{at}]}}"));
    let calls = list(&|at| format!("{{\"ctx\":\"{at}:0<{}:{}\",\"records\":[{at}]}}", at / 2, at % 900));
    let branches = list(&|at| format!("{{\"ctx\":\"{at}:7\",\"records\":[9,0,{at},12,1,5]}}"));
    let receivers = list(&|at| format!("{{\"ctx\":\"{at}:8<{at}:9\",\"records\":[{at},4,{},7]}}", at / 3));
    format!(
        "{{\"version\":\"1.0.0\",\"types\":[{types}],\"methods\":[{methods}],\"callCountProfiles\":[{calls}],\
         \"conditionalProfiles\":[{branches}],\"virtualInvokeProfiles\":[{receivers}],\"mine\":[{}]}}",
        &types[..types.find("},").map_or(0, |end| end + 1)]
    )
}

fn written(document: &Document, out: &Path) -> Result<()> {
    let mut write = WriteOptions::default();
    write.threads = ONE;
    output::replace_with(out, |out| iprof::write_to(document, &write, out))
}

fn merged(inputs: &[WeightedInput], out: &Path, mode: FailureMode) -> Result<()> {
    let mut options = IprofMergeOptions::default();
    (options.read.threads, options.failure_mode) = (ONE, mode);
    let report = merge_iprof_files(inputs, &options, &mut |_, _| {}).map_err(FailedMerge::into_first_failure)?;
    let failed = report.inputs.into_iter().find_map(|input| match input.outcome {
        InputOutcome::Failed(error) => Some(error),
        _ => None,
    });
    failed.map_or_else(|| written(&report.document, out), Err)
}

fn merge(inputs: &[WeightedInput], out: &Path) -> Result<()> {
    merged(inputs, out, FailureMode::Any)
}

/// Each input is read whole before it is added.
fn merge_by_documents(inputs: &[WeightedInput], out: &Path) -> Result<()> {
    merged(inputs, out, FailureMode::All)
}

fn convert(inputs: &[WeightedInput], out: &Path) -> Result<()> {
    let mut options = ReadOptions::default();
    options.threads = ONE;
    let file = File::open(&inputs[0].path).expect("it was just written");
    written(&iprof::read_from(file, &options)?.0, out)
}

fn check(inputs: &[WeightedInput], _: &Path) -> Result<()> {
    let mut options = ReadOptions::default();
    options.threads = ONE;
    let file = File::open(&inputs[0].path).expect("it was just written");
    let report = iprof::check_from(file, &options);
    let refused = report.findings.iter().find(|finding| finding.message.contains("out of memory"));
    match refused {
        Some(finding) => Err(profbridge::Error::malformed(finding.message.clone())),
        None => Ok(()),
    }
}

#[test]
fn a_table_of_an_iprof_that_is_refused_is_a_message() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let inputs = [false, true].map(|other| {
        let path = folder.path().join(if other { "other.iprof" } else { "one.iprof" });
        std::fs::write(&path, file(8_000, other)).unwrap();
        WeightedInput::new(&path)
    });
    let [one, other] = &inputs;
    let same = [one.clone(), one.clone()];
    let different = [one.clone(), other.clone()];
    let commands: [(&str, Command, &[WeightedInput]); 5] = [
        ("merge of iprofs of one program", merge, &same),
        ("merge of iprofs of two programs", merge, &different),
        ("merge of iprofs that are read whole", merge_by_documents, &same),
        ("iprof convert", convert, &same),
        ("iprof check", check, &same),
    ];
    for (name, command, inputs) in commands {
        drive(name, LARGE, inputs, &out, command);
    }
}
