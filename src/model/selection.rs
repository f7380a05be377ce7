//! Which functions of a profile are written.
//!
//! Which functions a merge keeps: `--function` and `--no-function`.
//!
//! The patterns are POSIX extended regular expressions, searched anywhere in
//! the name (for local functions of IR profiles in `file;name` as a whole).
//!
//! Renaming functions while they are read: the remapping file.

use super::functions::FunctionView;
use super::posix;
use crate::digits::number_of;
use crate::error::{Error, Result};
use crate::expressions::Regex;
use crate::names::colon_form;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A test of a function's name.
pub type NameTest<'a> = &'a (dyn Fn(&[u8]) -> bool + Sync);

/// Chooses functions at output; the profile itself stays whole, since what is
/// left out still decides the order of the rest in files of older releases.
#[derive(Clone, Copy, Default)]
#[non_exhaustive]
pub struct Selection<'a> {
    /// Leaves out functions of which every record is all zero. Default: `false`.
    pub sparse: bool,
    /// Keeps only the names that pass; `None` keeps all.
    pub names: Option<NameTest<'a>>,
}

impl<'a> Selection<'a> {
    /// Everything.
    pub fn all() -> Self {
        Self::default()
    }

    /// Everything, or everything that ever ran.
    #[must_use]
    pub fn sparse(mut self, sparse: bool) -> Self {
        self.sparse = sparse;
        self
    }

    /// Only names that pass the test.
    #[must_use]
    pub fn names(mut self, test: NameTest<'a>) -> Self {
        self.names = Some(test);
        self
    }

    /// Whether the name alone lets the function in.
    pub fn keeps_name(&self, name: &[u8]) -> bool {
        self.names.is_none_or(|test| test(name))
    }

    /// Whether the function is written.
    pub fn keeps(&self, function: FunctionView<'_>) -> bool {
        self.keeps_name(function.name()) && !(self.sparse && function.records().all(|record| record.is_all_zero()))
    }
}

impl fmt::Debug for Selection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selection").field("sparse", &self.sparse).field("names", &self.names.is_some()).finish()
    }
}

/// Keeps the functions that match one pattern and do not match another.
#[derive(Debug, Clone, Default)]
pub struct FunctionFilter {
    keep: Option<Regex>,
    drop: Option<Regex>,
    /// The names of functions in the inputs, by their current names.
    former_names: Arc<HashMap<Vec<u8>, Vec<u8>>>,
    /// Functions that filters of earlier runs left out.
    left_out: Arc<HashSet<Vec<u8>>>,
}

impl FunctionFilter {
    /// Compiles the two patterns; an empty one is none at all.
    ///
    /// # Errors
    ///
    /// Usage, with LLVM's text, for a pattern that is not valid.
    pub fn new(keep: Option<&str>, drop: Option<&str>) -> Result<Self> {
        let compile = |pattern: Option<&str>| match pattern {
            None | Some("") => Ok(None),
            Some(pattern) => compile(pattern).map(Some),
        };
        Ok(Self { keep: compile(keep)?, drop: compile(drop)?, former_names: Arc::default(), left_out: Arc::default() })
    }

    /// Also looks at the names that functions had in the inputs: new name → old
    /// name, for those that were renamed.
    #[must_use]
    pub fn former_names(mut self, names: HashMap<Vec<u8>, Vec<u8>>) -> Self {
        self.former_names = Arc::new(names);
        self
    }

    /// Leaves out functions that an earlier run left out already.
    #[must_use]
    pub fn without(mut self, names: HashSet<Vec<u8>>) -> Self {
        self.left_out = Arc::new(names);
        self
    }

    /// Whether every function is kept.
    pub fn is_none(&self) -> bool {
        self.keep.is_none() && self.drop.is_none() && self.left_out.is_empty()
    }

    /// Whether the function of that name is kept.
    pub fn keeps(&self, name: &[u8]) -> bool {
        let former = if self.former_names.is_empty() { None } else { self.former_names.get(name) };
        let matches = |pattern: &Regex| pattern.is_match(name) || former.is_some_and(|former| pattern.is_match(former));
        let was_left_out = !self.left_out.is_empty() && self.left_out.contains(former.map_or(name, Vec::as_slice));
        !was_left_out && self.keep.as_ref().is_none_or(matches) && !self.drop.as_ref().is_some_and(matches)
    }
}

/// A pattern that begins with `?` is a name as Microsoft's compilers mangle
/// them, and taken literally (no expression can begin with `?`).
fn compile(pattern: &str) -> Result<Regex> {
    if pattern.starts_with('?') {
        posix::compile_literal(pattern.as_bytes())
    } else {
        posix::compile(pattern.as_bytes())
    }
}

/// Old name → new name. Clones share the record of the rules that were used.
#[derive(Debug, Clone, Default)]
pub struct Remapping {
    /// Whether it was parsed. llvm-profdata's remapping has effects without any rule, too.
    is_given: bool,
    names: Arc<Names<Rule>>,
    /// The old names that have the form of LLVM 18 and later, by their earlier form.
    later_forms: Arc<Names<Vec<u8>>>,
}

type Names<T> = hashbrown::HashMap<Vec<u8>, T, foldhash::fast::RandomState>;

/// The rule for a name.
#[derive(Debug, Default)]
struct Rule {
    /// The new name; `None` for a name that only is the new name of others.
    new: Option<Vec<u8>>,
    /// Whether an input had the name.
    is_used: AtomicBool,
}

impl Remapping {
    /// Parses lines `OLD NEW` with one blank between. Empty lines and lines
    /// that begin with `#` are skipped; when OLD occurs twice the first counts.
    ///
    /// # Errors
    ///
    /// Usage with the line's number as its section, and a hint with the form
    /// that is expected.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let (mut names, mut later_forms) = (Names::<Rule>::default(), Names::default());
        for (index, line) in text.split(|b| *b == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() || line[0] == b'#' {
                continue;
            }
            let mut words = line.split(|b| *b == b' ');
            match (words.next(), words.next(), words.next()) {
                (Some(old), Some(new), None) if !old.is_empty() && !new.is_empty() => {
                    let rule = || Rule { new: Some(new.to_vec()), ..Rule::default() };
                    names.entry(old.to_vec()).or_insert_with(rule);
                    if let Some(form) = colon_form(old) {
                        later_forms.entry(form).or_insert_with(|| old.to_vec());
                    }
                }
                _ => {
                    let error = Error::usage("unexpected line in remapping file");
                    return Err(error.at_line(index as u64 + 1).with_hint("expected 'old_symbol new_symbol'"));
                }
            }
        }
        let targets: Vec<Vec<u8>> = names.values().filter_map(|rule| rule.new.clone()).collect();
        for target in targets {
            names.entry(target).or_default();
        }
        Ok(Self { is_given: true, names: Arc::new(names), later_forms: Arc::new(later_forms) })
    }

    /// The new names of all rules.
    pub(crate) fn new_names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.values().filter_map(|rule| rule.new.as_deref())
    }

    /// The name that `name` gets; itself when it is not mentioned.
    pub fn apply<'a>(&'a self, name: &'a [u8]) -> &'a [u8] {
        let Some(rule) = self.names.get(name) else { return name };
        rule.is_used.store(true, Ordering::Relaxed);
        rule.new.as_deref().unwrap_or(name)
    }

    /// Like [`apply`](Self::apply), but the rule for a local function also counts for the form that its name has in
    /// profiles of other releases, unless that form has its own rule.
    pub(crate) fn apply_to_forms<'a>(&'a self, name: &'a [u8]) -> &'a [u8] {
        let is_rule = |old: &[u8]| self.names.get(old).is_some_and(|rule| rule.new.is_some());
        if is_rule(name) {
            return self.apply(name);
        }
        let later = self.later_forms.get(name).cloned();
        match later.or_else(|| colon_form(name)).filter(|form| is_rule(form)) {
            Some(form) => self.names.get_key_value(&form).map_or(name, |(old, _)| self.apply(old)),
            None => self.apply(name),
        }
    }

    /// Rejects a name of a partial merge that a rule would rename: functions are renamed when their profile is read.
    pub(crate) fn require_unchanged(&self, name: &[u8]) -> Result<()> {
        match self.apply_to_forms(name) == name {
            true => Ok(()),
            false => {
                let name = String::from_utf8_lossy(name);
                let error = Error::usage(format!("a partial merge cannot be renamed, but it has the function {name}"));
                Err(error.with_hint("rename functions when you write the partial merge"))
            }
        }
    }

    /// Returns notes about rules without effect and about functions that got the same name, after all inputs were read.
    pub fn notes(&self) -> Vec<String> {
        let rules = || self.names.iter().filter_map(|(old, rule)| Some((old, rule.new.as_ref()?, rule)));
        let is_used = |rule: &Rule| rule.is_used.load(Ordering::Relaxed);
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let mut notes = Vec::new();
        if let Some(first) = rules().filter(|(.., rule)| !is_used(rule)).map(|(old, ..)| old).min() {
            let unused = rules().filter(|(.., rule)| !is_used(rule)).count();
            let all = number_of(rules().count(), "rule");
            let verb = if unused == 1 { "matches" } else { "match" };
            notes.push(format!("{unused} of {all} {verb} no name of the inputs, such as {}", text(first)));
        }
        let mut sources: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
        for (name, rule) in self.names.iter().filter(|(_, rule)| is_used(rule)) {
            sources.entry(rule.new.as_ref().unwrap_or(name)).or_default().push(name);
        }
        sources.retain(|_, names| names.len() > 1);
        if let Some((new, names)) =
            sources.first_entry().map(|mut entry| (*entry.key(), std::mem::take(entry.get_mut())))
        {
            let joined = number_of(sources.len(), "name");
            let mut names: Vec<String> = names.into_iter().map(text).collect();
            names.sort();
            notes.push(format!("{joined} joined several functions: {} was {}", text(new), names.join(" and ")));
        }
        notes
    }

    /// Whether a file was parsed, even one without rules.
    pub(crate) fn is_given(&self) -> bool {
        self.is_given
    }

    /// Whether no name is mentioned.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use crate::model::selection::*;

    #[test]
    fn the_negative_pattern_wins() {
        let filter = FunctionFilter::new(Some("^main|helper"), Some("er$")).unwrap();
        let kept: Vec<_> =
            ["main", "main2", "a.c;helper2", "helper"].iter().filter(|n| filter.keeps(n.as_bytes())).collect();
        assert_eq!(kept, [&"main", &"main2", &"a.c;helper2"]);
        assert!(!filter.is_none());
    }

    #[test]
    fn a_pattern_finds_a_function_under_its_former_name() {
        let former = HashMap::from([(b"a.c:f".to_vec(), b"a.c;f".to_vec())]);
        let filter = |keep, drop| FunctionFilter::new(keep, drop).unwrap().former_names(former.clone());
        assert!(filter(Some("a.c;f"), None).keeps(b"a.c:f") && filter(Some("a.c:f"), None).keeps(b"a.c:f"));
        assert!(!filter(Some("a.c;f"), None).keeps(b"a.c:g"));
        assert!(!filter(None, Some(";")).keeps(b"a.c:f") && filter(None, Some(";")).keeps(b"b.c:f"));
    }

    #[test]
    fn empty_patterns_filter_nothing() {
        let filter = FunctionFilter::new(Some(""), None).unwrap();
        assert!(filter.is_none() && filter.keeps(b"anything"));
    }

    #[test]
    fn microsoft_names_are_literal() {
        let filter = FunctionFilter::new(Some("?f@@YAHH@Z"), None).unwrap();
        assert!(filter.keeps(b"?f@@YAHH@Z") && !filter.keeps(b"f@@YAHH@Z"));
        // Literal as a whole, whatever else is in it: as llvm-profdata 22 does.
        let filter = FunctionFilter::new(Some("?ma+"), None).unwrap();
        assert!(filter.keeps(b"?ma+x") && !filter.keeps(b"?maaa"));
    }
}

#[cfg(test)]
mod remap_tests {
    use crate::model::selection::*;

    #[test]
    fn the_first_line_for_a_name_counts() {
        let remapping = Remapping::parse(b"# comment\n\nold new\r\nold newer\na.c;f b.c;f\n").unwrap();
        assert_eq!(remapping.apply(b"old"), b"new");
        assert_eq!(remapping.apply(b"a.c;f"), b"b.c;f");
        assert_eq!(remapping.apply(b"other"), b"other");
        assert!(!remapping.is_empty());
    }

    #[test]
    fn unused_rules_and_joined_names_are_noted() {
        let remapping = Remapping::parse(b"gone x\nlost y\nmain apply\nold new\n").unwrap();
        for name in ["main", "apply", "old", "other"] {
            remapping.clone().apply(name.as_bytes());
        }
        let notes = remapping.notes();
        assert_eq!(notes[0], "2 of 4 rules match no name of the inputs, such as gone");
        assert_eq!(notes[1..], ["1 name joined several functions: apply was apply and main"]);
        let remapping = Remapping::parse(b"old new\n").unwrap();
        remapping.apply(b"old");
        assert!(remapping.notes().is_empty());
    }

    #[test]
    fn a_line_must_have_two_words() {
        for bad in ["one", "a b c", "a  b", " a", "a ", " "] {
            let failure = Remapping::parse(format!("x y\n{bad}\n").as_bytes()).unwrap_err();
            assert_eq!(failure.line(), Some(2), "{bad:?}");
            assert_eq!(failure.hint(), Some(&"expected 'old_symbol new_symbol'".into()));
        }
    }
}
