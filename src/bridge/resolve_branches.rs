//! Adding up, settling and ordering a document that was just made.

use crate::error::Result;
use crate::iprof::{BranchClash, Document, MergeOptions, Merger, SectionWeights, Weight, canonical_with};
use crate::model::{LossKind, Losses};

/// The canonical form of a document whose entries may repeat contexts.
///
/// # Errors
///
/// A clash of branch lists, if clashes are errors.
pub(super) fn resolve_branches(
    document: &Document,
    branch_clash: BranchClash,
    losses: &mut Losses,
) -> Result<Document> {
    let mut merger = Merger::new(MergeOptions::resolving(branch_clash));
    merger.add(document, &SectionWeights::uniform(Weight::ONE))?;
    let (resolved, report) = merger.finish()?;
    losses.add(LossKind::SaturatedCounts, report.saturated.iter().map(|(_, count)| count).sum());
    if branch_clash != BranchClash::Keep {
        losses.add(LossKind::BranchClashes, report.clashed_lists);
    }
    Ok(canonical_with(&resolved, branch_clash))
}
