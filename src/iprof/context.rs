//! Calling contexts, stored as one tree of callers.

use crate::iprof::tables::{MethodHandle, Tables};
use hashbrown::{HashMap, HashTable};
use std::hash::BuildHasher;
use std::hint::black_box;
use std::ops::Range;

/// The compiler's placeholders for positions without a bytecode index (BCI).
///
/// Real indexes are 0 to 65534. The names follow `BytecodeFrame` of the Graal compiler.
pub mod bci {
    /// Unwinding an exception.
    pub const UNWIND: i32 = -1;
    /// Before the method, while its monitor is not held.
    pub const BEFORE: i32 = -2;
    /// After a normal return.
    pub const AFTER: i32 = -3;
    /// After leaving by an exception.
    pub const AFTER_EXCEPTION: i32 = -4;
    /// Unknown, as in imported stacks without positions.
    pub const UNKNOWN: i32 = -5;
    /// No valid frame state, for example in snippets and stubs.
    pub const INVALID_FRAMESTATE: i32 = -6;

    /// Returns true if a value is neither a real index nor a placeholder.
    #[inline]
    pub fn is_odd(bci: i32) -> bool {
        !(INVALID_FRAMESTATE..=65534).contains(&bci)
    }
}

/// A position in a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The method.
    pub method: MethodHandle,
    /// The bytecode index, or a placeholder of [`bci`].
    pub bci: i32,
}

/// A frame in five bytes, because a large document mostly consists of frames.
#[derive(Debug, Clone, Copy)]
struct PackedFrame([u8; 5]);

impl PackedFrame {
    /// Marks a frame that does not fit and is stored elsewhere.
    const WIDE: u64 = 0xff_ffff_ffff;
    /// The offset that makes placeholders positive.
    const BIAS: i32 = -bci::INVALID_FRAMESTATE;

    /// The largest method handle that fits into three bytes; the value with all bits set is not used.
    const LAST_METHOD: u32 = 0xff_fffe;

    /// Returns the bits of a frame, which can be compared faster than five bytes.
    #[inline]
    fn bits_of(Frame { method, bci }: Frame) -> u64 {
        let (method, position) = (method.number(), bci.wrapping_add(Self::BIAS).cast_unsigned());
        if method > Self::LAST_METHOD || position > u32::from(u16::MAX) {
            return Self::WIDE;
        }
        u64::from(position) << 24 | u64::from(method)
    }

    #[inline]
    fn from_bits(bits: u64) -> Self {
        let [a, b, c, d, e, ..] = bits.to_le_bytes();
        Self([a, b, c, d, e])
    }

    #[inline]
    fn bits(self) -> u64 {
        let Self([a, b, c, d, e]) = self;
        u64::from_le_bytes([a, b, c, d, e, 0, 0, 0])
    }

    /// Returns the frame of a value that is not wide.
    #[inline]
    fn frame(self) -> Frame {
        let bits = self.bits();
        let method = MethodHandle::from_number(bits as u32 & 0xff_ffff);
        Frame { method, bci: (bits >> 24) as i32 - Self::BIAS }
    }
}

handle!(
    /// A calling context: a position, and the positions of its callers; an index into the tree.
    ContextHandle, "contexts"
);

impl ContextHandle {
    /// The context without frames. It is the parent of outermost frames, and the context of the monitor section's
    /// entry.
    pub const ROOT: Self = Self(0);
}

/// All contexts of a document. Each distinct chain that starts at the outermost caller is a node, so chains with common
/// callers share them.
///
/// A node directly after its caller needs no index, so long stacks that share few frames need five bytes per frame.
/// Only a further callee of a node, which starts a *run* of nodes elsewhere, is in the index, with its caller in a
/// separate list. A caller is always added before its callees.
#[derive(Debug, Clone)]
pub struct ContextTree {
    /// The innermost frame of every context. The root comes first.
    frames: Vec<PackedFrame>,
    /// Frames that are too wide, by context.
    wide: HashMap<u32, Frame, foldhash::fast::FixedState>,
    /// One bit per context: whether it starts a run.
    starts: Vec<u64>,
    /// The number of runs that start before each word of `starts`.
    starts_before: Vec<u32>,
    runs: Vec<Run>,
    /// Runs by the caller and the frame of their first context.
    index: HashTable<u32>,
    hasher: foldhash::fast::FixedState,
}

/// Consecutive contexts that each called the next.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: u32,
    /// The caller of the first context.
    caller: u32,
}

impl Default for ContextTree {
    fn default() -> Self {
        Self {
            frames: vec![PackedFrame::from_bits(PackedFrame::WIDE)],
            wide: HashMap::default(),
            starts: vec![0],
            starts_before: vec![0],
            runs: Vec::new(),
            index: HashTable::new(),
            hasher: Default::default(),
        }
    }
}

impl ContextTree {
    /// Returns the context of `frames`, innermost (leaf) first. Adds it if it is new.
    pub fn add(&mut self, frames: &[Frame]) -> ContextHandle {
        self.add_mapped(frames, |frame| *frame)
    }

    /// Like [`add`](Self::add), but changes every frame with `map` first.
    pub(crate) fn add_mapped(&mut self, frames: &[Frame], map: impl Fn(&Frame) -> Frame) -> ContextHandle {
        let mut frames = frames.iter().rev().map(map);
        let mut context = ContextHandle::ROOT;
        for frame in frames.by_ref() {
            match self.look_up(context, frame) {
                Ok(known) => context = known,
                Err(hash) => {
                    context = self.push(context, frame, hash);
                    break;
                }
            }
        }
        // A new context has no callees, so the rest is added without a search.
        let known = self.len();
        self.extend(frames);
        if self.len() > known { ContextHandle::from_index(self.len() - 1) } else { context }
    }

    /// Enlarges the index. Processes runs in order, so that memory is read sequentially.
    #[cold]
    fn grow_index(&mut self) {
        let mut grown = HashTable::with_capacity(2 * self.runs.len() + 1);
        for (at, run) in (0..).zip(&self.runs) {
            let hash = hash(&self.hasher, run.caller, self.frame(run.first as usize));
            grown.insert_unique(hash, at, |_| 0);
        }
        self.index = grown;
    }

    /// Adds the selected contexts of another tree. `methods` are the new handles of its methods. The callers of
    /// selected contexts must be selected, too. Returns the new contexts, by their old index.
    pub(crate) fn adopt(
        &mut self,
        source: &Self,
        methods: &[MethodHandle],
        is_wanted: impl Fn(ContextHandle) -> bool,
    ) -> Vec<ContextHandle> {
        let mut new = vec![ContextHandle::ROOT; source.len()];
        for (context, caller, frame) in source.iter().filter(|(context, ..)| is_wanted(*context)) {
            let frame = Frame { method: methods[frame.method.index()], ..frame };
            new[context.index()] = self.child(new[caller.index()], frame);
        }
        new
    }

    /// Adds a context of another tree and its callers. Each of them is looked up once.
    pub(crate) fn adopt_one(&mut self, context: ContextHandle, adoption: &mut Adoption<'_>) -> ContextHandle {
        let Adoption { source, methods, places, path } = adoption;
        let mut known = context;
        while known != ContextHandle::ROOT && places[known.index()] == ContextHandle::ROOT {
            path.push(known);
            known = source.caller(known);
        }
        let mut new = places[known.index()];
        let mut is_new = false;
        while let Some(old) = path.pop() {
            let frame = source.frame(old.index());
            let frame = Frame { method: methods[frame.method.index()], ..frame };
            if is_new {
                // A new context has no callees.
                self.extend(std::iter::once(frame));
                new = ContextHandle::from_index(self.len() - 1);
            } else {
                let before = self.len();
                new = self.child(new, frame);
                is_new = self.len() > before;
            }
            places[old.index()] = new;
        }
        new
    }

    /// Loads the index entries of these outermost frames into the cache together, so that the cache misses overlap.
    pub(crate) fn fetch(&self, outermost: impl Iterator<Item = Frame> + Clone) {
        for frame in outermost.clone() {
            let hash = hash(&self.hasher, ContextHandle::ROOT.0, frame);
            black_box(self.index.find(hash, |run| black_box(*run) == u32::MAX));
        }
        for frame in outermost {
            black_box(self.find_child(ContextHandle::ROOT, frame));
        }
    }

    /// Returns the context of `frame` called from `caller`. Adds it if it is new.
    ///
    /// # Panics
    ///
    /// With 2^32 contexts.
    pub fn child(&mut self, caller: ContextHandle, frame: Frame) -> ContextHandle {
        self.look_up(caller, frame).unwrap_or_else(|hash| self.push(caller, frame, hash))
    }

    /// Returns the context of `frame` called from `caller`, if it exists.
    pub(crate) fn find_child(&self, caller: ContextHandle, frame: Frame) -> Option<ContextHandle> {
        self.look_up(caller, frame).ok()
    }

    /// Like [`find_child`](Self::find_child), but returns the hash for the index if there is no such context.
    #[inline]
    fn look_up(&self, caller: ContextHandle, frame: Frame) -> Result<ContextHandle, u64> {
        let next = caller.index() + 1;
        if next < self.frames.len() && self.is_frame(next, frame) && !self.is_start(next) {
            return Ok(ContextHandle::from_index(next));
        }
        let hash = hash(&self.hasher, caller.0, frame);
        let same = |run: &u32| {
            let run = self.runs[*run as usize];
            run.caller == caller.0 && self.is_frame(run.first as usize, frame)
        };
        self.index.find(hash, same).map(|run| ContextHandle(self.runs[*run as usize].first)).ok_or(hash)
    }

    /// Adds new contexts, each called from the one before.
    #[inline]
    fn extend(&mut self, frames: impl Iterator<Item = Frame>) {
        let mut at = self.frames.len();
        let wide = &mut self.wide;
        self.frames.extend(frames.map(|frame| {
            let bits = PackedFrame::bits_of(frame);
            if bits == PackedFrame::WIDE {
                wide.insert(ContextHandle::from_index(at).0, frame);
            }
            at += 1;
            PackedFrame::from_bits(bits)
        }));
        let runs = u32::try_from(self.runs.len()).expect("fewer runs than contexts");
        while 64 * self.starts.len() < self.frames.len() {
            self.starts.push(0);
            self.starts_before.push(runs);
        }
    }

    /// Adds a new context. `hash` is the hash of its caller and its frame.
    fn push(&mut self, caller: ContextHandle, frame: Frame, hash: u64) -> ContextHandle {
        let context = ContextHandle::from_index(self.frames.len());
        self.extend(std::iter::once(frame));
        let (word, bit) = (context.index() / 64, context.index() % 64);
        if caller.index() + 1 == context.index() {
            return context;
        }
        self.starts[word] |= 1 << bit;
        let run = u32::try_from(self.runs.len()).expect("fewer runs than contexts");
        if self.index.capacity() == self.index.len() {
            self.grow_index();
        }
        self.index.insert_unique(hash, run, |_| 0);
        self.runs.push(Run { first: context.0, caller: caller.0 });
        context
    }

    /// Returns the innermost frame of a context other than the root.
    #[inline]
    pub(crate) fn frame(&self, at: usize) -> Frame {
        let packed = self.frames[at];
        if packed.bits() == PackedFrame::WIDE { self.wide[&(at as u32)] } else { packed.frame() }
    }

    /// Returns true if this is the innermost frame of a context.
    #[inline]
    fn is_frame(&self, at: usize, frame: Frame) -> bool {
        let bits = PackedFrame::bits_of(frame);
        self.frames[at].bits() == bits && (bits != PackedFrame::WIDE || self.wide.get(&(at as u32)) == Some(&frame))
    }

    #[inline]
    fn is_start(&self, at: usize) -> bool {
        self.starts[at / 64] >> (at % 64) & 1 == 1
    }

    /// Returns the run of a context. `None` for the first run, which starts with the root.
    #[inline]
    fn run_of(&self, at: usize) -> Option<Run> {
        let begun = self.starts[at / 64] & (u64::MAX >> (63 - at % 64));
        let number = self.starts_before[at / 64] as usize + begun.count_ones() as usize;
        Some(self.runs[number.checked_sub(1)?])
    }

    /// Returns the caller's context; [`ContextHandle::ROOT`] for outermost frames.
    #[inline]
    pub fn caller(&self, context: ContextHandle) -> ContextHandle {
        let begun = self.run_of(context.index()).filter(|run| run.first == context.0);
        ContextHandle(begun.map_or(context.0.saturating_sub(1), |run| run.caller))
    }

    /// Returns the innermost frame. `None` for the root.
    pub fn leaf(&self, context: ContextHandle) -> Option<Frame> {
        (context != ContextHandle::ROOT).then(|| self.frame(context.index()))
    }

    /// Returns the frames, innermost first.
    pub fn frames(&self, context: ContextHandle) -> impl Iterator<Item = Frame> + '_ {
        self.runs(context).flat_map(|run| run.rev().map(|at| self.frame(at)))
    }

    /// Returns the ranges of the frames in runs, the innermost run first. Each range begins with its outermost frame.
    pub(crate) fn runs(&self, context: ContextHandle) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut last = context.index();
        std::iter::from_fn(move || {
            if last == 0 {
                return None;
            }
            // The root, which starts the first run, has no frame.
            let Run { first, caller } = self.run_of(last).unwrap_or(Run { first: 1, caller: 0 });
            let run = first as usize..last + 1;
            last = caller as usize;
            Some(run)
        })
    }

    /// Returns true if `frames`, changed with `map`, are the frames of a context.
    pub(crate) fn has_frames(&self, context: ContextHandle, frames: &[Frame], map: impl Fn(&Frame) -> Frame) -> bool {
        let mut rest = frames;
        for run in self.runs(context) {
            let Some((own, callers)) = rest.split_at_checked(run.len()) else { return false };
            let mut has_wide = false;
            let differs = |(packed, frame): (&PackedFrame, &Frame)| {
                let bits = PackedFrame::bits_of(map(frame));
                has_wide |= bits == PackedFrame::WIDE;
                packed.bits() != bits
            };
            if self.frames[run.clone()].iter().zip(own.iter().rev()).any(differs)
                || (has_wide && run.rev().zip(own).any(|(at, frame)| self.frame(at) != map(frame)))
            {
                return false;
            }
            rest = callers;
        }
        rest.is_empty()
    }

    /// Returns the number of frames of a context.
    pub fn depth(&self, context: ContextHandle) -> usize {
        self.frames(context).count()
    }

    /// Returns the number of contexts, including the root and all callers.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Returns true if there is only the root.
    pub fn is_empty(&self) -> bool {
        self.frames.len() == 1
    }

    /// Returns every context with its caller and frame, callers first, without the root.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (ContextHandle, ContextHandle, Frame)> + '_ {
        (1..self.frames.len()).map(|at| {
            let context = ContextHandle::from_index(at);
            (context, self.caller(context), self.frame(at))
        })
    }
}

/// Contexts of one tree that are added to another one by one.
pub(crate) struct Adoption<'a> {
    source: &'a ContextTree,
    /// The new handles of the methods.
    methods: &'a [MethodHandle],
    /// The new contexts by their old index; the root for those that were not added yet.
    places: Vec<ContextHandle>,
    /// The contexts that are being added, kept to reuse the memory.
    path: Vec<ContextHandle>,
}

impl<'a> Adoption<'a> {
    pub(crate) fn new(source: &'a ContextTree, methods: &'a [MethodHandle]) -> Self {
        Self { source, methods, places: vec![ContextHandle::ROOT; source.len()], path: Vec::new() }
    }
}

fn hash(hasher: &foldhash::fast::FixedState, caller: u32, frame: Frame) -> u64 {
    hasher.hash_one((u64::from(caller) << 32 | u64::from(frame.bci.cast_unsigned()), frame.method))
}

/// Formats frames: `app.Main.loop(int):4 < app.Main.main():2`.
pub(crate) fn describe(tables: &Tables, frames: impl IntoIterator<Item = Frame>) -> String {
    let frame = |frame: Frame| format!("{}:{}", tables.human_name(frame.method), frame.bci);
    frames.into_iter().map(frame).collect::<Vec<_>>().join(" < ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::sample::select;

    /// Some of these do not fit into a packed frame.
    const METHODS: [usize; 3] = [0, 1, 0xff_ffff];
    const POSITIONS: [i32; 3] = [-6, 7, 65534];

    fn frame(method: usize, bci: i32) -> Frame {
        Frame { method: MethodHandle::from_index(method), bci }
    }

    #[test]
    fn chains_share_their_callers() {
        let mut tree = ContextTree::default();
        let print = [frame(5, 0), frame(3, 2), frame(2, 9), frame(1, 3)];
        let context = tree.add(&print);
        assert_eq!(tree.frames(context).collect::<Vec<_>>(), print);
        assert_eq!((tree.depth(context), tree.len()), (4, 5));
        let odd = tree.add(&[frame(4, 0), frame(2, 15), frame(1, 3)]);
        assert_eq!(tree.len(), 7);
        assert_eq!(tree.add(&print[1..]), tree.caller(context));
        assert_eq!(tree.add(&print), context);
        assert_ne!(odd, context);
        assert_eq!(tree.add(&[]), ContextHandle::ROOT);
        assert_eq!(tree.leaf(ContextHandle::ROOT), None);
    }

    #[test]
    fn frames_of_any_numbers_are_kept() {
        let numbers = [0, 1, 0xff_fffe, 0xff_ffff, 0x100_0000, u32::MAX as usize];
        let positions = [i32::MIN, -7, -6, -1, 0, 65528, 65529, 65534, i32::MAX];
        let mut tree = ContextTree::default();
        for frame in numbers.into_iter().flat_map(|method| positions.map(|bci| frame(method, bci))) {
            let context = tree.add(&[frame]);
            assert_eq!((tree.leaf(context), tree.add(&[frame])), (Some(frame), context));
        }
        assert_eq!(tree.len(), 1 + numbers.len() * positions.len());
    }

    #[test]
    fn contexts_are_added_one_by_one_as_with_their_frames() {
        let mut source = ContextTree::default();
        let chains: [&[(usize, i32)]; 6] = [
            &[(0, 1), (1, 2)],
            &[(3, 4), (0, 1), (1, 2)],
            &[(1, 2)],
            &[(0, 9), (2, 2)],
            &[],
            &[(3, 5), (0, 1), (1, 2)],
        ];
        let contexts =
            chains.map(|chain| source.add(&chain.iter().map(|(method, bci)| frame(*method, *bci)).collect::<Vec<_>>()));
        // Two methods become one.
        let methods = [3, 1, 1, 0].map(MethodHandle::from_index);
        let (mut one_by_one, mut adoption) = (ContextTree::default(), Adoption::new(&source, &methods));
        let mut with_frames = ContextTree::default();
        for context in contexts.into_iter().rev().chain(contexts) {
            let frames: Vec<Frame> = source.frames(context).collect();
            let mapped = |frame: &Frame| Frame { method: methods[frame.method.index()], ..*frame };
            assert_eq!(one_by_one.adopt_one(context, &mut adoption), with_frames.add_mapped(&frames, mapped));
        }
        assert!(one_by_one.iter().eq(with_frames.iter()));
    }

    proptest::proptest! {
        #[test]
        fn every_chain_is_one_context(
            chains in proptest::collection::vec(proptest::collection::vec((select(&METHODS), select(&POSITIONS)), 0..7), 0..60)
        ) {
            let mut tree = ContextTree::default();
            let mut known = std::collections::BTreeMap::new();
            for chain in &chains {
                let frames: Vec<Frame> = chain.iter().map(|(method, bci)| frame(*method, *bci)).collect();
                let context = tree.add(&frames);
                proptest::prop_assert_eq!(*known.entry(chain.clone()).or_insert(context), context);
                proptest::prop_assert_eq!(tree.frames(context).collect::<Vec<_>>(), frames);
            }
            for (one, context) in &known {
                for other in known.keys() {
                    let frames: Vec<Frame> = other.iter().map(|(method, bci)| frame(*method, *bci)).collect();
                    proptest::prop_assert_eq!(tree.has_frames(*context, &frames, |frame| *frame), one == other);
                }
            }
            let distinct: std::collections::BTreeSet<_> = known.values().collect();
            proptest::prop_assert_eq!(distinct.len(), known.len());
            // One node per distinct tail of a chain, and the root.
            let tails: std::collections::BTreeSet<_> =
                chains.iter().flat_map(|chain| (0..=chain.len()).map(move |from| &chain[from..])).collect();
            proptest::prop_assert_eq!(tree.len(), tails.len().max(1));
            for (context, caller, frame) in tree.clone().iter() {
                proptest::prop_assert!(caller < context);
                proptest::prop_assert_eq!(tree.child(caller, frame), context);
            }
        }
    }
}
