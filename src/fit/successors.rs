//! What functions became that are no longer there under their names.

use super::names::{SplitName, canonical, similarity, split};
use super::program::ProgramFunction;
use crate::model::{RecordId, RecordView};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A function of the new build that has no profile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'a> {
    /// Its position in the program.
    pub(super) at: usize,
    pub(super) name: &'a [u8],
    pub(super) function: ProgramFunction,
}

/// What a function became.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Successor {
    /// The same one elsewhere.
    Moved(usize),
    /// One of its name elsewhere, with another hash.
    MovedAndChanged(usize),
    /// One of the same shape under a similar name.
    Renamed(usize),
}

/// A record whose function is not there.
pub(super) type Lost<'a> = (RecordId, &'a [u8], RecordView<'a>);

/// Names less alike than this are of different functions.
const LEAST_SIMILARITY: f64 = 0.5;
/// Functions of one counter all look the same: only their names tell.
const LEAST_SIMILARITY_OF_SIMPLE: f64 = 0.75;
/// Functions with so many counters are simple.
const SIMPLE_COUNTERS: usize = 1;
/// Pairs of one hash that are compared; beyond that nobody could tell them apart.
const MOST_PAIRS: usize = 1 << 20;

/// Finds at most one successor for each lost record, and each at most once.
/// Says how many groups of equal hashes were too large to compare.
///
/// `equal` says whether a record's hash is that of a function.
pub(super) fn find_successors(
    lost: &[Lost<'_>],
    free: &[Candidate<'_>],
    equal: &dyn Fn(&[u8], u64, u64) -> bool,
) -> (Vec<(RecordId, Successor)>, u64) {
    let mut taken = HashSet::new();
    let mut found = find_moved(lost, free, equal, &mut taken);
    let done: HashSet<RecordId> = found.iter().map(|(id, _)| *id).collect();
    let left: Vec<Lost<'_>> = lost.iter().filter(|(id, ..)| !done.contains(id)).copied().collect();
    let (renamed, unguessed) = find_renamed(&left, free, equal, &mut taken);
    found.extend(renamed);
    (found, unguessed)
}

/// Functions that have their own name under another file or none.
fn find_moved(
    lost: &[Lost<'_>],
    free: &[Candidate<'_>],
    equal: &dyn Fn(&[u8], u64, u64) -> bool,
    taken: &mut HashSet<usize>,
) -> Vec<(RecordId, Successor)> {
    let mut by_function: HashMap<Vec<u8>, Vec<&Candidate<'_>>> = HashMap::new();
    for candidate in free {
        by_function.entry(canonical(split(candidate.name).function)).or_default().push(candidate);
    }
    let mut pairs = Vec::new();
    for (id, name, record) in lost {
        let own = split(name);
        let Some(candidates) = by_function.get(&canonical(own.function)) else { continue };
        for candidate in candidates.iter().take(MOST_NAMESAKES) {
            let is_equal =
                equal(name, record.func_hash, candidate.function.func_hash) && same_shape(*record, candidate);
            pairs.push(Pair { id: *id, at: candidate.at, is_equal, likeness: likeness_of_files(own, candidate) });
        }
    }
    take_best(pairs, taken, |pair| match pair.is_equal {
        true => Successor::Moved(pair.at),
        false => Successor::MovedAndChanged(pair.at),
    })
}

/// Functions of one name in different files that are compared with each other.
const MOST_NAMESAKES: usize = 64;

fn likeness_of_files(own: SplitName<'_>, candidate: &Candidate<'_>) -> f64 {
    match (own.file, split(candidate.name).file) {
        (Some(old), Some(new)) => similarity(old, new),
        _ => 0.0,
    }
}

/// Functions of the same hash and shape under a similar name.
fn find_renamed(
    lost: &[Lost<'_>],
    free: &[Candidate<'_>],
    equal: &dyn Fn(&[u8], u64, u64) -> bool,
    taken: &mut HashSet<usize>,
) -> (Vec<(RecordId, Successor)>, u64) {
    // Four bits may be missing on either side: what is left has to be equal.
    let key = |hash: u64| hash & (u64::MAX >> 4);
    let mut groups: BTreeMap<u64, (Vec<&Lost<'_>>, Vec<&Candidate<'_>>)> = BTreeMap::new();
    for row in lost {
        groups.entry(key(row.2.func_hash)).or_default().0.push(row);
    }
    for candidate in free.iter().filter(|candidate| !taken.contains(&candidate.at)) {
        if let Some((_, candidates)) = groups.get_mut(&key(candidate.function.func_hash)) {
            candidates.push(candidate);
        }
    }
    let (mut pairs, mut unguessed) = (Vec::new(), 0);
    for (old, new) in groups.values().filter(|(_, new)| !new.is_empty()) {
        if old.len().saturating_mul(new.len()) > MOST_PAIRS {
            unguessed += 1;
            continue;
        }
        for (id, name, record) in old {
            let is_simple = record.counters.len() <= SIMPLE_COUNTERS;
            let least = if is_simple { LEAST_SIMILARITY_OF_SIMPLE } else { LEAST_SIMILARITY };
            let function = canonical(split(name).function);
            for candidate in new {
                let likeness = similarity(&function, &canonical(split(candidate.name).function));
                let fits =
                    same_shape(*record, candidate) && equal(name, record.func_hash, candidate.function.func_hash);
                if likeness >= least && fits {
                    pairs.push(Pair { id: *id, at: candidate.at, is_equal: true, likeness });
                }
            }
        }
    }
    (take_best(pairs, taken, |pair| Successor::Renamed(pair.at)), unguessed)
}

fn same_shape(record: RecordView<'_>, candidate: &Candidate<'_>) -> bool {
    candidate.function.num_counters.is_none_or(|counters| counters as usize == record.counters.len())
}

struct Pair {
    id: RecordId,
    at: usize,
    is_equal: bool,
    likeness: f64,
}

/// Joins the pairs that are most alike first; each side is in one pair only.
fn take_best(
    mut pairs: Vec<Pair>,
    taken: &mut HashSet<usize>,
    successor: impl Fn(&Pair) -> Successor,
) -> Vec<(RecordId, Successor)> {
    pairs.sort_by(|a, b| {
        let by_likeness = b.likeness.partial_cmp(&a.likeness).unwrap_or(Ordering::Equal);
        b.is_equal.cmp(&a.is_equal).then(by_likeness).then(a.id.cmp(&b.id)).then(a.at.cmp(&b.at))
    });
    let (mut done, mut found) = (HashSet::new(), Vec::new());
    for pair in &pairs {
        if !done.contains(&pair.id) && !taken.contains(&pair.at) {
            done.insert(pair.id);
            taken.insert(pair.at);
            found.push((pair.id, successor(pair)));
        }
    }
    found
}
