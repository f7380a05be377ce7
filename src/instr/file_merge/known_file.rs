//! A raw profile of a program that was seen before: only its counters and values are added.

use crate::driver::{InputReport, InputTurn};
use crate::error::Result;
use crate::instr::file_merge::images::{Known, Lookup};
use crate::instr::file_merge::state::{FileMerge, Sums};
use crate::instr::file_merge::values::{Ticket, ValueFile};
use crate::raw::{Image, ImageSum, PlausibleCounters, RawProfile};
use std::sync::Arc;

/// A raw profile of a known image. Its counts are added after its turn has passed.
pub(super) struct KnownFile<'d> {
    known: Arc<Known>,
    slide: u64,
    profile: RawProfile<'d>,
    counters: PlausibleCounters<'d>,
    /// Where the values of each shard begin.
    offsets: Vec<usize>,
    weight: u64,
}

impl<'d> KnownFile<'d> {
    /// Returns the profile if its image is known and all of it is valid.
    pub(super) fn find(
        merge: &FileMerge<'_>,
        data: &'d [u8],
        profile: &RawProfile<'d>,
        weight: u64,
        turn: &InputTurn<'_, Sums>,
    ) -> Option<Self> {
        let fingerprint = Image::fingerprint(profile);
        let candidates = loop {
            let found = merge.images()?.look_up(fingerprint, turn.place());
            match found {
                Lookup::Candidates(candidates) => break candidates,
                Lookup::Expected(place) => turn.wait_for_input(place).ok()?,
            }
        };
        let slide_of = |known: Arc<Known>| known.image().slide_of(profile).map(|slide| (known, slide));
        let (known, slide) = candidates.into_iter().find_map(slide_of)?;
        let counters = ImageSum::plausible(profile)?;
        if !ImageSum::can_hold(&counters, weight) {
            return None;
        }
        let offsets = known.image().find_values(data, profile, profile.compat(), known.values.starts())?;
        merge.images()?.met(&known);
        Some(Self { known, slide, profile: profile.clone(), counters, offsets, weight })
    }

    /// Adds the profile: its kind in its turn, its counts after it.
    pub(super) fn add(
        self,
        merge: &FileMerge<'_>,
        data: &[u8],
        turn: &mut InputTurn<'_, Sums>,
        report: &mut InputReport,
    ) -> Result<()> {
        let Self { known, slide, profile, counters, offsets, weight } = self;
        report.kind = Some(profile.kind());
        let sums = turn.wait()?;
        match profile.len() {
            0 => sums.merger.begin_without_records(profile.kind())?,
            _ => sums.merger.begin_named_input(profile.kind(), Some(&report.input.path))?,
        }
        report.records = profile.len() as u64;
        sums.bound = sums.bound.saturating_add(counters.bound().saturating_mul(weight));
        sums.has_image_sums = true;
        let ticket = (!known.values.is_empty()).then(|| {
            sums.restore_value_sites(Some(&known));
            if sums.values_out.is_none() {
                known.values.take_out(&mut sums.merger);
                sums.values_out = Some(Arc::clone(&known));
            }
            Ticket::new(&known.values)
        });
        sums.flush_evicted();
        turn.pass()?;
        known.add_counters(&counters, weight)?;
        if let Some(ticket) = ticket {
            let file = ValueFile { bytes: data, profile: &profile, slide, compat: profile.compat(), weight, offsets };
            merge.add_soft_errors(turn.place(), ticket.add(known.image(), &file));
        }
        Ok(())
    }
}
