use crate::instr::order::*;
use crate::model::ProfileKind;
use crate::model::testing::MemoryReader;

fn example() -> MemoryReader {
    MemoryReader::new(ProfileKind::IR)
        .trace(1, &["f1", "f2", "f3"])
        .trace(2, &["f3", "f2", "f1"])
        .trace(1, &["f1", "f4", "a.c;f5"])
}

fn printed(reader: &mut MemoryReader, test_traces: usize) -> String {
    let mut out = Vec::new();
    order(reader, &OrderOptions { test_traces }).unwrap().write_text(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn local_functions_name_their_file_before() {
    let text = printed(&mut example(), 0);
    assert!(text.starts_with("# Ordered 5 functions\n# Warning: Mach-O"));
    assert!(text.contains("\n# a.c\nf5\n"), "{text}");
    assert_eq!(text.lines().count(), 8);
}

#[test]
fn test_traces_judge_the_order() {
    let text = printed(&mut example(), 1);
    assert!(
        text.starts_with("# Ordered 3 functions\n# Total area under the page fault curve: 1.000000e+00\n"),
        "{text}"
    );
}

#[test]
fn as_many_test_traces_as_traces_are_refused() {
    let failure = order(&mut example(), &OrderOptions { test_traces: 3 }).unwrap_err();
    let expected = "--num-test-traces must be smaller than the total number of traces: expected: < 3, actual: 3";
    assert_eq!(failure.to_string(), expected);
}

#[test]
fn a_profile_without_traces_gives_an_empty_order() {
    let mut reader = MemoryReader::new(ProfileKind::IR);
    assert_eq!(printed(&mut reader, 0).lines().count(), 2);
}

#[test]
fn a_name_that_ends_with_the_separator_has_no_file() {
    let split = |name: &[u8], compat| {
        let function = OrderedFunction::new(name, compat);
        (function.file, function.name)
    };
    for compat in [Compat::Profbridge, Compat::Llvm22] {
        assert_eq!(split(b"a.c;", compat), (None, "a.c;".to_string()));
        assert_eq!(split(b";f", compat), (None, "f".to_string()));
        assert_eq!(split(b"a.c;f", compat), (Some("a.c".to_string()), "f".to_string()));
    }
    assert_eq!(split(b"a.c:f", Compat::Profbridge), (Some("a.c".to_string()), "f".to_string()));
    assert_eq!(split(b"a.c:f", Compat::Llvm22), (None, "a.c:f".to_string()));
}
