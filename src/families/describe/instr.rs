//! Descriptions of LLVM instrumentation profiles.

use crate::families::describe::describe_text;
use crate::families::partial;
use crate::input::Format;
use crate::limits::Limits;
use crate::model::description::Description;
use crate::{indexed, raw};

/// A profile in any of the three formats.
pub(crate) fn describe(data: &[u8], format: Format, limits: &Limits) -> Description {
    match format {
        Format::Raw { .. } => raw::describe(data, limits),
        Format::Indexed => {
            let mut description = indexed::describe(data, limits);
            partial::describe_any(data, limits, &mut description);
            description
        }
        _ => describe_text(data),
    }
}
