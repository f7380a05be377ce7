//! Killed at many moments, or after so many bytes: the output is the old one or the new one.

use super::program::{Finished, command, indexed_bytes, large_profile, names_in, profile, run, run_after};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const MOMENTS: u32 = 40;

#[test]
fn a_killed_run_leaves_the_old_output_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("in"), indexed_bytes(&large_profile(3000, 5))).unwrap();
    let arguments = [Path::new("merge"), &path("in"), Path::new("-q"), Path::new("-o"), &path("out")];
    let begin = Instant::now();
    run(arguments).assert_done();
    let whole = begin.elapsed();
    let new = fs::read(path("out")).unwrap();
    let old = indexed_bytes(&profile(&[("old", 1)]));
    let (mut olds, mut news) = (0, 0);
    for moment in 0..MOMENTS {
        fs::write(path("out"), &old).unwrap();
        let mut child = command().args(arguments).spawn().expect("the program starts");
        // Most kills fall into the second half of a run, where it writes.
        std::thread::sleep(whole.mul_f64(1.5 * f64::from(moment) / f64::from(MOMENTS)));
        let _ = child.kill();
        child.wait().unwrap();
        let found = fs::read(path("out")).unwrap();
        assert!(found == old || found == new, "moment {moment}: {} bytes are neither old nor new", found.len());
        if found == old {
            olds += 1
        } else {
            news += 1
        }
        for name in names_in(folder.path()) {
            let temporary = name.starts_with(".profbridge-");
            assert!(temporary || ["in", "out"].contains(&name.as_str()), "moment {moment} left {name}");
        }
    }
    // Later runs are not disturbed by what killed ones left.
    run(arguments).assert_done();
    assert_eq!(fs::read(path("out")).unwrap(), new);
    eprintln!("{MOMENTS} kills within {:?}: {olds} old, {news} new", whole + Duration::ZERO);
    assert!(olds > 0, "no kill came before the end");
}

/// The system ends a process at once that writes more to a file than it may, so
/// that each of these runs is killed with some of its bytes written and its
/// output not yet replaced.
#[test]
fn a_run_killed_between_its_first_byte_and_the_last_leaves_the_old_output() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("in"), indexed_bytes(&large_profile(3000, 5))).unwrap();
    let old = indexed_bytes(&profile(&[("old", 1)]));
    for form in ["--binary", "--text"] {
        let arguments =
            [Path::new("merge"), Path::new(form), &path("in"), Path::new("-q"), Path::new("-o"), &path("out")];
        run(arguments).assert_done();
        // What `ulimit -f` counts in.
        let blocks = fs::metadata(path("out")).unwrap().len() / 512;
        assert!(blocks > 100, "the output is too small to be killed within");
        for written in [1, 2, blocks / 3, blocks / 2, blocks - 1] {
            fs::write(path("out"), &old).unwrap();
            let killed: Finished = run_after(&format!("ulimit -f {written}"), arguments);
            assert_eq!(killed.code, None, "{form}: no signal after {written} of {blocks} blocks: {}", killed.stderr);
            assert!(fs::read(path("out")).unwrap() == old, "{form}: the output changed after {written} blocks");
        }
    }
    run([Path::new("merge"), &path("in"), Path::new("-q"), Path::new("-o"), &path("out")]).assert_done();
}
