//! Memory profiles: readers must not panic, and valid profiles must survive writing and reading in every version and as
//! YAML.

use profbridge::indexed::{IndexedProfile, ReadOptions};
use profbridge::instr::Release;
use profbridge::memprof::indexed::{self, WriteOptions};
use profbridge::memprof::raw::RawMemProf;
use profbridge::memprof::report::{MemoryReport, ReportOptions};
use profbridge::memprof::yaml::{self, Comments};
use profbridge::memprof::{Field, MemoryProfile, MergeOptions, Merger, Schema, Source};
use profbridge::{Compat, Limits};

/// All formats: raw, YAML, and the section of an indexed profile.
pub fn read(data: &[u8]) {
    let mut limits = Limits::default();
    // Limit the decompressed size, so that the fuzzer stays fast.
    limits.inflated_bytes = 1 << 20;
    limits.context_depth = 256;
    let _ = RawMemProf::read(data, &limits);
    for compat in [Compat::Profbridge, Compat::Llvm22] {
        if let Ok(profile) = yaml::read(data, compat, &limits) {
            look_at(&profile, &limits);
        }
    }
    let section = IndexedProfile::read(data, ReadOptions::default()).ok().and_then(|profile| profile.memprof().ok()?);
    let (bytes, base) = section.as_ref().map_or((data, 0), |section| (section.bytes.as_slice(), section.offset));
    if let Ok(stored) = indexed::read(bytes, base, &limits) {
        look_at(&stored.profile, &limits);
    }
}

fn look_at(profile: &MemoryProfile, limits: &Limits) {
    MemoryReport::new(profile, &ReportOptions::default());
    let text = printed(profile);
    let again = yaml::read(&text, Compat::Profbridge, limits).expect("what is printed can be read");
    assert_eq!(facts(&again, profile.schema), facts(profile, profile.schema));
    for (release, version) in [(19, 0), (19, 1), (19, 2), (19, 3), (22, 2), (22, 3), (22, 4)] {
        let options = WriteOptions::new(Release(release), Some(version), true).expect("these versions are written");
        // A bucket of the hash table stores at most 65,535 items.
        let Ok(bytes) = indexed::write(profile, &options) else { continue };
        let stored = indexed::read(&bytes, 0, limits).expect("what is written can be read");
        assert_eq!(facts(&stored.profile, profile.schema), facts(profile, profile.schema), "version {version}");
    }
    merging(profile);
}

/// Adding a profile twice gives the same result in any order.
fn merging(profile: &MemoryProfile) {
    let sum = |profiles: [&MemoryProfile; 2]| {
        let mut merger = Merger::new(MergeOptions::default());
        profiles.into_iter().for_each(|profile| {
            merger.add_owned(profile.clone(), Source::Yaml, 1);
        });
        merger.into_merged().expect("there were inputs").profile
    };
    let nothing = MemoryProfile::default();
    let (one, other) = (sum([profile, &nothing]), sum([&nothing, profile]));
    assert_eq!(facts(&one, one.schema), facts(&other, other.schema));
}

fn printed(profile: &MemoryProfile) -> Vec<u8> {
    let mut without_data = profile.clone();
    // YAML cannot store names with invalid bytes.
    without_data.data_access = None;
    let mut text = Vec::new();
    yaml::write(&without_data, Comments::None, yaml::EmptySites::Printed, &mut text).expect("memory takes everything");
    text
}

/// Returns every site as a line, independent of the order of records. Leaves out callees, which some versions cannot
/// store.
fn facts(profile: &MemoryProfile, schema: Schema) -> Vec<String> {
    let stack = |handle| profile.stacks.frames_of(handle).collect::<Vec<_>>();
    let mut facts = Vec::new();
    for record in profile.records() {
        for site in &record.alloc_sites {
            let fields = schema.fields().filter(|field| *field != Field::AccessHistogram);
            let numbers: Vec<u64> = fields.map(|field| site.info.value(field)).collect();
            facts.push(format!("{:x} allocates {numbers:?} {:?}", record.function, stack(site.stack)));
        }
        for site in &record.call_sites {
            facts.push(format!("{:x} calls {:?}", record.function, stack(site.frames)));
        }
    }
    facts.sort();
    facts
}
