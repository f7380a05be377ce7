//! Inputs that a partial merge stores unchanged and compressed.

use super::inputs::{InputState, PartialInput};
use super::wire::{Decoder, Encoder};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::memory::{self, Buffer, HOLD_INFLATED, HOLD_OUTPUT};
use flate2::read::ZlibDecoder;
use flate2::{Compression, write::ZlibEncoder};
use std::io::{Read, Write};
use std::sync::Arc;

/// An input and its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredInput {
    /// The properties of the input.
    pub about: PartialInput,
    /// Whether it was found in a directory, and not given by name.
    pub is_found: bool,
    len: u64,
    /// The compressed bytes, shared between equal inputs.
    deflated: Arc<Vec<u8>>,
}

/// The compressed form of an input without bytes.
const EMPTY: [u8; 8] = [0x78, 0x01, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01];

/// A sequence of inputs, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredInputs {
    inputs: Vec<StoredInput>,
    applied: Vec<String>,
}

impl StoredInput {
    /// Stores an input.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn new(about: PartialInput, is_found: bool, bytes: &[u8]) -> Result<Self> {
        let mut encoder = ZlibEncoder::new(Buffer::default(), Compression::fast());
        let deflated = encoder.write_all(bytes).and_then(|()| encoder.finish());
        let deflated = deflated.map_err(|error| Error::io(HOLD_OUTPUT, error))?.0;
        Ok(Self { about, is_found, len: bytes.len() as u64, deflated: Arc::new(deflated) })
    }

    /// Creates an input without bytes, because it could not be read.
    pub fn unreadable(path: impl Into<std::path::PathBuf>, weight: u64, error: &Error) -> Self {
        let state = InputState::Failed(Box::new(error.into()));
        Self {
            about: PartialInput { state, ..PartialInput::new(path, weight) },
            is_found: false,
            len: 0,
            deflated: Arc::new(EMPTY.to_vec()),
        }
    }

    /// Returns its bytes.
    ///
    /// # Errors
    ///
    /// Uncompress failed for a damaged state; limit exceeded.
    pub fn bytes(&self, limits: &Limits) -> Result<Vec<u8>> {
        let (limit, name) = limits.of_stream(self.deflated.len() as u64);
        if self.len > limit {
            return Err(Error::above_limit(Some(name), "inflated size", self.len, limit));
        }
        let mut bytes = Vec::new();
        let fault = |detail: String| Error::new(ErrorKind::UncompressFailed { detail });
        ZlibDecoder::new(&self.deflated[..])
            .take(self.len.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| memory::refused_or(error, HOLD_INFLATED, |error| fault(error.to_string())))?;
        if bytes.len() as u64 == self.len {
            Ok(bytes)
        } else {
            Err(fault(format!("the data inflates to {} bytes, expected {}", bytes.len(), self.len)))
        }
    }
}

impl StoredInputs {
    /// Returns the inputs, in order.
    pub fn inputs(&self) -> &[StoredInput] {
        &self.inputs
    }

    /// Returns the inputs, in order, for changes that keep their number.
    pub(crate) fn inputs_mut(&mut self) -> &mut [StoredInput] {
        &mut self.inputs
    }

    /// Returns the settings applied to inputs when they were stored, in words, each once.
    pub fn applied(&self) -> &[String] {
        &self.applied
    }

    /// Records an applied setting, in words.
    pub fn note_applied(&mut self, words: String) {
        if !self.applied.contains(&words) {
            self.applied.push(words);
        }
    }

    /// Adds an input.
    pub fn push(&mut self, input: StoredInput) {
        self.inputs.push(input);
    }

    /// Appends later inputs.
    pub fn append(&mut self, later: Self) {
        self.inputs.extend(later.inputs);
        later.applied.into_iter().for_each(|words| self.note_applied(words));
    }

    /// Encodes the inputs as a state. Equal bytes of several inputs are stored once.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut out = Encoder::default();
        out.list(self.applied.iter(), |out, words| out.text(words.as_bytes()));
        let mut known = foldhash::HashMap::default();
        let mut contents: Vec<&StoredInput> = Vec::new();
        let mut places = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            places.push(*known.entry(&input.deflated[..]).or_insert_with(|| {
                contents.push(input);
                contents.len() - 1
            }));
        }
        out.list(contents.iter(), |out, input| {
            out.number(input.len);
            out.text(&input.deflated);
        });
        out.list(self.inputs.iter().zip(places), |out, (input, place)| {
            input.about.encode(out);
            out.number(input.is_found.into());
            out.count(place);
        });
        Ok(out.finish())
    }

    /// Reads the output of [`encode`](Self::encode).
    ///
    /// # Errors
    ///
    /// Truncated and malformed.
    pub fn decode(state: &[u8]) -> Result<Self> {
        let mut from = Decoder::new(state);
        let applied = from.list("filters", |from| Ok(String::from_utf8_lossy(from.text("filter")?).into_owned()))?;
        let contents = from.list("contents", |from| {
            Ok((from.number("length of an input")?, Arc::new(from.text("input")?.to_vec())))
        })?;
        let inputs = from.list("inputs", |from| {
            let about = PartialInput::decode(from)?;
            let is_found = from.place("mark of an input", 2)? == 1;
            let (len, deflated) = contents[from.place("content", contents.len())?].clone();
            Ok(StoredInput { about, is_found, len, deflated })
        })?;
        from.end()?;
        Ok(Self { inputs, applied })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_inputs_round_trip_in_order() {
        let input =
            |name: &str, bytes: &[u8]| StoredInput::new(PartialInput::new(name, 2), name == "b", bytes).unwrap();
        assert_eq!(*input("empty", b"").deflated, EMPTY);
        let mut all = StoredInputs::default();
        all.push(input("a", b"some bytes"));
        all.push(StoredInput::unreadable("x", 1, &Error::usage("cannot open")));
        let mut later = StoredInputs::default();
        later.push(input("b", b"some bytes"));
        later.note_applied("a filter".to_string());
        all.append(later);
        let state = all.encode().unwrap();
        let again = StoredInputs::decode(&state).unwrap();
        assert_eq!(again, all);
        assert_eq!(again.inputs()[2].bytes(&Limits::default()).unwrap(), b"some bytes");
        assert_eq!(again.inputs()[1].bytes(&Limits::default()).unwrap(), b"");
        assert!(again.inputs()[2].is_found && !again.inputs()[0].is_found);
        (0..state.len()).for_each(|end| assert!(StoredInputs::decode(&state[..end]).is_err()));
        let lying = StoredInput { len: 1 << 40, ..all.inputs[0].clone() };
        assert!(lying.bytes(&Limits::default()).unwrap_err().to_string().contains("inflated size"));
    }
}
