//! The samples of one program, added up, and their form in a partial merge.
//!
//! Samples of the same program add up exactly: runs of code, branches, and samples with call chains in the order in
//! which they were first seen. So one merge of all recordings, and a merge of partial merges of them, give the same
//! profile.

use super::contexts::ChainSamples;
use super::counters::{Counters, Counts, RunFindings};
use super::plain::PlainFindings;
use super::program::Program;
use super::script::ReadFindings;
use crate::call_chains::{PERIODS_DIFFER, SamplingPeriod, different_events};
use crate::driver::{InputOutcome, InputReport};
use crate::error::{Error, Result, Warning};
use crate::family::Family;
use crate::input::Input;
use crate::limits::Limits;
use crate::model::{Loss, LossKind, Losses};
use crate::partial::{self, Decoder, Duplicates, Encoder, Frame, InputState, PartialInput};
use crate::sampleprof::SAMPLES_OF_PROGRAM;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// The version of the state.
const VERSION: u64 = 1;

/// The kind of an input whose samples have no branch records.
pub(super) const PLAIN: u64 = 1;

/// The rates of recordings. Samples of different ones are not comparable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rates {
    /// The sampling periods; none if weights compensate them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) periods: BTreeSet<SamplingPeriod>,
    /// The events of each recording.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) events: BTreeSet<String>,
}

impl Rates {
    /// Adds those of other recordings.
    pub(crate) fn add(&mut self, other: &Self) {
        self.periods.extend(&other.periods);
        self.events.extend(other.events.iter().cloned());
    }

    /// Returns the warning about different rates. Different events usually have different periods.
    pub(crate) fn warning(&self) -> Option<Warning> {
        let periods = (self.periods.len() > 1).then(|| PERIODS_DIFFER.to_string());
        different_events(&self.events).or(periods).map(Warning::new)
    }
}

/// The numbers of used and dropped samples, and their rates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SampleFindings {
    /// Lines and samples.
    pub(super) read: ReadFindings,
    /// Runs of code.
    pub(super) runs: RunFindings,
    /// Samples without branch records.
    pub(super) plain: PlainFindings,
    /// The rates of the recordings.
    #[serde(flatten)]
    pub(super) rates: Rates,
}

impl SampleFindings {
    /// Adds the numbers of other inputs.
    fn add(&mut self, other: &Self) {
        let Self { read, runs, plain, rates } = other;
        self.read.add(read);
        self.runs.add(runs);
        self.plain.add(plain);
        self.rates.add(rates);
    }
}

/// The samples of one program, added up.
#[derive(Debug, Clone, Default)]
pub struct ProgramSamples {
    /// The name and the build id of the program.
    name: Vec<u8>,
    build_id: Option<Vec<u8>>,
    /// The recordings.
    pub(super) inputs: Vec<PartialInput>,
    pub(super) counters: Counters,
    pub(super) chains: ChainSamples,
    /// The counters of unsymbolized profiles, by the text of their calling context.
    pub(super) by_context: Vec<(Vec<u8>, Counters)>,
    pub(super) findings: SampleFindings,
}

impl ProgramSamples {
    /// Makes samples without inputs.
    pub(super) fn new(program: &Program<'_>) -> Self {
        let (name, build_id) = (program.name.clone(), program.build_id.clone());
        Self { name, build_id, ..Self::default() }
    }

    /// Returns the inputs, in order.
    pub fn inputs(&self) -> &[PartialInput] {
        &self.inputs
    }

    /// Returns the inputs with their outcomes, in order.
    pub(crate) fn reports(&self) -> Vec<InputReport> {
        let report = |input: &PartialInput| {
            let outcome = match input.state {
                InputState::Empty => InputOutcome::Empty,
                _ if !self.uses(input) => InputOutcome::NotReached,
                _ => InputOutcome::Used,
            };
            InputReport::new(&Input::new(&input.path), outcome)
        };
        self.inputs.iter().map(report).collect()
    }

    /// Returns true unless the input has samples without branch records, which do not count next to others.
    fn uses(&self, input: &PartialInput) -> bool {
        input.kind != Some(PLAIN) || self.counters.is_plain() || self.counters.is_empty()
    }

    /// The average weight of the samples in the counters.
    pub(super) fn weight(&self) -> f64 {
        let used = self.inputs.iter().filter(|input| self.uses(input));
        let (all, weighted) = used.fold((0.0, 0.0), |(all, weighted), input| {
            (all + input.records as f64, weighted + input.records as f64 * input.weight as f64)
        });
        if all > 0.0 { weighted / all } else { 1.0 }
    }

    /// Returns true for samples of this build of the program under this name: one of several programs can be a copy.
    pub(super) fn is_same_program(&self, other: &Self) -> bool {
        other.build_id == self.build_id && other.name == self.name
    }

    /// Returns true for samples of this build of the program. Without a build id, the name decides.
    fn is_same_build(&self, other: &Self) -> bool {
        other.build_id == self.build_id && (self.build_id.is_some() || other.name == self.name)
    }

    /// Returns true if there are no samples in the program.
    pub fn is_empty(&self) -> bool {
        self.counters.is_empty() && self.by_context.is_empty()
    }

    /// Returns the call chains of the samples as a loss, unless they are kept for calling contexts.
    pub(crate) fn losses(&self, contexts: bool) -> Vec<Loss> {
        let mut losses = Losses::new();
        if !contexts {
            losses.add(LossKind::CallChains, self.findings.read.call_chains);
        }
        losses.into_vec()
    }

    /// Fails if there are no samples, because recordings have another build of the program.
    ///
    /// # Errors
    ///
    /// Nothing found.
    pub(crate) fn require_this_build(&self) -> Result<()> {
        if !self.is_empty() || self.findings.read.other_builds == 0 {
            return Ok(());
        }
        let name = String::from_utf8_lossy(&self.name);
        Err(Error::nothing_found(format!("the samples are of another build of {name}"))
            .with_hint("give the program with the build id of the recording"))
    }

    /// Adds the samples of the inputs that follow.
    ///
    /// # Errors
    ///
    /// Usage for samples of another build of the program.
    pub(super) fn append(&mut self, later: Self, weight: u64) -> Result<()> {
        if !self.is_same_build(&later) {
            let [own, other] = [&*self, &later].map(Self::words);
            return Err(Error::usage(format!("the partial merge has samples of {other}, not of {own}"))
                .with_hint("give the program that was sampled"));
        }
        self.counters.add(&later.counters, weight);
        self.chains.add_all(&later.chains, weight);
        self.by_context.extend(later.by_context.into_iter().map(|(title, counters)| {
            let mut weighted = Counters::default();
            weighted.add(&counters, weight);
            (title, weighted)
        }));
        self.findings.add(&later.findings);
        self.inputs.extend(later.inputs);
        Ok(())
    }

    /// The program in messages.
    fn words(&self) -> String {
        let name = String::from_utf8_lossy(&self.name);
        match &self.build_id {
            None => format!("{name}, which has no build id"),
            Some(id) => {
                let digits: Vec<String> = id.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("{name} with the build id {}", digits.concat())
            }
        }
    }

    /// Writes a partial merge: no profile, the samples, and a footer.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error; usage for unsymbolized profiles with calling contexts.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        if !self.by_context.is_empty() {
            let detail = "a partial merge cannot store an unsymbolized profile with calling contexts";
            return Err(Error::usage(detail).with_hint("convert it, and merge the profile"));
        }
        let mut out = Encoder::default();
        out.number(VERSION);
        out.text(&self.name);
        out.list(self.build_id.iter(), |out, id| out.text(id));
        out.list(self.inputs.iter(), |out, input| input.encode(out));
        let findings = serde_json::to_vec(&self.findings).map_err(|error| Error::malformed(error.to_string()))?;
        out.text(&findings);
        out.number(self.counters.is_plain.into());
        for counts in [&self.counters.runs, &self.counters.branches] {
            encode_counts(counts, &mut out);
        }
        out.number(self.chains.too_deep);
        out.list(self.chains.iter(), |out, sample| {
            out.numbers(&sample.chain);
            out.list(sample.branches.iter(), |out, (source, target)| {
                out.number(*source);
                out.number(*target);
            });
            out.number(sample.times);
        });
        partial::append(Vec::new(), Family::SampleProf, SAMPLES_OF_PROGRAM, &out.finish())
    }

    /// Reads a partial merge; `None` for other files.
    ///
    /// # Errors
    ///
    /// Usage for a partial merge of other inputs; the errors of [`Frame::find`], and of a damaged state.
    pub(crate) fn from_bytes(bytes: &[u8], limits: &Limits) -> Result<Option<Self>> {
        let Some(frame) = Frame::find(bytes, limits)? else { return Ok(None) };
        if (frame.family, frame.origins) != (Family::SampleProf, SAMPLES_OF_PROGRAM) {
            let detail = format!("a partial merge of {}, not of recordings", frame.family.words());
            return Err(Error::usage(detail).with_hint("merge it without a program"));
        }
        Self::decode(&frame.state, limits).map(Some)
    }

    fn decode(state: &[u8], limits: &Limits) -> Result<Self> {
        let mut from = Decoder::new(state);
        let version = from.number("version")?;
        if version != VERSION {
            return Err(from.malformed(format!("version {version} of the samples, expected {VERSION}")));
        }
        let mut found = Self { name: from.text("name of the program")?.to_vec(), ..Self::default() };
        found.build_id = from.list("build id", |from| from.text("build id").map(<[u8]>::to_vec))?.pop();
        found.inputs = from.list("inputs", PartialInput::decode)?;
        let findings = from.text("numbers of samples")?;
        found.findings = serde_json::from_slice(findings).map_err(|error| from.malformed(error.to_string()))?;
        found.counters.is_plain = from.place("kind of samples", 2)? == 1;
        found.counters.runs = decode_counts(&mut from)?;
        found.counters.branches = decode_counts(&mut from)?;
        found.chains.too_deep = from.number("left out samples")?;
        let most = limits.context_depth;
        for _ in 0..from.count("samples with call chains")? {
            let chain = from.numbers("call chain")?;
            let branches =
                from.list("branches", |from| Ok((from.number("source of a branch")?, from.number("its target")?)))?;
            found.chains.add(&chain, &branches, from.number("number of samples")?, most);
        }
        from.end()?;
        Ok(found)
    }
}

/// Encodes counts in their order. Addresses are differences to the one before.
fn encode_counts(counts: &Counts, out: &mut Encoder) {
    let mut before = 0;
    out.list(counts.iter(), |out, ((first, second), count)| {
        out.number(first.wrapping_sub(before));
        out.number(zigzag(second.wrapping_sub(*first)));
        out.number(*count);
        before = *first;
    });
}

fn decode_counts(from: &mut Decoder<'_>) -> Result<Counts> {
    let mut counts = Counts::new();
    let mut before = 0_u64;
    for _ in 0..from.count("counts")? {
        before = before.wrapping_add(from.number("address")?);
        let second = before.wrapping_add(unzigzag(from.number("distance")?));
        if counts.insert((before, second), from.number("count")?).is_some() {
            return Err(from.malformed("two counts have the same addresses"));
        }
    }
    Ok(counts)
}

/// Makes small numbers of small differences in either direction.
fn zigzag(difference: u64) -> u64 {
    (difference << 1) ^ ((difference as i64 >> 63) as u64)
}

fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// Finds recordings that occur twice.
#[derive(Debug)]
pub(super) struct Occurrences(Option<Duplicates>);

impl Occurrences {
    /// Finds nothing if recordings may occur twice.
    pub(super) fn new(are_allowed: bool) -> Self {
        Self((!are_allowed).then(Duplicates::default))
    }

    /// Notes the recordings of an input.
    ///
    /// # Errors
    ///
    /// Usage for a recording that a partial merge and another input have.
    pub(super) fn note(&mut self, path: &Path, is_partial: bool, inputs: &[PartialInput]) -> Result<()> {
        match &mut self.0 {
            None => Ok(()),
            Some(duplicates) => duplicates.append(Duplicates::of(path, is_partial, inputs)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> ProgramSamples {
        let mut samples = ProgramSamples { name: b"app".to_vec(), build_id: Some(vec![0xab, 1]), ..Default::default() };
        samples.counters.runs = [((0x1000, 0x1010), 7), ((0x1000, 0x1020), 1), ((0x900, 0x900), u64::MAX)].into();
        samples.counters.branches = [((1, 0x1000), 3), ((0x1010, 0x900), 4)].into();
        samples.chains.add(&[0x1000, 0x1004], &[(0x1010, 0x1000), (1, 0x900)], 5, 100);
        samples.chains.add(&[0x900], &[(0x1010, 0x1000)], 6, 100);
        samples.chains.too_deep = 2;
        samples.findings.read.samples = 11;
        samples.findings.read.is_mapped = true;
        samples.findings.plain.all = 3;
        samples.findings.rates.periods.insert(SamplingPeriod::Events(7));
        samples.inputs.push(PartialInput::new("perf.data", 2));
        samples
    }

    fn read(bytes: &[u8]) -> Result<Option<ProgramSamples>> {
        ProgramSamples::from_bytes(bytes, &Limits::default())
    }

    #[test]
    fn samples_are_read_as_they_were_written() {
        let written = samples();
        let bytes = written.to_bytes().unwrap();
        let found = read(&bytes).unwrap().unwrap();
        assert_eq!((&found.name, &found.build_id, &found.inputs), (&written.name, &written.build_id, &written.inputs));
        assert_eq!(found.counters, written.counters);
        assert_eq!(found.chains.iter().collect::<Vec<_>>(), written.chains.iter().collect::<Vec<_>>());
        assert_eq!((found.chains.too_deep, &found.findings), (2, &written.findings));
        assert_eq!(found.to_bytes().unwrap(), bytes);
        assert!(read(b"perf.data").unwrap().is_none());
    }

    #[test]
    fn a_damaged_state_is_an_error() {
        let frame = samples().to_bytes().unwrap();
        let state = Frame::find(&frame, &Limits::default()).unwrap().unwrap().state.into_owned();
        assert!(ProgramSamples::decode(&state, &Limits::default()).is_ok());
        for len in 0..state.len() {
            assert!(ProgramSamples::decode(&state[..len], &Limits::default()).is_err(), "{len} bytes");
        }
        for at in 0..state.len() {
            let mut changed = state.clone();
            changed[at] ^= 0x81;
            // It may still be valid, but it must not panic.
            let _ = ProgramSamples::decode(&changed, &Limits::default());
        }
    }

    #[test]
    fn samples_of_another_build_are_an_error() {
        let mut other = samples();
        other.build_id = Some(vec![0xac]);
        let error = samples().append(other, 1).unwrap_err().to_string();
        assert_eq!(
            error,
            "the partial merge has samples of app with the build id ac, not of app with the build id ab01"
        );
    }

    #[test]
    fn a_build_is_the_same_under_another_name_if_it_has_an_id() {
        let mut renamed = samples();
        renamed.name = b"app-1.2".to_vec();
        samples().append(renamed.clone(), 1).unwrap();
        renamed.build_id = None;
        let mut own = samples();
        own.build_id = None;
        let error = own.append(renamed, 1).unwrap_err().to_string();
        assert!(error.contains("samples of app-1.2, which has no build id, not of app,"), "{error}");
    }
}
