//! Reading the tables: types and methods.

use super::ids::{IdMap, Meaning};
use super::known::KnownTables;
use super::members::Defect;
use super::table_text::{METHOD_MEMBERS, Parsed, TYPE_MEMBERS};
use crate::iprof::document::{Extras, Table, move_extras};
use crate::iprof::findings::{Code, Findings};
use crate::iprof::json::{Scan, Stop};
use crate::iprof::names;
use crate::iprof::tables::{MethodHandle, Tables, TypeHandle};
use crate::iprof::window::Elements;
use crate::java;
use std::sync::Arc;

const TYPES: &str = "types";
const METHODS: &str = "methods";
/// Ids are Java ints in every known reader.
const MAX_ID: i64 = i32::MAX as i64;

/// What reading a table needs from the reader.
pub(crate) struct Context<'r> {
    pub(crate) tables: &'r mut Arc<Tables>,
    /// While all that was read is known already, it is not in the tables.
    pub(crate) known: &'r mut Option<KnownTables>,
    pub(crate) types: &'r mut IdMap,
    pub(crate) methods: &'r mut IdMap,
    pub(crate) findings: &'r mut Findings,
    pub(crate) extras: &'r mut Extras,
    pub(crate) legacy: &'r mut bool,
    pub(crate) keep_others: bool,
    pub(crate) name_limit: u64,
}

/// Reads the entries of one of the two tables.
pub(crate) struct TableReader<'r> {
    context: Context<'r>,
    table: Table,
    parsed: Parsed,
    /// Entries that turned out ambiguous after they were taken.
    ambiguous: Vec<usize>,
    /// Entries whose id no Java int holds, to get another at the end.
    out_of_range: Vec<(i64, Vec<u8>, Vec<TypeHandle>)>,
    signature: Vec<TypeHandle>,
    /// Entries read, sound or not.
    pub(crate) count: u64,
    /// Bytes of those that are written as a writer would.
    usual_bytes: u64,
}

impl<'r> TableReader<'r> {
    pub(crate) fn new(table: Table, context: Context<'r>) -> Self {
        Self {
            context,
            table,
            parsed: Parsed::default(),
            ambiguous: Vec::new(),
            out_of_range: Vec::new(),
            signature: Vec::new(),
            count: 0,
            usual_bytes: 0,
        }
    }

    fn group(&self) -> &'static str {
        if self.table == Table::Types { TYPES } else { METHODS }
    }

    fn report(&mut self, index: usize, defect: &Defect) {
        let group = self.group();
        let offset = self.parsed.base + defect.at as u64;
        self.context.findings.report(defect.code, group, Some(offset), || {
            (format!("{group}[{index}]{}", defect.below), defect.message.to_string())
        });
    }

    /// Reports, leaves the entry out, and remembers why for those who use it.
    fn reject(&mut self, index: usize, defect: &Defect) {
        self.report(index, defect);
        let group = self.group();
        self.context.findings.repaired(defect.code, "dropped", group, 1);
        if self.parsed.has_id {
            let ids = if self.table == Table::Types { &mut *self.context.types } else { &mut *self.context.methods };
            if ids.find(self.parsed.id) == Meaning::Unknown {
                ids.drop_id(self.parsed.id, defect.code);
            }
        }
    }

    fn commit_checked(&mut self, index: usize) -> Result<(), Defect> {
        if let Some(defect) = self.parsed.name_defect() {
            return Err(defect);
        }
        if self.parsed.fraction {
            let at = usize::try_from(self.parsed.offset - self.parsed.base).unwrap_or_default();
            self.report(
                index,
                &Defect::new(Code::NotAnInteger, at, "", "a number is written with a point or exponent"),
            );
            self.context.findings.repaired(Code::NotAnInteger, "rewritten", self.group(), 1);
        }
        if self.take_known() {
            return Ok(());
        }
        match self.table {
            Table::Types => self.commit_type(index),
            _ => self.commit_method(index)?,
        }
        Ok(())
    }

    /// Takes the entry if it is the next of those that are known.
    fn take_known(&mut self) -> bool {
        let Some(known) = self.context.known else { return false };
        let (id, of_types) = (self.parsed.id, self.table == Table::Types);
        let ids = if of_types { &mut *self.context.types } else { &mut *self.context.methods };
        let unused = ids.find(id) == Meaning::Unknown && (0..=MAX_ID).contains(&id);
        let at = match of_types {
            _ if !unused => None,
            true => known.next_type(id, &self.parsed.name),
            false => known.next_method(id, &self.parsed.name, &self.parsed.signature),
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
        if let Some(known) = self.context.known.take() {
            *self.context.tables = known.into_tables();
        }
    }

    fn commit_type(&mut self, index: usize) {
        let at = self.parsed.name_at;
        if !java::is_java_type_name(&self.parsed.name) {
            let message = format!("no class is called \"{}\"", names::display(&self.parsed.name));
            self.report(index, &Defect::new(Code::OddTypeName, at, ".name", message));
        }
        let id = self.parsed.id;
        if !(0..=MAX_ID).contains(&id) {
            self.report_range(index);
            self.out_of_range.push((id, self.parsed.name.clone(), Vec::new()));
            return;
        }
        if let Meaning::Entry(first) = self.context.types.find(id) {
            let first = TypeHandle::from_index(first as usize);
            if self.context.tables.type_name(first) != self.parsed.name {
                return self.reject_ambiguous(Code::DuplicateTypeId, index, first.index());
            }
            self.report(index, &Defect::new(Code::RepeatedType, at, "", format!("type {id} was declared before")));
        }
        if self.stays_dropped(index, Code::DuplicateTypeId) {
            return;
        }
        let (handle, duplicate) =
            Arc::make_mut(self.context.tables).push_type(u32::try_from(id).unwrap_or_default(), &self.parsed.name);
        if let Some(duplicate) = duplicate
            && let other = self.context.tables.type_id(duplicate)
            && i64::from(other) != id
        {
            let message = format!("type {other} has this name already");
            self.report(index, &Defect::new(Code::DuplicateTypeName, at, ".name", message));
        }
        if self.context.types.find(id) == Meaning::Unknown {
            self.context.types.set(id, handle.index() as u32);
        }
        self.keep_members(handle.index());
    }

    fn commit_method(&mut self, index: usize) -> Result<(), Defect> {
        let at = usize::try_from(self.parsed.offset - self.parsed.base).unwrap_or_default();
        if self.parsed.signature.len() < 2 {
            let message = format!("{} types, at least 2 expected", self.parsed.signature.len());
            return Err(Defect::new(Code::ShortSignature, at, ".signature", message));
        }
        self.signature.clear();
        for (position, id) in self.parsed.signature.iter().enumerate() {
            match self.context.types.find(*id) {
                Meaning::Entry(handle) => self.signature.push(TypeHandle::from_index(handle as usize)),
                Meaning::Unknown => {
                    let below = format!(".signature[{position}]");
                    return Err(Defect::new(Code::DanglingType, at, below, format!("no type has the id {id}")));
                }
                Meaning::Dropped(code) => {
                    // Reported where the type was dropped; this method goes with it.
                    self.context.findings.repaired(code, "dropped", METHODS, 1);
                    self.context.methods.drop_id(self.parsed.id, code);
                    return Ok(());
                }
            }
        }
        self.warn_of_signature(index, at);
        let id = self.parsed.id;
        if !(0..=MAX_ID).contains(&id) {
            self.report_range(index);
            self.out_of_range.push((id, self.parsed.name.clone(), self.signature.clone()));
            return Ok(());
        }
        if let Meaning::Entry(first) = self.context.methods.find(id) {
            let first = MethodHandle::from_index(first as usize);
            let tables = &*self.context.tables;
            let same = tables.method_name(first) == self.parsed.name
                && tables
                    .signature(first)
                    .iter()
                    .map(|t| tables.type_name(*t))
                    .eq(self.signature.iter().map(|t| tables.type_name(*t)));
            if !same {
                self.reject_ambiguous(Code::DuplicateMethodId, index, first.index());
                return Ok(());
            }
            self.report(index, &Defect::new(Code::RepeatedMethod, at, "", format!("method {id} was declared before")));
        }
        if self.stays_dropped(index, Code::DuplicateMethodId) {
            return Ok(());
        }
        let number = u32::try_from(id).unwrap_or_default();
        let (handle, duplicate) =
            Arc::make_mut(self.context.tables).push_method(number, &self.parsed.name, &self.signature);
        if let Some(duplicate) = duplicate
            && let other = self.context.tables.method_id(duplicate)
            && i64::from(other) != id
        {
            let message = format!("method {other} is the same");
            self.report(index, &Defect::new(Code::DuplicateMethod, at, "", message));
        }
        if self.context.methods.find(id) == Meaning::Unknown {
            self.context.methods.set(id, handle.index() as u32);
        }
        self.keep_members(handle.index());
        Ok(())
    }

    fn warn_of_signature(&mut self, index: usize, at: usize) {
        let tables = &*self.context.tables;
        let primitive = self.signature.first().is_some_and(|declaring| tables.is_primitive(*declaring));
        let is_void = |handle: &TypeHandle| tables.is_primitive(*handle) && tables.type_name(*handle) == b"void";
        let void = self.signature.iter().skip(2).position(is_void);
        if primitive {
            let message = "a primitive type declares no methods";
            self.report(index, &Defect::new(Code::PrimitiveDeclarer, at, ".signature[0]", message));
        }
        if let Some(void) = void {
            let below = format!(".signature[{}]", void + 2);
            self.report(index, &Defect::new(Code::VoidParameter, at, below, "no parameter is of type void"));
        }
    }

    /// A further declaration of an id that was dropped goes the same way.
    fn stays_dropped(&mut self, index: usize, ambiguous: Code) -> bool {
        let ids = if self.table == Table::Types { &*self.context.types } else { &*self.context.methods };
        let Meaning::Dropped(_) = ids.find(self.parsed.id) else { return false };
        let message = format!("the id {} has several meanings", self.parsed.id);
        let at = usize::try_from(self.parsed.offset - self.parsed.base).unwrap_or_default();
        self.report(index, &Defect::new(ambiguous, at, ".id", message));
        self.context.findings.repaired(ambiguous, "dropped", self.group(), 1);
        true
    }

    fn reject_ambiguous(&mut self, code: Code, index: usize, first: usize) {
        let at = usize::try_from(self.parsed.offset - self.parsed.base).unwrap_or_default();
        let id = self.parsed.id;
        let group = self.group();
        self.report(index, &Defect::new(code, at, ".id", format!("the id {id} has two meanings")));
        self.context.findings.repaired(code, "dropped", group, 2);
        self.ambiguous.push(first);
        let ids = if self.table == Table::Types { &mut *self.context.types } else { &mut *self.context.methods };
        ids.drop_id(id, code);
    }

    fn report_range(&mut self, index: usize) {
        let at = usize::try_from(self.parsed.offset - self.parsed.base).unwrap_or_default();
        let message = format!("{} is not between 0 and {MAX_ID}", self.parsed.id);
        self.report(index, &Defect::new(Code::IdRange, at, ".id", message));
        self.context.findings.repaired(Code::IdRange, "renumbered", self.group(), 1);
    }

    fn keep_members(&mut self, at: usize) {
        if let Some(members) = self.parsed.walk.members.take() {
            self.context.extras.insert((self.table, at), members);
        }
    }

    /// Whether the table is nothing but one entry of id -1.
    pub(crate) fn is_placeholder(&self) -> bool {
        self.count == 1 && self.parsed.has_id && self.parsed.id == -1
    }

    /// Gives out-of-range entries their new ids and takes ambiguous ones away. Returns how many
    /// entries there were, and how many bytes of them a writer would write.
    pub(crate) fn finish(mut self) -> (u64, u64) {
        // Types that are only some of the known ones, or methods, end what is known.
        let all_types =
            self.table == Table::Types && self.context.known.as_ref().is_some_and(KnownTables::has_all_types);
        if !all_types {
            self.leave_known();
        }
        if !self.ambiguous.is_empty() {
            self.ambiguous.sort_unstable();
            self.ambiguous.dedup();
            self.remove_ambiguous();
        }
        for (id, name, signature) in std::mem::take(&mut self.out_of_range) {
            let tables = Arc::make_mut(self.context.tables);
            if self.table == Table::Types {
                let handle = tables.push_type(tables.next_type_id(), &name).0;
                self.context.types.set(id, handle.index() as u32);
            } else {
                let handle = tables.push_method(tables.next_method_id(), &name, &signature).0;
                self.context.methods.set(id, handle.index() as u32);
            }
        }
        (self.count, self.usual_bytes)
    }

    fn remove_ambiguous(&mut self) {
        let old = std::mem::take(self.context.tables);
        let mut types = vec![true; old.types_count()];
        let mut methods = vec![true; old.methods_count()];
        let kept = if self.table == Table::Types { &mut types } else { &mut methods };
        self.ambiguous.iter().for_each(|at| kept[*at] = false);
        let (tables, new) = old.selected(&types, &methods);
        let type_ids = old.types().map(|handle| (old.type_id(handle), new.types[handle.index()].index()));
        renumber(self.context.types, &types, type_ids);
        let method_ids = old.methods().map(|handle| (old.method_id(handle), new.methods[handle.index()].index()));
        renumber(self.context.methods, &methods, method_ids);
        move_extras(self.context.extras, Table::Types, &types);
        move_extras(self.context.extras, Table::Methods, &methods);
        *self.context.tables = Arc::new(tables);
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
        self.parsed.parse(scan, base, known, self.context.keep_others, self.context.name_limit)
    }

    fn commit(&mut self, index: usize) {
        self.count += 1;
        self.usual_bytes += self.parsed.usual_bytes as u64;
        *self.context.legacy |= self.parsed.walk.legacy;
        if let Some(defect) = self.parsed.walk.defect.take() {
            return self.reject(index, &defect);
        }
        if let Err(defect) = self.commit_checked(index) {
            self.reject(index, &defect);
        }
    }
}
