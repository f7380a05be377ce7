//! From LLVM's PGO names to identities of methods and types.
//!
//! A PGO name is a linker symbol. The name of a function local to a file has the file before the symbol, followed by
//! `;` (since LLVM 17) or `:`. Symbols of known schemes are demangled; others stay unchanged.
//!
//! Different PGO names must have different identities, each derived only from its own name. Demangling drops
//! information: which of a class's two destructors, which clone, which crate. So a method's name ends in `%` and eight
//! digits of the PGO name's MD5, unless the identity is known to contain all information of the symbol; see
//! `itanium::is_unambiguous`.

mod itanium;
mod local;
mod spelling;

use super::escape::{Escapes, escaped};
use super::notation::MethodIdentity;
use local::LocalName;
use spelling::Demangled;

/// The type for data that a symbol does not have.
pub const UNKNOWN_TYPE: &[u8] = b"?";
/// Declaring type of functions whose symbol has no scope that could be read.
pub const GLOBAL: &[u8] = b"<global>";
/// Declaring type of demangled functions outside all namespaces; not
/// [`GLOBAL`], so that C's `f` and C++'s `f()` differ.
pub const GLOBAL_NAMESPACE: &[u8] = b"::";

/// An identity made of an LLVM name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped<T> {
    /// The identity.
    pub identity: T,
    /// The LLVM name if the identity does not show it, percent-encoded if it is not text.
    pub llvm_name: Option<Vec<u8>>,
}

impl<T> Mapped<T> {
    fn new(identity: T, name: &[u8], hides: bool) -> Self {
        Self { identity, llvm_name: hides.then(|| escaped(name, Escapes::EncodedNames)) }
    }
}

/// The method of a PGO name.
pub fn method_of_pgo_name(name: &[u8]) -> Mapped<MethodIdentity> {
    let local = LocalName::split(name);
    let symbol = local.map_or(name, |local| local.symbol);
    let Some(demangled) = Demangled::function(symbol) else {
        return plain_method(name, local);
    };
    let (scope, last) = demangled.scope_and_name();
    let tells_all = local.is_none() && itanium::is_unambiguous(symbol);
    let mut method_name = escaped(last.as_bytes(), Escapes::EncodedNames);
    if !tells_all {
        push_digest(&mut method_name, name);
    }
    let spelled = |text: &str| escaped(text.as_bytes(), Escapes::EncodedNames);
    let identity = MethodIdentity {
        declaring: scope.map_or_else(|| GLOBAL_NAMESPACE.to_vec(), spelled),
        name: method_name,
        parameters: demangled.parameters.iter().map(|text| spelled(text)).collect(),
        returns: demangled.returns.as_deref().map_or_else(|| UNKNOWN_TYPE.to_vec(), spelled),
    };
    Mapped::new(identity, name, true)
}

/// The method of a name that does not demangle.
fn plain_method(name: &[u8], local: Option<LocalName<'_>>) -> Mapped<MethodIdentity> {
    let (declaring, spelling) = match local {
        Some(local) => (escaped(local.file, Escapes::EncodedNames), local.symbol),
        None => (GLOBAL.to_vec(), name),
    };
    let mut method_name = escaped(spelling, Escapes::EncodedNames);
    if spelling.is_empty() {
        method_name.push(b'%');
    }
    let hides = local.is_some_and(|local| !local.is_unambiguous());
    if hides {
        push_digest(&mut method_name, name);
    }
    let identity =
        MethodIdentity { declaring, name: method_name, parameters: Vec::new(), returns: UNKNOWN_TYPE.to_vec() };
    Mapped::new(identity, name, hides)
}

/// The class that a vtable symbol belongs to.
pub fn type_of_vtable(name: &[u8]) -> Mapped<Vec<u8>> {
    let local = LocalName::split(name);
    let symbol = local.map_or(name, |local| local.symbol);
    let class = spelling::class_of_vtable(symbol);
    let tells_all = local.is_none() && class.is_some() && itanium::is_vtable_unambiguous(symbol);
    let mut identity = match class {
        Some(class) => escaped(class.as_bytes(), Escapes::EncodedNames),
        None => escaped(name, Escapes::EncodedNames),
    };
    if !tells_all {
        push_digest(&mut identity, name);
    }
    Mapped::new(identity, name, true)
}

/// The type of a hash whose name is not known.
pub fn type_of_hash(hash: u64) -> Vec<u8> {
    format!("?{hash:016x}").into_bytes()
}

/// The method of a hash whose name is not known.
pub fn method_of_hash(hash: u64) -> MethodIdentity {
    MethodIdentity {
        declaring: UNKNOWN_TYPE.to_vec(),
        name: type_of_hash(hash),
        parameters: Vec::new(),
        returns: UNKNOWN_TYPE.to_vec(),
    }
}

/// Appends `%` and the first eight digits of the MD5 of a PGO name.
fn push_digest(out: &mut Vec<u8>, name: &[u8]) {
    out.push(b'%');
    let digest = format!("{:x}", md5::compute(name));
    out.extend_from_slice(&digest.as_bytes()[..8]);
}

#[cfg(test)]
mod tests;
