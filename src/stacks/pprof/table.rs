//! pprof ⇄ stacks.
//!
//! A Java method keeps its types and bytecode index on the way out and back:
//! its `system_name` is `java:` and the frame of our own collapsed form, the
//! address of its location is the bytecode index plus one, since 0 means none.

use crate::call_chains::{
    self, Certainty, Frame, FrameId, FrameKind, FunctionId, MAX_HITS, ReadStats, SAMPLES, Sample, SampleKey,
    SampleSource, SamplingPeriod, StackId, StackTable, Unit, Weight, hits_in,
};
use crate::digits::number_of;
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::expressions::{self, Regex};
use crate::stacks::collapsed::frames;
use crate::stacks::pprof::profile::{EVENTS_COMMENT, StringInterner};
use crate::stacks::pprof::{FORMAT, Function, Label, Line, Location, Profile, SampleRef, Samples, StringId, ValueType};
use foldhash::{HashMap, HashMapExt, HashSet};

impl Profile {
    /// Drops all sample types but the chosen one, if one is chosen.
    pub(crate) fn keep_chosen(&mut self, choice: &ValueChoice) -> Result<()> {
        if choice.name.is_none() {
            return Ok(());
        }
        let columns: Vec<usize> = choice.columns(self)?.into_iter().map(|column| column.at).collect();
        self.sample_types = columns.iter().map(|at| self.sample_types[*at]).collect();
        self.samples.keep_columns(&columns);
        if let Some(only) = self.sample_types.first().filter(|_| !self.default_sample_type.is_empty()) {
            self.default_sample_type = only.kind;
        }
        Ok(())
    }

    /// The label with the name of a sample's thread.
    fn thread(&self, sample: SampleRef<'_>) -> Option<Label> {
        let is_thread = |label: &&Label| self.strings.get(label.key) == b"thread" && !label.text.is_empty();
        sample.labels.iter().find(is_thread).copied()
    }

    /// Returns the samples of the thread of this name.
    pub(crate) fn samples_of_thread(&self, name: &str) -> Samples {
        self.samples.filtered(|sample| self.thread(sample).is_some_and(|label| self.text(label.text) == name))
    }
}

/// Which value of a profile counts as hits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ValueChoice {
    /// Kind, or kind and unit: `cpu`, `cpu/nanoseconds`. Default: the event types that this library itself writes,
    /// otherwise `Profile::main_value`.
    pub name: Option<String>,
}

impl ValueChoice {
    /// The value of that name.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()) }
    }

    /// Columns of values.
    fn columns(&self, profile: &Profile) -> Result<Vec<Column>> {
        let column = |at: usize, source| {
            let (unit, scale) = profile.unit(profile.sample_types[at]);
            Column { at, source, unit, scale, events: Events::of(profile, at) }
        };
        if let Some(wanted) = &self.name {
            return Ok(vec![column(named(profile, wanted)?, SampleSource::Unknown)]);
        }
        let sort = |of: &ValueType| {
            let (kind, unit) = (profile.text(of.kind), profile.unit(*of).0);
            SampleSource::ALL.iter().copied().find(|source| {
                let is_of_source = WEIGHTS.into_iter().any(|weight| source.unit(weight) == Some(unit));
                source.word() == kind && is_of_source
            })
        };
        let event_types: Vec<Column> =
            profile.sample_types.iter().enumerate().filter_map(|(at, of)| Some(column(at, sort(of)?))).collect();
        if event_types.iter().any(|column| column.source != SampleSource::Unknown) {
            return Ok(event_types);
        }
        Ok(profile.main_value().map(|at| column(at, SampleSource::Unknown)).into_iter().collect())
    }
}

/// A value that counts as hits.
#[derive(Debug, Clone, Copy)]
struct Column {
    at: usize,
    source: SampleSource,
    unit: Unit,
    /// The number of units that one value is.
    scale: u64,
    /// How to find out the number of samples of which bytes or times are the sum.
    events: Events,
}

/// The number of samples of a value.
#[derive(Debug, Clone, Copy)]
enum Events {
    /// The values are multiples of the period, on average.
    OfPeriod(u64),
    /// The value at this position counts samples.
    At(usize),
    Unknown,
}

impl Events {
    /// Looks for the number of samples of the values at a position.
    fn of(profile: &Profile, at: usize) -> Self {
        let unit = |of: ValueType| profile.text(of.unit);
        let period = u64::try_from(profile.period).ok().filter(|period| *period > 0);
        let is_of_period = profile.period_type.is_some_and(|of| unit(of) == unit(profile.sample_types[at]));
        let counts = profile.sample_types.iter().position(|of| profile.value_name(*of) == "samples/count");
        match (counts, period.filter(|_| is_of_period)) {
            (Some(counts), _) => Self::At(counts),
            (None, Some(period)) => Self::OfPeriod(period),
            (None, None) => Self::Unknown,
        }
    }

    /// Returns the number of samples of one of the values of an entry; 0 if it is unknown.
    fn count(self, value: u64, values: &[i64]) -> u64 {
        match self {
            Self::OfPeriod(period) => (value / period).max(1),
            Self::At(at) => u64::try_from(values[at]).unwrap_or(0),
            Self::Unknown => 0,
        }
    }
}

/// The value of this name: its kind, or its kind and unit. A merge writes another unit than its inputs can have.
fn named(profile: &Profile, wanted: &str) -> Result<usize> {
    let names = profile.value_names();
    let is_wanted = |name: &String| name == wanted || name.split_once('/').is_some_and(|(kind, _)| kind == wanted);
    let in_unit = |name: &str| {
        let (kind, unit) = name.rsplit_once('/')?;
        Some((kind.to_string(), Unit::named(unit)?.0))
    };
    let has_unit = |name: &String| in_unit(wanted).is_some_and(|wanted| in_unit(name) == Some(wanted));
    let found = names.iter().position(is_wanted).or_else(|| names.iter().position(has_unit));
    found.ok_or_else(|| {
        Error::usage(format!("the profile has no sample type {wanted}"))
            .with_hint(format!("choose one of {}", names.join(", ")))
    })
}

const WEIGHTS: [Weight; 3] = [Weight::Count, Weight::Bytes, Weight::Time];

/// How the schema calls a unit.
pub(super) fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Hits => "count",
        Unit::Bytes => "bytes",
        Unit::Nanoseconds => "nanoseconds",
        Unit::Millionths => "millionths",
    }
}

/// Marks the `system_name` of a Java method.
const JAVA: &str = "java:";

/// Adds the stacks of a profile to a table. Frames that match its `drop_frames` are dropped with their callees, as in
/// pprof viewers.
///
/// # Errors
///
/// Usage for a value that does not exist; malformed if `drop_frames` or `keep_frames` is not a regular expression.
pub fn add_to_table(profile: &Profile, choice: &ValueChoice, table: &mut StackTable) -> Result<Vec<Warning>> {
    let columns = choice.columns(profile)?;
    let mut adder = Adder {
        profile,
        table,
        dropped: DropFrames::new(profile)?,
        functions: HashMap::new(),
        locations: vec![None; profile.locations.len()],
        fixed: 0,
    };
    let (mut negative, mut labels) = (0u64, 0u64);
    for sample in profile.samples.iter() {
        let hits = |column: &Column| u64::try_from(sample.values[column.at]);
        if columns.iter().all(|column| hits(column) == Ok(0)) {
            continue;
        }
        let Some(stack) = adder.stack(sample.locations) else {
            // Of other values than hits, such as bytes, an entry stands for one sample.
            let counted = columns.iter().find(|column| column.unit == Unit::Hits).map(hits);
            let samples = counted.and_then(Result::ok).unwrap_or(1).max(1);
            let without = &mut adder.table.observed.samples_without_stack;
            *without = without.saturating_add(samples);
            continue;
        };
        let thread = profile.thread(sample);
        labels += (sample.labels.len() - usize::from(thread.is_some())) as u64;
        let thread = thread.map(|label| adder.table.intern_thread(&profile.text(label.text)));
        for column in &columns {
            match hits(column) {
                Ok(0) => {}
                Ok(hits) => {
                    let (source, certainty, truncated) = (column.source, Certainty::Unknown, false);
                    let key = SampleKey { stack, thread, source, certainty, truncated };
                    let events = column.events.count(hits, sample.values);
                    adder.table.add_sample(Sample { key, hits: hits.saturating_mul(column.scale), events });
                }
                Err(_) => negative += 1,
            }
        }
    }
    let fixed = adder.fixed;
    let types = || columns.iter().map(|column| profile.sample_types[column.at]);
    let names: Vec<String> = types().map(|of| profile.value_name(of)).collect();
    let strange = types().map(|of| profile.text(of.unit)).filter(|unit| Unit::named(unit).is_none());
    let mut warnings: Vec<Warning> = strange.map(|unit| Unit::unknown(&unit)).collect();
    let observed = &mut table.observed;
    observed.add_source(&format!("{FORMAT} ({})", names.join(", ")));
    observed.parts += 1;
    for column in &columns {
        observed.add_unit(column.source, column.unit);
        let kind = profile.text(profile.sample_types[column.at].kind);
        let is_generic = kind == column.unit.word() || (kind == SAMPLES && column.unit != Unit::Hits);
        if column.source == SampleSource::Unknown && !is_generic {
            observed.add_value(&kind);
        }
    }
    profile.perf_events().for_each(|events| observed.add_events(events));
    observed.duration_nanos =
        observed.duration_nanos.saturating_add(u64::try_from(profile.duration_nanos).unwrap_or(0));
    observed.names_mended += fixed;
    for column in columns.iter().filter(|column| column.unit == Unit::Hits) {
        period_of(profile).into_iter().for_each(|period| observed.add_period(column.source, period));
    }
    leave_out(profile, columns.len(), observed);
    observed.leave_out("label", labels);
    let rows = [
        (negative, "sample", "with a negative value, dropped", true),
        (fixed, "name", "changed, because it is not UTF-8", false),
    ];
    warnings.extend(rows.into_iter().filter(|(count, ..)| *count > 0).map(|(count, what, words, is_loss)| Warning {
        is_loss,
        ..Warning::new(format!("{} {words}", number_of(count, what)))
    }));
    Ok(warnings)
}

/// Returns the sampling period, if the profile has one.
fn period_of(profile: &Profile) -> Option<SamplingPeriod> {
    let period = u64::try_from(profile.period).ok().filter(|period| *period > 0)?;
    Some(match profile.unit(profile.period_type?) {
        (Unit::Nanoseconds, scale) => SamplingPeriod::Nanoseconds(period.saturating_mul(scale)),
        _ => SamplingPeriod::Events(period),
    })
}

/// Data that a table keeps for pprof, but that other formats of stacks do not store.
pub(crate) const START_LINE: &str = "start line";

/// Counts the data of a profile that a table of its stacks, or text of it, does not have.
fn leave_out(profile: &Profile, values: usize, observed: &mut ReadStats) {
    let of_functions = |has: fn(&Function) -> bool| profile.functions.iter().filter(|function| has(function)).count();
    let files: HashSet<StringId> =
        profile.functions.iter().map(|function| function.file).filter(|file| !file.is_empty()).collect();
    let is_java = |line: &Line| {
        let function = line.function.and_then(|at| profile.functions.get(at as usize));
        function.is_some_and(|function| profile.text(function.system_name).starts_with(JAVA))
    };
    let has_address = |location: &&Location| location.address != 0 && !location.lines.iter().any(is_java);
    let addresses = profile.locations.iter().filter(has_address).count();
    for (what, count) in [
        ("further value", profile.sample_types.len() - values),
        ("comment", profile.comments.len() - profile.perf_events().count()),
        (START_LINE, of_functions(|function| function.start_line != 0)),
        ("source file", files.len()),
        ("address", addresses),
        ("mapping", profile.mappings.len()),
    ] {
        observed.leave_out(what, count as u64);
    }
}

/// Functions that viewers leave out.
struct DropFrames {
    drop: Option<Regex>,
    keep: Option<Regex>,
}

impl DropFrames {
    fn new(profile: &Profile) -> Result<Self> {
        let regex = |id: StringId, what: &str| {
            if id.is_empty() {
                return Ok(None);
            }
            let text = profile.text(id);
            let invalid = |error: Error| match error.kind() {
                ErrorKind::Unsupported { .. } => error.in_format(FORMAT),
                _ => Error::malformed(format!("{what} is not a regular expression: {text}")).in_format(FORMAT),
            };
            expressions::compile(&format!("^(?:{text})$"), &text).map(Some).map_err(invalid)
        };
        Ok(Self { drop: regex(profile.drop_frames, "drop_frames")?, keep: regex(profile.keep_frames, "keep_frames")? })
    }

    fn drops(&self, name: &str) -> bool {
        self.drop.as_ref().is_some_and(|drop| drop.is_match(name.as_bytes()))
            && !self.keep.as_ref().is_some_and(|keep| keep.is_match(name.as_bytes()))
    }
}

/// The frames of a location, the outermost first, and whether each is dropped.
type Frames = Box<[(FrameId, bool)]>;

struct Adder<'a> {
    profile: &'a Profile,
    table: &'a mut StackTable,
    dropped: DropFrames,
    functions: HashMap<u32, FunctionId>,
    locations: Vec<Option<Frames>>,
    fixed: u64,
}

impl Adder<'_> {
    fn stack(&mut self, locations: &[u32]) -> Option<StackId> {
        let mut stack = None;
        // Frames that would be dropped before any other frame are kept, because otherwise nothing would be left.
        let mut seen_other = false;
        for at in locations.iter().rev() {
            if self.locations[*at as usize].is_none() {
                self.locations[*at as usize] = Some(self.frames(*at));
            }
            for (frame, is_dropped) in self.locations[*at as usize].iter().flatten() {
                if *is_dropped && seen_other {
                    return stack;
                }
                seen_other |= !is_dropped;
                stack = Some(self.table.push_frame(stack, *frame));
            }
        }
        stack
    }

    fn frames(&mut self, at: u32) -> Frames {
        let profile = self.profile;
        let location = &profile.locations[at as usize];
        let mapping = location.mapping.map(|at| &profile.mappings[at as usize]);
        let is_kernel = mapping.is_some_and(|mapping| profile.strings.get(mapping.file).starts_with(b"[kernel"));
        let outermost = if is_kernel { FrameKind::Kernel } else { FrameKind::Unknown };
        if location.lines.is_empty() {
            let function = self.table.intern_symbol(&self.address(location));
            let frame = Frame { function, bci: None, line: None, kind: outermost };
            return Box::new([(self.table.intern_frame(frame), false)]);
        }
        let mut frames = Vec::new();
        for (depth, line) in location.lines.iter().rev().enumerate() {
            let function = self.function(line.function);
            let name = self.table.display_function(function);
            let is_java = matches!(self.table.function(function), call_chains::Function::Java { .. });
            let bci = location.address.checked_sub(1).filter(|_| is_java && location.mapping.is_none());
            let frame = Frame {
                function,
                bci: bci.and_then(|bci| i32::try_from(bci).ok()),
                line: u32::try_from(line.line).ok().filter(|line| *line > 0),
                kind: if depth == 0 { outermost } else { FrameKind::Inlined },
            };
            frames.push((self.table.intern_frame(frame), self.dropped.drops(&name)));
        }
        frames.into()
    }

    /// The name of a function without a name: file and offset, or the address.
    fn address(&self, location: &Location) -> String {
        let mapping = location.mapping.map(|at| self.profile.mappings[at as usize]);
        let mapping = mapping.filter(|mapping| !mapping.file.is_empty());
        match mapping {
            Some(mapping) => {
                let path = self.profile.text(mapping.file);
                let name = path.rsplit('/').next().unwrap_or(&path);
                let offset = location.address.wrapping_sub(mapping.start).wrapping_add(mapping.offset);
                format!("{name}+{offset:#x}")
            }
            None => format!("{:#x}", location.address),
        }
    }

    fn function(&mut self, at: Option<u32>) -> FunctionId {
        let Some(at) = at else { return self.table.intern_symbol("[unknown]") };
        if let Some(known) = self.functions.get(&at) {
            return *known;
        }
        let function = self.profile.functions[at as usize];
        let system_name = self.profile.strings.get(function.system_name);
        let java = std::str::from_utf8(system_name).ok().and_then(|name| name.strip_prefix(JAVA));
        let name = if function.name.is_empty() { function.system_name } else { function.name };
        let id = match java.and_then(|method| self.java(method)) {
            Some(id) => id,
            None => {
                self.fixed += u64::from(std::str::from_utf8(self.profile.strings.get(name)).is_err());
                let text = self.profile.text(name);
                self.table.intern_symbol(if text.is_empty() { "[unknown]" } else { &text })
            }
        };
        if let Ok(line @ 1..) = u32::try_from(function.start_line) {
            self.table.set_start_line(id, line);
        }
        self.functions.insert(at, id);
        id
    }

    fn java(&mut self, method: &str) -> Option<FunctionId> {
        if let Some(found) = frames::parse_frame(&format!("{method}@0")) {
            let types: Vec<&str> = found.types.iter().map(String::as_str).collect();
            return Some(self.table.intern_java(&found.class, &found.name, Some(&types)));
        }
        let (class, name) = frames::parse_names(method)?;
        Some(self.table.intern_java(&class, &name, None))
    }
}

/// Properties of stacks that pprof cannot store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PprofLosses {
    /// Hits of stacks whose outermost frames are missing, which is not written.
    pub truncated: u128,
    /// Hits whose position is known to be exact or guessed.
    pub certainty: u128,
    /// Distinct frames whose kind the source states. Native symbols do not count: their names show it.
    pub kinds: u64,
    /// Distinct frames with one of the compiler's placeholders for a bytecode index.
    pub placeholders: u64,
    /// The unit of the hits.
    pub(crate) unit: Option<Unit>,
}

impl PprofLosses {
    /// Formats the report, without items that are zero.
    pub fn words(&self) -> Vec<String> {
        let (hits, frames) = (|count| hits_in(self.unit, count), |count| number_of(count, "frame"));
        let rows = [
            (self.truncated, hits(self.truncated), "with truncated stacks, which pprof cannot mark"),
            (self.certainty, hits(self.certainty), "marked as exact or guessed, which pprof cannot store"),
            (
                self.kinds.into(),
                frames(self.kinds),
                "marked as interpreted, compiled, inlined, native or kernel, which pprof cannot store",
            ),
            (
                self.placeholders.into(),
                frames(self.placeholders),
                "with a placeholder for a bytecode index, which pprof cannot store",
            ),
        ];
        let found = rows.into_iter().filter(|(count, ..)| *count > 0);
        found.map(|(_, number, words)| format!("{number} {words}")).collect()
    }
}

/// A profile of a table's samples: one value for each event type, threads as labels.
pub fn from_table(table: &StackTable) -> (Profile, PprofLosses) {
    let mut builder = Builder {
        table,
        profile: Profile::default(),
        strings: StringInterner::default(),
        functions: HashMap::new(),
        locations: HashMap::new(),
        losses: PprofLosses { unit: table.unit(), ..PprofLosses::default() },
        group: Vec::new(),
    };
    builder.build();
    builder.profile.strings = builder.strings.strings;
    (builder.profile, builder.losses)
}

struct Builder<'a> {
    table: &'a StackTable,
    profile: Profile,
    strings: StringInterner,
    functions: HashMap<FunctionId, u32>,
    /// The locations by their frames, innermost first.
    locations: HashMap<Box<[FrameId]>, u32>,
    losses: PprofLosses,
    /// The frames of one location.
    group: Vec<FrameId>,
}

impl Builder<'_> {
    /// Adds the time between two samples, if it is the same for all of them.
    fn add_period(&mut self, sources: &[SampleSource]) {
        let periods = self.table.observed.periods.iter().filter(|(source, _)| sources.contains(source));
        let mut periods = periods.map(|(_, period)| *period);
        let Some(SamplingPeriod::Nanoseconds(period)) = periods.next() else { return };
        if periods.all(|other| other == SamplingPeriod::Nanoseconds(period)) && self.table.unit() == Some(Unit::Hits) {
            let (kind, unit) = (self.strings.intern(b"cpu"), self.strings.intern(b"nanoseconds"));
            self.profile.period_type = Some(ValueType { kind, unit });
            self.profile.period = i64::try_from(period).unwrap_or(i64::MAX);
        }
    }

    fn build(&mut self) {
        let found = self.table.hits_by_source();
        // Readers expect a type, also without samples.
        let none = found.is_empty().then_some(SampleSource::Unknown);
        let event_types: Vec<SampleSource> = found.into_iter().map(|(source, _)| source).chain(none).collect();
        for sort in &event_types {
            let units = &self.table.observed.units;
            let unit = units.iter().find(|(source, _)| source == sort).map_or(Unit::Hits, |(_, unit)| *unit);
            let unit = self.strings.intern(unit_name(unit).as_bytes());
            let kind = match &self.table.observed.values[..] {
                [kind] if *sort == SampleSource::Unknown => kind,
                _ => sort.word(),
            };
            let kind = self.strings.intern(kind.as_bytes());
            self.profile.sample_types.push(ValueType { kind, unit });
        }
        if let Some(main) = self.table.main_source().filter(|_| event_types.len() > 1) {
            self.profile.default_sample_type = self.strings.intern(main.word().as_bytes());
        }
        for events in &self.table.observed.events {
            self.profile.comments.push(self.strings.intern(format!("{EVENTS_COMMENT}{events}").as_bytes()));
        }
        self.profile.duration_nanos = i64::try_from(self.table.observed.duration_nanos).unwrap_or(i64::MAX);
        self.add_period(&event_types);
        self.profile.samples = Samples::new(event_types.len());
        let thread_key = self.table.samples().any(|sample| sample.key.thread.is_some());
        let thread_key = if thread_key { self.strings.intern(b"thread") } else { StringId::default() };
        let mut places: HashMap<(StackId, Option<call_chains::ThreadId>), usize> = HashMap::new();
        for sample in self.table.samples() {
            let key = sample.key;
            let at = match places.get(&(key.stack, key.thread)) {
                Some(at) => *at,
                None => {
                    let locations = self.locations(key.stack);
                    let text = key.thread.map(|id| self.strings.intern(self.table.thread(id).as_bytes()));
                    let label = text.map(|text| Label { key: thread_key, text, ..Label::default() });
                    let at = self.profile.samples.len();
                    self.profile.samples.push(&locations, &vec![0; event_types.len()], label.as_slice());
                    places.insert((key.stack, key.thread), at);
                    at
                }
            };
            let hits = u128::from(sample.hits);
            self.losses.truncated += if key.truncated { hits } else { 0 };
            self.losses.certainty += if key.certainty != Certainty::Unknown { hits } else { 0 };
            let sort = event_types.iter().position(|sort| *sort == key.source);
            let values = self.profile.samples.values_mut(at);
            if let Some(value) = sort.and_then(|sort| values.get_mut(sort)) {
                *value = value.saturating_add(sample.hits.min(MAX_HITS).cast_signed());
            }
        }
    }

    /// The locations of a stack. Inlined functions are lines of the location of the function that contains their code.
    fn locations(&mut self, stack: StackId) -> Vec<u32> {
        let mut locations = Vec::new();
        let mut frames = self.table.frames(stack).peekable();
        while let Some(id) = frames.next() {
            self.group.push(id);
            let is_inlined = |id| self.table.frame(id).kind == FrameKind::Inlined && self.bci(id).is_none();
            let caller = frames.peek().filter(|caller| is_inlined(id) && self.bci(**caller).is_none());
            if caller.is_none() {
                locations.push(self.location());
            }
        }
        locations
    }

    /// The bytecode index of a frame of Java, which becomes the address of its location.
    fn bci(&self, id: FrameId) -> Option<i32> {
        let frame = self.table.frame(id);
        let is_java = matches!(self.table.function(frame.function), call_chains::Function::Java { .. });
        frame.bci.filter(|_| is_java)
    }

    /// The location of the frames in the group.
    fn location(&mut self) -> u32 {
        let group = std::mem::take(&mut self.group);
        if let Some(known) = self.locations.get(&group[..]) {
            let known = *known;
            self.group = group;
            self.group.clear();
            return known;
        }
        let bci = group.last().and_then(|id| self.bci(*id));
        self.losses.placeholders += u64::from(bci.is_some_and(|bci| bci < 0));
        self.losses.kinds += u64::from(group.last().is_some_and(|id| self.loses_kind(*id)));
        let mut lines = Vec::with_capacity(group.len());
        for id in &group {
            let frame = self.table.frame(*id);
            let function = Some(self.function(frame.function));
            lines.push(Line { function, line: frame.line.unwrap_or(0).into(), column: 0 });
        }
        let place = self.profile.locations.len() as u32;
        let location = Location {
            address: bci.and_then(|bci| u64::try_from(bci).ok()).map_or(0, |bci| bci + 1),
            lines: lines.into(),
            ..Location::default()
        };
        self.profile.locations.push(location);
        self.locations.insert(group.into(), place);
        place
    }

    /// Returns true if a frame has a kind that a pprof cannot store and that its function does not show.
    fn loses_kind(&self, id: FrameId) -> bool {
        let frame = self.table.frame(id);
        let is_symbol = matches!(self.table.function(frame.function), call_chains::Function::Symbol { .. });
        match frame.kind {
            FrameKind::Unknown => false,
            FrameKind::Native => self.table.observed.marks_frames && !is_symbol,
            FrameKind::Compiled => self.table.observed.marks_frames,
            _ => true,
        }
    }

    fn function(&mut self, id: FunctionId) -> u32 {
        if let Some(known) = self.functions.get(&id) {
            return *known;
        }
        let name = self.strings.intern(self.table.display_function(id).as_bytes());
        let system_name = match self.table.function(id) {
            call_chains::Function::Symbol { .. } => name,
            call_chains::Function::Java { class, name, signature } => {
                let types: Option<Vec<&str>> =
                    signature.map(|types| self.table.signature(types).iter().map(|id| self.table.name(*id)).collect());
                let mut text = JAVA.to_string();
                frames::write_method(self.table.name(class), self.table.name(name), types.as_deref(), &mut text);
                self.strings.intern(text.as_bytes())
            }
        };
        let place = self.profile.functions.len() as u32;
        let start_line = self.table.start_line(id).map_or(0, i64::from);
        self.profile.functions.push(Function { name, system_name, start_line, ..Function::default() });
        self.functions.insert(id, place);
        place
    }
}
