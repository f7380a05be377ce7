//! Memory of each command as a function of the input's size, by the allocator's
//! own count: docs/limits.md states the bounds, for honest and hostile inputs.

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

/// One thread: each further one has buffers of its own.
const ONE: Option<NonZeroUsize> = Some(NonZeroUsize::MIN);

/// The ending of the program that wrote an input.
const PROGRAM: &str = "program";

type Command = fn(&Path) -> Result<()>;

fn out(input: &Path) -> PathBuf {
    input.with_extension("out")
}

/// One test at a time: all share the count.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
