//! The meaning of the ids of a file, and tables that are known from an earlier file.

use crate::iprof::document::Table;
use crate::iprof::findings::Code;
use crate::iprof::tables::{MethodHandle, Tables, TypeHandle};
use crate::java;
use std::collections::HashMap;
use std::sync::Arc;

/// Where an id leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Nothing has this id.
    Unknown,
    /// The entry at this position of the table.
    Entry(u32),
    /// The entry of this id was dropped for this reason.
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

/// The meaning of the ids of both tables.
#[derive(Debug, Default)]
pub(super) struct Ids {
    pub(super) types: IdMap,
    pub(super) methods: IdMap,
}

impl Ids {
    /// Returns the ids of one of the two tables.
    pub(super) fn of(&mut self, table: Table) -> &mut IdMap {
        if table == Table::Types { &mut self.types } else { &mut self.methods }
    }
}

/// The part of a file's tables that equals those of an earlier input.
///
/// Inputs of one program begin with the same tables. As long as each entry equals that of the earlier input, nothing is
/// stored or looked up. At the first difference the equal part is copied and reading continues as usual.
#[derive(Debug)]
pub(crate) struct KnownTables {
    tables: Arc<Tables>,
    types: usize,
    methods: usize,
}

impl KnownTables {
    /// Starts at the beginning of `tables`, which declare everything once.
    pub(super) fn new(tables: Arc<Tables>) -> Self {
        Self { tables, types: 0, methods: 0 }
    }

    /// Returns the position of the next known type if it is this one and has no fault.
    pub(super) fn next_type(&mut self, id: i64, name: &[u8]) -> Option<u32> {
        let at = self.types;
        if at >= self.tables.types_count() {
            return None;
        }
        let handle = TypeHandle::from_index(at);
        let same = i64::from(self.tables.type_id(handle)) == id && self.tables.type_name(handle) == name;
        if !same || !java::is_java_type_name(name) {
            return None;
        }
        self.types += 1;
        u32::try_from(at).ok()
    }

    /// Returns the position of the next known method if it is this one and has no fault.
    pub(super) fn next_method(&mut self, id: i64, name: &[u8], signature: &[i64]) -> Option<u32> {
        let (at, tables) = (self.methods, &*self.tables);
        if at >= tables.methods_count() {
            return None;
        }
        let handle = MethodHandle::from_index(at);
        let parts = tables.signature(handle);
        let same_type =
            |(part, id): (&TypeHandle, &i64)| part.index() < self.types && i64::from(tables.type_id(*part)) == *id;
        // No primitive type declares a method, and no parameter is void.
        let is_odd = |(at, part): (usize, &TypeHandle)| {
            at != 1 && tables.is_primitive(*part) && (at == 0 || tables.type_name(*part) == b"void")
        };
        let odd = parts.iter().enumerate().any(is_odd);
        let same = i64::from(tables.method_id(handle)) == id
            && tables.method_name(handle) == name
            && parts.len() == signature.len()
            && parts.iter().zip(signature).all(same_type);
        if !same || odd {
            return None;
        }
        self.methods += 1;
        u32::try_from(at).ok()
    }

    /// Returns the number of equal types.
    pub(super) fn types_count(&self) -> usize {
        self.types
    }

    /// Whether all types were the same.
    pub(super) fn has_all_types(&self) -> bool {
        self.types == self.tables.types_count()
    }

    /// Returns the tables if they were the same to the end, otherwise a copy of the part that was.
    pub(super) fn into_tables(self) -> Arc<Tables> {
        if self.has_all_types() && self.methods == self.tables.methods_count() {
            return self.tables;
        }
        let first = |known: usize, all: usize| (0..all).map(|at| at < known).collect::<Vec<_>>();
        let types = first(self.types, self.tables.types_count());
        let methods = first(self.methods, self.tables.methods_count());
        Arc::new(self.tables.selected(&types, &methods).0)
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
