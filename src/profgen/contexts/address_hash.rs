//! The hash of a list of addresses with which LLVM finds the counters of a calling context: CityHash of Google (2011) with
//! a seed, as in `llvm/ADT/Hashing.h`.
//!
//! LLVM walks through contexts in the order of their hashes. This order is visible where frames are missing.

const K0: u64 = 0xC3A5_C85C_97CB_3127;
const K1: u64 = 0xB492_B66F_BE98_F273;
const K2: u64 = 0x9AE1_6A3B_2F90_404F;
const K3: u64 = 0xC949_D7C7_509E_6557;
const SEED: u64 = 0xFF51_AFD7_ED55_8CCD;
const MULTIPLIER: u64 = 0x9DDF_EA08_EB38_2D69;
/// Longer lists are hashed in blocks of this many numbers.
const BLOCK: usize = 8;

/// Returns the hash of a list.
pub(super) fn hash_of(list: &[u64]) -> u64 {
    let bytes = size_of_val(list) as u64;
    match *list {
        [] => K2 ^ SEED,
        [one] => mixed(bytes.wrapping_add((one & 0xFFFF_FFFF) << 3), SEED ^ (one >> 32)),
        [first, last] => mixed(SEED ^ first, last.wrapping_add(bytes).rotate_right(bytes as u32)) ^ last,
        [_, _, _] | [_, _, _, _] => of_few(list, bytes),
        _ if list.len() <= BLOCK => of_one_block(list, bytes),
        _ => of_blocks(list, bytes),
    }
}

fn shifted(value: u64) -> u64 {
    value ^ (value >> 47)
}

fn mixed(low: u64, high: u64) -> u64 {
    let once = shifted((low ^ high).wrapping_mul(MULTIPLIER));
    shifted((high ^ once).wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER)
}

/// The hash of three or four numbers.
fn of_few(list: &[u64], bytes: u64) -> u64 {
    let from_end = |at: usize| list[list.len() - at];
    let (a, c, d) = (list[0].wrapping_mul(K1), from_end(1).wrapping_mul(K2), from_end(2).wrapping_mul(K0));
    let left = a.wrapping_sub(list[1]).rotate_right(43).wrapping_add((c ^ SEED).rotate_right(30));
    let right = a.wrapping_add((list[1] ^ K3).rotate_right(20)).wrapping_sub(c);
    mixed(left.wrapping_add(d), right.wrapping_add(bytes).wrapping_add(SEED))
}

/// The hash of five to eight numbers.
fn of_one_block(list: &[u64], bytes: u64) -> u64 {
    let from_end = |at: usize| list[list.len() - at];
    // Both halves are mixed in the same way.
    let half = |start: u64, second: u64, third: u64, last: u64| {
        let sums = [start, start.wrapping_add(second), start.wrapping_add(second).wrapping_add(third)];
        let rotated = start.wrapping_add(last).rotate_right(52);
        let others = sums[0].rotate_right(37).wrapping_add(sums[1].rotate_right(7));
        (sums[2].wrapping_add(last), rotated.wrapping_add(sums[2].rotate_right(31)).wrapping_add(others))
    };
    let start = list[0].wrapping_add(bytes.wrapping_add(from_end(2)).wrapping_mul(K0));
    let (front, front_rest) = half(start, list[1], list[2], list[3]);
    let (back, back_rest) = half(list[2].wrapping_add(from_end(4)), from_end(3), from_end(2), from_end(1));
    let (left, right) =
        (front.wrapping_add(back_rest).wrapping_mul(K2), back.wrapping_add(front_rest).wrapping_mul(K0));
    let both = shifted(left.wrapping_add(right));
    shifted((SEED ^ both.wrapping_mul(K0)).wrapping_add(front_rest)).wrapping_mul(K2)
}

/// The hash of more than eight numbers. The last block overlaps the one before if the list has no whole number of blocks.
fn of_blocks(list: &[u64], bytes: u64) -> u64 {
    let mut state = State::new();
    let (blocks, rest) = list.as_chunks::<BLOCK>();
    blocks.iter().for_each(|block| state.add(block));
    if let Some(last) = list.last_chunk::<BLOCK>().filter(|_| !rest.is_empty()) {
        state.add(last);
    }
    state.finish(bytes)
}

struct State([u64; 7]);

impl State {
    fn new() -> Self {
        let (fourth, fifth) = (SEED.wrapping_mul(K1), shifted(SEED));
        Self([0, SEED, mixed(SEED, K1), (SEED ^ K1).rotate_right(49), fourth, fifth, mixed(fourth, fifth)])
    }

    fn add(&mut self, block: &[u64; BLOCK]) {
        let Self([a, b, c, d, e, f, g]) = *self;
        let first = a.wrapping_add(b).wrapping_add(d).wrapping_add(block[1]).rotate_right(37).wrapping_mul(K1) ^ g;
        let second = b.wrapping_add(e).wrapping_add(block[6]).rotate_right(42).wrapping_mul(K1);
        let second = second.wrapping_add(d).wrapping_add(block[5]);
        let third = c.wrapping_add(f).rotate_right(33).wrapping_mul(K1);
        let (fourth, fifth) = mix_half(&block[..4], e.wrapping_mul(K1), first.wrapping_add(f));
        let (sixth, seventh) = mix_half(&block[4..], third.wrapping_add(g), second.wrapping_add(block[2]));
        // The first and the third change places.
        self.0 = [third, second, first, fourth, fifth, sixth, seventh];
    }

    fn finish(self, bytes: u64) -> u64 {
        let Self([a, b, c, d, e, f, g]) = self;
        let left = mixed(d, f).wrapping_add(shifted(b).wrapping_mul(K1)).wrapping_add(c);
        let right = mixed(e, g).wrapping_add(shifted(bytes).wrapping_mul(K1)).wrapping_add(a);
        mixed(left, right)
    }
}

fn mix_half(half: &[u64], one: u64, other: u64) -> (u64, u64) {
    let start = one.wrapping_add(half[0]);
    let sum = start.wrapping_add(half[1]).wrapping_add(half[2]);
    let rotated = other.wrapping_add(start).wrapping_add(half[3]).rotate_right(21);
    (sum.wrapping_add(half[3]), rotated.wrapping_add(sum.rotate_right(44)).wrapping_add(start))
}

#[cfg(test)]
mod tests {
    use super::hash_of;

    /// Computed with `hash_combine_range` of LLVM 14.
    #[test]
    fn hashes_are_those_of_llvm() {
        let numbers: Vec<u64> = (0..20).map(|at| 0x40_1000 + 0x123_4567_89AB * at).collect();
        let found: Vec<u64> = [0, 1, 2, 3, 4, 5, 8, 9, 16, 20].iter().map(|len| hash_of(&numbers[..*len])).collect();
        assert_eq!(found, EXPECTED);
    }

    const EXPECTED: [u64; 10] = [
        0x65B0_C5EC_C2C5_CC82,
        0x8D0E_7D7F_3E24_7865,
        0x4B1F_F629_66ED_A82A,
        0x0A70_06FF_8D81_26C2,
        0x0332_5195_41E4_BE0F,
        0x3714_0254_568F_AF45,
        0xD9DE_C045_3779_BFEC,
        0x1CAE_EA47_D54E_2585,
        0x506C_42DD_5AAD_A261,
        0x728E_5E4F_4E1A_7CBF,
    ];
}
