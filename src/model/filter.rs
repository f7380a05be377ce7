//! Which functions a merge keeps: `--function` and `--no-function`.
//!
//! The patterns are POSIX extended regular expressions, searched anywhere in
//! the name (for local functions of IR profiles in `file;name` as a whole).

use crate::error::Result;
use crate::model::posix;
use regex::bytes::Regex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Keeps the functions that match one pattern and do not match another.
#[derive(Debug, Clone, Default)]
pub struct FunctionFilter {
    keep: Option<Regex>,
    drop: Option<Regex>,
    /// What functions were called in the inputs, by their names now.
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

#[cfg(test)]
mod tests {
    use super::*;

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
