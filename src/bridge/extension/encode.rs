//! Writes a profile as JSON, function by function, without copying it.

use super::{Approximations, Extension};
use crate::ascii::to_hex;
use crate::model::{
    FunctionTable, FunctionView, MemProfSection, Profile, ProfileKind, RecordView, TemporalProfile, TemporalTrace,
    ValueKind, ValueSites,
};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

impl Extension<'_> {
    /// Returns the value of the member, without spaces.
    pub(crate) fn write(&self) -> Vec<u8> {
        let json = Json { approximate: &self.approximate, profile: self.profile.as_deref(), checksum: self.checksum };
        serde_json::to_vec(&json).expect("the extension has string keys only, and memory takes everything")
    }
}

struct Json<'a> {
    approximate: &'a Approximations,
    profile: Option<&'a Profile>,
    checksum: Option<u64>,
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        // Readers of version 1 do not know the checksum.
        map.serialize_entry("version", &if self.checksum.is_some() { 2 } else { 1 })?;
        if let Some(checksum) = self.checksum {
            map.serialize_entry("sections", &to_hex(&checksum.to_be_bytes()))?;
        }
        if !self.approximate.is_empty() {
            map.serialize_entry("approximate", self.approximate)?;
        }
        if let Some(profile) = self.profile {
            map.serialize_entry("kind", &Kind(profile.kind))?;
            map.serialize_entry("functions", &Functions(&profile.functions))?;
            if !profile.binary_ids.is_empty() {
                let ids: Vec<String> = profile.binary_ids.iter().map(|id| to_hex(id)).collect();
                map.serialize_entry("binaryIds", &ids)?;
            }
            if profile.temporal != TemporalProfile::default() {
                map.serialize_entry("temporal", &Temporal(&profile.temporal))?;
            }
            if !profile.vtable_names.is_empty() {
                let names: Vec<Name<'_>> = profile.vtable_names.iter().map(|name| Name(name)).collect();
                map.serialize_entry("vtableNames", &names)?;
            }
            if let Some(section) = &profile.memprof {
                map.serialize_entry("memprof", &MemProf(section))?;
            }
        }
        map.end()
    }
}

/// Returns a number, as a string if it exceeds Java's `long`.
struct Number(u64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(self.0) {
            Ok(number) => serializer.serialize_i64(number),
            Err(_) => serializer.collect_str(&self.0),
        }
    }
}

fn numbers<S: Serializer>(serializer: S, values: &[u64]) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|value| Number(*value)))
}

struct Numbers<'a>(&'a [u64]);

impl Serialize for Numbers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        numbers(serializer, self.0)
    }
}

struct Name<'a>(&'a [u8]);

impl Serialize for Name<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Ok(text) = std::str::from_utf8(self.0) {
            return serializer.serialize_str(text);
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("hex", &to_hex(self.0))?;
        map.end()
    }
}

struct Kind(ProfileKind);

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut rest = self.0;
        for word in self.0.words() {
            list.serialize_element(word)?;
            rest = ProfileKind::from_word(word).map_or(rest, |bit| rest.without(bit));
        }
        if !rest.is_none() {
            list.serialize_element(&Number(rest.bits()))?;
        }
        list.end()
    }
}

struct Functions<'a>(&'a FunctionTable);

impl Serialize for Functions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Function))
    }
}

struct Function<'a>(FunctionView<'a>);

impl Serialize for Function<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("name", &Name(self.0.name()))?;
        map.serialize_entry("records", &Records(self.0))?;
        map.end()
    }
}

struct Records<'a>(FunctionView<'a>);

impl Serialize for Records<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.records().map(Record))
    }
}

struct Record<'a>(RecordView<'a>);

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("hash", &Number(self.0.func_hash))?;
        map.serialize_entry("counters", &Numbers(&self.0.counters.to_words()))?;
        if !self.0.bitmap.is_empty() {
            map.serialize_entry("bitmap", &to_hex(self.0.bitmap))?;
        }
        if !self.0.uniformity.bits.is_empty() {
            map.serialize_entry("uniformity", &to_hex(&self.0.uniformity.bits))?;
        }
        if !self.0.uniformity.counts.is_empty() {
            map.serialize_entry("uniformCounts", &Numbers(&self.0.uniformity.counts))?;
        }
        if self.0.has_value_sites() {
            map.serialize_entry("values", &Values(self.0))?;
        }
        map.end()
    }
}

struct Values<'a>(RecordView<'a>);

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kinds = ValueKind::EACH.into_iter().filter(|kind| !self.0.sites(*kind).is_empty());
        serializer.collect_seq(kinds.map(|kind| SitesOfKind(kind, self.0.sites(kind))))
    }
}

struct SitesOfKind<'a>(ValueKind, &'a ValueSites);

impl Serialize for SitesOfKind<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("kind", &self.0.number())?;
        let flat = |site: &[crate::model::ValueCount]| -> Vec<Number> {
            site.iter().flat_map(|value| [Number(value.value), Number(value.count)]).collect()
        };
        let sites: Vec<Vec<Number>> = self.1.iter().map(flat).collect();
        map.serialize_entry("sites", &sites)?;
        map.end()
    }
}

struct Temporal<'a>(&'a TemporalProfile);

impl Serialize for Temporal<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("streamSize", &Number(self.0.stream_size))?;
        let traces: Vec<Trace<'_>> = self.0.traces.iter().map(Trace).collect();
        map.serialize_entry("traces", &traces)?;
        map.end()
    }
}

struct Trace<'a>(&'a TemporalTrace);

impl Serialize for Trace<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("weight", &Number(self.0.weight))?;
        map.serialize_entry("functions", &Numbers(&self.0.functions))?;
        map.end()
    }
}

struct MemProf<'a>(&'a MemProfSection);

impl Serialize for MemProf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("indexedVersion", &self.0.indexed_version)?;
        map.serialize_entry("offset", &Number(self.0.offset))?;
        map.serialize_entry("bytes", &to_hex(&self.0.bytes))?;
        map.end()
    }
}
