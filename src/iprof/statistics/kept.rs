//! Lists of the largest few, kept while there may be larger ones to come.

use std::cmp::Reverse;

/// The sites with most events, of equal ones those that came first.
#[derive(Debug)]
pub(super) struct TopSites<T> {
    list: Vec<(u128, T)>,
    /// What has no more events comes too late.
    least: u128,
}

impl<T> Default for TopSites<T> {
    fn default() -> Self {
        Self { list: Vec::new(), least: 0 }
    }
}

impl<T> TopSites<T> {
    /// Offers a site with some events to a list of bounded length; `content` is made only if it is taken.
    pub(super) fn offer(&mut self, topn: usize, events: u128, content: impl FnOnce() -> T) {
        if topn > 0 && events > self.least {
            self.list.push((events, content()));
            if self.list.len() / 2 >= topn {
                self.cut(topn);
                self.least = self.list.last().map_or(0, |(events, _)| *events);
            }
        }
    }

    fn cut(&mut self, topn: usize) {
        // Stable: equals stay in the order in which they came.
        self.list.sort_by_key(|(events, _)| Reverse(*events));
        self.list.truncate(topn);
    }

    /// The list, largest first.
    pub(super) fn into_list(mut self, topn: usize) -> Vec<(u128, T)> {
        self.cut(topn);
        self.list
    }
}
