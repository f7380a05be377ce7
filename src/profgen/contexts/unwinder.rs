//! Walks back through the branches of a sample and follows its call chain.
//!
//! The newest branch leads to the innermost frame of the chain. Undoing a call removes a frame, undoing a return adds
//! one, and code that runs straight enters and leaves inlined functions. So each run of code and each branch has a
//! chain of its own. The chains of one sample make a tree.

use super::super::code::Transfer;
use super::super::counters::EXTERNAL;
use super::super::program::Program;
use super::chain_samples::ChainSample;
use super::inlined::Places;
use crate::sampleprof::Chain;
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

/// Counts of branches and chains that did not fit to each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct ContextFindings {
    /// Branches of distinct samples.
    pub branches: u64,
    /// Distinct calling contexts with counts.
    pub contexts: u64,
    /// Distinct addresses outside of the program, or without a probe, at which contexts are cut.
    pub cut: u64,
    /// Calls from outside of the program that the call chain does not have.
    pub unknown_external_calls: u64,
    /// Calls of the program that the call chain does not have, mostly because a frame was incomplete.
    pub unknown_calls: u64,
    /// Pairs of branches that leave the program and return to it.
    pub external_pairs: u64,
    /// Branches from or to the program without the other branch. The rest of the sample has no context.
    pub unpaired_external: u64,
    /// Samples that were left out, because they have more frames and branches than the limit.
    pub too_deep: u64,
}

/// The frame that stands for the caller of all.
const ROOT: u32 = 0;

/// A frame of the tree of a sample.
#[derive(Debug)]
struct Frame {
    address: u64,
    parent: u32,
    children: Vec<u32>,
    runs: Vec<(u64, u64)>,
    branches: Vec<(u64, u64)>,
}

impl Frame {
    fn new(address: u64, parent: u32) -> Self {
        Self { address, parent, children: Vec::new(), runs: Vec::new(), branches: Vec::new() }
    }
}

/// The counts of one calling context of a sample.
pub(super) struct Counted<'u> {
    /// Calls and the place of the innermost function, outermost first.
    pub(super) chain: &'u [u64],
    /// First and last instruction of runs of code.
    pub(super) runs: &'u [(u64, u64)],
    /// Source and target.
    pub(super) branches: &'u [(u64, u64)],
}

/// Walks through samples.
pub(super) struct Unwinder<'p> {
    program: &'p Program<'p>,
    /// The inlined functions; `None` for a program with probes, which describe inlining.
    places: Option<&'p Places>,
    pub(super) findings: ContextFindings,
    cut: HashSet<u64, RandomState>,
    frames: Vec<Frame>,
    children: HashMap<(u32, u64), u32, RandomState>,
    leaf: u32,
    /// The last instruction before the branch that was undone.
    at: u64,
    is_valid: bool,
}

impl<'p> Unwinder<'p> {
    pub(super) fn new(program: &'p Program<'p>, places: Option<&'p Places>) -> Self {
        Self {
            program,
            places,
            findings: ContextFindings::default(),
            cut: HashSet::default(),
            frames: Vec::new(),
            children: HashMap::default(),
            leaf: ROOT,
            at: 0,
            is_valid: true,
        }
    }

    /// Walks through a sample and calls `each` for every context with counts.
    pub(super) fn unwind(&mut self, sample: &ChainSample, each: &mut dyn FnMut(Counted<'_>)) {
        self.children.clear();
        self.frames.clear();
        self.frames.push(Frame::new(0, ROOT));
        (self.leaf, self.is_valid) = (ROOT, true);
        sample.chain.iter().rev().for_each(|address| self.push(*address));
        self.at = sample.chain.first().copied().unwrap_or_default();
        self.findings.branches += sample.branches.len() as u64;
        for (index, &(source, target)) in sample.branches.iter().enumerate() {
            if index > 0 {
                self.undo_run(target);
            }
            self.undo_branch(source, target);
            if target == EXTERNAL {
                continue;
            }
            let frame = if source == EXTERNAL { ROOT } else { self.counted() };
            self.frames[frame as usize].branches.push((source, target));
        }
        self.collect(each);
    }

    /// Completes the findings.
    pub(super) fn finish(mut self) -> ContextFindings {
        self.findings.cut = self.cut.len() as u64;
        self.findings
    }

    fn child(&mut self, parent: u32, address: u64) -> u32 {
        let frames = &mut self.frames;
        *self.children.entry((parent, address)).or_insert_with(|| {
            let at = frames.len() as u32;
            frames.push(Frame::new(address, parent));
            frames[parent as usize].children.push(at);
            at
        })
    }

    fn push(&mut self, address: u64) {
        self.leaf = self.child(self.leaf, address);
    }

    fn parent(&self) -> u32 {
        self.frames[self.leaf as usize].parent
    }

    /// Makes another address the innermost one.
    fn switch(&mut self, address: u64) {
        if self.frames[self.leaf as usize].address != address {
            self.leaf = self.child(self.parent(), address);
        }
    }

    /// The frame in which branches are counted. Probes know the innermost function themselves.
    fn counted(&self) -> u32 {
        if self.places.is_some() { self.leaf } else { self.parent() }
    }

    /// Goes back to the start of the run of code that ends here.
    fn undo_run(&mut self, begin: u64) {
        let end = self.at;
        match (begin == EXTERNAL, end == EXTERNAL) {
            (true, true) => {
                self.findings.external_pairs += 1;
                return;
            }
            (false, false) => {}
            _ => {
                self.findings.unpaired_external += 1;
                self.is_valid = false;
                return;
            }
        }
        if !self.program.code.falls_through(begin, end) {
            self.is_valid = false;
            return;
        }
        let Some(places) = self.places else {
            let parent = self.parent();
            self.frames[parent as usize].runs.push((begin, end));
            return;
        };
        for part in places.parts(begin, end) {
            self.switch(part.0);
            self.frames[self.leaf as usize].runs.push(part);
        }
    }

    /// Goes back from the target of a branch to its source.
    fn undo_branch(&mut self, source: u64, target: u64) {
        self.at = source;
        if !self.is_valid {
            self.leaf = ROOT;
            self.push(source);
            return;
        }
        let is_external = source == EXTERNAL;
        let returns_to = || if target == EXTERNAL { Some(EXTERNAL) } else { self.program.call_before(target) };
        let transfer = self.program.code.transfer(source);
        if transfer == Some(Transfer::Call) || (is_external && returns_to().is_none()) {
            self.undo_call(source);
        } else if transfer == Some(Transfer::Return) || is_external {
            let call = returns_to().unwrap_or_default();
            self.switch(call);
            self.push(source);
        } else {
            self.switch(source);
        }
    }

    fn undo_call(&mut self, source: u64) {
        let parent = self.parent();
        if parent != ROOT && self.frames[parent as usize].address == source {
            self.leaf = parent;
            return;
        }
        self.switch(source);
        if parent != ROOT {
            match source {
                EXTERNAL => self.findings.unknown_external_calls += 1,
                _ => self.findings.unknown_calls += 1,
            }
        }
    }

    /// Lists the contexts with counts in LLVM's order. A frame outside of the program cuts the chain.
    fn collect(&mut self, each: &mut dyn FnMut(Counted<'_>)) {
        let (mut chain, mut start) = (Vec::new(), 0);
        let mut steps = vec![Step::Enter(ROOT)];
        while let Some(step) = steps.pop() {
            let at = match step {
                Step::Enter(at) => at,
                Step::Leave => {
                    if chain.len() > start {
                        chain.pop();
                    }
                    continue;
                }
                Step::LeaveCut(before) => {
                    chain.truncate(start);
                    start = before;
                    continue;
                }
            };
            let frame = &self.frames[at as usize];
            if frame.address == EXTERNAL {
                steps.push(Step::LeaveCut(start));
                start = chain.len();
                if !frame.children.is_empty() {
                    self.cut.insert(frame.address);
                }
            } else {
                steps.push(Step::Leave);
                // Returns to places without a call have frames without address. LLVM does not enter them, but leaves them.
                if frame.address != 0 {
                    chain.push(frame.address);
                }
            }
            if !frame.runs.is_empty() || !frame.branches.is_empty() {
                each(Counted { chain: &chain[start..], runs: &frame.runs, branches: &frame.branches });
            }
            // In the order of LLVM's table, of which the last step comes first.
            let mut order = Chain::default();
            frame.children.iter().for_each(|child| order.insert(self.frames[*child as usize].address));
            let first = steps.len();
            steps.extend(order.iter().map(|child| Step::Enter(frame.children[child])));
            steps[first..].reverse();
        }
    }
}

/// A step of a walk through the tree.
enum Step {
    Enter(u32),
    Leave,
    /// Leaves a frame that cut the chain. Before it the chain started here.
    LeaveCut(usize),
}
