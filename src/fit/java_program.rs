//! The new build as an iprof sees it: methods, and positions in their bytecode.

use super::bytecode::CodeSites;
use crate::error::Result;
use crate::iprof::{Document, Frame, MethodHandle, SectionKind, Tables};
use crate::limits::Limits;
use crate::stacks::classes::read_methods;
use std::collections::{BTreeMap, BTreeSet};

/// A method: binary names of its class and of its return type and parameters,
/// and its own name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct MethodKey {
    /// Its class.
    pub class: Vec<u8>,
    /// Its name.
    pub name: Vec<u8>,
    /// Its return type, then its parameters.
    pub types: Vec<Vec<u8>>,
}

impl MethodKey {
    /// The method of a table of an iprof.
    pub fn of(tables: &Tables, method: MethodHandle) -> Self {
        let mut parts = tables.signature(method).iter().map(|part| tables.type_name(*part).to_vec());
        let class = parts.next().unwrap_or_default();
        Self { class, name: tables.method_name(method).to_vec(), types: parts.collect() }
    }

    /// The method as people write it: `app.Main.loop(int)`.
    pub fn human_name(&self) -> Vec<u8> {
        let parameters: Vec<&[u8]> = self.types.iter().skip(1).map(Vec::as_slice).collect();
        [&self.class[..], b".", &self.name, b"(", &parameters.join(&b","[..]), b")"].concat()
    }
}

/// What is known of a method of the new build.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MethodBody {
    /// Its bytecode.
    Code(CodeSites),
    /// It has none, or damaged one.
    #[default]
    NoCode,
    /// Positions that a profile of the new build has, by section: some of those
    /// that there are.
    Profiled(BTreeMap<SectionName, BTreeSet<i32>>),
}

/// The name of a section of an iprof.
pub type SectionName = &'static str;

/// The methods of a new build.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct JavaProgram {
    /// Where they were read, in words.
    pub source: &'static str,
    /// The methods.
    pub methods: BTreeMap<MethodKey, MethodBody>,
}

impl JavaProgram {
    /// No methods of classes yet.
    pub fn of_classes() -> Self {
        Self { source: "classes of the new build", methods: BTreeMap::new() }
    }

    /// Adds the methods of a class file, or of the class files in a jar; what is
    /// there already stays.
    ///
    /// # Errors
    ///
    /// As [`read_methods`].
    pub fn add_classes(&mut self, data: &[u8], limits: &Limits) -> Result<()> {
        read_methods(data, limits, &mut |method| {
            let key = MethodKey {
                class: method.class.into(),
                name: method.name.into(),
                types: method.types.iter().map(|name| name.as_bytes().to_vec()).collect(),
            };
            let body = method.code.and_then(CodeSites::of).map_or(MethodBody::NoCode, MethodBody::Code);
            self.methods.entry(key).or_insert(body);
        })
    }

    /// The methods that a profile of the new build declares.
    pub fn of_iprof(document: &Document) -> Self {
        let tables = &document.tables;
        let empty = || MethodBody::Profiled(BTreeMap::new());
        let mut methods: BTreeMap<MethodKey, MethodBody> =
            tables.methods().map(|method| (MethodKey::of(tables, method), empty())).collect();
        for_each_entry(document, |kind, frames, _| {
            let Some(leaf) = frames.first().filter(|leaf| leaf.bci >= 0) else { return };
            if let Some(MethodBody::Profiled(sites)) = methods.get_mut(&MethodKey::of(tables, leaf.method)) {
                sites.entry(kind.name()).or_default().insert(leaf.bci);
            }
        });
        Self { source: "iprof of the new build", methods }
    }
}

/// Hands out the entries of all sections but the monitors, which belong to no
/// method: section, frames with the innermost first, events.
pub(super) fn for_each_entry(document: &Document, mut each: impl FnMut(SectionKind, &[Frame], u128)) {
    let mut frames = Vec::new();
    for kind in SectionKind::ALL.into_iter().filter(|kind| *kind != SectionKind::Monitor) {
        let mut entry = |context, events: u128| {
            frames.clear();
            frames.extend(document.contexts.frames(context));
            each(kind, &frames, events);
        };
        if let Some(counts) = document.sections.counts(kind) {
            counts.iter().for_each(|row| entry(row.context, row.count.into()));
        } else if let Some(types) = document.sections.types(kind) {
            types.iter().for_each(|(context, rows)| entry(context, rows.iter().map(|row| u128::from(row.count)).sum()));
        } else {
            let branches = document.sections.conditionals.iter();
            branches.for_each(|(context, rows)| entry(context, rows.iter().map(|row| u128::from(row.count)).sum()));
        }
    }
}
