//! Which kinds of profiles go together.

use super::rules::{KindRule, MergeRules};
use crate::error::{Error, ErrorKind};
use crate::instr::ProfileKind;
use std::num::NonZeroUsize;

/// Why two kinds do not go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KindConflict {
    /// IR and front-end profiles, to releases that tell them apart.
    Levels,
    /// A profile marked `:fe` and one without that mark.
    MarkedLevels,
    /// Entry-only coverage and profiles that count entry blocks first.
    EntryOnly,
}

impl KindConflict {
    pub(super) fn into_error(self) -> Error {
        let what = match self {
            Self::Levels => "IR and front-end profiles",
            Self::MarkedLevels => "a profile marked :fe and one without that mark",
            Self::EntryOnly => "entry-only coverage and profiles that count entry blocks first",
        };
        Error::new(ErrorKind::KindConflict { detail: format!("{what} cannot be merged") })
            .with_hint("merge profiles of one kind at a time")
    }
}

/// The kind of a profile of kind `so_far`, when one of kind `new` joins it.
pub(super) fn combine_kinds(
    rule: KindRule,
    so_far: ProfileKind,
    new: ProfileKind,
    any_before: bool,
) -> Result<ProfileKind, KindConflict> {
    const FRONT_END: ProfileKind = ProfileKind::FRONT_END;
    match rule {
        KindRule::LevelsMustMatch => {
            if any_before && so_far.is_ir() != new.is_ir() {
                return Err(KindConflict::Levels);
            }
            let known = ProfileKind::IR | ProfileKind::CONTEXT_SENSITIVE;
            let entry_first = new.intersection(ProfileKind::ENTRY_FIRST);
            Ok((so_far | new).intersection(known) | entry_first)
        }
        KindRule::MarkedLevelsMustMatch => {
            if so_far.is_none() {
                return Ok(new);
            }
            if so_far.contains(FRONT_END) != new.contains(FRONT_END) {
                return Err(KindConflict::MarkedLevels);
            }
            let first = ProfileKind::ENTRY_FIRST | ProfileKind::LOOP_ENTRIES;
            let only = ProfileKind::FUNCTION_ENTRY_ONLY;
            if (so_far.contains(only) && new.intersects(first)) || (new.contains(only) && so_far.intersects(first)) {
                return Err(KindConflict::EntryOnly);
            }
            Ok(so_far | new)
        }
    }
}

/// More sums than any machine makes apart.
const MOST_CONTEXTS: usize = 1 << 16;

/// The conflict that ends a merge of llvm-profdata which makes `contexts` sums
/// apart and joins them (`--num-threads`), where the inputs have these kinds;
/// `None` stands for an input that was not opened. There is none with a single
/// sum: what does not go together is left out of it then.
///
/// Releases before 16 join without looking.
pub fn conflict_of_contexts(
    rules: &MergeRules,
    inputs: &[Option<ProfileKind>],
    contexts: NonZeroUsize,
) -> Option<KindConflict> {
    let contexts = contexts.get().min(MOST_CONTEXTS);
    if contexts < 2 || !rules.joins_kinds {
        return None;
    }
    let mut kinds = vec![ProfileKind::NONE; contexts];
    for (at, kind) in inputs.iter().enumerate() {
        let context = &mut kinds[at % contexts];
        if let Some(combined) = kind.and_then(|kind| combine_kinds(rules.kinds, *context, kind, true).ok()) {
            *context = combined;
        }
    }
    let (mut half, mut end) = (contexts / 2, contexts);
    while half > 0 {
        let odd = (end % 2 == 1).then_some((0, end - 1));
        for (into, from) in (0..half).map(|at| (at, at + half)).chain(odd) {
            match combine_kinds(rules.kinds, kinds[into], kinds[from], true) {
                Ok(combined) => kinds[into] = combined,
                Err(conflict) => return Some(conflict),
            }
        }
        (end, half) = (half, half / 2);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instr::Release;

    const IR: Option<ProfileKind> = Some(ProfileKind::IR);
    const FRONT_END: Option<ProfileKind> = Some(ProfileKind::FRONT_END);
    const UNMARKED: Option<ProfileKind> = Some(ProfileKind::NONE);

    fn conflict(contexts: usize, inputs: &[Option<ProfileKind>]) -> bool {
        let contexts = NonZeroUsize::new(contexts).unwrap();
        conflict_of_contexts(&MergeRules::default(), inputs, contexts).is_some()
    }

    /// Each line was seen with llvm-profdata 22.
    #[test]
    fn sums_made_apart_conflict_when_they_are_joined() {
        assert!(!conflict(1, &[IR, FRONT_END]));
        assert!(conflict(2, &[IR, FRONT_END]));
        assert!(!conflict(2, &[UNMARKED, FRONT_END]));
        assert!(conflict(3, &[UNMARKED, FRONT_END]), "the third sum is empty");
        assert!(!conflict(3, &[IR, UNMARKED]));
        assert!(!conflict(2, &[IR, UNMARKED, FRONT_END]), "the last one is left out of the first sum");
        assert!(!conflict(2, &[IR, IR, FRONT_END, FRONT_END]));
        assert!(conflict(2, &[FRONT_END, IR, FRONT_END]));
        assert!(conflict(2, &[FRONT_END]), "the second sum is empty");
    }

    #[test]
    fn releases_before_16_do_not_look() {
        let two = NonZeroUsize::new(2).unwrap();
        for (release, conflicts) in [(14, false), (15, false), (16, true), (22, true)] {
            let found = conflict_of_contexts(&MergeRules::of(Release(release)), &[IR, FRONT_END], two);
            assert_eq!(found.is_some(), conflicts, "LLVM {release}");
        }
    }
}
