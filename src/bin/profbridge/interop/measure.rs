//! The counts that a compiler or llvm-cov takes from a profile, found in their output.

use super::kind::Kind;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The counts that a tool used.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Used {
    /// By function: the entry count, the sum of all values, and the values in order. For kinds whose numbers differ
    /// between compilers, only a 1.
    pub(super) counts: BTreeMap<String, Vec<u64>>,
    /// The functions that the compiler keeps; `None` if the tool has no list of them.
    pub(super) defined: Option<BTreeSet<String>>,
    /// The functions that each function calls directly if every count is a hot one.
    pub(super) direct_calls: BTreeMap<String, BTreeSet<String>>,
    /// The warnings of the compiler.
    pub(super) warnings: BTreeSet<String>,
}

/// Returns the warnings in the messages of a compiler.
pub(super) fn warnings(messages: &str) -> BTreeSet<String> {
    messages.lines().filter(|line| line.contains("warning:")).map(str::to_string).collect()
}

/// Reads LLVM's assembly: the counts that the compiler attached to functions and calls.
pub(super) fn of_assembly(kind: Kind, text: &str) -> Used {
    let metadata = Metadata::read(text);
    let mut used = Used { defined: Some(BTreeSet::new()), ..Used::default() };
    for function in functions(text) {
        let name = function.name.to_string();
        let counts = match kind {
            Kind::Memprof => metadata.allocations(&function),
            Kind::Vtables => metadata.values(&function, 2),
            Kind::Sample => metadata.entry(&function).map(|_| vec![1]),
            Kind::Fe => metadata.entry(&function).map(|entry| vec![entry]),
            _ => metadata.entry(&function).map(|entry| {
                let values = metadata.values(&function, 0).unwrap_or_default();
                let sum = values.iter().fold(0, |sum: u64, value| sum.saturating_add(*value));
                [vec![entry, sum], values].concat()
            }),
        };
        if let Some(counts) = counts.filter(|counts| counts.iter().any(|count| *count > 0)) {
            used.counts.insert(name.clone(), counts);
        }
        used.defined.get_or_insert_default().insert(name);
    }
    used
}

/// Returns the functions that each function of an assembly calls by name.
pub(super) fn direct_calls(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let callee = |line: &&str| {
        let (_, call) = line.split_once("call ")?;
        let (_, name) = call.split_once('@')?;
        let name = name_at(name);
        (!name.starts_with("llvm.")).then(|| name.to_string())
    };
    functions(text)
        .map(|function| (function.name.to_string(), function.lines.iter().filter_map(callee).collect()))
        .collect()
}

/// Reads the JSON of llvm-cov: the execution counts of functions and their regions, or of conditions.
pub(super) fn of_coverage(kind: Kind, text: &str) -> Option<Used> {
    let document: Value = serde_json::from_str(text).ok()?;
    let mut used = Used::default();
    for function in document["data"][0]["functions"].as_array()? {
        let name = function["name"].as_str()?;
        let mut counts = vec![function["count"].as_u64()?];
        // A function with a hash that is not in the profile has no counts.
        if counts[0] == 0 {
            continue;
        }
        match kind {
            Kind::Mcdc => counts.extend(function["mcdc_records"].as_array().into_iter().flatten().flat_map(conditions)),
            _ => counts.extend(function["regions"].as_array()?.iter().filter_map(|region| region[4].as_u64())),
        }
        used.counts.insert(name.to_string(), counts);
    }
    Some(used)
}

/// Returns which conditions of a decision are covered: the list of truth values in a record of llvm-cov.
fn conditions(record: &Value) -> Vec<u64> {
    let is_list = |member: &&Value| member.as_array().is_some_and(|list| list.iter().all(Value::is_boolean));
    let list = record.as_array().and_then(|members| members.iter().filter(|member| member.is_array()).find(is_list));
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|covered| u64::from(covered == &Value::Bool(true)))
        .collect()
}

/// Reads the output of `llvm-profdata order`: one function per line. LLVM 18 and later leave a part of the file before
/// the function if the name of the file has a semicolon.
pub(super) fn of_order(text: &str) -> Used {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let names = lines.map(|line| line.rsplit(';').next().unwrap_or(line));
    Used { counts: names.map(|name| (name.to_string(), vec![1])).collect(), ..Used::default() }
}

/// A function that is defined in an assembly.
struct Function<'a> {
    name: &'a str,
    definition: &'a str,
    lines: Vec<&'a str>,
}

fn functions(text: &str) -> impl Iterator<Item = Function<'_>> {
    let mut lines = text.lines();
    std::iter::from_fn(move || {
        loop {
            let definition = lines.next()?;
            let Some((_, rest)) = definition.strip_prefix("define ").and_then(|rest| rest.split_once('@')) else {
                continue;
            };
            let lines = lines.by_ref().take_while(|line| *line != "}").collect();
            return Some(Function { name: name_at(rest), definition, lines });
        }
    })
}

/// Returns the name after `@`. Names with unusual characters are in quotation marks.
fn name_at(text: &str) -> &str {
    match text.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or_default(),
        None => text.split(['(', ' ', ',', ')']).next().unwrap_or_default(),
    }
}

/// The nodes and attributes at the end of an assembly.
struct Metadata<'a> {
    entries: BTreeMap<&'a str, u64>,
    values: BTreeMap<&'a str, Vec<u64>>,
    /// Attributes of allocations with a memory profile.
    allocations: BTreeSet<&'a str>,
}

impl<'a> Metadata<'a> {
    fn read(text: &'a str) -> Self {
        let mut metadata = Self { entries: BTreeMap::new(), values: BTreeMap::new(), allocations: BTreeSet::new() };
        for line in text.lines() {
            if let Some((number, content)) = line.strip_prefix("attributes #").and_then(|line| line.split_once(" = ")) {
                if content.contains("\"memprof\"=") {
                    metadata.allocations.insert(number);
                }
                continue;
            }
            let Some((number, content)) = line.strip_prefix('!').and_then(|line| line.split_once(" = !{!")) else {
                continue;
            };
            let numbers = || content.trim_end_matches('}').split(',').skip(1).filter_map(number_of_word);
            if content.starts_with("\"function_entry_count\"") {
                metadata.entries.extend(numbers().next().map(|entry| (number, entry)));
            } else if content.starts_with("\"VP\"") {
                metadata.values.insert(number, numbers().collect());
            }
        }
        metadata
    }

    /// Returns the entry count of a function. Compilers mark functions that a sample profile does not have with the
    /// highest number.
    fn entry(&self, function: &Function) -> Option<u64> {
        self.entries.get(node(function.definition, "!prof !")?).copied().filter(|entry| *entry != u64::MAX)
    }

    /// Returns all counts of values of a kind in a function, in order.
    fn values(&self, function: &Function, kind: u64) -> Option<Vec<u64>> {
        let mut all = Vec::new();
        for line in &function.lines {
            let values = node(line, "!prof !").and_then(|number| self.values.get(number));
            // The kind, the total, and pairs of value and count.
            if let Some([found, _, pairs @ ..]) = values.map(Vec::as_slice)
                && *found == kind
            {
                // Some releases list a value several times, others join its counts.
                let mut sums: BTreeMap<u64, u64> = BTreeMap::new();
                for pair in pairs.chunks_exact(2) {
                    let sum = sums.entry(pair[0]).or_default();
                    *sum = sum.saturating_add(pair[1]);
                }
                all.extend(sums.into_values());
            }
        }
        all.sort_unstable();
        (!all.is_empty()).then_some(all)
    }

    /// Returns a 1 if a function has an allocation with a memory profile.
    fn allocations(&self, function: &Function) -> Option<Vec<u64>> {
        let has_attribute = |line: &str| node(line, ") #").is_some_and(|number| self.allocations.contains(number));
        let has_profile = |line: &&&str| line.contains("call ") && (line.contains("!memprof !") || has_attribute(line));
        function.lines.iter().find(has_profile).map(|_| vec![1])
    }
}

/// Returns the number after a mark.
fn node<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(mark)?;
    Some(rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default()).filter(|number| !number.is_empty())
}

/// Returns the number in ` i64 -5`. LLVM prints hashes with a sign.
fn number_of_word(word: &str) -> Option<u64> {
    let number: i128 = word.trim().rsplit_once(' ')?.1.parse().ok()?;
    Some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASSEMBLY: &str = "define dso_local i32 @main(i32 %0) #0 !prof !7 {
  %3 = load ptr, ptr %0, align 8, !prof !9
  call void %3(i32 1), !prof !8
  %4 = tail call ptr @_Znwm(i64 8) #5
  call void @left(i32 1)
}
define internal void @\"a b\"(i32 %0) #1 {
  call void @llvm.assume(i1 true)
}
attributes #5 = { builtin \"memprof\"=\"notcold\" }
!7 = !{!\"function_entry_count\", i64 12}
!8 = !{!\"VP\", i32 0, i64 12, i64 -5, i64 7, i64 6, i64 5}
!9 = !{!\"VP\", i32 2, i64 12, i64 -5, i64 12}
";

    #[test]
    fn counts_are_found_in_an_assembly() {
        let counts = |kind| of_assembly(kind, ASSEMBLY).counts.get("main").cloned();
        assert_eq!(counts(Kind::Ir), Some(vec![12, 12, 5, 7]));
        assert_eq!(counts(Kind::Fe), Some(vec![12]));
        assert_eq!(counts(Kind::Vtables), Some(vec![12]));
        assert_eq!(counts(Kind::Memprof), Some(vec![1]));
        let used = of_assembly(Kind::Ir, ASSEMBLY);
        assert_eq!(used.counts.len(), 1);
        assert_eq!(used.defined, Some(["a b", "main"].map(String::from).into()));
        let calls = direct_calls(ASSEMBLY);
        assert_eq!(calls["main"], ["_Znwm", "left"].map(String::from).into());
        assert!(calls["a b"].is_empty());
    }

    #[test]
    fn values_that_are_listed_twice_count_as_one() {
        let counts = |pairs: &str| {
            let text = format!(
                "define void @f() {{\n  %1 = load ptr, ptr %0, !prof !9\n}}\n!9 = !{{!\"VP\", i32 2, i64 200, {pairs}}}\n"
            );
            of_assembly(Kind::Vtables, &text).counts.remove("f")
        };
        let joined = counts("i64 0, i64 150, i64 -5, i64 50");
        assert_eq!(joined, Some(vec![50, 150]));
        assert_eq!(counts("i64 0, i64 50, i64 -5, i64 50, i64 0, i64 60, i64 0, i64 40"), joined);
        assert_ne!(counts("i64 0, i64 50, i64 -5, i64 50, i64 0, i64 50"), joined);
    }

    #[test]
    fn counts_are_found_in_the_output_of_llvm_cov() {
        let text = r#"{"data":[{"functions":[
            {"name":"f","count":3,"regions":[[1,2,3,4,3,0,0,0],[1,2,3,4,1,0,0,0]],
             "mcdc_records":[[5,33,5,47,1,1,0,0,5,[true,false],[{"executed":true}]]]},
            {"name":"g","count":0,"regions":[]}]}]}"#;
        let counts = |kind| of_coverage(kind, text).unwrap().counts;
        assert_eq!(counts(Kind::Coverage), [("f".to_string(), vec![3, 3, 1])].into());
        assert_eq!(counts(Kind::Mcdc), [("f".to_string(), vec![3, 1, 0])].into());
        assert_eq!(of_coverage(Kind::Mcdc, "{}"), None);
        assert_eq!(of_order("# Ordered\nmain\n\nleft\n").counts.len(), 2);
        assert_eq!(of_order("names.c;hundred\n"), of_order("# local;names.c\nhundred\n"));
    }
}
