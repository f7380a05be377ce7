//! Random inputs, splits and merge trees for sample profiles, iprof files, stacks and memory profiles.

use crate::sample_text::{Shape, text};
use profbridge::families::merge::iprof::{IprofMergeOptions, merge_iprof_files};
use profbridge::families::partial::{Finished, Partial, PartialOptions};
use profbridge::families::stack_files::{are_pprof, merge_pprof, merge_tables};
use profbridge::families::{FailureMode, InputReport};
use profbridge::input::{Family, Input};
use profbridge::instr::Release;
use profbridge::instr::Remapping;
use profbridge::iprof;
use profbridge::sampleprof::{
    self, Encoding, FailedMerge, Filter, InputMessage, InputReports, Layout, MergeReport, RecordFault, Rules,
    WriteOptions, finish_partial,
};
use profbridge::stacks::collapsed::{CollapsedOptions, write_collapsed};
use profbridge::stacks::pprof;
use profbridge::{Error, Result};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashSet;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

/// Merges the inputs in partial merges along a tree that `cuts` determines. Each partial merge is written and read.
fn in_parts(
    inputs: &[Input],
    family: Family,
    options: &PartialOptions,
    cuts: &mut impl Iterator<Item = usize>,
) -> Partial {
    let at = cuts.next().unwrap_or(0) % (inputs.len() + 1);
    if at == 0 || at == inputs.len() {
        return Partial::of(inputs, family, options).expect("inputs are added");
    }
    let (first, second) = inputs.split_at(at);
    let mut all = in_parts(first, family, options, cuts);
    let later = in_parts(second, family, options, cuts).to_bytes().unwrap();
    all.append(Partial::from_bytes(&later, options).expect("a part is read")).expect("one family");
    Partial::from_bytes(&all.to_bytes().unwrap(), options).expect("a part is read")
}

/// The messages of a merge, in order.
#[derive(Default, Debug, PartialEq, Eq)]
struct Heard(Vec<String>);

impl Heard {
    fn without(&self, titles: &HashSet<String>) -> Vec<&String> {
        self.0.iter().filter(|line| title(line).is_none_or(|title| !titles.contains(title))).collect()
    }
}

fn title(line: &str) -> Option<&str> {
    line.split(": ").nth(1)
}

/// In a merge of sums, it is unknown which input caused an overflow, so the limit is reported once.
fn titles_that_overflowed(heard: &[&Heard]) -> HashSet<String> {
    let words = RecordFault::CounterOverflow.to_string();
    let lines = heard.iter().flat_map(|heard| &heard.0).filter(|line| line.ends_with(&words));
    lines.filter_map(|line| title(line).map(ToString::to_string)).collect()
}

/// If a filter drops a function from a partial merge, it is unknown later whether the checksums of functions inlined
/// into it differed.
fn titles_left_out_with_other_checksums(heard: &[&Heard], filter: &Filter) -> HashSet<String> {
    let words = RecordFault::HashMismatch.to_string();
    let lines = heard.iter().flat_map(|heard| &heard.0).filter(|line| line.ends_with(&words));
    let titles = lines.filter_map(|line| title(line));
    titles.filter(|title| !filter.keeps(title.as_bytes(), false)).map(ToString::to_string).collect()
}

impl Heard {
    /// The messages of a merge of sample profiles.
    fn of(merged: &std::result::Result<MergeReport, FailedMerge>) -> Self {
        let inputs: &InputReports = merged.as_ref().map_or_else(|failed| &failed.inputs, |report| &report.inputs);
        let mut heard = Self::default();
        inputs.each_message(&mut |_, report, message| {
            let path = report.input.path.display();
            heard.0.push(match message {
                InputMessage::Fault(found) => {
                    format!("{path} x{}: {}: {}", report.input.weight, found.title.escape_ascii(), found.fault)
                }
                InputMessage::Skipped(error) => format!("{path}: {error}"),
                InputMessage::Empty(error) => format!("{path}: {error}"),
            });
        });
        heard
    }
}

/// The output of a merge of iprof files, and its inputs.
type IprofOutcome = (std::result::Result<(String, String), String>, Vec<String>);

fn iprof_outcome(inputs: &[Input], options: &IprofMergeOptions) -> IprofOutcome {
    let merged = merge_iprof_files(inputs, options, &mut |_, _| {});
    let inputs = merged.as_ref().map_or_else(|failed| &failed.inputs, |report| &report.inputs);
    let line = |report: &InputReport| {
        let (path, weight) = (report.input.path.display(), report.input.weight);
        let outcome = format!("{:?}", report.outcome);
        // Stored inputs have only the message of an error.
        let outcome = outcome.split("Failed(").next().unwrap_or_default();
        format!("{path} x{weight}: {outcome} {} {:?}", report.records, report.warnings)
    };
    let lines = inputs.iter().map(line).collect();
    let merged = merged.map_err(|failed| failed.error.to_string()).map(|report| {
        let bytes = iprof::Writer::new(&iprof::WriteOptions::default()).to_bytes(&report.document);
        (String::from_utf8_lossy(&bytes).into_owned(), format!("{:?} {:?}", report.merged, report.findings))
    });
    (merged, lines)
}

/// Returns all results of a merge of sample profiles.
fn sample_outcome(
    report: std::result::Result<MergeReport, FailedMerge>,
    rules: Rules,
) -> std::result::Result<(Vec<u8>, Vec<u8>, usize), String> {
    let report = report.map_err(|failed| failed.error.to_string())?;
    let write = |encoding| {
        let mut options = WriteOptions::default();
        (options.rules, options.encoding) = (rules, encoding);
        sampleprof::write(&report.profile, &options).unwrap_or_else(|error| error.to_string().into_bytes())
    };
    Ok((write(Encoding::ExtBinary), write(Encoding::Text), report.inputs.used()))
}

fn same_samples(inputs: &[Input], options: &PartialOptions, cuts: Vec<usize>) {
    let rules = options.sample.read.rules;
    let expected = sampleprof::merge_files(inputs, &options.sample, &mut |_, _| {});
    let expected_heard = Heard::of(&expected);
    let expected = sample_outcome(expected, rules);
    let Partial::SampleProf(sums) = in_parts(inputs, Family::SampleProf, options, &mut cuts.into_iter()) else {
        panic!("of another family")
    };
    let found = finish_partial(&sums, &options.sample);
    let heard = Heard::of(&found);
    let found = sample_outcome(found, rules);
    let heard_by = [&heard, &expected_heard];
    let mut not_known = titles_that_overflowed(&heard_by);
    not_known.extend(titles_left_out_with_other_checksums(&heard_by, &options.sample.merge.filter));
    assert_eq!(heard.without(&not_known), expected_heard.without(&not_known));
    assert!(found == expected, "{:?}\n--- instead of\n{:?}", shown(&found), shown(&expected));
}

fn shown(outcome: &std::result::Result<(Vec<u8>, Vec<u8>, usize), String>) -> std::result::Result<String, &String> {
    outcome.as_ref().map(|(_, text, _)| String::from_utf8_lossy(text).into_owned())
}

fn shape() -> impl Strategy<Value = Shape> {
    (any::<bool>(), any::<bool>()).prop_map(|(contexts, checksums)| Shape { contexts, checksums, attributes: contexts })
}

fn texts() -> impl Strategy<Value = Vec<(String, u64)>> {
    let odd = prop_oneof![Just(String::new()), Just("main:x\n".to_string()), Just("a:5:1\n 1: 2 b:9\n".to_string())];
    shape().prop_flat_map(move |shape| {
        vec(
            (
                prop_oneof![9 => text(shape), 1 => odd.clone()],
                prop_oneof![2 => Just(1u64), 1 => Just(3), 1 => Just(1 << 30)],
            ),
            1..8,
        )
    })
}

fn in_memory(contents: &[(String, u64)]) -> Vec<Input> {
    let weigh = |weight: u64| NonZeroU64::new(weight).expect("a weight is 1 at least");
    let named = |(at, (text, weight)): (usize, &(String, u64))| {
        Input::from_bytes(format!("input-{at}"), text.clone().into_bytes()).weighted_by(weigh(*weight))
    };
    contents.iter().enumerate().map(named).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    #[test]
    fn random_sample_profiles_give_the_same_in_any_parts(
        contents in texts(),
        cuts in vec(0usize..64, 0..12),
        release in prop_oneof![Just(14u32), Just(16), Just(19), Just(22), Just(23)],
        mode in prop_oneof![Just(FailureMode::Any), Just(FailureMode::Warn), Just(FailureMode::All)],
        end in 0..6,
    ) {
        let mut options = PartialOptions::default();
        options.sample.read.rules = Rules::of(Release(release));
        options.sample.failure_mode = mode;
        match end {
            0 => options.sample.merge.filter = Filter::new(Some("ma|ba|[0-4]"), None).expect("a sound pattern"),
            1 => options.sample.merge.layout = Some(Layout::Flat),
            2 => options.sample.merge.layout = Some(Layout::Nest { merged_base: true }),
            3 => options.sample.merge.cold.trim = true,
            4 => options.sample.merge.remapping = Remapping::parse(b"foo main\nbar zed\n").expect("a sound file"),
            _ => options.sample.merge.drop_symbols = true,
        }
        same_samples(&in_memory(&contents), &options, cuts);
    }

    #[test]
    fn random_collapsed_stacks_give_the_same_in_any_parts(
        contents in vec((vec(("[a-d](;[a-d]){0,3}", 0u64..1000), 0..6), 1u64..4), 1..8),
        cuts in vec(0usize..64, 0..12),
    ) {
        let text = |lines: &[(String, u64)]| lines.iter().map(|(stack, hits)| format!("{stack} {hits}\n")).collect::<String>();
        let contents: Vec<(String, u64)> = contents.iter().map(|(lines, weight)| (text(lines), *weight)).collect();
        let mut options = PartialOptions::default();
        options.stacks.failure_mode = FailureMode::Warn;
        same_stacks(&in_memory(&contents), &options, cuts);
    }

    #[test]
    fn real_stacks_of_all_kinds_give_the_same_in_any_parts(
        chosen in vec((0usize..6, 1u64..4), 1..6),
        cuts in vec(0usize..64, 0..9),
    ) {
        let files = ["stacks/web.collapsed", "pprof/squares.pprof", "pprof/circles.pprof", "pprof/heap.pprof",
            "pprof/squares.pprof", "iprof/even-or-odd.iprof"];
        let mut options = PartialOptions::default();
        options.stacks.failure_mode = FailureMode::Warn;
        same_stacks(&of_files(&files, &chosen), &options, cuts);
    }

    #[test]
    fn iprof_files_give_the_same_in_any_parts(
        chosen in vec((0usize..7, 1u64..4), 1..6),
        cuts in vec(0usize..64, 0..9),
        normalize in any::<bool>(),
    ) {
        let files = ["iprof/even-or-odd.iprof", "iprof/fibonacci.iprof", "iprof/statistics.iprof",
            "iprof/layout-2022.iprof", "iprof/older.iprof", "iprof/bad/bad-json.iprof", "no-such.iprof"];
        let mut options = PartialOptions::default();
        options.iprof.failure_mode = FailureMode::Warn;
        options.iprof.normalize = normalize;
        let inputs = of_files(&files, &chosen);
        let expected = iprof_outcome(&inputs, &options.iprof);
        let Partial::Iprof(kept) = in_parts(&inputs, Family::Iprof, &options, &mut cuts.into_iter()) else { panic!() };
        let inputs = profbridge::families::partial::kept_inputs(&kept, &options.iprof.read.limits).expect("sound");
        prop_assert_eq!(iprof_outcome(&inputs, &options.iprof), expected);
    }
}

fn of_files(files: &[&str], chosen: &[(usize, u64)]) -> Vec<Input> {
    let weigh = |weight: u64| NonZeroU64::new(weight).expect("a weight is 1 at least");
    chosen.iter().map(|(at, weight)| Input::with_weight(testdata(files[*at]), weigh(*weight))).collect()
}

/// Returns the output and the warnings of a merge of stacks.
fn stack_outcome(finished: Result<Finished>) -> std::result::Result<(Vec<u8>, Vec<String>, usize), String> {
    let words = |warnings: &[profbridge::Warning]| warnings.iter().map(ToString::to_string).collect::<Vec<_>>();
    let said = |error: Error| error.to_string();
    match finished.map_err(said)? {
        Finished::Pprof(sum) => {
            let bytes = pprof::write(&sum.sum.0).map_err(said)?;
            let mut said = words(&sum.warnings());
            said.extend(sum.sum.1.warnings());
            Ok((bytes, said, sum.used()))
        }
        Finished::Stacks(sum) => {
            let (text, _) = write_collapsed(&sum.sum, &CollapsedOptions::default());
            Ok((text.into_bytes(), words(&sum.warnings()), sum.used()))
        }
        other => panic!("{other:?}"),
    }
}

fn same_stacks(inputs: &[Input], options: &PartialOptions, cuts: Vec<usize>) {
    let whole = match are_pprof(inputs) {
        true => merge_pprof(inputs, &options.stacks, &mut |_, _| {}).map(Finished::Pprof).map_err(Into::into),
        false => merge_tables(inputs, &options.stacks, &mut |_, _| {}).map(Finished::Stacks).map_err(Into::into),
    };
    let parts = in_parts(inputs, Family::Stacks, options, &mut cuts.into_iter());
    assert_eq!(stack_outcome(parts.finish(options)), stack_outcome(whole));
}

#[test]
fn a_record_with_another_checksum_is_left_out_wherever_it_was() {
    let of = |checksum: u64, count: u64| (format!("foo:{count}:1\n 1: {count}\n !CFGChecksum: {checksum}\n"), 1);
    let contents = [of(1, 5), of(2, 6), of(2, 7), of(1, 8)];
    for cuts in [vec![1], vec![2], vec![3], vec![2, 1, 1], vec![1, 0, 2, 1]] {
        same_samples(&in_memory(&contents), &PartialOptions::default(), cuts);
    }
}

/// A function that a filter drops from a partial merge loses its warning about inlined callees. The output does not
/// change.
#[test]
fn checksums_inlined_into_filtered_functions_are_dropped() {
    let text =
        |inlined: u64| format!("zed:0:0\n 1: foo:0\n  !CFGChecksum: {inlined}\n !CFGChecksum: 7\nmain:5:1\n 1: 5\n");
    let inputs = in_memory(&[(text(8), 1), (text(7), 1)]);
    let mut options = PartialOptions::default();
    options.sample.merge.filter = Filter::new(Some("main"), None).expect("a sound pattern");
    same_samples(&inputs, &options, vec![1]);
    let faults = |options: &PartialOptions| {
        let sums = sampleprof::merge_partially(&inputs, &options.sample, &mut |_, _| {}).expect("inputs are added");
        let finished = finish_partial(&sums, &options.sample);
        assert!(finished.is_ok(), "{finished:?}");
        Heard::of(&finished).0
    };
    assert_eq!(faults(&options), [""; 0]);
    let reported = faults(&PartialOptions::default());
    assert!(
        matches!(reported.as_slice(), [one] if one.starts_with("input-1 x1: zed: the checksum of the control flow graph differs")),
        "{reported:?}"
    );
}

#[test]
fn damaged_parts_are_errors() {
    let options = PartialOptions::default();
    let inputs = in_memory(&[("foo:5:1\n 1: 5\n".to_string(), 1), ("bar:5:1\n 1: 5\n".to_string(), 2)]);
    for family in [Family::SampleProf, Family::Stacks, Family::Iprof] {
        let good = Partial::of(&inputs, family, &options).expect("inputs are added").to_bytes().unwrap();
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 0x20;
            assert!(Partial::from_bytes(&bytes, &options).is_err(), "{family:?} byte {at}");
        }
        assert!(Partial::from_bytes(b"no part", &options).is_err());
    }
    let mut samples = Partial::of(&inputs, Family::SampleProf, &options).expect("inputs are added");
    let stacks = Partial::of(&inputs, Family::Stacks, &options).expect("inputs are added");
    assert!(
        samples.append(stacks).unwrap_err().to_string().contains("sampled stacks after one of LLVM sample profiles")
    );
}
