//! What Debian's perf really prints, read without a folder.

use crate::commands::Folder;
use std::path::Path;
use std::process::{Command, Stdio};

const PROGRAM: &str = "static volatile unsigned long sink;
__attribute__((noinline)) void mix(int n) { for (int i = 0; i < n; i++) sink = sink * 31 + i; }
__attribute__((noinline)) void area(int n) { mix(n); mix(n / 2); sink++; }
int main(void) { for (int i = 0; i < 100; i++) { area(400000); sink++; } return sink == 42; }
";

fn runs(program: &str, arguments: &[&str], folder: &Path) -> bool {
    let mut run = Command::new(program);
    run.args(arguments).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    run.status().is_ok_and(|status| status.success())
}

fn printed(program: &str, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).stderr(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn perf_script_output_is_read_directly() {
    let folder = Folder::new("perf");
    folder.write("spin.c", PROGRAM);
    let at = &folder.0;
    let is_built = runs("cc", &["-O1", "-fno-omit-frame-pointer", "spin.c", "-o", "spin"], at);
    // Without hardware counters perf falls back to the clock by itself.
    let record = ["record", "-q", "-F", "199", "-e", "cpu-clock", "-g", "-o", "perf.data", "./spin"];
    if !is_built || !runs("perf", &record, at) {
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"SKIPPED: perf cannot record here (Debian: linux-perf; kernel.perf_event_paranoid)\n",
        );
        return;
    }
    let script = printed("perf", &["script", "-i", "perf.data"], at);
    let samples = printed("perf", &["script", "-i", "perf.data", "-F", "comm,time"], at);
    let samples = samples.lines().filter(|line| !line.trim().is_empty()).count();
    if samples == 0 {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: perf took no sample here\n");
        return;
    }
    folder.write("spin.script", script);
    let shown = folder.run("show spin.script --json");
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["hits"], samples);
    assert_eq!(shown["threads"][0]["thread"], "spin");
    let hottest = &shown["methods"][0];
    assert_eq!(hottest["method"], "mix");
    assert!(hottest["inclusive"].as_u64().unwrap() * 10 > samples as u64 * 8, "{hottest}");
    folder.ok("flamegraph spin.script -o spin.svg");
    assert!(folder.read("spin.svg").contains("<title>mix: "));
}

#[test]
fn perf_script_without_call_graphs_is_read_with_every_list_of_fields() {
    let folder = Folder::new("perf-lines");
    folder.write("spin.c", PROGRAM);
    let at = &folder.0;
    let is_built = runs("cc", &["-O1", "spin.c", "-o", "spin"], at);
    let record = ["record", "-q", "-F", "199", "-e", "cpu-clock", "-o", "perf.data", "./spin"];
    if !is_built || !runs("perf", &record, at) {
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"SKIPPED: perf cannot record here (Debian: linux-perf; kernel.perf_event_paranoid)\n",
        );
        return;
    }
    let samples = printed("perf", &["script", "-i", "perf.data", "-F", "comm,time"], at);
    let samples = samples.lines().filter(|line| !line.trim().is_empty()).count();
    if samples == 0 {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: perf took no sample here\n");
        return;
    }
    for options in [
        &[][..],
        &["--ns"],
        &["-F", "+pid"],
        &["-F", "+srcline"],
        &["--show-mmap-events", "--show-task-events"],
        &["-F", "comm,tid,time,event,ip,sym,dso"],
        &["-F", "comm,tid,time,period,ip,sym,dso"],
        &["-F", "comm,tid,time,ip,sym"],
        &["-F", "comm,tid,period,event,ip,sym"],
        &["-F", "comm,tid,event,ip,sym,dso"],
        &["-F", "comm,tid,ip,sym"],
    ] {
        folder.write("spin.script", printed("perf", &[&["script", "-i", "perf.data"], options].concat(), at));
        let shown = folder.run("show spin.script --json");
        let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_eq!(shown["hits"], samples, "{options:?}");
        assert_eq!(shown["threads"][0]["thread"], "spin", "{options:?}");
        assert_eq!(shown["methods"][0]["method"], "mix", "{options:?}");
    }
}
