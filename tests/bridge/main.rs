//! The bridge between LLVM profiles and iprof, judged by its laws.

mod documents;
mod helpers;
mod iprof_laws;
mod llvm_laws;
mod mixed;
mod profiles;
mod program;
mod tools;
mod trust;
