//! One record of an instrumentation profile.

use super::columns::kind_word;
use super::merged::Merged;
use crate::error::usage;
use crate::shared::share;
use crate::table::Column;
use crate::text::printable;
use arrow_array::UInt64Array;
use profbridge::instr::{FunctionId, PseudoCount, RecordId, RecordView, ValueKind};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// The counts of one version of a function. Different builds of a function have different records.
#[pyclass(frozen, module = "profbridge", name = "Record")]
pub(crate) struct Record {
    merged: Arc<Merged>,
    function: FunctionId,
    record: RecordId,
}

impl Record {
    /// Returns a record of the functions to write.
    pub(super) fn new(merged: Arc<Merged>, function: FunctionId, record: RecordId) -> Self {
        Self { merged, function, record }
    }

    fn view(&self) -> RecordView<'_> {
        self.merged.functions().record(self.record)
    }

    fn raw_name(&self) -> &[u8] {
        self.merged.functions().name(self.function)
    }
}

#[pymethods]
impl Record {
    /// The function's name. Bytes that are not UTF-8 become `\xNN`.
    #[getter]
    fn name(&self) -> String {
        printable(self.raw_name()).into_owned()
    }

    /// The function's name, unchanged from the file.
    #[getter]
    fn name_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.raw_name())
    }

    /// The low 64 bits of the name's MD5, which profiles use as a reference to the function.
    #[getter]
    fn name_ref(&self) -> u64 {
        self.merged.functions().function(self.function).name_ref()
    }

    /// The structural hash of the function.
    #[getter]
    fn func_hash(&self) -> u64 {
        self.view().func_hash
    }

    /// The counters, which share the profile's memory.
    #[getter]
    fn counters(&self) -> Column {
        let record = self.record;
        let counters = match self.view().counters.as_words() {
            Some(_) => share(&self.merged, |merged| words_of(merged, record)),
            None => self.view().counters.to_vec().into(),
        };
        Column::of(Arc::new(UInt64Array::new(counters, None)))
    }

    /// The number of calls of the function; `None` for a pseudo count, and for kinds whose first counter is not that of
    /// the entry.
    #[getter]
    fn entry_count(&self) -> Option<u64> {
        self.view().entry_count(self.merged.profile.kind)
    }

    /// `"hot"` or `"warm"` for a pseudo count, otherwise `None`.
    #[getter]
    fn pseudo_count(&self) -> Option<&'static str> {
        self.view().pseudo_count().map(|pseudo| match pseudo {
            PseudoCount::Hot => "hot",
            PseudoCount::Warm => "warm",
        })
    }

    /// The bits of MC/DC test vectors, unchanged from the file.
    #[getter]
    fn bitmap<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.view().bitmap)
    }

    /// The values of each site of a kind, as pairs of value and count: `"indirect-call-target"` (values are
    /// references to names), `"memop-size"` or `"vtable-target"`.
    #[pyo3(signature = (kind="indirect-call-target"))]
    fn value_sites(&self, py: Python<'_>, kind: &str) -> PyResult<Vec<Vec<(u64, u64)>>> {
        let Some(kind) = ValueKind::ALL.iter().copied().find(|known| kind_word(*known) == kind) else {
            let known = ValueKind::ALL.iter().copied().map(kind_word).collect::<Vec<_>>().join(", ");
            return Err(usage(py, format!("unknown value kind {kind:?}; known kinds are {known}")));
        };
        let sites = self.view().sites(kind).iter();
        Ok(sites.map(|site| site.iter().map(|pair| (pair.value, pair.count)).collect()).collect())
    }

    fn __repr__(&self) -> String {
        let (view, name) = (self.view(), self.name());
        format!("<profbridge.Record {name} {:#x}, {} counters>", view.func_hash, view.counters.len())
    }
}

/// Returns the counters in place; an empty slice if they are narrower than 64 bits.
fn words_of(merged: &Merged, record: RecordId) -> &[u64] {
    merged.functions().record(record).counters.as_words().unwrap_or_default()
}
