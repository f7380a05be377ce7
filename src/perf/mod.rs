//! Recordings of Linux perf: their events, and the reader of `perf.data`.
//!
//! It knows nothing of profiles: stacks and sample profiles are made of these events above it.

pub(crate) mod event;
