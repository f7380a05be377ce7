//! Entries by context: what all sections of a merge have in common.

use crate::iprof::context::ContextHandle;
use hashbrown::HashMap;

/// What belongs to one context.
pub(super) trait OfContext {
    fn context(&self) -> ContextHandle;
}

/// One entry a context, in order of first appearance. Callers have contexts of
/// their own, so far fewer contexts have entries than there are.
#[derive(Debug)]
pub(super) struct Gathered<E> {
    pub(super) entries: Vec<E>,
    /// The entry after the last one that was found.
    next: usize,
    /// One bit a context: whether it has an entry.
    occupied: Vec<u64>,
    /// Made when it is first needed: of one input no context is asked for twice.
    index: HashMap<ContextHandle, u32, foldhash::fast::FixedState>,
    /// Entries that are in the index.
    indexed: usize,
}

impl<E> Default for Gathered<E> {
    fn default() -> Self {
        Self { entries: Vec::new(), next: 0, occupied: Vec::new(), index: HashMap::default(), indexed: 0 }
    }
}

impl<E: OfContext> Gathered<E> {
    fn context(&self, at: usize) -> Option<ContextHandle> {
        self.entries.get(at).map(E::context)
    }

    /// The context that probably comes next; behind the last entry an input begins from the first.
    pub(super) fn expected(&self) -> Option<ContextHandle> {
        self.context(self.next).or_else(|| self.context(0))
    }

    /// The position of a context's entry, and whether `make` has just made it.
    pub(super) fn place(&mut self, context: ContextHandle, make: impl FnOnce() -> E) -> (usize, bool) {
        match self.find(context) {
            Some(at) => (at, false),
            None => {
                self.append(context);
                self.entries.push(make());
                (self.entries.len() - 1, true)
            }
        }
    }

    fn find(&mut self, context: ContextHandle) -> Option<usize> {
        if self.next == self.entries.len() && self.context(0) == Some(context) {
            self.next = 0;
        }
        if self.context(self.next) == Some(context) {
            self.next += 1;
            return Some(self.next - 1);
        }
        let word = self.occupied.get(context.index() / 64)?;
        if word >> (context.index() % 64) & 1 == 0 {
            return None;
        }
        self.index.reserve(self.entries.len() - self.indexed);
        for (at, entry) in self.entries.iter().enumerate().skip(self.indexed) {
            self.index.insert(entry.context(), u32::try_from(at).expect("fewer than 2^32 entries"));
        }
        self.indexed = self.entries.len();
        let at = *self.index.get(&context)? as usize;
        self.next = at + 1;
        Some(at)
    }

    /// Takes note of an entry that is appended.
    fn append(&mut self, context: ContextHandle) {
        let word = context.index() / 64;
        if self.occupied.len() <= word {
            self.occupied.resize(word + 1, 0);
        }
        self.occupied[word] |= 1 << (context.index() % 64);
        // Behind what is new goes on what is new; among what is known its place is kept.
        self.next += usize::from(self.next == self.entries.len());
    }
}
