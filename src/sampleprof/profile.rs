//! A sample profile in memory.

use super::names::{FunctionName, NameId, Names};
use super::record::{Frame, FunctionRecord};
use super::summary::Summary;
use std::collections::BTreeSet;

/// What kind of profile it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Kind {
    /// Functions stand in calling contexts.
    pub context_sensitive: bool,
    /// Places are pseudo-probes, and functions have checksums.
    pub probe_based: bool,
    /// A pre-inliner has marked contexts.
    pub preinlined: bool,
    /// Discriminators have bits of flow-sensitive passes.
    pub flow_sensitive: bool,
    /// Names are hashes.
    pub hashed: bool,
    /// Only part of the program was profiled.
    pub partial: bool,
}

/// What a file says of its kind. LLVM keeps these in variables of the process,
/// so what a file does not say is what the one before it said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StatedKind {
    /// See [`Kind::context_sensitive`].
    pub context_sensitive: Option<bool>,
    /// See [`Kind::probe_based`].
    pub probe_based: Option<bool>,
    /// See [`Kind::preinlined`].
    pub preinlined: Option<bool>,
    /// See [`Kind::flow_sensitive`].
    pub flow_sensitive: Option<bool>,
    /// See [`Kind::hashed`].
    pub hashed: bool,
    /// See [`Kind::partial`].
    pub partial: bool,
}

impl Kind {
    /// Takes over what a file says.
    pub fn learn(&mut self, stated: StatedKind) {
        self.context_sensitive = stated.context_sensitive.unwrap_or(self.context_sensitive);
        self.probe_based = stated.probe_based.unwrap_or(self.probe_based);
        self.preinlined = stated.preinlined.unwrap_or(self.preinlined);
        self.flow_sensitive = stated.flow_sensitive.unwrap_or(self.flow_sensitive);
        self.hashed = stated.hashed;
    }

    /// The kind of a file by itself.
    pub fn of(stated: StatedKind) -> Self {
        let mut kind = Self { partial: stated.partial, ..Self::default() };
        kind.learn(stated);
        kind
    }
}

/// A list of symbols: all functions of the program that was sampled.
pub type SymbolList = BTreeSet<Vec<u8>>;

/// A sample profile.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SampleProfile {
    /// Names of all functions that occur.
    pub names: Names,
    /// Records of functions, in the order in which they were read or made.
    pub functions: Vec<FunctionRecord>,
    /// What the file says of its kind.
    pub stated: StatedKind,
    /// The list of symbols; `None` when there is no such list.
    pub symbols: Option<SymbolList>,
    /// The summary that the file holds; text and GCC's files hold none.
    pub summary: Option<Summary>,
}

impl SampleProfile {
    /// The kind of the profile by itself.
    pub fn kind(&self) -> Kind {
        Kind::of(self.stated)
    }

    /// The name of that number.
    pub fn name(&self, id: NameId) -> FunctionName<'_> {
        self.names.get(id)
    }

    /// A function's name, or its context without brackets: `main:2 @ foo`.
    pub fn title(&self, record: &FunctionRecord) -> Vec<u8> {
        let mut text = Vec::new();
        push_title(&mut text, &self.names, record);
        text
    }
}

/// Appends what [`SampleProfile::title`] gives.
pub(super) fn push_title(text: &mut Vec<u8>, names: &Names, record: &FunctionRecord) {
    match &record.context {
        Some(frames) => push_context(text, names, frames),
        None => names.get(record.name).push_to(text),
    }
}

/// Appends frames; the place in the last one is not shown.
fn push_context(text: &mut Vec<u8>, names: &Names, frames: &[Frame]) {
    for (at, frame) in frames.iter().enumerate() {
        names.get(frame.function).push_to(text);
        if at + 1 < frames.len() {
            text.extend_from_slice(format!(":{} @ ", frame.location).as_bytes());
        }
    }
}
