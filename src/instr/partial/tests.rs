//! States that refer to the profile in front of them.

use super::PartialMerge;
use crate::compat::Compat;
use crate::instr::{FunctionFilter, InputOptions, MergeOptions, MergeRules};
use crate::limits::Limits;
use crate::model::{FunctionRecord, FunctionTable, RecordStore, Release};
use crate::partial::PartialInput;
use crate::text::TextReader;

/// Returns the sums of text profiles. Records of different kinds have separate sums.
fn sums(texts: &[&str]) -> PartialMerge {
    let mut sums = PartialMerge::new(&MergeRules::of(Release::DEFAULT), Limits::default());
    for text in texts {
        let mut reader = TextReader::new(text.as_bytes(), Compat::Profbridge).unwrap();
        let input = PartialInput::new("a", 1);
        let options = InputOptions::weighted(1);
        sums.add_reader(&mut reader, input, &options, &FunctionFilter::default(), false).unwrap();
    }
    sums
}

/// Returns the functions of a profile, each with one record.
fn front(functions: &[(&str, &[u64], &[u8])]) -> FunctionTable {
    let mut front = FunctionTable::new();
    for (name, counters, bitmap) in functions {
        let function = front.intern(name.as_bytes());
        let mut record = FunctionRecord::new(7, counters.to_vec());
        record.bitmap = bitmap.to_vec();
        front.push_record(function, &record);
    }
    front
}

fn decode(state: &[u8], front: &FunctionTable) -> crate::Result<PartialMerge> {
    PartialMerge::decode_after(state, front.clone(), RecordStore::new(), &Limits::default())
}

fn merged(sums: &PartialMerge) -> FunctionTable {
    sums.replay(MergeOptions::default(), &mut |_, _, _| {}).unwrap().merger.into_profile().functions
}

#[test]
fn a_state_does_not_repeat_data_of_the_profile_in_front() {
    let sums = sums(&["first_function\n7\n3\n1000\n2000\n3000\n\nsecond_function\n7\n1\n5\n\n"]);
    let whole = sums.encode().unwrap();
    let has = |state: &[u8], part: &[u8]| state.windows(part.len()).any(|window| window == part);
    assert!(has(&whole, b"first_function") && has(&whole, &[3, 0xe8, 7]));
    for (front, names, counts) in [
        (front(&[("first_function", &[1000, 2000, 3000], &[])]), false, false),
        (front(&[("second_function", &[5], &[]), ("first_function", &[1000, 2000, 3000], &[])]), false, false),
        // Counts that a target limits, or that were left out, are in the state.
        (front(&[("first_function", &[1000, 2000, 2999], &[])]), false, true),
        (front(&[("first_function", &[1000, 2000, 3000], &[1])]), false, true),
        (front(&[("second_function", &[5], &[])]), true, true),
    ] {
        let state = sums.encode_after(&front, |_| true, true).unwrap();
        assert_eq!((has(&state, b"first_function"), has(&state, &[3, 0xe8, 7])), (names, counts));
        assert_eq!(decode(&state, &front).unwrap().encode_after(&front, |_| true, true).unwrap(), state);
        let none = sums.encode_after(&front, |_| false, true).unwrap();
        assert_eq!(none, whole, "functions that are not written are in the state");
        assert_eq!(merged(&decode(&state, &front).unwrap()), merged(&sums));
    }
}

#[test]
fn bitmaps_are_in_the_state_unless_the_file_has_them() {
    let sums = sums(&["f\n7\n1\n5\n$2\n0x7\n0x9\n\n"]);
    let front = front(&[("f", &[5], &[7, 9])]);
    let lens = [true, false].map(|has_bitmaps| sums.encode_after(&front, |_| true, has_bitmaps).unwrap().len());
    assert_eq!(lens[1] - lens[0], [1, 5, 2, 7, 9].len());
}

#[test]
fn sums_of_functions_in_another_order_are_added() {
    let of = |names: [&str; 3], count: u64| {
        let texts = names.map(|name| format!("{name}\n7\n1\n{count}\n\n"));
        sums(&[&texts.concat()])
    };
    let mut all = of(["f", "g", "h"], 1);
    for (names, count) in [(["f", "g", "h"], 10), (["f", "h", "g"], 100), (["k", "f", "g"], 1000)] {
        all.append(of(names, count));
    }
    let merged = merged(&all);
    let counts = |name: &str| merged.find(name.as_bytes()).unwrap().records().next().unwrap().counters.first();
    assert_eq!(["f", "g", "h", "k"].map(counts), [Some(1111), Some(1111), Some(111), Some(1000)]);
}

/// Two sums cannot share a record: otherwise a short state could contain a long record any number of times.
#[test]
fn one_sum_refers_to_a_record() {
    let sums = sums(&["f\n7\n2\n5\n6\n\n", ":ir\nf\n7\n2\n5\n6\n\n"]);
    assert_eq!(sums.groups.len(), 2);
    let front = front(&[("f", &[5, 6], &[])]);
    let state = sums.encode_after(&front, |_| true, true).unwrap();
    // FuncHash, marks, number of counters, counters, length of the bitmap.
    let own = [7, 0, 0, 0, 0, 0, 0, 0, 0, 2, 5, 6, 0];
    let at = state.windows(own.len()).position(|window| window == own).expect("the second sum has its counts");
    let second = [&state[..at + 8], &[1 << 4], &state[at + own.len()..]].concat();
    let fault = decode(&second, &front).unwrap_err().to_string();
    assert!(fault.contains("the profile in front has no such record"), "{fault}");
    assert!(decode(&state, &FunctionTable::new()).is_err(), "the profile is missing");
}
