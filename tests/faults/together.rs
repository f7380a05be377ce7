//! Tests of concurrent runs: on the same output, on inputs that change, and on each other's outputs.

use super::program::{Finished, command, counts_of, indexed_bytes, large_profile, names_in, profile, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};

fn start(arguments: &[&Path]) -> Child {
    let piped = std::process::Stdio::piped;
    command()
        .arg("merge")
        .arg("-q")
        .args(arguments)
        .stdout(piped())
        .stderr(piped())
        .spawn()
        .expect("the program starts")
}

fn end(child: Child) -> Finished {
    child.wait_with_output().expect("the program ends").into()
}

/// Stops the other thread of a test, even if an assertion fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn of_ten_writers_to_one_output_one_wins_whole() {
    const WRITERS: usize = 10;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("outputs")).unwrap();
    let out = path("outputs/out");
    let inputs: Vec<PathBuf> = (0..WRITERS).map(|number| path(&format!("in{number}"))).collect();
    let results: Vec<Vec<u8>> = inputs
        .iter()
        .zip(1u64..)
        .map(|(input, count)| {
            fs::write(input, indexed_bytes(&large_profile(400, count))).unwrap();
            run([Path::new("merge"), Path::new("-q"), input, Path::new("-o"), &out]).assert_done();
            fs::read(&out).unwrap()
        })
        .collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // Between two writers, the file is always complete.
                let seen = fs::read(&out).unwrap();
                assert!(results.contains(&seen), "a reader saw {} bytes that were not written", seen.len());
                std::thread::yield_now();
            }
        });
        let _ends = Ends(&done);
        for _ in 0..3 {
            let writers: Vec<Child> = inputs.iter().map(|input| start(&[input, Path::new("-o"), &out])).collect();
            writers.into_iter().for_each(|writer| {
                end(writer).assert_done();
            });
        }
    });
    assert!(results.contains(&fs::read(&out).unwrap()));
    assert_eq!(names_in(&path("outputs")), ["out"]);
}

#[test]
fn a_file_that_is_new_for_ten_writers_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("outputs")).unwrap();
    fs::write(path("in"), indexed_bytes(&large_profile(400, 1))).unwrap();
    run([Path::new("merge"), &path("in"), Path::new("-o"), &path("expected")]).assert_done();
    let expected = fs::read(path("expected")).unwrap();
    for round in 0..3 {
        let out = path(&format!("outputs/{round}"));
        let writers: Vec<Child> = (0..10).map(|_| start(&[&path("in"), Path::new("-o"), &out])).collect();
        writers.into_iter().for_each(|writer| {
            end(writer).assert_done();
        });
        assert!(fs::read(&out).unwrap() == expected);
    }
    assert_eq!(names_in(&path("outputs")), ["0", "1", "2"]);
}

/// Each merge adds the other's output to its own, so its input may be replaced at any moment.
#[test]
fn two_merges_that_read_each_others_output_stay_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    for file in [&a, &b] {
        fs::write(file, indexed_bytes(&large_profile(300, 1))).unwrap();
    }
    for _ in 0..12 {
        let both = [start(&[&a, &b, Path::new("-o"), &a]), start(&[&a, &b, Path::new("-o"), &b])];
        both.into_iter().for_each(|merge| {
            end(merge).assert_done();
        });
        for file in [&a, &b] {
            let counts = counts_of(&fs::read(file).unwrap());
            let count = *counts.values().next().unwrap();
            assert!(counts.len() == 300 && counts.values().all(|other| *other == count), "a mixture of two states");
        }
    }
    let least = counts_of(&fs::read(&a).unwrap()).into_values().min().unwrap();
    assert!(least >= 1 << 6, "{least}");
    assert_eq!(names_in(folder.path()), ["a", "b"]);
}

/// Changes of an input during the read.
type Change = fn(&Path, &[u8], &[u8]);

fn while_an_input(changes: Change, may_fail: bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (first, second) = (indexed_bytes(&large_profile(400, 3)), indexed_bytes(&large_profile(400, 5)));
    fs::write(path("steady"), indexed_bytes(&profile(&[("steady", 1)]))).unwrap();
    let input = path("input");
    fs::write(&input, &first).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                changes(&input, &first, &second);
                changes(&input, &second, &first);
            }
        });
        let _ends = Ends(&done);
        for _ in 0..24 {
            let _ = fs::remove_file(path("out"));
            let finished = end(start(&[&path("steady"), &input, Path::new("-o"), &path("out")]));
            finished.assert_orderly();
            if finished.code == Some(0) {
                let counts = counts_of(&fs::read(path("out")).unwrap());
                assert_eq!(counts["steady"], 1);
            } else {
                assert!(may_fail && finished.stderr.contains("input"), "{}", finished.stderr);
                assert!(!path("out").exists());
            }
        }
    });
}

#[test]
fn an_input_that_is_replaced_is_the_one_or_the_other() {
    while_an_input(
        |input, _, next| {
            let new = input.with_extension("new");
            fs::write(&new, next).unwrap();
            fs::rename(new, input).unwrap();
        },
        false,
    );
}

#[test]
fn an_input_that_vanishes_is_a_message() {
    while_an_input(
        |input, _, next| {
            fs::remove_file(input).unwrap();
            std::thread::yield_now();
            fs::write(input, next).unwrap();
        },
        true,
    );
}

#[test]
fn an_input_that_grows_is_read_or_a_message() {
    while_an_input(
        |input, now, next| {
            fs::write(input, now).unwrap();
            let mut file = fs::OpenOptions::new().append(true).open(input).unwrap();
            std::io::Write::write_all(&mut file, next).unwrap();
        },
        true,
    );
}
