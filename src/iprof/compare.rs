//! Events of several files under common keys, so that they can be compared.

use super::context::{ContextHandle, ContextTree, Frame, describe};
use super::document::Document;
use super::names;
use super::read::replay;
use super::reader::{Entry, ReadOptions, Sink, read_stream};
use super::sections::{Records, SectionKind};
use super::statistics::{ChainsBy, targets};
use super::tables::{ImportMode, Mapping, MethodHandle, Tables, TypeHandle};
use crate::error::Result;
use std::io::Read;

/// What events belong to: a context, and in sections of rows a target or type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventKey {
    /// In the common tree.
    pub context: ContextHandle,
    /// The target's BCI (with the index above it for placeholders), the type's
    /// position in the common table, or 0.
    pub detail: i64,
}

/// Types, methods and contexts of all files that are compared.
#[derive(Debug, Default)]
pub struct CommonSpace {
    tables: Tables,
    contexts: ContextTree,
}

/// The events of one file.
#[derive(Debug, Default)]
pub struct Events {
    sections: [Vec<(EventKey, u128)>; SectionKind::ALL.len()],
    contexts: [Vec<ContextHandle>; SectionKind::ALL.len()],
    /// Which methods of the common table the file's table has.
    declared: Vec<bool>,
    /// By position in the common table.
    calls: Vec<u128>,
    samples: Vec<u128>,
}

impl Events {
    /// Keys with their events, in the order of the file; a key may occur several times.
    pub fn section(&self, kind: SectionKind) -> &[(EventKey, u128)] {
        &self.sections[kind.index()]
    }

    /// The contexts of a section's entries, in the order of the file; a context may occur several times.
    pub fn contexts(&self, kind: SectionKind) -> &[ContextHandle] {
        &self.contexts[kind.index()]
    }

    /// Whether the file's table has a method, entries or not.
    pub fn declares(&self, method: MethodHandle) -> bool {
        self.declared.get(method.index()).copied().unwrap_or(false)
    }

    /// Whether some method was called.
    pub fn has_calls(&self) -> bool {
        self.calls.iter().any(|calls| *calls > 0)
    }

    /// Whether some method was sampled.
    pub fn has_samples(&self) -> bool {
        self.samples.iter().any(|samples| *samples > 0)
    }

    /// Methods with their calls or their samples.
    pub fn methods(&self, by: ChainsBy) -> impl Iterator<Item = (MethodHandle, u128)> + '_ {
        let events = if by == ChainsBy::Calls { &self.calls } else { &self.samples };
        events.iter().enumerate().map(|(at, events)| (MethodHandle::from_index(at), *events)).filter(|(_, n)| *n > 0)
    }
}

impl CommonSpace {
    /// Reads a file's events.
    ///
    /// # Errors
    ///
    /// As [`read_from`](super::read_from).
    pub fn read_from(&mut self, stream: impl Read, options: &ReadOptions) -> Result<Events> {
        let options = ReadOptions { drop_unknown: true, ..options.clone() };
        let mut collector = Collector { space: self, mapping: None, events: Events::default() };
        let reading = read_stream(stream, &options, &mut collector).accepted(&options)?;
        collector.declare(&reading.tables);
        Ok(collector.events)
    }

    /// The events of a document.
    pub fn add(&mut self, document: &Document) -> Events {
        let mut collector = Collector { space: self, mapping: None, events: Events::default() };
        replay(document, &mut collector);
        collector.declare(&document.tables);
        collector.events
    }

    /// All contexts of all files.
    pub fn contexts(&self) -> &ContextTree {
        &self.contexts
    }

    /// A context as people write it.
    pub fn site(&self, context: ContextHandle) -> String {
        describe(&self.tables, self.contexts.frames(context))
    }

    /// A method as people write it.
    pub fn method(&self, method: MethodHandle) -> String {
        self.tables.human_name(method)
    }

    /// What a key's detail stands for in a section.
    pub fn detail(&self, kind: SectionKind, detail: i64) -> String {
        match (kind, usize::try_from(detail)) {
            (SectionKind::VirtualInvoke | SectionKind::Monitor | SectionKind::Instanceof, Ok(at)) => {
                names::display(self.tables.type_name(TypeHandle::from_index(at)))
            }
            // Placeholders carry their index in the upper half.
            _ => i32::try_from(detail).unwrap_or(detail as i32).to_string(),
        }
    }
}

struct Collector<'s> {
    space: &'s mut CommonSpace,
    mapping: Option<Mapping>,
    events: Events,
}

impl Collector<'_> {
    /// Remembers which methods the file has.
    fn declare(&mut self, tables: &Tables) {
        let mapping = self.mapping.get_or_insert_with(|| self.space.tables.adopt(tables, ImportMode::Renumbered));
        self.events.declared = vec![false; self.space.tables.methods_count()];
        mapping.methods.iter().for_each(|method| self.events.declared[method.index()] = true);
    }

    fn count_method(&mut self, kind: SectionKind, method: Option<MethodHandle>, count: u64) {
        let Some(method) = method else { return };
        let sums = if kind == SectionKind::Sampling { &mut self.events.samples } else { &mut self.events.calls };
        if sums.len() <= method.index() {
            sums.resize(method.index() + 1, 0);
        }
        sums[method.index()] += u128::from(count);
    }
}

impl Sink for Collector<'_> {
    fn entry(&mut self, tables: &Tables, entry: Entry<'_>) {
        let space = &mut *self.space;
        let mapping = self.mapping.get_or_insert_with(|| space.tables.adopt(tables, ImportMode::Renumbered));
        let mapped = |frame: &Frame| Frame { method: mapping.methods[frame.method.index()], ..*frame };
        let context = space.contexts.add_mapped(entry.frames, mapped);
        let leaf = space.contexts.leaf(context).map(|leaf| leaf.method);
        let key = |detail| EventKey { context, detail };
        self.events.contexts[entry.kind.index()].push(context);
        let section = &mut self.events.sections[entry.kind.index()];
        match entry.records {
            Records::Count(count) => {
                section.push((key(0), u128::from(count)));
                self.count_method(entry.kind, leaf, count);
            }
            Records::Branches(rows) => section.extend(targets(rows).iter().map(|target| {
                // Placeholders of one BCI are told apart by their index.
                let index = if target.bci < 0 { i64::from(target.index) << 32 } else { 0 };
                let bci = if target.bci < 0 { i64::from(target.bci.cast_unsigned()) } else { i64::from(target.bci) };
                (key(index | bci), target.events)
            })),
            Records::Types(pairs) => section.extend(pairs.iter().map(|pair| {
                let class = mapping.types[pair.class.index()];
                (key(class.index() as i64), u128::from(pair.count))
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_do_not_depend_on_the_files_ids() {
        let one = r#"{"version":"1.0.0","types":[{"id":4,"name":"A"},{"id":5,"name":"B"}],"methods":[{"id":7,"name":"m","signature":[4,4]}],"virtualInvokeProfiles":[{"ctx":"7:3","records":[5,2]}],"callCountProfiles":[{"ctx":"7:0","records":[9]}],"conditionalProfiles":[{"ctx":"7:1","records":[-1,2,5,8,0,1]}]}"#;
        let other = r#"{"version":"1.0.0","types":[{"id":0,"name":"B"},{"id":1,"name":"A"}],"methods":[{"id":0,"name":"x","signature":[1,1]},{"id":1,"name":"m","signature":[1,1]}],"virtualInvokeProfiles":[{"ctx":"1:3","records":[0,2]}],"callCountProfiles":[{"ctx":"1:0","records":[9]}],"conditionalProfiles":[{"ctx":"1:1","records":[8,0,1,-1,2,5]}]}"#;
        let mut space = CommonSpace::default();
        let [a, b] = [one, other].map(|text| space.read_from(text.as_bytes(), &ReadOptions::default()).unwrap());
        for kind in SectionKind::ALL {
            let sorted = |events: &Events| {
                let mut keys = events.section(kind).to_vec();
                keys.sort_unstable();
                keys
            };
            assert_eq!(sorted(&a), sorted(&b), "{kind:?}");
        }
        assert!(a.methods(ChainsBy::Calls).eq(b.methods(ChainsBy::Calls)));
        let (key, _) = a.section(SectionKind::VirtualInvoke)[0];
        assert_eq!(
            (space.site(key.context), space.detail(SectionKind::VirtualInvoke, key.detail)),
            ("A.m():3".into(), "B".into())
        );
        let placeholder = a.section(SectionKind::Conditional).iter().map(|(key, _)| key.detail).max().unwrap();
        assert_eq!(space.detail(SectionKind::Conditional, placeholder), "-1");
    }
}
