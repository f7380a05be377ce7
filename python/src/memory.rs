//! The class `MemoryProfile`, with the allocations of a program and their call stacks.

use crate::detached;
use crate::error::OrRaise;
use crate::options::MergeSettings;
use crate::table::{Table, internal, numbers};
use crate::text::to_python;
use arrow_array::builder::{LargeListBuilder, LargeStringBuilder};
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_schema::ArrowError;
use profbridge::families::Target;
use profbridge::input::{Family, Input};
use profbridge::instr::encode::facts_of_memory;
use profbridge::instr::memory_profiles;
use profbridge::memprof::report::{MemoryReport, ReportOptions, contexts, function_name};
use profbridge::memprof::yaml::{self, Comments};
use profbridge::memprof::{self, Hotness};
use profbridge::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;

/// A memory profile read from a file.
pub(crate) struct Read(memprof::MemoryProfile);

/// Reads a memory profile, also from an indexed profile.
///
/// # Errors
///
/// The errors of the readers; missing program for raw profiles without their program; gate failed if a threshold fails.
pub(crate) fn read(input: &Input, settings: &MergeSettings) -> Result<Read> {
    let target = Target::default_release(profbridge::families::TargetSource::Inputs);
    let profile = memory_profiles::load(input, &settings.instr(&target)?.read)?;
    settings.check(|wanted| Ok(facts_of_memory(&profile, wanted).of_inputs(1)))?;
    Ok(Read(profile))
}

/// Allocations of a program by call stack.
#[pyclass(frozen, module = "profbridge", name = "MemoryProfile")]
pub(crate) struct MemoryProfile {
    profile: Arc<memprof::MemoryProfile>,
}

impl MemoryProfile {
    pub(crate) fn of(read: Read) -> Self {
        Self { profile: Arc::new(read.0) }
    }

    fn yaml(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let profile = self.profile.clone();
        let written = detached::run(py, None, move |_| {
            let mut text = Vec::new();
            let written = yaml::write(&profile, Comments::None, &mut text);
            written.map(|()| text).map_err(|source| Error::io("cannot write", source))
        })?;
        written.or_raise(py)
    }
}

#[pymethods]
impl MemoryProfile {
    /// The profile family.
    #[classattr]
    const FAMILY: &'static str = "memprof";

    /// The number of functions that allocate memory or call such functions.
    fn __len__(&self) -> usize {
        self.profile.records().len()
    }

    /// One row per call stack with its allocations, innermost frame first.
    fn allocations(&self, py: Python<'_>) -> PyResult<Table> {
        let profile = self.profile.clone();
        detached::run(py, None, move |_| allocations(&profile))?.map_err(internal)
    }

    /// The totals, and the `topn` call stacks with the most allocated bytes, as a dictionary.
    #[pyo3(signature = (topn=10))]
    fn summary<'py>(&self, py: Python<'py>, topn: usize) -> PyResult<Bound<'py, PyAny>> {
        let mut options = ReportOptions::default();
        options.topn = topn;
        to_python(py, &MemoryReport::new(&self.profile, &options))
    }

    /// The profile in YAML, which LLVM 20 and later can read.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.yaml(py)?))
    }

    /// Writes the profile in YAML to a file, compressed if its name ends in `.gz` or `.zst`. It is replaced completely
    /// or not at all. A file that is not an earlier output is replaced only with `force`.
    #[pyo3(signature = (path, *, force=false))]
    fn write(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        let text = self.yaml(py)?;
        crate::output::replace(py, path, text, Family::MemProf, force)
    }

    fn __repr__(&self) -> String {
        format!("<profbridge.MemoryProfile of {} functions>", self.profile.records().len())
    }
}

fn allocations(profile: &memprof::MemoryProfile) -> std::result::Result<Table, ArrowError> {
    let mut functions = LargeStringBuilder::new();
    let mut hotness = LargeStringBuilder::new();
    let mut stacks = LargeListBuilder::new(LargeStringBuilder::new());
    let (mut bytes, mut counts, mut lifetimes) = (Vec::new(), Vec::new(), Vec::new());
    for (stack, site) in contexts(profile) {
        let mut frames = profile.stacks.frames_of(stack);
        let leaf = frames.next();
        functions.append_option(leaf.map(|frame| function_name(profile, frame.function)));
        for frame in profile.stacks.frames_of(stack) {
            let name = function_name(profile, frame.function);
            stacks.values().append_value(format!("{name}:{}:{}", frame.line_offset, frame.column));
        }
        stacks.append(true);
        hotness.append_value(Hotness::of(&site.info).name());
        bytes.push(site.info.total_size());
        counts.push(site.info.alloc_count());
        let total = site.info.value(memprof::Field::TotalLifetime) as f64;
        lifetimes.push(total / site.info.alloc_count().max(1) as f64);
    }
    Table::of_columns(vec![
        ("function", Arc::new(functions.finish())),
        ("bytes", numbers::<UInt64Type>(bytes)),
        ("allocations", numbers::<UInt64Type>(counts)),
        ("average_lifetime_ms", numbers::<Float64Type>(lifetimes)),
        ("hotness", Arc::new(hotness.finish())),
        ("stack", Arc::new(stacks.finish())),
    ])
}
