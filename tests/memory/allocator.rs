//! The system's allocator with a counter for allocated memory. It can refuse an allocation for a test.

// A global allocator requires unsafe code.
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

/// The number of large allocations before the refused one.
static BEFORE: AtomicUsize = AtomicUsize::new(usize::MAX);
/// The number of large allocations.
static SEEN: AtomicUsize = AtomicUsize::new(0);

fn add(bytes: usize) {
    PEAK.fetch_max(NOW.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

/// Returns true if the allocation is refused. Allocations of zlib-rs, which have a larger alignment and always the same
/// size, are never refused, because zlib-rs would panic.
fn refuses(bytes: usize, align: usize) -> bool {
    bytes >= LARGE.load(Relaxed) && align < 64 && SEEN.fetch_add(1, Relaxed) == BEFORE.load(Relaxed)
}

// SAFETY: every call is forwarded unchanged to the system's allocator, or fails as if memory had run out. Counting does
// not allocate or touch the memory.
unsafe impl GlobalAlloc for ErrorTrackingWriter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refuses(layout.size(), layout.align()) {
            return null_mut();
        }
        add(layout.size());
        // SAFETY: the caller's guarantees are forwarded.
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
        // The old and the new block exist at the same time.
        add(size);
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Returns the maximum of allocated memory while `work` runs, without earlier allocations. Large pages, used for files
/// and tables from 4 MiB, bypass the allocator; the inputs of these tests are smaller.
pub fn peak_of(work: impl FnOnce()) -> usize {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    work();
    PEAK.load(Relaxed).saturating_sub(before)
}

/// Runs `work` and refuses one allocation of at least `large` bytes, with this number (from 0). Returns whether there
/// was such an allocation.
pub fn refuse(number: usize, large: usize, work: impl FnOnce()) -> bool {
    LARGE.store(large, Relaxed);
    SEEN.store(0, Relaxed);
    BEFORE.store(number, Relaxed);
    work();
    BEFORE.store(usize::MAX, Relaxed);
    SEEN.load(Relaxed) > number
}
