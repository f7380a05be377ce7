//! Options for writing stacks.

use crate::stacks::StackArgs;
use crate::validate::{options_of, refuse, require_existing};
use clap::Args;
use profbridge::Result;
use profbridge::families::StackWriteOptions;
use profbridge::families::plan::StackOutput;
use profbridge::stacks::classes::Overload;
use profbridge::stacks::collapsed::ClassStyle;
use profbridge::stacks::pprof::MergeOptions;
use std::path::PathBuf;

/// Options for converting stacks.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options for writing stacks")]
pub(crate) struct WriteStackArgs {
    /// Sources of missing types: class files, jars, directories of them, iprof files, recordings
    #[arg(long, value_name = "FILE")]
    pub(crate) reference: Vec<PathBuf>,
    /// How to treat methods with several overloads in the reference
    #[arg(long, value_enum, default_value_t, value_name = "TREATMENT")]
    pub(crate) overload: Overload,
    /// Bytecode index to write to an iprof if it is unknown
    #[arg(long, value_name = "N", default_value_t = -5, allow_negative_numbers = true)]
    pub(crate) bci_unknown: i32,
    /// Drop frames of hidden classes; methods lambda$… stay
    #[arg(long)]
    pub(crate) drop_hidden: bool,
    /// Omit descriptors in collapsed stacks; equal stacks are merged
    #[arg(long)]
    pub(crate) no_descriptors: bool,
    /// Omit bytecode indexes in collapsed stacks; equal stacks are merged
    #[arg(long)]
    pub(crate) no_bci: bool,
    /// Add thread names to collapsed stacks, as [NAME tid=N]; N numbers the threads of the output
    #[arg(long)]
    pub(crate) threads: bool,
    /// Write class names in collapsed stacks with dots
    #[arg(long)]
    pub(crate) dots: bool,
    #[command(flatten)]
    pub(crate) pprof: PprofArgs,
}

impl WriteStackArgs {
    /// Sets the options for writing stacks.
    pub(crate) fn set_options(&self, read: &StackArgs, options: &mut StackWriteOptions) {
        options.selection = read.selection();
        options.value = read.read_options().value;
        options.accept_weights = read.value;
        options.reference.clone_from(&self.reference);
        options.overload = self.overload;
        options.unknown_bci = Some(self.bci_unknown);
        options.drop_hidden = self.drop_hidden;
        options.collapsed.style = if self.dots { ClassStyle::Dots } else { ClassStyle::Slashes };
        options.collapsed.descriptors = !self.no_descriptors;
        options.collapsed.bcis = !self.no_bci;
        options.collapsed.threads = self.threads;
        (options.max_stacks, options.max_bytes) = (self.pprof.max_stacks, self.pprof.max_bytes);
        options.limits = crate::limits::chosen();
    }

    /// Rejects options that have no effect on this form of stacks, and references that do not exist.
    pub(crate) fn refuse_for(&self, format: StackOutput) -> Result<()> {
        require_existing(&self.reference)?;
        let text = ["--no-descriptors", "--no-bci", "--threads", "--dots"];
        let iprof = ["--bci-unknown", "--drop-hidden"];
        if format != StackOutput::Collapsed {
            refuse(&text, "only for collapsed stacks", "name the output .collapsed")?;
        }
        if format != StackOutput::Iprof {
            refuse(&iprof, "only for writing an iprof", "name the output .iprof")?;
        }
        if format != StackOutput::Pprof {
            PprofArgs::refuse_for_others()?;
        }
        Ok(())
    }
}

/// Options for pprof output.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options for writing pprof")]
pub(crate) struct PprofArgs {
    /// Keep the N stacks with the highest values
    #[arg(long, value_name = "N")]
    pub(crate) max_stacks: Option<usize>,
    /// Keep the stacks with the highest values that fit into a file of N bytes
    #[arg(long, value_name = "N")]
    pub(crate) max_bytes: Option<usize>,
    /// Drop addresses and mappings of locations with names; stacks of different builds are merged
    #[arg(long)]
    pub(crate) drop_addresses: bool,
    /// Drop labels; equal stacks are merged
    #[arg(long)]
    pub(crate) drop_labels: bool,
}

impl PprofArgs {
    /// Returns the options for merging pprof profiles.
    pub(crate) fn merge_options(&self) -> MergeOptions {
        let mut options = MergeOptions::default();
        (options.drop_addresses, options.drop_labels) = (self.drop_addresses, self.drop_labels);
        options
    }

    /// Rejects these options for other outputs, on which they have no effect.
    fn refuse_for_others() -> Result<()> {
        refuse(&options_of::<PprofArgs>(), "only for writing a pprof", "name the output .pprof, .pgo or .pb")
    }
}
