//! Functions that compare two files, or a file with a new build.

use crate::detached;
use crate::error::OrRaise;
use crate::options::limits;
use crate::source::{AnyPath, input};
use crate::text::{to_python, warn};
use profbridge::driver::diff::{DiffOptions, SectionDiff};
use profbridge::families::fit::{FitOptions, fit_files};
use profbridge::families::stacks::{are_stacks, diff_stacks};
use profbridge::families::{self, Comparison, FileDiff, ReadOptions, Target, TargetSource};
use profbridge::fit::Gate;
use profbridge::gates;
use profbridge::input::{Family, Input};
use profbridge::instr::overlap::OverlapOptions;
use profbridge::instr::release;
use profbridge::names::NamePattern;
use profbridge::sampleprof::{self, overlap as sample_overlap};
use profbridge::{Compat, Error, Limits, Result, Warning};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Compare two files. Returns a dictionary.
#[pyfunction]
#[pyo3(signature = (first, second, topn, exact_names, limits))]
pub(crate) fn diff<'py>(
    first: &Bound<'py, PyAny>,
    second: &Bound<'py, PyAny>,
    topn: usize,
    exact_names: bool,
    limits: HashMap<String, u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, first, second) = (first.py(), input(first, None)?, input(second, None)?);
    let mut options = DiffOptions::default();
    (options.topn, options.exact_names, options.limits) = (topn, exact_names, self::limits(&limits).or_raise(py)?);
    let found = detached::run(py, None, move |watch| {
        let [first, second] = [first, second].map(|input| input.cancelled_by(&watch.cancel()));
        families::diff_files(first, second, &options)
    })?;
    let found = found.or_raise(py)?;
    warn(py, &found.warnings.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    to_python(py, &found)
}

/// The settings of an overlap.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct OverlapSettings {
    function: Option<String>,
    value_cutoff: Option<u64>,
    topn: Option<usize>,
    context_sensitive: bool,
    exact_names: bool,
    limits: HashMap<String, u64>,
}

/// Measure how similar the counts of two files are. Returns a dictionary.
#[pyfunction]
pub(crate) fn overlap<'py>(
    base: &Bound<'py, PyAny>,
    test: &Bound<'py, PyAny>,
    settings: OverlapSettings,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, base, test) = (base.py(), input(base, None)?, input(test, None)?);
    let found = detached::run(py, None, move |watch| {
        let [base, test] = [base, test].map(|input| input.cancelled_by(&watch.cancel()));
        settings.overlap(&base, &test)
    })?;
    let (report, warnings) = found.or_raise(py)?;
    warn(py, &warnings.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    to_python(py, &report)
}

impl OverlapSettings {
    /// With `topn` alone, all functions are candidates.
    fn value_cutoff(&self) -> u64 {
        match (self.value_cutoff, self.topn, &self.function) {
            (Some(cutoff), ..) => cutoff,
            (None, Some(_), None) => 0,
            _ => u64::MAX,
        }
    }

    fn overlap(&self, base: &Input, test: &Input) -> Result<(Value, Vec<Warning>)> {
        let limits = limits(&self.limits)?;
        if base.family()? == Some(Family::SampleProf) {
            return Ok((self.of_samples(base, test, limits)?, Vec::new()));
        }
        if are_stacks(base, test)? {
            return of_stacks(base, test, limits);
        }
        if [base, test].iter().any(|input| matches!(input.family(), Ok(Some(Family::Iprof | Family::MemProf)))) {
            let error = Error::usage("overlap compares LLVM instrumentation and sample profiles, and stacks");
            return Err(error.with_hint("use diff() to compare iprof files and memory profiles"));
        }
        let mut options = OverlapOptions::default();
        options.function = self.function.as_deref().map(NamePattern::parse).transpose()?;
        options.value_cutoff = self.value_cutoff();
        (options.context_sensitive, options.exact_names) = (self.context_sensitive, self.exact_names);
        let mut read = ReadOptions::new(Compat::Profbridge);
        read.limits = limits;
        let compared = families::overlap_files(base, test, &read, &options)?;
        let (mut report, followed) = match compared.value {
            Comparison::Done { report, followed, .. } => (report, followed),
            Comparison::NothingCounted { is_base } => {
                let error = Error::nothing_found("all counts are 0, so there is nothing to compare");
                return Err(error.in_file(if is_base { &base.path } else { &test.path }));
            }
        };
        if let Some(topn) = self.topn {
            report.functions.sort_by(|a, b| b.overlap.test.edges.total_cmp(&a.overlap.test.edges));
            report.functions.truncate(topn);
        }
        let mut value = as_value(&report)?;
        if let Value::Object(members) = &mut value {
            members.insert("followed".into(), as_value(&followed)?);
        }
        Ok((value, compared.warnings))
    }

    fn of_samples(&self, base: &Input, test: &Input, limits: Limits) -> Result<Value> {
        if self.context_sensitive || self.exact_names {
            return Err(Error::usage("context_sensitive and exact_names cannot be used for sample profiles"));
        }
        let mut options = sample_overlap::OverlapOptions::default();
        options.function = self.function.as_deref().map(NamePattern::parse).transpose()?;
        options.value_cutoff = self.value_cutoff();
        let mut read = sampleprof::ReadOptions::default();
        read.limits = limits;
        let mut report = sampleprof::overlap_files(base, test, &read, Compat::Profbridge, &options)?;
        report.details.truncate(self.topn.unwrap_or(usize::MAX));
        as_value(&report)
    }
}

fn of_stacks(base: &Input, test: &Input, limits: Limits) -> Result<(Value, Vec<Warning>)> {
    let mut options = DiffOptions::default();
    (options.limits, options.topn) = (limits, 0);
    let (mut read, selection) = (families::stack_files::StackOptions::default(), Default::default());
    read.limits = limits;
    let FileDiff { report, warnings, .. } = diff_stacks(base, test, &read, &selection, &options)?;
    let sections: &[SectionDiff] = &report.sections;
    Ok((json!({ "sections": as_value(&sections)? }), warnings))
}

fn as_value(report: &impl serde::Serialize) -> Result<Value> {
    serde_json::to_value(report).map_err(|error| Error::io("cannot describe the result", error.into()))
}

/// Report how much of a profile a new build can still use. Returns a dictionary.
#[pyfunction]
pub(crate) fn fit<'py>(
    profile: &Bound<'py, PyAny>,
    against: AnyPath,
    target: Option<&str>,
    topn: usize,
    fail_below: Option<&str>,
    limits: HashMap<String, u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, profile) = (profile.py(), input(profile, None)?);
    let gate = fail_below.map(Gate::parse).transpose().or_raise(py)?;
    let mut options = FitOptions::default();
    (options.topn, options.limits) = (topn, self::limits(&limits).or_raise(py)?);
    let reader = target.map(release::parse).transpose().or_raise(py)?;
    options.reader = reader.map(|row| Target::of_row(row, TargetSource::Option));
    let fit = detached::run(py, None, move |watch| {
        options.merge.cancel = watch.cancel();
        let fit = fit_files(profile, &against.0, &options)?;
        gates::require(&gate.map(|gate| gate.outcomes(&fit.report)).unwrap_or_default())?;
        Ok::<_, Error>((as_value(&fit.report), fit.warnings))
    })?;
    let (report, warnings) = fit.or_raise(py)?;
    warn(py, &warnings.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    to_python(py, &report.or_raise(py)?)
}
