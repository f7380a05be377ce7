//! Memory in large pages.
//!
//! The system clears and enters every page of memory when it is first touched,
//! which for pages of 4 KiB takes longer than filling them; and whoever looks
//! here and there in much memory waits less in few large pages.

use memmap2::MmapMut;

/// From so many bytes on large pages are worth it.
pub(crate) const LARGE: usize = 4 << 20;

/// Memory for so many bytes, all zero, in large pages if the system has such.
pub(crate) fn large_pages(len: usize) -> Option<MmapMut> {
    let memory = MmapMut::map_anon(len).ok()?;
    // Advice: where it is not taken the memory is the same and slower.
    #[cfg(target_os = "linux")]
    let _ = memory.advise(memmap2::Advice::HugePage);
    Some(memory)
}

/// Room for numbers, zero at first, that stays where it is.
#[derive(Debug)]
pub(crate) enum Words {
    Heap(Box<[u64]>),
    Pages(MmapMut),
}

impl Words {
    /// Room for so many numbers.
    pub(crate) fn zeros(len: usize) -> Self {
        let bytes = len.checked_mul(size_of::<u64>()).filter(|bytes| *bytes >= LARGE);
        match bytes.and_then(large_pages) {
            Some(pages) => Self::Pages(pages),
            None => Self::Heap(vec![0; len].into_boxed_slice()),
        }
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[u64] {
        match self {
            Self::Heap(words) => words,
            // Pages begin at multiples of any number's size.
            Self::Pages(pages) => bytemuck::cast_slice(pages),
        }
    }

    #[inline]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u64] {
        match self {
            Self::Heap(words) => words,
            Self::Pages(pages) => bytemuck::cast_slice_mut(pages),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_in_either_kind_of_memory() {
        for len in [0, 1, 1000, LARGE / 8 - 1, LARGE / 8, LARGE / 8 + 513] {
            let mut words = Words::zeros(len);
            assert_eq!(words.as_slice().len(), len);
            assert!(words.as_slice().iter().all(|word| *word == 0));
            assert_eq!(matches!(words, Words::Pages(_)), len * 8 >= LARGE);
            if let Some(last) = words.as_mut_slice().last_mut() {
                *last = u64::MAX;
                assert_eq!(words.as_slice()[len - 1], u64::MAX);
            }
        }
    }
}
