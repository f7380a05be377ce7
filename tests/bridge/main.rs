//! Tests of the laws of the bridge between LLVM profiles and iprof.

mod documents;
mod helpers;
mod iprof_laws;
mod llvm_laws;
mod mixed;
mod profiles;
mod program;
mod tools;
mod trust;
