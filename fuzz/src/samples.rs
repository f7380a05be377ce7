//! Sample profiles: readers must not panic, and written profiles must read back equal.

use profbridge::Limits;
use profbridge::instr::Release;
use profbridge::sampleprof::{
    self, Encoding, Layout, MergeOptions, Merger, ReadOptions, Rules, SampleProfile, SampleProfileView, WriteOptions,
    overlap, show,
};

/// Prefixes that select a format, so that the fuzzer does not have to find them.
const BEGINNINGS: [&[u8]; 5] = [
    b"",
    &[0xff, 0xe5, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 0x67],
    &[0x84, 0xe4, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 0x67],
    &[0x82, 0xe4, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 0x67],
    b"adcg*704\0\0\0\0",
];

fn options(release: u32, every_release: bool) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.rules = Rules::of(Release(release));
    options.every_release = every_release;
    options.limits = Limits::default();
    // Limit the decompressed size, so that small files stay small.
    options.limits.inflated_bytes = 1 << 20;
    options
}

/// Reads any bytes with the rules of several releases.
pub fn read(data: &[u8]) {
    let whole = data.split_first().map(|(first, rest)| {
        let beginning = BEGINNINGS[usize::from(*first) % BEGINNINGS.len()];
        [beginning, rest].concat()
    });
    for bytes in [Some(data.to_vec()), whole].into_iter().flatten() {
        for (release, every_release) in [(14, false), (17, true), (22, false), (23, true)] {
            let options = options(release, every_release);
            let _ = sampleprof::describe_sections(&bytes, &options);
            view(&bytes, &options);
            match sampleprof::read(&bytes, &options) {
                Ok(profile) => use_profile(profile, options.rules),
                Err(error) => assert!(!sampleprof::llvm_message(&error).is_empty()),
            }
        }
    }
}

/// Reads single functions.
fn view(bytes: &[u8], options: &ReadOptions) {
    let Ok(Some(view)) = SampleProfileView::open(bytes, options) else { return };
    let _ = view.check_offsets();
    for name in view.names().iter().take(8) {
        if let Ok(records) = view.function(&name.to_bytes()) {
            show::write_records(view.names(), &records, options.rules, &mut Vec::new()).expect("memory can be written");
        }
    }
}

/// Uses a profile in all ways except writing.
fn use_profile(profile: SampleProfile, rules: Rules) {
    let loaded = profile.clone().in_container_order(rules);
    let summary = loaded.compute_summary(rules);
    let mut out = Vec::new();
    show::write_functions(&loaded, rules, &mut out).expect("memory can be written");
    show::write_json(&loaded, rules, usize::MAX, &mut out).expect("memory can be written");
    show::write_hot_functions(&loaded, &summary, 3, &mut out).expect("memory can be written");
    let compared = overlap::Compared { profile: &loaded, summary: &summary };
    overlap::compare(compared, compared, &overlap::OverlapOptions::default()).expect("the cutoff is in every summary");
    for layout in [Layout::Flat, Layout::Nest { merged_base: false }, Layout::Nest { merged_base: true }] {
        let mut options = MergeOptions::of(rules);
        options.layout = Some(layout);
        let mut merger = Merger::new(options);
        merger.add_owned(profile.clone(), 3, &mut |_, _| {}).expect("one input has one kind");
        let merged = merger.into_merged().expect("layouts cannot fail");
        merged.profile.compute_summary(rules);
    }
}

/// Writes a profile in every encoding that can store it, and reads it back.
pub fn write(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let beginning = BEGINNINGS[usize::from(*first) % BEGINNINGS.len()];
    let read_options = options(22, true);
    let Ok(profile) = sampleprof::read(&[beginning, rest].concat(), &read_options) else { return };
    // Text cannot store names with line ends and similar characters. The other encodings store only a name and numbers.
    let binary = |encoding| {
        let mut options = WriteOptions::default();
        options.encoding = encoding;
        options.compress = first & 0x40 != 0;
        options.use_md5 = first & 0x80 != 0;
        options
    };
    for encoding in [Encoding::Text, Encoding::Binary, Encoding::ExtBinary] {
        let options = binary(encoding);
        let Ok(bytes) = sampleprof::write(&profile, &options) else { continue };
        if encoding == Encoding::Text {
            let _ = sampleprof::read(&bytes, &read_options);
            continue;
        }
        let found = sampleprof::read(&bytes, &read_options).expect("what was written can be read");
        assert_eq!(found.functions.len(), profile.functions.len(), "{encoding}");
        // Metadata is in the order of the input, and names that became hashes have another order. The second output is
        // stable.
        let again = sampleprof::write(&found, &options).expect("it was written before");
        let found = sampleprof::read(&again, &read_options).expect("what was written can be read");
        let third = sampleprof::write(&found, &options).expect("it was written before");
        let found = sampleprof::read(&third, &read_options).expect("what was written can be read");
        assert_eq!(sampleprof::write(&found, &options).expect("it was written before"), third, "{encoding}");
    }
}
