//! The model in serde's terms, with the feature `serde`.
//!
//! Human-readable formats have names and words instead of bytes and bits:
//!
//! | what | in formats for people | in others |
//! |---|---|---|
//! | a name | text if it is UTF-8, otherwise its bytes as numbers | bytes |
//! | [`ProfileKind`] | what it displays as, `ir\|entry-first` | the bits |
//! | [`FunctionTable`] | a list of `{name, records}` in the table's order | the same |
//! | [`FunctionRecord`] | its fields; what it has nothing of is left out | all fields |
//! | [`ValueSites`] | a list of sites, each a list of values | the same |

use crate::model::{
    FunctionRecord, FunctionTable, ProfileKind, RecordView, Uniformity, ValueCount, ValueKind, ValueSites,
};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// A name: text where that is possible and of use.
#[derive(Debug)]
pub(crate) struct Name<B>(pub(crate) B);

impl<B: AsRef<[u8]>> Serialize for Name<B> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = self.0.as_ref();
        match std::str::from_utf8(bytes) {
            Ok(text) if serializer.is_human_readable() => serializer.serialize_str(text),
            _ => serializer.serialize_bytes(bytes),
        }
    }
}

impl<'de> Deserialize<'de> for Name<Vec<u8>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(NameVisitor)
        } else {
            deserializer.deserialize_byte_buf(NameVisitor)
        }
    }
}

struct NameVisitor;

impl<'de> Visitor<'de> for NameVisitor {
    type Value = Name<Vec<u8>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name: text, or bytes")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Name(text.as_bytes().to_vec()))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Name(bytes.to_vec()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = list.next_element()? {
            bytes.push(byte);
        }
        Ok(Name(bytes))
    }
}

/// A name, for `serde(with)`.
pub(crate) mod name {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(name: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        Name(name).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        Name::<Vec<u8>>::deserialize(deserializer).map(|name| name.0)
    }
}

/// Lists of names, for `serde(with)`.
pub(crate) mod names {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(names: &[Vec<u8>], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(names.iter().map(Name))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<u8>>, D::Error> {
        Ok(Vec::<Name<Vec<u8>>>::deserialize(deserializer)?.into_iter().map(|name| name.0).collect())
    }
}

impl Serialize for ProfileKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { self.bits().serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for ProfileKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return String::deserialize(deserializer)?.parse().map_err(D::Error::custom);
        }
        u64::deserialize(deserializer).map(Self::from_bits)
    }
}

impl Serialize for ValueSites {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl<'de> Deserialize<'de> for ValueSites {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sites = Vec::<Vec<ValueCount>>::deserialize(deserializer)?;
        if u32::try_from(sites.iter().map(Vec::len).sum::<usize>()).is_err() {
            return Err(D::Error::custom("a function has fewer than 2^32 values"));
        }
        Ok(sites.iter().map(Vec::as_slice).collect())
    }
}

impl Serialize for FunctionRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sites: BTreeMap<ValueKind, &ValueSites> =
            ValueKind::EACH.map(|kind| (kind, self.sites(kind))).into_iter().filter(|(_, s)| !s.is_empty()).collect();
        // Formats that do not name fields need all of them.
        let all = !serializer.is_human_readable();
        let mut record = serializer.serialize_struct("FunctionRecord", 5)?;
        record.serialize_field("func_hash", &self.func_hash)?;
        record.serialize_field("counters", &self.counters)?;
        if all || !self.bitmap.is_empty() {
            record.serialize_field("bitmap", &self.bitmap)?;
        }
        if all || !self.uniformity.is_empty() {
            record.serialize_field("uniformity", &self.uniformity)?;
        }
        if all || !sites.is_empty() {
            record.serialize_field("value_sites", &sites)?;
        }
        record.end()
    }
}

impl<'de> Deserialize<'de> for FunctionRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename = "FunctionRecord")]
        struct Fields {
            func_hash: u64,
            counters: Vec<u64>,
            #[serde(default)]
            bitmap: Vec<u8>,
            #[serde(default)]
            uniformity: Uniformity,
            #[serde(default)]
            value_sites: BTreeMap<ValueKind, ValueSites>,
        }
        let fields = Fields::deserialize(deserializer)?;
        let mut record = Self::new(fields.func_hash, fields.counters);
        (record.bitmap, record.uniformity) = (fields.bitmap, fields.uniformity);
        for (kind, sites) in fields.value_sites {
            *record.sites_mut(kind) = sites;
        }
        Ok(record)
    }
}

/// A function with its records, as a table has it.
#[derive(Serialize)]
#[serde(rename = "Function")]
struct Written<'a> {
    name: Name<&'a [u8]>,
    records: Vec<FunctionRecord>,
}

#[derive(Deserialize)]
#[serde(rename = "Function")]
struct Read {
    name: Name<Vec<u8>>,
    records: Vec<FunctionRecord>,
}

impl Serialize for FunctionTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|function| Written {
            name: Name(function.name()),
            records: function.records().map(RecordView::to_record).collect(),
        }))
    }
}

impl<'de> Deserialize<'de> for FunctionTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(TableVisitor)
    }
}

struct TableVisitor;

impl<'de> Visitor<'de> for TableVisitor {
    type Value = FunctionTable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of functions, each with its records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<FunctionTable, A::Error> {
        let mut table = FunctionTable::new();
        while let Some(Read { name: Name(name), records }) = list.next_element()? {
            if table.find(&name).is_some() {
                return Err(A::Error::custom(format!("{} occurs twice", name.escape_ascii())));
            }
            let function = table.intern(&name);
            for record in &records {
                if table.find_record(function, record.func_hash).is_some() {
                    let name = name.escape_ascii();
                    return Err(A::Error::custom(format!("{name} has two records of FuncHash {}", record.func_hash)));
                }
                table.push_record(function, record);
            }
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Profile;

    fn profile() -> Profile {
        let mut profile = Profile { kind: ProfileKind::IR | ProfileKind::ENTRY_FIRST, ..Profile::default() };
        let main = profile.functions.intern(b"main");
        let mut record = FunctionRecord::new(7, vec![1, u64::MAX]);
        record.sites_mut(ValueKind::MemOpSize).push_site(&[ValueCount { value: 8, count: 3 }]);
        record.sites_mut(ValueKind::MemOpSize).push_site(&[]);
        profile.functions.push_record(main, &record);
        let other = profile.functions.intern(b"\xff");
        profile.functions.push_record(other, &FunctionRecord::new(1, vec![]));
        profile.vtable_names.push(b"vtable".to_vec());
        profile
    }

    #[test]
    fn a_profile_serializes_readably() {
        let text = serde_json::to_string(&profile()).unwrap();
        let expected = concat!(
            r#"{"kind":"ir|entry-first","functions":[{"name":"main","records":[{"func_hash":7,"#,
            r#""counters":[1,18446744073709551615],"value_sites":{"mem-op-size":[[{"value":8,"count":3}],[]]}}]},"#,
            r#"{"name":[255],"records":[{"func_hash":1,"counters":[]}]}],"binary_ids":[],"#,
            r#""temporal":{"traces":[],"stream_size":0},"vtable_names":["vtable"],"memprof":null}"#
        );
        assert_eq!(text, expected);
        let again: Profile = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), text);
    }

    #[test]
    fn duplicate_functions_and_records_are_errors() {
        for (text, fault) in [
            (r#"[{"name":"f","records":[]},{"name":"f","records":[]}]"#, "f occurs twice"),
            (
                r#"[{"name":"f","records":[{"func_hash":1,"counters":[]},{"func_hash":1,"counters":[]}]}]"#,
                "f has two records of FuncHash 1",
            ),
        ] {
            let error = serde_json::from_str::<FunctionTable>(text).unwrap_err().to_string();
            assert!(error.starts_with(fault), "{error}");
        }
    }
}
