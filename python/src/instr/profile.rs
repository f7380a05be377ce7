//! The class `Profile`, an instrumentation profile.

use super::columns;
use super::merged::{Merged, WriteSettings, Written};
use super::record::Record;
use crate::detached;
use crate::error::OrRaise;
use crate::options::{asked_target, check_toolchain, hash_policy};
use crate::table::{Table, internal};
use crate::text::{printable, summary_fields, to_python, warn};
use profbridge::families::{OutputForm, Target, TargetSource};
use profbridge::input::Family;
use profbridge::instr::description::hex;
use profbridge::instr::summary::{CUTOFFS, SummaryRules};
use profbridge::instr::{FunctionId, ProfileKind, RecordId, SummaryBuilder};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::Arc;

/// A profile of a program built with LLVM's instrumentation, for PGO or coverage.
#[pyclass(frozen, module = "profbridge", name = "Profile")]
pub(crate) struct Profile {
    pub(crate) merged: Arc<Merged>,
}

impl Profile {
    /// Converts a merged profile, and issues its warnings.
    ///
    /// # Errors
    ///
    /// A warning that Python turns into an error.
    pub(crate) fn of(py: Python<'_>, merged: Merged) -> PyResult<Self> {
        warn(py, &merged.warnings)?;
        Ok(Self { merged: Arc::new(merged) })
    }

    fn written(&self, py: Python<'_>, settings: WriteSettings) -> PyResult<Written> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| merged.encode(&settings))?.or_raise(py)
    }

    fn record(&self, function: FunctionId, record: RecordId) -> Record {
        Record::new(self.merged.clone(), function, record)
    }
}

/// Returns the caller's settings for the output.
fn settings(
    py: Python<'_>,
    target: Option<&str>,
    form: OutputForm,
    sparse: bool,
    strict: bool,
    hashes: &str,
) -> PyResult<WriteSettings> {
    check_toolchain(py, target)?;
    // By default the target is that of the merge.
    let target = match target {
        Some(_) => asked_target(target).or_raise(py)?,
        None => None,
    };
    Ok(WriteSettings { target, form, sparse, strict, hashes: hash_policy(py, hashes)? })
}

#[pymethods]
impl Profile {
    /// The profile family.
    #[classattr]
    const FAMILY: &'static str = "instr";

    /// The kind of instrumentation in words: `"ir"` or `"front-end"`, and `"context-sensitive"`, `"entry-first"`,
    /// `"loop-entries"`, `"byte-coverage"`, `"function-entry-only"`, `"debug-info-correlate"`, `"memprof"`, `"temporal"`.
    #[getter]
    fn kind(&self) -> Vec<&'static str> {
        let profile = &self.merged.profile;
        let is_front_end = !profile.kind.is_ir() && !profile.functions.is_empty();
        if is_front_end { profile.kind | ProfileKind::FRONT_END } else { profile.kind }.words()
    }

    /// The toolchain that the inputs were merged for.
    #[getter]
    fn target(&self) -> String {
        self.merged.target.toolchain()
    }

    /// Whether the caller requested the target; otherwise the inputs determined it.
    #[getter]
    fn target_is_given(&self) -> bool {
        let target: &Target = &self.merged.target;
        target.source != TargetSource::Inputs
    }

    /// The outcomes of the inputs, as a dictionary.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.merged.report)
    }

    /// The warnings that were issued when the profile was created.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.merged.warnings.clone()
    }

    /// The number of functions.
    fn __len__(&self) -> usize {
        self.merged.functions().len()
    }

    /// The ids of the images that ran, in hexadecimal.
    #[getter]
    fn binary_ids(&self) -> Vec<String> {
        self.merged.profile.binary_ids.iter().map(|id| hex(id)).collect()
    }

    /// One row per record: names, hashes, counts, and the counters, which share the profile's memory.
    fn functions(&self, py: Python<'_>) -> PyResult<Table> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| columns::functions(&merged))?.map_err(internal)
    }

    /// One row per value of a value site.
    fn value_sites(&self, py: Python<'_>) -> PyResult<Table> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| columns::value_sites(&merged))?.map_err(internal)
    }

    /// All records, in order of first appearance of their functions.
    fn records(&self) -> Vec<Record> {
        let functions = self.merged.functions().iter();
        let ids = functions.flat_map(|function| function.record_ids().map(move |record| (function.id(), record)));
        ids.map(|(function, record)| self.record(function, record)).collect()
    }

    /// The records of a function. Empty if there is no such function.
    fn find(&self, name: Name) -> Vec<Record> {
        let found = self.merged.functions().find(name.bytes());
        let ids = found.into_iter().flat_map(|function| function.record_ids().map(move |id| (function.id(), id)));
        ids.map(|(function, record)| self.record(function, record)).collect()
    }

    fn __contains__(&self, name: Name) -> bool {
        self.merged.functions().find(name.bytes()).is_some()
    }

    /// The profile summary for compilers: totals, and the number of counters that make up a share of all counts.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut builder = SummaryBuilder::new(SummaryRules::PseudoCounts);
        let functions = self.merged.functions().iter();
        functions.flat_map(|function| function.records()).for_each(|record| builder.add_record(record));
        let summary = builder.finish(&CUTOFFS);
        let totals = [
            ("num_functions", summary.num_functions.into()),
            ("num_counts", summary.num_counts.into()),
            ("max_function_count", summary.max_function_count),
            ("max_count", summary.max_count),
            ("max_internal_count", summary.max_internal_count),
            ("total_count", summary.total_count),
        ];
        let rows = summary.rows.iter().map(|row| (row.cutoff, row.min_count, row.num_counts));
        summary_fields(py, &totals, rows)
    }

    /// Temporal traces: a weight, and the names of functions in the order of their first execution.
    fn traces(&self) -> Vec<(u64, Vec<String>)> {
        let table = &self.merged.profile.functions;
        let known: std::collections::HashMap<u64, &[u8]> =
            table.iter().map(|function| (function.name_ref(), function.name())).collect();
        let name = |reference: &u64| match known.get(reference) {
            Some(name) => printable(name).into_owned(),
            None => format!("{reference:#018x}"),
        };
        let traces = self.merged.profile.temporal.traces.iter();
        traces.map(|trace| (trace.weight, trace.functions.iter().map(name).collect())).collect()
    }

    /// The profile as an indexed or text file.
    #[pyo3(signature = (*, target=None, text=false, sparse=false, strict=false, hashes="keep"))]
    fn to_bytes<'py>(
        &self,
        py: Python<'py>,
        target: Option<&str>,
        text: bool,
        sparse: bool,
        strict: bool,
        hashes: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let form = if text { OutputForm::Text } else { OutputForm::Indexed };
        let written = self.written(py, settings(py, target, form, sparse, strict, hashes)?)?;
        warn(py, &written.warnings)?;
        Ok(PyBytes::new(py, &written.bytes))
    }

    /// Writes a file whose extension selects the format: `.profdata`, `.proftext` or `.profraw`; other names have an
    /// indexed profile, or text if `text` is true. It is compressed if its name ends in `.gz` or `.zst`; it is replaced whole or not at all. A file that
    /// is not an earlier output is replaced only with `force`.
    #[pyo3(signature = (path, *, target=None, text=None, sparse=false, strict=false, hashes="keep", force=false))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        target: Option<&str>,
        text: Option<bool>,
        sparse: bool,
        strict: bool,
        hashes: &str,
        force: bool,
    ) -> PyResult<()> {
        let asked = text.map(|text| if text { OutputForm::Text } else { OutputForm::Indexed });
        let forms = [OutputForm::Indexed, OutputForm::Text, OutputForm::Raw];
        let form = crate::output::form(&path, "an LLVM profile", &forms, asked).or_raise(py)?;
        let form = form.unwrap_or(OutputForm::Indexed);
        let written = self.written(py, settings(py, target, form, sparse, strict, hashes)?)?;
        crate::output::replace(py, path, written.bytes, Family::Instr, force)?;
        warn(py, &written.warnings)
    }

    fn __repr__(&self) -> String {
        let functions = self.merged.functions();
        format!("<profbridge.Profile of {} functions, {} records>", functions.len(), functions.records_len())
    }
}

/// A name as a string, or as bytes like in the file.
#[derive(FromPyObject)]
enum Name {
    Text(String),
    Bytes(Vec<u8>),
}

impl Name {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}
