//! A growing byte buffer with places that are filled in later.

use super::Endian;

/// Collects output bytes; offsets that are known late are reserved and patched.
#[derive(Debug, Clone, Default)]
pub struct Sink {
    bytes: Vec<u8>,
    endian: Endian,
}

/// A reserved 64-bit word of a [`Sink`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place(usize);

impl Sink {
    /// An empty sink in the given byte order.
    pub fn new(endian: Endian) -> Self {
        Self { bytes: Vec::new(), endian }
    }

    /// An empty sink with room for `bytes`.
    pub fn with_capacity(endian: Endian, bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), endian }
    }

    /// A sink that appends to `bytes`.
    pub fn onto(bytes: Vec<u8>, endian: Endian) -> Self {
        Self { bytes, endian }
    }

    /// Bytes written so far, which is the offset of the next one.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends bytes.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends one byte.
    #[inline]
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Appends a 16-bit number.
    #[inline]
    pub fn u16(&mut self, value: u16) {
        self.bytes(&self.endian.u16_bytes(value));
    }

    /// Appends a 32-bit number.
    #[inline]
    pub fn u32(&mut self, value: u32) {
        self.bytes(&self.endian.u32_bytes(value));
    }

    /// Appends a 64-bit number.
    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.bytes(&self.endian.u64_bytes(value));
    }

    /// Appends 64-bit numbers.
    pub fn u64s(&mut self, values: &[u64]) {
        let start = self.bytes.len();
        self.bytes.resize(start + values.len() * 8, 0);
        let (words, _) = self.bytes[start..].as_chunks_mut::<8>();
        // Two loops without a choice inside are quick.
        match self.endian {
            Endian::Little => words.iter_mut().zip(values).for_each(|(word, value)| *word = value.to_le_bytes()),
            Endian::Big => words.iter_mut().zip(values).for_each(|(word, value)| *word = value.to_be_bytes()),
        }
    }

    /// Appends zeros.
    pub fn zeros(&mut self, count: usize) {
        self.bytes.resize(self.bytes.len() + count, 0);
    }

    /// Appends zeros until the length is a multiple of `align`.
    pub fn align(&mut self, align: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(align), 0);
    }

    /// Reserves a 64-bit word to be filled in later; it is 0 until then.
    pub fn reserve(&mut self) -> Place {
        let place = Place(self.bytes.len());
        self.u64(0);
        place
    }

    /// Fills in a reserved word.
    pub fn patch(&mut self, place: Place, value: u64) {
        let bytes = self.endian.u64_bytes(value);
        self.bytes[place.0..place.0 + 8].copy_from_slice(&bytes);
    }

    /// Replaces bytes written before, from byte `at` on.
    ///
    /// # Panics
    ///
    /// When they would go beyond what was written.
    pub fn overwrite(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// What was written so far.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// The finished bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_word_is_patched_in_place() {
        let mut sink = Sink::new(Endian::Little);
        sink.u8(7);
        let place = sink.reserve();
        sink.align(4);
        sink.patch(place, 0x0102);
        assert_eq!(sink.into_bytes(), [7, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
