//! Recordings of Linux perf (`perf.data`), read without perf.
//!
//! ```text
//! perf::read_recording ──▶ samples: stacks of places (file, offset), counted
//!                              │ at the end, so that build ids after the records serve
//!                              ▼
//!          symbols: programs, kernel, generated code ──▶ StackTable
//! ```
//!
//! The functions are those that `perf script` prints for the same recording; with debug info, functions that were
//! inlined come in addition.

mod describe;
mod kernel;
#[cfg(feature = "correlate")]
mod program;
mod samples;
mod symbols;

pub(crate) use describe::describe;
pub use symbols::PerfOptions;

use crate::call_chains::{SAMPLES, Sample, SampleKey, SampleSource, StackTable, Unit};
use crate::digits::number_of;
use crate::error::{Result, Warning};
use crate::limits::Limits;
use crate::perf::{Open, Recording, events_in_words, no_event_named, read_recording, several_events};
use samples::Collected;

/// The name of the format.
pub(crate) const FORMAT: &str = "perf recording";

/// Adds the samples of a recording to `table`.
///
/// `event` selects one event by its name; `NAME/period` counts by period instead of samples. Default: the samples of all
/// events.
///
/// # Errors
///
/// The errors of [`read_recording`]; usage for an event that the recording does not have; limit exceeded for stacks deeper
/// than [`Limits::context_depth`].
pub(crate) fn read_perf_data(
    open: &Open<'_>,
    options: &PerfOptions,
    event: Option<&str>,
    limits: &Limits,
    table: &mut StackTable,
) -> Result<Vec<Warning>> {
    let mut collected = Collected::default();
    let recording = read_recording(open, limits, &mut |_, event| collected.add(event, limits))
        .map_err(|error| error.in_format(FORMAT))?;
    let choice = EventChoice::new(event, &recording)?;
    collected.keep(|sample| choice.takes(sample));
    let used = used_events(&recording, &choice);
    let mut warnings = warnings_of(&recording);
    warnings.extend(several_events(&used).filter(|_| choice.events.is_empty()));
    let events = events_in_words(&used);
    table.observed.add_events(events.clone());
    let (stacks, missing) = symbols::resolve(&collected, &recording, options, limits, table)?;
    warnings.extend(missing);
    if collected.processes.forgotten > 0 {
        let processes = number_of(collected.processes.forgotten, "process");
        warnings.push(Warning::new(format!("{processes} without the mappings of the parent: there are too many")));
    }
    let mut without_stack = 0u64;
    for sample in collected.samples() {
        let hits = if choice.by_period { sample.period } else { sample.count };
        let Some(stack) = sample.stack.and_then(|stack| stacks.get(stack as usize).copied()) else {
            without_stack += sample.count;
            continue;
        };
        let thread = table.intern_thread(collected.processes.name_of(sample.command));
        let key = SampleKey { thread: Some(thread), ..SampleKey::of_stack(stack) };
        table.add_sample(Sample { key, hits, events: sample.count });
    }
    let observed = &mut table.observed;
    observed.samples_without_stack = observed.samples_without_stack.saturating_add(without_stack);
    observed.samples_lost = observed.samples_lost.saturating_add(recording.counts.lost);
    observed.duration_nanos = observed.duration_nanos.saturating_add(collected.duration());
    observed.parts += 1;
    observed.parts_cut += u64::from(recording.counts.stopped.is_some());
    observed.lacks_unwinding |= has_stack_copies(&recording);
    observed.add_source(FORMAT);
    observed.add_unit(SampleSource::Unknown, choice.unit);
    if choice.unit == Unit::Hits {
        observed.add_value(if choice.by_period { &events } else { SAMPLES });
    }
    let numbers = collected.samples().iter().map(|sample| sample.event as usize).collect();
    let period = recording.attributes.common_period(&numbers).filter(|_| !choice.by_period);
    period.into_iter().for_each(|period| observed.add_period(SampleSource::Unknown, period));
    Ok(warnings)
}

/// Which samples count, and by what.
struct EventChoice {
    /// The places of the events; all if there are none.
    events: Vec<usize>,
    by_period: bool,
    unit: Unit,
}

impl EventChoice {
    fn new(event: Option<&str>, recording: &Recording) -> Result<Self> {
        let Some(wanted) = event else {
            return Ok(Self { events: Vec::new(), by_period: false, unit: Unit::Hits });
        };
        let attributes = &recording.attributes;
        let (mut events, mut by_period, mut name) = (attributes.find_named(wanted), false, wanted);
        if let Some(short) = wanted.strip_suffix("/period").filter(|_| events.is_empty()) {
            (events, by_period, name) = (attributes.find_named(short), true, short);
        }
        if events.is_empty() {
            return Err(no_event_named(name, &attributes.names()));
        }
        let is_clock = ["cpu-clock", "task-clock"].contains(&name.split(':').next().unwrap_or(name));
        let unit = if by_period && is_clock { Unit::Nanoseconds } else { Unit::Hits };
        Ok(Self { events, by_period, unit })
    }

    fn takes(&self, sample: &samples::Counted) -> bool {
        self.events.is_empty() || self.events.contains(&(sample.event as usize))
    }
}

fn has_stack_copies(recording: &Recording) -> bool {
    recording.attributes.list().iter().any(|event| event.has_user_stack())
}

/// Returns the names of the events that have samples, as far as they were chosen.
fn used_events(recording: &Recording, choice: &EventChoice) -> Vec<String> {
    let is_used = |at: &usize| {
        let has_samples = recording.counts.samples.get(*at).is_some_and(|count| *count > 0);
        has_samples && (choice.events.is_empty() || choice.events.contains(at))
    };
    let events = recording.attributes.list();
    (0..events.len()).filter(is_used).map(|at| events[at].display_name().trim().to_string()).collect()
}

/// Returns the warnings about a recording.
fn warnings_of(recording: &Recording) -> Vec<Warning> {
    let mut warnings = recording.counts.warnings();
    if recording.attributes.list().iter().filter(|event| event.has_group_values()).count() > 1 {
        let message = "samples have the values of other events of their group (:S), which are not read";
        warnings.push(Warning::of_loss(message));
    }
    if recording.features.is_directory {
        warnings.push(Warning::of_loss("the other files of the recording's directory are not read"));
    }
    if has_stack_copies(recording) {
        let message =
            "call chains of programs are missing: they were recorded as copies of the stack, which are not unwound";
        warnings.push(Warning::of_loss(message));
    }
    warnings
}

#[cfg(test)]
mod tests;
