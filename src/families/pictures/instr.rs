//! Drawings of LLVM instrumentation profiles, which have no stacks.

use crate::error::{Error, ErrorKind, Result};
use crate::families::describe::instr::describe;
use crate::families::merge::{InputOutcome, MergeOptions, merge_files};
use crate::families::pictures::drawing::{Drawing, Drawn, of_kind};
use crate::families::read::stacks::StackOptions;
use crate::input::{Access, Format, Input};
use crate::instr::cross_release::Candidates;
use crate::limits::Limits;
use crate::model::{Profile, SymbolTable};
use crate::render::{Report, from_llvm};
use crate::stacks::model::{Selection, StackTable};

/// LLVM profiles.
#[derive(Debug)]
pub struct InstrContent {
    /// What the first of the files is, in words.
    pub source: String,
    /// Their sum.
    pub profile: Profile,
}

/// Reads LLVM profiles.
pub(crate) fn draw(inputs: &[Input], options: &StackOptions, _: &Selection) -> Result<Drawn> {
    let source = match inputs.first() {
        Some(first) => words_of(&first.bytes(Access::Read, &options.limits)?, first.format()?, &options.limits),
        None => return Err(Error::usage("no input files")),
    };
    let mut merge = MergeOptions { keep_vtable_names: true, ..MergeOptions::default() };
    merge.read.limits = options.limits;
    let report = merge_files(inputs, &merge, &mut |_, _| {})?;
    let mut warnings = Vec::new();
    for input in report.inputs {
        match input.outcome {
            InputOutcome::Failed(error) => return Err(error),
            InputOutcome::Empty => return Err(Error::new(ErrorKind::EmptyProfile).in_file(&input.input.path)),
            _ => warnings.extend(input.warnings),
        }
    }
    Ok((Box::new(InstrContent { source, profile: report.profile }), warnings))
}

/// What an LLVM profile is, with its version.
fn words_of(data: &[u8], format: Format, limits: &Limits) -> String {
    let words = format.to_string();
    let described = describe(data, format, limits);
    match described.parts.iter().find_map(|part| part.version.clone()) {
        Some(version) if !words.contains(&version) => format!("{words}, version {version}"),
        _ => words,
    }
}

impl Drawing for InstrContent {
    fn stacks(&self) -> Option<(&StackTable, &'static str)> {
        None
    }

    fn with_stacks(self: Box<Self>, _: &dyn Fn(&StackTable) -> Result<StackTable>) -> Result<Box<dyn Drawing>> {
        Ok(self)
    }

    fn report(&self, title: &str, baseline: Option<&(dyn Drawing + 'static)>) -> Option<Report> {
        let old = of_kind::<Self>(baseline)?.map(|old| &old.profile);
        let symbols = symbols(&self.profile);
        let following = old.map(|old| Candidates::of([&self.profile, old]).following()).unwrap_or_default();
        if following.is_empty() {
            return Some(from_llvm::report(title, &self.source, &self.profile, &symbols, old));
        }
        let now = following.apply(self.profile.clone());
        let old = old.map(|old| following.apply(old.clone()));
        Some(from_llvm::report(title, &self.source, &now, &symbols, old.as_ref()))
    }
}

/// Names that value sites may refer to beside functions.
fn symbols(profile: &Profile) -> SymbolTable {
    let mut symbols = SymbolTable::new();
    for name in &profile.vtable_names {
        symbols.insert(name);
    }
    symbols
}
