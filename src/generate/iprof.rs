//! iprof files of both versions.

use super::generated::{Generated, Landmarks, Lengths, add};
use super::kind::Kind;
use super::names;
use super::random::Random;
use super::request::Generator;
use crate::error::{Error, Result};
use crate::iprof::{
    self, BranchRow, ContextHandle, CountEntry, Document, Frame, MethodHandle, SectionKind, TypeCount, TypeHandle,
    Version, WriteOptions,
};
use std::collections::BTreeMap;

/// The deepest calling context.
const DEPTH: usize = 20;

/// Methods of one class.
const METHODS_OF_CLASS: u32 = 8;

/// Generates a file.
pub(super) fn file(generator: &Generator, number: u32) -> Result<Generated> {
    let mut document = Builder::new(generator, number).build();
    let version = match generator.request.iprof_version {
        Some(version) => version,
        None => {
            document.lowest_version().max(if generator.has(Kind::Instanceof) { Version::V1_1 } else { Version::V1_0 })
        }
    };
    document.convert_to(version).map_err(|error| Error::usage(error.to_string()))?;
    let bytes = iprof::Writer::new(&WriteOptions::default()).to_bytes(&document);
    let at = generator.shape(u32::MAX - 1).below(u64::from(generator.request.functions.max(1))) as u32;
    let name = (generator.request.functions > 0).then(|| names::method(at).into_bytes());
    let landmarks = Landmarks { name, checksum: None, lengths: Lengths::None };
    Ok(Generated { bytes, totals: totals(&document), landmarks })
}

struct Builder<'a> {
    generator: &'a Generator,
    number: u32,
    document: Document,
    classes: Vec<TypeHandle>,
    methods: Vec<MethodHandle>,
}

impl<'a> Builder<'a> {
    fn new(generator: &'a Generator, number: u32) -> Self {
        let mut document = Document::new();
        let void = document.add_type(b"void");
        let int = document.add_type(b"int");
        let object = document.add_type(b"java.lang.Object");
        let count = generator.request.functions.div_ceil(METHODS_OF_CLASS);
        let classes: Vec<TypeHandle> =
            (0..count).map(|index| document.add_type(names::class(index).as_bytes())).collect();
        let methods = (0..generator.request.functions).map(|index| {
            let mut shape = generator.shape(index);
            let mut signature = vec![classes[(index / METHODS_OF_CLASS) as usize], void];
            for _ in 0..shape.below(4) {
                signature.push(if shape.chance(50) { int } else { object });
            }
            document.add_method(names::method(index).as_bytes(), &signature)
        });
        let methods = methods.collect();
        Self { generator, number, document, classes, methods }
    }

    fn build(mut self) -> Document {
        if self.methods.is_empty() {
            return self.document;
        }
        let sites = self.sites();
        for (index, site) in (0..self.generator.contexts()).zip(&sites) {
            self.fill(index, *site);
        }
        if self.generator.has(Kind::Monitors) {
            let mut counts = self.generator.counts(self.number, u32::MAX);
            let rows = self.types(&mut counts);
            self.document.sections.monitors.push(ContextHandle::ROOT, &rows);
        }
        self.document
    }

    /// Adds the calling contexts: the first is a call in `main`, each further one extends an earlier one.
    fn sites(&mut self) -> Vec<ContextHandle> {
        let mut sites: Vec<ContextHandle> = Vec::new();
        for index in 0..self.generator.contexts() {
            let mut shape = Random::of(&[self.generator.request.seed, 3, index.into()]);
            let caller = match sites.len() {
                0 => ContextHandle::ROOT,
                len if shape.chance(10) && len > 1 => ContextHandle::ROOT,
                len => sites[shape.position(len)],
            };
            let caller = if self.document.contexts.depth(caller) < DEPTH { caller } else { ContextHandle::ROOT };
            let method =
                if sites.is_empty() { self.methods[0] } else { self.methods[shape.position(self.methods.len())] };
            let mut bci = 1 + shape.below(200) as i32;
            // A context that is there already gets the next position.
            loop {
                let known = self.document.contexts.len();
                let context = self.document.contexts.child(caller, Frame { method, bci });
                if self.document.contexts.len() > known {
                    sites.push(context);
                    break;
                }
                bci += 1;
            }
        }
        sites
    }

    /// Adds entries of all sections for the call at a context.
    fn fill(&mut self, index: u32, site: ContextHandle) {
        let mut shape = Random::of(&[self.generator.request.seed, 4, index.into()]);
        let mut counts = self.generator.counts(self.number, index);
        if self.generator.has(Kind::Calls) {
            let method = self.methods[shape.position(self.methods.len())];
            let known = self.document.contexts.len();
            let context = self.document.contexts.child(site, Frame { method, bci: 0 });
            if self.document.contexts.len() > known {
                let count = 1 + counts.count();
                self.document.sections.call_counts.push(CountEntry { context, count });
            }
        }
        if self.generator.has(Kind::Conditionals) && shape.chance(30) {
            let target = shape.below(200) as i32;
            let row = |index: u32, random: &mut Random| BranchRow {
                index,
                bci: target + 3 * index.cast_signed(),
                count: random.count(),
            };
            let rows = [row(0, &mut counts), row(1, &mut counts)];
            self.document.sections.conditionals.push(site, &rows);
        }
        if self.generator.has(Kind::VirtualInvokes) && shape.chance(20) {
            let rows = self.types(&mut counts);
            self.document.sections.virtual_invokes.push(site, &rows);
        }
        if self.generator.has(Kind::Samples) && shape.chance(40) {
            let count = 1 + counts.below(500);
            self.document.sections.samples.push(CountEntry { context: site, count });
        }
        if self.generator.has(Kind::Instanceof) && shape.chance(10) {
            let rows = self.types(&mut counts);
            self.document.sections.instanceofs.push(site, &rows);
        }
    }

    /// Returns up to four neighbouring classes with their counts.
    fn types(&self, random: &mut Random) -> Vec<TypeCount> {
        let start = random.position(self.classes.len());
        let len = (1 + random.position(4)).min(self.classes.len());
        let class = |at: usize| self.classes[(start + at) % self.classes.len()];
        (0..len).map(|at| TypeCount { class: class(at), count: 1 + random.below(1000) }).collect()
    }
}

fn totals(document: &Document) -> BTreeMap<&'static str, u64> {
    let mut totals = BTreeMap::new();
    totals.insert("types", document.tables.types_count() as u64);
    totals.insert("methods", document.tables.methods_count() as u64);
    for kind in SectionKind::EACH {
        totals.insert(kind.name(), document.sections.entries_count(kind) as u64);
        for (_, records) in document.sections.entries(kind) {
            add(&mut totals, "events", u64::try_from(records.events()).unwrap_or(u64::MAX));
        }
    }
    totals
}
