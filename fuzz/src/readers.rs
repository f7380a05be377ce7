//! The readers of LLVM's formats must not panic, and their results must be consistent.

use super::profiles::{self, drain};
use profbridge::bytes::names::{Chunks, split_names};
use profbridge::compression::{Compression, decompress};
use profbridge::families::{self, ReadOptions};
use profbridge::indexed::{IndexedProfile, IndexedReader, ReadOptions as IndexedOptions};
use profbridge::input::Input;
use profbridge::instr::ProfileReader;
use profbridge::raw::{Image, ImageSum, RawOptions, RawProfile, RawReader, Targets};
use profbridge::text::TextReader;
use profbridge::{Compat, Limits};
use std::sync::Arc;

/// Both compatibility modes.
const MANNERS: [Compat; 2] = [Compat::Profbridge, Compat::Llvm22];

/// Raw profiles: the reader, the views, and the fast path for many profiles of one image.
pub fn raw(data: &[u8]) {
    for compat in MANNERS {
        if let Ok(mut reader) = RawReader::new(data, RawOptions::new(compat)) {
            drain(&mut reader);
        }
        views_of_raw(data, compat);
    }
}

fn views_of_raw(data: &[u8], compat: Compat) {
    let Ok(profile) = RawProfile::read(data, 0, compat) else { return };
    let _ = profile.binary_ids();
    for (index, record) in profile.records().enumerate() {
        let _ = profile.counters(index, &record).map(|counters| counters.iter().for_each(drop));
        let _ = profile.timed_counters(index, &record);
        let _ = profile.bitmap(index, &record);
        let _ = profile.plain_name(index, &record);
    }
    Targets::read(&profile);
    let Ok(names) = profile.read_names(&Limits::default()).map(Arc::new) else { return };
    let Some(image) = Image::new(&profile, &names) else { return };
    // The profile belongs to its own image, which was not moved.
    let slide = image.slide_of(&profile);
    assert_eq!(slide, Some(0), "a file is of its own image");
    if let Some(found) = image.find_values(data, &profile, compat, &[0]) {
        let places = image.with_sites().len();
        image.read_values(data, &profile, 0, compat, (0..places, found[0]), |place, values| {
            assert!(place < places && values.counters.is_empty());
        });
    }
    if let Some(counters) = ImageSum::plausible(&profile) {
        let mut sum = ImageSum::new(&image).expect("the sums are small");
        if sum.has_room_for(&counters, 1) {
            sum.add(&counters);
            for counters in image.counters() {
                assert_eq!(sum.counters[counters.clone()].len(), counters.len());
            }
            for (_, bitmap) in image.bitmaps() {
                assert_eq!(sum.bitmap[bitmap.clone()].len(), bitmap.len());
            }
        }
    }
}

/// Indexed profiles. A lookup must find the records that the full read found.
pub fn indexed(data: &[u8]) {
    for compat in MANNERS {
        let options = IndexedOptions::new(Limits::default(), compat);
        if let Ok(mut reader) = IndexedReader::new(data, options) {
            drain(&mut reader);
        }
        let Ok(profile) = IndexedProfile::read(data, options) else { continue };
        let _ = (profile.binary_ids(), profile.temporal(), profile.vtable_names(), profile.memprof());
        for entry in profile.entries().take(1000) {
            let Ok(entry) = entry else { break };
            let records: Vec<_> = entry.records.collect();
            assert!(records.iter().all(Result::is_ok), "they were checked when the name was found");
            if let Ok(Some(found)) = profile.get(entry.name) {
                assert_eq!(found.name, entry.name);
            }
        }
        let _ = profile.get(b"main");
        let _ = profile.get(&data[data.len() / 2..]);
    }
}

/// Text profiles.
pub fn text(data: &[u8]) {
    for compat in MANNERS {
        if let Ok(mut reader) = TextReader::new(data, compat) {
            drain(&mut reader);
        }
    }
}

/// Name chunks, with the smallest and the largest allowed sizes.
pub fn names(data: &[u8]) {
    let mut tight = Limits::default();
    tight.inflated_bytes = 100;
    for limits in [Limits::default(), tight] {
        let mut chunks = Chunks::new(data, 0, limits);
        let mut total = 0u64;
        while let Ok(Some(chunk)) = chunks.next_chunk() {
            let Ok(text) = chunk.text() else { break };
            assert_eq!(text.len() as u64, chunk.text_len);
            if chunk.compressed {
                total += chunk.text_len;
            }
            split_names(&text).flatten().for_each(|name| assert!(!name.is_empty()));
        }
        assert!(total <= limits.inflated_bytes, "{total} bytes were inflated");
    }
}

/// Compressed streams. Two streams in a row have the content twice, and written streams read back equal.
pub fn compressed(data: &[u8]) {
    let mut limits = Limits::default();
    (limits.stream_bytes, limits.window_bytes) = (1 << 22, 1 << 20);
    let input = Input::from_bytes("input", data.to_vec());
    let probe = input.look().expect("there is nothing to wait for");
    let Ok(content) = decompress(data, &limits) else { return };
    assert!(content.len() as u64 <= limits.stream_bytes);
    if probe.compression.is_none() {
        assert!(content == data, "what is not compressed is copied");
        return;
    }
    if let Ok(twice) = decompress(&data.repeat(2), &limits) {
        assert!(twice == content.repeat(2), "two streams in a row");
    }
    for compression in Compression::ALL.iter().copied().filter(|compression| compression.is_written()) {
        let stream = compression.compress(&content).expect("there is memory");
        if Compression::of(&content).is_none() {
            // The encoder's window is larger than the limit for hostile input here.
            (limits.inflate_ratio, limits.window_bytes) = (u64::MAX, Limits::default().window_bytes);
            assert!(decompress(&stream, &limits).is_ok_and(|found| found == content), "{compression}");
        }
    }
}

/// Any format: detected, decompressed, read, and written in every format.
pub fn any(data: &[u8]) {
    let Ok(data) = &decompress(data, &Limits::default()) else { return };
    for compat in MANNERS {
        let options = ReadOptions::new(compat);
        let Ok(mut reader) = families::open_reader(data, &options) else { continue };
        let Some(profile) = profiles::merged(reader.as_mut(), compat) else { continue };
        profiles::write_everywhere(&profile, compat);
    }
}

/// Prints an error, which may contain any text of the file.
pub fn print_error(error: &profbridge::Error) {
    assert!(!error.to_string().is_empty());
    assert!(!error.llvm_message().is_empty());
}

/// Requests all data of a finished reader except records.
pub fn ask_for_the_rest(reader: &mut dyn ProfileReader) {
    let _ = reader.symbols().map(drop);
    let _ = (reader.binary_ids(), reader.temporal(), reader.vtable_names(), reader.memprof());
    for warning in reader.take_warnings() {
        assert!(!warning.to_string().is_empty());
    }
}
