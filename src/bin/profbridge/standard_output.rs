//! Standard output for reports and documents. Its errors do not end the run, so that the exit code remains that of the
//! command.

use profbridge::Error;
use std::io::{self, Write};
use std::sync::OnceLock;

/// The first error of standard output.
static FAULT: OnceLock<io::Error> = OnceLock::new();

/// Accepts all bytes and drops those after the first error. [`finish`](crate::finish) decides what the error means.
pub(crate) struct StandardOutput;

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        note(|stdout| stdout.write_all(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        note(Write::flush);
        Ok(())
    }
}

fn note(step: impl FnOnce(&mut io::Stdout) -> io::Result<()>) {
    if !is_lost()
        && let Err(fault) = step(&mut io::stdout())
    {
        // If another thread stored an error first, that one is kept.
        let _ = FAULT.set(fault);
    }
}

/// Returns true if some output was lost.
pub(crate) fn is_lost() -> bool {
    FAULT.get().is_some()
}

/// Returns the error that makes an otherwise successful run fail. A reader that left early is not such an error.
pub(crate) fn fault() -> Option<Error> {
    let fault = FAULT.get().filter(|fault| fault.kind() != io::ErrorKind::BrokenPipe)?;
    let copy = fault.raw_os_error().map_or_else(|| fault.kind().into(), io::Error::from_raw_os_error);
    Some(Error::io("cannot write standard output", copy))
}
