//! Partial merges of iprof files and of stacks, which keep their inputs.
//!
//! Of an iprof the ids of types and methods decide which ids the result has, and
//! of a pprof its strings and mappings, so that there is more to remember than to
//! add up; and whether stacks are added up as pprof or as tables depends on all
//! inputs. The merge of the family sees the inputs as they were.

use crate::driver::report::no_weight;
use crate::error::{Error, ErrorKind, Result};
use crate::family::Family;
use crate::input::{Access, Input, WeightedInput};
use crate::limits::Limits;
use crate::partial::{Duplicates, Frame, InputState, PartialInput, StoredInput, StoredInputs};
use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::path::PathBuf;

/// Stores inputs, with those of partial merges; `found` are the inputs that were found in directories.
///
/// # Errors
///
/// Usage for a partial merge of another family, or with a weight, and for a profile that occurs in a partial merge and
/// in another input, unless duplicates are allowed.
pub(crate) fn keep_inputs(
    inputs: &[WeightedInput],
    family: Family,
    found: &BTreeSet<PathBuf>,
    allow_duplicates: bool,
    limits: &Limits,
) -> Result<StoredInputs> {
    let (mut all, mut duplicates) = (StoredInputs::default(), Duplicates::default());
    let mut add = |input: &Input, is_partial, inputs: &[StoredInput]| match allow_duplicates {
        true => Ok(()),
        false => duplicates.append(Duplicates::of(&input.path, is_partial, inputs.iter().map(|kept| &kept.about))),
    };
    for input in inputs {
        match part_of(input, family, limits) {
            Ok(None) => {
                let kept = keep(input, found.contains(&input.path), limits)?;
                add(input, false, std::slice::from_ref(&kept))?;
                all.push(kept);
            }
            Ok(Some(_)) if input.weight.get() != 1 => return Err(no_weight().in_file(&input.path)),
            Ok(Some(part)) => {
                add(input, true, part.inputs())?;
                all.append(part);
            }
            // A damaged part is a bad input like others.
            Err(error) => all.push(unreadable(input, &error)),
        }
    }
    Ok(all)
}

fn keep(input: &Input, is_found: bool, limits: &Limits) -> Result<StoredInput> {
    match input.stored_bytes(Access::Read, limits) {
        Ok(bytes) => StoredInput::new(about(input, &bytes), is_found, &bytes),
        Err(error) => Ok(unreadable(input, &error)),
    }
}

fn about(input: &Input, bytes: &[u8]) -> PartialInput {
    let mut about = PartialInput::new(&input.path, input.weight.get());
    // All empty files are equal.
    about.digest = (!bytes.is_empty()).then(|| PartialInput::digest_of(bytes));
    about
}

fn unreadable(input: &Input, error: &Error) -> StoredInput {
    StoredInput::unreadable(&input.path, input.weight.get(), error)
}

fn part_of(input: &Input, family: Family, limits: &Limits) -> Result<Option<StoredInputs>> {
    if !input.ends_as_part()? {
        return Ok(None);
    }
    let bytes = input.stored_bytes(Access::Read, limits)?;
    let Some(frame) = Frame::find(&bytes, limits)? else { return Ok(None) };
    open_kept_frame(&frame, family).map(Some)
}

pub(super) fn open_kept_frame(frame: &Frame<'_>, family: Family) -> Result<StoredInputs> {
    // Stacks are also read from the samples of iprof files, and both keep their inputs.
    if frame.family != family && (frame.family, family) != (Family::Iprof, Family::Stacks) {
        return Err(Error::usage(format!("a partial merge of {}, not of {}", frame.family.words(), family.words())));
    }
    StoredInputs::decode(&frame.state)
}

/// The inputs as they were, in memory.
///
/// # Errors
///
/// Uncompress failed for a damaged state; limit exceeded.
pub fn kept_inputs(all: &StoredInputs, limits: &Limits) -> Result<Vec<Input>> {
    all.inputs().iter().map(|kept| open_one(kept, limits)).collect()
}

fn open_one(kept: &StoredInput, limits: &Limits) -> Result<Input> {
    let about = &kept.about;
    let input = match &about.state {
        InputState::Failed(error) => Input::unreadable(&about.path, error),
        _ => Input::from_bytes(&about.path, kept.bytes(limits).map_err(|error| error.in_file(&about.path))?),
    };
    Ok(input.weighted_by(NonZeroU64::new(about.weight).unwrap_or(NonZeroU64::MIN)))
}

/// Opens the stored inputs, with those of partial merges, and the inputs that were found in directories; `None` if
/// there is no partial merge.
///
/// # Errors
///
/// The errors of partial merges of another family or with a weight, and of [`kept_inputs`]; I/O for an existing input
/// that cannot be read.
pub fn open_kept(
    inputs: &[WeightedInput],
    family: Family,
    allow_duplicates: bool,
    limits: &Limits,
) -> Result<Option<(Vec<Input>, Vec<PathBuf>)>> {
    let Some(opened) = open_each(inputs, family, allow_duplicates, limits)? else { return Ok(None) };
    let (opened, found): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
    Ok(Some((opened.concat(), found.concat())))
}

/// The opened inputs of one input, and those of them that were found in directories.
type Opened = (Vec<Input>, Vec<PathBuf>);

/// Like [`open_kept`], but returns the results of each input.
pub(crate) fn open_each(
    inputs: &[WeightedInput],
    family: Family,
    allow_duplicates: bool,
    limits: &Limits,
) -> Result<Option<Vec<Opened>>> {
    let mut is_any_part = false;
    for input in inputs {
        is_any_part |= is_part(input)?;
    }
    if !is_any_part {
        return Ok(None);
    }
    let mut all = Vec::with_capacity(inputs.len());
    let mut duplicates = Duplicates::default();
    for input in inputs {
        all.push(match part_of(input, family, limits) {
            Ok(None) => {
                if !allow_duplicates && let Ok(bytes) = input.stored_bytes(Access::Read, limits) {
                    duplicates.append(Duplicates::of(&input.path, false, [&about(input, &bytes)]))?;
                }
                (vec![input.clone()], Vec::new())
            }
            Ok(Some(_)) if input.weight.get() != 1 => return Err(no_weight().in_file(&input.path)),
            Ok(Some(part)) => {
                if !allow_duplicates {
                    let inputs = part.inputs().iter().map(|kept| &kept.about);
                    duplicates.append(Duplicates::of(&input.path, true, inputs))?;
                }
                (kept_inputs(&part, limits)?, found_of(&part).collect())
            }
            Err(error) => (vec![open_one(&unreadable(input, &error), limits)?], Vec::new()),
        });
    }
    Ok(Some(all))
}

/// Returns true if an input is a partial merge. A missing or unreadable input is not one: its reader reports the error.
fn is_part(input: &Input) -> Result<bool> {
    use std::io::ErrorKind as Io;
    match input.ends_as_part() {
        Err(error) => match error.kind() {
            ErrorKind::Io { source, .. } => match source.kind() {
                Io::NotFound | Io::PermissionDenied | Io::NotADirectory | Io::InvalidFilename => Ok(false),
                _ => Err(error),
            },
            _ => Err(error),
        },
        found => found,
    }
}

/// Returns the inputs that were found in directories.
pub(super) fn found_of(all: &StoredInputs) -> impl Iterator<Item = PathBuf> {
    all.inputs().iter().filter(|kept| kept.is_found).map(|kept| kept.about.path.clone())
}

/// Returns a document followed by its inputs.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub(crate) fn encode_kept(all: &StoredInputs, family: Family, document: Vec<u8>) -> Result<Vec<u8>> {
    crate::partial::append(document, family, 0, &all.encode()?)
}
