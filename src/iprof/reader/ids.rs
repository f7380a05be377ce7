//! What a number of the file stands for.

use crate::iprof::document::Table;
use crate::iprof::findings::Code;
use crate::memory::TryReserve;
use std::collections::HashMap;

/// Where an id leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Nothing has this id.
    Unknown,
    /// The entry at this position of the table.
    Entry(u32),
    /// What had this id was left out for this reason.
    Dropped(Code),
}

/// Ids above this are kept in a map, so that one large id costs no memory.
const DENSE_LIMIT: i64 = 1 << 22;
const NONE: u32 = u32::MAX;

/// From ids to positions in a table.
#[derive(Debug, Default)]
pub(crate) struct IdMap {
    dense: Vec<u32>,
    sparse: HashMap<i64, u32>,
    dropped: HashMap<i64, Code>,
}

impl IdMap {
    /// Where `id` leads.
    #[inline]
    pub(crate) fn find(&self, id: i64) -> Meaning {
        match self.entry(id) {
            Some(at) => Meaning::Entry(at),
            None if self.dropped.is_empty() => Meaning::Unknown,
            None => self.dropped.get(&id).map_or(Meaning::Unknown, |code| Meaning::Dropped(*code)),
        }
    }

    /// The entry of `id`, if it has one.
    #[inline]
    pub(crate) fn entry(&self, id: i64) -> Option<u32> {
        let dense = usize::try_from(id).ok().and_then(|at| self.dense.get(at)).filter(|at| **at != NONE);
        dense.or_else(|| if self.sparse.is_empty() { None } else { self.sparse.get(&id) }).copied()
    }

    /// Makes room for what an id leads to; whether there is.
    #[inline]
    pub(crate) fn try_reserve(&mut self, id: i64) -> bool {
        match usize::try_from(id) {
            Ok(at) if id < DENSE_LIMIT => self.dense.try_reserve_more((at + 1).saturating_sub(self.dense.len())),
            _ => self.sparse.try_reserve_more(1) && self.dropped.try_reserve_more(1),
        }
    }

    /// Lets `id` lead to `entry` from now on.
    pub(crate) fn set(&mut self, id: i64, entry: u32) {
        match usize::try_from(id) {
            Ok(at) if id < DENSE_LIMIT => {
                if self.dense.len() <= at {
                    self.dense.resize(at + 1, NONE);
                }
                self.dense[at] = entry;
            }
            _ => drop(self.sparse.insert(id, entry)),
        }
    }

    /// Forgets `id` and remembers why.
    pub(crate) fn drop_id(&mut self, id: i64, code: Code) {
        match usize::try_from(id) {
            Ok(at) if id < DENSE_LIMIT => {
                if let Some(slot) = self.dense.get_mut(at) {
                    *slot = NONE;
                }
            }
            _ => drop(self.sparse.remove(&id)),
        }
        self.dropped.entry(id).or_insert(code);
    }
}

/// What the ids of both tables stand for.
#[derive(Debug, Default)]
pub(super) struct Ids {
    pub(super) types: IdMap,
    pub(super) methods: IdMap,
}

impl Ids {
    /// Those of one of the two tables.
    pub(super) fn of(&mut self, table: Table) -> &mut IdMap {
        if table == Table::Types { &mut self.types } else { &mut self.methods }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_any_size_lead_somewhere_or_nowhere() {
        let mut ids = IdMap::default();
        for (entry, id) in [(0, 0), (1, 121_323), (2, i64::from(i32::MAX)), (3, -4)] {
            ids.set(id, entry);
            assert_eq!(ids.find(id), Meaning::Entry(entry));
        }
        assert_eq!(
            (ids.find(7), ids.find(i64::MAX), ids.find(-1)),
            (Meaning::Unknown, Meaning::Unknown, Meaning::Unknown)
        );
        ids.drop_id(121_323, Code::BadName);
        ids.drop_id(-4, Code::IdRange);
        assert_eq!(
            (ids.find(121_323), ids.find(-4)),
            (Meaning::Dropped(Code::BadName), Meaning::Dropped(Code::IdRange))
        );
    }
}
