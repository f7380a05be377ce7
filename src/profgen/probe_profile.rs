//! From counters to a profile by pseudo-probes.

use super::builder::ProfileBuilder;
use super::counters::Counters;
use super::line_profile::{ProfileOptions, with_zero_runs};
use super::probes::{Probe, Probes};
use super::program::Program;
use super::ranges::pieces;
use crate::error::Result;
use crate::limits::Limits;
use crate::sampleprof::{Chain, FunctionRecord, LineLocation, SampleProfile, add_saturating, add_target};

/// Counts of pseudo-probes, and of samples that were left out because of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct ProbeFindings {
    /// Probes in functions with samples.
    pub probes: u64,
    /// Samples of calls whose instruction has no probe, which are left out.
    pub calls_without_probe: u64,
    /// Probes of functions that the program does not describe, which are left out.
    pub without_description: u64,
}

/// Makes a profile. Functions with samples have all their probes, those without samples with a count of 0.
pub(super) fn probe_profile(
    program: &Program<'_>,
    counters: &Counters,
    options: &ProfileOptions,
    limits: &Limits,
) -> Result<(SampleProfile, ProbeFindings)> {
    let probes = program.decode_probes(&mut counters.addresses(), limits)?;
    let mut findings = ProbeFindings { probes: probes.probes.len() as u64, ..ProbeFindings::default() };
    let mut builder = Builder { probes: &probes, records: ProfileBuilder::default(), path: Vec::new() };
    let mut counts: Vec<Option<u64>> = vec![None; probes.probes.len()];
    // The functions have the order of LLVM's map from probes to counts.
    let (mut chain, mut met) = (Chain::default(), Vec::new());
    for piece in pieces(&with_zero_runs(program, &counters.runs, options.fill_zero)) {
        for (address, _) in program.code.instructions(piece.begin, piece.end) {
            for at in probes.at(address) {
                if counts[at as usize].is_none() {
                    chain.insert(at.into());
                    met.push(at);
                }
                let count = counts[at as usize].get_or_insert_default();
                *count = count.wrapping_add(piece.count);
            }
        }
    }
    for at in chain.iter().map(|node| met[node]) {
        let Some(count) = counts[at as usize] else { continue };
        let is_known = builder.add_body(at, count);
        findings.without_description += u64::from(!is_known);
    }
    for (&(source, target), &count) in &counters.branches {
        let Some(callee) = program.callee_at(target, &probes) else { continue };
        let is_known = match probes.call_at(source) {
            Some(call) => builder.add_call(call, callee, count),
            None => false,
        };
        if !is_known {
            findings.calls_without_probe = findings.calls_without_probe.saturating_add(count);
        }
    }
    let mut profile = builder.records.finish(options.update_totals, program.rules);
    profile.stated.probe_based = Some(true);
    profile.stated.flow_sensitive = program.discriminators.flow_sensitive.then_some(true);
    Ok((profile.in_container_order(program.rules), findings))
}

struct Builder<'b> {
    probes: &'b Probes,
    records: ProfileBuilder,
    /// The bodies of a probe, outermost first, and the number of a probe in each.
    path: Vec<(u32, u32)>,
}

impl Builder<'_> {
    /// Adds to a probe; returns false if a function on its path has no description.
    fn add_body(&mut self, probe: u32, count: u64) -> bool {
        let probe = self.probes.probes[probe as usize];
        let Some(record) = self.record(&probe, count) else { return false };
        add_saturating(&mut record.body_at(LineLocation::new(probe.index, probe.discriminator)).samples, count);
        if probe.is_entry() {
            add_saturating(&mut record.head, count);
        }
        true
    }

    /// Adds a call target to a probe; returns false if a function on its path has no description.
    fn add_call(&mut self, probe: u32, callee: &[u8], count: u64) -> bool {
        let probe = self.probes.probes[probe as usize];
        let callee = self.records.name(callee);
        let Some(record) = self.record(&probe, 0) else { return false };
        add_target(record.body_at(LineLocation::new(probe.index, 0)).targets.list_mut(), callee, count);
        true
    }

    /// The record of the function that contains a probe. Adds to the totals of all functions around it.
    fn record(&mut self, probe: &Probe, count: u64) -> Option<&mut FunctionRecord> {
        let Self { probes, records, path } = self;
        path.clear();
        probes.push_path(probe, path);
        let describe = |body: u32| probes.description(probes.bodies[body as usize].guid);
        if !path.iter().all(|(body, _)| describe(*body).is_some_and(|described| !described.name.is_empty())) {
            return None;
        }
        let frames: Vec<_> = path
            .iter()
            .filter_map(|(body, probe)| Some((describe(*body)?, *probe)))
            .map(|(described, probe)| (records.name(&described.name), described.checksum, probe))
            .collect();
        let ((name, checksum, mut call), inlined) = frames.split_first().map(|(first, rest)| (*first, rest))?;
        let mut record = records.top_level(name);
        add_saturating(&mut record.total, count);
        record.checksum = checksum;
        for (name, checksum, probe) in inlined {
            let site = record.call_site_at(LineLocation::new(call, 0), *name);
            record = &mut record.call_sites[site].callee;
            add_saturating(&mut record.total, count);
            record.checksum = *checksum;
            call = *probe;
        }
        Some(record)
    }
}
