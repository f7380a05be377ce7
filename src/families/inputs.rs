//! The inputs of a command: profiles and other files in directories, their programs, and their totals.

use crate::ascii::to_hex;
use crate::bytes::Confidence;
use crate::error::{Error, ErrorKind, Result};
use crate::families::stack_files::{StackOptions, read_stacks};
use crate::hint::Hint;
use crate::input::{Access, Family, Format, Identity, Input, InputList, has_profile_extension};
use crate::instr::cancellable_reader::CancellableReader;
use crate::instr::file_merge::MergeOptions;
use crate::instr::memory_profiles;
use crate::instr::open::{ReadOptions, open_reader};
use crate::instr::partial::files as partial;
use crate::iprof;
use crate::iprof::{SectionKind, SectionTotals};
use crate::memprof::raw::RawMemProf;
use crate::memprof::report::total_bytes;
use crate::model::{BinaryId, ProfileReader};
use crate::stacks::pprof;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The inputs of a run, and the skipped files of directories.
#[derive(Debug)]
#[non_exhaustive]
pub struct DirectoryScan {
    /// The given files, and those files of directories that are profiles, are empty, or have a profile extension.
    pub inputs: Vec<Input>,
    /// Files of the folders that are something else, in order.
    pub skipped: Vec<PathBuf>,
}

/// Skips files in directories that are not profiles: logs, programs, other JSON files. Text whose lines end in numbers can
/// be stacks or a log; next to profiles of other families it is a log. Keeps given files and files with a profile
/// extension, which may be damaged profiles.
pub fn skip_foreign_files(list: InputList) -> DirectoryScan {
    let found = list.found().clone();
    let (mut inputs, mut skipped) = (Vec::new(), Vec::new());
    for input in list.into_inputs() {
        if found.contains(&input.path) && is_foreign(&input) {
            skipped.push(input.path);
        } else {
            inputs.push(input);
        }
    }
    let is_log = |input: &&Input| found.contains(&input.path) && may_be_log(input);
    let logs: BTreeSet<PathBuf> = inputs.iter().filter(is_log).map(|input| input.path.clone()).collect();
    let is_other = |input: &Input| input.family().is_ok_and(|family| family.is_some_and(|of| of != Family::Stacks));
    if !logs.is_empty() && inputs.iter().any(is_other) {
        inputs.retain(|input| !logs.contains(&input.path));
        skipped.extend(logs);
        skipped.sort();
    }
    DirectoryScan { inputs, skipped }
}

fn may_be_log(input: &Input) -> bool {
    let is_likely = input.look().is_ok_and(|probe| {
        probe.identity.format == Format::Collapsed && probe.identity.confidence != Confidence::Certain
    });
    is_likely && !has_profile_extension(&input.path)
}

fn is_foreign(input: &Input) -> bool {
    // The reader reports files that cannot be opened.
    let is_something_else = input.look().is_ok_and(|probe| {
        let Identity { format, confidence } = probe.identity;
        // An empty JSON object can be anything.
        let is_any_json = format == Format::Iprof && confidence == Confidence::Possible;
        is_any_json || (format != Format::Empty && format.family().is_none())
    });
    is_something_else && !has_profile_extension(&input.path)
}

/// The identities of the images that ran, in hexadecimal.
type BinaryIds = BTreeSet<String>;

/// Rejects inputs of different programs: each must have the images of the first one, a subset of them, or a superset
/// (libraries that only some runs load). Different programs are normal for the tests of a whole workspace, so callers
/// must request this. Inputs that cannot be read are left to the merge.
///
/// # Errors
///
/// Kind conflict for two inputs of different programs; unable to compare for an input that does not identify its
/// program.
pub fn require_same_program(inputs: &[Input], options: &ReadOptions) -> Result<()> {
    let mut first: Option<(PathBuf, BinaryIds)> = None;
    for input in inputs.iter().filter(|input| input.format().is_ok_and(|format| format != Format::Empty)) {
        for (path, ids) in ids_of_runs(input, options).unwrap_or_default() {
            if ids.is_empty() {
                let detail = "the profile has no binary id".to_string();
                let error = Error::new(ErrorKind::UnableToCompare { detail }).in_file(path);
                return Err(error.with_hint(Hint::LinkWithBuildId));
            }
            match &first {
                None => first = Some((path, ids)),
                Some((_, known)) if known.is_subset(&ids) || ids.is_subset(known) => {}
                Some((other, known)) => {
                    let (other, ids, known) = (other.display(), words(&ids), words(known));
                    let detail = format!("not from the same program as {other}: the binary ids are {ids} and {known}");
                    return Err(Error::kind_conflict(detail).in_file(path));
                }
            }
        }
    }
    Ok(())
}

/// Returns the binary ids of an input, or of each input of a partial merge.
fn ids_of_runs(input: &Input, options: &ReadOptions) -> Result<Vec<(PathBuf, BinaryIds)>> {
    let part = match input.is_partial() {
        true => partial::open(&input.stored_bytes(Access::Read, &options.limits)?, &options.limits)?,
        false => None,
    };
    let Some(part) = part else { return Ok(vec![(input.path.clone(), binary_ids(input, options)?)]) };
    let ids_of = |ids: &[BinaryId]| ids.iter().map(|id| to_hex(id)).collect();
    Ok(part.binary_ids_of_inputs().map(|(about, ids)| (about.path.clone(), ids_of(ids))).collect())
}

/// Returns the indexed profiles found in directories that may already contain the raw profiles found there: an earlier
/// merge of the same program wrote them, which their binary ids show. Partial merges are not among them, because they
/// have a list of their inputs.
pub fn earlier_merges<'i>(inputs: &'i [Input], found: &BTreeSet<PathBuf>, options: &ReadOptions) -> Vec<&'i Input> {
    let is_found = |input: &&Input| found.contains(&input.path);
    let is_merge = |input: &&Input| input.format().is_ok_and(|format| format == Format::Indexed) && !input.is_partial();
    let ids = |input: &Input| binary_ids(input, options).ok().filter(|ids| !ids.is_empty());
    let merges: Vec<(&Input, BinaryIds)> =
        inputs.iter().filter(is_found).filter(is_merge).filter_map(|input| Some((input, ids(input)?))).collect();
    if merges.is_empty() {
        return Vec::new();
    }
    let is_raw = |input: &&Input| input.format().is_ok_and(|format| matches!(format, Format::Raw { .. }));
    let mut contained = BTreeSet::new();
    for raw in inputs.iter().filter(is_found).filter(is_raw).filter_map(ids) {
        contained.extend((0..merges.len()).filter(|at| !raw.is_disjoint(&merges[*at].1)));
        if contained.len() == merges.len() {
            break;
        }
    }
    contained.into_iter().map(|at| merges[at].0).collect()
}

fn binary_ids(input: &Input, options: &ReadOptions) -> Result<BinaryIds> {
    let data = input.bytes(Access::Read, &options.limits)?;
    Ok(match input.format()? {
        Format::RawMemProf => {
            let raw = RawMemProf::read(&data, &options.limits)?;
            raw.build_ids().into_iter().map(to_hex).collect()
        }
        Format::Pprof => {
            let (profile, _) = pprof::read(&data, &options.limits)?;
            let id = |mapping: &pprof::Mapping| profile.text(mapping.build_id).into_owned();
            profile.mappings.iter().map(id).filter(|id| !id.is_empty()).collect()
        }
        format if format.family() == Some(Family::Instr) => {
            let mut reader = open_reader(&data, options)?;
            reader.binary_ids()?.iter().map(|id| to_hex(id)).collect()
        }
        _ => BinaryIds::new(),
    })
}

fn words(ids: &BinaryIds) -> String {
    let shown: Vec<&str> = ids.iter().take(3).map(String::as_str).collect();
    let more = if ids.len() > 3 { format!(" and {} more", ids.len() - 3) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// Returns the sum of the counters of an LLVM profile's selected functions, without pseudo counts; for a memory profile, or
/// an indexed profile that contains only a memory profile, the bytes of all allocations.
///
/// # Errors
///
/// The errors of the readers.
pub(crate) fn instr_total(input: &Input, options: &MergeOptions) -> Result<u128> {
    let total = counters_total(input, options)?;
    let is_memory = input.family()? == Some(Family::MemProf);
    if is_memory || (total == 0 && input.format()? == Format::Indexed) {
        return match memory_profiles::load(input, &options.read) {
            Ok(profile) => Ok(total_bytes(&profile)),
            Err(error) if is_memory => Err(error),
            // It has none.
            Err(_) => Ok(0),
        };
    }
    Ok(total)
}

/// The sum of the counters of the selected functions; 0 for an input that contains only a memory profile.
///
/// # Errors
///
/// The errors of the readers.
pub(crate) fn counters_total(input: &Input, options: &MergeOptions) -> Result<u128> {
    if input.family()? == Some(Family::MemProf) { Ok(0) } else { sum_of_counters(input, options) }
}

fn sum_of_counters(input: &Input, options: &MergeOptions) -> Result<u128> {
    let bytes = input.bytes(Access::Read, &options.read.limits)?;
    let mut reader = open_reader(&bytes, &options.read)?;
    let mut total = 0u128;
    let mut reader = CancellableReader::new(reader.as_mut(), input);
    while let Some(read) = reader.next_record()? {
        if read.record.pseudo_count().is_none() && options.filter.keeps(options.remapping.apply_to_forms(read.name)) {
            total += read.record.counters.iter().map(u128::from).sum::<u128>();
        }
    }
    Ok(total)
}

/// The sum of an iprof's counts in all sections.
///
/// # Errors
///
/// The errors of the reader.
pub(crate) fn iprof_total(input: &Input, options: &iprof::ReadOptions) -> Result<u128> {
    let totals = SectionTotals::read_from(input.stream()?, options)?;
    Ok(SectionKind::EACH.into_iter().map(|kind| totals.of(kind)).sum())
}

/// The hits of a source of stacks.
///
/// # Errors
///
/// The errors of the readers.
pub(crate) fn stack_total(input: &Input, options: &StackOptions) -> Result<u128> {
    Ok(read_stacks(std::slice::from_ref(input), options)?.0.total_hits())
}

/// Returns the index of the input with the largest share of all counts, and its share, with weights. `None` if there is
/// nothing to count. Inputs that cannot be read do not count; the merge reports them.
pub fn largest_share(inputs: &[Input], total: &dyn Fn(&Input) -> Result<u128>) -> Option<(usize, f64)> {
    let weigh = |input: &Input| total(input).unwrap_or(0).saturating_mul(u128::from(input.weight.get()));
    let totals: Vec<u128> = inputs.iter().map(weigh).collect();
    let all = totals.iter().fold(0u128, |sum, total| sum.saturating_add(*total));
    let (at, largest) = totals.iter().enumerate().rev().max_by_key(|(_, total)| **total)?;
    (all > 0).then(|| (at, *largest as f64 / all as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::Compat;
    use crate::error::Error;
    use std::path::Path;

    #[test]
    fn other_files_in_a_directory_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in [
            ("a.proftext", &b":ir\nmain\n1\n1\n5\n"[..]),
            ("b.log", b"It was\na dark night\n"),
            ("c.profraw", b"\0\0\0\0\0\0\0\0\0\0\0\0"),
            ("d.json", b"{\"event\":1}"),
            ("d2.json", b"{}"),
            ("e", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0"),
            ("f.txt", b""),
        ] {
            std::fs::write(folder.path().join(name), content).unwrap();
        }
        let mut list = InputList::new(Compat::Profbridge);
        list.push(folder.path()).unwrap();
        let filter_inputs = skip_foreign_files(list);
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_string();
        let kept: Vec<String> = filter_inputs.inputs.iter().map(|input| name(&input.path)).collect();
        let skipped: Vec<String> = filter_inputs.skipped.iter().map(|path| name(path)).collect();
        assert_eq!(
            (kept.join(" "), skipped.join(" ")),
            ("a.proftext c.profraw f.txt".into(), "b.log d.json d2.json e".into())
        );
        let mut named = InputList::new(Compat::Profbridge);
        named.push(folder.path().join("b.log")).unwrap();
        assert_eq!(skip_foreign_files(named).inputs.len(), 1);
    }

    #[test]
    fn weights_count_and_the_first_of_equal_inputs_is_the_largest() {
        let inputs: Vec<Input> = ["1,a", "3,b", "3,c"].iter().map(|text| text.parse().unwrap()).collect();
        let shares = |total: &dyn Fn(&Input) -> Result<u128>| largest_share(&inputs, total);
        assert_eq!(shares(&|_| Ok(5)), Some((1, 3.0 / 7.0)));
        assert_eq!(shares(&|_| Ok(0)), None);
        let only_a = |input: &Input| if input.path.ends_with("a") { Ok(1) } else { Err(Error::usage("bad")) };
        assert_eq!(shares(&only_a), Some((0, 1.0)));
    }
}
