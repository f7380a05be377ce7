//! Names: stored once each, and the forms in which Java people write them.

use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Position of a name in its [`Names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NameHandle(u32);

/// A set of byte strings, each stored once, in order of first appearance.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    text: Vec<u8>,
    ends: Vec<usize>,
    index: HashTable<u32>,
    hasher: foldhash::fast::FixedState,
}

impl Names {
    /// The handle of `name`, which is added if it is new.
    ///
    /// # Panics
    ///
    /// With more than 2^32 distinct names, which no file of less than 4 GiB has.
    pub(crate) fn add(&mut self, name: &[u8]) -> NameHandle {
        let hash = self.hasher.hash_one(name);
        if let Some(known) = self.find_hashed(name, hash) {
            return known;
        }
        let at = u32::try_from(self.ends.len()).expect("fewer than 2^32 names");
        self.text.extend_from_slice(name);
        self.ends.push(self.text.len());
        let (text, ends, hasher) = (&self.text, &self.ends, &self.hasher);
        self.index.insert_unique(hash, at, |at| hasher.hash_one(name_at(text, ends, *at)));
        NameHandle(at)
    }

    /// The handle of `name` if it is there.
    pub(crate) fn find(&self, name: &[u8]) -> Option<NameHandle> {
        self.find_hashed(name, self.hasher.hash_one(name))
    }

    fn find_hashed(&self, name: &[u8], hash: u64) -> Option<NameHandle> {
        self.index.find(hash, |at| self.text(NameHandle(*at)) == name).map(|at| NameHandle(*at))
    }

    /// Whether the names of `other` begin with these, in this order.
    pub(crate) fn is_start_of(&self, other: &Self) -> bool {
        other.ends.starts_with(&self.ends) && other.text.starts_with(&self.text)
    }

    /// The bytes of a name.
    pub(crate) fn text(&self, name: NameHandle) -> &[u8] {
        name_at(&self.text, &self.ends, name.0)
    }
}

fn name_at<'t>(text: &'t [u8], ends: &[usize], at: u32) -> &'t [u8] {
    let at = at as usize;
    let start = if at == 0 { 0 } else { ends[at - 1] };
    &text[start..ends[at]]
}

/// A name for people: lone surrogates and control characters are made visible.
pub fn display(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control()
                || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            {
                text.extend(c.escape_default());
            } else {
                text.push(c);
            }
        }
        if !chunk.invalid().is_empty() {
            text.push('\u{fffd}');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_stored_once() {
        let mut names = Names::default();
        let (first, other) = (names.add(b"main"), names.add(b""));
        assert_eq!((names.add(b"main"), names.find(b"main"), names.find(b"x")), (first, Some(first), None));
        assert_eq!((names.text(first), names.text(other)), (&b"main"[..], &b""[..]));
    }

    #[test]
    fn display_hides_nothing_from_a_terminal() {
        assert_eq!(display(b"a\x1b[31m\xed\xa0\x80"), "a\\u{1b}[31m\u{fffd}\u{fffd}\u{fffd}");
    }
}
