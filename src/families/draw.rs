//! The report and the flame graph of any input.

use crate::call_chains::{
    FunctionId, MethodPattern, Selection, StackTable, Unit, functions_meant, samples_with_methods,
};
use crate::driver::diff::{DiffOptions, SectionDiff};
use crate::error::{Error, Result, Warning};
pub use crate::families::content::Content;
use crate::families::files::{diff_files, notes_about_differences};
use crate::families::same_names::with_same_names;
use crate::families::stack_files::{StackOptions, choose_unit, compared_events, different_values};
use crate::families::stacks::{are_stacks, diff_stacks};
use crate::families::table::commands;
use crate::hint::Hint;
use crate::input::{Access, Family, Format, Input};
pub use crate::instr::InstrContent;
pub use crate::iprof::IprofContent;
use crate::render::{Cell, FlameGraph, FlameLabels, Report, Section, SvgOptions, Table, least_hits};
use crate::stacks::collapsed::{SIMPLE_NAMES, outline};
use crate::stacks::graph_of_outline;
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

/// Options for a drawing: how inputs are read, and what is drawn of them.
#[derive(Debug, Clone, Default)]
pub struct DrawOptions {
    /// How inputs are read.
    pub stacks: StackOptions,
    /// The samples that are drawn.
    pub selection: Selection,
    /// Draw only stacks with one of these methods. Default: all stacks.
    pub include: Vec<MethodPattern>,
    /// Draw no stacks with one of these methods.
    pub exclude: Vec<MethodPattern>,
    /// Keep the mangled names of C++ and Rust functions.
    pub keep_mangled: bool,
    /// The heading. Default: the names of the inputs.
    pub title: Option<String>,
}

impl DrawOptions {
    /// Returns true if methods select stacks.
    pub fn is_filtered(&self) -> bool {
        !self.include.is_empty() || !self.exclude.is_empty()
    }
}

/// Profiles that were read, to be drawn: alone, or with a baseline.
#[derive(Debug)]
pub struct Drawing {
    /// The warnings of the readers.
    pub warnings: Vec<Warning>,
    inputs: Vec<Input>,
    baseline_inputs: Vec<Input>,
    content: Content,
    baseline: Option<Content>,
    options: DrawOptions,
}

/// The note about other content than stacks.
const ONLY_STACKS_FILTERED: &str = "the filters select the functions and stacks in the lists and the flame graph; other \
                                    parts of this page are those of the whole profile";

impl Drawing {
    /// Reads inputs and their baseline, which may be empty. Several inputs of one family are added, but an iprof is read
    /// alone.
    ///
    /// # Errors
    ///
    /// The errors of the readers; usage for inputs that cannot be added.
    pub fn read(inputs: Vec<Input>, baseline_inputs: Vec<Input>, options: DrawOptions) -> Result<Self> {
        let mut warnings = Vec::new();
        let mut read = |inputs: &[Input]| {
            let (content, found) = read_content(inputs, &options.stacks, &options.selection)?;
            warnings.extend(found);
            Ok::<_, Error>(match options.is_filtered() {
                true => content.map_stacks(|table| samples_with_methods(table, &options.include, &options.exclude)),
                false => content,
            })
        };
        let content = read(&inputs)?;
        let baseline = if baseline_inputs.is_empty() { None } else { Some(read(&baseline_inputs)?) };
        if let Some(Content::Stacks(old)) = &baseline
            && old.is_empty()
            && options.selection != Selection::default()
        {
            let error = Error::nothing_found("no samples are left to compare");
            return Err(error.in_file(&baseline_inputs[0].path));
        }
        let (content, baseline) = with_same_names(content, baseline);
        if let (Content::Stacks(table), Some(Content::Stacks(old))) = (&content, &baseline) {
            let compared = compared_events([table, old]);
            let in_baseline = |message| Warning::new(message).in_file(&baseline_inputs[0].path);
            warnings.extend(compared.map(in_baseline));
        }
        Ok(Self { warnings, inputs, baseline_inputs, content, baseline, options })
    }

    /// Returns the content of the inputs.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Returns the heading.
    pub fn title(&self) -> String {
        self.options.title.clone().unwrap_or_else(|| title_of(&self.inputs, &self.baseline_inputs))
    }

    /// Returns the flame graph: of stacks, of allocations, of the samples of an iprof, or of its calls if it has no
    /// samples.
    ///
    /// # Errors
    ///
    /// Nothing found for LLVM profiles, which have no stacks, and if there are no stacks to draw; kind conflict if the
    /// baseline has another kind.
    pub fn flame_graph(&self, view: &View) -> Result<FlameGraph> {
        let graph = self.content.flame_graph(self.baseline.as_ref(), view);
        let mut graph = graph.map_err(|error| match &self.inputs[..] {
            [input] => error.in_file(&input.path),
            _ => error,
        })?;
        if !self.options.keep_mangled {
            graph.demangle();
        }
        Ok(graph)
    }

    /// Returns the report. Its tables have at most this many rows.
    ///
    /// # Errors
    ///
    /// Kind conflict if the baseline has another kind; nothing found if the profile has only stacks, and there are none;
    /// the errors of the readers.
    pub fn report(&self, rows: usize) -> Result<Report> {
        let mut report = self.content.report(&self.title(), self.baseline.as_ref())?;
        let is_filtered = self.options.is_filtered();
        if let ([before], [now], false) = (&self.baseline_inputs[..], &self.inputs[..], is_filtered)
            && !before.is_pipe()
            && !now.is_pipe()
        {
            let table = overlap_table(before, now, &self.options.stacks, &self.options.selection)?;
            report.sections.insert(0, Section::Table(table));
        }
        report.notes.extend(notes_about_differences(&self.inputs, self.options.stacks.limits));
        if is_filtered && !matches!(self.content, Content::Stacks(_)) {
            report.notes.push(ONLY_STACKS_FILTERED.to_string());
        }
        report.keep_rows(rows);
        if !self.options.keep_mangled {
            report.demangle();
        }
        Ok(report)
    }
}

/// Returns the names of the inputs without their directories, as a heading.
pub fn title_of(inputs: &[Input], baseline: &[Input]) -> String {
    let name = |input: &Input| {
        let path: &Path = &input.path;
        Path::new(path.file_name().unwrap_or(path.as_os_str())).display().to_string()
    };
    let names = |inputs: &[Input]| match inputs {
        [first, _, _, ..] => format!("{} and {} more", name(first), inputs.len() - 1),
        _ => inputs.iter().map(name).collect::<Vec<_>>().join(", "),
    };
    match baseline {
        [] => names(inputs),
        baseline => format!("{} against {}", names(inputs), names(baseline)),
    }
}

/// Reads inputs for a drawing.
///
/// # Errors
///
/// See [`Drawing::read`].
pub(crate) fn read_content(
    inputs: &[Input],
    options: &StackOptions,
    selection: &Selection,
) -> Result<(Content, Vec<Warning>)> {
    let [first, others @ ..] = inputs else { return Err(Error::usage("no input files")) };
    let family = drawn_as(first, options)?;
    for other in others {
        if drawn_as(other, options)? != family {
            let detail = format!("cannot draw {} and {} together", words_of(first)?, words_of(other)?);
            return Err(Error::kind_conflict(detail).in_file(&other.path));
        }
    }
    commands(family.unwrap_or(Family::Instr)).draw(inputs, options, selection)
}

/// Returns the family as which an input is drawn. LLVM's readers report files that are not profiles.
fn drawn_as(input: &Input, options: &StackOptions) -> Result<Option<Family>> {
    let family = input.family()?;
    let commands = commands(family.unwrap_or(Family::Instr));
    Ok(if commands.draws_memory(input, &options.memory, &options.limits)? { Some(Family::MemProf) } else { family })
}

fn words_of(input: &Input) -> Result<String> {
    Ok(match input.family()? {
        Some(family) => family.words().to_string(),
        None => input.format()?.to_string(),
    })
}

impl Content {
    /// Returns whether there are stacks to draw. `None` if the family never has any.
    pub fn has_stacks(&self) -> Option<bool> {
        self.stacks().map(|(table, _)| !table.is_empty())
    }

    /// Returns the report, perhaps against another content of the same kind.
    ///
    /// # Errors
    ///
    /// Kind conflict if the two have different kinds; nothing found if they are stacks, and there are none.
    fn report(&self, title: &str, baseline: Option<&Self>) -> Result<Report> {
        if let Self::Stacks(table) = self
            && table.is_empty()
            && baseline.is_none_or(|old| old.has_stacks() != Some(true))
        {
            return Err(self.no_stacks());
        }
        self.require_same_value(baseline)?;
        self.report_with(title, baseline).ok_or_else(different_kinds)
    }

    /// See [`Drawing::flame_graph`].
    fn flame_graph(&self, baseline: Option<&Self>, view: &View) -> Result<FlameGraph> {
        let (table, unit) = self.drawn_stacks()?;
        let old = baseline.map(Self::drawn_stacks).transpose()?;
        if table.is_empty() && old.is_none_or(|(old, _)| old.is_empty()) {
            return Err(self.no_stacks());
        }
        if let Some((old, old_unit)) = old.filter(|(_, old_unit)| *old_unit != unit) {
            return Err(match (self, baseline) {
                (Self::Stacks(_), Some(Self::Stacks(_))) => {
                    let units = [table, old].map(|table| table.unit().unwrap_or_default());
                    Error::kind_conflict(format!("the profile counts {unit}, its baseline {old_unit}"))
                        .with_hint(choose_unit(units))
                }
                _ => different_kinds(),
            });
        }
        self.require_same_value(baseline)?;
        let (table, old) = (view.of(table), old.map(|(old, _)| view.of(old)));
        if table.is_empty() && old.as_ref().is_none_or(|old| old.is_empty()) {
            return Err(Error::nothing_found("no stack contains the method"));
        }
        Ok(FlameGraph::new(&table, old.as_deref(), FlameLabels::new(view.title(), "", unit)))
    }

    /// Returns an error for a baseline of another value, such as the bytes ever allocated next to those in use.
    fn require_same_value(&self, baseline: Option<&Self>) -> Result<()> {
        let (Self::Stacks(table), Some(Self::Stacks(old))) = (self, baseline) else { return Ok(()) };
        match different_values([table, old]) {
            None => Ok(()),
            Some([value, old_value]) => {
                let detail = format!("the profile counts {value}, its baseline {old_value}");
                Err(Error::kind_conflict(detail).with_hint(Hint::ChooseValue))
            }
        }
    }

    fn no_stacks(&self) -> Error {
        Error::nothing_found("there are no stacks to draw").with_hint(self.hint())
    }

    fn drawn_stacks(&self) -> Result<(&StackTable, &'static str)> {
        self.stacks().ok_or_else(|| {
            Error::nothing_found("an LLVM profile has no stacks to draw").with_hint(Hint::ReportFunctions)
        })
    }
}

/// Which part of the stacks a flame graph shows, and in which direction.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct View {
    /// Start at the running functions and continue with their callers. Default: `false`.
    pub reversed: bool,
    /// Draw the stacks of each thread by themselves. Default: `false`.
    pub by_thread: bool,
    /// Draw the callees of this method, with any callers, or with `reversed` its callers. Default: whole stacks.
    pub method: Option<MethodPattern>,
}

impl View {
    fn of<'t>(&self, table: &'t StackTable) -> Cow<'t, StackTable> {
        let turned = match &self.method {
            Some(method) => {
                let meant: HashSet<FunctionId> = functions_meant(method, table).into_iter().collect();
                Cow::Owned(table.of_method(self.reversed, |id| meant.contains(&id)))
            }
            None if self.reversed => Cow::Owned(table.reversed()),
            None => Cow::Borrowed(table),
        };
        if self.by_thread { Cow::Owned(turned.by_thread()) } else { turned }
    }

    fn title(&self) -> &'static str {
        match (self.reversed, self.by_thread) {
            (true, true) => "Flame graph by thread, with callers below",
            (true, false) => "Flame graph with callers below",
            (false, true) => "Flame graph by thread",
            (false, false) => "Flame graph",
        }
    }
}

/// Returns the overlap of two profiles per section, like `diff`.
///
/// # Errors
///
/// The errors of the readers, with the path.
fn overlap_table(before: &Input, now: &Input, read: &StackOptions, selection: &Selection) -> Result<Table> {
    let mut options = DiffOptions::default();
    (options.limits, options.topn) = (read.limits, 0);
    let found = if are_stacks(before, now)? {
        diff_stacks(before, now, read, selection, &options)?
    } else {
        diff_files(before, now, &options)?
    };
    let row = |section: &SectionDiff| {
        vec![
            Cell::Text(section.gate.clone()),
            Cell::Percent(section.overlap * 100.0),
            Cell::Count(section.common.into()),
            Cell::Count(section.only_first.into()),
            Cell::Count(section.only_second.into()),
        ]
    };
    let mut text = "The sum of the smaller share of each item in the two profiles. Equal distributions have 100 %, also with different totals.".to_string();
    found.followed.iter().for_each(|followed| text.push_str(&format!(" {followed}.")));
    let columns = ["Section", "Overlap %", "In both", "Only before", "Only now"];
    Ok(Table::new("Overlap", &text, &columns, found.report.sections.iter().map(row).collect()))
}

fn different_kinds() -> Error {
    Error::kind_conflict("the profile and its baseline are of different kinds")
        .with_hint("compare profiles of the same kind: stacks, iprof files or LLVM profiles")
}

/// Bytes from which a text is outlined, where that is enough.
const OUTLINED_BYTES: u64 = 8 << 20;

/// The flame graph of a large collapsed text as far as a drawing shows it, in much
/// less time and memory than [`Drawing::read`] takes. `None` for everything else.
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
    Ok(Some((graph_of_outline(&found, Unit::Hits.word()), warning.into_iter().collect())))
}

/// Width in pixels below which too much is drawn for an outline to help.
const LEAST_WIDTH: f64 = 0.02;
