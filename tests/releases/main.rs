//! Profiles of every release's compiler, used by every other release's compiler.
//!
//! A compiler looks functions up by name and hash, and drops what it does not
//! find; so it is not enough that a profile parses. `profbridge interop` compiles
//! with the genuine compilers: by default those of the releases in
//! [`compilers::FEW`], and with `PROFBRIDGE_RELEASES=all` those in
//! [`compilers::ALL`], some of which `install.sh` brings. Missing compilers are
//! skipped, loudly.

mod comparison;
mod compilers;
mod matrix;
mod passes;
mod rewriting;
mod rust;
mod toolchain;
