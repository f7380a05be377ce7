//! The target of a result, from the command line, the environment and the inputs, and the message about it.

use crate::toolchains;
use profbridge::Compat;
use profbridge::Result;
use profbridge::families::{OutputForm, OutputFormat};
use profbridge::input::Input;
use profbridge::input::output::is_standard_output;
use profbridge::instr::FunctionFilter;
use profbridge::instr::cross_release::apply::cross;
use profbridge::instr::cross_release::{CrossReleaseOptions, Finding, HashPolicy, Origins};
use profbridge::instr::target::{ENVIRONMENT, Evidence, Reason, Target, TargetRequest, TargetSource};
use profbridge::instr::{Loss, LossKind, Profile, release};
use serde::Serialize;
use std::path::Path;

/// The target of a result, and the evidence for it.
pub(crate) struct ResolvedTarget {
    /// The release and its versions.
    pub(crate) target: Target,
    /// The evidence that determined it.
    reason: Reason,
    /// Whether the user requested this version.
    version_is_given: bool,
}

impl ResolvedTarget {
    /// Returns the target from `--for` and `--format-version`, or the environment; otherwise from the beginnings of the
    /// inputs.
    pub(crate) fn choose<'i>(
        toolchain: Option<&str>,
        format_version: Option<u32>,
        inputs: impl IntoIterator<Item = &'i Input>,
    ) -> Result<Self> {
        let environment = std::env::var_os(ENVIRONMENT);
        let mut request = TargetRequest::default();
        request.toolchain = toolchain;
        request.format_version = format_version;
        request.environment = environment.as_deref();
        let target = request.target().map_err(|error| match toolchain {
            Some(name) if release::parse(name).is_err() => toolchains::suggest(error, name),
            _ => error,
        })?;
        if let Some(target) = target {
            return Ok(Self::asked(target, format_version.is_some()));
        }
        let evidence = Evidence::look(inputs, Compat::Profbridge);
        Ok(Self { target: Target::of_inputs(&evidence), reason: evidence.reason(), version_is_given: false })
    }

    /// Returns a requested target.
    pub(crate) fn asked(target: Target, version_is_given: bool) -> Self {
        Self { target, reason: Reason::default(), version_is_given }
    }

    /// Returns the target for raw output of a requested version. A version before that of the inputs selects the
    /// compilers that read it.
    pub(crate) fn with_raw_version(self, version: Option<u32>) -> Self {
        let by_inputs = self.target.source == TargetSource::Inputs;
        let older = version.filter(|version| by_inputs && *version < self.target.raw_version);
        match older.and_then(Target::of_raw_version) {
            Some(target) => Self::asked(target, false),
            None => self,
        }
    }

    /// Returns the options for adapting a result to the target.
    pub(crate) fn crossing(&self, hashes: HashPolicy) -> CrossReleaseOptions {
        let mut options =
            CrossReleaseOptions::new(self.target.release, self.target.indexed_version, Origins::default());
        options.version_is_given = self.version_is_given;
        options.release_is_given = self.target.source != TargetSource::Inputs;
        options.hashes = hashes;
        options
    }

    /// Gives the result the names and hashes that its target computes. Its content can require another release or
    /// version, which takes precedence.
    pub(crate) fn cross(
        &mut self,
        profile: &mut Profile,
        filter: &mut FunctionFilter,
        hashes: HashPolicy,
        origins: Origins,
        strict: bool,
        form: OutputForm,
    ) -> Result<Vec<Finding>> {
        self.store_all_of(profile, form)?;
        let mut options = self.crossing(hashes);
        options.origins = origins;
        let crossed = cross(profile, filter, &options, strict)?;
        if crossed.indexed_version != self.target.indexed_version {
            self.reason.content = Some(format!("hashes of {}", crossed.release));
        }
        (self.target.release, self.target.indexed_version) = (crossed.release, crossed.indexed_version);
        Ok(crossed.findings)
    }

    /// Selects a later release if only that one can store the whole profile, unless a release was requested.
    fn store_all_of(&mut self, profile: &Profile, form: OutputForm) -> Result<()> {
        if self.target.source != TargetSource::Inputs || self.version_is_given {
            return Ok(());
        }
        let (target, stored) = self.target.storing(profile, form)?;
        if target != self.target {
            let words = |loss: &Loss| match loss.properties.is_none() {
                true => loss.to_string(),
                false => loss.properties.nouns(),
            };
            let stored: Vec<String> = stored.iter().map(words).collect();
            (self.target, self.reason.content) = (target, Some(stored.join(", ")));
        }
        Ok(())
    }

    /// Returns the losses that `--strict` allows: binary ids, if the inputs selected a version that cannot store them.
    /// Compilers do not use them.
    pub(crate) fn tolerated(&self) -> Vec<LossKind> {
        if self.target.source == TargetSource::Inputs { vec![LossKind::BinaryIds] } else { Vec::new() }
    }

    /// Prints the target release of `output` and the evidence for it on standard error, unless an option selected it.
    pub(crate) fn announce(&self, format: OutputFormat, output: &Path) {
        let reason = match self.target.source {
            TargetSource::Inputs => self.reason.to_string(),
            TargetSource::Environment => ENVIRONMENT.to_string(),
            _ => return,
        };
        let what = match format {
            OutputFormat::Indexed { version, .. } => format!("indexed version {version}"),
            OutputFormat::Raw { encoding } => format!("raw version {}", encoding.version),
            _ => "text".to_string(),
        };
        let output = if is_standard_output(output) { "standard output".into() } else { output.display().to_string() };
        let line = format!(
            "{output}: {what} for {} ({reason}); use --for to choose another target",
            self.target.release_words()
        );
        crate::console::status(&line);
    }

    /// Returns the target for JSON reports.
    pub(crate) fn json(&self) -> JsonTarget {
        JsonTarget::of(&self.target)
    }
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
