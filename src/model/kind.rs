//! The kind of counters in a profile: the variant bits of the version word.

use crate::error::{Error, Result};
use crate::model::release::Release;
use std::fmt;
use std::ops::{BitOr, BitOrAssign};
use std::str::FromStr;

/// A set of variant bits (`VARIANT_MASK_*` in LLVM's `InstrProfData.inc`,
/// `InstrProfKind` in `InstrProf.h`), in the positions of the version word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ProfileKind(u64);

impl ProfileKind {
    /// No bit: front-end counters, or unknown.
    pub const NONE: Self = Self(0);
    /// Loop entry blocks are always instrumented (bit 55, LLVM 20).
    pub const LOOP_ENTRIES: Self = Self(1 << 55);
    /// Counters placed by the IR pass (bit 56, LLVM 3.9).
    pub const IR: Self = Self(1 << 56);
    /// Context-sensitive counters of the second pass (bit 57, LLVM 9).
    pub const CONTEXT_SENSITIVE: Self = Self(1 << 57);
    /// Counter 0 is the function's entry block (bit 58, LLVM 12).
    pub const ENTRY_FIRST: Self = Self(1 << 58);
    /// Names and records are in debug info (bit 59, LLVM 14; raw only).
    pub const DEBUG_INFO_CORRELATE: Self = Self(1 << 59);
    /// Counters are single bytes (bit 60, LLVM 14).
    pub const BYTE_COVERAGE: Self = Self(1 << 60);
    /// One counter per function, for its entry (bit 61, LLVM 14).
    pub const FUNCTION_ENTRY_ONLY: Self = Self(1 << 61);
    /// The file has a memory profile (bit 62, LLVM 15).
    pub const MEMPROF: Self = Self(1 << 62);
    /// The file has temporal traces (bit 63, LLVM 17).
    pub const TEMPORAL: Self = Self(1 << 63);
    /// Marked as front-end by the text keyword `:fe`. Not a bit of any file's
    /// version word: it lives in memory only (bit 0 here).
    pub const FRONT_END: Self = Self(1);

    /// The release that writes each property first.
    const SINCE: [(Self, Release); 9] = [
        (Self::IR, Release(3)),
        (Self::CONTEXT_SENSITIVE, Release(9)),
        (Self::ENTRY_FIRST, Release(12)),
        (Self::DEBUG_INFO_CORRELATE, Release(14)),
        (Self::BYTE_COVERAGE, Release(14)),
        (Self::FUNCTION_ENTRY_ONLY, Release(14)),
        (Self::MEMPROF, Release(15)),
        (Self::TEMPORAL, Release(17)),
        (Self::LOOP_ENTRIES, Release(20)),
    ];

    /// The properties that a release knows.
    pub fn known_by(release: Release) -> Self {
        let known = Self::SINCE.iter().filter(|(_, since)| release >= *since);
        known.fold(Self::NONE, |all, (bit, _)| all | *bit)
    }

    /// Returns true if a release knows all of these properties. Others use the counters for something else.
    pub(crate) fn is_known_by(self, release: Release) -> bool {
        self.known_since().is_none_or(|first| release >= first)
    }

    /// The first release that knows all of these properties; `None` without a known property.
    pub(crate) fn known_since(self) -> Option<Release> {
        self.first_release().map(|(release, _)| release)
    }

    /// The release that writes all of these properties first, and those of them that it adds; `None` without a known
    /// property.
    pub fn first_release(self) -> Option<(Release, Self)> {
        let known = || Self::SINCE.iter().filter(|(bit, _)| self.contains(*bit));
        let latest = known().map(|(_, since)| *since).max()?;
        let added = known().filter(|(_, since)| *since == latest).fold(Self::NONE, |all, (bit, _)| all | *bit);
        Some((latest, added))
    }

    /// The properties as things that a profile contains: `loop entries, temporal traces`.
    pub fn nouns(self) -> String {
        const NOUNS: [(ProfileKind, &str); 10] = [
            (ProfileKind::FRONT_END, "front-end counters"),
            (ProfileKind::LOOP_ENTRIES, "loop entries"),
            (ProfileKind::IR, "IR counters"),
            (ProfileKind::CONTEXT_SENSITIVE, "context-sensitive counters"),
            (ProfileKind::ENTRY_FIRST, "entry counters first"),
            (ProfileKind::DEBUG_INFO_CORRELATE, "debug info correlation"),
            (ProfileKind::BYTE_COVERAGE, "byte coverage"),
            (ProfileKind::FUNCTION_ENTRY_ONLY, "function entry coverage"),
            (ProfileKind::MEMPROF, "a memory profile"),
            (ProfileKind::TEMPORAL, "temporal traces"),
        ];
        let noun = |at: u32| {
            let bit = Self(1 << at);
            let known = NOUNS.iter().find(|(known, _)| *known == bit).map(|(_, noun)| (*noun).to_string());
            known.unwrap_or_else(|| format!("bit {at}"))
        };
        let set: Vec<String> = (0..u64::BITS).filter(|at| self.intersects(Self(1 << at))).map(noun).collect();
        set.join(", ")
    }

    /// Takes the variant bits (32 to 63) of a version word; unknown ones stay.
    pub fn from_version_word(word: u64) -> Self {
        Self(word & 0xffff_ffff_0000_0000)
    }

    /// The known bits that indexed files may carry, in their positions.
    pub fn indexed_bits(self) -> u64 {
        self.0
            & (Self::LOOP_ENTRIES
                | Self::IR
                | Self::CONTEXT_SENSITIVE
                | Self::ENTRY_FIRST
                | Self::BYTE_COVERAGE
                | Self::FUNCTION_ENTRY_ONLY
                | Self::MEMPROF
                | Self::TEMPORAL)
                .0
    }

    /// All bits, bit 0 being [`FRONT_END`](Self::FRONT_END).
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// A set of these bits, as [`bits`](Self::bits) gave them.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Whether all bits of `other` are set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether some bit of `other` is set.
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// These bits without those of `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Only the bits that both have.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether no bit is set.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Whether the IR pass placed the counters.
    pub fn is_ir(self) -> bool {
        self.contains(Self::IR)
    }

    /// Returns true if the first counter of every record is the number of calls of the function: in front-end profiles,
    /// in IR profiles with [`ENTRY_FIRST`](Self::ENTRY_FIRST), and in those with one counter per function. In other IR
    /// profiles the counters are those of the edges outside of a spanning tree, in the order in which the pass found
    /// them (`FuncPGOInstrumentation` in LLVM's `PGOInstrumentation.cpp`); the first can be any edge.
    pub fn first_counter_is_entry(self) -> bool {
        !self.is_ir() || self.contains(Self::ENTRY_FIRST) || self.contains(Self::FUNCTION_ENTRY_ONLY)
    }

    /// Whether context-sensitive records may be there.
    pub fn is_context_sensitive(self) -> bool {
        self.contains(Self::CONTEXT_SENSITIVE)
    }

    /// The bits that determine what counters mean. One file holds counters of one such kind.
    ///
    /// A context-sensitive profile stays with the IR profile of the same program; memory profiles,
    /// temporal traces and correlation leave the counters as they are.
    #[must_use]
    pub fn of_counters(self) -> Self {
        let others = Self::FRONT_END | Self::CONTEXT_SENSITIVE | Self::DEBUG_INFO_CORRELATE;
        self.without(others | Self::MEMPROF | Self::TEMPORAL)
    }

    const WORDS: [(Self, &'static str); 10] = [
        (Self::FRONT_END, "front-end"),
        (Self::LOOP_ENTRIES, "loop-entries"),
        (Self::IR, "ir"),
        (Self::CONTEXT_SENSITIVE, "context-sensitive"),
        (Self::ENTRY_FIRST, "entry-first"),
        (Self::DEBUG_INFO_CORRELATE, "debug-info-correlate"),
        (Self::BYTE_COVERAGE, "byte-coverage"),
        (Self::FUNCTION_ENTRY_ONLY, "function-entry-only"),
        (Self::MEMPROF, "memprof"),
        (Self::TEMPORAL, "temporal"),
    ];

    /// The bit of that word, see [`words`](Self::words).
    pub fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| *known == word).map(|(bit, _)| *bit)
    }

    /// The set bits in words, in bit order.
    pub fn words(self) -> Vec<&'static str> {
        Self::WORDS.iter().filter(|(bit, _)| self.contains(*bit)).map(|(_, word)| *word).collect()
    }
}

impl ProfileKind {
    /// Returns the meanings of the bits as text, beginning with the kind of instrumentation. Unknown bits are described
    /// by their numbers.
    pub fn sentence_words(self) -> Vec<String> {
        let placed = if self.is_ir() { "IR instrumentation" } else { "front-end instrumentation" };
        const WORDS: [(ProfileKind, &str); 7] = [
            (ProfileKind::CONTEXT_SENSITIVE, "context-sensitive"),
            (ProfileKind::ENTRY_FIRST, "entry counter first"),
            (ProfileKind::LOOP_ENTRIES, "loop entries instrumented"),
            (ProfileKind::BYTE_COVERAGE, "byte coverage"),
            (ProfileKind::FUNCTION_ENTRY_ONLY, "function entries only"),
            (ProfileKind::TEMPORAL, "temporal"),
            (ProfileKind::MEMPROF, "memory profile"),
        ];
        let known = WORDS.iter().filter(|(bit, _)| self.contains(*bit)).map(|(_, word)| (*word).to_string());
        let mut words: Vec<String> = std::iter::once(placed.to_string()).chain(known).collect();
        if self.contains(Self::DEBUG_INFO_CORRELATE) {
            words.push("correlated by debug info".to_string());
        }
        words.extend((32..55).filter(|bit| self.0 & (1 << bit) != 0).map(|bit| format!("unknown bit {bit}")));
        words
    }
}

/// The words of the bits with a bar between them, `ir|entry-first`; unknown
/// bits by their number, `bit-40`; `none` where no bit is set.
impl fmt::Display for ProfileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Self::WORDS.iter().fold(Self::NONE, |known, (bit, _)| known | *bit);
        let unknown = self.without(known).0;
        let numbers = (0..u64::BITS).filter(|bit| unknown >> bit & 1 == 1).map(|bit| format!("bit-{bit}"));
        let words: Vec<String> = self.words().into_iter().map(str::to_string).chain(numbers).collect();
        f.write_str(if words.is_empty() { "none".to_string() } else { words.join("|") }.as_str())
    }
}

/// Reads what a kind displays as; the order of the words does not matter.
///
/// ```
/// use profbridge::instr::ProfileKind;
///
/// let kind: ProfileKind = "entry-first|ir".parse()?;
/// assert!(kind.is_ir() && kind.contains(ProfileKind::ENTRY_FIRST));
/// assert_eq!(kind.to_string(), "ir|entry-first");
/// # Ok::<(), profbridge::Error>(())
/// ```
impl FromStr for ProfileKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "none" {
            return Ok(Self::NONE);
        }
        text.split('|').try_fold(Self::NONE, |kind, word| {
            let number = || word.strip_prefix("bit-")?.parse::<u32>().ok().filter(|bit| *bit < u64::BITS);
            let bit = Self::from_word(word).or_else(|| number().map(|bit| Self(1 << bit)));
            let words = || Self::WORDS.map(|(_, word)| word).join(", ");
            bit.map(|bit| kind | bit)
                .ok_or_else(|| Error::usage(format!("unknown kind {word:?}: kinds are none, {}", words())))
        })
    }
}

impl BitOr for ProfileKind {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for ProfileKind {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for ProfileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProfileKind({})", self.words().join("|"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn displayed_kinds_parse_back(bits in any::<u64>()) {
            let kind = ProfileKind::from_bits(bits);
            prop_assert_eq!(kind.to_string().parse::<ProfileKind>().unwrap(), kind);
        }
    }

    #[test]
    fn properties_are_named_and_dated() {
        let kind = ProfileKind::IR | ProfileKind::BYTE_COVERAGE | ProfileKind::FUNCTION_ENTRY_ONLY;
        let (release, added) = kind.first_release().unwrap();
        assert_eq!((release, added.nouns().as_str()), (Release(14), "byte coverage, function entry coverage"));
        assert_eq!(
            (kind | ProfileKind::LOOP_ENTRIES).first_release().unwrap(),
            (Release(20), ProfileKind::LOOP_ENTRIES)
        );
        assert_eq!(ProfileKind::from_bits(1 << 40).first_release(), None);
        assert_eq!(ProfileKind::from_bits(1 << 40 | 1 << 63).nouns(), "bit 40, temporal traces");
        assert!(
            ProfileKind::known_by(Release(13))
                == ProfileKind::IR | ProfileKind::CONTEXT_SENSITIVE | ProfileKind::ENTRY_FIRST
        );
    }

    #[test]
    fn an_unknown_kind_lists_the_known_kinds() {
        let error = "ir|sampled".parse::<ProfileKind>().unwrap_err();
        assert!(error.to_string().starts_with("unknown kind \"sampled\": kinds are none, front-end, "), "{error}");
        for text in ["", "bit-64", "bit-", "IR"] {
            assert!(text.parse::<ProfileKind>().is_err(), "{text:?}");
        }
    }
}
