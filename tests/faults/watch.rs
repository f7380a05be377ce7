//! `merge --watch`: every profile counts once, whatever happens to the program, the files and the disk.

use super::outputs::SmallDisk;
use super::program::{Finished, command, counts_of, indexed_bytes, large_profile, names_in, profile, raw_bytes, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A directory where programs write profiles, and an output next to it.
struct Scene(tempfile::TempDir);

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("runs")).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn runs(&self) -> PathBuf {
        self.path("runs")
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.runs().join(name), bytes).unwrap();
    }

    fn arguments(&self, options: &[&str]) -> Vec<PathBuf> {
        let given = ["merge", "-o"].map(PathBuf::from).into_iter().chain([self.path("out.profdata")]);
        given.chain(["--watch".into(), self.runs()]).chain(options.iter().map(PathBuf::from)).collect()
    }

    fn start(&self, options: &[&str]) -> Child {
        command().args(self.arguments(options)).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    fn run(&self, options: &[&str]) -> Finished {
        run(self.arguments(options))
    }

    fn output(&self) -> Vec<u8> {
        fs::read(self.path("out.profdata")).unwrap()
    }

    /// The bytes of one merge of other files.
    fn merged(&self, names: &[&str]) -> Vec<u8> {
        let output = self.path("one.profdata");
        let given = ["merge".into(), "-q".into(), "-o".into(), output.clone()];
        run(given.into_iter().chain(names.iter().map(|name| self.path(name)))).assert_done();
        fs::read(output).unwrap()
    }
}

/// Waits for a condition about files.
#[track_caller]
fn wait_for(what: &str, mut is_met: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_met() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited too long: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn finished(child: Child) -> Finished {
    child.wait_with_output().unwrap().into()
}

fn signal(child: &Child, name: &str) {
    let sent = std::process::Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// A profile whose function is in no other one.
fn own_profile(number: usize) -> Vec<u8> {
    raw_bytes(&profile(&[("shared", 1), (&format!("only_in_{number}"), 1)]), 10)
}

#[test]
fn the_result_is_one_merge_in_the_order_of_arrival() {
    let scene = Scene::new();
    let mut watch = scene.start(&["--until", "file:stop", "--delete-merged"]);
    watch.kill().unwrap();
    watch.wait().unwrap();
    let stop = scene.path("stop");
    let until = format!("file:{}", stop.display());
    let watch = scene.start(&["--until", &until, "--delete-merged"]);
    // The same name again, and names against the alphabet.
    for (number, name) in ["c.profraw", "a.profraw", "a.profraw", "b.profraw"].iter().enumerate() {
        let bytes = own_profile(number);
        fs::write(scene.path(&format!("{number}.copy")), &bytes).unwrap();
        scene.write(name, &bytes);
        wait_for("the profile is deleted", || names_in(&scene.runs()).is_empty());
    }
    scene.write("cut.profraw", &own_profile(9)[..200]);
    scene.write("notes.txt", b"It was a dark night\n");
    scene.write("empty.profraw", b"");
    scene.write("zeros.profraw", &[0; 64]);
    fs::write(&stop, "").unwrap();
    let finished = finished(watch);
    finished.assert_done();
    assert!(finished.stderr.contains("cut.profraw: not merged: raw v10"), "{}", finished.stderr);
    for message in ["empty.profraw: not merged: it is empty", "zeros.profraw: not merged: it is not a profile"] {
        assert!(finished.stderr.contains(message), "{}", finished.stderr);
    }
    assert!(finished.stderr.contains("skipped 1 other file"), "{}", finished.stderr);
    assert_eq!(scene.output(), scene.merged(&["0.copy", "1.copy", "2.copy", "3.copy"]));
    assert_eq!(names_in(&scene.runs()), ["cut.profraw", "empty.profraw", "notes.txt", "zeros.profraw"]);
    assert!(!names_in(scene.0.path()).iter().any(|name| name.contains(".part")));
}

/// As programs do in continuous mode: the file is complete from the beginning, and keeps its time.
const MAPPER: &str = "
import mmap, os, sys, time
path, end, old, new = sys.argv[1:]
file = open(path, 'r+b')
mapped = mmap.mmap(file.fileno(), 0)
file.close()
print('mapped', flush=True)
while not os.path.exists(end):
    time.sleep(0.01)
mapped[:] = mapped[:].replace(int(old).to_bytes(8, 'little'), int(new).to_bytes(8, 'little'))
";

#[cfg(target_os = "linux")]
#[test]
fn a_profile_that_a_process_has_mapped_is_merged_after_its_end() {
    const COUNTS: [u64; 2] = [0x1234_5678, 0x2345_6789];
    let scene = Scene::new();
    let bytes = |count| raw_bytes(&profile(&[("mapped", count)]), 10);
    scene.write("a.profraw", &bytes(COUNTS[0]));
    fs::write(scene.path("changed"), bytes(COUNTS[1])).unwrap();
    let map = || {
        let mut python = std::process::Command::new("python3");
        python.args(["-c", MAPPER]).arg(scene.runs().join("a.profraw")).arg(scene.path("end"));
        let mut process = python.args(COUNTS.map(|count| count.to_string())).stdout(Stdio::piped()).spawn().unwrap();
        std::io::Read::read_exact(process.stdout.as_mut().unwrap(), &mut [0; 6]).unwrap();
        process
    };
    // At the end of the watch it is left.
    let mut process = map();
    let left = scene.run(&["--until", "idle:1", "--delete-merged"]);
    assert_eq!(left.code, Some(1), "{}", left.stderr);
    assert!(left.stderr.contains("a process has it mapped and still changes it"), "{}", left.stderr);
    process.kill().unwrap();
    process.wait().unwrap();
    let mut process = map();
    let watch = scene.start(&["--until", &process.id().to_string(), "--delete-merged"]);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(names_in(&scene.runs()), ["a.profraw"]);
    fs::write(scene.path("end"), "").unwrap();
    process.wait().unwrap();
    finished(watch).assert_done();
    assert_eq!(scene.output(), scene.merged(&["changed"]));
    assert_eq!(names_in(&scene.runs()), [""; 0]);
}

#[test]
fn the_result_is_one_merge_in_the_order_of_names() {
    let scene = Scene::new();
    for name in ["c", "a", "b"] {
        scene.write(name, &own_profile(name.len() + usize::from(name.as_bytes()[0])));
        std::thread::sleep(Duration::from_millis(20));
    }
    scene.run(&["--until", "idle:0", "--order", "name"]).assert_done();
    assert_eq!(scene.output(), scene.merged(&["runs"]));
    assert_eq!(names_in(&scene.runs()), ["a", "b", "c"]);
    let first = scene.output();
    scene.run(&["--until", "idle:0", "--order", "name", "--delete-merged", "--force"]).assert_done();
    assert_eq!(scene.output(), first);
    assert_eq!(names_in(&scene.runs()), [""; 0]);
}

/// Nothing could merge them later.
#[test]
fn profiles_that_the_result_would_skip_are_not_deleted() {
    for (first, others, skipped) in [
        (":ir\nf\n1\n1\n5\n", [":fe\ng\n1\n1\n5\n", ":ir\ng\n1\n1\n5\n"], "kind"),
        ("f:10:1\n 1: 5\n !CFGChecksum: 111\n", ["g:10:1\n 1: 5\n", "h:10:1\n 1: 5\n !CFGChecksum: 111\n"], "probe"),
    ] {
        for mode in ["--failure-mode=warn", "--failure-mode=any"] {
            let scene = Scene::new();
            scene.write("a", first.as_bytes());
            std::thread::sleep(Duration::from_millis(20));
            scene.write("b", others[0].as_bytes());
            std::thread::sleep(Duration::from_millis(20));
            scene.write("c", others[1].as_bytes());
            let finished = scene.run(&["--until", "idle:2", "--delete-merged", mode]);
            finished.assert_done();
            assert!(finished.stderr.contains("b: not merged"), "{}", finished.stderr);
            assert!(finished.stderr.contains(skipped), "{}", finished.stderr);
            assert_eq!(names_in(&scene.runs()), ["b"], "{}", finished.stderr);
        }
    }
}

/// Lines of a log can end in numbers, like stacks, which the output cannot store.
#[test]
fn a_log_that_arrives_first_is_not_merged() {
    let scene = Scene::new();
    scene.write("test.log", b"running test 1\nrunning test 2\n");
    std::thread::sleep(Duration::from_millis(20));
    scene.write("a.profraw", &own_profile(1));
    fs::write(scene.path("a.copy"), own_profile(1)).unwrap();
    let finished = scene.run(&["--until", "idle:0", "--delete-merged"]);
    finished.assert_done();
    assert!(finished.stderr.contains("test.log: not merged"), "{}", finished.stderr);
    assert_eq!(names_in(&scene.runs()), ["test.log"]);
    assert_eq!(scene.output(), scene.merged(&["a.copy"]));
    // Without a watch, it is not a profile next to others.
    scene.write("a.profraw", &own_profile(1));
    assert_eq!(scene.output(), scene.merged(&["runs"]));
}

/// A link in the directory does not make the files of another one its own.
#[cfg(unix)]
#[test]
fn files_of_a_linked_directory_are_not_deleted() {
    let scene = Scene::new();
    let other = scene.path("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("kept.profraw"), own_profile(1)).unwrap();
    scene.write("a.profraw", &own_profile(2));
    std::os::unix::fs::symlink(&other, scene.runs().join("link")).unwrap();
    let finished = scene.run(&["--until", "idle:0", "--delete-merged"]);
    finished.assert_done();
    assert!(finished.stderr.contains("behind a symbolic link"), "{}", finished.stderr);
    assert_eq!(names_in(&other), ["kept.profraw"]);
    assert_eq!(names_in(&scene.runs()), ["link"]);
}

#[test]
fn a_signal_ends_the_watch_with_the_whole_result() {
    for name in ["-TERM", "-INT", "-QUIT"] {
        let scene = Scene::new();
        scene.write("a.profraw", &own_profile(1));
        let watch = scene.start(&[]);
        wait_for("the first profile is merged", || scene.path("out.profdata.part").exists());
        scene.write("b.profraw", &own_profile(2));
        signal(&watch, name);
        finished(watch).assert_done();
        assert_eq!(counts_of(&scene.output())["shared"], 2, "{name}");
    }
}

#[test]
fn a_watch_ends_with_a_process_whose_parent_does_not_wait() {
    let scene = Scene::new();
    scene.write("a.profraw", &own_profile(1));
    let mut process = std::process::Command::new("sh").args(["-c", "sleep 0.3"]).spawn().unwrap();
    scene.run(&["--until", &process.id().to_string()]).assert_done();
    process.wait().unwrap();
    assert_eq!(counts_of(&scene.output())["shared"], 1);
}

/// Profiles appear under names that were used before and with the same bytes, and the program is killed while it
/// renames, stores and deletes.
#[test]
fn killed_at_any_moment_no_profile_is_lost_and_none_counts_twice() {
    const ROUNDS: usize = 36;
    const FILES: usize = 40;
    let scene = Scene::new();
    let (state, same) = (scene.path("out.profdata.part"), raw_bytes(&profile(&[("same", 1)]), 10));
    let claimed = || names_in(&scene.runs()).iter().filter(|name| name.contains(".merging-")).count();
    let changed = |path: &Path| fs::metadata(path).ok().map(|found| std::os::unix::fs::MetadataExt::ino(&found));
    let (mut written, mut moments) = (0, [0; 3]);
    for round in 0..ROUNDS {
        for at in 0..FILES {
            let path = scene.runs().join(format!("same-{at}.profraw"));
            // A name is free after its file was claimed or deleted.
            if !path.exists() {
                fs::write(&path, &same).unwrap();
                written += 1;
            }
        }
        scene.write(&format!("own-{round}.profraw"), &own_profile(round));
        let before = changed(&state);
        let mut watch = scene.start(&["--delete-merged", "-q"]);
        let share = 1 + round / 3 * FILES / (ROUNDS / 3);
        match round % 3 {
            0 => wait_for("files are claimed", || claimed() >= share.min(FILES) || changed(&state) != before),
            1 => wait_for("the state is replaced", || changed(&state) != before),
            _ => wait_for("files are deleted", || changed(&state) != before && claimed() <= FILES - share.min(FILES)),
        }
        watch.kill().unwrap();
        watch.wait().unwrap();
        // Whatever the moment is called, these are the states that were met.
        let is_stored = changed(&state) != before;
        moments[match (claimed(), is_stored) {
            (_, false) => 0,
            (0, true) => 2,
            (_, true) => 1,
        }] += 1;
    }
    eprintln!(
        "{ROUNDS} kills: {} before the state, {} before all was deleted, {} after",
        moments[0], moments[1], moments[2]
    );
    scene.run(&["--until", "idle:0", "--delete-merged"]).assert_done();
    let counts = counts_of(&scene.output());
    assert_eq!(counts["same"], written);
    assert_eq!(counts["shared"], ROUNDS as u64);
    assert!((0..ROUNDS).all(|round| counts[&format!("only_in_{round}")] == 1));
    assert_eq!(names_in(&scene.runs()), [""; 0]);
    assert_eq!(names_in(scene.0.path()), ["out.profdata", "runs"]);
}

#[test]
fn a_watch_that_keeps_the_files_continues_after_a_kill() {
    let scene = Scene::new();
    for round in 0..4 {
        scene.write(&format!("{round}.profraw"), &own_profile(round));
        let before = fs::read(scene.path("out.profdata.part")).ok();
        let mut watch = scene.start(&[]);
        wait_for("the profile is merged", || fs::read(scene.path("out.profdata.part")).ok() != before);
        watch.kill().unwrap();
        watch.wait().unwrap();
    }
    scene.run(&["--until", "idle:0"]).assert_done();
    assert_eq!(counts_of(&scene.output())["shared"], 4);
    assert_eq!(names_in(&scene.runs()).len(), 4);
}

#[test]
fn a_partial_output_continues_in_the_next_watch() {
    let scene = Scene::new();
    for round in 0..3 {
        scene.write("default.profraw", &own_profile(round));
        scene.run(&["--until", "idle:0", "--delete-merged", "--partial"]).assert_done();
    }
    // Nothing new.
    scene.run(&["--until", "idle:0", "--delete-merged", "--partial"]).assert_done();
    assert_eq!(counts_of(&scene.output())["shared"], 3);
    scene.run(&["--until", "idle:0", "--delete-merged"]).assert_wrong_use(&["the output exists"]);
}

#[test]
fn a_directory_that_vanishes_leaves_the_merged_profiles() {
    let scene = Scene::new();
    scene.write("a.profraw", &own_profile(1));
    let watch = scene.start(&["--delete-merged"]);
    wait_for("the profile is deleted", || names_in(&scene.runs()).is_empty());
    fs::remove_dir(scene.runs()).unwrap();
    finished(watch).assert_refused(&["runs", "out.profdata.part contains the merged profiles"]);
    scene.run(&["--until", "idle:0"]).assert_refused(&["cannot open"]);
    fs::create_dir(scene.runs()).unwrap();
    scene.run(&["--until", "idle:0", "--delete-merged"]).assert_done();
    assert_eq!(counts_of(&scene.output())["shared"], 1);
}

#[test]
fn a_full_disk_deletes_no_profile() {
    let Some(disk) = SmallDisk::new(256) else {
        eprintln!("SKIPPED: a small file system cannot be mounted here");
        return;
    };
    let scene = Scene::new();
    let output = disk.path().join("out.profdata");
    let watch = || {
        let given: Vec<PathBuf> = ["merge", "--delete-merged", "--until", "idle:0"].map(PathBuf::from).into();
        run(given.into_iter().chain(["-o".into(), output.clone(), "--watch".into(), scene.runs()]))
    };
    scene.write("small.profdata", &indexed_bytes(&profile(&[("small", 1)])));
    fs::write(disk.path().join("filler"), vec![1; 250 << 10]).unwrap();
    scene.write("large.profdata", &indexed_bytes(&large_profile(10_000, 1)));
    watch().assert_refused(&["No space left", "free some disk space"]);
    assert_eq!(names_in(&scene.runs()).len(), 2);
    assert!(!names_in(disk.path()).contains(&"out.profdata".to_string()));
    drop(disk);
    scene.run(&["--until", "idle:0", "--delete-merged"]).assert_done();
    assert_eq!(counts_of(&scene.output()).len(), 10_001);
}

#[test]
fn every_family_with_partial_merges_can_be_watched() {
    const IPROF: &str = "{\"version\":\"1.0.0\",\"types\":[{\"id\":0,\"name\":\"A\"}],\"methods\":[{\"id\":0,\"name\":\"m\",\"signature\":[0,0]}],\"callCountProfiles\":[{\"ctx\":\"0:0\",\"records\":[3]}]}";
    let cases = [
        ("out.prof", "prof", "main:10:1\n 1: 10\n"),
        ("out.collapsed", "collapsed", "main;work 5\n"),
        ("out.iprof", "iprof", IPROF),
        ("out.profdata", "iprof", IPROF),
    ];
    for (output, kind, text) in cases {
        let scene = Scene::new();
        let names = ["a", "b"].map(|name| format!("{name}.{kind}"));
        for name in &names {
            scene.write(name, text.as_bytes());
            fs::write(scene.path(name), text).unwrap();
        }
        let given = |output: &str| ["merge".into(), "-q".into(), "-o".into(), scene.path(output)];
        let watch = ["--until", "idle:0", "--delete-merged", "--watch"].map(PathBuf::from);
        run(given(output).into_iter().chain(watch).chain([scene.runs()])).assert_done();
        let once = output.replace("out", "once");
        run(given(&once).into_iter().chain(names.iter().map(|name| scene.path(name)))).assert_done();
        assert_eq!(fs::read(scene.path(output)).unwrap(), fs::read(scene.path(&once)).unwrap(), "{output}");
        assert_eq!(names_in(&scene.runs()), [""; 0], "{output}");
    }
}

#[test]
fn files_of_another_family_and_truncated_text_stay() {
    let scene = Scene::new();
    scene.write("a.iprof", b"{\"version\":\"1.0.0\",\"types\":[],\"methods\":[");
    scene.write("b.profraw", &own_profile(1));
    std::thread::sleep(Duration::from_millis(20));
    scene.write("c.collapsed", b"main;work 5\n");
    let finished = scene.run(&["--until", "idle:0", "--delete-merged"]);
    finished.assert_done();
    assert!(
        finished.stderr.contains("c.collapsed: not merged: its family is stacks, not instr"),
        "{}",
        finished.stderr
    );
    assert_eq!(names_in(&scene.runs()), ["a.iprof", "c.collapsed"]);
}

#[test]
fn the_error_of_a_watch_names_a_profile_that_was_not_merged() {
    let scene = Scene::new();
    scene.write("cut.profraw", &own_profile(1)[..50]);
    scene.write("notes.txt", b"other files are not profiles");
    let failed = scene.run(&["--until", "idle:0", "--json"]);
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    let document: serde_json::Value = serde_json::from_slice(&failed.stdout).unwrap();
    let message = document["error"]["message"].as_str().unwrap();
    assert!(message.contains("cut.profraw: raw v10, section header"), "{message}");
    assert!(!message.contains("no profile appeared"), "{message}");
}

#[test]
fn a_second_watch_of_one_output_and_bad_options_are_usage_errors() {
    let scene = Scene::new();
    scene.write("a.profraw", &own_profile(1));
    let mut watch = scene.start(&[]);
    wait_for("the watch has begun", || scene.path("out.profdata.part").exists());
    scene.run(&[]).assert_wrong_use(&["another process writes this output"]);
    watch.kill().unwrap();
    watch.wait().unwrap();
    for until in ["idle:", "idle:-1", "idle:x", "file:", "0", "x", "-1"] {
        scene.run(&[&format!("--until={until}")]).assert_wrong_use(&["invalid value", "--until"]);
    }
    scene.run(&["a.profraw"]).assert_wrong_use(&["cannot be used with"]);
    let empty = Scene::new();
    empty.run(&["--until", "idle:0"]).assert_refused(&["no profile appeared in the directory"]);
    assert_eq!(names_in(empty.0.path()), ["runs"]);
}
