//! Serialization of a document with serde (feature `serde`): the members of its file, in the order of their names. Any
//! order is read.

use super::document::Document;
use super::read::Reader;
use super::reader::ReadOptions;
use super::writer::{WriteOptions, Writer};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let file = Writer::new(&WriteOptions::default()).to_bytes(self);
        serde_json::from_slice::<Value>(&file).map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// Findings that do not reject a file are ignored.
impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let file = serde_json::to_vec(&Value::deserialize(deserializer)?).map_err(D::Error::custom)?;
        let read = Reader::new(&file[..], &ReadOptions::default()).read();
        read.map(|(document, _)| document).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iprof::{Frame, Version};

    #[test]
    fn a_document_serializes_to_its_file() {
        let mut document = Document::new();
        let (class, void) = (document.add_type(b"app.Main"), document.add_type(b"void"));
        let method = document.add_method(b"main", &[class, void]);
        let context = document.add_context(&[Frame { method, bci: 0 }]);
        document.sections.call_counts.push(crate::iprof::CountEntry { context, count: 1 << 60 });
        document.version = Version::V1_1;
        let text = serde_json::to_string(&document).unwrap();
        assert!(text.contains("1152921504606846976") && text.contains("app.Main"), "{text}");
        let again: Document = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), text);
        assert_eq!(again.sections.call_counts.len(), 1);
        assert!(serde_json::from_str::<Document>(r#"{"version":"9.0.0"}"#).is_err());
    }
}
