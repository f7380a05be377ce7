use crate::instr::overlap::*;
use crate::model::testing::MemoryReader;
use crate::model::{FunctionRecord, ProfileKind, name_ref};
use crate::names::NamePattern;

fn value(name: &str, count: u64) -> ValueCount {
    ValueCount { value: name_ref(name.as_bytes()), count }
}

fn main_record(counters: &[u64], targets: &[ValueCount], size_count: u64) -> FunctionRecord {
    let mut record = FunctionRecord::new(100, counters.to_vec());
    record.sites_mut(ValueKind::IndirectCallTarget).push_site(targets);
    record.sites_mut(ValueKind::MemOpSize).push_site(&[ValueCount { value: 16, count: size_count }]);
    record
}

fn base() -> MemoryReader {
    MemoryReader::new(ProfileKind::IR)
        .record("main", main_record(&[10, 20, 0], &[value("helper", 5), value("a.c;cold", 1)], 4))
        .counters("helper", 7, &[0, 900])
        .counters("a.c;cold", 9, &[0])
}

fn test() -> MemoryReader {
    MemoryReader::new(ProfileKind::IR)
        .record("main", main_record(&[1, 2, 3], &[value("x", 8)], 4))
        .counters("helper", 7, &[1, 2, 3])
        .counters("a.c;cold", 8, &[6])
        .counters("fresh", 1, &[12])
}

fn compare_examples(options: &OverlapOptions) -> OverlapReport {
    let (mut base_sums, mut test_sums) = (Sums::default(), Sums::default());
    base_sums.add_profile(&mut base(), options.context_sensitive).unwrap();
    test_sums.add_profile(&mut test(), options.context_sensitive).unwrap();
    let mut table = FunctionTable::new();
    let mut reader = base();
    while let Some(read) = reader.next_record().unwrap() {
        let function = table.intern(read.name);
        table.push_record(function, read.record);
    }
    let (report, read) = overlap(&table, base_sums, test_sums, &mut test(), options);
    read.unwrap();
    report
}

#[test]
fn the_documented_example_is_printed() {
    let options = OverlapOptions { function: Some(NamePattern::stored(b"main")), ..OverlapOptions::default() };
    let mut out = Vec::new();
    compare_examples(&options).write_text(b"a.proftext", b"b.proftext", &mut out).unwrap();
    let expected = "\
Function level:
  Function: main (Hash=100)
  # of edge counters overlap: 3
  Edge profile overlap: 50.000%
  Edge profile base count sum: 30
  Edge profile test count sum: 6
  IndirectCall profile overlap: 0.000%
  IndirectCall profile base count sum: 6
  IndirectCall profile test count sum: 8
  MemOP profile overlap: 100.000%
  MemOP profile base count sum: 4
  MemOP profile test count sum: 4
Profile overlap information for base_profile: a.proftext and test_profile: b.proftext
Program level:
  # of functions overlap: 1
  # of functions mismatch: 2
  # of functions only in test_profile: 1
  Edge profile overlap: 3.226%
  Mismatched count percentage (Edge): 40.000%
  Percentage of Edge profile only in test_profile: 40.000%
  Edge profile base count sum: 930
  Edge profile test count sum: 30
  IndirectCall profile overlap: 0.000%
  Mismatched count percentage (IndirectCall): 0.000%
  Percentage of IndirectCall profile only in test_profile: 0.000%
  IndirectCall profile base count sum: 6
  IndirectCall profile test count sum: 8
  MemOP profile overlap: 100.000%
  Mismatched count percentage (MemOP): 0.000%
  Percentage of MemOP profile only in test_profile: 0.000%
  MemOP profile base count sum: 4
  MemOP profile test count sum: 4
";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn the_value_cutoff_chooses_functions_by_their_largest_counter() {
    let named = |cutoff| {
        let options = OverlapOptions { value_cutoff: cutoff, ..OverlapOptions::default() };
        compare_examples(&options).functions.len()
    };
    assert_eq!((named(3), named(4)), (1, 0));
}

#[test]
fn context_sensitive_sums_leave_out_plain_records() {
    let mut sums = Sums::default();
    sums.add_profile(&mut base(), true).unwrap();
    assert_eq!(sums, Sums::default());
}

#[test]
fn records_of_the_other_level_have_no_share() {
    let profile = || {
        let mut hot = FunctionRecord::new(1 << 60 | 5, vec![3, 1]);
        hot.sites_mut(ValueKind::MemOpSize).push_site(&[ValueCount { value: 16, count: 4 }]);
        let mut plain = FunctionRecord::new(5, vec![300, 100]);
        plain.sites_mut(ValueKind::MemOpSize).push_site(&[ValueCount { value: 16, count: 400 }]);
        MemoryReader::new(ProfileKind::IR | ProfileKind::CONTEXT_SENSITIVE).record("main", plain).record("main", hot)
    };
    let mut table = FunctionTable::new();
    let mut reader = profile();
    while let Some(read) = reader.next_record().unwrap() {
        let function = table.intern(read.name);
        table.push_record(function, read.record);
    }
    for context_sensitive in [true, false] {
        let mut sums = Sums::default();
        sums.add_profile(&mut profile(), context_sensitive).unwrap();
        let mut options = OverlapOptions { context_sensitive, ..OverlapOptions::default() };
        let common = |options: &OverlapOptions| overlap(&table, sums, sums, &mut profile(), options).0.program.common;
        let found = common(&options);
        assert_eq!((found.entries, found.edges, found.values[ValueKind::MemOpSize as usize]), (1, 1.0, 1.0));
        options.as_llvm = true;
        assert_eq!(common(&options).entries, 2);
    }
}

#[test]
fn sites_are_compared_by_value_in_any_order() {
    let pairs = equal_values(&[value("b", 2), value("a", 1)], &[value("a", 3), value("c", 9), value("b", 4)]);
    let mut sorted = pairs;
    sorted.sort_unstable();
    assert_eq!(sorted, [(1, 3), (2, 4)]);
}
