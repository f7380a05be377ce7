//! Refuses large allocations, one after the other: the result is a message, not an abort.

use super::allocator::refuse;
use super::{ONE, alone};
use profbridge::bytes::{Encoding, Endian, PointerWidth};
use profbridge::families::{InputOutcome, MergeReport};
use profbridge::families::{MergeOptions, OutputFormat, WriteOptions, encode, merge_files, write_file};
use profbridge::input::WeightedInput;
use profbridge::instr::{FunctionRecord, Profile, ProfileKind, Release};
use profbridge::{Result, raw};
use std::path::Path;

const ENCODING: Encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version: 10 };

/// Returns a raw profile of few functions. It is smaller than 4 MiB, above which files use large pages.
fn dump(counters: usize, name_len: usize) -> Vec<u8> {
    let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
    for number in 0..60u64 {
        // Names that compress badly, so that they are large in the file.
        let letters = (0..name_len as u64).map(|at| b'a' + ((at * at * 31 + at * 7 + number * at) % 25) as u8);
        let name: Vec<u8> = format!("f{number}").into_bytes().into_iter().chain(letters).collect();
        let function = profile.functions.intern(&name);
        profile.functions.push_record(function, &FunctionRecord::new(number, vec![number; counters]));
    }
    raw::write(&profile, &raw::WriteOptions::new(ENCODING)).expect("it can be written")
}

fn options() -> MergeOptions {
    let mut options = MergeOptions::default();
    options.threads = ONE;
    options
}

fn merged(inputs: &[WeightedInput]) -> Result<Profile> {
    Ok(valid(merge_files(inputs, &options(), &mut |_, _| {})?)?.profile)
}

/// Returns a report whose inputs were all read, or the error of the first input that was not.
fn valid(mut report: MergeReport) -> Result<MergeReport> {
    let failed = report.inputs.iter().position(|input| matches!(input.outcome, InputOutcome::Failed(_)));
    match failed.map(|at| report.inputs.swap_remove(at).outcome) {
        Some(InputOutcome::Failed(error)) => Err(error),
        _ => Ok(report),
    }
}

fn write_options(format: OutputFormat) -> WriteOptions {
    let mut write = WriteOptions::default();
    (write.threads, write.format) = (ONE, format);
    write
}

fn to_indexed(inputs: &[WeightedInput], out: &Path) -> Result<()> {
    let format = OutputFormat::for_release(Release::DEFAULT);
    write_file(&merged(inputs)?, &write_options(format), out).map(drop)
}

fn to_indexed_bytes(inputs: &[WeightedInput], _: &Path) -> Result<()> {
    encode(&merged(inputs)?, &write_options(OutputFormat::for_release(Release::DEFAULT))).map(drop)
}

fn to_raw(inputs: &[WeightedInput], out: &Path) -> Result<()> {
    write_file(&merged(inputs)?, &write_options(OutputFormat::Raw { encoding: ENCODING }), out).map(drop)
}

type Command = fn(&[WeightedInput], &Path) -> Result<()>;

/// Refuses each allocation of at least that size in turn. The result is a message or the same output.
fn drive(name: &str, large: usize, inputs: &[WeightedInput], out: &Path, command: Command) {
    let content = |outcome: &Result<()>| {
        let bytes = outcome.is_ok().then(|| std::fs::read(out).unwrap_or_default());
        let _ = std::fs::remove_file(out);
        bytes
    };
    let expected = command(inputs, out);
    assert!(expected.is_ok(), "{name}, nothing refused: {expected:?}");
    let expected = content(&expected);
    let (mut number, mut refused) = (0, 0);
    loop {
        let mut outcome = Ok(());
        let came_to_that = refuse(number, large, || outcome = command(inputs, out));
        let found = content(&outcome);
        match outcome {
            Ok(()) => assert!(found == expected, "{name}, allocation {number}: another result"),
            Err(error) => {
                let words = error.to_string();
                assert!(words.contains("out of memory"), "{name}, allocation {number}: {words}");
                refused += 1;
            }
        }
        if !came_to_that {
            break;
        }
        number += 1;
    }
    eprintln!("{name}: {number} allocations of {large} bytes or more, {refused} of them end it");
    assert!(refused > 0 && number < 300, "{name}: {refused} of {number}");
}

/// Commands, with the number of counters per function and the length of its name.
const DUMPS: [(&str, Command, usize, usize); 3] = [
    ("merge to indexed", to_indexed, 6000, 10),
    ("merge to bytes", to_indexed_bytes, 6000, 10),
    ("merge to raw", to_raw, 6000, 10),
];

/// Three profiles of one program. The second and the third are added to the sums of their image.
#[test]
fn a_large_allocation_that_is_refused_is_a_message() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let [input, out] = ["input", "out"].map(|name| folder.path().join(name));
    for (name, command, counters, name_len) in DUMPS {
        std::fs::write(&input, dump(counters, name_len)).unwrap();
        drive(name, 1 << 20, &[(); 3].map(|()| WeightedInput::new(&input)), &out, command);
    }
}
