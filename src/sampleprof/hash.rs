//! The hashes by which LLVM's containers keep functions. They show in a file
//! only through the order of its function metadata.

use xxhash_rust::xxh3::xxh3_64;

/// `llvm::hash_value` seeds; the process-wide seed when none is set.
const SEED: u64 = 0xff51_afd7_ed55_8ccd;
const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;
const K3: u64 = 0xc949_d7c7_509e_6557;

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

fn u32_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |chunk| u64::from(u32::from_le_bytes(*chunk)))
}

fn shift_mix(value: u64) -> u64 {
    value ^ (value >> 47)
}

fn pair(low: u64, high: u64) -> u64 {
    const MULTIPLIER: u64 = 0x9ddf_ea08_eb38_2d69;
    let a = shift_mix((low ^ high).wrapping_mul(MULTIPLIER));
    let b = shift_mix((high ^ a).wrapping_mul(MULTIPLIER));
    b.wrapping_mul(MULTIPLIER)
}

/// The hash of a range of bytes, as `llvm::hash_combine_range` of releases up to 22.
pub(super) fn hash_range(bytes: &[u8]) -> u64 {
    let n = bytes.len() as u64;
    match bytes.len() {
        0 => K2 ^ SEED,
        1..=3 => {
            let y = u64::from(bytes[0]) + (u64::from(bytes[bytes.len() / 2]) << 8);
            let z = n + (u64::from(bytes[bytes.len() - 1]) << 2);
            shift_mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K3) ^ SEED).wrapping_mul(K2)
        }
        4..=8 => pair(n.wrapping_add(u32_at(bytes, 0) << 3), SEED ^ u32_at(bytes, bytes.len() - 4)),
        9..=16 => {
            let (a, b) = (u64_at(bytes, 0), u64_at(bytes, bytes.len() - 8));
            pair(SEED ^ a, b.wrapping_add(n).rotate_right(n as u32)) ^ b
        }
        17..=32 => {
            let end = bytes.len();
            let a = u64_at(bytes, 0).wrapping_mul(K1);
            let b = u64_at(bytes, 8);
            let c = u64_at(bytes, end - 8).wrapping_mul(K2);
            let d = u64_at(bytes, end - 16).wrapping_mul(K0);
            let low = a.wrapping_sub(b).rotate_right(43).wrapping_add((c ^ SEED).rotate_right(30)).wrapping_add(d);
            let high = a.wrapping_add((b ^ K3).rotate_right(20)).wrapping_sub(c).wrapping_add(n).wrapping_add(SEED);
            pair(low, high)
        }
        33..=64 => hash_up_to_64(bytes),
        _ => hash_long(bytes),
    }
}

fn hash_up_to_64(bytes: &[u8]) -> u64 {
    let (end, n) = (bytes.len(), bytes.len() as u64);
    let round = |z: u64, mut a: u64, x: u64, y: u64| {
        let mut b = a.wrapping_add(z).rotate_right(52);
        let mut c = a.rotate_right(37);
        a = a.wrapping_add(x);
        c = c.wrapping_add(a.rotate_right(7));
        a = a.wrapping_add(y);
        b = b.wrapping_add(a.rotate_right(31)).wrapping_add(c);
        (a.wrapping_add(z), b)
    };
    let first = u64_at(bytes, 0).wrapping_add(n.wrapping_add(u64_at(bytes, end - 16)).wrapping_mul(K0));
    let (vf, vs) = round(u64_at(bytes, 24), first, u64_at(bytes, 8), u64_at(bytes, 16));
    let second = u64_at(bytes, 16).wrapping_add(u64_at(bytes, end - 32));
    let (wf, ws) = round(u64_at(bytes, end - 8), second, u64_at(bytes, end - 24), u64_at(bytes, end - 16));
    let r = shift_mix(vf.wrapping_add(ws).wrapping_mul(K2).wrapping_add(wf.wrapping_add(vs).wrapping_mul(K0)));
    shift_mix((SEED ^ r.wrapping_mul(K0)).wrapping_add(vs)).wrapping_mul(K2)
}

fn hash_long(bytes: &[u8]) -> u64 {
    let mut h = [0, SEED, pair(SEED, K1), (SEED ^ K1).rotate_right(49), SEED.wrapping_mul(K1), shift_mix(SEED), 0];
    h[6] = pair(h[4], h[5]);
    let (blocks, rest) = bytes.as_chunks::<64>();
    blocks.iter().for_each(|block| mix(&mut h, block));
    if !rest.is_empty() {
        mix(&mut h, &bytes[bytes.len() - 64..]);
    }
    let n = bytes.len() as u64;
    let low = pair(h[3], h[5]).wrapping_add(shift_mix(h[1]).wrapping_mul(K1)).wrapping_add(h[2]);
    let high = pair(h[4], h[6]).wrapping_add(shift_mix(n).wrapping_mul(K1)).wrapping_add(h[0]);
    pair(low, high)
}

fn mix(h: &mut [u64; 7], block: &[u8]) {
    let f = |at| u64_at(block, at);
    h[0] = h[0].wrapping_add(h[1]).wrapping_add(h[3]).wrapping_add(f(8)).rotate_right(37).wrapping_mul(K1);
    h[1] = h[1].wrapping_add(h[4]).wrapping_add(f(48)).rotate_right(42).wrapping_mul(K1);
    h[0] ^= h[6];
    h[1] = h[1].wrapping_add(h[3]).wrapping_add(f(40));
    h[2] = h[2].wrapping_add(h[5]).rotate_right(33).wrapping_mul(K1);
    h[3] = h[4].wrapping_mul(K1);
    h[4] = h[0].wrapping_add(h[5]);
    let (a, b) = mix_half(block, 0, h[3], h[4]);
    (h[3], h[4]) = (a, b);
    h[5] = h[2].wrapping_add(h[6]);
    h[6] = h[1].wrapping_add(f(16));
    let (a, b) = mix_half(block, 32, h[5], h[6]);
    (h[5], h[6]) = (a, b);
    h.swap(0, 2);
}

fn mix_half(block: &[u8], at: usize, mut a: u64, mut b: u64) -> (u64, u64) {
    a = a.wrapping_add(u64_at(block, at));
    let c = u64_at(block, at + 24);
    b = b.wrapping_add(a).wrapping_add(c).rotate_right(21);
    let d = a;
    a = a.wrapping_add(u64_at(block, at + 8)).wrapping_add(u64_at(block, at + 16));
    b = b.wrapping_add(a.rotate_right(44)).wrapping_add(d);
    (a.wrapping_add(c), b)
}

/// The hash of a range of bytes from LLVM 23 on.
pub(super) fn hash_range_xxh3(bytes: &[u8]) -> u64 {
    xxh3_64(bytes) ^ SEED
}

/// `std::hash` of a string in libstdc++ on 64-bit hosts.
pub(super) fn std_hash(bytes: &[u8]) -> u64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    let mut hash = 0xc70f_6907 ^ (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let value = shift_mix(u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
        hash = (hash ^ value).wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(MULTIPLIER);
    }
    shift_mix(shift_mix(hash).wrapping_mul(MULTIPLIER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_hash_as_in_libstdcxx() {
        // What a program built with GCC's library prints.
        let cases: [(&str, u64); 5] = [
            ("", 6_142_509_188_972_423_790),
            ("a", 4_993_892_634_952_068_459),
            ("foo", 9_631_199_822_919_835_226),
            ("12345678", 10_113_836_418_918_046_885),
            ("123456789012345678", 9_272_190_511_951_556_031),
        ];
        for (text, expected) in cases {
            assert_eq!(std_hash(text.as_bytes()), expected, "{text}");
        }
    }
}
