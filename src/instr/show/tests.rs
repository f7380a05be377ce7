use crate::instr::show::*;
use crate::model::testing::MemoryReader;
use crate::model::{FunctionRecord, ProfileKind, RecordView, ValueCount};
use crate::names::NamePattern;
use crate::{Error, Result};

/// Returns the profile used by the examples in the documentation of the command line.
fn example() -> MemoryReader {
    let name_ref = |name: &str| crate::model::name_ref(name.as_bytes());
    let mut main = FunctionRecord::new(100, vec![10, 20, 0]);
    main.sites_mut(ValueKind::IndirectCallTarget).push_site(&[
        ValueCount { value: name_ref("helper"), count: 5 },
        ValueCount { value: name_ref("a.c;cold"), count: 1 },
    ]);
    main.sites_mut(ValueKind::MemOpSize).push_site(&[ValueCount { value: 16, count: 4 }]);
    MemoryReader::new(ProfileKind::IR).record("main", main).counters("helper", 7, &[0, 900]).counters(
        "a.c;cold",
        9,
        &[0],
    )
}

fn shown(mut reader: MemoryReader, options: &ShowOptions) -> Result<String> {
    let mut out = Vec::new();
    let record_text = |out: &mut dyn std::io::Write, name: &[u8], _: RecordView<'_>, _: &_| {
        out.write_all(&[b"text of ", name, b"\n"].concat())
    };
    show(&mut reader, options, &record_text, &mut out)?;
    Ok(String::from_utf8(out).expect("the examples are UTF-8"))
}

const EXAMPLE_TOTALS: &str = "\
Total functions: 3
Maximum function count: 10
Maximum internal block count: 900
Total number of blocks: 6
Total count: 930
";

const IR_LEVEL: &str = "Instrumentation level: IR  entry_first = 0  instrument_loop_entries = 0\n";

#[test]
fn details_statistics_and_totals_follow_the_order_of_llvm() {
    let options = ShowOptions {
        all_functions: true,
        counts: true,
        indirect_call_targets: true,
        memop_sizes: true,
        ..ShowOptions::default()
    };
    let expected = format!(
        "Counters:
  main:
    Hash: 0x0000000000000064
    Counters: 3
    Indirect Call Site Count: 1
    Number of Memory Intrinsics Calls: 1
    Block counts: [10, 20, 0]
    Indirect Target Results:
\t[  0, helper,          5 ] (83.33%)
\t[  0, a.c;cold,          1 ] (16.67%)
    Memory Intrinsic Size Results:
\t[  0,   16,          4 ] (100.00%)
  helper:
    Hash: 0x0000000000000007
    Counters: 2
    Indirect Call Site Count: 0
    Block counts: [0, 900]
    Indirect Target Results:
  a.c;cold:
    Hash: 0x0000000000000009
    Counters: 1
    Indirect Call Site Count: 0
    Block counts: [0]
    Indirect Target Results:
{IR_LEVEL}Functions shown: 3
{EXAMPLE_TOTALS}Statistics for indirect call sites profile:
  Total number of sites: 1
  Total number of sites with values: 1
  Total number of profiled values: 2
  Value sites histogram:
\tNumTargets, SiteCount
\t2, 1
Statistics for memory intrinsic calls sizes profile:
  Total number of sites: 1
  Total number of sites with values: 1
  Total number of profiled values: 1
  Value sites histogram:
\tNumTargets, SiteCount
\t1, 1
"
    );
    assert_eq!(shown(example(), &options).unwrap(), expected);
}

#[test]
fn without_options_only_the_totals_are_shown() {
    assert_eq!(shown(example(), &ShowOptions::default()).unwrap(), format!("{IR_LEVEL}{EXAMPLE_TOTALS}"));
}

#[test]
fn front_end_profiles_show_the_first_counter_as_the_functions() {
    let reader = MemoryReader::new(ProfileKind::NONE).counters("f", 1, &[5, 6, 7]).counters("g", 1, &[4]);
    let options = ShowOptions { function: Some(NamePattern::stored(b"f")), counts: true, ..ShowOptions::default() };
    let text = shown(reader, &options).unwrap();
    assert!(text.starts_with(
        "Counters:\n  f:\n    Hash: 0x0000000000000001\n    Counters: 3\n    Function count: 5\n    \
         Block counts: [6, 7]\nInstrumentation level: Front-end\nFunctions shown: 1\nTotal functions: 2\n"
    ));
}

#[test]
fn cutoff_top_and_hot_functions() {
    let options = ShowOptions { value_cutoff: 20, top: 2, hot_functions: true, ..ShowOptions::default() };
    let expected = format!(
        "{IR_LEVEL}{EXAMPLE_TOTALS}Number of functions with maximum count (< 20): 1
Number of functions with maximum count (>= 20): 2
Top 2 functions with the largest internal block counts: \n  helper, max count = 900\n  main, max count = 20
# Hot count threshold: 20\nhelper\nmain\n"
    );
    assert_eq!(shown(example(), &options).unwrap(), expected);
    let options = ShowOptions { value_cutoff: 20, only_below_cutoff: true, ..ShowOptions::default() };
    let text = shown(example(), &options).unwrap();
    assert!(text.starts_with(
        "The list of functions with the maximum counter less than 20:\n  a.c;cold: (Max = 0 Sum = 0)\nInstr"
    ));
}

#[test]
fn covered_and_text_end_after_the_functions() {
    let covered = ShowOptions { covered: true, ..ShowOptions::default() };
    assert_eq!(shown(example(), &covered).unwrap(), "main\nhelper\n");
    let text = ShowOptions { text: true, all_functions: true, ..ShowOptions::default() };
    assert_eq!(shown(example(), &text).unwrap(), ":ir\ntext of main\ntext of helper\ntext of a.c;cold\n");
    let unselected = ShowOptions { text: true, ..ShowOptions::default() };
    assert_eq!(shown(example(), &unselected).unwrap(), ":ir\n");
}

#[test]
fn the_detailed_summary_sorts_its_cutoffs() {
    let options =
        ShowOptions { detailed_summary: true, cutoffs: vec![999_000, 10_000, 990_000], ..ShowOptions::default() };
    let rows = "Detailed summary:
1 blocks (16.67%) with count >= 900 account for 1% of the total counts.
2 blocks (33.33%) with count >= 20 account for 99% of the total counts.
3 blocks (50.00%) with count >= 10 account for 99.9% of the total counts.
";
    assert_eq!(shown(example(), &options).unwrap(), format!("{IR_LEVEL}{EXAMPLE_TOTALS}{rows}"));
}

#[test]
fn a_hot_list_without_a_large_cutoff_is_an_error_and_not_a_crash() {
    let options = ShowOptions { hot_functions: true, cutoffs: vec![10_000], ..ShowOptions::default() };
    let failure = shown(example(), &options).unwrap_err();
    assert_eq!(failure.to_string(), "Desired percentile exceeds the maximum cutoff");
}

#[test]
fn ir_profiles_show_one_sort_of_records_and_front_end_profiles_all() {
    let context_sensitive = FunctionRecord::CONTEXT_SENSITIVE_HASH | 5;
    let reader = |kind| MemoryReader::new(kind).counters("plain", 5, &[1]).counters("inlined", context_sensitive, &[2]);
    let covered = |kind, context_sensitive| {
        shown(reader(kind), &ShowOptions { covered: true, context_sensitive, ..ShowOptions::default() }).unwrap()
    };
    assert_eq!(covered(ProfileKind::IR, false), "plain\n");
    assert_eq!(covered(ProfileKind::IR, true), "inlined\n");
    assert_eq!(covered(ProfileKind::NONE, false), "plain\ninlined\n");
}

#[test]
fn pseudo_records_are_marked_and_counted_nowhere() {
    let reader = MemoryReader::new(ProfileKind::IR).counters("g", 2, &[u64::MAX]).counters("h", 3, &[u64::MAX - 1, 3]);
    let options = ShowOptions { all_functions: true, counts: true, top: 3, ..ShowOptions::default() };
    let text = shown(reader, &options).unwrap();
    assert!(text.starts_with(
        "Counters:\n  g:\n    Hash: 0x0000000000000002\n    Counters: 1    <PseudoHot>\n  h:\n    \
         Hash: 0x0000000000000003\n    Counters: 2    <PseudoWarm>\n"
    ));
    assert!(text.contains("Functions shown: 2\nTotal functions: 0\n"), "{text}");
    assert!(text.ends_with("internal block counts: \n"), "{text}");
}

#[test]
fn unknown_targets_have_an_empty_name_and_counts_are_signed() {
    let mut record = FunctionRecord::new(1, vec![1]);
    record.sites_mut(ValueKind::IndirectCallTarget).push_site(&[ValueCount { value: 77, count: u64::MAX }]);
    let reader = MemoryReader::new(ProfileKind::IR).record("f", record);
    let options = ShowOptions { all_functions: true, indirect_call_targets: true, ..ShowOptions::default() };
    assert!(shown(reader, &options).unwrap().contains("\t[  0, ,         -1 ] (100.00%)\n"));
}

#[test]
fn blocks_about_the_file_come_last() {
    let mut reader = example().trace(3, &["main", "later"]);
    reader.version = 13;
    reader.binary_ids = vec![vec![0xab, 0x01]];
    let options =
        ShowOptions { binary_ids: true, profile_version: true, temporal_traces: true, ..ShowOptions::default() };
    let text = shown(reader, &options).unwrap();
    let blocks = "Binary IDs: \nab01\nProfile version: 13
Temporal Profile Traces (samples=1 seen=1):
  Temporal Profile Trace 0 (weight=3 count=2):
    main
    later
";
    assert_eq!(text, format!("{IR_LEVEL}{EXAMPLE_TOTALS}{blocks}"));
}

#[test]
fn records_before_a_damaged_one_are_printed() {
    let mut reader = example();
    reader.fails = true;
    let mut out = Vec::new();
    let options = ShowOptions { covered: true, ..ShowOptions::default() };
    let failure = show(&mut reader, &options, &|_, _, _, _| Ok(()), &mut out).unwrap_err();
    assert_eq!(out, b"main\nhelper\n");
    assert!(failure.to_string().contains("the last record is truncated"));
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let failure: Error = show(&mut example(), &ShowOptions::default(), &|_, _, _, _| Ok(()), &mut Full).unwrap_err();
    assert!(matches!(failure.kind(), crate::ErrorKind::Io { .. }));
}

#[test]
fn json_and_text_have_the_same_content() {
    let options = ShowOptions {
        all_functions: true,
        counts: true,
        indirect_call_targets: true,
        memop_sizes: true,
        top: 1,
        hot_functions: true,
        value_cutoff: 1,
        ..ShowOptions::default()
    };
    let report = serde_json::to_value(collect(&mut example(), &options).unwrap()).unwrap();
    assert_eq!(report["summary"]["total_count"], 930);
    assert_eq!(report["functions"][0]["func_hash"], "0x0000000000000064");
    assert_eq!(report["functions"][0]["values"]["indirect_call_targets"][0][1]["name"], "a.c;cold");
    assert_eq!(report["functions"][0]["values"]["memop_sizes"][0][0]["size"], 16);
    assert_eq!(report["cutoff"]["below"], 1);
    assert_eq!(report["top"][0]["name"], "helper");
    assert_eq!(report["hot"]["threshold"], 20);
    assert_eq!(report["value_sites"]["memop_sizes"]["histogram"], serde_json::json!([{"values": 1, "sites": 1}]));
    assert_eq!(report.get("covered"), None);
}

#[test]
fn covered_functions_have_no_cutoff_and_maxima_in_json() {
    let options =
        ShowOptions { covered: true, top: 1, hot_functions: true, value_cutoff: 20, ..ShowOptions::default() };
    let report = serde_json::to_value(collect(&mut example(), &options).unwrap()).unwrap();
    assert_eq!(report["covered"], serde_json::json!(["main", "helper"]));
    for member in ["cutoff", "top", "hot"] {
        assert_eq!(report.get(member), None, "{member}");
    }
}
