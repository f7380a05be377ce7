//! Tests with the files that several releases of llvm-profdata created from the texts in `testdata/sampleprof` (see
//! `make.sh` there): read, and written again.

use profbridge::instr::Release;
use profbridge::sampleprof::{
    self, Encoding, Layout, MergeOptions, Merger, ReadOptions, Rules, SampleProfile, WriteOptions, read, show, write,
};
use std::path::Path;

const RELEASES: [u32; 4] = [14, 16, 19, 22];
const TEXTS: [&str; 4] = ["plain", "probes", "contexts", "context-probes"];

fn bytes(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/sampleprof").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn options(release: u32) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.rules = Rules::of(Release(release));
    options
}

/// Returns the profile after a merge without other inputs.
fn merged(name: &str, release: u32) -> SampleProfile {
    let profile = read(&bytes(name), &options(release)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut merger = Merger::new(MergeOptions::of(Rules::of(Release(release))));
    merger.add_owned(profile, 1, &mut |title, fault| panic!("{}: {fault}", title.escape_ascii())).unwrap();
    merger.into_merged().unwrap().profile
}

fn encoding(release: u32, encoding: Encoding) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.rules = Rules::of(Release(release));
    options.encoding = encoding;
    options
}

#[track_caller]
fn assert_written(profile: &SampleProfile, options: &WriteOptions, name: &str) {
    let written = write(profile, options).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(written == bytes(name), "{name}: {} bytes, expected {}", written.len(), bytes(name).len());
}

#[test]
fn texts_become_the_bytes_of_each_release() {
    for release in RELEASES {
        for text in TEXTS {
            let mut profile = merged(&format!("{text}.prof"), release);
            assert_written(&profile, &encoding(release, Encoding::Text), &format!("{text}-{release}.text"));
            let mut hashed = encoding(release, Encoding::ExtBinary);
            (hashed.use_md5, hashed.compress) = (true, true);
            assert_written(&profile, &hashed, &format!("{text}-{release}.md5"));
            let symbols = [&b"alone"[..], b"main", b"never_sampled"].map(<[u8]>::to_vec);
            profile.symbols = Some(symbols.into_iter().collect());
            assert_written(&profile, &encoding(release, Encoding::ExtBinary), &format!("{text}-{release}.ext"));
        }
        let plain = merged("plain.prof", release);
        assert_written(&plain, &encoding(release, Encoding::Binary), &format!("plain-{release}.binary"));
    }
    let plain = merged("plain.prof", 16);
    assert_written(&plain, &encoding(16, Encoding::CompactBinary), "plain-16.compact");
    let mut split = encoding(22, Encoding::ExtBinary);
    split.split_layout = true;
    assert_written(&merged("plain.prof", 22), &split, "plain-22.split");
}

#[test]
fn golden_files_of_each_release_round_trip() {
    for release in RELEASES {
        for text in TEXTS {
            let read_back = merged(&format!("{text}-{release}.ext"), release);
            assert_written(&read_back, &encoding(release, Encoding::Text), &format!("{text}-{release}.text"));
            assert_eq!(read_back.symbols.unwrap().len(), 3);
        }
        for name in [format!("plain-{release}.binary"), "plain-22.split".to_string()] {
            assert_written(&merged(&name, release), &encoding(release, Encoding::Text), "plain-22.text");
        }
    }
}

#[test]
fn hashes_stay_hashes_and_lead_to_the_same_functions() {
    for name in ["plain-22.md5", "plain-14.md5", "plain-16.compact"] {
        let (text, hashed) = (merged("plain.prof", 22), merged(name, 22));
        assert_eq!(hashed.functions.len(), text.functions.len());
        let mut merger = Merger::new(MergeOptions::default());
        merger.add_owned(text, 1, &mut |_, fault| panic!("{fault}")).unwrap();
        merger.add_owned(hashed, 1, &mut |_, fault| panic!("{fault}")).unwrap();
        assert_eq!(merger.len(), 4, "{name}: the names and their hashes are the same functions");
    }
}

#[test]
fn listings_are_those_of_llvm_profdata() {
    for text in TEXTS {
        let rules = Rules::of(Release(22));
        let profile = read(&bytes(&format!("{text}.prof")), &options(22)).unwrap();
        let mut out = Vec::new();
        show::write_functions(&profile.in_container_order(rules), rules, &mut out).unwrap();
        assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&bytes(&format!("{text}-22.show"))));
    }
}

#[test]
fn contexts_are_nested_and_flattened() {
    for (layout, name) in
        [(Layout::Nest { merged_base: false }, "contexts-22.nested"), (Layout::Flat, "contexts-22.flat")]
    {
        let profile = read(&bytes("contexts.prof"), &options(22)).unwrap();
        let mut options = MergeOptions::default();
        options.layout = Some(layout);
        let mut merger = Merger::new(options);
        merger.add_owned(profile, 1, &mut |_, fault| panic!("{fault}")).unwrap();
        assert_written(&merger.into_merged().unwrap().profile, &encoding(22, Encoding::Text), name);
    }
}

#[test]
fn sections_are_described_in_llvms_words() {
    let said = sampleprof::describe_sections(&bytes("plain-22.md5"), &options(22)).unwrap();
    let first = said.lines().next().unwrap();
    assert!(first.starts_with("ProfileSummarySection - Offset: 242, Size: "), "{first}");
    assert!(first.ends_with("Flags: {compressed}"), "{first}");
    assert!(said.contains("Flags: {compressed,fixlenmd5}"), "{said}");
}
