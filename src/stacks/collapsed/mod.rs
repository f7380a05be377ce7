//! Collapsed stacks of async-profiler, folded stacks of Linux perf, and what
//! `perf script` prints.
//!
//! One stack per line, frames from the thread's entry to the leaf, then the hits:
//!
//! ```text
//! java/lang/Thread.run;app/Main.loop 42             collapsed
//! [main tid=7];app/Main.main;app/Main.loop 42       collapsed, with threads
//! java;java/lang/Thread:::run;app/Main:::loop 42    folded: the process comes first
//! app/Main.main([Ljava/lang/String|)V@3;app/Main.loop(I)V@12 42      our own form
//! ```
//!
//! Neither has a version; the form is recognised by its frames. Only our own
//! form has bytecode indexes.

pub(crate) mod frames;
pub(crate) mod lines;
mod outline;

pub(crate) use lines::collapse;
pub use lines::{ClassStyle, CollapsedOptions, UNIT_COMMENT, write_collapsed};
pub use outline::{Outline, OutlineNode, outline};

use crate::bytes::{Confidence, Head, without_byte_order_mark};
use crate::call_chains::{
    Certainty, Frame, FrameId, FrameKind, FunctionId, MAX_HITS, SAMPLES, SampleKey, SampleSource, StackId, StackTable,
    ThreadId, Unit,
};
use crate::cancel::Cancel;
use crate::digits::number_of;
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::hint::Hint;
use crate::limits::Limits;
use crate::perf::{events_in_words, is_event_named, no_event_named, several_events};
use crate::stacks::perf_script as script;
use foldhash::{HashMap, HashMapExt};
use frames::{Form, Named, TextFrame};
use lines::{
    MILLION, class_leaves, form_of, has_fractions, is_comment, split_count, split_thread, stack_lines, stated_unit,
};
use std::borrow::Cow;

/// Which of the two forms a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Dialect {
    /// Decide by the frames.
    #[default]
    Auto,
    /// async-profiler's collapsed stacks, and those of profbridge.
    Collapsed,
    /// perf's folded stacks.
    Folded,
}

/// How text is read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TextOptions {
    /// Which form. Default: decided by the frames.
    pub dialect: Dialect,
    /// Whether to join the parts of frames that were split at the `;` in `Lapp/Main;::loop`, which some stackcollapse
    /// scripts keep. Default: `false`; such lines are errors.
    pub perf_raw: bool,
    /// Whether to accept values that are not samples, as in profiles of allocations and locks. Default: `false`, such
    /// profiles are rejected.
    pub accept_weights: bool,
}

/// Lines that are looked at where none has the mark of a stack.
const FEW_LINES: usize = 16;

/// Detects stacks in text. Either the first two lines end in a blank and a number, and have frames separated by `;`;
/// or, because stacks of one frame have no `;`, all of the first lines end like that. If other lines are among the
/// first, half of the first lines must be stacks. A sample of `perf script` is also detected.
pub fn text_evidence(head: &Head<'_>) -> Option<Confidence> {
    if script::is_script(head.bytes()) || script::has_branch_records(head.bytes()) {
        return Some(Confidence::Certain);
    }
    if script::lacks_fields(head.bytes()) {
        return None;
    }
    let lines = head.lines().map(<[u8]>::trim_ascii).filter(|line| !line.is_empty() && !is_comment(line));
    let few: Vec<(bool, bool)> = lines
        .take(FEW_LINES)
        .map(|line| (split_count(line).is_some_and(|(stack, _)| !stack.is_empty()), line.contains(&b';')))
        .collect();
    if few.len() > 1 && few[..2] == [(true, true); 2] {
        return Some(Confidence::Certain);
    }
    let counted = few.iter().filter(|(has_count, _)| *has_count).count();
    let stacks = few.iter().filter(|line| **line == (true, true)).count();
    let begins_counted = few.len() > 1 && few[..2].iter().all(|(has_count, _)| *has_count);
    let is_likely = (counted > 0 && counted == few.len())
        || (stacks > 0 && stacks * 2 >= few.len())
        || (begins_counted && few.iter().any(|(_, has_frames)| *has_frames));
    is_likely.then_some(Confidence::Likely)
}

/// Adds the stacks of a text to `table`.
///
/// Lines that are not stacks are skipped with a warning.
///
/// # Errors
///
/// Malformed when no line is a stack; usage errors for text that needs
/// [`TextOptions::perf_raw`] or [`TextOptions::accept_weights`]; limit exceeded
/// for stacks deeper than [`Limits::context_depth`] and names longer than
/// [`Limits::name_bytes`].
pub fn read_stacks(
    data: &[u8],
    options: &TextOptions,
    limits: &Limits,
    table: &mut StackTable,
) -> Result<Vec<Warning>> {
    read_stacks_until(data, options, None, limits, &Cancel::default(), table)
}

/// Like [`read_stacks`], until it is cancelled. Of the output of `perf script`, only the samples of `event` are added.
pub(crate) fn read_stacks_until(
    data: &[u8],
    options: &TextOptions,
    event: Option<&str>,
    limits: &Limits,
    cancel: &Cancel,
    table: &mut StackTable,
) -> Result<Vec<Warning>> {
    let data = without_byte_order_mark(data);
    if script::are_branch_records(data) {
        let what = "branch records as stacks".to_string();
        let hint = "make a sample profile of them with the program that ran, or record call chains";
        return Err(Error::new(ErrorKind::Unsupported { what }).with_hint(hint));
    }
    if options.dialect != Dialect::Collapsed && script::is_script(data) {
        let reader = TextReader::new(Form::Folded, options, limits, cancel, table);
        return read_script(data, event, reader);
    }
    let form = match options.dialect {
        Dialect::Collapsed => Form::Collapsed,
        Dialect::Folded => Form::Folded,
        Dialect::Auto => form_of(data),
    };
    let format = if form == Form::Folded { "folded stacks" } else { "collapsed stacks" };
    let (unit, unknown) = CountUnit::of(data);
    let mut reader = TextReader::new(form, options, limits, cancel, table);
    reader.read(data, unit).map_err(|error| error.in_format(format))?;
    let mut warnings = reader.warnings();
    if reader.rounded > 0 {
        let (counts, unit) = (number_of(reader.rounded, "count"), unit.unit.word());
        warnings.push(Warning::of_loss(format!("{counts} with a fraction rounded to whole {unit}")));
    }
    warnings.extend(unknown);
    let unit = unit.unit;
    if event.is_some() {
        warnings.push(Warning::new("the text has no event types to choose from"));
    }
    if unit == Unit::Millionths {
        warnings.push(Warning::new("some counts have fractions, so all counts are in millionths"));
    }
    table.observed.add_source(format);
    table.observed.parts += 1;
    table.observed.add_unit(SampleSource::Unknown, unit);
    Ok(warnings)
}

/// The unit in which the counts of a text are added, and how many of it one count is.
#[derive(Debug, Clone, Copy)]
struct CountUnit {
    unit: Unit,
    scale: u64,
}

impl CountUnit {
    /// The unit of a text, with a warning if the text states one that is not known.
    fn of(data: &[u8]) -> (Self, Option<Warning>) {
        let stated = stated_unit(data);
        let known = stated.as_deref().map(Unit::named);
        let warning = stated.filter(|_| known == Some(None)).map(|unit| Unit::unknown(&unit));
        let unit = match known.flatten() {
            Some((unit @ (Unit::Bytes | Unit::Nanoseconds), scale)) => Self { unit, scale },
            _ if has_fractions(data) => Self { unit: Unit::Millionths, scale: MILLION },
            _ => Self { unit: Unit::Hits, scale: 1 },
        };
        (unit, warning)
    }
}

/// The name of the output of `perf script`.
const SCRIPT: &str = "folded stacks (perf script)";

/// Adds the samples of `perf script`.
fn read_script(data: &[u8], event: Option<&str>, mut reader: TextReader<'_>) -> Result<Vec<Warning>> {
    let (events, skipped) = script::each_sample(data, event, |(thread, frames), number, offset| {
        reader.add_script_sample(&thread, &frames).map_err(|error| error.at_line(number).at_offset(offset))
    })
    .map_err(|error| error.in_format(SCRIPT))?;
    reader.skipped = skipped;
    let mut warnings = reader.warnings();
    let events: Vec<String> = events.into_iter().collect();
    if let Some(wanted) = event {
        if !events.iter().any(|event| is_event_named(event, wanted)) {
            return Err(no_event_named(wanted, &events));
        }
    } else {
        warnings.extend(several_events(&events));
        reader.table.observed.add_events(events_in_words(&events));
    }
    let observed = &mut reader.table.observed;
    observed.add_source(SCRIPT);
    observed.parts += 1;
    observed.add_unit(SampleSource::Unknown, Unit::Hits);
    observed.add_value(SAMPLES);
    Ok(warnings)
}

/// The warning for a text with shortened class names.
pub(crate) const SIMPLE_NAMES: &str = "class names have no packages, so a converted profile matches no program";

struct TextReader<'a> {
    form: Form,
    options: &'a TextOptions,
    limits: &'a Limits,
    cancel: &'a Cancel,
    table: &'a mut StackTable,
    /// Frames by their text: a text of many lines has few distinct frames.
    known: HashMap<Box<str>, FrameId>,
    /// The stack of the line before, and where in it each frame ends.
    before: String,
    path: Vec<(usize, StackId)>,
    /// Numbers of the lines that are not stacks.
    skipped: Vec<u64>,
    fixed: u64,
    /// Counts that lost a part of a byte or nanosecond.
    rounded: u64,
    /// Counts that did not fit before this text.
    saturated_before: u64,
}

impl<'a> TextReader<'a> {
    fn new(
        form: Form,
        options: &'a TextOptions,
        limits: &'a Limits,
        cancel: &'a Cancel,
        table: &'a mut StackTable,
    ) -> Self {
        let saturated_before = table.saturated();
        Self {
            form,
            options,
            limits,
            cancel,
            table,
            known: HashMap::new(),
            before: String::new(),
            path: Vec::new(),
            skipped: Vec::new(),
            fixed: 0,
            rounded: 0,
            saturated_before,
        }
    }

    fn read(&mut self, data: &[u8], unit: CountUnit) -> Result<()> {
        self.refuse_weights(data)?;
        let (mut stacks, mut first_skipped) = (0u64, None);
        for line in stack_lines(data) {
            self.cancel.check()?;
            let read = self.read_line(line.bytes, unit);
            if read.map_err(|error| error.at_line(line.number).at_offset(line.offset))? {
                stacks += 1;
            } else {
                first_skipped.get_or_insert(line);
                self.skipped.push(line.number);
            }
        }
        if let Some(line) = first_skipped.filter(|_| stacks == 0) {
            let detail = "no line is a stack; expected frames separated by semicolons, a space, and a count";
            return Err(Error::malformed(detail).at_line(line.number).at_offset(line.offset));
        }
        Ok(())
    }

    /// Profiles of allocations and locks count bytes or nanoseconds.
    fn refuse_weights(&self, data: &[u8]) -> Result<()> {
        if self.options.accept_weights || self.form == Form::Folded {
            return Ok(());
        }
        let (all, classes) = class_leaves(data);
        if classes * 2 <= all {
            return Ok(());
        }
        let detail =
            format!("{classes} of {all} stacks end in a class, so the profile is of allocations or locks, not of time");
        Err(Error::usage(detail).with_hint(Hint::RecordTime))
    }

    /// Adds one line; returns false if it is not a stack.
    fn read_line(&mut self, line: &[u8], unit: CountUnit) -> Result<bool> {
        let Some((stack, count)) = split_count(line) else { return Ok(false) };
        let (hits, is_rounded) = count.scaled(unit.scale);
        let stack = String::from_utf8_lossy(stack);
        self.fixed += u64::from(matches!(stack, Cow::Owned(_)));
        let (thread, stack) = if self.form == Form::Folded { split_process(&stack) } else { split_thread(&stack) };
        let thread: Option<ThreadId> = thread.map(|name| self.table.intern_thread(name));
        let found = if self.form == Form::Folded { self.folded_stack(stack)? } else { self.collapsed_stack(stack)? };
        let Some(stack) = found else { return Ok(false) };
        self.rounded += u64::from(is_rounded);
        if hits > 0 {
            let key = SampleKey {
                stack,
                thread,
                source: SampleSource::Unknown,
                certainty: Certainty::Unknown,
                truncated: false,
            };
            self.table.add(key, hits);
        }
        Ok(true)
    }

    /// The stack of frames that semicolons separate. Lines next to each other have
    /// most of their frames in common.
    fn collapsed_stack(&mut self, stack: &str) -> Result<Option<StackId>> {
        let common = stack.bytes().zip(self.before.bytes()).take_while(|(now, before)| now == before).count();
        let is_end = |at: usize| stack.as_bytes().get(at).is_none_or(|byte| *byte == b';');
        let shared = self.path.partition_point(|(end, _)| *end < common);
        // A frame that ends where the difference begins is the same if it ends in both.
        let shared = shared + usize::from(self.path.get(shared).is_some_and(|(end, _)| *end == common && is_end(*end)));
        self.path.truncate(shared);
        let (mut at, mut parent) = self.path.last().map_or((0, None), |(end, stack)| (*end, Some(*stack)));
        // A stack that was not read to its end must not count as read.
        self.before.clear();
        while at < stack.len() {
            let rest = &stack[at..];
            if let Some(rest) = rest.strip_prefix(';') {
                at = stack.len() - rest.len();
                continue;
            }
            let text = rest.split(';').next().unwrap_or(rest);
            self.check_depth(self.path.len())?;
            let frame = self.frame(text)?;
            let pushed = self.table.push_frame(parent, frame);
            at += text.len();
            parent = Some(pushed);
            self.path.push((at, pushed));
        }
        self.before.push_str(stack);
        Ok(parent)
    }

    /// The stack of perf's frames.
    fn folded_stack(&mut self, stack: &str) -> Result<Option<StackId>> {
        let mut parent = None;
        for (depth, text) in self.split_frames(stack)?.iter().enumerate() {
            self.check_depth(depth)?;
            let frame = self.frame(text)?;
            parent = Some(self.table.push_frame(parent, frame));
        }
        Ok(parent)
    }

    /// Fails if a stack of `depth` frames may not get another one.
    fn check_depth(&self, depth: usize) -> Result<()> {
        if depth as u64 >= u64::from(self.limits.context_depth) {
            return Err(Error::above_limit(
                Some("context-depth"),
                "number of frames of a stack",
                depth as u64 + 1,
                self.limits.context_depth.into(),
            ));
        }
        Ok(())
    }

    /// The frames of perf's stack, outermost first.
    fn split_frames<'t>(&self, stack: &'t str) -> Result<Vec<Cow<'t, str>>> {
        let mut frames: Vec<Cow<'t, str>> = Vec::new();
        for part in stack.split(';') {
            if part.starts_with("::") || self.continues_descriptor(&frames) {
                if !self.options.perf_raw {
                    let detail = "frames are split at the `;` inside `L…;::` names";
                    return Err(Error::usage(detail).with_hint(Hint::ReadPerfScript));
                }
                if let Some(last) = frames.last_mut() {
                    last.to_mut().push(';');
                    last.to_mut().push_str(part);
                    continue;
                }
            }
            if !part.is_empty() {
                frames.push(Cow::Borrowed(part));
            }
        }
        Ok(frames.into_iter().flat_map(split_inlined).collect())
    }

    /// Whether the last frame is one whose descriptor is not closed yet.
    fn continues_descriptor(&self, frames: &[Cow<'_, str>]) -> bool {
        self.options.perf_raw
            && frames.last().is_some_and(|last| last.contains(";::") && last.contains('(') && !last.contains(')'))
    }

    /// Adds one sample of `perf script`. The outermost frame comes first.
    fn add_script_sample(&mut self, thread: &str, frames: &[(String, FrameKind)]) -> Result<()> {
        self.cancel.check()?;
        let mut parent = None;
        for (depth, (symbol, kind)) in frames.iter().enumerate() {
            self.check_depth(depth)?;
            self.check_length(symbol)?;
            let TextFrame { name, bci, kind } = script::name_of(symbol, *kind);
            let function = self.function(name);
            let frame = self.table.intern_frame(Frame { function, bci, line: None, kind });
            parent = Some(self.table.push_frame(parent, frame));
        }
        let Some(stack) = parent else {
            self.table.observed.samples_without_stack += 1;
            return Ok(());
        };
        let thread = Some(self.table.intern_thread(thread));
        let (source, certainty) = (SampleSource::Unknown, Certainty::Unknown);
        self.table.add(SampleKey { stack, thread, source, certainty, truncated: false }, 1);
        Ok(())
    }

    fn check_length(&self, text: &str) -> Result<()> {
        if text.len() as u64 > self.limits.name_bytes {
            return Err(Error::above_limit(
                Some("name-bytes"),
                "length of a name",
                text.len() as u64,
                self.limits.name_bytes,
            ));
        }
        Ok(())
    }

    fn frame(&mut self, text: &str) -> Result<FrameId> {
        if let Some(known) = self.known.get(text) {
            return Ok(*known);
        }
        self.check_length(text)?;
        let TextFrame { name, bci, kind } = self.form.parse(text);
        self.table.observed.marks_frames |= frames::split_annotation(text).1 != FrameKind::Unknown;
        let function = self.function(name);
        let frame = self.table.intern_frame(Frame { function, bci, line: None, kind });
        self.known.insert(text.into(), frame);
        Ok(frame)
    }

    fn function(&mut self, name: Named) -> FunctionId {
        match name {
            Named::Symbol(name) => self.table.intern_symbol(&name),
            Named::Java { class, name, types } => {
                if class == "Thread" && name == "run" {
                    // The class of every thread's entry has lost its package.
                    self.table.observed.simple_names = true;
                }
                let types: Option<Vec<&str>> = types.as_ref().map(|types| types.iter().map(String::as_str).collect());
                self.table.intern_java(&class, &name, types.as_deref())
            }
        }
    }

    /// Warnings about the text; what was skipped is added to what was observed.
    fn warnings(&mut self) -> Vec<Warning> {
        self.table.observed.lines_skipped += self.skipped.len() as u64;
        self.table.observed.names_mended += self.fixed;
        let mut warnings = Vec::new();
        if !self.skipped.is_empty() {
            warnings.push(Warning::of_loss(skipped_lines(&self.skipped)));
        }
        let saturated = self.table.saturated() - self.saturated_before;
        if saturated > 0 {
            let counts = number_of(saturated, "count");
            warnings.push(Warning::of_loss(format!("{counts} reached the maximum, {MAX_HITS}")));
        }
        if self.fixed > 0 {
            warnings.push(Warning::new(format!(
                "{} with names that were changed, because they are not UTF-8",
                number_of(self.fixed, "line")
            )));
        }
        if self.table.observed.simple_names {
            warnings.push(Warning::new(SIMPLE_NAMES));
        }
        warnings
    }
}

/// Numbers of skipped lines that are listed.
const LISTED_LINES: usize = 5;

/// `skipped 2 lines that are not stacks: lines 3, 7`.
fn skipped_lines(numbers: &[u64]) -> String {
    let listed: Vec<String> = numbers.iter().take(LISTED_LINES).map(u64::to_string).collect();
    let (lines, are) = if numbers.len() == 1 { ("line", "is not a stack") } else { ("lines", "are not stacks") };
    let more = if numbers.len() > LISTED_LINES { ", …" } else { "" };
    format!("skipped {} that {are}: {lines} {}{more}", number_of(numbers.len(), "line"), listed.join(", "))
}

/// Takes the process off the front: `java`, `java-123`, `java-123/456`.
fn split_process(stack: &str) -> (Option<&str>, &str) {
    match stack.split_once(';') {
        Some((process, frames)) => (Some(process), frames),
        None => (Some(stack), ""),
    }
}

/// Frames that the agent's option `unfold` puts into one: `a->b->c`, and
/// `leaf inlined in root`.
fn split_inlined(frame: Cow<'_, str>) -> Vec<Cow<'_, str>> {
    let mark = |text: &str| -> Cow<'static, str> {
        if frames::split_annotation(text).1 == FrameKind::Unknown {
            format!("{text}_[i]").into()
        } else {
            text.to_string().into()
        }
    };
    if let Some((leaf, root)) = frame.split_once(" inlined in ") {
        return vec![root.to_string().into(), mark(leaf)];
    }
    if !frame.contains("->") {
        return vec![frame];
    }
    let mut parts = frame.split("->").filter(|part| !part.is_empty());
    let first = parts.next().map(|first| Cow::from(first.to_string()));
    first.into_iter().chain(parts.map(mark)).collect()
}

#[cfg(test)]
mod tests;
