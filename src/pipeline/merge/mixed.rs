//! Merging inputs of both families, LLVM's and iprof.
//!
//! Each iprof file is taken apart into what LLVM counted (its member `llvm`)
//! and the rest. The first merges with the LLVM inputs as LLVM merges, the
//! second as iprof merges; at the end the bridge puts both into one family.

use crate::bridge::{self, Parts, ToIprofOptions, ToLlvmOptions, Trust};
use crate::error::{Error, Result, Warning};
use crate::input::{Family, Input};
use crate::instr::{Loss, Losses, Profile};
use crate::iprof::{self, BranchClash, Document, Level, SectionWeights, Weight};
use crate::merge::Merger;
use crate::pipeline::merge::{MergeObserver, MergeOptions, MergeReport, merge_files};

/// How inputs of both families are merged.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MixedOptions {
    /// How the LLVM part is merged.
    pub llvm: MergeOptions,
    /// What to believe where a document contradicts its own extension.
    pub trust: Option<Trust>,
    /// How documents are read.
    pub iprof: iprof::ReadOptions,
}

/// The sum of all inputs, in two parts.
#[derive(Debug)]
#[non_exhaustive]
pub struct MixedSum {
    /// What became of the LLVM inputs. Its profile has moved to `parts`.
    pub llvm: MergeReport,
    /// What is worth saying about the documents.
    pub warnings: Vec<Warning>,
    /// What could not be added up.
    pub losses: Losses,
    parts: Parts,
    options: MixedOptions,
}

/// Reads one document.
///
/// # Errors
///
/// I/O, and what makes the document invalid.
pub fn read_document(input: &Input, options: &iprof::ReadOptions) -> Result<(Document, Vec<Warning>)> {
    let path = &input.path;
    let (document, findings) = iprof::read_from(input.stream()?, options).map_err(|error| error.in_file(path))?;
    let told = findings.iter().filter(|finding| finding.level == Level::Warning && !finding.code.is_about_age());
    Ok((document, told.map(|finding| Warning::new(finding.to_string()).in_file(path)).collect()))
}

/// Whether an input is an iprof. What cannot be opened is taken for LLVM's:
/// merging says what is wrong with it.
pub fn is_document(input: &Input) -> bool {
    input.family().is_ok_and(|family| family == Some(Family::Iprof))
}

/// Merges inputs of both families.
///
/// # Errors
///
/// What makes a document unreadable or contradictory, kinds of profiles that
/// do not go together, branch lists that clash if that is to be an error. What
/// is wrong with LLVM inputs is in the report.
pub fn merge_mixed(inputs: &[Input], options: &MixedOptions, observer: &mut dyn MergeObserver) -> Result<MixedSum> {
    let (documents, llvm_inputs): (Vec<Input>, Vec<Input>) = inputs.iter().cloned().partition(is_document);
    let mut report = merge_files(&llvm_inputs, &options.llvm, observer)?;
    let mut sum = MixedMerge::new(options);
    if report.used() > 0 {
        sum.profiles.add(&std::mem::take(&mut report.profile), 1)?;
    }
    let mut warnings = Vec::new();
    for input in &documents {
        let (document, found) = read_document(input, &options.iprof)?;
        warnings.extend(found);
        sum.add_document(&document, input)?;
    }
    let (parts, merged, losses) = sum.finish()?;
    warnings.extend(merged.warnings(BranchClash::Keep));
    Ok(MixedSum { llvm: report, warnings, losses, parts, options: options.clone() })
}

/// Adds up documents: what LLVM counted apart from the rest.
pub(in crate::pipeline) struct MixedMerge {
    rests: iprof::Merger,
    profiles: LlvmSum,
    losses: Losses,
    trust: Option<Trust>,
}

impl MixedMerge {
    pub(in crate::pipeline) fn new(options: &MixedOptions) -> Self {
        // Shapes of branches stay apart on LLVM's side; the way to iprof resolves them.
        let mut rests = iprof::Merger::new(iprof::MergeOptions { branch_clash: BranchClash::Keep });
        rests.add(&Document::new(), &SectionWeights::uniform(Weight::ONE));
        Self { rests, profiles: LlvmSum::new(&options.llvm), losses: Losses::new(), trust: options.trust }
    }

    pub(in crate::pipeline) fn add_document(&mut self, document: &Document, input: &Input) -> Result<()> {
        let in_file = |error: Error| error.in_file(&input.path);
        let (parts, lost) = bridge::split(document, self.trust).map_err(in_file)?;
        lost.iter().for_each(|loss| self.losses.add(loss.kind, loss.count));
        let weight = Weight::ratio(input.weight.get(), 1).unwrap_or_default();
        self.rests.add(&parts.rest, &SectionWeights::uniform(weight));
        self.profiles.add(&parts.profile, input.weight.get()).map_err(in_file)
    }

    pub(in crate::pipeline) fn finish(self) -> Result<(Parts, iprof::MergeReport, Losses)> {
        let (rest, merged) = self.rests.finish()?;
        Ok((Parts { rest, profile: self.profiles.finish()? }, merged, self.losses))
    }
}

impl MixedSum {
    /// The sum as an LLVM profile, and what could not cross.
    ///
    /// # Errors
    ///
    /// As for [`bridge::to_llvm`], and for kinds that do not go together.
    pub fn into_llvm(self, options: &ToLlvmOptions) -> Result<(Profile, Vec<Loss>)> {
        let mut losses = self.losses;
        let (rest, lost) = bridge::to_llvm(&self.parts.rest, options)?;
        lost.iter().for_each(|loss| losses.add(loss.kind, loss.count));
        let mut sum = LlvmSum::new(&self.options.llvm);
        sum.add(&self.parts.profile, 1)?;
        sum.add(&rest, 1)?;
        Ok((sum.finish()?, losses.into_vec()))
    }

    /// The sum as an iprof document, and what could not cross.
    ///
    /// # Errors
    ///
    /// As for [`bridge::to_iprof`].
    pub fn into_iprof(self, options: &ToIprofOptions) -> Result<(Document, Vec<Loss>)> {
        let mut losses = self.losses;
        let (document, lost) = bridge::join(self.parts, options)?;
        lost.iter().for_each(|loss| losses.add(loss.kind, loss.count));
        Ok((document, losses.into_vec()))
    }
}

/// Profiles in memory, added up as files are.
struct LlvmSum {
    sum: Merger,
    options: MergeOptions,
}

impl LlvmSum {
    fn new(options: &MergeOptions) -> Self {
        Self { sum: Merger::new(options.merger_options()), options: options.clone() }
    }

    fn add(&mut self, profile: &Profile, weight: u64) -> Result<()> {
        self.sum.add_profile(profile, weight).map_err(|error: Error| {
            error.with_hint("profiles of both families become IR-level profiles that count entries first")
        })
    }

    fn finish(self) -> Result<Profile> {
        let options = self.options;
        Ok(options.memprof.finish(self.sum, options.release, options.read.compat)?.0)
    }
}
