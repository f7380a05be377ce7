//! The only table of families.

use crate::families::commands::Commands;
use crate::families::instr::Instr;
use crate::families::iprof::Iprof;
use crate::families::memprof::MemProf;
use crate::families::sampleprof::SampleProf;
use crate::families::stacks::Stacks;
use crate::input::Family;

/// Returns the commands of a family.
pub(super) fn commands(family: Family) -> &'static dyn Commands {
    match family {
        Family::Instr => &Instr,
        Family::SampleProf => &SampleProf,
        Family::MemProf => &MemProf,
        Family::Iprof => &Iprof,
        Family::Stacks => &Stacks,
    }
}
