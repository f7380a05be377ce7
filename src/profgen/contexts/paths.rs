//! Calling contexts as paths, which share their beginnings.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::hash::Hash;

/// The path without elements.
pub(super) const EMPTY: u32 = 0;

/// Paths of elements, outermost first. Each path has a number.
#[derive(Debug)]
pub(super) struct Paths<T> {
    /// The path without its last element, and that element. The first entry stands for the empty path.
    steps: Vec<Option<(u32, T)>>,
    numbers: HashMap<(u32, T), u32, RandomState>,
}

impl<T: Copy + Eq + Hash> Paths<T> {
    pub(super) fn new() -> Self {
        Self { steps: vec![None], numbers: HashMap::default() }
    }

    /// The number of a path.
    pub(super) fn number(&mut self, elements: &[T]) -> u32 {
        let steps = &mut self.steps;
        elements.iter().fold(EMPTY, |path, element| {
            let step = (path, *element);
            *self.numbers.entry(step).or_insert_with(|| {
                steps.push(Some(step));
                steps.len() as u32 - 1
            })
        })
    }

    /// The elements of a path.
    pub(super) fn elements(&self, path: u32) -> Vec<T> {
        let mut elements = Vec::new();
        let mut rest = path;
        while let Some((before, element)) = self.steps[rest as usize] {
            elements.push(element);
            rest = before;
        }
        elements.reverse();
        elements
    }
}

/// Leaves out repetitions: of elements of a list that follow the same elements, up to `longest` of them.
pub(super) fn compress<T: Copy + PartialEq>(list: &mut Vec<T>, longest: usize) {
    let mut len = 1;
    while len <= longest.min(list.len() / 2) {
        let old = list.clone();
        list.truncate(len);
        let mut at = len;
        while at < old.len() {
            if old.get(at..at + len).is_some_and(|next| next == &old[at - len..at]) {
                at += len;
            } else {
                list.push(old[at]);
                at += 1;
            }
        }
        len += 1;
    }
}

/// Keeps the last elements of a list.
pub(super) fn keep_last<T>(list: &mut Vec<T>, most: usize) {
    list.drain(..list.len().saturating_sub(most));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_numbered_once() {
        let mut paths = Paths::new();
        let (short, long) = (paths.number(&[7, 8]), paths.number(&[7, 8, 9]));
        assert_eq!(paths.number(&[7, 8]), short);
        assert_eq!((paths.elements(short), paths.elements(long)), (vec![7, 8], vec![7, 8, 9]));
        assert_eq!(paths.elements(EMPTY), [0; 0]);
    }

    #[test]
    fn repetitions_are_left_out() {
        for (list, longest, expected) in [
            ("aabb", 9, "ab"),
            ("ababab", 9, "ab"),
            ("ababab", 1, "ababab"),
            ("abcabcab", 9, "abcab"),
            ("aaa", 0, "aaa"),
            ("abbabb", 9, "ab"),
            ("", 9, ""),
        ] {
            let mut found = list.as_bytes().to_vec();
            compress(&mut found, longest);
            assert_eq!(found, expected.as_bytes(), "{list}");
        }
    }
}
