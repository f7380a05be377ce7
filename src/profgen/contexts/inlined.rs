//! The inlined functions at the addresses of samples.

use super::super::discriminator::probe_of;
use super::super::program::Program;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::sampleprof::{Frame, FunctionName, LineLocation, Names};
use std::ops::Range;

/// The functions at each address, outermost first. A frame has the place in its function, with the discriminator as debug
/// info has it.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Ascending.
    addresses: Vec<u64>,
    /// The chain of each address.
    of_address: Vec<u32>,
    chains: Vec<Vec<Frame>>,
    /// Positions of addresses that have other callers than the address before them, ascending.
    changes: Vec<usize>,
}

impl Places {
    /// Looks up addresses of instructions.
    ///
    /// # Errors
    ///
    /// Unable to correlate for damaged debug info; limit exceeded for too many inlined functions.
    pub(super) fn look_up(
        program: &Program<'_>,
        mut addresses: Vec<u64>,
        names: &mut Names,
        limits: &Limits,
    ) -> Result<Self> {
        addresses.sort_unstable();
        addresses.dedup();
        let most = usize::try_from(limits.inflated_bytes / 64).unwrap_or(usize::MAX);
        let unreadable = |error: Error| error.in_file(program.debug_path);
        let found = program.debug.inline_chains(&addresses, most).map_err(unreadable)?;
        let mut numbers = found.of_address.clone();
        numbers.sort_unstable();
        numbers.dedup();
        let mut chains = Vec::with_capacity(numbers.len());
        for number in &numbers {
            let named = found.chain(*number).map_while(|frame| {
                let name = frame.function.as_deref().filter(|name| !name.is_empty())?;
                let line = frame.line.wrapping_sub(frame.start_line) & 0xFFFF;
                let location = LineLocation::new(line, frame.discriminator);
                Some(Frame { function: names.insert(FunctionName::Text(program.frame_name(name))), location })
            });
            let mut frames: Vec<Frame> = named.collect();
            frames.reverse();
            chains.push(frames);
        }
        let position = |number: &u32| numbers.partition_point(|known| known < number) as u32;
        let of_address = found.of_address.iter().map(position).collect();
        let mut places = Self { addresses, of_address, chains, changes: Vec::new() };
        let changes = (1..places.addresses.len()).filter(|at| !places.have_same_callers(*at - 1, *at));
        places.changes = changes.collect();
        Ok(places)
    }

    /// The same functions, with the numbers of probes as lines.
    pub(super) fn with_probes(&self) -> Self {
        let probe = |frame: &Frame| {
            let location = LineLocation::new(probe_of(frame.location.discriminator), 0);
            Frame { location, ..*frame }
        };
        let chains = self.chains.iter().map(|chain| chain.iter().map(probe).collect()).collect();
        let (addresses, of_address) = (self.addresses.clone(), self.of_address.clone());
        Self { addresses, of_address, chains, changes: Vec::new() }
    }

    fn have_same_callers(&self, a: usize, b: usize) -> bool {
        let callers = |at: usize| self.frames_at(at).split_last().map(|(_, callers)| callers);
        callers(a).is_some() && callers(a) == callers(b)
    }

    /// The functions at the address of a position.
    pub(super) fn frames_at(&self, at: usize) -> &[Frame] {
        &self.chains[self.of_address[at] as usize]
    }

    /// The functions at an address. There are none if the address was not looked up.
    pub(super) fn frames(&self, address: u64) -> &[Frame] {
        self.addresses.binary_search(&address).map_or(&[], |at| self.frames_at(at))
    }

    /// The positions of the addresses from `begin` to `end`, both included.
    pub(super) fn positions(&self, begin: u64, end: u64) -> Range<usize> {
        let first = self.addresses.partition_point(|address| *address < begin);
        let rest = &self.addresses[first..];
        first..first + rest.partition_point(|address| *address <= end)
    }

    /// Divides a run of code into parts in which all addresses have the same callers. Returns first and last address of
    /// each, last part first.
    pub(super) fn parts(&self, begin: u64, end: u64) -> impl Iterator<Item = (u64, u64)> {
        let Range { start, end } = self.positions(begin, end);
        let first = self.changes.partition_point(|change| *change <= start);
        let last = self.changes.partition_point(|change| *change < end);
        let starts = self.changes[first.min(last)..last].iter().rev().copied().chain([start]);
        let mut last = end;
        starts.filter_map(move |start| {
            let part = (start < last).then(|| (self.addresses[start], self.addresses[last - 1]));
            last = start;
            part
        })
    }
}
