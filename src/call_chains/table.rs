//! Sampled stacks, independent of file formats: the common data of recordings, collapsed and folded stacks, and the
//! `samplingProfiles` of an iprof.
//!
//! ```text
//! StackTable
//! ├── names                 every text once
//! ├── functions             a Java method (class, name, signature) or a symbol
//! ├── frames                a function at a position (BCI, line), and how it ran
//! ├── stacks                a tree from the thread's entry: parent and frame
//! ├── threads               names
//! └── samples               stack, thread, source, marks → hits
//! ```
//!
//! Each level refers to the one above by number, so memory grows with the
//! distinct stacks and not with the length of a recording.

use super::samples::{ReadStats, SampleSource};
use crate::java;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash};

/// Number of a text in a [`StackTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NameId(u32);

/// Number of a list of types in a [`StackTable`]: the return type, then the
/// types of the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SignatureId(u32);

/// Number of a function in a [`StackTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FunctionId(u32);

/// Number of a frame in a [`StackTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FrameId(u32);

/// Number of a stack in a [`StackTable`]: its innermost frame and all callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StackId(u32);

/// Number of a thread in a [`StackTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ThreadId(u32);

macro_rules! index {
    ($($id:ident),*) => {$(
        impl $id {
            /// The number itself, counted from 0 in order of first appearance.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}
index!(NameId, SignatureId, FunctionId, FrameId, StackId, ThreadId);

/// The function of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Function {
    /// A Java method.
    Java {
        /// Declaring class as `Class.getName()` gives it: `java.util.Map$Entry`,
        /// hidden classes with a slash before their suffix.
        class: NameId,
        /// Method name, `<init>` and `<clinit>` included.
        name: NameId,
        /// Return and parameter types, if the source has them.
        signature: Option<SignatureId>,
    },
    /// Anything else: native code, the kernel, the VM, a marker such as `[unknown]`.
    Symbol {
        /// As in the source.
        name: NameId,
    },
}

/// The execution mode of a frame, if the source has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum FrameKind {
    /// Unknown.
    #[default]
    Unknown,
    /// By the bytecode interpreter.
    Interpreted,
    /// By code of the first compiler.
    C1,
    /// By compiled code.
    Compiled,
    /// As part of the compiled code of its caller.
    Inlined,
    /// Native code in user space, the VM's own included.
    Native,
    /// The kernel.
    Kernel,
}

impl FrameKind {
    /// One word for reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Interpreted => "interpreted",
            Self::C1 => "c1",
            Self::Compiled => "compiled",
            Self::Inlined => "inlined",
            Self::Native => "native",
            Self::Kernel => "kernel",
        }
    }
}

/// A function at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Frame {
    /// The function.
    pub function: FunctionId,
    /// The bytecode index, or a placeholder −1 to −6 of the iprof format. `None` if unknown.
    pub bci: Option<i32>,
    /// Line of the source file, where known.
    pub line: Option<u32>,
    /// The execution mode.
    pub kind: FrameKind,
}

/// The exactness of the sampled position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Certainty {
    /// Unknown.
    #[default]
    Unknown,
    /// The source states that it is exact.
    Exact,
    /// The source states that it is a guess, or moved to the next safepoint.
    Heuristic,
}

/// The key by which samples are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SampleKey {
    /// The whole stack.
    pub stack: StackId,
    /// The thread, where known.
    pub thread: Option<ThreadId>,
    /// The event type.
    pub source: SampleSource,
    /// Whether its position is exact.
    pub certainty: Certainty,
    /// The outermost frames are missing, because the sampler keeps a limited number.
    pub truncated: bool,
}

impl SampleKey {
    /// The key of a stack without thread and source.
    pub(crate) fn of_stack(stack: StackId) -> Self {
        let (source, certainty) = (SampleSource::Unknown, Certainty::Unknown);
        Self { stack, thread: None, source, certainty, truncated: false }
    }
}

/// The number of samples of one stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The stack and its source.
    pub key: SampleKey,
    /// The count; sums saturate at 2^63 − 1, as everywhere in iprof.
    pub hits: u64,
    /// The number of events whose bytes or times the hits are, without weights; 0 if unknown.
    pub(crate) events: u64,
}

/// Hits are at most Java's maximum `long`.
pub(crate) const MAX_HITS: u64 = i64::MAX as u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Node {
    parent: Option<StackId>,
    frame: FrameId,
}

/// Samples with all they refer to.
#[derive(Debug, Clone, Default)]
pub struct StackTable {
    pub(super) names: Interner<Box<str>>,
    pub(super) signatures: Interner<Box<[NameId]>>,
    pub(super) functions: Interner<Function>,
    pub(super) frames: Interner<Frame>,
    pub(super) nodes: Interner<Node>,
    pub(super) depths: Vec<u32>,
    pub(super) threads: Interner<Box<str>>,
    pub(super) keys: Interner<SampleKey>,
    pub(super) hits: Vec<u64>,
    /// Only up to the last sample whose events are known: most sources have none.
    pub(super) events: Vec<u64>,
    pub(super) saturated: u64,
    pub(super) start_lines: BTreeMap<FunctionId, u32>,
    /// Properties of the sources, and counts of what was dropped.
    pub observed: ReadStats,
}

/// Equal if both have the same samples in the same order, and the same properties of the sources. The numbers of names,
/// functions and stacks may differ.
impl PartialEq for StackTable {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |(own, of_other): (Sample, Sample)| {
            let [own_thread, other_thread] = [(self, own), (other, of_other)]
                .map(|(table, sample)| sample.key.thread.map(|thread| table.thread(thread)));
            let mut frames = other.frames(of_other.key.stack);
            let mut own_frames = self.frames(own.key.stack);
            own_thread == other_thread
                && SampleKey { stack: own.key.stack, thread: own.key.thread, ..of_other.key } == own.key
                && own.hits == of_other.hits
                && own_frames
                    .by_ref()
                    .all(|frame| frames.next().is_some_and(|of_other| self.spelled(frame) == other.spelled(of_other)))
                && frames.next().is_none()
        };
        self.saturated == other.saturated
            && self.observed == other.observed
            && self.samples().len() == other.samples().len()
            && self.samples().zip(other.samples()).all(is_same)
    }
}

/// A frame without numbers: the class and the name of its function, the types of its signature, the line where the function
/// starts, and the position.
type SpelledFrame<'a> =
    (Option<&'a str>, &'a str, Option<Vec<&'a str>>, Option<u32>, (Option<i32>, Option<u32>, FrameKind));

impl StackTable {
    fn spelled(&self, frame: FrameId) -> SpelledFrame<'_> {
        let Frame { function, bci, line, kind } = self.frame(frame);
        let start = self.start_line(function);
        let (class, name, types) = match self.function(function) {
            Function::Symbol { name } => (None, name, None),
            Function::Java { class, name, signature } => (Some(self.name(class)), name, signature),
        };
        let types = types.map(|types| self.signature(types).iter().map(|name| self.name(*name)).collect());
        (class, self.name(name), types, start, (bci, line, kind))
    }

    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of a text.
    pub(crate) fn intern_name(&mut self, text: &str) -> NameId {
        NameId(self.names.intern(text, |text| text.into()))
    }

    /// The number of a list of types: return type, then parameters.
    pub(crate) fn intern_signature(&mut self, types: &[NameId]) -> SignatureId {
        SignatureId(self.signatures.intern(types, |types| types.into()))
    }

    /// The number of a function.
    pub(crate) fn intern_function(&mut self, function: Function) -> FunctionId {
        FunctionId(self.functions.intern(&function, |function| *function))
    }

    /// The number of a Java method; `types` is its return type, then its parameters.
    pub(crate) fn intern_java(&mut self, class: &str, name: &str, types: Option<&[&str]>) -> FunctionId {
        let (class, name) = (self.intern_name(class), self.intern_name(name));
        let signature = types.map(|types| {
            let types: Vec<NameId> = types.iter().map(|text| self.intern_name(text)).collect();
            self.intern_signature(&types)
        });
        self.intern_function(Function::Java { class, name, signature })
    }

    /// The number of a function that is not a Java method.
    pub(crate) fn intern_symbol(&mut self, name: &str) -> FunctionId {
        let name = self.intern_name(name);
        self.intern_function(Function::Symbol { name })
    }

    /// Sets the first line of a function.
    pub(crate) fn set_start_line(&mut self, function: FunctionId, line: u32) {
        self.start_lines.entry(function).or_insert(line);
    }

    /// Returns the first line of a function, if the source has it.
    pub(crate) fn start_line(&self, function: FunctionId) -> Option<u32> {
        self.start_lines.get(&function).copied()
    }

    /// The number of a frame.
    pub fn intern_frame(&mut self, frame: Frame) -> FrameId {
        FrameId(self.frames.intern(&frame, |frame| *frame))
    }

    /// The stack that `frame` makes on top of `parent`; `None` starts a thread.
    pub fn push_frame(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        let stack = StackId(self.nodes.intern(&Node { parent, frame }, |node| *node));
        if stack.index() == self.depths.len() {
            let below = parent.map_or(0, |parent| self.depths[parent.index()]);
            self.depths.push(below.saturating_add(1));
        }
        stack
    }

    /// Adds a frame that the table does not have.
    pub(crate) fn add_new_frame(&mut self, frame: Frame) -> FrameId {
        FrameId(self.frames.append(frame))
    }

    /// Adds the stack that `frame` makes on top of `parent`, which the table does not have.
    pub(crate) fn add_new_stack(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        let below = parent.map_or(0, |parent| self.depths[parent.index()]);
        self.depths.push(below.saturating_add(1));
        StackId(self.nodes.append(Node { parent, frame }))
    }

    /// The number of a thread name.
    pub(crate) fn intern_thread(&mut self, name: &str) -> ThreadId {
        ThreadId(self.threads.intern(name, |name| name.into()))
    }

    /// Counts `hits` more samples.
    pub fn add(&mut self, key: SampleKey, hits: u64) {
        self.add_sample(Sample { key, hits, events: 0 });
    }

    /// Counts the hits of a sample.
    pub(crate) fn add_sample(&mut self, Sample { key, hits, events }: Sample) {
        let index = self.keys.intern(&key, |key| *key) as usize;
        if index == self.hits.len() {
            self.hits.push(0);
        }
        if events > 0 {
            self.events.resize(self.events.len().max(index + 1), 0);
            self.events[index] = self.events[index].saturating_add(events);
        }
        let sum = self.hits[index].saturating_add(hits);
        if sum > MAX_HITS {
            self.saturated += 1;
        }
        self.hits[index] = sum.min(MAX_HITS);
    }

    /// Returns the number of additions that saturated at `MAX_HITS`.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// A text.
    pub fn name(&self, id: NameId) -> &str {
        self.names.value(id.0)
    }

    /// Return type, then parameter types.
    pub fn signature(&self, id: SignatureId) -> &[NameId] {
        self.signatures.value(id.0)
    }

    /// A function.
    pub fn function(&self, id: FunctionId) -> Function {
        *self.functions.value(id.0)
    }

    /// A frame.
    pub fn frame(&self, id: FrameId) -> Frame {
        *self.frames.value(id.0)
    }

    /// The innermost frame of a stack.
    pub fn leaf(&self, stack: StackId) -> FrameId {
        self.nodes.value(stack.0).frame
    }

    /// The stack of the caller.
    pub fn parent(&self, stack: StackId) -> Option<StackId> {
        self.nodes.value(stack.0).parent
    }

    /// Frames of a stack.
    pub fn depth(&self, stack: StackId) -> u32 {
        self.depths[stack.index()]
    }

    /// The frames of a stack, the innermost first.
    pub fn frames(&self, stack: StackId) -> impl Iterator<Item = FrameId> + '_ {
        std::iter::successors(Some(stack), |stack| self.parent(*stack)).map(|stack| self.leaf(stack))
    }

    /// A thread's name.
    pub fn thread(&self, id: ThreadId) -> &str {
        self.threads.value(id.0)
    }

    /// The number of a thread by its name.
    pub(crate) fn find_thread(&self, name: &str) -> Option<ThreadId> {
        self.threads.find(name).map(ThreadId)
    }

    /// All samples, in order of first appearance.
    pub fn samples(&self) -> impl ExactSizeIterator<Item = Sample> + '_ {
        let events = |at: usize| self.events.get(at).copied().unwrap_or(0);
        let keys = self.keys.values().iter().zip(&self.hits).enumerate();
        keys.map(move |(at, (key, hits))| Sample { key: *key, hits: *hits, events: events(at) })
    }

    /// Returns all stacks, callers before callees.
    pub fn stacks(&self) -> impl ExactSizeIterator<Item = StackId> + use<> {
        (0..self.depths.len()).map(|index| StackId(index as u32))
    }

    /// All functions in order of first appearance.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = FunctionId> + use<> {
        (0..self.functions.values().len()).map(|index| FunctionId(index as u32))
    }

    /// Whether a function is a Java method.
    pub fn has_java(&self) -> bool {
        self.functions.values().iter().any(|function| matches!(function, Function::Java { .. }))
    }

    /// All threads in order of first appearance.
    pub fn threads(&self) -> impl ExactSizeIterator<Item = ThreadId> + use<> {
        (0..self.threads.values().len()).map(|index| ThreadId(index as u32))
    }

    /// All hits.
    pub fn total_hits(&self) -> u128 {
        self.hits.iter().map(|hits| u128::from(*hits)).sum()
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    /// The same samples with every frame replaced; `None` leaves the frame out.
    ///
    /// A stack that loses its leaf counts for its innermost frame left. A stack
    /// that loses all frames is dropped; the hits dropped that way are returned.
    pub(crate) fn map_frames(&self, mut map: impl FnMut(&mut StackTable, Frame) -> Option<Frame>) -> (StackTable, u64) {
        let mut out = self.with_same_names();
        let mut frames: Vec<Option<FrameId>> = Vec::with_capacity(self.frames.values().len());
        for frame in self.frames.values() {
            let mapped = map(&mut out, *frame);
            frames.push(mapped.map(|frame| out.intern_frame(frame)));
        }
        let mut stacks: Vec<Option<StackId>> = Vec::with_capacity(self.depths.len());
        for stack in self.stacks() {
            let parent = self.parent(stack).and_then(|parent| stacks[parent.index()]);
            stacks.push(match frames[self.leaf(stack).index()] {
                Some(frame) => Some(out.push_frame(parent, frame)),
                None => parent,
            });
        }
        let mut dropped = 0u64;
        for sample in self.samples() {
            match stacks[sample.key.stack.index()] {
                Some(stack) => out.add_sample(Sample { key: SampleKey { stack, ..sample.key }, ..sample }),
                None => dropped = dropped.saturating_add(sample.hits),
            }
        }
        (out, dropped)
    }

    /// Returns the samples for which `keep` returns true.
    pub(crate) fn filter_samples(&self, keep: impl Fn(&Sample) -> bool) -> StackTable {
        self.map_samples(|sample| keep(sample).then_some(sample.key))
    }

    /// Returns the samples under the keys that `key` returns, without those that have none.
    pub(super) fn map_samples(&self, key: impl Fn(&Sample) -> Option<SampleKey>) -> StackTable {
        let mut out = StackTable {
            frames: self.frames.clone(),
            nodes: self.nodes.clone(),
            depths: self.depths.clone(),
            ..self.with_same_names()
        };
        for sample in self.samples() {
            if let Some(key) = key(&sample) {
                out.add_sample(Sample { key, ..sample });
            }
        }
        out
    }

    /// Adds all samples of another table, and the properties of its sources.
    pub fn absorb(&mut self, other: &StackTable) {
        self.absorb_times(other, 1);
    }

    /// Like [`absorb`](Self::absorb), but multiplies all hits by `weight`.
    pub(crate) fn absorb_times(&mut self, other: &StackTable, weight: u64) {
        let names: Vec<NameId> = other.names.values().iter().map(|name| self.intern_name(name)).collect();
        let threads: Vec<ThreadId> = other.threads.values().iter().map(|name| self.intern_thread(name)).collect();
        let mut functions = Vec::with_capacity(other.functions.values().len());
        for function in other.functions.values() {
            let mapped = match *function {
                Function::Symbol { name } => Function::Symbol { name: names[name.index()] },
                Function::Java { class, name, signature } => {
                    let types = signature.map(|id| other.signature(id).iter().map(|id| names[id.index()]).collect());
                    let signature = types.map(|types: Vec<NameId>| self.intern_signature(&types));
                    Function::Java { class: names[class.index()], name: names[name.index()], signature }
                }
            };
            functions.push(self.intern_function(mapped));
        }
        for (function, line) in &other.start_lines {
            self.set_start_line(functions[function.index()], *line);
        }
        let mut stacks: Vec<StackId> = Vec::with_capacity(other.depths.len());
        for stack in other.stacks() {
            let frame = other.frame(other.leaf(stack));
            let frame = self.intern_frame(Frame { function: functions[frame.function.index()], ..frame });
            stacks.push(self.push_frame(other.parent(stack).map(|parent| stacks[parent.index()]), frame));
        }
        for sample in other.samples() {
            let stack = stacks[sample.key.stack.index()];
            let thread = sample.key.thread.map(|thread| threads[thread.index()]);
            let key = SampleKey { stack, thread, ..sample.key };
            self.add_sample(Sample { key, hits: sample.hits.saturating_mul(weight), ..sample });
        }
        self.saturated += other.saturated;
        self.observed.absorb(&other.observed, weight);
    }

    /// A table without frames and samples whose names, signatures, functions
    /// and threads have the same numbers.
    pub(super) fn with_same_names(&self) -> StackTable {
        StackTable {
            names: self.names.clone(),
            signatures: self.signatures.clone(),
            functions: self.functions.clone(),
            threads: self.threads.clone(),
            saturated: self.saturated,
            start_lines: self.start_lines.clone(),
            observed: self.observed.clone(),
            ..StackTable::default()
        }
    }

    /// Formats a method: `app.Main.loop(int)`, or only its name if its types are unknown. Symbols stay unchanged.
    pub fn display_function(&self, id: FunctionId) -> String {
        match self.function(id) {
            Function::Symbol { name } => self.name(name).to_string(),
            Function::Java { class, name, signature } => {
                let mut text = format!("{}.{}", self.name(class), self.name(name));
                if let Some(signature) = signature {
                    let parameters = self.signature(signature).get(1..).unwrap_or_default();
                    let parameters: Vec<String> = parameters.iter().map(|id| source_type(self.name(*id))).collect();
                    text.push_str(&format!("({})", parameters.join(",")));
                }
                text
            }
        }
    }
}

/// Formats a type like source code: `[Ljava.lang.String;` becomes `java.lang.String[]`. Other types stay unchanged.
pub(crate) fn source_type(name: &str) -> String {
    String::from_utf8_lossy(&java::source_type_name(name.as_bytes())).into_owned()
}

/// Gives equal values the same number; numbers count up from 0.
///
/// Numbers only depend on the order of calls, not on the order of the hash table.
#[derive(Debug, Clone)]
pub(super) struct Interner<T> {
    values: Vec<T>,
    /// The numbers of the first values. Values that are known to be new are added when they are searched.
    table: HashTable<u32>,
    state: RandomState,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { values: Vec::new(), table: HashTable::new(), state: RandomState::default() }
    }
}

impl<T: Eq + Hash> Interner<T> {
    /// The number of `value`, new or old.
    ///
    /// # Panics
    ///
    /// At 2^32 distinct values, which would take more than 64 GiB.
    fn intern<Q>(&mut self, value: &Q, make: impl FnOnce(&Q) -> T) -> u32
    where
        Q: Eq + Hash + ?Sized,
        T: std::borrow::Borrow<Q>,
    {
        for index in self.table.len()..self.values.len() {
            self.list(index as u32);
        }
        let hash = self.state.hash_one(value);
        if let Some(found) = self.table.find(hash, |index| self.values[*index as usize].borrow() == value) {
            return *found;
        }
        let index = self.append(make(value));
        self.list(index);
        index
    }

    /// Adds a new value, and returns its number. Panics as [`intern`](Self::intern).
    fn append(&mut self, value: T) -> u32 {
        let index = u32::try_from(self.values.len()).expect("fewer than 2^32 distinct values fit into memory");
        self.values.push(value);
        index
    }

    /// Adds a value to the hash table.
    fn list(&mut self, index: u32) {
        let Self { values, table, state } = self;
        let hash = |index: &u32| state.hash_one(&values[*index as usize]);
        table.insert_unique(hash(&index), index, hash);
    }

    /// The value of a number.
    fn value(&self, index: u32) -> &T {
        &self.values[index as usize]
    }

    /// The number of a value that is there already.
    fn find<Q>(&self, value: &Q) -> Option<u32>
    where
        Q: Eq + Hash + ?Sized,
        T: std::borrow::Borrow<Q>,
    {
        let hash = self.state.hash_one(value);
        let is_it = |index: u32| self.values[index as usize].borrow() == value;
        let found = self.table.find(hash, |index| is_it(*index)).copied();
        found.or_else(|| (self.table.len() as u32..self.values.len() as u32).find(|index| is_it(*index)))
    }

    /// All values in order of their numbers.
    pub(super) fn values(&self) -> &[T] {
        &self.values
    }
}
