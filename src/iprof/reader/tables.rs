//! Reading the tables: types and methods.

use super::ids::{IdMap, Ids, Meaning};
use super::known::KnownTables;
use super::members::Defect;
use super::options::ReadOptions;
use super::reading::Reading;
use super::table_text::{METHOD_MEMBERS, Parsed, TYPE_MEMBERS};
use crate::iprof::document::{Table, move_extras};
use crate::iprof::findings::Code;
use crate::iprof::json::{Scan, Stop};
use crate::iprof::names;
use crate::iprof::tables::{MethodHandle, TypeHandle};
use crate::iprof::window::Elements;
use crate::java;
use std::sync::Arc;

/// Ids are Java ints in every known reader.
const MAX_ID: i64 = i32::MAX as i64;

/// Reads the entries of one of the two tables.
pub(super) struct TableReader<'r> {
    table: Table,
    reading: &'r mut Reading,
    ids: &'r mut Ids,
    /// While all that was read is known already, it is not in the tables.
    known: &'r mut Option<KnownTables>,
    options: &'r ReadOptions,
    parsed: Parsed,
    /// The types of the last method, for their memory.
    signature: Vec<TypeHandle>,
    /// Entries that turned out ambiguous after they were taken.
    ambiguous: Vec<usize>,
    /// Entries whose id no Java int holds, to get another at the end.
    out_of_range: Vec<(i64, Vec<u8>, Vec<TypeHandle>)>,
    /// Entries read, sound or not.
    count: u64,
    /// Bytes of those that are written as a writer would.
    usual_bytes: u64,
}

impl<'r> TableReader<'r> {
    pub(super) fn new(
        table: Table,
        reading: &'r mut Reading,
        ids: &'r mut Ids,
        known: &'r mut Option<KnownTables>,
        options: &'r ReadOptions,
    ) -> Self {
        let (parsed, signature, ambiguous, out_of_range) = Default::default();
        Self {
            table,
            reading,
            ids,
            known,
            options,
            parsed,
            signature,
            ambiguous,
            out_of_range,
            count: 0,
            usual_bytes: 0,
        }
    }

    fn is_of_types(&self) -> bool {
        self.table == Table::Types
    }

    /// One code for types, or another for methods.
    fn code(&self, types: Code, methods: Code) -> Code {
        if self.is_of_types() { types } else { methods }
    }

    fn report(&mut self, index: usize, defect: &Defect) {
        let (group, offset) = (self.table.name(), self.parsed.base + defect.at as u64);
        let path = format_args!("{group}[{index}]{}", defect.below);
        self.reading.findings.report(defect.code, group, Some(offset), path, &defect.message);
    }

    fn repaired(&mut self, code: Code, action: &'static str, count: u64) {
        self.reading.findings.repaired(code, action, self.table.name(), count);
    }

    /// Reports, leaves the entry out, and remembers why for those who use it.
    fn reject(&mut self, index: usize, defect: &Defect) {
        self.report(index, defect);
        self.repaired(defect.code, "dropped", 1);
        let id = self.parsed.id;
        let ids = self.ids.of(self.table);
        if self.parsed.has_id && ids.find(id) == Meaning::Unknown {
            ids.drop_id(id, defect.code);
        }
    }

    fn take(&mut self, index: usize) -> Result<(), Defect> {
        if let Some(defect) = self.parsed.name_defect() {
            return Err(defect);
        }
        let at = self.parsed.at;
        if self.parsed.fraction {
            let message = "a number is written with a point or exponent";
            self.report(index, &Defect::new(Code::NotAnInteger, at, "", message));
            self.repaired(Code::NotAnInteger, "rewritten", 1);
        }
        if self.take_known() || !self.explain(index)? {
            return Ok(());
        }
        let id = self.parsed.id;
        let Some(number) = u32::try_from(id).ok().filter(|_| id <= MAX_ID) else {
            let message = format!("{id} is not between 0 and {MAX_ID}");
            self.report(index, &Defect::new(Code::IdRange, at, ".id", message));
            self.repaired(Code::IdRange, "renumbered", 1);
            self.out_of_range.push((id, self.parsed.name.clone(), self.signature.clone()));
            return Ok(());
        };
        let ambiguous = self.code(Code::DuplicateTypeId, Code::DuplicateMethodId);
        let thing = if self.is_of_types() { "type" } else { "method" };
        match self.ids.of(self.table).find(id) {
            Meaning::Unknown => {}
            Meaning::Entry(first) if self.is_same(first) => {
                let code = self.code(Code::RepeatedType, Code::RepeatedMethod);
                let at = if self.is_of_types() { self.parsed.name_at } else { at };
                self.report(index, &Defect::new(code, at, "", format!("{thing} {id} was declared before")));
            }
            Meaning::Entry(first) => {
                self.report(index, &Defect::new(ambiguous, at, ".id", format!("the id {id} has two meanings")));
                self.repaired(ambiguous, "dropped", 2);
                self.ambiguous.push(first as usize);
                self.ids.of(self.table).drop_id(id, ambiguous);
                return Ok(());
            }
            // A further declaration of an id that was dropped goes the same way.
            Meaning::Dropped(_) => {
                self.report(index, &Defect::new(ambiguous, at, ".id", format!("the id {id} has several meanings")));
                self.repaired(ambiguous, "dropped", 1);
                return Ok(());
            }
        }
        let (place, other) = self.push(number);
        if let Some(other) = other.filter(|other| *other != number) {
            let defect = if self.is_of_types() {
                let message = format!("type {other} has this name already");
                Defect::new(Code::DuplicateTypeName, self.parsed.name_at, ".name", message)
            } else {
                Defect::new(Code::DuplicateMethod, at, "", format!("method {other} is the same"))
            };
            self.report(index, &defect);
        }
        let ids = self.ids.of(self.table);
        if ids.find(id) == Meaning::Unknown {
            ids.set(id, place as u32);
        }
        self.keep_members(place);
        Ok(())
    }

    fn try_reserve(&mut self) -> bool {
        let has_id = self.ids.of(self.table).try_reserve(self.parsed.id);
        let types = usize::from(self.is_of_types());
        // Nothing is added to tables that are another's.
        let Some(tables) = Arc::get_mut(&mut self.reading.tables) else { return has_id };
        has_id && tables.try_reserve(types, 1 - types, self.parsed.name.len(), self.parsed.signature.len())
    }

    /// Takes the entry if it is the next of those that are known.
    fn take_known(&mut self) -> bool {
        let Some(known) = self.known else { return false };
        let (id, ids) = (self.parsed.id, self.ids.of(self.table));
        let unused = ids.find(id) == Meaning::Unknown && (0..=MAX_ID).contains(&id);
        let at = match self.table {
            _ if !unused => None,
            Table::Types => known.next_type(id, &self.parsed.name),
            _ => known.next_method(id, &self.parsed.name, &self.parsed.signature),
        };
        match at {
            Some(at) => {
                ids.set(id, at);
                self.keep_members(at as usize);
            }
            None => self.leave_known(),
        }
        at.is_some()
    }

    /// Goes on with tables of its own.
    fn leave_known(&mut self) {
        if let Some(known) = self.known.take() {
            self.reading.tables = known.into_tables();
        }
    }

    /// Finds the types of a method and says what is odd about the entry. False for a method
    /// that goes with a type that was dropped.
    fn explain(&mut self, index: usize) -> Result<bool, Defect> {
        if self.is_of_types() {
            if !java::is_java_type_name(&self.parsed.name) {
                let message = format!("no class is called \"{}\"", names::display(&self.parsed.name));
                self.report(index, &Defect::new(Code::OddTypeName, self.parsed.name_at, ".name", message));
            }
            return Ok(true);
        }
        let at = self.parsed.at;
        if self.parsed.signature.len() < 2 {
            let message = format!("{} types, at least 2 expected", self.parsed.signature.len());
            return Err(Defect::new(Code::ShortSignature, at, ".signature", message));
        }
        self.signature.clear();
        for (position, id) in self.parsed.signature.iter().enumerate() {
            match self.ids.types.find(*id) {
                Meaning::Entry(handle) => self.signature.push(TypeHandle::from_index(handle as usize)),
                Meaning::Unknown => {
                    let below = format!(".signature[{position}]");
                    return Err(Defect::new(Code::DanglingType, at, below, format!("no type has the id {id}")));
                }
                Meaning::Dropped(code) => {
                    // Reported where the type was dropped; this method goes with it.
                    self.repaired(code, "dropped", 1);
                    self.ids.methods.drop_id(self.parsed.id, code);
                    return Ok(false);
                }
            }
        }
        let tables = &*self.reading.tables;
        let is_void = |class: &TypeHandle| tables.is_primitive(*class) && tables.type_name(*class) == b"void";
        let void = self.signature.iter().skip(2).position(is_void);
        if tables.is_primitive(self.signature[0]) {
            let message = "a primitive type declares no methods";
            self.report(index, &Defect::new(Code::PrimitiveDeclarer, at, ".signature[0]", message));
        }
        if let Some(void) = void {
            let below = format!(".signature[{}]", void + 2);
            self.report(index, &Defect::new(Code::VoidParameter, at, below, "no parameter is of type void"));
        }
        Ok(true)
    }

    /// Whether the entry at a position of the table says the same as this one.
    fn is_same(&self, first: u32) -> bool {
        let (tables, at) = (&*self.reading.tables, first as usize);
        if self.is_of_types() {
            return tables.type_name(TypeHandle::from_index(at)) == self.parsed.name;
        }
        let first = MethodHandle::from_index(at);
        tables.method_name(first) == self.parsed.name && tables.are_same_types(tables.signature(first), &self.signature)
    }

    /// Declares it. Returns its position, and the id of an earlier entry that is the same.
    fn push(&mut self, id: u32) -> (usize, Option<u32>) {
        let of_types = self.is_of_types();
        let tables = Arc::make_mut(&mut self.reading.tables);
        if of_types {
            let (handle, first) = tables.push_type(id, &self.parsed.name);
            return (handle.index(), first.map(|first| tables.type_id(first)));
        }
        let (handle, first) = tables.push_method(id, &self.parsed.name, &self.signature);
        (handle.index(), first.map(|first| tables.method_id(first)))
    }

    fn keep_members(&mut self, at: usize) {
        if let Some(members) = self.parsed.walk.members.take() {
            self.reading.extras.insert((self.table, at), members);
        }
    }

    /// Whether the table is nothing but one entry of id -1.
    pub(super) fn is_placeholder(&self) -> bool {
        self.count == 1 && self.parsed.has_id && self.parsed.id == -1
    }

    /// Gives out-of-range entries their new ids and takes ambiguous ones away. Returns how many
    /// entries there were, and how many bytes of them a writer would write.
    pub(super) fn finish(mut self) -> (u64, u64) {
        // Types that are only some of the known ones, or methods, end what is known.
        let all_types = self.is_of_types() && self.known.as_ref().is_some_and(KnownTables::has_all_types);
        if !all_types {
            self.leave_known();
        }
        if !self.ambiguous.is_empty() {
            self.remove_ambiguous();
        }
        for (id, name, signature) in std::mem::take(&mut self.out_of_range) {
            (self.parsed.name, self.signature) = (name, signature);
            let tables = &self.reading.tables;
            let next = if self.is_of_types() { tables.next_type_id() } else { tables.next_method_id() };
            let (place, _) = self.push(next);
            self.ids.of(self.table).set(id, place as u32);
        }
        (self.count, self.usual_bytes)
    }

    fn remove_ambiguous(&mut self) {
        let old = std::mem::take(&mut self.reading.tables);
        let mut types = vec![true; old.types_count()];
        let mut methods = vec![true; old.methods_count()];
        let kept = if self.is_of_types() { &mut types } else { &mut methods };
        self.ambiguous.iter().for_each(|at| kept[*at] = false);
        let (tables, new) = old.selected(&types, &methods);
        let type_ids = old.types().map(|handle| (old.type_id(handle), new.types[handle.index()].index()));
        renumber(&mut self.ids.types, &types, type_ids);
        let method_ids = old.methods().map(|handle| (old.method_id(handle), new.methods[handle.index()].index()));
        renumber(&mut self.ids.methods, &methods, method_ids);
        move_extras(&mut self.reading.extras, Table::Types, &types);
        move_extras(&mut self.reading.extras, Table::Methods, &methods);
        self.reading.tables = Arc::new(tables);
    }
}

/// Leads the ids of what was kept to its new positions.
fn renumber(ids: &mut IdMap, kept: &[bool], new: impl Iterator<Item = (u32, usize)>) {
    for (at, (id, new)) in new.enumerate().filter(|(at, _)| kept[*at]) {
        if ids.find(i64::from(id)) == Meaning::Entry(at as u32) {
            ids.set(i64::from(id), new as u32);
        }
    }
}

impl Elements for TableReader<'_> {
    fn parse(&mut self, scan: &mut Scan<'_>, base: u64, _: usize) -> Result<(), Stop> {
        let known = if self.table == Table::Types { TYPE_MEMBERS } else { METHOD_MEMBERS };
        self.parsed.parse(scan, base, known, !self.options.drop_unknown, self.options.limits.name_bytes)
    }

    fn commit(&mut self, index: usize) -> bool {
        self.count += 1;
        self.usual_bytes += self.parsed.usual_bytes as u64;
        self.reading.legacy |= self.parsed.walk.legacy;
        if !self.try_reserve() {
            return false;
        }
        let taken = self.parsed.walk.defect.take().map_or_else(|| self.take(index), Err);
        if let Err(defect) = taken {
            self.reject(index, &defect);
        }
        true
    }
}
