//! Flame graphs and reports.

use crate::detached;
use crate::error::OrRaise;
use crate::options::limits;
use crate::source::inputs;
use crate::text::warn;
use profbridge::call_chains::{MethodPattern, Selection};
use profbridge::families::draw::{DrawOptions, Drawing, View};
use profbridge::families::stack_files::StackOptions;
use profbridge::input::Input;
use profbridge::memprof::raw::Programs;
use profbridge::render::{MAX_ROWS, Report, Section, SvgOptions, write_html, write_svg};
use profbridge::{Error, Result};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::path::PathBuf;
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

/// Draw a flame graph. Returns SVG or HTML.
#[pyfunction]
pub(crate) fn flamegraph(
    sources: &Bound<'_, PyAny>,
    baseline: Option<&Bound<'_, PyAny>>,
    settings: DrawSettings,
    flame: FlameSettings,
) -> PyResult<String> {
    draw(sources, baseline, settings, move |drawing| flame.draw(drawing))
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
    draw(sources, baseline, settings, move |drawing| Ok(write_html(&drawing.report(topn)?)))
}

fn draw(
    sources: &Bound<'_, PyAny>,
    baseline: Option<&Bound<'_, PyAny>>,
    settings: DrawSettings,
    draw: impl FnOnce(&Drawing) -> Result<String> + Send + 'static,
) -> PyResult<String> {
    let py = sources.py();
    let inputs = inputs(sources, None)?;
    let baseline = baseline.map(|baseline| self::inputs(baseline, None)).transpose()?.unwrap_or_default();
    let drawn = detached::run(py, None, move |watch| {
        let [inputs, baseline] = [inputs, baseline]
            .map(|inputs| inputs.into_iter().map(|input| input.cancelled_by(&watch.cancel())).collect());
        let drawing = settings.read(inputs, baseline)?;
        draw(&drawing).map(|text| (text, drawing.warnings))
    })?;
    let (text, warnings) = drawn.or_raise(py)?;
    warn(py, &warnings.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    Ok(text)
}

impl DrawSettings {
    fn read(self, inputs: Vec<Input>, baseline: Vec<Input>) -> Result<Drawing> {
        let parse = |texts: &[String]| texts.iter().map(|text| MethodPattern::parse(text)).collect::<Result<Vec<_>>>();
        let mut stacks = StackOptions::default();
        stacks.limits = limits(&self.limits)?;
        stacks.memory.programs = Arc::new(Programs::new(self.profiled_binaries, &stacks.limits));
        stacks.perf.binaries = self.binary;
        let options = DrawOptions {
            stacks,
            selection: Selection::default(),
            include: parse(&self.include)?,
            exclude: parse(&self.exclude)?,
            keep_mangled: !self.demangle,
            title: self.title,
        };
        let is_filtered = options.is_filtered();
        let drawing = Drawing::read(inputs, baseline, options)?;
        if is_filtered && drawing.content().has_stacks().is_none() {
            return Err(Error::usage("include and exclude select stacks, and the profile has none"));
        }
        Ok(drawing)
    }
}

impl FlameSettings {
    fn draw(&self, drawing: &Drawing) -> Result<String> {
        if !(100..=20_000).contains(&self.width) {
            return Err(Error::usage(format!("width must be from 100 to 20000 pixels, not {}", self.width)));
        }
        if !self.min_width.is_finite() || self.min_width < 0.0 {
            return Err(Error::usage("min_width must be a number of pixels, 0 or more"));
        }
        let mut view = View::default();
        (view.reversed, view.by_thread) = (self.reverse, self.per_thread);
        view.method = self.method.as_deref().map(MethodPattern::parse).transpose()?;
        let graph = drawing.flame_graph(&view)?;
        match self.format.as_str() {
            "svg" => {
                let mut options = SvgOptions::default();
                (options.title, options.width, options.min_width) = (drawing.title(), self.width, self.min_width);
                (options.full_names, options.upright) = (self.full_names, self.upright);
                Ok(write_svg(&graph, &options))
            }
            "html" => {
                let mut report = Report::default();
                (report.title, report.sections) = (drawing.title(), vec![Section::Flame(graph)]);
                Ok(write_html(&report))
            }
            other => Err(Error::usage(format!("format must be \"svg\" or \"html\", not {other:?}"))),
        }
    }
}
