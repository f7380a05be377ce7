//! Looks one function up in an indexed profile without reading the rest.
//!
//! ```console
//! $ cargo run --example indexed_profile -- testdata/merge/clang-22/llvm-22.profdata main
//! ```

use profbridge::indexed::{IndexedProfile, ReadOptions};
use profbridge::input::{self, Access};
use profbridge::{Limits, Result};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "testdata/merge/clang-22/llvm-22.profdata".to_string());
    let name = arguments.next().unwrap_or_else(|| "main".to_string());
    // A mapped file: only the pages of one bucket are read.
    let file = input::open(path.as_ref(), Access::Map, &Limits::default())?;
    let profile = IndexedProfile::read(&file, ReadOptions::default())?;
    println!("version {}, {} functions", profile.version(), profile.len());
    let Some(entry) = profile.get(name.as_bytes())? else {
        println!("no function of that name");
        return Ok(());
    };
    for record in entry.records {
        let record = record?;
        println!("{:#018x} {:?}", record.func_hash, record.counters);
    }
    Ok(())
}
