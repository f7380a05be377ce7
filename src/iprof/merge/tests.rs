use crate::error::ErrorKind;
use crate::iprof::merge::*;
use crate::iprof::{BranchRow, ReadOptions, TypeHandle, WriteOptions, Writer, canonical, canonical_with};
use proptest::prelude::*;
use std::cell::Cell;
use std::io::Read;
use std::num::NonZeroUsize;

fn document(text: &str) -> Document {
    Reader::from_bytes(text.as_bytes(), &ReadOptions::default()).read().unwrap().0
}

fn text(document: &Document) -> String {
    String::from_utf8(Writer::new(&WriteOptions::default()).to_bytes(document)).unwrap()
}

const HEAD: &str =
    r#""types":[{"id":0,"name":"A"},{"id":5,"name":"B"}],"methods":[{"id":3,"name":"m","signature":[0,5]}]"#;

#[test]
fn one_file_of_weight_one_stays_as_it_is() {
    let whole = format!(
        r#"{{"version":"1.1.0",{HEAD},"x":[1],"callCountProfiles":[{{"ctx":"3:0","records":[4],"y":2}}],"instanceOfProfiles":[]}}"#
    );
    let (merged, report) = merge([(&document(&whole), Weight::ONE)], MergeOptions::default()).unwrap();
    assert_eq!(text(&merged), whole);
    assert!(report.warnings(BranchClash::Heavier).is_empty());
}

#[test]
fn ids_mean_nothing_across_files() {
    let one = document(&format!(
        r#"{{"version":"1.0.0",{HEAD},"callCountProfiles":[{{"ctx":"3:0","records":[4]}}],"virtualInvokeProfiles":[{{"ctx":"3:7","records":[5,1]}}]}}"#
    ));
    let other = document(
        r#"{"version":"0.4.0","types":[{"id":0,"name":"B"},{"id":5,"name":"A"},{"id":6,"name":"C"}],"methods":[{"id":3,"name":"n","signature":[0,5]},{"id":9,"name":"m","signature":[5,0]}],"callCountProfiles":[{"ctx":"9:0","records":[10]},{"ctx":"3:0<9:2","records":[1]}],"virtualInvokeProfiles":[{"ctx":"9:7","records":[6,2,0,3]}],"x":[]}"#,
    );
    let weight = Weight::parse("2").unwrap();
    let (merged, report) = merge([(&one, Weight::ONE), (&other, weight)], MergeOptions::default()).unwrap();
    assert_eq!(
        text(&merged),
        r#"{"version":"1.0.0","types":[{"id":0,"name":"A"},{"id":5,"name":"B"},{"id":6,"name":"C"}],"methods":[{"id":3,"name":"m","signature":[0,5]},{"id":4,"name":"n","signature":[5,0]}],"callCountProfiles":[{"ctx":"3:0","records":[24]},{"ctx":"4:0<3:2","records":[2]}],"virtualInvokeProfiles":[{"ctx":"3:7","records":[5,7,6,4]}]}"#
    );
    assert_eq!(report.dropped_members, ["x"]);
}

#[test]
fn sums_saturate_at_the_largest_long_with_a_warning() {
    let most = document(&format!(
        r#"{{"version":"1.0.0",{HEAD},"callCountProfiles":[{{"ctx":"3:0","records":[9223372036854775806]}}]}}"#
    ));
    let (merged, report) = merge([(&most, Weight::ONE), (&most, Weight::ONE)], MergeOptions::default()).unwrap();
    assert_eq!(merged.sections.call_counts[0].count, crate::iprof::MAX_COUNT);
    assert_eq!(report.saturated, [(SectionKind::CallCount, 1)]);
    // Nothing can be added to a count that is the largest already.
    let most = document(&format!(
        r#"{{"version":"1.0.0",{HEAD},"callCountProfiles":[{{"ctx":"3:0","records":[9223372036854775807]}}]}}"#
    ));
    let (merged, report) = merge([(&most, Weight::ONE)], MergeOptions::default()).unwrap();
    assert_eq!((merged.sections.call_counts[0].count, report.saturated), (crate::iprof::MAX_COUNT, vec![]));
    let (_, report) = merge([(&most, Weight::ONE), (&most, Weight::ONE)], MergeOptions::default()).unwrap();
    assert_eq!(report.saturated, [(SectionKind::CallCount, 1)]);
}

#[test]
fn clashes_are_counted_and_may_fail_the_merge() {
    let branch = |records: &str| {
        document(&format!(
            r#"{{"version":"1.0.0",{HEAD},"conditionalProfiles":[{{"ctx":"3:4","records":{records}}}]}}"#
        ))
    };
    let (one, other) = (branch("[7,0,1,9,1,1]"), branch("[7,0,5,20,1,5]"));
    let (merged, report) = merge([(&one, Weight::ONE), (&other, Weight::ONE)], MergeOptions::default()).unwrap();
    assert_eq!((report.clashed_sites, report.clash_example.as_deref()), (1, Some("A.m():4")));
    assert_eq!(merged.sections.conditionals.entry(0).1[0].count, 5);
    let strict = MergeOptions::resolving(BranchClash::Error);
    let error = merge([(&one, Weight::ONE), (&other, Weight::ONE)], strict).unwrap_err();
    assert!(error.to_string().contains("A.m():4"), "{error}");
}

#[test]
fn normalizing_lets_a_short_run_count_as_much_as_a_long_one() {
    let run = |count: u64| {
        format!(r#"{{"version":"1.0.0",{HEAD},"callCountProfiles":[{{"ctx":"3:0","records":[{count}]}}]}}"#)
    };
    let inputs = [run(1000), run(10)];
    let totals: Vec<_> = inputs
        .iter()
        .map(|input| (Weight::ONE, SectionTotals::read_from(input.as_bytes(), &ReadOptions::default()).unwrap()))
        .collect();
    let mut merger = Merger::new(MergeOptions::default());
    for (input, weights) in inputs.iter().zip(SectionWeights::normalized(&totals)) {
        merger.add_from(Reader::new(input.as_bytes(), &ReadOptions::default()), weights).unwrap();
    }
    assert_eq!(merger.finish_with_report().unwrap().0.sections.call_counts[0].count, 2000);
}

/// A text that cancels the merge once its beginning was read.
struct CancelsEarly<'a> {
    text: &'a [u8],
    left: &'a Cell<usize>,
    cancel: Cancel,
}

impl Read for CancelsEarly<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let read = self.text.read(out)?;
        self.left.set(self.text.len());
        if self.text.len() < 2_800_000 {
            self.cancel.cancel();
        }
        Ok(read)
    }
}

#[test]
fn cancelling_ends_the_reading_of_a_large_file() {
    let entries: Vec<String> = (0..80_000).map(|at| format!(r#"{{"ctx":"3:0<3:{at}","records":[{at}]}}"#)).collect();
    let text = format!(r#"{{"version":"1.0.0",{HEAD},"callCountProfiles":[{}]}}"#, entries.join(",\n"));
    assert!(text.len() > 3_000_000, "{}", text.len());
    for threads in [1, 2] {
        let (left, mut options) = (Cell::new(0), ReadOptions::default());
        options.threads = NonZeroUsize::new(threads);
        let stream = CancelsEarly { text: text.as_bytes(), left: &left, cancel: options.cancel.clone() };
        let mut merger = Merger::new(MergeOptions::default());
        let error = merger.add_from(Reader::new(stream, &options), 1).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error}");
        assert!(left.get() > 1_000_000, "only {} bytes were not read", left.get());
    }
    let document = document(&text);
    let options = MergeOptions::default();
    options.cancel.cancel();
    let error = Merger::new(options).add(&document, 1).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error}");
}

prop_compose! {
    /// Documents over few methods and types, so that inputs have much in common.
    fn any_document()(
        calls in prop::collection::vec((0usize..4, prop::collection::vec((0usize..4, -2i32..3), 0..3), 0u64..1 << 40), 0..6),
        branches in prop::collection::vec(
            (0usize..3, 0i32..3, prop::collection::vec((prop_oneof![0i32..6, Just(-5)], 0u32..3, 0u64..50), 0..4)), 0..6),
        receivers in prop::collection::vec((0usize..3, 0i32..3, prop::collection::vec((0usize..4, 0u64..50), 0..4)), 0..4),
        monitors in prop::collection::vec((0usize..4, 1u64..9), 0..3),
        shuffle in any::<bool>(),
    ) -> Document {
        let mut document = Document::new();
        let mut names = ["a.A", "a.B", "b.C", "int"];
        if shuffle {
            names.reverse();
        }
        let types: Vec<TypeHandle> = names.iter().map(|name| document.add_type(name.as_bytes())).collect();
        let class = |document: &mut Document, at: usize| document.add_type(["a.A", "a.B", "b.C", "int"][at].as_bytes());
        let mut methods = Vec::new();
        for name in ["m", "n", "o", "p"] {
            let (a, int) = (class(&mut document, 0), class(&mut document, 3));
            methods.push(document.add_method(name.as_bytes(), &[a, int]));
        }
        assert_eq!(types.len(), document.tables.types_count());
        for (leaf, callers, count) in calls {
            let mut frames = vec![Frame { method: methods[leaf], bci: 0 }];
            frames.extend(callers.into_iter().map(|(method, bci)| Frame { method: methods[method], bci }));
            let context = document.add_context(&frames);
            document.sections.call_counts.push(CountEntry { context, count });
            document.sections.samples.push(CountEntry { context, count: count / 2 });
        }
        for (leaf, bci, rows) in branches {
            let context = document.add_context(&[Frame { method: methods[leaf], bci }]);
            let rows: Vec<_> = rows.into_iter().map(|(bci, index, count)| BranchRow { index, bci, count }).collect();
            document.sections.conditionals.push(context, &rows);
        }
        for (leaf, bci, pairs) in receivers {
            let context = document.add_context(&[Frame { method: methods[leaf], bci }]);
            let pairs: Vec<_> =
                pairs.into_iter().map(|(at, count)| TypeCount { class: class(&mut document, at), count }).collect();
            document.sections.virtual_invokes.push(context, &pairs);
        }
        if !monitors.is_empty() {
            let pairs: Vec<_> =
                monitors.into_iter().map(|(at, count)| TypeCount { class: class(&mut document, at), count }).collect();
            document.sections.monitors.push(ContextHandle::ROOT, &pairs);
        }
        document
    }
}

fn merged(documents: &[&Document], branch_clash: BranchClash) -> Document {
    let options = MergeOptions::resolving(branch_clash);
    merge(documents.iter().map(|document| (*document, Weight::ONE)), options).unwrap().0
}

#[test]
fn tables_in_common_are_read_like_any() {
    let types =
        |more: &str| format!(r#"[{{"id":0,"name":"A"}},{{"id":5,"name":"int"}},{{"id":6,"name":"void"}}{more}]"#);
    let methods = |more: &str| format!(r#"[{{"id":3,"name":"m","signature":[0,5]}}{more}]"#);
    let sections = r#""callCountProfiles":[{"ctx":"3:0","records":[4]},{"ctx":"3:0<3:7","records":[1]}],"virtualInvokeProfiles":[{"ctx":"3:7","records":[0,1,5,2]}]"#;
    let file =
        |types: &str, methods: &str| format!(r#"{{"version":"1.0.0","types":{types},"methods":{methods},{sections}}}"#);
    let more_types = [
        "",
        r#",{"id":7,"name":"B"}"#,
        r#",{"id":7,"name":"C"}"#,
        r#",{"id":8,"name":"B","x":1}"#,
        r#",{"id":7,"name":"b..B"}"#,
        r#",{"id":7,"name":""}"#,
        r#",{"id":7,"name":"A"}"#,
        r#",{"id":5,"name":"int"}"#,
        r#",{"id":0,"name":"B"}"#,
        r#",{"id":-1,"name":"B"}"#,
    ];
    let more_methods = [
        "",
        r#",{"id":4,"name":"n","signature":[0,6,5]}"#,
        r#",{"id":4,"name":"n","signature":[0,5,5]}"#,
        r#",{"id":4,"name":"n","signature":[0,6,6]}"#,
        r#",{"id":4,"name":"n","signature":[5,6]}"#,
        r#",{"id":4,"name":"n","signature":[7,6]}"#,
        r#",{"id":4,"name":"m","signature":[0,5]}"#,
        r#",{"id":3,"name":"n","signature":[0,5]}"#,
    ];
    let mut files: Vec<String> = more_types.iter().map(|more| file(&types(more), &methods(more_methods[1]))).collect();
    files.extend(more_methods.iter().map(|more| file(&types(more_types[1]), &methods(more))));
    files.push(file(&types(""), "{}"));
    files.push(file(&types(""), "[]"));
    files.push(file("[]", &methods("")));
    files.push(files[0][..files[0].len() - 150].to_string());
    files.push(files[0].replace("\"types\"", "\"other\""));
    let options = ReadOptions { accept_errors: true, ..ReadOptions::default() };
    for (first, second) in files.iter().flat_map(|first| files.iter().map(move |second| (first, second))) {
        let mut merger = Merger::new(MergeOptions::default());
        let mut documents = Vec::new();
        for text in [first, second] {
            match (
                merger.add_from(Reader::new(text.as_bytes(), &options), 1),
                Reader::from_bytes(text.as_bytes(), &options).read(),
            ) {
                (Ok(added), Ok((document, expected))) => {
                    assert_eq!(format!("{:?}", added.findings), format!("{expected:?}"), "{text} after {first}");
                    documents.push(document);
                }
                (found, expected) => {
                    assert_eq!(found.unwrap_err().to_string(), expected.unwrap_err().to_string(), "{text}");
                    break;
                }
            }
        }
        if documents.len() == 2 {
            let streamed = merger.finish_with_report().unwrap().0;
            let expected = merged(&documents.iter().collect::<Vec<_>>(), BranchClash::Heavier);
            assert_eq!(text(&streamed), text(&expected), "{first} and {second}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn merging_does_not_depend_on_the_order(a in any_document(), b in any_document(), c in any_document()) {
        for policy in [BranchClash::Heavier, BranchClash::Union, BranchClash::Drop] {
            let expected = text(&canonical_with(merged(&[&a, &b, &c], policy), policy));
            for order in [[&c, &b, &a], [&b, &a, &c], [&c, &a, &b]] {
                prop_assert_eq!(text(&canonical_with(merged(&order, policy), policy)), expected.clone());
            }
        }
        let kept = |order: &[&Document]| text(&canonical_with(merged(order, BranchClash::Keep), BranchClash::Keep));
        prop_assert_eq!(kept(&[&a, &b, &c]), kept(&[&c, &a, &b]));
    }

    #[test]
    fn merging_in_stages_is_exact_while_nothing_is_settled(a in any_document(), b in any_document(), c in any_document()) {
        let keep = BranchClash::Keep;
        let at_once = merged(&[&a, &b, &c], keep);
        let left = merged(&[&merged(&[&a, &b], keep), &c], keep);
        let right = merged(&[&a, &merged(&[&b, &c], keep)], keep);
        let expected = text(&canonical_with(at_once, keep));
        prop_assert_eq!(text(&canonical_with(left.clone(), keep)), expected.clone());
        prop_assert_eq!(text(&canonical_with(right, keep)), expected);
        // Resolving after each stage equals resolving once at the end.
        prop_assert_eq!(text(&canonical(&left)), text(&canonical(&merged(&[&c, &b, &a], BranchClash::Heavier))));
    }

    #[test]
    fn an_empty_document_changes_nothing(a in any_document()) {
        let empty = Document::new();
        prop_assert_eq!(text(&canonical(&merged(&[&empty, &a], BranchClash::Heavier))), text(&canonical(&a)));
    }

    #[test]
    fn a_weight_equals_that_number_of_copies(a in any_document(), b in any_document(), weight in 1u64..4) {
        let keep = MergeOptions::resolving(BranchClash::Keep);
        let weighted = merge([(&a, Weight::ratio(weight, 1).unwrap()), (&b, Weight::ONE)], keep).unwrap().0;
        let mut copies = vec![&a; weight as usize];
        copies.push(&b);
        prop_assert_eq!(text(&canonical(&weighted)), text(&canonical(&merged(&copies, BranchClash::Keep))));
    }

    #[test]
    fn owned_documents_merge_like_borrowed_ones(a in any_document(), b in any_document()) {
        let mut merger = Merger::new(MergeOptions::default());
        merger.add_owned(a.clone()).unwrap();
        merger.add_owned(b.clone()).unwrap();
        let owned = merger.finish_with_report().unwrap().0;
        prop_assert_eq!(text(&owned), text(&merged(&[&a, &b], BranchClash::Heavier)));
    }

    #[test]
    fn streams_merge_like_documents(a in any_document(), b in any_document()) {
        let mut merger = Merger::new(MergeOptions::default());
        for document in [&a, &b] {
            let options = ReadOptions::default();
            merger.add_from(Reader::new(text(document).as_bytes(), &options), 1).unwrap();
        }
        let streamed = merger.finish_with_report().unwrap().0;
        prop_assert_eq!(text(&canonical(&streamed)), text(&canonical(&merged(&[&a, &b], BranchClash::Heavier))));
    }

    #[test]
    fn canonical_form_is_reached_at_once_and_survives_writing(a in any_document()) {
        let once = canonical(&a);
        prop_assert_eq!(text(&canonical(&once)), text(&once));
        let again = document(&text(&once));
        prop_assert_eq!(text(&again), text(&once));
        prop_assert_eq!(text(&document(&text(&a))), text(&a));
    }
}
