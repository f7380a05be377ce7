//! Sampled stacks, from the files in `testdata/`, and their pictures.

mod commands;
mod dialects;
mod drawing;
mod gates;
mod outline;
mod perf;
mod recordings;
mod webdriver;
