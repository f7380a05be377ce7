//! The samples of `perf.data`: branch records, or sampled instructions.
//!
//! Unlike in text, each sample names its process, so that processes with the program at different addresses count.

use super::call_chain::CallChain;
use super::contexts::ChainSamples;
use super::counters::{Counters, EXTERNAL, Gatherer, cut_unpaired};
use super::loading::{Loading, MappingFault};
use super::plain::{PlainFindings, PlainGatherer};
use super::program::Program;
use super::script::{ReadFindings, ScriptOptions};
use crate::call_chains::SamplingPeriod;
use crate::error::{Error, Result, Warning};
use crate::input::Input;
use crate::limits::Limits;
use crate::perf::event::{Branch, CpuMode, Event, KERNEL, Mapping, Sample};
use crate::perf::features::BuildId;
use crate::perf::processes::{Processes, is_memory};
use crate::perf::{Attribute, Recording, events_in_words, no_event_named, read_recording, several_events};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The samples of a recording.
pub(super) struct RecordingSamples {
    pub(super) gatherer: Gatherer,
    pub(super) chains: Option<ChainSamples>,
    pub(super) findings: ReadFindings,
    /// Faults of call chains.
    pub(super) chain: CallChain,
    /// Where the program was loaded last.
    pub(super) loaded_at: u64,
    /// The samples without branch records.
    pub(super) plain_counters: Counters,
    pub(super) plain: PlainFindings,
    /// The sampling period, if it is the same for all events.
    pub(super) period: Option<SamplingPeriod>,
    /// The events of the samples.
    pub(super) events: String,
    /// Warnings.
    pub(super) warnings: Vec<Warning>,
}

/// Reads the samples of a program.
///
/// # Errors
///
/// The errors of [`read_recording`]; nothing found for a recording without branch records, unless the options allow it;
/// malformed for mappings that cannot be of this program.
pub(super) fn read(
    input: &Input,
    program: &Program<'_>,
    options: &ScriptOptions,
    limits: &Limits,
) -> Result<RecordingSamples> {
    let mut reader = Reader::new(program, options, Vec::new(), None);
    let mut recording = visit(input, limits, &mut |event| reader.add(event))?;
    let chosen = options.event.as_deref().map(|wanted| (wanted, recording.attributes.find_named(wanted)));
    if let Some((wanted, _)) = chosen.as_ref().filter(|(_, events)| events.is_empty()) {
        return Err(no_event_named(wanted, &recording.attributes.names()));
    }
    let chosen = chosen.map(|(_, events)| events);
    // The names of events and the list of build ids are at the end. The latter seldom changes which files are the
    // program.
    if chosen.is_some() || reader.finds_other_builds_in(&recording.features.build_ids) {
        reader = Reader::new(program, options, recording.features.build_ids, chosen.clone());
        recording = visit(input, limits, &mut |event| reader.add(event))?;
    }
    if let Some(fault) = reader.fault {
        return Err(fault.into_error());
    }
    let Reader { gatherer, chains, mut findings, plain, used_events, has_call_chains, chain, loaded_at, .. } = reader;
    findings.external_leaves = chain.external_leaves;
    findings.invalid_return_addresses = chain.invalid_returns.len() as u64;
    findings.distinct_chains = chains.len() as u64;
    let chains = (options.contexts && has_call_chains).then_some(chains);
    if !options.allow_plain && !recording.attributes.list().iter().any(|event| event.has_branches()) {
        let hint = if options.contexts { "record with `perf record -b -g`" } else { "record with `perf record -b`" };
        return Err(Error::nothing_found("the recording has no branch records")
            .with_llvm_message("Invalid perf script input!")
            .with_hint(hint));
    }
    let mut warnings = recording.counts.warnings();
    for event in recording.attributes.list().iter().filter(|event| event.has_branches() && !event.has_all_branches()) {
        let name = event.display_name();
        let message = format!("the branch records of {name} lack some kinds of branches: record with `perf record -b`");
        warnings.push(Warning::new(message));
    }
    // Samples without branch records do not count next to others.
    let has_branches = findings.samples != 0;
    let events = used_events.iter().filter(|(of_branches, _)| *of_branches == has_branches);
    let events: BTreeSet<usize> = events.map(|(_, event)| *event).collect();
    let period = recording.attributes.common_period(&events);
    let used = events.iter().filter_map(|event| recording.attributes.list().get(*event));
    let names: Vec<String> = used.map(Attribute::display_name).collect();
    warnings.extend(several_events(&names).filter(|_| chosen.is_none()));
    if findings.other_builds != 0 {
        let name = program.name();
        warnings.push(Warning::new(format!("a recorded {name} has another build id: its samples are left out")));
    }
    let plain_findings = plain.findings;
    let plain_counters = plain.finish();
    Ok(RecordingSamples {
        gatherer,
        chains,
        findings,
        chain,
        loaded_at,
        plain_counters,
        plain: plain_findings,
        period,
        events: events_in_words(&names),
        warnings,
    })
}

fn visit(input: &Input, limits: &Limits, each: &mut dyn FnMut(Event<'_>)) -> Result<Recording> {
    let open = || input.content(limits);
    read_recording(&open, limits, &mut |_, event| {
        each(event);
        Ok(())
    })
}

/// The mapped files in which branches start, with the number of these branches; for samples without branch records, the
/// files in which the samples are. Returns also whether the recording has build ids.
pub(super) fn programs_with_samples(input: &Input, limits: &Limits) -> (BTreeMap<Vec<u8>, u64>, bool) {
    let (mut processes, mut files) = (Processes::default(), BTreeMap::<u32, u64>::new());
    let read = visit(input, limits, &mut |event| match event {
        Event::Mapping(mapping) => processes.map(&mapping),
        Event::Command { pid, tid, name, is_exec } => processes.name(pid, tid, name, is_exec),
        Event::Fork { pid, tid, parent, parent_tid } => processes.fork(pid, tid, parent, parent_tid),
        Event::Sample(sample) => {
            let ip = sample.ip.filter(|_| sample.branches.is_empty());
            let addresses = sample.branches.iter().map(|branch| branch.from).chain(ip);
            let places = addresses.filter_map(|address| processes.find(sample.pid, sample.mode, address));
            places.for_each(|place| *files.entry(place.file).or_default() += 1);
        }
        Event::Exit { .. } | Event::Lost(_) => {}
    });
    // The recording was read before: what can be read is enough here.
    let is_listed = read.is_ok_and(|recording| !recording.features.build_ids.is_empty());
    let has_build_ids = is_listed || processes.files().iter().any(|file| file.build_id.is_some());
    let path = |file: u32| {
        let file = processes.files().get(file as usize).filter(|file| !file.is_kernel())?;
        Some(file.path.clone())
    };
    (files.into_iter().filter_map(|(file, count)| Some((path(file)?, count))).collect(), has_build_ids)
}

/// Compares build ids. Recordings keep at most 20 bytes, and fill shorter ids with zeros.
fn is_same_build(recorded: &[u8], own: &[u8]) -> bool {
    let (recorded, rest) = recorded.split_at(recorded.len().min(own.len()));
    own.starts_with(recorded) && rest.iter().all(|byte| *byte == 0) && (recorded.len() == own.len() || own.len() > 20)
}

struct Reader<'r, 'p> {
    program: &'r Program<'p>,
    options: &'r ScriptOptions,
    /// The build ids of recorded files, if mappings do not have them.
    listed: Vec<BuildId>,
    /// Where each process has the program.
    loadings: HashMap<u32, Loading>,
    /// Where the last one has it.
    loaded_at: u64,
    /// The first mapping that cannot be one of the program. Build ids, which come last, may show that it is another build.
    fault: Option<MappingFault>,
    gatherer: Gatherer,
    chains: ChainSamples,
    findings: ReadFindings,
    plain: PlainGatherer,
    /// The events whose samples count; `None` for all.
    chosen: Option<Vec<usize>>,
    /// The events of samples in the program, and whether the samples have branch records.
    used_events: BTreeSet<(bool, usize)>,
    has_call_chains: bool,
    /// The branches of one sample.
    branches: Vec<(u64, u64)>,
    /// The call chain of one sample.
    chain: CallChain,
}

impl<'r, 'p> Reader<'r, 'p> {
    fn new(
        program: &'r Program<'p>,
        options: &'r ScriptOptions,
        listed: Vec<BuildId>,
        chosen: Option<Vec<usize>>,
    ) -> Self {
        Self {
            program,
            options,
            listed,
            loadings: HashMap::new(),
            loaded_at: program.base(),
            fault: None,
            gatherer: Gatherer::default(),
            chains: ChainSamples::default(),
            findings: ReadFindings::default(),
            plain: PlainGatherer::default(),
            chosen,
            used_events: BTreeSet::new(),
            has_call_chains: false,
            branches: Vec::new(),
            chain: CallChain::default(),
        }
    }

    /// Returns true if a file with the program's name is another build, or one with another name is this build.
    fn finds_other_builds_in(&self, listed: &[BuildId]) -> bool {
        let Some(own) = self.program.build_id.as_deref().filter(|_| !self.options.any_build) else { return false };
        let loading = Loading::new(self.program, self.options.process, self.options.is_kernel);
        listed.iter().any(|file| loading.is_program(&file.path) != is_same_build(&file.id, own))
    }

    fn add(&mut self, event: Event<'_>) {
        match event {
            Event::Mapping(mapping) => self.map(&mapping),
            Event::Command { pid, is_exec: true, .. } => {
                self.loadings.remove(&pid);
            }
            Event::Fork { pid, parent, .. } if pid != parent => {
                if let Some(loading) = self.loadings.get(&parent).cloned() {
                    self.loadings.insert(pid, loading);
                }
            }
            Event::Sample(sample) => self.sample(&sample),
            _ => {}
        }
    }

    fn map(&mut self, mapping: &Mapping) {
        let Mapping { pid, start, len, offset, path, build_id, is_executable, .. } = mapping;
        if !is_executable || (*pid == KERNEL) != self.options.is_kernel {
            return;
        }
        let mut loading = match self.loadings.get(pid) {
            Some(loading) => loading.clone(),
            None => Loading::new(self.program, self.options.process, self.options.is_kernel),
        };
        let has_name = loading.is_program(path);
        let listed = || self.listed.iter().find(|file| file.path == *path).map(|file| &file.id[..]);
        let is_program = match (build_id.as_deref().or_else(listed), &self.program.build_id) {
            (Some(recorded), Some(own)) if !self.options.any_build => is_same_build(recorded, own),
            _ => has_name,
        };
        self.findings.other_builds += u64::from(has_name && !is_program);
        if !is_program {
            // A library was unloaded. Memory may have the same code, in large pages.
            let replaces = |loading: &Loading| self.program.code.overlaps(loading.link_time(*start), *len);
            if !self.options.is_kernel && !is_memory(path) && self.loadings.get(pid).is_some_and(replaces) {
                self.loadings.remove(pid);
            }
            return;
        }
        let process = i64::from(*pid as i32);
        match loading.map_program(process, *start, *offset) {
            Ok(()) if loading.is_mapped => {
                self.findings.is_mapped = true;
                self.loaded_at = loading.base();
                self.loadings.insert(*pid, loading);
            }
            Ok(()) => {}
            Err(fault) => _ = self.fault.get_or_insert(fault),
        }
    }

    fn sample(&mut self, sample: &Sample<'_>) {
        if self.chosen.as_ref().is_some_and(|events| !events.contains(&sample.event)) {
            return;
        }
        self.findings.lines = self.findings.lines.saturating_add(1);
        self.has_call_chains |= !sample.branches.is_empty() && sample.frames().any(|frame| frame.mode == CpuMode::User);
        let process = if self.options.is_kernel { Some(KERNEL) } else { sample.pid };
        let loading = process.and_then(|pid| self.loadings.get(&pid));
        if sample.branches.is_empty() && self.options.allow_plain {
            let used = self.plain.findings.used;
            self.plain.add(self.program, sample, loading);
            if self.plain.findings.used != used {
                self.used_events.insert((false, sample.event));
            }
        }
        self.branches.clear();
        for &Branch { from, to } in sample.branches {
            let place = |address| {
                let address = loading?.link_time(address);
                self.program.code.is_instruction(address).then_some(address)
            };
            match (place(from).unwrap_or(EXTERNAL), place(to).unwrap_or(EXTERNAL)) {
                (EXTERNAL, EXTERNAL) => self.findings.external_branches += 1,
                ends => self.branches.push(ends),
            }
        }
        if !self.program.rules.counts_external_branches() {
            cut_unpaired(&mut self.branches);
        }
        if self.branches.is_empty() {
            self.findings.without_branches += 1;
            return;
        }
        if self.options.contexts && !self.follow_chain(sample) {
            self.findings.incomplete_chains = self.findings.incomplete_chains.saturating_add(1);
            if !sample.call_chain.is_empty() {
                return;
            }
        }
        self.findings.samples = self.findings.samples.saturating_add(1);
        self.used_events.insert((true, sample.event));
        self.findings.branches = self.findings.branches.saturating_add(self.branches.len() as u64);
        let has_chain = sample.frames().any(|frame| frame.mode == CpuMode::User);
        self.findings.call_chains = self.findings.call_chains.saturating_add(u64::from(has_chain));
        self.gatherer.add(self.program, &self.branches, 1);
    }

    /// Keeps the call chain of a sample; returns false if it is incomplete. Frames of the kernel do not count, because the
    /// branch records of a process begin where it was interrupted.
    fn follow_chain(&mut self, sample: &Sample<'_>) -> bool {
        let (mode, process) = match self.options.is_kernel {
            true => (CpuMode::Kernel, Some(KERNEL)),
            false => (CpuMode::User, sample.pid),
        };
        let loading = process.and_then(|pid| self.loadings.get(&pid));
        self.chain.frames.clear();
        for frame in sample.frames().filter(|frame| frame.mode == mode) {
            let address = loading.map_or(EXTERNAL, |loading| loading.link_time(frame.address));
            if !self.chain.push(self.program, address) {
                break;
            }
        }
        if self.chain.is_incomplete(self.program) {
            return false;
        }
        if let (Some(leaf), Some((_, target))) = (self.chain.frames.first_mut(), self.branches.first()) {
            *leaf = *target;
        }
        self.chains.add(&self.chain.frames, &self.branches, 1, self.options.most_frames);
        true
    }
}
