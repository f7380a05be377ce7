//! The events of a recording: what was sampled, and which fields its samples have.

use crate::bytes::{Cursor, Endian};
use crate::call_chains::SamplingPeriod;
use crate::error::{Error, Result, Warning};
use foldhash::HashMap;
use std::collections::BTreeSet;

/// Bits of `sample_type`.
pub(super) mod field {
    pub(crate) const IP: u64 = 1 << 0;
    pub(crate) const TID: u64 = 1 << 1;
    pub(crate) const TIME: u64 = 1 << 2;
    pub(crate) const ADDR: u64 = 1 << 3;
    pub(crate) const READ: u64 = 1 << 4;
    pub(crate) const CALLCHAIN: u64 = 1 << 5;
    pub(crate) const ID: u64 = 1 << 6;
    pub(crate) const CPU: u64 = 1 << 7;
    pub(crate) const PERIOD: u64 = 1 << 8;
    pub(crate) const STREAM_ID: u64 = 1 << 9;
    pub(crate) const RAW: u64 = 1 << 10;
    pub(crate) const BRANCH_STACK: u64 = 1 << 11;
    pub(crate) const STACK_USER: u64 = 1 << 13;
    pub(crate) const IDENTIFIER: u64 = 1 << 16;
}

/// Bits of `branch_sample_type`.
mod branch {
    pub(super) const ANY: u64 = 1 << 3;
    pub(super) const CALL_STACK: u64 = 1 << 11;
    pub(super) const HW_INDEX: u64 = 1 << 17;
}

/// A bit of `read_format`: a sample has the values of all events of its group.
pub(super) const GROUP_VALUES: u64 = 1 << 3;

const FLAG_FREQUENCY: u32 = 10;
const FLAG_SAMPLE_ID_ALL: u32 = 18;

/// The size of the first version of the structure.
pub(super) const LEAST_BYTES: u64 = 64;

/// The most events of a recording.
const MOST_EVENTS: usize = 65_536;
/// The most ids of all events: one for each event, CPU and thread.
const MOST_IDS: usize = 1 << 24;

/// An event of a recording (`perf_event_attr`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Attribute {
    /// Its name, such as `cycles:u`; empty if the recording does not have it.
    pub(crate) name: String,
    kind: u32,
    config: u64,
    period: u64,
    flags: u64,
    /// The fields of a sample.
    pub(super) sample_type: u64,
    /// The values of the field READ.
    pub(super) read_format: u64,
    branch_sample_type: u64,
}

impl Attribute {
    /// Reads the structure, whose tail can be missing.
    ///
    /// # Errors
    ///
    /// Truncated below the size of the first version.
    pub(super) fn read(bytes: &[u8], offset: u64, endian: Endian) -> Result<Self> {
        if (bytes.len() as u64) < LEAST_BYTES {
            return Err(Error::truncated("event attribute", LEAST_BYTES, bytes.len() as u64).at("attributes", offset));
        }
        let mut cursor = Cursor::new(bytes, offset, endian, "attributes");
        let kind = cursor.u32("type")?;
        cursor.u32("size")?;
        let (config, period) = (cursor.u64("config")?, cursor.u64("sample_period")?);
        let (sample_type, read_format) = (cursor.u64("sample_type")?, cursor.u64("read_format")?);
        let flags = cursor.u64("flags")?;
        // Bit fields begin at the other end of the word.
        let flags = if endian == Endian::Big { flags.reverse_bits() } else { flags };
        cursor.take("wakeup", 16)?;
        let has_branches = cursor.left() >= 16;
        let branch_sample_type = if has_branches {
            cursor.u64("config2")?;
            cursor.u64("branch_sample_type")?
        } else {
            0
        };
        let name = String::new();
        Ok(Self { name, kind, config, period, flags, sample_type, read_format, branch_sample_type })
    }

    /// Returns true if samples have the values of all events of a group, such as `{cycles,faults}:S`.
    pub(crate) fn has_group_values(&self) -> bool {
        self.has(field::READ) && self.read_format & GROUP_VALUES != 0
    }

    /// The name, also of an event whose name the recording does not have.
    pub(crate) fn display_name(&self) -> String {
        if !self.name.is_empty() {
            return self.name.clone();
        }
        let hardware = [
            "cycles",
            "instructions",
            "cache-references",
            "cache-misses",
            "branches",
            "branch-misses",
            "bus-cycles",
            "stalled-cycles-frontend",
            "stalled-cycles-backend",
            "ref-cycles",
        ];
        let software = [
            "cpu-clock",
            "task-clock",
            "page-faults",
            "context-switches",
            "cpu-migrations",
            "minor-faults",
            "major-faults",
            "alignment-faults",
            "emulation-faults",
            "dummy",
            "bpf-output",
            "cgroup-switches",
        ];
        let names: &[&str] = match self.kind {
            0 => &hardware,
            1 => &software,
            _ => &[],
        };
        let known = usize::try_from(self.config).ok().and_then(|at| names.get(at));
        known.map_or_else(|| format!("type {} config {:#x}", self.kind, self.config), |name| (*name).to_string())
    }

    /// Whether samples have this field.
    pub(super) fn has(&self, field: u64) -> bool {
        self.sample_type & field != 0
    }

    fn flag(&self, bit: u32) -> bool {
        self.flags >> bit & 1 != 0
    }

    /// Whether the other records have the fields that identify a sample.
    pub(super) fn has_trailer(&self) -> bool {
        self.flag(FLAG_SAMPLE_ID_ALL)
    }

    /// The period of a sample that does not have one.
    pub(super) fn default_period(&self) -> u64 {
        if self.flag(FLAG_FREQUENCY) { 1 } else { self.period.max(1) }
    }

    /// The distance between two samples: a time if there is a frequency, or the event is a clock.
    fn sampling_period(&self) -> Option<SamplingPeriod> {
        let is_clock = self.kind == 1 && self.config < 2;
        match (self.flag(FLAG_FREQUENCY), is_clock) {
            (true, _) => 1_000_000_000u64.checked_div(self.period).map(SamplingPeriod::Nanoseconds),
            (false, true) => Some(SamplingPeriod::Nanoseconds(self.period)),
            (false, false) => Some(SamplingPeriod::Events(self.period)),
        }
    }

    /// Whether samples have call chains.
    pub(crate) fn has_call_chains(&self) -> bool {
        self.has(field::CALLCHAIN)
    }

    /// Whether samples have a copy of the stack of the process, instead of its call chain.
    pub(crate) fn has_user_stack(&self) -> bool {
        self.has(field::STACK_USER)
    }

    /// Whether samples have branch records.
    pub(crate) fn has_branches(&self) -> bool {
        self.has(field::BRANCH_STACK)
    }

    /// Whether the branch records have every taken branch, so that code ran straight between two of them.
    pub(crate) fn has_all_branches(&self) -> bool {
        self.branch_sample_type & (branch::ANY | branch::CALL_STACK) == branch::ANY
    }

    /// Whether a branch stack begins with the index of the hardware.
    pub(super) fn has_hardware_index(&self) -> bool {
        self.branch_sample_type & branch::HW_INDEX != 0
    }
}

/// Returns true if an event has a name, with or without its modifiers, such as `:u`.
pub(crate) fn is_event_named(event: &str, wanted: &str) -> bool {
    let event = event.trim();
    event == wanted || event.split(':').next() == Some(wanted)
}

/// The error for a name that no event has.
pub(crate) fn no_event_named(wanted: &str, events: &[String]) -> Error {
    let error = Error::usage(format!("there is no event {wanted}"));
    if events.iter().all(String::is_empty) {
        return error.with_hint("the input has no names of events: pass perf.data, or print them with `perf script`");
    }
    error.with_hint(format!("events: {}", events.join(", ")))
}

/// The warning about samples of several events.
pub(crate) fn several_events(events: &[String]) -> Option<Warning> {
    let message = || format!("samples of several events are added up: {}", events.join(", "));
    (events.len() > 1).then(|| Warning::new(message()))
}

/// Returns the events of a recording in one text, without modifiers: `cpu-clock, page-faults`. Empty without names.
pub(crate) fn events_in_words(events: &[String]) -> String {
    const MODIFIERS: &str = "ukhGHIpPSDWeb";
    let without_modifiers = |name: &String| match name.rsplit_once(':') {
        Some((event, modifiers)) if modifiers.chars().all(|letter| MODIFIERS.contains(letter)) => event.to_string(),
        _ => name.trim().to_string(),
    };
    let names: BTreeSet<String> = events.iter().map(without_modifiers).filter(|name| !name.is_empty()).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// All events of a recording, and the ids by which records refer to them.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    list: Vec<Attribute>,
    by_id: HashMap<u64, usize>,
}

impl Attributes {
    /// The events in order.
    pub(crate) fn list(&self) -> &[Attribute] {
        &self.list
    }

    /// Returns the names of the events.
    pub(crate) fn names(&self) -> Vec<String> {
        self.list.iter().map(Attribute::display_name).collect()
    }

    /// Returns the places of the events with a name, with or without their modifiers.
    pub(crate) fn find_named(&self, wanted: &str) -> Vec<usize> {
        (0..self.list.len()).filter(|at| is_event_named(&self.list[*at].display_name(), wanted)).collect()
    }

    /// Returns the sampling period, if it is the same for all these events. Two clocks sample the same time twice.
    pub(crate) fn common_period(&self, events: &BTreeSet<usize>) -> Option<SamplingPeriod> {
        let mut periods = events.iter().map(|at| self.list.get(*at)?.sampling_period());
        let first = periods.next()??;
        let is_clock = matches!(first, SamplingPeriod::Nanoseconds(_));
        periods.all(|other| other == Some(first) && !is_clock).then_some(first)
    }

    /// Adds an event and its ids.
    ///
    /// # Errors
    ///
    /// Limit exceeded for too many events or ids.
    pub(super) fn add(&mut self, attribute: Attribute, ids: impl Iterator<Item = u64>) -> Result<()> {
        let at = self.list.len();
        if at >= MOST_EVENTS {
            let what = "number of events of a recording";
            return Err(Error::above_limit(None, what, at as u64 + 1, MOST_EVENTS as u64));
        }
        self.list.push(attribute);
        for id in ids {
            self.by_id.insert(id, at);
            if self.by_id.len() > MOST_IDS {
                let (what, found) = ("number of event ids of a recording", self.by_id.len() as u64);
                return Err(Error::above_limit(None, what, found, MOST_IDS as u64));
            }
        }
        Ok(())
    }

    /// Names the event that has an id.
    pub(super) fn name(&mut self, id: u64, name: &str) {
        if let Some(attribute) = self.by_id.get(&id).and_then(|at| self.list.get_mut(*at)) {
            attribute.name = name.to_string();
        }
    }

    /// Names the event at a place in the list.
    pub(super) fn name_at(&mut self, at: usize, name: &str) {
        if let Some(attribute) = self.list.get_mut(at).filter(|attribute| attribute.name.is_empty()) {
            attribute.name = name.to_string();
        }
    }

    /// The event of an id; `None` for an unknown one.
    pub(super) fn find(&self, id: u64) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// An event by its place.
    pub(super) fn get(&self, at: usize) -> Option<&Attribute> {
        self.list.get(at)
    }
}
