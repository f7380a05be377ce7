//! Standard output of reports and documents: its faults do not end a run, whose exit code is that of the work.

use profbridge::Error;
use std::io::{self, Write};
use std::sync::OnceLock;

/// The first fault of standard output.
static FAULT: OnceLock<io::Error> = OnceLock::new();

/// Takes all bytes; drops those behind the first fault. [`finish`](crate::finish) decides what the fault means.
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
        // Where another thread was quicker the first fault stays.
        let _ = FAULT.set(fault);
    }
}

/// Whether a part of what was printed reached nobody.
pub(crate) fn is_lost() -> bool {
    FAULT.get().is_some()
}

/// Why a run that did all else cannot succeed; a reader that left early is no reason.
pub(crate) fn fault() -> Option<Error> {
    let fault = FAULT.get().filter(|fault| fault.kind() != io::ErrorKind::BrokenPipe)?;
    let copy = fault.raw_os_error().map_or_else(|| fault.kind().into(), io::Error::from_raw_os_error);
    Some(Error::io("cannot write standard output", copy))
}
