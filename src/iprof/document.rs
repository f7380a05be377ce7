//! A whole iprof file in memory.

use crate::iprof::context::{ContextHandle, ContextTree, Frame};
use crate::iprof::sections::{SectionKind, Sections};
pub use crate::iprof::tables::{MethodHandle, Tables, TypeHandle};
use std::collections::BTreeMap;
use std::fmt;

/// A list of entries: a table or a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// The types.
    Types,
    /// The methods.
    Methods,
    /// A profile section.
    Section(SectionKind),
}

impl Table {
    /// Returns the documented name of the top-level member.
    pub fn name(self) -> &'static str {
        match self {
            Self::Types => "types",
            Self::Methods => "methods",
            Self::Section(kind) => kind.name(),
        }
    }

    /// Returns the table with this name.
    pub(crate) fn of_name(name: &[u8]) -> Option<Self> {
        let sections = SectionKind::EACH.map(Self::Section);
        [Self::Types, Self::Methods].into_iter().chain(sections).find(|table| table.name().as_bytes() == name)
    }

    /// Returns the members that every entry has, in the order of writing.
    pub(crate) fn known_members(self) -> &'static [&'static str] {
        match self {
            Self::Types => &["id", "name"],
            Self::Methods => &["id", "name", "signature"],
            Self::Section(_) => &["ctx", "records"],
        }
    }
}

/// A member of an entry with additional members or an unusual order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EntryMember {
    /// One of [`Table::known_members`].
    Known(u8),
    /// Any other member: its name, and its value as compact JSON.
    Other(Box<[u8]>, Box<[u8]>),
}

/// Additional members of entries, by table and position.
pub(crate) type Extras = BTreeMap<(Table, usize), Box<[EntryMember]>>;

/// Moves additional members to the new positions of their entries, of which some were dropped.
pub(crate) fn move_extras(extras: &mut Extras, table: Table, kept: &[bool]) {
    let moved = extras.range((table, 0)..=(table, usize::MAX)).map(|(place, _)| place.1).collect::<Vec<_>>();
    let (mut counted, mut new) = (0, 0);
    for at in moved {
        new += kept[counted.min(kept.len())..at.min(kept.len())].iter().filter(|kept| **kept).count();
        counted = at;
        let Some(members) = extras.remove(&(table, at)) else { continue };
        // Positions only decrease, in order, so no later entry is overwritten.
        if kept.get(at) == Some(&true) {
            extras.insert((table, new), members);
        }
    }
}

/// A member of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TopMember {
    Version,
    Table(Table),
    /// Any other member: its name, and its value as compact JSON.
    Other(Box<[u8]>, Box<[u8]>),
}

impl TopMember {
    /// The members that every document has.
    pub(crate) const REQUIRED: [Self; 3] = [Self::Version, Self::Table(Table::Types), Self::Table(Table::Methods)];
}

/// The name of the instance-of section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InstanceofSpelling {
    /// `instanceofProfiles`, as in the published schema.
    #[default]
    Documented,
    /// `instanceOfProfiles`, as in files written by GraalVM.
    Graal,
}

impl InstanceofSpelling {
    /// Returns the name of the member.
    pub fn name(self) -> &'static str {
        match self {
            Self::Documented => "instanceofProfiles",
            Self::Graal => "instanceOfProfiles",
        }
    }
}

/// An iprof file: tables, contexts, sections, and other members.
///
/// All references are valid: signatures refer to types, contexts to methods, records to types. Readers drop entries
/// with invalid references.
#[derive(Debug, Clone)]
pub struct Document {
    /// The version to write.
    pub version: Version,
    /// Types and methods.
    pub tables: Tables,
    /// All contexts of the sections.
    pub contexts: ContextTree,
    /// The profile sections.
    pub sections: Sections,
    /// The name of the instance-of section.
    pub instanceof_spelling: InstanceofSpelling,
    pub(crate) layout: Vec<TopMember>,
    pub(crate) extras: Extras,
}

impl Default for Document {
    fn default() -> Self {
        Self {
            version: Version::V1_0,
            tables: Tables::default(),
            contexts: ContextTree::default(),
            sections: Sections::default(),
            instanceof_spelling: InstanceofSpelling::default(),
            layout: TopMember::REQUIRED.into(),
            extras: Extras::new(),
        }
    }
}

impl Document {
    /// Creates an empty document of version 1.0.0.
    ///
    /// Sections are written if they have an entry, in the order of [`SectionKind::ALL`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the type with this name, see [`Tables::add_type`].
    pub fn add_type(&mut self, name: &[u8]) -> TypeHandle {
        self.tables.add_type(name)
    }

    /// Returns the method with this name and signature, see [`Tables::add_method`].
    ///
    /// # Panics
    ///
    /// With a signature of fewer than two types.
    pub fn add_method(&mut self, name: &[u8], signature: &[TypeHandle]) -> MethodHandle {
        self.tables.add_method(name, signature)
    }

    /// Returns the context of these frames, innermost first.
    pub fn add_context(&mut self, frames: &[Frame]) -> ContextHandle {
        self.contexts.add(frames)
    }

    /// Returns the lowest published version that has all sections with entries.
    pub(crate) fn lowest_version(&self) -> Version {
        if self.sections.instanceofs.is_empty() { Version::V1_0 } else { Version::V1_1 }
    }

    /// Returns true if there is an instance-of section, even an empty one.
    pub(crate) fn has_instanceof(&self) -> bool {
        let section = TopMember::Table(Table::Section(SectionKind::Instanceof));
        self.layout.contains(&section) || !self.sections.instanceofs.is_empty()
    }

    /// Returns true if the document has no entries and no unknown members.
    pub(crate) fn has_tables_only(&self) -> bool {
        let has_entries = SectionKind::EACH.iter().any(|kind| self.sections.entries_count(*kind) > 0);
        !has_entries && self.members().next().is_none()
    }

    /// Returns the members that are not a known section: name, and value as compact JSON.
    pub fn members(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.layout.iter().filter_map(|member| match member {
            TopMember::Other(name, value) => Some((&**name, &**value)),
            _ => None,
        })
    }

    /// Returns the value of such a member as compact JSON.
    pub fn member(&self, name: &[u8]) -> Option<&[u8]> {
        self.members().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Adds or replaces a member. `value` is JSON; its white space is removed.
    ///
    /// The caller must pass one valid JSON value, and a `name` that the format does not have.
    pub fn set_member(&mut self, name: &[u8], value: &[u8]) {
        let mut compact = Vec::with_capacity(value.len());
        crate::iprof::json::write_compact(&mut compact, value);
        self.set_compact_member(name, compact);
    }

    /// Like [`set_member`](Self::set_member), for a value without white space.
    pub(crate) fn set_compact_member(&mut self, name: &[u8], compact: Vec<u8>) {
        let member = TopMember::Other(name.into(), compact.into());
        let same = |known: &&mut TopMember| matches!(known, TopMember::Other(known, _) if **known == *name);
        match self.layout.iter_mut().find(same) {
            Some(known) => *known = member,
            None => self.layout.push(member),
        }
    }

    /// Removes a member. Returns its value.
    pub fn remove_member(&mut self, name: &[u8]) -> Option<Box<[u8]>> {
        let at = self.layout.iter().position(|m| matches!(m, TopMember::Other(known, _) if **known == *name))?;
        match self.layout.remove(at) {
            TopMember::Other(_, value) => Some(value),
            _ => None,
        }
    }

    /// Returns the value of an additional member of an entry, as compact JSON.
    pub fn entry_member(&self, table: Table, entry: usize, name: &[u8]) -> Option<&[u8]> {
        self.extras.get(&(table, entry))?.iter().find_map(|member| match member {
            EntryMember::Other(known, value) if **known == *name => Some(&**value),
            _ => None,
        })
    }

    /// Adds or replaces an additional member of an entry, with the same requirements as
    /// [`set_member`](Self::set_member).
    pub fn set_entry_member(&mut self, table: Table, entry: usize, name: &[u8], value: &[u8]) {
        let mut compact = Vec::with_capacity(value.len());
        crate::iprof::json::write_compact(&mut compact, value);
        let known = (0u8..).zip(table.known_members()).map(|(at, _)| EntryMember::Known(at));
        let mut members = match self.extras.remove(&(table, entry)) {
            Some(members) => members.into_vec(),
            None => known.collect(),
        };
        members.retain(|member| !matches!(member, EntryMember::Other(known, _) if **known == *name));
        members.push(EntryMember::Other(name.into(), compact.into()));
        self.extras.insert((table, entry), members.into());
    }
}

/// A version `major.minor.patch`: major for another encoding, minor for additions, patch for no visible change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Another encoding.
    pub major: u32,
    /// Additions, such as a new section.
    pub minor: u32,
    /// No visible change.
    pub patch: u32,
}

impl Version {
    /// The first published version: six profile sections.
    pub(crate) const V1_0: Self = Self { major: 1, minor: 0, patch: 0 };
    /// 1.0 and instance-of profiles.
    pub(crate) const V1_1: Self = Self { major: 1, minor: 1, patch: 0 };

    /// Parses `major.minor.patch`: three plain decimal numbers.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(|part| {
            let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            part.parse::<u32>().ok().filter(|_| digits)
        });
        let version = Self { major: parts.next()??, minor: parts.next()??, patch: parts.next()?? };
        parts.next().is_none().then_some(version)
    }

    /// Returns the version to write after a change: 0.x files become 1.0.0.
    #[must_use]
    pub fn released(self) -> Self {
        self.max(Self::V1_0)
    }
}

impl Default for Version {
    fn default() -> Self {
        Self::V1_0
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_three_numbers_are_a_version() {
        assert_eq!(Version::parse("1.1.0"), Some(Version::V1_1));
        assert_eq!(Version::parse("0.2.17"), Some(Version { major: 0, minor: 2, patch: 17 }));
        for text in ["1x0y0", "10000", "1.0", "1.0.0.0", "1..0", "+1.0.0", "1.0.-0", "", "1.0.99999999999"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }
}
