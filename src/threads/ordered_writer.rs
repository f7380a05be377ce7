//! Blocks of output that several threads create and that are written in order.

use crate::threads;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Creates blocks 0 to `count` - 1 on up to `threads` threads, including this one, and writes them one after the other.
/// The bytes do not depend on `threads`.
///
/// Every thread has one buffer, creates the next block that no thread has started, and waits for its turn to write it.
/// In the meantime the others create theirs.
///
/// # Errors
///
/// The first error of `make` or `out`. Nothing is written after it.
pub(crate) fn write_in_order(
    count: usize,
    threads: usize,
    make: &(dyn Fn(usize, &mut Vec<u8>) -> io::Result<()> + Sync),
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    let next = AtomicUsize::new(0);
    let queue = Queue {
        turn: Mutex::new(WriteTurn { next: 0, out, outcome: Ok(()), is_over: false }),
        moved_on: Condvar::new(),
    };
    let work = || {
        let _end = EndOnPanic(&queue);
        let mut buffer = Vec::new();
        loop {
            let block = next.fetch_add(1, Ordering::Relaxed);
            if block >= count {
                return;
            }
            buffer.clear();
            let made = make(block, &mut buffer);
            let Some(mut turn) = queue.wait_for(block) else { return };
            turn.outcome = made.and_then(|()| turn.out.write_all(&buffer));
            turn.is_over = turn.outcome.is_err();
            turn.next += 1;
            queue.moved_on.notify_all();
        }
    };
    std::thread::scope(|scope| {
        let started = (1..threads.min(count)).map_while(|_| threads::start(scope, work).ok());
        started.for_each(drop);
        work();
    });
    queue.turn.into_inner().unwrap_or_else(PoisonError::into_inner).outcome
}

struct Queue<'o> {
    turn: Mutex<WriteTurn<'o>>,
    moved_on: Condvar,
}

struct WriteTurn<'o> {
    /// The next block to write.
    next: usize,
    out: &'o mut (dyn Write + Send),
    outcome: io::Result<()>,
    /// Set if nothing more is written: a block or a write failed, or a thread panicked.
    is_over: bool,
}

impl<'o> Queue<'o> {
    /// Waits until a block is the next to write. Returns `None` if nothing more is written.
    fn wait_for(&self, block: usize) -> Option<MutexGuard<'_, WriteTurn<'o>>> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = |turn: &mut WriteTurn<'_>| turn.next != block && !turn.is_over;
        let turn = self.moved_on.wait_while(turn, waiting).unwrap_or_else(PoisonError::into_inner);
        (!turn.is_over).then_some(turn)
    }
}

/// Prevents other threads from waiting for the block of a thread that panicked.
struct EndOnPanic<'a, 'o>(&'a Queue<'o>);

impl Drop for EndOnPanic<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.turn.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
            self.0.moved_on.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(block: usize, out: &mut Vec<u8>) -> io::Result<()> {
        // Later blocks are created faster, so they must wait.
        std::thread::sleep(std::time::Duration::from_micros(100_u64.saturating_sub(block as u64)));
        out.extend_from_slice(format!("block {block}\n").as_bytes());
        Ok(())
    }

    #[test]
    fn blocks_are_written_in_order() {
        let expected: String = (0..200).map(|block| format!("block {block}\n")).collect();
        for threads in [0, 1, 2, 7] {
            let mut out = Vec::new();
            write_in_order(200, threads, &make, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{threads} threads");
        }
    }

    #[test]
    fn blocks_are_the_same_with_fewer_threads_than_asked_for() {
        let run = || {
            let mut out = Vec::new();
            write_in_order(50, 6, &make, &mut out).map(|()| out)
        };
        let expected = run().unwrap();
        for threads in 0..3 {
            assert_eq!(threads::refusal::after(threads, run).unwrap(), expected, "{threads} threads");
        }
    }

    #[test]
    fn nothing_follows_a_failed_write() {
        struct Full(usize);
        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::StorageFull)?;
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut out = Full(5);
        let error = write_in_order(100, 3, &make, &mut out).unwrap_err();
        assert_eq!((error.kind(), out.0), (io::ErrorKind::StorageFull, 0));
    }

    #[test]
    fn nothing_is_written_from_a_block_on_that_cannot_be_made() {
        let make = |block: usize, out: &mut Vec<u8>| {
            make(block, out)?;
            if block < 7 { Ok(()) } else { Err(io::ErrorKind::OutOfMemory.into()) }
        };
        let mut out = Vec::new();
        let error = write_in_order(50, 3, &make, &mut out).unwrap_err();
        assert_eq!((error.kind(), out.len()), (io::ErrorKind::OutOfMemory, 7 * "block 0\n".len()));
    }

    #[test]
    fn a_panic_ends_the_wait_of_the_others() {
        let make = |block: usize, out: &mut Vec<u8>| {
            assert_ne!(block, 3, "made to fail");
            make(block, out)
        };
        let run = || write_in_order(50, 4, &make, &mut Vec::new());
        assert!(std::panic::catch_unwind(run).is_err());
    }
}
