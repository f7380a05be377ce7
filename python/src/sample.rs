//! The class `SampleProfile`, an LLVM sample profile.

use crate::about::About;
use crate::detached::{self, Watch};
use crate::error::OrRaise;
use crate::options::{MergeSettings, asked_target, newest_release};
use crate::source::AnyPath;
use crate::state::{Arguments, Reduced, reduce};
use crate::table::{Table, internal, numbers};
use crate::text::{printable, summary_fields, to_python, warn};
use arrow_array::builder::LargeStringBuilder;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_schema::ArrowError;
use profbridge::families::{Facts, InputOutcome, OutputForm, gcc_version};
use profbridge::input::{Family, Format, Input, OtherFormat};
use profbridge::instr::{Release, refuse_losses};
use profbridge::profgen::{self, ProfileOptions, ProgramFiles, SumOptions};
use profbridge::sampleprof::partial::PartialSamples;
use profbridge::sampleprof::{
    self, Encoding, FailedMerge, FileMergeOptions, Filter, FunctionRecord, InputMessage, MergeReport, Names, Rules,
    Summary, WriteOptions,
};
use profbridge::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// A merged sample profile, the release whose rules apply, its inputs and warnings.
#[derive(Serialize, Deserialize)]
pub(crate) struct Merged {
    profile: sampleprof::SampleProfile,
    release: Release,
    /// The version of GCC's format, if only GCC reads the inputs.
    gcc_version: Option<u64>,
    about: About,
}

/// Returns the requested release.
fn release(settings: &MergeSettings) -> Result<Release> {
    Ok(settings.asked_target()?.map_or(Release::DEFAULT, |target| target.release))
}

/// Returns the options for a merge of sample profiles.
///
/// # Errors
///
/// Usage for unknown settings; the errors of given files.
pub(crate) fn options(settings: &MergeSettings) -> Result<FileMergeOptions> {
    let mut options = FileMergeOptions::default();
    options.read.rules = Rules::of(release(settings)?);
    options.read.limits = settings.limits()?;
    options.failure_mode = settings.failure_mode()?;
    options.merge.remapping = settings.remapping()?;
    options.merge.filter = Filter::new(settings.function.as_deref(), settings.no_function.as_deref())?;
    options.threads = settings.threads();
    options.allow_duplicates = settings.allow_duplicates;
    Ok(options)
}

/// Merges sample profiles in order.
///
/// # Errors
///
/// The errors of the merge.
pub(crate) fn merge(inputs: &[Input], settings: &MergeSettings, watch: &Watch) -> Result<Merged> {
    let mut options = options(settings)?;
    options.cancel = watch.cancel();
    let progress = &mut |done, total| watch.progress(done, total);
    let report = sampleprof::merge_files(inputs, &options, progress);
    let mut merged = of_report(report.map_err(first_failure)?, settings)?;
    merged.gcc_version = if settings.asked_target()?.is_none() { gcc_version(inputs) } else { None };
    Ok(merged)
}

/// Returns the error of the first input that could not be read, otherwise that of the merge.
fn first_failure(failed: FailedMerge) -> Error {
    let of_input = failed.inputs.reports.into_iter().find_map(|report| match report.outcome {
        InputOutcome::Failed(error) => Some(error.in_file(&report.input.path)),
        _ => None,
    });
    of_input.unwrap_or(failed.error)
}

/// Finishes a partial merge.
///
/// # Errors
///
/// Like [`merge`].
pub(crate) fn finish(sums: &PartialSamples, options: &FileMergeOptions, settings: &MergeSettings) -> Result<Merged> {
    of_report(sampleprof::finish_partial(sums, options).map_err(first_failure)?, settings)
}

fn of_report(report: MergeReport, settings: &MergeSettings) -> Result<Merged> {
    let facts = settings.check(|wanted| report.facts(&WriteOptions::default(), wanted))?;
    let mut warnings = Vec::new();
    report.inputs.each_message(&mut |_, input, message| {
        warnings.push(match message {
            InputMessage::Fault(fault) => fault.warning(&input.input).to_string(),
            InputMessage::Skipped(error) => format!("skipped: {error}"),
            InputMessage::Empty(error) => format!("skipped: {error}"),
        });
    });
    let about = About::new(&report.inputs.reports, &facts, warnings);
    Ok(Merged { profile: report.profile, release: release(settings)?, gcc_version: None, about })
}

/// Returns true for a recording of perf, and for text, which can be one.
///
/// # Errors
///
/// The errors of the input.
pub(crate) fn may_be_recording(input: &Input) -> Result<bool> {
    Ok(matches!(
        input.format()?,
        Format::PerfData
            | Format::Unknown
            | Format::OtherText
            | Format::Text
            | Format::Collapsed
            | Format::Other(OtherFormat::BranchRecords | OtherFormat::Unsymbolized)
    ))
}

/// Makes the sample profile of a program from recordings of perf.
///
/// # Errors
///
/// The errors of the program and of the recordings; gate failed if a threshold fails.
pub(crate) fn of_recordings(inputs: &[Input], program: &Path, settings: &MergeSettings) -> Result<Merged> {
    let mut files = ProgramFiles::new(program);
    files.release = release(settings)?;
    let made = profgen::convert(
        inputs,
        &files,
        &ProfileOptions::default(),
        None,
        &SumOptions::default(),
        &settings.limits()?,
    )?;
    let functions = made.profile.functions.len() as u64;
    let facts = settings.check(|_| {
        let mut facts = Facts::default();
        facts.functions = Some(functions);
        facts.total_count = Some(Summary::of(&made.profile.functions, Rules::of(files.release)).total);
        Ok(facts.of_inputs(inputs.len()))
    })?;
    let mut warnings: Vec<String> = made.warnings.iter().map(ToString::to_string).collect();
    warnings.extend(made.losses.iter().map(|loss| format!("dropped {loss}")));
    let about = About::of_conversion(&facts, warnings);
    Ok(Merged { profile: made.profile, release: files.release, gcc_version: None, about })
}

/// Samples by function and line, for compilers that optimize with samples.
///
/// Two profiles are equal if they are written as the same bytes.
#[pyclass(frozen, module = "profbridge", name = "SampleProfile")]
pub(crate) struct SampleProfile {
    merged: Arc<Merged>,
}

impl SampleProfile {
    pub(crate) fn of(py: Python<'_>, merged: Merged) -> PyResult<Self> {
        warn(py, &merged.about.warnings)?;
        Ok(Self { merged: Arc::new(merged) })
    }

    /// Returns the profile of another process.
    pub(crate) fn of_state(merged: Merged) -> Self {
        Self { merged: Arc::new(merged) }
    }

    /// Returns the profile as a file without losses.
    pub(crate) fn exact_bytes(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let merged = self.merged.clone();
        let mut options = WriteOptions::default();
        options.rules = Rules::of(newest_release());
        options.encoding = Encoding::ExtBinary;
        detached::run(py, None, move |_| sampleprof::write(&merged.profile, &options))?.or_raise(py)
    }

    fn encode(&self, py: Python<'_>, asked: &Asked<'_>) -> PyResult<Vec<u8>> {
        let options = self.write_options(asked).or_raise(py)?;
        let (merged, strict) = (self.merged.clone(), asked.strict);
        let (bytes, losses) = detached::run(py, None, move |_| {
            let losses = sampleprof::losses(&merged.profile, &options);
            if strict {
                refuse_losses(&losses)?;
            }
            let losses: Vec<String> = losses.iter().map(|loss| format!("dropped {loss}")).collect();
            Ok::<_, Error>((sampleprof::write(&merged.profile, &options)?, losses))
        })?
        .or_raise(py)?;
        warn(py, &losses)?;
        Ok(bytes)
    }

    fn write_options(&self, asked: &Asked<'_>) -> Result<WriteOptions> {
        let asked_target = asked_target(asked.target)?.filter(|_| asked.target.is_some());
        let rules = Rules::of(asked_target.map_or(self.merged.release, |target| target.release));
        self.merged.about.require_something(asked.allow_empty)?;
        let mut options = WriteOptions::default();
        options.rules = rules;
        (options.use_md5, options.compress) = (asked.use_md5, asked.compress);
        options.encoding = match (asked.encoding, self.merged.gcc_version) {
            (None, Some(version)) if asked_target.is_none() && !asked.use_md5 && !asked.compress => {
                options.version = version;
                Encoding::Gcc
            }
            (None, _) => self.merged.profile.default_encoding(&options),
            (Some("binary"), _) => Encoding::Binary,
            (Some("extbinary"), _) => Encoding::ExtBinary,
            (Some("gcc"), _) => Encoding::Gcc,
            (Some("text"), _) => Encoding::Text,
            (Some(other), _) => {
                let detail = format!("encoding must be \"extbinary\", \"binary\", \"text\" or \"gcc\", not {other:?}");
                return Err(Error::usage(detail));
            }
        };
        Ok(options)
    }
}

/// The caller's settings for the output.
struct Asked<'a> {
    target: Option<&'a str>,
    encoding: Option<&'a str>,
    use_md5: bool,
    compress: bool,
    strict: bool,
    allow_empty: bool,
}

#[pymethods]
impl SampleProfile {
    /// The profile family.
    #[classattr]
    pub(crate) const FAMILY: &'static str = "sampleprof";

    /// The number of functions. Each calling context counts.
    fn __len__(&self) -> usize {
        self.merged.profile.functions.len()
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

    /// The release whose rules apply, such as `"llvm-22"`.
    #[getter]
    fn target(&self) -> String {
        format!("llvm-{}", self.merged.release.0)
    }

    /// One row per function, or per function in a calling context.
    ///
    /// Returns
    /// -------
    /// Table
    ///     The columns are:
    ///
    ///     ``name`` : str
    ///         The function name, or the hash of it.
    ///     ``context`` : str
    ///         The calls that lead to the function; missing for a profile without contexts.
    ///     ``total_samples``, ``head_samples`` : uint64
    ///         The samples in the function and in the functions inlined into it, and those at its entry.
    ///     ``checksum`` : uint64
    ///         The checksum of the function's control flow; 0 without pseudo probes.
    ///     ``inlined_calls`` : uint32
    ///         The number of functions inlined into it.
    fn functions(&self, py: Python<'_>) -> PyResult<Table> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| functions(&merged.profile))?.map_err(internal)
    }

    /// One row per line of a function, including the lines of inlined functions.
    ///
    /// Returns
    /// -------
    /// Table
    ///     The columns are:
    ///
    ///     ``function`` : str
    ///         The function, or its context.
    ///     ``inlined`` : str
    ///         The inlined calls that lead to the line; missing for lines of the function itself.
    ///     ``line_offset``, ``discriminator`` : uint32
    ///         The line relative to the start of the function, and the discriminator.
    ///     ``samples`` : uint64
    ///         The samples of the line.
    fn lines(&self, py: Python<'_>) -> PyResult<Table> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| lines(&merged.profile))?.map_err(internal)
    }

    /// The profile summary for compilers.
    ///
    /// Returns
    /// -------
    /// SampleSummary
    ///     ``num_functions``, ``num_counts``, ``total_count``, ``max_count`` and ``max_head_count``. ``cutoffs`` is a
    ///     list of tuples: a share of all samples (0.99), the smallest of the largest counts that make up this share,
    ///     and the number of these counts.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let summary = Summary::of(&self.merged.profile.functions, Rules::of(self.merged.release));
        let totals = [
            ("num_functions", self.merged.profile.functions.len() as u64),
            ("num_counts", summary.counts),
            ("total_count", summary.total),
            ("max_count", summary.max),
            ("max_head_count", summary.max_head),
        ];
        let rows = summary.rows.iter().map(|row| (row.cutoff, row.min_count, row.counts));
        summary_fields(py, &totals, rows)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Self>() else { return Ok(false) };
        Ok(self.exact_bytes(py)? == other.get().exact_bytes(py)?)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, Arguments<'py>>> {
        reduce(py, Self::FAMILY, &*self.merged)
    }

    /// The profile as a file.
    ///
    /// Parameters
    /// ----------
    /// target : str, optional
    ///     The toolchain that reads the file [default: that of the merge].
    /// encoding : {"extbinary", "binary", "text", "gcc"}, optional
    ///     The encoding [default: that of the target's llvm-profdata; without a target, GCC's format if all inputs have
    ///     it].
    /// use_md5 : bool, optional
    ///     Whether to write hashes instead of names.
    /// compress : bool, optional
    ///     Whether to compress the sections of an extensible binary.
    /// strict : bool, optional
    ///     Whether data that the format cannot store is a :class:`LossError`. Otherwise it is a warning.
    /// allow_empty : bool, optional
    ///     Whether a profile without functions is written. Otherwise it is a :class:`MergeError`.
    ///
    /// Returns
    /// -------
    /// bytes
    #[pyo3(signature = (*, target=None, encoding=None, use_md5=false, compress=false, strict=false, allow_empty=false))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn to_bytes<'py>(
        &self,
        py: Python<'py>,
        target: Option<&str>,
        encoding: Option<&str>,
        use_md5: bool,
        compress: bool,
        strict: bool,
        allow_empty: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.encode(py, &Asked { target, encoding, use_md5, compress, strict, allow_empty })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Write a file.
    ///
    /// The file extension ``.proftext`` selects text; other names have the given encoding. The file is compressed if
    /// its name ends in ``.gz`` or ``.zst``. It is replaced whole or not at all.
    ///
    /// Parameters
    /// ----------
    /// path : path
    ///     The file.
    /// target, encoding, use_md5, compress, strict, allow_empty
    ///     See :meth:`to_bytes`.
    /// force : bool, optional
    ///     Whether to replace a file that is not an earlier output.
    #[pyo3(signature = (path, *, target=None, encoding=None, use_md5=false, compress=false, strict=false,
                        allow_empty=false, force=false))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn write(
        &self,
        py: Python<'_>,
        path: AnyPath,
        target: Option<&str>,
        encoding: Option<&str>,
        use_md5: bool,
        compress: bool,
        strict: bool,
        allow_empty: bool,
        force: bool,
    ) -> PyResult<()> {
        let path = path.0;
        let forms = [OutputForm::Indexed, OutputForm::Text, OutputForm::SampleProf];
        let asked = encoding.map(|word| if word == "text" { OutputForm::Text } else { OutputForm::Indexed });
        let form = crate::output::form(&path, "a sample profile", &forms, asked).or_raise(py)?;
        let encoding = encoding.or((form == Some(OutputForm::Text)).then_some("text"));
        let bytes = self.encode(py, &Asked { target, encoding, use_md5, compress, strict, allow_empty })?;
        crate::output::replace(py, path, bytes, Family::SampleProf, force)
    }

    fn __repr__(&self) -> String {
        format!("<profbridge.SampleProfile of {} functions>", self.merged.profile.functions.len())
    }
}

fn functions(profile: &sampleprof::SampleProfile) -> std::result::Result<Table, ArrowError> {
    let (mut names, mut contexts) = (LargeStringBuilder::new(), LargeStringBuilder::new());
    let (mut totals, mut heads, mut checksums, mut inlined) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for record in &profile.functions {
        names.append_value(printable(&profile.name(record.name).to_bytes()));
        contexts.append_option(record.context.as_ref().map(|_| printable(&profile.title(record)).into_owned()));
        totals.push(record.total);
        heads.push(record.head);
        checksums.push(record.checksum);
        inlined.push(record.call_sites.len() as u32);
    }
    Table::of_columns(vec![
        ("name", Arc::new(names.finish())),
        ("context", Arc::new(contexts.finish())),
        ("total_samples", numbers::<UInt64Type>(totals)),
        ("head_samples", numbers::<UInt64Type>(heads)),
        ("checksum", numbers::<UInt64Type>(checksums)),
        ("inlined_calls", numbers::<UInt32Type>(inlined)),
    ])
}

/// The columns of [`lines`].
#[derive(Default)]
struct Lines {
    functions: LargeStringBuilder,
    inlined: LargeStringBuilder,
    lines: Vec<u32>,
    discriminators: Vec<u32>,
    samples: Vec<u64>,
}

fn lines(profile: &sampleprof::SampleProfile) -> std::result::Result<Table, ArrowError> {
    let mut rows = Lines::default();
    for record in &profile.functions {
        let title = printable(&profile.title(record)).into_owned();
        // Use a list instead of recursion, because inlined functions may be nested deeply.
        let mut waiting: Vec<(&FunctionRecord, Option<String>)> = vec![(record, None)];
        while let Some((record, inlined)) = waiting.pop() {
            rows.push(&title, inlined.as_deref(), record);
            for site in record.call_sites.iter().rev() {
                waiting.push((&site.callee, Some(path(&profile.names, inlined.as_deref(), site))));
            }
        }
    }
    Table::of_columns(vec![
        ("function", Arc::new(rows.functions.finish())),
        ("inlined", Arc::new(rows.inlined.finish())),
        ("line_offset", numbers::<UInt32Type>(rows.lines)),
        ("discriminator", numbers::<UInt32Type>(rows.discriminators)),
        ("samples", numbers::<UInt64Type>(rows.samples)),
    ])
}

fn path(names: &Names, above: Option<&str>, site: &sampleprof::CallSite) -> String {
    let name = names.get(site.callee.name).to_bytes();
    let here = format!("{}: {}", site.location, printable(&name));
    above.map_or_else(|| here.clone(), |above| format!("{above} @ {here}"))
}

impl Lines {
    fn push(&mut self, function: &str, inlined: Option<&str>, record: &FunctionRecord) {
        for entry in &record.body {
            self.functions.append_value(function);
            self.inlined.append_option(inlined);
            self.lines.push(entry.location.line);
            self.discriminators.push(entry.location.discriminator);
            self.samples.push(entry.samples);
        }
    }
}
