//! The system's allocator, which counts what is taken at a time, and refuses what
//! a test wants to be refused.

// A global allocator cannot be had otherwise.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct ErrorTrackingWriter;

#[global_allocator]
static ALLOCATOR: ErrorTrackingWriter = ErrorTrackingWriter;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The minimum size of a large allocation.
static LARGE: AtomicUsize = AtomicUsize::new(1 << 20);

/// Large allocations before the one that is refused.
static BEFORE: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Large allocations so far.
static SEEN: AtomicUsize = AtomicUsize::new(0);

fn add(bytes: usize) {
    PEAK.fetch_max(NOW.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

/// Whether memory is refused. That of zlib-rs, which is aligned more than ours and always as large, is not: it
/// panics where there is none.
fn refuses(bytes: usize, align: usize) -> bool {
    bytes >= LARGE.load(Relaxed) && align < 64 && SEEN.fetch_add(1, Relaxed) == BEFORE.load(Relaxed)
}

// SAFETY: every call is passed on to the system's allocator as it is, or answered
// as if that had no memory; counting neither allocates nor touches the memory.
unsafe impl GlobalAlloc for ErrorTrackingWriter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refuses(layout.size(), layout.align()) {
            return null_mut();
        }
        add(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if refuses(layout.size(), layout.align()) {
            return null_mut();
        }
        add(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if refuses(size, layout.align()) {
            return null_mut();
        }
        // Old and new are there at the same time.
        add(size);
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// The most that is allocated at a time while `work` runs, beyond what was
/// before. Large pages, which files and tables from 4 MiB on are in, do not go
/// through the allocator: inputs here are smaller.
pub fn peak_of(work: impl FnOnce()) -> usize {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    work();
    PEAK.load(Relaxed).saturating_sub(before)
}

/// Runs `work`, of whose allocations of `large` bytes and more the one of that number (from 0) is refused; says
/// whether it came to that.
pub fn refuse(number: usize, large: usize, work: impl FnOnce()) -> bool {
    LARGE.store(large, Relaxed);
    SEEN.store(0, Relaxed);
    BEFORE.store(number, Relaxed);
    work();
    BEFORE.store(usize::MAX, Relaxed);
    SEEN.load(Relaxed) > number
}
