//! The laws of merging: what may not depend on order, grouping or threads.

use super::profiles::{Content, Feed, content};
use profbridge::instr::{Profile, RecordRef, Release};
use profbridge::merge::{MergeOptions, Merger};
use profbridge::{indexed, text};

/// Three profiles merged in several ways.
pub fn laws(data: &[u8]) {
    let mut feed = Feed::new(data);
    let release = Release([9, 14, 16, 19, 22, 23][feed.below(6)]);
    let profiles = [feed.profile(), feed.profile(), feed.profile()];
    let [first, second, third] = &profiles;
    let in_order = merger(release, &profiles);
    let Some(in_order) = in_order else { return };
    let events = in_order.order_events();
    let expected = in_order.finish();

    // Grouping: (first) + (second, third) is all three at once.
    let parts = merger(release, [first]).zip(merger(release, [second, third]));
    let Some((mut left, right)) = parts else { return };
    if !left.join(right).any() && !events.any() {
        let joined = left.finish();
        assert_eq!(said(&joined), said(&expected), "joined parts say something else");
        assert_eq!(indexed_bytes(&joined, release), indexed_bytes(&expected, release), "joined parts give other bytes");
        assert_eq!(text_bytes(&joined, release), text_bytes(&expected, release), "joined parts give another text");
    }

    // Order: without events the last first says the same.
    let reversed = merger(release, [third, second, first]);
    if let Some(reversed) = reversed.filter(|reversed| !reversed.order_events().any() && !events.any()) {
        let reversed = reversed.finish();
        assert_eq!(reversed.functions.records_len(), expected.functions.records_len());
        for function in expected.functions.iter() {
            let other = reversed.functions.find(function.name()).expect("the same functions");
            for record in function.records() {
                let same = other.records().find(|other| other.func_hash == record.func_hash);
                // Of two pseudo counts only the marks combine; the rest stays the first record's.
                let compared = if record.pseudo_count().is_some() { 1 } else { record.counters.len() };
                let same = same.expect("the same records").counters;
                assert_eq!(same.len(), record.counters.len());
                assert!(same.iter().take(compared).eq(record.counters.iter().take(compared)));
            }
        }
    }

    // A weight is that many times the same input.
    let (mut weighted, mut repeated) = (Merger::new(options(release)), Merger::new(options(release)));
    add(&mut weighted, first, 3);
    (0..3).for_each(|_| add(&mut repeated, first, 1));
    if !weighted.order_events().any() && !repeated.order_events().any() {
        assert_eq!(said(&weighted.finish()).0, said(&repeated.finish()).0, "three times is not thrice");
    }
}

fn options(release: Release) -> MergeOptions {
    let mut options = MergeOptions::default();
    options.release = release;
    options.keep_vtable_names = true;
    options
}

/// All profiles in one merger; `None` when their kinds conflict.
fn merger<'p>(release: Release, profiles: impl IntoIterator<Item = &'p Profile>) -> Option<Merger> {
    let mut merger = Merger::new(options(release));
    for profile in profiles {
        merger.begin_input(profile.kind).ok()?;
        add(&mut merger, profile, 1);
    }
    Some(merger)
}

fn add(merger: &mut Merger, profile: &Profile, weight: u64) {
    for function in profile.functions.iter() {
        for record in function.records() {
            merger.add_record(RecordRef { name: function.name(), name_ref: None, text: None, record }, weight);
        }
    }
    merger.add_binary_ids(profile.binary_ids.iter().cloned());
    merger.add_traces(profile.temporal.clone());
    merger.add_vtable_names(profile.vtable_names.iter().cloned());
}

/// What a merged profile says; traces stand apart since a weight is not a repetition for them.
fn said(profile: &Profile) -> (Content, usize) {
    let mut without_traces = profile.clone();
    let traces = without_traces.temporal.traces.len();
    without_traces.temporal = Default::default();
    (content(&without_traces, |_, value| value), traces)
}

fn indexed_bytes(profile: &Profile, release: Release) -> Vec<u8> {
    indexed::write(profile, &indexed::WriteOptions::for_release(release)).expect("merged profiles can be written")
}

fn text_bytes(profile: &Profile, release: Release) -> Vec<u8> {
    text::write(profile, &text::TextOptions::new(profbridge::Compat::Profbridge).release(release)).bytes
}
