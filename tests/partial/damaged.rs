//! Tests with one file per defect of a partial merge: `testdata/partial/bad` and the expected messages in its
//! `messages.txt`.
//!
//! With `PROFBRIDGE_RENEW` in the environment, the files are created again: the test changes bytes of valid partial
//! merges, corrects the checksums, and stores the first file for each message. The valid ones that it writes again are
//! in `testdata/partial/version-5`.

use profbridge::families::partial::{Partial, PartialOptions};
use profbridge::input::{Family, Input};
use profbridge::partial::{self, FOOTER_BYTES, Frame};
use profbridge::{Limits, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/partial/bad")
}

/// Returns the error for a partial merge, when it is read or when its merge ends.
fn fault(bytes: &[u8]) -> Option<String> {
    let options = PartialOptions::default();
    let read: Result<()> = Partial::from_bytes(bytes, &options).and_then(|part| part.finish(&options).map(drop));
    read.err().map(|error| error.to_string())
}

#[test]
fn every_damage_has_a_file_and_a_message() {
    if std::env::var_os("PROFBRIDGE_RENEW").is_some() {
        renew();
    }
    let listed = std::fs::read_to_string(folder().join("messages.txt")).unwrap();
    let listed: BTreeMap<&str, &str> = listed.lines().filter_map(|line| line.split_once(": ")).collect();
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeMap<String, PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "partial"))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_string(), path))
        .collect();
    assert!(files.keys().eq(listed.keys()), "each file has its line");
    assert!(files.len() > 30, "{}", files.len());
    let out = tempfile::tempdir().unwrap();
    for (name, message) in listed {
        // The extension selects the format of stacks.
        let merged = out.path().join(if name.starts_with("stacks") { "merged.collapsed" } else { "merged" });
        let path = &files[name];
        assert_eq!(fault(&std::fs::read(path).unwrap()).as_deref(), Some(message), "{name}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
        let done = command.args(["merge", "--partial", "-o"]).arg(&merged).arg(path).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        // Errors in an input that is only stored are found when the merge ends.
        let is_kept = done.status.success() && !name.starts_with("footer");
        assert!(is_kept || done.status.code() == Some(1) && said.contains("error: "), "{name}: {said}");
        if is_kept {
            std::fs::remove_file(&merged).unwrap();
        }
        assert!(!merged.exists(), "{name}: something is written");
    }
}

/// Returns small valid partial merges of every family.
fn valid_parts() -> Vec<(&'static str, Vec<u8>)> {
    let text = |name: &str, text: &str| [Input::from_bytes(name, text.as_bytes().to_vec())];
    let part = |family, inputs: &[Input]| {
        Partial::of(inputs, family, &PartialOptions::default()).expect("inputs are added").to_bytes().unwrap()
    };
    let iprof = "{\"version\":\"1.0.0\",\"types\":[{\"id\":0,\"name\":\"a.A\"},{\"id\":1,\"name\":\"void\"}],\
                 \"methods\":[{\"id\":0,\"name\":\"m\",\"signature\":[0,1]}],\"callCountProfiles\":[{\"ctx\":\"0:0\",\"records\":[4]}]}";
    let samples = "f:60:10\n 1: 10\n 2: 20 c:15 d:5\n 3: inlined:30\n  1: 30\n !CFGChecksum: 7\n[a:1 @ g]:9:1\n 1: 9\n";
    let mut parts = vec![
        ("samples", part(Family::SampleProf, &text("a", samples.split_once('[').unwrap().0))),
        ("samples", part(Family::SampleProf, &text("a", &samples[samples.find('[').unwrap()..]))),
        ("iprof", part(Family::Iprof, &text("a", iprof))),
        ("stacks", part(Family::Stacks, &text("a", "main;f 3\n"))),
    ];
    let with_names = part(Family::SampleProf, &text("a", "no profile"));
    parts.push(("samples", with_names));
    for name in ["pseudo", "filtered", "mcdc", "vtables", "temporal", "uniform", "memory", "weighted"] {
        let path = folder().with_file_name(format!("{name}.partial"));
        let sums = Partial::from_bytes(&std::fs::read(&path).unwrap(), &PartialOptions::default()).unwrap();
        parts.push(("instr", sums.to_bytes().unwrap()));
        // The state of this one refers to the profile in front of it.
        let latest = folder().with_file_name("version-5").join(format!("{name}.partial"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
        let done = command.args(["merge", "--partial", "--force", "-o"]).arg(&latest).arg(path).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        parts.push(("front", std::fs::read(latest).unwrap()));
    }
    parts
}

/// Searches for faults and writes a file for each.
fn renew() {
    let mut found: BTreeMap<String, (String, Vec<u8>)> = BTreeMap::new();
    let mut look_at = |tag: &str, bytes: Vec<u8>| {
        let Some(message) = fault(&bytes) else { return };
        // Memory profiles have their own files. The format of an input is not a fault of the partial merge, and the
        // decompression library has its own messages.
        let is_foreign = ["memprof", "not a profile", "deflate"].iter().any(|words| message.contains(words));
        if is_foreign || !message.contains("partial merge") {
            return;
        }
        let is_word = |word: &&str| !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit());
        let words = message.replace("section state of a partial merge, ", "").replace("malformed: ", "");
        // Any field may be the truncated one.
        let words = words
            .split("truncated: ")
            .next()
            .filter(|before| before.len() < words.len())
            .map_or(words.as_str(), |_| "cut");
        let class: Vec<&str> = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_word).collect();
        let class: Vec<&str> = class.into_iter().filter(|word| !["section", "byte"].contains(word)).collect();
        let name = format!("{tag}-{}", class.join("-").to_lowercase());
        found.entry(name.chars().take(90).collect()).or_insert((message, bytes));
    };
    let changes: [fn(u8) -> u8; 5] = [|byte| byte ^ 1, |_| 0, |_| 0x7f, |_| 0xff, |byte| byte.wrapping_add(1)];
    for (tag, good) in valid_parts() {
        let frame = Frame::find(&good, &Limits::default()).unwrap().unwrap();
        let framed =
            |state: &[u8]| partial::append(frame.profile.to_vec(), frame.family, frame.origins, state).unwrap();
        for at in good.len() - FOOTER_BYTES..good.len() - partial::MAGIC.len() {
            for change in changes {
                let mut bytes = good.clone();
                bytes[at] = change(bytes[at]);
                look_at("footer", bytes);
            }
        }
        look_at("footer", [b"x", &good[..]].concat());
        look_at("footer", good[good.len() - FOOTER_BYTES..].to_vec());
        for at in 0..frame.state.len() {
            look_at(tag, framed(&frame.state[..at]));
            for change in changes {
                let mut state = frame.state.to_vec();
                state[at] = change(state[at]);
                look_at(tag, framed(&state));
            }
        }
        look_at(tag, framed(&[&frame.state[..], b"\0"].concat()));
        // A stored error: a wrong length of its kind, and a wrong number of the state before it.
        let kind = b"unrecognized-format";
        if let Some(at) = frame.state.windows(kind.len()).position(|bytes| bytes == kind) {
            for (place, wrong) in [(at - 1, 0x7f), (at - 2, 5)] {
                let mut state = frame.state.to_vec();
                state[place] = wrong;
                look_at("error", framed(&state));
            }
        }
    }
    let _ = std::fs::remove_dir_all(folder());
    std::fs::create_dir_all(folder()).unwrap();
    let mut lines = String::new();
    let is_known =
        |name: &str| name.strip_prefix("front-").is_some_and(|class| found.contains_key(&format!("instr-{class}")));
    for (name, (message, bytes)) in found.iter().filter(|(name, _)| !is_known(name)) {
        assert!(!message.contains('\n'), "{message}");
        std::fs::write(folder().join(format!("{name}.partial")), bytes).unwrap();
        lines += &format!("{name}: {message}\n");
    }
    std::fs::write(folder().join("messages.txt"), lines).unwrap();
}
