//! Serializes sample profiles with serde (feature `serde`).
//!
//! All records are in one list. An inlined callee follows its function and is one level deeper, as in the text format,
//! so deep inlining does not nest the serialized form.

use super::{
    BodyEntry, CallSite, CallTarget, Frame, FunctionName, FunctionRecord, LineLocation, MAX_INLINE_DEPTH, NameId,
    SampleProfile, StatedKind, Summary, VtableEntry,
};
use crate::model::serialize::Name;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(rename = "SampleProfile")]
struct Lists {
    names: Vec<WrittenName>,
    functions: Vec<Row>,
    stated: StatedKind,
    symbols: Option<Vec<Name<Vec<u8>>>>,
    summary: Option<Summary>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "FunctionName", rename_all = "kebab-case")]
enum WrittenName {
    Hash(u64),
    Text(Name<Vec<u8>>),
}

/// A record. An inlined callee has a depth above 0 and the location of the call.
#[derive(Serialize, Deserialize)]
#[serde(rename = "FunctionRecord")]
struct Row {
    depth: usize,
    location: Option<LineLocation>,
    name: NameId,
    context: Option<Vec<Frame>>,
    total: u64,
    head: u64,
    checksum: u64,
    attributes: u32,
    body: Vec<BodyEntry>,
    vtables: Vec<VtableEntry>,
}

impl Serialize for SampleProfile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = |name: FunctionName<'_>| match name {
            FunctionName::Hash(hash) => WrittenName::Hash(hash),
            FunctionName::Text(text) => WrittenName::Text(Name(text.to_vec())),
        };
        let mut functions = Vec::new();
        self.functions.iter().for_each(|record| push_rows(record, 0, None, &mut functions));
        let lists = Lists {
            names: self.names.iter().map(name).collect(),
            functions,
            stated: self.stated,
            symbols: self.symbols.as_ref().map(|symbols| symbols.iter().map(|name| Name(name.clone())).collect()),
            summary: self.summary.clone(),
        };
        lists.serialize(serializer)
    }
}

/// Adds a record and its inlined callees. The readers bound their depth.
fn push_rows(record: &FunctionRecord, depth: usize, location: Option<LineLocation>, rows: &mut Vec<Row>) {
    rows.push(Row {
        depth,
        location,
        name: record.name,
        context: record.context.as_deref().map(<[Frame]>::to_vec),
        total: record.total,
        head: record.head,
        checksum: record.checksum,
        attributes: record.attributes,
        body: record.body.clone(),
        vtables: record.vtables.clone(),
    });
    for site in &record.call_sites {
        push_rows(&site.callee, depth + 1, Some(site.location), rows);
    }
}

impl<'de> Deserialize<'de> for SampleProfile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Lists::deserialize(deserializer)?.into_profile().map_err(D::Error::custom)
    }
}

impl Lists {
    /// Makes the profile. Fails if an id has no name, or an element is misplaced or occurs twice.
    fn into_profile(self) -> Result<SampleProfile, String> {
        let mut profile = SampleProfile { stated: self.stated, summary: self.summary, ..SampleProfile::default() };
        for (at, name) in self.names.iter().enumerate() {
            let name = match name {
                WrittenName::Hash(hash) => FunctionName::Hash(*hash),
                WrittenName::Text(Name(text)) => FunctionName::Text(text),
            };
            if profile.names.insert(name).index() != at {
                return Err(format!("name {at} occurs twice"));
            }
        }
        // The incomplete records, each inlined into the one before.
        let mut open: Vec<(Option<LineLocation>, FunctionRecord)> = Vec::new();
        for row in self.functions {
            let (depth, location) = (row.depth, row.location);
            if depth > open.len() || depth > MAX_INLINE_DEPTH || (depth > 0) != location.is_some() {
                return Err(format!("a record of depth {depth} cannot follow one of {}", open.len()));
            }
            close(&mut open, depth, &mut profile.functions)?;
            open.push((location, row.into_record(profile.names.len())?));
        }
        close(&mut open, 0, &mut profile.functions)?;
        profile.symbols = self.symbols.map(|symbols| symbols.into_iter().map(|name| name.0).collect());
        Ok(profile)
    }
}

/// Completes the records from a depth.
fn close(
    open: &mut Vec<(Option<LineLocation>, FunctionRecord)>,
    depth: usize,
    functions: &mut Vec<FunctionRecord>,
) -> Result<(), String> {
    while open.len() > depth {
        let Some((location, callee)) = open.pop() else { break };
        match (location, open.last_mut()) {
            (Some(location), Some((_, caller))) => {
                let key = |site: &CallSite| (site.location, site.callee.name);
                if caller.call_sites.last().is_some_and(|last| key(last) >= (location, callee.name)) {
                    return Err(format!("callees at {location} are not in order"));
                }
                caller.call_sites.push(CallSite { location, callee });
            }
            _ => functions.push(callee),
        }
    }
    Ok(())
}

impl Row {
    /// Makes the record without callees.
    fn into_record(self, names: usize) -> Result<FunctionRecord, String> {
        let targets = self.body.iter().flat_map(|entry| &entry.targets);
        let tables = self.vtables.iter().flat_map(|entry| &entry.tables);
        let called = targets.chain(tables).map(|CallTarget { callee, .. }| *callee);
        let frames = self.context.iter().flatten().map(|frame| frame.function);
        if let Some(name) = [self.name].into_iter().chain(called).chain(frames).find(|name| name.index() >= names) {
            return Err(format!("name {} does not exist, there are {names}", name.index()));
        }
        let in_order = self.body.is_sorted_by(|one, other| one.location < other.location)
            && self.vtables.is_sorted_by(|one, other| one.location < other.location);
        if !in_order {
            return Err("line locations of a function are not in order".to_string());
        }
        let mut record = match self.context {
            Some(frames) => FunctionRecord::in_context(frames.into()).filter(|record| record.name == self.name),
            None => Some(FunctionRecord::new(self.name)),
        }
        .ok_or("the last frame of a context must be the function itself")?;
        (record.total, record.head, record.checksum) = (self.total, self.head, self.checksum);
        (record.attributes, record.body, record.vtables) = (self.attributes, self.body, self.vtables);
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampleprof::{ReadOptions, read};

    const TEXT: &str = "main:60:1\n 1: 10\n 3: foo:50\n  1: 20 bar:4\n  2.1: bar:30\n   7: 30\nbar:5:2\n 1: 5\n";

    fn profile(text: &str) -> SampleProfile {
        read(text.as_bytes(), &ReadOptions::default()).unwrap()
    }

    #[test]
    fn a_profile_deserializes_to_the_same_profile() {
        for text in [TEXT, "[main]:10:1\n 1: 10\n[main:3 @ foo]:20:0\n 1: 20\n"] {
            let profile = profile(text);
            let written = serde_json::to_string(&profile).unwrap();
            let again: SampleProfile = serde_json::from_str(&written).unwrap();
            assert_eq!(again.functions, profile.functions);
            assert!(again.names.iter().eq(profile.names.iter()));
            assert_eq!(serde_json::to_string(&again).unwrap(), written);
        }
        let written = serde_json::to_string(&profile(TEXT)).unwrap();
        let row = r#"{"depth":2,"location":{"line":2,"discriminator":1},"name":"#;
        assert!(written.contains(row) && written.contains(r#"{"text":"main"}"#), "{written}");
    }

    /// The profile nests deeper than JSON parsers allow.
    #[test]
    fn deep_inlining_serializes_flat() {
        let mut text = "f:1:1\n".to_string();
        (1..300).for_each(|depth| text.push_str(&format!("{} 1: f:1\n", " ".repeat(depth - 1))));
        text.push_str(&format!("{} 1: 1\n", " ".repeat(299)));
        let written = serde_json::to_string(&profile(&text)).unwrap();
        let again: SampleProfile = serde_json::from_str(&written).unwrap();
        assert_eq!(again.functions, profile(&text).functions);
    }

    #[test]
    fn unknown_ids_and_misplaced_members_are_errors() {
        let text = serde_json::to_string(&profile(TEXT)).unwrap();
        for (valid, bad, fault) in [
            (r#"{"text":"bar"}"#, r#"{"text":"main"}"#, "occurs twice"),
            (r#""depth":2"#, r#""depth":3"#, "a record of depth 3 cannot follow one of 2"),
            (r#""depth":2"#, r#""depth":0"#, "a record of depth 0 cannot follow"),
            (r#""callee":2"#, r#""callee":3"#, "name 3 does not exist, there are 3"),
        ] {
            let damaged = text.replacen(valid, bad, 1);
            assert_ne!(damaged, text, "{valid}");
            let error = serde_json::from_str::<SampleProfile>(&damaged).unwrap_err().to_string();
            assert!(error.contains(fault), "{fault}: {error}");
        }
    }
}
