//! Orders that affect LLVM's output: of its hash maps, of its random numbers, and of names as bytes.
//!
//! LLVM's tools write the entries of hash maps in iteration order, so the order is visible in files. Both maps are
//! open-addressing tables that grow by powers of two, with quadratic probing until LLVM 22 and linear probing since
//! LLVM 23. So the hash function, the sizes and the order of insertion determine the order (`StringMap.cpp`,
//! `DenseMap.h`).
//!
//! In LLVM 22 and earlier, the map with number keys reserves the two largest numbers and loses records with these
//! FuncHashes. Here they are ordinary keys, as in LLVM 23.
//!
//! [`Mersenne`] is the 32-bit Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998) with
//! the distributions of the GNU C++ library. Trace reservoirs and function orders use it.

use super::Release;
use xxhash_rust::xxh3::xxh3_64;

/// A free slot of a simulated table.
const FREE: u32 = u32::MAX;

/// The probing sequence of a table.
#[derive(Clone, Copy)]
enum Probing {
    /// One slot further, then two, then three.
    Quadratic,
    /// Always the next slot.
    Linear,
}

impl Probing {
    fn of(release: Release) -> Self {
        if release >= Release(23) { Self::Linear } else { Self::Quadratic }
    }

    /// Returns the slot for a key: the slot of its hash, or the next free one.
    fn find(self, slots: &[u32], hash: u32) -> usize {
        let mask = slots.len() - 1;
        let mut at = hash as usize & mask;
        let mut step = 1;
        while slots[at] != FREE {
            at = (at + step) & mask;
            step += match self {
                Self::Quadratic => 1,
                Self::Linear => 0,
            };
        }
        at
    }

    /// Places the entries of `old` into a table of `len` slots, in slot order.
    fn rebuild(self, old: &[u32], len: usize, hash_of: impl Fn(u32) -> u32) -> Vec<u32> {
        let mut new = vec![FREE; len];
        for &entry in old.iter().filter(|entry| **entry != FREE) {
            let at = self.find(&new, hash_of(entry));
            new[at] = entry;
        }
        new
    }
}

/// Returns the hash of a name in a string map, by release.
fn string_hash(release: Release, name: &[u8]) -> u32 {
    if release >= Release(17) {
        xxh3_64(name) as u32
    } else {
        name.iter().fold(0u32, |hash, &byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)))
    }
}

/// Returns the iteration order of a string map for names that were inserted in the given order, as indexes into
/// `names`. All names must differ.
pub(crate) fn string_map_order<'a>(release: Release, names: impl IntoIterator<Item = &'a [u8]>) -> Vec<u32> {
    let probing = Probing::of(release);
    let mut slots = vec![FREE; 16];
    let mut hashes: Vec<u32> = Vec::new();
    for (name, index) in names.into_iter().zip(0u32..) {
        let hash = string_hash(release, name);
        hashes.push(hash);
        let at = probing.find(&slots, hash);
        slots[at] = index;
        let entries = hashes.len();
        if entries * 4 > slots.len() * 3 {
            slots = probing.rebuild(&slots, slots.len() * 2, |entry| hashes[entry as usize]);
        } else if slots.len() - entries <= slots.len() / 8 {
            slots = probing.rebuild(&slots, slots.len(), |entry| hashes[entry as usize]);
        }
    }
    slots.retain(|slot| *slot != FREE);
    slots
}

/// Returns the hash of a 64-bit number in a map, by release.
fn number_hash(release: Release, number: u64) -> u32 {
    if release >= Release(19) {
        let mixed = number.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 31)) as u32
    } else {
        number.wrapping_mul(37) as u32
    }
}

/// Returns the iteration order of a small map for keys that were inserted in the given order, as indexes into `keys`.
/// All keys must differ.
pub(crate) fn number_map_order(release: Release, keys: &[u64]) -> Vec<u32> {
    numbers_from(release, keys, 4)
}

/// Like [`number_map_order`], but for a map without inline memory, which starts with 64 slots.
pub(crate) fn large_number_map_order(release: Release, keys: &[u64]) -> Vec<u32> {
    numbers_from(release, keys, 64)
}

/// Returns the iteration order of a map with string keys of these hashes, as indexes into `hashes`. The map had the
/// capacity for all keys before they were inserted in the given order.
pub(crate) fn prepared_map_order(release: Release, hashes: &[u32]) -> Vec<u32> {
    let probing = Probing::of(release);
    let len = (hashes.len() * 4 / 3 + 2).next_power_of_two().max(64);
    let mut slots = vec![FREE; len];
    for (&hash, entry) in hashes.iter().zip(0u32..) {
        let at = probing.find(&slots, hash);
        slots[at] = entry;
    }
    slots.retain(|slot| *slot != FREE);
    slots
}

fn numbers_from(release: Release, keys: &[u64], first_slots: usize) -> Vec<u32> {
    let probing = Probing::of(release);
    let hash_of = |entry: u32| number_hash(release, keys[entry as usize]);
    let mut slots = vec![FREE; first_slots];
    for (entry, number) in (0..keys.len() as u32).zip(1usize..) {
        if number * 4 >= slots.len() * 3 {
            let len = if slots.len() == 4 { 64 } else { slots.len() * 2 };
            slots = probing.rebuild(&slots, len, hash_of);
        }
        let at = probing.find(&slots, hash_of(entry));
        slots[at] = entry;
    }
    slots.retain(|slot| *slot != FREE);
    slots
}

const LEN: usize = 624;
const SHIFT: usize = 397;

/// `std::mt19937`; equal seeds give equal numbers.
#[derive(Debug, Clone)]
pub(crate) struct Mersenne {
    state: Box<[u32; LEN]>,
    next: usize,
}

impl Mersenne {
    /// The seed that C++ takes by default.
    pub(crate) const DEFAULT_SEED: u32 = 5489;

    /// A generator at the beginning of its sequence.
    pub(crate) fn new(seed: u32) -> Self {
        let mut state = Box::new([0u32; LEN]);
        let mut word = seed;
        for (slot, at) in state.iter_mut().zip(1u32..) {
            *slot = word;
            word = (word ^ (word >> 30)).wrapping_mul(1_812_433_253).wrapping_add(at);
        }
        Self { state, next: LEN }
    }

    /// The next 32 random bits.
    pub(crate) fn draw(&mut self) -> u32 {
        if self.next == LEN {
            self.refill();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    fn refill(&mut self) {
        for at in 0..LEN {
            let mixed = (self.state[at] & 0x8000_0000) | (self.state[(at + 1) % LEN] & 0x7fff_ffff);
            let twist = if mixed & 1 == 0 { 0 } else { 0x9908_b0df };
            self.state[at] = self.state[(at + SHIFT) % LEN] ^ (mixed >> 1) ^ twist;
        }
        self.next = 0;
    }

    /// A number from 0 to `high`, as libstdc++'s `uniform_int_distribution`
    /// makes it for ranges below 32 bits.
    pub(crate) fn uniform(&mut self, high: u32) -> u32 {
        let Some(range) = high.checked_add(1) else { return self.draw() };
        let mut product = u64::from(self.draw()) * u64::from(range);
        if (product as u32) < range {
            let threshold = range.wrapping_neg() % range;
            while (product as u32) < threshold {
                product = u64::from(self.draw()) * u64::from(range);
            }
        }
        (product >> 32) as u32
    }

    /// A number from 0 up to but not including 1, from one draw, as
    /// libstdc++'s `uniform_real_distribution<float>` makes it.
    pub(crate) fn unit_f32(&mut self) -> f32 {
        let value = self.draw() as f32 / 4_294_967_296.0;
        // The largest draws round up to 1, which lies outside.
        if value >= 1.0 { 1.0f32.next_down() } else { value }
    }

    /// Shuffles as LLVM's `shuffle` of `STLExtras.h`.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        let len = items.len();
        for at in 0..len.saturating_sub(1) {
            let left = (len - at) as u64;
            let offset = u64::from(self.draw()) % left;
            items.swap(at, at + offset as usize);
        }
    }
}

/// Returns the indexes of `count` names in the order of the names, a prefix before its extensions, and whether all names
/// differ; equal names come in any order.
pub(crate) fn name_order<'a>(count: u32, name: impl Fn(u32) -> &'a [u8]) -> (Vec<u32>, bool) {
    let mut keyed: Vec<(NameKey, u32)> = (0..count).map(|at| (NameKey::default(), at)).collect();
    // Ranges of names, and the number of first bytes that they have in common.
    let mut unsorted = vec![(0..keyed.len(), 0)];
    let mut all_differ = true;
    while let Some((range, common)) = unsorted.pop() {
        let start = range.start;
        let names = &mut keyed[range];
        let common = common + shared_prefix(names.iter().map(|(_, at)| &name(*at)[common..]));
        for (key, at) in &mut *names {
            *key = NameKey::of(&name(*at)[common..]);
        }
        // Reads no names, which are all over the memory.
        names.sort_unstable_by_key(|(key, _)| *key);
        let mut end = start;
        for equal in names.chunk_by(|(one, _), (other, _)| one == other) {
            end += equal.len();
            match equal {
                [_] => {}
                [(key, _), ..] if key.is_cut() => unsorted.push((end - equal.len()..end, common + NameKey::BYTES)),
                _ => all_differ = false,
            }
        }
    }
    (keyed.into_iter().map(|(_, at)| at).collect(), all_differ)
}

/// Number of bytes with which all names begin.
fn shared_prefix<'a>(mut names: impl Iterator<Item = &'a [u8]>) -> usize {
    let first = names.next().unwrap_or_default();
    names.fold(first.len(), |shared, name| {
        first[..shared].iter().zip(name).position(|(a, b)| a != b).unwrap_or(shared.min(name.len()))
    })
}

/// The first bytes of a name, padded with zeros, and in the lowest byte their number, which is one more if the name has
/// further bytes. In the order of names.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct NameKey(u128);

impl NameKey {
    const BYTES: usize = size_of::<u128>() - 1;

    fn of(name: &[u8]) -> Self {
        let mut key = [0; Self::BYTES + 1];
        let len = name.len().min(Self::BYTES);
        key[..len].copy_from_slice(&name[..len]);
        key[Self::BYTES] = name.len().min(Self::BYTES + 1) as u8;
        Self(u128::from_be_bytes(key))
    }

    /// Whether the name has more bytes.
    fn is_cut(self) -> bool {
        self.0 as u8 as usize > Self::BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_numbers_live_in_64_slots() {
        // Slots of k * 37 mod 64: 37, 10, 47.
        assert_eq!(number_map_order(Release(14), &[1, 2, 3]), [1, 0, 2]);
        // Two live in 4 slots: 37 mod 4 = 1, 74 mod 4 = 2.
        assert_eq!(number_map_order(Release(14), &[2, 1]), [1, 0]);
    }

    #[test]
    fn a_map_with_room_for_all_never_grows() {
        // 47 keys fit into 64 slots, 48 get 128.
        let hashes: Vec<u32> = (0..48).map(|at| 64 * (at % 2) + 63 - at).collect();
        let rising = |count: u32| (0..count).rev().collect::<Vec<_>>();
        assert_eq!(prepared_map_order(Release(16), &hashes[..47]), rising(47));
        let (even, odd): (Vec<u32>, Vec<u32>) = rising(48).into_iter().partition(|at| at % 2 == 0);
        assert_eq!(prepared_map_order(Release(16), &hashes), [even, odd].concat());
    }

    #[test]
    fn collisions_go_to_the_next_slot_from_23_on() {
        // 0, and 64 numbers apart those that hash to the same slot of 64.
        let same: Vec<u64> = (1u64..).filter(|number| number_hash(Release(22), *number) % 64 == 5).take(3).collect();
        let sixth = (1u64..).find(|number| number_hash(Release(22), *number) % 64 == 6).unwrap();
        let keys = [same[0], same[1], same[2], sixth];
        // Slots 5, 6, 8 and 7 (6 is taken), or 5, 6, 7 and 8.
        assert_eq!(number_map_order(Release(22), &keys), [0, 1, 3, 2]);
        assert_eq!(number_map_order(Release(23), &keys), [0, 1, 2, 3]);
        assert_eq!(number_map_order(Release(23), &[u64::MAX, u64::MAX - 1]).len(), 2);
    }

    #[test]
    fn strings_come_in_slot_order() {
        // h("a") = 97 = 1 mod 16, h("b") = 2, h("p") = 112 = 0.
        let names: [&[u8]; 3] = [b"b", b"a", b"p"];
        assert_eq!(string_map_order(Release(16), names), [2, 1, 0]);
    }
}

#[cfg(test)]
mod mersenne_tests {
    use crate::model::hash_order::*;

    #[test]
    fn the_ten_thousandth_number_is_the_one_of_the_standard() {
        let mut twister = Mersenne::new(Mersenne::DEFAULT_SEED);
        let last = (0..10_000).map(|_| twister.draw()).last();
        // ISO C++ requires this value of a default-constructed mt19937.
        assert_eq!(last, Some(4_123_659_995));
    }

    #[test]
    fn uniform_numbers_stay_in_range() {
        let mut twister = Mersenne::new(Mersenne::DEFAULT_SEED);
        for high in [0, 1, 2, 99, u32::MAX - 1, u32::MAX] {
            assert!((0..100).all(|_| twister.uniform(high) <= high));
        }
    }

    #[test]
    fn fractions_are_those_of_libstdcxx() {
        let mut twister = Mersenne::new(1);
        let drawn = [(); 4].map(|()| twister.unit_f32());
        assert_eq!(drawn, [0.417_022, 0.997_184_8, 0.720_324_5, 0.932_557_34]);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&twister.unit_f32())));
    }
}

#[cfg(test)]
mod name_order_tests {
    use crate::model::hash_order::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn names_are_sorted_as_bytes(
            prefix in "[a_\0]{0,20}",
            names in prop::collection::vec(prop_oneof!["[\0ab]{0,40}", "[^a]{0,3}", "a{14,18}\0{0,2}[bc]{0,40}"], 0..40),
        ) {
            let mut names: Vec<String> = names.iter().map(|name| format!("{prefix}{name}")).collect();
            let (order, all_differ) = name_order(names.len() as u32, |at| names[at as usize].as_bytes());
            let sorted: Vec<String> = order.into_iter().map(|at| names[at as usize].clone()).collect();
            names.sort();
            prop_assert_eq!(all_differ, names.windows(2).all(|pair| pair[0] != pair[1]));
            prop_assert_eq!(sorted, names);
        }
    }
}
