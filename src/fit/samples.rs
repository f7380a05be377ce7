//! Sample profiles against a new build.
//!
//! A compiler finds functions by name, see [`profile_name`]. With pseudo-probes it drops functions whose checksum
//! differs; LLVM 17 and later match their samples to the new code by its calls. Without, it uses samples line by line, so
//! lines after a function's end show that the function was edited. Inlined functions are found through their callers.

use super::names::{RemappingFile, canonical, similarity, write_remapping};
use super::report::{Class, FitReport, Head, ProgramClass, Pruned, Row, summarize};
use crate::digits::number_of;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{NameRef, Release, name_ref};
use crate::sampleprof::{FunctionName, FunctionRecord, NameId, SampleProfile};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A sample profile compared with a new build.
#[derive(Debug)]
#[non_exhaustive]
pub struct SamplesFit {
    /// The profile.
    pub profile: SampleProfile,
    /// The new build.
    pub program: SampledProgram,
    description: String,
    verdicts: HashMap<NameId, Verdict>,
    /// Whether the compiler uses a part of the samples of changed functions.
    uses_changed: bool,
}

/// The status of a function.
#[derive(Debug, Clone)]
struct Verdict {
    class: Class,
    /// Its name in the new build.
    now: Option<Vec<u8>>,
    detail: Option<String>,
}

/// The profile data of a function, including all its inlined copies.
#[derive(Debug, Default)]
struct Seen {
    checksums: BTreeSet<u64>,
    lines: BTreeSet<u32>,
    /// Whether it has samples of its own, and not only as an inlined callee.
    is_outer: bool,
}

/// Names less alike than this are of different functions.
const LEAST_SIMILARITY: f64 = 0.5;
/// Pairs of one checksum that are compared.
const MOST_PAIRS: usize = 1 << 20;

/// Compares a sample profile with a new build. `description` describes the profile. With `keeps_unique`, names keep the
/// suffixes of `-funique-internal-linkage-names`. `release` is that of the compiler; `None` is the newest.
///
/// # Errors
///
/// Nothing to compare if the profile has no functions, or none in common with the program.
pub(crate) fn compare_samples(
    profile: SampleProfile,
    keeps_unique: bool,
    description: String,
    program: SampledProgram,
    release: Option<Release>,
) -> Result<SamplesFit> {
    let mut seen = BTreeMap::new();
    let has_probes = profile.kind().probe_based;
    profile.functions.iter().for_each(|record| look_at_outer(record, &mut seen));
    if seen.is_empty() {
        let detail = "the profile has no functions".to_string();
        return Err(Error::new(ErrorKind::UnableToCompare { detail }).with_hint("record a longer run"));
    }
    let mut verdicts = HashMap::new();
    let names = ProgramNames::new(&program, keeps_unique);
    let profiled: HashSet<NameRef> = seen.keys().map(|id| profile.name(*id).hash()).collect();
    for (id, seen) in &seen {
        let name = profile.name(*id);
        let moved = || match name {
            // A function with samples of its own is another one.
            FunctionName::Text(text) => {
                names.moved(text).filter(|now| !profiled.contains(&name_ref(profile_name(now, keeps_unique))))
            }
            FunctionName::Hash(_) => None,
        };
        let verdict = match (names.by_hash.get(&name.hash()), program.find_hashed(name.hash())) {
            (Some((now, function)), _) => verdict(name, seen, now, *function, has_probes, &program),
            (None, Some((now, _))) if !keeps_unique && unique_at(now).is_some() => {
                let (now, detail) = (Some(now.to_vec()), Some(CUT_SUFFIX.to_string()));
                Verdict { class: Class::Unusable, now, detail }
            }
            (None, Some((now, function))) if !seen.is_outer => verdict(name, seen, now, function, has_probes, &program),
            (None, Some(_)) => Verdict { class: Class::Unusable, now: None, detail: Some(CUT_NAME.to_string()) },
            (None, None) if program.short_names.contains(&name.hash()) => {
                Verdict { class: Class::Unusable, now: None, detail: Some(SHORT_NAME.to_string()) }
            }
            (None, None) => match moved() {
                Some(now) => {
                    let checksum = program.functions.get(now).and_then(|function| function.checksum);
                    let is_edited = has_probes
                        && !seen.checksums.is_empty()
                        && checksum.is_some_and(|checksum| !seen.checksums.contains(&checksum));
                    let class = if is_edited { Class::Changed } else { Class::Moved };
                    let detail = is_edited.then(|| MOVED_AND_EDITED.to_string());
                    Verdict { class, now: Some(now.to_vec()), detail }
                }
                None => Verdict { class: Class::Gone, now: None, detail: None },
            },
        };
        verdicts.insert(*id, verdict);
    }
    forget_ambiguous_moves(&mut verdicts);
    let uses_changed = has_probes && release.is_none_or(|release| release.0 >= 17);
    let mut fit = SamplesFit { profile, program, description, verdicts, uses_changed };
    fit.guess_renamed(&seen);
    let is_main = |id: &NameId| fit.profile.name(*id).hash() == FunctionName::Text(b"main").hash();
    let mut others = fit.verdicts.iter().filter(|(id, _)| !is_main(id)).peekable();
    if others.peek().is_some() && others.all(|(_, verdict)| verdict.class == Class::Gone) {
        let except = if fit.verdicts.keys().any(&is_main) { ", except main," } else { "" };
        let detail = format!(
            "none of the {} of the profile{except} is among the {} of the new build",
            number_of(fit.verdicts.len(), "function"),
            fit.program.functions.len()
        );
        return Err(Error::new(ErrorKind::UnableToCompare { detail })
            .with_hint("pass the new build of the sampled program or library, before it is stripped"));
    }
    Ok(fit)
}

/// Functions of the profile for which the same function of the program was found are gone: at most one of them moved.
fn forget_ambiguous_moves(verdicts: &mut HashMap<NameId, Verdict>) {
    let has_moved =
        |verdict: &Verdict| verdict.class == Class::Moved || verdict.detail.as_deref() == Some(MOVED_AND_EDITED);
    let mut found: HashMap<Vec<u8>, u32> = HashMap::new();
    let targets = verdicts.values().filter(|verdict| has_moved(verdict)).filter_map(|verdict| verdict.now.clone());
    targets.for_each(|now| *found.entry(now).or_default() += 1);
    for verdict in verdicts.values_mut().filter(|verdict| has_moved(verdict)) {
        if verdict.now.as_ref().is_some_and(|now| found[now] > 1) {
            *verdict = Verdict { class: Class::Gone, now: None, detail: None };
        }
    }
}

fn look_at_outer(record: &FunctionRecord, seen: &mut BTreeMap<NameId, Seen>) {
    look(record, seen);
    if let Some(own) = seen.get_mut(&record.name) {
        own.is_outer |= caller_of(record).is_none();
    }
}

/// Returns the caller in the context of a record.
fn caller_of(record: &FunctionRecord) -> Option<NameId> {
    let (_, callers) = record.context.as_ref()?.split_last()?;
    callers.last().map(|frame| frame.function)
}

fn look(record: &FunctionRecord, seen: &mut BTreeMap<NameId, Seen>) {
    let own = seen.entry(record.name).or_default();
    if record.checksum != 0 {
        own.checksums.insert(record.checksum);
    }
    let places =
        record.body.iter().map(|entry| entry.location).chain(record.call_sites.iter().map(|site| site.location));
    own.lines.extend(places.map(|place| place.line));
    record.call_sites.iter().for_each(|site| look(&site.callee, seen));
}

/// The functions of a program by the names with which the compiler looks for their samples.
struct ProgramNames<'p> {
    by_hash: HashMap<NameRef, (&'p [u8], SampledFunction)>,
    /// The functions by their names without suffixes and marks of local symbols; `None` if several have the name.
    canonical: HashMap<Vec<u8>, Option<&'p [u8]>>,
}

impl<'p> ProgramNames<'p> {
    fn new(program: &'p SampledProgram, keeps_unique: bool) -> Self {
        let mut names = Self { by_hash: HashMap::new(), canonical: HashMap::new() };
        for (hash, name) in &program.by_hash {
            let Some(function) = program.functions.get(name) else { continue };
            let wanted = profile_name(name, keeps_unique);
            let is_text = *hash == name_ref(name);
            let wanted_hash = if is_text { name_ref(wanted) } else { *hash };
            // Of a function and its parts, the function counts.
            let known = names.by_hash.entry(wanted_hash).or_insert((name, *function));
            if (name.len(), name.as_slice()) < (known.0.len(), known.0) {
                *known = (name, *function);
            }
        }
        for name in program.functions.keys() {
            let name = without_parts(name);
            let known = names.canonical.entry(canonical(name)).or_insert(Some(name));
            *known = known.filter(|other| *other == name);
        }
        names
    }

    /// Returns the function that differs only in its file, or in being local.
    fn moved(&self, name: &[u8]) -> Option<&'p [u8]> {
        self.canonical.get(&canonical(without_parts(name))).copied().flatten()
    }
}

/// Returns the name with which LLVM looks for the samples of a function (`FunctionSamples::getCanonicalFnName`). Its
/// attribute `sample-profile-suffix-elision-policy` decides which suffixes LLVM removes. Functions of
/// `-funique-internal-linkage-names` have it; the names of others end at the first dot.
fn profile_name(symbol: &[u8], keeps_unique: bool) -> &[u8] {
    let name = without_parts(symbol);
    match unique_at(name) {
        Some(_) if keeps_unique => name,
        Some(at) => &name[..at],
        None => &name[..memchr::memchr(b'.', name).unwrap_or(name.len())],
    }
}

/// Returns the position of the suffix of `-funique-internal-linkage-names`.
fn unique_at(name: &[u8]) -> Option<usize> {
    memchr::memmem::rfind(name, b".__uniq.")
}

/// A name without the suffixes of parts of functions.
fn without_parts(name: &[u8]) -> &[u8] {
    let marks: [&[u8]; 4] = [b".llvm.", b".part.", b".cold", b".isra."];
    let cut = marks.iter().filter_map(|mark| memchr::memmem::find(name, mark)).min();
    cut.filter(|at| *at > 0).map_or(name, |at| &name[..at])
}

/// Why a compiler does not find the samples of a function whose name has a dot.
const CUT_NAME: &str = "the compiler looks for the name up to its first dot";
/// Why a compiler does not find the samples of a function of `-funique-internal-linkage-names`, also inlined ones.
const CUT_SUFFIX: &str = "the compiler looks for the name without its unique suffix";
/// Why a compiler does not find the samples of a function of a program with `-g1`.
const SHORT_NAME: &str = "the compiler looks for the mangled name, which debug info of -g1 lacks";
/// Why samples of a function that is in another file now are lost, although a remapping gives them its name.
const MOVED_AND_EDITED: &str = "in another file, with another checksum";
/// Why a compiler does not reach the samples of a function.
const LOST_CALLERS: &str = "inlined only into functions that are lost";
/// Why a compiler cannot use the samples of a function.
const NO_LINES: &str = "no line table in the new build";
/// Why the lines of a function cannot be compared.
const NO_FIRST_LINE: &str = "no line of the declaration in the new build";

fn verdict(
    name: FunctionName<'_>,
    seen: &Seen,
    now: &[u8],
    function: SampledFunction,
    has_probes: bool,
    program: &SampledProgram,
) -> Verdict {
    let places = program.places;
    let is_same_name = name.hash() == FunctionName::Text(now).hash();
    let now = (!is_same_name).then(|| now.to_vec());
    let unusable =
        |detail: &str| Verdict { class: Class::Unusable, now: now.clone(), detail: Some(detail.to_string()) };
    if has_probes {
        let Some(checksum) = function.checksum else {
            if places.are_of_program {
                return unusable("no probes in the new build");
            }
            return Verdict { class: Class::NotCompared, now, detail: Some("no probes in the new build".to_string()) };
        };
        let differs = !seen.checksums.is_empty() && !seen.checksums.contains(&checksum);
        let class = if differs { Class::Changed } else { Class::Used };
        return Verdict { class, now, detail: differs.then(|| "another checksum".to_string()) };
    }
    if places.needs_lines && !function.has_lines {
        return unusable(NO_LINES);
    }
    if program.lacks_first_lines && !function.has_first_line {
        return Verdict { class: Class::NotCompared, now, detail: Some(NO_FIRST_LINE.to_string()) };
    }
    let after_end = function.last_line.and_then(|last| {
        let lines = seen.lines.iter().rev().find(|line| **line <= farthest(last))?;
        (*lines > last.max(function.line_at_bounds))
            .then(|| format!("samples at line {lines}, after the last line, {last}"))
    });
    let class = if after_end.is_some() { Class::Changed } else { Class::Used };
    Verdict { class, now, detail: after_end }
}

/// Returns the farthest line that shows that a function with this last line was longer. Lines far after it are those of
/// other functions, which tools find at the bounds of inlined code, and lines in front of the declaration, which wrap
/// around in 16 bits. Compilers do not use samples there in any build.
fn farthest(last: u32) -> u32 {
    last.saturating_mul(2).saturating_add(100).min(0x7fff)
}

impl SamplesFit {
    /// Functions with the same checksum under a similar name.
    fn guess_renamed(&mut self, seen: &BTreeMap<NameId, Seen>) {
        let used: HashSet<u64> = seen.keys().map(|id| self.profile.name(*id).hash()).collect();
        let mut free: HashMap<u64, Vec<&[u8]>> = HashMap::new();
        for (name, function) in &self.program.functions {
            if let Some(checksum) = function.checksum.filter(|_| !used.contains(&FunctionName::Text(name).hash())) {
                free.entry(checksum).or_default().push(name);
            }
        }
        let mut pairs = Vec::new();
        for (id, seen) in seen.iter().filter(|(id, _)| self.verdicts[id].class == Class::Gone) {
            let FunctionName::Text(old) = self.profile.name(*id) else { continue };
            for new in seen.checksums.iter().filter_map(|checksum| free.get(checksum)).flatten() {
                let likeness = similarity(&canonical(old), &canonical(new));
                if likeness >= LEAST_SIMILARITY && pairs.len() < MOST_PAIRS {
                    pairs.push((likeness, *id, new.to_vec()));
                }
            }
        }
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then_with(|| a.2.cmp(&b.2)));
        let mut taken = HashSet::new();
        for (_, id, new) in pairs {
            if self.verdicts[&id].class == Class::Gone && taken.insert(new.clone()) {
                self.verdicts.insert(id, Verdict { class: Class::Renamed, now: Some(new), detail: None });
            }
        }
    }

    /// The comparison as a report; `topn` is the length of its lists.
    pub fn report(&self, topn: usize) -> FitReport {
        let counts = self.counts();
        let ids: BTreeSet<NameId> = self.verdicts.keys().copied().collect();
        let rows = ids.into_iter().map(|id| {
            let Verdict { mut class, now, mut detail } = self.verdicts[&id].clone();
            let count = counts.get(&id).copied();
            if count.is_none() && !class.is_lost() {
                (class, detail) = (Class::Unusable, Some(LOST_CALLERS.to_string()));
            }
            Row { name: self.profile.name(id).to_bytes(), class, count: count.unwrap_or(0), now, detail }
        });
        let head = Head {
            family: "sampleprof",
            counted: "samples",
            profile_is: self.description.clone(),
            program_is: self.program_words(),
        };
        let program = self.program_classes(&counts);
        let listed: Vec<_> = program.iter().map(|(class, name)| (*class, Some(*name))).collect();
        let mut report = summarize(head, rows.collect(), &listed, topn);
        report.notes.extend(self.notes());
        report
    }

    fn program_words(&self) -> String {
        let built = self.program.release.map(|release| format!(", built by LLVM {}", release.0)).unwrap_or_default();
        format!("{}, {}{built}", self.program.source, number_of(self.program.functions.len(), "function"))
    }

    /// Returns the samples of each function. Functions that are only inlined into lost ones are missing.
    fn counts(&self) -> BTreeMap<NameId, u128> {
        let mut counts = BTreeMap::new();
        for record in &self.profile.functions {
            self.count(record, caller_of(record), None, &mut counts);
        }
        counts
    }

    /// Adds the samples in a function's own body to it, or to the function around it through which the compiler does not
    /// reach it any more. Inlined copies that the compiler finds only as such belong to their caller.
    fn count(
        &self,
        record: &FunctionRecord,
        caller: Option<NameId>,
        lost: Option<NameId>,
        counts: &mut BTreeMap<NameId, u128>,
    ) {
        let verdict = self.verdicts.get(&record.name);
        let is_cut = verdict.is_some_and(|verdict| verdict.detail.as_deref() == Some(CUT_NAME));
        let belongs_to = if is_cut { caller.unwrap_or(record.name) } else { record.name };
        let is_lost = !(is_cut && caller.is_some()) && verdict.is_some_and(|verdict| verdict.class.is_lost());
        let lost = lost.or(is_lost.then_some(record.name));
        *counts.entry(lost.unwrap_or(belongs_to)).or_default() += u128::from(record.own_samples());
        record.call_sites.iter().for_each(|site| self.count(&site.callee, Some(belongs_to), lost, counts));
    }

    fn program_classes(&self, counts: &BTreeMap<NameId, u128>) -> Vec<(ProgramClass, &[u8])> {
        let mut classes: HashMap<u64, ProgramClass> = HashMap::new();
        for (id, verdict) in &self.verdicts {
            let class = match verdict.class {
                Class::Used | Class::NotCompared if !counts.contains_key(id) => continue,
                Class::Used | Class::NotCompared => ProgramClass::Used,
                Class::Changed => ProgramClass::Changed,
                Class::Renamed => ProgramClass::Renamed,
                Class::Moved => ProgramClass::Moved,
                Class::OtherRelease => ProgramClass::OtherRelease,
                Class::Gone | Class::Unusable => continue,
            };
            let name = self.profile.name(*id);
            let hash = verdict.now.as_ref().map_or(name.hash(), |now| FunctionName::Text(now).hash());
            let known = classes.entry(hash).or_insert(class);
            *known = (*known).min(class);
        }
        let class = |name: &[u8]| classes.get(&FunctionName::Text(name).hash()).copied();
        let all = self.program.functions.keys();
        all.map(|name| (class(name).unwrap_or(ProgramClass::Unprofiled), name.as_slice())).collect()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let has_lines = self.program.functions.values().any(|function| function.last_line.is_some());
        let has_probes = self.profile.kind().probe_based;
        let is_there = |detail: &str| self.verdicts.values().any(|verdict| verdict.detail.as_deref() == Some(detail));
        if has_probes && !self.program.has_checksums && self.program.places.are_of_program {
            notes.push(
                "the compiler ignores the profile: it has pseudo-probes and the new build has none; build it with \
                 -fpseudo-probe-for-profiling"
                    .to_string(),
            );
        } else if has_probes && !self.program.has_checksums {
            notes.push("the new build has no checksums of probes, so changed functions do not show".to_string());
        } else if !has_probes && is_there(NO_LINES) {
            notes.push(
                "the compiler ignores samples of functions without a line table: build with debug info \
                 (rustc -C debuginfo=1, clang -gline-tables-only)"
                    .to_string(),
            );
        } else if is_there(NO_FIRST_LINE) {
            notes.push(
                "debug info of the new build has functions without the line of their declaration, so lines are not \
                 compared: build with -g, or add -fdebug-info-for-profiling of clang; a profile of such a build has wrong \
                 lines"
                    .to_string(),
            );
        } else if !has_probes && !has_lines {
            notes.push(
                "only names are compared; build with debug info (-g) to find samples after the end of a function"
                    .to_string(),
            );
        } else if !has_probes {
            notes.push(
                "without probes, only edits that make functions shorter are found; samples at moved lines are still used"
                    .to_string(),
            );
        }
        if self.uses_changed && self.verdicts.values().any(|verdict| verdict.class == Class::Changed) {
            notes.push(
                "the compiler uses a part of the samples of changed functions: LLVM 17 and later match them to the new \
                 code by its calls"
                    .to_string(),
            );
        }
        if is_there(CUT_NAME) {
            notes.push(
                "the compiler ignores the samples of functions with dots in their names, unless it inlines them; rustc \
                 makes names without dots with -C symbol-mangling-version=v0"
                    .to_string(),
            );
        }
        if is_there(CUT_SUFFIX) {
            notes.push(
                "the compiler ignores functions of -funique-internal-linkage-names, because the profile does not say that it \
                 has their names: LLVM 17 and later need names instead of hashes"
                    .to_string(),
            );
        }
        if self.verdicts.values().any(|verdict| verdict.class == Class::Gone) {
            notes.push(
                "functions that are always inlined in the new build, and have no debug info, count as gone".to_string(),
            );
        }
        notes
    }

    /// A remapping file for functions that were renamed.
    pub fn remapping(&self) -> RemappingFile {
        let renamed =
            self.verdicts.iter().filter(|(_, verdict)| matches!(verdict.class, Class::Renamed | Class::Moved));
        let names = renamed.filter_map(|(id, verdict)| {
            Some((self.profile.name(*id).to_bytes(), (without_parts(verdict.now.as_deref()?).to_vec(), verdict.class)))
        });
        write_remapping(&names.collect())
    }

    /// The profile without functions of which the new build uses nothing, inlined
    /// ones included. With `keep_renamed`, those stay that a
    /// [remapping](Self::remapping) gives their new names.
    pub fn pruned(&self, keep_renamed: bool) -> (SampleProfile, Pruned) {
        let is_moved = |id: &NameId| self.verdicts[id].detail.as_deref() == Some(MOVED_AND_EDITED);
        let stays = |id: NameId| match self.verdicts.get(&id).map(|verdict| verdict.class) {
            Some(Class::Changed) => self.uses_changed && !is_moved(&id),
            Some(Class::Gone | Class::Unusable) => false,
            Some(Class::Renamed | Class::Moved) => keep_renamed,
            _ => true,
        };
        let mut copy = self.profile.clone();
        let mut pruned = Pruned::default();
        copy.functions.retain(|record| {
            let callers = record.context.iter().flat_map(|frames| frames.iter()).map(|frame| frame.function);
            let keeps = stays(record.name) && callers.into_iter().all(stays);
            pruned.records += u64::from(!keeps);
            keeps
        });
        for record in &mut copy.functions {
            prune_inlined(record, &stays, &mut pruned);
            self.prune_targets(record, &mut pruned);
        }
        (copy, pruned)
    }

    /// Leaves out call targets that the new build no longer has. Targets without samples of their own may be functions of
    /// libraries.
    fn prune_targets(&self, record: &mut FunctionRecord, pruned: &mut Pruned) {
        let is_gone = |id: &NameId| self.verdicts.get(id).is_some_and(|verdict| verdict.class == Class::Gone);
        for entry in &mut record.body {
            if entry.targets.iter().any(|target| is_gone(&target.callee)) {
                let (before, mut targets) = (entry.targets.len(), std::mem::take(&mut entry.targets).into_list());
                targets.retain(|target| !is_gone(&target.callee));
                pruned.values += (before - targets.len()) as u64;
                entry.targets = targets.into();
            }
        }
        record.call_sites.iter_mut().for_each(|site| self.prune_targets(&mut site.callee, pruned));
    }
}

/// Leaves inlined callees out; their samples leave the total with them.
fn prune_inlined(record: &mut FunctionRecord, stays: &dyn Fn(NameId) -> bool, pruned: &mut Pruned) {
    let before: u64 = record.call_sites.iter().map(|site| site.callee.total).fold(0, u64::saturating_add);
    record.call_sites.retain(|site| {
        let keeps = stays(site.callee.name);
        pruned.records += u64::from(!keeps);
        keeps
    });
    for site in &mut record.call_sites {
        prune_inlined(&mut site.callee, stays, pruned);
    }
    let after: u64 = record.call_sites.iter().map(|site| site.callee.total).fold(0, u64::saturating_add);
    record.total = record.total.saturating_sub(before.saturating_sub(after));
}

/// A sample profile of the new build as a list of its functions.
pub(crate) fn program_of_samples(profile: &SampleProfile) -> SampledProgram {
    let mut seen = BTreeMap::new();
    profile.functions.iter().for_each(|record| look(record, &mut seen));
    let row = |(id, seen): (NameId, Seen)| {
        let checksum = seen.checksums.first().copied();
        (profile.name(id).to_bytes(), SampledFunction { checksum, ..SampledFunction::default() })
    };
    let functions: BTreeMap<Vec<u8>, SampledFunction> = seen.into_iter().map(row).collect();
    let mut program = SampledProgram::new("sample profile of the new build".to_string(), functions);
    for name in profile.names.iter().filter(|name| matches!(name, FunctionName::Hash(_))) {
        program.set_hash(&name.to_bytes(), name.hash());
    }
    program.has_checksums = program.functions.values().any(|function| function.checksum.is_some());
    program
}

/// The known data about a function of the new build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SampledFunction {
    /// Checksum of its control flow, if it has pseudo-probes.
    pub checksum: Option<u64>,
    /// Its largest line, counted from its declaration, where debug info tells.
    pub last_line: Option<u32>,
    /// The largest line of rows in which it begins or ends.
    pub(super) line_at_bounds: u32,
    /// Whether a line table covers it.
    pub has_lines: bool,
    /// Whether debug info has the line of its declaration, from which profiles count lines.
    pub(super) has_first_line: bool,
}

/// The data that a compiler needs to match samples with the new build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Places {
    /// The functions are those of a program, which shows its pseudo-probes.
    pub(super) are_of_program: bool,
    /// Whether functions without a line table cannot use samples by line. False if line tables are in another file, and
    /// if the compiler creates its own, as clang does when it reads a sample profile.
    pub(super) needs_lines: bool,
}

/// The functions of a new build by name.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SampledProgram {
    /// Description of the source.
    pub source: String,
    /// The functions by name.
    pub functions: BTreeMap<Vec<u8>, SampledFunction>,
    /// Whether functions with probes have their checksums.
    pub has_checksums: bool,
    /// The LLVM release that built it, if the program has it.
    pub release: Option<Release>,
    pub(super) places: Places,
    /// Hashes of names without classes and parameters, which debug info has in place of mangled ones.
    pub(super) short_names: HashSet<NameRef>,
    /// Whether debug info has functions without the line of their declaration.
    pub(super) lacks_first_lines: bool,
    by_hash: HashMap<NameRef, Vec<u8>>,
}

impl SampledProgram {
    /// A program with these functions.
    pub fn new(source: String, functions: BTreeMap<Vec<u8>, SampledFunction>) -> Self {
        let by_hash = functions.keys().map(|name| (name_ref(name), name.clone())).collect();
        let (places, short_names) = (Places::default(), HashSet::new());
        let lacks_first_lines = false;
        Self { source, functions, has_checksums: false, release: None, places, short_names, lacks_first_lines, by_hash }
    }

    /// Sets the hash of a name, because profiles may contain only hashes.
    pub(crate) fn set_hash(&mut self, name: &[u8], hash: NameRef) {
        self.by_hash.insert(hash, name.to_vec());
    }

    /// The function whose name has that hash.
    pub fn find_hashed(&self, hash: NameRef) -> Option<(&[u8], SampledFunction)> {
        let name = self.by_hash.get(&hash)?;
        self.functions.get(name).map(|function| (name.as_slice(), *function))
    }
}
