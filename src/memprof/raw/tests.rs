//! Tests with raw profiles built field by field. `testdata/memprof` has files of real programs.

use crate::bytes::{Endian, Sink};
use crate::cancel::Cancel;
use crate::error::ErrorKind;
use crate::limits::Limits;
use crate::memprof::Field;
use crate::memprof::raw::dumps::MAGIC;
use crate::memprof::raw::*;

/// A raw profile: a segment, a record for each context, and their stacks.
#[derive(Clone)]
struct Dump {
    version: u64,
    segments: Vec<(u64, u64)>,
    build_id_len: u64,
    /// Stack id, AllocCount, and encoded histogram.
    records: Vec<(u64, u32, Vec<u16>)>,
    stacks: Vec<(u64, Vec<u64>)>,
}

impl Dump {
    fn new(version: u64) -> Self {
        Self {
            version,
            segments: vec![(0x1000, 0x2000)],
            build_id_len: if version >= 3 { 20 } else { 0 },
            records: vec![(7, 2, vec![1; if version >= 4 { 2 } else { 0 }]), (9, 1, Vec::new())],
            stacks: vec![(7, vec![0x1010, 0x1020]), (9, vec![0x1030])],
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut sink = Sink::new(Endian::Little);
        sink.u64s(&[MAGIC, self.version]);
        let [total, segments, records, stacks] = [0; 4].map(|_: u8| sink.reserve());
        sink.patch(segments, sink.len() as u64);
        sink.u64(self.segments.len() as u64);
        for (start, end) in &self.segments {
            sink.u64s(&[*start, *end, 0]);
            if self.version >= 3 {
                sink.u64(self.build_id_len);
            }
            sink.bytes(&[0xab; 32]);
        }
        sink.patch(records, sink.len() as u64);
        sink.u64(self.records.len() as u64);
        for (id, count, histogram) in &self.records {
            sink.u64(*id);
            sink.u32(*count);
            sink.zeros(match self.version {
                1 => 96,
                2 | 3 => 128,
                _ => 128,
            });
            if self.version >= 4 {
                sink.u32(histogram.len() as u32);
                sink.u64(0xdead);
            }
            for entry in histogram {
                if self.version >= 5 { sink.u16(*entry) } else { sink.u64((*entry).into()) }
            }
        }
        sink.align(8);
        sink.patch(stacks, sink.len() as u64);
        sink.u64(self.stacks.len() as u64);
        for (id, addresses) in &self.stacks {
            sink.u64s(&[*id, addresses.len() as u64]);
            sink.u64s(addresses);
        }
        sink.patch(total, sink.len() as u64);
        sink.into_bytes()
    }
}

fn read(bytes: &[u8]) -> crate::Result<RawMemProf<'_>> {
    RawMemProf::read(bytes, &Limits::default())
}

fn message(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

#[test]
fn every_version_is_read() {
    for version in 1..=5 {
        let bytes = Dump::new(version).bytes();
        let raw = read(&bytes).unwrap();
        assert_eq!((raw.version, raw.dumps, raw.contexts().len()), (version, 1, 2));
        let first = raw.contexts().next().unwrap().unwrap();
        assert_eq!((first.stack_id, first.info.value(Field::AllocCount)), (7, 2));
        assert_eq!(first.info.value(Field::AccessHistogram), 0, "a pointer says nothing");
        assert!(first.stack.iter().eq([0x1010, 0x1020]));
        assert_eq!(raw.segments[0].build_id, vec![0xab; if version >= 3 { 20 } else { 0 }]);
        assert_eq!(first.histogram, vec![1; if version >= 4 { 2 } else { 0 }]);
    }
}

#[test]
fn short_histograms_have_exponents() {
    let mut dump = Dump::new(5);
    dump.records[0].2 = vec![0x0fff, 0x2800, 0xffff];
    let bytes = dump.bytes();
    let first = read(&bytes).unwrap().contexts().next().unwrap().unwrap();
    assert_eq!(first.histogram, [4095, 8192, 4095 << 15]);
}

#[test]
fn dumps_of_a_file_add_up() {
    let (mut first, mut second) = (Dump::new(5), Dump::new(5));
    (first.records[0].2, second.records[0].2) = (vec![1, 2], vec![10, 20, 30]);
    second.records.push((11, 5, Vec::new()));
    second.stacks.push((11, vec![0x1040]));
    let bytes = [first.bytes(), second.bytes()].concat();
    let raw = read(&bytes).unwrap();
    assert_eq!((raw.dumps, raw.contexts().len()), (2, 3));
    let counts: Vec<u64> = raw.contexts().map(|context| context.unwrap().info.alloc_count()).collect();
    assert_eq!(counts, [4, 2, 5]);
    assert_eq!(raw.contexts().next().unwrap().unwrap().histogram, [11, 22, 30]);
}

#[test]
fn dumps_that_contradict_each_other_are_malformed() {
    let dump = Dump::new(5);
    let with = |change: fn(&mut Dump)| {
        let mut other = dump.clone();
        change(&mut other);
        message(&[dump.bytes(), other.bytes()].concat())
    };
    assert!(with(|dump| dump.segments[0].0 = 8).contains("are from different processes: their segments differ"));
    assert!(with(|dump| dump.stacks[0].1[0] = 8).contains("two stacks with the id 0x7 have different addresses"));
}

#[test]
fn each_damaged_field_is_named() {
    let good = Dump::new(5).bytes();
    let word = |at: usize| u64::from_le_bytes(good[at..at + 8].try_into().unwrap());
    let (records, stacks) = (word(32) as usize, word(40) as usize);
    let with = |at: usize, value: u64| {
        let mut bytes = good.clone();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        message(&bytes)
    };
    let huge = u64::MAX / 2;
    for (at, value, expected) in [
        (0, 1, "section header, byte 0x0: bad magic: found 0x0000000000000001, expected 0xff6d70726f667281"),
        (8, 6, "version 6 is not supported: supported versions of raw memory profiles are 1 to 5"),
        (8, 0, "version 0 is not supported"),
        (16, 0, "a profile of 0 bytes is shorter than its header"),
        (16, huge, "truncated: dump needs"),
        (24, 8, "segments at 8, records at"),
        (32, 8, "segments at 48, records at 8"),
        (40, huge, "and stacks at"),
        (48, huge, "truncated: start of a segment needs 8 bytes, 0 left"),
        (80, 33, "a build id has 33 bytes, at most 32 fit"),
        (records, huge, "section records"),
        (records + 8 + 8 + 132, huge, "truncated: histogram needs"),
        (stacks, huge, "section stacks"),
        (stacks + 8, 8, "there is no stack with the id 0x7 of a record"),
        (stacks + 16, huge, "frames of a call stack"),
        (stacks + 16, 4096, "truncated: addresses of a stack needs"),
    ] {
        let found = with(at, value);
        assert!(found.contains(expected), "byte {at}: {found}");
    }
    assert!(message(&[good.clone(), vec![0; 7]].concat()).contains("truncated: magic needs 8 bytes, 7 left"));
    assert!(message(&[]).contains("truncated: magic"));
}

#[test]
fn no_cut_and_no_flipped_byte_is_anything_but_an_error_or_a_profile() {
    for version in 1..=5 {
        let good = Dump::new(version).bytes();
        (0..good.len()).for_each(|len| assert!(read(&good[..len]).is_err(), "{len} bytes"));
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 0x81;
            let _ = read(&bytes);
        }
    }
}

#[test]
fn cancellation_ends_a_file() {
    let cancel = Cancel::default();
    cancel.cancel();
    let error = RawMemProf::read_until(&Dump::new(5).bytes(), &Limits::default(), cancel).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error}");
}
