//! Whether inputs are of one program, as far as they say which one wrote them.

use crate::error::{Error, ErrorKind, Result};
use crate::hint::Hint;
use crate::input::{Access, Family, Format, Input};
use crate::instr::open::{ReadOptions, open_reader};
use crate::memprof::raw::RawMemProf;
use crate::model::description::hex;
use crate::stacks::pprof;
use std::collections::BTreeSet;

/// The identities of the images that ran, in hexadecimal.
type BinaryIds = BTreeSet<String>;

/// Refuses inputs of different programs: each has to name the images that the first one names, or
/// some of them, or these and more (libraries that only some runs load). Different programs are
/// normal where the tests of a whole workspace ran, so that this is for callers to ask for.
///
/// # Errors
///
/// Kind conflict for two inputs of different programs, unable to compare for one that does not say
/// which program wrote it; those of the readers.
pub fn require_same_program(inputs: &[Input], options: &ReadOptions) -> Result<()> {
    let mut first: Option<(&Input, BinaryIds)> = None;
    for input in inputs.iter().filter(|input| input.format().is_ok_and(|format| format != Format::Empty)) {
        let ids = binary_ids(input, options).map_err(|error| error.in_file(&input.path))?;
        if ids.is_empty() {
            let detail = "the profile has no binary id".to_string();
            return Err(Error::new(ErrorKind::UnableToCompare { detail })
                .in_file(&input.path)
                .with_hint(Hint::LinkWithBuildId));
        }
        match &first {
            None => first = Some((input, ids)),
            Some((_, known)) if known.is_subset(&ids) || ids.is_subset(known) => {}
            Some((other, known)) => {
                let detail = format!(
                    "not from the same program as {}: the binary ids are {} and {}",
                    other.path.display(),
                    words(&ids),
                    words(known)
                );
                return Err(Error::kind_conflict(detail).in_file(&input.path));
            }
        }
    }
    Ok(())
}

fn binary_ids(input: &Input, options: &ReadOptions) -> Result<BinaryIds> {
    let data = input.bytes(Access::Read, &options.limits)?;
    Ok(match input.format()? {
        Format::RawMemProf => {
            let raw = RawMemProf::read(&data, &options.limits)?;
            raw.build_ids().into_iter().map(hex).collect()
        }
        Format::Pprof => {
            let (profile, _) = pprof::read(&data, &options.limits)?;
            let id = |mapping: &pprof::Mapping| profile.text(mapping.build_id).into_owned();
            profile.mappings.iter().map(id).filter(|id| !id.is_empty()).collect()
        }
        format if format.family() == Some(Family::Instr) => {
            let mut reader = open_reader(&data, options)?;
            reader.binary_ids()?.iter().map(|id| hex(id)).collect()
        }
        _ => BinaryIds::new(),
    })
}

fn words(ids: &BinaryIds) -> String {
    let shown: Vec<&str> = ids.iter().take(3).map(String::as_str).collect();
    let more = if ids.len() > 3 { format!(" and {} more", ids.len() - 3) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
