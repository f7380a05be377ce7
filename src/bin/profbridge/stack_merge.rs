//! `merge` of sampled stacks.

use crate::merge_document::MergeDocument;
use crate::stacks::StackJob;
use crate::words::{A_PART, inputs_of, number_of};
use profbridge::Result;
use profbridge::input::Family;
use profbridge::pipeline::plan::StackOutput;

/// Merges, writes, and says what became of the inputs.
///
/// # Errors
///
/// Those of the job.
pub(crate) fn run(job: &StackJob<'_>, json: bool, document: &mut MergeDocument) -> Result<()> {
    let written = job.run(document)?;
    document.stacks = Some(written.stacks);
    document.warn(&written.warnings);
    let family = if job.format == StackOutput::Iprof { Family::Iprof } else { Family::Stacks };
    document.wrote(job.output, family.name());
    if !json && !job.quiet && job.output.as_os_str() != "-" {
        let inputs = inputs_of(written.used, job.inputs.len());
        let part = if job.partial.is_some() { A_PART } else { "" };
        eprintln!("{}: {} from {inputs}{part}", job.output.display(), number_of(written.stacks, "stack"));
    }
    Ok(())
}
