//! Serialization of a table of stacks with the feature `serde`: its levels as lists, whose items refer to others by
//! number. Deserialized data is checked like a file.

use super::samples::{ReadStats, SampleSource};
use super::table::{
    Certainty, Frame, FrameId, Function, FunctionId, MAX_HITS, NameId, Sample, SampleKey, StackId, StackTable, ThreadId,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(rename = "StackTable")]
struct Lists {
    names: Vec<String>,
    signatures: Vec<Vec<NameId>>,
    functions: Vec<Function>,
    frames: Vec<Frame>,
    /// The caller's stack and the innermost frame of each.
    stacks: Vec<(Option<StackId>, FrameId)>,
    threads: Vec<String>,
    samples: Vec<Row>,
    saturated: u64,
    /// First lines of functions, where a source has them.
    #[serde(default)]
    start_lines: Vec<(FunctionId, u32)>,
    observed: ReadStats,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "Sample")]
struct Row {
    stack: StackId,
    thread: Option<ThreadId>,
    source: SampleSource,
    certainty: Certainty,
    truncated: bool,
    hits: u64,
    #[serde(default)]
    events: u64,
}

impl Serialize for StackTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let texts = |texts: &[Box<str>]| texts.iter().map(|text| text.to_string()).collect();
        let row = |Sample { key, hits, events }: Sample| {
            let SampleKey { stack, thread, source, certainty, truncated } = key;
            Row { stack, thread, source, certainty, truncated, hits, events }
        };
        let lists = Lists {
            names: texts(self.names.values()),
            signatures: self.signatures.values().iter().map(|types| types.to_vec()).collect(),
            functions: self.functions.values().to_vec(),
            frames: self.frames.values().to_vec(),
            stacks: self.stacks().map(|stack| (self.parent(stack), self.leaf(stack))).collect(),
            threads: texts(self.threads.values()),
            samples: self.samples().map(row).collect(),
            saturated: self.saturated,
            start_lines: self.start_lines.iter().map(|(function, line)| (*function, *line)).collect(),
            observed: self.observed.clone(),
        };
        lists.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for StackTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Lists::deserialize(deserializer)?.into_table().map_err(D::Error::custom)
    }
}

impl Lists {
    /// Creates the table. Fails if a number is invalid or an item occurs twice.
    fn into_table(self) -> Result<StackTable, String> {
        let mut table = StackTable { saturated: self.saturated, observed: self.observed, ..StackTable::default() };
        for (at, name) in self.names.iter().enumerate() {
            once("name", at, table.intern_name(name).index())?;
        }
        for (at, types) in self.signatures.iter().enumerate() {
            types.iter().try_for_each(|id| there("name", id.index(), self.names.len()))?;
            once("signature", at, table.intern_signature(types).index())?;
        }
        for (at, function) in self.functions.iter().enumerate() {
            let (first, second, signature) = match *function {
                Function::Java { class, name, signature } => (class, name, signature),
                Function::Symbol { name } => (name, name, None),
            };
            [first, second].iter().try_for_each(|id| there("name", id.index(), self.names.len()))?;
            signature.map_or(Ok(()), |id| there("signature", id.index(), self.signatures.len()))?;
            once("function", at, table.intern_function(*function).index())?;
        }
        for (function, line) in self.start_lines {
            there("function", function.index(), self.functions.len())?;
            table.start_lines.insert(function, line);
        }
        for (at, frame) in self.frames.iter().enumerate() {
            there("function", frame.function.index(), self.functions.len())?;
            once("frame", at, table.intern_frame(*frame).index())?;
        }
        for (at, (parent, frame)) in self.stacks.iter().enumerate() {
            // Callers come before their callees.
            parent.map_or(Ok(()), |parent| there("stack", parent.index(), at))?;
            there("frame", frame.index(), self.frames.len())?;
            once("stack", at, table.push_frame(*parent, *frame).index())?;
        }
        for (at, name) in self.threads.iter().enumerate() {
            once("thread", at, table.intern_thread(name).index())?;
        }
        for (at, Row { stack, thread, source, certainty, truncated, hits, events }) in
            self.samples.into_iter().enumerate()
        {
            there("stack", stack.index(), self.stacks.len())?;
            thread.map_or(Ok(()), |thread| there("thread", thread.index(), self.threads.len()))?;
            if hits > MAX_HITS {
                return Err(format!("sample {at} has {hits} hits, more than {MAX_HITS}"));
            }
            let key = SampleKey { stack, thread, source, certainty, truncated };
            table.add_sample(Sample { key, hits, events });
            once("sample", at, table.hits.len() - 1)?;
        }
        Ok(table)
    }
}

fn there(what: &str, index: usize, len: usize) -> Result<(), String> {
    if index < len { Ok(()) } else { Err(format!("{what} {index} does not exist, there are {len}")) }
}

fn once(what: &str, at: usize, index: usize) -> Result<(), String> {
    if index == at { Ok(()) } else { Err(format!("{what} {at} occurs twice")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_chains::FrameKind;

    fn table() -> StackTable {
        let mut table = StackTable::new();
        let main = table.intern_java("app.Main", "main", Some(&["void", "java.lang.String[]"]));
        let native = table.intern_symbol("memcpy");
        let thread = table.intern_thread("main");
        let mut stack = None;
        for (function, bci, kind) in [(main, Some(3), FrameKind::C1), (native, None, FrameKind::Native)] {
            let frame = table.intern_frame(Frame { function, bci, line: None, kind });
            stack = Some(table.push_frame(stack, frame));
        }
        let key =
            SampleKey { thread: Some(thread), source: SampleSource::CpuTime, ..SampleKey::of_stack(stack.unwrap()) };
        table.add(key, 7);
        table.add(SampleKey { truncated: true, ..key }, MAX_HITS);
        table.observed.add_source("a test");
        table
    }

    #[test]
    fn a_table_comes_back_as_it_was() {
        let text = serde_json::to_string(&table()).unwrap();
        for part in [
            r#""names":["app.Main","main","void","java.lang.String[]","memcpy"],"signatures":[[2,3]]"#,
            r#""functions":[{"java":{"class":0,"name":1,"signature":0}},{"symbol":{"name":4}}]"#,
            r#"{"function":0,"bci":3,"line":null,"kind":"c1"}"#,
            r#""stacks":[[null,0],[0,1]],"threads":["main"]"#,
            r#"{"stack":1,"thread":0,"source":"cpu-time","certainty":"unknown","truncated":false,"hits":7,"events":0}"#,
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        let again: StackTable = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), text);
        assert!(again.samples().eq(table().samples()));
        assert_eq!(again.depth(again.samples().next().unwrap().key.stack), 2);
    }

    #[test]
    fn unknown_ids_and_duplicates_are_errors() {
        let text = serde_json::to_string(&table()).unwrap();
        for (valid, bad, fault) in [
            ("[[2,3]]", "[[2,5]]", "name 5 does not exist, there are 5"),
            ("[[null,0],[0,1]]", "[[null,0],[1,1]]", "stack 1 does not exist, there are 1"),
            ("[[null,0],[0,1]]", "[[null,0],[null,0]]", "stack 1 occurs twice"),
            (r#""memcpy""#, r#""main""#, "name 4 occurs twice"),
            (r#""function":1"#, r#""function":2"#, "function 2 does not exist, there are 2"),
            (r#""thread":0"#, r#""thread":1"#, "thread 1 does not exist, there are 1"),
            ("9223372036854775807", "9223372036854775808", "more than 9223372036854775807"),
        ] {
            let damaged = text.replacen(valid, bad, 1);
            assert_ne!(damaged, text);
            let error = serde_json::from_str::<StackTable>(&damaged).unwrap_err().to_string();
            assert!(error.contains(fault), "{fault}: {error}");
        }
    }
}
