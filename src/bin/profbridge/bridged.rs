//! Conversion between LLVM profiles and iprof, for `convert` and `merge`.

use crate::console;
use crate::iprof_files::print_findings;
use crate::merge_document::MergeDocument;
use clap::Args;
use profbridge::bridge::{self, ToIprofOptions, ToLlvmOptions, Trust};
use profbridge::input::Input;
use profbridge::instr::{Loss, Profile, refuse_losses};
use profbridge::iprof::{self, BranchClash, Document, Level, SectionKind};
use profbridge::{Error, Result, Warning};
use std::path::Path;

/// Options for conversions between LLVM profiles and iprof.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Options for conversions between LLVM and iprof")]
pub(crate) struct BridgeArgs {
    /// Omit LLVM's records from an iprof: the file is smaller, but cannot be converted back exactly
    #[arg(long)]
    no_extension: bool,
    /// Also write LLVM's counters to the iprof, as one branch list per function
    #[arg(long)]
    counters_as_branches: bool,
    /// Which side to use if an iprof and its LLVM records contradict each other
    #[arg(long, value_enum, value_name = "SIDE")]
    pub(crate) trust: Option<Trust>,
}

/// Returns the indexed version with the records that a raw version can store.
pub(crate) fn indexed_version_of_raw(raw_version: u32) -> u32 {
    match raw_version {
        10.. => 12,
        9 => 11,
        _ => 10,
    }
}

impl BridgeArgs {
    /// Returns the options for converting a document to a profile of an indexed version.
    pub(crate) fn to_llvm_options(&self, sections: Vec<SectionKind>, indexed_version: u32) -> ToLlvmOptions {
        let mut options = ToLlvmOptions::default();
        options.sections = sections;
        options.trust = self.trust;
        options.indexed_version = indexed_version;
        options
    }

    /// Returns the options for converting a profile to a document.
    pub(crate) fn to_iprof_options(&self, branch_clash: BranchClash) -> ToIprofOptions {
        let mut options = ToIprofOptions::default();
        options.extension = !self.no_extension;
        options.counters_as_branches = self.counters_as_branches;
        options.branch_clash = branch_clash;
        options
    }
}

/// Reports data that could not be converted, or fails because of it.
pub(crate) fn report_losses(losses: &[Loss], path: &Path, strict: bool) -> Result<()> {
    if strict {
        return refuse_losses(losses).map_err(|error| error.in_file(path));
    }
    for loss in losses {
        console::warning(&Warning::new(format!("not converted: {loss}")).in_file(path));
    }
    Ok(())
}

/// Reads an iprof and converts it to a profile, with the losses. `change` can modify the document first and returns its
/// own losses. Prints the findings.
pub(crate) fn read_profile(
    input: &Input,
    options: &ToLlvmOptions,
    strict: bool,
    reported: &mut MergeDocument,
    change: impl FnOnce(&mut Document) -> Result<Vec<Warning>>,
) -> Result<(Profile, Vec<Loss>)> {
    let path = &input.path;
    let in_file = |error: Error| error.in_file(path);
    let (mut document, findings) =
        iprof::Reader::new(input.stream()?, &crate::limits::iprof_options()).read().map_err(in_file)?;
    print_findings(path, &findings);
    reported.warn_of(0, findings.iter().filter(|finding| finding.level != Level::Info).map(ToString::to_string));
    let warnings = change(&mut document)?;
    warnings.iter().for_each(console::warning);
    reported.warn(&warnings);
    let (profile, losses) = bridge::to_llvm(&document, options).map_err(in_file)?;
    report_losses(&losses, path, strict)?;
    Ok((profile, losses))
}
