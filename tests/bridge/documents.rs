//! Generates small iprof documents with many special cases.

use profbridge::iprof::{
    BranchRow, ContextHandle, CountEntry, Document, Frame, MAX_COUNT, MethodHandle, TypeCount, TypeHandle,
};
use proptest::prelude::*;

/// One entry of a section. Its indices are taken modulo the number of items.
#[derive(Debug, Clone)]
enum Entry {
    Calls(Vec<(usize, i32)>, u64),
    Branches(Vec<(usize, i32)>, Vec<(i32, u32, u64)>),
    Receivers(Vec<(usize, i32)>, Vec<(usize, u64)>),
    Tested(Vec<(usize, i32)>, Vec<(usize, u64)>),
    Monitors(Vec<(usize, u64)>),
    Samples(Vec<(usize, i32)>, u64),
}

const TYPES: [&str; 16] = [
    "int",
    "void",
    "boolean",
    "java.lang.Object",
    "[I",
    "[Ljava.lang.String;",
    "[Lint;",
    "app.Main",
    "app.Shape",
    "app.Outer$$Lambda/0xd5f5",
    "$Proxy1",
    "123",
    "a#b(c)d",
    "{odd} [x]:3 @ %41",
    " Ünïcode ",
    "** External Symbol **",
];

const METHODS: [&str; 6] = ["main", "<init>", "lambda$main$0", "String(AAAZ)", "computeValue%1", "a;b:c"];

fn bci() -> impl Strategy<Value = i32> {
    prop_oneof![4 => 0..4i32, 1 => -6..0i32, 1 => Just(65534)]
}

fn frames() -> impl Strategy<Value = Vec<(usize, i32)>> {
    prop::collection::vec((0..6usize, bci()), 1..4)
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0..50u64, 1 => Just(MAX_COUNT), 1 => (1u64 << 53)..(1 << 54)]
}

fn rows() -> impl Strategy<Value = Vec<(i32, u32, u64)>> {
    let row = (prop_oneof![4 => 0..30i32, 1 => Just(-5), 1 => Just(-1)], 0..4u32, count());
    prop_oneof![
        // Mostly one of few shapes, so that equal sites occur.
        3 => (count(), count()).prop_map(|(a, b)| vec![(20, 0, a), (7, 1, b)]),
        1 => (count(), count()).prop_map(|(a, b)| vec![(7, 0, a), (20, 1, b)]),
        1 => (count(), count()).prop_map(|(a, b)| vec![(7, 0, a), (-5, 0, b), (-5, 0, a)]),
        3 => prop::collection::vec(row, 1..6),
    ]
}

fn pairs() -> impl Strategy<Value = Vec<(usize, u64)>> {
    prop::collection::vec((0..TYPES.len(), count()), 1..5)
}

fn entry() -> impl Strategy<Value = Entry> {
    prop_oneof![
        4 => (frames(), count()).prop_map(|(frames, count)| Entry::Calls(frames, count)),
        4 => (frames(), rows()).prop_map(|(frames, rows)| Entry::Branches(frames, rows)),
        2 => (frames(), pairs()).prop_map(|(frames, pairs)| Entry::Receivers(frames, pairs)),
        2 => (frames(), pairs()).prop_map(|(frames, pairs)| Entry::Tested(frames, pairs)),
        1 => pairs().prop_map(Entry::Monitors),
        2 => (frames(), count()).prop_map(|(frames, count)| Entry::Samples(frames, count)),
    ]
}

/// Any document that the bridge converts without loss.
pub fn any_document() -> impl Strategy<Value = Document> {
    let methods = prop::collection::vec((0..METHODS.len(), prop::collection::vec(0..TYPES.len(), 2..5)), 1..7);
    let types = prop::collection::vec(0..TYPES.len(), 0..4);
    (types, methods, prop::collection::vec(entry(), 0..14))
        .prop_map(|(types, methods, entries)| build(&types, &methods, &entries))
}

fn build(types: &[usize], methods: &[(usize, Vec<usize>)], entries: &[Entry]) -> Document {
    let mut document = Document::new();
    let add_type = |document: &mut Document, at: usize| document.add_type(TYPES[at].as_bytes());
    types.iter().for_each(|at| {
        add_type(&mut document, *at);
    });
    let handles: Vec<MethodHandle> = methods
        .iter()
        .map(|(name, signature)| {
            let signature: Vec<TypeHandle> = signature.iter().map(|at| add_type(&mut document, *at)).collect();
            document.add_method(METHODS[*name].as_bytes(), &signature)
        })
        .collect();
    let context = |document: &mut Document, frames: &[(usize, i32)]| {
        let frames: Vec<Frame> =
            frames.iter().map(|(method, bci)| Frame { method: handles[method % handles.len()], bci: *bci }).collect();
        document.add_context(&frames)
    };
    let resolve = |document: &mut Document, pairs: &[(usize, u64)]| -> Vec<TypeCount> {
        pairs.iter().map(|(at, count)| TypeCount { class: add_type(document, *at), count: *count }).collect()
    };
    for entry in entries {
        match entry {
            Entry::Calls(frames, count) => {
                let mut frames = frames.clone();
                frames[0].1 = 0;
                let context = context(&mut document, &frames);
                document.sections.call_counts.push(CountEntry { context, count: *count });
            }
            Entry::Samples(frames, count) => {
                let context = context(&mut document, frames);
                document.sections.samples.push(CountEntry { context, count: *count });
            }
            Entry::Branches(frames, rows) => {
                let context = context(&mut document, frames);
                let rows: Vec<BranchRow> = rows
                    .iter()
                    .map(|(bci, index, count)| BranchRow { bci: *bci, index: *index, count: *count })
                    .collect();
                document.sections.conditionals.push(context, &rows);
            }
            Entry::Receivers(frames, pairs) => {
                let context = context(&mut document, frames);
                let pairs = resolve(&mut document, pairs);
                document.sections.virtual_invokes.push(context, &pairs);
            }
            Entry::Tested(frames, pairs) => {
                let context = context(&mut document, frames);
                let pairs = resolve(&mut document, pairs);
                document.sections.instanceofs.push(context, &pairs);
            }
            Entry::Monitors(pairs) => {
                let pairs = resolve(&mut document, pairs);
                document.sections.monitors.push(ContextHandle::ROOT, &pairs);
            }
        }
    }
    document
}
