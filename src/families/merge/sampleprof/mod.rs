//! Merging files that are sample profiles, partial merges among them.

mod files;

pub use files::{
    SampleFilter, SampleMergeObserver, SampleMergeOptions, SampleMergeReport, describe_sample_sections,
    load_sample_file, overlap_sample_files, parse_symbols, read_sample_file, read_sample_function, write_sample_file,
};

pub(crate) use files::{check_format, complete, open_sample};

use crate::error::{Error, Result};
use crate::families::merge::FailureMode;
use crate::families::partial;
use crate::input::{Access, Input, WeightedInput};
use crate::limits::Limits;

/// Merges sample profiles in order.
///
/// # Errors
///
/// Those of the first bad input, unless the failure mode allows it; a kind
/// conflict between inputs; usage for salvaging where there is a partial merge.
pub fn merge_sample_files(
    inputs: &[WeightedInput],
    options: &SampleMergeOptions,
    observer: &mut dyn SampleMergeObserver,
) -> Result<SampleMergeReport> {
    if options.compat.is_llvm() {
        return files::merge(inputs, options, observer);
    }
    let (mut has_parts, mut unknown) = (false, None);
    for input in inputs {
        match is_part(input, &options.read.limits) {
            Ok(is_part) => has_parts |= is_part,
            Err(error) => unknown = unknown.or(Some(error)),
        }
    }
    if has_parts && options.salvage {
        let detail = "what is sound of bad inputs is not kept when partial merges of sample profiles are merged";
        return Err(Error::usage(detail).with_hint("salvage the bad inputs first, each in a merge of its own"));
    }
    if has_parts {
        return partial::finish_samples(&partial::sum_samples(inputs, options)?, options, observer);
    }
    let report = files::merge(inputs, options, observer)?;
    match unknown {
        // It could be read after all, and may have been a partial merge.
        Some(error) if options.failure_mode == FailureMode::Any || report.used == inputs.len() => Err(error),
        _ => Ok(report),
    }
}

/// Whether an input is a partial merge; a pipe is read to its end for that.
fn is_part(input: &Input, limits: &Limits) -> Result<bool> {
    if input.is_pipe() {
        // What cannot be read is told when its turn comes.
        let _ = input.stored_bytes(Access::Read, limits);
    }
    input.ends_as_part()
}
