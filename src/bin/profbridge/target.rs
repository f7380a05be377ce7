//! The target of a result, from the command line, the environment and the inputs, and the message about it.

use crate::toolchains;
use profbridge::Compat;
use profbridge::Result;
use profbridge::families::OutputFormat;
use profbridge::input::Input;
use profbridge::input::output::is_standard_output;
use profbridge::instr::release;
use profbridge::instr::resolved_target::ResolvedTarget;
use profbridge::instr::target::{ENVIRONMENT, Evidence, Target, TargetRequest, TargetSource};
use serde::Serialize;
use std::path::Path;

/// Returns the target from `--for` and `--format-version`, or the environment; otherwise from the beginnings of the inputs.
pub(crate) fn choose<'i>(
    toolchain: Option<&str>,
    format_version: Option<u32>,
    inputs: impl IntoIterator<Item = &'i Input>,
) -> Result<ResolvedTarget> {
    match requested(toolchain, format_version)? {
        Some(target) => Ok(ResolvedTarget::requested(target, format_version.is_some())),
        None => Ok(ResolvedTarget::of_inputs(&Evidence::look(inputs, Compat::Profbridge))),
    }
}

/// Returns the requested target of a sample profile.
pub(crate) fn of_samples(toolchain: Option<&str>) -> Result<Option<ResolvedTarget>> {
    Ok(requested(toolchain, None)?.map(|target| ResolvedTarget::requested(target, false)))
}

fn requested(toolchain: Option<&str>, format_version: Option<u32>) -> Result<Option<Target>> {
    let environment = std::env::var_os(ENVIRONMENT);
    let mut request = TargetRequest::default();
    request.toolchain = toolchain;
    request.format_version = format_version;
    request.environment = environment.as_deref();
    let target = request.target().map_err(|error| match toolchain {
        Some(name) if release::parse(name).is_err() => toolchains::suggest(error, name),
        _ => error,
    })?;
    if let (Some(name), Some(target)) = (toolchain.filter(|name| release::is_inferred_rustc(name)), &target) {
        let release = target.release_words();
        crate::console::status(&format!("note: {name} is expected to use {release}; no such rustc was tested"));
    }
    Ok(target)
}

/// Prints the target release of `output` and the evidence for it on standard error, unless an option selected it.
pub(crate) fn announce(target: &ResolvedTarget, format: OutputFormat, output: &Path) {
    let reason = match target.target.source {
        TargetSource::Inputs => target.reason.to_string(),
        TargetSource::Environment => ENVIRONMENT.to_string(),
        _ => return,
    };
    let what = match format {
        OutputFormat::Indexed { version, .. } => format!("indexed version {version}"),
        OutputFormat::Raw { encoding } => format!("raw version {}", encoding.version),
        _ => "text".to_string(),
    };
    let output = if is_standard_output(output) { "standard output".into() } else { output.display().to_string() };
    let release = target.target.release_words();
    crate::console::status(&format!("{output}: {what} for {release} ({reason}); use --for to choose another target"));
}

/// The member `target` of a report.
#[derive(Debug, Serialize)]
pub(crate) struct JsonTarget {
    release: String,
    indexed_version: u32,
    source: &'static str,
}

impl JsonTarget {
    /// Returns the release and what determined it.
    pub(crate) fn of(target: &Target) -> Self {
        Self { release: target.toolchain(), indexed_version: target.indexed_version, source: target.source.name() }
    }
}
