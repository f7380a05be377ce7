//! The inputs of a partial merge.

use super::wire::{Decoder, Encoder};
use crate::error::{Error, Result, StoredError, Warning};
use crate::system::os_string;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

/// The outcome of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputState {
    /// Merged.
    Used,
    /// The input had no bytes.
    Empty,
    /// The input could not be read to its end.
    Failed(Box<StoredError>),
}

/// Format and version of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputOrigin {
    /// A raw profile of this version.
    Raw(u64),
    /// An indexed profile of this version.
    Indexed(u64),
    /// A text profile.
    Text {
        /// Whether local functions have names of the form `file:function`.
        has_colon_names: bool,
    },
    /// A raw memory profile of this version.
    RawMemory(u64),
    /// Any other format.
    Other,
}

/// One input of a partial merge.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartialInput {
    /// The path as given.
    pub path: PathBuf,
    /// Its weight, 1 and up.
    pub weight: u64,
    /// The outcome.
    pub state: InputState,
    /// The hash of its bytes, so that an input that occurs twice is recognised; `None` unless it was merged, and for
    /// inputs of partial merges of version 1.
    pub digest: Option<u64>,
    /// The format and version, if the header was read.
    pub origin: Option<InputOrigin>,
    /// The number of records read from it.
    pub records: u64,
    /// The bits of its kind, if it could be opened.
    pub kind: Option<u64>,
    /// Warnings about it.
    pub warnings: Vec<String>,
}

impl PartialInput {
    /// Creates a merged input. Its fields can be changed afterwards.
    pub fn new(path: impl Into<PathBuf>, weight: u64) -> Self {
        Self {
            path: path.into(),
            weight,
            state: InputState::Used,
            digest: None,
            origin: None,
            records: 0,
            kind: None,
            warnings: Vec::new(),
        }
    }

    /// Computes the digest of an input from its bytes.
    pub(crate) fn digest_of(bytes: &[u8]) -> u64 {
        xxh3_64(bytes)
    }

    /// Computes the digest of an input from a stream of its bytes.
    pub(crate) fn digest_of_stream(mut stream: impl Read) -> Result<u64> {
        let (mut digest, mut buffer) = (Xxh3Default::new(), vec![0; 1 << 16]);
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return Ok(digest.digest()),
                Ok(read) => digest.update(&buffer[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(Error::io("cannot read", source)),
            }
        }
    }

    /// Returns the warnings in the form of this run.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> {
        self.warnings.iter().map(|text| Warning::new(text).in_file(&self.path))
    }

    /// Returns the message of its error, with the path.
    pub fn message(&self, error: &StoredError) -> String {
        Error::from(error).in_file(&self.path).to_string()
    }

    /// Writes the input to a state.
    pub fn encode(&self, out: &mut Encoder) {
        out.text(self.path.as_os_str().as_encoded_bytes());
        out.number(self.weight);
        match &self.state {
            InputState::Used => match self.digest {
                None => out.number(0),
                Some(digest) => {
                    out.number(3);
                    out.hash(digest);
                }
            },
            InputState::Empty => out.number(1),
            InputState::Failed(error) => {
                out.number(4);
                encode_error(error, out);
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

    /// Reads the output of [`encode`](Self::encode).
    ///
    /// # Errors
    ///
    /// Truncated and malformed.
    pub fn decode(from: &mut Decoder<'_>) -> Result<Self> {
        let path: PathBuf = os_string(from.text("path")?).into();
        let weight = from.number("weight")?;
        if weight == 0 {
            return Err(from.malformed("a weight of 0"));
        }
        let mut digest = None;
        let state = match from.place("state of an input", 5)? {
            0 => InputState::Used,
            1 => InputState::Empty,
            2 => {
                // Before version 4, only the message with its path.
                let message = text(from)?;
                let detail = message.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&message);
                let error = StoredError { hint: from.list("hints", text)?.pop(), ..StoredError::new(detail) };
                InputState::Failed(Box::new(error))
            }
            4 => InputState::Failed(Box::new(decode_error(from)?)),
            _ => {
                digest = Some(from.hash("digest of an input")?);
                InputState::Used
            }
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
        Ok(Self { path, weight, state, digest, origin, records, kind, warnings: from.list("warnings", text)? })
    }
}

fn text(from: &mut Decoder<'_>) -> Result<String> {
    Ok(String::from_utf8_lossy(from.text("text")?).into_owned())
}

fn encode_error(error: &StoredError, out: &mut Encoder) {
    out.text(error.kind.as_bytes());
    out.text(error.detail.as_bytes());
    out.list(error.path.iter(), |out, path| out.text(path.as_os_str().as_encoded_bytes()));
    for words in [&error.format, &error.section, &error.limit, &error.hint] {
        out.list(words.iter(), |out, words| out.text(words.as_bytes()));
    }
    let system = error.system.map(|number| u64::from(number.cast_unsigned()));
    for number in [error.line, error.offset, error.expected, error.found, system] {
        out.list(number.iter(), |out, number| out.number(*number));
    }
}

fn decode_error(from: &mut Decoder<'_>) -> Result<StoredError> {
    let (kind, detail) = (text(from)?, text(from)?);
    let path = from.list("path", |from| Ok(os_string(from.text("path")?).into()))?.pop();
    let mut words = || Ok::<_, Error>(from.list("text", text)?.pop());
    let (format, section, limit, hint) = (words()?, words()?, words()?, words()?);
    let mut number = || Ok::<_, Error>(from.list("number", |from| from.number("number"))?.pop());
    let (line, offset, expected, found) = (number()?, number()?, number()?, number()?);
    let system = number()?.map(|number| (number as u32).cast_signed());
    let place = StoredError { path, format, section, line, offset, ..StoredError::new(detail) };
    Ok(StoredError { kind, expected, found, system, limit, hint, ..place })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_survive_the_round_trip() {
        let missing = Error::io("cannot open", std::io::Error::from_raw_os_error(2)).in_file("a").with_hint("again");
        let failed = InputState::Failed(Box::new(StoredError::from(&missing.at("section", 7))));
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
            input.digest = (input.state == InputState::Used && kind.is_none()).then_some(0x0123_4567_89ab_cdef);
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

    #[test]
    fn errors_of_earlier_versions_have_their_message_without_the_path() {
        let mut out = Encoder::default();
        out.text(b"a/b.profraw");
        [1, 2].into_iter().for_each(|word| out.number(word));
        out.text(b"a/b.profraw: raw v8: cut");
        out.list(["again"].iter(), |out, hint| out.text(hint.as_bytes()));
        [0, 0].into_iter().for_each(|word| out.number(word));
        [0, 0].into_iter().for_each(|word| out.number(word));
        let bytes = out.into_bytes();
        let input = PartialInput::decode(&mut Decoder::new(&bytes)).unwrap();
        let InputState::Failed(error) = &input.state else { panic!("{:?}", input.state) };
        let error = Error::from(&**error).in_file(&input.path);
        assert_eq!((error.kind().name(), error.to_string()), ("input-failed", "a/b.profraw: raw v8: cut".to_string()));
        assert_eq!(error.hint().map(ToString::to_string).as_deref(), Some("again"));
    }
}
