//! Memory profiles: files that programs and genuine tools wrote, the laws of
//! adding them up, and what tools and compilers of the machine make of ours.

mod files;
mod laws;
mod program;
mod tools;
