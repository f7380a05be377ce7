//! Memory profiles: files that programs and genuine tools wrote, the laws of
//! adding them up, and what tools and compilers of the machine make of ours.

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
