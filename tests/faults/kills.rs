//! SIGKILL at many moments: the output is the old one or the new one.

use super::program::{command, indexed_bytes, large_profile, names_in, profile, run};
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
