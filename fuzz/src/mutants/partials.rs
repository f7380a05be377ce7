//! Mutants of partial merges: the frame is valid, its content may not be.

use super::Dice;
use profbridge::Family;
use profbridge::Limits;
use profbridge::instr::partial::PartialMerge;
use profbridge::partial::{Frame, append};

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.inflated_bytes = 1 << 22;
    limits
}

/// Returns a mutant of a partial merge, or of a merge state without its frame.
pub fn mutate(data: &[u8], dice: &mut Dice) -> Option<Vec<u8>> {
    let Ok(Some(frame)) = Frame::find(data, &limits()) else {
        // The targets also accept a merge state without its frame.
        return Some(mutant_of_state(data.to_vec(), dice));
    };
    let (mut profile, mut family, mut origins) = (frame.profile.to_vec(), frame.family, frame.origins);
    let mut state = frame.state.into_owned();
    match dice.below(16) {
        0 => dice.change(&mut profile),
        1 => origins ^= 1 << dice.below(64),
        2 => family = dice.one_of(&[Family::Instr, Family::SampleProf, Family::Iprof, Family::Stacks]),
        _ => state = mutant_of_state(state, dice),
    }
    append(profile, family, origins, &state).ok()
}

fn mutant_of_state(mut state: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    let chance = dice.below(16);
    if chance < 2
        && let Ok(sums) = PartialMerge::decode(&state, &limits())
    {
        let mut joined = sums.clone();
        if chance == 0 {
            joined.append(sums);
        }
        return joined.encode().expect("it is small");
    }
    for _ in 0..=dice.below(3) {
        dice.change_numbers(&mut state);
    }
    state
}
