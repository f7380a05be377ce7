//! Contexts as trees of inlined callees, and inlined callees as functions.

use super::merger::{Merger, Records};
use crate::error::Result;
use crate::memory::{self, HOLD_RECORDS};
use crate::sampleprof::merge::merge_record;
use crate::sampleprof::names::NameId;
use crate::sampleprof::record::{BodyEntry, FunctionRecord, LineLocation, add_saturating, add_target, attributes};
use std::collections::BTreeMap;

/// How inlined callees are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// Contexts become inlined callees of their callers.
    Nest {
        /// Add them to the functions' own records as well.
        merged_base: bool,
    },
    /// Inlined callees and contexts become functions without context.
    Flat,
}

/// A frame of the tree of contexts.
#[derive(Default)]
struct Node {
    /// The record whose context ends here.
    record: Option<usize>,
    location: LineLocation,
    /// Callees by key.
    children: BTreeMap<u64, Node>,
}

impl Merger {
    /// Changes the layout. Only profiles in contexts can be nested; others stay.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn convert(&mut self, layout: Layout) -> Result<()> {
        match layout {
            Layout::Flat => self.flatten()?,
            Layout::Nest { merged_base } if self.kind().context_sensitive => {
                self.nest(merged_base || self.rules.always_merges_base_profiles())?;
                if self.rules.nesting_is_preinlining() {
                    self.mark_preinlined();
                }
            }
            Layout::Nest { .. } => return Ok(()),
        }
        self.leave_contexts();
        Ok(())
    }

    fn nest(&mut self, merged_base: bool) -> Result<()> {
        let mut root = Node::default();
        for at in self.records.order()? {
            let frames = self.records.get(at).and_then(|record| record.context.clone()).unwrap_or_default();
            let (mut node, mut location) = (&mut root, LineLocation::default());
            for frame in &frames {
                let key = self.frame_key(frame.function, location);
                node = node.children.entry(key).or_default();
                node.location = location;
                location = frame.location;
            }
            // A record without context, which LLVM does not mean to meet here,
            // becomes the caller of all outermost frames.
            node.record = Some(at);
        }
        self.nest_children(root, merged_base)
    }

    /// Turns the children of a node into inlined callees of its record.
    fn nest_children(&mut self, node: Node, merged_base: bool) -> Result<()> {
        for child in node.children.into_values() {
            let (location, Some(at)) = (child.location, child.record) else {
                self.nest_children(child, merged_base)?;
                continue;
            };
            self.nest_children(child, merged_base)?;
            let old_key = self.records.key(at);
            let Some(mut callee) = self.records.get(at).cloned() else { continue };
            callee.context = None;
            let new_key = match node.record {
                None => {
                    let key = self.key(&callee);
                    self.merge_record(callee)?;
                    Some(key)
                }
                Some(parent) => {
                    self.adopt(parent, location, &callee, merged_base);
                    if merged_base {
                        let key = self.key(&callee);
                        self.merge_record(callee)?;
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
        Ok(())
    }

    fn adopt(&mut self, parent: usize, location: LineLocation, callee: &FunctionRecord, merged_base: bool) {
        let minds_duplicates = self.rules.minds_duplicates();
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

    fn flatten(&mut self) -> Result<()> {
        let has_contexts = self.kind().context_sensitive;
        let old = std::mem::take(&mut self.records).into_ordered()?;
        let mut flat = Records::default();
        for record in old {
            if has_contexts {
                let base = FunctionRecord::new(record.name);
                let key = self.key(&base);
                let at = match flat.find(key) {
                    Some(at) => at,
                    None => flat.insert(key, base)?,
                };
                if let Some(into) = flat.get_mut(at) {
                    merge_record(into, record, 1)?;
                }
            } else {
                self.flatten_record(record, &mut flat)?;
            }
        }
        self.records = flat;
        Ok(())
    }

    /// Adds a record and its inlined callees to functions of their own.
    fn flatten_record(&mut self, record: FunctionRecord, flat: &mut Records) -> Result<()> {
        let key = self.key(&record);
        let FunctionRecord { name, checksum, attributes, head, body, mut call_sites, vtables, .. } = record;
        let names = &self.names;
        call_sites
            .sort_by(|a, b| a.location.cmp(&b.location).then_with(|| names.compare(a.callee.name, b.callee.name)));
        let mut total = record.total;
        let at = match flat.find(key) {
            Some(at) => {
                if let Some(into) = flat.get_mut(at) {
                    body.into_iter().try_for_each(|entry| add_entry(into, entry))?;
                }
                at
            }
            None => {
                let fresh = FunctionRecord::new(name);
                flat.insert(key, FunctionRecord { checksum, attributes, head, body, vtables, ..fresh })?
            }
        };
        for site in call_sites {
            let estimate = site.callee.entry_estimate(false);
            if let Some(into) = flat.get_mut(at) {
                memory::reserve(&mut into.body, 1, HOLD_RECORDS)?;
                let entry = into.body_at(site.location);
                add_saturating(&mut entry.samples, estimate);
                memory::reserve(entry.targets.list_mut(), 1, HOLD_RECORDS)?;
                add_target(entry.targets.list_mut(), site.callee.name, estimate);
            }
            total = total.saturating_sub(site.callee.total).wrapping_add(estimate);
            self.flatten_record(site.callee, flat)?;
        }
        if let Some(into) = flat.get_mut(at) {
            add_saturating(&mut into.total, total);
            into.head = into.entry_estimate(false);
        }
        Ok(())
    }
}

fn add_entry(into: &mut FunctionRecord, entry: BodyEntry) -> Result<()> {
    memory::reserve(&mut into.body, 1, HOLD_RECORDS)?;
    let known = into.body_at(entry.location);
    add_saturating(&mut known.samples, entry.samples);
    for target in &entry.targets {
        memory::reserve(known.targets.list_mut(), 1, HOLD_RECORDS)?;
        add_target(known.targets.list_mut(), target.callee, target.samples);
    }
    Ok(())
}

/// Takes a callee out of the call targets of a place, and its samples out of
/// those of the place; says how many.
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
