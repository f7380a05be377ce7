//! The tables of a document in the bridge's notation, spelled once.

use super::notation::{MethodIdentity, push_type};
use crate::iprof::{MethodHandle, Tables, TypeHandle};
use crate::model::name_ref;

/// Every type and method of a document as LLVM will know it.
#[derive(Debug, Clone, Default)]
pub(super) struct EncodedNames {
    types: Vec<Vec<u8>>,
    type_hashes: Vec<u64>,
    methods: Vec<Vec<u8>>,
}

impl EncodedNames {
    pub(super) fn of(tables: &Tables) -> Self {
        let types: Vec<Vec<u8>> = tables
            .types()
            .map(|handle| {
                let mut text = Vec::new();
                push_type(&mut text, tables.type_name(handle));
                text
            })
            .collect();
        let type_hashes = types.iter().map(|text| name_ref(text)).collect();
        let methods = tables.methods().map(|handle| identity(tables, handle).notation()).collect();
        Self { types, type_hashes, methods }
    }

    pub(super) fn type_name(&self, handle: TypeHandle) -> &[u8] {
        &self.types[handle.index()]
    }

    /// The value that stands for the type at a value site.
    pub(super) fn type_hash(&self, handle: TypeHandle) -> u64 {
        self.type_hashes[handle.index()]
    }

    pub(super) fn method(&self, handle: MethodHandle) -> &[u8] {
        &self.methods[handle.index()]
    }
}

/// Returns the identity of a method, which is the same in all documents.
pub(super) fn identity(tables: &Tables, handle: MethodHandle) -> MethodIdentity {
    let mut types = tables.signature(handle).iter().map(|part| tables.type_name(*part).to_vec());
    MethodIdentity {
        declaring: types.next().unwrap_or_default(),
        returns: types.next().unwrap_or_default(),
        parameters: types.collect(),
        name: tables.method_name(handle).to_vec(),
    }
}
