//! Names of functions and vtables, their storage and their hashes.
//!
//! Many names are in one text ([`NameText`]), which several tables can share.
//!
//! MD5 (RFC 1321) is a chain of dependent steps, and a processor could do several such chains
//! at a time. So `hash_names` hashes eight names side by side. If one is done, the next name
//! takes its lane.

use hashbrown::{HashMap, HashTable, hash_table};
use std::hash::BuildHasher;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Low 64 bits of a name's MD5, which stands for the name in all formats.
pub type NameRef = u64;

/// The hash of a name: the first 8 bytes of its MD5 as a little-endian number
/// (`IndexedInstrProf::ComputeHash` in LLVM), whatever the file's byte order.
///
/// ```
/// assert_eq!(profbridge::instr::name_ref(b"main"), 0xdb95_6436_e78d_d5fa);
/// ```
pub fn name_ref(name: &[u8]) -> NameRef {
    let digest = md5::compute(name);
    u64::from_le_bytes(*digest.first_chunk().expect("an MD5 digest has 16 bytes"))
}

/// A map keyed by [`NameRef`]. The hashes come from files, so the map hashes
/// them again with a random seed.
pub type NameRefMap<V> = HashMap<NameRef, V, foldhash::fast::RandomState>;

/// Handle of a name in the [`SymbolTable`] that gave it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol(u32);

/// Name hash → name. On a collision the first name stays.
#[derive(Debug, Clone, Default)]
pub struct SymbolTable {
    store: NameStore,
    names: Vec<Entry>,
    /// Indices into `names`, by hash.
    index: HashTable<u32>,
    hasher: foldhash::fast::RandomState,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: NameRef,
    place: NamePlace,
}

impl SymbolTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reserves memory for `names` more names in shared strings.
    pub(crate) fn reserve(&mut self, names: usize) {
        self.names.reserve(names);
        let (known, hasher) = (&self.names, &self.hasher);
        self.index.reserve(names, |&at| hasher.hash_one(known[at as usize].hash));
    }

    /// Adds a name and returns its hash.
    pub fn insert(&mut self, name: &[u8]) -> NameRef {
        let hash = name_ref(name);
        self.insert_hashed(hash, name);
        hash
    }

    /// Adds a name whose hash is known.
    pub fn insert_hashed(&mut self, hash: NameRef, name: &[u8]) {
        self.insert_shared(hash, name, None);
    }

    /// Like [`insert_hashed`](Self::insert_hashed), but shares `text` if the name
    /// is a piece of it.
    pub fn insert_shared(&mut self, hash: NameRef, name: &[u8], text: Option<&NameText>) {
        let Self { store, names, index, hasher } = self;
        let same = |at: &u32| names[*at as usize].hash == hash;
        let spread = |at: &u32| hasher.hash_one(names[*at as usize].hash);
        if let hash_table::Entry::Vacant(place) = index.entry(hasher.hash_one(hash), same, spread) {
            place.insert(u32::try_from(names.len()).expect("fewer than 2^32 names fit in memory"));
            names.push(Entry { hash, place: store.push(name, text) });
        }
    }

    /// Adds all names of another table; names that are there already stay.
    pub(crate) fn absorb(&mut self, other: &Self) {
        for (symbol, entry) in (0..).map(Symbol).zip(&other.names) {
            self.insert_shared(entry.hash, other.resolve(symbol), other.text(symbol));
        }
    }

    /// The name of that hash.
    pub fn name(&self, hash: NameRef) -> Option<&[u8]> {
        self.find(hash).map(|symbol| self.resolve(symbol))
    }

    /// The handle of the name of that hash.
    #[inline]
    pub fn find(&self, hash: NameRef) -> Option<Symbol> {
        let found = self.index.find(self.hasher.hash_one(hash), |at| self.names[*at as usize].hash == hash);
        found.copied().map(Symbol)
    }

    /// Like [`find`](Self::find), but checks the name after `last` first, which the caller found before: most files
    /// have names and records in the same order.
    #[inline]
    pub fn find_after(&self, last: Option<Symbol>, hash: NameRef) -> Option<Symbol> {
        let next = last.map_or(0, |last| last.0.saturating_add(1));
        match self.names.get(next as usize) {
            Some(entry) if entry.hash == hash => Some(Symbol(next)),
            _ => self.find(hash),
        }
    }

    /// The name of a handle that this table gave out.
    #[inline]
    pub fn resolve(&self, symbol: Symbol) -> &[u8] {
        self.store.at(self.names[symbol.0 as usize].place)
    }

    /// The shared text that the name of a handle is a piece of, if it is one.
    #[inline]
    pub fn text(&self, symbol: Symbol) -> Option<&NameText> {
        self.store.text_at(self.names[symbol.0 as usize].place)
    }

    /// Returns the shared strings that contain names of the table.
    pub fn texts(&self) -> impl Iterator<Item = &NameText> {
        self.store.texts()
    }

    /// All names with their hashes, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (NameRef, &[u8])> {
        self.names.iter().map(|entry| (entry.hash, self.store.at(entry.place)))
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// A text with many names in it that several tables share, as the names of one
/// object file are shared by the tables of all images that link it.
#[derive(Debug, Clone)]
pub struct NameText(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    text: Vec<u8>,
    stays: AtomicBool,
}

impl NameText {
    /// Marks the text as kept until the end of the run.
    pub fn stay(&self) {
        self.0.stays.store(true, Ordering::Relaxed);
    }

    /// Whether the string stays in memory until the end of the run. Other strings must not be shared for a few names:
    /// an input may have large strings that only a few of its records need, and there may be many inputs.
    #[inline]
    pub fn stays(&self) -> bool {
        self.0.stays.load(Ordering::Relaxed)
    }

    /// Where `name` begins, if it is a piece of this very text and not merely
    /// the same bytes.
    #[inline]
    pub fn start_of(&self, name: &[u8]) -> Option<usize> {
        let start = name.as_ptr().addr().checked_sub(self.as_ptr().addr())?;
        let piece = self.get(start..start.checked_add(name.len())?)?;
        std::ptr::eq(piece, name).then_some(start)
    }

    /// Whether both are one text in memory.
    #[inline]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<Vec<u8>> for NameText {
    fn from(text: Vec<u8>) -> Self {
        Self(Arc::new(Shared { text, stays: AtomicBool::new(false) }))
    }
}

impl Deref for NameText {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0.text
    }
}

/// Names in shared strings, or in a string that the store owns.
#[derive(Debug, Clone, Default)]
pub(super) struct NameStore {
    /// The last one grows until it is full.
    own: Vec<Vec<u8>>,
    shared: Vec<NameText>,
    /// Index into `shared` by the address of the text, which stays while it is held.
    known: HashMap<usize, u32, foldhash::fast::RandomState>,
    /// The text used last: consecutive names are mostly in one text.
    last: Option<u32>,
}

/// The position of a name.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamePlace {
    start: u32,
    len: u32,
    /// Index into the shared strings, or with [`OWN`] into the owned strings.
    text: u32,
}

const OWN: u32 = 1 << 31;
/// An owned text of this length is full.
const FULL: usize = 1 << 30;

impl NameStore {
    /// Stores a name: shares `text` if it contains the name, otherwise copies.
    pub(super) fn push(&mut self, name: &[u8], text: Option<&NameText>) -> NamePlace {
        let len = u32::try_from(name.len()).expect("limits keep names below 4 GiB");
        let shared = text.and_then(|text| Some((text, u32::try_from(text.start_of(name)?).ok()?)));
        if let Some((text, start)) = shared {
            return NamePlace { start, len, text: self.share(text) };
        }
        if self.own.last().is_none_or(|own| own.len() >= FULL) {
            self.own.push(Vec::new());
        }
        let at = self.own.len() - 1;
        let start = self.own[at].len();
        self.own[at].extend_from_slice(name);
        let number = |number: usize| u32::try_from(number).expect("owned strings and their number are small");
        NamePlace { start: number(start), len, text: OWN + number(at) }
    }

    fn share(&mut self, text: &NameText) -> u32 {
        if let Some(last) = self.last.filter(|last| self.shared[*last as usize].is(text)) {
            return last;
        }
        let Self { shared, known, .. } = self;
        let at = *known.entry(Arc::as_ptr(&text.0).addr()).or_insert_with(|| {
            shared.push(text.clone());
            u32::try_from(shared.len() - 1).expect("there are at most as many strings as names")
        });
        self.last = Some(at);
        at
    }

    /// The name at a place of this store.
    #[inline]
    pub(super) fn at(&self, place: NamePlace) -> &[u8] {
        let text: &[u8] = match place.text.checked_sub(OWN) {
            Some(own) => &self.own[own as usize],
            None => &self.shared[place.text as usize],
        };
        &text[place.start as usize..][..place.len as usize]
    }

    /// Returns all shared strings.
    pub(super) fn texts(&self) -> impl Iterator<Item = &NameText> {
        self.shared.iter()
    }

    /// Returns the shared text that contains the name at a place.
    #[inline]
    pub(super) fn text_at(&self, place: NamePlace) -> Option<&NameText> {
        self.shared.get(place.text as usize)
    }
}

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

/// The hash of each name, as [`name_ref`](crate::model::name_ref) gives it.
pub fn name_refs(names: &[&[u8]]) -> Vec<NameRef> {
    let mut hashes = vec![0; names.len()];
    hash_names(names, &mut hashes);
    hashes
}

/// Puts the hash of each name into its place of `hashes`, which are as many.
pub(crate) fn hash_names(names: &[&[u8]], hashes: &mut [NameRef]) {
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
            return;
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
        // The byte follows the name directly, perhaps in the previous block.
        if self.blocks_done * 64 <= self.name.len() {
            block[rest.len()] = 0x80;
        }
        if self.blocks_done + 1 == self.blocks() {
            block[56..].copy_from_slice(&(self.name.len() as u64).wrapping_mul(8).to_le_bytes());
        }
        block
    }
}

/// The same word of two lanes, whose steps do not wait for each other.
type Pair = [u32; 2];

/// Lanes of one half.
const HALF: usize = LANES / 2;

/// Adds one block of each lane to its state.
///
/// All steps of a lane, and of its partner in the other half, are in one loop over the lanes without an inner loop,
/// because compilers vectorize this form.
fn compress(state: &mut [Words; 4], words: &[Words; 16]) {
    for lane in 0..HALF {
        let start = state.each_ref().map(|words| [words[lane], words[lane + HALF]]);
        let block = words.each_ref().map(|words| [words[lane], words[lane + HALF]]);
        let end = last_round(third_round(second_round(first_round(start, &block), &block), &block), &block);
        for (words, [one, other]) in state.iter_mut().zip(end) {
            words[lane] = words[lane].wrapping_add(one);
            words[lane + HALF] = words[lane + HALF].wrapping_add(other);
        }
    }
}

#[inline(always)]
fn first_round(state: [Pair; 4], block: &[Pair; 16]) -> [Pair; 4] {
    let four = |state, at: usize| {
        let words = [0, 1, 2, 3].map(|step| (block[at + step], SINES[at + step]));
        four_steps::<7, 12, 17, 22>(state, |b, c, d| d ^ (b & (c ^ d)), words)
    };
    four(four(four(four(state, 0), 4), 8), 12)
}

#[inline(always)]
fn second_round(state: [Pair; 4], block: &[Pair; 16]) -> [Pair; 4] {
    let four = |state, at: usize| {
        let words = [0, 1, 2, 3].map(|step| (block[(5 * (at + step) + 1) % 16], SINES[16 + at + step]));
        four_steps::<5, 9, 14, 20>(state, |b, c, d| c ^ (d & (b ^ c)), words)
    };
    four(four(four(four(state, 0), 4), 8), 12)
}

#[inline(always)]
fn third_round(state: [Pair; 4], block: &[Pair; 16]) -> [Pair; 4] {
    let four = |state, at: usize| {
        let words = [0, 1, 2, 3].map(|step| (block[(3 * (at + step) + 5) % 16], SINES[32 + at + step]));
        four_steps::<4, 11, 16, 23>(state, |b, c, d| b ^ c ^ d, words)
    };
    four(four(four(four(state, 0), 4), 8), 12)
}

#[inline(always)]
fn last_round(state: [Pair; 4], block: &[Pair; 16]) -> [Pair; 4] {
    let four = |state, at: usize| {
        let words = [0, 1, 2, 3].map(|step| (block[7 * (at + step) % 16], SINES[48 + at + step]));
        four_steps::<6, 10, 15, 21>(state, |b, c, d| c ^ (b | !d), words)
    };
    four(four(four(four(state, 0), 4), 8), 12)
}

/// Four steps, each of which makes another word of the state
/// `b + ((a + f(b, c, d) + word + sine) <<< TURN)`.
#[inline(always)]
fn four_steps<const FIRST: u32, const SECOND: u32, const THIRD: u32, const LAST: u32>(
    [a, b, c, d]: [Pair; 4],
    f: impl Fn(u32, u32, u32) -> u32,
    words: [(Pair, u32); 4],
) -> [Pair; 4] {
    let step = |[a, b, c, d]: [Pair; 4], (word, sine): (Pair, u32), turn: u32| {
        [0, 1].map(|of| {
            let added = a[of].wrapping_add(f(b[of], c[of], d[of])).wrapping_add(word[of]).wrapping_add(sine);
            b[of].wrapping_add(added.rotate_left(turn))
        })
    };
    let a = step([a, b, c, d], words[0], FIRST);
    let d = step([d, a, b, c], words[1], SECOND);
    let c = step([c, d, a, b], words[2], THIRD);
    let b = step([b, c, d, a], words[3], LAST);
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use crate::model::symbols::*;

    #[test]
    fn names_are_shared_or_copied_and_found_again() {
        let one = NameText::from(b"main\x01f\x01g".to_vec());
        let other = NameText::from(b"main\x01h".to_vec());
        let mut store = NameStore::default();
        let names: [(&[u8], Option<&NameText>); 8] = [
            (&one[..4], Some(&one)),
            (&one[5..6], Some(&one)),
            (b"alone", None),
            (&other[..4], Some(&other)),
            (&one[7..], Some(&one)),
            // The same bytes from elsewhere, and a piece of another text.
            (b"main", Some(&one)),
            (&other[5..], Some(&one)),
            (b"", Some(&one)),
        ];
        let places: Vec<NamePlace> = names.iter().map(|(name, text)| store.push(name, *text)).collect();
        let copy = store.clone();
        for ((name, _), place) in names.iter().zip(&places) {
            assert_eq!((store.at(*place), copy.at(*place)), (*name, *name));
        }
        let shared: Vec<bool> = places.iter().map(|place| store.text_at(*place).is_some()).collect();
        assert_eq!(shared, [true, true, false, true, true, false, false, false]);
        assert_eq!(store.own, [b"alonemainh"]);
        assert_eq!(store.shared.len(), 2);
    }
}

#[cfg(test)]
mod name_hash_tests {
    use crate::model::name_ref;
    use crate::model::symbols::*;
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
