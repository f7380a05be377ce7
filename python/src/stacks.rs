//! The class `Stacks`: sampled stacks of recordings, collapsed text and pprof.

use crate::about::About;
use crate::detached::{self, Watch};
use crate::error::OrRaise;
use crate::iprof::Iprof;
use crate::options::MergeSettings;
use crate::source::AnyPath;
use crate::state::{Arguments, Bytes, Reduced, reduce};
use crate::table::{Table, internal, numbers};
use crate::text::{to_python, warn};
use arrow_array::builder::{LargeListBuilder, LargeStringBuilder};
use arrow_array::types::UInt64Type;
use arrow_schema::ArrowError;
use profbridge::call_chains::statistics;
use profbridge::call_chains::{FrameId, SampleSource, Selection, StackTable};
use profbridge::families::plan::StackOutput;
use profbridge::families::stack_files::{
    StackMergeOptions, StackSum, are_pprof, facts_of, merge_pprof, merge_tables, without_addresses,
};
use profbridge::families::stack_output::{StackWriteOptions, encode_pprof, encode_table};
use profbridge::families::{Facts, FailedMerge, OutputForm};
use profbridge::input::{Family, Input};
use profbridge::iprof::Document;
use profbridge::stacks::pprof;
use profbridge::{Error, Limits, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// Merged stacks, their inputs and warnings.
pub(crate) struct Merged {
    table: StackTable,
    /// The merged pprof profile, without losses, if all inputs are pprof.
    pprof: Option<pprof::Profile>,
    about: About,
}

/// Merged stacks that cross processes.
#[derive(Serialize, Deserialize)]
pub(crate) struct State {
    table: StackTable,
    /// The pprof profile as a file.
    pprof: Option<Bytes>,
    about: About,
}

impl Merged {
    /// Returns the stacks for another process.
    ///
    /// # Errors
    ///
    /// The errors of the writer of pprof.
    fn state(&self) -> Result<State> {
        let pprof = self.pprof.as_ref().map(pprof::write).transpose()?.map(|bytes| Bytes::of(&bytes));
        Ok(State { table: self.table.clone(), pprof, about: self.about.clone() })
    }

    /// Returns the samples that the program shows: those of the main event type, with joined hidden classes.
    fn selected(&self) -> StackTable {
        without_addresses(self.table.select(&Selection::default()).0)
    }

    /// Returns the content, without the inputs and the warnings.
    fn content(&self) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
        let table = serde_json::to_vec(&self.table).map_err(|error| Error::io("cannot compare", error.into()))?;
        Ok((table, self.pprof.as_ref().map(pprof::write).transpose()?))
    }

    fn of_state(state: State) -> Result<Self> {
        let pprof = state
            .pprof
            .map(|bytes| pprof::read(&bytes.bytes(), &Limits::default()).map(|(profile, _)| profile))
            .transpose()?;
        Ok(Self { table: state.table, pprof, about: state.about })
    }
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
    options.salvage = settings.salvage;
    options.threads = settings.threads();
    options.read.limits = settings.limits()?;
    options.read.perf.binaries.clone_from(&settings.binary);
    options.read.recording.events = settings.event_types()?;
    options.read.recording.events.retain(|source| *source != SampleSource::Unknown);
    if settings.reads_calls && settings.events.is_empty() {
        options.read.recording.events.extend(SampleSource::CALLS);
    }
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
    if are_pprof(inputs) && settings.events.is_empty() {
        let sum = merge_pprof(inputs, &options, &mut progress);
        of_pprof(sum.map_err(FailedMerge::into_first_failure)?, settings)
    } else {
        let sum = merge_tables(inputs, &options, &mut progress);
        of_tables(sum.map_err(FailedMerge::into_first_failure)?, settings)
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
    let facts = facts(&table, used, settings)?;
    warnings.extend(report.warnings());
    Ok(Merged { table, pprof: Some(profile), about: About::new(&sum.inputs, &facts, warnings) })
}

/// Returns the result of a merge of other sources.
///
/// # Errors
///
/// Gate failed if a threshold fails.
pub(crate) fn of_tables(mut sum: StackSum<StackTable>, settings: &MergeSettings) -> Result<Merged> {
    if !settings.events.is_empty() {
        let mut selection = Selection::default();
        selection.sources = settings.event_types()?;
        sum.sum = sum.sum.select(&selection).0;
    }
    let facts = facts(&sum.sum, sum.used(), settings)?;
    let mut warnings: Vec<String> = sum.warnings().iter().map(ToString::to_string).collect();
    if sum.sum.is_empty() {
        // The notes name the events that the inputs have instead.
        warnings.extend(statistics(&sum.sum).notes);
    }
    Ok(Merged { table: sum.sum, pprof: None, about: About::new(&sum.inputs, &facts, warnings) })
}

fn facts(table: &StackTable, used: usize, settings: &MergeSettings) -> Result<Facts> {
    settings.check(|wanted| {
        let mut facts = facts_of(table, &Selection::default(), wanted).of_inputs(used);
        facts.lack = table.is_empty().then(|| "the inputs have no stacks".into());
        Ok(facts)
    })
}

/// Samples by call stack.
///
/// Two profiles are equal if they have the same samples in the same order.
#[pyclass(frozen, module = "profbridge", name = "Stacks")]
pub(crate) struct Stacks {
    merged: Arc<Merged>,
}

impl Stacks {
    pub(crate) fn of(py: Python<'_>, merged: Merged) -> PyResult<Self> {
        warn(py, &merged.about.warnings)?;
        Ok(Self { merged: Arc::new(merged) })
    }

    /// Returns the stacks of another process.
    ///
    /// # Errors
    ///
    /// The errors of the reader of pprof.
    pub(crate) fn of_state(state: State) -> Result<Self> {
        Merged::of_state(state).map(|merged| Self { merged: Arc::new(merged) })
    }

    /// Returns the profile as a file, with the default event types of a recording.
    pub(crate) fn exact_bytes(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let merged = self.merged.clone();
        let uncompressed = Path::new("stacks.pb");
        let encode = move |_: Watch| encode(&merged, uncompressed, &write_options(StackOutput::Pprof));
        detached::run(py, None, encode)?.map(|(bytes, _)| bytes).or_raise(py)
    }

    /// Encodes the stacks for a file of this name, and warns of losses.
    fn encode(&self, py: Python<'_>, format: StackOutput, output: &Path, allow_empty: bool) -> PyResult<Vec<u8>> {
        self.merged.about.require_something(allow_empty).or_raise(py)?;
        let (merged, output) = (self.merged.clone(), output.to_path_buf());
        let encode = move |_: Watch| encode(&merged, &output, &write_options(format));
        let (bytes, losses) = detached::run(py, None, encode)?.or_raise(py)?;
        warn(py, &losses)?;
        Ok(bytes)
    }
}

#[pymethods]
impl Stacks {
    /// The profile family.
    #[classattr]
    pub(crate) const FAMILY: &'static str = "stacks";

    /// The warnings that were issued when the profile was created.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.merged.about.warnings.clone()
    }

    /// The inputs with their outcomes, and the number of functions of the result; see :class:`profbridge.MergeReport`.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.merged.about.report)
    }

    /// The number of samples with different stacks, threads or event types.
    fn __len__(&self) -> usize {
        self.merged.table.samples().len()
    }

    /// One row per method. Event types of recordings measure different things, so only the samples of the first one count,
    /// as in `profbridge show`; :meth:`samples` has all.
    ///
    /// Returns
    /// -------
    /// Table
    ///     The columns are:
    ///
    ///     ``name`` : str
    ///         The method or function.
    ///     ``self_hits`` : uint64
    ///         The samples in which it was running.
    ///     ``total_hits`` : uint64
    ///         The samples with the method anywhere in the stack.
    fn functions(&self, py: Python<'_>) -> PyResult<Table> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| functions(&merged.selected()))?.map_err(internal)
    }

    /// One row per sample.
    ///
    /// Returns
    /// -------
    /// Table
    ///     The columns are:
    ///
    ///     ``stack`` : list of str
    ///         The methods, innermost first.
    ///     ``thread`` : str
    ///         The thread; missing if it is unknown.
    ///     ``source`` : str
    ///         The event type, such as ``"execution"`` or ``"allocation"``.
    ///     ``hits`` : uint64
    ///         The number of samples, or their bytes or time.
    fn samples(&self, py: Python<'_>) -> PyResult<Table> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| samples(&merged.table))?.map_err(internal)
    }

    /// The statistics that `profbridge show --json` prints.
    ///
    /// Returns
    /// -------
    /// dict
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let merged = self.merged.clone();
        to_python(py, &detached::run(py, None, move |_| statistics(&merged.selected()))?)
    }

    /// Convert the samples to GraalVM's format.
    ///
    /// Parameters
    /// ----------
    /// any_value : bool, optional
    ///     Whether values that do not measure time, such as allocated bytes, are taken as sample counts. Otherwise they
    ///     are a :class:`UsageError`, because the samples of an iprof measure time.
    ///
    /// Returns
    /// -------
    /// Iprof
    #[pyo3(signature = (*, any_value=false))]
    fn to_iprof(&self, py: Python<'_>, any_value: bool) -> PyResult<Iprof> {
        let merged = self.merged.clone();
        let (document, losses) = detached::run(py, None, move |_| to_iprof(&merged, any_value))?.or_raise(py)?;
        Iprof::of(py, crate::iprof::Merged::of_document(document, losses))
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Self>() else { return Ok(false) };
        let (one, other) = (self.merged.clone(), other.get().merged.clone());
        let same = detached::run(py, None, move |_| Ok::<_, Error>(one.content()? == other.content()?))?;
        same.or_raise(py)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, Arguments<'py>>> {
        reduce(py, Self::FAMILY, &self.merged.state().or_raise(py)?)
    }

    /// The profile as a file.
    ///
    /// Parameters
    /// ----------
    /// format : {"collapsed", "pprof", "iprof"}, optional
    ///     The format. pprof is compressed.
    /// allow_empty : bool, optional
    ///     Whether a profile without stacks is written. Otherwise it is a :class:`MergeError`.
    ///
    /// Returns
    /// -------
    /// bytes
    #[pyo3(signature = (*, format="collapsed", allow_empty=false))]
    fn to_bytes<'py>(&self, py: Python<'py>, format: &str, allow_empty: bool) -> PyResult<Bound<'py, PyBytes>> {
        let format = format_of(format).or_raise(py)?;
        let bytes = self.encode(py, format, Path::new(""), allow_empty)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Write a file.
    ///
    /// The file extension or `format` selects the format: ``.collapsed``, ``.folded``, ``.pprof``, ``.pgo``, ``.pb``
    /// (pprof that is not compressed) or ``.iprof``. Text is compressed if the name ends in ``.gz`` or ``.zst``. The
    /// file is replaced whole or not at all.
    ///
    /// Parameters
    /// ----------
    /// path : path
    ///     The file.
    /// format : {"collapsed", "pprof", "iprof"}, optional
    ///     The format of a file with another extension [default: collapsed].
    /// allow_empty : bool, optional
    ///     Whether a profile without stacks is written. Otherwise it is a :class:`MergeError`.
    /// force : bool, optional
    ///     Whether to replace a file that is not an earlier output.
    #[pyo3(signature = (path, *, format=None, allow_empty=false, force=false))]
    fn write(
        &self,
        py: Python<'_>,
        path: AnyPath,
        format: Option<&str>,
        allow_empty: bool,
        force: bool,
    ) -> PyResult<()> {
        let path = path.0;
        let format = match format {
            Some(format) => format_of(format).or_raise(py)?,
            None => {
                let forms = [OutputForm::Collapsed, OutputForm::Pprof, OutputForm::Iprof];
                let form = crate::output::form(&path, "stacks", &forms, None).or_raise(py)?;
                form.and_then(StackOutput::of_form).unwrap_or(StackOutput::Collapsed)
            }
        };
        let bytes = self.encode(py, format, &path, allow_empty)?;
        let family = if format == StackOutput::Iprof { Family::Iprof } else { Family::Stacks };
        crate::output::replace_encoded(py, path, bytes, family, force)
    }

    fn __repr__(&self) -> String {
        let stacks: HashSet<_> = self.merged.table.samples().map(|sample| sample.key.stack).collect();
        format!("<profbridge.Stacks of {} distinct stacks>", stacks.len())
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

/// Encodes the stacks for a file of this name, which selects the compression, and returns the losses.
fn encode(merged: &Merged, output: &Path, options: &StackWriteOptions) -> Result<(Vec<u8>, Vec<String>)> {
    let encoded = match (options.format, &merged.pprof) {
        (StackOutput::Pprof, Some(profile)) => encode_pprof(profile.clone(), options, output)?,
        _ => encode_table(merged.table.clone(), options, output)?,
    };
    let mut losses = encoded.losses;
    if options.format == StackOutput::Iprof {
        losses.extend(unread_calls(&merged.table));
    }
    Ok((encoded.bytes, losses))
}

/// Returns a loss for the exact call counts that the recordings have and an iprof can store.
fn unread_calls(table: &StackTable) -> Option<String> {
    let skipped = &table.observed.skipped_events;
    let unread: Vec<&str> =
        SampleSource::CALLS.iter().filter(|source| skipped.contains_key(source)).map(|source| source.word()).collect();
    let words = unread.join(" and ");
    (!unread.is_empty()).then(|| format!("the exact call counts of {words} were not read; pass them as events"))
}

/// Returns the options for a format, with the defaults of the program.
fn write_options(format: StackOutput) -> StackWriteOptions {
    let mut options = StackWriteOptions::new(format);
    (options.collapsed.descriptors, options.collapsed.bcis) = (true, true);
    options
}

/// Makes an iprof, whose samples measure time. With `any_value`, other values become sample counts.
fn to_iprof(merged: &Merged, any_value: bool) -> Result<(Document, Vec<String>)> {
    let mut options = write_options(StackOutput::Iprof);
    options.accept_weights = any_value;
    let mut encoded = encode_table(merged.table.clone(), &options, Path::new(""))?;
    let mut losses = std::mem::take(&mut encoded.losses);
    losses.extend(unread_calls(&merged.table));
    Ok((encoded.into_iprof().unwrap_or_default(), losses))
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
