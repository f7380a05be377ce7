//! iprof files against a new build: methods by class, name and descriptor, and
//! positions by what stands there in the bytecode.

use super::bytecode::CodeSites;
use super::class::{Class, ProgramClass};
use super::java_program::{JavaProgram, MethodBody, MethodKey, for_each_entry};
use super::names::similarity;
use super::report::{FitReport, Head, Pruned, Row, SectionRow, summarize};
use crate::digits::number_of;
use crate::error::{Error, ErrorKind, Result};
use crate::hint::Hint;
use crate::iprof::{Document, Frame, MethodHandle, SectionKind};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// An iprof compared with a new build.
#[derive(Debug)]
#[non_exhaustive]
pub struct MethodsFit {
    /// The profile.
    pub document: Document,
    /// The new build.
    pub program: JavaProgram,
    verdicts: HashMap<MethodHandle, Verdict>,
}

/// What becomes of a method.
#[derive(Debug, Clone)]
struct Verdict {
    class: Class,
    now: Option<MethodKey>,
    /// Its positions where the new build has nothing of the kind.
    misfits: BTreeSet<i32>,
}

/// Positions of a method that the profile has, by what has to stand there.
type Sites = BTreeMap<ExpectedInstruction, BTreeSet<i32>>;

/// What has to stand at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ExpectedInstruction {
    /// Any instruction.
    Instruction,
    Branch,
    Call,
    TypeTest,
}

impl ExpectedInstruction {
    /// At the innermost frame of a section's entries; `None` for what is about
    /// the whole method.
    fn at_leaf(kind: SectionKind) -> Option<Self> {
        match kind {
            SectionKind::Conditional => Some(Self::Branch),
            SectionKind::VirtualInvoke => Some(Self::Call),
            SectionKind::Instanceof => Some(Self::TypeTest),
            SectionKind::Sampling => Some(Self::Instruction),
            _ => None,
        }
    }

    /// At the frames of callers. Samples may have been taken where a class was
    /// loaded or an exception was made.
    fn at_caller(kind: SectionKind) -> Self {
        if kind == SectionKind::Sampling { Self::Instruction } else { Self::Call }
    }

    fn is_at(self, bci: i32, code: &CodeSites) -> bool {
        let Ok(bci) = u16::try_from(bci) else { return false };
        match self {
            Self::Instruction => code.instructions.contains(&bci),
            Self::Branch => code.branches.contains(&bci),
            Self::Call => code.calls.contains(&bci),
            Self::TypeTest => code.type_tests.contains(&bci),
        }
    }
}

/// Names less alike than this are of different methods.
const LEAST_SIMILARITY: f64 = 0.5;

/// Compares an iprof with a new build.
///
/// # Errors
///
/// Nothing to compare when no entry has a method, or none is in the new build.
pub fn compare_methods(document: Document, program: JavaProgram) -> Result<MethodsFit> {
    let seen = sites_of(&document);
    let unable = |detail: String, hint: Hint| Err(Error::new(ErrorKind::UnableToCompare { detail }).with_hint(hint));
    if seen.is_empty() {
        return unable("the profile has no entries".to_string(), Hint::Check);
    }
    let mut verdicts = HashMap::new();
    for (method, sites) in &seen {
        let key = MethodKey::of(&document.tables, *method);
        let verdict = match program.methods.get(&key) {
            Some(body) => {
                let misfits = misfits(sites, body);
                let class = if misfits.is_empty() { Class::Used } else { Class::Changed };
                Verdict { class, now: None, misfits }
            }
            None => Verdict { class: Class::Gone, now: None, misfits: BTreeSet::new() },
        };
        verdicts.insert(*method, verdict);
    }
    if verdicts.values().all(|verdict| verdict.class == Class::Gone) {
        let detail = format!(
            "none of the {} of the profile is among the {} of the new build",
            number_of(verdicts.len(), "method"),
            program.methods.len()
        );
        return unable(detail, "is it another program? give all of its jars in one folder".into());
    }
    let mut fit = MethodsFit { document, program, verdicts };
    fit.find_successors(&seen);
    Ok(fit)
}

/// The positions of every method in the entries, by method in table order.
fn sites_of(document: &Document) -> BTreeMap<MethodHandle, Sites> {
    let mut seen: BTreeMap<MethodHandle, Sites> = BTreeMap::new();
    for_each_entry(document, |kind, frames, _| {
        for (depth, frame) in frames.iter().enumerate() {
            let wanted = if depth == 0 {
                ExpectedInstruction::at_leaf(kind)
            } else {
                Some(ExpectedInstruction::at_caller(kind))
            };
            let sites = seen.entry(frame.method).or_default();
            // Negative positions are placeholders of the compiler.
            if let Some(wanted) = wanted.filter(|_| frame.bci >= 0) {
                sites.entry(wanted).or_default().insert(frame.bci);
            }
        }
    });
    seen
}

/// Positions where the new build has nothing of the kind.
fn misfits(sites: &Sites, body: &MethodBody) -> BTreeSet<i32> {
    let all = || sites.values().flatten().copied();
    match body {
        MethodBody::Code(code) => {
            let missing = |(wanted, bcis): (&ExpectedInstruction, &BTreeSet<i32>)| -> Vec<i32> {
                bcis.iter().filter(|bci| !wanted.is_at(**bci, code)).copied().collect()
            };
            sites.iter().flat_map(missing).collect()
        }
        MethodBody::NoCode => all().filter(|bci| *bci > 0).collect(),
        MethodBody::Profiled(known) => {
            // A run leaves out what did not happen; that either has what the
            // other lacks comes of an edit that moved the bytecode.
            let section = |wanted: ExpectedInstruction| match wanted {
                ExpectedInstruction::Branch => Some(SectionKind::Conditional.name()),
                ExpectedInstruction::Call => Some(SectionKind::VirtualInvoke.name()),
                _ => None,
            };
            let mut misfits = BTreeSet::new();
            for (wanted, own) in sites.iter().filter(|(wanted, _)| **wanted == ExpectedInstruction::Branch) {
                let Some(new) = section(*wanted).and_then(|name| known.get(name)) else { continue };
                if new.iter().any(|bci| !own.contains(bci)) {
                    misfits.extend(own.difference(new));
                }
            }
            misfits
        }
    }
}

impl MethodsFit {
    /// Finds what methods became that are not there: moved with their class, or
    /// renamed.
    fn find_successors(&mut self, seen: &BTreeMap<MethodHandle, Sites>) {
        let tables = &self.document.tables;
        let used: HashSet<MethodKey> = seen.keys().map(|method| MethodKey::of(tables, *method)).collect();
        let mut free: BTreeMap<&[Vec<u8>], Vec<&MethodKey>> = BTreeMap::new();
        for key in self.program.methods.keys().filter(|key| !used.contains(*key)) {
            free.entry(&key.types).or_default().push(key);
        }
        let mut pairs = Vec::new();
        for (method, sites) in seen.iter().filter(|(method, _)| self.verdicts[*method].class == Class::Gone) {
            let own = MethodKey::of(tables, *method);
            for new in free.get(&own.types[..]).into_iter().flatten().take(MOST_COMPARED) {
                let fits = self.program.methods.get(*new).is_some_and(|body| misfits(sites, body).is_empty());
                if let Some((class, likeness)) = successor(&own, new).filter(|_| fits) {
                    pairs.push((class == Class::Renamed, likeness, *method, (*new).clone(), class));
                }
            }
        }
        pairs.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)).then_with(|| a.3.cmp(&b.3)));
        let mut taken = HashSet::new();
        for (_, _, method, new, class) in pairs {
            if self.verdicts[&method].class == Class::Gone && taken.insert(new.clone()) {
                self.verdicts.insert(method, Verdict { class, now: Some(new), misfits: BTreeSet::new() });
            }
        }
    }

    /// The comparison as a report; `topn` is the length of its lists.
    pub fn report(&self, topn: usize) -> FitReport {
        let tables = &self.document.tables;
        let mut counts: BTreeMap<MethodHandle, u128> = self.verdicts.keys().map(|method| (*method, 0)).collect();
        let mut sections: BTreeMap<SectionKind, SectionRow> = BTreeMap::new();
        for_each_entry(&self.document, |kind, frames, events| {
            let empty = SectionRow { section: kind.name(), entries: 0, used_entries: 0, events: 0, used_events: 0 };
            let section = sections.entry(kind).or_insert(empty);
            (section.entries, section.events) = (section.entries + 1, section.events + events);
            let blamed = self.misfit(frames);
            if blamed.is_none() {
                (section.used_entries, section.used_events) = (section.used_entries + 1, section.used_events + events);
            }
            if let Some(method) = blamed.or_else(|| frames.first().map(|frame| frame.method)) {
                *counts.entry(method).or_default() += events;
            }
        });
        let rows = counts.into_iter().map(|(method, count)| {
            let verdict = &self.verdicts[&method];
            Row {
                name: tables.human_name(method).into_bytes(),
                class: verdict.class,
                count,
                now: verdict.now.as_ref().map(MethodKey::human_name),
                detail: detail(&verdict.misfits),
            }
        });
        let head = Head {
            family: "iprof",
            counted: "events",
            profile_is: format!("iprof, {} in entries", number_of(self.verdicts.len(), "method")),
            program_is: format!("{}, {}", self.program.source, number_of(self.program.methods.len(), "method")),
        };
        let program = self.program_classes();
        let listed: Vec<_> = program.iter().map(|(class, name)| (*class, Some(name.as_slice()))).collect();
        let mut report = summarize(head, rows.collect(), &listed, topn);
        report.sections = SectionKind::ALL.into_iter().filter_map(|kind| sections.remove(&kind)).collect();
        report.notes = self.notes();
        report
    }

    /// The innermost method through which an entry does not fit.
    fn misfit(&self, frames: &[Frame]) -> Option<MethodHandle> {
        let fits = |frame: &Frame| match self.verdicts.get(&frame.method) {
            Some(verdict) if verdict.class == Class::Changed => !verdict.misfits.contains(&frame.bci),
            Some(verdict) => verdict.class == Class::Used,
            None => false,
        };
        frames.iter().find(|frame| !fits(frame)).map(|frame| frame.method)
    }

    fn program_classes(&self) -> Vec<(ProgramClass, Vec<u8>)> {
        let tables = &self.document.tables;
        let mut classes: HashMap<MethodKey, ProgramClass> = HashMap::new();
        for (method, verdict) in &self.verdicts {
            let class = match verdict.class {
                Class::Changed => ProgramClass::Changed,
                Class::Renamed => ProgramClass::Renamed,
                Class::Moved => ProgramClass::Moved,
                Class::Gone => continue,
                _ => ProgramClass::Used,
            };
            classes.insert(verdict.now.clone().unwrap_or_else(|| MethodKey::of(tables, *method)), class);
        }
        let class = |key: &MethodKey| classes.get(key).copied().unwrap_or(ProgramClass::Unprofiled);
        self.program.methods.keys().map(|key| (class(key), key.human_name())).collect()
    }

    fn notes(&self) -> Vec<String> {
        let has_code = self.program.methods.values().any(|body| matches!(body, MethodBody::Code(_)));
        let words = if has_code {
            "a method whose bytecode changed and that still branches, calls and tests types at the same positions counts \
             as unchanged; methods of the JDK count as gone unless their classes are given too"
        } else {
            "a run leaves out what did not happen: methods count as changed when both profiles have branches that the \
             other lacks; classes or a jar tell more"
        };
        vec![words.to_string()]
    }

    /// The profile without entries that do not fit the new build.
    pub fn pruned(&self) -> (Document, Pruned) {
        let mut document = self.document.clone();
        let mut pruned = Pruned::default();
        for kind in SectionKind::ALL.into_iter().filter(|kind| *kind != SectionKind::Monitor) {
            document.retain_entries(kind, |_, contexts, context, _| {
                let frames: Vec<Frame> = contexts.frames(context).collect();
                let keeps = self.misfit(&frames).is_none();
                pruned.records += u64::from(!keeps);
                keeps
            });
        }
        document.prune();
        (document, pruned)
    }
}

/// Methods of the same types that a lost one is compared with.
const MOST_COMPARED: usize = 4096;

/// Whether one method may have become another of the same types, and how alike
/// they are.
fn successor(own: &MethodKey, new: &MethodKey) -> Option<(Class, f64)> {
    let simple = |class: &[u8]| class.rsplit(|byte| *byte == b'.').next().unwrap_or_default().to_vec();
    if own.name == new.name && simple(&own.class) == simple(&new.class) {
        return Some((Class::Moved, similarity(&own.class, &new.class)));
    }
    // One of the two has stayed.
    let likeness = match (own.class == new.class, own.name == new.name) {
        (true, false) => similarity(&own.name, &new.name),
        (false, true) => similarity(&own.class, &new.class),
        _ => return None,
    };
    // Every class has constructors, and most have the methods of Object.
    let is_common = own.class != new.class && (own.name.starts_with(b"<") || own.name.len() < 4);
    (likeness >= LEAST_SIMILARITY && !is_common).then_some((Class::Renamed, likeness))
}

fn detail(misfits: &BTreeSet<i32>) -> Option<String> {
    const SHOWN: usize = 4;
    let shown: Vec<String> = misfits.iter().take(SHOWN).map(i32::to_string).collect();
    let more = if misfits.len() > SHOWN { ", …" } else { "" };
    (!misfits.is_empty()).then(|| format!("nothing of the kind at position {}{more}", shown.join(", ")))
}
