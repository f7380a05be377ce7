//! Recordings of every form, written field by field.

use super::event::{Branch, Event};
use super::reader::{Recording, read_recording};
use super::writer::{BRANCHES, CALL_CHAIN, EventSpec, PLAIN, SampleSpec, Writer};
use crate::bytes::Endian;
use crate::error::{ErrorKind, Result};
use crate::limits::Limits;
use proptest::prelude::*;
use std::io::Read;

const ENDIANS: [Endian; 2] = [Endian::Little, Endian::Big];

fn read(bytes: &[u8]) -> Result<(Vec<String>, Recording)> {
    let mut events = Vec::new();
    let open = || Ok(Box::new(bytes) as Box<dyn Read>);
    let recording = read_recording(&open, &Limits::default(), &mut |_, event| {
        events.push(match event {
            Event::Mapping(found) => {
                let id = found.build_id.map_or(String::new(), |id| format!(" {}", id.len()));
                format!("map {} {:x}+{:x} {}{id}", found.pid, found.start, found.len, found.path.escape_ascii())
            }
            Event::Command { pid, name, is_exec, .. } => format!("name {pid} {} {is_exec}", name.escape_ascii()),
            Event::Fork { pid, parent, .. } => format!("fork {pid} {parent}"),
            Event::Exit { pid, .. } => format!("exit {pid}"),
            Event::Lost(lost) => format!("lost {lost}"),
            Event::Sample(sample) => {
                let (pid, ip) = (sample.pid.unwrap_or(0), sample.ip.unwrap_or(0));
                let branches: Vec<String> =
                    sample.branches.iter().map(|at| format!("{:x}>{:x}", at.from, at.to)).collect();
                let chain: Vec<String> = sample.frames().map(|frame| format!("{:x}", frame.address)).collect();
                format!(
                    "{} {pid} {ip:x} {} [{}] [{}]",
                    sample.event,
                    sample.period,
                    chain.join(" "),
                    branches.join(" ")
                )
            }
        });
        Ok(())
    })?;
    Ok((events, recording))
}

/// Two events, records out of order, call chains and branches.
fn writer(endian: Endian, branch_type: u64) -> Writer {
    let events = vec![
        EventSpec::new("cycles:u", PLAIN | CALL_CHAIN, 11),
        EventSpec { branch_type, ..EventSpec::new("branches", PLAIN | BRANCHES, 12) },
    ];
    let mut writer = Writer::new(endian, events);
    writer.map(u32::MAX, 0, (0xffff_8000_0000_0000, 0x1000, 0), "[kernel.kallsyms]_text");
    writer.command(7, 1, "sh", true);
    writer.map2(7, 2, (0x1000, 0x2000, 0), "/opt/prog", Some(&[1; 20]));
    let branches = vec![Branch { from: 0x1010, to: 0x1020 }, Branch { from: 0, to: 0 }];
    writer.sample(1, &SampleSpec { pid: 7, time: 9, ip: 0x1020, period: 3, branches, ..SampleSpec::default() });
    let call_chain = vec![(-512i64) as u64, 0x1100, 0x1200];
    writer.sample(0, &SampleSpec { pid: 7, time: 5, ip: 0x1100, period: 1000, call_chain, ..SampleSpec::default() });
    writer.finish_round();
    writer.fork(8, 7, 10);
    writer.lost(11, 4);
    writer.finish_round();
    writer
}

const EXPECTED: [&str; 7] = [
    "map 4294967295 ffff800000000000+1000 [kernel.kallsyms]_text",
    "name 7 sh true",
    "map 7 1000+2000 /opt/prog 20",
    "0 7 1100 1000 [1100 1200] []",
    "1 7 1020 3 [] [1010>1020]",
    "fork 8 7",
    "lost 4",
];

#[test]
fn every_form_has_the_same_events_in_order_of_time() {
    for endian in ENDIANS {
        for branch_type in [1 << 3, 1 << 3 | 1 << 17] {
            let writer = writer(endian, branch_type);
            let mut forms = vec![("file", writer.file()), ("pipe", writer.pipe())];
            #[cfg(feature = "zstd")]
            forms.extend([("parts", writer.compressed_file(37)), ("compressed", writer.compressed_file(1 << 16))]);
            forms.truncate(if cfg!(feature = "zstd") { 4 } else { 2 });
            for (form, bytes) in forms {
                let (events, recording) = read(&bytes).unwrap();
                assert_eq!(events, EXPECTED, "{form} {endian}");
                let names: Vec<_> = recording.attributes.list().iter().map(|event| event.display_name()).collect();
                assert_eq!(names, ["cycles:u", "branches"], "{form}");
                assert_eq!(recording.features.host, "h1");
                assert_eq!(recording.features.command_line, ["perf", "record"]);
                assert_eq!(
                    (&recording.features.build_ids[0].path[..], recording.features.build_ids[0].id.len()),
                    (&b"/opt/listed"[..], 20)
                );
                assert_eq!((recording.counts.samples, recording.counts.lost), (vec![1, 1], 4));
                assert_eq!(recording.counts.stopped, None, "{form}");
            }
        }
    }
}

#[test]
fn a_recording_whose_samples_are_in_other_files_is_refused() {
    let mut of_threads = Writer::new(Endian::Little, vec![EventSpec::new("cycles:u", PLAIN, 11)]);
    of_threads.command(7, 1, "sh", true);
    of_threads.is_directory = true;
    let error = read(&of_threads.file()).unwrap_err();
    assert!(error.to_string().contains("perf record --threads"), "{error}");
    of_threads.sample(0, &SampleSpec { pid: 7, time: 5, ip: 0x1100, period: 1, ..SampleSpec::default() });
    let (_, recording) = read(&of_threads.file()).unwrap();
    assert!(recording.features.is_directory);
}

#[test]
fn a_truncated_recording_has_the_events_before_its_end() {
    for bytes in [writer(Endian::Little, 8).file(), writer(Endian::Little, 8).pipe()] {
        let whole = read(&bytes).unwrap().0.len();
        let mut most = 0;
        for end in 0..bytes.len() {
            match read(&bytes[..end]) {
                Ok((events, recording)) => {
                    assert!(events.len() <= whole && events.len() >= most, "{end}");
                    most = events.len();
                    let is_whole = recording.counts.stopped.is_none();
                    assert!(!is_whole || recording.is_piped, "{end}");
                }
                Err(error) => assert!(matches!(error.kind(), ErrorKind::Truncated { .. }), "{end}: {error}"),
            }
        }
        assert!(most > 3);
    }
}

#[test]
fn records_that_cannot_be_read_are_counted() {
    let mut writer = Writer::new(Endian::Little, vec![EventSpec::new("cycles", PLAIN | CALL_CHAIN, 1)]);
    writer.raw(9, &[0; 8]);
    // A call chain of 2^61 entries.
    let mut body = vec![1; 40];
    body.extend((1u64 << 61).to_le_bytes());
    writer.raw(9, &body);
    writer.raw(1, &[0; 4]);
    writer.raw(11, &[0; 16]);
    let (events, recording) = read(&writer.file()).unwrap();
    assert!(events.is_empty());
    let dropped: Vec<_> = recording.counts.dropped.into_iter().collect();
    assert_eq!(dropped, [("malformed", 1), ("malformed samples", 2)]);
    assert_eq!(recording.counts.skipped.into_iter().collect::<Vec<_>>(), [(11, 1)]);
}

#[test]
fn a_record_without_a_size_ends_the_reading() {
    let writer = writer(Endian::Little, 8);
    let mut bytes = writer.pipe();
    let events = read(&bytes).unwrap().0.len();
    bytes.extend([9, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]);
    let (found, recording) = read(&bytes).unwrap();
    assert_eq!(found.len(), events);
    let reason = format!("a record has 0 bytes at offset {}", bytes.len() - 11);
    assert_eq!(recording.counts.stopped, Some(reason));
}

#[test]
fn impossible_headers_are_errors() {
    let valid = writer(Endian::Little, 8).file();
    for (at, word, expected) in [
        (8, 20, "the header has 20 bytes"),
        (16, 79, "attributes of 79 bytes each"),
        (24, u64::MAX, "a section of"),
        (40, 50, "in the header"),
        (40, 1 << 40, "size of the header"),
        (48, u64::MAX, "a section of"),
    ] {
        let mut bytes = valid.clone();
        bytes[at..at + 8].copy_from_slice(&u64::to_le_bytes(word));
        let error = read(&bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{at}: {error}");
    }
    assert!(matches!(read(b"PERFFILE________").unwrap_err().kind(), ErrorKind::UnsupportedVersion { .. }));
    assert!(matches!(read(b"PERFILE3________").unwrap_err().kind(), ErrorKind::BadMagic { .. }));
}

#[test]
fn a_file_of_a_killed_recorder_is_read_to_its_end() {
    let mut bytes = writer(Endian::Little, 8).file();
    let data = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    let size = u64::from_le_bytes(bytes[48..56].try_into().unwrap()) as usize;
    bytes[48..56].fill(0);
    bytes.truncate(data + size);
    let (events, recording) = read(&bytes).unwrap();
    assert_eq!(events, EXPECTED);
    assert_eq!(recording.counts.stopped.as_deref(), Some("the recording was not finished"));
}

#[test]
fn attributes_after_the_records_are_found() {
    let mut bytes = writer(Endian::Little, 8).file();
    let (at, size) = (120, 288);
    let end = bytes.len() as u64;
    let attributes = bytes[at..at + size].to_vec();
    bytes[at..at + size].fill(0xff);
    bytes.extend(attributes);
    bytes[24..32].copy_from_slice(&end.to_le_bytes());
    assert_eq!(read(&bytes).unwrap().0, EXPECTED);
}

#[cfg(feature = "zstd")]
#[test]
fn compressed_data_that_expands_without_end_is_refused() {
    let mut writer = Writer::new(Endian::Little, vec![EventSpec::new("cycles", PLAIN, 1)]);
    for _ in 0..200 {
        writer.raw(11, &[0; 60_000]);
    }
    let bytes = writer.compressed_file(1 << 24);
    let open = || Ok(Box::new(&bytes[..]) as Box<dyn Read>);
    let limits = Limits { inflate_ratio: 10, ..Limits::default() };
    let error = read_recording(&open, &limits, &mut |_, _| Ok(())).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::LimitExceeded { .. }), "{error}");
}

proptest! {
    #[test]
    fn mutated_recordings_end(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), piped: bool, big: bool) {
        let writer = writer(ENDIANS[usize::from(big)], 8);
        let mut bytes = if piped { writer.pipe() } else { writer.file() };
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read(&bytes);
    }
}
