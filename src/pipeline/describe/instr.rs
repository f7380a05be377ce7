//! What an LLVM instrumentation profile is made of.

use super::describe_text;
use crate::input::Format;
use crate::instr::description::Description;
use crate::limits::Limits;
use crate::pipeline::partial;
use crate::{indexed, raw};

/// A profile in any of the three formats.
pub(in crate::pipeline) fn describe(data: &[u8], format: Format, limits: &Limits) -> Description {
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
