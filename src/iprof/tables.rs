//! The two tables of an iprof file, types and methods, and their names, of which each is stored once.

use crate::java;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hash, Hasher};

handle!(
    /// A type of a document, by its position in the table.
    TypeHandle, "types"
);
handle!(
    /// A method of a document, by its position in the table.
    MethodHandle, "methods"
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Type {
    id: u32,
    name: NameHandle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Method {
    id: u32,
    name: NameHandle,
    signature_end: u32,
}

/// Types and methods of a document.
///
/// Ids are at most 2^31-1, and one id has one meaning. Neither ids nor names
/// need be unique: a file may declare one type twice, or under several ids.
#[derive(Debug, Clone, Default)]
pub struct Tables {
    names: Names,
    types: Vec<Type>,
    type_index: HashTable<(u64, u32)>,
    methods: Vec<Method>,
    signatures: Vec<TypeHandle>,
    method_index: HashTable<(u64, u32)>,
    hasher: foldhash::fast::FixedState,
    next_type_id: u32,
    next_method_id: u32,
    /// One bit a type: whether it is primitive, or `void`.
    primitives: Vec<u64>,
}

/// Where the types and methods of some tables are in others, by their old handles.
#[derive(Debug, Default)]
pub(crate) struct Mapping {
    pub(crate) types: Vec<TypeHandle>,
    pub(crate) methods: Vec<MethodHandle>,
    /// Every handle leads to itself.
    pub(crate) same: bool,
    /// Some id means something else in the other tables.
    pub(crate) renumbered: bool,
}

/// How tables take over what others declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImportMode {
    /// Under the same ids, also what is declared twice.
    AsItIs,
    /// Add unknown items with their own ids.
    New,
    /// Add unknown items with the next free ids.
    Renumbered,
}

impl Tables {
    /// Declares all that other tables do.
    pub(crate) fn adopt(&mut self, source: &Self, how: ImportMode) -> Mapping {
        let types = self.adopt_types(source, source.types(), how);
        let methods = self.adopt_methods(source, source.methods(), how, &types);
        let other_type = |old: TypeHandle| self.type_id(types[old.index()]) != source.type_id(old);
        let other_method = |old: MethodHandle| self.method_id(methods[old.index()]) != source.method_id(old);
        let renumbered = source.types().any(other_type) || source.methods().any(other_method);
        Mapping { types, methods, same: false, renumbered }
    }

    /// Declares some types of other tables. Returns where they are, by their old positions.
    pub(crate) fn adopt_types(
        &mut self,
        source: &Self,
        wanted: impl IntoIterator<Item = TypeHandle>,
        how: ImportMode,
    ) -> Vec<TypeHandle> {
        let mut new = vec![TypeHandle(0); source.types.len()];
        for handle in wanted {
            let name = source.type_name(handle);
            let id = if how == ImportMode::Renumbered { self.next_type_id } else { source.type_id(handle) };
            new[handle.index()] = match how {
                ImportMode::AsItIs => self.push_type(id, name).0,
                _ => self.find_or_push_type(id, name),
            };
        }
        new
    }

    /// Declares some methods of other tables, whose types are `types` here. Returns where
    /// they are, by their old positions.
    pub(crate) fn adopt_methods(
        &mut self,
        source: &Self,
        wanted: impl IntoIterator<Item = MethodHandle>,
        how: ImportMode,
        types: &[TypeHandle],
    ) -> Vec<MethodHandle> {
        let mut new = vec![MethodHandle(0); source.methods.len()];
        let mut signature = Vec::new();
        for handle in wanted {
            signature.clear();
            signature.extend(source.signature(handle).iter().map(|part| types[part.index()]));
            let name = source.method_name(handle);
            let id = if how == ImportMode::Renumbered { self.next_method_id } else { source.method_id(handle) };
            new[handle.index()] = match how {
                ImportMode::AsItIs => self.push_method(id, name, &signature).0,
                _ => self.find_or_push_method(id, name, &signature),
            };
        }
        new
    }

    /// A copy of some types and methods, and where they are in it. All types that the
    /// methods have must be among them.
    pub(crate) fn selected(&self, types: &[bool], methods: &[bool]) -> (Self, Mapping) {
        let mut tables = Self::default();
        let wanted = self.types().filter(|handle| types[handle.index()]);
        let types = tables.adopt_types(self, wanted, ImportMode::AsItIs);
        let wanted = self.methods().filter(|handle| methods[handle.index()]);
        let methods = tables.adopt_methods(self, wanted, ImportMode::AsItIs, &types);
        (tables, Mapping { types, methods, same: false, renumbered: false })
    }

    /// Returns the number of declared types.
    pub fn types_count(&self) -> usize {
        self.types.len()
    }

    /// Returns the number of declared methods.
    pub fn methods_count(&self) -> usize {
        self.methods.len()
    }

    /// All types, in order of declaration.
    pub fn types(&self) -> impl ExactSizeIterator<Item = TypeHandle> + use<> {
        (0..self.types.len()).map(TypeHandle::from_index)
    }

    /// All methods, in order of declaration.
    pub fn methods(&self) -> impl ExactSizeIterator<Item = MethodHandle> + use<> {
        (0..self.methods.len()).map(MethodHandle::from_index)
    }

    /// The number under which the file knows the type.
    pub fn type_id(&self, handle: TypeHandle) -> u32 {
        self.types[handle.index()].id
    }

    /// Returns the type's name as `Class.getName()` returns it, in UTF-8, except that lone surrogates are encoded in
    /// three bytes.
    pub fn type_name(&self, handle: TypeHandle) -> &[u8] {
        self.names.text(self.types[handle.index()].name)
    }

    pub(crate) fn type_name_handle(&self, handle: TypeHandle) -> NameHandle {
        self.types[handle.index()].name
    }

    /// Whether a type is one of Java's eight primitive types or `void`.
    #[inline]
    pub(crate) fn is_primitive(&self, handle: TypeHandle) -> bool {
        self.primitives[handle.index() / 64] >> (handle.index() % 64) & 1 == 1
    }

    /// The number under which the file knows the method.
    pub fn method_id(&self, handle: MethodHandle) -> u32 {
        self.methods[handle.index()].id
    }

    /// The method's name alone.
    pub fn method_name(&self, handle: MethodHandle) -> &[u8] {
        self.names.text(self.methods[handle.index()].name)
    }

    /// Declaring type, return type, then the parameters' types; the receiver is not listed.
    pub fn signature(&self, handle: MethodHandle) -> &[TypeHandle] {
        let at = handle.index();
        let start = if at == 0 { 0 } else { self.methods[at - 1].signature_end };
        &self.signatures[start as usize..self.methods[at].signature_end as usize]
    }

    /// The first type of this name.
    pub fn find_type(&self, name: &[u8]) -> Option<TypeHandle> {
        let name = self.names.find(name)?;
        self.first_type(name, self.hasher.hash_one(name))
    }

    /// The first method of this name and of these types (by their names).
    pub fn find_method(&self, name: &[u8], signature: &[TypeHandle]) -> Option<MethodHandle> {
        let name = self.names.find(name)?;
        self.first_method(name, signature, self.identity_hash(name, signature))
    }

    /// The type of this name; declared with the next free id if there is none.
    pub fn add_type(&mut self, name: &[u8]) -> TypeHandle {
        self.find_or_push_type(self.next_type_id, name)
    }

    /// The method of this name and signature; declared with the next free id if there is none.
    ///
    /// # Panics
    ///
    /// With a signature of fewer than two types: no method is without
    /// declaring and return type.
    pub fn add_method(&mut self, name: &[u8], signature: &[TypeHandle]) -> MethodHandle {
        assert!(signature.len() >= 2, "a signature has a declaring and a return type");
        self.find_or_push_method(self.next_method_id, name, signature)
    }

    /// Declares a type. Also returns an earlier one of this name.
    pub(crate) fn push_type(&mut self, id: u32, name: &[u8]) -> (TypeHandle, Option<TypeHandle>) {
        let name = self.names.add(name);
        let hash = self.hasher.hash_one(name);
        let first = self.first_type(name, hash);
        let handle = self.push_type_of(id, name);
        if first.is_none() {
            self.type_index.insert_unique(hash, (hash, handle.0), |(hash, _)| *hash);
        }
        (handle, first)
    }

    /// The first type of this name; declared with this id if there is none.
    fn find_or_push_type(&mut self, id: u32, name: &[u8]) -> TypeHandle {
        let name = self.names.add(name);
        let hash = self.hasher.hash_one(name);
        if let Some(known) = self.first_type(name, hash) {
            return known;
        }
        let handle = self.push_type_of(id, name);
        self.type_index.insert_unique(hash, (hash, handle.0), |(hash, _)| *hash);
        handle
    }

    /// Declares a type without an index entry.
    fn push_type_of(&mut self, id: u32, name: NameHandle) -> TypeHandle {
        let handle = TypeHandle::from_index(self.types.len());
        let is_primitive = java::is_primitive(self.names.text(name));
        if handle.index().is_multiple_of(64) {
            self.primitives.push(0);
        }
        self.primitives[handle.index() / 64] |= u64::from(is_primitive) << (handle.index() % 64);
        self.types.push(Type { id, name });
        self.next_type_id = self.next_type_id.max(id.saturating_add(1));
        handle
    }

    /// Declares a method. Also returns an earlier one that is the same.
    pub(crate) fn push_method(
        &mut self,
        id: u32,
        name: &[u8],
        signature: &[TypeHandle],
    ) -> (MethodHandle, Option<MethodHandle>) {
        let name = self.names.add(name);
        let hash = self.identity_hash(name, signature);
        let first = self.first_method(name, signature, hash);
        let handle = self.push_method_of(id, name, signature);
        if first.is_none() {
            self.method_index.insert_unique(hash, (hash, handle.0), |(hash, _)| *hash);
        }
        (handle, first)
    }

    /// The first method of this name and signature; declared with this id if there is none.
    fn find_or_push_method(&mut self, id: u32, name: &[u8], signature: &[TypeHandle]) -> MethodHandle {
        let name = self.names.add(name);
        let hash = self.identity_hash(name, signature);
        if let Some(known) = self.first_method(name, signature, hash) {
            return known;
        }
        let handle = self.push_method_of(id, name, signature);
        self.method_index.insert_unique(hash, (hash, handle.0), |(hash, _)| *hash);
        handle
    }

    /// Declares a method without an index entry.
    fn push_method_of(&mut self, id: u32, name: NameHandle, signature: &[TypeHandle]) -> MethodHandle {
        let handle = MethodHandle::from_index(self.methods.len());
        self.signatures.extend_from_slice(signature);
        let signature_end = u32::try_from(self.signatures.len()).expect("fewer than 2^32 types in signatures");
        self.methods.push(Method { id, name, signature_end });
        self.next_method_id = self.next_method_id.max(id.saturating_add(1));
        handle
    }

    fn first_type(&self, name: NameHandle, hash: u64) -> Option<TypeHandle> {
        self.type_index
            .find(hash, |(known, at)| *known == hash && self.types[*at as usize].name == name)
            .map(|(_, at)| TypeHandle(*at))
    }

    fn first_method(&self, name: NameHandle, signature: &[TypeHandle], hash: u64) -> Option<MethodHandle> {
        let same = |(known, at): &(u64, u32)| {
            let types = self.signature(MethodHandle(*at));
            *known == hash && self.methods[*at as usize].name == name && self.are_same_types(types, signature)
        };
        self.method_index.find(hash, same).map(|(_, at)| MethodHandle(*at))
    }

    /// Whether two signatures are of the same types, by their names.
    pub(crate) fn are_same_types(&self, one: &[TypeHandle], other: &[TypeHandle]) -> bool {
        let name = |part: &TypeHandle| self.type_name_handle(*part);
        one.iter().map(name).eq(other.iter().map(name))
    }

    fn identity_hash(&self, name: NameHandle, signature: &[TypeHandle]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        name.hash(&mut hasher);
        for part in signature {
            self.type_name_handle(*part).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Whether nothing is declared.
    pub(crate) fn is_empty(&self) -> bool {
        self.types.is_empty() && self.methods.is_empty()
    }

    /// Whether every type and every method is declared once.
    pub(crate) fn are_distinct(&self) -> bool {
        self.type_index.len() == self.types.len() && self.method_index.len() == self.methods.len()
    }

    /// Whether `other` begins with all that these declare, in this order and under these ids.
    pub(crate) fn is_start_of(&self, other: &Self) -> bool {
        other.types.starts_with(&self.types)
            && other.methods.starts_with(&self.methods)
            && other.signatures.starts_with(&self.signatures)
            && self.names.is_start_of(&other.names)
    }

    /// The id that the next type will get.
    pub(crate) fn next_type_id(&self) -> u32 {
        self.next_type_id
    }

    /// The id that the next method will get.
    pub(crate) fn next_method_id(&self) -> u32 {
        self.next_method_id
    }

    /// A method as in Java source: `app.Main.loop(int)`.
    pub fn human_name(&self, handle: MethodHandle) -> String {
        let signature = self.signature(handle);
        let mut text = String::new();
        if let Some(declaring) = signature.first() {
            text.push_str(&display_name(self.type_name(*declaring)));
            text.push('.');
        }
        text.push_str(&display_name(self.method_name(handle)));
        text.push('(');
        for (at, parameter) in signature.iter().skip(2).enumerate() {
            text.push_str(if at > 0 { "," } else { "" });
            text.push_str(&display_name(&java::source_type_name(self.type_name(*parameter))));
        }
        text.push(')');
        text
    }

    /// A method as the JVM writes it: `Lapp/Main;.loop(I)V`.
    pub fn descriptor_name(&self, handle: MethodHandle) -> Vec<u8> {
        let mut parts = self.signature(handle).iter().map(|t| java::type_descriptor(self.type_name(*t)));
        let mut text = parts.next().unwrap_or_default();
        let result = parts.next().unwrap_or_default();
        text.push(b'.');
        text.extend_from_slice(self.method_name(handle));
        text.push(b'(');
        parts.for_each(|part| text.extend(part));
        text.push(b')');
        text.extend(result);
        text
    }
}

/// Position of a name in its [`Names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NameHandle(u32);

/// A set of byte strings, each stored once, in order of first appearance.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    text: Vec<u8>,
    ends: Vec<usize>,
    /// Positions by the hashes of names. Hashes are stored, because growth would compute all of them again.
    index: HashTable<(u64, u32)>,
    hasher: foldhash::fast::FixedState,
}

impl Names {
    /// The handle of `name`, which is added if it is new.
    ///
    /// # Panics
    ///
    /// With more than 2^32 distinct names, which no file of less than 4 GiB has.
    pub(crate) fn add(&mut self, name: &[u8]) -> NameHandle {
        let hash = self.hasher.hash_one(name);
        if let Some(known) = self.find_hashed(name, hash) {
            return known;
        }
        let at = u32::try_from(self.ends.len()).expect("fewer than 2^32 names");
        self.text.extend_from_slice(name);
        self.ends.push(self.text.len());
        self.index.insert_unique(hash, (hash, at), |(hash, _)| *hash);
        NameHandle(at)
    }

    /// The handle of `name` if it is there.
    pub(crate) fn find(&self, name: &[u8]) -> Option<NameHandle> {
        self.find_hashed(name, self.hasher.hash_one(name))
    }

    fn find_hashed(&self, name: &[u8], hash: u64) -> Option<NameHandle> {
        self.index
            .find(hash, |(known, at)| *known == hash && self.text(NameHandle(*at)) == name)
            .map(|(_, at)| NameHandle(*at))
    }

    /// Whether the names of `other` begin with these, in this order.
    pub(crate) fn is_start_of(&self, other: &Self) -> bool {
        other.ends.starts_with(&self.ends) && other.text.starts_with(&self.text)
    }

    /// The bytes of a name.
    pub(crate) fn text(&self, name: NameHandle) -> &[u8] {
        name_at(&self.text, &self.ends, name.0)
    }
}

/// Returns one of several names that are one after the other, by the places where they end.
pub(crate) fn name_at<'t>(text: &'t [u8], ends: &[usize], at: u32) -> &'t [u8] {
    let at = at as usize;
    let start = if at == 0 { 0 } else { ends[at - 1] };
    &text[start..ends[at]]
}

/// A name as it is printed: lone surrogates and control characters are made visible.
pub fn display_name(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control()
                || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            {
                text.extend(c.escape_default());
            } else {
                text.push(c);
            }
        }
        if !chunk.invalid().is_empty() {
            text.push('\u{fffd}');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_distinguished_by_name_and_signature() {
        let mut tables = Tables::default();
        let (main, int, void) = (tables.add_type(b"app.Main"), tables.add_type(b"int"), tables.add_type(b"void"));
        let first = tables.add_method(b"loop", &[main, void, int]);
        assert_eq!(tables.add_method(b"loop", &[main, void, int]), first);
        let overload = tables.add_method(b"loop", &[main, void]);
        assert_ne!(overload, first);
        assert_eq!(tables.human_name(first), "app.Main.loop(int)");
        assert_eq!(tables.descriptor_name(first), b"Lapp/Main;.loop(I)V");
        assert_eq!((tables.method_id(first), tables.method_id(overload)), (0, 1));
    }

    #[test]
    fn two_ids_of_one_type_make_one_identity() {
        let mut tables = Tables::default();
        let (a, none) = tables.push_type(7, b"a.A");
        let (duplicate, first) = tables.push_type(3, b"a.A");
        assert_eq!((none, first), (None, Some(a)));
        let (method, _) = tables.push_method(1, b"m", &[a, a]);
        assert_eq!(tables.push_method(2, b"m", &[duplicate, a]).1, Some(method));
        let added = tables.add_type(b"b.B");
        assert_eq!(tables.type_id(added), 8);
    }

    #[test]
    fn a_name_is_stored_once() {
        let mut names = Names::default();
        let (first, other) = (names.add(b"main"), names.add(b""));
        assert_eq!((names.add(b"main"), names.find(b"main"), names.find(b"x")), (first, Some(first), None));
        assert_eq!((names.text(first), names.text(other)), (&b"main"[..], &b""[..]));
    }

    #[test]
    fn display_hides_nothing_from_a_terminal() {
        assert_eq!(display_name(b"a\x1b[31m\xed\xa0\x80"), "a\\u{1b}[31m\u{fffd}\u{fffd}\u{fffd}");
    }
}
