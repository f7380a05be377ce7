//! The canonical form: what two files of one content have in common.
//!
//! Types stand in order of name, methods of identity, contexts of their
//! frames, all numbered from 0; equal contexts are added up, branch rows stand
//! in order of (index, BCI), types of a site in order of name; empty sections
//! and what is not part of the format are left out; the version is the lowest
//! that has every section used.

use super::context::{ContextHandle, Frame};
use super::document::Document;
use super::merge::branches::sort_canonically;
use super::merge::{BranchClash, MergeOptions, Merger, SectionWeights, Weight};
use super::sections::{Records, SectionKind, Sections, TypeCount};
use super::tables::{ImportMode, MethodHandle, Tables, TypeHandle};

/// The canonical form of a document. Several shapes of one branch are resolved.
pub fn canonical(document: &Document) -> Document {
    canonical_with(document, BranchClash::Heavier)
}

/// As [`canonical`], with a choice of what to do about clashing branch lists:
/// [`Keep`](BranchClash::Keep) keeps every shape apart.
pub fn canonical_with(document: &Document, branch_clash: BranchClash) -> Document {
    let mut options = MergeOptions::default();
    // Failing is for merges of several files.
    options.branch_clash = if branch_clash == BranchClash::Error { BranchClash::Heavier } else { branch_clash };
    let mut merger = Merger::new(options);
    merger.add(document, &SectionWeights::uniform(Weight::ONE));
    let (sum, _) = merger.finish().expect("one document merges, and no clash is an error");
    sorted(&sum)
}

/// Everything in order, numbered from 0.
fn sorted(document: &Document) -> Document {
    let mut sorted = Document::new();
    let (types, methods) = sort_tables(&document.tables, &mut sorted.tables);
    let frames = |context: ContextHandle| {
        document.contexts.frames(context).map(|frame| (methods[frame.method.index()], frame.bci))
    };
    for kind in SectionKind::ALL {
        let mut entries: Vec<_> = document.sections.entries(kind).collect();
        // Stable: shapes kept apart stay in the order of their weight.
        entries.sort_by(|a, b| frames(a.0).cmp(frames(b.0)));
        for (context, records) in entries {
            let frames: Vec<Frame> = frames(context).map(|(method, bci)| Frame { method, bci }).collect();
            let context = sorted.contexts.add(&frames);
            push_sorted(&mut sorted.sections, kind, context, records, &types);
        }
    }
    sorted.version = sorted.lowest_version();
    sorted
}

/// Fills `sorted` and says where each old type and method is in it.
fn sort_tables(tables: &Tables, sorted: &mut Tables) -> (Vec<TypeHandle>, Vec<MethodHandle>) {
    let mut order: Vec<TypeHandle> = tables.types().collect();
    order.sort_by(|a, b| tables.type_name(*a).cmp(tables.type_name(*b)));
    let types = sorted.adopt_types(tables, order, ImportMode::Renumbered);
    // Types are in order of name now: comparing their positions compares names.
    let mut order: Vec<MethodHandle> = tables.methods().collect();
    order.sort_by(|a, b| {
        let [a, b] = [a, b].map(|handle| {
            let mut parts = tables.signature(*handle).iter().map(|part| types[part.index()]);
            (parts.next(), tables.method_name(*handle), parts)
        });
        (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| a.2.cmp(b.2))
    });
    let methods = sorted.adopt_methods(tables, order, ImportMode::Renumbered, &types);
    (types, methods)
}

fn push_sorted(
    sorted: &mut Sections,
    kind: SectionKind,
    context: ContextHandle,
    records: Records<'_>,
    types: &[TypeHandle],
) {
    match records {
        Records::Count(_) => sorted.push(kind, context, records),
        Records::Branches(rows) => {
            let mut rows = rows.to_vec();
            sort_canonically(&mut rows);
            sorted.push(kind, context, Records::Branches(&rows));
        }
        Records::Types(pairs) => {
            let renamed = |pair: &TypeCount| TypeCount { class: types[pair.class.index()], ..*pair };
            let mut pairs: Vec<TypeCount> = pairs.iter().map(renamed).collect();
            pairs.sort_by_key(|pair| pair.class);
            sorted.push(kind, context, Records::Types(&pairs));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iprof::{ReadOptions, WriteOptions, read, write};

    fn canonical_text(text: &str) -> String {
        let (document, _) = read(text.as_bytes(), &ReadOptions::default()).unwrap();
        String::from_utf8(write(&canonical(&document), &WriteOptions::default())).unwrap()
    }

    #[test]
    fn equal_content_gives_equal_bytes_whatever_the_ids() {
        let one = r#"{"version":"0.4.0","types":[{"id":4,"name":"b.B"},{"id":9,"name":"a.A"}],"methods":[{"id":7,"name":"m","signature":[4,9]},{"id":2,"name":"m","signature":[9,9]}],"samplingProfiles":[],"x":1,"conditionalProfiles":[{"ctx":"7:3<2:1","records":[9,1,5,4,0,6]}],"callCountProfiles":[{"ctx":"7:0","records":[1]},{"ctx":"2:0","records":[2]},{"ctx":"7:0","records":[3]}]}"#;
        let other = r#"{"types":[{"id":1,"name":"a.A"},{"id":2,"name":"b.B"}],"methods":[{"id":0,"name":"m","signature":[1,1]},{"id":1,"name":"m","signature":[2,1]}],"callCountProfiles":[{"ctx":"0:0","records":[2]},{"ctx":"1:0","records":[4]}],"conditionalProfiles":[{"ctx":"1:3<0:1","records":[4,0,6,9,1,5]}],"version":"1.1.0"}"#;
        let expected = r#"{"version":"1.0.0","types":[{"id":0,"name":"a.A"},{"id":1,"name":"b.B"}],"methods":[{"id":0,"name":"m","signature":[0,0]},{"id":1,"name":"m","signature":[1,0]}],"callCountProfiles":[{"ctx":"0:0","records":[2]},{"ctx":"1:0","records":[4]}],"conditionalProfiles":[{"ctx":"1:3<0:1","records":[4,0,6,9,1,5]}]}"#;
        assert_eq!(canonical_text(one), expected);
        assert_eq!(canonical_text(other), expected);
        assert_eq!(canonical_text(expected), expected);
    }
}
