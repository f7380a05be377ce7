//! Large allocations that are refused, one after the other: a message and no abort.

use super::allocator::{LARGE, refuse};
use super::{ONE, alone};
use profbridge::bytes::{Encoding, Endian, PointerWidth};
use profbridge::input::{Family, WeightedInput};
use profbridge::instr::{FunctionRecord, Profile, ProfileKind, Release};
use profbridge::pipeline::merge::{InputOutcome, MergeReport};
use profbridge::pipeline::partial::{Finished, Partial, PartialOptions};
use profbridge::pipeline::{MergeOptions, OutputFormat, Silent, WriteOptions, encode, merge_files, write_file};
use profbridge::{Result, raw};
use std::path::Path;

const ENCODING: Encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version: 10 };

/// A raw profile of few functions, below the 4 MiB from which files are in large pages.
fn dump(counters: usize, name_len: usize) -> Vec<u8> {
    let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
    for number in 0..60u64 {
        // Hardly to be compressed, so that there is much of them in the file.
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
    Ok(sound(merge_files(inputs, &options(), &mut Silent)?)?.profile)
}

/// A report whose inputs were all read, or what was wrong with the first that was not.
fn sound(mut report: MergeReport) -> Result<MergeReport> {
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

fn in_parts(inputs: &[WeightedInput], _: &Path) -> Result<()> {
    let mut partial = PartialOptions::default();
    partial.instr = options();
    let bytes = Partial::of(inputs, Family::Instr, &partial)?.to_bytes()?;
    let Finished::Instr(report) = Partial::from_bytes(&bytes, &partial)?.finish(&partial)? else {
        panic!("a merge of another family")
    };
    sound(report).map(drop)
}

type Command = fn(&[WeightedInput], &Path) -> Result<()>;

/// Commands, counters of each function, and bytes of its name.
const CASES: [(&str, Command, usize, usize); 5] = [
    ("merge to indexed", to_indexed, 6000, 10),
    ("merge to bytes", to_indexed_bytes, 6000, 10),
    ("merge to raw", to_raw, 6000, 10),
    ("merge of long names to raw", to_raw, 10, 30_000),
    ("partial merge", in_parts, 6000, 10),
];

/// Three dumps of one program: the second and the third go into the sums of their image.
#[test]
fn a_large_allocation_that_is_refused_is_a_message() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let [input, out] = ["input", "out"].map(|name| folder.path().join(name));
    for (name, command, counters, name_len) in CASES {
        std::fs::write(&input, dump(counters, name_len)).unwrap();
        let inputs = || [(); 3].map(|()| WeightedInput::new(&input));
        let (mut number, mut refused) = (0, 0);
        loop {
            let inputs = inputs();
            let mut outcome = Ok(());
            if !refuse(number, || outcome = command(&inputs, &out)) {
                assert!(outcome.is_ok(), "{name}, nothing refused: {outcome:?}");
                break;
            }
            if let Err(error) = outcome {
                let words = error.to_string();
                assert!(words.contains("out of memory"), "{name}, allocation {number}: {words}");
                refused += 1;
            }
            number += 1;
        }
        eprintln!("{name}: {number} allocations of {LARGE} bytes or more, {refused} of them end the merge");
        assert!(refused > 1 && number < 200, "{name}: {refused} of {number}");
    }
}
