//! Options for merging iprof files.

use clap::{Args, ValueEnum};
use profbridge::iprof::{BranchClash, Weight};

/// Options for merging iprof files.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Options for iprof inputs")]
pub(crate) struct IprofMergeArgs {
    /// How to merge branch lists that contradict each other [default: heavier]
    #[arg(long, value_enum, value_name = "POLICY")]
    on_branch_clash: Option<ClashArg>,
    /// Scale every input to equal totals per section first, so that all runs have the same weight
    #[arg(long)]
    normalize: bool,
    /// Multiply all counts by a ratio, such as 1/3; no count becomes 0
    #[arg(long, value_name = "RATIO", value_parser = parse_ratio)]
    scale: Option<Weight>,
}

/// The values of `--on-branch-clash`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ClashArg {
    /// Keep the list with more events
    Heavier,
    /// Keep the list of the first input
    First,
    /// Join the lists
    Union,
    /// Keep each list as a separate entry
    Keep,
    /// Drop all of them
    Drop,
    /// Fail
    Error,
}

impl IprofMergeArgs {
    /// Returns the treatment of inputs that disagree about a branch.
    pub(crate) fn branch_clash(&self) -> BranchClash {
        self.on_branch_clash.map_or_else(BranchClash::default, BranchClash::from)
    }

    /// Returns the factor for every count, and whether inputs are first scaled to equal totals.
    pub(crate) fn scaling(&self) -> (Weight, bool) {
        (self.scale.unwrap_or_default(), self.normalize)
    }

    /// Returns true if inputs are scaled.
    pub(crate) fn scales(&self) -> bool {
        self.normalize || self.scale.is_some()
    }
}

impl From<ClashArg> for BranchClash {
    fn from(argument: ClashArg) -> Self {
        match argument {
            ClashArg::Heavier => Self::Heavier,
            ClashArg::First => Self::First,
            ClashArg::Union => Self::Union,
            ClashArg::Keep => Self::Keep,
            ClashArg::Drop => Self::Drop,
            ClashArg::Error => Self::Error,
        }
    }
}

fn parse_ratio(text: &str) -> Result<Weight, String> {
    Weight::parse(text).ok_or_else(|| "expected a ratio such as 4 or 1/3".to_string())
}
