//! What is known of one function: its samples, and those of what was inlined.

use super::names::NameId;
use super::targets::{CallTarget, CallTargets};
use std::fmt;

/// Deepest inlining that is read. Far above what compilers do; it bounds the
/// recursion of all that walks inlined callees.
pub const MAX_INLINE_DEPTH: usize = 1000;

/// A place in a function: lines from its first one, and the discriminator that
/// tells blocks of one line apart. With pseudo-probes the number of the probe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LineLocation {
    /// Lines after the first line of the function.
    pub line: u32,
    /// 0 when nothing needs to be told apart.
    pub discriminator: u32,
}

impl LineLocation {
    /// A place.
    pub fn new(line: u32, discriminator: u32) -> Self {
        Self { line, discriminator }
    }
}

impl fmt::Display for LineLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.line)?;
        if self.discriminator != 0 {
            write!(f, ".{}", self.discriminator)?;
        }
        Ok(())
    }
}

/// A function in a calling context, and where it calls the next one. The last
/// frame is the function itself; its place means nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Frame {
    /// The function.
    pub function: NameId,
    /// Where it calls the next frame.
    pub location: LineLocation,
}

/// Samples of one place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BodyEntry {
    /// The place.
    pub location: LineLocation,
    /// Samples that fell on it.
    pub samples: u64,
    /// Calls from there, by [`NameId`].
    pub targets: CallTargets,
}

/// A callee that was inlined where the samples were taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSite {
    /// Where it was called.
    pub location: LineLocation,
    /// Its samples; there is no context, and no head but what a merge left.
    pub callee: FunctionRecord,
}

/// Tables of virtual functions that were seen at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VtableEntry {
    /// The place.
    pub location: LineLocation,
    /// The tables, by [`NameId`].
    pub tables: Vec<CallTarget>,
}

/// Bits of [`FunctionRecord::attributes`].
pub mod attributes {
    /// The context was inlined in the binary that was sampled.
    pub const WAS_INLINED: u32 = 1;
    /// The pre-inliner wants the context inlined.
    pub const SHOULD_BE_INLINED: u32 = 2;
    /// The context was merged into the function's own record as well.
    pub const DUPLICATED_INTO_BASE: u32 = 4;
}

/// The samples of one function, or of one function in one calling context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionRecord {
    /// Its name, in the names of the profile.
    pub name: NameId,
    /// Callers and the function itself, outermost first; records of functions
    /// in any context have none.
    pub context: Option<Box<[Frame]>>,
    /// Samples in the body, inlined callees included. Stored and added up, not
    /// computed from the rest.
    pub total: u64,
    /// Samples of the entry.
    pub head: u64,
    /// Checksum of the control flow graph of a profile with probes; 0 is none.
    pub checksum: u64,
    /// See [`attributes`].
    pub attributes: u32,
    /// Samples by place, rising.
    pub body: Vec<BodyEntry>,
    /// Inlined callees by place and [`NameId`], rising.
    pub call_sites: Vec<CallSite>,
    /// Virtual tables by place, rising.
    pub vtables: Vec<VtableEntry>,
}

impl FunctionRecord {
    /// A record without samples.
    pub fn new(name: NameId) -> Self {
        Self {
            name,
            context: None,
            total: 0,
            head: 0,
            checksum: 0,
            attributes: 0,
            body: Vec::new(),
            call_sites: Vec::new(),
            vtables: Vec::new(),
        }
    }

    /// A record without samples of a function in a context that has frames.
    pub fn in_context(frames: Box<[Frame]>) -> Option<Self> {
        let name = frames.last()?.function;
        Some(Self { context: Some(frames), ..Self::new(name) })
    }

    /// The samples of a place, which is added when it is new.
    pub(super) fn body_at(&mut self, location: LineLocation) -> &mut BodyEntry {
        let at = match self.body.last() {
            Some(last) if last.location < location => self.body.len(),
            _ => self.body.partition_point(|entry| entry.location < location),
        };
        if self.body.get(at).is_none_or(|entry| entry.location != location) {
            self.body.insert(at, BodyEntry { location, samples: 0, targets: CallTargets::default() });
        }
        &mut self.body[at]
    }

    /// Index of an inlined callee, which is added when it is new.
    pub(super) fn call_site_at(&mut self, location: LineLocation, name: NameId) -> usize {
        let key = (location, name);
        let at = match self.call_sites.last() {
            Some(last) if (last.location, last.callee.name) < key => self.call_sites.len(),
            _ => self.call_sites.partition_point(|site| (site.location, site.callee.name) < key),
        };
        if self.call_sites.get(at).is_none_or(|site| (site.location, site.callee.name) != key) {
            self.call_sites.insert(at, CallSite { location, callee: Self::new(name) });
        }
        at
    }

    /// The virtual tables of a place, which is added when it is new.
    pub(super) fn vtables_at(&mut self, location: LineLocation) -> &mut Vec<CallTarget> {
        let at = self.vtables.partition_point(|entry| entry.location < location);
        if self.vtables.get(at).is_none_or(|entry| entry.location != location) {
            self.vtables.insert(at, VtableEntry { location, tables: Vec::new() });
        }
        &mut self.vtables[at].tables
    }

    /// Samples of the entry, from the head in a profile with contexts, else
    /// from what comes first in the function.
    pub fn entry_estimate(&self, has_contexts: bool) -> u64 {
        if has_contexts && self.head != 0 {
            return self.head;
        }
        let first_site = self.call_sites.first().map(|site| site.location);
        let count = match self.body.first() {
            Some(first) if first_site.is_none_or(|site| first.location < site) => first.samples,
            _ => self
                .call_sites
                .iter()
                .take_while(|site| Some(site.location) == first_site)
                .fold(0u64, |sum, site| sum.wrapping_add(site.callee.entry_estimate(has_contexts))),
        };
        if count == 0 { u64::from(self.total > 0) } else { count }
    }
}

/// Adds to the samples of a name, which is added when it is new. Says whether
/// the sum was too large and stayed at the largest number.
pub(super) fn add_target(targets: &mut Vec<CallTarget>, callee: NameId, samples: u64) -> bool {
    let at = match targets.last() {
        Some(last) if last.callee < callee => targets.len(),
        _ => targets.partition_point(|target| target.callee < callee),
    };
    match targets.get_mut(at).filter(|target| target.callee == callee) {
        Some(target) => add_saturating(&mut target.samples, samples),
        None => {
            targets.insert(at, CallTarget { callee, samples });
            false
        }
    }
}

/// Adds; says whether the sum was too large and stayed at the largest number.
pub(super) fn add_saturating(sum: &mut u64, more: u64) -> bool {
    let (added, overflowed) = sum.overflowing_add(more);
    *sum = if overflowed { u64::MAX } else { added };
    overflowed
}
