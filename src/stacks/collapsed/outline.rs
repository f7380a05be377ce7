//! The stacks of a text as a tree without its thin branches.
//!
//! A flame graph does not show boxes narrower than a fraction of a pixel, which most stacks of a long text are. So
//! lines are grouped by their first frame, each group by its second frame, and so on, until a group is too small to be
//! visible. Most frames are never read, and memory contains only the text, a few words per line, and the visible boxes.

use crate::bytes::without_byte_order_mark;
use crate::call_chains::{FrameKind, FunctionId, MAX_HITS, StackTable};
use crate::java;
use crate::limits::Limits;
use crate::stacks::collapsed::frames::{Form, Named, TextFrame};
use crate::stacks::collapsed::lines::{class_leaves, form_of, is_comment, split_count, split_thread, stated_unit};
use crate::stacks::collapsed::{Dialect, TextOptions};
use foldhash::HashMap;
use std::io::BufRead;

/// A tree of functions, each before what it calls, siblings by name.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Outline {
    /// Holds the functions; it has no samples.
    pub table: StackTable,
    /// Every name once: as it is displayed, one of its functions, and how that ran.
    pub names: Vec<(String, FunctionId, FrameKind)>,
    /// The tree in depth-first order.
    pub nodes: Vec<OutlineNode>,
    /// All hits.
    pub total: u128,
    /// Class names have no packages.
    pub simple_names: bool,
}

/// One function of an [`Outline`] in one place of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutlineNode {
    /// Frames below it: 0 for the entries of threads.
    pub depth: u32,
    /// Position in [`Outline::names`].
    pub name: u32,
    /// Hits of all stacks through it.
    pub hits: u128,
}

/// Returns the outline of a text. `least` returns, for the total of all hits, the number of hits that a function needs
/// for its callees to be included.
///
/// `None` for a text that needs the full reader: perf's form, weights instead of hits, fractions, names that are not
/// UTF-8, lines that are not stacks, or values beyond a limit.
pub fn outline(
    data: &[u8],
    options: &TextOptions,
    limits: &Limits,
    least: impl FnOnce(u128) -> u128,
) -> Option<Outline> {
    let text = std::str::from_utf8(without_byte_order_mark(data)).ok()?;
    let form = match options.dialect {
        Dialect::Collapsed => Form::Collapsed,
        Dialect::Folded => Form::Folded,
        Dialect::Auto => form_of(text.as_bytes()),
    };
    let (all, classes) = class_leaves(text.as_bytes());
    // Only the reader converts a unit.
    if stated_unit(text.as_bytes()).is_some() {
        return None;
    }
    if form == Form::Folded || !options.accept_weights && classes * 2 > all {
        return None;
    }
    let mut lines = split_lines(text, limits)?;
    let total = lines.iter().map(|line| u128::from(line.hits)).sum();
    let mut tree = Tree {
        text,
        resolver: Resolver { form, ..Resolver::default() },
        least: least(total).max(1),
        nodes: Vec::new(),
    };
    tree.build(&mut lines);
    let Resolver { table, names, simple_names, .. } = tree.resolver;
    Some(Outline { table, names, nodes: tree.nodes, total, simple_names })
}

/// The rest of a line.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// Offset of the next frame.
    at: usize,
    /// Bytes up to the end of the stack.
    left: u32,
    /// The frame before, as [`Resolver::names`] counts plus one; 0 when there is none.
    name: u32,
    hits: u64,
}

/// The stacks of all lines; `None` where one is irregular.
fn split_lines(text: &str, limits: &Limits) -> Option<Vec<Line>> {
    let mut lines = Vec::new();
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let at = text.len() - rest.len();
        let read = rest.skip_until(b'\n').ok()?;
        let line = text.get(at..at + read)?.trim_end();
        if line.is_empty() || is_comment(line.as_bytes()) {
            continue;
        }
        let (stack, count) = split_count(line.as_bytes())?;
        let stack = &line[..stack.len()];
        let hits = Some(count.whole).filter(|hits| *hits <= MAX_HITS && count.fraction.is_none())?;
        let (_, frames) = split_thread(stack);
        let depth = frames.bytes().filter(|byte| *byte == b';').count() as u64 + 1;
        let is_within = frames.len() as u64 <= limits.name_bytes && depth <= u64::from(limits.context_depth);
        if !is_within || frames.bytes().all(|byte| byte == b';') {
            return None;
        }
        if hits > 0 {
            let left = u32::try_from(frames.len()).ok()?;
            lines.push(Line { at: at + stack.len() - frames.len(), left, name: 0, hits });
        }
    }
    (!lines.is_empty()).then_some(lines)
}

struct Tree<'t> {
    text: &'t str,
    resolver: Resolver<'t>,
    least: u128,
    nodes: Vec<OutlineNode>,
}

/// Lines that begin alike: which, and the node that they are the stacks of.
struct Part {
    from: usize,
    to: usize,
    node: OutlineNode,
}

impl<'t> Tree<'t> {
    fn build(&mut self, lines: &mut [Line]) {
        let mut open = self.divide(lines, 0, 0);
        while let Some(part) = open.pop() {
            self.nodes.push(part.node);
            if part.node.hits >= self.least {
                let below = self.divide(&mut lines[part.from..part.to], part.from, part.node.depth + 1);
                open.extend(below);
            }
        }
    }

    /// Sorts lines by their next frame and returns the groups, the last name first. `from` is the index of the first
    /// line.
    fn divide(&mut self, lines: &mut [Line], from: usize, depth: u32) -> Vec<Part> {
        let bytes = self.text.as_bytes();
        let mut before: (&str, u32) = ("", 0);
        for few in lines.chunks_mut(AT_ONCE) {
            prefetch(bytes, few);
            for line in few {
                let end = line.at + line.left as usize;
                let at = line.at + bytes[line.at..end].iter().take_while(|byte| **byte == b';').count();
                let rest = &bytes[at..end];
                let frame_end = if begins_with_frame(rest, before.0.as_bytes()) {
                    at + before.0.len()
                } else {
                    let frame = &self.text[at..at + frame_len(rest)];
                    before = (frame, self.resolver.name(frame));
                    at + frame.len()
                };
                line.at = frame_end;
                line.left = (end - frame_end) as u32;
                line.name = if frame_end == at { 0 } else { before.1 + 1 };
            }
        }
        if !lines.is_sorted_by_key(|line| line.name) {
            lines.sort_by_key(|line| line.name);
        }
        let mut parts = Vec::new();
        let mut start = from;
        for part in lines.chunk_by(|a, b| a.name == b.name) {
            let hits = part.iter().map(|line| u128::from(line.hits)).sum();
            if let Some(name) = part.first().and_then(|line| line.name.checked_sub(1)) {
                let node = OutlineNode { depth, name, hits };
                parts.push(Part { from: start, to: start + part.len(), node });
            }
            start += part.len();
        }
        let names = &self.resolver.names;
        let name = |part: &Part| names[part.node.name as usize].0.as_str();
        parts.sort_by(|a, b| name(b).cmp(name(a)));
        parts
    }
}

/// Lines whose frames are brought near in time.
const AT_ONCE: usize = 16;

/// Touches the next frames of several lines back to back, so that their cache misses overlap.
fn prefetch(bytes: &[u8], lines: &[Line]) {
    let touched = lines.iter().fold(0, |touched, line| {
        let within = (line.left as usize).min(FRAME_BYTES);
        let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
        touched ^ byte(line.at) ^ byte(line.at + within)
    });
    std::hint::black_box(touched);
}

/// Bytes that most frames do not exceed.
const FRAME_BYTES: usize = 48;

/// Whether `rest` begins with this frame, as it most often does with the one of the line before.
fn begins_with_frame(rest: &[u8], frame: &[u8]) -> bool {
    !frame.is_empty() && rest.starts_with(frame) && matches!(rest.get(frame.len()), None | Some(b';'))
}

/// Bytes of the frame that `rest` begins with.
fn frame_len(rest: &[u8]) -> usize {
    let mut after = rest;
    let read = after.skip_until(b';').unwrap_or(0);
    if rest[..read].ends_with(b";") { read - 1 } else { read }
}

/// Numbers of names, by the text of frames. Different strings can have the same name.
#[derive(Default)]
struct Resolver<'t> {
    form: Form,
    table: StackTable,
    names: Vec<(String, FunctionId, FrameKind)>,
    by_text: HashMap<&'t str, u32>,
    by_name: HashMap<String, u32>,
    simple_names: bool,
}

impl<'t> Resolver<'t> {
    fn name(&mut self, text: &'t str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        if let Some(known) = self.by_text.get(text) {
            return *known;
        }
        let TextFrame { name, kind, .. } = self.form.parse(text);
        let function = match name {
            Named::Symbol(name) => self.table.intern_symbol(&name),
            Named::Java { class, name, types } => {
                self.simple_names |= class == "Thread" && name == "run";
                let class = java::without_address(&class).unwrap_or(class);
                let types: Option<Vec<&str>> = types.as_ref().map(|types| types.iter().map(String::as_str).collect());
                self.table.intern_java(&class, &name, types.as_deref())
            }
        };
        let shown = self.table.display_function(function);
        let next = self.names.len() as u32;
        let number = *self.by_name.entry(shown.clone()).or_insert(next);
        if number == next {
            self.names.push((shown, function, kind));
        }
        self.by_text.insert(text, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str, least: u128) -> Option<Vec<(u32, String, u128)>> {
        let outline = outline(text.as_bytes(), &TextOptions::default(), &Limits::default(), |_| least)?;
        let row = |node: &OutlineNode| (node.depth, outline.names[node.name as usize].0.clone(), node.hits);
        Some(outline.nodes.iter().map(row).collect())
    }

    #[test]
    fn stacks_join_by_name_whatever_the_order_and_the_spelling() {
        let text = "[t tid=1];a/B.main_[j];a/B.f 1\na/B.main;a/B.g 4\n\na.B.main_[0];;a/B.f@3;x 2\r\na/B.main 0\n";
        let row = |depth, name: &str, hits| (depth, name.to_string(), hits);
        let whole = [row(0, "a.B.main", 7), row(1, "a.B.f", 3), row(2, "x", 2), row(1, "a.B.g", 4)];
        assert_eq!(tree(text, 1).unwrap(), whole);
        assert_eq!(tree(text, 4).unwrap(), [whole[0].clone(), whole[1].clone(), whole[3].clone()]);
    }

    #[test]
    fn irregular_lines_use_the_general_reader() {
        for text in ["", "a;b\n", "a;b x\n", "a;b 1\n;; 2\n", "java;a/B:::f 1\n", "a/B.main;java.lang.String_[i] 9\n"] {
            assert_eq!(tree(text, 1), None, "{text}");
        }
        assert!(outline(b"a;\xff 1\n", &TextOptions::default(), &Limits::default(), |_| 1).is_none());
        let shallow = Limits { context_depth: 2, ..Limits::default() };
        assert!(outline(b"a;b;c 1\n", &TextOptions::default(), &shallow, |_| 1).is_none());
    }
}
