//! Records with other names for their functions.

use super::fold::{RecordFault, merge_record};
use crate::error::Result;
use crate::instr::Remapping;
use crate::memory::{self, HOLD_RECORDS};
use crate::sampleprof::names::{FunctionName, NameId, Names};
use crate::sampleprof::record::{FunctionRecord, LineLocation, add_saturating, add_target};

/// The record under its new names. As in llvm-profdata its context, checksums,
/// attributes and virtual tables are lost; hashes keep their names. Only the
/// bits of `mask` stay of discriminators in the body.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub(crate) fn remap(
    record: &FunctionRecord,
    names: &mut Names,
    remapping: &Remapping,
    mask: u32,
    fault: &mut Option<RecordFault>,
) -> Result<FunctionRecord> {
    let mut remapped = FunctionRecord::new(new_name(record.name, names, remapping));
    (remapped.total, remapped.head) = (record.total, record.head);
    for entry in &record.body {
        let discriminator = entry.location.discriminator & mask;
        memory::reserve(&mut remapped.body, 1, HOLD_RECORDS)?;
        let new = remapped.body_at(LineLocation { discriminator, ..entry.location });
        let mut overflowed = add_saturating(&mut new.samples, entry.samples);
        for target in &entry.targets {
            let callee = new_name(target.callee, names, remapping);
            memory::reserve(new.targets.list_mut(), 1, HOLD_RECORDS)?;
            overflowed |= add_target(new.targets.list_mut(), callee, target.samples);
        }
        if overflowed {
            fault.get_or_insert(RecordFault::CounterOverflow);
        }
    }
    for site in &record.call_sites {
        let callee = remap(&site.callee, names, remapping, mask, fault)?;
        memory::reserve(&mut remapped.call_sites, 1, HOLD_RECORDS)?;
        let at = remapped.call_site_at(site.location, callee.name);
        if let Some(found) = merge_record(&mut remapped.call_sites[at].callee, callee, 1)? {
            fault.get_or_insert(found);
        }
    }
    Ok(remapped)
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
