//! Hashing many names at once.
//!
//! MD5 (RFC 1321) is a chain of dependent steps, of which a processor could do
//! several at a time. Here eight names go through it side by side, so that the
//! compiler can put one word of each into a vector. A name that is done makes
//! room for the next one, whatever their lengths.

use super::symbols::NameRef;

/// Names that are hashed side by side.
const LANES: usize = 8;

/// One word of each lane.
type Words = [u32; LANES];

const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// The whole part of 2^32 times the sine of 1 to 64 (RFC 1321, 3.4).
const SINES: [u32; 64] = [
    0xd76a_a478,
    0xe8c7_b756,
    0x2420_70db,
    0xc1bd_ceee,
    0xf57c_0faf,
    0x4787_c62a,
    0xa830_4613,
    0xfd46_9501,
    0x6980_98d8,
    0x8b44_f7af,
    0xffff_5bb1,
    0x895c_d7be,
    0x6b90_1122,
    0xfd98_7193,
    0xa679_438e,
    0x49b4_0821,
    0xf61e_2562,
    0xc040_b340,
    0x265e_5a51,
    0xe9b6_c7aa,
    0xd62f_105d,
    0x0244_1453,
    0xd8a1_e681,
    0xe7d3_fbc8,
    0x21e1_cde6,
    0xc337_07d6,
    0xf4d5_0d87,
    0x455a_14ed,
    0xa9e3_e905,
    0xfcef_a3f8,
    0x676f_02d9,
    0x8d2a_4c8a,
    0xfffa_3942,
    0x8771_f681,
    0x6d9d_6122,
    0xfde5_380c,
    0xa4be_ea44,
    0x4bde_cfa9,
    0xf6bb_4b60,
    0xbebf_bc70,
    0x289b_7ec6,
    0xeaa1_27fa,
    0xd4ef_3085,
    0x0488_1d05,
    0xd9d4_d039,
    0xe6db_99e5,
    0x1fa2_7cf8,
    0xc4ac_5665,
    0xf429_2244,
    0x432a_ff97,
    0xab94_23a7,
    0xfc93_a039,
    0x655b_59c3,
    0x8f0c_cc92,
    0xffef_f47d,
    0x8584_5dd1,
    0x6fa8_7e4f,
    0xfe2c_e6e0,
    0xa301_4314,
    0x4e08_11a1,
    0xf753_7e82,
    0xbd3a_f235,
    0x2ad7_d2bb,
    0xeb86_d391,
];

/// The hash of each name, as [`name_ref`](super::name_ref) gives it.
pub fn name_refs(names: &[&[u8]]) -> Vec<NameRef> {
    let mut hashes = vec![0; names.len()];
    let mut waiting = names.iter().enumerate();
    let mut lanes: [Option<Lane<'_>>; LANES] = Default::default();
    let mut state = START.map(|word| [word; LANES]);
    loop {
        let mut words = [[0; LANES]; 16];
        let mut busy = false;
        for (at, lane) in lanes.iter_mut().enumerate() {
            if lane.is_none()
                && let Some((index, name)) = waiting.next()
            {
                *lane = Some(Lane { index, name, blocks_done: 0 });
                state.iter_mut().zip(START).for_each(|(words, start)| words[at] = start);
            }
            let Some(lane) = lane else { continue };
            busy = true;
            let block = lane.block();
            for (row, word) in words.iter_mut().zip(block.as_chunks::<4>().0) {
                row[at] = u32::from_le_bytes(*word);
            }
        }
        if !busy {
            return hashes;
        }
        compress(&mut state, &words);
        for (at, place) in lanes.iter_mut().enumerate() {
            let Some(lane) = place else { continue };
            lane.blocks_done += 1;
            if lane.blocks_done == lane.blocks() {
                hashes[lane.index] = u64::from(state[1][at]) << 32 | u64::from(state[0][at]);
                *place = None;
            }
        }
    }
}

/// A name on its way through the hash.
struct Lane<'a> {
    index: usize,
    name: &'a [u8],
    blocks_done: usize,
}

impl Lane<'_> {
    /// Blocks of the name with its padding: a byte 0x80 and the length in bits.
    fn blocks(&self) -> usize {
        (self.name.len() + 8) / 64 + 1
    }

    /// The next block.
    fn block(&self) -> [u8; 64] {
        let rest = self.name.get(self.blocks_done * 64..).unwrap_or_default();
        if let Some(block) = rest.first_chunk() {
            return *block;
        }
        let mut block = [0; 64];
        block[..rest.len()].copy_from_slice(rest);
        // The byte stands right behind the name, be it in the block before.
        if self.blocks_done * 64 <= self.name.len() {
            block[rest.len()] = 0x80;
        }
        if self.blocks_done + 1 == self.blocks() {
            block[56..].copy_from_slice(&(self.name.len() as u64).wrapping_mul(8).to_le_bytes());
        }
        block
    }
}

/// Adds one block of each lane to its state.
fn compress(state: &mut [Words; 4], words: &[Words; 16]) {
    let [mut a, mut b, mut c, mut d] = *state;
    for i in (0..16).step_by(4) {
        let f = |b: u32, c: u32, d: u32| d ^ (b & (c ^ d));
        let word = |i: usize| (&words[i], SINES[i]);
        a = step::<7>(a, b, c, d, f, word(i));
        d = step::<12>(d, a, b, c, f, word(i + 1));
        c = step::<17>(c, d, a, b, f, word(i + 2));
        b = step::<22>(b, c, d, a, f, word(i + 3));
    }
    for i in (0..16).step_by(4) {
        let f = |b: u32, c: u32, d: u32| c ^ (d & (b ^ c));
        let word = |i: usize| (&words[(5 * i + 1) % 16], SINES[16 + i]);
        a = step::<5>(a, b, c, d, f, word(i));
        d = step::<9>(d, a, b, c, f, word(i + 1));
        c = step::<14>(c, d, a, b, f, word(i + 2));
        b = step::<20>(b, c, d, a, f, word(i + 3));
    }
    for i in (0..16).step_by(4) {
        let f = |b: u32, c: u32, d: u32| b ^ c ^ d;
        let word = |i: usize| (&words[(3 * i + 5) % 16], SINES[32 + i]);
        a = step::<4>(a, b, c, d, f, word(i));
        d = step::<11>(d, a, b, c, f, word(i + 1));
        c = step::<16>(c, d, a, b, f, word(i + 2));
        b = step::<23>(b, c, d, a, f, word(i + 3));
    }
    for i in (0..16).step_by(4) {
        let f = |b: u32, c: u32, d: u32| c ^ (b | !d);
        let word = |i: usize| (&words[7 * i % 16], SINES[48 + i]);
        a = step::<6>(a, b, c, d, f, word(i));
        d = step::<10>(d, a, b, c, f, word(i + 1));
        c = step::<15>(c, d, a, b, f, word(i + 2));
        b = step::<21>(b, c, d, a, f, word(i + 3));
    }
    for (words, more) in state.iter_mut().zip([a, b, c, d]) {
        words.iter_mut().zip(more).for_each(|(word, more)| *word = word.wrapping_add(more));
    }
}

/// One step in every lane: `b + ((a + f(b, c, d) + word + sine) <<< TURN)`.
#[inline(always)]
fn step<const TURN: u32>(
    a: Words,
    b: Words,
    c: Words,
    d: Words,
    f: impl Fn(u32, u32, u32) -> u32,
    (word, sine): (&Words, u32),
) -> Words {
    let mut sum = a;
    for i in 0..LANES {
        let added = a[i].wrapping_add(f(b[i], c[i], d[i])).wrapping_add(word[i]).wrapping_add(sine);
        sum[i] = b[i].wrapping_add(added.rotate_left(TURN));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::name_ref;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_length_around_the_ends_of_blocks_is_hashed_as_alone() {
        let text: Vec<u8> = (0..300u32).map(|byte| (byte * 7) as u8).collect();
        let names: Vec<&[u8]> = (0..text.len()).map(|len| &text[..len]).collect();
        let alone: Vec<NameRef> = names.iter().map(|name| name_ref(name)).collect();
        assert_eq!(name_refs(&names), alone);
        assert!(name_refs(&[]).is_empty());
        assert_eq!(name_refs(&[b"main"]), [0xdb95_6436_e78d_d5fa]);
    }

    proptest! {
        #[test]
        fn names_do_not_disturb_each_other(names in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..40)) {
            let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
            let alone: Vec<NameRef> = names.iter().map(|name| name_ref(name)).collect();
            prop_assert_eq!(name_refs(&names), alone);
        }
    }
}
