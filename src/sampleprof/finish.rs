//! Finishes a merge: merges or drops cold contexts, nests or flattens contexts, and filters functions, in this order.

use super::merge_record::merge_record;
use super::merger::{Merger, Records};
use super::options::{ColdContexts, Layout};
use super::profile::SampleProfile;
use super::record::{BodyEntry, Frame, FunctionRecord, LineLocation, NameId, add_saturating, add_target, attributes};
use crate::error::{Error, Result, WithWarnings};
use std::collections::BTreeMap;

/// A frame of the tree of contexts.
#[derive(Default)]
struct Node {
    /// The record whose context ends here.
    record: Option<usize>,
    location: LineLocation,
    /// Callees by key.
    children: BTreeMap<u64, Node>,
}

/// A merged profile.
#[derive(Debug)]
#[doc(hidden)]
#[non_exhaustive]
pub struct Merged {
    /// The profile.
    pub profile: SampleProfile,
    /// The number of functions before the filter, and the number that it dropped; `None` without a filter.
    pub filtered: Option<(usize, usize)>,
}

impl Merger {
    /// Applies the options to the merged records, and returns them as a profile. Its functions have the order of LLVM's
    /// container, which is that of the function metadata.
    ///
    /// # Errors
    ///
    /// Usage, if a cold record without context must be merged, or the number of frames is 0. LLVM crashes or reads invalid
    /// memory.
    pub fn finish(mut self) -> Result<WithWarnings<SampleProfile>> {
        let warnings = std::mem::take(&mut self.warnings);
        Ok(WithWarnings::new(self.into_merged()?.profile, warnings))
    }

    /// Like [`finish`](Self::finish), with the counts of the filter instead of the warnings.
    ///
    /// # Errors
    ///
    /// The errors of [`finish`](Self::finish).
    #[doc(hidden)]
    pub fn into_merged(mut self) -> Result<Merged> {
        self.treat_cold_contexts(self.options.cold)?;
        if let Some(layout) = self.options.layout {
            self.convert(layout);
        }
        let filtered = self.filter();
        self.symbols.append(&mut self.options.symbols);
        Ok(Merged { profile: self.into_profile(), filtered })
    }

    fn filter(&mut self) -> Option<(usize, usize)> {
        let (filter, left_out) = (std::mem::take(&mut self.options.filter), std::mem::take(&mut self.left_out));
        if filter.is_none() && left_out.is_empty() {
            return None;
        }
        let (all, hashed) = (self.len(), self.kind().hashed);
        self.retain(|title| !left_out.contains(title) && filter.keeps(title, hashed));
        Some((all, all - self.len()))
    }

    /// Changes the layout. Only profiles with calling contexts can be nested; others stay unchanged.
    fn convert(&mut self, layout: Layout) {
        match layout {
            Layout::Flat => self.flatten(),
            Layout::Nest { merged_base } if self.kind().context_sensitive => {
                self.nest(merged_base || self.rules().always_merges_base_profiles());
                if self.rules().nesting_is_preinlining() {
                    self.mark_preinlined();
                }
            }
            Layout::Nest { .. } => return,
        }
        self.leave_contexts();
    }

    fn nest(&mut self, merged_base: bool) {
        let mut root = Node::default();
        for at in self.records.order() {
            let frames = self.records.get(at).and_then(|record| record.context.clone()).unwrap_or_default();
            let (mut node, mut location) = (&mut root, LineLocation::default());
            for frame in &frames {
                let key = self.frame_key(frame.function, location);
                node = node.children.entry(key).or_default();
                node.location = location;
                location = frame.location;
            }
            // As in LLVM, a record without context becomes the caller of all outermost frames.
            node.record = Some(at);
        }
        self.nest_children(root, merged_base);
    }

    /// Turns the children of a node into inlined callees of its record.
    fn nest_children(&mut self, node: Node, merged_base: bool) {
        for child in node.children.into_values() {
            let (location, Some(at)) = (child.location, child.record) else {
                self.nest_children(child, merged_base);
                continue;
            };
            self.nest_children(child, merged_base);
            let old_key = self.records.key(at);
            let Some(mut callee) = self.records.get(at).cloned() else { continue };
            callee.context = None;
            let new_key = match node.record {
                None => {
                    let key = self.key(&callee);
                    self.merge_record(callee);
                    Some(key)
                }
                Some(parent) => {
                    self.adopt(parent, location, &callee, merged_base);
                    if merged_base {
                        let key = self.key(&callee);
                        self.merge_record(callee);
                        Some(key)
                    } else {
                        None
                    }
                }
            };
            if new_key != Some(old_key) {
                self.records.remove(at);
            }
        }
    }

    fn adopt(&mut self, parent: usize, location: LineLocation, callee: &FunctionRecord, merged_base: bool) {
        let minds_duplicates = self.rules().minds_duplicates();
        let Some(parent) = self.records.get_mut(parent) else { return };
        let sites = parent.call_sites.len();
        let at = parent.call_site_at(location, callee.name);
        if parent.call_sites.len() > sites {
            parent.call_sites[at].callee = callee.clone();
        }
        add_saturating(&mut parent.total, callee.total);
        if minds_duplicates {
            let removed = remove_target(&mut parent.body, location, callee.name);
            parent.total = parent.total.saturating_sub(removed);
            if merged_base {
                parent.call_sites[at].callee.attributes |= attributes::DUPLICATED_INTO_BASE;
            }
        }
    }

    fn flatten(&mut self) {
        let has_contexts = self.kind().context_sensitive;
        let old = std::mem::take(&mut self.records).into_ordered();
        let mut flat = Records::default();
        for record in old {
            if has_contexts {
                let base = FunctionRecord::new(record.name);
                let key = self.key(&base);
                let at = match flat.find(key) {
                    Some(at) => at,
                    None => flat.insert(key, base),
                };
                if let Some(into) = flat.get_mut(at) {
                    merge_record(into, record, 1);
                }
            } else {
                self.flatten_record(record, &mut flat);
            }
        }
        self.records = flat;
    }

    /// Adds a record and its inlined callees to functions of their own.
    fn flatten_record(&mut self, record: FunctionRecord, flat: &mut Records) {
        let key = self.key(&record);
        let FunctionRecord { name, checksum, attributes, head, body, mut call_sites, vtables, .. } = record;
        let names = &self.names;
        call_sites
            .sort_by(|a, b| a.location.cmp(&b.location).then_with(|| names.compare(a.callee.name, b.callee.name)));
        let mut total = record.total;
        let at = match flat.find(key) {
            Some(at) => {
                if let Some(into) = flat.get_mut(at) {
                    body.into_iter().for_each(|entry| add_entry(into, entry));
                }
                at
            }
            None => {
                let fresh = FunctionRecord::new(name);
                flat.insert(key, FunctionRecord { checksum, attributes, head, body, vtables, ..fresh })
            }
        };
        for site in call_sites {
            let estimate = site.callee.entry_estimate(false);
            if let Some(into) = flat.get_mut(at) {
                let entry = into.body_at(site.location);
                add_saturating(&mut entry.samples, estimate);
                add_target(entry.targets.list_mut(), site.callee.name, estimate);
            }
            total = total.saturating_sub(site.callee.total).wrapping_add(estimate);
            self.flatten_record(site.callee, flat);
        }
        if let Some(into) = flat.get_mut(at) {
            add_saturating(&mut into.total, total);
            into.head = into.entry_estimate(false);
        }
    }
}

fn add_entry(into: &mut FunctionRecord, entry: BodyEntry) {
    let known = into.body_at(entry.location);
    add_saturating(&mut known.samples, entry.samples);
    for target in &entry.targets {
        add_target(known.targets.list_mut(), target.callee, target.samples);
    }
}

/// Removes a callee from the call targets of a location, and its samples from those of the location. Returns the number
/// of samples.
fn remove_target(body: &mut Vec<BodyEntry>, location: LineLocation, callee: NameId) -> u64 {
    let Ok(at) = body.binary_search_by_key(&location, |entry| entry.location) else { return 0 };
    let entry = &mut body[at];
    let Ok(target) = entry.targets.binary_search_by_key(&callee, |target| target.callee) else {
        if entry.samples == 0 {
            body.remove(at);
        }
        return 0;
    };
    let removed = entry.targets.list_mut().remove(target).samples.min(entry.samples);
    entry.samples -= removed;
    if entry.samples == 0 {
        body.remove(at);
    }
    removed
}

impl Merger {
    /// Merges or drops the records below the cold threshold of the profile. A record without context is dropped like
    /// others. Does nothing without a threshold.
    fn treat_cold_contexts(&mut self, options: ColdContexts) -> Result<()> {
        if !(options.merge || options.trim) {
            return Ok(());
        }
        let threshold = self.summary().count_of(options.threshold)?;
        if threshold == 0 {
            return Ok(());
        }
        let is_cold = |record: &FunctionRecord| record.total < threshold;
        let mut cold = self.records.order();
        cold.retain(|at| self.records.get(*at).is_some_and(is_cold));
        let has_context = |at: &usize| self.records.get(*at).is_some_and(|record| record.context.is_some());
        if options.merge && !cold.iter().all(has_context) {
            let text = "cold contexts cannot be merged: the profile has functions without context";
            return Err(Error::usage(text).with_hint("omit the merging of cold contexts"));
        }
        if options.merge && options.frames == 0 && !cold.is_empty() {
            return Err(Error::usage("cold contexts cannot be merged into contexts without frames"));
        }
        let mut folded = Records::default();
        for at in cold {
            let Some(record) = self.records.remove(at) else { continue };
            if options.merge {
                self.fold(record, options.frames, &mut folded);
            }
        }
        for record in folded.into_ordered() {
            let key = self.key(&record);
            if !(options.trim && is_cold(&record) && self.records.find(key).is_none()) {
                self.merge_record(record);
            }
        }
        Ok(())
    }

    /// Removes the functions without callers whose total is below a threshold.
    #[cfg(feature = "correlate")]
    pub(crate) fn remove_cold_functions(&mut self, threshold: u64) {
        for at in self.records.order() {
            let has_no_callers = |frames: &[Frame]| frames.len() == 1;
            let is_cold = |record: &FunctionRecord| {
                record.total < threshold && record.context.as_deref().is_some_and(has_no_callers)
            };
            if self.records.get(at).is_some_and(is_cold) {
                self.records.remove(at);
            }
        }
    }

    /// Merges a record into that of the last frames of its context.
    fn fold(&mut self, record: FunctionRecord, frames: usize, folded: &mut Records) {
        let context = record.context.as_deref().unwrap_or_default();
        let last: &[Frame] = &context[context.len().saturating_sub(frames)..];
        let shorter = FunctionRecord::in_context(last.into()).unwrap_or_else(|| FunctionRecord::new(record.name));
        let key = self.key(&shorter);
        let at = match folded.find(key) {
            Some(at) => at,
            None => folded.insert(key, shorter),
        };
        if let Some(into) = folded.get_mut(at) {
            merge_record(into, record, 1);
        }
    }
}
