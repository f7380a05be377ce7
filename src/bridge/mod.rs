//! The bridge between the LLVM model and iprof, both ways.
