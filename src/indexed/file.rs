//! The bytes of a file, with or without its records.

/// What is in memory of an indexed file: all of it, or all but the payload of its hash table.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileBytes<'data> {
    /// From the first byte on, as far as summaries reach.
    front: &'data [u8],
    back: &'data [u8],
    /// Where `back` begins in the file; it reaches to the end.
    back_offset: u64,
}

impl<'data> FileBytes<'data> {
    pub(super) fn whole(file: &'data [u8]) -> Self {
        Self { front: file, back: file, back_offset: 0 }
    }

    /// Without what stands between `front` and the index of the hash table.
    pub(super) fn around_payload(front: &'data [u8], back: &'data [u8], index_offset: u64) -> Self {
        Self { front, back, back_offset: index_offset }
    }

    /// Length of the file.
    pub(super) fn len(self) -> u64 {
        self.back_offset + self.back.len() as u64
    }

    /// The file from its first byte on, as far as it is there.
    pub(super) fn front(self) -> &'data [u8] {
        self.front
    }

    /// The file from an offset on; `None` outside, and for what is not there.
    pub(super) fn from(self, offset: u64) -> Option<&'data [u8]> {
        let start = usize::try_from(offset.checked_sub(self.back_offset)?).ok()?;
        self.back.get(start..)
    }

    /// What stands in front of an index, from an offset on; nothing if it is not there.
    pub(super) fn payload(self, offset: u64, index_offset: u64) -> &'data [u8] {
        let len = usize::try_from(index_offset - offset).unwrap_or(usize::MAX);
        self.from(offset).and_then(|rest| rest.get(..len)).unwrap_or_default()
    }
}
