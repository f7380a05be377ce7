//! The counters of many records, stored back to back.

use crate::error::{Error, Result};
use crate::memory::{HOLD_COUNTERS, SharedBytes, Words};
use crate::model::counters::{Counters, Width};
use bytemuck::Pod;
use std::alloc::{Layout, handle_alloc_error};
use std::io::ErrorKind::OutOfMemory;
use std::marker::PhantomData;

/// Lists of counters in blocks of memory that never move, so that growing does not copy.
#[derive(Debug, Default, Clone)]
pub(super) struct CounterList {
    wide: Blocks<u64>,
    /// Counters that all fit 32 bits, if the caller requested it.
    narrow: Option<Blocks<u32>>,
    /// A file in which counters may stay.
    file: Option<SharedBytes>,
}

/// The position of the counters of one record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// The number of a block, with the bit [`NARROW`] for 32-bit counters, or [`FILE`] or [`FILE_BYTES`].
    block: u32,
    start: u32,
    len: usize,
}

/// The block number of native counters in the file; `start` counts numbers.
const FILE: u32 = u32::MAX;
/// The block number of little-endian counters in the file, with any alignment; `start` counts bytes.
const FILE_BYTES: u32 = u32::MAX - 1;
/// The bit of narrow blocks.
const NARROW: u32 = 1 << 31;

/// The number of counters in the first block.
const LEAST_ROOM: usize = 4 << 10;
/// The maximum number of counters in a block, unless one record has more: 8 MiB, or 4 MiB if narrow.
const MOST_ROOM: usize = 1 << 20;

impl CounterList {
    /// Stores a file. Later counters that are part of it are not copied.
    pub(super) fn keep(&mut self, file: SharedBytes) {
        self.file = Some(file);
    }

    /// Returns the file that is kept.
    pub(super) fn file(&self) -> Option<&SharedBytes> {
        self.file.as_ref()
    }

    /// Stores later counters in 32 bits if they fit. Changing them copies them, so this
    /// saves memory only if most counters do not change.
    pub(super) fn keep_narrow(&mut self) {
        self.narrow.get_or_insert_default();
    }

    /// Returns true if all counters are in wide blocks.
    pub(super) fn is_wide(&self) -> bool {
        self.file.is_none() && self.narrow.is_none()
    }

    /// Returns the position of counters that are part of the file.
    #[inline]
    fn place_in_file(&self, counters: Counters<'_>) -> Option<Place> {
        let file = self.file.as_ref()?;
        let (block, start) = match counters.0 {
            Width::Wide(words) => (FILE, file.start_of(words)?),
            Width::Stored(counters) => (FILE_BYTES, file.start_of_bytes(counters.as_flattened())?),
            Width::Narrow(_) => return None,
        };
        Some(Place { block, start: u32::try_from(start).ok()?, len: counters.len() })
    }

    /// Reserves memory for the counters of one more record.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(super) fn try_reserve(&mut self, counters: Counters<'_>) -> Result<()> {
        if self.place_in_file(counters).is_some() {
            return Ok(());
        }
        match &mut self.narrow {
            Some(narrow) if is_narrow(counters) => narrow.try_reserve(counters.len()),
            _ => self.wide.try_reserve(counters.len()),
        }
    }

    /// Moves counters into a wide block, where they can be changed.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error. The counters do not move then.
    pub(super) fn make_own(&mut self, place: &mut Place) -> Result<()> {
        if place.block < NARROW {
            return Ok(());
        }
        self.wide.try_reserve(place.len)?;
        let Self { wide, narrow, file } = self;
        let counters = outside(narrow.as_ref(), file.as_ref(), *place);
        *place = wide.push(place.len, |own| counters.copy_to(own));
        Ok(())
    }

    /// Adds the counters of a record.
    pub(super) fn push(&mut self, counters: Counters<'_>) -> Place {
        if let Some(place) = self.place_in_file(counters) {
            return place;
        }
        let len = counters.len();
        match &mut self.narrow {
            Some(narrow) if is_narrow(counters) => {
                let place = narrow.push(len, |own| counters.copy_narrow(own));
                Place { block: place.block | NARROW, ..place }
            }
            _ => self.wide.push(len, |own| counters.copy_to(own)),
        }
    }

    /// Returns the counters at a position.
    #[inline]
    pub(super) fn at(&self, place: Place) -> Counters<'_> {
        if place.block < NARROW {
            let at = place.start as usize..place.start as usize + place.len;
            return Counters(Width::Wide(&self.wide.of(place.block)[at]));
        }
        outside(self.narrow.as_ref(), self.file.as_ref(), place)
    }

    /// Returns the mutable counters at a position. Counters outside wide blocks are copied first; the process ends if
    /// this runs out of memory.
    #[inline]
    pub(super) fn at_mut(&mut self, place: &mut Place) -> &mut [u64] {
        if self.make_own(place).is_err() {
            stop_out_of_memory::<u64>(place.len);
        }
        self.own_mut(*place).unwrap_or_default()
    }

    /// Returns the counters at a position if they can be changed in place.
    #[inline]
    pub(super) fn own_mut(&mut self, place: Place) -> Option<&mut [u64]> {
        let Place { block, start, len } = place;
        (block < NARROW).then(|| &mut self.wide.of_mut(block)[start as usize..][..len])
    }

    /// Returns the counters in wide blocks, block by block, in insertion order.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &[u64]> {
        self.wide.all()
    }

    /// Removes all counters and the file, but keeps the memory of the last block.
    pub(super) fn clear(&mut self) {
        self.file = None;
        self.narrow = None;
        self.wide.clear();
    }
}

/// Returns the counters at a position outside wide blocks.
#[inline]
fn outside<'a>(narrow: Option<&'a Blocks<u32>>, file: Option<&'a SharedBytes>, place: Place) -> Counters<'a> {
    let start = place.start as usize;
    Counters(match (place.block, file, narrow) {
        (FILE, Some(file), _) => Width::Wide(&file.words()[start..start + place.len]),
        (FILE_BYTES, Some(file), _) => {
            Width::Stored(bytemuck::cast_slice(&file[start..start + place.len * size_of::<u64>()]))
        }
        (block, _, Some(narrow)) => Width::Narrow(&narrow.of(block - NARROW)[start..start + place.len]),
        _ => Width::Wide(&[]),
    })
}

/// Returns true if all counters fit into 32 bits.
fn is_narrow(counters: Counters<'_>) -> bool {
    counters.iter().fold(0, |all, counter| all | counter) <= u64::from(u32::MAX)
}

/// Ends the process like any failed allocation.
fn stop_out_of_memory<T>(len: usize) -> ! {
    handle_alloc_error(Layout::array::<T>(len).unwrap_or(Layout::new::<T>()))
}

/// Blocks of counters of one width.
#[derive(Debug)]
struct Blocks<T> {
    blocks: Vec<Block>,
    width: PhantomData<T>,
}

#[derive(Debug)]
struct Block {
    words: Words,
    /// The number of used counters.
    used: usize,
}

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Self { blocks: Vec::new(), width: PhantomData }
    }
}

impl<T: Pod> Blocks<T> {
    fn try_reserve(&mut self, len: usize) -> Result<()> {
        let room_of = |block: &Block| size_of_val(block.words.as_slice()) / size_of::<T>();
        if len == 0 || self.blocks.last().is_some_and(|block| room_of(block) - block.used >= len) {
            return Ok(());
        }
        // Doubling keeps the number of blocks small.
        let room = self.blocks.iter().map(room_of).sum::<usize>().clamp(LEAST_ROOM, MOST_ROOM).max(len);
        let words = |counters: usize| Words::zeros(counters.div_ceil(size_of::<u64>() / size_of::<T>()));
        let words = words(room).or_else(|| words(len)).ok_or_else(|| Error::io(HOLD_COUNTERS, OutOfMemory.into()))?;
        self.blocks.push(Block { words, used: 0 });
        Ok(())
    }

    /// Adds `len` counters that `fill` sets.
    fn push(&mut self, len: usize, fill: impl FnOnce(&mut [T])) -> Place {
        if len == 0 {
            return Place { block: 0, start: 0, len };
        }
        if self.try_reserve(len).is_err() {
            stop_out_of_memory::<T>(len);
        }
        let at = self.blocks.len() - 1;
        let Block { words, used } = &mut self.blocks[at];
        let start = *used;
        *used += len;
        fill(&mut bytemuck::cast_slice_mut(words.as_mut_slice())[start..start + len]);
        // A block above MOST_ROOM holds one record only.
        let start = u32::try_from(start).expect("a block that several share is small");
        Place { block: u32::try_from(at).expect("memory holds fewer than 2^31 blocks"), start, len }
    }

    /// Returns a block; empty if it does not exist, as for records without counters.
    #[inline]
    fn of(&self, block: u32) -> &[T] {
        self.blocks.get(block as usize).map_or(&[], |block| bytemuck::cast_slice(block.words.as_slice()))
    }

    #[inline]
    fn of_mut(&mut self, block: u32) -> &mut [T] {
        self.blocks
            .get_mut(block as usize)
            .map_or(&mut [], |block| bytemuck::cast_slice_mut(block.words.as_mut_slice()))
    }

    fn all(&self) -> impl Iterator<Item = &[T]> {
        self.blocks.iter().map(|block| &bytemuck::cast_slice(block.words.as_slice())[..block.used])
    }

    /// Removes all counters, but keeps the memory of the last block.
    fn clear(&mut self) {
        self.blocks.drain(..self.blocks.len().saturating_sub(1));
        self.blocks.iter_mut().for_each(|block| block.used = 0);
    }
}

/// A copy has the same places as the original.
impl<T: Pod> Clone for Blocks<T> {
    fn clone(&self) -> Self {
        let blocks = self.blocks.iter().map(|Block { words, used }| {
            let len = words.as_slice().len();
            let mut copy = Words::zeros(len).unwrap_or_else(|| stop_out_of_memory::<u64>(len));
            let in_use = (used * size_of::<T>()).div_ceil(size_of::<u64>());
            copy.as_mut_slice()[..in_use].copy_from_slice(&words.as_slice()[..in_use]);
            Block { words: copy, used: *used }
        });
        Self { blocks: blocks.collect(), width: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Pages, large_pages};
    use std::sync::Arc;

    #[test]
    fn counters_stay_in_a_file_until_they_are_changed() {
        let content: Vec<u64> = (0..10).collect();
        let mut memory = large_pages(80).unwrap();
        memory[..80].copy_from_slice(bytemuck::cast_slice(&content));
        // The last number is not whole.
        let file = SharedBytes::Pages(Arc::new(Pages::new(memory, 77)));
        let words = file.words();
        assert_eq!(words, &content[..9]);
        let mut list = CounterList::default();
        list.keep(file.clone());
        let copied = list.push(content[2..5].into());
        let [mut changed, stays, last] =
            [&words[2..5], &words[2..5], &words[8..]].map(Counters::from).map(|counters| {
                list.try_reserve(counters).unwrap();
                list.push(counters)
            });
        assert!(list.blocks().eq([&content[2..5]]));
        let copy = list.clone();
        list.at_mut(&mut changed)[0] = 70;
        for (place, expected) in [(copied, &[2, 3, 4][..]), (changed, &[70, 3, 4]), (stays, &[2, 3, 4]), (last, &[8])] {
            assert_eq!(list.at(place), expected);
        }
        assert!(copy.at(stays) == content[2..5] && words == &content[..9]);
        list.clear();
        assert!(list.place_in_file(words[2..5].into()).is_none(), "it is forgotten");
    }

    #[test]
    fn unaligned_counters_stay_in_a_file_until_they_are_changed() {
        let bytes: Vec<u8> = (0..50).collect();
        let file = SharedBytes::Heap(Arc::new(bytes));
        for start in 0..9 {
            let stored: &[[u8; 8]] = bytemuck::cast_slice(&file[start..start + 40]);
            let expected: Vec<u64> = stored.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
            let mut list = CounterList::default();
            list.keep(file.clone());
            let [stays, mut changed] = [list.push(Counters::stored(stored)), list.push(Counters::stored(stored))];
            assert!(list.blocks().next().is_none(), "both are in the file");
            list.at_mut(&mut changed)[4] = 70;
            assert_eq!(list.at(stays), expected[..]);
            assert_eq!(list.at(changed), [&expected[..4], &[70]].concat()[..]);
            // Equal bytes in other memory.
            let copy = stored.to_vec();
            let copied = list.push(Counters::stored(&copy));
            drop(copy);
            assert_eq!(list.at(copied), expected[..]);
        }
    }

    #[test]
    fn room_that_there_is_not_is_an_error() {
        let mut list = CounterList::default();
        let place = list.push([1, 2].as_slice().into());
        let error = list.wide.try_reserve(usize::MAX / 16).unwrap_err().to_string();
        assert!(error.starts_with("cannot hold the counters of a record: out of memory"), "{error}");
        list.wide.try_reserve(LEAST_ROOM + 1).unwrap();
        assert!(list.at(place) == [1, 2] && list.wide.blocks.len() == 2);
    }

    const LENS: [usize; 12] =
        [0, 1, LEAST_ROOM - 1, 1, 0, 3, LEAST_ROOM + 5, MOST_ROOM + 1, 2, MOST_ROOM - 1, 700_000, 700_000];

    fn content(at: usize) -> Vec<u64> {
        (0..LENS[at]).map(|counter| (counter * 31 + at) as u64).collect()
    }

    #[test]
    fn lists_of_any_length_are_kept_apart() {
        for keeps_narrow in [false, true] {
            let mut list = CounterList::default();
            if keeps_narrow {
                list.keep_narrow();
            }
            let mut places: Vec<Place> = (0..LENS.len()).map(|at| list.push((&content(at)).into())).collect();
            let (copy, places_in_copy) = (list.clone(), places.clone());
            for (at, place) in places.iter_mut().enumerate() {
                assert!(list.at(*place) == content(at) && copy.at(*place) == content(at), "{at}");
                list.at_mut(place).fill(at as u64);
            }
            for (at, place) in places.iter().enumerate() {
                assert!(
                    list.at(*place).len() == LENS[at] && list.at(*place).iter().all(|counter| counter == at as u64)
                );
                assert!(copy.at(places_in_copy[at]) == content(at));
            }
            let all: Vec<u64> = (0..LENS.len()).flat_map(content).collect();
            let blocks = copy.blocks().flatten().copied();
            assert!(
                if keeps_narrow { blocks.count() == 0 } else { blocks.eq(all) },
                "blocks hold all of them, in order"
            );
            list.clear();
            let place = list.push([4, 5].as_slice().into());
            assert!(list.at(place) == [4, 5] && list.is_wide());
        }
    }

    #[test]
    fn only_counters_that_fit_are_narrow() {
        let mut list = CounterList::default();
        let early = list.push([7].as_slice().into());
        list.keep_narrow();
        let lists: [&[u64]; 4] = [&[0, u32::MAX.into()], &[1 << 32, 1], &[], &[u64::MAX]];
        let places = lists.map(|counters| {
            list.try_reserve(counters.into()).unwrap();
            list.push(counters.into())
        });
        for (place, counters) in places.into_iter().zip(lists) {
            let found = list.at(place);
            assert_eq!(found, counters);
            assert_eq!(found.as_words().is_none(), counters.iter().all(|counter| *counter <= u32::MAX.into()));
        }
        assert!(list.at(early).as_words().is_some() && !list.is_wide());
        // A copy of what is narrow is as it was.
        let again = list.at(places[0]).to_vec();
        let mut other = CounterList::default();
        let place = other.push(list.at(places[0]));
        assert_eq!(other.at(place), again);
    }
}
