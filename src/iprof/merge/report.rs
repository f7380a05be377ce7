//! What a merge has to say beside its result.

use super::BranchClash;
use crate::digits::number_of;
use crate::error::Warning;
use crate::iprof::sections::SectionKind;

/// What merging could not add up.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MergeReport {
    /// Sites whose branch lists clashed.
    pub clashed_sites: u64,
    /// Lists that clashed with a heavier (or earlier) one of their site.
    pub clashed_lists: u64,
    /// A site that clashed, for people.
    pub clash_example: Option<String>,
    /// How many counts were cut at [`MAX_COUNT`](crate::iprof::MAX_COUNT), by section.
    pub saturated: Vec<(SectionKind, u64)>,
    /// Members that are not part of the format and could not be kept.
    pub dropped_members: Vec<String>,
    /// Additional members of entries that could not be kept.
    pub dropped_entry_members: u64,
    /// There are several inputs with methods, and no method is one of two of them.
    pub shares_no_method: bool,
}

impl MergeReport {
    /// All of it as warnings.
    pub fn warnings(&self, policy: BranchClash) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if self.clashed_sites > 0 {
            let done = match policy {
                BranchClash::Heavier => "the list with more events was kept",
                BranchClash::First => "the first list was kept",
                BranchClash::Union | BranchClash::Keep => "all rows were kept",
                BranchClash::Drop => "the site was dropped",
                BranchClash::Error => "the merge fails",
            };
            let example = self.clash_example.as_deref().map(|site| format!(", first {site}")).unwrap_or_default();
            warnings.push(Warning::new(format!(
                "contradictory branch lists: {} at {}; {done}{example}",
                number_of(self.clashed_lists, "list"),
                number_of(self.clashed_sites, "site")
            )));
        }
        for (kind, count) in &self.saturated {
            warnings.push(Warning::new(format!("{} of {} cut at 2^63-1", number_of(*count, "count"), kind.name())));
        }
        for name in &self.dropped_members {
            warnings.push(Warning::new(format!("the member \"{name}\" is not part of the format and was dropped")));
        }
        if self.dropped_entry_members > 0 {
            let entries = match self.dropped_entry_members {
                1 => "an entry".to_string(),
                count => format!("{count} entries"),
            };
            warnings.push(Warning::new(format!("additional members of {entries} were dropped")));
        }
        warnings
    }
}
