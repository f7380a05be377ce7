//! The class `Iprof`, a GraalVM profile.

use crate::detached::{self, Watch};
use crate::error::OrRaise;
use crate::instr::skipped;
use crate::options::{MergeSettings, target};
use crate::table::{Table, internal, numbers};
use crate::text::{printable, to_python, warn};
use arrow_array::builder::LargeStringBuilder;
use arrow_array::types::{Int32Type, UInt32Type, UInt64Type};
use arrow_schema::ArrowError;
use profbridge::Result;
use profbridge::families::merge::iprof::{IprofMergeOptions, IprofMergeReport, facts_of, merge_iprof_files};
use profbridge::families::{FailedMerge, OutputForm};
use profbridge::input::{Family, Input};
use profbridge::iprof::statistics::{StatisticsOptions, statistics};
use profbridge::iprof::{self, ContextHandle, Document, Records, SectionKind, Weight};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;

/// A merged document with its warnings.
pub(crate) struct Merged {
    document: Document,
    warnings: Vec<String>,
}

/// Returns the options for a merge of iprof files.
///
/// # Errors
///
/// Usage for unknown settings; the errors of given files.
pub(crate) fn options(settings: &MergeSettings) -> Result<IprofMergeOptions> {
    let mut options = IprofMergeOptions::default();
    options.read.threads = settings.threads();
    options.scale = Weight::ONE;
    options.failure_mode = settings.failure_mode()?;
    options.salvage = settings.salvage;
    options.llvm = settings.instr(&target(None, &[])?)?;
    options.llvm.keep_vtable_names = true;
    Ok(options)
}

/// Merges iprof files in order.
///
/// # Errors
///
/// The errors of the merge.
pub(crate) fn merge(inputs: &[Input], settings: &MergeSettings, watch: &Watch) -> Result<Merged> {
    let mut options = options(settings)?;
    options.read.cancel = watch.cancel();
    let report = merge_iprof_files(inputs, &options, &mut |done, total| watch.progress(done, total));
    of_report(report.map_err(FailedMerge::into_first_failure)?, settings)
}

/// Returns the merged profile.
///
/// # Errors
///
/// Like [`merge`]; gate failed if a threshold fails.
pub(crate) fn of_report(report: IprofMergeReport, settings: &MergeSettings) -> Result<Merged> {
    settings.check(|wanted| Ok(facts_of(&report.document, wanted).of_inputs(report.used())))?;
    let mut warnings = Vec::new();
    for (at, input) in report.inputs.iter().enumerate() {
        warnings.extend(skipped(&input.input, &input.outcome));
        let path = input.input.path.display();
        let reported =
            report.findings.iter().filter(|(place, finding)| *place == at && finding.code.is_about_content());
        warnings.extend(reported.map(|(_, finding)| format!("{path}: {finding}")));
    }
    warnings.extend(report.warnings().iter().map(ToString::to_string));
    warnings.extend(report.losses.iter().map(|loss| format!("dropped {loss}")));
    Ok(Merged { document: report.document, warnings })
}

/// A profile for GraalVM's native-image.
#[pyclass(frozen, module = "profbridge", name = "Iprof")]
pub(crate) struct Iprof {
    merged: Arc<Merged>,
}

impl Iprof {
    pub(crate) fn of(py: Python<'_>, merged: Merged) -> PyResult<Self> {
        warn(py, &merged.warnings)?;
        Ok(Self { merged: Arc::new(merged) })
    }

    fn encode(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| iprof::Writer::new(&iprof::WriteOptions::default()).to_bytes(&merged.document))
    }
}

#[pymethods]
impl Iprof {
    /// The profile family.
    #[classattr]
    const FAMILY: &'static str = "iprof";

    /// The version of the format, as written in the file.
    #[getter]
    fn version(&self) -> String {
        self.merged.document.version.to_string()
    }

    /// The warnings that were issued when the profile was created.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.merged.warnings.clone()
    }

    /// The number of methods.
    fn __len__(&self) -> usize {
        self.merged.document.tables.methods_count()
    }

    /// One row per method: its name and the number of its calls by all callers.
    fn functions(&self, py: Python<'_>) -> PyResult<Table> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| methods(&merged.document))?.map_err(internal)
    }

    /// One row per entry of a section: its context, innermost frame first, and its events.
    fn entries(&self, py: Python<'_>) -> PyResult<Table> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| entries(&merged.document))?.map_err(internal)
    }

    /// The statistics that `profbridge show` prints, as a dictionary.
    #[pyo3(signature = (topn=10))]
    fn summary<'py>(&self, py: Python<'py>, topn: usize) -> PyResult<Bound<'py, PyAny>> {
        let merged = self.merged.clone();
        let found = detached::run(py, None, move |_| {
            let mut options = StatisticsOptions::default();
            options.topn = topn;
            statistics(&merged.document, &options)
        })?;
        to_python(py, &found.or_raise(py)?)
    }

    /// The profile as a file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.encode(py)?))
    }

    /// Writes a file, compressed if its name ends in `.gz` or `.zst`. It is replaced completely or not at all. A file
    /// that is not an earlier output is replaced only with `force`.
    #[pyo3(signature = (path, *, force=false))]
    fn write(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        crate::output::form(&path, "an iprof", &[OutputForm::Iprof, OutputForm::Json], None).or_raise(py)?;
        let bytes = self.encode(py)?;
        crate::output::replace(py, path, bytes, Family::Iprof, force)
    }

    fn __repr__(&self) -> String {
        format!("<profbridge.Iprof of {} methods>", self.merged.document.tables.methods_count())
    }
}

fn methods(document: &Document) -> std::result::Result<Table, ArrowError> {
    let tables = &document.tables;
    let mut calls = vec![0u64; tables.methods_count()];
    let mut samples = vec![0u64; tables.methods_count()];
    for (kind, sums) in [(SectionKind::CallCount, &mut calls), (SectionKind::Sampling, &mut samples)] {
        for entry in document.sections.counts(kind).unwrap_or_default() {
            let leaf = document.contexts.leaf(entry.context);
            if let Some(sum) = leaf.and_then(|frame| sums.get_mut(frame.method.index())) {
                *sum = sum.saturating_add(entry.count);
            }
        }
    }
    let mut names = LargeStringBuilder::new();
    let mut ids = Vec::new();
    for method in tables.methods() {
        names.append_value(tables.human_name(method));
        ids.push(tables.method_id(method));
    }
    Table::of_columns(vec![
        ("name", Arc::new(names.finish())),
        ("id", numbers::<UInt32Type>(ids)),
        ("calls", numbers::<UInt64Type>(calls)),
        ("samples", numbers::<UInt64Type>(samples)),
    ])
}

fn entries(document: &Document) -> std::result::Result<Table, ArrowError> {
    let (mut sections, mut names) = (LargeStringBuilder::new(), LargeStringBuilder::new());
    let mut contexts = LargeStringBuilder::new();
    let (mut bcis, mut depths, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for kind in SectionKind::ALL {
        for at in 0..document.sections.entries_count(kind) {
            let (context, records) = document.sections.entry(kind, at);
            let Some(leaf) = document.contexts.leaf(context) else { continue };
            sections.append_value(kind.name());
            names.append_value(document.tables.human_name(leaf.method));
            contexts.append_value(words(document, context));
            bcis.push(leaf.bci);
            depths.push(document.contexts.depth(context) as u32);
            let sum: Records<'_> = records;
            events.push(u64::try_from(sum.events()).unwrap_or(u64::MAX));
        }
    }
    Table::of_columns(vec![
        ("section", Arc::new(sections.finish())),
        ("method", Arc::new(names.finish())),
        ("bci", numbers::<Int32Type>(bcis)),
        ("context", Arc::new(contexts.finish())),
        ("depth", numbers::<UInt32Type>(depths)),
        ("events", numbers::<UInt64Type>(events)),
    ])
}

fn words(document: &Document, context: ContextHandle) -> String {
    let frame = |frame: iprof::Frame| format!("{}:{}", document.tables.human_name(frame.method), frame.bci);
    let frames: Vec<String> = document.contexts.frames(context).map(frame).collect();
    printable(frames.join(" < ").as_bytes()).into_owned()
}
