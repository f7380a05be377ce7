//! The order of a memory profile, which sections do not store.

use crate::error::{Error, Result};
use crate::memprof::model::{FrameHandle, MemoryProfile, StackHandle};

/// The order of a profile, as positions in the profile that its section contains. The order of a merged profile depends
/// on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProfileOrder {
    /// Call stacks that no record uses, as positions of frames. The section does not return them.
    pub(crate) unused_stacks: Vec<Vec<u64>>,
    /// All frames.
    pub(crate) frames: Vec<u64>,
    /// All call stacks. Unused ones are after those of the section.
    pub(crate) stacks: Vec<u64>,
    /// All records.
    pub(crate) records: Vec<u64>,
}

impl ProfileOrder {
    /// Returns the order of a profile; `stored` is the profile that its section contains.
    pub(crate) fn of(profile: &MemoryProfile, mut stored: MemoryProfile) -> Self {
        let used = stored.stacks.len();
        let stacks = stored.stacks.absorb(&profile.stacks).into_iter().map(|stack| stack.index() as u64).collect();
        let unused = stored.stacks.iter().skip(used);
        let unused_stacks = unused.map(|stack| stack.iter().map(|frame| frame.index() as u64).collect()).collect();
        let frames = profile.stacks.frames().iter().map(|frame| stored.stacks.intern_frame(*frame).index() as u64);
        let frames = frames.collect();
        let records = profile.records().iter().map(|record| stored.record_index(record.function) as u64).collect();
        Self { unused_stacks, frames, stacks, records }
    }

    /// Returns the profile of a section in this order.
    ///
    /// # Errors
    ///
    /// Malformed for positions that do not exist.
    pub(crate) fn apply(&self, mut stored: MemoryProfile) -> Result<MemoryProfile> {
        let fault = || Error::malformed("the order of a memory profile does not fit its content");
        let mut ordered = MemoryProfile::new(stored.schema);
        (ordered.data_access, ordered.names) = (stored.data_access.take(), std::mem::take(&mut stored.names));
        let frames = stored.stacks.frames().len();
        let frame_at =
            |at: &u64| u32::try_from(*at).ok().filter(|at| (*at as usize) < frames).map(FrameHandle::from_index);
        for stack in &self.unused_stacks {
            let stack: Option<Vec<FrameHandle>> = stack.iter().map(frame_at).collect();
            stored.stacks.intern(&stack.ok_or_else(fault)?);
        }
        for at in &self.frames {
            ordered.stacks.intern_frame(stored.stacks.frame(frame_at(at).ok_or_else(fault)?));
        }
        let stacks: Vec<&[FrameHandle]> = stored.stacks.iter().collect();
        for at in &self.stacks {
            let stack = usize::try_from(*at).ok().and_then(|at| stacks.get(at)).ok_or_else(fault)?;
            let stack = stack.iter().map(|frame| ordered.stacks.intern_frame(stored.stacks.frame(*frame)));
            let stack: Vec<FrameHandle> = stack.collect();
            ordered.stacks.intern(&stack);
        }
        let handles = ordered.stacks.absorb(&stored.stacks);
        let moved = |stack: StackHandle| handles[stack.index()];
        for at in &self.records {
            let record = usize::try_from(*at).ok().and_then(|at| stored.records_mut().get_mut(at)).ok_or_else(fault)?;
            let mut record = std::mem::take(record);
            record.alloc_sites.iter_mut().for_each(|site| site.stack = moved(site.stack));
            record.call_sites.iter_mut().for_each(|site| site.frames = moved(site.frames));
            let function = record.function;
            *ordered.record_mut(function) = record;
        }
        Ok(ordered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::memprof::indexed::{NEWEST_VERSION, WriteOptions, read, write};
    use crate::memprof::model::{AllocSite, Frame};
    use crate::memprof::{MemInfoBlock, Schema};
    use crate::model::Release;

    fn profile() -> MemoryProfile {
        let mut profile = MemoryProfile::new(Schema::FULL);
        let frame = |function| Frame { function, line_offset: 1, column: 2, is_inline: false };
        let frames: Vec<FrameHandle> =
            [9, 2, 7, 4, 5].map(|function| profile.stacks.intern_frame(frame(function))).to_vec();
        for (function, stack) in [(9, &frames[..3]), (2, &frames[2..]), (7, &frames[1..2])] {
            // No record uses the reverse of the stack.
            let reversed: Vec<FrameHandle> = stack.iter().rev().copied().collect();
            profile.stacks.intern(&reversed);
            let stack = profile.stacks.intern(stack);
            let site = AllocSite { stack, info: MemInfoBlock::default(), histogram: None };
            profile.record_mut(function).alloc_sites.push(site);
        }
        profile
    }

    fn stored(profile: &MemoryProfile) -> MemoryProfile {
        let options = WriteOptions::new(Release::DEFAULT, Some(NEWEST_VERSION), true).unwrap();
        read(&write(profile, &options).unwrap(), 0, &Limits::default()).unwrap().profile
    }

    #[test]
    fn an_order_survives_the_section() {
        let profile = profile();
        let order = ProfileOrder::of(&profile, stored(&profile));
        let ordered = order.apply(stored(&profile)).unwrap();
        assert_eq!(ordered.stacks.frames(), profile.stacks.frames());
        assert!(ordered.stacks.iter().eq(profile.stacks.iter()));
        assert!(ordered == profile);
        assert_eq!(order.unused_stacks.len(), 2, "the reverse of a single frame is the same");
    }

    #[test]
    fn positions_that_do_not_exist_are_errors() {
        let profile = profile();
        let valid = ProfileOrder::of(&profile, stored(&profile));
        for damage in [
            |order: &mut ProfileOrder| order.unused_stacks[0][0] = 5,
            |order: &mut ProfileOrder| order.frames[0] = u64::MAX,
            |order: &mut ProfileOrder| order.stacks[0] = 99,
            |order: &mut ProfileOrder| order.records[0] = 3,
        ] {
            let mut order = valid.clone();
            damage(&mut order);
            assert!(order.apply(stored(&profile)).is_err(), "{order:?}");
        }
    }
}
