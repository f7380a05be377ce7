//! Tests of damaged files: the merged data and the messages equal those of the real tool.

use crate::generate::{Knows, profile};
use crate::oracle::{self, Input, Job, Shape, difference};
use profbridge::generate::Random;
use std::process::Command;

/// Damages text: deletes, duplicates, replaces or truncates lines.
fn damage(text: &str, random: &mut Random) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = text.split('\n').map(|line| line.as_bytes().to_vec()).collect();
    for _ in 0..1 + random.below(3) {
        // Not the first line, which distinguishes text from other formats.
        let at = 1 + random.below(lines.len() as u64 - 1) as usize;
        match random.below(12) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => lines[at].push(b'\r'),
            3 => lines[at].insert(0, b' '),
            4 => lines[at] = b"0".to_vec(),
            5 => lines[at] = b"".to_vec(),
            6 => lines[at] = b"$2".to_vec(),
            7 => lines[at] = b"# comment".to_vec(),
            8 => lines[at] = b"18446744073709551616".to_vec(),
            9 => lines[at] = b":x:5".to_vec(),
            10 => lines[at] = b"0x10".to_vec(),
            _ => lines.truncate(at + 1),
        }
        if lines.len() < 3 {
            break;
        }
    }
    lines.join(&b'\n')
}

#[test]
fn damaged_text_is_read_and_refused_as_by_the_tool() {
    if oracle::tool(22).is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (dir.path().join("in.proftext"), dir.path().join("out"));
    let mut refused = 0;
    for case in 0..400 {
        let mut random = Random::new(case);
        let seed = random.below(40);
        let text = profile(seed, seed, Knows::of(22));
        if text.len() > 40_000 {
            continue;
        }
        std::fs::write(&path, damage(&text, &mut random)).unwrap();
        let _ = std::fs::remove_file(&out);
        let run = Command::new("llvm-profdata-22")
            .args(["merge", "--num-threads=1", "--failure-mode=warn", "-o"])
            .args([&out, &path])
            .output()
            .unwrap();
        let merged = oracle::merge(&[Input { path: path.clone(), weight: 1 }], 22, &Job::new(Shape::Indexed));
        let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
        if run.status.code() != Some(0) {
            // The real tool reserves memory for the number of counters in the text.
            assert!(merged.failures > 0, "case {case}: {stderr}");
            continue;
        }
        let theirs: Vec<&str> = stderr
            .lines()
            .filter(|line| !line.starts_with("Make sure") && !line.contains("invalid profile created"))
            .collect();
        assert_eq!(merged.complaints, theirs, "case {case}");
        let ours = oracle::write(&merged.profile, 22, &Job::new(Shape::Indexed));
        let theirs = std::fs::read(&out).unwrap();
        assert!(ours == theirs, "case {case}: {}", difference(&ours, &theirs));
        refused += merged.failures;
    }
    assert!(refused > 50, "{refused} refused");
}
