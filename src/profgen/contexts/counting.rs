//! Counts by calling context.

use super::super::counters::{Counters, EXTERNAL};
use super::super::functions::Function;
use super::super::program::Program;
use super::chain_samples::{ChainSample, ChainSamples};
use super::inlined::Places;
use super::options::ContextOptions;
use super::paths::{EMPTY, Paths, compress, keep_last};
use super::unwinder::{ContextFindings, Counted, Unwinder};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::sampleprof::{Chain, Frame, LineLocation, Names, parse_frames, push_context};
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use std::hash::Hash;

/// Counters by context.
#[derive(Debug)]
pub(super) struct ByPath<T> {
    pub(super) paths: Paths<T>,
    /// With the numbers of their paths, in the order in which they were first seen.
    pub(super) counts: Vec<(u32, ContextCounts)>,
    /// Positions in `counts`, by the number of the path.
    positions: HashMap<u32, usize, RandomState>,
}

/// The counters of a context.
#[derive(Debug, Default)]
pub(super) struct ContextCounts {
    /// Whether the innermost function was inlined where the context was first seen.
    pub(super) is_inlined: bool,
    pub(super) counters: Counters,
}

impl<T: Copy + Eq + Hash> ByPath<T> {
    pub(super) fn new() -> Self {
        Self { paths: Paths::new(), counts: Vec::new(), positions: HashMap::default() }
    }

    /// The counters of a context, which are added if there are none.
    pub(super) fn at(&mut self, path: &[T], is_inlined: bool) -> &mut Counters {
        let path = self.paths.number(path);
        let at = *self.positions.entry(path).or_insert_with(|| {
            self.counts.push((path, ContextCounts { is_inlined, ..ContextCounts::default() }));
            self.counts.len() - 1
        });
        &mut self.counts[at].1.counters
    }
}

/// Counters by the form of their context.
#[derive(Debug)]
pub(super) enum Contexts {
    /// Functions and the places of their calls. Without debug info the path is empty.
    Lines(ByPath<Frame>),
    /// Addresses of calls, without the innermost function.
    Probes(ByPath<u64>),
}

/// Samples with call chains, by calling context.
#[derive(Debug)]
pub struct ContextCounters {
    pub(super) contexts: Contexts,
    /// Names of functions in contexts.
    pub(super) names: Names,
    /// The functions at the addresses of contexts by line.
    pub(super) places: Places,
    pub(super) findings: ContextFindings,
}

impl ContextCounters {
    /// Counts of branches that did not fit.
    pub fn findings(&self) -> &ContextFindings {
        &self.findings
    }

    /// The counters with the text of their contexts, in which addresses are relative to `base`.
    pub(in crate::profgen) fn titled(&self, base: u64) -> Vec<(Vec<u8>, &Counters)> {
        match &self.contexts {
            Contexts::Lines(ByPath { paths, counts, .. }) => {
                let title = |path: &u32| {
                    let mut text = Vec::new();
                    push_context(&mut text, &self.names, &paths.elements(*path));
                    text
                };
                counts.iter().map(|(path, counts)| (title(path), &counts.counters)).collect()
            }
            Contexts::Probes(ByPath { paths, counts, .. }) => {
                let title = |path: &u32| {
                    let addresses = paths.elements(*path);
                    let text = addresses.iter().map(|address| format!("0x{:x}", address.wrapping_sub(base)));
                    text.collect::<Vec<_>>().join(" @ ").into_bytes()
                };
                counts.iter().map(|(path, counts)| (title(path), &counts.counters)).collect()
            }
        }
    }

    /// All counters.
    fn counters(&self) -> Vec<&Counters> {
        match &self.contexts {
            Contexts::Lines(lines) => lines.counts.iter().map(|(_, counts)| &counts.counters).collect(),
            Contexts::Probes(probes) => probes.counts.iter().map(|(_, counts)| &counts.counters).collect(),
        }
    }

    /// The addresses of all counters and contexts.
    pub(super) fn addresses(&self) -> Vec<u64> {
        let mut addresses: Vec<u64> = self.counters().into_iter().flat_map(Counters::addresses).collect();
        if let Contexts::Probes(ByPath { paths, counts, .. }) = &self.contexts {
            addresses.extend(counts.iter().flat_map(|(path, _)| paths.elements(*path)));
        }
        addresses
    }
}

/// Finds the context of each run of code and each branch.
///
/// # Errors
///
/// Unable to correlate for damaged debug info; limit exceeded for too many inlined functions.
pub(super) fn count(
    program: &Program<'_>,
    samples: &ChainSamples,
    options: &ContextOptions,
    limits: &Limits,
) -> Result<ContextCounters> {
    let mut names = Names::default();
    if program.has_probes() {
        let mut probes = ByPath::new();
        let mut unwinder = Unwinder::new(program, None);
        let most = options.most_frames.min(options.most_address_frames);
        for sample in in_order(samples) {
            unwinder.unwind(sample, &mut |counted| {
                let mut path = counted.chain.to_vec();
                compress(&mut path, options.longest_repetition);
                keep_last(&mut path, most);
                add(probes.at(&path, false), &counted, sample.times);
            });
        }
        let findings = finish(unwinder, samples, probes.counts.len());
        return Ok(ContextCounters { contexts: Contexts::Probes(probes), names, places: Places::default(), findings });
    }
    let addresses = addresses(program, samples, options.preinline && options.by_code_size);
    let places = Places::look_up(program, addresses, &mut names, limits)?;
    let mut lines = ByPath::new();
    let mut unwinder = Unwinder::new(program, Some(&places));
    let mut too_deep = 0;
    for sample in in_order(samples) {
        unwinder.unwind(sample, &mut |counted| {
            let Some((path, is_inlined)) = line_path(program, &places, counted.chain, options, limits) else {
                too_deep += 1;
                return;
            };
            add(lines.at(&path, is_inlined), &counted, sample.times);
        });
    }
    let mut findings = finish(unwinder, samples, lines.counts.len());
    findings.too_deep += too_deep;
    Ok(ContextCounters { contexts: Contexts::Lines(lines), names, places, findings })
}

/// The counters of an unsymbolized profile, which have the text of their contexts.
///
/// # Errors
///
/// Malformed for a program with probes, whose contexts are addresses; the errors of [`count`].
pub(in crate::profgen) fn of_unsymbolized(
    blocks: &[(impl AsRef<[u8]>, Counters)],
    program: &Program<'_>,
    options: &ContextOptions,
    limits: &Limits,
) -> Result<ContextCounters> {
    if program.has_probes() {
        let detail = "calling contexts of a program with pseudo-probes cannot be read back";
        return Err(Error::malformed(detail).with_llvm_message(detail));
    }
    let addresses = blocks.iter().flat_map(|(_, counters)| counters.addresses()).collect();
    let runs = blocks.iter().flat_map(|(_, counters)| counters.runs.keys().copied());
    let mut names = Names::default();
    let addresses = instructions(program, addresses, runs, options.preinline && options.by_code_size);
    let places = Places::look_up(program, addresses, &mut names, limits)?;
    let mut lines = ByPath::new();
    for (title, counters) in blocks {
        let mut path = parse_frames(title.as_ref(), &mut names);
        let (found, most) = (path.len() as u64, u64::from(limits.context_depth));
        if found > most {
            return Err(Error::above_limit(Some("context-depth"), "number of frames of a context", found, most));
        }
        if let Some(frame) = path.last_mut() {
            frame.location = LineLocation::default();
        }
        lines.at(&path, false).add(counters, 1);
    }
    Ok(ContextCounters { contexts: Contexts::Lines(lines), names, places, findings: ContextFindings::default() })
}

fn finish(unwinder: Unwinder<'_>, samples: &ChainSamples, contexts: usize) -> ContextFindings {
    let mut findings = unwinder.finish();
    findings.contexts = contexts as u64;
    findings.too_deep = samples.too_deep;
    findings
}

fn add(counters: &mut Counters, counted: &Counted<'_>, times: u64) {
    for (sums, keys) in [(&mut counters.runs, counted.runs), (&mut counters.branches, counted.branches)] {
        for key in keys {
            let sum = sums.entry(*key).or_default();
            *sum = sum.wrapping_add(times);
        }
    }
}

/// The samples in the order of LLVM's table. The first sample of a context determines whether its function is inlined.
fn in_order(samples: &ChainSamples) -> impl Iterator<Item = &ChainSample> {
    let samples: Vec<&ChainSample> = samples.iter().collect();
    let mut order = Chain::default();
    for sample in &samples {
        let branches = sample.branches.iter().flat_map(|(source, target)| [*source, *target]);
        let numbers = sample.chain.iter().copied().chain(branches);
        order.insert(numbers.fold(5381, |hash: u64, number| hash.wrapping_mul(33).wrapping_add(number)));
    }
    let order: Vec<usize> = order.iter().collect();
    order.into_iter().map(move |at| samples[at])
}

/// All instructions whose functions the contexts need, and if wanted those of all functions with samples.
fn addresses(program: &Program<'_>, samples: &ChainSamples, with_functions: bool) -> Vec<u64> {
    let mut found = HashSet::<u64, RandomState>::default();
    let mut runs = HashSet::<(u64, u64), RandomState>::default();
    for sample in samples.iter() {
        found.extend(sample.chain.iter().copied());
        let mut end = None;
        for &(source, target) in &*sample.branches {
            found.extend([source, target]);
            found.extend(program.call_before(target));
            runs.extend(end.map(|end| (target, end)));
            end = Some(source);
        }
    }
    instructions(program, found, runs.into_iter(), with_functions)
}

/// The instructions at addresses and in runs of code, and if wanted those of all functions at the addresses.
fn instructions(
    program: &Program<'_>,
    mut found: HashSet<u64, RandomState>,
    runs: impl Iterator<Item = (u64, u64)>,
    with_functions: bool,
) -> Vec<u64> {
    found.remove(&EXTERNAL);
    let is_run = |(begin, end): &(u64, u64)| {
        program.code.is_instruction(*begin)
            && program.code.is_instruction(*end)
            && program.code.falls_through(*begin, *end)
    };
    let mut runs: Vec<(u64, u64)> = runs.filter(is_run).collect();
    if with_functions {
        let functions = functions_at(program, found.iter().copied());
        runs.extend(functions.iter().flat_map(|function| &function.ranges).map(|(start, end)| (*start, end - 1)));
    }
    let mut addresses: Vec<u64> = found.into_iter().filter(|address| program.code.is_instruction(*address)).collect();
    push_instructions(program, runs, &mut addresses);
    addresses
}

/// The functions that contain addresses.
pub(super) fn functions_at<'f>(program: &'f Program<'_>, addresses: impl Iterator<Item = u64>) -> Vec<&'f Function> {
    let mut known = HashSet::<*const Function, RandomState>::default();
    let functions = addresses.filter_map(|address| program.functions.function_at(address));
    functions.filter(|function| known.insert(std::ptr::from_ref(*function))).collect()
}

/// The instructions of functions.
pub(super) fn code_of(program: &Program<'_>, functions: &[&Function]) -> Vec<u64> {
    let mut addresses = Vec::new();
    let runs = functions.iter().flat_map(|function| &function.ranges).map(|(start, end)| (*start, end - 1));
    push_instructions(program, runs.collect(), &mut addresses);
    addresses
}

/// Adds the instructions of runs of code, which can overlap.
fn push_instructions(program: &Program<'_>, mut runs: Vec<(u64, u64)>, addresses: &mut Vec<u64>) {
    runs.sort_unstable();
    let mut next = 0;
    for (begin, end) in runs {
        let begin = begin.max(next);
        if begin <= end {
            addresses.extend(program.code.instructions(begin, end).map(|(address, _)| address));
            next = end.saturating_add(1);
        }
    }
}

/// The functions of a chain, inlined ones too, and whether the innermost one was inlined. The place of the last function
/// does not count. Returns `None` if they are too many.
fn line_path(
    program: &Program<'_>,
    places: &Places,
    chain: &[u64],
    options: &ContextOptions,
    limits: &Limits,
) -> Option<(Vec<Frame>, bool)> {
    let mut path = Vec::new();
    let mut is_inlined = false;
    for address in chain {
        let frames = places.frames(*address);
        if frames.is_empty() {
            return Some((Vec::new(), false));
        }
        is_inlined = frames.len() > 1;
        path.extend(frames.iter().map(|frame| {
            let discriminator = program.discriminators.base(frame.location.discriminator);
            Frame { location: LineLocation { discriminator, ..frame.location }, ..*frame }
        }));
        if path.len() > limits.context_depth as usize {
            return None;
        }
    }
    if let Some(Frame { function, .. }) = path.pop() {
        compress(&mut path, options.longest_repetition);
        keep_last(&mut path, options.most_frames);
        path.push(Frame { function, location: LineLocation::default() });
    }
    Some((path, is_inlined))
}

/// The number of the path of counters without context.
pub(super) const WITHOUT_CONTEXT: u32 = EMPTY;
