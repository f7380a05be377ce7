//! Comparison of several files: their events by common keys, and how well one profile fits the program of another.
//!
//! *Relevance* is the share of a profile's entries whose methods are all in the program, that is, in the other
//! profile's table of methods. *Applicability* is the share of the program's sites (the contexts of the other profile)
//! for which the profile has an entry. It has three levels, and each includes those before:
//!
//! 1. *exact*: the profile has an entry with the same context;
//! 2. *partial*: it has an entry with the context without some of its outermost frames, possibly only the innermost
//!    frame;
//! 3. *leaf*: it has an entry with the same innermost frame and any callers.
//!
//! A context counts once per section. Methods are equal by declaring type, name, return type and parameters, frames by
//! method and bytecode index. Monitors belong to no method and are ignored. Only trends of these figures are
//! meaningful, because a compiler looks up other sites than those in a profile.

use crate::cancel::Cancel;
use crate::error::Result;
use crate::iprof::context::{ContextHandle, ContextTree, Frame, describe};
use crate::iprof::document::Document;
use crate::iprof::read::replay;
use crate::iprof::reader::{Entry, ReadOptions, Sink, read_stream};
use crate::iprof::sections::{Records, SectionKind};
use crate::iprof::statistics::{ChainsBy, targets};
use crate::iprof::tables::{self, ImportMode, Mapping, MethodHandle, Tables, TypeHandle};
use crate::java;
use serde::Serialize;
use std::fmt::{self, Write};
use std::io::Read;

/// The key of events: a context, and in sections with rows also a target or a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventKey {
    /// The context in the common tree.
    pub context: ContextHandle,
    /// The target's BCI (for placeholders with the index in the upper half), the type's index in the common table, or
    /// 0.
    pub detail: i64,
}

/// Types, methods and contexts of all compared files.
#[derive(Debug, Default)]
pub struct CommonSpace {
    tables: Tables,
    contexts: ContextTree,
}

/// The events of one file.
#[derive(Debug, Default)]
pub struct Events {
    sections: [Vec<(EventKey, u128)>; SectionKind::EACH.len()],
    contexts: [Vec<ContextHandle>; SectionKind::EACH.len()],
    /// Whether the file's table has each method of the common table.
    declared: Vec<bool>,
    /// Calls by method, in the order of the common table.
    calls: Vec<u128>,
    samples: Vec<u128>,
}

impl Events {
    /// Keys with their events, in the order of the file; a key may occur several times.
    pub fn section(&self, kind: SectionKind) -> &[(EventKey, u128)] {
        &self.sections[kind.index()]
    }

    /// The contexts of a section's entries, in the order of the file; a context may occur several times.
    pub fn contexts(&self, kind: SectionKind) -> &[ContextHandle] {
        &self.contexts[kind.index()]
    }

    /// Returns true if the file's table has a method, even without entries.
    pub fn declares(&self, method: MethodHandle) -> bool {
        self.declared.get(method.index()).copied().unwrap_or(false)
    }

    /// Returns true if a method was called.
    pub fn has_calls(&self) -> bool {
        self.calls.iter().any(|calls| *calls > 0)
    }

    /// Returns true if a method was sampled.
    pub fn has_samples(&self) -> bool {
        self.samples.iter().any(|samples| *samples > 0)
    }

    /// Returns methods with their calls or their samples. A method that the table declares may have none.
    pub fn methods(&self, by: ChainsBy) -> impl Iterator<Item = (MethodHandle, u128)> + '_ {
        let events = if by == ChainsBy::Calls { &self.calls } else { &self.samples };
        let methods = (0..self.declared.len().max(events.len())).map(MethodHandle::from_index);
        methods.filter_map(|method| {
            let events = events.get(method.index()).copied().unwrap_or(0);
            (events > 0 || self.declares(method)).then_some((method, events))
        })
    }
}

impl CommonSpace {
    /// Reads a file's events.
    ///
    /// # Errors
    ///
    /// As [`Reader::read`](crate::iprof::Reader::read).
    pub(crate) fn read_from(&mut self, stream: impl Read, options: &ReadOptions) -> Result<Events> {
        let options = ReadOptions { drop_unknown: true, ..options.clone() };
        let mut collector = Collector { space: self, mapping: None, events: Events::default() };
        let reading = read_stream(stream, &options, &mut collector).accepted(&options)?;
        collector.declare(&reading.tables);
        Ok(collector.events)
    }

    /// Returns the events of a document.
    pub fn add(&mut self, document: &Document) -> Events {
        let mut collector = Collector { space: self, mapping: None, events: Events::default() };
        // This is never cancelled.
        let _ = replay(document, &mut collector, &Cancel::default());
        collector.declare(&document.tables);
        collector.events
    }

    /// Adds the types and methods of a file. Hidden classes lose their addresses, which differ between runs.
    fn adopt(&mut self, tables: &Tables) -> Mapping {
        let short = |name: &[u8]| str::from_utf8(name).ok().and_then(java::without_address);
        let mut add_type = |name: &[u8]| match short(name) {
            Some(short) => self.tables.add_type(short.as_bytes()),
            None => self.tables.add_type(name),
        };
        let types: Vec<TypeHandle> = tables.types().map(|class| add_type(tables.type_name(class))).collect();
        let methods = self.tables.adopt_methods(tables, tables.methods(), ImportMode::Renumbered, &types);
        Mapping { types, methods, ..Mapping::default() }
    }

    /// Returns all contexts of all files.
    pub fn contexts(&self) -> &ContextTree {
        &self.contexts
    }

    /// Formats a context.
    pub fn site(&self, context: ContextHandle) -> String {
        describe(&self.tables, self.contexts.frames(context))
    }

    /// Formats a method.
    pub fn method(&self, method: MethodHandle) -> String {
        self.tables.human_name(method)
    }

    /// Returns the text of a key's detail in a section.
    pub fn detail(&self, kind: SectionKind, detail: i64) -> String {
        match (kind, usize::try_from(detail)) {
            (SectionKind::VirtualInvoke | SectionKind::Monitor | SectionKind::Instanceof, Ok(at)) => {
                tables::display_name(self.tables.type_name(TypeHandle::from_index(at)))
            }
            // Placeholders have their index in the upper half.
            _ => i32::try_from(detail).unwrap_or(detail as i32).to_string(),
        }
    }
}

struct Collector<'s> {
    space: &'s mut CommonSpace,
    mapping: Option<Mapping>,
    events: Events,
}

impl Collector<'_> {
    /// Stores which methods the file has.
    fn declare(&mut self, tables: &Tables) {
        let mapping = self.mapping.get_or_insert_with(|| self.space.adopt(tables));
        self.events.declared = vec![false; self.space.tables.methods_count()];
        mapping.methods.iter().for_each(|method| self.events.declared[method.index()] = true);
    }

    fn count_method(&mut self, kind: SectionKind, method: Option<MethodHandle>, count: u64) {
        let Some(method) = method else { return };
        let sums = if kind == SectionKind::Sampling { &mut self.events.samples } else { &mut self.events.calls };
        if sums.len() <= method.index() {
            sums.resize(method.index() + 1, 0);
        }
        sums[method.index()] += u128::from(count);
    }
}

impl Sink for Collector<'_> {
    fn entry(&mut self, tables: &Tables, entry: Entry<'_>) {
        let space = &mut *self.space;
        let mapping = self.mapping.get_or_insert_with(|| space.adopt(tables));
        let mapped = |frame: &Frame| Frame { method: mapping.methods[frame.method.index()], ..*frame };
        let context = space.contexts.add_mapped(entry.frames, mapped);
        let leaf = space.contexts.leaf(context).map(|leaf| leaf.method);
        let key = |detail| EventKey { context, detail };
        self.events.contexts[entry.kind.index()].push(context);
        let section = &mut self.events.sections[entry.kind.index()];
        match entry.records {
            Records::Count(count) => {
                section.push((key(0), u128::from(count)));
                self.count_method(entry.kind, leaf, count);
            }
            Records::Branches(rows) => section.extend(targets(rows).iter().map(|target| {
                // The index distinguishes placeholders with the same BCI.
                let index = if target.bci < 0 { i64::from(target.index) << 32 } else { 0 };
                let bci = if target.bci < 0 { i64::from(target.bci.cast_unsigned()) } else { i64::from(target.bci) };
                (key(index | bci), target.events)
            })),
            Records::Types(pairs) => section.extend(pairs.iter().map(|pair| {
                let class = mapping.types[pair.class.index()];
                (key(class.index() as i64), u128::from(pair.count))
            })),
        }
    }
}

/// The fit of a profile and a program.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Fit {
    /// The relevant share of the entries of all sections; `None` without entries.
    pub relevance: Option<f64>,
    /// The shares of found sites of all sections.
    pub applicability: Applicability,
    /// The sections in which either profile has entries, without the monitors.
    pub sections: Vec<SectionFit>,
}

/// Shares of found sites by level; `None` without sites.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Applicability {
    /// Found in the same context.
    pub exact: Option<f64>,
    /// Found in the same context, possibly without outermost frames.
    pub partial: Option<f64>,
    /// Found in any context with the same innermost frame.
    pub leaf: Option<f64>,
}

/// The fit of a section.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SectionFit {
    /// The name of the section.
    pub section: &'static str,
    /// Contexts of the profile.
    pub entries: u64,
    /// Contexts whose methods are all in the program.
    pub relevant_entries: u64,
    /// Relevant share of the entries; `None` without entries.
    pub relevance: Option<f64>,
    /// Events of the profile.
    pub events: u128,
    /// Events of the relevant entries.
    pub relevant_events: u128,
    /// Relevant share of the events; `None` without events.
    pub weighted_relevance: Option<f64>,
    /// Contexts in the program's own profile.
    pub sites: u64,
    /// Sites found in the same context.
    pub exact_sites: u64,
    /// Sites found in the same context, possibly without outermost frames.
    pub partial_sites: u64,
    /// Sites found in any context with the same innermost frame.
    pub leaf_sites: u64,
    /// The shares of found sites.
    pub applicability: Applicability,
}

/// The level at which a site is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Nothing,
    Leaf,
    Partial,
}

/// Computes how well `profile` fits the program of the profile `program`. Both must have been read into `space`.
pub fn fit(space: &CommonSpace, profile: &Events, program: &Events) -> Fit {
    let relevant = relevant_contexts(space.contexts(), program);
    let kinds = SectionKind::EACH.into_iter().filter(|kind| *kind != SectionKind::Monitor);
    let sections: Vec<SectionFit> = kinds
        .map(|kind| section_fit(space.contexts(), &relevant, kind, profile, program))
        .filter(|section| section.entries + section.sites > 0)
        .collect();
    let sum = |part: fn(&SectionFit) -> u64| sum_of(&sections, part);
    let levels = [sum(|fit| fit.exact_sites), sum(|fit| fit.partial_sites), sum(|fit| fit.leaf_sites)];
    Fit {
        relevance: share(sum(|section| section.relevant_entries), sum(|section| section.entries)),
        applicability: Applicability::new(levels, sum(|section| section.sites)),
        sections,
    }
}

fn sum_of(sections: &[SectionFit], part: fn(&SectionFit) -> u64) -> u64 {
    sections.iter().map(part).sum()
}

fn section_fit(
    contexts: &ContextTree,
    relevant: &[bool],
    kind: SectionKind,
    profile: &Events,
    program: &Events,
) -> SectionFit {
    let entries = distinct(profile.contexts(kind));
    let relevant_entries = entries.iter().filter(|context| relevant[context.index()]).count() as u64;
    let counted = profile.section(kind).iter();
    let (events, relevant_events) = counted.fold((0, 0), |(all, matching), (key, count)| {
        (all + count, matching + if relevant[key.context.index()] { *count } else { 0 })
    });
    let asked = distinct(program.contexts(kind));
    let levels = levels_of(contexts, &entries, &asked);
    let (entries, sites) = (entries.len() as u64, asked.len() as u64);
    let [exact_sites, partial_sites, leaf_sites] = levels;
    SectionFit {
        section: kind.name(),
        entries,
        relevant_entries,
        relevance: share(relevant_entries, entries),
        events,
        relevant_events,
        weighted_relevance: share(relevant_events, events),
        sites,
        exact_sites,
        partial_sites,
        leaf_sites,
        applicability: Applicability::new(levels, sites),
    }
}

/// Returns the number of requested sites that are found in the entries at each level: exact, partial, leaf.
fn levels_of(contexts: &ContextTree, entries: &[ContextHandle], asked: &[ContextHandle]) -> [u64; 3] {
    let others: Vec<_> = asked.iter().filter(|site| entries.binary_search(site).is_err()).collect();
    let mut levels = [(asked.len() - others.len()) as u64; 3];
    if !others.is_empty() && !entries.is_empty() {
        let known = KnownSites::new(contexts, entries);
        for site in others {
            let found = known.find(contexts, *site);
            levels[1] += u64::from(found >= Found::Partial);
            levels[2] += u64::from(found >= Found::Leaf);
        }
    }
    levels
}

impl Applicability {
    fn new([exact, partial, leaf]: [u64; 3], sites: u64) -> Self {
        Self { exact: share(exact, sites), partial: share(partial, sites), leaf: share(leaf, sites) }
    }
}

fn share(part: impl Into<u128>, whole: impl Into<u128>) -> Option<f64> {
    let whole = whole.into();
    (whole > 0).then(|| crate::number_format::share(part.into(), whole))
}

/// Returns for every context of the tree whether the program declares all its methods.
fn relevant_contexts(contexts: &ContextTree, program: &Events) -> Vec<bool> {
    let mut relevant = vec![true; contexts.len()];
    // Callers come before their callees.
    for (context, caller, frame) in contexts.iter() {
        relevant[context.index()] = relevant[caller.index()] && program.declares(frame.method);
    }
    relevant
}

fn distinct(contexts: &[ContextHandle]) -> Vec<ContextHandle> {
    let mut contexts = contexts.to_vec();
    contexts.sort_unstable();
    contexts.dedup();
    contexts
}

/// The sites of a section, searchable from the innermost frame.
struct KnownSites {
    /// Reversed chains: the root's children are innermost frames.
    outwards: ContextTree,
    /// Whether a site ends at each node of the tree.
    ends: Vec<bool>,
}

impl KnownSites {
    fn new(contexts: &ContextTree, sites: &[ContextHandle]) -> Self {
        let mut outwards = ContextTree::default();
        let mut frames: Vec<Frame> = Vec::new();
        let mut last = Vec::with_capacity(sites.len());
        for site in sites {
            frames.clear();
            frames.extend(contexts.frames(*site));
            frames.reverse();
            last.push(outwards.add(&frames));
        }
        let mut ends = vec![false; outwards.len()];
        last.into_iter().for_each(|node| ends[node.index()] = true);
        Self { outwards, ends }
    }

    fn find(&self, contexts: &ContextTree, site: ContextHandle) -> Found {
        let mut found = Found::Nothing;
        let mut at = ContextHandle::ROOT;
        for frame in contexts.frames(site) {
            let Some(next) = self.outwards.find_child(at, frame) else { return found };
            at = next;
            found = found.max(if self.ends[at.index()] { Found::Partial } else { Found::Leaf });
        }
        found
    }
}

/// Writes the statistics as text.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_text(out: &mut impl Write, fit: &Fit) -> fmt::Result {
    if fit.sections.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nFit of the first profile for the program of the second (only as a trend):")?;
    writeln!(
        out,
        "{:<24}{:>10}{:>12}{:>12}{:>10}{:>12}{:>12}{:>12}",
        "Section", "entries", "relevant", "by events", "sites", "exact", "partial", "leaf"
    )?;
    for section in &fit.sections {
        write!(out, "{:<24}{:>10}", section.section, section.entries)?;
        write!(out, "{}{}", Percent(section.relevance), Percent(section.weighted_relevance))?;
        write!(out, "{:>10}", section.sites)?;
        levels(out, &section.applicability)?;
    }
    let entries = sum_of(&fit.sections, |section| section.entries);
    write!(out, "{:<24}{entries:>10}{}", "All", Percent(fit.relevance))?;
    write!(out, "{:>12}{:>10}", "", sum_of(&fit.sections, |section| section.sites))?;
    levels(out, &fit.applicability)
}

fn levels(out: &mut impl Write, found: &Applicability) -> fmt::Result {
    writeln!(out, "{}{}{}", Percent(found.exact), Percent(found.partial), Percent(found.leaf))
}

/// A share in its own column.
struct Percent(Option<f64>);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(share) => write!(f, "{:>10.3} %", 100.0 * share),
            None => write!(f, "{:>12}", "-"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iprof::ReadOptions;

    #[test]
    fn keys_do_not_depend_on_the_files_ids() {
        let one = r#"{"version":"1.0.0","types":[{"id":4,"name":"A"},{"id":5,"name":"B"}],"methods":[{"id":7,"name":"m","signature":[4,4]}],"virtualInvokeProfiles":[{"ctx":"7:3","records":[5,2]}],"callCountProfiles":[{"ctx":"7:0","records":[9]}],"conditionalProfiles":[{"ctx":"7:1","records":[-1,2,5,8,0,1]}]}"#;
        let other = r#"{"version":"1.0.0","types":[{"id":0,"name":"B"},{"id":1,"name":"A"}],"methods":[{"id":0,"name":"x","signature":[1,1]},{"id":1,"name":"m","signature":[1,1]}],"virtualInvokeProfiles":[{"ctx":"1:3","records":[0,2]}],"callCountProfiles":[{"ctx":"1:0","records":[9]}],"conditionalProfiles":[{"ctx":"1:1","records":[8,0,1,-1,2,5]}]}"#;
        let mut space = CommonSpace::default();
        let [a, b] = [one, other].map(|text| space.read_from(text.as_bytes(), &ReadOptions::default()).unwrap());
        for kind in SectionKind::EACH {
            let sorted = |events: &Events| {
                let mut keys = events.section(kind).to_vec();
                keys.sort_unstable();
                keys
            };
            assert_eq!(sorted(&a), sorted(&b), "{kind:?}");
        }
        let called =
            |events: &Events| events.methods(ChainsBy::Calls).filter(|(_, calls)| *calls > 0).collect::<Vec<_>>();
        assert_eq!(called(&a), called(&b));
        let (key, _) = a.section(SectionKind::VirtualInvoke)[0];
        assert_eq!(
            (space.site(key.context), space.detail(SectionKind::VirtualInvoke, key.detail)),
            ("A.m():3".into(), "B".into())
        );
        let placeholder = a.section(SectionKind::Conditional).iter().map(|(key, _)| key.detail).max().unwrap();
        assert_eq!(space.detail(SectionKind::Conditional, placeholder), "-1");
    }

    #[test]
    fn hidden_classes_of_two_runs_are_the_same() {
        let mut space = CommonSpace::default();
        let [one, other] = ["$$Lambda$89/0x00007fe380008670", "$$Lambda$90/0x00007fdbd8008670"].map(|name| {
            let text = format!(
                r#"{{"version":"1.0.0","types":[{{"id":0,"name":"void"}},{{"id":1,"name":"A{name}"}}],"methods":[{{"id":0,"name":"run","signature":[1,0]}}],"samplingProfiles":[{{"ctx":"0:3","records":[5]}}]}}"#
            );
            space.read_from(text.as_bytes(), &ReadOptions::default()).unwrap()
        });
        assert_eq!(one.section(SectionKind::Sampling), other.section(SectionKind::Sampling));
        assert_eq!(space.site(one.contexts(SectionKind::Sampling)[0]), "A$$Lambda/0x….run():3");
    }

    fn fit_of(profile: &str, program: &str) -> Fit {
        let head = r#"{"version":"1.0.0","types":[{"id":0,"name":"A"}],"methods":[{"id":0,"name":"f","signature":[0,0]},{"id":1,"name":"g","signature":[0,0]}],"samplingProfiles":"#;
        let mut space = CommonSpace::default();
        let [profile, program] = [profile, program].map(|contexts| {
            let entries: Vec<String> =
                contexts.split(' ').map(|context| format!(r#"{{"ctx":"{context}","records":[1]}}"#)).collect();
            let text = format!("{head}[{}]}}", entries.join(","));
            space.read_from(text.as_bytes(), &ReadOptions::default()).unwrap()
        });
        fit(&space, &profile, &program)
    }

    #[test]
    fn outermost_frames_of_the_site_are_dropped_and_no_others() {
        for (has, asked, found) in [
            ("0:1<1:2<1:3", "0:1<1:2<1:3", [1, 1, 1]),
            ("0:1<1:2", "0:1<1:2<1:3", [0, 1, 1]),
            ("0:1", "0:1<1:2<1:3", [0, 1, 1]),
            // The site is shorter than the entry, so dropping its frames does not help.
            ("0:1<1:2<1:3", "0:1<1:2", [0, 0, 1]),
            ("0:1<1:2<1:3", "0:1<1:2<1:4", [0, 0, 1]),
            ("0:1<1:2 0:1<1:2<1:3<0:0", "0:1<1:2<1:3", [0, 1, 1]),
            // Inner frames are never dropped.
            ("1:2<1:3", "0:1<1:2<1:3", [0, 0, 0]),
            ("0:2<1:2", "0:1<1:2", [0, 0, 0]),
        ] {
            let fit = fit_of(has, asked);
            let section = &fit.sections[0];
            assert_eq!([section.exact_sites, section.partial_sites, section.leaf_sites], found, "{has} for {asked}");
        }
    }

    #[test]
    fn a_context_counts_once_and_its_events_all() {
        let fit = fit_of("0:1 0:1 1:1", "0:1 0:1");
        let section = &fit.sections[0];
        assert_eq!((section.entries, section.events, section.sites, section.exact_sites), (2, 3, 1, 1));
    }
}
