//! Samples without branch records: the sampled instructions, and the calls of call chains.
//!
//! As in AutoFDO, a line has the largest number of samples of its instructions, and a function the sum of its samples.
//! Lines count a sample of unrolled or vectorized code as often as the line runs in it, functions count it once. If a
//! line has fewer samples than calls, the count of the line and the sums grow by the difference.
//! Entries of functions are counted by the instructions that run once per entry. Calls are not counted: a function that
//! was entered often and briefly has fewer samples than one that ran long. So a function's number of entries is divided
//! among its callers, by the samples with each call in the call chain; of a recursive function, by its innermost call. A
//! function that jumps to another one in place of a call has no frame; the jump counts as the call if it is its only one
//! to that function.

use super::builder::{raise_with_totals, update_total};
use super::counters::{Counters, Counts};
use super::line_profile::{Builder, ProfileOptions, addresses, chains, weigh};
use super::loading::Loading;
use super::program::Program;
use super::ranges::Piece;
use crate::digits::number_of;
use crate::error::Result;
use crate::limits::Limits;
use crate::perf::event::{CpuMode, Sample};
use crate::sampleprof::SampleProfile;
use std::collections::BTreeMap;

/// The share of cut call chains, as a divisor, above which the profile lacks calls.
const CUT_CHAINS: u64 = 10;

/// The share of samples within instructions, as a divisor, above which another program ran.
const MISPLACED_SAMPLES: u64 = 10;

/// Callers of callers to which the number of entries of a function is passed on.
const MOST_CALLERS: usize = 64;

/// Counts of samples without branch records, by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct PlainFindings {
    /// All samples without branch records.
    pub all: u64,
    /// Samples in functions of the program.
    pub used: u64,
    /// Samples in the kernel.
    pub in_kernel: u64,
    /// Samples in other files, in the procedure linkage table (PLT), and in memory without a file.
    pub outside: u64,
    /// Samples in the program's code, but not at the start of an instruction.
    pub not_instructions: u64,
    /// Samples in functions without debug info.
    pub without_function: u64,
    /// Calls within the program in call chains, each counted as often as its samples.
    pub calls: u64,
    /// Call chains that were cut at an address that does not follow a call, except after code without debug info.
    pub cut_chains: u64,
}

impl PlainFindings {
    /// The warnings about a profile of these samples.
    pub(super) fn warnings(&self, program: &str, is_of_go: bool) -> Vec<String> {
        let samples = |count: u64| number_of(count, "sample");
        let mut warnings = vec![format!(
            "no sample has branch records: counts are estimated from {}; record branches with `perf record -b` if the \
             processor supports it, otherwise record more samples",
            samples(self.used)
        )];
        let reasons: Vec<String> = [
            (self.in_kernel, "in the kernel"),
            (self.outside, "in other programs or the PLT"),
            (self.not_instructions, "within an instruction"),
            (self.without_function, "in functions without debug info"),
        ]
        .iter()
        .filter(|(count, _)| *count != 0)
        .map(|(count, reason)| format!("{count} {reason}"))
        .collect();
        if !reasons.is_empty() {
            let unused = self.all.saturating_sub(self.used);
            warnings.push(format!("not used: {unused} of {} ({})", samples(self.all), reasons.join(", ")));
        }
        if self.not_instructions > self.used / MISPLACED_SAMPLES {
            warnings.push(format!(
                "samples within instructions show that {program} is probably not the build that was recorded"
            ));
        } else if is_of_go {
            warnings.push("Go's compiler reads no sample profiles: merge the recording into default.pgo".to_string());
        } else if self.calls == 0 && self.without_function != 0 {
            warnings.push(format!(
                "no call chain has a call between functions of {program} with debug info: compile all of it with -g, and \
                 record with `perf record -g`"
            ));
        } else if self.calls == 0 {
            warnings.push(format!(
                "no call chain has a call within {program}: if there are calls, record with `perf record -g` and compile it \
                 with frame pointers"
            ));
        } else if self.cut_chains > self.all / CUT_CHAINS {
            let chains = number_of(self.cut_chains, "call chain");
            warnings.push(format!("{chains} of {} end early: compile {program} with frame pointers", self.all));
        }
        warnings
    }

    /// Adds the counts of another input.
    pub(super) fn add(&mut self, other: &Self) {
        let Self { all, used, in_kernel, outside, not_instructions, without_function, calls, cut_chains } = other;
        for (sum, more) in [
            (&mut self.all, all),
            (&mut self.used, used),
            (&mut self.in_kernel, in_kernel),
            (&mut self.outside, outside),
            (&mut self.not_instructions, not_instructions),
            (&mut self.without_function, without_function),
            (&mut self.calls, calls),
            (&mut self.cut_chains, cut_chains),
        ] {
            *sum = sum.saturating_add(*more);
        }
    }
}

/// The call of a function from outside of the program. No function has this address, unlike low ones: in debug info,
/// functions that the linker removed begin at 0.
const OUTSIDE: u64 = u64::MAX;

/// Gathers samples without branch records.
#[derive(Debug, Default)]
pub(super) struct PlainGatherer {
    counters: Counters,
    pub(super) findings: PlainFindings,
    /// The calls of one sample.
    calls: Vec<(u64, u64)>,
    /// The tail calls that lead from one function to another, by the entries of both.
    tail_calls: BTreeMap<(u64, u64), Vec<(u64, u64)>>,
}

impl PlainGatherer {
    /// Counts a sample; `loading` tells where its process has the program.
    pub(super) fn add(&mut self, program: &Program<'_>, sample: &Sample<'_>, loading: Option<&Loading>) {
        let place = |address: u64| {
            let address = loading?.link_time(address);
            program.code.contains(address).then_some(address)
        };
        let findings = &mut self.findings;
        findings.all = findings.all.saturating_add(1);
        let outcome = match sample.ip.filter(|_| sample.mode != CpuMode::Kernel).and_then(place) {
            None if sample.mode == CpuMode::Kernel => &mut findings.in_kernel,
            None => &mut findings.outside,
            Some(address) if !program.code.is_instruction(address) => &mut findings.not_instructions,
            Some(address) if program.functions.range_at(address).is_none() => &mut findings.without_function,
            Some(address) => {
                *self.counters.runs.entry((address, address)).or_default() += 1;
                &mut findings.used
            }
        };
        *outcome = outcome.saturating_add(1);
        self.add_calls(program, sample, &place);
    }

    fn add_calls(&mut self, program: &Program<'_>, sample: &Sample<'_>, place: &dyn Fn(u64) -> Option<u64>) {
        // The entry of the function that the previous frame was in, and whether that is in the profile.
        let (mut inner, mut is_known) = (None, true);
        for frame in sample.frames().filter(|frame| frame.mode == CpuMode::User) {
            if !frame.is_return {
                inner = place(frame.address)
                    .filter(|address| program.has_frame(*address))
                    .and_then(|address| program.functions.entry_of(address));
                continue;
            }
            let call = match place(frame.address.wrapping_sub(1)) {
                None => OUTSIDE,
                Some(before) => match program.call_before(before.wrapping_add(1)) {
                    Some(call) => call,
                    None => {
                        // Code of others, such as the start code of a static libc, can be without frame pointers.
                        self.findings.cut_chains = self.findings.cut_chains.saturating_add(is_known.into());
                        break;
                    }
                },
            };
            // Frames can be missing, so the instruction knows best what it calls, unless it calls by a linkage table.
            let target = program.code.direct_target(call).filter(|target| program.code.contains(*target));
            let callee = match target {
                Some(target) => Some(target).filter(|target| program.functions.function_entered_at(*target).is_some()),
                None => inner,
            };
            self.calls.extend(callee.map(|callee| (call, callee)));
            if let (Some(target), Some(entered)) = (target.and(callee), inner)
                && program.functions.number_at(target) != program.functions.number_at(entered)
            {
                let calls = self.tail_calls.entry((target, entered));
                self.calls.extend_from_slice(calls.or_insert_with(|| tail_calls(program, target, entered)));
            }
            inner = program.functions.entry_of(call);
            is_known = call == OUTSIDE || program.functions.range_at(call).is_some();
        }
        // Only the innermost call of a recursive function counts: its first caller is in every chain.
        self.calls.sort_by_key(|(_, callee)| *callee);
        self.calls.dedup_by_key(|(_, callee)| *callee);
        for call in self.calls.drain(..) {
            *self.counters.branches.entry(call).or_default() += 1;
            self.findings.calls = self.findings.calls.saturating_add(u64::from(call.0 != OUTSIDE));
        }
    }

    /// The counters.
    pub(super) fn finish(self) -> Counters {
        Counters { is_plain: true, ..self.counters }
    }
}

/// Returns the jumps that lead from one function to another in place of calls, with their targets: the shortest sequence,
/// if there is only one of its length. Otherwise, it is not known who called the function.
fn tail_calls(program: &Program<'_>, from: u64, to: u64) -> Vec<(u64, u64)> {
    const MOST: usize = 4;
    const MOST_SEQUENCES: usize = 100;
    let mut sequences = vec![Vec::new()];
    for _ in 0..MOST {
        let mut longer: Vec<Vec<(u64, u64)>> = Vec::new();
        for sequence in &sequences {
            let function = sequence.last().map_or(from, |(_, target)| *target);
            longer.extend(jumps_to_functions(program, function).map(|jump| [&sequence[..], &[jump]].concat()));
        }
        let mut leading = longer.iter().filter(|sequence| sequence.last().is_some_and(|(_, target)| *target == to));
        match (leading.next(), leading.next()) {
            (None, _) if longer.len() <= MOST_SEQUENCES => sequences = longer,
            (Some(only), None) => return only.clone(),
            _ => break,
        }
    }
    vec![(OUTSIDE, to)]
}

/// Returns the jumps of a function to the entries of others, with their targets.
fn jumps_to_functions(program: &Program<'_>, function: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = program.functions.range_at(function).map_or(function, |range| range.end);
    let addresses = program.code.instructions(function, end.saturating_sub(1)).map(|(address, _)| address);
    let jumps = addresses.filter(|address| program.code.is_jump(*address));
    let directed = jumps.filter_map(|address| Some((address, program.code.direct_target(address)?)));
    directed.filter(move |(_, target)| {
        program.functions.function_entered_at(*target).is_some()
            && program.functions.number_at(*target) != program.functions.number_at(function)
    })
}

/// Makes the profile of samples without branch records. Lines without samples are not in it: they may have run.
pub(super) fn plain_profile(
    program: &Program<'_>,
    counters: &Counters,
    options: &ProfileOptions,
    limits: &Limits,
) -> Result<SampleProfile> {
    let piece = |(&(begin, end), &count): (&(u64, u64), &u64)| Piece { begin, end, count };
    let pieces: Vec<Piece> = counters.runs.iter().map(piece).collect();
    let addresses = addresses(program, &pieces, counters);
    let chains = chains(program, &addresses, limits)?;
    let mut builder = Builder::new(program, &chains);
    for (chain, weight) in weigh(program, &pieces, &addresses, &chains, |_| 1) {
        builder.add_body(chain, weight);
    }
    let (entries, calls) = entries_and_calls(program, counters);
    for (entry, count) in &entries {
        if let Some(name) = program.functions.entered_at(*entry) {
            builder.add_head(name, *count);
        }
    }
    for Call { call, callee, count, .. } in calls {
        if let (Some(callee), Ok(at)) = (program.functions.entered_at(callee), addresses.binary_search(&call)) {
            // The call was seen.
            builder.add_call(chains.of_address[at], callee, count.max(1));
        }
    }
    let mut profile = builder.into_profile();
    for record in &mut profile.functions {
        // Calls that were seen can exceed the samples of their lines.
        raise_with_totals(record);
        if options.update_totals {
            update_total(record);
        }
    }
    Ok(profile)
}

/// A call, or a jump in place of one.
struct Call {
    call: u64,
    /// The entry of the called function.
    callee: u64,
    /// The samples with this call in the call chain.
    samples: u64,
    /// The entry of the calling function, if the call runs at most once when that is entered.
    once_in: Option<u64>,
    count: u64,
}

/// Returns the numbers of entries of functions by their first addresses, and of calls, in samples of one instruction.
fn entries_and_calls(program: &Program<'_>, counters: &Counters) -> (BTreeMap<u64, u64>, Vec<Call>) {
    let mut entries = entries(program, &counters.runs);
    let (mut callers, mut once) = (BTreeMap::<u64, u64>::new(), BTreeMap::new());
    let mut calls = Vec::with_capacity(counters.branches.len());
    for (&(call, callee), &samples) in &counters.branches {
        let sum = callers.entry(callee).or_default();
        *sum = sum.saturating_add(samples);
        let once_in = program.functions.range_at(call).and_then(|range| {
            let once = once.entry(range.start).or_insert_with(|| once_per_entry(program, range.start, range.end));
            once.contains(call).then(|| program.functions.entry_of(call)).flatten()
        });
        calls.push(Call { call, callee, samples, once_in, count: 0 });
    }
    // A brief function can have few samples, but it was entered at least as often as it calls another one. Each round
    // goes one caller further. No number can exceed the largest, so recursion ends.
    for _ in 0..MOST_CALLERS {
        let mut is_done = true;
        for Call { callee, samples, once_in, count, .. } in &mut calls {
            let (entered, all) = (entries.get(callee).copied().unwrap_or(0), callers[callee]);
            let share = u128::from(entered) * u128::from(*samples) / u128::from(all.max(1));
            *count = u64::try_from(share).unwrap_or(u64::MAX);
            if let Some(caller) = once_in.filter(|caller| entries.get(caller).copied().unwrap_or(0) < *count) {
                entries.insert(caller, *count);
                is_done = false;
            }
        }
        if is_done {
            break;
        }
    }
    (entries, calls)
}

/// The numbers of entries of functions, in samples of one instruction, by the first address of each function.
fn entries(program: &Program<'_>, samples: &Counts) -> BTreeMap<u64, u64> {
    let mut found = BTreeMap::new();
    let mut end = 0;
    for (address, _) in samples.keys() {
        if *address < end {
            continue;
        }
        let Some(range) = program.functions.range_at(*address) else { continue };
        end = range.end;
        if program.functions.function_entered_at(range.start).is_some() {
            let once = once_per_entry(program, range.start, range.end);
            let of_part = samples.range((range.start, 0)..(range.end, 0));
            let most = of_part.filter(|((at, _), _)| once.contains(*at)).map(|(_, count)| *count).max();
            found.insert(range.start, most.unwrap_or(0));
        }
    }
    found
}

/// The instructions that run at most once when a function is entered.
struct OncePerEntry {
    /// The end of the instructions before the first jump and before the first target of a jump.
    end_of_start: u64,
    /// Loops: first and last address, ascending, apart from each other.
    loops: Vec<(u64, u64)>,
}

impl OncePerEntry {
    fn contains(&self, address: u64) -> bool {
        let after = self.loops.partition_point(|(first, _)| *first <= address);
        let is_in_loop = after.checked_sub(1).is_some_and(|at| address <= self.loops[at].1);
        address < self.end_of_start || !is_in_loop
    }
}

/// Finds the loops of code from `start` to `end`, which a jump back makes. A computed jump can lead to everything before
/// it, except to the start.
fn once_per_entry(program: &Program<'_>, start: u64, end: u64) -> OncePerEntry {
    let (mut end_of_start, mut jumps) = (end, Vec::new());
    for (address, len) in program.code.instructions(start, end.saturating_sub(1)) {
        let after = address.saturating_add(len.into());
        if program.code.is_return(address) {
            end_of_start = end_of_start.min(after);
        }
        if !program.code.is_jump(address) {
            continue;
        }
        end_of_start = end_of_start.min(after);
        match program.code.direct_target(address) {
            Some(target) if (start..end).contains(&target) => {
                end_of_start = end_of_start.min(target);
                if target <= address {
                    jumps.push((target, address));
                }
            }
            Some(_) => {}
            None => jumps.push((start, address)),
        }
    }
    jumps.sort_unstable();
    let mut loops: Vec<(u64, u64)> = Vec::new();
    for (first, last) in jumps {
        match loops.last_mut().filter(|before| first <= before.1) {
            Some(before) => before.1 = before.1.max(last),
            None => loops.push((first, last)),
        }
    }
    OncePerEntry { end_of_start, loops }
}
