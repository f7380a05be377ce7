//! Tests of the program with pprof profiles.

use crate::schema::assert_has_schema;
use crate::support::Folder;
use profbridge::Limits;
use profbridge::compression::{Compression, decompress};
use profbridge::stacks::pprof::Function;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn info_describes_a_profile() {
    let folder = Folder::new("info");
    let said = folder.shows("info squares.pprof heap.pprof");
    for words in [
        "pprof profile, in a gzip stream",
        "values        samples/count, cpu/nanoseconds",
        "period        10000000 cpu/nanoseconds",
        "as default.pgo of Go taken",
        "values        alloc_objects/count, alloc_space/bytes, inuse_objects/count, inuse_space/bytes",
        "as default.pgo of Go refused",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn check_reports_whether_go_accepts_a_profile() {
    let folder = Folder::new("check");
    let said = folder.shows("check squares.pprof heap.pprof");
    assert!(said.contains("squares.pprof: pprof: usable\n  info: pprof.go-takes"), "{said}");
    assert!(said.contains("heap.pprof: pprof: usable\n  warning: pprof.go-refuses"), "{said}");
    assert!(
        said.contains("expected a sample type samples/count or cpu/nanoseconds, found alloc_objects/count"),
        "{said}"
    );
    assert!(said.contains("hint: record a CPU profile"), "{said}");
    // A file with the compiler's name is written for the compiler.
    folder.write("default.pgo", folder.read("heap.pprof"));
    let (said, _) = folder.ends(3, "check default.pgo");
    assert!(said.contains("unusable") && said.contains("error: pprof.go-value"), "{said}");
    let (report, _) = folder.ends(3, "check squares.pprof default.pgo --json");
    assert_has_schema(&serde_json::from_str(&report).unwrap(), "check-2.json");
    // Damage is reported with its position, and the file is not treated as another format.
    folder.stderr_of("convert squares.pprof -o plain.pb");
    let mut damaged = folder.read("plain.pb");
    let last = damaged.len() - 1;
    damaged[last] ^= 0x80;
    folder.write("damaged.pb", damaged);
    let (said, _) = folder.ends(3, "check damaged.pb");
    assert!(said.contains("pprof.malformed") && said.contains("truncated"), "{said}");
    folder.write("cut.pprof", &folder.read("squares.pprof")[..700]);
    let (said, _) = folder.ends(3, "check cut.pprof");
    assert!(said.contains("pprof.malformed"), "{said}");
}

#[test]
fn stacks_and_text_with_samples_are_valid() {
    let folder = Folder::new("check-stacks");
    folder.write("a.collapsed", "a;b 3\na;c 4\n");
    let said = folder.shows("check a.collapsed");
    assert!(said.starts_with("a.collapsed: collapsed: usable"), "{said}");
}

#[test]
fn show_counts_samples_or_the_requested_value() {
    let folder = Folder::new("show");
    let shown: Value = serde_json::from_str(&folder.shows("show squares.pprof --json")).unwrap();
    assert_eq!(shown["methods"][0]["method"], "main.mix");
    let hits = shown["hits"].as_u64().unwrap();
    let by_time: Value = serde_json::from_str(&folder.shows("show squares.pprof --sample-type cpu --json")).unwrap();
    assert_eq!(by_time["hits"].as_u64().unwrap(), hits * 10_000_000);
    let heap = folder.shows("show heap.pprof --sample-type alloc_objects");
    assert!(heap.contains("Source: pprof profile (alloc_objects/count)"), "{heap}");
    let said = folder.refuses("show heap.pprof --sample-type cpu");
    assert!(
        said.contains("the profile has no sample type cpu") && said.contains("choose one of alloc_objects/count"),
        "{said}"
    );
}

#[test]
fn a_profile_merged_alone_keeps_everything() {
    let folder = Folder::new("alone");
    folder.stderr_of("merge squares.pprof -o once.pprof");
    folder.stderr_of("merge once.pprof -o twice.pprof");
    assert_eq!(folder.read("once.pprof"), folder.read("twice.pprof"));
    let collapsed = |name: &str| {
        folder.stderr_of(&format!("convert {name} -o {name}.collapsed"));
        folder.text(&format!("{name}.collapsed"))
    };
    assert_eq!(collapsed("squares.pprof"), collapsed("once.pprof"));
    let of = |name: &str| -> Value { serde_json::from_str(&folder.shows(&format!("info --json {name}"))).unwrap() };
    let (before, after) = (of("squares.pprof"), of("once.pprof"));
    for label in ["values", "period", "duration", "functions"] {
        let fact = |of: &Value| {
            let facts = of["files"][0]["parts"][0]["facts"].as_array().unwrap().clone();
            facts.into_iter().find(|fact| fact["label"] == label).unwrap()
        };
        assert_eq!(fact(&before), fact(&after), "{label}");
    }
}

#[test]
fn a_chosen_sample_type_keeps_its_name_and_the_rest() {
    let folder = Folder::new("choose");
    folder.stderr_of("merge squares.pprof --sample-type cpu -o cpu.pgo");
    let info = folder.shows("info cpu.pgo");
    assert!(info.contains("values        cpu/nanoseconds\n") && info.contains("period "), "{info}");
    assert!(folder.shows("check cpu.pgo").contains("pprof.go-takes"));
    folder.stderr_of("merge heap.pprof --sample-type alloc_objects -o objects.pprof");
    assert!(folder.shows("info objects.pprof").contains("values        alloc_objects/count\n"));
    // Samples are selected without losing the first lines of functions.
    let said = folder.fails("merge squares.pprof --thread none -o none.pgo");
    assert!(said.contains("the inputs have 80 samples") && said.contains("no sample has a thread"), "{said}");
    // Go's compiler fails without the first lines of functions.
    folder.write("a.collapsed", "a;b 5\n");
    let said = folder.refuses("merge a.collapsed -o a.pgo");
    assert!(said.contains("Go's compiler rejects this profile: no function has a start_line"), "{said}");
}

#[test]
fn labels_of_threads_are_dropped_from_every_kind_of_input() {
    let folder = Folder::new("thread-labels");
    folder.write("a.collapsed", "[one tid=1];main;work 3\n[two tid=2];main;work 4\n");
    let threads = |file: &str| -> usize {
        let shown: Value = serde_json::from_str(&folder.shows(&format!("show --json {file}"))).unwrap();
        assert_eq!(shown["hits"], 7, "{shown}");
        shown["threads"].as_array().unwrap().iter().filter(|row| !row["thread"].is_null()).count()
    };
    for (options, expected) in [("", 2), ("--drop-labels", 0), ("--drop-labels --max-stacks 1", 0)] {
        folder.stderr_of(&format!("merge a.collapsed {options} -o a.pprof"));
        assert_eq!(threads("a.pprof"), expected, "{options}");
    }
}

/// Go reads plain profiles and those in one gzip stream.
#[test]
fn profiles_in_a_form_that_go_does_not_read_are_errors() {
    let folder = Folder::new("go-form");
    folder.stderr_of("merge squares.pprof -o once.pgo");
    folder.stderr_of("merge --partial squares.pprof -o part.pgo");
    let once = std::fs::read(folder.0.join("once.pgo")).unwrap();
    let plain = decompress(&once, &Limits::default()).unwrap();
    for (name, bytes) in [
        ("plain.pgo", plain.clone()),
        ("twice.pgo", Compression::Gzip.compress(&once).unwrap()),
        ("zstd.pgo", Compression::Zstd.compress(&plain).unwrap()),
    ] {
        std::fs::write(folder.0.join(name), bytes).unwrap();
    }
    for name in ["once.pgo", "plain.pgo"] {
        assert!(folder.shows(&format!("check {name}")).contains("pprof.go-takes"), "{name}");
        assert!(folder.shows(&format!("info {name}")).contains("go build -pgo, profbridge\n"), "{name}");
    }
    let heap = folder.shows("info heap.pprof");
    assert!(heap.contains("pprof, go tool pprof, profbridge\n") && heap.contains("of Go refused"), "{heap}");
    std::fs::write(folder.0.join("text.pgo"), "main;f 3\n").unwrap();
    let found = folder.ends(3, "check text.pgo").0;
    assert!(
        found.contains("text.pgo: collapsed: unusable") && found.contains("error: collapsed.go-refuses"),
        "{found}"
    );
    for (name, step) in
        [("twice.pgo", "decompression"), ("zstd.pgo", "decompression"), ("part.pgo", "the merge is finished")]
    {
        let found = folder.ends(3, &format!("check {name}")).0;
        assert!(found.contains("error: pprof.go-refuses") && found.contains("error: pprof.go-form"), "{name}: {found}");
        assert!(found.contains("unusable\n") && !found.contains("record again"), "{name}: {found}");
        let info = folder.shows(&format!("info {name}"));
        assert!(info.contains(&format!("go build -pgo, profbridge, after {step}\n")), "{name}: {info}");
        assert!(!info.contains("as default.pgo of Go"), "{name}: {info}");
    }
}

#[test]
fn weights_multiply_and_bad_inputs_are_skipped_on_request() {
    let folder = Folder::new("weights");
    folder.write("empty.pprof", "");
    let said = folder.fails("merge squares.pprof empty.pprof -o sum.pgo --strict");
    assert!(said.contains("empty.pprof: the file is empty"), "{said}");
    let arguments = "merge squares.pprof empty.pprof --weighted-input=3,squares.pprof --failure-mode=warn";
    let report: Value = serde_json::from_str(&folder.shows(&format!("{arguments} -o sum.pgo --json"))).unwrap();
    assert_has_schema(&report, "merge-2.json");
    assert_eq!(
        (&report["schema"], &report["family"], &report["used"]),
        (&"profbridge.merge/2".into(), &"stacks".into(), &2.into())
    );
    assert!(report["warnings"][0].as_str().unwrap().contains("skipped: the file is empty"), "{report}");
    let hits = |name: &str| -> u64 {
        let shown: Value = serde_json::from_str(&folder.shows(&format!("show --json {name}"))).unwrap();
        shown["hits"].as_u64().unwrap()
    };
    assert_eq!(hits("sum.pgo"), 4 * hits("squares.pprof"));
    assert!(folder.shows("check sum.pgo").contains("pprof.go-takes"));
    let said = folder.ends(3, &format!("{arguments} --min-inputs=3 -o none.pgo")).1;
    assert!(said.contains("the number of inputs used is 2, below 3"), "{said}");
    assert!(!folder.0.join("none.pgo").exists());
}

#[test]
fn sorts_of_profiles_do_not_mix() {
    let folder = Folder::new("sorts");
    let said = folder.fails("merge squares.pprof heap.pprof -o sum.pprof");
    assert!(
        said.contains("heap.pprof: the profiles have no sample type in common: samples/count, cpu/nanoseconds and"),
        "{said}"
    );
    let said = folder.refuses("merge squares.pprof circles.pprof --text -o sum.pprof");
    assert!(said.contains("--text selects a text profile"), "{said}");
    let said = folder.refuses("merge squares.pprof circles.pprof -o sum.profdata");
    assert!(said.contains("stacks cannot be written as"), "{said}");
    folder.write("a.collapsed", "a;b 3\n");
    let said = folder.refuses("merge a.collapsed a.collapsed -o sum.proftext");
    assert!(said.contains("stacks cannot be written as"), "{said}");
}

#[test]
fn inflated_size_is_bounded() {
    let folder = Folder::new("bounded");
    for command in ["show squares.pprof", "merge squares.pprof -o x.pprof", "convert squares.pprof -o x.pprof"] {
        let said = folder.fails(&format!("{command} --limit stream-bytes=1500"));
        assert!(said.contains("squares.pprof: ") && said.contains("the limit is 1500"), "{said}");
        let said = folder.fails(&format!("{command} --limit name-bytes=8"));
        assert!(said.contains("length of a string is "), "{said}");
    }
    assert!(!folder.0.join("x.pprof").exists());
}

#[test]
fn a_sum_is_trimmed_to_stacks_or_bytes() {
    let folder = Folder::new("trim");
    let said = folder.stderr_of("merge squares.pprof circles.pprof --max-stacks=7 -o few.pgo");
    assert!(
        said.contains("those with the lowest values") && said.contains("few.pgo: 7 stacks from 2 inputs"),
        "{said}"
    );
    folder.stderr_of("merge squares.pprof circles.pprof --max-bytes=1000 -o small.pgo");
    let size = folder.read("small.pgo").len();
    assert!((800..=1000).contains(&size), "{size}");
    assert!(folder.shows("check few.pgo small.pgo").matches("pprof.go-takes").count() == 2);
    let said = folder.refuses("convert squares.pprof --max-stacks=3 -o few.collapsed");
    assert!(said.contains("--max-stacks is only for writing a pprof"), "{said}");
    let said = folder.fails("merge squares.pprof --max-stacks=3 --strict -o few.pprof");
    assert!(said.contains("those with the lowest values"), "{said}");
    let json = folder.shows("merge squares.pprof --max-stacks=3 --json -o three.pprof");
    let json: Value = serde_json::from_str(&json).unwrap();
    let (losses, warnings) = (json["losses"].as_array().unwrap(), json["warnings"].as_array().unwrap());
    assert_eq!((losses.len(), warnings.len()), (1, 1), "{json}");
    assert_eq!(losses[0]["kind"], "other", "{json}");
    assert!(losses[0]["count"].as_u64().unwrap() > 3, "{json}");
    assert!(warnings[0].as_str().unwrap().ends_with(losses[0]["message"].as_str().unwrap()), "{json}");
    let said = folder.fails("merge squares.pprof --max-bytes=250 -o none.pprof");
    assert!(said.contains("not even the heaviest fits into 250 bytes"), "{said}");
    assert!(said.contains("allow more bytes") && !said.contains("--allow-empty"), "{said}");
    folder.stderr_of("merge squares.pprof --max-bytes=250 --allow-empty -o none.pprof");
}

#[test]
fn losses_of_other_formats_are_reported() {
    let folder = Folder::new("losses");
    let said = folder.stderr_of("convert squares.pprof -o a.collapsed");
    assert!(said.contains("addresses, 1 further value, "), "{said}");
    for what in ["labels, ", " start lines of pprof profiles", " source files, ", " mappings, "] {
        assert!(said.contains(what), "{what}: {said}");
    }
    // Viewing drops nothing.
    assert!(!folder.stderr_of("show squares.pprof").contains("label"));
    assert!(folder.text("a.collapsed").contains("main.main;main.work;main.sum;main.square.area;main.mix "));
    let said = folder.fails("convert squares.pprof -o a.iprof");
    assert!(said.contains("no stacks are left to write"), "{said}");
    // A merge with other stacks keeps the start lines, which Go's compiler needs.
    let said = folder.stderr_of("convert squares.pprof a.collapsed -o both.pprof");
    assert!(said.contains("source files") && !said.contains("start lines"), "{said}");
    let starts = |name: &str| {
        let bytes = decompress(&folder.read(name), &Limits::default()).unwrap();
        let (profile, _) = profbridge::stacks::pprof::read(&bytes, &Limits::default()).unwrap();
        let of = |function: &Function| (profile.text(function.name).into_owned(), function.start_line);
        profile.functions.iter().map(of).filter(|(_, line)| *line > 0).collect::<BTreeSet<_>>()
    };
    assert_eq!(starts("both.pprof"), starts("squares.pprof"));
}

/// The `<title>` of every box of a drawing.
fn boxes(svg: &str) -> Vec<&str> {
    let after = svg.split("<g ").skip(1);
    after.filter_map(|text| text.split("<title>").nth(1)?.split("</title>").next()).collect()
}

#[test]
fn pictures_are_drawn_as_they_are_called() {
    let folder = Folder::new("pictures");
    folder.stderr_of("flamegraph squares.pprof --baseline circles.pprof -o a.svg");
    let svg = folder.text("a.svg");
    assert!(svg.starts_with("<?xml") && svg.contains("main.square.area"), "{svg}");
    assert!(svg.contains("no significant change") && svg.contains("+10 points or more"), "the legend");
    folder.stderr_of("report squares.pprof --baseline circles.pprof -o a.html");
    assert!(folder.text("a.html").starts_with("<!doctype html>"));
    // The period says of how many samples the times are.
    let colors = |kind: &str| {
        folder.stderr_of(&format!("flamegraph squares.pprof --baseline circles.pprof --sample-type {kind} -o a.svg"));
        let svg = folder.text("a.svg");
        let fills: Vec<String> = svg.split("fill=\"").skip(1).map(|text| text[..7].to_string()).collect();
        fills
    };
    let by_samples = colors("samples");
    assert!(by_samples.iter().any(|fill| fill == "#4a9fd8"), "{by_samples:?}");
    assert_eq!(colors("cpu"), by_samples);
    folder.stderr_of("flamegraph squares.pprof -o only.html");
    let page = folder.text("only.html");
    assert!(page.starts_with("<!doctype html>") && !page.contains("Hottest methods"));
    folder.stderr_of("report squares.pprof -o whole.svg");
    folder.stderr_of("flamegraph squares.pprof --title squares.pprof -o same.svg");
    assert_eq!(folder.read("whole.svg"), folder.read("same.svg"));
}

#[test]
fn flame_graphs_show_the_requested_samples() {
    let folder = Folder::new("chosen");
    folder.write("a.collapsed", "a.B.main;a.B.f;a.B.g 6\na.B.main;a.B.g 3\na.B.main;a.B.h 1\n");
    folder.stderr_of("flamegraph a.collapsed -o a.svg");
    let first = "a.B.main: 10 hits, 100.000 %";
    assert_eq!(boxes(&folder.text("a.svg"))[0], first);
    folder.stderr_of("flamegraph a.collapsed --include g --exclude f -o chosen.svg");
    assert_eq!(boxes(&folder.text("chosen.svg")), ["a.B.main: 3 hits, 100.000 %", "a.B.g: 3 hits, 100.000 %"]);
    folder.stderr_of("flamegraph a.collapsed --reverse -o reversed.svg");
    let reversed = folder.text("reversed.svg");
    assert_eq!(boxes(&reversed)[0], "a.B.g: 9 hits, 90.000 %");
    assert_eq!(boxes(&reversed)[1..3], ["a.B.f: 6 hits, 60.000 %", "a.B.main: 6 hits, 60.000 %"]);
    folder.stderr_of("flamegraph a.collapsed --upright -o upright.svg");
    let y = |svg: &str| -> u32 {
        let of_first = svg.split(first).nth(1).unwrap();
        of_first.split(" y=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
    };
    assert_eq!(y(&folder.text("upright.svg")) - y(&folder.text("a.svg")), 2 * 17);
    let said = folder.fails("flamegraph a.collapsed --include nothing -o none.svg");
    assert!(said.contains("there are no stacks to draw"), "{said}");
    assert!(!folder.0.join("none.svg").exists());
    let said = folder.refuses("report a.collapsed --reverse -o a.html");
    assert!(said.contains("cannot be used for a full report"), "{said}");
}

#[test]
fn java_stacks_take_every_road() {
    let folder = Folder::new("roads");
    let text = "app/Main.main([Ljava/lang/String|)V@3;app/Main.loop(I)V@0 42\napp/Main.main([Ljava/lang/String|)V@3;app/Main.loop(I)V@12 2\n";
    folder.write("a.collapsed", text);
    folder.stderr_of("convert a.collapsed -o a.pprof");
    folder.stderr_of("convert a.pprof -o b.iprof");
    folder.stderr_of("convert b.iprof -o c.pb");
    folder.stderr_of("convert c.pb -o d.collapsed");
    assert_eq!(folder.text("d.collapsed"), text);
    folder.stderr_of("merge a.collapsed a.pprof b.iprof --weighted-input=2,c.pb -o sum.collapsed");
    assert!(folder.text("sum.collapsed").contains("app/Main.loop(I)V@0 210\n"));
}

/// Returns all forms of the samples of one recording.
fn forms(folder: &Folder) -> [&'static str; 4] {
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/java/shapes-jdk17.jfr.gz");
    std::fs::copy(recording, folder.0.join("a.jfr")).unwrap();
    for name in ["a.collapsed", "a.pprof", "a.iprof"] {
        folder.stderr_of(&format!("convert a.jfr --events execution -o {name}"));
    }
    ["a.jfr", "a.collapsed", "a.pprof", "a.iprof"]
}

/// Returns methods and hits of the first two levels of call chains.
fn chains(json: &Value) -> Vec<(String, u64)> {
    let list =
        |of: &Value| [&of["next"], &of["nodes"]].into_iter().find_map(Value::as_array).cloned().unwrap_or_default();
    let roots = json.as_array().cloned().unwrap_or_else(|| json["roots"].as_array().unwrap().clone());
    let row = |depth: usize, of: &Value| {
        let hits = [&of["hits"], &of["count"]].into_iter().find_map(Value::as_u64).unwrap();
        (format!("{depth} {}", of["method"].as_str().unwrap()), hits)
    };
    roots
        .iter()
        .flat_map(|root| [vec![row(0, root)], list(root).iter().map(|next| row(1, next)).collect()].concat())
        .collect()
}

#[test]
fn call_chains_agree_for_all_forms() {
    let folder = Folder::new("chains");
    let forms = forms(&folder);
    for pattern in ["Shapes.step", "step", "Shapes$Poly", "Poly", "Shapes.step(Shapes$Shape,int)", "/mix|area/"] {
        for direction in ["callers", "callees"] {
            let of = |form: &str| {
                let events = if form == "a.jfr" { "--events execution" } else { "" };
                let shown = folder.shows(&format!("show {form} {events} --{direction} {pattern} --topn 100 --json"));
                chains(&serde_json::from_str::<Value>(&shown).unwrap()[direction])
            };
            let expected = of("a.jfr");
            assert!(!expected.is_empty() && expected[0].1 > 0, "{pattern}");
            for form in forms {
                assert_eq!(of(form), expected, "{form} {direction} {pattern}");
            }
            let iprof = folder.shows(&format!("show a.iprof --{direction} {pattern} --bci --topn 100 --json"));
            let by_position = chains(&serde_json::from_str::<Value>(&iprof).unwrap()[direction]);
            let roots =
                |rows: &[(String, u64)]| rows.iter().filter(|row| row.0.starts_with("0 ")).cloned().collect::<Vec<_>>();
            assert_eq!(roots(&by_position), roots(&expected), "positions change no root");
        }
    }
}

#[test]
fn a_gate_compares_sources_of_any_kind() {
    let folder = Folder::new("gate");
    let forms = forms(&folder);
    for form in forms {
        let said =
            folder.shows(&format!("diff a.jfr {form} --events execution --fail-below 1 --section stacks --json"));
        let report: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(
            (report["total_overlap"].as_f64(), &report["functions_by"]),
            (Some(1.0), &"samples".into()),
            "{form}"
        );
        assert_has_schema(&report, "diff-2.json");
    }
    folder.write("a.txt", "a.B.f;a.B.g 3\na.B.f;a.B.h 1\n");
    folder.write("b.txt", "a.B.f;a.B.g 3\na.B.e;a.B.h 1\n");
    folder.shows("diff a.txt b.txt --fail-below 100% --section methods");
    let said = folder.ends(3, "diff a.txt b.txt --fail-below smallest=80%").1;
    assert!(said.contains("the smallest overlap is 75.00 %, below 80 %"), "{said}");
    folder.shows("diff a.txt b.txt --fail-below 80%");
    let said = folder.ends(3, "diff a.txt b.txt --fail-below counters=0.8").1;
    assert!(said.contains("cannot compute the overlap of counters") && said.contains("methods, stacks"), "{said}");
    let shown = folder.shows("overlap a.txt b.txt");
    assert_eq!(shown, "methods  100.000 % of 4 and 4 samples\nstacks    75.000 % of 4 and 4 samples\n");
    let shown = folder.shows("diff squares.pprof circles.pprof");
    assert!(shown.contains("main.circle.area") || shown.contains("main.mix"), "{shown}");
}

#[test]
fn values_that_measure_different_things_are_not_added_or_compared() {
    let folder = Folder::new("different-values");
    folder.stderr_of("merge heap.pprof --sample-type alloc_space -o allocated.pprof");
    for command in ["flamegraph heap.pprof allocated.pprof -o x.svg", "report heap.pprof allocated.pprof -o x.html"] {
        let said = folder.refuses(command);
        assert!(said.contains("one input counts inuse_space and another alloc_space, which cannot be added"), "{said}");
        assert!(said.contains("choose the value with --sample-type"), "{said}");
    }
    for command in ["diff", "overlap"] {
        let said = folder.refuses(&format!("{command} heap.pprof allocated.pprof"));
        assert!(said.contains("allocated.pprof: it counts alloc_space, the first counts inuse_space"), "{said}");
    }
    for command in ["flamegraph", "report"] {
        let said = folder.fails(&format!("{command} allocated.pprof --baseline heap.pprof -o x"));
        assert!(said.contains("the profile counts alloc_space, its baseline inuse_space"), "{said}");
    }
    let same = folder.shows("diff heap.pprof allocated.pprof --sample-type alloc_space");
    assert!(same.contains("stacks                   100.000 %"), "{same}");
    // Text does not say what its bytes are.
    folder.write("bytes.collapsed", "# unit: bytes\nmain;work 5\n");
    assert!(folder.shows("diff heap.pprof bytes.collapsed").contains("stacks"));
}
