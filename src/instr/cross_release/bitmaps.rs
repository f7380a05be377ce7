//! MC/DC bitmaps of front-end profiles.
//!
//! LLVM 18 numbers the test vectors of a decision otherwise than LLVM 19 and later. The version of the indexed file
//! tells `llvm-cov` which numbers it has: up to 11 those of LLVM 18. With the wrong ones, it shows wrong results or
//! crashes.

use crate::instr::cross_release::finding::{Counted, CrossReleaseOptions, FindingKind};
use crate::model::{FunctionView, Profile, Release};
use std::cmp::Ordering;

/// The indexed version with the numbers of LLVM 18. Earlier versions have no bitmaps.
const FIRST_VERSION: u32 = 11;
/// The release that writes that version.
pub(crate) const FIRST_RELEASE: Release = Release(18);

/// Returns true if bitmaps of the inputs, if they have some, are not those of the target.
pub(super) fn may_differ(options: &CrossReleaseOptions) -> bool {
    match options.indexed_version.cmp(&FIRST_VERSION) {
        Ordering::Less => false,
        Ordering::Equal => options.origins.bitmaps_since_19,
        Ordering::Greater => options.origins.bitmaps_of_18,
    }
}

/// Chooses the version in which the target reads the bitmaps, or counts the functions whose bitmaps it does not
/// understand.
pub(super) fn choose(
    profile: &Profile,
    options: &CrossReleaseOptions,
    chosen: (Release, u32),
    counted: &mut Counted,
) -> (Release, u32) {
    let asked = CrossReleaseOptions { release: chosen.0, indexed_version: chosen.1, ..*options };
    if !may_differ(&asked) || !profile.functions.iter().any(has_bitmap) {
        return chosen;
    }
    // Memory profiles of later releases do not fit into the version, and later tools do not read raw profiles of LLVM 18.
    let may_choose = !options.version_is_given && !options.is_raw && profile.memprof.is_none();
    if may_choose && !options.origins.bitmaps_since_19 {
        return (FIRST_RELEASE, FIRST_VERSION);
    }
    for function in profile.functions.iter().filter(|function| has_bitmap(*function)) {
        counted.add(FindingKind::BitmapOfOtherRelease, function.id());
    }
    chosen
}

fn has_bitmap(function: FunctionView<'_>) -> bool {
    function.records().any(|record| !record.bitmap.is_empty())
}
