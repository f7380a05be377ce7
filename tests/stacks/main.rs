//! Sampled stacks, from the files in `testdata/`, and their pictures.

mod commands;
mod dialects;
mod events;
mod gates;
mod outline;
mod perf;
mod pictures;
mod recordings;
mod webdriver;
