//! The class `Iprof`, a GraalVM profile.

use crate::about::{About, skipped};
use crate::detached::{self, Watch};
use crate::error::OrRaise;
use crate::instr::{self, Profile};
use crate::options::{MergeSettings, asked_target, check_toolchain, target};
use crate::source::AnyPath;
use crate::state::{Arguments, Bytes, Reduced, reduce};
use crate::table::{Table, internal, numbers};
use crate::text::{printable, to_python, warn};
use arrow_array::builder::LargeStringBuilder;
use arrow_array::types::{Int32Type, UInt32Type, UInt64Type};
use arrow_schema::ArrowError;
use profbridge::Result;
use profbridge::bridge::{self, ToLlvmOptions};
use profbridge::families::merge::iprof::{IprofMergeOptions, IprofMergeReport, facts_of, merge_iprof_files};
use profbridge::families::{FactsRequest, FailedMerge, OutputForm, Target, TargetSource, iprof_statistics};
use profbridge::input::{Family, Input};
use profbridge::instr::{Loss, refuse_losses};
use profbridge::iprof::statistics::StatisticsOptions;
use profbridge::iprof::{self, ContextHandle, Document, Records, SectionKind, Weight};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A merged document that crosses processes, as a file.
#[derive(Serialize, Deserialize)]
pub(crate) struct State {
    file: Bytes,
    about: About,
}

/// A merged document, its inputs and warnings.
pub(crate) struct Merged {
    document: Document,
    about: About,
}

impl Merged {
    /// A document, with what is known about it.
    pub(crate) fn new(document: Document, about: About) -> Self {
        Self { document, about }
    }

    /// A document that was made of another profile.
    pub(crate) fn of_document(document: Document, warnings: Vec<String>) -> Self {
        let about = About::of_conversion(&facts_of(&document, FactsRequest::default()), warnings);
        Self { document, about }
    }
}

/// Returns the options for a merge of iprof files.
///
/// # Errors
///
/// Usage for unknown settings; the errors of given files.
pub(crate) fn options(settings: &MergeSettings) -> Result<IprofMergeOptions> {
    let mut options = IprofMergeOptions::default();
    options.read.threads = settings.threads();
    options.read.limits = settings.limits()?;
    options.scale = Weight::ONE;
    options.failure_mode = settings.failure_mode()?;
    options.salvage = settings.salvage;
    options.llvm = settings.instr(&target(settings, &[])?)?;
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
    let facts = settings.check(|wanted| Ok(facts_of(&report.document, wanted).of_inputs(report.used())))?;
    let mut warnings = Vec::new();
    for (at, input) in report.inputs.iter().enumerate() {
        warnings.extend(skipped(input));
        let path = input.input.path.display();
        let reported =
            report.findings.iter().filter(|(place, finding)| *place == at && finding.code.is_about_content());
        warnings.extend(reported.map(|(_, finding)| format!("{path}: {finding}")));
    }
    warnings.extend(report.warnings().iter().map(ToString::to_string));
    warnings.extend(report.losses.iter().map(|loss| format!("dropped {loss}")));
    Ok(Merged { about: About::new(&report.inputs, &facts, warnings), document: report.document })
}

/// A profile for GraalVM's native-image.
///
/// Two profiles are equal if they are written as the same bytes.
#[pyclass(frozen, module = "profbridge", name = "Iprof")]
pub(crate) struct Iprof {
    merged: Arc<Merged>,
}

impl Iprof {
    pub(crate) fn of(py: Python<'_>, merged: Merged) -> PyResult<Self> {
        warn(py, &merged.about.warnings)?;
        Ok(Self { merged: Arc::new(merged) })
    }

    /// Returns the profile of another process.
    ///
    /// # Errors
    ///
    /// The errors of the reader.
    pub(crate) fn of_state(state: State) -> Result<Self> {
        let (document, _) = iprof::Reader::new(&state.file.bytes()[..], &iprof::ReadOptions::default()).read()?;
        Ok(Self { merged: Arc::new(Merged { document, about: state.about }) })
    }

    /// Returns the profile as a file without losses.
    pub(crate) fn exact_bytes(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| iprof::Writer::new(&iprof::WriteOptions::default()).to_bytes(&merged.document))
    }

    fn encode(&self, py: Python<'_>, allow_empty: bool) -> PyResult<Vec<u8>> {
        self.merged.about.require_something(allow_empty).or_raise(py)?;
        self.exact_bytes(py)
    }
}

#[pymethods]
impl Iprof {
    /// The profile family.
    #[classattr]
    pub(crate) const FAMILY: &'static str = "iprof";

    /// The version of the format in which the profile is written: profiles of before 1.0 become 1.0.0.
    #[getter]
    fn version(&self) -> String {
        self.merged.document.version.to_string()
    }

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

    /// The number of methods.
    fn __len__(&self) -> usize {
        self.merged.document.tables.methods_count()
    }

    /// One row per method.
    ///
    /// Returns
    /// -------
    /// Table
    ///     The columns are:
    ///
    ///     ``name`` : str
    ///         Class, method and types.
    ///     ``id`` : uint32
    ///         The number of the method in the file.
    ///     ``calls`` : uint64
    ///         The number of calls by all callers.
    ///     ``samples`` : uint64
    ///         The samples in which the method was running.
    fn functions(&self, py: Python<'_>) -> PyResult<Table> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| methods(&merged.document))?.map_err(internal)
    }

    /// One row per entry of a section.
    ///
    /// Returns
    /// -------
    /// Table
    ///     The columns are:
    ///
    ///     ``section`` : str
    ///         The section, such as ``"callCountProfiles"``.
    ///     ``method``, ``bci`` : str, int32
    ///         The innermost method of the context, and the bytecode index in it. ``"monitorProfiles"`` has no
    ///         context: an empty name, and 0.
    ///     ``context`` : str
    ///         The frames, innermost first, joined with `` < ``.
    ///     ``depth`` : uint32
    ///         The number of frames.
    ///     ``events`` : uint64
    ///         The sum of the counts of the entry.
    fn entries(&self, py: Python<'_>) -> PyResult<Table> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| entries(&merged.document))?.map_err(internal)
    }

    /// The statistics that `profbridge show --json` prints.
    ///
    /// They describe the profile as it is written: ``version`` is :attr:`Iprof.version`.
    ///
    /// Parameters
    /// ----------
    /// topn : int, optional
    ///     The length of each list.
    ///
    /// Returns
    /// -------
    /// dict
    #[pyo3(signature = (topn=10))]
    fn summary<'py>(&self, py: Python<'py>, topn: usize) -> PyResult<Bound<'py, PyAny>> {
        let merged = self.merged.clone();
        let found = detached::run(py, None, move |_| {
            let mut options = StatisticsOptions::default();
            options.topn = topn;
            // The sizes are those of the file that the profile becomes.
            let file = iprof::Writer::new(&iprof::WriteOptions::default()).to_bytes(&merged.document);
            iprof_statistics(Input::from_bytes("profile.iprof", file), &options)
        })?;
        to_python(py, &found.or_raise(py)?.0)
    }

    /// Convert the profile to an LLVM profile, like `profbridge convert`.
    ///
    /// Parameters
    /// ----------
    /// target : str, optional
    ///     The toolchain that reads the profile, which determines the kinds of values.
    /// strict : bool, optional
    ///     Whether content that cannot be converted is a :class:`LossError`. Otherwise it is a warning.
    ///
    /// Returns
    /// -------
    /// Profile
    #[pyo3(signature = (*, target=None, strict=false))]
    fn to_llvm(&self, py: Python<'_>, target: Option<&str>, strict: bool) -> PyResult<Profile> {
        check_toolchain(py, target)?;
        let target = asked_target(target).or_raise(py)?;
        let merged = self.merged.clone();
        let converted = detached::run(py, None, move |_| {
            let mut options = ToLlvmOptions::default();
            let target = target.unwrap_or_else(|| Target::default_release(TargetSource::Inputs));
            options.indexed_version = target.indexed_version;
            let (profile, losses) = bridge::to_llvm(&merged.document, &options)?;
            not_converted(&losses, strict).and_then(|warnings| instr::Merged::of_profile(profile, target, warnings))
        })?;
        Profile::of(py, converted.or_raise(py)?)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Self>() else { return Ok(false) };
        Ok(self.exact_bytes(py)? == other.get().exact_bytes(py)?)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, Arguments<'py>>> {
        reduce(py, Self::FAMILY, &State { file: Bytes::of(&self.exact_bytes(py)?), about: self.merged.about.clone() })
    }

    /// The profile as a file.
    ///
    /// Parameters
    /// ----------
    /// allow_empty : bool, optional
    ///     Whether a profile without entries is written. Otherwise it is a :class:`MergeError`.
    ///
    /// Returns
    /// -------
    /// bytes
    #[pyo3(signature = (*, allow_empty=false))]
    fn to_bytes<'py>(&self, py: Python<'py>, allow_empty: bool) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.encode(py, allow_empty)?))
    }

    /// Write a file: ``.iprof``, ``.json`` or without a known extension.
    ///
    /// The file is compressed if its name ends in ``.gz`` or ``.zst``. It is replaced whole or not at all.
    ///
    /// Parameters
    /// ----------
    /// path : path
    ///     The file.
    /// allow_empty : bool, optional
    ///     Whether a profile without entries is written. Otherwise it is a :class:`MergeError`.
    /// force : bool, optional
    ///     Whether to replace a file that is not an earlier output.
    #[pyo3(signature = (path, *, allow_empty=false, force=false))]
    fn write(&self, py: Python<'_>, path: AnyPath, allow_empty: bool, force: bool) -> PyResult<()> {
        let path = path.0;
        crate::output::form(&path, "an iprof", &[OutputForm::Iprof, OutputForm::Json], None).or_raise(py)?;
        let bytes = self.encode(py, allow_empty)?;
        crate::output::replace(py, path, bytes, Family::Iprof, force)
    }

    fn __repr__(&self) -> String {
        format!("<profbridge.Iprof of {} methods>", self.merged.document.tables.methods_count())
    }
}

/// Returns the warnings about content that could not be converted.
///
/// # Errors
///
/// Would lose, if the conversion is strict and there is any.
pub(crate) fn not_converted(losses: &[Loss], strict: bool) -> Result<Vec<String>> {
    if strict {
        refuse_losses(losses)?;
    }
    Ok(losses.iter().map(|loss| format!("not converted: {loss}")).collect())
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
    for kind in SectionKind::ALL.iter().copied() {
        for at in 0..document.sections.entries_count(kind) {
            let (context, records) = document.sections.entry(kind, at);
            // Monitors have no context.
            let leaf = document.contexts.leaf(context);
            sections.append_value(kind.name());
            names.append_value(leaf.map(|leaf| document.tables.human_name(leaf.method)).unwrap_or_default());
            contexts.append_value(words(document, context));
            bcis.push(leaf.map_or(0, |leaf| leaf.bci));
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
