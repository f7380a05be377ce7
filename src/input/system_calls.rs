//! The system calls of input and output as separate steps, so that tests can make each of them fail.

use std::fs::File;
use std::io;
#[cfg(test)]
use std::io::{Read, Write};

/// A kind of system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code))]
pub(crate) enum Step {
    Open,
    Read,
    Create,
    Write,
    Permissions,
    Sync,
    Link,
    Rename,
}

/// Makes a call that cannot be interrupted or done in part.
#[cfg_attr(not(test), allow(unused_variables))]
pub(super) fn step<T>(step: Step, take: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    #[cfg(test)]
    faults::before(step, 1)?;
    take()
}

/// Wraps an opened file for reading.
#[cfg(not(test))]
pub(super) fn reading(file: File) -> File {
    file
}

/// Returns the writer of an output file.
#[cfg(not(test))]
pub(super) fn writing(file: &File) -> io::Result<File> {
    file.try_clone()
}

#[cfg(test)]
pub(super) fn reading(file: File) -> FaultInjectingFile {
    FaultInjectingFile(file)
}

#[cfg(test)]
pub(super) fn writing(file: &File) -> io::Result<FaultInjectingFile> {
    file.try_clone().map(FaultInjectingFile)
}

/// A file whose reads and writes are steps.
#[cfg(test)]
pub(super) struct FaultInjectingFile(File);

#[cfg(test)]
impl Read for FaultInjectingFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = faults::before(Step::Read, buffer.len())?;
        self.0.read(&mut buffer[..len])
    }
}

#[cfg(test)]
impl Write for FaultInjectingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = faults::before(Step::Write, bytes.len())?;
        self.0.write(&bytes[..len])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Fault injection.
#[cfg(test)]
pub(crate) mod faults {
    use super::Step;
    use std::cell::Cell;
    use std::io;

    /// The kind of fault.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Fault {
        /// A signal interrupts the call, which must be repeated.
        Interrupted,
        /// Fewer bytes than requested.
        Short,
        /// The device fails.
        Device,
        /// The disk is full.
        Full,
    }

    impl Fault {
        pub(crate) const ALL: [Self; 4] = [Self::Interrupted, Self::Short, Self::Device, Self::Full];

        /// Returns true if the program recovers from this fault.
        pub(crate) fn is_skipped(self, step: Step) -> bool {
            matches!(self, Self::Interrupted | Self::Short) && matches!(step, Step::Read | Step::Write)
        }
    }

    thread_local! {
        static PLAN: Cell<Option<(usize, Option<Fault>)>> = const { Cell::new(None) };
        static TAKEN: Cell<(usize, Option<Step>)> = const { Cell::new((0, None)) };
    }

    /// Runs `work` with a fault at the given step (counted from 0). Returns that step, `None` if there are fewer, and
    /// the number of steps. Only steps of this thread count.
    pub(crate) fn at<T>(number: usize, fault: Option<Fault>, work: impl FnOnce() -> T) -> (T, Option<Step>, usize) {
        PLAN.set(Some((number, fault)));
        TAKEN.set((0, None));
        let done = work();
        PLAN.set(None);
        let (taken, hit) = TAKEN.get();
        (done, hit, taken)
    }

    /// Returns how much of `len` the next step can do.
    pub(super) fn before(step: Step, len: usize) -> io::Result<usize> {
        let Some((number, fault)) = PLAN.get() else { return Ok(len) };
        let (taken, hit) = TAKEN.get();
        let is_hit = taken == number;
        TAKEN.set((taken + 1, if is_hit { Some(step) } else { hit }));
        // The error numbers of Linux.
        match fault.filter(|_| is_hit) {
            None => Ok(len),
            Some(Fault::Interrupted) if Fault::Interrupted.is_skipped(step) => Err(io::ErrorKind::Interrupted.into()),
            Some(Fault::Short) => Ok(len.min(1)),
            Some(Fault::Full) => Err(io::Error::from_raw_os_error(28)),
            Some(Fault::Device | Fault::Interrupted) => Err(io::Error::from_raw_os_error(5)),
        }
    }
}
