//! The options of reading, and its result apart from the entries.

use crate::cancel::Cancel;
use crate::error::Result;
use crate::iprof::document::{Extras, InstanceofSpelling, TopMember, Version};
use crate::iprof::findings::{Findings, Verdict, refusal};
use crate::iprof::sections::SectionKind;
use crate::iprof::tables::Tables;
use crate::limits::Limits;
use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// How a file is read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Bounds on hostile input.
    pub limits: Limits,
    /// The version of a file that has none, or a malformed one. Default: none; such files are rejected.
    pub assume_version: Option<Version>,
    /// Drop members that are not part of the format. Default: `false`, they are kept.
    pub(crate) drop_unknown: bool,
    /// Look for equal contexts within a section, which costs some memory. Default: `false`.
    pub find_duplicates: bool,
    /// Accept files with errors, without the entries that have them. Default: `false`.
    pub accept_errors: bool,
    /// Accept the part before a syntax error. Default: `false`.
    pub salvage: bool,
    /// Read a call count at another position as one at position 0. Default: `false`, it is dropped.
    pub reset_call_count_leaf: bool,
    /// Keep the whole rows of an entry that ends within one. Default: `false`, it is dropped.
    pub keep_whole_rows: bool,
    /// Join two sections of one name. Default: `false`, which rejects the file.
    pub join_sections: bool,
    /// Stop at the first member after something that a writer would spell in another way. Default: `false`.
    pub(crate) only_as_written: bool,
    /// Ends the reading early.
    pub cancel: Cancel,
    /// Threads that parse a large section; `None` asks the machine. The result does not depend on it.
    pub threads: Option<NonZeroUsize>,
}

/// Size of a part of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartSize {
    /// Complete entries, valid or not.
    pub entries: u64,
    /// Entries without errors, or repaired.
    pub valid: u64,
    /// Bytes of text from the member's name to the end of its value.
    pub bytes: u64,
}

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
    /// Whether no valid document can be made of the file with the given options.
    pub(crate) unreadable: bool,
    /// The names of 2022 were used.
    pub(crate) legacy: bool,
    /// A writer would write something in another way, apart from white space.
    pub(crate) respelled: bool,
    /// Keys of contexts that several entries of a section have.
    pub(crate) repeated: HashSet<u128>,
}

impl Reading {
    /// Entries that were handed on, of all sections.
    pub(crate) fn valid_entries(&self) -> u64 {
        self.section_sizes().map(|part| part.valid).sum()
    }

    /// Returns the number of entries of all sections, including invalid entries.
    pub(super) fn entries(&self) -> u64 {
        self.section_sizes().map(|part| part.entries).sum()
    }

    fn section_sizes(&self) -> impl Iterator<Item = &PartSize> {
        SectionKind::EACH.iter().filter_map(|kind| self.parts.get(kind.name()))
    }

    /// Returns the usability of the file.
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
    /// The first finding that is an error; cancelled.
    pub(crate) fn accepted(self, options: &ReadOptions) -> Result<Self> {
        options.cancel.check()?;
        let refused = self.findings.first_error();
        if self.unreadable || (refused.is_some() && !options.accept_errors) {
            return Err(refusal(refused, self.version_text.as_deref()));
        }
        Ok(self)
    }
}
