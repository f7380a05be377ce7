//! The inputs that a partial merge was made of.

use super::wire::{Decoder, Encoder};
use crate::error::{Result, Warning};
use crate::system::os_string;
use std::path::PathBuf;

/// What became of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputState {
    /// Merged.
    Used,
    /// It had no bytes.
    Empty,
    /// It could not be read to its end.
    Failed {
        /// What was wrong, with the place.
        message: String,
        /// What to do next.
        hint: Option<String>,
    },
}

/// Format and version of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputOrigin {
    /// Raw, of that version.
    Raw(u64),
    /// Indexed, of that version.
    Indexed(u64),
    /// Text, with or without names `file:function`.
    Text {
        /// Whether local functions are called `file:function`.
        has_colon_names: bool,
    },
    /// A raw memory profile, of that version.
    RawMemory(u64),
    /// Anything else.
    Other,
}

/// One input of a partial merge.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartialInput {
    /// Its path as it was named.
    pub path: PathBuf,
    /// Its weight, 1 and up.
    pub weight: u64,
    /// What became of it.
    pub state: InputState,
    /// Its format and version, once its header was read.
    pub origin: Option<InputOrigin>,
    /// Records read from it.
    pub records: u64,
    /// The bits of its kind, if it could be opened.
    pub kind: Option<u64>,
    /// What is worth saying about it.
    pub warnings: Vec<String>,
}

impl PartialInput {
    /// An input that was merged; fields can be set afterwards.
    pub fn new(path: impl Into<PathBuf>, weight: u64) -> Self {
        Self {
            path: path.into(),
            weight,
            state: InputState::Used,
            origin: None,
            records: 0,
            kind: None,
            warnings: Vec::new(),
        }
    }

    /// The warnings, as this run would have given them.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> {
        self.warnings.iter().map(|text| Warning::new(text).in_file(&self.path))
    }

    /// Writes the input into a state.
    pub fn encode(&self, out: &mut Encoder) {
        out.text(self.path.as_os_str().as_encoded_bytes());
        out.number(self.weight);
        match &self.state {
            InputState::Used => out.number(0),
            InputState::Empty => out.number(1),
            InputState::Failed { message, hint } => {
                out.number(2);
                out.text(message.as_bytes());
                out.list(hint.iter(), |out, hint| out.text(hint.as_bytes()));
            }
        }
        match self.origin {
            None => out.number(0),
            Some(InputOrigin::Raw(version)) => [1, version].into_iter().for_each(|word| out.number(word)),
            Some(InputOrigin::Indexed(version)) => [2, version].into_iter().for_each(|word| out.number(word)),
            Some(InputOrigin::Text { has_colon_names }) => out.number(3 + u64::from(has_colon_names)),
            Some(InputOrigin::Other) => out.number(5),
            Some(InputOrigin::RawMemory(version)) => [6, version].into_iter().for_each(|word| out.number(word)),
        }
        out.number(self.records);
        out.list(self.kind.iter(), |out, kind| out.hash(*kind));
        out.list(self.warnings.iter(), |out, text| out.text(text.as_bytes()));
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// Truncated and malformed.
    pub fn decode(from: &mut Decoder<'_>) -> Result<Self> {
        let text = |from: &mut Decoder<'_>| Ok(String::from_utf8_lossy(from.text("text")?).into_owned());
        let path = os_string(from.text("path")?).into();
        let weight = from.number("weight")?;
        if weight == 0 {
            return Err(from.malformed("a weight of 0"));
        }
        let state = match from.place("state of an input", 3)? {
            0 => InputState::Used,
            1 => InputState::Empty,
            _ => InputState::Failed { message: text(from)?, hint: from.list("hints", text)?.pop() },
        };
        let origin = match from.place("origin of an input", 7)? {
            0 => None,
            1 => Some(InputOrigin::Raw(from.number("version")?)),
            2 => Some(InputOrigin::Indexed(from.number("version")?)),
            5 => Some(InputOrigin::Other),
            6 => Some(InputOrigin::RawMemory(from.number("version")?)),
            text => Some(InputOrigin::Text { has_colon_names: text == 4 }),
        };
        let records = from.number("records")?;
        let kind = from.list("kind", |from| from.hash("kind"))?.pop();
        Ok(Self { path, weight, state, origin, records, kind, warnings: from.list("warnings", text)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_survive_the_round_trip() {
        let failed = InputState::Failed { message: "cut".into(), hint: Some("again".into()) };
        let text = InputOrigin::Text { has_colon_names: true };
        for (state, origin, kind) in [
            (InputState::Used, Some(InputOrigin::Raw(10)), Some(1 << 56)),
            (InputState::Empty, None, None),
            (failed, Some(text), Some(0)),
            (InputState::Used, Some(InputOrigin::Indexed(13)), None),
            (InputState::Used, Some(InputOrigin::Other), None),
            (InputState::Used, Some(InputOrigin::RawMemory(4)), None),
        ] {
            let mut input = PartialInput::new("a/b.profraw", 7);
            (input.state, input.origin, input.kind) = (state, origin, kind);
            (input.records, input.warnings) = (12, vec!["odd".into()]);
            let mut out = Encoder::default();
            input.encode(&mut out);
            let bytes = out.into_bytes();
            let mut decoder = Decoder::new(&bytes);
            assert_eq!(PartialInput::decode(&mut decoder).unwrap(), input);
            decoder.end().unwrap();
            for len in 0..bytes.len() {
                assert!(PartialInput::decode(&mut Decoder::new(&bytes[..len])).is_err(), "{len} bytes");
            }
        }
    }
}
