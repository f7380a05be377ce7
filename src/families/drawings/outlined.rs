//! The fast path for large collapsed stacks.

use crate::call_chains::Unit;
use crate::error::{Result, Warning};
use crate::families::read::stacks::StackOptions;
use crate::input::{Access, Format, Input};
use crate::render::{FlameGraph, SvgOptions, least_hits};
use crate::stacks::collapsed::{SIMPLE_NAMES, outline};
use crate::stacks::graph_of_outline;

/// Bytes from which a text is outlined, where that is enough.
const OUTLINED_BYTES: u64 = 8 << 20;

/// The flame graph of a large collapsed text as far as a drawing shows it, in much
/// less time and memory than [`read_content`](crate::families::drawings::read_content) takes. `None` for everything
/// else.
///
/// # Errors
///
/// I/O errors with the path.
pub fn outlined_graph(
    input: &Input,
    options: &StackOptions,
    svg: &SvgOptions,
) -> Result<Option<(FlameGraph, Vec<Warning>)>> {
    let path = &input.path;
    let is_large = std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() >= OUTLINED_BYTES);
    let has_time = options.recording.from.is_some() || options.recording.to.is_some();
    if !is_large || has_time || svg.min_width < LEAST_WIDTH || input.format()? != Format::Collapsed {
        return Ok(None);
    }
    let data = input.bytes(Access::Read, &options.limits)?;
    let Some(found) = outline(&data, &options.text, &options.limits, |total| least_hits(total, svg)) else {
        return Ok(None);
    };
    let warning = found.simple_names.then(|| Warning::new(SIMPLE_NAMES).in_file(path));
    Ok(Some((graph_of_outline(&found, Unit::Hits.word()), warning.into_iter().collect())))
}

/// Width in pixels below which too much is drawn for an outline to help.
const LEAST_WIDTH: f64 = 0.02;
