//! Report of a memory profile: totals, and allocation sites by size.

use crate::digits::number_of;
use crate::error::Warning;
use crate::memprof::fields::Field;
use crate::memprof::hotness::Hotness;
use crate::memprof::model::{AllocSite, MemoryProfile};
use crate::memprof::model::{Frame, StackHandle};
use foldhash::{HashMap, HashSet};
use std::borrow::Cow;
use std::fmt::{self, Write};

/// The order of allocation sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum SortBy {
    /// Bytes of all allocations, descending.
    #[default]
    Bytes,
    /// Number of allocations, descending.
    Count,
    /// Accesses per byte and second, descending.
    Density,
}

/// Options of the report.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReportOptions {
    /// The length of the list of allocation sites. Default: 10.
    pub topn: usize,
    /// The order of the list.
    pub sort: SortBy,
    /// Show only sites of this class.
    pub only: Option<Hotness>,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self { topn: 10, sort: SortBy::default(), only: None }
    }
}

/// Totals, and the first allocation sites.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct MemoryReport {
    /// Functions with a record.
    pub functions: usize,
    /// Different call stacks of allocations.
    pub contexts: usize,
    /// Those that a compiler takes for cold.
    pub cold_contexts: usize,
    /// Contexts that a compiler with hot hints treats as hot.
    pub hot_contexts: usize,
    /// All allocations.
    pub allocations: u64,
    /// Bytes of all allocations.
    pub bytes: u64,
    /// Bytes of allocations in cold contexts.
    pub cold_bytes: u64,
    /// Bytes of allocations in hot contexts.
    pub hot_bytes: u64,
    /// Records of accesses to static data.
    pub data_records: usize,
    /// The first allocation sites in the requested order.
    pub top: Vec<SiteReport>,
}

/// An allocation site.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SiteReport {
    /// Bytes of all its allocations.
    pub bytes: u64,
    /// The number of its allocations.
    pub allocations: u64,
    /// The average lifetime in milliseconds.
    pub average_lifetime_ms: f64,
    /// Accesses per byte and second, averaged over its allocations.
    pub lifetime_access_density: f64,
    /// `cold`, `notcold` or `hot`.
    pub class: &'static str,
    /// The call stack, innermost frame first.
    pub stack: Vec<FrameReport>,
}

/// A frame of a call stack.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct FrameReport {
    /// The function's name, or its id if the name is unknown.
    pub function: String,
    /// Line offset from the start of the function.
    pub line_offset: u32,
    /// Column, from 1.
    pub column: u32,
    /// Whether the function is inlined into the next frame.
    pub inlined: bool,
}

/// Returns warnings about functions whose names are not known, and about those whose lines are wrong.
pub fn warnings_about_functions(profile: &MemoryProfile) -> Vec<Warning> {
    let functions = profile.stacks.frames().iter().map(|frame| frame.function);
    let unnamed: HashSet<u64> = functions.filter(|function| !profile.names.contains_key(function)).collect();
    let names = (!unnamed.is_empty()).then(|| {
        Warning::new(format!(
            "the names of {} are unknown: indexed profiles and YAML store hashes; a raw memory profile with its \
             program has the names",
            number_of(unnamed.len(), "function")
        ))
    });
    names.into_iter().chain(warning_about_lines(profile)).collect()
}

/// Returns a warning if the lines of functions are wrong.
pub(crate) fn warning_about_lines(profile: &MemoryProfile) -> Option<Warning> {
    let functions = profile.functions_without_line;
    (functions != 0).then(|| {
        Warning::new(format!(
            "debug info has no line of the declaration of {}, so compilers do not find the allocations: build with -g2, or \
             with -fdebug-info-for-profiling of clang",
            number_of(functions, "function")
        ))
    })
}

/// Returns the bytes of all allocations.
pub(crate) fn total_bytes(profile: &MemoryProfile) -> u128 {
    contexts(profile).iter().map(|(_, site)| u128::from(site.info.total_size())).sum()
}

/// Returns each call stack with its allocations, in order of first occurrence. A site that is in the records of several
/// functions, because of inlining, is counted once.
pub fn contexts(profile: &MemoryProfile) -> Vec<(StackHandle, Cow<'_, AllocSite>)> {
    let mut sums: Vec<(StackHandle, Cow<'_, AllocSite>)> = Vec::new();
    let mut places: HashMap<StackHandle, (usize, u64)> = HashMap::default();
    for record in profile.records() {
        for site in &record.alloc_sites {
            match places.get(&site.stack) {
                None => {
                    places.insert(site.stack, (sums.len(), record.function));
                    sums.push((site.stack, Cow::Borrowed(site)));
                }
                Some((at, owner)) if *owner == record.function => sums[*at].1.to_mut().info.add_run(&site.info),
                // A copy in the record of another function.
                Some(_) => {}
            }
        }
    }
    sums
}

impl MemoryReport {
    /// Creates the report of a profile.
    pub fn new(profile: &MemoryProfile, options: &ReportOptions) -> Self {
        let contexts = contexts(profile);
        let class = |site: &AllocSite| Hotness::of(&site.info);
        let of_class = |wanted: Hotness| contexts.iter().filter(move |(_, site)| class(site) == wanted);
        let bytes = |sites: &mut dyn Iterator<Item = &(StackHandle, Cow<'_, AllocSite>)>| {
            sites.fold(0u64, |sum, (_, site)| sum.saturating_add(site.info.total_size()))
        };
        let mut top: Vec<&(StackHandle, Cow<'_, AllocSite>)> =
            contexts.iter().filter(|(_, site)| options.only.is_none_or(|only| class(site) == only)).collect();
        top.sort_by(|(_, a), (_, b)| match options.sort {
            SortBy::Bytes => b.info.total_size().cmp(&a.info.total_size()),
            SortBy::Count => b.info.alloc_count().cmp(&a.info.alloc_count()),
            SortBy::Density => lifetime_access_density(b).total_cmp(&lifetime_access_density(a)),
        });
        top.truncate(options.topn);
        let top = top.into_iter().map(|(stack, site)| site_report(profile, *stack, site)).collect();
        Self {
            functions: profile.records().len(),
            contexts: contexts.len(),
            cold_contexts: of_class(Hotness::Cold).count(),
            hot_contexts: of_class(Hotness::Hot).count(),
            allocations: contexts.iter().fold(0, |sum: u64, (_, site)| sum.saturating_add(site.info.alloc_count())),
            bytes: bytes(&mut contexts.iter()),
            cold_bytes: bytes(&mut of_class(Hotness::Cold)),
            hot_bytes: bytes(&mut of_class(Hotness::Hot)),
            data_records: profile.data_access.as_ref().map_or(0, |data| data.records.len()),
            top,
        }
    }

    /// Writes the report as text.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn write_text(&self, out: &mut impl Write) -> fmt::Result {
        writeln!(out, "Functions: {}", self.functions)?;
        let (cold, hot) = (self.cold_contexts, self.hot_contexts);
        writeln!(out, "Allocation contexts: {} ({cold} cold, {hot} hot)", self.contexts)?;
        writeln!(out, "Allocations: {}", self.allocations)?;
        writeln!(out, "Bytes: {} ({} cold, {} hot)", self.bytes, self.cold_bytes, self.hot_bytes)?;
        if self.data_records != 0 {
            writeln!(out, "Records of static data: {}", self.data_records)?;
        }
        for site in &self.top {
            site.write_text(out)?;
        }
        Ok(())
    }
}

impl SiteReport {
    fn write_text(&self, out: &mut impl Write) -> fmt::Result {
        let (bytes, count) = (self.bytes, self.allocations);
        writeln!(
            out,
            "\n{} in {}, {}: {:.1} ms on average, {:.2} accesses per byte and second",
            number_of(bytes, "byte"),
            number_of(count, "allocation"),
            self.class,
            self.average_lifetime_ms,
            self.lifetime_access_density
        )?;
        for frame in &self.stack {
            let inlined = if frame.inlined { " (inlined)" } else { "" };
            writeln!(out, "  {} +{}:{}{inlined}", frame.function, frame.line_offset, frame.column)?;
        }
        Ok(())
    }
}

/// Returns the average of a field per allocation.
fn average(site: &AllocSite, field: Field) -> f64 {
    let count = site.info.alloc_count();
    if count == 0 { 0.0 } else { site.info.value(field) as f64 / count as f64 }
}

/// Returns accesses per byte and second. They are stored in hundredths.
fn lifetime_access_density(site: &AllocSite) -> f64 {
    average(site, Field::TotalLifetimeAccessDensity) / 100.0
}

fn site_report(profile: &MemoryProfile, stack: StackHandle, site: &AllocSite) -> SiteReport {
    SiteReport {
        bytes: site.info.total_size(),
        allocations: site.info.alloc_count(),
        average_lifetime_ms: average(site, Field::TotalLifetime),
        lifetime_access_density: lifetime_access_density(site),
        class: Hotness::of(&site.info).name(),
        stack: profile.stacks.frames_of(stack).map(|frame| frame_report(profile, frame)).collect(),
    }
}

fn frame_report(profile: &MemoryProfile, frame: Frame) -> FrameReport {
    FrameReport {
        function: function_name(profile, frame.function),
        line_offset: frame.line_offset,
        column: frame.column,
        inlined: frame.is_inline,
    }
}

/// Returns the name of a function, or `0x` and its id if the name is unknown.
pub fn function_name(profile: &MemoryProfile, function: u64) -> String {
    match profile.names.get(&function) {
        Some(name) => String::from_utf8_lossy(name).into_owned(),
        None => format!("{function:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::Compat;
    use crate::limits::Limits;
    use crate::memprof::yaml;

    const TEXT: &str = "HeapProfileRecords:
- GUID: grab
  AllocSites:
INLINED
- GUID: main
  AllocSites:
INLINED
  - Callstack: [ { Function: main, LineOffset: 4, Column: 5, IsInlineFrame: false } ]
    MemInfoBlock: { AllocCount: 1, TotalSize: 4096, TotalLifetime: 250000 }
";

    /// A site in the records of both functions.
    const INLINED: &str = "  - Callstack:
    - { Function: grab, LineOffset: 1, Column: 9, IsInlineFrame: true }
    - { Function: main, LineOffset: 3, Column: 5, IsInlineFrame: false }
    MemInfoBlock: { AllocCount: 4, TotalSize: 96, TotalLifetime: 6, TotalLifetimeAccessDensity: 1000 }";

    fn report(options: &ReportOptions) -> MemoryReport {
        let text = TEXT.replace("INLINED", INLINED);
        let mut profile = yaml::read(text.as_bytes(), Compat::Profbridge, &Limits::default()).unwrap();
        profile.names.insert(crate::memprof::guid(b"main"), b"main".to_vec());
        MemoryReport::new(&profile, options)
    }

    #[test]
    fn inlined_sites_count_once_and_the_largest_come_first() {
        let mut text = String::new();
        report(&ReportOptions::default()).write_text(&mut text).unwrap();
        assert_eq!(
            text,
            "Functions: 2
Allocation contexts: 2 (1 cold, 0 hot)
Allocations: 5
Bytes: 4192 (4096 cold, 0 hot)

4096 bytes in 1 allocation, cold: 250000.0 ms on average, 0.00 accesses per byte and second
  main +4:5

96 bytes in 4 allocations, notcold: 1.5 ms on average, 2.50 accesses per byte and second
  0x891f0ff7801fb928 +1:9 (inlined)
  main +3:5
"
        );
    }

    #[test]
    fn the_order_and_the_class_can_be_chosen() {
        let first = |sort, only| {
            let options = ReportOptions { topn: 1, sort, only };
            report(&options).top.first().map(|site| site.bytes)
        };
        assert_eq!(first(SortBy::Count, None), Some(96));
        assert_eq!(first(SortBy::Density, None), Some(96));
        assert_eq!(first(SortBy::Count, Some(Hotness::Cold)), Some(4096));
        assert_eq!(first(SortBy::Bytes, Some(Hotness::Hot)), None);
    }
}
