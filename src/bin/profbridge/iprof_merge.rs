//! Options for merging iprof files.

use clap::Args;
use profbridge::iprof::{BranchClash, Weight};

/// Options for merging iprof files.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Options for iprof inputs")]
pub(crate) struct IprofMergeArgs {
    /// How to merge branch lists that contradict each other [default: heavier]
    #[arg(long, value_enum, value_name = "POLICY")]
    pub(crate) on_branch_clash: Option<BranchClash>,
    /// Scale every input to equal totals per section first, so that all runs have the same weight
    #[arg(long)]
    normalize: bool,
    /// Multiply all counts by a ratio, such as 1/3; no count becomes 0
    #[arg(long, value_name = "RATIO", value_parser = parse_ratio)]
    scale: Option<Weight>,
}

impl IprofMergeArgs {
    /// Returns the factor for every count, and whether inputs are first scaled to equal totals.
    pub(crate) fn scaling(&self) -> (Weight, bool) {
        (self.scale.unwrap_or_default(), self.normalize)
    }

    /// Returns true if inputs are scaled.
    pub(crate) fn scales(&self) -> bool {
        self.normalize || self.scale.is_some()
    }
}

fn parse_ratio(text: &str) -> Result<Weight, String> {
    Weight::parse(text).ok_or_else(|| "expected a ratio such as 4 or 1/3".to_string())
}
