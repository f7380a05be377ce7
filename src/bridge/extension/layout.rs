//! The content of the member.

use crate::model::Profile;
use std::collections::BTreeMap;

/// The version of this layout; another number means that something else is meant.
pub(super) const VERSION: u32 = 1;

/// Section of the file → why its numbers are not quite what the format says.
pub type Approximations = BTreeMap<String, String>;

/// The content of the member.
#[derive(Debug, Clone, Default)]
pub struct Extension {
    /// Standard sections whose numbers are approximate, and why.
    pub approximate: Approximations,
    /// The profile, unless it was left out.
    pub profile: Option<Profile>,
}

impl Extension {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.approximate.is_empty() && self.profile.is_none()
    }
}
