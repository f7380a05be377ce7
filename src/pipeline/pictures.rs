//! The report and the flame graph of any input.

use super::ask::{describe, diff_files};
use super::diff_stacks::{are_stacks, diff_stacks};
use super::memory_stacks::MemoryContent;
use super::merge::{InputOutcome, MergeOptions, Silent, merge_files};
use super::sample_stacks::{SampleContent, SampleSum};
use super::samples::{StackOptions, add_file, add_input, check_units, read_iprof, unit_of, without_addresses};
use crate::bridge::stacks::{IprofHits, stacks_from_iprof};
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::hint::Hint;
use crate::input::{Access, Family, Format, Input};
use crate::instr::{Profile, SymbolTable};
use crate::iprof::Document;
use crate::limits::Limits;
use crate::render::{
    Cell, FlameGraph, Report, SvgOptions, Table, from_iprof, from_llvm, from_memory, from_samples, from_stacks,
    least_hits,
};
use crate::report::diff::{DiffOptions, SectionDiff};
use crate::report::stacks::{MethodPattern, functions_meant};
use crate::stacks::collapsed::{SIMPLE_NAMES, outline};
use crate::stacks::model::{FunctionId, Selection, StackTable, Unit};
use std::collections::HashSet;
use std::path::Path;

/// What was read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Content {
    /// Sampled stacks.
    Stacks(Box<StackTable>),
    /// An iprof.
    Iprof(Box<IprofContent>),
    /// A memory profile.
    Memory(Box<MemoryContent>),
    /// LLVM sample profiles.
    Samples(Box<SampleContent>),
    /// An LLVM profile.
    Llvm {
        /// What the files are, in words.
        source: String,
        /// Their sum.
        profile: Box<Profile>,
    },
}

/// An iprof, with its two sections of one number an entry as stacks.
#[derive(Debug)]
pub struct IprofContent {
    /// The document.
    pub document: Document,
    /// Its `samplingProfiles`.
    pub samples: StackTable,
    /// Its `callCountProfiles`.
    pub calls: StackTable,
}

/// Reads inputs for a picture. Several inputs add up: stacks of any source,
/// memory profiles, sample profiles, or LLVM profiles, but one iprof at a time.
///
/// # Errors
///
/// What the readers find wrong; usage errors for inputs that do not add up.
pub fn read_content(
    inputs: &[Input],
    options: &StackOptions,
    selection: &Selection,
) -> Result<(Content, Vec<Warning>)> {
    if let Some(content) = read_samples(inputs, options)? {
        return Ok((content, Vec::new()));
    }
    let mut table = StackTable::new();
    let mut warnings = Vec::new();
    let (mut stacks, mut llvm) = (0usize, Vec::new());
    let (mut memory, mut memory_profiles) = (MemoryContent::default(), 0usize);
    for input in inputs {
        let (path, format) = (&input.path, input.format()?);
        if format == Format::Jfr {
            stacks += 1;
            let found = add_file(input, options, &mut table).map_err(|error| error.in_file(path))?;
            warnings.extend(in_file(found, path));
            continue;
        }
        let data = input.bytes(Access::Read, &options.limits)?;
        if options.memory.is_drawn(&data, &options.limits) {
            memory_profiles += 1;
            options.memory.add(&data, &options.limits, &mut memory).map_err(|error| error.in_file(path))?;
            continue;
        }
        match format.family() {
            Some(Family::Iprof) => {
                if inputs.len() > 1 {
                    let detail = "an iprof is shown alone";
                    return Err(Error::usage(detail).with_hint(Hint::MergeFirst).in_file(path));
                }
                let (document, found) = read_iprof(&data, &options.limits).map_err(|error| error.in_file(path))?;
                return Ok((iprof_content(document), in_file(found, path)));
            }
            Some(Family::Stacks) => {
                stacks += 1;
                let found = add_input(&data, options, &mut table).map_err(|error| error.in_file(path))?;
                warnings.extend(in_file(found, path));
            }
            _ => llvm.push((path, words_of(&data, &options.limits))),
        }
    }
    if memory_profiles != 0 {
        if memory_profiles != inputs.len() {
            return Err(Error::usage("memory profiles and others do not add up"));
        }
        return Ok((Content::Memory(Box::new(memory)), warnings));
    }
    match (stacks, llvm.first()) {
        (0, Some((_, source))) => {
            let (profile, found) = read_llvm(inputs, options)?;
            Ok((Content::Llvm { source: source.clone(), profile: Box::new(profile) }, found))
        }
        (0, None) => Err(Error::usage("no input files")),
        (_, Some((path, source))) => Err(Error::usage(format!("{source} and stacks do not add up")).in_file(path)),
        (_, None) => {
            check_units(&table)?;
            let selected = table.select(selection).0;
            unit_of(&selected)?;
            Ok((Content::Stacks(Box::new(without_addresses(&selected))), warnings))
        }
    }
}

/// Bytes from which a text is outlined, where that is enough.
const OUTLINED_BYTES: u64 = 8 << 20;

/// The flame graph of a large collapsed text as far as a drawing shows it, in much
/// less time and memory than [`read_content`] takes. `None` for everything else.
///
/// # Errors
///
/// I/O errors with the path.
pub fn outlined_graph(
    input: &Input,
    options: &StackOptions,
    svg: &SvgOptions,
) -> Result<Option<(FlameGraph, Vec<Warning>)>> {
    let path = &input.path;
    let is_large = std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() >= OUTLINED_BYTES);
    let has_time = options.recording.from.is_some() || options.recording.to.is_some();
    if !is_large || has_time || svg.min_width < LEAST_WIDTH || input.format()? != Format::Collapsed {
        return Ok(None);
    }
    let data = input.bytes(Access::Read, &options.limits)?;
    let Some(found) = outline(&data, &options.text, &options.limits, |total| least_hits(total, svg)) else {
        return Ok(None);
    };
    let warning = found.simple_names.then(|| Warning::new(SIMPLE_NAMES).in_file(path));
    Ok(Some((FlameGraph::from_outline(&found, Unit::Hits.word()), warning.into_iter().collect())))
}

/// Width in pixels below which too much is drawn for an outline to help.
const LEAST_WIDTH: f64 = 0.02;

/// What an LLVM profile is, with its version.
fn words_of(data: &[u8], limits: &Limits) -> String {
    let format = crate::input::detect(data).to_string();
    let described = describe(data, limits);
    match described.parts.iter().find_map(|part| part.version.clone()) {
        Some(version) if !format.contains(&version) => format!("{format}, version {version}"),
        _ => format,
    }
}

/// The sum of sample profiles, if the first input is one.
fn read_samples(inputs: &[Input], options: &StackOptions) -> Result<Option<Content>> {
    let Some(first) = inputs.first() else { return Ok(None) };
    if first.family()? != Some(Family::SampleProf) {
        return Ok(None);
    }
    let mut content = SampleSum::default();
    for input in inputs {
        let data = input.bytes(Access::Read, &options.limits)?;
        content.add(&data, &options.limits).map_err(|error| error.in_file(&input.path))?;
    }
    Ok(Some(Content::Samples(Box::new(content.finish()))))
}

fn in_file(warnings: Vec<Warning>, path: &Path) -> Vec<Warning> {
    warnings.into_iter().map(|warning| warning.in_file(path)).collect()
}

fn iprof_content(document: Document) -> Content {
    let (samples, _) = stacks_from_iprof(&document, IprofHits::Samples);
    let (calls, _) = stacks_from_iprof(&document, IprofHits::CallCounts);
    Content::Iprof(Box::new(IprofContent { document, samples: without_addresses(&samples), calls }))
}

fn read_llvm(inputs: &[Input], options: &StackOptions) -> Result<(Profile, Vec<Warning>)> {
    let mut merge = MergeOptions { keep_vtable_names: true, ..MergeOptions::default() };
    merge.read.limits = options.limits;
    let report = merge_files(inputs, &merge, &mut Silent)?;
    let mut warnings = Vec::new();
    for input in report.inputs {
        match input.outcome {
            InputOutcome::Failed(error) => return Err(error),
            InputOutcome::Empty => return Err(Error::new(ErrorKind::EmptyProfile).in_file(&input.input.path)),
            _ => warnings.extend(input.warnings),
        }
    }
    Ok((report.profile, warnings))
}

impl Content {
    /// The content with other stacks; what has none stays as it is.
    #[must_use]
    pub fn map_stacks(self, map: impl Fn(&StackTable) -> StackTable) -> Self {
        match self {
            Self::Stacks(table) => Self::Stacks(Box::new(map(&table))),
            Self::Iprof(content) => Self::Iprof(Box::new(IprofContent {
                samples: map(&content.samples),
                calls: map(&content.calls),
                document: content.document,
            })),
            Self::Memory(content) => Self::Memory(Box::new(MemoryContent { table: map(&content.table), ..*content })),
            Self::Samples(content) => Self::Samples(Box::new(content.map_stacks(map))),
            other @ Self::Llvm { .. } => other,
        }
    }

    /// The report, perhaps compared with another content of the same kind.
    ///
    /// # Errors
    ///
    /// A usage error when the two are of different kinds.
    pub fn report(&self, title: &str, baseline: Option<&Self>) -> Result<Report> {
        Ok(match (self, baseline) {
            (Self::Stacks(table), None) => from_stacks::report(title, table, None),
            (Self::Stacks(table), Some(Self::Stacks(old))) => from_stacks::report(title, table, Some(old)),
            (Self::Stacks(table), Some(Self::Iprof(old))) if !old.samples.is_empty() => {
                from_stacks::report(title, table, Some(&old.samples))
            }
            (Self::Iprof(content), None) => from_iprof::report(title, content.view(), None),
            (Self::Iprof(content), Some(Self::Iprof(old))) => {
                from_iprof::report(title, content.view(), Some(old.view()))
            }
            (Self::Llvm { source, profile }, None) => {
                from_llvm::report(title, source, profile, &symbols(profile), None)
            }
            (Self::Llvm { source, profile }, Some(Self::Llvm { profile: old, .. })) => {
                from_llvm::report(title, source, profile, &symbols(profile), Some(old))
            }
            (Self::Memory(content), None) => from_memory::report(title, content.view(), None),
            (Self::Memory(content), Some(Self::Memory(old))) => {
                from_memory::report(title, content.view(), Some(old.view()))
            }
            (Self::Samples(content), None) => from_samples::report(title, content.view(), None),
            (Self::Samples(content), Some(Self::Samples(old))) => {
                from_samples::report(title, content.view(), Some(old.view()))
            }
            _ => return Err(different_kinds()),
        })
    }

    /// The flame graph: of stacks, of allocations, of an iprof's samples, or of its calls where
    /// it has no samples.
    ///
    /// # Errors
    ///
    /// Unsupported for LLVM profiles, which have no stacks; usage errors when
    /// the two are of different kinds, and when there is nothing to draw.
    pub fn flame_graph(&self, baseline: Option<&Self>, view: &View) -> Result<FlameGraph> {
        let no_stacks = || {
            Error::new(ErrorKind::Unsupported {
                what: "a flame graph of an LLVM profile, which has no stacks".to_string(),
            })
            .with_hint(Hint::ReportFunctions)
        };
        let (table, unit) = self.stacks().ok_or_else(no_stacks)?;
        let has_old = baseline.and_then(Self::stacks).is_some_and(|(old, _)| !old.is_empty());
        if table.is_empty() && !has_old {
            let hint = match self {
                Self::Iprof(content) if !content.document.sections.is_empty() => Hint::ReportBranches,
                _ => "the input holds neither samples nor call counts, or none that was asked for".into(),
            };
            return Err(Error::usage("there is no stack to draw").with_hint(hint));
        }
        let old = match baseline {
            None => None,
            Some(baseline) => {
                let (old, old_unit) = baseline.stacks().ok_or_else(no_stacks)?;
                if old_unit != unit {
                    return Err(different_kinds());
                }
                Some(old)
            }
        };
        let (table, old) = (view.of(table), old.map(|old| view.of(old)));
        if table.is_empty() && old.as_ref().is_none_or(StackTable::is_empty) {
            return Err(Error::usage("no stack holds the method"));
        }
        Ok(FlameGraph::new(view.title(), "", unit, &table, old.as_ref()))
    }

    fn stacks(&self) -> Option<(&StackTable, &'static str)> {
        match self {
            Self::Stacks(table) => Some((table, table.unit().map_or("hits", Unit::word))),
            Self::Iprof(content) if content.samples.is_empty() && !content.calls.is_empty() => {
                Some((&content.calls, "calls"))
            }
            Self::Iprof(content) => Some((&content.samples, "hits")),
            Self::Memory(content) => Some((&content.table, content.unit.word())),
            Self::Samples(content) => Some((&content.table, "samples")),
            Self::Llvm { .. } => None,
        }
    }
}

/// From where stacks are drawn.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct View {
    /// Begin with what ran and follow its callers. Default: `false`.
    pub reversed: bool,
    /// Draw the stacks of each thread by themselves. Default: `false`.
    pub by_thread: bool,
    /// Draw what this method calls, wherever it is called from, or with
    /// `reversed` what calls it. Default: the whole stacks.
    pub method: Option<MethodPattern>,
}

impl View {
    fn of(&self, table: &StackTable) -> StackTable {
        let turned = match &self.method {
            Some(method) => {
                let meant: HashSet<FunctionId> = functions_meant(method, table).into_iter().collect();
                table.of_method(self.reversed, |id| meant.contains(&id))
            }
            None if self.reversed => table.reversed(),
            None => table.clone(),
        };
        if self.by_thread { turned.by_thread() } else { turned }
    }

    fn title(&self) -> &'static str {
        match (self.reversed, self.by_thread) {
            (true, true) => "Flame graph by thread, callers below",
            (true, false) => "Flame graph, callers below",
            (false, true) => "Flame graph by thread",
            (false, false) => "Flame graph",
        }
    }
}

/// How much two profiles overlap, section by section, as `diff` says it.
///
/// # Errors
///
/// Those of the readers, with the path.
pub fn overlap_table(before: &Input, now: &Input, read: &StackOptions, selection: &Selection) -> Result<Table> {
    let mut options = DiffOptions::default();
    (options.limits, options.topn) = (read.limits, 0);
    let found = if are_stacks(before, now)? {
        diff_stacks(before, now, read, selection, &options)?.0
    } else {
        diff_files(before, now, &options)?
    };
    let row = |section: &SectionDiff| {
        vec![
            Cell::Text(section.section.to_string()),
            Cell::Percent(section.overlap * 100.0),
            Cell::Count(section.common.into()),
            Cell::Count(section.only_first.into()),
            Cell::Count(section.only_second.into()),
        ]
    };
    let text = "The sum of the smaller shares of everything that is counted, as `profbridge diff` says it: 100 % for the same distribution, whatever the totals.";
    let columns = ["Section", "Overlap %", "In both", "Only before", "Only now"];
    Ok(Table::new("Overlap", text, &columns, found.report.sections.iter().map(row).collect()))
}

impl IprofContent {
    fn view(&self) -> from_iprof::IprofView<'_> {
        from_iprof::IprofView { document: &self.document, samples: &self.samples, calls: &self.calls }
    }
}

fn different_kinds() -> Error {
    Error::usage("the profile and its baseline are of different kinds")
        .with_hint("compare stacks with stacks, iprof with iprof, LLVM profiles with LLVM profiles")
}

/// Names that value sites may refer to beside functions.
fn symbols(profile: &Profile) -> SymbolTable {
    let mut symbols = SymbolTable::new();
    for name in &profile.vtable_names {
        symbols.insert(name);
    }
    symbols
}
