//! The class `MemoryProfile`, with the allocations of a program and their call stacks.

use crate::about::{About, warnings_of};
use crate::detached::{self, Watch};
use crate::error::OrRaise;
use crate::options::{MergeSettings, TargetState, asked_target, check_toolchain, target};
use crate::source::AnyPath;
use crate::state::{Arguments, Reduced, reduce};
use crate::table::{Table, internal, numbers, texts};
use crate::text::{to_python, warn};
use arrow_array::builder::{LargeListBuilder, LargeStringBuilder};
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_schema::ArrowError;
use profbridge::families::memprof::merge_memory_files;
use profbridge::families::{FailedMerge, MergeReport, OutputForm, Target, target_of_used};
use profbridge::input::{Family, Input};
use profbridge::instr::encode::facts_of_memory;
use profbridge::instr::memory_profiles;
use profbridge::instr::{Loss, refuse_losses};
use profbridge::memprof::report::{MemoryReport, ReportOptions, contexts, function_name};
use profbridge::memprof::yaml::{self, Comments, EmptySites};
use profbridge::memprof::{self, Hotness, MergedMemory};
use profbridge::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// A merged memory profile, the toolchain for which it is written, its inputs and warnings.
pub(crate) struct Merged {
    memory: MergedMemory,
    target: Target,
    about: About,
}

/// A merged memory profile that crosses processes.
#[derive(Serialize, Deserialize)]
pub(crate) struct State {
    memory: MergedMemory,
    target: TargetState,
    about: About,
}

/// Merges memory profiles, also those of indexed profiles.
///
/// # Errors
///
/// The error of the first damaged input if the failure mode is `any`; the errors of the merge; gate failed if a
/// threshold fails.
pub(crate) fn merge(inputs: &[Input], settings: &MergeSettings, watch: &Watch) -> Result<Merged> {
    settings.refuse_filters("a memory profile, which contains hashes instead of names")?;
    let mut target = target(settings, inputs)?;
    let (mut memory, mut report) = merge_for(inputs, &target, settings, watch)?;
    if let Some(of_used) = target_of_used(inputs, &report.inputs, &target) {
        // The progress was reported.
        (memory, report) = merge_for(inputs, &of_used.target, settings, &watch.silent())?;
        target = of_used.target;
    }
    let facts = settings.check(|wanted| Ok(facts_of_memory(&memory.profile, wanted).of_inputs(report.used())))?;
    let mut warnings = warnings_of(&report.inputs);
    warnings.extend(report.losses.iter().map(|loss| format!("dropped {loss}")));
    let about = About::new(&report.inputs, &facts, warnings);
    Ok(Merged { memory, target, about })
}

fn merge_for(
    inputs: &[Input],
    target: &Target,
    settings: &MergeSettings,
    watch: &Watch,
) -> Result<(MergedMemory, MergeReport)> {
    let mut options = settings.instr(target)?;
    options.cancel = watch.cancel();
    let merged = merge_memory_files(inputs, &options, &mut |done, total| watch.progress(done, total));
    merged.map_err(FailedMerge::into_first_failure)
}

/// A borrowed [`State`].
#[derive(Serialize)]
struct StateRef<'a> {
    memory: &'a MergedMemory,
    target: TargetState,
    about: &'a About,
}

/// Allocations of a program by call stack.
///
/// Two profiles are equal if they are written as the same bytes.
#[pyclass(frozen, module = "profbridge", name = "MemoryProfile")]
pub(crate) struct MemoryProfile {
    memory: Arc<MergedMemory>,
    target: Target,
    about: About,
}

impl MemoryProfile {
    /// Converts a merged profile, and issues its warnings.
    ///
    /// # Errors
    ///
    /// A warning that Python turns into an error.
    pub(crate) fn of(py: Python<'_>, merged: Merged) -> PyResult<Self> {
        warn(py, &merged.about.warnings)?;
        Ok(Self { memory: Arc::new(merged.memory), target: merged.target, about: merged.about })
    }

    /// Returns the profile of another process.
    pub(crate) fn of_state(state: State) -> Self {
        Self { memory: Arc::new(state.memory), target: state.target.target(), about: state.about }
    }

    /// Returns the profile as a file without losses.
    pub(crate) fn exact_bytes(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        self.yaml(py)
    }

    /// The bytes of an indexed profile. What the target cannot store is a warning, or an error with `strict`.
    fn indexed(&self, py: Python<'_>, target: Option<&str>, strict: bool) -> PyResult<Vec<u8>> {
        check_toolchain(py, target)?;
        let target = match target {
            Some(_) => asked_target(target).or_raise(py)?.unwrap_or(self.target),
            None => self.target,
        };
        let memory = self.memory.clone();
        let encode = move |_: Watch| memory_profiles::encode_indexed(MergedMemory::clone(&memory), &target);
        let encoded = detached::run(py, None, encode)?;
        let encoded = encoded.or_raise(py)?;
        if strict {
            refuse_losses(&encoded.losses).or_raise(py)?;
        }
        let lost = |loss: &Loss| format!("dropped {loss}, which the format cannot store");
        warn(py, &encoded.losses.iter().map(lost).collect::<Vec<_>>())?;
        Ok(encoded.bytes)
    }

    /// Returns the profile in the order of YAML.
    fn sorted(&self) -> memprof::MemoryProfile {
        let mut profile = self.memory.profile.clone();
        profile.sort_records();
        profile
    }

    fn yaml(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let profile = self.sorted();
        let written = detached::run(py, None, move |_| {
            let mut text = Vec::new();
            let written = yaml::write(&profile, Comments::None, EmptySites::Printed, &mut text);
            written.map(|()| text).map_err(|source| Error::io("cannot write", source))
        })?;
        written.or_raise(py)
    }
}

#[pymethods]
impl MemoryProfile {
    /// The profile family.
    #[classattr]
    pub(crate) const FAMILY: &'static str = "memprof";

    /// The number of functions that allocate memory or call such functions.
    fn __len__(&self) -> usize {
        self.memory.profile.records().len()
    }

    /// One row per function that allocates memory.
    ///
    /// Returns
    /// -------
    /// Table
    ///     The columns are:
    ///
    ///     ``name`` : str
    ///         The function, or the hash of its name if the name is unknown.
    ///     ``bytes``, ``allocations`` : uint64
    ///         The sums over the call stacks that end in the function.
    fn functions(&self, py: Python<'_>) -> PyResult<Table> {
        let profile = self.sorted();
        detached::run(py, None, move |_| functions(&profile))?.map_err(internal)
    }

    /// One row per call stack with its allocations.
    ///
    /// Returns
    /// -------
    /// Table
    ///     The columns are:
    ///
    ///     ``function`` : str
    ///         The innermost function.
    ///     ``bytes``, ``allocations`` : uint64
    ///         The allocated bytes, and the number of allocations.
    ///     ``average_lifetime_ms`` : float64
    ///         The average lifetime in milliseconds.
    ///     ``hotness`` : str
    ///         ``"hot"``, ``"cold"`` or ``"not cold"``, as LLVM classifies the allocations.
    ///     ``stack`` : list of str
    ///         The frames as ``function:line:column``, innermost first. Lines count from the start of the function.
    fn allocations(&self, py: Python<'_>) -> PyResult<Table> {
        let profile = self.sorted();
        detached::run(py, None, move |_| allocations(&profile))?.map_err(internal)
    }

    /// The totals, and the call stacks with the most allocated bytes.
    ///
    /// Parameters
    /// ----------
    /// topn : int, optional
    ///     The number of call stacks.
    ///
    /// Returns
    /// -------
    /// dict
    ///     The members of `profbridge show --json`.
    #[pyo3(signature = (topn=10))]
    fn summary<'py>(&self, py: Python<'py>, topn: usize) -> PyResult<Bound<'py, PyAny>> {
        let mut options = ReportOptions::default();
        options.topn = topn;
        to_python(py, &MemoryReport::new(&self.sorted(), &options))
    }

    /// The inputs with their outcomes, and the number of functions of the result; see :class:`profbridge.MergeReport`.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.about.report)
    }

    /// The warnings that were issued when the profile was created.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.about.warnings.clone()
    }

    /// The toolchain that the inputs were merged for.
    #[getter]
    fn target(&self) -> String {
        self.target.toolchain()
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Self>() else { return Ok(false) };
        Ok(self.exact_bytes(py)? == other.get().exact_bytes(py)?)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, Arguments<'py>>> {
        let target = TargetState::of(&self.target);
        reduce(py, Self::FAMILY, &StateRef { memory: &self.memory, target, about: &self.about })
    }

    /// The profile as a file.
    ///
    /// Parameters
    /// ----------
    /// target : str, optional
    ///     The toolchain that reads the file, LLVM 15 or later [default: that of the merge].
    /// yaml : bool, optional
    ///     Whether to write the text form, which LLVM 20 and later read, instead of an indexed profile.
    /// strict : bool, optional
    ///     Whether data that the format cannot store is a :class:`LossError`. Otherwise it is a warning.
    /// allow_empty : bool, optional
    ///     Whether a profile without functions is written. Otherwise it is a :class:`MergeError`.
    ///
    /// Returns
    /// -------
    /// bytes
    #[pyo3(signature = (*, target=None, yaml=false, strict=false, allow_empty=false))]
    fn to_bytes<'py>(
        &self,
        py: Python<'py>,
        target: Option<&str>,
        yaml: bool,
        strict: bool,
        allow_empty: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.about.require_something(allow_empty).or_raise(py)?;
        let bytes = if yaml { self.yaml(py)? } else { self.indexed(py, target, strict)? };
        Ok(PyBytes::new(py, &bytes))
    }

    /// Write a file.
    ///
    /// The file extension selects the format: ``.memprofyaml``, ``.yaml`` or ``.yml`` has YAML, other names have an
    /// indexed profile. The file is compressed if its name ends in ``.gz`` or ``.zst``. It is replaced whole or not at
    /// all.
    ///
    /// Parameters
    /// ----------
    /// path : path
    ///     The file.
    /// target, strict, allow_empty
    ///     See :meth:`to_bytes`.
    /// force : bool, optional
    ///     Whether to replace a file that is not an earlier output.
    #[pyo3(signature = (path, *, target=None, strict=false, allow_empty=false, force=false))]
    fn write(
        &self,
        py: Python<'_>,
        path: AnyPath,
        target: Option<&str>,
        strict: bool,
        allow_empty: bool,
        force: bool,
    ) -> PyResult<()> {
        let path = path.0;
        let forms = [OutputForm::Indexed, OutputForm::MemProfYaml];
        let form = crate::output::form(&path, "a memory profile", &forms, None).or_raise(py)?;
        self.about.require_something(allow_empty).or_raise(py)?;
        let (bytes, family) = match form {
            Some(OutputForm::MemProfYaml) => (self.yaml(py)?, Family::MemProf),
            _ => (self.indexed(py, target, strict)?, Family::Instr),
        };
        crate::output::replace(py, path, bytes, family, force)
    }

    fn __repr__(&self) -> String {
        format!("<profbridge.MemoryProfile of {} functions>", self.memory.profile.records().len())
    }
}

fn functions(profile: &memprof::MemoryProfile) -> std::result::Result<Table, ArrowError> {
    let mut rows: Vec<(String, u64, u64)> = Vec::new();
    let mut places: HashMap<u64, usize> = HashMap::new();
    for (stack, site) in contexts(profile) {
        let Some(leaf) = profile.stacks.frames_of(stack).next() else { continue };
        let place = *places.entry(leaf.function).or_insert(rows.len());
        if place == rows.len() {
            rows.push((function_name(profile, leaf.function), 0, 0));
        }
        let (_, bytes, allocations) = &mut rows[place];
        *bytes = bytes.saturating_add(site.info.total_size());
        *allocations = allocations.saturating_add(site.info.alloc_count());
    }
    Table::of_columns(vec![
        ("name", texts(rows.iter().map(|(name, ..)| Some(name)))),
        ("bytes", numbers::<UInt64Type>(rows.iter().map(|(_, bytes, _)| *bytes).collect())),
        ("allocations", numbers::<UInt64Type>(rows.iter().map(|(.., allocations)| *allocations).collect())),
    ])
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
