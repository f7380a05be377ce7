//! Tables that are known already.
//!
//! Inputs of one program begin with the same tables. While a file's are those
//! of an earlier one, entry by entry, nothing is stored and nothing looked up;
//! once one differs, what was the same is copied and reading goes on as ever.

use crate::iprof::tables::{MethodHandle, Tables, TypeHandle};
use crate::java;
use std::sync::Arc;

/// How far a file's tables are known.
#[derive(Debug)]
pub(crate) struct KnownTables {
    tables: Arc<Tables>,
    types: usize,
    methods: usize,
}

impl KnownTables {
    /// None yet of `tables`, in which everything is declared once.
    pub(super) fn new(tables: Arc<Tables>) -> Self {
        Self { tables, types: 0, methods: 0 }
    }

    /// The position of the next known type, if it is this one and there is nothing to say about it.
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

    /// The position of the next known method, if it is this one and there is nothing to say about it.
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

    /// How many types were the same.
    pub(super) fn types_count(&self) -> usize {
        self.types
    }

    /// Whether all types were the same.
    pub(super) fn has_all_types(&self) -> bool {
        self.types == self.tables.types_count()
    }

    /// All tables if they were the same to the end, or else a copy of what was.
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
