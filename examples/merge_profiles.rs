//! Merges profiles, each with its weight, and writes an indexed profile.
//!
//! ```console
//! $ cargo run --example merge_profiles -- merged.profdata 1,a.profraw 3,b.profraw
//! ```

use profbridge::families::{ReadOptions, open_reader};
use profbridge::input::{self, WeightedInput};
use profbridge::instr::RecordRef;
use profbridge::instr::{AddOutcome, InputOptions, MergeOptions, Merger};
use profbridge::{Error, Limits, OutputFormat, Result};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let output = arguments.next().ok_or_else(|| Error::usage("usage: merge_profiles OUTPUT WEIGHT,FILE..."))?;
    let options = ReadOptions::default();
    let mut merger = Merger::new(MergeOptions::default());
    for argument in arguments {
        let WeightedInput { path, weight, .. } = argument.parse()?;
        let file = input::open(&path, input::Access::Read, &Limits::default())?;
        let mut reader = open_reader(&file, &options).map_err(|error| error.in_file(&path))?;
        // Report records that do not match earlier records and are dropped.
        let mut report = |record: RecordRef<'_>, outcome: AddOutcome| {
            if let Some(error) = outcome.error {
                eprintln!("{}: {}: {error}", path.display(), record.name.escape_ascii());
            }
        };
        merger
            .add_reader(reader.as_mut(), &InputOptions::weighted(weight.get()), &mut report)
            .map_err(|error| error.in_file(&path))?;
    }
    let profile = merger.finish()?.value;
    println!("{} functions, {} records", profile.functions.len(), profile.functions.records_len());
    let saved = profile.write_to_path(output, OutputFormat::default())?;
    saved.losses.iter().for_each(|loss| eprintln!("lost: {loss}"));
    Ok(())
}
