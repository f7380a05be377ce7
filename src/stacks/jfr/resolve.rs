//! From the references of a chunk to names, frames and stacks.

use crate::call_chains::{
    Frame, FrameId, FrameKind, Function, FunctionId, Sample, SampleKey, SampleSource, StackId, StackTable, ThreadId,
};
use crate::error::{Error, Result};
use crate::java;
use crate::limits::Limits;
use crate::stacks::jfr::chunk::Chunk;
use crate::stacks::jfr::chunk::{Reader, Text};
use crate::stacks::jfr::events::Pools;
use crate::stacks::jfr::events::{Counts, EventKey, Jvm, Sum, Value, read_value};
use crate::stacks::jfr::metadata::{ClassIndex, Field, Primitive, Role, Types, decode};
use foldhash::{HashMap, HashMapExt, HashSet};

/// Constants that refer to constants, for one text; the JDK needs three.
const MAX_REFERENCES: u32 = 8;

/// Resolves each constant once; an offset of the chunk identifies a value.
pub(super) struct Resolver<'a, 'data> {
    chunk: &'a Chunk<'data>,
    types: &'a mut Types,
    pools: &'a Pools,
    limits: &'a Limits,
    table: &'a mut StackTable,
    stacks: HashMap<u64, Option<(StackId, bool)>>,
    methods: HashMap<u64, FunctionId>,
    kinds: HashMap<u64, FrameKind>,
    threads: HashMap<u64, Option<ThreadId>>,
    /// The offsets of methods whose bytecode the JVM changed to count their calls.
    instrumented: HashSet<u64>,
    /// The calls of each method up to the chunk before.
    timed: &'a mut TimedCalls,
    /// The JVM that wrote the chunk.
    jvm: Option<Jvm>,
    pub(super) gaps: MissingData,
}

/// The numbers of calls that the last `jdk.MethodTiming` events had: they count from the start of the JVM.
pub(super) type TimedCalls = HashMap<(Option<Jvm>, FunctionId), u64>;

/// Data that a recording should have and does not.
#[derive(Debug, Clone, Default)]
pub(super) struct MissingData {
    /// References to constants that are not there.
    pub(super) missing: u64,
    /// Methods that have an empty name, or none.
    pub(super) nameless: u64,
    /// Methods in stacks whose positions are those of changed bytecode.
    pub(super) positions: HashSet<FunctionId>,
}

/// The name of a method without a name; other profilers use it as well.
const NAMELESS: &str = "[unknown]";

impl<'a, 'data> Resolver<'a, 'data> {
    pub(super) fn new(
        chunk: &'a Chunk<'data>,
        types: &'a mut Types,
        pools: &'a Pools,
        limits: &'a Limits,
        table: &'a mut StackTable,
        timed: &'a mut TimedCalls,
        jvm: Option<Jvm>,
    ) -> Self {
        Self {
            chunk,
            types,
            pools,
            limits,
            table,
            stacks: HashMap::new(),
            methods: HashMap::new(),
            kinds: HashMap::new(),
            threads: HashMap::new(),
            instrumented: HashSet::default(),
            timed,
            jvm,
            gaps: MissingData::default(),
        }
    }

    /// Adds all samples of the chunk to the table.
    pub(super) fn add_samples(&mut self, counts: &Counts) -> Result<()> {
        let offset = |method: &Value| match method {
            Value::Inline(_, at) => Some(*at),
            Value::Pooled(class, key) => self.pools.find(*class, *key),
        };
        self.instrumented = counts.instrumented.iter().filter_map(offset).collect();
        for (key, sum) in &counts.samples {
            self.add_sample(key, *sum)?;
        }
        Ok(())
    }

    fn add_sample(&mut self, key: &EventKey, sum: Sum) -> Result<()> {
        let mut hits = sum.weight;
        let mut stack = match key.stack {
            Some(value) => self.stack(value)?,
            None => None,
        };
        let called = key.method.map(|method| self.method(method)).transpose()?.flatten();
        // The stacks of async-profiler begin with the method, which its events do not name.
        if called.is_none() && key.method.is_some_and(|method| !matches!(method, Value::Pooled(_, 0))) {
            return Ok(());
        }
        if let Some(function) = called {
            // The stack of the event is that of the caller.
            let frame = Frame { function, bci: Some(0), line: None, kind: FrameKind::Unknown };
            let frame = self.table.intern_frame(frame);
            let (caller, truncated) = stack.map_or((None, false), |(caller, truncated)| (Some(caller), truncated));
            stack = Some((self.table.push_frame(caller, frame), truncated));
            if key.source == SampleSource::MethodTiming {
                let before = self.timed.insert((self.jvm, function), hits.max(sum.before)).unwrap_or(0).max(sum.before);
                hits = hits.checked_sub(before).unwrap_or(hits);
                if hits == 0 {
                    return Ok(());
                }
            }
        }
        let Some((stack, truncated)) = stack else {
            let without = &mut self.table.observed.samples_without_stack;
            *without = without.saturating_add(sum.samples);
            return Ok(());
        };
        let thread = match key.thread {
            Some(value) => self.thread(value)?,
            None => None,
        };
        let key = SampleKey { stack, thread, source: key.source, certainty: key.certainty, truncated };
        self.table.add_sample(Sample { key, hits, events: sum.samples });
        Ok(())
    }

    /// Class and offset of a value.
    fn locate(&mut self, value: Value) -> Option<(ClassIndex, u64)> {
        match value {
            Value::Inline(class, at) => Some((class, at)),
            Value::Pooled(class, key) => match self.pools.find(class, key) {
                Some(at) => Some((class, at)),
                None => {
                    self.gaps.missing += u64::from(key != 0);
                    None
                }
            },
        }
    }

    fn reader(&self, at: u64) -> Reader<'data> {
        self.chunk.reader(at, "constants")
    }

    /// Visits the fields of the value at `at`; `visit` says whether it read the field.
    fn visit(
        &mut self,
        class: ClassIndex,
        at: u64,
        mut visit: impl FnMut(&mut Self, &Field, &mut Reader<'data>) -> Result<bool>,
    ) -> Result<()> {
        self.types.prepare(class)?;
        let mut reader = self.reader(at);
        for position in 0..self.types.classes[class].fields.len() {
            let field = self.types.classes[class].fields[position].clone();
            if !visit(self, &field, &mut reader)? {
                self.types.skip_field(&field, &mut reader)?;
            }
        }
        Ok(())
    }

    fn value(&self, field: &Field, reader: &mut Reader<'data>) -> Result<Option<Value>> {
        read_value(self.chunk, self.types, field, reader)
    }

    /// The stack of a `jdk.types.StackTrace`, and whether it is truncated;
    /// `None` for a stack without frames.
    fn stack(&mut self, value: Value) -> Result<Option<(StackId, bool)>> {
        let Some((class, at)) = self.locate(value) else { return Ok(None) };
        if let Some(known) = self.stacks.get(&at) {
            return Ok(*known);
        }
        let mut truncated = false;
        let mut frames = Vec::new();
        self.visit(class, at, |this, field, reader| {
            match field.role {
                Role::Truncated => truncated = this.types.integer(field, reader)?.unwrap_or(0) != 0,
                Role::Frames if field.array => frames = this.frames(field, reader)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        let mut stack = None;
        // Leaf first in the file.
        for frame in frames.iter().rev() {
            stack = Some(self.table.push_frame(stack, *frame));
        }
        let resolved = stack.map(|stack| (stack, truncated));
        self.stacks.insert(at, resolved);
        Ok(resolved)
    }

    fn frames(&mut self, field: &Field, reader: &mut Reader<'data>) -> Result<Vec<FrameId>> {
        let Some(class) = field.class else {
            self.types.skip_field(field, reader)?;
            return Ok(Vec::new());
        };
        self.types.prepare(class)?;
        let count = reader.count("number of frames")?;
        if count > self.limits.context_depth {
            return Err(reader.place(Error::above_limit(
                Some("context-depth"),
                "number of frames of a stack",
                count.into(),
                self.limits.context_depth.into(),
            )));
        }
        let mut frames = Vec::new();
        for _ in 0..count {
            let frame = if field.pooled {
                let key = reader.long("reference to a frame")?;
                match self.locate(Value::Pooled(class, key)) {
                    Some((class, at)) => self.frame(class, &mut self.reader(at))?,
                    None => None,
                }
            } else {
                self.frame(class, reader)?
            };
            frames.extend(frame);
        }
        Ok(frames)
    }

    /// Reads one frame; `None` when its method is not there.
    fn frame(&mut self, class: ClassIndex, reader: &mut Reader<'data>) -> Result<Option<FrameId>> {
        let (mut method, mut line, mut bci, mut kind) = (None, None, None, FrameKind::Unknown);
        for position in 0..self.types.classes[class].fields.len() {
            let field = &self.types.classes[class].fields[position];
            match field.role {
                Role::Method => method = read_value(self.chunk, self.types, field, reader)?,
                Role::LineNumber => line = self.types.integer(field, reader)?.map(|line| line as u32 as i32),
                Role::BytecodeIndex => bci = self.types.integer(field, reader)?.map(|bci| bci as u32 as i32),
                Role::Type => {
                    if let Some(value) = read_value(self.chunk, self.types, field, reader)? {
                        kind = self.kind(value)?;
                    }
                }
                _ => self.types.skip_field(field, reader)?,
            }
        }
        let Some(method) = method else { return Ok(None) };
        let Some(function) = self.method(method)? else { return Ok(None) };
        let is_instrumented = self.locate(method).is_some_and(|(_, at)| self.instrumented.contains(&at));
        if is_instrumented {
            self.gaps.positions.insert(function);
        }
        // −1 says that the frame has no bytecode or that it is not known.
        let has_bytecode = matches!(self.table.function(function), Function::Java { .. });
        let bci = bci.filter(|bci| *bci >= 0 && has_bytecode && !is_instrumented);
        if bci.is_none() && has_bytecode {
            self.table.observed.unknown_bci_frames += 1;
        }
        let line = line.and_then(|line| u32::try_from(line).ok()).filter(|line| *line != 0);
        Ok(Some(self.table.intern_frame(Frame { function, bci, line, kind })))
    }

    fn kind(&mut self, value: Value) -> Result<FrameKind> {
        let Some((_, at)) = self.locate(value) else { return Ok(FrameKind::Unknown) };
        if let Some(known) = self.kinds.get(&at) {
            return Ok(*known);
        }
        let text = self.text(value, MAX_REFERENCES)?.unwrap_or_default();
        let kind = match text.as_str() {
            "Interpreted" => FrameKind::Interpreted,
            "JIT compiled" => FrameKind::Compiled,
            "C1 compiled" => FrameKind::C1,
            "Inlined" => FrameKind::Inlined,
            "Native" | "C++" => FrameKind::Native,
            "Kernel" => FrameKind::Kernel,
            _ => FrameKind::Unknown,
        };
        self.kinds.insert(at, kind);
        Ok(kind)
    }

    fn method(&mut self, value: Value) -> Result<Option<FunctionId>> {
        let Some((class, at)) = self.locate(value) else { return Ok(None) };
        if let Some(known) = self.methods.get(&at) {
            return Ok(Some(*known));
        }
        let (mut declaring, mut name, mut descriptor) = (None, None, None);
        self.visit(class, at, |this, field, reader| {
            let slot = match field.role {
                Role::Type => &mut declaring,
                Role::Name => &mut name,
                Role::Descriptor => &mut descriptor,
                _ => return Ok(false),
            };
            *slot = this.value(field, reader)?;
            Ok(true)
        })?;
        let declaring = self.text_of(declaring)?.unwrap_or_default();
        let name = self.text_of(name)?.filter(|name| !name.is_empty());
        self.gaps.nameless += u64::from(name.is_none());
        let name = name.unwrap_or_else(|| NAMELESS.to_string());
        let descriptor = self.text_of(descriptor)?.unwrap_or_default();
        // async-profiler stores the library as the class of a native function.
        let function = if declaring.is_empty() || descriptor.ends_with(")L;") {
            self.table.intern_symbol(&name)
        } else {
            let types = java::parse_descriptor(&descriptor);
            let types: Option<Vec<&str>> = types.as_ref().map(|types| types.iter().map(String::as_str).collect());
            self.table.intern_java(&java::binary_name(&declaring), &name, types.as_deref())
        };
        self.methods.insert(at, function);
        Ok(Some(function))
    }

    fn thread(&mut self, value: Value) -> Result<Option<ThreadId>> {
        let Some((class, at)) = self.locate(value) else { return Ok(None) };
        if let Some(known) = self.threads.get(&at) {
            return Ok(*known);
        }
        let (mut java_name, mut os_name, mut os_id, mut is_virtual) = (None, None, None, false);
        self.visit(class, at, |this, field, reader| {
            match field.role {
                Role::JavaName => java_name = this.value(field, reader)?,
                Role::OsName => os_name = this.value(field, reader)?,
                Role::OsThreadId => os_id = this.types.integer(field, reader)?,
                Role::Virtual => is_virtual = this.types.integer(field, reader)?.is_some_and(|flag| flag != 0),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        let mut name = self.text_of(java_name)?.filter(|name| !name.is_empty());
        if name.is_none() {
            name = self.text_of(os_name)?.filter(|name| !name.is_empty());
        }
        let name = match is_virtual {
            true => name.or_else(|| Some("virtual threads".to_string())),
            false => name.or_else(|| os_id.map(|id| format!("tid={id}"))),
        };
        let thread = name.map(|name| self.table.intern_thread(&name));
        self.threads.insert(at, thread);
        Ok(thread)
    }

    fn text_of(&mut self, value: Option<Value>) -> Result<Option<String>> {
        match value {
            Some(value) => self.text(value, MAX_REFERENCES),
            None => Ok(None),
        }
    }

    /// The text of a value: a `java.lang.String`, or a class that has one such
    /// as its `string`, `name` or `description`.
    fn text(&mut self, value: Value, references: u32) -> Result<Option<String>> {
        let Some((class, at)) = self.locate(value) else { return Ok(None) };
        if references == 0 {
            let detail = format!("string references are nested more than {MAX_REFERENCES} levels deep");
            return Err(self.reader(at).place(Error::malformed(detail)));
        }
        if self.types.classes[class].primitive == Some(Primitive::Text) {
            let mut reader = self.reader(at);
            return match reader.text("text")? {
                Text::Pooled(key) => self.text(Value::Pooled(class, key), references - 1),
                text => self.limited(decode(text, self.chunk)?, at),
            };
        }
        let mut inner = None;
        self.visit(class, at, |this, field, reader| {
            if !matches!(field.role, Role::String | Role::Name | Role::Description) || inner.is_some() {
                return Ok(false);
            }
            inner = this.value(field, reader)?;
            Ok(true)
        })?;
        match inner {
            Some(value) => self.text(value, references - 1),
            None => Ok(None),
        }
    }

    fn limited(&self, text: Option<String>, at: u64) -> Result<Option<String>> {
        if let Some(text) = &text
            && text.len() as u64 > self.limits.name_bytes
        {
            return Err(self.reader(at).place(Error::above_limit(
                Some("name-bytes"),
                "length of a name",
                text.len() as u64,
                self.limits.name_bytes,
            )));
        }
        Ok(text)
    }
}
