//! Which sums an input visits, as a file has it: runs of numbers.
//!
//! A run of several numbers has only such as were not visited before, so that
//! what is read is never much longer than its bytes and the list of sums. Many
//! sequences over many sums can still be far longer than the state that holds
//! them: [`Reader`] bounds what all of them take.

use crate::error::{ErrorKind, Result};
use crate::limits::Limits;
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
    /// Which sums of a group a sequence visited so far; all `false` between two sequences.
    seen: Vec<bool>,
    /// Bytes that the sequences so far take in memory, and may take.
    taken: u64,
    limit: u64,
}

impl Reader {
    /// Sequences take no more memory than a state may be long.
    pub(super) fn new(limits: &Limits) -> Self {
        Self { seen: Vec::new(), taken: 0, limit: limits.inflated_bytes }
    }

    /// Reads what [`encode`] wrote.
    ///
    /// # Errors
    ///
    /// Truncated; malformed for numbers from `limit` on, and for a longer run of
    /// numbers that were there before; limit exceeded.
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
                return Err(from.malformed("an empty run, or a long one that comes again"));
            }
            self.taken += (len * size_of::<u32>()) as u64;
            if self.taken > self.limit {
                let what = "size of the sequences of records";
                return Err(ErrorKind::LimitExceeded { what, found: self.taken, limit: self.limit }.into());
            }
            run.fill(true);
            visits.extend((start..start + len).map(|at| at as u32));
        }
        // Not the whole list, which may be far longer than this sequence.
        visits.iter().for_each(|at| self.seen[*at as usize] = false);
        Ok(visits)
    }
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
