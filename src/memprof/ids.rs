//! Ids of frames and call stacks: keys of the tables in section versions 0 to
//! 2, and what decides about order in all versions.

use super::stacks::{CallStacks, Frame};
use crate::bytes::{Endian, Sink};
use crate::error::Result;
use crate::memory::{self, HOLD_OUTPUT};
use crate::model::Release;

/// The ids of all frames, as a release makes them.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub(super) fn frame_ids(release: Release, frames: &[Frame]) -> Result<Vec<u64>> {
    let id = if release >= Release(20) { hashed_id } else { combined_id };
    memory::collect(frames.iter().map(id), HOLD_OUTPUT)
}

/// The ids of all call stacks; `frames` are those of the frames.
///
/// # Errors
///
/// As [`frame_ids`].
pub(super) fn stack_ids(stacks: &CallStacks, frames: &[u64]) -> Result<Vec<u64>> {
    let mut bytes = Vec::new();
    let mut id = |stack: &[super::stacks::FrameHandle]| {
        bytes.clear();
        stack.iter().for_each(|frame| bytes.extend_from_slice(&frames[frame.index()].to_le_bytes()));
        blake3_id(&bytes)
    };
    memory::collect(stacks.iter().map(&mut id), HOLD_OUTPUT)
}

/// The four parts of a frame, each mixed into what came before
/// (`Frame::hash` up to release 19).
fn combined_id(frame: &Frame) -> u64 {
    let parts = [frame.function, frame.line_offset.into(), frame.column.into(), frame.is_inline.into()];
    parts.into_iter().fold(0u64, |id, part| {
        let mixed = part.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_add(id << 6).wrapping_add(id >> 2);
        id ^ mixed
    })
}

/// A hash of the frame as it stands in files (`Frame::hash` from release 20 on).
fn hashed_id(frame: &Frame) -> u64 {
    let mut sink = Sink::with_capacity(Endian::Little, FRAME_SIZE);
    write_frame(&mut sink, frame);
    blake3_id(sink.as_slice())
}

fn blake3_id(bytes: &[u8]) -> u64 {
    let hash = blake3::hash(bytes);
    u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("a BLAKE3 hash has 32 bytes"))
}

/// Bytes of a frame in files.
pub(super) const FRAME_SIZE: usize = 17;

/// Appends a frame as it stands in files.
pub(super) fn write_frame(sink: &mut Sink, frame: &Frame) {
    sink.u64(frame.function);
    sink.u32(frame.line_offset);
    sink.u32(frame.column);
    sink.u8(frame.is_inline.into());
}
