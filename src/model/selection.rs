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
use crate::error::{Error, Result};
use crate::expressions::Regex;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

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

/// Old name → new name.
#[derive(Debug, Clone, Default)]
pub struct Remapping {
    names: hashbrown::HashMap<Vec<u8>, Vec<u8>, foldhash::fast::RandomState>,
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
        let mut remapping = Self::default();
        for (index, line) in text.split(|b| *b == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() || line[0] == b'#' {
                continue;
            }
            let mut words = line.split(|b| *b == b' ');
            match (words.next(), words.next(), words.next()) {
                (Some(old), Some(new), None) if !old.is_empty() && !new.is_empty() => {
                    remapping.names.entry(old.to_vec()).or_insert_with(|| new.to_vec());
                }
                _ => {
                    let error = Error::usage("unexpected line in remapping file");
                    return Err(error.at_line(index as u64 + 1).with_hint("expected 'old_symbol new_symbol'"));
                }
            }
        }
        Ok(remapping)
    }

    /// The name that `name` gets; itself when it is not mentioned.
    pub fn apply<'a>(&'a self, name: &'a [u8]) -> &'a [u8] {
        self.names.get(name).map_or(name, Vec::as_slice)
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
    fn a_line_must_have_two_words() {
        for bad in ["one", "a b c", "a  b", " a", "a ", " "] {
            let failure = Remapping::parse(format!("x y\n{bad}\n").as_bytes()).unwrap_err();
            assert_eq!(failure.line(), Some(2), "{bad:?}");
            assert_eq!(failure.hint(), Some(&"expected 'old_symbol new_symbol'".into()));
        }
    }
}
