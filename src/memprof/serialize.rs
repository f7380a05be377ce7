//! Serialization of memory profiles with the feature `serde`: frames, call stacks as lists of frame numbers, and
//! records. Fields have LLVM's names, and a block only lists those that are not 0.

use crate::memprof::{
    AllocSite, CallSite, CallStacks, DataAccessProfile, Field, Frame, FrameHandle, MemInfoBlock, MemProfRecord,
    MemoryProfile, Schema, StackHandle,
};
use crate::model::serialize::Name;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Serialize for Field {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::from_name(name.as_bytes()).ok_or_else(|| D::Error::custom(format!("there is no field {name:?}")))
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.fields())
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<Field>::deserialize(deserializer)?.into_iter().fold(Self::EMPTY, Self::with))
    }
}

impl Serialize for MemInfoBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = Field::all().map(|field| (field, self.value(field))).filter(|(_, value)| *value != 0);
        known.collect::<BTreeMap<_, _>>().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for MemInfoBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut block = Self::default();
        for (field, value) in BTreeMap::<Field, u64>::deserialize(deserializer)? {
            if value > field.max() {
                return Err(D::Error::custom(format!("{field} is {value}, more than {}", field.max())));
            }
            block.set(field, value);
        }
        Ok(block)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "MemoryProfile")]
struct Lists {
    schema: Schema,
    frames: Vec<Frame>,
    /// The frames of each call stack by number, leaf first.
    stacks: Vec<Vec<usize>>,
    records: Vec<Record>,
    data_access: Option<DataAccessProfile>,
    names: BTreeMap<u64, Name<Vec<u8>>>,
}

#[derive(Serialize, Deserialize)]
struct Record {
    function: u64,
    alloc_sites: Vec<Alloc>,
    call_sites: Vec<Call>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "AllocSite")]
struct Alloc {
    stack: usize,
    info: MemInfoBlock,
    histogram: Option<Vec<u64>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "CallSite")]
struct Call {
    frames: usize,
    callees: Vec<u64>,
}

impl Serialize for MemoryProfile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let alloc = |site: &AllocSite| Alloc {
            stack: site.stack.index(),
            info: site.info,
            histogram: site.histogram.as_ref().map(|counts| counts.to_vec()),
        };
        let call = |site: &CallSite| Call { frames: site.frames.index(), callees: site.callees.clone() };
        let record = |record: &MemProfRecord| Record {
            function: record.function,
            alloc_sites: record.alloc_sites.iter().map(alloc).collect(),
            call_sites: record.call_sites.iter().map(call).collect(),
        };
        let lists = Lists {
            schema: self.schema,
            frames: self.stacks.frames().to_vec(),
            stacks: self.stacks.iter().map(|stack| stack.iter().map(|frame| frame.index()).collect()).collect(),
            records: self.records().iter().map(record).collect(),
            data_access: self.data_access.clone(),
            names: self.names.iter().map(|(function, name)| (*function, Name(name.clone()))).collect(),
        };
        lists.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for MemoryProfile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Lists::deserialize(deserializer)?.into_profile().map_err(D::Error::custom)
    }
}

impl Lists {
    /// Creates the profile. Fails if a number is invalid or a function occurs twice.
    fn into_profile(self) -> Result<MemoryProfile, String> {
        let mut profile = MemoryProfile::new(self.schema);
        let stacks = stacks_of(&self.frames, &self.stacks, &mut profile.stacks)?;
        let stack = |at: usize| stacks.get(at).copied().ok_or_else(|| format!("there is no call stack {at}"));
        for Record { function, alloc_sites, call_sites } in self.records {
            if profile.record(function).is_some() {
                return Err(format!("function {function} has two records"));
            }
            let record = profile.record_mut(function);
            for Alloc { stack: at, info, histogram } in alloc_sites {
                record.alloc_sites.push(AllocSite { stack: stack(at)?, info, histogram: histogram.map(Arc::new) });
            }
            for Call { frames, callees } in call_sites {
                record.call_sites.push(CallSite { frames: stack(frames)?, callees });
            }
        }
        profile.data_access = self.data_access;
        profile.names = self.names.into_iter().map(|(function, name)| (function, name.0)).collect();
        Ok(profile)
    }
}

/// Adds frames and call stacks. Returns the handles of the call stacks.
fn stacks_of(frames: &[Frame], stacks: &[Vec<usize>], table: &mut CallStacks) -> Result<Vec<StackHandle>, String> {
    let frames: Vec<FrameHandle> = frames.iter().map(|frame| table.intern_frame(*frame)).collect();
    let frame = |at: &usize| frames.get(*at).copied().ok_or_else(|| format!("there is no frame {at}"));
    stacks.iter().map(|stack| Ok(table.intern(&stack.iter().map(frame).collect::<Result<Vec<_>, String>>()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memprof::{DataAccessRecord, DataSymbol, SourceLocation};

    fn profile() -> MemoryProfile {
        let mut profile = MemoryProfile::new(Schema::HOT_COLD);
        let frames = [1, 2].map(|function| {
            profile.stacks.intern_frame(Frame { function, line_offset: 3, column: 4, is_inline: function == 1 })
        });
        let (stack, call) = (profile.stacks.intern(&frames), profile.stacks.intern(&frames[1..]));
        let mut info = MemInfoBlock::default();
        info.set(Field::AllocCount, 5);
        info.set(Field::TotalSize, u64::MAX);
        let record = profile.record_mut(1);
        record.alloc_sites.push(AllocSite { stack, info, histogram: Some(Arc::new(vec![1, 2])) });
        record.call_sites.push(CallSite { frames: call, callees: vec![9] });
        profile.names.insert(1, b"f".to_vec());
        profile.data_access = Some(DataAccessProfile {
            records: vec![DataAccessRecord {
                symbol: DataSymbol::Name(b"table".to_vec()),
                access_count: 6,
                locations: vec![SourceLocation { file: b"a.c".to_vec(), line: 7 }],
            }],
            cold_symbols: vec![b"\xff".to_vec()],
            cold_string_hashes: vec![8],
        });
        profile
    }

    #[test]
    fn a_profile_serializes_readably() {
        let text = serde_json::to_string(&profile()).unwrap();
        let expected = concat!(
            r#"{"schema":["AllocCount","TotalSize","TotalLifetime","TotalLifetimeAccessDensity"],"#,
            r#""frames":[{"function":1,"line_offset":3,"column":4,"is_inline":true},"#,
            r#"{"function":2,"line_offset":3,"column":4,"is_inline":false}],"stacks":[[0,1],[1]],"#,
            r#""records":[{"function":1,"alloc_sites":[{"stack":0,"#,
            r#""info":{"AllocCount":5,"TotalSize":18446744073709551615},"histogram":[1,2]}],"#,
            r#""call_sites":[{"frames":1,"callees":[9]}]}],"#,
            r#""data_access":{"records":[{"symbol":{"name":"table"},"access_count":6,"#,
            r#""locations":[{"file":"a.c","line":7}]}],"cold_symbols":[[255]],"cold_string_hashes":[8]},"#,
            r#""names":{"1":"f"}}"#
        );
        assert_eq!(text, expected);
        let again: MemoryProfile = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), text);
        assert_eq!(again.records(), profile().records());
        assert_eq!(again.data_access, profile().data_access);
    }

    #[test]
    fn bad_references_sizes_and_duplicates_are_errors() {
        let text = serde_json::to_string(&profile()).unwrap();
        let twice = r#""records":[{"function":1,"alloc_sites":[],"call_sites":[]},{"#;
        for (valid, bad, fault) in [
            ("[[0,1],[1]]", "[[0,2],[1]]", "there is no frame 2"),
            (r#""stack":0"#, r#""stack":2"#, "there is no call stack 2"),
            (r#""AllocCount":5"#, r#""AllocCount":4294967296"#, "AllocCount is 4294967296, more than 4294967295"),
            (r#""AllocCount":5"#, r#""Size":5"#, "there is no field"),
            (r#""records":[{"#, twice, "function 1 has two records"),
        ] {
            let damaged = text.replacen(valid, bad, 1);
            assert_ne!(damaged, text);
            let error = serde_json::from_str::<MemoryProfile>(&damaged).unwrap_err().to_string();
            assert!(error.contains(fault), "{fault}: {error}");
        }
    }
}
