//! Mutants of partial merges: the frame is valid, its content may not be.

use super::Dice;
use profbridge::Family;
use profbridge::Limits;
use profbridge::families::partial::{Partial, PartialOptions};
use profbridge::instr::partial::PartialMerge;
use profbridge::partial::{FOOTER_BYTES, Frame, append};

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.inflated_bytes = 1 << 22;
    limits
}

fn options() -> PartialOptions {
    let mut options = PartialOptions::default();
    options.instr.read.limits = limits();
    options
}

/// Returns a mutant of a partial merge, or of a merge state without its frame.
pub fn mutate(data: &[u8], dice: &mut Dice) -> Option<Vec<u8>> {
    let Ok(Some(frame)) = Frame::find(data, &limits()) else {
        // The targets also accept a merge state without its frame.
        return Some(mutant_of_state(data.to_vec(), dice));
    };
    let (mut profile, mut family, mut origins) = (frame.profile.to_vec(), frame.family, frame.origins);
    let mut state = frame.state.into_owned();
    let chance = dice.below(18);
    if chance > 15
        && let Ok(Partial::Instr(sums)) = Partial::from_bytes(data, &options())
    {
        return append(Vec::new(), family, origins, &joined(sums, chance == 16)).ok();
    }
    match chance {
        0 => dice.change(&mut profile),
        1 => origins ^= 1 << dice.below(64),
        2 => family = dice.one_of(&[Family::Instr, Family::SampleProf, Family::Iprof, Family::Stacks]),
        _ => state = mutant_of_state(state, dice),
    }
    let mut mutant = append(profile, family, origins, &state).ok()?;
    // Until version 4 a state does not refer to its profile; until version 2 it is always compressed.
    let version = mutant.len() - FOOTER_BYTES + 52;
    mutant[version..version + 4].copy_from_slice(&frame.version.max(4).to_le_bytes());
    Some(mutant)
}

/// Encodes sums, or the sums of all inputs `twice`.
fn joined(mut sums: PartialMerge, twice: bool) -> Vec<u8> {
    if twice {
        sums.append(sums.clone());
    }
    sums.encode().expect("it is small")
}

fn mutant_of_state(mut state: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    let chance = dice.below(16);
    if chance < 2
        && let Ok(sums) = PartialMerge::decode(&state, &limits())
    {
        return joined(sums, chance == 0);
    }
    for _ in 0..=dice.below(3) {
        dice.change_numbers(&mut state);
    }
    state
}
