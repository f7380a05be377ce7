//! Tests of memory profiles: files of real programs and tools, laws of merging, and the installed tools and compilers
//! with our files.

mod damaged;
mod documents;
mod files;
mod laws;
mod losses;
mod opening;
mod program;
mod programs;
mod syntax;
mod tools;
