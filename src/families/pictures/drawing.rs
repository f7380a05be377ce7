//! What there is to draw of one family.

use crate::error::{Result, Warning};
use crate::hint::Hint;
use crate::render::Report;
use crate::stacks::model::StackTable;
use std::any::Any;
use std::fmt;

/// What was read of inputs of one family, which add up.
pub(crate) trait Drawing: Any + fmt::Debug {
    /// Its stacks and what they count; `None` for a family without stacks.
    fn stacks(&self) -> Option<(&StackTable, &'static str)>;

    /// The same with other stacks.
    fn with_stacks(self: Box<Self>, map: &dyn Fn(&StackTable) -> Result<StackTable>) -> Result<Box<dyn Drawing>>;

    /// The report, perhaps against a baseline; `None` when that is of another kind.
    fn report(&self, title: &str, baseline: Option<&(dyn Drawing + 'static)>) -> Option<Report>;

    /// What to do where no stack is left to draw.
    fn hint(&self) -> Hint {
        "the input holds neither samples nor call counts, or none that was asked for".into()
    }
}

/// A drawing, and what is worth saying about the inputs.
pub(crate) type Drawn = (Box<dyn Drawing>, Vec<Warning>);

/// The baseline, if there is one, as a `T`; `None` when it is something else.
pub(crate) fn of_kind<'b, T: Drawing>(baseline: Option<&'b (dyn Drawing + 'static)>) -> Option<Option<&'b T>> {
    match baseline {
        Some(baseline) => (baseline as &dyn Any).downcast_ref().map(Some),
        None => Some(None),
    }
}
