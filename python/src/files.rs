//! Functions for files of any format, and generated files.

use crate::about::About;
use crate::detached;
use crate::error::{OrRaise, usage};
use crate::iprof::{self as iprofs, Iprof};
use crate::options::limits;
use crate::source::input;
use crate::text::{to_python, warn};
use profbridge::bytes::{Endian, PointerWidth};
use profbridge::families::merge::iprof::facts_of;
use profbridge::families::{self, FactsRequest, ReadOptions};
use profbridge::generate::{Damage, Format, Generator, Kind, Request};
use profbridge::input::{Access, Family, Input};
use profbridge::instr::order::OrderOptions;
use profbridge::iprof::{self, RepairOptions, Repaired, Version};
use profbridge::{Compat, Error, ErrorKind, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use std::collections::HashMap;

/// Check a file. Returns a dictionary.
#[pyfunction]
pub(crate) fn check<'py>(
    source: &Bound<'py, PyAny>,
    name: Option<&str>,
    limits: HashMap<String, u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, input) = (source.py(), input(source, name)?);
    let mut options = iprof::ReadOptions::default();
    options.limits = self::limits(&limits).or_raise(py)?;
    let found = detached::run(py, None, move |watch| {
        // A file that cannot be opened is an error of the caller, not a fault of the file.
        input.format()?;
        options.cancel = watch.cancel();
        Ok::<_, Error>(families::check_file(input, &options))
    })?;
    to_python(py, &found.or_raise(py)?)
}

/// Describe a file and its sections. Returns a dictionary.
#[pyfunction]
pub(crate) fn describe<'py>(
    source: &Bound<'py, PyAny>,
    name: Option<&str>,
    limits: HashMap<String, u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, input) = (source.py(), input(source, name)?);
    let limits = self::limits(&limits).or_raise(py)?;
    let described = detached::run(py, None, move |watch| {
        let bytes = input.cancelled_by(&watch.cancel()).stored_bytes(Access::Read, &limits)?;
        Ok::<_, Error>(families::describe(&bytes, &limits))
    })?;
    to_python(py, &described.or_raise(py)?)
}

/// Return the profile family of a file; `None` if it is not a profile.
#[pyfunction]
pub(crate) fn family_of(source: &Bound<'_, PyAny>, name: Option<&str>) -> PyResult<Option<&'static str>> {
    let (py, input) = (source.py(), input(source, name)?);
    let family = detached::run(py, None, move |_| input.family())?.or_raise(py)?;
    Ok(family.map(Family::name))
}

/// Return the content of a source that is not a path, with its name; `None` for a path.
#[pyfunction]
pub(crate) fn content<'py>(source: &Bound<'py, PyAny>) -> PyResult<Option<(String, Bound<'py, PyBytes>)>> {
    let content = crate::source::content(source)?;
    Ok(content.map(|(name, bytes)| (name, PyBytes::new(source.py(), &bytes))))
}

/// Order the functions of temporal traces. Returns a dictionary.
#[pyfunction]
pub(crate) fn order<'py>(
    source: &Bound<'py, PyAny>,
    test_traces: usize,
    limits: HashMap<String, u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, input) = (source.py(), input(source, None)?);
    let mut read = ReadOptions::new(Compat::Profbridge);
    read.limits = self::limits(&limits).or_raise(py)?;
    let ordered = detached::run(py, None, move |watch| {
        let input = input.cancelled_by(&watch.cancel());
        let mut options = OrderOptions::default();
        options.test_traces = test_traces;
        let ordered = families::order_file(&input, &read, &options)?;
        match ordered.value.functions.is_empty() {
            true => Err(Error::nothing_found("the profile has no temporal traces")
                .in_file(&input.path)
                .with_hint("compile with -pgo-temporal-instrumentation, and target LLVM 17 or later")),
            false => Ok(ordered),
        }
    })?;
    let ordered = ordered.or_raise(py)?;
    warn(py, &ordered.warnings.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    to_python(py, &ordered.value)
}

/// The settings of a repair.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RepairSettings {
    assume_version: Option<String>,
    salvage: bool,
    keep_whole_rows: bool,
    reset_call_counts: bool,
    join_sections: bool,
    drop_never_executed: bool,
    limits: HashMap<String, u64>,
}

/// Repair a damaged iprof.
#[pyfunction]
pub(crate) fn repair(source: &Bound<'_, PyAny>, settings: RepairSettings) -> PyResult<Iprof> {
    let (py, input) = (source.py(), input(source, None)?);
    Iprof::of(py, detached::run(py, None, move |watch| settings.repair(input, watch.cancel()))?.or_raise(py)?)
}

impl RepairSettings {
    fn repair(&self, input: Input, cancel: profbridge::Cancel) -> Result<iprofs::Merged> {
        let path = input.path.clone();
        if let Some(family) = input.family()?.filter(|family| *family != Family::Iprof) {
            let error = Error::new(ErrorKind::Unsupported { what: format!("repairing {}", family.words()) });
            let hint = "use merge() with failure_mode=\"warn\" and salvage=True to keep the valid records";
            return Err(error.in_file(path).with_hint(hint));
        }
        let mut options = RepairOptions::default();
        options.read.limits = limits(&self.limits)?;
        options.read.cancel = cancel;
        options.read.assume_version = self.assume_version.as_deref().map(version).transpose()?;
        (options.read.salvage, options.read.keep_whole_rows) = (self.salvage, self.keep_whole_rows);
        (options.read.reset_call_count_leaf, options.read.join_sections) = (self.reset_call_counts, self.join_sections);
        options.drop_never_executed = self.drop_never_executed;
        let repaired = iprof::repair_from(input.into_stream()?, &options).map_err(|error| error.in_file(&path))?;
        let Repaired { document, findings, verdict, dropped_members, .. } = repaired;
        let facts = facts_of(&document, FactsRequest::default());
        let dropped = dropped_members.iter().map(|name| {
            format!("{}: dropped the member \"{name}\", which may refer to merged entries", path.display())
        });
        let mut about = About::of_conversion(&facts, dropped.collect());
        let repairs = findings.repairs().map(|(repair, count)| {
            json!({ "code": repair.code.name(), "action": repair.action, "what": repair.what, "count": count })
        });
        about.add("repairs", repairs.collect());
        about.add("verdict", json!(verdict.name()));
        Ok(iprofs::Merged::new(document, about))
    }
}

fn version(text: &str) -> Result<Version> {
    Version::parse(text)
        .ok_or_else(|| Error::usage(format!("a version has three numbers, such as 1.1.0, not {text:?}")))
}

/// The settings of a generated file.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct GenerateSettings {
    target: Option<String>,
    format_version: Option<u32>,
    raw_arch: Option<String>,
    to_version: Option<String>,
    functions: u32,
    contexts: Option<u32>,
    kinds: Option<Vec<String>>,
    seed: u64,
    number: u32,
    damage: Option<String>,
}

/// Generate a file. Returns its bytes, the totals of its content, and the damage.
#[pyfunction]
pub(crate) fn generate<'py>(
    py: Python<'py>,
    format: &str,
    settings: GenerateSettings,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    if settings.functions == 0 || settings.number == 0 {
        return Err(usage(py, "functions and number count from 1"));
    }
    let format = Format::parse(format).or_raise(py)?;
    let made = detached::run(py, None, move |_| {
        let mut file = Generator::new(&settings.request(format)?)?.file(settings.number)?;
        let damage = settings.damage.as_deref().map(Damage::parse).transpose()?;
        let seed = settings.seed.wrapping_add(settings.number.into());
        let damage = damage.map(|damage| file.damage(damage, seed)).transpose()?;
        Ok::<_, Error>((file, damage))
    })?;
    let (file, damage) = made.or_raise(py)?;
    Ok((PyBytes::new(py, &file.bytes), to_python(py, &file.totals)?, to_python(py, &damage)?))
}

impl GenerateSettings {
    fn request(&self, format: Format) -> Result<Request> {
        let mut request = Request::new(format);
        request.toolchain.clone_from(&self.target);
        request.version = self.format_version;
        request.architecture = self.raw_arch.as_deref().map(architecture).transpose()?;
        request.iprof_version = self.to_version.as_deref().map(version).transpose()?;
        (request.functions, request.contexts, request.seed) = (self.functions, self.contexts, self.seed);
        let kinds = |kinds: &Vec<String>| kinds.iter().map(|kind| Kind::parse(kind, format)).collect();
        request.kinds = self.kinds.as_ref().map(kinds).transpose()?;
        Ok(request)
    }
}

fn architecture(word: &str) -> Result<(PointerWidth, Endian)> {
    match word {
        "64le" => Ok((PointerWidth::Bits64, Endian::Little)),
        "64be" => Ok((PointerWidth::Bits64, Endian::Big)),
        "32le" => Ok((PointerWidth::Bits32, Endian::Little)),
        "32be" => Ok((PointerWidth::Bits32, Endian::Big)),
        other => Err(Error::usage(format!("raw_arch must be 64le, 64be, 32le or 32be, not {other:?}"))),
    }
}
