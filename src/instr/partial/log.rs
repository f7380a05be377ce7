//! The value sites of one record, input by input.

use crate::error::{Error, Result};
use crate::model::{FunctionRecord, RecordView, ValueCount, ValueKind};
use crate::partial::{Decoder, Encoder};

/// Visits one after the other, each a 0 when it brought no values, else a 1 and,
/// for each site of each kind, the number of values and the values with their counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SiteLog(Vec<u8>);

impl SiteLog {
    /// Takes over a log as it is in a file; [`SiteReader`] will check it.
    pub(super) fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Adds the sites of a visit.
    pub(super) fn push(&mut self, record: RecordView<'_>) {
        if ValueKind::ALL.into_iter().all(|kind| record.sites(kind).values_len() == 0) {
            self.0.push(0);
            return;
        }
        let mut out = Encoder::onto(std::mem::take(&mut self.0));
        out.number(1);
        for kind in ValueKind::ALL {
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
    /// Fills in the sites of the next visit, as many of each kind as `counts`.
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
        for kind in ValueKind::ALL {
            let (sites, count) = (record.sites_mut(kind), counts[kind as usize]);
            // A visit without values takes one byte, however many the sites are.
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

    /// Whether all of a log was read.
    pub(super) fn is_at_end(&self, log: &SiteLog) -> bool {
        self.position == log.0.len()
    }
}

/// Checks that a log has so many visits and nothing else.
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
