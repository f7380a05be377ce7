//! The class `SampleProfile`, an LLVM sample profile.

use crate::detached::{self, Watch};
use crate::error::OrRaise;
use crate::options::{MergeSettings, asked_target};
use crate::table::{Table, internal, numbers};
use crate::text::{printable, summary_fields, warn};
use arrow_array::builder::LargeStringBuilder;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_schema::ArrowError;
use profbridge::families::OutputForm;
use profbridge::input::{Family, Input};
use profbridge::instr::{Release, refuse_losses};
use profbridge::sampleprof::partial::PartialSamples;
use profbridge::sampleprof::{
    self, Encoding, FileMergeOptions, Filter, FunctionRecord, InputMessage, MergeReport, Names, Rules, Summary,
    WriteOptions,
};
use profbridge::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::Arc;

/// A merged sample profile with its warnings.
pub(crate) struct Merged {
    profile: sampleprof::SampleProfile,
    rules: Rules,
    warnings: Vec<String>,
}

/// Returns the rules of the requested release.
fn rules(settings: &MergeSettings) -> Result<Rules> {
    let release = asked_target(settings.target.as_deref())?.map_or(Release::DEFAULT, |target| target.release);
    Ok(Rules::of(release))
}

/// Returns the options for a merge of sample profiles.
///
/// # Errors
///
/// Usage for unknown settings; the errors of given files.
pub(crate) fn options(settings: &MergeSettings) -> Result<FileMergeOptions> {
    let mut options = FileMergeOptions::default();
    options.read.rules = rules(settings)?;
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
    of_report(sampleprof::merge_files(inputs, &options, progress)?, settings)
}

/// Finishes a partial merge.
///
/// # Errors
///
/// Like [`merge`].
pub(crate) fn finish(sums: &PartialSamples, settings: &MergeSettings) -> Result<Merged> {
    of_report(sampleprof::finish_partial(sums, &options(settings)?)?, settings)
}

fn of_report(report: MergeReport, settings: &MergeSettings) -> Result<Merged> {
    settings.check(|wanted| report.facts(&WriteOptions::default(), wanted))?;
    let mut warnings = Vec::new();
    report.inputs.each_message(&mut |_, input, message| {
        warnings.push(match message {
            InputMessage::Fault(fault) => fault.warning(&input.input).to_string(),
            InputMessage::Skipped(error) => format!("skipped: {error}"),
            InputMessage::Empty(error) => format!("skipped: {error}"),
        });
    });
    Ok(Merged { profile: report.profile, rules: rules(settings)?, warnings })
}

/// Samples by function and line, for compilers that optimize with samples.
#[pyclass(frozen, module = "profbridge", name = "SampleProfile")]
pub(crate) struct SampleProfile {
    merged: Arc<Merged>,
}

impl SampleProfile {
    pub(crate) fn of(py: Python<'_>, merged: Merged) -> PyResult<Self> {
        warn(py, &merged.warnings)?;
        Ok(Self { merged: Arc::new(merged) })
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
        let rules = match asked.target {
            Some(_) => asked_target(asked.target)?.map_or(self.merged.rules, |target| Rules::of(target.release)),
            None => self.merged.rules,
        };
        let mut options = WriteOptions::default();
        options.rules = rules;
        (options.use_md5, options.compress) = (asked.use_md5, asked.compress);
        options.encoding = match asked.encoding {
            None => self.merged.profile.default_encoding(rules),
            Some("binary") => Encoding::Binary,
            Some("extbinary") => Encoding::ExtBinary,
            Some("text") => Encoding::Text,
            Some(other) => {
                let detail = format!("encoding must be \"extbinary\", \"binary\" or \"text\", not {other:?}");
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
}

#[pymethods]
impl SampleProfile {
    /// The profile family.
    #[classattr]
    const FAMILY: &'static str = "sampleprof";

    /// The number of functions. Each calling context counts.
    fn __len__(&self) -> usize {
        self.merged.profile.functions.len()
    }

    /// The warnings that were issued when the profile was created.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.merged.warnings.clone()
    }

    /// One row per function, or per function in a calling context.
    fn functions(&self, py: Python<'_>) -> PyResult<Table> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| functions(&merged.profile))?.map_err(internal)
    }

    /// One row per line of a function, including the lines of inlined functions.
    fn lines(&self, py: Python<'_>) -> PyResult<Table> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| lines(&merged.profile))?.map_err(internal)
    }

    /// The totals, and the number of lines that make up a share of all samples, as a dictionary.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let summary = Summary::of(&self.merged.profile.functions, self.merged.rules);
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

    /// The profile as a file. `encoding` is `"extbinary"`, `"binary"` or `"text"`.
    #[pyo3(signature = (*, target=None, encoding=None, use_md5=false, compress=false, strict=false))]
    fn to_bytes<'py>(
        &self,
        py: Python<'py>,
        target: Option<&str>,
        encoding: Option<&str>,
        use_md5: bool,
        compress: bool,
        strict: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.encode(py, &Asked { target, encoding, use_md5, compress, strict })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes a file, compressed if its name ends in `.gz` or `.zst`. It is replaced completely or not at all. A file
    /// that is not an earlier output is replaced only with `force`.
    #[pyo3(signature = (path, *, target=None, encoding=None, use_md5=false, compress=false, strict=false, force=false))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        target: Option<&str>,
        encoding: Option<&str>,
        use_md5: bool,
        compress: bool,
        strict: bool,
        force: bool,
    ) -> PyResult<()> {
        let forms = [OutputForm::Indexed, OutputForm::Text, OutputForm::SampleProf];
        let asked = encoding.map(|word| if word == "text" { OutputForm::Text } else { OutputForm::Indexed });
        let form = crate::output::form(&path, "a sample profile", &forms, asked).or_raise(py)?;
        let encoding = encoding.or((form == Some(OutputForm::Text)).then_some("text"));
        let bytes = self.encode(py, &Asked { target, encoding, use_md5, compress, strict })?;
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
