//! Records with other names for their functions.

use super::fold::{RecordFault, merge_record};
use crate::merge::Remapping;
use crate::sampleprof::names::{FunctionName, NameId, Names};
use crate::sampleprof::record::{FunctionRecord, LineLocation, add_saturating, add_target};

/// The record under its new names. As in llvm-profdata its context, checksums,
/// attributes and virtual tables are lost; hashes keep their names. Only the
/// bits of `mask` stay of discriminators in the body.
pub(in crate::sampleprof) fn remap(
    record: &FunctionRecord,
    names: &mut Names,
    remapping: &Remapping,
    mask: u32,
    fault: &mut Option<RecordFault>,
) -> FunctionRecord {
    let mut remapped = FunctionRecord::new(new_name(record.name, names, remapping));
    (remapped.total, remapped.head) = (record.total, record.head);
    for entry in &record.body {
        let targets: Vec<(NameId, u64)> =
            entry.targets.iter().map(|t| (new_name(t.callee, names, remapping), t.samples)).collect();
        let discriminator = entry.location.discriminator & mask;
        let new = remapped.body_at(LineLocation { discriminator, ..entry.location });
        let mut overflowed = add_saturating(&mut new.samples, entry.samples);
        for (callee, samples) in targets {
            overflowed |= add_target(new.targets.list_mut(), callee, samples);
        }
        if overflowed {
            fault.get_or_insert(RecordFault::CounterOverflow);
        }
    }
    for site in &record.call_sites {
        let callee = remap(&site.callee, names, remapping, mask, fault);
        let at = remapped.call_site_at(site.location, callee.name);
        if let Some(found) = merge_record(&mut remapped.call_sites[at].callee, callee, 1) {
            fault.get_or_insert(found);
        }
    }
    remapped
}

fn new_name(id: NameId, names: &mut Names, remapping: &Remapping) -> NameId {
    let FunctionName::Text(old) = names.get(id) else { return id };
    let new = remapping.apply(old);
    if new == old {
        return id;
    }
    let new = new.to_vec();
    names.insert(FunctionName::Text(&new))
}
