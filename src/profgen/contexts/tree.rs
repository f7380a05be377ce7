//! The tree of calling contexts: a node is a function that was called from a place of its parent.

use crate::sampleprof::{
    Frame, FunctionName, FunctionRecord, LineLocation, NameHashes, NameId, Names, Rules, SampleProfile, StatedKind,
};
use std::collections::{BTreeMap, VecDeque};

/// The node that calls the outermost functions.
pub(super) const ROOT: u32 = 0;

/// A function in a calling context.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) function: NameId,
    /// The place of the parent that calls the function.
    pub(super) site: LineLocation,
    pub(super) parent: u32,
    /// By the key of their frame, which determines LLVM's order.
    pub(super) children: BTreeMap<u64, u32>,
    pub(super) record: Option<FunctionRecord>,
}

/// All calling contexts of a profile.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) names: Names,
    pub(super) nodes: Vec<Node>,
    pub(super) rules: Rules,
    hashes: NameHashes,
}

impl Tree {
    pub(super) fn new(mut names: Names, rules: Rules) -> Self {
        let function = names.insert(FunctionName::Text(b""));
        let root =
            Node { function, site: LineLocation::default(), parent: ROOT, children: BTreeMap::new(), record: None };
        Self { names, nodes: vec![root], rules, hashes: NameHashes::default() }
    }

    /// The tree of a profile with calling contexts.
    pub(super) fn of_profile(profile: SampleProfile, rules: Rules) -> Self {
        let mut tree = Self::new(profile.names, rules);
        for mut record in profile.functions {
            let frames = record.context.take();
            let own = [Frame { function: record.name, location: LineLocation::default() }];
            let at = tree.path(frames.as_deref().unwrap_or(&own));
            tree.nodes[at as usize].record = Some(record);
        }
        tree
    }

    pub(super) fn name(&mut self, name: &[u8]) -> NameId {
        self.names.insert(FunctionName::Text(name))
    }

    /// The MD5 of the name of a node's function.
    pub(super) fn guid(&mut self, node: u32) -> u64 {
        self.hashes.of(&self.names, self.nodes[node as usize].function)
    }

    /// The key of a function that is called from a place.
    pub(super) fn key(&mut self, function: NameId, site: LineLocation) -> u64 {
        self.hashes.frame_key(self.rules, &self.names, function, site)
    }

    /// The function that is called from a place of a node.
    pub(super) fn child(&mut self, parent: u32, site: LineLocation, function: NameId) -> u32 {
        let key = self.key(function, site);
        let next = self.nodes.len() as u32;
        let at = *self.nodes[parent as usize].children.entry(key).or_insert(next);
        if at == next {
            self.nodes.push(Node { function, site, parent, children: BTreeMap::new(), record: None });
        }
        at
    }

    /// The node at the end of a context.
    pub(super) fn path(&mut self, frames: &[Frame]) -> u32 {
        let (mut at, mut site) = (ROOT, LineLocation::default());
        for frame in frames {
            at = self.child(at, site, frame.function);
            site = frame.location;
        }
        at
    }

    /// The record of a node, which is added if there is none.
    pub(super) fn record(&mut self, at: u32) -> &mut FunctionRecord {
        let node = &mut self.nodes[at as usize];
        node.record.get_or_insert_with(|| FunctionRecord::new(node.function))
    }

    /// All nodes but the root, callers before their callees, in LLVM's order.
    pub(super) fn breadth_first(&self) -> Vec<u32> {
        let mut order = Vec::new();
        let mut queue: VecDeque<u32> = VecDeque::from([ROOT]);
        while let Some(at) = queue.pop_front() {
            let children = self.nodes[at as usize].children.values();
            queue.extend(children.clone());
            order.extend(children);
        }
        order
    }

    /// Returns the samples of a call, as caller and callee count them. Both must have records.
    pub(super) fn calls(&self, callee: u32) -> Option<u64> {
        let node = &self.nodes[callee as usize];
        let record = node.record.as_ref()?;
        let caller = self.nodes[node.parent as usize].record.as_ref()?;
        let entries = record.entry_estimate(true);
        let entry =
            caller.body.binary_search_by_key(&node.site, |entry| entry.location).ok().map(|at| &caller.body[at]);
        let target = entry.and_then(|entry| entry.targets.iter().find(|target| target.callee == record.name));
        Some(entries.max(target.map_or(0, |target| target.samples)))
    }

    /// Returns the records with their contexts as a profile, callers before callees.
    pub(super) fn into_profile(mut self, stated: StatedKind) -> SampleProfile {
        let mut profile = SampleProfile::default();
        let mut frames: Vec<Frame> = Vec::new();
        let first = |children: &BTreeMap<u64, u32>, depth: usize| -> Vec<(u32, usize)> {
            children.values().rev().map(|child| (*child, depth)).collect()
        };
        let mut open = first(&self.nodes[ROOT as usize].children, 0);
        while let Some((at, depth)) = open.pop() {
            let node = &mut self.nodes[at as usize];
            frames.truncate(depth);
            if let Some(caller) = frames.last_mut() {
                caller.location = node.site;
            }
            frames.push(Frame { function: node.function, location: LineLocation::default() });
            if let Some(mut record) = node.record.take() {
                record.context = Some(frames.as_slice().into());
                profile.functions.push(record);
            }
            open.extend(first(&node.children, depth + 1));
        }
        profile.names = self.names;
        profile.stated = StatedKind { context_sensitive: Some(true), ..stated };
        profile
    }
}
