//! Profiles that were written for one release and are written again for another one.

use crate::comparison::Comparison;
use crate::compilers::releases;
use crate::matrix::release;

/// Merged profiles in each format.
const FORMATS: [(&str, &str); 2] = [("--binary", "own.profdata"), ("--text", "own.proftext")];

/// A profile that is written for the writer's own tools first gives the same bytes as the raw profile.
fn by_way_of_the_writer(comparison: &Comparison, raw: &str, writer: u32, reader: u32) -> Vec<String> {
    let (own, target) = (format!("llvm-{writer}"), format!("llvm-{reader}"));
    let written = |input: &str, name: &str| {
        comparison.run(&["merge", "--for", &target, input, "-o", name]);
        comparison.bytes(name)
    };
    let at_once = written(raw, "at-once.profdata");
    let mut faults = Vec::new();
    for (format, name) in FORMATS {
        comparison.run(&["merge", "--for", &own, format, raw, "-o", name]);
        if written(name, "again.profdata") != at_once {
            faults.push(format!("other bytes by way of {name}"));
        }
    }
    faults
}

/// A raw profile converted to one of the reader's release is what its tool reads.
fn as_raw(comparison: &Comparison, raw: &str, reader: u32) -> Vec<String> {
    let target = format!("llvm-{reader}");
    comparison.run(&["convert", "--for", &target, "--to", "raw", "--force", raw, "-o", "crossed.profraw"]);
    let Some(theirs) = comparison.text_by(reader, "crossed.profraw") else { return Vec::new() };
    comparison.run(&["merge", "--for", &target, "--text", raw, "-o", "crossed.proftext"]);
    let ours = String::from_utf8(comparison.bytes("crossed.proftext")).expect("text was written");
    // Our own line states the form of the names.
    let differs = ours.replace("#!names=file:function\n", "") != theirs;
    differs.then(|| format!("llvm-profdata reads other functions:\n{theirs}")).into_iter().collect()
}

#[test]
fn profiles_are_rewritten_for_every_release() {
    let releases = releases("rewriting");
    let toolchains: Vec<String> = releases.iter().map(|release| format!("clang-{release}")).collect();
    if toolchains.len() < 2 {
        return;
    }
    let comparison = Comparison::new(&toolchains, "ir,fe");
    let mut faults = Vec::new();
    let mut compared = 0;
    for cell in comparison.cells().filter(|cell| cell["writer"] != cell["reader"]) {
        let text = |member: &str| cell[member].as_str().expect("a name");
        let (writer, reader) = (release(&cell["writer"]), release(&cell["reader"]));
        for source in ["local;names.c", "program.cpp"] {
            let raw = comparison.kept(text("kind"), text("writer"), source, "profile.profraw");
            let target = format!("llvm-{reader}");
            let found = [by_way_of_the_writer(&comparison, &raw, writer, reader), as_raw(&comparison, &raw, reader)];
            let strict = comparison.fails(&["merge", "--strict", "--for", &target, &raw, "-o", "strict.profdata"]);
            let is_lost = cell["through"]["lost"].as_u64() != Some(0);
            let of_strict = (strict != is_lost).then(|| format!("--strict fails: {strict}, lost: {is_lost}"));
            let at = format!("{} of {writer} for {reader}, {source}", text("kind"));
            faults.extend(found.concat().into_iter().chain(of_strict).map(|fault| format!("{at}: {fault}")));
            compared += 1;
        }
    }
    assert_eq!(compared, 4 * releases.len() * (releases.len() - 1));
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
