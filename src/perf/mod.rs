//! Recordings of Linux perf: their events, and the reader of `perf.data`.
//!
//! It knows nothing of profiles: stacks and sample profiles are made of these events above it.

mod attributes;
pub(crate) mod event;
pub(crate) mod features;
mod order;
pub(crate) mod processes;
mod reader;
mod records;
mod sections;
mod source;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod writer;

pub(crate) use attributes::{Attribute, events_in_words, is_event_named, no_event_named, several_events};
pub(crate) use reader::{Open, Recording, is_recording, read_recording};
