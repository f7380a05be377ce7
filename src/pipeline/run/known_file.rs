//! A raw file whose image was met before: only its counts and values are added.

use super::images::{Known, Lookup};
use super::state::{Shared, Turn};
use super::values::ValueFile;
use crate::error::Result;
use crate::pipeline::merge::InputReport;
use crate::raw::{Image, ImageSum, PlausibleCounters, RawProfile};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A file of a known image, whose counts are added when the turn has passed on.
pub(super) struct KnownFile<'d> {
    known: Arc<Known>,
    slide: u64,
    profile: RawProfile<'d>,
    counters: PlausibleCounters<'d>,
    /// Where the values of each shard begin.
    offsets: Vec<usize>,
    /// The place among the files whose values are added.
    ticket: Option<usize>,
}

impl<'d> KnownFile<'d> {
    /// The file at place `at` of the list, if its image is known and all of it is
    /// as it has to be.
    pub(super) fn find(shared: &Shared<'_, '_>, data: &'d [u8], profile: &RawProfile<'d>, at: usize) -> Option<Self> {
        let fingerprint = Image::fingerprint(profile);
        let candidates = loop {
            let found = shared.images()?.look_up(fingerprint, at);
            match found {
                Lookup::Candidates(candidates) => break candidates,
                Lookup::Expected(place) => drop(shared.wait_for(place + 1)),
            }
            if shared.is_over.load(Ordering::Relaxed) {
                return None;
            }
        };
        let slide_of = |known: Arc<Known>| known.image().slide_of(profile).map(|slide| (known, slide));
        let (known, slide) = candidates.into_iter().find_map(slide_of)?;
        let counters = ImageSum::plausible(profile)?;
        let weight = shared.inputs[at].input.weight.get();
        if !ImageSum::can_hold(&counters, weight) {
            return None;
        }
        let offsets = known.image().find_values(data, profile, profile.compat(), known.values.starts())?;
        shared.images()?.met(&known);
        Some(Self { known, slide, profile: profile.clone(), counters, offsets, ticket: None })
    }

    /// Takes the file over in its turn.
    pub(super) fn take_over(mut self, turn: &mut Turn<'_, '_, '_>, report: &mut InputReport) -> Result<Self> {
        report.kind = Some(self.profile.kind());
        let is_over = &turn.shared.is_over;
        let state = turn.state();
        state.merger.begin_input(self.profile.kind())?;
        report.records = self.profile.len() as u64;
        state.bound = state.bound.saturating_add(self.counters.bound().saturating_mul(report.input.weight.get()));
        state.has_sums = true;
        if !self.known.values.is_empty() {
            state.bring_values_back(Some(&self.known), is_over);
            if state.values_out.is_none() {
                self.known.values.take_out(&mut state.merger);
                state.values_out = Some(Arc::clone(&self.known));
            }
            self.ticket = Some(self.known.values.let_in());
        }
        Ok(self)
    }

    /// Adds what the file, that of place `at` of the list, counted.
    pub(super) fn add(self, shared: &Shared<'_, '_>, data: &[u8], at: usize) {
        let Self { known, slide, profile, counters, offsets, ticket } = self;
        let weight = shared.inputs[at].input.weight.get();
        if known.add_counters(&counters, weight).is_err() {
            // The file was taken over already: without its counts there is no result.
            shared.lack_memory();
        }
        let Some(ticket) = ticket else { return };
        let compat = profile.compat();
        let values = ValueFile { bytes: data, profile: &profile, slide, compat, weight, offsets };
        let errors = known.values.add(known.image(), &values, ticket, &shared.is_over);
        if !errors.is_empty() {
            let errors = errors.into_iter().map(|(record, error)| (at, record, error));
            shared.wait_for(0).soft_errors.extend(errors);
        }
    }
}
