//! Where names are kept: many in one text, and one text in many tables.

use crate::error::Result;
use crate::memory::{self, HOLD_NAMES};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// Says that somebody keeps the text to the end of the run.
    pub fn stay(&self) {
        self.0.stays.store(true, Ordering::Relaxed);
    }

    /// Whether the text is kept to the end of the run at any rate. Others must
    /// not be held for the sake of single names: an input may have large texts
    /// that hardly any of its records needs, and there may be many inputs.
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

/// Names that stand in shared texts, or in a text of the store's own.
#[derive(Debug, Clone, Default)]
pub(super) struct NameStore {
    /// The last one grows until it is full.
    own: Vec<Vec<u8>>,
    shared: Vec<NameText>,
    /// Index into `shared` by the address of the text, which stays while it is held.
    known: HashMap<usize, u32, foldhash::fast::RandomState>,
    /// The text used last: neighbours mostly stand in one text.
    last: Option<u32>,
}

/// Where a name stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamePlace {
    start: u32,
    len: u32,
    /// Index into the shared texts, or from [`OWN`] on into those of its own.
    text: u32,
}

const OWN: u32 = 1 << 31;
/// From so many bytes on an own text is full.
const FULL: usize = 1 << 30;

impl NameStore {
    /// Keeps a name: `text`, if the name is a piece of it, else a copy.
    pub(super) fn push(&mut self, name: &[u8], text: Option<&NameText>) -> NamePlace {
        let len = u32::try_from(name.len()).expect("limits keep names below 4 GiB");
        let shared = text.and_then(|text| Some((text, u32::try_from(text.start_of(name)?).ok()?)));
        if let Some((text, start)) = shared {
            return NamePlace { start, len, text: self.share(text) };
        }
        self.ensure_own_text();
        let at = self.own.len() - 1;
        let start = self.own[at].len();
        self.own[at].extend_from_slice(name);
        let number = |number: usize| u32::try_from(number).expect("own texts and their number are small");
        NamePlace { start: number(start), len, text: OWN + number(at) }
    }

    /// Sees to it that the last own text is not full.
    fn ensure_own_text(&mut self) {
        if self.own.last().is_none_or(|own| own.len() >= FULL) {
            self.own.push(Vec::new());
        }
    }

    /// Makes room for a name of that length.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(super) fn try_reserve(&mut self, len: usize) -> Result<()> {
        self.ensure_own_text();
        self.own.last_mut().map_or(Ok(()), |own| memory::reserve(own, len, HOLD_NAMES))
    }

    fn share(&mut self, text: &NameText) -> u32 {
        if let Some(last) = self.last.filter(|last| self.shared[*last as usize].is(text)) {
            return last;
        }
        let Self { shared, known, .. } = self;
        let at = *known.entry(Arc::as_ptr(&text.0).addr()).or_insert_with(|| {
            shared.push(text.clone());
            u32::try_from(shared.len() - 1).expect("there are no more texts than names")
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

    /// All shared texts.
    pub(super) fn texts(&self) -> impl Iterator<Item = &NameText> {
        self.shared.iter()
    }

    /// The shared text that the name at a place is a piece of.
    #[inline]
    pub(super) fn text_at(&self, place: NamePlace) -> Option<&NameText> {
        self.shared.get(place.text as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
