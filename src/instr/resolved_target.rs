//! The target of a result with the evidence for it, which the content of the result can change.

use crate::driver::output_form::OutputForm;
use crate::error::Result;
use crate::instr::FunctionFilter;
use crate::instr::cross_release::apply::cross;
use crate::instr::cross_release::bitmaps;
use crate::instr::cross_release::{CrossReleaseOptions, Finding, HashPolicy, Origins};
use crate::instr::target::{Evidence, Reason, Target, TargetSource};
use crate::model::{Loss, Profile};

/// The target of a result, and the evidence for it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ResolvedTarget {
    /// The release and its versions.
    pub target: Target,
    /// The evidence that determined it.
    pub reason: Reason,
    /// Whether the user requested this version.
    pub version_is_given: bool,
}

impl ResolvedTarget {
    /// Returns a requested target.
    pub fn requested(target: Target, version_is_given: bool) -> Self {
        Self { target, reason: Reason::default(), version_is_given }
    }

    /// Returns the target that the inputs select.
    pub fn of_inputs(evidence: &Evidence) -> Self {
        Self { target: Target::of_inputs(evidence), reason: evidence.reason(), version_is_given: false }
    }

    /// Returns the target for raw output of a requested version. If the inputs selected another one, the version selects
    /// the compilers that read it.
    #[must_use]
    pub fn with_raw_version(self, version: Option<u32>) -> Self {
        let by_inputs = self.target.source == TargetSource::Inputs;
        let other = version.filter(|version| by_inputs && *version != self.target.raw_version);
        match other.and_then(Target::of_raw_version) {
            Some(target) => Self::requested(target, false),
            None => self,
        }
    }

    /// Returns the options for adapting a result to the target.
    pub fn crossing(&self, hashes: HashPolicy) -> CrossReleaseOptions {
        let mut options =
            CrossReleaseOptions::new(self.target.release, self.target.indexed_version, Origins::default());
        options.version_is_given = self.version_is_given;
        options.release_is_given = self.target.source != TargetSource::Inputs;
        options.hashes = hashes;
        options
    }

    /// Gives the result the names and hashes that its target computes. Its content can require another release or
    /// version, which takes precedence.
    ///
    /// # Errors
    ///
    /// With `strict`, a loss error if the target cannot use some records. A kind conflict if the target takes counters of
    /// this kind for those of other places.
    pub fn cross(
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
        (options.origins, options.is_raw) = (origins, form == OutputForm::Raw);
        // Tools of the target release choose the version of the indexed file that they make of text and raw profiles.
        options.version_is_given |= options.release_is_given && matches!(form, OutputForm::Raw | OutputForm::Text);
        let crossed = cross(profile, filter, &options, strict)?;
        if crossed.indexed_version != self.target.indexed_version {
            let what = if crossed.release == bitmaps::FIRST_RELEASE { "MC/DC bitmaps" } else { "hashes" };
            self.reason.content = Some(format!("{what} of {}", crossed.release));
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
}
