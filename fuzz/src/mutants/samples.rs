//! Mutants of extensible binary sample profiles. Offsets and sizes of sections are correct, compressed sections can be
//! decompressed, and the table of function offsets is correct if the rest of the profile can be read.

use super::{Dice, uleb};
use flate2::read::ZlibDecoder;
use flate2::{Compression, write::ZlibEncoder};
use profbridge::instr::Release;
use profbridge::sampleprof::{self, ReadOptions, Rules, WriteOptions};
use std::io::{Read, Write};

/// The magic of extensible binaries, as stored in the file.
const MAGIC: [u8; 9] = [0x84, 0xe4, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53];
const COMPRESSED: u64 = 1;
/// The maximum size of a decompressed section.
const MOST_INFLATED: u64 = 1 << 20;
/// The known section kinds, and an unknown one.
const KINDS: [u64; 8] = [1, 2, 3, 4, 5, 6, 7, 32];
/// Flag bits with a meaning in some section.
const FLAGS: [u32; 9] = [0, 1, 32, 33, 34, 35, 36, 37, 63];

/// A section with its decompressed content.
#[derive(Clone)]
struct Section {
    kind: u64,
    flags: u64,
    content: Vec<u8>,
}

struct Sections {
    version: u64,
    sections: Vec<Section>,
}

/// Returns a mutant of an extensible binary.
pub fn mutate(data: &[u8], dice: &mut Dice) -> Option<Vec<u8>> {
    let mut file = Sections::of(data)?;
    if file.sections.is_empty() {
        return None;
    }
    match dice.below(16) {
        0 => file.version = dice.one_of(&[103, 104]),
        1 => file.any(dice).flags ^= 1 << dice.one_of(&FLAGS),
        2 => file.any(dice).kind = dice.one_of(&KINDS),
        3 => {
            let again = file.any(dice).clone();
            file.sections.insert(dice.below(file.sections.len() + 1), again);
        }
        4 => drop(file.sections.remove(dice.below(file.sections.len()))),
        5 => {
            let (a, b) = (dice.below(file.sections.len()), dice.below(file.sections.len()));
            file.sections.swap(a, b);
        }
        6 => return rewritten(data, dice),
        _ => (0..=dice.below(3)).for_each(|_| {
            let section = file.any(dice);
            dice.change_numbers(&mut section.content);
        }),
    }
    let mutant = file.into_bytes();
    // The reader for single functions needs offsets that match the records.
    if dice.below(4) == 0 { rewritten(&mutant, dice).or(Some(mutant)) } else { Some(mutant) }
}

/// Like [`mutate`], but for the target whose first byte selects options.
pub fn mutate_after_a_byte(data: &[u8], dice: &mut Dice) -> Option<Vec<u8>> {
    let (first, file) = data.split_first()?;
    let mutant = mutate(file, dice)?;
    // Multiples of five add nothing before the file; the high bits are options.
    let switches = [0, 0x41, 0x82, 0xc3];
    let first = if dice.below(4) == 0 { dice.one_of(&switches) } else { *first };
    Some([&[first], mutant.as_slice()].concat())
}

/// Writes the same profile with our own writer and other options.
fn rewritten(data: &[u8], dice: &mut Dice) -> Option<Vec<u8>> {
    let mut read = ReadOptions::default();
    read.rules = Rules::of(Release(23));
    read.every_release = true;
    read.limits.inflated_bytes = MOST_INFLATED;
    let profile = sampleprof::read(data, &read).ok()?;
    let mut write = WriteOptions::default();
    write.rules = Rules::of(Release(dice.one_of(&[14, 17, 22, 23])));
    let word = dice.below(32);
    (write.compress, write.use_md5, write.partial) = (word & 1 != 0, word & 2 != 0, word & 4 != 0);
    (write.split_layout, write.vtables) = (word & 8 != 0, word & 16 != 0);
    sampleprof::write(&profile, &write).ok()
}

impl Sections {
    fn any(&mut self, dice: &mut Dice) -> &mut Section {
        let at = dice.below(self.sections.len());
        &mut self.sections[at]
    }

    /// Parses a file. Returns `None` for files that are not an extensible binary with all of its sections.
    fn of(data: &[u8]) -> Option<Self> {
        let mut rest = data.strip_prefix(&MAGIC)?;
        let version = number(&mut rest)?;
        let (count, mut rows) = rest.split_first_chunk::<8>()?;
        let count = usize::try_from(u64::from_le_bytes(*count)).ok().filter(|count| *count <= rows.len() / 32)?;
        let mut sections = Vec::new();
        for _ in 0..count {
            let mut field = || {
                let (word, left) = rows.split_first_chunk::<8>()?;
                rows = left;
                Some(u64::from_le_bytes(*word))
            };
            let [kind, flags, offset, size] = [field()?, field()?, field()?, field()?];
            let end = usize::try_from(offset.checked_add(size)?).ok()?;
            let stored = data.get(offset as usize..end)?;
            sections.push(Section { kind, flags, content: inflated(stored, flags) });
        }
        Some(Self { version, sections })
    }

    fn into_bytes(self) -> Vec<u8> {
        let mut file = [MAGIC.to_vec(), uleb(self.version)].concat();
        file.extend_from_slice(&(self.sections.len() as u64).to_le_bytes());
        let mut contents = Vec::new();
        let start = file.len() + 32 * self.sections.len();
        for section in &self.sections {
            let stored = if section.flags & COMPRESSED == 0 || section.content.is_empty() {
                section.content.clone()
            } else {
                deflated(&section.content)
            };
            for word in [section.kind, section.flags, (start + contents.len()) as u64, stored.len() as u64] {
                file.extend_from_slice(&word.to_le_bytes());
            }
            contents.extend_from_slice(&stored);
        }
        file.extend_from_slice(&contents);
        file
    }
}

/// Reads the number at the start of `rest`, and advances `rest`.
fn number(rest: &mut &[u8]) -> Option<u64> {
    let len = rest.iter().take(10).position(|byte| *byte < 0x80)? + 1;
    let (digits, left) = rest.split_at(len);
    *rest = left;
    Some(digits.iter().rev().fold(0u64, |value, byte| value << 7 | u64::from(byte & 0x7f)))
}

/// Returns the decompressed content of a section, or the stored bytes if it is not a compressed stream.
fn inflated(stored: &[u8], flags: u64) -> Vec<u8> {
    if flags & COMPRESSED == 0 {
        return stored.to_vec();
    }
    let mut stream = stored;
    let mut content = Vec::new();
    let inflates = number(&mut stream).and(number(&mut stream)).is_some()
        && ZlibDecoder::new(stream).take(MOST_INFLATED).read_to_end(&mut content).is_ok();
    if inflates { content } else { stored.to_vec() }
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let stream = encoder.write_all(content).and_then(|()| encoder.finish()).expect("memory can be written");
    [uleb(content.len() as u64), uleb(stream.len() as u64), stream].concat()
}
