//! Names of local functions, the similarity of names, the successors of functions that no longer exist, and the
//! remapping file for them.

use super::program::ProgramFunction;
use super::report::Class;
use crate::model::{RecordId, RecordView};
use crate::names::without_rust_hash;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A profile name, split into its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SplitName<'a> {
    /// The source file before a local function's name.
    pub(super) file: Option<&'a [u8]>,
    /// The function's own name.
    pub(super) function: &'a [u8],
}

/// Splits a name: `file;function` of LLVM 18 and later, `file:function` of front ends and earlier releases. File names
/// may contain both characters, so the last one counts. Methods of Objective-C contain `:` in brackets.
pub(super) fn split(name: &[u8]) -> SplitName<'_> {
    let at = memchr::memrchr(b';', name).or_else(|| {
        let end = match name.last() {
            Some(b']') => method_start(name)?,
            _ => name.len(),
        };
        memchr::memrchr(b':', &name[..end])
    });
    match at {
        Some(at) if at > 0 && at + 1 < name.len() => SplitName { file: Some(&name[..at]), function: &name[at + 1..] },
        _ => SplitName { file: None, function: name },
    }
}

/// Returns the start of an Objective-C method, `-[Class name:]`.
fn method_start(name: &[u8]) -> Option<usize> {
    let at = name.windows(2).position(|pair| matches!(pair, b"-[" | b"+["))?;
    Some(at)
}

/// Returns a function's name without the parts that change when it moves: the marks of local symbols in C++, and the
/// hashes of files that compilers append.
pub(super) fn canonical(function: &[u8]) -> Vec<u8> {
    let mut name = function;
    for mark in [&b".llvm."[..], b".__uniq."] {
        let Some(at) = name.windows(mark.len()).rposition(|window| window == mark) else { continue };
        let rest = &name[at + mark.len()..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 && digits == rest.len() {
            name = &name[..at];
        }
    }
    // `_ZL3foov` is a local `foo()`, `_Z3foov` a global one.
    match name.strip_prefix(b"_ZL") {
        Some(rest) if rest.first().is_some_and(u8::is_ascii_digit) => [b"_Z", rest].concat(),
        _ => name.to_vec(),
    }
}

/// Returns a name for comparisons: without the parts that change when a function moves, and without the hash of Rust's
/// mangling, which changes with the version of the crate.
fn comparable(function: &[u8]) -> Vec<u8> {
    let mut name = canonical(function);
    if let Some(path) = without_rust_hash(&name).map(<[u8]>::len) {
        name.truncate(path);
    }
    name
}

/// Returns the similarity of two names, from 0 to 1: the share of pairs of adjacent characters that both have (the
/// coefficient of Sørensen and Dice).
pub(super) fn similarity(a: &[u8], b: &[u8]) -> f64 {
    let pairs = |name: &[u8]| {
        let mut pairs: Vec<[u8; 2]> =
            name[..name.len().min(MOST_COMPARED)].windows(2).map(|pair| [pair[0], pair[1]]).collect();
        pairs.sort_unstable();
        pairs
    };
    let (a, b) = (pairs(a), pairs(b));
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let (mut at, mut other, mut common) = (0, 0, 0usize);
    while at < a.len() && other < b.len() {
        match a[at].cmp(&b[other]) {
            Ordering::Less => at += 1,
            Ordering::Greater => other += 1,
            Ordering::Equal => (at, other, common) = (at + 1, other + 1, common + 1),
        }
    }
    (2 * common) as f64 / (a.len() + b.len()) as f64
}

/// The maximum number of compared bytes: names of templates have many thousands.
const MOST_COMPARED: usize = 2048;

/// A remapping file, and the number of functions that it cannot contain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RemappingFile {
    /// The file's content, for `merge -r`.
    pub text: Vec<u8>,
    /// The number of renamed functions.
    pub functions: u64,
    /// The number of functions whose names contain spaces or line ends, which the file cannot contain.
    pub left_out: u64,
}

/// Writes old and new names: moved functions first, then guesses, which are marked as such.
pub fn write_remapping(names: &BTreeMap<Vec<u8>, (Vec<u8>, Class)>) -> RemappingFile {
    let mut file = RemappingFile::default();
    let sayable = |name: &[u8]| !name.iter().any(u8::is_ascii_whitespace) && !name.starts_with(b"#");
    for (wanted, heading) in [
        (Class::Moved, "# Functions that moved to another file, or became local or global.\n"),
        (Class::Renamed, "# Guesses: the same hash and shape, and a similar name. Review them before use.\n"),
    ] {
        let mut is_first = true;
        for (old, (new, class)) in names.iter().filter(|(_, (_, class))| *class == wanted) {
            if !sayable(old) || !sayable(new) {
                file.left_out += 1;
                continue;
            }
            debug_assert_eq!(*class, wanted);
            if std::mem::take(&mut is_first) {
                file.text.extend_from_slice(heading.as_bytes());
            }
            file.text.extend_from_slice(&[old, &b" "[..], new, b"\n"].concat());
            file.functions += 1;
        }
    }
    file
}

/// A function of the new build without a profile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'a> {
    /// Its position in the program.
    pub(super) at: usize,
    pub(super) name: &'a [u8],
    pub(super) function: ProgramFunction,
}

/// The status of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Successor {
    /// The same function in another file.
    Moved(usize),
    /// A function of this name in another file, with another hash.
    MovedAndChanged(usize),
    /// A function with the same shape and a similar name.
    Renamed(usize),
}

/// A record whose function no longer exists.
pub(super) type Lost<'a> = (RecordId, &'a [u8], RecordView<'a>);

/// The minimum similarity of the names of one function.
const LEAST_SIMILARITY: f64 = 0.5;
/// The minimum similarity of names of simple functions, which have equal shapes.
const LEAST_SIMILARITY_OF_SIMPLE: f64 = 0.75;
/// Functions with at most this many counters are simple.
const SIMPLE_COUNTERS: usize = 1;
/// The maximum number of compared pairs with the same hash. With more, names do not identify a pair.
const MOST_PAIRS: usize = 1 << 20;

/// Finds at most one successor for each lost record, and uses each function at most once. Returns the number of groups
/// of equal hashes that were too large. `equal` returns true if a record's hash belongs to a function.
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

/// Finds functions with the same name in another file or without a file.
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
            let likeness = likeness_of_files(own, candidate);
            pairs.push(Pair { id: *id, at: candidate.at, is_equal, in_same_file: false, likeness });
        }
    }
    take_best(pairs, taken, |pair| match pair.is_equal {
        true => Successor::Moved(pair.at),
        false => Successor::MovedAndChanged(pair.at),
    })
}

/// The maximum number of compared functions with one name in different files.
const MOST_NAMESAKES: usize = 64;

fn likeness_of_files(own: SplitName<'_>, candidate: &Candidate<'_>) -> f64 {
    match (own.file, split(candidate.name).file) {
        (Some(old), Some(new)) => similarity(old, new),
        _ => 0.0,
    }
}

/// Finds functions with the same hash and shape and a similar name.
fn find_renamed(
    lost: &[Lost<'_>],
    free: &[Candidate<'_>],
    equal: &dyn Fn(&[u8], u64, u64) -> bool,
    taken: &mut HashSet<usize>,
) -> (Vec<(RecordId, Successor)>, u64) {
    // Four bits may be missing on either side; the others must be equal.
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
            let own = split(name);
            let function = comparable(own.function);
            for candidate in new {
                let other = split(candidate.name);
                let (in_same_file, likeness) =
                    (own.file == other.file, similarity(&function, &comparable(other.function)));
                let fits =
                    same_shape(*record, candidate) && equal(name, record.func_hash, candidate.function.func_hash);
                if likeness >= least && fits {
                    pairs.push(Pair { id: *id, at: candidate.at, is_equal: true, in_same_file, likeness });
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
    /// Whether only the function was renamed.
    in_same_file: bool,
    likeness: f64,
}

/// Selects the most similar pairs first. Each side is in at most one pair.
fn take_best(
    mut pairs: Vec<Pair>,
    taken: &mut HashSet<usize>,
    successor: impl Fn(&Pair) -> Successor,
) -> Vec<(RecordId, Successor)> {
    pairs.sort_by(|a, b| {
        let by_likeness = b.likeness.partial_cmp(&a.likeness).unwrap_or(Ordering::Equal);
        let by_file = b.in_same_file.cmp(&a.in_same_file);
        b.is_equal.cmp(&a.is_equal).then(by_file).then(by_likeness).then(a.id.cmp(&b.id)).then(a.at.cmp(&b.at))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_separator_before_the_function_counts() {
        let cases: [(&str, Option<&str>, &str); 9] = [
            ("main", None, "main"),
            ("a.c;f", Some("a.c"), "f"),
            ("a.c:f", Some("a.c"), "f"),
            ("C:x;y/t.c;local", Some("C:x;y/t.c"), "local"),
            ("C:\\t.c:local", Some("C:\\t.c"), "local"),
            ("a.m:-[Foo bar:]", Some("a.m"), "-[Foo bar:]"),
            ("+[Foo bar:with:]", None, "+[Foo bar:with:]"),
            (";f", None, ";f"),
            ("f:", None, "f:"),
        ];
        for (name, file, function) in cases {
            let found = split(name.as_bytes());
            assert_eq!((found.file, found.function), (file.map(str::as_bytes), function.as_bytes()), "{name}");
        }
    }

    #[test]
    fn marks_of_local_symbols_do_not_count() {
        for (name, expected) in [
            ("_ZL3foov", "_Z3foov"),
            ("_ZLfoo", "_ZLfoo"),
            ("f.__uniq.1234567", "f"),
            ("f.llvm.99", "f"),
            ("f.llvm.x", "f.llvm.x"),
        ] {
            assert_eq!(canonical(name.as_bytes()), expected.as_bytes());
        }
    }

    #[test]
    fn hashes_of_rust_do_not_count() {
        for (name, expected) in [
            ("_ZN3std2rt10lang_start17h0123456789abcdefE", "_ZN3std2rt10lang_start"),
            ("_ZN1a1b17h0123456789abcdegE", "_ZN1a1b17h0123456789abcdegE"),
            ("17h0123456789abcdefE", ""),
            ("7h0123456789abcdefE", "7h0123456789abcdefE"),
            ("_ZL3foov", "_Z3foov"),
        ] {
            assert_eq!(comparable(name.as_bytes()), expected.as_bytes());
        }
    }

    #[test]
    fn names_with_much_in_common_are_alike() {
        let alike = |a: &str, b: &str| similarity(a.as_bytes(), b.as_bytes());
        assert!(alike("old_name_of_it", "new_name_of_it") > 0.7);
        assert!(alike("parse_header", "read_trailer") < 0.4);
        assert_eq!(alike("same", "same"), 1.0);
        assert_eq!(alike("a", "a"), 0.0);
    }
}

#[cfg(test)]
mod remapping_tests {
    use crate::fit::names::*;
    use crate::instr::Remapping;

    #[test]
    fn merge_reads_the_written_remapping() {
        let names = BTreeMap::from([
            (b"old".to_vec(), (b"new".to_vec(), Class::Renamed)),
            (b"a.c;f".to_vec(), (b"f".to_vec(), Class::Moved)),
            (b"-[A b]".to_vec(), (b"-[C b]".to_vec(), Class::Renamed)),
        ]);
        let file = write_remapping(&names);
        assert_eq!((file.functions, file.left_out), (2, 1));
        let text = String::from_utf8(file.text.clone()).unwrap();
        assert!(text.find("a.c;f f\n") < text.find("# Guesses"), "{text}");
        let remapping = Remapping::parse(&file.text).unwrap();
        assert_eq!((remapping.apply(b"old"), remapping.apply(b"a.c;f")), (&b"new"[..], &b"f"[..]));
    }
}
