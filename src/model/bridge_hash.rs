//! FuncHashes of records that the bridge makes of an iprof.

use crate::model::record::FunctionRecord;
use crate::model::symbols::name_ref;
use crate::model::value::ValueKind;

/// The FuncHash by which the bridge knows its own records.
///
/// `receivers` is the kind of its value sites: vtable targets, or indirect-call
/// targets for releases before LLVM 19.
pub fn func_hash(name: &[u8], receivers: ValueKind, context_sensitive: bool) -> u64 {
    let mut text = format!("iprof{}:", receivers.number()).into_bytes();
    text.extend_from_slice(name);
    let low = name_ref(&text) & (FunctionRecord::CONTEXT_SENSITIVE_HASH - 1);
    if context_sensitive { low | FunctionRecord::CONTEXT_SENSITIVE_HASH } else { low }
}

/// Whether the bridge made the record with that name and FuncHash.
pub(crate) fn is_of_bridge(name: &[u8], hash: u64) -> bool {
    let context_sensitive = hash & FunctionRecord::CONTEXT_SENSITIVE_HASH != 0;
    // Computing hashes takes time: records without the mark are of methods, which have a `#`.
    let may_be = hash < FunctionRecord::CONTEXT_SENSITIVE_HASH * 2 && (context_sensitive || name.contains(&b'#'));
    let kinds = [ValueKind::VTableTarget, ValueKind::IndirectCallTarget];
    may_be && kinds.into_iter().any(|kind| func_hash(name, kind, context_sensitive) == hash)
}
