//! Comparing two files of whatever formats.

use super::diff_samples::{are_samples, diff_samples};
use super::diff_stacks::{are_stacks, diff_stacks};
use super::file_diff::FileDiff;
use super::memory;
use super::merge::{InputOutcome, MergeOptions, Silent, merge_files};
use super::mixed::Family;
use super::open::{ReadOptions, open_reader};
use super::samples::StackOptions;
use crate::bridge::{self, ToIprofOptions};
use crate::compat::Compat;
use crate::error::{Error, ErrorKind, Result};
use crate::input::{self, Access, WeightedInput};
use crate::instr::{NameRef, Profile, ProfileReader, RecordRef, ValueKind};
use crate::iprof::compare::{CommonSpace, Events};
use crate::iprof::fit;
use crate::iprof::statistics::ChainsBy;
use crate::iprof::{self, ContextHandle, MethodHandle, SectionKind};
use crate::limits::Limits;
use crate::memprof::{self, MemoryProfile};
use crate::report::diff::{DiffOptions, DiffReport, Facts, Names, diff};
use crate::stacks::model::Selection;
use std::collections::HashMap;
use std::path::Path;

/// Compares two profiles, iprof, LLVM (counted or sampled) or sampled stacks; `-` is standard input. Where only one
/// is LLVM's, it is compared as the iprof that the bridge makes of it.
///
/// # Errors
///
/// Those of the readers, with the path; usage when standard input should be both.
pub fn diff_files(first: &Path, second: &Path, options: &DiffOptions) -> Result<FileDiff> {
    if first == second && first.as_os_str() == "-" {
        return Err(Error::usage("standard input cannot be both profiles").with_hint("name a file for one of them"));
    }
    if are_stacks(first, second)? {
        let read = StackOptions { limits: options.limits, ..StackOptions::default() };
        return Ok(diff_stacks(first, second, &read, &Selection::default(), options)?.0);
    }
    if are_samples(first, second)? {
        return Ok(FileDiff { report: diff_samples(first, second, options)?, fit: None });
    }
    if Family::of_input(first)? == Family::Llvm && Family::of_input(second)? == Family::Llvm {
        return Ok(FileDiff { report: diff_llvm(first, second, options)?, fit: None });
    }
    diff_iprof(first, second, options)
}

/// Compares two profiles as iprof, of which one may be LLVM's.
fn diff_iprof(first: &Path, second: &Path, options: &DiffOptions) -> Result<FileDiff> {
    let mut space = CommonSpace::default();
    let read = iprof::ReadOptions { limits: options.limits, ..iprof::ReadOptions::default() };
    let mut events = |path: &Path| {
        Ok::<_, Error>(if Family::of_input(path)? == Family::Iprof {
            space.read_from(input::open_stream(path)?.stream, &read).map_err(|error| error.in_file(path))?
        } else {
            let profile = read_profile(path, &options.limits)?;
            space.add(&bridge::to_iprof(&profile, &ToIprofOptions::default())?.0)
        })
    };
    let (first, second) = (events(first)?, events(second)?);
    let fit = fit::fit(&space, &first, &second);
    let by = basis(&first, &second);
    let [first, second] = [first, second].map(|events| iprof_facts(&events, by));
    let report = diff(first, second, &IprofNames(&space), &iprof_options(options, by));
    Ok(FileDiff { report, fit: Some(fit) })
}

/// What methods are compared by: calls, unless only samples are in both. Samples are no calls.
fn basis(first: &Events, second: &Events) -> ChainsBy {
    let calls = [first, second].map(Events::has_calls);
    let samples = [first, second].map(Events::has_samples);
    match (calls, samples) {
        ([true, true], _) => ChainsBy::Calls,
        (_, [true, true]) | ([false, false], _) => ChainsBy::Samples,
        _ => ChainsBy::Calls,
    }
}

fn iprof_options(options: &DiffOptions, by: ChainsBy) -> DiffOptions {
    let mut options = options.clone();
    options.functions_by = if by == ChainsBy::Calls { "calls" } else { "samples" };
    options.branches = vec![SectionKind::Conditional.name()];
    options.receivers = vec![SectionKind::VirtualInvoke.name(), SectionKind::Instanceof.name()];
    options
}

/// A whole LLVM profile.
fn read_profile(path: &Path, limits: &Limits) -> Result<Profile> {
    let mut options = MergeOptions::default();
    options.read.limits = *limits;
    options.keep_vtable_names = true;
    let mut report = merge_files(&[WeightedInput::new(path)], &options, &mut Silent)?;
    for input in &mut report.inputs {
        match std::mem::replace(&mut input.outcome, InputOutcome::Used) {
            InputOutcome::Failed(error) => return Err(error),
            InputOutcome::Empty => return Err(Error::new(ErrorKind::EmptyProfile).in_file(path)),
            InputOutcome::Used | InputOutcome::NotAProfile => {}
        }
    }
    Ok(report.profile)
}

fn iprof_facts(events: &Events, by: ChainsBy) -> Facts {
    let section = |kind: SectionKind| {
        let keyed = events.section(kind).iter();
        (kind.name(), keyed.map(|(key, count)| ((u64::from(key.context.number()), key.detail), *count)).collect())
    };
    Facts {
        sections: SectionKind::ALL.map(section).into(),
        functions: events.methods(by).map(|(method, count)| (method.index() as u64, count)).collect(),
    }
}

struct IprofNames<'s>(&'s CommonSpace);

impl Names for IprofNames<'_> {
    fn function(&self, function: u64) -> String {
        u32::try_from(function)
            .map_or_else(|_| String::new(), |number| self.0.method(MethodHandle::from_number(number)))
    }

    fn site(&self, _: &str, site: u64) -> String {
        u32::try_from(site).map_or_else(|_| String::new(), |number| self.0.site(ContextHandle::from_number(number)))
    }

    fn part(&self, section: &str, part: i64) -> String {
        match SectionKind::ALL.into_iter().find(|kind| kind.name() == section) {
            Some(kind) => self.0.detail(kind, part),
            None => part.to_string(),
        }
    }
}

/// Names of LLVM functions and sites, numbered across both files.
#[derive(Debug, Default)]
struct LlvmSpace {
    functions: HashMap<Vec<u8>, u64>,
    names: Vec<Vec<u8>>,
    sites: HashMap<(u64, u64, usize), u64>,
    site_names: Vec<(u64, usize)>,
    values: HashMap<NameRef, Vec<u8>>,
    /// Call stacks of allocations.
    stacks: HashMap<String, u64>,
    stack_names: Vec<String>,
}

const COUNTERS: &str = "counters";
/// Bytes of all allocations, by call stack.
const MEMORY_BYTES: &str = "memory bytes";
/// Number of allocations, by call stack.
const ALLOCATIONS: &str = "allocations";

impl LlvmSpace {
    fn function(&mut self, name: &[u8]) -> u64 {
        if let Some(known) = self.functions.get(name) {
            return *known;
        }
        let number = self.names.len() as u64;
        self.functions.insert(name.to_vec(), number);
        self.names.push(name.to_vec());
        number
    }

    /// A record of a function (by its hash), or a value site in it.
    fn site(&mut self, function: u64, hash: u64, place: usize) -> u64 {
        let next = self.site_names.len() as u64;
        let number = *self.sites.entry((function, hash, place)).or_insert(next);
        if number == next {
            self.site_names.push((function, place));
        }
        number
    }

    /// Adds what a memory profile says of call stacks.
    fn memory(&mut self, profile: &MemoryProfile, facts: &mut Facts) {
        for (stack, site) in memprof::report::contexts(profile) {
            let frames = profile.stacks.frames_of(stack).map(|frame| {
                let function = memprof::report::function_name(profile, frame.function);
                format!("{function} +{}:{}", frame.line_offset, frame.column)
            });
            let name = frames.collect::<Vec<_>>().join(" < ");
            let next = self.stack_names.len() as u64;
            let number = *self.stacks.entry(name.clone()).or_insert(next);
            if number == next {
                self.stack_names.push(name);
            }
            for (section, events) in [(MEMORY_BYTES, site.info.total_size()), (ALLOCATIONS, site.info.alloc_count())] {
                facts.sections.entry(section).or_default().push(((number, 0), u128::from(events)));
            }
        }
    }

    fn read(&mut self, reader: &mut dyn ProfileReader) -> Result<Facts> {
        let mut facts = Facts::default();
        while let Some(record) = reader.next_record()? {
            self.record(record, &mut facts);
        }
        let symbols = reader.symbols()?;
        let targets = facts.sections.iter().filter(|(section, _)| is_named(section));
        for value in targets.flat_map(|(_, events)| events.iter().map(|((_, value), _)| value.cast_unsigned())) {
            if let Some(name) = symbols.name(value) {
                self.values.entry(value).or_insert_with(|| name.to_vec());
            }
        }
        Ok(facts)
    }

    fn record(&mut self, read: RecordRef<'_>, facts: &mut Facts) {
        let function = self.function(read.name);
        let hash = read.record.func_hash;
        if read.record.pseudo_count().is_none() {
            let site = self.site(function, hash, 0);
            let counters = facts.sections.entry(COUNTERS).or_default();
            counters.extend((0..).zip(read.record.counters).map(|(at, count)| ((site, at), u128::from(*count))));
            let events = read.record.counters.iter().map(|count| u128::from(*count)).sum();
            facts.functions.push((function, events));
        }
        for kind in ValueKind::ALL {
            for (at, values) in read.record.sites(kind).iter().enumerate() {
                // Places of kinds interleave, so that each has numbers of its own; 0 is the record.
                let site = self.site(function, hash, 1 + at * ValueKind::COUNT + kind as usize);
                let section = facts.sections.entry(kind.label()).or_default();
                section.extend(values.iter().map(|v| ((site, v.value.cast_signed()), u128::from(v.count))));
            }
        }
    }
}

/// Whether a section's values are hashes of names.
fn is_named(section: &str) -> bool {
    ValueKind::ALL.iter().any(|kind| kind.is_name() && kind.label() == section)
}

impl Names for LlvmSpace {
    fn function(&self, function: u64) -> String {
        let name = usize::try_from(function).ok().and_then(|at| self.names.get(at));
        name.map(|name| String::from_utf8_lossy(name).into_owned()).unwrap_or_default()
    }

    fn site(&self, section: &str, site: u64) -> String {
        if [MEMORY_BYTES, ALLOCATIONS].contains(&section) {
            let name = usize::try_from(site).ok().and_then(|at| self.stack_names.get(at));
            return name.cloned().unwrap_or_default();
        }
        match usize::try_from(site).ok().and_then(|at| self.site_names.get(at)) {
            Some((function, 0)) => Names::function(self, *function),
            Some((function, place)) => {
                format!("{} site {}", Names::function(self, *function), (place - 1) / ValueKind::COUNT)
            }
            None => String::new(),
        }
    }

    fn part(&self, section: &str, part: i64) -> String {
        let value = part.cast_unsigned();
        match self.values.get(&value) {
            Some(name) if is_named(section) => String::from_utf8_lossy(name).into_owned(),
            _ if is_named(section) => format!("{value:#018x}"),
            _ => value.to_string(),
        }
    }
}

fn diff_llvm(first: &Path, second: &Path, options: &DiffOptions) -> Result<DiffReport> {
    let mut space = LlvmSpace::default();
    let read = ReadOptions { limits: options.limits, ..ReadOptions::new(Compat::Profbridge) };
    let mut facts = |path: &Path| {
        let bytes = input::open(path, Access::Read, &options.limits)?;
        let read = &read;
        let mut read_both = || {
            let is_memory = memory::is_memory_profile(&bytes, read.compat);
            let mut facts = if is_memory { Facts::default() } else { space.read(&mut *open_reader(&bytes, read)?)? };
            if is_memory || memory::verify(&bytes, read)?.is_some() {
                space.memory(&memory::load_bytes(&bytes, read)?, &mut facts);
            }
            Ok(facts)
        };
        read_both().map_err(|error: Error| error.in_file(path))
    };
    let (first, second) = (facts(first)?, facts(second)?);
    let mut options = options.clone();
    options.functions_by = COUNTERS;
    options.receivers = vec![ValueKind::IndirectCallTarget.label(), ValueKind::VTableTarget.label()];
    Ok(diff(first, second, &space, &options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff_texts(name: &str, first: &str, second: &str) -> Result<DiffReport> {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = [first, second].map(|text| {
            let path = folder.path().join(format!("{}-{name}", text.len()));
            std::fs::write(&path, text).unwrap();
            path
        });
        diff_files(&a, &b, &DiffOptions::default()).map(|found| found.report)
    }

    #[test]
    fn llvm_profiles_are_compared_by_name_and_hash() {
        let a = "main\n1\n2\n10\n30\n1\n0\n1\n2\nfoo:9\nbar:1\n\nold\n1\n1\n60\n";
        let b = "main\n1\n2\n10\n30\n1\n0\n1\n2\nfoo:1\nbar:99\n\nnewer\n1\n1\n60\n";
        let report = diff_texts("a.proftext", a, b).unwrap();
        let overlaps: Vec<_> = report.sections.iter().map(|section| (section.section, section.overlap)).collect();
        assert_eq!(overlaps[1].0, "counters");
        assert!((overlaps[1].1 - 0.4).abs() < 1e-12, "{overlaps:?}");
        let change = &report.changed_receivers.sites[0];
        assert_eq!(
            (change.site.as_str(), change.first.as_str(), change.second.as_str()),
            ("main site 0", "foo", "bar")
        );
        assert_eq!(
            (report.new_functions.functions, report.lost_functions.functions),
            (vec!["newer".into()], vec!["old".into()])
        );
    }

    #[test]
    fn iprofs_are_compared_by_identity() {
        let head = r#"{"version":"1.0.0","types":[{"id":0,"name":"A"}],"methods":[{"id":0,"name":"m","signature":[0,0]}],"conditionalProfiles":[{"ctx":"0:3","records":"#;
        let report =
            diff_texts("a.iprof", &format!("{head}[5,0,9,8,1,1]}}]}}"), &format!("{head}[5,0,1,8,1,99]}}]}}")).unwrap();
        let change = &report.flipped_branches.sites[0];
        assert_eq!((change.site.as_str(), change.first.as_str(), change.second.as_str()), ("A.m():3", "5", "8"));
        assert!((report.overlap - 0.11).abs() < 1e-12);
    }

    #[test]
    fn a_profile_overlaps_with_what_the_bridge_made_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let (text, iprof) = (folder.path().join("a.proftext"), folder.path().join("a.iprof"));
        std::fs::write(&text, ":fe\nmain\n1\n1\n30\n\nfoo\n2\n1\n10\n").unwrap();
        let (document, _) =
            bridge::to_iprof(&read_profile(&text, &Limits::default()).unwrap(), &ToIprofOptions::default()).unwrap();
        std::fs::write(&iprof, iprof::write(&document, &iprof::WriteOptions::default())).unwrap();
        let FileDiff { report, fit } = diff_files(&text, &iprof, &DiffOptions::default()).unwrap();
        let fit = fit.unwrap();
        assert_eq!((fit.relevance, fit.applicability.exact), (Some(1.0), Some(1.0)));
        assert_eq!((report.overlap, report.sections[0].common), (1.0, 2));
        assert_eq!(report.sections[0].section, "callCountProfiles");
    }
}
