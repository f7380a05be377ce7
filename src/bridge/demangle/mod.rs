//! Converts LLVM's PGO names to identities of methods and types.
//!
//! A PGO name is a linker symbol. The name of a function local to a file has the file before the symbol, followed by
//! `;` (since LLVM 17) or `:`. Symbols of known schemes are demangled; others stay unchanged.
//!
//! Different PGO names must give different identities, and an identity must depend on its PGO name only. Demangling
//! loses data: which of a class's two destructors, which clone, which crate. Therefore a method's name ends in `%` and
//! eight digits of the MD5 of the PGO name, unless the identity is known to belong to one symbol only, see
//! `symbols::is_unambiguous`.

mod symbols;

use crate::ascii::to_hex;
use crate::bridge::names::{Escapes, MethodIdentity, escaped};
use symbols::Demangled;

/// The type for data that a symbol does not contain.
pub const UNKNOWN_TYPE: &[u8] = b"?";
/// The declaring type of functions whose symbol has no readable scope.
pub const GLOBAL: &[u8] = b"<global>";
/// The declaring type of demangled functions outside all namespaces. It differs from [`GLOBAL`] so that C's `f` and
/// C++'s `f()` differ.
pub const GLOBAL_NAMESPACE: &[u8] = b"::";

/// The identity of an LLVM name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped<T> {
    /// The identity.
    pub identity: T,
    /// The LLVM name if the identity does not contain it; percent-encoded if it is not valid UTF-8.
    pub llvm_name: Option<Vec<u8>>,
}

impl<T> Mapped<T> {
    fn new(identity: T, name: &[u8], hides: bool) -> Self {
        Self { identity, llvm_name: hides.then(|| escaped(name, Escapes::EncodedNames)) }
    }
}

/// Returns the method of a PGO name.
pub fn method_of_pgo_name(name: &[u8]) -> Mapped<MethodIdentity> {
    let local = LocalName::split(name);
    let symbol = local.map_or(name, |local| local.symbol);
    let Some(demangled) = Demangled::function(symbol) else {
        return plain_method(name, local);
    };
    let (scope, last) = demangled.scope_and_name();
    let tells_all = local.is_none() && symbols::is_unambiguous(symbol);
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

/// Returns the method of a name that cannot be demangled.
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

/// Returns the class of a vtable symbol.
pub fn type_of_vtable(name: &[u8]) -> Mapped<Vec<u8>> {
    let local = LocalName::split(name);
    let symbol = local.map_or(name, |local| local.symbol);
    let class = symbols::class_of_vtable(symbol);
    let tells_all = local.is_none() && class.is_some() && symbols::is_vtable_unambiguous(symbol);
    let mut identity = match class {
        Some(class) => escaped(class.as_bytes(), Escapes::EncodedNames),
        None => escaped(name, Escapes::EncodedNames),
    };
    if !tells_all {
        push_digest(&mut identity, name);
    }
    Mapped::new(identity, name, true)
}

/// Returns the type of a hash with an unknown name.
pub fn type_of_hash(hash: u64) -> Vec<u8> {
    format!("?{hash:016x}").into_bytes()
}

/// Returns the method of a hash with an unknown name.
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
    out.extend_from_slice(to_hex(&md5::compute(name).0[..4]).as_bytes());
}

// PGO names of functions local to a file: `FILE;SYMBOL`.
//
// LLVM 17 and later use `;` (`getIRPGOObjectName` in `InstrProf.cpp`), older releases `:`. Front-end instrumentation
// changed to `;` later.

/// The two parts of a local function's PGO name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LocalName<'a> {
    /// The source file, as it was given to the compiler.
    pub(super) file: &'a [u8],
    /// The linker symbol.
    pub(super) symbol: &'a [u8],
    /// The separator.
    separator: u8,
}

/// The prefixes of Objective-C methods, whose names may contain colons.
const OBJECTIVE_C: [&[u8]; 4] = [b"-[", b"+[", b"\x01-[", b"\x01+["];

impl<'a> LocalName<'a> {
    /// Splits a PGO name. Returns `None` if it does not contain a file.
    pub(super) fn split(name: &'a [u8]) -> Option<Self> {
        let semicolon = name.iter().position(|byte| *byte == b';').map(|at| (at, b';'));
        let (at, separator) = semicolon.or_else(|| colon(name).map(|at| (at, b':')))?;
        let (file, symbol) = (&name[..at], &name[at + 1..]);
        (!file.is_empty() && !symbol.is_empty()).then_some(Self { file, symbol, separator })
    }

    /// Returns true if no other PGO name has this file and symbol: the name has the current separator, and the file
    /// does not look like a scope.
    pub(super) fn is_unambiguous(self) -> bool {
        self.separator == b';' && self.file.iter().any(|byte| matches!(byte, b'.' | b'/'))
    }
}

/// Returns the position of the older separator.
fn colon(name: &[u8]) -> Option<usize> {
    if OBJECTIVE_C.iter().any(|start| name.starts_with(start)) {
        return None;
    }
    let is_colon = |at: usize| name.get(at) == Some(&b':');
    // `::` is part of a demangled symbol.
    let single = |at: &usize| is_colon(*at) && !is_colon(at + 1) && (*at == 0 || !is_colon(at - 1));
    let before_method = |at: &usize| single(at) && OBJECTIVE_C.iter().any(|start| name[at + 1..].starts_with(start));
    (0..name.len()).find(before_method).or_else(|| (0..name.len()).rfind(single))
}

#[cfg(test)]
mod tests;
