//! Whether there is anything to do, found out while functions pass by.

use crate::instr::cross_release::hashes::{FIRST_THIRD_VERSION, is_of_clang, is_small};
use crate::instr::cross_release::names::names_may_change;
use crate::instr::cross_release::options::CrossReleaseOptions;
use crate::model::ProfileKind;

/// What names and hashes tell at a glance, before there is a profile.
#[derive(Debug)]
pub(crate) struct RewriteCheck {
    is_ir: bool,
    /// Names of the other era may be there, if they look like it.
    names_may_change: bool,
    has_colon: bool,
    has_semicolon: bool,
    /// Some hash has to be looked at.
    has_large_hash: bool,
}

impl RewriteCheck {
    /// For a profile of that kind.
    pub(crate) fn new(kind: ProfileKind, options: &CrossReleaseOptions) -> Self {
        let origins = options.origins;
        let first_algorithms = origins.first_algorithm || origins.second_algorithm;
        Self {
            is_ir: kind.is_ir(),
            names_may_change: names_may_change(options),
            has_colon: false,
            has_semicolon: false,
            has_large_hash: first_algorithms && options.indexed_version >= FIRST_THIRD_VERSION,
        }
    }

    /// Looks at a function and its FuncHashes.
    pub(crate) fn look_at(&mut self, name: &[u8], mut hashes: impl Iterator<Item = u64>) {
        if !self.is_ir {
            self.has_large_hash |= hashes.any(|hash| !is_small(hash) && is_of_clang(name, hash));
        } else if self.names_may_change && !(self.has_colon && self.has_semicolon) {
            self.has_colon |= name.contains(&b':');
            self.has_semicolon |= name.contains(&b';');
        }
    }

    /// Whether [`cross`](crate::instr::cross_release::cross) leaves all of them as they are, for the release and version
    /// asked for, and finds nothing. When it is not it may still.
    pub(crate) fn leaves_all(&self) -> bool {
        // A name of the new form is told by its `;`, one of the old form by its `:`.
        let names_stay = !self.names_may_change || !self.has_semicolon || !self.has_colon;
        if self.is_ir { names_stay } else { !self.has_large_hash }
    }
}
