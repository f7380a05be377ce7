//! Lists the functions of a raw profile without copying the file.
//!
//! ```console
//! $ cargo run --example raw_profile -- testdata/raw/clang-22-ir.profraw
//! ```

use profbridge::raw::RawProfile;
use profbridge::{Compat, Limits, Result};

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).unwrap_or_else(|| "testdata/raw/clang-22-ir.profraw".into());
    let file = profbridge::input::open(path.as_ref(), Default::default(), &Limits::default())?;
    // A view: it decodes counters on request and copies no data.
    let profile = RawProfile::read(&file, 0, Compat::default())?;
    let names = profile.read_names(&Limits::default())?;
    println!("version {}, {} records", profile.header().version(), profile.len());
    for (index, record) in profile.records().enumerate() {
        let name = names.symbols().name(record.name_ref).unwrap_or(b"?");
        let counters: Vec<u64> = profile.counters(index, &record)?.iter().collect();
        println!("{:#018x} {} {counters:?}", record.func_hash, name.escape_ascii());
    }
    Ok(())
}
