//! What decides whether two records can be added up before it is known what
//! they will be added to.

use crate::sampleprof::names::Names;
use crate::sampleprof::record::FunctionRecord;
use xxhash_rust::xxh3::xxh3_64;

/// See the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Shape {
    /// No checksum anywhere.
    Plain,
    /// Checksums everywhere; this is a hash of them, and of where they stand.
    Checked(u64),
    /// Some have one, some have none: never added up.
    Whole,
}

impl Shape {
    pub(super) fn of(record: &FunctionRecord, names: &Names) -> Self {
        match count(record) {
            (_, 0) => Self::Plain,
            (0, _) if record.call_sites.is_empty() => Self::Checked(record.checksum),
            (0, _) => {
                let mut words = Vec::new();
                describe(record, names, &mut words);
                Self::Checked(xxh3_64(&words))
            }
            _ => Self::Whole,
        }
    }
}

/// Records without and with a checksum.
fn count(record: &FunctionRecord) -> (usize, usize) {
    let own = if record.checksum == 0 { (1, 0) } else { (0, 1) };
    record.call_sites.iter().fold(own, |(without, with), site| {
        let (more_without, more_with) = count(&site.callee);
        (without + more_without, with + more_with)
    })
}

fn describe(record: &FunctionRecord, names: &Names, words: &mut Vec<u8>) {
    words.extend_from_slice(&record.checksum.to_le_bytes());
    words.extend_from_slice(&(record.call_sites.len() as u64).to_le_bytes());
    // Callees of one place stand in the order of their numbers, which differs between profiles.
    let mut sites: Vec<_> = record.call_sites.iter().collect();
    sites.sort_by(|a, b| a.location.cmp(&b.location).then_with(|| names.compare(a.callee.name, b.callee.name)));
    for site in sites {
        words.extend_from_slice(&site.location.line.to_le_bytes());
        words.extend_from_slice(&site.location.discriminator.to_le_bytes());
        let name = names.get(site.callee.name).to_bytes();
        words.extend_from_slice(&xxh3_64(&name).to_le_bytes());
        describe(&site.callee, names, words);
    }
}
