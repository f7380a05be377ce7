//! Partial merges: the frame and the state must survive any bytes, and what a
//! state says must be written and read back the same.

use profbridge::Limits;
use profbridge::merge::MergeOptions;
use profbridge::merge::partial::PartialMerge;
use profbridge::partial::{Family, Frame, append};

/// The bytes as a file, and as the state that its checksum would else protect.
pub fn read(data: &[u8]) {
    let mut limits = Limits::default();
    // What small inputs expand to must not slow the fuzzer down.
    limits.inflated_bytes = 1 << 22;
    limits.context_depth = 256;
    if let Ok(Some(frame)) = Frame::find(data, &limits) {
        let again = append(frame.profile.to_vec(), frame.family, frame.origins, &frame.state);
        assert_eq!(Frame::find(&again, &limits).expect("what is framed can be found"), Some(frame.clone()));
        if frame.family == Family::Instr {
            state(&frame.state, &limits);
        }
    }
    state(data, &limits);
}

fn state(bytes: &[u8], limits: &Limits) {
    let Ok(sums) = PartialMerge::decode(bytes, limits) else { return };
    let written = sums.encode();
    let again = PartialMerge::decode(&written, limits).expect("what is written can be read");
    assert_eq!(again.encode(), written, "the state changes when it is written again");
    let mut options = MergeOptions::default();
    options.limits = *limits;
    if let Ok(replayed) = sums.replay(options, &mut |_, _, _| {}) {
        replayed.merger.finish();
    }
    // Going on from a state: it comes after itself.
    let mut twice = sums.clone();
    twice.append(sums);
    let mut wider = *limits;
    wider.inflated_bytes *= 4;
    PartialMerge::decode(&twice.encode(), &wider).expect("joined states can be read");
}
