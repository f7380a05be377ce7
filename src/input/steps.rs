//! The steps that input and output ask of the system, one by one, so that tests
//! can let each of them fail.

use std::fs::File;
use std::io;
#[cfg(test)]
use std::io::{Read, Write};

/// What is asked of the system.
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

/// Takes a step that cannot be interrupted or done in part.
#[cfg_attr(not(test), allow(unused_variables))]
pub(super) fn step<T>(step: Step, take: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    #[cfg(test)]
    faults::before(step, 1)?;
    take()
}

/// The bytes of an opened file.
#[cfg(not(test))]
pub(super) fn reading(file: File) -> File {
    file
}

/// What an output is written to.
#[cfg(not(test))]
pub(super) fn writing(file: &mut File) -> &mut File {
    file
}

#[cfg(test)]
pub(super) fn reading(file: File) -> FaultInjectingFile<File> {
    FaultInjectingFile(file)
}

#[cfg(test)]
pub(super) fn writing(file: &mut File) -> FaultInjectingFile<&mut File> {
    FaultInjectingFile(file)
}

/// A file whose reads and writes are steps.
#[cfg(test)]
pub(super) struct FaultInjectingFile<F>(F);

#[cfg(test)]
impl Read for FaultInjectingFile<File> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = faults::before(Step::Read, buffer.len())?;
        self.0.read(&mut buffer[..len])
    }
}

#[cfg(test)]
impl Write for FaultInjectingFile<&mut File> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = faults::before(Step::Write, bytes.len())?;
        self.0.write(&bytes[..len])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Letting steps fail.
#[cfg(test)]
pub(crate) mod faults {
    use super::Step;
    use std::cell::Cell;
    use std::io;

    /// What goes wrong.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Fault {
        /// A signal comes first; the step has to be taken again.
        Interrupted,
        /// Fewer bytes than asked for.
        Short,
        /// The device fails.
        Device,
        /// There is no room.
        Full,
    }

    impl Fault {
        pub(crate) const ALL: [Self; 4] = [Self::Interrupted, Self::Short, Self::Device, Self::Full];

        /// Whether the program gets over it.
        pub(crate) fn is_skipped(self, step: Step) -> bool {
            matches!(self, Self::Interrupted | Self::Short) && matches!(step, Step::Read | Step::Write)
        }
    }

    thread_local! {
        static PLAN: Cell<Option<(usize, Option<Fault>)>> = const { Cell::new(None) };
        static TAKEN: Cell<(usize, Option<Step>)> = const { Cell::new((0, None)) };
    }

    /// Runs `work`, whose step of that number (from 0) goes wrong so; says which
    /// step it was, `None` when there are fewer, and how many were taken. Counts
    /// the steps of this thread alone.
    pub(crate) fn at<T>(number: usize, fault: Option<Fault>, work: impl FnOnce() -> T) -> (T, Option<Step>, usize) {
        PLAN.set(Some((number, fault)));
        TAKEN.set((0, None));
        let done = work();
        PLAN.set(None);
        let (taken, hit) = TAKEN.get();
        (done, hit, taken)
    }

    /// How much of `len` the coming step may do.
    pub(super) fn before(step: Step, len: usize) -> io::Result<usize> {
        let Some((number, fault)) = PLAN.get() else { return Ok(len) };
        let (taken, hit) = TAKEN.get();
        let is_hit = taken == number;
        TAKEN.set((taken + 1, if is_hit { Some(step) } else { hit }));
        // The numbers of the system's errors on Linux.
        match fault.filter(|_| is_hit) {
            None => Ok(len),
            Some(Fault::Interrupted) if Fault::Interrupted.is_skipped(step) => Err(io::ErrorKind::Interrupted.into()),
            Some(Fault::Short) => Ok(len.min(1)),
            Some(Fault::Full) => Err(io::Error::from_raw_os_error(28)),
            Some(Fault::Device | Fault::Interrupted) => Err(io::Error::from_raw_os_error(5)),
        }
    }
}
