//! From counters to a profile by lines: debug info relates instructions to places in functions.

use super::builder::ProfileBuilder;
use super::counters::{Counters, Counts};
use super::program::Program;
use super::ranges::{Piece, pieces};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::objects::{InlineChains, InlineFrame};
use crate::sampleprof::{FunctionRecord, LineLocation, NameId, SampleProfile, add_saturating, add_target};

/// Options of making a profile.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ProfileOptions {
    /// Whether functions without samples get locations with a count of 0, too.
    pub fill_zero: bool,
    /// Whether total counts are the sums of the counts of locations, not of bytes of code.
    pub update_totals: bool,
}

/// Makes a profile. Functions with samples have all their locations, those without samples with a count of 0.
pub(super) fn line_profile(
    program: &Program<'_>,
    counters: &Counters,
    options: &ProfileOptions,
    limits: &Limits,
) -> Result<SampleProfile> {
    let pieces = pieces(&with_zero_runs(program, &counters.runs, options.fill_zero));
    let addresses = addresses(program, &pieces, counters);
    let chains = chains(program, &addresses, limits)?;
    let mut builder = Builder::new(program, &chains);
    for (chain, weight) in weigh(program, &pieces, &addresses, &chains, u64::from) {
        builder.add_body(chain, weight);
    }
    for (&(source, target), &count) in &counters.branches {
        let Some(callee) = program.functions.entered_at(target) else { continue };
        let chain = addresses.binary_search(&source).map_or(0, |at| chains.of_address[at]);
        builder.add_call(chain, callee, count);
        builder.add_head(callee, count);
    }
    for ((instruction, vtable), count) in &counters.vtables {
        let chain = addresses.binary_search(instruction).map_or(0, |at| chains.of_address[at]);
        builder.add_vtable(chain, vtable, *count);
    }
    Ok(builder.finish(options.update_totals))
}

/// Adds runs of count 0 for the whole code of each function in which a run starts.
pub(super) fn with_zero_runs(program: &Program<'_>, runs: &Counts, of_all: bool) -> Counts {
    let mut filled = runs.clone();
    let mut fill = |ranges: &[(u64, u64)]| {
        for (start, end) in ranges {
            filled.entry((*start, end - 1)).or_default();
        }
    };
    if of_all {
        program.functions.iter().for_each(|function| fill(&function.ranges));
        return filled;
    }
    let mut last = None;
    for (start, _) in runs.keys() {
        let Some(function) = program.functions.function_at(*start) else { continue };
        if !last.is_some_and(|last| std::ptr::eq(last, function)) {
            fill(&function.ranges);
            last = Some(function);
        }
    }
    filled
}

/// All instructions that the profile needs, ascending.
pub(super) fn addresses(program: &Program<'_>, pieces: &[Piece], counters: &Counters) -> Vec<u64> {
    let mut addresses = Vec::new();
    for piece in pieces {
        addresses.extend(program.code.instructions(piece.begin, piece.end).map(|(address, _)| address));
    }
    addresses.extend(counters.branches.keys().map(|(source, _)| *source));
    addresses.extend(counters.vtables.keys().map(|(instruction, _)| *instruction));
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// The inlined functions at addresses, outermost function last.
pub(super) fn chains(program: &Program<'_>, addresses: &[u64], limits: &Limits) -> Result<InlineChains> {
    let most = usize::try_from(limits.inflated_bytes / 64).unwrap_or(usize::MAX);
    let unreadable = |error: Error| error.in_file(program.debug_path);
    program.debug.inline_chains(addresses, most).map_err(unreadable)
}

/// The weight that pieces add to the location of a chain.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Weight {
    /// The addend of the total: executed bytes of code, or samples.
    total: u64,
    /// The highest count of an instruction.
    most: u64,
}

/// Adds up the pieces by chain, in the order of addresses. An instruction of some length adds a multiple of its count to
/// the total.
pub(super) fn weigh(
    program: &Program<'_>,
    pieces: &[Piece],
    addresses: &[u64],
    chains: &InlineChains,
    multiple: fn(u8) -> u64,
) -> Vec<(u32, Weight)> {
    const NONE: u32 = u32::MAX;
    let (mut weights, mut positions): (Vec<(u32, Weight)>, _) = (Vec::new(), vec![NONE; chains.len() + 1]);
    for piece in pieces {
        let mut at = addresses.partition_point(|address| *address < piece.begin);
        for (address, size) in program.code.instructions(piece.begin, piece.end) {
            // Sources of branches that are not instructions are among the addresses, too.
            at += addresses[at..].iter().take_while(|known| **known < address).count();
            let Some(chain) = chains.of_address.get(at) else { break };
            let position = &mut positions[*chain as usize];
            if *position == NONE {
                *position = weights.len() as u32;
                weights.push((*chain, Weight::default()));
            }
            let weight = &mut weights[*position as usize].1;
            add_saturating(&mut weight.total, piece.count.wrapping_mul(multiple(size)));
            weight.most = weight.most.max(piece.count);
        }
    }
    weights
}

/// A place in a function.
#[derive(Debug, Clone, Copy)]
struct Place {
    function: NameId,
    line: u32,
    /// As debug info has it.
    discriminator: u32,
}

pub(super) struct Builder<'b, 'p> {
    program: &'b Program<'p>,
    chains: &'b InlineChains,
    records: ProfileBuilder,
    /// The places of the current chain, outermost first.
    path: Vec<Place>,
}

impl<'b, 'p> Builder<'b, 'p> {
    pub(super) fn new(program: &'b Program<'p>, chains: &'b InlineChains) -> Self {
        Self { program, chains, records: ProfileBuilder::default(), path: Vec::new() }
    }

    /// Makes a chain the current one; returns false if it has no places.
    fn select(&mut self, chain: u32) -> bool {
        self.path.clear();
        for frame in self.chains.chain(chain) {
            let Some(name) = frame.function.as_deref().filter(|name| !name.is_empty()) else { break };
            let function = self.records.name(self.program.frame_name(name));
            let InlineFrame { line, start_line, discriminator, .. } = *frame;
            let line = line.wrapping_sub(start_line) & 0xFFFF;
            self.path.push(Place { function, line, discriminator });
        }
        self.path.reverse();
        !self.path.is_empty()
    }

    fn location(&self, place: Place) -> LineLocation {
        LineLocation::new(place.line, self.program.discriminators.base(place.discriminator))
    }

    /// The record at the end of the current path, to the totals on which `more` is added.
    fn leaf(&mut self, more: u64) -> Option<(&mut FunctionRecord, Place)> {
        let path = std::mem::take(&mut self.path);
        let locations: Vec<LineLocation> = path.iter().map(|place| self.location(*place)).collect();
        let (outermost, innermost) = (*path.first()?, *path.last()?);
        let mut record = self.records.top_level(outermost.function);
        add_saturating(&mut record.total, more);
        for (place, caller) in path[1..].iter().zip(locations) {
            // Most functions have few call sites, and records are large.
            if record.call_sites.len() == record.call_sites.capacity() {
                record.call_sites.reserve_exact(record.call_sites.len() / 2 + 1);
            }
            let site = record.call_site_at(caller, place.function);
            record = &mut record.call_sites[site].callee;
            add_saturating(&mut record.total, more);
        }
        Some((record, innermost))
    }

    /// Counts the instructions of a chain.
    pub(super) fn add_body(&mut self, chain: u32, weight: Weight) {
        if !self.select(chain) {
            return;
        }
        let discriminators = self.program.discriminators;
        if let Some((record, place)) = self.leaf(weight.total) {
            let location = LineLocation::new(place.line, discriminators.base(place.discriminator));
            let entry = record.body_at(location);
            entry.samples = entry.samples.max(weight.most.wrapping_mul(discriminators.factor(place.discriminator)));
        }
    }

    /// Counts the calls of a function at the end of a chain.
    pub(super) fn add_call(&mut self, chain: u32, callee: &[u8], count: u64) {
        let callee = self.records.name(callee);
        let discriminators = self.program.discriminators;
        if self.select(chain)
            && let Some((record, place)) = self.leaf(0)
        {
            let location = LineLocation::new(place.line, discriminators.base(place.discriminator));
            add_target(record.body_at(location).targets.list_mut(), callee, count);
        }
    }

    /// Counts the accesses of a vtable at the end of a chain.
    fn add_vtable(&mut self, chain: u32, vtable: &[u8], count: u64) {
        let vtable = self.records.name(vtable);
        let discriminators = self.program.discriminators;
        if self.select(chain)
            && let Some((record, place)) = self.leaf(0)
        {
            let location = LineLocation::new(place.line, discriminators.base(place.discriminator));
            add_target(record.vtables_at(location), vtable, count);
        }
    }

    /// Counts the entries of a function.
    pub(super) fn add_head(&mut self, function: &[u8], count: u64) {
        let function = self.records.name(function);
        add_saturating(&mut self.records.top_level(function).head, count);
    }

    /// Returns the profile; see [`ProfileBuilder::finish`].
    pub(super) fn finish(self, update_totals: bool) -> SampleProfile {
        let flow_sensitive = self.program.discriminators.flow_sensitive.then_some(true);
        let mut profile = self.records.finish(update_totals, self.program.rules);
        profile.stated.flow_sensitive = flow_sensitive;
        profile
    }

    /// Returns the profile without calls in the counts of locations.
    pub(super) fn into_profile(self) -> SampleProfile {
        let mut profile = self.records.into_profile();
        profile.stated.flow_sensitive = self.program.discriminators.flow_sensitive.then_some(true);
        profile
    }
}
