//! Tests of the examples in the published description, and of the layout of 2022.

use crate::testdata;
use profbridge::iprof::statistics::{StatisticsOptions, statistics_from};
use profbridge::iprof::{Document, Layout, ReadOptions, Reader, SectionKind, WriteOptions, Writer, canonical};

fn load(name: &str) -> (Vec<u8>, Document) {
    let bytes = std::fs::read(testdata(name)).expect("the file is there");
    let (document, findings) = Reader::from_bytes(&bytes, &ReadOptions::default()).read().expect("the file is sound");
    assert!(!findings.has_errors());
    (bytes, document)
}

#[test]
fn a_compact_file_comes_back_byte_for_byte() {
    let (bytes, document) = load("even-or-odd.iprof");
    assert_eq!(Writer::new(&WriteOptions::default()).to_bytes(&document), bytes);
}

#[test]
fn an_indented_file_holds_the_same_as_its_compact_form() {
    let (_, document) = load("fibonacci.iprof");
    let compact = Writer::new(&WriteOptions::default()).to_bytes(&document);
    let mut options = WriteOptions::default();
    options.layout = Layout::Pretty;
    let pretty = Writer::new(&options).to_bytes(&document);
    let (again, _) = Reader::from_bytes(&pretty, &ReadOptions::default()).read().expect("what is written is sound");
    assert_eq!(Writer::new(&WriteOptions::default()).to_bytes(&again), compact);
}

#[test]
fn the_statistics_of_the_fibonacci_program() {
    let (bytes, _) = load("fibonacci.iprof");
    let (statistics, _) = statistics_from(&bytes[..], &StatisticsOptions::default()).expect("the file is sound");
    let hot: Vec<_> = statistics.hot_methods.iter().map(|hot| (hot.method.as_str(), hot.calls, hot.chains)).collect();
    assert_eq!(hot[0], ("java.io.PrintStream.print(java.lang.String)", 13, 2));
    assert_eq!(hot[1], ("java.lang.Thread.sleep(long)", 10, 1));
    assert_eq!((statistics.coverage.executed, statistics.coverage.declared), (6, 8));
    // The switch: two cases without a position have the target of index 1.
    let switch = statistics.branches.sites.iter().find(|site| site.site.contains("HashMap")).expect("listed");
    assert_eq!((switch.events, switch.bias, switch.targets[0].bci), (4, 1.0, 142));
    assert_eq!(statistics.exclusive_samples[0].method, "java.lang.Thread.sleep(long)");
    assert_eq!(statistics.monitors[0].name, "java.io.PrintStream");
}

#[test]
fn the_layout_of_2022_becomes_todays() {
    let (_, document) = load("layout-2022.iprof");
    assert_eq!(document.version.to_string(), "1.0.0");
    assert_eq!(document.sections.call_counts[1].count, 23_900_000_000);
    assert_eq!(document.sections.entries_count(SectionKind::Monitor), 1);
    let text = String::from_utf8(Writer::new(&WriteOptions::default()).to_bytes(&canonical(&document))).expect("text");
    assert!(text.contains(r#""conditionalProfiles":[{"ctx":"1:-4<0:6","records":[20,0,85,8,1,5]}]"#), "{text}");
}
