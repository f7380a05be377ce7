//! Options for writing stacks.

use crate::plural::number_of;
use crate::validate::refuse;
use clap::{Args, ValueEnum};
use profbridge::Result;
use profbridge::call_chains::StackTable;
use profbridge::families::plan::StackOutput;
use profbridge::families::stack_files::read_reference;
use profbridge::stacks::classes::Overload;
use std::path::PathBuf;

/// Options for converting stacks.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options for writing stacks")]
pub(crate) struct WriteStackArgs {
    /// Sources of missing types: class files, jars, directories of them, iprof files, recordings
    #[arg(long, value_name = "FILE")]
    pub(crate) reference: Vec<PathBuf>,
    /// How to treat methods with several overloads in the reference
    #[arg(long, value_enum, default_value_t = OverloadArg::First, value_name = "TREATMENT")]
    pub(crate) overload: OverloadArg,
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
    /// Add thread names to collapsed stacks
    #[arg(long)]
    pub(crate) threads: bool,
    /// Write class names in collapsed stacks with dots
    #[arg(long)]
    pub(crate) dots: bool,
    #[command(flatten)]
    pub(crate) pprof: PprofArgs,
}

impl WriteStackArgs {
    /// Returns the given options.
    pub(crate) fn given(&self) -> Vec<(bool, &'static str)> {
        let own = [
            (!self.reference.is_empty(), "--reference"),
            (self.overload != OverloadArg::First, "--overload"),
            (self.bci_unknown != -5, "--bci-unknown"),
            (self.drop_hidden, "--drop-hidden"),
            (self.no_descriptors, "--no-descriptors"),
            (self.no_bci, "--no-bci"),
            (self.threads, "--threads"),
            (self.dots, "--dots"),
        ];
        own.into_iter().chain(self.pprof.given()).collect()
    }

    /// Rejects options that have no effect on this form of stacks.
    pub(crate) fn refuse_for(&self, format: StackOutput) -> Result<()> {
        let text = [
            (self.no_descriptors, "--no-descriptors"),
            (self.no_bci, "--no-bci"),
            (self.threads, "--threads"),
            (self.dots, "--dots"),
        ];
        let iprof = [(self.bci_unknown != -5, "--bci-unknown"), (self.drop_hidden, "--drop-hidden")];
        if format != StackOutput::Collapsed {
            refuse(&text, "only for collapsed stacks", "name the output .collapsed")?;
        }
        if format != StackOutput::Iprof {
            refuse(&iprof, "only for writing an iprof", "name the output .iprof")?;
        }
        if format != StackOutput::Pprof {
            self.pprof.refuse_for_others()?;
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

/// The values of `--overload`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OverloadArg {
    /// The first overload of the reference
    First,
    /// Drop the frame
    Skip,
    /// All overloads for leaf frames
    All,
}

impl PprofArgs {
    fn given(&self) -> [(bool, &'static str); 4] {
        [
            (self.max_stacks.is_some(), "--max-stacks"),
            (self.max_bytes.is_some(), "--max-bytes"),
            (self.drop_addresses, "--drop-addresses"),
            (self.drop_labels, "--drop-labels"),
        ]
    }

    /// Rejects these options for other outputs, on which they have no effect.
    fn refuse_for_others(&self) -> Result<()> {
        refuse(&self.given(), "only for writing a pprof", "name the output .pprof, .pgo or .pb")
    }
}

/// Adds the types that stacks lack, from the files given by `--reference`.
pub(crate) fn add_types(table: &StackTable, write: &WriteStackArgs, losses: &mut Vec<String>) -> Result<StackTable> {
    let reference = read_reference(&write.reference, &crate::limits::chosen())?;
    let overload = match write.overload {
        OverloadArg::First => Overload::First,
        OverloadArg::Skip => Overload::Skip,
        OverloadArg::All => Overload::All,
    };
    let (table, report) = reference.resolve(table, overload);
    if report.overloaded > 0 {
        let what = match overload {
            Overload::First => "the first was used",
            Overload::Skip => "their frames were dropped",
            Overload::All => "leaf frames count for every overload",
        };
        let methods = number_of(report.overloaded, "method");
        losses.push(format!("{methods} with several overloads in the reference; {what}"));
    }
    for (count, words) in [
        (report.unknown, ("method", "not in the reference")),
        (report.dropped_hits, ("sample", "without any frame left")),
        (report.repeated_hits, ("hit", "counted again for another overload")),
    ] {
        if count > 0 {
            losses.push(format!("{} {}", number_of(count, words.0), words.1));
        }
    }
    Ok(table)
}
