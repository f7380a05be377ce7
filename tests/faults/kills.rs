//! Kills the program at many moments, or after a number of bytes: the output is the old or the new file.

use super::program::{Finished, command, indexed_bytes, large_profile, names_in, profile, run, run_after};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// A merge that replaces an existing output.
struct Scene {
    folder: tempfile::TempDir,
    old: Vec<u8>,
    new: Vec<u8>,
    /// The duration of the merge.
    whole: Duration,
    form: &'static str,
}

impl Scene {
    fn new(form: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let old = indexed_bytes(&profile(&[("old", 1)]));
        fs::write(folder.path().join("in"), indexed_bytes(&large_profile(1200, 5))).unwrap();
        let mut scene = Self { folder, old, new: Vec::new(), whole: Duration::ZERO, form };
        let begin = Instant::now();
        run(scene.arguments()).assert_done();
        scene.whole = begin.elapsed();
        scene.new = fs::read(scene.out()).unwrap();
        scene
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn arguments(&self) -> Vec<PathBuf> {
        let input = self.folder.path().join("in");
        ["merge", self.form, "-q", "--num-threads=1", "-o"]
            .map(PathBuf::from)
            .into_iter()
            .chain([self.out(), input])
            .collect()
    }

    fn start(&self) -> Child {
        fs::write(self.out(), &self.old).unwrap();
        command().args(self.arguments()).spawn().expect("the program starts")
    }

    /// Returns true if the output is the old file. Otherwise it must be the new one. The directory contains no other
    /// files except those that a killed run may leave.
    fn is_old(&self, what: &str) -> bool {
        let found = fs::read(self.out()).unwrap();
        let is_old = found == self.old;
        assert!(is_old || found == self.new, "{what}: {} bytes are neither old nor new", found.len());
        for name in names_in(self.folder.path()) {
            let is_left = name.starts_with(".profbridge-");
            assert!(is_left || ["in", "out"].contains(&name.as_str()), "{what} left {name}");
        }
        is_old
    }

    /// The next run removes files that a killed run may have left.
    fn assert_clean_after_the_next_run(&self) {
        run(self.arguments()).assert_done();
        assert_eq!(fs::read(self.out()).unwrap(), self.new);
        assert_eq!(names_in(self.folder.path()), ["in", "out"]);
    }
}

/// Returns the number of bytes that a process has written to files without a name, or with a temporary name.
#[cfg(target_os = "linux")]
fn written_so_far(process: u32, folder: &Path) -> u64 {
    let Ok(files) = fs::read_dir(format!("/proc/{process}/fd")) else { return 0 };
    let written = files.flatten().filter_map(|file| {
        let place = fs::read_link(file.path()).ok()?;
        let is_output = place.starts_with(folder)
            && (place.to_string_lossy().contains("(deleted)") || place.to_string_lossy().contains(".profbridge-"));
        let info = is_output
            .then(|| fs::read_to_string(format!("/proc/{process}/fdinfo/{}", file.file_name().display())))?
            .ok()?;
        info.lines().find_map(|line| line.strip_prefix("pos:")?.trim().parse().ok())
    });
    written.max().unwrap_or(0)
}

/// Kills 200 runs. The system ends half of them at a given byte of the new file, so they have started to write and have
/// not replaced the output. The others are killed at any moment, or after they have written something.
#[cfg(target_os = "linux")]
#[test]
fn two_hundred_kills_leave_the_old_output_or_the_new_one() {
    const KILLS: usize = 200;
    let scenes = [Scene::new("--text"), Scene::new("--binary")];
    let mut olds = 0;
    for kill in 0..KILLS {
        let scene = &scenes[kill / 2 % 2];
        let what = format!("kill {kill}");
        if kill % 2 == 0 {
            // `ulimit -f` counts in blocks of 512 bytes.
            let blocks = 1 + (scene.new.len() / 512 - 2) * kill / KILLS;
            fs::write(scene.out(), &scene.old).unwrap();
            let killed: Finished = run_after(&format!("ulimit -f {blocks}"), scene.arguments());
            assert_eq!(killed.code, None, "{what}: no signal after {blocks} blocks: {}", killed.stderr);
            assert!(scene.is_old(&what), "{what}: the output changed after {blocks} blocks");
            olds += 1;
            continue;
        }
        let mut child = scene.start();
        let moment = scene.whole.mul_f64(1.2 * kill as f64 / KILLS as f64);
        let (waits, begin, mut written) = (kill % 4 == 1, Instant::now(), 0);
        while written == 0 && child.try_wait().unwrap().is_none() && (waits || begin.elapsed() < moment) {
            written = written_so_far(child.id(), scene.folder.path());
        }
        let _ = child.kill();
        child.wait().unwrap();
        olds += usize::from(scene.is_old(&what));
    }
    eprintln!("{KILLS} kills: {olds} left the old output");
    scenes.iter().for_each(Scene::assert_clean_after_the_next_run);
}

/// The signals that users and systems use to end programs.
#[test]
fn a_signal_at_any_moment_leaves_the_old_output_or_the_new_one() {
    let scene = Scene::new("--text");
    for (at, signal) in
        ["-TERM", "-INT", "-HUP", "-QUIT", "-PIPE", "-USR1", "-ALRM"].iter().cycle().take(21).enumerate()
    {
        let mut child = scene.start();
        std::thread::sleep(scene.whole.mul_f64(at as f64 / 21.0));
        Command::new("kill")
            .args([signal, child.id().to_string().as_str()])
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        child.wait().unwrap();
        scene.is_old(signal);
    }
    scene.assert_clean_after_the_next_run();
}

/// The system ends a process that writes too many bytes to a file. So each of these runs is killed after it has written
/// some bytes and before it replaces the output.
#[test]
fn a_run_killed_between_its_first_byte_and_the_last_leaves_the_old_output() {
    for form in ["--binary", "--text"] {
        let scene = Scene::new(form);
        // The unit of `ulimit -f`.
        let blocks = scene.new.len() / 512;
        assert!(blocks > 50, "the output is too small to be killed within");
        for written in [1, 2, blocks / 3, blocks / 2, blocks - 1] {
            fs::write(scene.out(), &scene.old).unwrap();
            let killed: Finished = run_after(&format!("ulimit -f {written}"), scene.arguments());
            assert_eq!(killed.code, None, "{form}: no signal after {written} of {blocks} blocks: {}", killed.stderr);
            assert!(scene.is_old(form), "{form}: the output changed after {written} blocks");
        }
        scene.assert_clean_after_the_next_run();
    }
}

/// Files that a run left when it was killed earlier, or on a system without unnamed files.
#[test]
fn temporary_files_of_a_killed_run_are_removed_and_reported() {
    let scene = Scene::new("--binary");
    let left = scene.folder.path().join(".profbridge-a1B2c3");
    let arguments = || scene.arguments().into_iter().filter(|argument| argument != Path::new("-q"));
    fs::write(&left, "half").unwrap();
    let finished = run(arguments());
    finished.assert_done();
    assert!(finished.stderr.contains(".profbridge-a1B2c3, left behind by a killed run"), "{}", finished.stderr);
    assert_eq!(names_in(scene.folder.path()), ["in", "out"]);
    // The real tool has no message for this.
    fs::write(&left, "half").unwrap();
    let arguments = ["llvm-profdata", "merge", "-o"]
        .map(PathBuf::from)
        .into_iter()
        .chain([scene.out(), scene.folder.path().join("in")]);
    assert_eq!(run(arguments).assert_done().stderr, "");
    assert_eq!(names_in(scene.folder.path()), ["in", "out"]);
}
