//! Everything about a file but its entries.

use super::options::ReadOptions;
use super::part::PartSize;
use crate::error::Result;
use crate::iprof::document::{Extras, InstanceofSpelling, TopMember};
use crate::iprof::findings::{Findings, Verdict, refusal};
use crate::iprof::sections::SectionKind;
use crate::iprof::tables::Tables;
use crate::iprof::version::Version;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything about a file but its entries.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// The version in the file, or the one assumed.
    pub(crate) version: Option<Version>,
    pub(crate) version_text: Option<String>,
    pub(crate) tables: Arc<Tables>,
    pub(crate) extras: Extras,
    pub(crate) layout: Vec<TopMember>,
    pub(crate) spelling: InstanceofSpelling,
    pub(crate) findings: Findings,
    /// Tables, sections and other members, by name.
    pub(crate) parts: BTreeMap<String, PartSize>,
    pub(crate) text_bytes: u64,
    /// No sound document can be made of this, with the options given.
    pub(crate) unreadable: bool,
    /// The names of 2022 were used.
    pub(crate) legacy: bool,
    /// Where the text ends as far as a writer would write what was read in the same way; none when
    /// it would not, to the byte.
    pub(super) as_written: Option<u64>,
}

impl Reading {
    /// Entries that were handed on, of all sections.
    pub(crate) fn valid_entries(&self) -> u64 {
        self.section_sizes().map(|part| part.valid).sum()
    }

    /// Entries of all sections, sound or not.
    pub(super) fn entries(&self) -> u64 {
        self.section_sizes().map(|part| part.entries).sum()
    }

    fn section_sizes(&self) -> impl Iterator<Item = &PartSize> {
        SectionKind::ALL.iter().filter_map(|kind| self.parts.get(kind.name()))
    }

    /// Whether a writer would write the text that was read.
    pub(crate) fn is_as_written(&self) -> bool {
        // What is left is the last brace.
        self.as_written.is_some_and(|end| end + 1 == self.text_bytes)
    }

    /// What the file is good for.
    pub(crate) fn verdict(&self) -> Verdict {
        if self.unreadable {
            Verdict::Unusable
        } else if self.valid_entries() == 0 {
            Verdict::TablesOnly
        } else if self.findings.has_errors() {
            Verdict::PartlyUsable
        } else {
            Verdict::Usable
        }
    }

    /// Refuses the file for its findings, unless they are accepted.
    ///
    /// # Errors
    ///
    /// The first finding that is an error.
    pub(crate) fn accepted(self, options: &ReadOptions) -> Result<Self> {
        let refused = self.findings.first_error();
        if self.unreadable || (refused.is_some() && !options.accept_errors) {
            return Err(refusal(refused, self.version_text.as_deref()));
        }
        Ok(self)
    }
}
