//! Merging inputs of both families, LLVM's and iprof.
//!
//! Each iprof file is taken apart into what LLVM counted (its member `llvm`)
//! and the rest. The first merges with the LLVM inputs as LLVM merges, the
//! second as iprof merges; at the end the bridge puts both into one family.

use crate::bridge::{self, Parts, ToIprofOptions, ToLlvmOptions, Trust};
use crate::driver::OnProgress;
use crate::error::{Error, Result, Warning};
use crate::families::merge::{FailureMode, InputOutcome, MergeOptions, MergeReport, merge_files};
use crate::input::{Family, Format, Input};
use crate::instr::Merger;
use crate::iprof::{self, BranchClash, Document, Level, SectionKind, SectionWeights, Weight};
use crate::model::{Loss, Losses, Profile};

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
    /// What became of each document, in order.
    pub documents: Vec<InputOutcome>,
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
    let reported = findings.iter().filter(|finding| finding.level == Level::Warning && !finding.code.is_about_age());
    Ok((document, reported.map(|finding| Warning::new(finding.to_string()).in_file(path)).collect()))
}

/// Whether an input is an iprof. What cannot be opened is taken for LLVM's:
/// merging says what is wrong with it.
pub fn is_document(input: &Input) -> bool {
    let is_empty = input.format().is_ok_and(|format| format == Format::Empty);
    !is_empty && input.family().is_ok_and(|family| family == Some(Family::Iprof))
}

/// Merges inputs of both families. Documents in front of the LLVM inputs come first, the others last.
///
/// # Errors
///
/// Errors of a damaged or contradictory document; a kind conflict, unless the failure mode allows it; branch lists
/// that clash if that is an error. The report has the errors of LLVM inputs.
pub fn merge_mixed(inputs: &[Input], options: &MixedOptions, progress: OnProgress<'_>) -> Result<MixedSum> {
    let first = inputs.iter().position(|input| !is_document(input)).unwrap_or(inputs.len());
    let (documents, llvm_inputs): (Vec<&Input>, Vec<&Input>) =
        inputs[first..].iter().partition(|input| is_document(input));
    let mut merge = MixedMerge::new(options);
    let (mut warnings, mut outcomes) = (Vec::new(), Vec::new());
    let mut add = |merge: &mut MixedMerge, input: &Input| -> Result<()> {
        let (document, found) = read_document(input, &options.iprof)?;
        warnings.extend(found);
        outcomes.push(match merge.add_document(&document, input) {
            Err(error) if options.llvm.failure_mode != FailureMode::Any && error.is_kind_conflict() => {
                InputOutcome::Failed(error)
            }
            added => {
                added?;
                if document.has_tables_only() { InputOutcome::Empty } else { InputOutcome::Used }
            }
        });
        Ok(())
    };
    inputs[..first].iter().try_for_each(|input| add(&mut merge, input))?;
    let report = merge.add_llvm(&llvm_inputs.into_iter().cloned().collect::<Vec<_>>(), progress)?;
    documents.into_iter().try_for_each(|input| add(&mut merge, input))?;
    let (parts, merged, losses) = merge.finish()?;
    warnings.extend(merged.warnings(BranchClash::Keep));
    Ok(MixedSum { llvm: report, documents: outcomes, warnings, losses, parts, options: options.clone() })
}

/// Adds up documents: what LLVM counted apart from the rest.
pub(crate) struct MixedMerge {
    rests: iprof::Merger,
    profiles: LlvmSum,
    losses: Losses,
    trust: Option<Trust>,
}

impl MixedMerge {
    pub(crate) fn new(options: &MixedOptions) -> Self {
        // Shapes of branches stay apart on LLVM's side; the way to iprof resolves them.
        let mut rests = iprof::Merger::new(iprof::MergeOptions { branch_clash: BranchClash::Keep });
        rests.add(&Document::new(), &SectionWeights::uniform(Weight::ONE));
        Self { rests, profiles: LlvmSum::new(&options.llvm), losses: Losses::new(), trust: options.trust }
    }

    /// Adds a document; one of another kind than the inputs before it adds nothing.
    pub(crate) fn add_document(&mut self, document: &Document, input: &Input) -> Result<()> {
        let in_file = |error: Error| error.in_file(&input.path);
        let (parts, lost) = bridge::split(document, self.trust).map_err(in_file)?;
        if parts.profile.functions.records_len() == 0 && has_entries(&parts.rest) {
            self.profiles.merger.begin_counts(&input.path).map_err(in_file)?;
        }
        self.profiles.add(&parts.profile, input).map_err(in_file)?;
        lost.iter().for_each(|loss| self.losses.add(loss.kind, loss.count));
        let weight = Weight::ratio(input.weight.get(), 1).unwrap_or_default();
        self.rests.add(&parts.rest, &SectionWeights::uniform(weight));
        Ok(())
    }

    /// Merges LLVM inputs and adds what comes of them, whose profile moves here.
    fn add_llvm(&mut self, inputs: &[Input], progress: OnProgress<'_>) -> Result<MergeReport> {
        let mut options = self.profiles.options.clone();
        options.shared_kind = self.profiles.merger.shared_kind().clone();
        let mut report = merge_files(inputs, &options, progress)?;
        let (merger, profile) = (&mut self.profiles.merger, std::mem::take(&mut report.profile));
        if report.used() > 0 {
            merger.set_shared_kind(report.shared_kind.clone());
            merger.add_profile(&profile, 1)?;
        } else {
            // The kind of inputs without records does not count, but what they name does.
            merger.add_vtable_names(profile.vtable_names);
            merger.add_binary_ids(profile.binary_ids);
        }
        Ok(report)
    }

    pub(crate) fn finish(self) -> Result<(Parts, iprof::MergeReport, Losses)> {
        let (rest, merged) = self.rests.finish()?;
        Ok((Parts { rest, profile: self.profiles.finish()? }, merged, self.losses))
    }
}

fn has_entries(document: &Document) -> bool {
    SectionKind::ALL.iter().any(|kind| document.sections.entries_count(*kind) > 0)
}

impl MixedSum {
    /// Documents that were used; those without entries are left out.
    pub fn documents_used(&self) -> usize {
        self.documents.iter().filter(|outcome| matches!(outcome, InputOutcome::Used)).count()
    }

    /// Inputs that were used.
    pub fn used(&self) -> usize {
        self.llvm.used() + self.documents_used()
    }

    /// The sum as an LLVM profile, and what could not cross. The bridge's records take the kind of LLVM's own, for
    /// which that kind has to count executions.
    ///
    /// # Errors
    ///
    /// As for [`bridge::to_llvm`].
    pub fn into_llvm(self, options: &ToLlvmOptions) -> Result<(Profile, Vec<Loss>)> {
        if self.documents_used() == 0 {
            return Ok((self.parts.profile, self.losses.into_vec()));
        }
        let (mut losses, profile) = (self.losses, self.parts.profile);
        let (mut rest, lost) = bridge::to_llvm(&self.parts.rest, options)?;
        lost.iter().for_each(|loss| losses.add(loss.kind, loss.count));
        if profile.functions.records_len() > 0 {
            rest.kind = profile.kind;
        }
        let mut sum = LlvmSum::new(&self.options.llvm);
        sum.merger.add_profile(&profile, 1)?;
        if rest.functions.records_len() > 0 {
            sum.merger.add_profile(&rest, 1)?;
        }
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
    merger: Merger,
    options: MergeOptions,
}

impl LlvmSum {
    fn new(options: &MergeOptions) -> Self {
        Self { merger: Merger::new(options.merger_options()), options: options.clone() }
    }

    fn add(&mut self, profile: &Profile, input: &Input) -> Result<()> {
        self.merger.add_named_profile(profile, input.weight.get(), Some(&input.path))
    }

    fn finish(self) -> Result<Profile> {
        let options = self.options;
        Ok(options.memprof.finish(self.merger, options.release, options.read.compat)?.0)
    }
}
