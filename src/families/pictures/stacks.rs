//! Drawings of sampled stacks.

use crate::error::Result;
use crate::families::pictures::drawing::{Drawing, Drawn, of_kind};
use crate::families::pictures::iprof::IprofContent;
use crate::families::read::stacks::{StackOptions, read_stacks, unit_of, without_addresses};
use crate::input::Input;
use crate::render::{Report, from_stacks};
use crate::stacks::model::{Selection, StackTable, Unit};

/// Reads sources of stacks.
pub(crate) fn draw(inputs: &[Input], options: &StackOptions, selection: &Selection) -> Result<Drawn> {
    let (table, warnings) = read_stacks(inputs, options)?;
    let selected = table.select(selection)?.0;
    unit_of(&selected)?;
    Ok((Box::new(without_addresses(&selected)?), warnings))
}

impl Drawing for StackTable {
    fn stacks(&self) -> Option<(&StackTable, &'static str)> {
        Some((self, self.unit().map_or("hits", Unit::word)))
    }

    fn with_stacks(self: Box<Self>, map: &dyn Fn(&StackTable) -> Result<StackTable>) -> Result<Box<dyn Drawing>> {
        Ok(Box::new(map(&self)?))
    }

    /// The samples of an iprof are a baseline as well.
    fn report(&self, title: &str, baseline: Option<&(dyn Drawing + 'static)>) -> Option<Report> {
        let old = match of_kind::<IprofContent>(baseline) {
            Some(Some(iprof)) => Some(&iprof.samples).filter(|samples| !samples.is_empty()).map(Some),
            _ => of_kind(baseline),
        };
        Some(from_stacks::report(title, self, old?))
    }
}
