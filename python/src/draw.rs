//! Flame graphs and reports.

use crate::detached;
use crate::error::OrRaise;
use crate::options::limits;
use crate::source::inputs;
use crate::text::warn;
use profbridge::call_chains::{MethodPattern, Selection, samples_with_methods};
use profbridge::families::draw::{Content, View, overlap_table, read_content};
use profbridge::families::notes_about_differences;
use profbridge::families::stack_files::StackOptions;
use profbridge::input::Input;
use profbridge::memprof::raw::Programs;
use profbridge::render::{MAX_ROWS, Report, Section, SvgOptions, write_html, write_svg};
use profbridge::{Error, Result, Warning};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The settings of a drawing.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct DrawSettings {
    title: Option<String>,
    include: Vec<String>,
    exclude: Vec<String>,
    demangle: bool,
    limits: HashMap<String, u64>,
    binary: Vec<PathBuf>,
    profiled_binaries: Vec<PathBuf>,
}

/// The settings of a flame graph.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FlameSettings {
    format: String,
    reverse: bool,
    per_thread: bool,
    method: Option<String>,
    width: u32,
    min_width: f64,
    full_names: bool,
    upright: bool,
}

/// The note about other content than stacks.
const ONLY_STACKS_FILTERED: &str = "include and exclude select the functions and stacks in the lists and the flame graph; \
                                    other parts of this page are those of the whole profile";

/// Draw a flame graph. Returns SVG or HTML.
#[pyfunction]
pub(crate) fn flamegraph(
    sources: &Bound<'_, PyAny>,
    baseline: Option<&Bound<'_, PyAny>>,
    settings: DrawSettings,
    flame: FlameSettings,
) -> PyResult<String> {
    draw(sources, baseline, settings, move |read| flame.draw(read))
}

/// Write an HTML report.
#[pyfunction]
pub(crate) fn report(
    sources: &Bound<'_, PyAny>,
    baseline: Option<&Bound<'_, PyAny>>,
    settings: DrawSettings,
    topn: Option<usize>,
) -> PyResult<String> {
    let topn = topn.unwrap_or(MAX_ROWS).clamp(1, MAX_ROWS);
    draw(sources, baseline, settings, move |read| read.report(topn))
}

fn draw(
    sources: &Bound<'_, PyAny>,
    baseline: Option<&Bound<'_, PyAny>>,
    settings: DrawSettings,
    draw: impl FnOnce(&Read) -> Result<String> + Send + 'static,
) -> PyResult<String> {
    let py = sources.py();
    let inputs = inputs(sources, None)?;
    let baseline = baseline.map(|baseline| self::inputs(baseline, None)).transpose()?.unwrap_or_default();
    let drawn = detached::run(py, None, move |watch| {
        let [inputs, baseline] = [inputs, baseline]
            .map(|inputs| inputs.into_iter().map(|input| input.cancelled_by(&watch.cancel())).collect());
        let read = settings.read(inputs, baseline)?;
        draw(&read).map(|text| (text, read.warnings))
    })?;
    let (text, warnings) = drawn.or_raise(py)?;
    warn(py, &warnings.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    Ok(text)
}

/// The content to draw.
struct Read {
    title: String,
    inputs: Vec<Input>,
    baseline_inputs: Vec<Input>,
    content: Content,
    baseline: Option<Content>,
    warnings: Vec<Warning>,
    options: StackOptions,
    is_filtered: bool,
    demangle: bool,
}

impl DrawSettings {
    fn read(self, inputs: Vec<Input>, baseline_inputs: Vec<Input>) -> Result<Read> {
        let mut options = StackOptions::default();
        options.limits = limits(&self.limits)?;
        options.perf.binaries.clone_from(&self.binary);
        options.memory.programs = Arc::new(Programs::new(self.profiled_binaries.clone(), &options.limits));
        let parse = |texts: &[String]| texts.iter().map(|text| MethodPattern::parse(text)).collect::<Result<Vec<_>>>();
        let (include, exclude) = (parse(&self.include)?, parse(&self.exclude)?);
        let is_filtered = !include.is_empty() || !exclude.is_empty();
        let mut warnings = Vec::new();
        let mut read = |inputs: &[Input]| {
            let (content, found) = read_content(inputs, &options, &Selection::default())?;
            warnings.extend(found);
            Ok::<_, Error>(match is_filtered {
                true => content.map_stacks(|table| samples_with_methods(table, &include, &exclude)),
                false => content,
            })
        };
        let content = read(&inputs)?;
        let baseline = if baseline_inputs.is_empty() { None } else { Some(read(&baseline_inputs)?) };
        if is_filtered && content.has_stacks().is_none() {
            return Err(Error::usage("include and exclude select stacks, and the profile has none"));
        }
        let title = self.title.unwrap_or_else(|| title(&inputs, &baseline_inputs));
        Ok(Read {
            title,
            inputs,
            baseline_inputs,
            content,
            baseline,
            warnings,
            options,
            is_filtered,
            demangle: self.demangle,
        })
    }
}

/// Returns the names of the inputs without their directories.
fn title(inputs: &[Input], baseline: &[Input]) -> String {
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

impl FlameSettings {
    fn draw(&self, read: &Read) -> Result<String> {
        if !(100..=20_000).contains(&self.width) {
            return Err(Error::usage(format!("width must be from 100 to 20000 pixels, not {}", self.width)));
        }
        if !self.min_width.is_finite() || self.min_width < 0.0 {
            return Err(Error::usage("min_width must be a number of pixels, 0 or more"));
        }
        let mut view = View::default();
        (view.reversed, view.by_thread) = (self.reverse, self.per_thread);
        view.method = self.method.as_deref().map(MethodPattern::parse).transpose()?;
        let mut graph = read.content.flame_graph(read.baseline.as_ref(), &view)?;
        if read.demangle {
            graph.demangle();
        }
        match self.format.as_str() {
            "svg" => {
                let mut options = SvgOptions::default();
                (options.title, options.width, options.min_width) = (read.title.clone(), self.width, self.min_width);
                (options.full_names, options.upright) = (self.full_names, self.upright);
                Ok(write_svg(&graph, &options))
            }
            "html" => {
                let mut report = Report::default();
                (report.title, report.sections) = (read.title.clone(), vec![Section::Flame(graph)]);
                Ok(write_html(&report))
            }
            other => Err(Error::usage(format!("format must be \"svg\" or \"html\", not {other:?}"))),
        }
    }
}

impl Read {
    fn report(&self, topn: usize) -> Result<String> {
        let mut report = self.content.report(&self.title, self.baseline.as_ref())?;
        if let ([before], [now], false) = (&self.baseline_inputs[..], &self.inputs[..], self.is_filtered) {
            let table = overlap_table(before, now, &self.options, &Selection::default())?;
            report.sections.insert(0, Section::Table(table));
        }
        report.notes.extend(notes_about_differences(&self.inputs, self.options.limits));
        if self.is_filtered && !matches!(self.content, Content::Stacks(_)) {
            report.notes.push(ONLY_STACKS_FILTERED.to_string());
        }
        report.keep_rows(topn);
        if self.demangle {
            report.demangle();
        }
        Ok(write_html(&report))
    }
}
