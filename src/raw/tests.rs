//! Tests of the module as a whole: real files, and files built field by field.

use super::{RawOptions, RawReader};
use crate::compat::Compat;
use crate::model::{ProfileReader, ValueKind};
use std::path::{Path, PathBuf};

mod bad;
mod compat;
mod malformed;
mod real;
mod round_trip;

/// Everything a file holds, one line a fact, in file order.
fn dump(file: &[u8], compat: Compat) -> crate::Result<String> {
    use std::fmt::Write;
    let mut reader = RawReader::new(file, RawOptions::new(compat))?;
    let mut text = String::new();
    while let Some(item) = reader.next_record()? {
        let record = item.record;
        write!(text, "{} {:#x} {:?}", item.name.escape_ascii(), record.func_hash, record.counters).unwrap();
        if !record.bitmap.is_empty() {
            write!(text, " bitmap {:02x?}", record.bitmap).unwrap();
        }
        for kind in ValueKind::EACH.iter().filter(|kind| !record.sites(**kind).is_empty()) {
            let sites: Vec<Vec<(u64, u64)>> =
                record.sites(*kind).iter().map(|site| site.iter().map(|v| (v.value, v.count)).collect()).collect();
            write!(text, " {} {sites:x?}", kind.label()).unwrap();
        }
        text.push('\n');
    }
    for trace in reader.temporal().traces {
        writeln!(text, "trace {:x?}", trace.functions).unwrap();
    }
    for warning in reader.take_warnings() {
        writeln!(text, "warning: {warning}").unwrap();
    }
    Ok(text)
}

/// A file of the folder with real profiles of older releases, which is not
/// part of the project.
fn real_profile(name: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("PROFBRIDGE_REAL_PROFILES").map(PathBuf::from).or_else(|| {
        let in_directory_of =
            Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().skip(1).map(|up| up.join("shared/real-profiles"));
        in_directory_of.take(2).find(|folder| folder.is_dir())
    });
    let folder = folder.unwrap_or_default();
    match std::fs::read(folder.join(name)) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            eprintln!("SKIPPED: {name}: {error}; set PROFBRIDGE_REAL_PROFILES to the folder with real profiles");
            None
        }
    }
}
