//! Options for writing stacks.

use crate::refuse::refuse;
use crate::words::number_of;
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
    /// Where types come from that stacks lack: class files, jars, folders of them, iprof, recordings
    #[arg(long, value_name = "FILE")]
    pub(crate) reference: Vec<PathBuf>,
    /// What to do with methods of which the reference knows several overloads
    #[arg(long, value_enum, default_value_t = OverloadArg::First, value_name = "WHICH")]
    pub(crate) overload: OverloadArg,
    /// Written to an iprof where the bytecode index is not known
    #[arg(long, value_name = "N", default_value_t = -5, allow_negative_numbers = true)]
    pub(crate) bci_unknown: i32,
    /// Leave out frames of hidden classes (the lambda$… methods stay)
    #[arg(long)]
    pub(crate) drop_hidden: bool,
    /// Collapsed text without descriptors; stacks that differ in nothing else join
    #[arg(long)]
    pub(crate) no_descriptors: bool,
    /// Collapsed text without bytecode indexes; stacks that differ in nothing else join
    #[arg(long)]
    pub(crate) no_bci: bool,
    /// Collapsed text with thread names
    #[arg(long)]
    pub(crate) threads: bool,
    /// Collapsed text with dots in class names
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
            refuse(&text, "for writing collapsed stacks", "name the output .collapsed")?;
        }
        if format != StackOutput::Iprof {
            refuse(&iprof, "for writing an iprof", "name the output .iprof")?;
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
    /// Keep the N heaviest stacks
    #[arg(long, value_name = "N")]
    pub(crate) max_stacks: Option<usize>,
    /// Keep as many of the heaviest stacks as fit into a file of N bytes
    #[arg(long, value_name = "N")]
    pub(crate) max_bytes: Option<usize>,
    /// Leave out addresses and mappings of what has names: stacks of different builds join
    #[arg(long)]
    pub(crate) drop_addresses: bool,
    /// Leave out labels: stacks that differ in nothing else join
    #[arg(long)]
    pub(crate) drop_labels: bool,
}

/// The values of `--overload`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OverloadArg {
    /// The first of the reference
    First,
    /// Leave the frame out
    Skip,
    /// As a leaf, count every overload
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
        refuse(&self.given(), "for writing a pprof", "name the output .pprof, .pgo or .pb")
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
            Overload::First => "the first was taken",
            Overload::Skip => "their frames are left out",
            Overload::All => "as leaves they count for every overload",
        };
        let methods = number_of(report.overloaded, "method");
        losses.push(format!("{methods} with several overloads in the reference; {what}"));
    }
    for (count, words) in [
        (report.unknown, ("method", "in no reference")),
        (report.dropped_hits, ("sample", "without any frame left")),
        (report.repeated_hits, ("hit", "counted once more for another overload")),
    ] {
        if count > 0 {
            losses.push(format!("{} {}", number_of(count, words.0), words.1));
        }
    }
    Ok(table)
}
