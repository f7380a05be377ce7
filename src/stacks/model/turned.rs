//! The same samples with other stacks: turned round, below their threads, from
//! one method on.

use super::{Frame, FrameId, FrameKind, FunctionId, SampleKey, StackTable};
use crate::error::Result;
use crate::memory::{self, HOLD_STACKS};

/// What samples without a thread are put below.
const NO_THREAD: &str = "(no thread)";

impl StackTable {
    /// The same samples with every stack turned round: what ran comes first, then
    /// its callers.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn reversed(&self) -> Result<StackTable> {
        let mut out = self.with_same_names()?;
        for sample in self.samples() {
            let frames: Vec<FrameId> = self.frames(sample.key.stack).collect();
            self.add_turned(&mut out, sample.key, sample.hits, &frames);
        }
        out.check_memory()?;
        Ok(out)
    }

    /// The same samples with the name of its thread below every stack.
    ///
    /// # Errors
    ///
    /// As [`reversed`](Self::reversed).
    pub fn by_thread(&self) -> Result<StackTable> {
        let mut out = self.with_same_names()?;
        for sample in self.samples() {
            let name = sample.key.thread.map_or(NO_THREAD, |thread| self.thread(thread));
            let function = out.intern_symbol(name);
            let thread = Frame { function, bci: None, line: None, kind: FrameKind::Unknown };
            let thread = out.intern_frame(thread);
            let mut stack = out.push_frame(None, thread);
            let mut frames: Vec<FrameId> = self.frames(sample.key.stack).collect();
            frames.reverse();
            for frame in frames {
                let frame = out.intern_frame(self.frame(frame));
                stack = out.push_frame(Some(stack), frame);
            }
            out.add(SampleKey { stack, ..sample.key }, sample.hits);
        }
        out.check_memory()?;
        Ok(out)
    }

    /// The samples whose stacks hold a method for which `is_one` says so, without
    /// the callers of the outermost such frame: what a method calls, wherever it is
    /// called from. With `callers`, what calls its innermost frame instead, the
    /// nearest caller first.
    ///
    /// # Errors
    ///
    /// As [`reversed`](Self::reversed).
    pub fn of_method(&self, callers: bool, mut is_one: impl FnMut(FunctionId) -> bool) -> Result<StackTable> {
        let is_one: Vec<bool> = memory::collect(self.functions().map(&mut is_one), HOLD_STACKS)?;
        let holds = |frame: &FrameId| is_one[self.frame(*frame).function.index()];
        let mut out = self.with_same_names()?;
        for sample in self.samples() {
            let mut frames: Vec<FrameId> = self.frames(sample.key.stack).collect();
            let kept = if callers {
                let Some(at) = frames.iter().position(holds) else { continue };
                &frames[at..]
            } else {
                frames.reverse();
                let Some(at) = frames.iter().position(holds) else { continue };
                &frames[at..]
            };
            self.add_turned(&mut out, sample.key, sample.hits, kept);
        }
        out.check_memory()?;
        Ok(out)
    }

    /// Adds a sample with a stack of these frames, of which the first has no caller.
    fn add_turned(&self, out: &mut StackTable, key: SampleKey, hits: u64, frames: &[FrameId]) {
        let mut turned = None;
        for frame in frames {
            let frame = out.intern_frame(self.frame(*frame));
            turned = Some(out.push_frame(turned, frame));
        }
        if let Some(stack) = turned {
            out.add(SampleKey { stack, ..key }, hits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::stacks::collapsed::{CollapsedOptions, TextOptions, read_stacks, write_collapsed};

    fn table(text: &str) -> StackTable {
        let mut table = StackTable::new();
        read_stacks(text.as_bytes(), &TextOptions::default(), &Limits::default(), &mut table).unwrap();
        table
    }

    fn text(table: &StackTable) -> String {
        write_collapsed(table, &CollapsedOptions::default()).unwrap().0
    }

    const STACKS: &str = "[one tid=1];main;sort;less 3\n[one tid=1];main;less 1\nmain;sort;sort;swap 5\nidle 2\n";

    #[test]
    fn threads_come_below_their_stacks() {
        let expected = "(no thread);idle 2\n(no thread);main;sort;sort;swap 5\none;main;less 1\none;main;sort;less 3\n";
        assert_eq!(text(&table(STACKS).by_thread().unwrap()), expected);
    }

    #[test]
    fn one_method_is_merged_from_wherever_it_is_called() {
        let table = table(STACKS);
        let is_sort = |id| table.display_function(id) == "sort";
        assert_eq!(text(&table.of_method(false, is_sort).unwrap()), "sort;less 3\nsort;sort;swap 5\n");
        assert_eq!(text(&table.of_method(true, is_sort).unwrap()), "sort;main 3\nsort;sort;main 5\n");
        let is_less = |id| table.display_function(id) == "less";
        assert_eq!(text(&table.of_method(true, is_less).unwrap()), "less;main 1\nless;sort;main 3\n");
        assert_eq!(text(&table.reversed().unwrap()), "idle 2\nless;main 1\nless;sort;main 3\nswap;sort;sort;main 5\n");
    }
}
