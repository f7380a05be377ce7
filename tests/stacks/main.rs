//! Sampled stacks, from the files in `testdata/`, and their pictures.

mod commands;
mod pictures;
mod recordings;
mod webdriver;
