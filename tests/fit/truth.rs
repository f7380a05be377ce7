//! Compares `fit` with compilers: `fit` predicts the functions that a compiler warns about, and those that get no
//! counts.

use crate::support::{Folder, available, errors, lost, names};
use serde_json::Value;
use std::collections::BTreeSet;

const RELEASES: [u32; 3] = [16, 19, 22];

const SOURCE: &str = include_str!("src/edited.c");

/// The kind of instrumentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ir,
    FrontEnd,
}

impl Kind {
    fn generate(self) -> &'static str {
        if self == Self::Ir { "-fprofile-generate" } else { "-fprofile-instr-generate" }
    }

    fn r#use(self, profile: &str) -> String {
        match self {
            Self::Ir => format!(
                "-fprofile-use={profile} -mllvm -pgo-warn-missing-function -mllvm -no-pgo-warn-mismatch=false \
                 -mllvm -no-pgo-warn-mismatch-comdat-weak=false"
            ),
            Self::FrontEnd => format!(
                "-fprofile-instr-use={profile} -Wprofile-instr-missing -Wprofile-instr-out-of-date \
                 -Wno-profile-instr-unprofiled"
            ),
        }
    }
}

/// The warnings and results of a compiler.
#[derive(Debug, Default, PartialEq, Eq)]
struct Compiled {
    /// Functions whose profile does not match.
    mismatched: BTreeSet<String>,
    /// Functions without a profile.
    missing: BTreeSet<String>,
}

/// A directory with two versions of the program.
struct Desk {
    folder: Folder,
    language: &'static str,
}

impl Desk {
    fn new(language: &'static str) -> Self {
        let folder = Folder::new();
        folder.write("edited.c", SOURCE);
        Self { folder, language }
    }

    /// Returns the profile of the first version, merged by the tool of the same release.
    fn profile(&self, release: u32, kind: Kind) -> String {
        let stem = format!("before-{release}-{kind:?}");
        let (generate, language) = (kind.generate(), self.language);
        self.folder.run(&format!("clang-{release} -x {language} -O2 {generate}={stem}.profraw edited.c -o {stem}"));
        self.folder.run(&format!("./{stem}"));
        // IR instrumentation needs a directory.
        self.folder.run(&format!("llvm-profdata-{release} merge {stem}.profraw -o {stem}.profdata"));
        format!("{stem}.profdata")
    }

    /// Returns the second version, instrumented.
    fn program(&self, release: u32, kind: Kind) -> String {
        let name = format!("after-{release}-{kind:?}");
        let (generate, language) = (kind.generate(), self.language);
        self.folder.run(&format!("clang-{release} -x {language} -O2 {generate} -DEDITED edited.c -o {name}"));
        name
    }

    /// Compiles the second version with a profile.
    fn compile(&self, release: u32, kind: Kind, profile: &str) -> Compiled {
        let (options, language) = (kind.r#use(profile), self.language);
        let line = format!("clang-{release} -x {language} -O2 {options} -DEDITED edited.c -S -emit-llvm -o -");
        let output = self.folder.run(&line);
        let said = errors(&output);
        match kind {
            Kind::Ir => warned(&said),
            Kind::FrontEnd => unused(&String::from_utf8_lossy(&output.stdout), &said),
        }
    }
}

/// Returns the functions in warnings.
fn warned(said: &str) -> Compiled {
    let mut compiled = Compiled::default();
    let name_behind = |line: &str, words: &str| {
        let rest = &line[line.find(words)? + words.len()..];
        rest.split(' ').find(|word| !word.is_empty()).map(str::to_string)
    };
    for line in said.lines() {
        if let Some(name) = name_behind(line, "(hash mismatch)") {
            compiled.mismatched.insert(name);
        } else if let Some(name) = name_behind(line, "no profile data available for function") {
            compiled.missing.insert(name);
        }
    }
    compiled
}

/// Returns the functions without an entry count. The warnings contain only the number of functions of each kind.
fn unused(code: &str, said: &str) -> Compiled {
    let defined = code.lines().filter(|line| line.starts_with("define "));
    let without = defined.filter(|line| !line.contains(" !prof ")).map(|line| {
        let name = &line[line.find('@').expect("a function has a name") + 1..];
        name.split('(').next().expect("and parameters").to_string()
    });
    let number = |line: &str, words: &str| {
        let before = line[..line.find(words)?].trim_end();
        before.rsplit([' ', ',']).next()?.parse::<usize>().ok()
    };
    let count = |words: [&str; 2]| said.lines().find_map(|line| words.iter().find_map(|words| number(line, words)));
    let mismatched = count([" has mismatched data", " have mismatched data"]).unwrap_or(0);
    let missing = count([" has no data", " have no data"]).unwrap_or(0);
    let all: BTreeSet<String> = without.collect();
    assert_eq!(all.len(), mismatched + missing, "{all:?}\n{said}");
    // The two kinds are distinguished only by their numbers.
    Compiled { mismatched: (0..mismatched).map(|at| format!("#{at}")).collect(), missing: all }
}

/// Returns the symbol of a function that a report names with its file.
fn symbol(name: &str) -> String {
    name.rsplit([';', ':']).next().expect("there is a last part").to_string()
}

/// Converts the prediction of a report to the form of the compiler's results.
fn predicted(report: &Value, kind: Kind) -> Compiled {
    let mismatched: BTreeSet<String> = names(&report["changed"]).iter().map(|name| symbol(name)).collect();
    let mut missing: BTreeSet<String> = names(&report["unprofiled"]).iter().map(|name| symbol(name)).collect();
    for class in ["renamed", "moved"] {
        missing.extend(lost(report, class).into_iter().filter_map(|(_, now)| now).map(|now| symbol(&now)));
    }
    match kind {
        Kind::Ir => Compiled { mismatched, missing },
        Kind::FrontEnd => {
            // If a hash differs in bit 60, the mark of context-sensitive records, the compiler counts the record as
            // missing. The hash of hash version 3 of this function has the bit; the hash of version 4, used by indexed
            // version 13 and later, does not.
            let by_third = report["releases"]["indexed_version"].as_u64() <= Some(12);
            let counted = mismatched.iter().filter(|name| !(by_third && name.contains("large_edited"))).count();
            let numbered = (0..counted).map(|at| format!("#{at}")).collect();
            missing.extend(mismatched);
            Compiled { mismatched: numbered, missing }
        }
    }
}

fn tools(test: &str) -> bool {
    let tools = RELEASES.map(|release| [format!("clang-{release}"), format!("llvm-profdata-{release}")]).concat();
    available(test, &tools.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Tests the profiles of each release with compilers of this and of later releases.
fn every_pair(language: &'static str, pairs: &[(u32, u32)], kind: Kind) {
    let desk = Desk::new(language);
    let mut programs: Vec<u32> = pairs.iter().map(|(_, reader)| *reader).collect();
    programs.sort_unstable();
    programs.dedup();
    for release in programs {
        desk.program(release, kind);
    }
    let mut profile = (0, String::new());
    for (writer, reader) in pairs {
        if profile.0 != *writer {
            profile = (*writer, desk.profile(*writer, kind));
        }
        let report = desk.folder.fit(&format!("{} --against after-{reader}-{kind:?}", profile.1));
        let compiled = desk.compile(*reader, kind, &profile.1);
        assert_eq!(predicted(&report, kind), compiled, "{language} {kind:?} of {writer} read by {reader}: {report:#}");
        // Both kinds occur, so the comparison is not empty.
        assert!(!compiled.mismatched.is_empty() && compiled.missing.len() >= 3, "{compiled:?}");
        assert_eq!(lost(&report, "renamed").len(), 1, "{report:#}");
        assert_eq!(lost(&report, "moved").len(), 1, "{report:#}");
        assert!(lost(&report, "gone").iter().any(|(name, _)| name.contains("only_before")), "{report:#}");
    }
}

const PAIRS: [(u32, u32); 6] = [(16, 16), (16, 19), (16, 22), (19, 19), (19, 22), (22, 22)];

#[test]
fn compilers_warn_as_predicted_for_ir_profiles() {
    if tools("compilers_warn_of_what_was_foretold_for_ir_profiles") {
        every_pair("c", &PAIRS, Kind::Ir);
    }
}

#[test]
fn compilers_drop_functions_as_predicted_for_front_end_profiles() {
    if tools("compilers_drop_what_was_foretold_for_front_end_profiles") {
        every_pair("c", &PAIRS, Kind::FrontEnd);
    }
}

#[test]
fn functions_in_comdats_are_predicted() {
    if tools("functions_in_comdats_are_foretold_too") {
        let own = [(16, 16), (19, 19), (22, 22)];
        every_pair("c++", &own, Kind::Ir);
        every_pair("c++", &own, Kind::FrontEnd);
    }
}

/// Hashes of clang 19 in a file of version 13: clang 22 computes different ones for this version.
#[test]
fn the_version_of_the_file_decides_which_hashes_are_found() {
    let test = "the_version_of_the_file_decides_which_hashes_are_found";
    if !tools(test) {
        return;
    }
    let desk = Desk::new("c");
    let (profile, kind) = (desk.profile(19, Kind::FrontEnd), Kind::FrontEnd);
    let program = desk.program(22, kind);
    desk.folder.run(&format!("profbridge merge {profile} --format-version 13 -o new.profdata"));
    let report = desk.folder.fit(&format!("new.profdata --against {program}"));
    let of_other_release: BTreeSet<String> = lost(&report, "other-release").into_iter().map(|(name, _)| name).collect();
    assert!(of_other_release.contains("large_same"), "{report:#}");
    let finding = &report["releases"]["findings"][0];
    assert_eq!(finding["kind"], "hash-of-earlier-release", "{report:#}");
    let compiled = desk.compile(22, kind, "new.profdata");
    let mut expected = predicted(&report, kind).missing;
    expected.extend(of_other_release);
    assert_eq!(compiled.missing, expected);
    // Compilers before clang 22 reject the file, and `fit` reports this.
    let before = desk.program(19, kind);
    let refused = desk.folder.fit(&format!("new.profdata --against {before}"));
    assert_eq!((&refused["releases"]["is_readable"], &refused["used_functions"]), (&false.into(), &0.0.into()));
    let line = "clang-19 -fprofile-instr-use=new.profdata -c edited.c -o /dev/null";
    assert!(desk.folder.failure(line).1.contains("unsupported instrumentation profile format version"));
}

/// With the remapping file in `merge -r`, the compiler uses the renamed functions.
#[test]
fn merging_with_the_remapping_file_brings_counts_back() {
    let test = "merging_with_the_remapping_file_brings_counts_back";
    if !tools(test) {
        return;
    }
    for kind in [Kind::Ir, Kind::FrontEnd] {
        let desk = Desk::new("c");
        let (profile, program) = (desk.profile(22, kind), desk.program(22, kind));
        let before = desk.compile(22, kind, &profile);
        desk.folder.run(&format!("profbridge fit {profile} --against {program} --write-remapping names.txt"));
        desk.folder.run(&format!("profbridge merge {profile} -r names.txt -o fixed.profdata"));
        let after = desk.compile(22, kind, "fixed.profdata");
        let back: BTreeSet<&str> = before.missing.difference(&after.missing).map(String::as_str).collect();
        assert_eq!(back, BTreeSet::from(["count_the_new_things", "first_local_then_global"]), "{kind:?}");
        assert_eq!(before.mismatched, after.mismatched);
        let report = desk.folder.fit(&format!("fixed.profdata --against {program}"));
        assert!(lost(&report, "renamed").is_empty() && lost(&report, "moved").is_empty(), "{report:#}");
    }
}

/// With a pruned profile, the compiler warns only about new functions, and uses the same functions as before.
#[test]
fn pruning_keeps_the_functions_that_the_compiler_uses() {
    let test = "pruning_leaves_what_the_compiler_uses";
    if !tools(test) {
        return;
    }
    for kind in [Kind::Ir, Kind::FrontEnd] {
        let desk = Desk::new("c");
        let (profile, program) = (desk.profile(19, kind), desk.program(19, kind));
        let before = desk.compile(19, kind, &profile);
        desk.folder.run(&format!("profbridge fit {profile} --against {program} --prune -o pruned.profdata"));
        let after = desk.compile(19, kind, "pruned.profdata");
        let without = |compiled: Compiled| compiled.missing.into_iter().collect::<BTreeSet<_>>();
        assert!(after.mismatched.is_empty(), "{after:?}");
        let mut unprofiled = before.missing.clone();
        if kind == Kind::Ir {
            unprofiled.extend(before.mismatched.clone());
        }
        assert_eq!(without(after), unprofiled, "{kind:?}");
        let report = desk.folder.fit(&format!("pruned.profdata --against {program}"));
        assert_eq!((&report["used_functions"], &report["used_counts"]), (&1.0.into(), &1.0.into()));
        assert_eq!(report["targets"]["gone"].as_u64().unwrap_or(0), 0, "{report:#}");
    }
}
