//! Reading and merging files of any family.

use crate::about::{About, warnings_of};
use crate::detached::{self, Watch};
use crate::error::OrRaise;
use crate::instr::{self, Profile};
use crate::iprof::{self, Iprof};
use crate::memory::{self, MemoryProfile};
use crate::options::{MergeSettings, target};
use crate::sample::{self, SampleProfile};
use crate::source::{AnyPath, UNNAMED, input, inputs, or_raise_with_hint};
use crate::stacks::{self, Stacks};
use profbridge::bridge::{ToIprofOptions, ToLlvmOptions};
use profbridge::families::merge::iprof::facts_of;
use profbridge::families::merge::mixed::merge_mixed;
use profbridge::families::partial::open_kept;
use profbridge::families::plan::{MergePlan, MergeRequest};
use profbridge::families::{FailedMerge, OutputForm, target_of_used};
use profbridge::input::{Family, Format, Input, OtherFormat};
use profbridge::instr::Loss;
use profbridge::{Error, Result};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// A result of any family.
#[allow(clippy::large_enum_variant, reason = "there is one for a merge")]
pub(crate) enum Merged {
    Instr(instr::Merged),
    Sample(sample::Merged),
    Memory(memory::Merged),
    Iprof(iprof::Merged),
    Stacks(stacks::Merged),
}

impl Merged {
    /// Converts the result to a Python object.
    ///
    /// # Errors
    ///
    /// A warning that Python turns into an error.
    pub(crate) fn into_object(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Self::Instr(merged) => Profile::of(py, merged)?.into_py_any(py),
            Self::Sample(merged) => SampleProfile::of(py, merged)?.into_py_any(py),
            Self::Memory(merged) => MemoryProfile::of(py, merged)?.into_py_any(py),
            Self::Iprof(merged) => Iprof::of(py, merged)?.into_py_any(py),
            Self::Stacks(merged) => Stacks::of(py, merged)?.into_py_any(py),
        }
    }
}

/// Read one file.
#[pyfunction]
pub(crate) fn read(source: &Bound<'_, PyAny>, name: Option<&str>, settings: MergeSettings) -> PyResult<Py<PyAny>> {
    let (py, input) = (source.py(), input(source, name)?);
    let inputs = [input.clone()];
    let read = detached::run(py, None, move |watch| read_input(&[input], &settings, watch))?;
    or_raise_with_hint(py, read, &inputs)?.into_object(py)
}

/// Read the samples of an iprof as stacks.
#[pyfunction]
pub(crate) fn stacks_of(py: Python<'_>, iprof: Vec<u8>) -> PyResult<Stacks> {
    let input = Input::from_bytes(UNNAMED, iprof);
    let read = detached::run(py, None, move |watch| stacks::merge(&[input], &MergeSettings::one(), &watch))?;
    Stacks::of(py, read.or_raise(py)?)
}

/// Return what a file extension selects: an LLVM profile, an iprof or stacks.
#[pyfunction]
pub(crate) fn form_of(py: Python<'_>, path: AnyPath) -> PyResult<Option<&'static str>> {
    let form = OutputForm::of_name(&path.0).or_raise(py)?;
    Ok(form.map(|form| match form {
        OutputForm::Iprof | OutputForm::Json => "iprof",
        OutputForm::Collapsed | OutputForm::Pprof => "stacks",
        _ => "llvm",
    }))
}

/// Reads one file. A recording of perf becomes a sample profile, if its program is given.
fn read_input(inputs: &[Input; 1], settings: &MergeSettings, watch: Watch) -> Result<Merged> {
    let [input] = inputs;
    let family = input.family()?;
    match settings.binary.as_slice() {
        [] => merge_family(family, inputs, settings, watch),
        [program] if sample::may_be_recording(input)? => {
            sample::of_recordings(inputs, program, settings).map(Merged::Sample)
        }
        _ if family == Some(Family::Stacks) => merge_family(family, inputs, settings, watch),
        _ => Err(Error::usage("binary is for recordings of perf").in_file(&input.path)),
    }
}

/// Merge files in order.
#[pyfunction]
pub(crate) fn merge(
    sources: &Bound<'_, PyAny>,
    weights: Option<&Bound<'_, PyAny>>,
    settings: MergeSettings,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let py = sources.py();
    let inputs = inputs(sources, weights)?;
    let copy = inputs.clone();
    let merged = detached::run(py, progress, move |watch| merge_inputs(&inputs, &settings, watch))?;
    or_raise_with_hint(py, merged, &copy)?.into_object(py)
}

fn merge_inputs(inputs: &[Input], settings: &MergeSettings, watch: Watch) -> Result<Merged> {
    let has_branches = |input: &Input| {
        matches!(input.format(), Ok(Format::Other(OtherFormat::BranchRecords | OtherFormat::Unsymbolized)))
    };
    if let [program] = settings.binary.as_slice()
        && inputs.iter().all(has_branches)
    {
        return sample::of_recordings(inputs, program, settings).map(Merged::Sample);
    }
    if !inputs.iter().any(|input| matches!(input.family(), Ok(Some(_)))) {
        return merge_family(settings.family()?, inputs, settings, watch);
    }
    if inputs.iter().any(|input| matches!(input.family(), Ok(Some(Family::Stacks)))) {
        return merge_family(Some(Family::Stacks), inputs, settings, watch);
    }
    let has_family = |input: &Input, family| matches!(input.family(), Ok(found) if found == Some(family));
    if inputs.iter().all(|input| has_family(input, Family::MemProf)) {
        return merge_family(Some(Family::MemProf), inputs, settings, watch);
    }
    let mut request = MergeRequest::new(Path::new("-"));
    request.to = settings.family()?.filter(|family| matches!(family, Family::Instr | Family::Iprof));
    let plan = request.plan(inputs)?;
    match plan {
        MergePlan::Bridge(family) => merge_both(family, inputs, settings, &watch),
        plan => merge_family(plan.family(), inputs, settings, watch),
    }
}

/// Merges LLVM profiles and iprof files into a profile of one of the two families.
fn merge_both(family: Family, inputs: &[Input], settings: &MergeSettings, watch: &Watch) -> Result<Merged> {
    settings.refuse_filters("a merge of LLVM profiles with iprof files")?;
    let mut options = iprof::options(settings)?;
    (options.read.cancel, options.llvm.cancel) = (watch.cancel(), watch.cancel());
    let target = target(settings, inputs)?;
    let sum = merge_mixed(inputs, &options, &mut |done, total| watch.progress(done, total))
        .map_err(FailedMerge::into_first_failure)?;
    let (used, reports) = (sum.used(), sum.inputs(inputs));
    // The merge itself does not depend on the target.
    let target = target_of_used(inputs, &reports, &target).map_or(target, |of_used| of_used.target);
    let mut warnings = warnings_of(reports.iter().copied());
    warnings.extend(sum.warnings.iter().map(ToString::to_string));
    let report = About::inputs_of(reports);
    let not_converted = |losses: Vec<Loss>| losses.into_iter().map(|loss| format!("not converted: {loss}"));
    match family {
        Family::Iprof => {
            let (document, losses) = sum.into_iprof(&ToIprofOptions::default())?;
            warnings.extend(not_converted(losses));
            let facts = settings.check(|wanted| Ok(facts_of(&document, wanted).of_inputs(used)))?;
            let about = About::with_inputs(report, &facts, warnings);
            Ok(Merged::Iprof(iprof::Merged::new(document, about)))
        }
        _ => {
            let mut options = ToLlvmOptions::default();
            options.indexed_version = target.indexed_version;
            let (profile, losses) = sum.into_llvm(&options)?;
            warnings.extend(not_converted(losses));
            instr::Merged::of_both(profile, target, settings, |facts| {
                About::with_inputs(report, &facts.of_inputs(used), warnings)
            })
            .map(Merged::Instr)
        }
    }
}

/// Replaces partial merges with their inputs. Returns `None` if there are no partial merges.
fn opened(inputs: &[Input], family: Family, settings: &MergeSettings) -> Result<Option<(Vec<Input>, Vec<PathBuf>)>> {
    open_kept(inputs, family, settings.allow_duplicates, &settings.limits()?)
}

fn merge_family(family: Option<Family>, inputs: &[Input], settings: &MergeSettings, watch: Watch) -> Result<Merged> {
    settings.refuse_for(family).map_err(|error| {
        // Its input may be one of many files of another family.
        match inputs.iter().find(|input| input.family().ok().flatten() == family) {
            Some(input) => error.in_file(&input.path),
            None => error,
        }
    })?;
    match family {
        Some(Family::SampleProf) => sample::merge(inputs, settings, &watch).map(Merged::Sample),
        Some(Family::Iprof) => iprof::merge(inputs, settings, &watch).map(Merged::Iprof),
        Some(Family::Stacks) => {
            let opened = opened(inputs, Family::Stacks, settings)?;
            stacks::merge(opened.as_ref().map_or(inputs, |(inputs, _)| inputs), settings, &watch).map(Merged::Stacks)
        }
        Some(Family::MemProf) => memory::merge(inputs, settings, &watch).map(Merged::Memory),
        // The readers of instrumentation profiles report files that are not profiles.
        _ => {
            let merged = instr::merge(inputs, settings, &watch)?;
            let is_memory = merged.profile.functions.is_empty() && merged.profile.memprof.is_some();
            if is_memory {
                // The progress was reported.
                memory::merge(inputs, settings, &watch.silent()).map(Merged::Memory)
            } else {
                Ok(Merged::Instr(merged))
            }
        }
    }
}
