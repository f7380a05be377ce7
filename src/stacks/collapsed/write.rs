//! Collapsed stacks out.

use super::exact;
use super::lines::write_millionths;
use super::names::UNKNOWN_BCI;
use crate::error::Result;
use crate::memory::{self, HOLD_OUTPUT};
use crate::stacks::model::{Frame, FrameId, Function, StackTable, ThreadId, Unit};
use std::collections::BTreeMap;

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

/// What collapsed stacks say of a frame.
///
/// With descriptors and BCIs (and slashes) nothing that an iprof knows is lost.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CollapsedOptions {
    /// How classes are spelled. Default: with slashes.
    pub style: ClassStyle,
    /// Append descriptors, `|` for their `;`. Default: `false`.
    pub descriptors: bool,
    /// Append `@` and the BCI, −5 where it is not known. Default: `false`.
    pub bcis: bool,
    /// Begin with `[thread tid=N]`; N only tells threads apart. Default: `false`.
    pub threads: bool,
}

/// Collapsed text, one line for each distinct stack, in order of the lines. Counts in millionths are written with
/// fractions, as they were read.
///
/// Also says how many stacks of the table had to be joined since what tells
/// them apart is not written.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub fn write_collapsed(table: &StackTable, options: &CollapsedOptions) -> Result<(String, u64)> {
    let mut frames: Vec<Option<Box<str>>> = Vec::new();
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    let mut distinct = std::collections::BTreeSet::new();
    for sample in table.samples() {
        let thread = sample.key.thread.filter(|_| options.threads);
        let mut line = thread.map(|thread| thread_frame(table, thread)).unwrap_or_default();
        let mut chain: Vec<FrameId> = memory::collect(table.frames(sample.key.stack), HOLD_OUTPUT)?;
        chain.reverse();
        for (position, id) in chain.into_iter().enumerate() {
            if position > 0 {
                line.push(';');
            }
            let known = frames.len();
            if known <= id.index() {
                memory::reserve(&mut frames, id.index() + 1 - known, HOLD_OUTPUT)?;
                frames.resize(id.index() + 1, None);
            }
            let text = frames[id.index()].get_or_insert_with(|| frame_text(table, table.frame(id), options).into());
            memory::reserve(&mut line, text.len() + 1, HOLD_OUTPUT)?;
            line.push_str(text);
        }
        let hits = lines.entry(line).or_default();
        *hits = hits.saturating_add(sample.hits).min(crate::stacks::model::MAX_HITS);
        distinct.insert((sample.key.stack.index(), thread.map(ThreadId::index)));
    }
    let joined = (distinct.len() - lines.len()) as u64;
    let has_fractions = table.unit() == Some(Unit::Millionths);
    let mut text = String::new();
    for (line, hits) in lines {
        let hits = if has_fractions { write_millionths(hits) } else { hits.to_string() };
        let hits = format!(" {hits}\n");
        memory::reserve(&mut text, line.len() + hits.len(), HOLD_OUTPUT)?;
        text.push_str(&line);
        text.push_str(&hits);
    }
    Ok((text, joined))
}

fn thread_frame(table: &StackTable, thread: ThreadId) -> String {
    let name: String = table.thread(thread).chars().map(|c| if c == '\n' || c == '\r' { ' ' } else { c }).collect();
    format!("[{name} tid={}];", thread.index() + 1)
}

fn frame_text(table: &StackTable, frame: Frame, options: &CollapsedOptions) -> String {
    match table.function(frame.function) {
        // A name that holds the separator cannot be told from two frames.
        Function::Symbol { name } => table
            .name(name)
            .chars()
            .map(|c| {
                if c == ';' {
                    ':'
                } else if c == '\n' || c == '\r' {
                    ' '
                } else {
                    c
                }
            })
            .collect(),
        Function::Java { class, name, signature } => {
            let types: Option<Vec<&str>> = signature
                .filter(|_| options.descriptors)
                .map(|signature| table.signature(signature).iter().map(|id| table.name(*id)).collect());
            let mut text = String::new();
            exact::write_method(table.name(class), table.name(name), types.as_deref(), &mut text);
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
