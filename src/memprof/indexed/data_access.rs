//! Accesses to static data, which follow the records in version 4.

use crate::bytes::names::{Chunks, Compression, split_names, write_chunk};
use crate::bytes::{Cursor, Endian, Sink};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::memprof::model::{DataAccessProfile, DataAccessRecord, DataSymbol, SourceLocation};
use std::collections::HashMap;

/// Reads the section part at the cursor.
pub(super) fn read(cursor: &mut Cursor<'_>, limits: &Limits) -> Result<DataAccessProfile> {
    let strings = cursor.u64("number of strings")?;
    let cold_symbols = cursor.u64("number of cold symbols")?;
    let len = cursor.u64("bytes of strings")?;
    let offset = cursor.position();
    let bytes = cursor.take("strings", len)?;
    cursor.take("padding of strings", len.next_multiple_of(8) - len)?;
    let names = read_names(bytes, offset, limits)?;
    if strings.checked_add(cold_symbols) != Some(names.len() as u64) {
        let detail = format!("found {} strings, expected {strings} + {cold_symbols}", names.len());
        return Err(Error::malformed(detail).at("memprof", offset));
    }
    let (strings, cold) = names.split_at(strings as usize);
    let hashes = cursor.u64("number of cold string literals")?;
    let hashes = cursor.take("cold string literals", hashes.saturating_mul(8))?;
    let mut profile = DataAccessProfile {
        cold_symbols: cold.to_vec(),
        cold_string_hashes: hashes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect(),
        ..DataAccessProfile::default()
    };
    for _ in 0..cursor.u64("number of data records")? {
        profile.records.push(read_record(cursor, strings)?);
    }
    Ok(profile)
}

fn read_names(bytes: &[u8], offset: u64, limits: &Limits) -> Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    let mut chunks = Chunks::new(bytes, offset, *limits);
    while let Some(chunk) = chunks.next_chunk()? {
        for name in split_names(&chunk.text()?) {
            names.push(name?.to_vec());
        }
    }
    Ok(names)
}

fn read_record(cursor: &mut Cursor<'_>, strings: &[Vec<u8>]) -> Result<DataAccessRecord> {
    let symbol = cursor.u64("symbol of a data record")?;
    let symbol = match cursor.u8("kind of a data record")? {
        0 => DataSymbol::Name(string(strings, symbol, cursor)?),
        _ => DataSymbol::StringHash(symbol),
    };
    let access_count = cursor.u64("access count")?;
    let mut locations = Vec::new();
    for _ in 0..cursor.u64("number of locations")? {
        let file = cursor.u64("file of a location")?;
        let file = string(strings, file, cursor)?;
        let line = cursor.u32("line of a location")?;
        locations.push(SourceLocation { file, line });
    }
    Ok(DataAccessRecord { symbol, access_count, locations })
}

fn string(strings: &[Vec<u8>], at: u64, cursor: &Cursor<'_>) -> Result<Vec<u8>> {
    usize::try_from(at).ok().and_then(|at| strings.get(at)).cloned().ok_or_else(|| {
        cursor.place(Error::malformed(format!("string {at} does not exist, there are {}", strings.len())))
    })
}

/// Appends a data access profile, without padding at its end.
///
/// # Errors
///
/// The errors of compression.
pub(super) fn write(sink: &mut Sink, profile: &DataAccessProfile) -> Result<()> {
    let mut strings = Strings::default();
    for record in &profile.records {
        if let DataSymbol::Name(name) = &record.symbol {
            strings.add(name);
        }
        record.locations.iter().for_each(|location| strings.add(&location.file));
    }
    // Symbols occur among the strings, and are listed again after them.
    profile.cold_symbols.iter().for_each(|symbol| strings.add(symbol));
    let cold = profile.cold_symbols.iter().map(Vec::as_slice);
    let mut names = Sink::new(Endian::Little);
    if !strings.all.is_empty() {
        write_chunk(&mut names, strings.all.iter().copied().chain(cold), Compression::ZlibOfLlvm)?;
    }
    let names = names.into_bytes();
    sink.u64s(&[strings.all.len() as u64, profile.cold_symbols.len() as u64, names.len() as u64]);
    sink.bytes(&names);
    sink.zeros(names.len().next_multiple_of(8) - names.len());
    sink.u64(profile.cold_string_hashes.len() as u64);
    sink.u64s(&profile.cold_string_hashes);
    sink.u64(profile.records.len() as u64);
    for record in &profile.records {
        match &record.symbol {
            DataSymbol::Name(name) => (sink.u64(strings.numbers[name.as_slice()]), sink.u8(0)),
            DataSymbol::StringHash(hash) => (sink.u64(*hash), sink.u8(1)),
        };
        sink.u64(record.access_count);
        sink.u64(record.locations.len() as u64);
        for location in &record.locations {
            sink.u64(strings.numbers[location.file.as_slice()]);
            sink.u32(location.line);
        }
    }
    Ok(())
}

/// Strings in order of first use.
#[derive(Default)]
struct Strings<'a> {
    all: Vec<&'a [u8]>,
    numbers: HashMap<&'a [u8], u64>,
}

impl<'a> Strings<'a> {
    fn add(&mut self, string: &'a [u8]) {
        let next = self.all.len() as u64;
        if *self.numbers.entry(string).or_insert(next) == next {
            self.all.push(string);
        }
    }
}
