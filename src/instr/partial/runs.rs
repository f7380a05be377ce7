//! The sums that an input visits, encoded as runs of numbers.
//!
//! A run of several numbers contains only numbers that were not visited before, so the decoded form is at most about as
//! long as its bytes plus the list of sums. Many sequences over many sums can still be far longer than the state that
//! contains them; [`Reader`] limits their total.

use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::model::{FunctionRecord, RecordView, ValueCount, ValueKind};
use crate::partial::{Decoder, Encoder};

/// Writes numbers, each below `limit`.
pub(super) fn encode(visits: &[u32], limit: usize, out: &mut Encoder) {
    let mut seen = vec![false; limit];
    let mut runs: Vec<(u32, u32)> = Vec::new();
    let mut can_grow = false;
    for &at in visits {
        let is_new = !std::mem::replace(&mut seen[at as usize], true);
        match runs.last_mut() {
            Some((start, len)) if can_grow && is_new && start.wrapping_add(*len) == at => *len += 1,
            _ => runs.push((at, 1)),
        }
        can_grow = is_new;
    }
    out.list(runs.iter(), |out, (start, len)| {
        out.number((*start).into());
        out.number((*len).into());
    });
}

/// Reads the sequences of a state.
pub(super) struct Reader {
    /// The sums of a group that a sequence visited so far; all `false` between two sequences.
    seen: Vec<bool>,
    /// Memory that the sequences so far take in bytes, and its limit.
    taken: u64,
    limit: u64,
}

impl Reader {
    /// Creates a reader. Sequences take at most as much memory as a state may be long.
    pub(super) fn new(limits: &Limits) -> Self {
        Self { seen: Vec::new(), taken: 0, limit: limits.inflated_bytes }
    }

    /// Reads the output of [`encode`].
    ///
    /// # Errors
    ///
    /// Truncated; malformed for numbers of at least `limit`, and for a longer run of numbers that occurred before;
    /// limit exceeded.
    pub(super) fn decode(&mut self, limit: usize, from: &mut Decoder<'_>) -> Result<Vec<u32>> {
        if self.seen.len() < limit {
            self.seen.resize(limit, false);
        }
        let mut visits = Vec::new();
        for _ in 0..from.count("runs")? {
            let start = from.place("first record of a run", limit)?;
            let len = from.place("length of a run", limit - start + 1)?;
            let run = &mut self.seen[start..start + len];
            if len == 0 || (len > 1 && run.contains(&true)) {
                return Err(from.malformed("a run is empty, or is long and occurs twice"));
            }
            self.taken += (len * size_of::<u32>()) as u64;
            if self.taken > self.limit {
                let what = "size of the sequences of records";
                return Err(Error::above_limit(Some("inflated-bytes"), what, self.taken, self.limit));
            }
            run.fill(true);
            visits.extend((start..start + len).map(|at| at as u32));
        }
        // Resets only these entries: the whole list can be far longer than this sequence.
        visits.iter().for_each(|at| self.seen[*at as usize] = false);
        Ok(visits)
    }
}

// The value sites of one record, input by input.

/// Consecutive visits: 0 for a visit without values, otherwise 1 and, for each site of each kind, the number of values
/// and the values with their counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SiteLog(Vec<u8>);

impl SiteLog {
    /// Creates a log from the bytes of a file. [`SiteReader`] checks them.
    pub(super) fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Adds the sites of a visit.
    pub(super) fn push(&mut self, record: RecordView<'_>) {
        if ValueKind::EACH.into_iter().all(|kind| record.sites(kind).values_len() == 0) {
            self.0.push(0);
            return;
        }
        let mut out = Encoder::onto(std::mem::take(&mut self.0));
        out.number(1);
        for kind in ValueKind::EACH {
            for site in record.sites(kind).iter() {
                out.list(site.iter(), |out, seen| {
                    match kind.is_name() {
                        true => out.hash(seen.value),
                        false => out.number(seen.value),
                    }
                    out.number(seen.count);
                });
            }
        }
        self.0 = out.into_bytes();
    }

    pub(super) fn append(&mut self, later: Self) {
        if self.0.is_empty() { *self = later } else { self.0.extend_from_slice(&later.0) }
    }
}

/// Reads a log from its start.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SiteReader {
    position: usize,
}

impl SiteReader {
    /// Reads the sites of the next visit, `counts` of each kind.
    ///
    /// # Errors
    ///
    /// Truncated and malformed.
    pub(super) fn next(
        &mut self,
        log: &SiteLog,
        counts: [u32; ValueKind::COUNT],
        record: &mut FunctionRecord,
    ) -> Result<()> {
        let rest = log.0.get(self.position..).unwrap_or_default();
        let mut from = Decoder::of_sites(rest, self.position as u64);
        let has_values = from.place("mark of a visit", 2)? == 1;
        for kind in ValueKind::EACH {
            let (sites, count) = (record.sites_mut(kind), counts[kind as usize]);
            // A visit without values takes one byte, whatever the number of sites.
            if !has_values && sites.values_len() == 0 && sites.len() == count as usize {
                continue;
            }
            sites.clear();
            for _ in 0..count {
                for _ in 0..if has_values { from.count("values of a site")? } else { 0 } {
                    let value = if kind.is_name() { from.hash("value")? } else { from.number("value")? };
                    sites.push_value(ValueCount { value, count: from.number("count of a value")? });
                }
                sites.end_site();
            }
        }
        self.position += rest.len() - from.left();
        Ok(())
    }

    /// Returns true if the whole log was read.
    pub(super) fn is_at_end(&self, log: &SiteLog) -> bool {
        self.position == log.0.len()
    }
}

/// Checks that a log contains exactly the given number of visits.
///
/// # Errors
///
/// Truncated and malformed.
pub(super) fn check(log: &SiteLog, counts: [u32; ValueKind::COUNT], visits: u64) -> Result<()> {
    let mut reader = SiteReader::default();
    let mut record = FunctionRecord::default();
    for _ in 0..visits {
        reader.next(log, counts, &mut record)?;
    }
    if reader.is_at_end(log) { Ok(()) } else { Err(Error::malformed("more value sites than visits")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn visits_survive_the_round_trip(visits in prop::collection::vec(0u32..12, 0..30)) {
            let mut out = Encoder::default();
            encode(&visits, 12, &mut out);
            let bytes = out.into_bytes();
            let mut from = Decoder::new(&bytes);
            prop_assert_eq!(Reader::new(&Limits::default()).decode(12, &mut from).unwrap(), visits);
            from.end().unwrap();
        }
    }

    #[test]
    fn long_runs_come_once() {
        let read = |runs: &[u8]| Reader::new(&Limits::default()).decode(4, &mut Decoder::new(runs));
        assert_eq!(read(&[2, 0, 4, 3, 1]).unwrap(), [0, 1, 2, 3, 3]);
        assert!(read(&[2, 0, 4, 0, 4]).is_err());
        assert!(read(&[1, 0, 5]).is_err() && read(&[1, 4, 1]).is_err() && read(&[1, 0, 0]).is_err());
    }

    #[test]
    fn visits_are_cleared_for_each_sequence() {
        let (mut reader, whole) = (Reader::new(&Limits::default()), [1, 0, 4]);
        for _ in 0..3 {
            assert_eq!(reader.decode(4, &mut Decoder::new(&whole)).unwrap(), [0, 1, 2, 3]);
        }
    }

    #[test]
    fn all_sequences_together_are_bounded() {
        let mut limits = Limits::default();
        limits.inflated_bytes = 40;
        let (mut reader, whole) = (Reader::new(&limits), [1, 0, 4]);
        let mut next = || reader.decode(4, &mut Decoder::new(&whole));
        assert!(next().is_ok() && next().is_ok());
        let fault = next().unwrap_err().to_string();
        assert!(fault.contains("size of the sequences of records"), "{fault}");
    }
}
