//! Which functions of a profile are written.

use crate::model::functions::FunctionView;
use std::fmt;

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
