//! Sorts records by time.
//!
//! Each CPU has its own buffer, so records of different CPUs come in any order. perf marks the moment when all buffers
//! were emptied once (a finished round). Records older than the previous round can then be delivered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// The maximum bytes of waiting records. Above it, the oldest are delivered.
const MOST_BYTES: usize = 256 << 20;
/// The minimum number of dropped bytes before the others are moved.
const LEAST_DEAD: usize = 1 << 20;

/// The position of a waiting record: its bytes, and its offset in the file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Waiting {
    time: u64,
    number: u64,
    start: usize,
    len: usize,
    /// The offset of the record in the file.
    pub(super) offset: u64,
}

impl Waiting {
    fn range(&self) -> Range<usize> {
        self.start..self.start + self.len
    }
}

/// Records that wait for earlier ones.
#[derive(Debug, Default)]
pub(super) struct Queue {
    heap: BinaryHeap<Reverse<Waiting>>,
    bytes: Vec<u8>,
    live: usize,
    number: u64,
    newest: u64,
    /// The latest time in the previous round.
    round: u64,
    /// All records up to this time can be delivered.
    due: u64,
    delivered: u64,
    /// The number of records that are older than an already delivered one.
    pub(super) late: u64,
}

impl Queue {
    /// Adds a record.
    pub(super) fn push(&mut self, time: u64, record: &[u8], offset: u64) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record);
        self.live += record.len();
        self.number += 1;
        self.newest = self.newest.max(time);
        self.late += u64::from(time < self.delivered);
        self.heap.push(Reverse(Waiting { time, number: self.number, start, len: record.len(), offset }));
    }

    /// Handles a finished round.
    pub(super) fn finish_round(&mut self) {
        self.due = self.due.max(self.round);
        self.round = self.newest;
    }

    /// Handles the end of the recording.
    pub(super) fn finish(&mut self) {
        self.due = u64::MAX;
    }

    /// Returns true if too many bytes are waiting.
    pub(super) fn is_full(&self) -> bool {
        self.live > MOST_BYTES
    }

    /// Returns the oldest record that can be delivered. [`bytes`](Self::bytes) returns its content.
    pub(super) fn pop(&mut self) -> Option<Waiting> {
        let is_full = self.is_full();
        let is_due = |waiting: &Waiting| waiting.time <= self.due;
        if !self.heap.peek().is_some_and(|Reverse(first)| is_full || is_due(first)) {
            self.compact();
            return None;
        }
        let Reverse(first) = self.heap.pop()?;
        self.live -= first.len;
        self.delivered = first.time;
        Some(first)
    }

    /// Returns the content of a record. It is valid until the next call of `pop` or `push`.
    pub(super) fn bytes(&self, waiting: &Waiting) -> &[u8] {
        self.bytes.get(waiting.range()).unwrap_or_default()
    }

    /// Drops the bytes of delivered records.
    fn compact(&mut self) {
        let dead = self.bytes.len() - self.live;
        if dead < LEAST_DEAD || dead < self.live {
            return;
        }
        let mut waiting = std::mem::take(&mut self.heap).into_vec();
        waiting.sort_unstable_by_key(|Reverse(record)| record.start);
        let mut end = 0;
        for Reverse(record) in &mut waiting {
            self.bytes.copy_within(record.range(), end);
            record.start = end;
            end += record.len;
        }
        self.bytes.truncate(end);
        self.heap = waiting.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(queue: &mut Queue) -> Vec<u8> {
        let mut found = Vec::new();
        while let Some(waiting) = queue.pop() {
            found.extend_from_slice(queue.bytes(&waiting));
        }
        found
    }

    #[test]
    fn a_round_delivers_records_up_to_the_round_before() {
        let mut queue = Queue::default();
        for (time, byte) in [(5, 5), (3, 3)] {
            queue.push(time, &[byte], 0);
        }
        queue.finish_round();
        assert!(drain(&mut queue).is_empty());
        for (time, byte) in [(9, 9), (4, 4), (5, 6)] {
            queue.push(time, &[byte], 0);
        }
        queue.finish_round();
        assert_eq!(drain(&mut queue), [3, 4, 5, 6]);
        queue.push(1, &[1], 0);
        assert_eq!(queue.late, 1);
        queue.finish();
        assert_eq!(drain(&mut queue), [1, 9]);
    }

    #[test]
    fn delivered_bytes_are_dropped() {
        let mut queue = Queue::default();
        let record = [7; 4096];
        for time in 1..=1000 {
            queue.push(time, &record, 0);
            queue.finish_round();
            while let Some(waiting) = queue.pop() {
                assert_eq!(queue.bytes(&waiting), record);
            }
        }
        assert!(queue.bytes.len() < 3 * LEAST_DEAD, "{}", queue.bytes.len());
    }
}
