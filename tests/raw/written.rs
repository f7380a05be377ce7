//! The llvm-profdata of each release reads our raw files of its version. The text output equals that for the file of
//! its own runtime, or for our indexed file.

use crate::tools::{Workspace, available};
use crate::{encoded, merged, testdata};
use profbridge::bytes::{Encoding, Endian, PointerWidth};
use profbridge::families::OutputFormat;
use profbridge::instr::Release;

const ARCHITECTURES: [(Endian, PointerWidth); 4] = [
    (Endian::Little, PointerWidth::Bits64),
    (Endian::Big, PointerWidth::Bits64),
    (Endian::Little, PointerWidth::Bits32),
    (Endian::Big, PointerWidth::Bits32),
];

/// The installed releases, and the raw version that each reads.
const READERS: [(u32, u32); 6] = [(13, 7), (14, 8), (15, 8), (16, 8), (19, 10), (22, 10)];

/// LLVM 17 and earlier do not swap the hashes in the address table, so call targets are lost in the other byte order.
fn loses_targets(release: u32, endian: Endian) -> bool {
    release <= 17 && endian == Endian::Big
}

fn kinds_with_values(kind: &str) -> bool {
    !["fe", "coverage", "mcdc", "entry-coverage", "block-coverage", "byte-coverage"].contains(&kind)
}

#[test]
fn rewritten_raw_profiles_read_the_same() {
    let kinds = [
        "ir",
        "fe",
        "cxx",
        "cs",
        "entry-first",
        "entry-coverage",
        "two-objects",
        "fe-values",
        "coverage",
        "mcdc",
        "vtables",
        "loop-entries",
        "temporal",
        "block-coverage",
        "byte-coverage",
        "temporal-block-coverage",
    ];
    for (release, version) in READERS {
        let tool = format!("llvm-profdata-{release}");
        if !available("raw files written again", &[&tool]) {
            continue;
        }
        let workspace = Workspace::with(&[]);
        for kind in kinds {
            let golden = testdata(&format!("raw/clang-{release}-{kind}.profraw"));
            if !golden.exists() {
                continue;
            }
            let profile = merged(&golden, Release(release), |_| {});
            let expected = std::fs::read_to_string(golden.with_extension("proftext")).unwrap();
            for (endian, pointer) in ARCHITECTURES {
                if loses_targets(release, endian) && kinds_with_values(kind) {
                    continue;
                }
                let encoding = Encoding { endian, pointer, version };
                std::fs::write(workspace.path("x.profraw"), encoded(&profile, OutputFormat::Raw { encoding })).unwrap();
                workspace.run(&format!("{tool} merge --text x.profraw -o x.proftext"));
                assert_eq!(workspace.text("x.proftext"), expected, "{release} {kind} {encoding:?}");
            }
        }
    }
}

#[test]
fn profiles_of_other_releases_read_as_from_our_indexed_file() {
    let sources = [
        "clang-22-ir",
        "clang-13-cxx",
        "clang-19-fe-values",
        "clang-14-coverage-32",
        "rustc-1.95-coverage",
        "clang-16-shared-library",
        "clang-22-mcdc",
        "clang-22-vtables",
        "clang-22-pool",
    ];
    for (release, version) in READERS {
        let tool = format!("llvm-profdata-{release}");
        if !available("raw files of other releases", &[&tool]) {
            continue;
        }
        let indexed_version = Release(release).indexed_version().unwrap();
        let workspace = Workspace::with(&[]);
        for source in sources {
            let profile = merged(&testdata(&format!("raw/{source}.profraw")), Release(release), |_| {});
            let indexed = OutputFormat::Indexed { release: Release(release), version: indexed_version };
            std::fs::write(workspace.path("x.profdata"), encoded(&profile, indexed)).unwrap();
            workspace.run(&format!("{tool} merge --text x.profdata -o indexed.proftext"));
            for pointer in [PointerWidth::Bits64, PointerWidth::Bits32] {
                let encoding = Encoding { endian: Endian::Little, pointer, version };
                std::fs::write(workspace.path("x.profraw"), encoded(&profile, OutputFormat::Raw { encoding })).unwrap();
                workspace.run(&format!("{tool} merge --text x.profraw -o raw.proftext"));
                assert_eq!(
                    workspace.text("raw.proftext"),
                    workspace.text("indexed.proftext"),
                    "{release} {source} {encoding:?}"
                );
            }
        }
    }
}
