//! The lines of a text of stacks, before their frames are looked at.

use crate::call_chains::{Certainty, Frame, FrameId, FrameKind, Function, MAX_HITS, StackTable, ThreadId, Unit};
use crate::digits::number_of;
use crate::stacks::collapsed::frames;
use crate::stacks::collapsed::frames::{Form, UNKNOWN_BCI};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Lines that are read to detect the dialect.
const SAMPLE_LINES: usize = 2000;

/// One line of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    /// Counted from 1.
    pub(crate) number: u64,
    /// Of its first byte.
    pub(crate) offset: u64,
    /// Without the end of the line.
    pub(crate) bytes: &'a [u8],
}

/// All lines.
pub(crate) fn lines(data: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mut offset = 0;
    data.split(|byte| *byte == b'\n').zip(1..).map(move |(line, number)| {
        let start = offset;
        offset += line.len() as u64 + 1;
        Line { number, offset: start, bytes: line.strip_suffix(b"\r").unwrap_or(line) }
    })
}

/// The lines that are to hold a stack: neither empty nor comments.
pub(crate) fn stack_lines(data: &[u8]) -> impl Iterator<Item = Line<'_>> {
    lines(data).filter(|line| !line.bytes.trim_ascii().is_empty() && !is_comment(line.bytes))
}

/// Whether a line is a comment: `#`, alone or before a blank.
pub(crate) fn is_comment(line: &[u8]) -> bool {
    line.strip_prefix(b"#").is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
}

/// The beginning of a first line that states the unit of the counts, such as `bytes` or `ns`.
pub const UNIT_COMMENT: &str = "# unit: ";

/// The unit that the first line states.
pub(crate) fn stated_unit(data: &[u8]) -> Option<Cow<'_, str>> {
    let line = data.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.strip_prefix(UNIT_COMMENT.as_bytes()).map(|unit| String::from_utf8_lossy(unit.trim_ascii()))
}

/// The count at the end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    /// The digits before the point; stops at the largest number.
    pub(crate) whole: u64,
    /// The first [`PLACES`] digits after the point; `None` without such digits.
    pub(crate) fraction: Option<u64>,
}

/// Millionths of a whole count.
pub(crate) const MILLION: u64 = 1_000_000;

/// The digits of a fraction that count: of an hour, these are less than a nanosecond.
const PLACES: usize = 18;

impl Count {
    /// Parses `12`, `1.5` and `2.`, as flamegraph.pl takes them.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let mut parts = text.splitn(2, |byte| *byte == b'.');
        let (whole, fraction) = (parts.next()?, parts.next().unwrap_or_default());
        if whole.is_empty() || !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
            return None;
        }
        let digit = |byte: &u8| u64::from(byte - b'0');
        let whole = whole.iter().fold(0u64, |sum, byte| sum.saturating_mul(10).saturating_add(digit(byte)));
        if fraction.is_empty() {
            return Some(Self { whole, fraction: None });
        }
        let places = fraction.iter().map(digit).chain(std::iter::repeat(0)).take(PLACES);
        Some(Self { whole, fraction: Some(places.fold(0, |sum, digit| sum * 10 + digit)) })
    }

    /// The count in a unit of which it has `scale`, and whether it was rounded; stops at the largest number.
    pub(crate) fn scaled(self, scale: u64) -> (u64, bool) {
        const WHOLE: u128 = 10_u128.pow(PLACES as u32);
        let parts = u128::from(self.fraction.unwrap_or(0)) * u128::from(scale);
        let rounded = u64::try_from((parts + WHOLE / 2) / WHOLE).unwrap_or(u64::MAX);
        (self.whole.saturating_mul(scale).saturating_add(rounded), parts % WHOLE != 0)
    }
}

/// A number of millionths as [`Count::parse`] reads it.
pub(crate) fn write_millionths(count: u64) -> String {
    let text = format!("{}.{:06}", count / MILLION, count % MILLION);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Splits a line into its stack and its count.
pub(crate) fn split_count(line: &[u8]) -> Option<(&[u8], Count)> {
    let line = line.trim_ascii_end();
    let at = line.iter().rposition(|byte| *byte == b' ')?;
    Some((&line[..at], Count::parse(&line[at + 1..])?))
}

/// Whether some count has digits after a point.
pub(crate) fn has_fractions(data: &[u8]) -> bool {
    let may_be_fraction = |line: &Line<'_>| {
        let line = line.bytes.trim_ascii_end();
        let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        digits > 0 && line[..line.len() - digits].ends_with(b".")
    };
    let mut found = stack_lines(data).filter(may_be_fraction);
    found.any(|line| split_count(line.bytes).is_some_and(|(_, count)| count.fraction.is_some()))
}

/// Returns the form of a text, by the frames of its first lines. A function that only Go can have excludes Java methods.
pub(crate) fn form_of(data: &[u8]) -> Form {
    let (mut has_go, mut has_java) = (false, false);
    let mut before: &[u8] = &[];
    for line in stack_lines(data).take(SAMPLE_LINES) {
        let stack = line.bytes.rsplitn(2, |byte| *byte == b' ').last().unwrap_or_default();
        // Most lines begin with frames of the line before, which were looked at.
        let equal = stack.iter().zip(before).take_while(|(byte, other)| byte == other).count();
        let start = stack[..equal].iter().rposition(|byte| *byte == b';').map_or(0, |at| at + 1);
        let frames = String::from_utf8_lossy(&stack[start..]);
        for (at, frame) in frames.split(';').enumerate() {
            if start + at > 0 && frames::is_perf_frame(frame) {
                return Form::Folded;
            }
            has_go = has_go || frames::is_go_frame(frame);
            has_java = has_java || frames::is_java_frame(frame);
        }
        before = stack;
    }
    if has_java && !has_go { Form::Collapsed } else { Form::Names }
}

/// Returns the number of stacks among the first lines, and the number of these that end in a class, as in profiles of
/// allocations and locks.
pub(crate) fn class_leaves(data: &[u8]) -> (u64, u64) {
    let (mut all, mut classes) = (0u64, 0u64);
    for line in stack_lines(data).take(SAMPLE_LINES) {
        let line = String::from_utf8_lossy(line.bytes);
        let Some((stack, _)) = line.rsplit_once(' ') else { continue };
        all += 1;
        classes += u64::from(frames::is_class_leaf(stack.rsplit(';').next().unwrap_or(stack)));
    }
    (all, classes)
}

/// Takes `[name tid=123]` off the front; the name may hold anything. Threads without a name are called `tid=123`, as in
/// recordings.
pub(crate) fn split_thread(stack: &str) -> (Option<&str>, &str) {
    const ID: &str = "tid=";
    // The number of digits, and the frames after the thread.
    let end_of = |after_id: &str| {
        let digits = after_id.bytes().take_while(u8::is_ascii_digit).count();
        let end = after_id[digits..].strip_prefix(']').filter(|_| digits > 0)?;
        let frames = if end.is_empty() { Some(end) } else { end.strip_prefix(';') };
        frames.map(|frames| (digits, after_id.len() - frames.len()))
    };
    let Some(rest) = stack.strip_prefix('[') else { return (None, stack) };
    if let Some((digits, frames)) = rest.strip_prefix(ID).and_then(end_of) {
        return (Some(&rest[..ID.len() + digits]), &rest[ID.len() + frames..]);
    }
    let mut from = 0;
    while let Some(at) = rest.get(from..).and_then(|rest| rest.find(" tid=")) {
        let at = from + at;
        let after = at + 1 + ID.len();
        if let Some((_, frames)) = end_of(&rest[after..]) {
            return (Some(&rest[..at]), &rest[after + frames..]);
        }
        from = at + 1;
    }
    (None, stack)
}

// Collapsed stacks out.

/// How classes are spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ClassStyle {
    /// `java/lang/String`, as async-profiler does by default.
    #[default]
    Slashes,
    /// `java.lang.String`.
    Dots,
}

/// The parts of a frame that collapsed stacks have.
///
/// With descriptors and BCIs (and slashes), no data of an iprof is lost.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CollapsedOptions {
    /// How classes are spelled. Default: with slashes.
    pub style: ClassStyle,
    /// Append descriptors, `|` for their `;`. Default: `false`.
    pub descriptors: bool,
    /// Append `@` and the BCI, −5 where it is not known. Default: `false`.
    pub bcis: bool,
    /// Begin with `[thread tid=N]`; N only tells threads apart, and is not the id of the thread. Default: `false`.
    pub threads: bool,
}

/// Collapsed text, one line for each distinct stack, in order of the lines. Counts in millionths are written with
/// fractions, as they were read.
///
/// Returns the number of stacks that were merged because they differ only in data that is not written.
pub fn write_collapsed(table: &StackTable, options: &CollapsedOptions) -> (String, u64) {
    let (text, losses) = collapse(table, options);
    (text, losses.joined)
}

/// Data of a table that is not in its collapsed text.
#[derive(Debug, Clone, Default)]
pub(crate) struct CollapsedLosses {
    /// Stacks that were merged because they differ only in data that is not written.
    joined: u64,
    /// Threads whose names are not written.
    threads: u64,
    truncated: u64,
    certainty: u64,
    lines: u64,
    kinds: u64,
    separators: u64,
}

impl CollapsedLosses {
    /// Returns the losses in words.
    pub(crate) fn words(&self) -> Vec<String> {
        let rows = [
            (self.joined, "merged", "stack", "with others that differ only in data that is not written"),
            (self.threads, "dropped the names of", "thread", ""),
            (self.truncated, "dropped the marks of", "truncated stack", ""),
            (self.certainty, "dropped the marks of", "exact or guessed stack", ""),
            (self.lines, "dropped the line numbers of", "frame", ""),
            (self.kinds, "dropped the types (interpreted, compiled, inlined) of", "frame", ""),
            (self.separators, "wrote `:` for `;`, which separates frames, in the names of", "frame", ""),
        ];
        let found = rows.into_iter().filter(|(count, ..)| *count > 0);
        let words = found.map(|(count, verb, what, rest)| format!("{verb} {} {rest}", number_of(count, what)));
        words.map(|words| words.trim_end().to_string()).collect()
    }

    /// Counts the data of a frame that has no place in the text.
    fn add_frame(&mut self, table: &StackTable, frame: Frame) {
        self.lines += u64::from(frame.line.is_some());
        let function = table.function(frame.function);
        let is_symbol = matches!(function, Function::Symbol { .. });
        self.separators += u64::from(matches!(function, Function::Symbol { name } if table.name(name).contains(';')));
        self.kinds += u64::from(match frame.kind {
            FrameKind::Unknown => false,
            // Readers take symbols for native code; those of the kernel have their mark.
            FrameKind::Native | FrameKind::Kernel => !is_symbol,
            _ => true,
        });
    }
}

/// Collapsed text, and the data that it does not have although the options do not omit it.
pub(crate) fn collapse(table: &StackTable, options: &CollapsedOptions) -> (String, CollapsedLosses) {
    let mut frames: Vec<Option<Box<str>>> = Vec::new();
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    let (mut distinct, mut threads) = (BTreeSet::new(), BTreeSet::new());
    let mut losses = CollapsedLosses::default();
    for sample in table.samples() {
        let key = sample.key;
        losses.truncated += u64::from(key.truncated);
        losses.certainty += u64::from(key.certainty != Certainty::Unknown);
        let thread = key.thread.filter(|_| options.threads);
        threads.extend(key.thread.filter(|_| !options.threads).map(ThreadId::index));
        let mut line = thread.map(|thread| thread_frame(table, thread)).unwrap_or_default();
        let mut chain: Vec<FrameId> = table.frames(key.stack).collect();
        chain.reverse();
        for (position, id) in chain.into_iter().enumerate() {
            if position > 0 {
                line.push(';');
            }
            let known = frames.len();
            if known <= id.index() {
                frames.resize(id.index() + 1, None);
            }
            let text = frames[id.index()].get_or_insert_with(|| {
                losses.add_frame(table, table.frame(id));
                frame_text(table, table.frame(id), options).into()
            });
            line.push_str(text);
        }
        let hits = lines.entry(line).or_default();
        *hits = hits.saturating_add(sample.hits).min(MAX_HITS);
        distinct.insert((key.stack.index(), thread.map(ThreadId::index)));
    }
    losses.joined = (distinct.len() - lines.len()) as u64;
    losses.threads = threads.len() as u64;
    let has_fractions = table.unit() == Some(Unit::Millionths);
    let mut text = String::new();
    for (line, hits) in lines {
        let hits = if has_fractions { write_millionths(hits) } else { hits.to_string() };
        let hits = format!(" {hits}\n");
        text.push_str(&line);
        text.push_str(&hits);
    }
    (text, losses)
}

fn thread_frame(table: &StackTable, thread: ThreadId) -> String {
    let name: String = table.thread(thread).chars().map(|c| if c == '\n' || c == '\r' { ' ' } else { c }).collect();
    // A thread without a name is called by its id.
    let frame = format!("[{name}];");
    if split_thread(&frame).0 == Some(&name) { frame } else { format!("[{name} tid={}];", thread.index() + 1) }
}

fn frame_text(table: &StackTable, frame: Frame, options: &CollapsedOptions) -> String {
    match table.function(frame.function) {
        // A name with the separator would read as two frames.
        Function::Symbol { name } => {
            let is_kernel = frame.kind == FrameKind::Kernel;
            let name = table.name(name).replace(';', ":").replace(['\n', '\r'], " ");
            if is_kernel { name + frames::KERNEL_MARK } else { name }
        }
        Function::Java { class, name, signature } => {
            let types: Option<Vec<&str>> = signature
                .filter(|_| options.descriptors)
                .map(|signature| table.signature(signature).iter().map(|id| table.name(*id)).collect());
            let mut text = String::new();
            frames::write_method(table.name(class), table.name(name), types.as_deref(), &mut text);
            if options.style == ClassStyle::Dots {
                text = text.replace('/', ".");
            }
            if options.bcis {
                text.push_str(&format!("@{}", frame.bci.unwrap_or(UNKNOWN_BCI)));
            }
            text
        }
    }
}
