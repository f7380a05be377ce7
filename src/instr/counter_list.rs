//! The counters of many records, one behind the other.

use crate::error::{Error, Result};
use crate::memory::{HOLD_COUNTERS, SharedPages, Words};
use std::alloc::{Layout, handle_alloc_error};
use std::io::ErrorKind::OutOfMemory;

/// Lists of counters in blocks of memory that never move: neither their number
/// nor how many there will be has to be known, and none is copied to make room.
#[derive(Debug, Default)]
pub(super) struct CounterList {
    blocks: Vec<Block>,
    /// A file in which counters may stay.
    file: Option<SharedPages>,
}

#[derive(Debug)]
struct Block {
    words: Words,
    used: usize,
}

/// Where the counters of one record stand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    block: u32,
    start: u32,
    len: usize,
}

/// The number that stands for the file in the place of a block's.
const FILE: u32 = u32::MAX;

/// Counters of the first block.
const LEAST_ROOM: usize = 4 << 10;
/// Counters of a block at most, unless a single record has more: 8 MiB.
const MOST_ROOM: usize = 1 << 20;

impl CounterList {
    /// Keeps a file: counters that are added while they stand in it stay there.
    pub(super) fn keep(&mut self, file: SharedPages) {
        self.file = Some(file);
    }

    /// Whether there is a file in which counters may stay.
    pub(super) fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Where counters stand in the file.
    #[inline]
    fn place_in_file(&self, counters: &[u64]) -> Option<Place> {
        let start = u32::try_from(self.file.as_ref()?.start_of(counters)?).ok()?;
        Some(Place { block: FILE, start, len: counters.len() })
    }

    /// Makes room for the counters of one more record. A process that adds them
    /// without having asked ends where there is none.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(super) fn make_room_for(&mut self, counters: &[u64]) -> Result<()> {
        if self.place_in_file(counters).is_some() { Ok(()) } else { self.make_room(counters.len()) }
    }

    /// Takes counters out of the file, so that they can be changed.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error; they stay where they are.
    pub(super) fn make_own(&mut self, place: &mut Place) -> Result<()> {
        if place.block == FILE {
            self.make_room(place.len)?;
            if let Some(file) = self.file.clone() {
                *place = self.push_copy(&file.words()[place.start as usize..][..place.len]);
            }
        }
        Ok(())
    }

    fn make_room(&mut self, len: usize) -> Result<()> {
        let has_room = |block: &Block| block.words.as_slice().len() - block.used >= len;
        if len == 0 || self.blocks.last().is_some_and(has_room) {
            return Ok(());
        }
        // As much as there is so far, so that there are few blocks.
        let so_far: usize = self.blocks.iter().map(|block| block.words.as_slice().len()).sum();
        let room = so_far.clamp(LEAST_ROOM, MOST_ROOM).max(len);
        let words = Words::zeros(room).or_else(|| Words::zeros(len));
        let words = words.ok_or_else(|| Error::io(HOLD_COUNTERS, OutOfMemory.into()))?;
        self.blocks.push(Block { words, used: 0 });
        Ok(())
    }

    /// Adds the counters of a record.
    pub(super) fn push(&mut self, counters: &[u64]) -> Place {
        self.place_in_file(counters).unwrap_or_else(|| self.push_copy(counters))
    }

    fn push_copy(&mut self, counters: &[u64]) -> Place {
        let len = counters.len();
        if len == 0 {
            return Place { block: 0, start: 0, len };
        }
        if self.make_room(len).is_err() {
            handle_alloc_error(Layout::for_value(counters));
        }
        let at = self.blocks.len() - 1;
        let Block { words, used } = &mut self.blocks[at];
        let start = *used;
        words.as_mut_slice()[start..start + len].copy_from_slice(counters);
        *used += len;
        // A block that is larger than usual holds one record alone.
        let start = u32::try_from(start).expect("a block that several share is small");
        Place { block: u32::try_from(at).expect("memory holds fewer than 2^32 blocks"), start, len }
    }

    /// The counters at a place of this list.
    #[inline]
    pub(super) fn at(&self, place: Place) -> &[u64] {
        match self.blocks.get(place.block as usize) {
            Some(block) => &block.words.as_slice()[place.start as usize..][..place.len],
            None => self.file.as_ref().map_or(&[], |file| &file.words()[place.start as usize..][..place.len]),
        }
    }

    /// The counters at a place of this list, to change in place; those that stand in the file are
    /// copied, and end the process where there is no room.
    #[inline]
    pub(super) fn at_mut(&mut self, place: &mut Place) -> &mut [u64] {
        if self.make_own(place).is_err() {
            handle_alloc_error(Layout::for_value(self.at(*place)));
        }
        match self.blocks.get_mut(place.block as usize) {
            Some(block) => &mut block.words.as_mut_slice()[place.start as usize..][..place.len],
            None => &mut [],
        }
    }

    /// The counters of all records, block by block, in the order in which they were added, but for
    /// those that stay in the file.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &[u64]> {
        self.blocks.iter().map(|block| &block.words.as_slice()[..block.used])
    }

    /// Forgets all counters and the file, and keeps the memory of the last block.
    pub(super) fn clear(&mut self) {
        self.file = None;
        self.blocks.drain(..self.blocks.len().saturating_sub(1));
        self.blocks.iter_mut().for_each(|block| block.used = 0);
    }
}

/// Places in a copy are those of the original.
impl Clone for CounterList {
    fn clone(&self) -> Self {
        let blocks = self.blocks.iter().map(|Block { words, used }| {
            let copy = Words::zeros(words.as_slice().len());
            let mut copy = copy.unwrap_or_else(|| handle_alloc_error(Layout::for_value(words.as_slice())));
            copy.as_mut_slice()[..*used].copy_from_slice(&words.as_slice()[..*used]);
            Block { words: copy, used: *used }
        });
        Self { blocks: blocks.collect(), file: self.file.clone() }
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
        let file = SharedPages(Arc::new(Pages::new(memory, 77)));
        let words = file.words();
        assert_eq!(words, &content[..9]);
        let mut list = CounterList::default();
        list.keep(file.clone());
        let copied = list.push(&content[2..5]);
        let [mut changed, stays, last] = [&words[2..5], &words[2..5], &words[8..]].map(|counters| {
            list.make_room_for(counters).unwrap();
            list.push(counters)
        });
        assert!(list.blocks().eq([&content[2..5]]));
        let copy = list.clone();
        list.at_mut(&mut changed)[0] = 70;
        for (place, expected) in [(copied, &[2, 3, 4][..]), (changed, &[70, 3, 4]), (stays, &[2, 3, 4]), (last, &[8])] {
            assert_eq!(list.at(place), expected);
        }
        assert_eq!((copy.at(stays), words), (&content[2..5], &content[..9]));
        list.clear();
        assert!(list.place_in_file(&words[2..5]).is_none(), "it is forgotten");
    }

    #[test]
    fn room_that_there_is_not_is_an_error() {
        let mut list = CounterList::default();
        let place = list.push(&[1, 2]);
        let error = list.make_room(usize::MAX / 16).unwrap_err().to_string();
        assert!(error.starts_with("cannot hold the counters of a record: out of memory"), "{error}");
        list.make_room(LEAST_ROOM + 1).unwrap();
        assert_eq!((list.at(place), list.blocks.len()), (&[1, 2][..], 2));
    }

    #[test]
    fn lists_of_any_length_are_kept_apart() {
        let lens = [0, 1, LEAST_ROOM - 1, 1, 0, 3, LEAST_ROOM + 5, MOST_ROOM + 1, 2, MOST_ROOM - 1, 700_000, 700_000];
        let content = |at: usize| -> Vec<u64> { (0..lens[at]).map(|counter| (counter * 31 + at) as u64).collect() };
        let mut list = CounterList::default();
        let mut places: Vec<Place> = (0..lens.len()).map(|at| list.push(&content(at))).collect();
        let copy = list.clone();
        for (at, place) in places.iter_mut().enumerate() {
            assert!(list.at(*place) == content(at) && copy.at(*place) == content(at), "{at}");
            list.at_mut(place).fill(at as u64);
        }
        for (at, place) in places.iter().enumerate() {
            assert!(list.at(*place).len() == lens[at] && list.at(*place).iter().all(|counter| *counter == at as u64));
            assert!(copy.at(*place) == content(at));
        }
        let all: Vec<u64> = (0..lens.len()).flat_map(content).collect();
        assert!(copy.blocks().flatten().copied().eq(all), "blocks hold all of them, in order");
        list.clear();
        let place = list.push(&[4, 5]);
        assert_eq!(list.at(place), [4, 5]);
    }
}
