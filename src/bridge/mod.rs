//! The bridge between the LLVM model and iprof, both ways.

pub mod samples;
