//! Lists of the largest few, kept while there may be larger ones to come.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A site kept for a list: events first, then the order of the file.
pub(super) type Kept<T> = BinaryHeap<Reverse<(u128, Reverse<u64>, ByOrder<T>)>>;

/// Content of a list element, which never decides about its order: what stands before it is unique.
#[derive(Debug)]
pub(super) struct ByOrder<T>(T);

impl<T> PartialEq for ByOrder<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl<T> Eq for ByOrder<T> {}
impl<T> PartialOrd for ByOrder<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for ByOrder<T> {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

/// Offers a site to a list of bounded length; `content` is made only if it is taken.
pub(super) fn offer<T>(kept: &mut Kept<T>, topn: usize, events: u128, order: u64, content: impl FnOnce() -> T) {
    if topn == 0 {
        return;
    }
    if kept.len() >= topn {
        if kept.peek().is_some_and(|Reverse((least, ..))| *least >= events) {
            return;
        }
        kept.pop();
    }
    kept.push(Reverse((events, Reverse(order), ByOrder(content()))));
}

/// The list, largest first.
pub(super) fn listed<T>(kept: Kept<T>) -> Vec<(u128, T)> {
    kept.into_sorted_vec().into_iter().map(|Reverse((events, _, ByOrder(content)))| (events, content)).collect()
}
