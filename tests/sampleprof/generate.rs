//! Random sample profiles as text.

use proptest::collection::vec;
use proptest::prelude::*;
use std::fmt::Write;

/// The kind of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub contexts: bool,
    pub checksums: bool,
    pub attributes: bool,
}

const NAMES: [&str; 9] =
    ["main", "foo", "bar", "_ZN1a1bEv", "a::b", "x y(int)", "baz.__uniq.77", "_Z1fi.llvm.12", "zed"];

#[derive(Debug, Clone)]
struct Line {
    place: (u32, u32),
    samples: u64,
    targets: Vec<(usize, u64)>,
}

#[derive(Debug, Clone)]
struct Record {
    name: usize,
    total: u64,
    head: u64,
    checksum: u64,
    attributes: u32,
    lines: Vec<Line>,
    callees: Vec<((u32, u32), Record)>,
    callers: Vec<(usize, (u32, u32))>,
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..100, 2 => 0u64..1_000_000, 1 => Just(1u64 << 40)]
}

fn place() -> impl Strategy<Value = (u32, u32)> {
    (prop_oneof![4 => 0u32..9, 1 => 0u32..65536], prop_oneof![3 => Just(0u32), 1 => 1u32..9])
}

fn line() -> impl Strategy<Value = Line> {
    (place(), count(), vec((0..NAMES.len(), count()), 0..4)).prop_map(|(place, samples, targets)| Line {
        place,
        samples,
        targets,
    })
}

fn record() -> impl Strategy<Value = Record> {
    let checksum = prop_oneof![4 => Just(7u64), 1 => Just(8u64), 1 => Just(1 << 63)];
    let own = (0..NAMES.len(), count(), count(), checksum, 1u32..4, vec(line(), 0..4));
    let leaf = own.prop_map(|(name, total, head, checksum, attributes, lines)| Record {
        name,
        total,
        head,
        checksum,
        attributes,
        lines,
        callees: Vec::new(),
        callers: Vec::new(),
    });
    let tree = leaf.prop_recursive(3, 16, 3, |inner| {
        (inner.clone(), vec((place(), inner), 0..3)).prop_map(|(mut record, callees)| {
            record.callees = callees;
            record
        })
    });
    (tree, vec((0..NAMES.len(), place()), 0..3)).prop_map(|(mut record, callers)| {
        record.callers = callers;
        record
    })
}

/// Returns a text profile of the kind that `shape` selects.
pub fn text(shape: Shape) -> impl Strategy<Value = String> {
    vec(record(), 1..12).prop_map(move |records| {
        let mut text = String::new();
        let mut titles = std::collections::BTreeSet::new();
        for record in &records {
            let title = title(record, shape);
            // Old releases replace a function that occurs twice.
            if titles.insert(title.clone()) {
                writeln!(text, "{title}:{}:{}", record.total, record.head).unwrap();
                push_record(&mut text, record, shape, 1);
            }
        }
        text
    })
}

/// Returns a text profile of any kind, with its kind.
pub fn any_text() -> impl Strategy<Value = (Shape, String)> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_flat_map(|(contexts, checksums, attributes)| {
        let shape = Shape { contexts, checksums, attributes };
        text(shape).prop_map(move |text| (shape, text))
    })
}

fn title(record: &Record, shape: Shape) -> String {
    if !shape.contexts {
        return NAMES[record.name].to_string();
    }
    // A frame's name ends at its first colon.
    let name = |name: usize| NAMES[name].replace("::", "_");
    let mut title = String::from("[");
    for (caller, at) in &record.callers {
        write!(title, "{}:{} @ ", name(*caller), spell(*at)).unwrap();
    }
    title + &name(record.name) + "]"
}

fn spell((line, discriminator): (u32, u32)) -> String {
    if discriminator == 0 { line.to_string() } else { format!("{line}.{discriminator}") }
}

fn push_record(text: &mut String, record: &Record, shape: Shape, depth: usize) {
    let indent = " ".repeat(depth);
    for line in &record.lines {
        write!(text, "{indent}{}: {}", spell(line.place), line.samples).unwrap();
        for (name, count) in &line.targets {
            write!(text, " {}:{count}", NAMES[*name]).unwrap();
        }
        text.push('\n');
    }
    if !shape.contexts {
        for (at, callee) in &record.callees {
            writeln!(text, "{indent}{}: {}:{}", spell(*at), NAMES[callee.name], callee.total).unwrap();
            push_record(text, callee, shape, depth + 1);
        }
    }
    if shape.checksums {
        writeln!(text, "{indent}!CFGChecksum: {}", record.checksum).unwrap();
    }
    if shape.attributes {
        writeln!(text, "{indent}!Attributes: {}", record.attributes).unwrap();
    }
}
