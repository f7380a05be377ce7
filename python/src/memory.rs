//! The class `MemoryProfile`, with the allocations of a program and their call stacks.

use crate::detached::{self, Watch};
use crate::error::OrRaise;
use crate::options::{MergeSettings, asked_target, check_toolchain, target};
use crate::table::{Table, internal, numbers};
use crate::text::{to_python, warn};
use arrow_array::builder::{LargeListBuilder, LargeStringBuilder};
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_schema::ArrowError;
use profbridge::families::memprof::merge_memory_files;
use profbridge::families::{OutputForm, Target};
use profbridge::input::{Family, Input};
use profbridge::instr::encode::facts_of_memory;
use profbridge::instr::memory_profiles;
use profbridge::instr::{Loss, refuse_losses};
use profbridge::memprof::report::{MemoryReport, ReportOptions, contexts, function_name};
use profbridge::memprof::yaml::{self, Comments};
use profbridge::memprof::{self, Hotness};
use profbridge::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;

/// A merged memory profile, and the toolchain for which it is written.
pub(crate) struct Merged {
    profile: memprof::MemoryProfile,
    target: Target,
    warnings: Vec<String>,
}

/// Merges memory profiles, also those of indexed profiles.
///
/// # Errors
///
/// The error of the first damaged input if the failure mode is `any`; the errors of the merge; gate failed if a
/// threshold fails.
pub(crate) fn merge(inputs: &[Input], settings: &MergeSettings, watch: &Watch) -> Result<Merged> {
    settings.refuse_filters("a memory profile, which contains hashes instead of names")?;
    let target = target(settings.target.as_deref(), inputs)?;
    let mut options = settings.instr(&target)?;
    options.cancel = watch.cancel();
    let (profile, report) = merge_memory_files(inputs, &options, &mut |done, total| watch.progress(done, total))?;
    settings.check(|wanted| Ok(facts_of_memory(&profile, wanted).of_inputs(report.used())))?;
    let warnings = report.inputs.iter().flat_map(|input| input.warnings.iter().map(ToString::to_string)).collect();
    Ok(Merged { profile, target, warnings })
}

/// Allocations of a program by call stack.
#[pyclass(frozen, module = "profbridge", name = "MemoryProfile")]
pub(crate) struct MemoryProfile {
    profile: Arc<memprof::MemoryProfile>,
    target: Target,
    warnings: Vec<String>,
}

impl MemoryProfile {
    /// Converts a merged profile, and issues its warnings.
    ///
    /// # Errors
    ///
    /// A warning that Python turns into an error.
    pub(crate) fn of(py: Python<'_>, merged: Merged) -> PyResult<Self> {
        warn(py, &merged.warnings)?;
        Ok(Self { profile: Arc::new(merged.profile), target: merged.target, warnings: merged.warnings })
    }

    /// The bytes of an indexed profile. What the target cannot store is a warning, or an error with `strict`.
    fn indexed(&self, py: Python<'_>, target: Option<&str>, strict: bool) -> PyResult<Vec<u8>> {
        check_toolchain(py, target)?;
        let target = match target {
            Some(_) => asked_target(target).or_raise(py)?.unwrap_or(self.target),
            None => self.target,
        };
        let profile = self.profile.clone();
        let encoded = detached::run(py, None, move |_| memory_profiles::encode_indexed(&profile, &target))?;
        let encoded = encoded.or_raise(py)?;
        if strict {
            refuse_losses(&encoded.losses).or_raise(py)?;
        }
        let lost = |loss: &Loss| format!("dropped {loss}, which the format cannot store");
        warn(py, &encoded.losses.iter().map(lost).collect::<Vec<_>>())?;
        Ok(encoded.bytes)
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

    /// The warnings that were issued when the profile was created.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// The toolchain that the inputs were merged for.
    #[getter]
    fn target(&self) -> String {
        self.target.toolchain()
    }

    /// The file's bytes: an indexed profile, or with `yaml` the text form, which LLVM 20 and later read.
    #[pyo3(signature = (*, target=None, yaml=false, strict=false))]
    fn to_bytes<'py>(
        &self,
        py: Python<'py>,
        target: Option<&str>,
        yaml: bool,
        strict: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = if yaml { self.yaml(py)? } else { self.indexed(py, target, strict)? };
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes a file whose extension selects the format: `.memprofyaml`, `.yaml` or `.yml` has YAML, other names have an
    /// indexed profile. It is compressed if its name ends in `.gz` or `.zst`; it is replaced whole or not at all. A file
    /// that is not an earlier output is replaced only with `force`.
    #[pyo3(signature = (path, *, target=None, strict=false, force=false))]
    fn write(&self, py: Python<'_>, path: PathBuf, target: Option<&str>, strict: bool, force: bool) -> PyResult<()> {
        let forms = [OutputForm::Indexed, OutputForm::MemProfYaml];
        let form = crate::output::form(&path, "a memory profile", &forms, None).or_raise(py)?;
        let (bytes, family) = match form {
            Some(OutputForm::MemProfYaml) => (self.yaml(py)?, Family::MemProf),
            _ => (self.indexed(py, target, strict)?, Family::Instr),
        };
        crate::output::replace(py, path, bytes, family, force)
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
