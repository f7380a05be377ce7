//! Parses the member `llvm` to a profile.
//!
//! Unknown members are errors, because dropping them would change the profile silently.

use super::{Approximations, Extension, VERSION};
use crate::ascii::from_hex;
use crate::error::{Error, Result};
use crate::model::{
    FunctionRecord, FunctionTable, MemProfSection, Profile, ProfileKind, TemporalProfile, TemporalTrace, ValueCount,
    ValueKind, ValueSites,
};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

impl Extension<'static> {
    /// Parses the value of the member.
    ///
    /// # Errors
    ///
    /// Malformed, with the position in the value, if it does not have this layout.
    pub(crate) fn read(json: &[u8]) -> Result<Self> {
        read(json).map_err(|error| error.in_section("llvm").in_format("iprof"))
    }
}

fn read(json: &[u8]) -> Result<Extension<'static>> {
    let json: Json = serde_json::from_slice(json).map_err(|error| {
        // Another layout may differ in all other members.
        match serde_json::from_slice(json).map(|Version { version }| check_version(version)) {
            Ok(Err(newer)) => newer,
            Ok(Ok(())) | Err(_) => syntax(error),
        }
    })?;
    check_version(json.version)?;
    let sections = json.sections.as_ref();
    let checksum = sections.and_then(|sections| Some(u64::from_be_bytes(*sections.0.first_chunk()?)));
    let (approximate, profile) = json.into_parts();
    Ok(Extension { approximate, profile: profile.map(Cow::Owned), checksum })
}

fn check_version(version: u32) -> Result<()> {
    if (1..=VERSION).contains(&version) {
        return Ok(());
    }
    let error = Error::malformed(format!("version {version} of the extension, expected 1 to {VERSION}"));
    Err(error.with_hint("this file was written by a newer profbridge; update profbridge"))
}

fn syntax(error: serde_json::Error) -> Error {
    Error::malformed(format!("cannot read the extension: {error}"))
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Json {
    version: u32,
    sections: Option<Hex>,
    #[serde(default)]
    approximate: Approximations,
    #[serde(default)]
    kind: Vec<KindBit>,
    functions: Option<Functions>,
    #[serde(default)]
    binary_ids: Vec<Hex>,
    temporal: Option<Temporal>,
    #[serde(default)]
    vtable_names: Vec<Name>,
    memprof: Option<MemProf>,
}

impl Json {
    fn into_parts(self) -> (Approximations, Option<Profile>) {
        let kind = self.kind.iter().fold(ProfileKind::NONE, |all, bit| all | bit.0);
        let profile = self.functions.map(|functions| Profile {
            kind,
            functions: functions.0,
            binary_ids: self.binary_ids.into_iter().map(|id| id.0).collect(),
            temporal: self.temporal.map(Temporal::profile).unwrap_or_default(),
            vtable_names: self.vtable_names.into_iter().map(|name| name.0).collect(),
            memprof: self.memprof.map(MemProf::section),
        });
        (self.approximate, profile)
    }
}

/// Parses a number, which may be a decimal string.
#[derive(Clone, Copy)]
struct Number(u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor).map(Self)
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number from 0 to 2^64-1, or a string with its decimal digits")
    }

    fn visit_u64<E>(self, value: u64) -> Result<u64, E> {
        Ok(value)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<u64, E> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| digits).ok_or_else(|| E::custom(format!("{text:?} is not a number below 2^64")))
    }
}

/// Parses hexadecimal bytes.
struct Hex(Vec<u8>);

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        from_hex(text.as_bytes()).map(Self).ok_or_else(|| D::Error::custom("expected pairs of hexadecimal digits"))
    }
}

struct Name(Vec<u8>);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, deny_unknown_fields)]
        enum Either {
            Text(String),
            Bytes { hex: Hex },
        }
        Ok(match Either::deserialize(deserializer)? {
            Either::Text(text) => Self(text.into_bytes()),
            Either::Bytes { hex } => Self(hex.0),
        })
    }
}

struct KindBit(ProfileKind);

impl<'de> Deserialize<'de> for KindBit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Bits(u64),
            Word(String),
        }
        match Either::deserialize(deserializer)? {
            Either::Bits(bits) => Ok(Self(ProfileKind::from_bits(bits))),
            Either::Word(word) => ProfileKind::from_word(&word)
                .or_else(|| word.parse().ok().map(ProfileKind::from_bits))
                .map(Self)
                .ok_or_else(|| D::Error::custom(format!("{word:?} is not a known kind of profile"))),
        }
    }
}

/// The list of functions, each of which is added to the table as soon as it is parsed.
struct Functions(FunctionTable);

impl<'de> Deserialize<'de> for Functions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FunctionsVisitor)
    }
}

struct FunctionsVisitor;

impl<'de> Visitor<'de> for FunctionsVisitor {
    type Value = Functions;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of functions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Functions, A::Error> {
        let mut functions = FunctionTable::new();
        while let Some(function) = list.next_element::<Function>()? {
            function.add_to(&mut functions).map_err(A::Error::custom)?;
        }
        Ok(Functions(functions))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Function {
    name: Name,
    records: Vec<Record>,
}

impl Function {
    fn add_to(self, functions: &mut FunctionTable) -> Result<(), String> {
        let name = &self.name.0;
        if functions.find(name).is_some() {
            return Err(format!("function {} is listed twice", name.escape_ascii()));
        }
        let id = functions.intern(name);
        for record in self.records {
            if functions.find_record(id, record.hash.0).is_some() {
                return Err(format!("function {} has two records of hash {}", name.escape_ascii(), record.hash.0));
            }
            functions.push_record(id, &record.into_record()?);
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Record {
    hash: Number,
    counters: Vec<Number>,
    bitmap: Option<Hex>,
    uniformity: Option<Hex>,
    #[serde(default)]
    uniform_counts: Vec<Number>,
    #[serde(default)]
    values: Vec<Sites>,
}

impl Record {
    fn into_record(self) -> Result<FunctionRecord, String> {
        let numbers = |numbers: Vec<Number>| numbers.into_iter().map(|number| number.0).collect();
        let bytes = |hex: Option<Hex>| hex.map(|hex| hex.0).unwrap_or_default();
        let mut record = FunctionRecord::new(self.hash.0, numbers(self.counters));
        record.bitmap = bytes(self.bitmap);
        record.uniformity.bits = bytes(self.uniformity);
        record.uniformity.counts = numbers(self.uniform_counts);
        for sites in &self.values {
            let known = ValueKind::from_number(sites.kind);
            let kind = known.ok_or_else(|| format!("values of kind {}, expected 0 to 2", sites.kind))?;
            sites.read_into(record.sites_mut(kind))?;
        }
        Ok(record)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sites {
    kind: u32,
    sites: Vec<Vec<Number>>,
}

impl Sites {
    fn read_into(&self, sites: &mut ValueSites) -> Result<(), String> {
        if !sites.is_empty() {
            return Err(format!("values of kind {} are listed twice in one record", self.kind));
        }
        for site in &self.sites {
            let (pairs, rest) = site.as_chunks::<2>();
            if !rest.is_empty() {
                return Err(format!("a value site has {} numbers, expected pairs", site.len()));
            }
            pairs.iter().for_each(|[value, count]| sites.push_value(ValueCount { value: value.0, count: count.0 }));
            sites.end_site();
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Temporal {
    stream_size: Number,
    traces: Vec<Trace>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trace {
    weight: Number,
    functions: Vec<Number>,
}

impl Temporal {
    fn profile(self) -> TemporalProfile {
        let trace = |trace: Trace| TemporalTrace {
            weight: trace.weight.0,
            functions: trace.functions.into_iter().map(|hash| hash.0).collect(),
        };
        TemporalProfile { traces: self.traces.into_iter().map(trace).collect(), stream_size: self.stream_size.0 }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MemProf {
    indexed_version: u32,
    offset: Number,
    bytes: Hex,
}

impl MemProf {
    fn section(self) -> MemProfSection {
        MemProfSection { bytes: self.bytes.0, offset: self.offset.0, indexed_version: self.indexed_version }
    }
}
