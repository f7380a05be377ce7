//! Sampled stacks, from the files in `testdata/`.

mod recordings;
