//! Dumps of every release, written for every release, and used by its compiler.

use crate::compilers::releases;
use crate::workspace::{Case, Desk, Optimised};
use std::collections::{BTreeMap, BTreeSet};

/// From here on a large hash of the front end has no bits above the sixtieth.
const FOURTH_ALGORITHM: u32 = 22;
/// From here on local functions are `file;function` in IR profiles.
const SEMICOLON: u32 = 18;

/// The functions of one case, dumped by several releases.
struct Matrix {
    desk: Desk,
    case: Case,
    releases: Vec<u32>,
    dumps: BTreeMap<u32, String>,
    /// What each compiler makes of its own dump.
    own: BTreeMap<u32, Optimised>,
}

impl Matrix {
    fn new(case: Case, releases: Vec<u32>) -> Self {
        let desk = Desk::new(case);
        let dumps = releases.iter().map(|release| (*release, desk.train(*release))).collect();
        Self { desk, case, releases, dumps, own: BTreeMap::new() }
    }

    /// The sources are such that all releases see the same functions with the
    /// same branches; else the rest says nothing.
    fn check_sources(&self) {
        let seen: Vec<BTreeSet<(String, u64)>> = self.dumps.values().map(|dump| self.desk.functions(dump)).collect();
        let large = seen[0].iter().filter(|(_, hash)| *hash > 1 << 50).count();
        assert!(seen[0].len() >= 10 && large >= 4, "{} functions, {large} large ones", seen[0].len());
        for (release, functions) in self.releases.iter().zip(&seen) {
            assert_eq!(functions, &seen[0], "LLVM {release} lowers {} in another way", self.case.source);
        }
    }

    fn use_own_dumps(&mut self) {
        for release in self.releases.clone() {
            self.desk.merge(&["--for", &format!("llvm-{release}"), &self.dumps[&release], "-o", "own.profdata"]);
            let own = self.desk.optimise(release, "own.profdata");
            let entered = own.entries.values().filter(|count| **count > 0).count();
            assert!(entered >= 10, "LLVM {release} finds {entered} functions of its own: {own:#?}");
            assert_eq!(self.case.is_front_end, own.targets.is_empty(), "{own:#?}");
            // It is called through a pointer alone.
            let trusts_targets = own.called_directly.iter().any(|name| name.contains("right"));
            assert!(self.case.is_front_end || own.targets.len() >= 3 && trusts_targets, "{own:#?}");
            self.own.insert(release, own);
        }
    }

    /// Whether `reader` cannot find the large functions of `writer`: bits that it
    /// computes are in none of the hashes.
    fn is_lost(&self, writer: u32, reader: u32) -> bool {
        self.case.is_front_end && writer >= FOURTH_ALGORITHM && reader < FOURTH_ALGORITHM
    }

    /// The dumps of one release for the compiler of another: what is wrong.
    fn cross(&self, writer: u32, reader: u32) -> Vec<String> {
        let line = ["--for", &format!("llvm-{reader}"), self.dumps[&writer].as_str(), "-o", "crossed.profdata"];
        let strict = [&line[..], &["--strict"]].concat();
        let said = self.desk.merge(&line);
        let found = self.desk.optimise(reader, "crossed.profdata");
        let (theirs, own) = (&self.own[&writer], &self.own[&reader]);
        let expected = common(&theirs.entries, &own.entries);
        let mut faults = Vec::new();
        if self.is_lost(writer, reader) {
            let missing = missing_functions(&expected, &found.entries);
            if missing < 4 || missing + 4 > expected.len() {
                faults.push(format!("entered {:?} instead of some of {expected:?}", found.entries));
            }
            if !said.contains(&format!("{missing} functions have")) {
                faults.push(format!("{missing} functions are lost, which is not said: {said}"));
            }
            if !self.desk.merge_fails(&strict) {
                faults.push("--strict takes the loss".to_string());
            }
            return faults;
        }
        faults.extend(found.warnings.difference(&own.warnings).cloned());
        if common(&found.entries, &own.entries) != expected {
            faults.push(format!("entered {:?} instead of {expected:?}", found.entries));
        }
        // Hashes of names with a colon are found by all, hashes with a semicolon from 18 on.
        let may_stay = writer < SEMICOLON && reader >= SEMICOLON;
        if !may_stay && !found.targets.keys().eq(own.targets.keys()) {
            faults.push(format!("calls {:?} instead of {:?}", found.targets, own.targets));
        }
        if counts(&found.targets) != counts(&theirs.targets) {
            faults.push(format!("calls {:?} instead of {:?}", found.targets, theirs.targets));
        }
        if found.called_directly != own.called_directly {
            faults.push(format!("calls made direct: {:?} instead of {:?}", found.called_directly, own.called_directly));
        }
        if self.desk.merge_fails(&strict) {
            faults.push(format!("--strict finds a loss: {said}"));
        }
        faults
    }

    /// Dumps of several releases together, for the last of them: everything adds up.
    fn unite(&self, writers: &[u32]) -> Vec<String> {
        let reader = *writers.last().expect("there are writers");
        let release = format!("llvm-{reader}");
        let mut line = vec!["--for", &release, "-o", "united.profdata"];
        line.extend(writers.iter().map(|writer| self.dumps[writer].as_str()));
        if self.case.is_front_end {
            line.push("--hashes=reader");
        }
        self.desk.merge(&line);
        let found = self.desk.optimise(reader, "united.profdata");
        let own = &self.own[&reader];
        let mut faults: Vec<String> = found.warnings.difference(&own.warnings).cloned().collect();
        for name in own.entries.keys() {
            let counts: Option<Vec<u64>> =
                writers.iter().map(|writer| self.own[writer].entries.get(name).copied()).collect();
            let Some(sum) = counts.map(|counts| counts.iter().sum::<u64>()) else { continue };
            if found.entries.get(name) != Some(&sum) {
                faults.push(format!("{name} is entered {:?} times instead of {sum}", found.entries.get(name)));
            }
        }
        let calls = |optimised: &Optimised| optimised.targets.values().sum::<u64>();
        let all_calls: u64 = writers.iter().map(|writer| calls(&self.own[writer])).sum();
        if !found.targets.keys().eq(own.targets.keys()) || calls(&found) != all_calls {
            faults.push(format!("calls {:?}, {all_calls} in all, instead of {:?}", found.targets, own.targets));
        }
        if found.called_directly != own.called_directly {
            faults.push(format!("calls made direct: {:?} instead of {:?}", found.called_directly, own.called_directly));
        }
        faults
    }

    /// What was written for the writer's own tools is as good as its dumps.
    fn cross_again(&self, writer: u32, reader: u32) -> Vec<String> {
        let (own, release) = (format!("llvm-{writer}"), format!("llvm-{reader}"));
        let written = |name: &str, input: &str| {
            self.desk.merge(&["--for", &release, input, "-o", name]);
            std::fs::read(self.desk.path(name)).expect("a profile was written")
        };
        let at_once = written("at-once.profdata", &self.dumps[&writer]);
        let mut faults = Vec::new();
        for part in PARTS {
            let format = if part.ends_with("text") { "--text" } else { "--binary" };
            self.desk.merge(&["--for", &own, format, &self.dumps[&writer], "-o", part]);
            if written("again.profdata", part) != at_once {
                faults.push(format!("other bytes by way of {part}"));
            }
        }
        faults
    }

    /// A dump turned into one of the reader's release is what its tool reads.
    fn cross_as_raw(&self, writer: u32, reader: u32) -> Vec<String> {
        let release = format!("llvm-{reader}");
        self.desk.convert(&[
            "--for",
            &release,
            "--to",
            "raw",
            "--force",
            &self.dumps[&writer],
            "-o",
            "crossed.profraw",
        ]);
        let Some(theirs) = self.desk.text_by(reader, "crossed.profraw") else { return Vec::new() };
        self.desk.merge(&["--for", &release, "--text", &self.dumps[&writer], "-o", "crossed.proftext"]);
        let ours = std::fs::read_to_string(self.desk.path("crossed.proftext")).expect("text was written");
        // Our own line states the form of the names.
        let differs = ours.replace("#!names=file:function\n", "") != theirs;
        differs.then(|| format!("llvm-profdata reads other functions from the dump:\n{theirs}")).into_iter().collect()
    }
}

/// The entries of functions that both compilers keep.
fn common(counts: &BTreeMap<String, u64>, others: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    counts.iter().filter(|(name, _)| others.contains_key(*name)).map(|(name, count)| (name.clone(), *count)).collect()
}

/// How many of the functions expected are not found. One that is found with
/// another count counts as all.
fn missing_functions(expected: &BTreeMap<String, u64>, found: &BTreeMap<String, u64>) -> usize {
    let is_wrong = |(name, count): (&String, &u64)| found.get(name).is_some_and(|other| other != count);
    if expected.iter().any(is_wrong) {
        return expected.len();
    }
    expected.keys().filter(|name| !found.contains_key(*name)).count()
}

/// The numbers alone, in order.
fn counts(targets: &BTreeMap<u64, u64>) -> Vec<u64> {
    let mut counts: Vec<u64> = targets.values().copied().collect();
    counts.sort_unstable();
    counts
}

/// Partial results in each format.
const PARTS: [&str; 2] = ["part.profdata", "part.proftext"];

/// Every pair of releases.
fn every_release_uses_dumps_of_every_other(case: Case) {
    let kind = if case.is_front_end { "front-end" } else { "IR" };
    let releases = releases(&format!("{kind} profiles of {}", case.source));
    if releases.len() < 2 {
        return;
    }
    let mut matrix = Matrix::new(case, releases.clone());
    matrix.check_sources();
    matrix.use_own_dumps();
    let mut faults = Vec::new();
    for &reader in &releases {
        let others: Vec<u32> = releases.iter().copied().filter(|release| *release != reader).collect();
        for &writer in &others {
            let cell = |fault: String| format!("dumps of {writer} for {reader}: {fault}");
            faults.extend(matrix.cross(writer, reader).into_iter().map(cell));
            faults.extend(matrix.cross_again(writer, reader).into_iter().map(cell));
            faults.extend(matrix.cross_as_raw(writer, reader).into_iter().map(cell));
            let cell = |fault: String| format!("dumps of {writer} and {reader} for {reader}: {fault}");
            faults.extend(matrix.unite(&[writer, reader]).into_iter().map(cell));
        }
        let all = [others, vec![reader]].concat();
        let cell = |fault: String| format!("dumps of {all:?} for {reader}: {fault}");
        faults.extend(matrix.unite(&all).into_iter().map(cell));
    }
    assert!(faults.is_empty(), "{} faults in {kind} profiles of {}:\n{}", faults.len(), case.source, faults.join("\n"));
}

#[test]
fn ir_profiles_of_c_are_used_across_releases() {
    every_release_uses_dumps_of_every_other(Case { source: "program.c", name: "pro;gram:1.c", is_front_end: false });
}

#[test]
fn ir_profiles_of_cxx_are_used_across_releases() {
    every_release_uses_dumps_of_every_other(Case { source: "program.cpp", name: "program.cpp", is_front_end: false });
}

#[test]
fn front_end_profiles_of_c_are_used_across_releases() {
    every_release_uses_dumps_of_every_other(Case { source: "program.c", name: "pro;gram:1.c", is_front_end: true });
}

#[test]
fn front_end_profiles_of_cxx_are_used_across_releases() {
    every_release_uses_dumps_of_every_other(Case { source: "program.cpp", name: "program.cpp", is_front_end: true });
}
