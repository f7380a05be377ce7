//! Flight Recorder recordings (`.jfr`).
//!
//! ```text
//! chunk, chunk, …          each self-contained; joined files are legal
//! └── header               68 bytes, big-endian                        chunk
//!     ├── events           size, type, fields                          events
//!     ├── constant pools   events of type 1, chained backwards         pools
//!     └── metadata         event of type 0: types and field order      metadata
//! ```
//!
//! | version | written by |
//! |---|---|
//! | 2.0 | JDK 9 to 13, OpenJDK 8 from update 262, async-profiler |
//! | 2.1 | JDK 14 and later, GraalVM Native Image |
//!
//! Only events that are samples are decoded (`jdk.ExecutionSample`,
//! `jdk.NativeMethodSample`, `jdk.CPUTimeSample`, `profiler.WallClockSample`):
//! a recording may hold environment variables, system properties and process
//! lists, and none of that is read. Field order and type numbers come from the
//! metadata. A number in one chunk says nothing about another chunk.

mod chunk;
mod events;
mod metadata;
mod numbers;
mod pools;
mod resolve;

use crate::error::{Result, Warning};
use crate::limits::Limits;
use crate::model::stacks::StackTable;
use chunk::{Chunk, Next};
use events::Counts;
use metadata::Types;
use pools::Pools;
use resolve::Resolver;

/// Adds the samples of a recording to `table`, chunk by chunk.
///
/// A last chunk whose end is missing (the process was killed, the file was
/// copied while it grew) is left out with a warning as long as a whole chunk
/// came before it.
///
/// # Errors
///
/// Bad magic, unsupported version, truncated or malformed, with section and
/// byte offset; limit exceeded for stacks deeper than
/// [`Limits::context_depth`] and names longer than [`Limits::name_bytes`].
/// `table` holds the chunks before the fault then.
pub fn read_recording(data: &[u8], limits: &Limits, table: &mut StackTable) -> Result<Vec<Warning>> {
    let mut warnings = Vec::new();
    let mut format = String::from("Flight Recorder");
    let read = read_chunks(data, limits, table, &mut warnings, &mut format);
    read.map_err(|error| error.in_format(format))?;
    Ok(warnings)
}

fn read_chunks(
    data: &[u8],
    limits: &Limits,
    table: &mut StackTable,
    warnings: &mut Vec<Warning>,
    format: &mut String,
) -> Result<()> {
    let mut rest = data;
    let mut missing = 0;
    while !rest.is_empty() || data.is_empty() {
        let base = (data.len() - rest.len()) as u64;
        let chunk = match Chunk::read(rest, base)? {
            Next::Chunk(chunk) => chunk,
            Next::Cut(error) if base == 0 => {
                return Err(error.with_hint(
                    "the recording was not finished; let the program end normally, or dump the recording with jcmd JFR.dump",
                ));
            }
            Next::Cut(error) => {
                table.observed.parts_cut += 1;
                let message =
                    format!("the last chunk is incomplete and left out, the {base} bytes before it are used: {error}");
                warnings.push(Warning::new(message));
                break;
            }
        };
        *format = format!("Flight Recorder {}.{}", chunk.version.0, chunk.version.1);
        table.observed.add_source(format);
        missing += read_chunk(&chunk, limits, table)?;
        rest = &rest[chunk.data.len()..];
    }
    if missing > 0 {
        let message =
            format!("references to constants that the recording does not hold: {missing}; what they name is left out");
        warnings.push(Warning::new(message));
    }
    Ok(())
}

/// Adds one chunk; returns how many references led nowhere.
fn read_chunk(chunk: &Chunk<'_>, limits: &Limits, table: &mut StackTable) -> Result<u64> {
    let mut types = Types::read(chunk)?;
    let counts = Counts::read(chunk, &mut types)?;
    let observed = &mut table.observed;
    observed.parts += 1;
    observed.duration_nanos = observed.duration_nanos.saturating_add(chunk.duration_nanos);
    observed.samples_lost = observed.samples_lost.saturating_add(counts.lost);
    if counts.samples.is_empty() {
        return Ok(0);
    }
    let pools = Pools::read(chunk, &mut types)?;
    let mut resolver = Resolver::new(chunk, &mut types, &pools, limits, table);
    resolver.add_samples(&counts)?;
    Ok(resolver.missing)
}

#[cfg(test)]
mod tests;
