//! Converts sampled stacks to the `samplingProfiles` of an iprof and back.
//!
//! Each distinct stack of Java frames becomes one entry with its hits. Except for the call counts of recorded calls,
//! all other sections stay empty, because samples measure time and do not count events. [`SampleReport`] counts the
//! data that an iprof cannot store.

use crate::call_chains::{
    Frame, FrameId, FrameKind, Function, FunctionId, MAX_HITS, SampleKey, SampleSource, Selection, StackId, StackTable,
    Unit,
};
use crate::digits::number_of;
use crate::error::Result;
use crate::iprof::{
    ContextHandle, CountEntry, Document, Frame as IprofFrame, MAX_COUNT, MethodHandle, SectionKind, TypeHandle, bci,
};
use crate::java;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Options of the conversion from stacks to iprof.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SampleOptions {
    /// The samples to convert.
    pub selection: Selection,
    /// The BCI to write if it is unknown. Default: −5, which the format reserves for this purpose.
    pub unknown_bci: i32,
    /// Whether to drop frames of hidden classes, which no image contains. The `lambda$…` methods that they call stay.
    /// Default: `false`.
    pub drop_hidden: bool,
}

impl Default for SampleOptions {
    fn default() -> Self {
        Self { selection: Selection::default(), unknown_bci: bci::UNKNOWN, drop_hidden: false }
    }
}

/// The losses and approximations of the conversion. Numbers are hits unless stated otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SampleReport {
    /// Written hits.
    pub hits: u128,
    /// Written distinct stacks.
    pub stacks: u64,
    /// Methods with a call count.
    pub called_methods: u64,
    /// Dropped samples of other event types.
    pub other_sources: u128,
    /// Dropped samples of other threads.
    pub other_threads: u128,
    /// Truncated stacks that were dropped on request.
    pub truncated_dropped: u128,
    /// Truncated stacks that were written without their outermost frames.
    pub truncated_kept: u128,
    /// Samples of native code that were attributed to its Java caller.
    pub native_leaf: u128,
    /// Dropped stacks without Java frames.
    pub without_java: u128,
    /// Methods with unknown types. They do not match any program.
    pub names_only_methods: u64,
    /// Methods of hidden classes that were removed from stacks.
    pub hidden_methods: u64,
    /// Distinct frames without a BCI.
    pub unknown_bci_frames: u64,
    /// Frames whose line numbers are not written.
    pub(crate) frame_lines: u64,
    /// Frames whose types (interpreted, compiled, inlined) are not written.
    pub(crate) frame_kinds: u64,
    /// Stacks that were merged because they differ only in data that is not written.
    pub merged_stacks: u64,
    /// Threads whose names are not written.
    pub threads: u64,
    /// Additions that were limited to 2^63 − 1.
    pub saturated: u64,
    /// Names that were changed because they are not UTF-8 (reading an iprof), are empty, or have a line terminator
    /// (writing one).
    pub mended_names: u64,
}

impl SampleReport {
    /// Returns a message for each loss and approximation that occurred.
    pub fn losses(&self) -> Vec<String> {
        let rows = [
            (self.other_sources, "sample", "of other event types, dropped"),
            (self.other_threads, "sample", "of other threads, dropped"),
            (self.truncated_dropped, "sample", "with truncated stacks, dropped"),
            (self.truncated_kept, "sample", "with truncated stacks, which lack outermost frames"),
            (self.native_leaf, "sample", "in native code, counted for the Java caller"),
            (self.without_java, "sample", "without a Java frame, dropped"),
            (
                self.names_only_methods.into(),
                "method",
                "without known types, written as void without parameters, which compilers cannot use; pass a \
                 reference to add the types",
            ),
            (self.hidden_methods.into(), "method", "of hidden classes, dropped from stacks"),
            (self.unknown_bci_frames.into(), "frame", "without a known BCI"),
            (self.frame_lines.into(), "line number", "of frames, dropped"),
            (self.frame_kinds.into(), "type", "of frames (interpreted, compiled, inlined), dropped"),
            (
                self.merged_stacks.into(),
                "stack",
                "merged with another that differs only in data that iprof cannot store",
            ),
            (self.threads.into(), "thread name", "not written"),
            (self.saturated.into(), "sum", "stopped at 2^63-1"),
            (self.mended_names.into(), "name", "changed, because iprof cannot store it"),
        ];
        let found = rows.into_iter().filter(|(count, ..)| *count > 0);
        found.map(|(count, what, words)| format!("{} {words}", number_of(count, what))).collect()
    }
}

/// Returns an iprof with the stacks of `table` as its `samplingProfiles`.
pub fn iprof_from_stacks(table: &StackTable, options: &SampleOptions) -> (Document, SampleReport) {
    let mut report = SampleReport::default();
    let (selected, left_out) = table.select(&options.selection);
    // Calls are not samples; they have their own section.
    let selected = selected.filter_samples(|sample| !sample.key.source.counts_calls());
    let mut of_calls = options.selection.clone();
    of_calls.sources = SampleSource::CALLS
        .iter()
        .copied()
        .filter(|source| options.selection.sources.is_empty() || options.selection.sources.contains(source))
        .collect();
    let calls = match of_calls.sources.is_empty() {
        true => StackTable::new(),
        false => table.select(&of_calls).0,
    };
    // By default only the main source is selected, but calls are always written.
    let main = table.main_source().filter(|_| options.selection.sources.is_empty());
    let written = calls.samples().filter(|sample| main.is_some_and(|main| sample.key.source != main));
    let not_lost: u128 = written.map(|sample| u128::from(sample.hits)).sum();
    report.other_sources = left_out.other_sources.saturating_sub(not_lost);
    report.other_threads = left_out.other_threads;
    report.truncated_dropped = left_out.truncated;
    report.native_leaf = native_leaf_hits(&selected);
    let (java_only, without_java) = keep_java(&selected, options, &mut report);
    report.without_java = without_java.into();
    report.saturated = java_only.saturated();
    let mut writer = Writer { table: &java_only, document: Document::new(), methods: BTreeMap::new(), report, options };
    writer.write();
    let Writer { document, report, .. } = writer;
    let mut writer = Writer { table: &calls, document, methods: BTreeMap::new(), report, options };
    writer.write_calls();
    (writer.document, writer.report)
}

/// Returns the hits of stacks whose leaf is native code called from a Java frame.
fn native_leaf_hits(table: &StackTable) -> u128 {
    let is_java =
        |stack: StackId| matches!(table.function(table.frame(table.leaf(stack)).function), Function::Java { .. });
    let charged = |stack: StackId| {
        !is_java(stack) && std::iter::successors(table.parent(stack), |s| table.parent(*s)).any(is_java)
    };
    table.samples().filter(|sample| charged(sample.key.stack)).map(|sample| u128::from(sample.hits)).sum()
}

fn keep_java(table: &StackTable, options: &SampleOptions, report: &mut SampleReport) -> (StackTable, u64) {
    let mut hidden = BTreeSet::new();
    let kept = table.map_frames(|out, frame| {
        let Function::Java { class, .. } = out.function(frame.function) else { return None };
        if options.drop_hidden && java::is_hidden(out.name(class)) {
            hidden.insert(frame.function.index());
            return None;
        }
        Some(frame)
    });
    report.hidden_methods = hidden.len() as u64;
    kept
}

struct Writer<'a> {
    table: &'a StackTable,
    document: Document,
    methods: BTreeMap<FunctionId, MethodHandle>,
    report: SampleReport,
    options: &'a SampleOptions,
}

impl Writer<'_> {
    fn write(&mut self) {
        let mut contexts: Vec<Option<ContextHandle>> = vec![None; self.table.stacks().len()];
        let mut hits: BTreeMap<ContextHandle, u64> = BTreeMap::new();
        let mut distinct = BTreeSet::new();
        let mut threads = BTreeSet::new();
        let mut frames = BTreeMap::new();
        for sample in self.table.samples() {
            let context = self.context(sample.key.stack, &mut contexts, &mut frames);
            let sum = hits.entry(context).or_default();
            *sum = sum.saturating_add(sample.hits).min(MAX_COUNT);
            distinct.insert(sample.key.stack);
            threads.extend(sample.key.thread);
            if sample.key.truncated {
                self.report.truncated_kept += u128::from(sample.hits);
            }
        }
        self.report.stacks = hits.len() as u64;
        self.report.merged_stacks = (distinct.len() - hits.len()) as u64;
        self.report.threads = threads.len() as u64;
        let frames_with = |test: &dyn Fn(&Frame) -> bool| frames.values().filter(|frame| test(frame)).count() as u64;
        self.report.unknown_bci_frames = frames_with(&|frame| frame.bci.is_none());
        self.report.frame_lines = frames_with(&|frame| frame.line.is_some());
        self.report.frame_kinds = frames_with(&|frame| frame.kind != FrameKind::Unknown);
        self.report.hits = hits.values().map(|hits| u128::from(*hits)).sum();
        let entries = hits.into_iter().map(|(context, count)| CountEntry { context, count });
        self.document.sections.samples = entries.collect();
    }

    /// Writes the call counts of methods. A method with both event types is counted once, because both count the same
    /// calls.
    fn write_calls(&mut self) {
        let mut calls: BTreeMap<FunctionId, [u64; 2]> = BTreeMap::new();
        for sample in self.table.samples() {
            let function = self.table.frame(self.table.leaf(sample.key.stack)).function;
            if !matches!(self.table.function(function), Function::Java { .. }) {
                self.report.without_java += u128::from(sample.hits);
                continue;
            }
            let sums = calls.entry(function).or_default();
            let sum = &mut sums[usize::from(sample.key.source == SampleSource::MethodTiming)];
            *sum = sum.saturating_add(sample.hits).min(MAX_COUNT);
        }
        self.report.called_methods = calls.len() as u64;
        for (function, [traced, timed]) in calls {
            let method = self.method(function);
            let context = self.document.add_context(&[IprofFrame { method, bci: 0 }]);
            self.document.sections.call_counts.push(CountEntry { context, count: traced.max(timed) });
        }
    }

    /// Returns the context of a stack. Stacks share the contexts of their callers.
    fn context(
        &mut self,
        stack: StackId,
        known: &mut [Option<ContextHandle>],
        frames: &mut BTreeMap<usize, Frame>,
    ) -> ContextHandle {
        let mut missing = vec![stack];
        let mut context = ContextHandle::ROOT;
        while let Some(top) = missing.last().copied() {
            if let Some(found) = known[top.index()] {
                context = found;
                missing.pop();
                break;
            }
            match self.table.parent(top) {
                Some(parent) => missing.push(parent),
                None => break,
            }
        }
        while let Some(stack) = missing.pop() {
            let id = self.table.leaf(stack);
            let frame = self.table.frame(id);
            frames.insert(id.index(), frame);
            let method = self.method(frame.function);
            let bci = frame.bci.unwrap_or(self.options.unknown_bci);
            context = self.document.contexts.child(context, IprofFrame { method, bci });
            known[stack.index()] = Some(context);
        }
        context
    }

    fn method(&mut self, id: FunctionId) -> MethodHandle {
        if let Some(known) = self.methods.get(&id) {
            return *known;
        }
        let (class, name, types) = match self.table.function(id) {
            Function::Java { class, name, signature } => {
                let types = signature.map(|signature| self.table.signature(signature));
                (self.table.name(class), self.table.name(name), types)
            }
            // Only Java frames are left.
            Function::Symbol { name } => ("", self.table.name(name), None),
        };
        let mut signature = vec![self.add_type(class)];
        match types {
            Some(types) => signature.extend(types.iter().map(|id| self.add_type(self.table.name(*id)))),
            None => self.report.names_only_methods += 1,
        }
        if signature.len() < 2 {
            signature.push(self.add_type("void"));
        }
        let name = fixed(name, &mut self.report);
        let method = self.document.add_method(name.as_bytes(), &signature);
        self.methods.insert(id, method);
        method
    }

    fn add_type(&mut self, name: &str) -> TypeHandle {
        self.document.add_type(fixed(name, &mut self.report).as_bytes())
    }
}

/// Returns a name that iprof can store: a replacement character replaces each line terminator and an empty name. Both
/// occur in damaged recordings.
fn fixed<'n>(name: &'n str, report: &mut SampleReport) -> Cow<'n, str> {
    const TERMINATORS: [char; 4] = ['\n', '\r', '\u{2028}', '\u{2029}'];
    const REPLACEMENT: &str = "\u{fffd}";
    if !name.is_empty() && !name.contains(TERMINATORS) {
        return Cow::Borrowed(name);
    }
    report.mended_names += 1;
    Cow::Owned(if name.is_empty() { REPLACEMENT.to_string() } else { name.replace(TERMINATORS, REPLACEMENT) })
}

/// The counts of an iprof to use as hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum IprofHits {
    /// `samplingProfiles`.
    #[default]
    Samples,
    /// `callCountProfiles`: the weights are calls, not time, and the chains end at the borders of compilation units.
    CallCounts,
}

/// Returns the stacks of an iprof.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub(crate) fn stacks_from_iprof(document: &Document, hits: IprofHits) -> Result<(StackTable, SampleReport)> {
    let mut table = StackTable::new();
    let mut report = SampleReport::default();
    let (entries, source) = match hits {
        IprofHits::Samples => (&document.sections.samples, "iprof samples"),
        IprofHits::CallCounts => (&document.sections.call_counts, "iprof call counts (weights, no time)"),
    };
    let mut is_used = vec![false; document.contexts.len()];
    entries.iter().for_each(|entry| is_used[entry.context.index()] = true);
    // Contexts follow their callers.
    for (context, caller, _) in document.contexts.iter().rev() {
        is_used[caller.index()] |= is_used[context.index()];
    }
    let mut functions: Vec<Option<FunctionId>> = vec![None; document.tables.methods_count()];
    let mut stacks: Vec<Option<StackId>> = vec![None; document.contexts.len()];
    let used = || document.contexts.iter().filter(|(context, ..)| is_used[context.index()]);
    for (.., frame) in used() {
        functions[frame.method.index()]
            .get_or_insert_with(|| intern_method(document, frame.method, &mut table, &mut report));
    }
    // Contexts are distinct, so their stacks are, too, unless methods have the same name.
    let are_distinct = functions.iter().flatten().count() == table.functions().len();
    let mut frames: foldhash::HashMap<(FunctionId, i32), FrameId> = Default::default();
    for (context, caller, frame) in used() {
        let Some(function) = functions[frame.method.index()] else { continue };
        let bci = (frame.bci != bci::UNKNOWN).then_some(frame.bci);
        let id = *frames
            .entry((function, frame.bci))
            .or_insert_with(|| table.add_new_frame(Frame { function, bci, line: None, kind: FrameKind::Unknown }));
        let parent = stacks[caller.index()];
        stacks[context.index()] =
            Some(if are_distinct { table.add_new_stack(parent, id) } else { table.push_frame(parent, id) });
    }
    for entry in entries {
        let Some(stack) = stacks[entry.context.index()] else { continue };
        table.add(SampleKey::of_stack(stack), entry.count.min(MAX_HITS));
    }
    let all: usize = SectionKind::ALL.iter().map(|kind| document.sections.entries_count(*kind)).sum();
    let other_entries = (all - entries.len()) as u64;
    table.observed.add_source(source);
    table.observed.parts = 1;
    table.observed.other_entries = other_entries;
    table.observed.add_unit(SampleSource::Unknown, Unit::Hits);
    report.hits = table.total_hits();
    report.stacks = table.samples().len() as u64;
    report.saturated = table.saturated();
    Ok((table, report))
}

fn intern_method(
    document: &Document,
    method: MethodHandle,
    table: &mut StackTable,
    report: &mut SampleReport,
) -> FunctionId {
    let mut text = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => text.to_string(),
        Err(_) => {
            report.mended_names += 1;
            String::from_utf8_lossy(bytes).into_owned()
        }
    };
    let tables = &document.tables;
    let name = text(tables.method_name(method));
    let types: Vec<String> = tables.signature(method).iter().map(|handle| text(tables.type_name(*handle))).collect();
    let (class, types) = match types.split_first() {
        Some((class, types)) => (class.as_str(), types),
        None => ("", &[][..]),
    };
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    table.intern_java(class, &name, Some(&types))
}

/// Adds all methods that an iprof declares to a reference for descriptors.
pub(crate) fn add_reference(document: &Document, reference: &mut crate::stacks::classes::Reference) {
    let tables = &document.tables;
    for method in tables.methods() {
        let names: Option<Vec<&str>> =
            tables.signature(method).iter().map(|handle| std::str::from_utf8(tables.type_name(*handle)).ok()).collect();
        let name = std::str::from_utf8(tables.method_name(method)).ok();
        if let (Some([class, types @ ..]), Some(name)) = (names.as_deref(), name) {
            reference.add(class, name, types);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iprof::{WriteOptions, Writer};
    use crate::limits::Limits;
    use crate::stacks::collapsed::{CollapsedOptions, TextOptions, read_stacks, write_collapsed};

    fn stacks(text: &str) -> StackTable {
        let mut table = StackTable::new();
        read_stacks(text.as_bytes(), &TextOptions::default(), &Limits::default(), &mut table).unwrap();
        table
    }

    fn json(document: &Document) -> String {
        String::from_utf8(Writer::new(&WriteOptions::default()).to_bytes(document)).unwrap()
    }

    fn exact(table: &StackTable) -> String {
        let mut options = CollapsedOptions::default();
        (options.descriptors, options.bcis) = (true, true);
        write_collapsed(table, &options).0
    }

    #[test]
    fn names_that_an_iprof_cannot_store_are_fixed() {
        let table = stacks("a/\u{2028}B.ma\u{2029}in()V@3 1\na/B.a\rb()V@3 1\n");
        let (document, report) = iprof_from_stacks(&table, &SampleOptions::default());
        assert_eq!(report.mended_names, 3);
        assert!(json(&document).contains("\"a.\u{fffd}B\""));
        crate::iprof::Reader::from_bytes(json(&document).as_bytes(), &Default::default()).read().expect("it is sound");
        assert_eq!(fixed("", &mut SampleReport::default()), "\u{fffd}");
    }

    #[test]
    fn each_distinct_stack_is_one_entry() {
        let table = stacks("a/B.main()V@3;a/B.f(I)J@0 2\na/B.main()V@3;a/B.f(I)J@-5 4\na/B.main()V@3 1\n");
        let (document, report) = iprof_from_stacks(&table, &SampleOptions::default());
        assert_eq!(
            json(&document),
            concat!(
                r#"{"version":"1.0.0","types":[{"id":0,"name":"a.B"},{"id":1,"name":"void"},{"id":2,"name":"long"},{"id":3,"name":"int"}],"#,
                r#""methods":[{"id":0,"name":"main","signature":[0,1]},{"id":1,"name":"f","signature":[0,2,3]}],"#,
                r#""samplingProfiles":[{"ctx":"0:3","records":[1]},{"ctx":"1:0<0:3","records":[2]},{"ctx":"1:-5<0:3","records":[4]}]}"#
            )
        );
        assert_eq!((report.hits, report.stacks, report.unknown_bci_frames), (7, 3, 1));
        assert_eq!(report.losses(), ["1 frame without a known BCI"]);
    }

    #[test]
    fn unsupported_data_is_counted() {
        let table = stacks("[t tid=1];start;a/B.main_[0];memcpy 2\n[t tid=1];start;a/B.main_[1] 3\nstart 4\n");
        let options = SampleOptions { unknown_bci: 0, ..SampleOptions::default() };
        let (document, report) = iprof_from_stacks(&table, &options);
        assert!(json(&document).contains(r#""samplingProfiles":[{"ctx":"0:0","records":[5]}]"#));
        assert_eq!((report.native_leaf, report.without_java, report.names_only_methods), (2, 4, 1));
        assert_eq!((report.merged_stacks, report.threads), (1, 1));
    }

    #[test]
    fn hidden_frames_go_on_request() {
        let table = stacks("a/B.main()V@1;a/B$$Lambda.0x7f.run()V@2;a/B.lambda$main$0()V@3 1\n");
        let options = SampleOptions { drop_hidden: true, ..SampleOptions::default() };
        let (document, report) = iprof_from_stacks(&table, &options);
        assert_eq!(report.hidden_methods, 1);
        assert_eq!(
            exact(&stacks_from_iprof(&document, IprofHits::Samples).unwrap().0),
            "a/B.main()V@1;a/B.lambda$main$0()V@3 1\n"
        );
    }

    #[test]
    fn calls_become_call_counts() {
        let mut table = StackTable::new();
        let function = |table: &mut StackTable, name: &str| table.intern_java("a.B", name, Some(&["void"]));
        let (main, hot) = (function(&mut table, "main"), function(&mut table, "hot"));
        let mut add = |path: &[FunctionId], source: SampleSource, hits: u64| {
            let mut stack = None;
            for function in path {
                let frame = Frame { function: *function, bci: Some(0), line: None, kind: FrameKind::Unknown };
                let frame = table.intern_frame(frame);
                stack = Some(table.push_frame(stack, frame));
            }
            let key = SampleKey { source, ..SampleKey::of_stack(stack.unwrap()) };
            table.add(key, hits);
        };
        add(&[main, hot], SampleSource::MethodTrace, 3);
        add(&[hot], SampleSource::MethodTrace, 2);
        add(&[hot], SampleSource::MethodTiming, 4);
        add(&[main], SampleSource::MethodTiming, 1);
        let (document, report) = iprof_from_stacks(&table, &SampleOptions::default());
        let text = json(&document);
        assert!(
            text.contains(r#""callCountProfiles":[{"ctx":"0:0","records":[1]},{"ctx":"1:0","records":[5]}]"#),
            "{text}"
        );
        assert!(!text.contains("samplingProfiles"), "{text}");
        assert_eq!((report.called_methods, report.stacks, report.losses().len()), (2, 0, 0));
        let mut add = |source: SampleSource| {
            let frame = Frame { function: main, bci: Some(7), line: None, kind: FrameKind::Unknown };
            let frame = table.intern_frame(frame);
            let stack = table.push_frame(None, frame);
            table.add(SampleKey { source, ..SampleKey::of_stack(stack) }, 9);
        };
        add(SampleSource::Execution);
        let (document, report) = iprof_from_stacks(&table, &SampleOptions::default());
        assert!(json(&document).contains(r#""samplingProfiles":[{"ctx":"0:7","records":[9]}]"#), "{}", json(&document));
        assert_eq!((report.called_methods, report.hits, report.losses().len()), (2, 9, 0));
    }

    #[test]
    fn iprof_to_collapsed_and_back_is_the_identity() {
        let text = "a/B.main([Ljava/lang/String|)V@3;p/L$$X.0x7f.run%28()I@-6 \
                    2\na/B.main([Ljava/lang/String|)V@3;a/B.f()[[J@-5 9\n";
        let (document, _) = iprof_from_stacks(&stacks(text), &SampleOptions::default());
        let (table, report) = stacks_from_iprof(&document, IprofHits::Samples).unwrap();
        assert_eq!(report.losses(), [""; 0]);
        assert_eq!(
            exact(&table),
            "a/B.main([Ljava/lang/String|)V@3;a/B.f()[[J@-5 \
             9\na/B.main([Ljava/lang/String|)V@3;p/L$$X.0x7f.run%28()I@-6 2\n"
        );
        let (again, _) = iprof_from_stacks(&stacks(&exact(&table)), &SampleOptions::default());
        let (once_more, _) = stacks_from_iprof(&again, IprofHits::Samples).unwrap();
        assert_eq!(exact(&once_more), exact(&table));
    }
}
