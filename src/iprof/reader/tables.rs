//! The two tables, types and methods: the text of each entry, and the rules that ids, names and signatures must keep.

use super::reading::{ReadOptions, Reading};
use crate::iprof::document::{Table, move_extras};
use crate::iprof::findings::Code;
use crate::iprof::json::{self, Number, Scan, Shape, Stop};
use crate::iprof::reader::ids::{IdMap, Ids, KnownTables, Meaning};
use crate::iprof::reader::text::{Defect, KnownMembers, Members};
use crate::iprof::tables;
use crate::iprof::tables::{MethodHandle, TypeHandle};
use crate::iprof::window::Elements;
use crate::java;
use std::borrow::Cow;
use std::sync::Arc;

/// Ids are Java ints in every known reader.
const MAX_ID: i64 = i32::MAX as i64;

/// Reads the entries of one of the two tables.
pub(super) struct TableReader<'r> {
    table: Table,
    reading: &'r mut Reading,
    ids: &'r mut Ids,
    /// Set while everything read so far equals an earlier input's tables; it is not in the tables then.
    known: &'r mut Option<KnownTables>,
    options: &'r ReadOptions,
    parsed: Parsed,
    /// The types of the last method; kept to reuse the memory.
    signature: Vec<TypeHandle>,
    /// Entries that became ambiguous after they were declared.
    ambiguous: Vec<usize>,
    /// Entries whose id is not a Java int, which get another at the end.
    out_of_range: Vec<(i64, Vec<u8>, Vec<TypeHandle>)>,
    /// Entries read, valid or not.
    count: u64,
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
        Self { table, reading, ids, known, options, parsed, signature, ambiguous, out_of_range, count: 0 }
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

    /// Reports the fault, drops the entry, and remembers the code for entries that refer to it.
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
            let message = "a number has a decimal point or exponent";
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
            // Every further declaration of an ambiguous id is dropped, too.
            Meaning::Dropped(_) => {
                self.report(index, &Defect::new(ambiguous, at, ".id", format!("the id {id} has several meanings")));
                self.repaired(ambiguous, "dropped", 1);
                return Ok(());
            }
        }
        let (place, other) = self.push(number);
        if let Some(other) = other.filter(|other| *other != number) {
            let defect = if self.is_of_types() {
                let message = format!("type {other} has the same name");
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

    /// Continues with tables of its own.
    fn leave_known(&mut self) {
        if let Some(known) = self.known.take() {
            self.reading.tables = known.into_tables();
        }
    }

    /// Finds the types of a method and reports unusual entries. Returns false for a method that is dropped with one of
    /// its types.
    fn explain(&mut self, index: usize) -> Result<bool, Defect> {
        if self.is_of_types() {
            if !java::is_java_type_name(&self.parsed.name) {
                let message = format!("\"{}\" is not a class name", tables::display_name(&self.parsed.name));
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
                    // The finding was reported with the type.
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
            let message = "a primitive type cannot declare methods";
            self.report(index, &Defect::new(Code::PrimitiveDeclarer, at, ".signature[0]", message));
        }
        if let Some(void) = void {
            let below = format!(".signature[{}]", void + 2);
            self.report(index, &Defect::new(Code::VoidParameter, at, below, "a parameter cannot have the type void"));
        }
        Ok(true)
    }

    /// Whether the entry at a position of the table equals this one.
    fn is_same(&self, first: u32) -> bool {
        let (tables, at) = (&*self.reading.tables, first as usize);
        if self.is_of_types() {
            return tables.type_name(TypeHandle::from_index(at)) == self.parsed.name;
        }
        let first = MethodHandle::from_index(at);
        tables.method_name(first) == self.parsed.name && tables.are_same_types(tables.signature(first), &self.signature)
    }

    /// Declares the entry. Returns its position, and the id of an earlier entry that is the same.
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
        if let Some(members) = self.parsed.members.kept.take() {
            self.reading.extras.insert((self.table, at), members);
        }
    }

    /// Whether the table is a single entry of id -1.
    pub(super) fn is_placeholder(&self) -> bool {
        self.count == 1 && self.parsed.has_id && self.parsed.id == -1
    }

    /// Gives out-of-range entries their new ids and removes ambiguous ones. Returns the number of entries.
    pub(super) fn finish(mut self) -> u64 {
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
        self.count
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

/// Maps the ids of kept entries to their new positions.
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

    fn commit(&mut self, index: usize) {
        self.count += 1;
        self.reading.legacy |= self.parsed.members.legacy;
        self.reading.respelled |= self.parsed.members.respelled;
        let taken = self.parsed.members.defect.take().map_or_else(|| self.take(index), Err);
        if let Err(defect) = taken {
            self.reject(index, &defect);
        }
    }
}

const TYPE_MEMBERS: &KnownMembers = &[("id", "id"), ("name", "typeName")];
const METHOD_MEMBERS: &KnownMembers = &[("id", "id"), ("name", "methodName"), ("signature", "signature")];

/// One table entry as it was parsed.
#[derive(Debug, Default)]
struct Parsed {
    id: i64,
    has_id: bool,
    name: Vec<u8>,
    name_at: usize,
    signature: Vec<i64>,
    /// Position of the entry in the view, which begins at byte `base` of the text.
    at: usize,
    base: u64,
    members: Members,
    /// Integral numbers with a point or exponent, which strict readers reject.
    fraction: bool,
}

impl Parsed {
    fn parse(
        &mut self,
        scan: &mut Scan<'_>,
        base: u64,
        known: &KnownMembers,
        keep_others: bool,
        name_limit: u64,
    ) -> Result<(), Stop> {
        scan.space();
        (self.at, self.base, self.fraction, self.has_id) = (scan.pos, base, false, false);
        self.name.clear();
        self.signature.clear();
        let start = scan.pos;
        if self.parse_canonical(scan, known.len() > TYPE_MEMBERS.len(), name_limit).is_some() {
            self.members = Members::default();
            return Ok(());
        }
        scan.pos = start;
        self.has_id = false;
        self.name.clear();
        self.signature.clear();
        let Self { id, has_id, name, name_at, signature, fraction, members, .. } = self;
        let mut respelled = false;
        members.read(scan, known, keep_others, |scan, member, _| {
            let at = scan.pos;
            match (member, scan.shape()?) {
                (0, Shape::Number) => match integer(scan, fraction)? {
                    Ok(value) => (*id, *has_id) = (value, true),
                    Err(Code::NotAnInteger) => {
                        return Ok(Some(Defect::new(Code::NotAnInteger, at, ".id", "an id must be an integer")));
                    }
                    Err(code) => return Ok(Some(Defect::new(code, at, ".id", "the id does not fit 64 bits"))),
                },
                (1, Shape::String) => {
                    let (raw, escapes) = scan.raw_string()?;
                    let text = if escapes { Cow::Owned(json::unescape(raw)) } else { Cow::Borrowed(raw) };
                    respelled |= escapes && !json::is_written(raw);
                    *name_at = at;
                    if text.len() as u64 > name_limit {
                        return Ok(Some(Defect::new(
                            Code::BadName,
                            at,
                            ".name",
                            "the name is longer than the limit name-bytes",
                        )));
                    }
                    name.extend_from_slice(&text);
                }
                (2, Shape::Array) => return parse_signature(scan, signature, fraction),
                (0, _) => return Ok(Some(Defect::new(Code::WrongJsonType, at, ".id", "expected an integer"))),
                (1, _) => return Ok(Some(Defect::new(Code::WrongJsonType, at, ".name", "expected a string"))),
                _ => return Ok(Some(Defect::new(Code::WrongJsonType, at, ".signature", "expected an array"))),
            }
            Ok(None)
        })?;
        members.respelled |= respelled;
        Ok(())
    }

    /// Parses an entry in GraalVM's spelling, which is faster. Returns `None` for any other.
    fn parse_canonical(&mut self, scan: &mut Scan<'_>, is_method: bool, name_limit: u64) -> Option<()> {
        let number = |scan: &mut Scan<'_>| {
            let (value, rest) = json::short_number(&scan.data[scan.pos..])?;
            scan.pos = scan.data.len() - rest.len();
            Some(value)
        };
        scan.literal(b"{\"id\":")?;
        self.id = number(scan)?;
        self.has_id = true;
        scan.literal(b",\"name\":")?;
        self.name_at = scan.pos;
        let (name, escapes) = scan.raw_string().ok()?;
        if escapes || name.len() as u64 > name_limit {
            return None;
        }
        self.name.extend_from_slice(name);
        if is_method {
            scan.literal(b",\"signature\":[")?;
            loop {
                self.signature.push(number(scan)?);
                if scan.literal(b",").is_none() {
                    break;
                }
            }
            scan.literal(b"]")?;
        }
        scan.literal(b"}")
    }

    /// The fault of the name.
    fn name_defect(&self) -> Option<Defect> {
        let at = self.name_at;
        if self.name.is_empty() {
            return Some(Defect::new(Code::EmptyName, at, ".name", "the name is empty"));
        }
        let special = |byte: &u8| matches!(byte, b'\n' | b'\r' | 0xe2);
        if !self.name.iter().fold(false, |found, byte| found | special(byte)) {
            return None;
        }
        let terminated = self.name.iter().any(|b| matches!(b, b'\n' | b'\r'))
            || self.name.windows(3).any(|w| w == b"\xe2\x80\xa8" || w == b"\xe2\x80\xa9");
        terminated.then(|| Defect::new(Code::BadName, at, ".name", "the name contains a line terminator"))
    }
}

/// An integer, or the code of its fault; `fraction` becomes true for one with a point or exponent.
fn integer(scan: &mut Scan<'_>, fraction: &mut bool) -> Result<Result<i64, Code>, Stop> {
    let number = scan.number()?;
    *fraction |= matches!(number, Number::Fraction(Some(_)));
    Ok(match number {
        Number::Int(value) | Number::Fraction(Some(value)) => Ok(value),
        Number::Fraction(None) => Err(Code::NotAnInteger),
        Number::Huge { .. } => Err(Code::IdRange),
    })
}

fn parse_signature(scan: &mut Scan<'_>, signature: &mut Vec<i64>, fraction: &mut bool) -> Result<Option<Defect>, Stop> {
    scan.expect(b'[', "an array")?;
    let mut more = !scan.take(b']')?;
    while more {
        let (shape, at) = (scan.shape()?, scan.pos);
        let below = || format!(".signature[{}]", signature.len());
        if shape != Shape::Number {
            return Ok(Some(Defect::new(Code::WrongJsonType, at, below(), "expected a type id")));
        }
        match integer(scan, fraction)? {
            Ok(id) => signature.push(id),
            Err(Code::NotAnInteger) => {
                return Ok(Some(Defect::new(Code::NotAnInteger, at, below(), "a type id must be an integer")));
            }
            Err(_) => return Ok(Some(Defect::new(Code::DanglingType, at, below(), "no type has such a large id"))),
        }
        more = scan.take(b',')?;
        if !more {
            scan.expect(b']', "a comma or the end of the array")?;
        }
    }
    Ok(None)
}
