//! Sources of stacks for reports and flame graphs.

use super::content::{Content, Drawn};
use crate::call_chains::Selection;
use crate::error::Result;
use crate::families::read::stacks::{StackOptions, read_stacks, unit_of, without_addresses};
use crate::input::Input;

/// Reads sources of stacks.
pub(crate) fn draw(inputs: &[Input], options: &StackOptions, selection: &Selection) -> Result<Drawn> {
    let (table, warnings) = read_stacks(inputs, options)?;
    let selected = table.select(selection).0;
    unit_of(&selected)?;
    Ok((Content::Stacks(without_addresses(&selected)), warnings))
}
