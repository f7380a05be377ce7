//! Numbers of a profile as Arrow buffers that share its memory.

// The one place that needs it: an Arrow buffer knows its memory by address.
#![allow(unsafe_code)]

use arrow_buffer::{Buffer, ScalarBuffer};
use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

/// A buffer of the numbers that `find` finds in what is shared; it keeps all of that alive.
pub(crate) fn share<T: Send + Sync + 'static>(
    owner: &Arc<T>,
    find: impl for<'a> FnOnce(&'a T) -> &'a [u64],
) -> ScalarBuffer<u64> {
    let numbers = find(owner);
    let pointer = NonNull::from(numbers).cast::<u8>();
    let kept = Arc::new(AssertUnwindSafe(owner.clone()));
    // SAFETY: `find` takes the numbers from `owner` itself, since it borrows nothing else for as
    // long. They are initialized, aligned, and neither move nor change while the Arc that the
    // buffer keeps is there, which gives out shared references only: what is shared has no
    // interior mutability around its numbers.
    let buffer = unsafe { Buffer::from_custom_allocation(pointer, size_of_val(numbers), kept) };
    buffer.into()
}
