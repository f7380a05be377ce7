//! Numbers of a profile as Arrow buffers that share its memory.

// Unsafe code is needed here only, because an Arrow buffer refers to its memory by address.
#![allow(unsafe_code)]

use arrow_buffer::{Buffer, ScalarBuffer};
use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

/// Returns a buffer of the numbers that `find` returns. The buffer keeps `owner` alive.
pub(crate) fn share<T: Send + Sync + 'static>(
    owner: &Arc<T>,
    find: impl for<'a> FnOnce(&'a T) -> &'a [u64],
) -> ScalarBuffer<u64> {
    let numbers = find(owner);
    let pointer = NonNull::from(numbers).cast::<u8>();
    let kept = Arc::new(AssertUnwindSafe(owner.clone()));
    // SAFETY: `find` returns numbers of `owner`, because it borrows nothing else for as long. They are initialized and
    // aligned. They do not move or change while the buffer holds its Arc, which only gives out shared references: the
    // shared data has no interior mutability around its numbers.
    let buffer = unsafe { Buffer::from_custom_allocation(pointer, size_of_val(numbers), kept) };
    buffer.into()
}
