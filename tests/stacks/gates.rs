//! Tasks of a Java team: select events, check a release with a threshold, compare different formats, and get the same
//! numbers from all of them.

use crate::commands::Folder;
use crate::recordings::unpack;

fn json(folder: &Folder, arguments: &str) -> serde_json::Value {
    let output = folder.run(arguments);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_release_is_gated_on_its_stacks() {
    let folder = Folder::new("gate");
    folder.write("release.jfr", unpack("shapes-jdk17.jfr.gz")).write("nightly.jfr", unpack("shapes-jdk21.jfr.gz"));
    folder.write("slow.collapsed", "Shapes.step;Shapes$Circle.area 1\nShapes.main;Shapes.sleep 99\n");
    folder.ok("convert release.jfr --events execution -o release.iprof");
    folder.ok("convert release.jfr --events execution -o release.collapsed");
    folder.ok("convert release.jfr --events execution -o release.pprof");
    // The same samples in any format pass every threshold.
    for other in ["release.jfr", "release.iprof", "release.collapsed", "release.pprof"] {
        folder.ok(&format!("diff release.jfr {other} --events execution --fail-below 100%"));
    }
    // Other events do not become samples, and samples of different types are named.
    for (first, second) in [("slow.collapsed", "slow.collapsed"), ("release.jfr", "release.pprof")] {
        let error = folder.fails(1, &format!("diff {first} {second} --events allocation"));
        assert!(error.contains("no samples"), "{error}");
    }
    folder.ok("diff release.jfr nightly.jfr --events execution --fail-below 20% --section methods");
    let output = folder.run("diff release.jfr slow.collapsed --fail-below 50% --section methods");
    assert_eq!(output.status.code(), Some(3));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("the overlap of methods is 1.00 %, below 50 %"), "{stderr}");
    let error = folder.fails(2, "diff release.jfr slow.collapsed --fail-below 50% --section nothing");
    assert!(error.contains("unknown section \"nothing\""), "{error}");
}

#[test]
fn a_pprof_that_differs_from_the_others_is_named() {
    let folder = Folder::new("different");
    for run in 1..=4 {
        let text = if run < 4 { format!("main;a 90{run}\nmain;b 50\n") } else { "z 700\n[unknown] 70\n".into() };
        folder.write("run.collapsed", text);
        folder.ok(&format!("convert run.collapsed -o run-{run}.pprof"));
    }
    let found = json(&folder, "check run-1.pprof run-2.pprof run-3.pprof run-4.pprof --json");
    let has = |file: usize, code: &str| {
        found["files"][file]["findings"].as_array().unwrap().iter().any(|finding| finding["code"] == code)
    };
    for code in ["pprof.different-distribution", "pprof.unnamed-functions"] {
        assert_eq!([0, 1, 2, 3].map(|file| has(file, code)), [false, false, false, true], "{code}: {found}");
    }
}

#[test]
fn a_function_without_events_of_its_own_is_neither_new_nor_lost() {
    let folder = Folder::new("present");
    folder.write(
        "a.collapsed",
        "app.M.main;app.M.work;app.M.leaf 100\napp.M.main;app.M.work 1\napp.M.main;app.M.gone 1\n",
    );
    folder.write("b.collapsed", "app.M.main;app.M.work;app.M.leaf 100\napp.M.main;app.M.added 5\n");
    folder.write("a.afdo", "main:101:1\n 1: work:101\n  1: 1\n  2: leaf:100\n   1: 100\ngone:1:1\n 1: 1\n");
    folder.write("b.afdo", "main:100:1\n 1: work:100\n  2: leaf:100\n   1: 100\nadded:5:1\n 1: 5\n");
    folder.write("a.proftext", "work\n5\n1\n1\n\nleaf\n6\n1\n100\n\ngone\n7\n1\n1\n\n");
    folder.write("b.proftext", "work\n5\n1\n0\n\nleaf\n6\n1\n100\n\nadded\n7\n1\n5\n\n");
    for name in ["a", "b"] {
        folder.ok(&format!("convert {name}.collapsed -o {name}.iprof"));
    }
    for form in ["collapsed", "iprof", "afdo", "proftext"] {
        let found = json(&folder, &format!("diff a.{form} b.{form} --json"));
        for (list, name) in [("lost_functions", "gone"), ("new_functions", "added")] {
            let functions = found[list]["functions"].as_array().unwrap();
            assert_eq!((functions.len(), &found[list]["count"]), (1, &1.into()), "{form}: {found}");
            assert!(functions[0].as_str().unwrap().contains(name), "{form}: {found}");
        }
    }
}

#[test]
fn report_overlap_and_diff_give_the_same_number() {
    let folder = Folder::new("overlap");
    folder.write("a.jfr", unpack("shapes-jdk17.jfr.gz")).write("b.jfr", unpack("shapes-jdk21.jfr.gz"));
    folder.write("a.proftext", ":ir\nmain\n5\n2\n10\n90\n\nother\n6\n1\n300\n\n");
    folder.write("b.proftext", ":ir\nmain\n5\n2\n70\n30\n\nother\n6\n1\n100\n\n");
    folder.ok("convert a.jfr -o a.iprof");
    folder.ok("convert b.jfr -o b.iprof");
    folder.ok("convert b.jfr -o b.collapsed --no-descriptors");
    for (first, second) in [
        ("a.jfr", "b.jfr"),
        ("a.jfr", "b.collapsed"),
        ("a.iprof", "b.iprof"),
        ("a.jfr", "b.iprof"),
        ("a.proftext", "b.proftext"),
    ] {
        let found = json(&folder, &format!("diff {first} {second} --json"));
        folder.ok(&format!("report {second} --baseline {first} -o out.html")
            .replace("b.iprof --baseline a.jfr", "a.jfr --baseline b.iprof"));
        let page = folder.read("out.html");
        for section in found["sections"].as_array().unwrap() {
            let percent = section["overlap"].as_f64().unwrap() * 100.0;
            let cell = format!("<td>{}</td><td class=\"n\" data-v=\"", section["gate"].as_str().unwrap());
            let (_, rest) = page.split_once(&cell).unwrap_or_else(|| panic!("{first} {second}: {cell}"));
            let shown: f64 = rest.split('"').next().unwrap().parse().unwrap();
            assert!((shown - percent).abs() < 1e-9, "{first} {second}: {shown} for {percent}");
        }
    }
    let (diff, overlap) = (json(&folder, "diff a.jfr b.jfr --json"), json(&folder, "overlap a.jfr b.jfr --json"));
    assert_eq!(
        (&overlap["schema"], &overlap["base"]["format"]),
        (&"profbridge.overlap-stacks/2".into(), &"jfr".into())
    );
    assert_eq!(overlap["sections"], diff["sections"]);
    for chosen in ["--events native", "--events execution --thread text", "--events all --time 0s..1h"] {
        let both = ["diff", "overlap"].map(|command| json(&folder, &format!("{command} a.jfr b.jfr {chosen} --json")));
        assert_eq!(both[0]["sections"], both[1]["sections"], "{chosen}");
    }
    let all = json(&folder, "overlap a.jfr b.jfr --events all --json");
    assert_ne!(all["sections"], overlap["sections"], "another choice is another comparison");
}

#[test]
fn events_are_selected_by_name_and_name_their_unit() {
    let folder = Folder::new("events");
    folder.write("a.jfr", unpack("waits-jdk21.jfr.gz"));
    for (arguments, text) in [
        ("show a.jfr --events tlab", "Bytes: "),
        ("show a.jfr --events lock", "ns: "),
        ("show a.jfr --events io --weight count", "Hits: "),
        ("show a.jfr --events io --weight bytes --thread files", "Bytes: "),
        ("show a.jfr --events lock,park,wait", "Note: locks, waits, reads and writes are recorded only if"),
        ("show a.jfr --events park --time 0s..1h", "ns: "),
        ("overlap a.jfr a.jfr --events tlab", " bytes\nstacks "),
        ("diff a.jfr a.jfr --events lock --json", "\"functions_by\":\"ns\""),
    ] {
        let output = folder.run(arguments);
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.contains(text), "{arguments}: {shown}");
    }
    let shown = String::from_utf8(folder.run("show a.jfr --events lock").stdout).unwrap();
    assert!(!shown.contains("samples a limited number") && !shown.contains("frame pointers"), "{shown}");
    for (code, arguments, text) in [
        (1, "show a.jfr", "the inputs have no samples, but other events: "),
        (2, "show a.jfr --events lock,tlab", "the selected events count different things"),
        (2, "show a.jfr --events lock --weight bytes", "events of type lock have no bytes"),
        (1, "show a.jfr --events lock --time 2h..", "outside the range of --time: 300 allocation, 507 tlab, 1 lock"),
        (
            2,
            "convert a.jfr --events tlab -o out.iprof",
            "iprof samples measure time, but the input counts bytes of tlab",
        ),
    ] {
        let error = folder.fails(code, arguments);
        assert!(error.contains(text), "{arguments}: {error}");
    }
    let shown = json(&folder, "show a.jfr --events allocation --json");
    assert_eq!((&shown["unit"], &shown["hits_by_sort"][0]["sort"]), (&"bytes".into(), &"allocation".into()));
    // The unit survives the conversion to pprof and back.
    folder.ok("convert a.jfr --events tlab,lock -o out.pprof");
    for (sort, unit) in [("tlab", "bytes"), ("lock", "ns")] {
        let direct = json(&folder, &format!("show a.jfr --events {sort} --json"));
        let back = json(&folder, &format!("show out.pprof --events {sort} --json"));
        assert_eq!((&back["unit"], &back["hits"]), (&unit.into(), &direct["hits"]), "{sort}");
    }
    folder.ok("flamegraph a.jfr --events tlab -o out.svg");
    assert!(folder.read("out.svg").contains(" bytes, "));
    folder.write("b.collapsed", "Waits.main 5\n");
    assert!(
        folder
            .fails(2, "show b.collapsed --time 1s..2s")
            .contains("only recordings of Flight Recorder can be filtered by time")
    );
    assert!(
        folder.fails(1, "diff a.jfr b.collapsed --events tlab").contains("b.collapsed: no samples are left to compare")
    );
}

/// Their weights are bytes or times, which are no number of samples.
#[test]
fn events_without_a_stack_are_counted() {
    let folder = Folder::new("without-stack");
    folder.write("w.jfr", unpack("waits-jdk25.jfr.gz"));
    let shown = String::from_utf8(folder.run("show w.jfr --events tlab").stdout).unwrap();
    assert!(shown.contains("Note: 2 samples without a stack, not counted\n"), "{shown}");
    for arguments in ["convert w.jfr --events tlab -o w.pprof", "merge w.jfr --events tlab -o w.collapsed"] {
        let messages = folder.ok(arguments);
        assert!(messages.contains("dropped 2 samples without a stack"), "{messages}");
        let error = folder.fails(1, &format!("{arguments} --strict"));
        assert!(error.contains("dropped 2 samples without a stack"), "{error}");
    }
}

#[test]
fn inputs_without_the_chosen_events_are_not_used() {
    let folder = Folder::new("other-events");
    folder
        .write("w.jfr", unpack("waits-jdk25.jfr.gz"))
        .write("s.jfr", unpack("shapes-jdk17.jfr.gz"))
        .write("it.collapsed", "a;b 3\n");
    let messages = folder.ok("merge it.collapsed s.jfr --events execution -o out.collapsed");
    for message in
        ["it.collapsed: the file has no samples to use; skipped", "samples of other event types", "from 1 of 2 inputs"]
    {
        assert!(messages.contains(message), "{messages}");
    }
    // One input alone has no other to share functions with.
    assert!(!messages.contains("no function in common"), "{messages}");
    let merged = json(&folder, "merge it.collapsed s.jfr --events execution -o out.collapsed --json");
    assert_eq!((&merged["used"], &merged["inputs"][0]["outcome"]), (&1.into(), &"empty".into()), "{merged}");
    folder.fails(3, "merge it.collapsed s.jfr --events execution -o out.collapsed --min-inputs 2");
    let messages = folder.ok("merge w.jfr it.collapsed --events lock -o out.pprof");
    let others = messages.lines().find(|line| line.contains("of other event types")).unwrap_or_default();
    assert!(others.contains("dropped ") && others.contains(" samples of other"), "{messages}");
    assert!(
        others.split_once("dropped ").is_some_and(|(_, rest)| rest.starts_with(|first: char| first.is_ascii_digit()))
    );
    let messages = folder.ok("flamegraph w.jfr it.collapsed --events lock -o out.svg");
    assert!(messages.contains("it.collapsed: the file has none of the selected samples"), "{messages}");
    // The same with a thread, also if all files are in pprof.
    folder.ok("convert s.jfr -o s.pprof");
    folder.ok("convert s.jfr --drop-labels -o it.pprof");
    for inputs in ["s.jfr it.collapsed", "s.pprof it.pprof"] {
        let merge = format!("merge {inputs} --thread text -o out.pprof");
        let messages = folder.ok(&merge);
        assert!(messages.contains("the file has no samples to use; skipped"), "{messages}");
        assert!(messages.contains("from 1 of 2 inputs") && !messages.contains("in common"), "{messages}");
        folder.fails(3, &format!("{merge} --min-inputs 2"));
    }
}
