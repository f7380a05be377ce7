//! Laws of all sample profiles.

use crate::generate::{Shape, any_text, text};
use profbridge::instr::Release;
use profbridge::sampleprof::{
    Encoding, MAX_INLINE_DEPTH, MergeOptions, Merger, ReadOptions, Rules, SampleProfile, SampleProfileView,
    WriteOptions, read, write,
};
use proptest::prelude::*;

fn encode(profile: &SampleProfile, encoding: Encoding) -> Vec<u8> {
    let mut options = WriteOptions::default();
    options.encoding = encoding;
    write(profile, &options).unwrap()
}

fn parsed(bytes: &[u8]) -> SampleProfile {
    read(bytes, &ReadOptions::default()).unwrap()
}

fn merged(texts: &[&str], weight: u64) -> String {
    let mut merger = Merger::new(MergeOptions::of(Rules::of(Release(22))));
    for text in texts {
        merger.add_owned(parsed(text.as_bytes()), weight, &mut |_, _| {}).unwrap();
    }
    String::from_utf8(encode(&merger.into_merged().unwrap().profile, Encoding::Text)).unwrap()
}

const PLAIN: Shape = Shape { contexts: false, checksums: false, attributes: false };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_encoding_reads_back_equal((shape, text) in any_text()) {
        let profile = parsed(text.as_bytes());
        let expected = encode(&profile, Encoding::Text);
        prop_assert_eq!(&encode(&parsed(&expected), Encoding::Text), &expected);
        let keeps_attributes = shape.contexts || !shape.attributes
            || profile.stated.preinlined == Some(true);
        if keeps_attributes {
            let ext = encode(&profile, Encoding::ExtBinary);
            prop_assert_eq!(&encode(&parsed(&ext), Encoding::Text), &expected);
        }
        if shape == PLAIN {
            let binary = encode(&profile, Encoding::Binary);
            prop_assert_eq!(&encode(&parsed(&binary), Encoding::Text), &expected);
        }
    }

    #[test]
    fn plain_merges_do_not_mind_the_order(a in text(PLAIN), b in text(PLAIN), c in text(PLAIN)) {
        let sum = merged(&[&a, &b, &c], 1);
        prop_assert_eq!(&merged(&[&c, &a, &b], 1), &sum);
        let partial = merged(&[&a, &b], 1);
        prop_assert_eq!(&merged(&[&partial, &c], 1), &sum);
        prop_assert_eq!(merged(&[&a, &a, &a], 1), merged(&[&a], 3));
    }

    #[test]
    fn single_functions_are_those_of_the_whole((shape, text) in any_text(), use_md5: bool, compress: bool, split: bool) {
        let profile = parsed(text.as_bytes());
        let mut options = WriteOptions::default();
        (options.use_md5, options.compress, options.split_layout) = (use_md5, compress, split && !shape.contexts);
        let file = write(&profile, &options).unwrap();
        let whole = parsed(&file);
        let view = SampleProfileView::open(&file, &ReadOptions::default()).unwrap().expect("there is a table");
        view.check_offsets().unwrap();
        prop_assert_eq!(view.kind(), whole.kind());
        prop_assert_eq!(view.summary(), whole.summary.as_ref());
        let mut seen = 0;
        for name in profile.names.iter() {
            let found = view.function(&name.to_bytes()).unwrap();
            let expected: Vec<_> =
                whole.functions.iter().filter(|record| whole.name(record.name).hash() == name.hash()).collect();
            prop_assert_eq!(found.len(), expected.len());
            // Both number the names in file order.
            prop_assert!(found.iter().all(|record| expected.contains(&record)));
            seen += found.len();
        }
        prop_assert_eq!(seen, whole.functions.len());
        prop_assert!(view.function(b"missing").unwrap().is_empty());
    }

    #[test]
    fn damaged_files_are_read_or_refused((_, text) in any_text(), at in any::<prop::sample::Index>(), byte: u8) {
        let profile = parsed(text.as_bytes());
        for encoding in [Encoding::Text, Encoding::ExtBinary] {
            let mut bytes = encode(&profile, encoding);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = read(&bytes, &ReadOptions::default());
            bytes.truncate(at);
            let _ = read(&bytes, &ReadOptions::default());
        }
    }
}

/// Returns nested inlined callees.
fn nested(depth: usize) -> String {
    let mut text = "f:1:1\n".to_string();
    (1..=depth).for_each(|depth| text += &format!("{}1: g:1\n", " ".repeat(depth)));
    text + &format!("{}2: 1\n", " ".repeat(depth + 1))
}

#[test]
fn deep_inlining_is_read_up_to_a_bound_and_never_further() {
    let deep = nested(MAX_INLINE_DEPTH - 1);
    let profile = parsed(deep.as_bytes());
    for encoding in [Encoding::Text, Encoding::Binary, Encoding::ExtBinary] {
        let again = parsed(&encode(&profile, encoding));
        assert_eq!(encode(&again, Encoding::Text), deep.as_bytes());
    }
    let mut merger = Merger::new(MergeOptions::default());
    merger.add_owned(profile.clone(), 2, &mut |_, _| {}).unwrap();
    merger.add_owned(profile, 3, &mut |_, _| {}).unwrap();
    assert_eq!(merger.summary().max, 5);
    let error = read(nested(MAX_INLINE_DEPTH + 2).as_bytes(), &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("depth of inlined callees is 1001, the limit is 1000"), "{error}");
}
