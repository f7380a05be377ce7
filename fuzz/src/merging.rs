//! Laws of merging: the result does not depend on order, grouping or threads.

use super::profiles::{ByteSource, Content, content};
use profbridge::bytes::{Encoding, Endian, PointerWidth};
use profbridge::families::partial::{Finished, Partial, PartialOptions};
use profbridge::families::{FailureMode, MergeReport, OutputFormat, WriteOptions, encode, merge_files};
use profbridge::input::{Family, Input};
use profbridge::instr::{MergeOptions, Merger};
use profbridge::instr::{Profile, RecordRef, Release};

/// Three profiles merged in several ways.
pub fn laws(data: &[u8]) {
    let mut feed = ByteSource::new(data);
    let release = Release([9, 14, 16, 19, 22, 23][feed.below(6)]);
    let profiles = [feed.profile(), feed.profile(), feed.profile()];
    parts(release, &profiles, &mut feed);
    let [first, second, third] = &profiles;

    // If no data is dropped, the reverse order gives the same result.
    let in_order = sum(release, [first, second, third]).zip(sum(release, [third, second, first]));
    if let Some((expected, reversed)) = in_order {
        assert_eq!(reversed.functions.records_len(), expected.functions.records_len());
        for function in expected.functions.iter() {
            let other = reversed.functions.find(function.name()).expect("the same functions");
            for record in function.records() {
                let same = other.records().find(|other| other.func_hash == record.func_hash);
                // Two pseudo counts combine only their marks; the other counters are those of the first record.
                let compared = if record.pseudo_count().is_some() { 1 } else { record.counters.len() };
                let same = same.expect("the same records").counters;
                assert_eq!(same.len(), record.counters.len());
                assert!(same.iter().take(compared).eq(record.counters.iter().take(compared)));
            }
        }
    }

    // A weight of N equals N inputs.
    let (mut weighted, mut repeated) = (Merger::new(options(release)), Merger::new(options(release)));
    let all_fit = add(&mut weighted, first, 3) & (0..3).all(|_| add(&mut repeated, first, 1));
    if all_fit {
        assert_eq!(
            without_traces(&weighted.into_profile()),
            without_traces(&repeated.into_profile()),
            "three times is not thrice"
        );
    }
}

/// Partial merges of any two groups of the inputs give the bytes of one merge.
fn parts(release: Release, profiles: &[Profile], feed: &mut ByteSource<'_>) {
    let mut inputs = Vec::new();
    for (number, profile) in profiles.iter().enumerate() {
        let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version: 11 };
        let formats = [
            OutputFormat::Indexed { release: Release(23), version: 14 },
            OutputFormat::Raw { encoding },
            OutputFormat::Text { release: Release(22) },
        ];
        let mut write = WriteOptions::default();
        write.format = formats[feed.below(formats.len())];
        // Some formats cannot store every name.
        let Ok(file) = encode(profile, &write) else { return };
        inputs.push(Input::from_bytes(number.to_string(), file.bytes));
    }
    let mut options = PartialOptions::default();
    options.instr.release = release;
    options.instr.keep_vtable_names = true;
    options.instr.failure_mode = FailureMode::Warn;
    let whole = merge_files(&inputs, &options.instr, &mut |_, _| {}).expect("bad inputs are reported");
    let (first, second) = inputs.split_at(feed.below(inputs.len() + 1));
    let part = |inputs| Partial::of(inputs, Family::Instr, &options).expect("bad inputs are reported");
    let mut all = part(first);
    all.append(part(second)).expect("parts of one family");
    let Ok(Finished::Instr(grouped)) = all.finish(&options) else { panic!("parts are not merged") };
    let bytes = |report: &MergeReport, format| {
        let mut write = WriteOptions::default();
        write.format = format;
        encode(&report.profile, &write).map(|file| file.bytes).ok()
    };
    for format in [OutputFormat::for_release(release), OutputFormat::Text { release }] {
        assert_eq!(bytes(&grouped, format), bytes(&whole, format), "parts give other bytes: {format:?}");
    }
}

fn options(release: Release) -> MergeOptions {
    let mut options = MergeOptions::default();
    options.release = release;
    options.keep_vtable_names = true;
    options
}

/// Merges all profiles. Returns `None` if data was dropped.
fn sum(release: Release, profiles: [&Profile; 3]) -> Option<Profile> {
    let mut merger = Merger::new(options(release));
    let mut all_fit = true;
    for profile in profiles {
        merger.begin_input(profile.kind).ok()?;
        all_fit &= add(&mut merger, profile, 1);
    }
    all_fit.then(|| merger.into_profile())
}

/// Adds a profile. Returns true if all of it is valid.
fn add(merger: &mut Merger, profile: &Profile, weight: u64) -> bool {
    let mut all_fit = true;
    for function in profile.functions.iter() {
        for record in function.records() {
            let incoming = RecordRef { name: function.name(), name_ref: None, text: None, record };
            all_fit &= merger.add_record(incoming, weight).error.is_none();
        }
    }
    merger.add_binary_ids(profile.binary_ids.iter().cloned());
    merger.add_traces(profile.temporal.clone());
    merger.add_vtable_names(profile.vtable_names.iter().cloned());
    all_fit
}

/// Returns the content of a merged profile without its traces, because a weight does not repeat traces.
fn without_traces(profile: &Profile) -> Content {
    let mut without_traces = profile.clone();
    without_traces.temporal = Default::default();
    content(&without_traces, |_, value| value)
}
