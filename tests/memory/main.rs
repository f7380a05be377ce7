//! Measures the memory of each command with the allocator. docs/limits.md states the bounds, for valid and hostile
//! inputs.

mod allocator;
mod bounds;
mod commands;
mod inputs;
mod merges;
mod programs;
mod recordings;
mod refused;

use profbridge::Result;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One thread, because each thread has its own buffers.
const ONE: Option<NonZeroUsize> = Some(NonZeroUsize::MIN);

/// The file extension of the program that wrote an input.
const PROGRAM: &str = "program";

type Command = fn(&Path) -> Result<()>;

fn out(input: &Path) -> PathBuf {
    input.with_extension("out")
}

/// Runs one test at a time, because all share the counter.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
