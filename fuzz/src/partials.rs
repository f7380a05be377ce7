//! Partial merges: the reader of the frame and of the merge state must not panic, and a valid state must survive
//! writing and reading.

use profbridge::Family;
use profbridge::Limits;
use profbridge::families::partial::{Partial, PartialOptions};
use profbridge::instr::MergeOptions;
use profbridge::instr::partial::PartialMerge;
use profbridge::partial::{Frame, StoredInputs, append};
use profbridge::sampleprof::partial::PartialSamples;
use profbridge::sampleprof::{FileMergeOptions, finish_partial};

/// Reads the bytes as a file, and as a merge state without its checksum.
pub fn read(data: &[u8]) {
    let mut limits = Limits::default();
    // Limit the decompressed size, so that the fuzzer stays fast.
    limits.inflated_bytes = 1 << 22;
    limits.context_depth = 256;
    if let Ok(Some(frame)) = Frame::find(data, &limits) {
        let again = append(frame.profile.to_vec(), frame.family, frame.origins, &frame.state).expect("it is small");
        let again = Frame::find(&again, &limits).expect("what is framed can be found").expect("it is framed");
        assert_eq!(again, Frame { version: again.version, ..frame.clone() });
        if frame.family == Family::Instr {
            state(&frame.state, &limits);
        }
        let mut options = PartialOptions::default();
        options.instr.read.limits = limits;
        if let Ok(partial) = Partial::from_bytes(data, &options) {
            let written = partial.to_bytes().expect("it is small");
            let again = Partial::from_bytes(&written, &options).expect("what is written can be read");
            assert_eq!(again.to_bytes().expect("it is small"), written, "the state changes when it is written again");
            // With the profile in front of the state.
            if let Partial::Instr(sums) = partial {
                continued(sums, &limits);
            }
        }
    }
    state(data, &limits);
    samples(data);
    kept(data, &limits);
}

fn samples(bytes: &[u8]) {
    let Ok(sums) = PartialSamples::decode(bytes, None) else { return };
    let written = sums.encode(None).expect("it is small");
    let again = PartialSamples::decode(&written, None).expect("what is written can be read");
    assert_eq!(again.encode(None).expect("it is small"), written, "the state changes when it is written again");
    let _ = finish_partial(&sums, &FileMergeOptions::default());
    let mut twice = sums.clone();
    twice.append(sums);
    let joined = twice.encode(None).expect("it is small");
    PartialSamples::decode(&joined, None).expect("joined states can be read");
}

fn kept(bytes: &[u8], limits: &Limits) {
    let Ok(inputs) = StoredInputs::decode(bytes) else { return };
    let written = inputs.encode().expect("it is small");
    assert_eq!(
        StoredInputs::decode(&written).expect("what is written can be read").encode().expect("it is small"),
        written
    );
    for input in inputs.inputs() {
        let _ = input.bytes(limits);
    }
}

fn state(bytes: &[u8], limits: &Limits) {
    if let Ok(sums) = PartialMerge::decode(bytes, limits) {
        continued(sums, limits);
    }
}

fn continued(sums: PartialMerge, limits: &Limits) {
    let written = sums.encode().expect("it is small");
    let again = PartialMerge::decode(&written, limits).expect("what is written can be read");
    assert_eq!(again.encode().expect("it is small"), written, "the state changes when it is written again");
    let mut options = MergeOptions::default();
    options.limits = *limits;
    if let Ok(replayed) = sums.replay(options, &mut |_, _, _| {}) {
        replayed.merger.into_profile();
    }
    // Continue from a state with itself as the next input.
    let mut twice = sums.clone();
    twice.append(sums);
    let mut wider = *limits;
    wider.inflated_bytes *= 4;
    PartialMerge::decode(&twice.encode().expect("it is small"), &wider).expect("joined states can be read");
}
