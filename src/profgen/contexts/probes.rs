//! From counts by context to a tree of contexts with counts of pseudo-probes.

use super::super::counters::Counters;
use super::super::functions::Function;
use super::super::probe_profile::ProbeFindings;
use super::super::probes::{Probe, ProbeKind, Probes};
use super::super::program::Program;
use super::super::ranges::pieces;
use super::inlined::Places;
use super::missing_frames::MissingFrames;
use super::options::ContextOptions;
use super::paths::{compress, keep_last};
use super::sizes::Sizes;
use super::tree::{ROOT, Tree};
use crate::sampleprof::{Frame, LineLocation, add_saturating, add_target, attributes};
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;

/// Adds contexts to a tree.
pub(super) struct ProbeContexts<'p> {
    pub(super) program: &'p Program<'p>,
    pub(super) probes: &'p Probes,
    pub(super) options: &'p ContextOptions,
    /// Frames that tail calls removed; `None` if they are not inferred.
    pub(super) missing: Option<MissingFrames<'p>>,
    pub(super) findings: ProbeFindings,
    /// The nodes of the current context, by the body of their probes and the function that has the code.
    nodes: HashMap<(u32, Option<usize>), Option<u32>, RandomState>,
}

impl<'p> ProbeContexts<'p> {
    pub(super) fn new(
        program: &'p Program<'p>,
        probes: &'p Probes,
        options: &'p ContextOptions,
        missing: Option<MissingFrames<'p>>,
    ) -> Self {
        let findings = ProbeFindings { probes: probes.probes.len() as u64, ..ProbeFindings::default() };
        Self { program, probes, options, missing, findings, nodes: HashMap::default() }
    }

    /// Adds the counts of the context with these calls, outermost first.
    pub(super) fn add(&mut self, tree: &mut Tree, calls: &[u64], counters: &Counters) {
        self.nodes.clear();
        self.add_runs(tree, calls, counters);
        for (&(source, target), &count) in &counters.branches {
            let Some(call) = self.probes.call_at(source) else {
                self.findings.calls_without_probe = self.findings.calls_without_probe.saturating_add(count);
                continue;
            };
            let probe = self.probes.probes[call as usize];
            let Some(node) = self.node(tree, calls, &probe) else { continue };
            let callee = self.program.callee_at(target, self.probes).map(|callee| tree.name(callee));
            let record = tree.record(node);
            add_saturating(&mut record.body_at(LineLocation::new(probe.index, 0)).samples, count);
            add_saturating(&mut record.total, count);
            if let Some(callee) = callee {
                let location = LineLocation::new(probe.index, probe.discriminator);
                add_target(record.body_at(location).targets.list_mut(), callee, count);
            }
        }
    }

    fn add_runs(&mut self, tree: &mut Tree, calls: &[u64], counters: &Counters) {
        // The order matters if frames are missing, because a way is stored when it is first found.
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for piece in pieces(&counters.runs) {
            for (address, _) in self.program.code.instructions(piece.begin, piece.end) {
                for at in self.probes.at(address) {
                    let count = counts.entry(at).or_default();
                    *count = count.wrapping_add(piece.count);
                }
            }
        }
        let mut bodies: HashSet<(u32, u32), RandomState> = HashSet::default();
        for (at, count) in counts {
            let probe = self.probes.probes[at as usize];
            if probe.kind != ProbeKind::Block || count == 0 {
                continue;
            }
            let Some(node) = self.node(tree, calls, &probe) else { continue };
            bodies.insert((probe.body, node));
            let record = tree.record(node);
            add_saturating(&mut record.body_at(LineLocation::new(probe.index, probe.discriminator)).samples, count);
            add_saturating(&mut record.total, count);
            if probe.is_entry() {
                add_saturating(&mut record.head, count);
                self.add_inlined_call(tree, node, &probe, count);
            }
        }
        // Probes without samples have a count of 0; those that were optimized away are unknown.
        for (body, node) in bodies {
            let range = self.probes.bodies[body as usize].probes.clone();
            for probe in &self.probes.probes[range.start as usize..range.end as usize] {
                tree.record(node).body_at(LineLocation::new(probe.index, probe.discriminator));
            }
        }
    }

    /// Counts the call of an inlined function in its caller.
    fn add_inlined_call(&self, tree: &mut Tree, node: u32, probe: &Probe, count: u64) {
        let (caller, site, function) = {
            let node = &tree.nodes[node as usize];
            (node.parent, node.site, node.function)
        };
        let Some((body, _)) = self.probes.bodies[probe.body as usize].caller.filter(|_| caller != ROOT) else { return };
        let Some(described) = self.probes.description(self.probes.bodies[body as usize].guid) else { return };
        let record = tree.record(caller);
        record.checksum = described.checksum;
        let entry = record.body_at(site);
        add_saturating(&mut entry.samples, count);
        add_target(entry.targets.list_mut(), function, count);
        add_saturating(&mut record.total, count);
    }

    /// The node of the function that contains a probe; `None` if the program does not describe a function on the path.
    fn node(&mut self, tree: &mut Tree, calls: &[u64], probe: &Probe) -> Option<u32> {
        let key = (probe.body, self.program.functions.number_at(probe.address));
        if let Some(node) = self.nodes.get(&key) {
            return *node;
        }
        let found = self.path(tree, calls, probe).map(|path| tree.path(&path));
        match found {
            None => self.findings.without_description += 1,
            Some(node) => {
                let body = &self.probes.bodies[probe.body as usize];
                let record = tree.record(node);
                if body.caller.is_some() {
                    record.attributes |= attributes::WAS_INLINED;
                }
                if let Some(described) = self.probes.description(body.guid) {
                    record.checksum = described.checksum;
                }
            }
        }
        self.nodes.insert(key, found);
        found
    }

    fn path(&mut self, tree: &mut Tree, calls: &[u64], probe: &Probe) -> Option<Vec<Frame>> {
        let inferred = self.missing.as_mut().map(|missing| missing.infer(calls, probe.address));
        let calls = inferred.as_deref().unwrap_or(calls);
        let known: Vec<u32> = calls.iter().rev().map_while(|call| self.probes.call_at(*call)).collect();
        let mut path = Vec::new();
        for call in known.into_iter().rev() {
            self.push_frames(tree, &self.probes.probes[call as usize], &mut path)?;
        }
        self.push_frames(tree, probe, &mut path)?;
        let leaf = path.pop()?;
        compress(&mut path, self.options.longest_repetition);
        keep_last(&mut path, self.options.most_frames);
        path.push(Frame { location: LineLocation::default(), ..leaf });
        Some(path)
    }

    /// Appends the frames of a probe. An unknown call ends everything that is outside of it.
    fn push_frames(&self, tree: &mut Tree, probe: &Probe, path: &mut Vec<Frame>) -> Option<()> {
        let start = path.len();
        let mut next = Some((probe.body, probe.index));
        let mut is_cut = false;
        while let Some((body, index)) = next {
            let body = &self.probes.bodies[body as usize];
            let function = tree.name(&self.probes.description(body.guid)?.name);
            path.push(Frame { function, location: LineLocation::new(index, 0) });
            is_cut = body.caller.is_some_and(|(_, call)| call == 0);
            next = body.caller.filter(|_| !is_cut);
        }
        path[start..].reverse();
        if is_cut {
            path.drain(..start);
        }
        Some(())
    }
}

/// Adds the code of functions to their sizes. Inlined functions of which only probes are left have a size of 0.
pub(super) fn add_sizes(
    sizes: &mut Sizes,
    tree: &mut Tree,
    program: &Program<'_>,
    functions: &[&Function],
    places: &Places,
    probes: &Probes,
) {
    sizes.add_functions(tree, program, functions, &places.with_probes());
    let known: HashSet<&[u8], RandomState> = functions.iter().map(|function| &*function.name).collect();
    for body in probes.bodies.iter().filter(|body| !body.probes.is_empty()) {
        let mut frames = Vec::new();
        let (mut next, mut index) = (Some(body), 0);
        let mut outermost: &[u8] = &[];
        while let Some(body) = next {
            let Some(described) = probes.description(body.guid) else {
                outermost = &[];
                break;
            };
            outermost = &described.name;
            frames.push(Frame { function: tree.name(outermost), location: LineLocation::new(index, 0) });
            next = body.caller.map(|(caller, call)| {
                index = call;
                &probes.bodies[caller as usize]
            });
        }
        frames.reverse();
        if known.contains(outermost) {
            sizes.add(tree, &frames, 0);
        }
    }
}
