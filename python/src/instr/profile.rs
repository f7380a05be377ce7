//! The class `Profile`, an instrumentation profile.

use super::columns;
use super::merged::{Merged, State, WriteSettings, Written};
use super::record::Record;
use crate::detached;
use crate::error::OrRaise;
use crate::iprof::{self, Iprof, not_converted};
use crate::options::{asked_target, check_toolchain, hash_policy};
use crate::source::AnyPath;
use crate::state::{Arguments, Reduced, reduce};
use crate::table::{Table, internal};
use crate::text::{printable, summary_fields, to_python, warn};
use profbridge::bridge::{self, ToIprofOptions};
use profbridge::families::{OutputForm, Target, TargetSource};
use profbridge::input::Family;
use profbridge::instr::summary::{CUTOFFS, SummaryRules};
use profbridge::instr::{FunctionId, ProfileKind, RecordId, RecordView, SummaryBuilder};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList, PyString};
use std::sync::Arc;

/// A profile of a program built with LLVM's instrumentation, for PGO or coverage.
///
/// It is a mapping from names of functions to their records: `profile["main"]`, `"main" in profile`,
/// `for name in profile`, `len(profile)`. Two profiles are equal if they are written as the same bytes.
#[pyclass(frozen, mapping, module = "profbridge", name = "Profile")]
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
        warn(py, &merged.about.warnings)?;
        Ok(Self { merged: Arc::new(merged) })
    }

    /// Returns the profile of another process.
    pub(crate) fn of_state(state: State) -> Self {
        Self { merged: Arc::new(Merged::of_state(state)) }
    }

    /// Returns the profile as a file without losses.
    pub(crate) fn exact_bytes(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| merged.exact_bytes())?.or_raise(py)
    }

    fn written(&self, py: Python<'_>, settings: WriteSettings) -> PyResult<Written> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| merged.encode(&settings))?.or_raise(py)
    }

    fn record(&self, function: FunctionId, record: RecordId) -> Record {
        Record::new(self.merged.clone(), function, record)
    }

    fn records_of(&self, name: &Name) -> Vec<Record> {
        let found = self.merged.functions().find(name.bytes());
        let ids = found.into_iter().flat_map(|function| function.record_ids().map(move |id| (function.id(), id)));
        ids.map(|(function, record)| self.record(function, record)).collect()
    }
}

/// The caller's settings for the output.
struct Asked<'a> {
    target: Option<&'a str>,
    sparse: bool,
    strict: bool,
    hashes: &'a str,
    allow_empty: bool,
}

impl Asked<'_> {
    fn settings(&self, py: Python<'_>, form: OutputForm) -> PyResult<WriteSettings> {
        check_toolchain(py, self.target)?;
        // By default the target is that of the merge. A wrong environment variable is an error.
        let target = asked_target(self.target).or_raise(py)?.filter(|_| self.target.is_some());
        let (sparse, strict, allow_empty) = (self.sparse, self.strict, self.allow_empty);
        Ok(WriteSettings { target, form, sparse, strict, hashes: hash_policy(py, self.hashes)?, allow_empty })
    }
}

#[pymethods]
impl Profile {
    /// The profile family.
    #[classattr]
    pub(crate) const FAMILY: &'static str = "instr";

    /// The kind of instrumentation in words.
    ///
    /// `"ir"` or `"front-end"`, and `"context-sensitive"`, `"entry-first"`, `"loop-entries"`, `"byte-coverage"`,
    /// `"function-entry-only"`, `"debug-info-correlate"`, `"memprof"`, `"temporal"`.
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

    /// The inputs with their outcomes, and the numbers of functions and records of the result.
    ///
    /// `"target"` has the release, the indexed version and what selected them; `"soft_errors"` has the records that
    /// were not merged exactly, by kind. See :class:`profbridge.MergeReport`.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.merged.about.report)
    }

    /// The warnings that were issued when the profile was created.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.merged.about.warnings.clone()
    }

    /// The number of functions.
    fn __len__(&self) -> usize {
        self.merged.functions().len()
    }

    /// The ids of the images that ran, in hexadecimal.
    #[getter]
    fn binary_ids(&self) -> Vec<String> {
        let hex = |id: &[u8]| id.iter().map(|byte| format!("{byte:02x}")).collect();
        self.merged.profile.binary_ids.iter().map(|id| hex(id)).collect()
    }

    /// One row per record: names, hashes and counts.
    ///
    /// Returns
    /// -------
    /// Table
    ///     A record has a function name and a FuncHash. The columns are:
    ///
    ///     ``name`` : str
    ///         The function name. Bytes that are not UTF-8 are ``\xNN``; `Record.name_bytes` has the original bytes.
    ///     ``name_ref``, ``func_hash`` : uint64
    ///         The hash of the name, and the structural hash of the function.
    ///     ``entry_count`` : uint64
    ///         The number of calls; missing for IR profiles that do not begin with the entry, and for pseudo counts.
    ///     ``max_count``, ``total_count`` : uint64
    ///         The largest counter and the sum, at most 2**64 - 1; missing for a pseudo count.
    ///     ``num_counters``, ``num_covered``, ``num_value_sites`` : uint32
    ///         The number of counters, of counters above zero, and of value sites.
    ///     ``pseudo_count`` : str
    ///         ``"hot"``, ``"warm"`` or missing.
    ///     ``counters`` : list of uint64
    ///         The counters, which share the profile's memory.
    fn functions(&self, py: Python<'_>) -> PyResult<Table> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| columns::functions(&merged))?.map_err(internal)
    }

    /// One row per value of a value site.
    ///
    /// Returns
    /// -------
    /// Table
    ///     The columns are:
    ///
    ///     ``name``, ``func_hash`` : str, uint64
    ///         The record.
    ///     ``kind`` : str
    ///         ``"indirect-call-target"``, ``"memop-size"`` or ``"vtable-target"``.
    ///     ``site`` : uint32
    ///         The number of the site among those of its kind.
    ///     ``value``, ``count`` : uint64
    ///         The value and how often it occurred.
    ///     ``target`` : str
    ///         The name of the function or vtable that the value refers to; missing if it is unknown.
    fn value_sites(&self, py: Python<'_>) -> PyResult<Table> {
        let merged = self.merged.clone();
        detached::run(py, None, move |_| columns::value_sites(&merged))?.map_err(internal)
    }

    /// All records, in order of first appearance: that of the rows of `functions()`.
    ///
    /// Returns
    /// -------
    /// list of Record
    fn records(&self) -> Vec<Record> {
        let records = columns::in_order(self.merged.functions()).into_iter();
        records.map(|(function, record)| self.record(function, record)).collect()
    }

    /// The records of a function.
    ///
    /// Parameters
    /// ----------
    /// name : str or bytes
    ///     The function name, as bytes if it is not UTF-8.
    ///
    /// Returns
    /// -------
    /// list of Record
    ///     Empty if there is no such function.
    fn find(&self, name: Name) -> Vec<Record> {
        self.records_of(&name)
    }

    fn __contains__(&self, name: Name) -> bool {
        self.merged.functions().find(name.bytes()).is_some()
    }

    /// The records of a function; `KeyError` if there is no such function.
    fn __getitem__(&self, name: Name) -> PyResult<Vec<Record>> {
        let found = self.records_of(&name);
        match found.is_empty() {
            true => Err(PyKeyError::new_err(printable(name.bytes()).into_owned())),
            false => Ok(found),
        }
    }

    /// The names of the functions.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let names = self.merged.functions().iter().map(|function| printable(function.name()).into_owned());
        PyList::new(py, names.collect::<Vec<_>>())?.try_iter()
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Self>() else { return Ok(false) };
        Ok(self.exact_bytes(py)? == other.get().exact_bytes(py)?)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, Arguments<'py>>> {
        reduce(py, Self::FAMILY, &self.merged.state())
    }

    /// The profile summary for compilers, which have one for context-sensitive records and one for the others.
    ///
    /// Parameters
    /// ----------
    /// context_sensitive : bool, optional
    ///     Whether to summarize the context-sensitive records instead of the others.
    ///
    /// Returns
    /// -------
    /// InstrSummary
    ///     ``num_functions``, ``num_counts``, ``max_function_count``, ``max_count``, ``max_internal_count`` and
    ///     ``total_count``. ``cutoffs`` is a list of tuples: a share of all counts (0.99), the smallest of the largest
    ///     counts that make up this share, and the number of these counts.
    #[pyo3(signature = (*, context_sensitive=false))]
    fn summary<'py>(&self, py: Python<'py>, context_sensitive: bool) -> PyResult<Bound<'py, PyDict>> {
        let mut builder = SummaryBuilder::new(SummaryRules::PseudoCounts);
        let is_ir = self.merged.profile.kind.is_ir();
        let records = self.merged.functions().iter().flat_map(|function| function.records());
        let is_wanted = |record: &RecordView<'_>| (is_ir && record.is_context_sensitive()) == context_sensitive;
        records.filter(is_wanted).for_each(|record| builder.add_record(record));
        let total = builder.saturated_total();
        let summary = builder.finish(CUTOFFS);
        let totals = [
            ("num_functions", summary.num_functions.into()),
            ("num_counts", summary.num_counts.into()),
            ("max_function_count", summary.max_function_count),
            ("max_count", summary.max_count),
            ("max_internal_count", summary.max_internal_count),
            ("total_count", total),
        ];
        let rows = summary.rows.iter().map(|row| (row.cutoff, row.min_count, row.num_counts));
        summary_fields(py, &totals, rows)
    }

    /// Temporal traces.
    ///
    /// Returns
    /// -------
    /// list of tuple
    ///     Each trace has a weight, and the names of functions in the order of their first execution.
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

    /// Convert the profile to GraalVM's format, like `profbridge convert`.
    ///
    /// Parameters
    /// ----------
    /// extension : bool, optional
    ///     Whether to keep LLVM's records in the profile, so that :meth:`Iprof.to_llvm` returns them exactly.
    /// counters_as_branches : bool, optional
    ///     Whether to write the counters also as one branch list per function.
    /// strict : bool, optional
    ///     Whether content that cannot be converted is a :class:`LossError`. Otherwise it is a warning.
    ///
    /// Returns
    /// -------
    /// Iprof
    #[pyo3(signature = (*, extension=true, counters_as_branches=false, strict=false))]
    fn to_iprof(&self, py: Python<'_>, extension: bool, counters_as_branches: bool, strict: bool) -> PyResult<Iprof> {
        let mut options = ToIprofOptions::default();
        (options.extension, options.counters_as_branches) = (extension, counters_as_branches);
        let merged = self.merged.clone();
        let converted = detached::run(py, None, move |_| {
            let (document, losses) = bridge::to_iprof(&merged.filtered(), &options)?;
            not_converted(&losses, strict).map(|warnings| iprof::Merged::of_document(document, warnings))
        })?;
        Iprof::of(py, converted.or_raise(py)?)
    }

    /// The profile as an indexed or text file.
    ///
    /// Parameters
    /// ----------
    /// target : str, optional
    ///     The toolchain that reads the file, such as ``"llvm-16"`` [default: that of the merge].
    /// text : bool, optional
    ///     Whether to write LLVM's text format.
    /// sparse : bool, optional
    ///     Whether to drop functions that never ran.
    /// strict : bool, optional
    ///     Whether data that the format cannot store is a :class:`LossError`. Otherwise it is a warning.
    /// hashes : {"keep", "reader"}, optional
    ///     Whether hashes that releases compute differently stay unchanged or become those of the target, where they
    ///     are known.
    /// allow_empty : bool, optional
    ///     Whether a profile without functions is written. Otherwise it is a :class:`MergeError`.
    ///
    /// Returns
    /// -------
    /// bytes
    #[pyo3(signature = (*, target=None, text=false, sparse=false, strict=false, hashes="keep", allow_empty=false))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn to_bytes<'py>(
        &self,
        py: Python<'py>,
        target: Option<&str>,
        text: bool,
        sparse: bool,
        strict: bool,
        hashes: &str,
        allow_empty: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let form = if text { OutputForm::Text } else { OutputForm::Indexed };
        let asked = Asked { target, sparse, strict, hashes, allow_empty };
        let written = self.written(py, asked.settings(py, form)?)?;
        warn(py, &written.warnings)?;
        Ok(PyBytes::new(py, &written.bytes))
    }

    /// Write a file.
    ///
    /// The file extension selects the format: ``.profdata``, ``.proftext`` or ``.profraw``. Other names have an indexed
    /// profile. The file is compressed if its name ends in ``.gz`` or ``.zst``. It is replaced whole or not at all.
    ///
    /// Parameters
    /// ----------
    /// path : path
    ///     The file.
    /// target, sparse, strict, hashes, allow_empty
    ///     See :meth:`to_bytes`.
    /// text : bool, optional
    ///     Whether a file with another extension has LLVM's text format.
    /// force : bool, optional
    ///     Whether to replace a file that is not an earlier output.
    #[pyo3(signature = (path, *, target=None, text=None, sparse=false, strict=false, hashes="keep", allow_empty=false,
                        force=false))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn write(
        &self,
        py: Python<'_>,
        path: AnyPath,
        target: Option<&str>,
        text: Option<bool>,
        sparse: bool,
        strict: bool,
        hashes: &str,
        allow_empty: bool,
        force: bool,
    ) -> PyResult<()> {
        let path = path.0;
        let asked = text.map(|text| if text { OutputForm::Text } else { OutputForm::Indexed });
        let forms = [OutputForm::Indexed, OutputForm::Text, OutputForm::Raw];
        let form = crate::output::form(&path, "an LLVM profile", &forms, asked).or_raise(py)?;
        let form = form.unwrap_or(OutputForm::Indexed);
        let asked = Asked { target, sparse, strict, hashes, allow_empty };
        let written = self.written(py, asked.settings(py, form)?)?;
        crate::output::replace(py, path, written.bytes, Family::Instr, force)?;
        warn(py, &written.warnings)
    }

    fn __repr__(&self) -> String {
        let functions = self.merged.functions();
        format!("<profbridge.Profile of {} functions, {} records>", functions.len(), functions.records_len())
    }
}

/// A name as a string, or as bytes like in the file.
enum Name {
    Text(String),
    Bytes(Vec<u8>),
}

/// A derived implementation takes lists of numbers for bytes, and its error names the variants.
impl<'a, 'py> FromPyObject<'a, 'py> for Name {
    type Error = PyErr;

    fn extract(name: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if name.is_instance_of::<PyString>() {
            return Ok(Self::Text(name.extract()?));
        }
        match name.cast::<PyBytes>() {
            Ok(bytes) => Ok(Self::Bytes(bytes.as_bytes().to_vec())),
            Err(_) => Err(PyTypeError::new_err(format!("a name is str or bytes, not {}", name.get_type().name()?))),
        }
    }
}

impl Name {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}
