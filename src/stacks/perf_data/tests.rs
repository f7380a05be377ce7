//! Recordings written field by field, and their stacks.

use super::*;
use crate::bytes::Endian;
use crate::call_chains::SamplingPeriod;
use crate::perf::writer::{CALL_CHAIN, EventSpec, PLAIN, SampleSpec, Writer};
use crate::stacks::collapsed::{CollapsedOptions, write_collapsed};
use crate::stacks::pprof::{self, ValueChoice};
use std::io::Read;

const USER: u64 = (-512i64) as u64;
const KERNEL: u64 = (-128i64) as u64;

fn read(bytes: &[u8], options: &PerfOptions, event: Option<&str>) -> Result<(Vec<String>, Vec<String>)> {
    let mut table = StackTable::new();
    let open = || Ok(Box::new(bytes) as Box<dyn Read>);
    let warnings = read_perf_data(&open, options, event, &Limits::default(), &mut table)?;
    let mut write = CollapsedOptions::default();
    write.threads = true;
    let (text, _) = write_collapsed(&table, &write);
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    lines.sort();
    Ok((lines, warnings.into_iter().map(|warning| warning.message).collect()))
}

fn sample(pid: u32, ip: u64, chain: &[u64]) -> SampleSpec {
    let call_chain = chain.to_vec();
    SampleSpec { pid, time: 100, ip, period: 10, call_chain, ..SampleSpec::default() }
}

#[test]
fn missing_programs_are_named_once_with_their_samples() {
    let mut writer = Writer::new(Endian::Little, vec![EventSpec::new("cycles", PLAIN | CALL_CHAIN, 1)]);
    writer.command(7, 1, "prog", true);
    writer.map(7, 2, (0x1000, 0x1000, 0), "/nowhere/prog");
    writer.map(7, 2, (0x8000, 0x1000, 0), "/nowhere/lib.so (deleted)");
    for _ in 0..3 {
        writer.sample(0, &sample(7, 0x1010, &[USER, 0x1010, 0x8100]));
    }
    writer.sample(0, &sample(7, 0x1010, &[USER, 0x1010, 0x1020]));
    writer.sample(0, &sample(8, 0x5000, &[]));
    let (stacks, warnings) = read(&writer.file(), &PerfOptions::default(), None).unwrap();
    assert_eq!(stacks, ["[:8 tid=2];[unknown] 1", "[prog tid=1];[unknown];[unknown] 4"]);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].starts_with("/nowhere/prog: the functions of 4 samples are unknown: "), "{warnings:?}");
    assert!(warnings[1].starts_with("/nowhere/lib.so (deleted): the functions of 3 samples are unknown: "));
}

#[test]
fn only_samples_of_the_chosen_event_count_as_unknown() {
    let events = vec![EventSpec::new("cycles", PLAIN, 1), EventSpec::new("faults", PLAIN, 2)];
    let mut writer = Writer::new(Endian::Little, events);
    writer.command(7, 1, "prog", true);
    writer.map(7, 2, (0x1000, 0x1000, 0), "/nowhere/prog");
    writer.map(7, 2, (0x8000, 0x1000, 0), "/nowhere/lib.so");
    for (event, ip) in [(0, 0x1010), (0, 0x8010), (1, 0x1010), (1, 0x1010)] {
        writer.sample(event, &sample(7, ip, &[]));
    }
    let (_, warnings) = read(&writer.file(), &PerfOptions::default(), Some("faults")).unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("/nowhere/prog: the functions of 2 samples are unknown: "), "{warnings:?}");
}

#[test]
fn generated_code_and_kernel_have_lists_of_symbols() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("tmp")).unwrap();
    std::fs::create_dir_all(root.path().join("proc")).unwrap();
    std::fs::write(root.path().join("tmp/perf-7.map"), "9000 100 void app.Main.run()\n").unwrap();
    std::fs::write(root.path().join("proc/kallsyms"), "ffff800000000000 T _text\nffff800000000100 T do_it\n").unwrap();
    let mut writer = Writer::new(Endian::Big, vec![EventSpec::new("cycles", PLAIN | CALL_CHAIN, 1)]);
    writer.map(u32::MAX, 0, (0xffff_8000_0000_0000, 0x10000, 0xffff_8000_0000_0000), "[kernel.kallsyms]_text");
    writer.command(7, 1, "java", true);
    writer.map(7, 2, (0x9000, 0x1000, 0), "//anon");
    writer.sample(0, &sample(7, 1, &[KERNEL, 0xffff_8000_0000_0104, USER, 0x9010, 0]));
    let options = PerfOptions { symfs: Some(root.path().to_path_buf()), ..PerfOptions::default() };
    let (stacks, warnings) = read(&writer.pipe(), &options, None).unwrap();
    assert_eq!(stacks, ["[java tid=1];app/Main.run;do_it_[k] 1"]);
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn events_are_added_up_or_chosen() {
    let events = vec![EventSpec::new("cycles:u", PLAIN, 1), EventSpec::new("cpu-clock", PLAIN, 2)];
    let mut writer = Writer::new(Endian::Little, events);
    for event in [0, 0, 1] {
        writer.sample(event, &sample(7, 0x1010, &[]));
    }
    let hits = |event| read(&writer.file(), &PerfOptions::default(), event).map(|(stacks, _)| stacks);
    assert_eq!(hits(None).unwrap(), ["[:7 tid=1];[unknown] 3"]);
    assert_eq!(hits(Some("cycles")).unwrap(), ["[:7 tid=1];[unknown] 2"]);
    assert_eq!(hits(Some("cpu-clock/period")).unwrap(), ["[:7 tid=1];[unknown] 10"]);
    let error = hits(Some("faults")).unwrap_err();
    assert_eq!(error.to_string(), "there is no event faults");
    let (_, warnings) = read(&writer.file(), &PerfOptions::default(), None).unwrap();
    assert_eq!(warnings, ["samples of several events are added up: cycles:u, cpu-clock"]);
}

/// Returns a recording of one sample of each event.
#[test]
fn values_of_a_group_are_reported() {
    const READ: u64 = 1 << 4;
    let event = |name, id| EventSpec::new(name, PLAIN | READ, id);
    let mut writer = Writer::new(Endian::Little, vec![event("cpu-clock", 1), event("page-faults", 2)]);
    writer.command(7, 1, "prog", true);
    let mut bytes = writer.file();
    let warnings = |bytes: &[u8]| read(bytes, &PerfOptions::default(), None).unwrap().1;
    assert_eq!(warnings(&bytes), [""; 0]);
    // The format of the values follows the fields of a sample.
    let fields = (PLAIN | READ).to_le_bytes();
    let places: Vec<usize> = (0..bytes.len() - 8).filter(|at| bytes[*at..*at + 8] == fields).collect();
    places.iter().for_each(|at| bytes[at + 8] = 1 << 3);
    let found = warnings(&bytes);
    assert!(found.len() == 1 && found[0].contains("values of other events of their group (:S)"), "{found:?}");
}

fn recorded_at(frequencies: &[Option<u64>]) -> Vec<u8> {
    let event = |(at, frequency): (usize, &Option<u64>)| EventSpec {
        frequency: *frequency,
        ..EventSpec::new(["cycles", "cpu-clock"][at], PLAIN, at as u64 + 1)
    };
    let mut writer = Writer::new(Endian::Little, frequencies.iter().enumerate().map(event).collect());
    (0..frequencies.len()).for_each(|event| writer.sample(event, &sample(7, 0x1010, &[])));
    writer.file()
}

fn table_at(frequencies: &[Option<u64>], event: Option<&str>) -> StackTable {
    let (mut table, bytes) = (StackTable::new(), recorded_at(frequencies));
    let open = || Ok(Box::new(&bytes[..]) as Box<dyn Read>);
    read_perf_data(&open, &PerfOptions::default(), event, &Limits::default(), &mut table).unwrap();
    table
}

#[test]
fn the_period_is_that_of_the_events_that_count() {
    let period = |frequencies, event| table_at(frequencies, event).observed.periods.first().map(|(_, period)| *period);
    assert_eq!(period(&[Some(99)], None), Some(SamplingPeriod::Nanoseconds(10_101_010)));
    assert_eq!(period(&[None], None), Some(SamplingPeriod::Events(1000)));
    assert_eq!(period(&[Some(0)], None), None);
    // Two clocks sample the same time.
    assert_eq!(period(&[Some(1000), Some(1000)], None), None);
    assert_eq!(period(&[Some(1000), None], None), None);
    assert_eq!(period(&[Some(1000), None], Some("cpu-clock")), Some(SamplingPeriod::Nanoseconds(1000)));
    assert_eq!(period(&[Some(1000)], Some("cycles/period")), None);
}

#[test]
fn rates_are_compared_with_those_of_other_recordings_and_of_pprof() {
    let mixes = |first: &StackTable, second: &StackTable| {
        let mut sum = StackTable::new();
        [first, second].into_iter().for_each(|table| sum.absorb(table));
        sum.mixes_rates()
    };
    let [slow, fast, cycles] = [Some(99), Some(1999), None].map(|frequency| table_at(&[frequency], None));
    assert!(mixes(&slow, &fast) && mixes(&slow, &cycles) && mixes(&cycles, &fast));
    assert!(!mixes(&slow, &slow) && !mixes(&cycles, &cycles));
    assert!(!mixes(&slow, &table_at(&[Some(1999), None], None)), "its rate is unknown");
    // A pprof has the period in nanoseconds, as those of Go have.
    let through_pprof = |table: &StackTable| {
        let (profile, mut read) = (pprof::from_table(table).0, StackTable::new());
        pprof::add_to_table(&profile, &ValueChoice::default(), &mut read).unwrap();
        (profile.period, read)
    };
    let ((period, of_slow), (none, of_cycles)) = (through_pprof(&slow), through_pprof(&cycles));
    assert_eq!((period, none), (10_101_010, 0));
    assert!(mixes(&of_slow, &fast) && !mixes(&of_slow, &slow) && !mixes(&of_cycles, &slow));
    let mut both = StackTable::new();
    [&slow, &fast].into_iter().for_each(|table| both.absorb(table));
    assert_eq!(through_pprof(&both).0, 0, "there is no period of both");
}

#[test]
fn mappings_that_overlap_wrap_or_are_empty_are_read() {
    let mut writer = Writer::new(Endian::Little, vec![EventSpec::new("cycles", PLAIN, 1)]);
    for at in 0..200_000u64 {
        writer.map(7, at + 1, (at % 1000 * 0x800, 0x10000, 0), "//anon");
    }
    writer.map(7, 1, (u64::MAX - 10, 100, 0), "wraps");
    writer.map(7, 1, (0x1000, 0, 0), "empty");
    writer.sample(0, &SampleSpec { time: 1 << 40, ..sample(7, 0x1010, &[]) });
    let (stacks, warnings) = read(&writer.file(), &PerfOptions::default(), None).unwrap();
    assert_eq!(stacks, ["[:7 tid=1];[unknown] 1"]);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

#[test]
fn a_given_program_that_did_not_run_is_named() {
    let mut writer = Writer::new(Endian::Little, vec![EventSpec::new("cycles", PLAIN, 1)]);
    writer.sample(0, &sample(7, 0x1010, &[]));
    let options = PerfOptions { binaries: vec!["other".into()], ..PerfOptions::default() };
    let (_, warnings) = read(&writer.file(), &options, None).unwrap();
    assert_eq!(warnings, ["other: the recording has no samples of this program"]);
}
