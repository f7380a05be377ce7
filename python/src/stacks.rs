//! The class `Stacks`: sampled stacks of recordings, collapsed text and pprof.

use crate::detached::{self, Watch};
use crate::error::OrRaise;
use crate::options::MergeSettings;
use crate::table::{Table, internal, numbers};
use crate::text::{to_python, warn};
use arrow_array::builder::{LargeListBuilder, LargeStringBuilder};
use arrow_array::types::UInt64Type;
use arrow_schema::ArrowError;
use profbridge::bridge::stacks::{SampleOptions, iprof_from_stacks};
use profbridge::call_chains::statistics;
use profbridge::call_chains::{FrameId, Selection, StackTable};
use profbridge::compression::Compression;
use profbridge::families::OutputForm;
use profbridge::families::plan::StackOutput;
use profbridge::families::stack_files::{StackMergeOptions, StackSum, are_pprof, facts_of, merge_pprof, merge_tables};
use profbridge::input::{Family, Input};
use profbridge::stacks::collapsed::{CollapsedOptions, write_collapsed};
use profbridge::stacks::pprof;
use profbridge::{Error, Result, iprof};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;

/// Merged stacks with their warnings.
pub(crate) struct Merged {
    table: StackTable,
    /// The merged pprof profile, without losses, if all inputs are pprof.
    pprof: Option<pprof::Profile>,
    warnings: Vec<String>,
}

/// Returns the options for a merge of stacks.
///
/// # Errors
///
/// Usage for unknown settings.
pub(crate) fn options(settings: &MergeSettings) -> Result<StackMergeOptions> {
    let mut options = StackMergeOptions::default();
    options.failure_mode = settings.failure_mode()?;
    options.allow_duplicates = settings.allow_duplicates;
    Ok(options)
}

/// Merges stacks: pprof profiles as pprof, all others as tables.
///
/// # Errors
///
/// The errors of the merge.
pub(crate) fn merge(inputs: &[Input], settings: &MergeSettings, watch: &Watch) -> Result<Merged> {
    let mut options = options(settings)?;
    options.cancel = watch.cancel();
    let mut progress = |done, total| watch.progress(done, total);
    if are_pprof(inputs) {
        of_pprof(merge_pprof(inputs, &options, &mut progress)?, settings)
    } else {
        of_tables(merge_tables(inputs, &options, &mut progress)?, settings)
    }
}

/// Returns the result of a merge of pprof profiles.
///
/// # Errors
///
/// Gate failed if a threshold fails; the errors of the profile's stacks.
pub(crate) fn of_pprof(
    sum: StackSum<(pprof::Profile, pprof::MergeReport)>,
    settings: &MergeSettings,
) -> Result<Merged> {
    let used = sum.used();
    let mut warnings: Vec<String> = sum.warnings().iter().map(ToString::to_string).collect();
    let (profile, report) = sum.sum;
    let mut table = StackTable::new();
    pprof::add_to_table(&profile, &pprof::ValueChoice::default(), &mut table)?;
    settings.check(|wanted| Ok(facts_of(&table, &Selection::default(), wanted).of_inputs(used)))?;
    warnings.extend(report.warnings());
    Ok(Merged { table, pprof: Some(profile), warnings })
}

/// Returns the result of a merge of other sources.
///
/// # Errors
///
/// Gate failed if a threshold fails.
pub(crate) fn of_tables(sum: StackSum<StackTable>, settings: &MergeSettings) -> Result<Merged> {
    settings.check(|wanted| Ok(facts_of(&sum.sum, &Selection::default(), wanted).of_inputs(sum.used())))?;
    let warnings = sum.warnings().iter().map(ToString::to_string).collect();
    Ok(Merged { table: sum.sum, pprof: None, warnings })
}

/// Samples by call stack.
#[pyclass(frozen, module = "profbridge", name = "Stacks")]
pub(crate) struct Stacks {
    merged: Arc<Merged>,
}

impl Stacks {
    pub(crate) fn of(py: Python<'_>, merged: Merged) -> PyResult<Self> {
        warn(py, &merged.warnings)?;
        Ok(Self { merged: Arc::new(merged) })
    }

    fn encode(&self, py: Python<'_>, format: StackOutput, compressed: bool) -> PyResult<Vec<u8>> {
        let merged = self.merged.clone();
        let (bytes, losses) = detached::run(py, None, move |_| encode(&merged, format, compressed))?.or_raise(py)?;
        warn(py, &losses)?;
        Ok(bytes)
    }
}

#[pymethods]
impl Stacks {
    /// The profile family.
    #[classattr]
    const FAMILY: &'static str = "stacks";

    /// The warnings that were issued when the profile was created.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.merged.warnings.clone()
    }

    /// The number of samples with different stacks, threads or event types.
    fn __len__(&self) -> usize {
        self.merged.table.samples().len()
    }

    /// One row per method: hits in the method itself, and hits with the method anywhere in the stack.
    fn functions(&self, py: Python<'_>) -> PyResult<Table> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| functions(&merged.table))?.map_err(internal)
    }

    /// One row per sample: its stack from the innermost frame outwards, thread, event type and hits.
    fn samples(&self, py: Python<'_>) -> PyResult<Table> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| samples(&merged.table))?.map_err(internal)
    }

    /// The statistics that `profbridge show` prints, as a dictionary.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let merged = self.merged.clone();
        to_python(py, &detached::run(py, None, move |_| statistics(&merged.table))?)
    }

    /// The profile as a file. `format` is `"collapsed"`, `"pprof"` (compressed) or `"iprof"`.
    #[pyo3(signature = (*, format="collapsed"))]
    fn to_bytes<'py>(&self, py: Python<'py>, format: &str) -> PyResult<Bound<'py, PyBytes>> {
        let format = format_of(format).or_raise(py)?;
        let bytes = self.encode(py, format, format == StackOutput::Pprof)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes a file. Its name or `format` selects the format; it is compressed if the name ends in `.gz` or `.zst`. It
    /// is replaced completely or not at all. A file that is not an earlier output is replaced only with `force`.
    #[pyo3(signature = (path, *, format=None, force=false))]
    fn write(&self, py: Python<'_>, path: PathBuf, format: Option<&str>, force: bool) -> PyResult<()> {
        let format = match format {
            Some(format) => format_of(format).or_raise(py)?,
            None => {
                let forms = [OutputForm::Collapsed, OutputForm::Pprof, OutputForm::Iprof];
                let form = crate::output::form(&path, "stacks", &forms, None).or_raise(py)?;
                form.and_then(StackOutput::of_form).unwrap_or(StackOutput::Collapsed)
            }
        };
        // Only the extension shows whether a pprof file is uncompressed.
        let is_plain = path.extension().is_some_and(|extension| extension == "pb");
        let is_pprof =
            format == StackOutput::Pprof && !is_plain && Compression::of_output(&path).or_raise(py)?.is_none();
        let bytes = self.encode(py, format, is_pprof)?;
        let family = if format == StackOutput::Iprof { Family::Iprof } else { Family::Stacks };
        crate::output::replace(py, path, bytes, family, force)
    }

    fn __repr__(&self) -> String {
        format!("<profbridge.Stacks of {} samples>", self.merged.table.samples().len())
    }
}

fn format_of(word: &str) -> Result<StackOutput> {
    match word {
        "collapsed" => Ok(StackOutput::Collapsed),
        "pprof" => Ok(StackOutput::Pprof),
        "iprof" => Ok(StackOutput::Iprof),
        other => Err(Error::usage(format!("format must be \"collapsed\", \"pprof\" or \"iprof\", not {other:?}"))),
    }
}

fn encode(merged: &Merged, format: StackOutput, compressed: bool) -> Result<(Vec<u8>, Vec<String>)> {
    let (bytes, losses) = match (format, &merged.pprof) {
        (StackOutput::Pprof, Some(profile)) => (write_pprof(profile)?, Vec::new()),
        (StackOutput::Pprof, None) => {
            let (profile, losses) = pprof::from_table(&merged.table.select(&Selection::default()).0);
            (write_pprof(&profile)?, losses.words())
        }
        (StackOutput::Iprof, _) => {
            let (document, report) = iprof_from_stacks(&merged.table, &SampleOptions::default());
            (iprof::Writer::new(&iprof::WriteOptions::default()).to_bytes(&document), report.losses())
        }
        (StackOutput::Collapsed, _) => {
            let (text, _) =
                write_collapsed(&merged.table.select(&Selection::default()).0, &CollapsedOptions::default());
            (text.into_bytes(), Vec::new())
        }
    };
    if !compressed {
        return Ok((bytes, losses));
    }
    let bytes = Compression::Gzip.compress(&bytes).map_err(|source| Error::io("cannot compress", source))?;
    Ok((bytes, losses))
}

/// Sorts the stacks by weight like the program, the heaviest first.
fn write_pprof(profile: &pprof::Profile) -> Result<Vec<u8>> {
    pprof::write(&pprof::heaviest(profile, profile.samples.len())?)
}

fn functions(table: &StackTable) -> std::result::Result<Table, ArrowError> {
    let methods = statistics(table).methods;
    let mut names = LargeStringBuilder::new();
    let (mut exclusive, mut inclusive) = (Vec::new(), Vec::new());
    for method in methods {
        names.append_value(method.method);
        exclusive.push(u64::try_from(method.exclusive).unwrap_or(u64::MAX));
        inclusive.push(u64::try_from(method.inclusive).unwrap_or(u64::MAX));
    }
    Table::of_columns(vec![
        ("name", Arc::new(names.finish())),
        ("self_hits", numbers::<UInt64Type>(exclusive)),
        ("total_hits", numbers::<UInt64Type>(inclusive)),
    ])
}

fn samples(table: &StackTable) -> std::result::Result<Table, ArrowError> {
    let mut stacks = LargeListBuilder::new(LargeStringBuilder::new());
    let (mut threads, mut event_types) = (LargeStringBuilder::new(), LargeStringBuilder::new());
    let mut hits = Vec::new();
    let names: Vec<String> = table.functions().map(|function| table.display_function(function)).collect();
    let name = |frame: FrameId| names[table.frame(frame).function.index()].as_str();
    for sample in table.samples() {
        for frame in table.frames(sample.key.stack) {
            stacks.values().append_value(name(frame));
        }
        stacks.append(true);
        threads.append_option(sample.key.thread.map(|thread| table.thread(thread)));
        event_types.append_value(sample.key.source.word());
        hits.push(sample.hits);
    }
    Table::of_columns(vec![
        ("stack", Arc::new(stacks.finish())),
        ("thread", Arc::new(threads.finish())),
        ("source", Arc::new(event_types.finish())),
        ("hits", numbers::<UInt64Type>(hits)),
    ])
}
