//! Merges records of two inputs by hand and writes an indexed profile.
//!
//! ```console
//! $ cargo run --example merge_profiles -- merged.profdata
//! ```

use profbridge::merge::{InputOptions, MergeOptions, Merger};
use profbridge::pipeline::{ReadOptions, open_reader};
use profbridge::{Limits, Result, indexed, input};

fn main() -> Result<()> {
    let output = std::env::args_os().nth(1).unwrap_or_else(|| "merged.profdata".into());
    let options = ReadOptions::default();
    let mut merger = Merger::new(MergeOptions::default());
    for (path, weight) in [("testdata/raw/clang-14-ir.profraw", 1), ("testdata/raw/clang-22-ir.profraw", 3)] {
        let file = input::open(path.as_ref(), Default::default(), &Limits::default())?;
        let mut reader = open_reader(&file, &options)?;
        merger.add_reader(reader.as_mut(), &InputOptions::weighted(weight), &mut |record, outcome| {
            if let Some(error) = outcome.error {
                eprintln!("{path}: {}: {error}", record.name.escape_ascii());
            }
        })?;
    }
    let profile = merger.finish();
    println!("{} functions, {} records", profile.functions.len(), profile.functions.records_len());
    let bytes = indexed::write(&profile, &indexed::WriteOptions::default())?;
    input::output::replace(output.as_ref(), &bytes)
}
