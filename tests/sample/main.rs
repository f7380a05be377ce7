//! Sampled stacks, from the files in `testdata/`, and their pictures.

mod pictures;
mod recordings;
mod webdriver;
