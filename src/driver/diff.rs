//! The comparison of two profiles of any family.
//!
//! A profile is a list of events under keys, by section. Counts are converted to shares of the section's total. The
//! *overlap* is the sum of the smaller shares over all keys (like LLVM's overlap); it is 1 for equal distributions,
//! whatever the totals. *Jaccard* is the proportion of keys that both profiles have. Runs of one program differ in many
//! rare keys, so the overlap is the more useful number.

use crate::digits::number_of;
use crate::driver::sections::total_overlap;
use crate::limits::Limits;
use crate::names::NamePattern;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::{self, Write};

pub use crate::driver::sections::SectionDiff;

/// A key within a section: the site, and a part of it (a target, a type, a counter).
pub type Key = (u64, i64);

/// The data of one profile that is compared. Numbers have the same meaning in both profiles.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Events by key, for each section. Keys may repeat; their events add up.
    pub sections: BTreeMap<&'static str, Vec<(Key, u128)>>,
    /// Events by function. Functions that the profile has without events of their own have 0.
    pub functions: Vec<(u64, u128)>,
}

/// Names for the numbers of [`Facts`].
pub trait Names {
    /// Returns the name of a function or method.
    fn function(&self, function: u64) -> String;
    /// Returns the name of a site of a section.
    fn site(&self, section: &str, site: u64) -> String;
    /// Returns the name of a part of a site.
    fn part(&self, section: &str, part: i64) -> String;
    /// Returns false for the part that stands for all unknown ones.
    fn is_known(&self, _section: &str, _part: i64) -> bool {
        true
    }
}

/// Options for comparing profiles.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DiffOptions {
    /// Length of each list. Default: 10.
    pub topn: usize,
    /// List only functions, and sites in functions, that this selects; shares still refer to the whole profile.
    /// Default: all.
    pub function: Option<NamePattern>,
    /// Sections of branches. Sites whose most frequent direction changed are listed.
    pub branches: Vec<&'static str>,
    /// Sections of types or targets. Sites whose most frequent entry changed are listed.
    pub receivers: Vec<&'static str>,
    /// Sections that do not count events. They are excluded from the total if there are others.
    pub apart: Vec<&'static str>,
    /// The name of the events of functions. Default: `events`.
    pub functions_by: &'static str,
    /// Require equal names and hashes in LLVM profiles. By default functions are matched across releases.
    pub exact_names: bool,
    /// Limits for untrusted input.
    pub limits: Limits,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            topn: 10,
            function: None,
            branches: Vec::new(),
            receivers: Vec::new(),
            apart: Vec::new(),
            functions_by: "events",
            exact_names: false,
            limits: Limits::default(),
        }
    }
}

impl DiffOptions {
    fn lists(&self, name: impl FnOnce() -> String) -> bool {
        self.function.as_ref().is_none_or(|pattern| pattern.matches(name().as_bytes()))
    }
}

/// The differences between two profiles.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct DiffReport {
    /// The smallest overlap of any section; 1 if neither profile has events.
    #[serde(rename = "smallest_overlap")]
    pub overlap: f64,
    /// The mean overlap of all sections, weighted by the mean of their shares of the events of each profile, so that tiny
    /// sections matter little.
    pub total_overlap: f64,
    /// Every section with events in at least one profile.
    pub sections: Vec<SectionDiff>,
    /// The events by which functions are compared: calls, samples, counters.
    pub functions_by: &'static str,
    /// Functions whose share grew most.
    pub risers: Vec<Move>,
    /// Functions whose share shrank most.
    pub fallers: Vec<Move>,
    /// Functions with events in the second profile that the first one does not have at all.
    pub new_functions: FunctionList,
    /// Functions with events in the first profile that the second one does not have at all.
    pub lost_functions: FunctionList,
    /// Branches whose most frequent direction changed.
    pub flipped_branches: Changes,
    /// Sites whose most frequent type or target changed.
    pub changed_receivers: Changes,
    /// Whether the options select functions, and the profiles have none of them.
    #[serde(skip)]
    pub selects_nothing: bool,
}

/// A function whose share changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Move {
    /// The name.
    pub function: String,
    /// Share of all events in the first profile.
    pub first_share: f64,
    /// Share of all events in the second profile.
    pub second_share: f64,
}

/// Functions that only one profile contains.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FunctionList {
    /// The number of functions.
    pub count: u64,
    /// The functions with the most events.
    pub functions: Vec<String>,
}

/// Sites with a change.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Changes {
    /// The number of sites.
    pub count: u64,
    /// Sites with events in both profiles.
    pub compared: u64,
    /// The sites with the most events.
    pub sites: Vec<Change>,
}

/// A site with a change.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// The site.
    pub site: String,
    /// The part with the most events in the first profile.
    pub first: String,
    /// The part with the most events in the second profile.
    pub second: String,
    /// The events of both profiles.
    pub events: u128,
}

/// Compares two profiles.
pub fn diff(first: Facts, second: Facts, names: &dyn Names, options: &DiffOptions) -> DiffReport {
    diff_with(Vec::new(), first, second, names, options)
}

/// Like [`diff`], with sections that the caller has compared.
pub(crate) fn diff_with(
    compared: Vec<SectionDiff>,
    mut first: Facts,
    mut second: Facts,
    names: &dyn Names,
    options: &DiffOptions,
) -> DiffReport {
    [&mut first, &mut second].into_iter().for_each(Facts::tidy);
    let nothing = Vec::new();
    let all: Vec<&'static str> = {
        let mut all: Vec<_> = first.sections.keys().chain(second.sections.keys()).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let pair = |section: &str| {
        (first.sections.get(section).unwrap_or(&nothing), second.sections.get(section).unwrap_or(&nothing))
    };
    let differences = all.iter().map(|section| {
        let (a, b) = pair(section);
        let mut diff = SectionComparison::new(section, total(a), total(b));
        zip(a, b).for_each(|(_, first, second)| diff.add(first, second));
        diff.finish()
    });
    let mut sections: Vec<SectionDiff> = differences.chain(compared).collect();
    sections.retain(|section| section.first_events + section.second_events > 0);
    sections.sort_by_key(|section| section.section);
    let changes = |wanted: &[&'static str]| {
        let mut changes = Changes::default();
        let mut found = Vec::new();
        for section in wanted {
            let (a, b) = pair(section);
            changes.compared += changed_sites(section, a, b, &mut found);
        }
        // Unknown parts can be the known ones of the other profile.
        let is_known = |section, parts: [i64; 2]| parts.into_iter().all(|part| names.is_known(section, part));
        found.retain(|change| is_known(change.section, [change.first, change.second]));
        changes.count = found.len() as u64;
        found.retain(|change| options.lists(|| names.site(change.section, change.site)));
        found.sort_by_key(|change| (Reverse(change.events), change.section, change.site));
        let named = |change: &FoundChange| Change {
            site: names.site(change.section, change.site),
            first: names.part(change.section, change.first),
            second: names.part(change.section, change.second),
            events: change.events,
        };
        changes.sites = found.iter().take(options.topn).map(named).collect();
        changes
    };
    let (risers, fallers) = moves(&first.functions, &second.functions, names, options);
    DiffReport {
        total_overlap: total_overlap(&sections, &options.apart),
        overlap: sections.iter().map(|section| section.overlap).fold(1.0, f64::min),
        flipped_branches: changes(&options.branches),
        changed_receivers: changes(&options.receivers),
        new_functions: only_in(&second.functions, &first.functions, names, options),
        lost_functions: only_in(&first.functions, &second.functions, names, options),
        selects_nothing: options.function.is_some() && !is_any_listed(&first, &second, names, options),
        sections,
        functions_by: options.functions_by,
        risers,
        fallers,
    }
}

/// Returns true if a function or a site of the profiles is listed if it changes.
fn is_any_listed(first: &Facts, second: &Facts, names: &dyn Names, options: &DiffOptions) -> bool {
    let both = || [first, second].into_iter();
    let mut functions = both().flat_map(|facts| &facts.functions);
    let is_site = |section: &&&'static str| options.branches.contains(*section) || options.receivers.contains(*section);
    functions.any(|(function, _)| options.lists(|| names.function(*function)))
        || both()
            .flat_map(|facts| &facts.sections)
            .filter(|(section, _)| is_site(section))
            .any(|(section, events)| events.iter().any(|((site, _), _)| options.lists(|| names.site(section, *site))))
}

impl Facts {
    /// Sorts the keys, adds the events of equal keys, and drops keys without events from the sections.
    fn tidy(&mut self) {
        for events in self.sections.values_mut() {
            tidy(events);
            events.retain(|(_, count)| *count > 0);
        }
        tidy(&mut self.functions);
    }
}

fn tidy<K: Ord + Copy>(events: &mut Vec<(K, u128)>) {
    events.sort_unstable_by_key(|(key, _)| *key);
    events.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
}

/// Iterates over two tidy lists together.
fn zip<'e, K: Ord + Copy>(a: &'e [(K, u128)], b: &'e [(K, u128)]) -> impl Iterator<Item = (K, u128, u128)> + 'e {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    std::iter::from_fn(move || {
        let key = match (a.peek(), b.peek()) {
            (Some((a, _)), Some((b, _))) => *a.min(b),
            (Some((key, _)), None) | (None, Some((key, _))) => *key,
            (None, None) => return None,
        };
        let first = a.next_if(|(other, _)| *other == key).map_or(0, |(_, events)| *events);
        let second = b.next_if(|(other, _)| *other == key).map_or(0, |(_, events)| *events);
        Some((key, first, second))
    })
}

fn total<K>(events: &[(K, u128)]) -> u128 {
    events.iter().map(|(_, count)| count).sum()
}

fn share(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { as_float(part) / as_float(whole) }
}

fn as_float(events: u128) -> f64 {
    // Most numbers are small, and their conversion is much faster.
    u64::try_from(events).map_or(events as f64, |events| events as f64)
}

/// The comparison of one section, key by key.
pub(crate) struct SectionComparison {
    diff: SectionDiff,
    /// The events of both profiles, without their lowest bits.
    totals: [u64; 2],
    dropped_bits: [u32; 2],
    /// By how much the shares of the first profile are larger, in units of one by the product of both totals. As an
    /// integer, because a threshold can be met exactly.
    excess: u128,
}

impl SectionComparison {
    /// Begins the comparison of a section, with the events of both profiles.
    pub(crate) fn new(section: &'static str, first_events: u128, second_events: u128) -> Self {
        let mut diff = SectionDiff::new(section);
        (diff.first_events, diff.second_events) = (first_events, second_events);
        // The product of two totals has 128 bits.
        let dropped_bits = [first_events, second_events].map(|events| 64_u32.saturating_sub(events.leading_zeros()));
        let totals = [(first_events >> dropped_bits[0]) as u64, (second_events >> dropped_bits[1]) as u64];
        Self { diff, totals, dropped_bits, excess: 0 }
    }

    /// Adds the events of a key in both profiles.
    #[inline]
    pub(crate) fn add(&mut self, first: u128, second: u128) {
        match (first, second) {
            (0, 0) => return,
            (0, _) => self.diff.only_second += 1,
            (_, 0) => self.diff.only_first += 1,
            _ => self.diff.common += 1,
        }
        let [first_total, second_total] = self.totals;
        // Like the totals, the events of a key then have 64 bits. One multiplication of such numbers is fast.
        let (first, second) = ((first >> self.dropped_bits[0]) as u64, (second >> self.dropped_bits[1]) as u64);
        let product = |one: u64, other: u64| u128::from(one) * u128::from(other);
        self.excess += product(first, second_total).saturating_sub(product(second, first_total));
    }

    /// Returns the result.
    pub(crate) fn finish(self) -> SectionDiff {
        let mut diff = self.diff;
        let all = u128::from(self.totals[0]) * u128::from(self.totals[1]);
        diff.overlap = match (diff.first_events, diff.second_events) {
            (0, 0) => 1.0,
            _ => share(all.saturating_sub(self.excess), all),
        };
        diff.jaccard = share(u128::from(diff.common), u128::from(diff.common + diff.only_first + diff.only_second));
        diff
    }
}

struct FoundChange {
    section: &'static str,
    site: u64,
    first: i64,
    second: i64,
    events: u128,
}

/// Finds sites whose largest part changed. Returns the number of sites that both profiles have. If several parts are
/// largest, a site changed only if none of them is among the largest of the other profile.
fn changed_sites(section: &'static str, a: &[(Key, u128)], b: &[(Key, u128)], found: &mut Vec<FoundChange>) -> u64 {
    let mut compared = 0;
    let mut others = sites(b).peekable();
    for here in sites(a) {
        while others.next_if(|there| there.site < here.site).is_some() {}
        let Some(there) = others.next_if(|there| there.site == here.site) else { continue };
        compared += 1;
        let ([first, ..], [second, ..]) = (&here.winners[..], &there.winners[..]) else { continue };
        if here.winners.iter().all(|winner| there.winners.binary_search(winner).is_err()) {
            let events = here.events + there.events;
            found.push(FoundChange { section, site: here.site, first: *first, second: *second, events });
        }
    }
    compared
}

/// A site, its parts with the most events in order, and the sum of its events.
struct Site {
    site: u64,
    winners: Vec<i64>,
    events: u128,
}

/// Groups a tidy list by site.
fn sites(events: &[(Key, u128)]) -> impl Iterator<Item = Site> + '_ {
    events.chunk_by(|a, b| a.0.0 == b.0.0).filter_map(|parts| {
        let ((site, _), _) = parts.first()?;
        let most = parts.iter().map(|(_, events)| *events).max()?;
        let winners = parts.iter().filter(|(_, events)| *events == most).map(|((_, part), _)| *part).collect();
        Some(Site { site: *site, winners, events: total(parts) })
    })
}

fn moves(a: &[(u64, u128)], b: &[(u64, u128)], names: &dyn Names, options: &DiffOptions) -> (Vec<Move>, Vec<Move>) {
    let (first_total, second_total) = (total(a), total(b));
    let mut changed: Vec<(f64, u64, f64, f64)> = zip(a, b)
        .map(|(function, first, second)| {
            let (first, second) = (share(first, first_total), share(second, second_total));
            (second - first, function, first, second)
        })
        .filter(|(change, function, ..)| *change != 0.0 && options.lists(|| names.function(*function)))
        .collect();
    changed.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let named = |(_, function, first_share, second_share): &(f64, u64, f64, f64)| Move {
        function: names.function(*function),
        first_share: *first_share,
        second_share: *second_share,
    };
    let risers = changed.iter().filter(|(change, ..)| *change > 0.0).take(options.topn).map(named).collect();
    let fallers = changed.iter().rev().filter(|(change, ..)| *change < 0.0).take(options.topn).map(named).collect();
    (risers, fallers)
}

fn only_in(these: &[(u64, u128)], those: &[(u64, u128)], names: &dyn Names, options: &DiffOptions) -> FunctionList {
    let is_there = |function: u64| those.binary_search_by_key(&function, |(there, _)| *there).is_ok();
    let mut only: Vec<(Reverse<u128>, u64)> = these
        .iter()
        .filter(|(function, here)| *here > 0 && !is_there(*function))
        .filter(|(function, _)| options.lists(|| names.function(*function)))
        .map(|(function, events)| (Reverse(*events), *function))
        .collect();
    only.sort_unstable();
    let functions = only.iter().take(options.topn).map(|(_, function)| names.function(*function)).collect();
    FunctionList { count: only.len() as u64, functions }
}

/// Writes a report as text.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_text(out: &mut impl Write, report: &DiffReport) -> fmt::Result {
    writeln!(
        out,
        "{:<24}{:>10}{:>10}{:>12}{:>12}{:>12}",
        "Section", "overlap", "jaccard", "common", "only 1st", "only 2nd"
    )?;
    for section in &report.sections {
        writeln!(
            out,
            "{:<24}{:>8.3} %{:>8.3} %{:>12}{:>12}{:>12}",
            section.gate,
            100.0 * section.overlap,
            100.0 * section.jaccard,
            section.common,
            section.only_first,
            section.only_second
        )?;
    }
    writeln!(out, "Overlap of all sections: {:.3} %", 100.0 * report.total_overlap)?;
    writeln!(out, "Smallest overlap: {:.3} %", 100.0 * report.overlap)?;
    for (title, moves) in [("Risers", &report.risers), ("Fallers", &report.fallers)] {
        if !moves.is_empty() {
            writeln!(out, "\n{title}, by {}:", report.functions_by)?;
        }
        for moved in moves {
            let (first, second) = (100.0 * moved.first_share, 100.0 * moved.second_share);
            writeln!(out, "  {first:>8.3} % -> {second:>8.3} %  {}", moved.function)?;
        }
    }
    for (title, list) in [("New", &report.new_functions), ("Lost", &report.lost_functions)] {
        if list.count > 0 {
            writeln!(out, "\n{title} functions: {}", list.count)?;
        }
        list.functions.iter().try_for_each(|function| writeln!(out, "  {function}"))?;
    }
    for (title, changes) in
        [("Flipped branches", &report.flipped_branches), ("Changed receivers", &report.changed_receivers)]
    {
        if changes.compared > 0 {
            writeln!(out, "\n{title}: {} of {}", changes.count, number_of(changes.compared, "site"))?;
        }
        for change in &changes.sites {
            writeln!(out, "  {:>14}  {} -> {}  {}", change.events, change.first, change.second, change.site)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain;

    impl Names for Plain {
        fn function(&self, function: u64) -> String {
            format!("f{function}")
        }
        fn site(&self, section: &str, site: u64) -> String {
            format!("{section}@{site}")
        }
        fn part(&self, _: &str, part: i64) -> String {
            part.to_string()
        }
    }

    fn facts(branches: &[(Key, u128)], functions: &[(u64, u128)]) -> Facts {
        Facts { sections: BTreeMap::from([("branches", branches.to_vec())]), functions: functions.to_vec() }
    }

    #[test]
    fn a_filter_shortens_lists_and_changes_no_share() {
        let moved = (facts(&[], &[(1, 5), (2, 5), (3, 1)]), facts(&[], &[(1, 1), (2, 9), (4, 1)]));
        let all = diff(moved.0.clone(), moved.1.clone(), &Plain, &DiffOptions::default());
        let only = DiffOptions { function: Some(NamePattern::stored(b"2")), ..DiffOptions::default() };
        let found = diff(moved.0, moved.1, &Plain, &only);
        assert_eq!(found.risers, all.risers[..1]);
        assert_eq!((found.risers[0].function.as_str(), found.fallers.len()), ("f2", 0));
        assert_eq!((found.new_functions.count, found.lost_functions.count), (0, 0));
        assert_eq!((all.new_functions.count, all.lost_functions.count), (1, 1));
    }

    fn options() -> DiffOptions {
        DiffOptions { branches: vec!["branches"], ..DiffOptions::default() }
    }

    #[test]
    fn the_same_distribution_overlaps_whatever_the_totals() {
        let (a, b) = (facts(&[((1, 0), 1), ((2, 0), 3)], &[]), facts(&[((2, 0), 300), ((1, 0), 100)], &[]));
        let report = diff(a, b, &Plain, &options());
        assert_eq!((report.overlap, report.sections[0].jaccard, report.sections[0].common), (1.0, 1.0, 2));
    }

    #[test]
    fn equal_shares_overlap_exactly() {
        let events = |keys: u64, count: u128| (0..keys).map(|key| ((key, 0), count)).collect::<Vec<_>>();
        for keys in 1..50 {
            for counts in [[1, 2], [3, 7], [1 << 70, 3 << 80], [u128::from(u64::MAX), 1]] {
                let [a, b] = counts.map(|count| facts(&events(keys, count), &[]));
                assert_eq!(diff(a, b, &Plain, &options()).overlap, 1.0, "{keys} {counts:?}");
            }
        }
        // 0.1 of ten.
        let (a, b) = (facts(&events(10, 1), &[]), facts(&events(1, 1), &[]));
        assert_eq!(diff(a, b, &Plain, &options()).overlap, 0.1);
    }

    #[test]
    fn overlap_is_the_sum_of_the_smaller_shares() {
        // 0.5 and 0.5 against 0.25 and 0.75 of another key set.
        let (a, b) = (facts(&[((1, 0), 5), ((2, 0), 5)], &[]), facts(&[((1, 0), 1), ((3, 0), 3)], &[]));
        let report = diff(a, b, &Plain, &options());
        let section = &report.sections[0];
        assert_eq!((report.overlap, section.common, section.only_first, section.only_second), (0.25, 1, 1, 1));
        assert!((section.jaccard - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_section_that_one_profile_lacks_does_not_overlap() {
        let report = diff(facts(&[((1, 0), 5)], &[]), Facts::default(), &Plain, &options());
        assert_eq!(report.overlap, 0.0);
        assert_eq!(diff(Facts::default(), Facts::default(), &Plain, &options()).overlap, 1.0);
    }

    #[test]
    fn branches_that_go_another_way_are_found() {
        let a = facts(&[((1, 7), 9), ((1, 8), 1), ((2, 7), 1), ((3, 4), 1)], &[]);
        let b = facts(&[((1, 7), 2), ((1, 8), 5), ((2, 7), 3), ((4, 4), 1)], &[]);
        let flipped = diff(a, b, &Plain, &options()).flipped_branches;
        assert_eq!((flipped.count, flipped.compared), (1, 2));
        let change = &flipped.sites[0];
        assert_eq!((change.site.as_str(), change.first.as_str(), change.second.as_str()), ("branches@1", "7", "8"));
    }

    #[test]
    fn a_tie_does_not_contradict_partial_agreement() {
        let tie = || facts(&[((1, 7), 5), ((1, 8), 5)], &[]);
        for (other, flipped) in [(7, 0), (8, 0), (9, 1)] {
            let report = diff(tie(), facts(&[((1, other), 3)], &[]), &Plain, &options());
            assert_eq!((report.flipped_branches.count, report.flipped_branches.compared), (flipped, 1), "{other}");
            let report = diff(facts(&[((1, other), 3)], &[]), tie(), &Plain, &options());
            assert_eq!(report.flipped_branches.count, flipped, "{other}");
        }
    }

    #[test]
    fn functions_rise_fall_come_and_go() {
        let a = facts(&[], &[(1, 50), (2, 30), (3, 20)]);
        let b = facts(&[], &[(1, 10), (2, 60), (4, 30)]);
        let report = diff(a, b, &Plain, &options());
        let names = |moves: &[Move]| moves.iter().map(|moved| moved.function.clone()).collect::<Vec<_>>();
        assert_eq!(names(&report.risers), ["f2", "f4"]);
        assert_eq!(names(&report.fallers), ["f1", "f3"]);
        assert_eq!(
            (report.new_functions.functions, report.lost_functions.functions),
            (vec!["f4".into()], vec!["f3".into()])
        );
    }
}
