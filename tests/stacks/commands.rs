//! Tests of the commands `convert`, `report` and `flamegraph`.

use crate::recordings::unpack;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory for one test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.0.join(name), content).unwrap();
        self
    }

    pub(crate) fn read(&self, name: &str) -> String {
        String::from_utf8(std::fs::read(self.0.join(name)).unwrap()).unwrap()
    }

    pub(crate) fn run(&self, arguments: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_profbridge"))
            .args(arguments.split_whitespace())
            .current_dir(&self.0)
            .output()
            .unwrap()
    }

    /// Returns standard error of a run that must succeed.
    pub(crate) fn ok(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{arguments}: {stderr}");
        stderr
    }

    /// Returns standard error of a run that must fail with `code`.
    pub(crate) fn fails(&self, code: i32, arguments: &str) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments}");
        String::from_utf8(output.stderr).unwrap()
    }
}

#[test]
fn a_recording_becomes_an_iprof_and_survives_the_way_over_collapsed_text() {
    let folder = Folder::new("convert-recording");
    folder.write("a.jfr", unpack("shapes-jdk17.jfr.gz")).write("b.jfr", unpack("shapes-jdk25.jfr.gz"));
    let losses = folder.ok("convert a.jfr b.jfr --events execution -o both.iprof");
    assert!(losses.contains("samples with truncated stacks"), "{losses}");
    assert!(losses.contains("samples of other event types, dropped"), "{losses}");
    let iprof = folder.read("both.iprof");
    assert!(iprof.starts_with(r#"{"version":"1.0.0","types":["#) && !iprof.contains("callCountProfiles"));
    folder.ok("convert both.iprof -o both.collapsed");
    folder.ok("convert both.collapsed -o again.iprof");
    folder.ok("convert again.iprof -o again.collapsed.gz");
    folder.ok("convert again.collapsed.gz --to collapsed -o again.collapsed");
    assert_eq!(folder.read("both.collapsed"), folder.read("again.collapsed"));
    assert!(folder.read("both.collapsed").contains("Shapes.step(LShapes$Shape|I)V@"));
    // The order of the inputs does not matter.
    folder.ok("convert b.jfr a.jfr --events execution -o turned.iprof");
    folder.ok("convert turned.iprof -o turned.collapsed");
    assert_eq!(folder.read("both.collapsed"), folder.read("turned.collapsed"));
}

#[test]
fn descriptors_come_from_class_files_jars_and_profiles() {
    let folder = Folder::new("convert-reference");
    folder.write("names.collapsed", "Shapes.main;Shapes.step;Shapes$Circle.area 7\nShapes$Poly.mix 2\nNobody.run 1\n");
    let losses = folder.ok("convert names.collapsed -o names.iprof");
    assert!(losses.contains("5 methods without known types"), "{losses}");
    folder.write("a.jfr", unpack("shapes-jdk17.jfr.gz"));
    folder.ok("convert a.jfr -o a.iprof");
    let losses = folder.ok("convert names.collapsed --reference a.iprof -o typed.collapsed");
    assert!(losses.contains("2 methods not in the reference"), "main never ran in a sample: {losses}");
    assert!(losses.contains("1 method with several overloads in the reference; the first was used"), "{losses}");
    assert!(folder.read("typed.collapsed").contains("Shapes.step(LShapes$Shape|I)V@-5;Shapes$Circle.area(I)I@-5 7\n"));

    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/java/Shapes.java");
    let compiled = Command::new("javac").arg("-d").arg(&folder.0).arg(source).status();
    let packed = Command::new("jar")
        .args(["cf", "shapes.jar", "Shapes.class", "Shapes$Circle.class", "Shapes$Poly.class"])
        .current_dir(&folder.0)
        .status();
    if !compiled.is_ok_and(|status| status.success()) || !packed.is_ok_and(|status| status.success()) {
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"SKIPPED: javac and jar are not installed (Debian: openjdk-17-jdk-headless)\n",
        );
        return;
    }
    for reference in ["shapes.jar", "."] {
        folder.ok(&format!("convert names.collapsed --reference {reference} --overload all -o jar.collapsed"));
        let text = folder.read("jar.collapsed");
        assert!(text.contains("Shapes.main([Ljava/lang/String|)V@-5;Shapes.step(LShapes$Shape|I)V@-5;"), "{text}");
        assert!(text.contains("Shapes$Poly.mix(I)I@-5 2\n") && text.contains("Shapes$Poly.mix(JI)I@-5 2\n"), "{text}");
    }
}

#[test]
fn collapsed_text_reports_the_data_that_it_does_not_have() {
    let folder = Folder::new("convert-collapsed-losses");
    folder.write("in.collapsed", "[main tid=1];a/B.run_[j];sys_read_[k] 3\n[other tid=2];a/B.run_[i] 2\n");
    let losses = folder.ok("convert in.collapsed -o out.collapsed");
    assert!(losses.contains("dropped the names of 2 threads (see --threads)"), "{losses}");
    assert!(losses.contains("dropped the types (interpreted, compiled, inlined) of 2 frames"), "{losses}");
    assert_eq!(folder.read("out.collapsed"), "a/B.run@-5 2\na/B.run@-5;sys_read_[k] 3\n");
    let losses = folder.ok("convert in.collapsed --threads -o threads.collapsed");
    assert!(!losses.contains("the names of"), "{losses}");
    assert!(folder.fails(1, "convert in.collapsed --strict -o strict.collapsed").contains("the names of 2 threads"));
    // Marks of the kernel are written, so nothing is lost.
    folder.write("kernel.collapsed", "main;sys_read_[k] 3\n");
    folder.ok("convert kernel.collapsed --strict -o again.collapsed");
    assert_eq!(folder.read("kernel.collapsed"), folder.read("again.collapsed"));
}

#[test]
fn options_for_formats_that_no_input_has_are_rejected() {
    let folder = Folder::new("stack-options");
    folder.write("a.collapsed", "main;run 3\n").write("b.collapsed", "main;run 4\n");
    folder.ok("convert a.collapsed -o a.pprof");
    for (arguments, said) in [
        ("convert a.collapsed --weight count -o x.pprof", "--weight is for recordings of Flight Recorder"),
        ("merge a.pprof --call-counts -o x.pprof", "--call-counts is for iprof files"),
        ("show a.pprof --perf-raw", "--perf-raw is for text"),
        ("report a.pprof --stacks folded -o x.html", "--stacks is for text"),
        ("flamegraph a.collapsed --symfs . -o x.svg", "--symfs is for recordings of perf"),
        ("flamegraph a.pprof --binary a.pprof -o x.svg", "--binary is for recordings of perf and their text"),
        ("diff a.collapsed b.collapsed --call-counts", "--call-counts is for iprof files"),
        ("overlap a.collapsed b.collapsed --weight time", "--weight is for recordings of Flight Recorder"),
        ("show a.pprof --only-sites hot", "--only-sites is for memory profiles"),
    ] {
        let error = folder.fails(2, arguments);
        assert!(error.contains(said), "{arguments}: {error}");
    }
    for command in ["show a.collapsed", "flamegraph a.collapsed -o x.svg", "convert a.collapsed -o x.pprof"] {
        let error = folder.fails(1, &format!("{command} --binary nosuch"));
        assert!(error.contains("nosuch: cannot open"), "{error}");
    }
    let error = folder.fails(1, "convert a.pprof --reference none.jar -o x.pprof");
    assert!(error.contains("none.jar: cannot open: No such file or directory"), "{error}");
    let warnings = folder.ok("convert a.collapsed a.pprof --sample-type samples -o both.pprof");
    assert!(warnings.contains("a.collapsed: the text has no event types to choose from"), "{warnings}");
}

#[test]
fn losses_are_errors_when_asked_and_leave_no_file() {
    let folder = Folder::new("convert-strict");
    folder.write("names.collapsed", "a/B.main;memcpy 7\n");
    let error = folder.fails(1, "convert names.collapsed --strict -o out.iprof");
    assert!(error.contains("7 samples in native code, counted for the Java caller"), "{error}");
    assert!(!folder.0.join("out.iprof").exists());
    folder.write("alloc.collapsed", "a/B.main;java.lang.String_[i] 4096\n");
    let error = folder.fails(2, "convert alloc.collapsed -o out.iprof");
    assert!(error.contains("use --value to treat these values as sample counts"), "{error}");
    folder.write("native.collapsed", "start_thread;memcpy 4\n");
    let error = folder.fails(1, "convert native.collapsed -o out.iprof");
    assert!(error.contains("no stacks are left to write") && error.contains("no sample has a Java frame"), "{error}");
    folder.write("raw.folded", "java;Lapp/Main;::run 4\n");
    assert!(folder.fails(2, "convert raw.folded -o out.iprof").contains("--perf-raw"));
    folder.ok("convert raw.folded --perf-raw -o out.collapsed");
    assert_eq!(folder.read("out.collapsed"), "app/Main.run@-5 4\n");
}

/// The sum of the counts at the ends of lines.
fn total(text: &str) -> u64 {
    let count = |line: &str| line.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok());
    text.lines().filter_map(count).sum()
}

/// Collapsed stacks do not state their event type. The samples of a recording were dropped next to them.
#[test]
fn stacks_of_unknown_type_and_samples_of_a_recording_are_added_up() {
    let folder = Folder::new("unknown-type");
    folder.write("a.jfr", unpack("shapes-jdk17.jfr.gz")).write("few.collapsed", "x;y 3\n");
    folder.ok("convert a.jfr -o a.collapsed");
    let samples = total(&folder.read("a.collapsed"));
    assert!(samples > 3);
    folder.ok("merge a.jfr few.collapsed -o both.collapsed");
    assert_eq!(total(&folder.read("both.collapsed")), samples + 3);
    folder.ok("merge few.collapsed a.jfr -o both.pprof");
    folder.ok("convert both.pprof -o again.collapsed");
    assert_eq!(total(&folder.read("again.collapsed")), samples + 3);
    // Bytes cannot be added to samples.
    folder.write("bytes.collapsed", "# unit: bytes\nx;y 3\n");
    let lost = folder.ok("merge a.jfr bytes.collapsed -o bytes.out.collapsed");
    assert!(lost.contains("dropped 137 samples of other event types"), "{lost}");
    folder.write("threads.collapsed", "# unit: bytes\n[t1 tid=1];x;y 3\n[t2 tid=2];x;z 1000\n");
    let lost = folder.ok("merge threads.collapsed --thread t1 -o t1.collapsed");
    assert!(lost.contains("dropped 1000 bytes of other threads"), "{lost}");
}

const COUNTS: &str = "{\"version\":\"1.0.0\",\"types\":[{\"id\":0,\"name\":\"A\"},{\"id\":1,\"name\":\"void\"}],\
    \"methods\":[{\"id\":0,\"name\":\"m\",\"signature\":[0,1]}],\
    \"callCountProfiles\":[{\"ctx\":\"0:0\",\"records\":[3]}],\
    \"samplingProfiles\":[{\"ctx\":\"0:0\",\"records\":[8]}]}";

#[test]
fn the_other_sections_of_an_iprof_are_not_lost_silently_among_stacks() {
    let folder = Folder::new("other-sections");
    folder.write("a.iprof", COUNTS).write("b.collapsed", "A.m 2\n");
    let words = "dropped 1 entry of other sections of iprof files, which are not samples";
    for line in ["merge a.iprof b.collapsed -o both.iprof", "convert a.iprof -o a.collapsed"] {
        assert!(folder.ok(line).contains(words), "{line}");
        assert!(folder.fails(1, &format!("{line} --strict --force")).contains(words), "{line}");
    }
    folder.ok("convert b.collapsed -o b.iprof");
    folder.write("half.collapsed", "a;b 1.5\na;c 2\n");
    assert!(
        folder.fails(3, "merge half.collapsed -o half.sum.collapsed --min-total-count 4").contains("is 3, below 4")
    );
    folder.ok("merge half.collapsed -o half.sum.collapsed --min-total-count 3");
    assert!(!folder.ok("merge a.iprof b.iprof -o sum.iprof").contains("dropped"));
    assert!(folder.read("sum.iprof").contains("callCountProfiles"));
}

#[test]
fn a_part_without_stacks_keeps_its_inputs() {
    let folder = Folder::new("part-without-stacks");
    let without_samples = COUNTS.split(",\"samplingProfiles\"").next().unwrap().to_string() + "}";
    folder.write("none.iprof", without_samples).write("b.collapsed", "A.m 2\n");
    folder.ok("merge --partial --to collapsed none.iprof -o one.part");
    folder.ok("merge --partial --to collapsed one.part -o again.part");
    folder.ok("merge --partial --to collapsed b.collapsed -o two.part");
    let merged = folder.run("merge again.part two.part -o sum.collapsed --json");
    let document = String::from_utf8(merged.stdout).unwrap();
    assert!(document.contains("none.iprof") && document.contains("b.collapsed"), "{document}");
    assert_eq!(total(&folder.read("sum.collapsed")), 2);
    // An input without samples is not a used one.
    assert!(folder.fails(3, "merge again.part two.part -o sum.collapsed --min-inputs 2").contains("is 1, below 2"));
    assert!(folder.ok("merge none.iprof b.collapsed -o sum.collapsed").contains("no samples to use; skipped"));
    let checked = String::from_utf8(folder.run("check one.part").stdout).unwrap();
    assert!(checked.contains("one.part: collapsed: usable"), "{checked}");
}

#[test]
fn partial_merges_of_iprof_files_and_of_stacks_merge_as_stacks() {
    let folder = Folder::new("parts-of-both");
    folder.write("a.iprof", COUNTS).write("b.iprof", COUNTS.replace("[8]", "[9]")).write("c.collapsed", "A.m 2\n");
    folder.ok("merge --partial a.iprof b.iprof -o documents.part");
    folder.ok("merge --partial c.collapsed -o stacks.part");
    for output in ["collapsed", "iprof", "pprof"] {
        folder.ok(&format!("merge a.iprof b.iprof c.collapsed -o once.{output}"));
        for inputs in ["documents.part stacks.part", "documents.part c.collapsed"] {
            let said = folder.ok(&format!("merge {inputs} -o sum.{output}"));
            assert!(said.contains("from 3 inputs"), "{said}");
            let (once, sum) = (format!("once.{output}"), format!("sum.{output}"));
            let read = |name: &str| std::fs::read(folder.0.join(name)).unwrap();
            assert_eq!(read(&once), read(&sum), "{inputs} to {output}");
        }
    }
    folder.ok("merge --partial documents.part stacks.part -o again.part");
    folder.ok("merge again.part -o again.collapsed");
    assert_eq!(folder.read("again.collapsed"), folder.read("once.collapsed"));
    folder.ok("merge documents.part -o documents.collapsed");
    assert_eq!(total(&folder.read("documents.collapsed")), 17);
}

#[test]
fn one_hint_is_enough_to_name_a_partial_merge_of_stacks() {
    let folder = Folder::new("name-of-a-part");
    folder.write("a.jfr", unpack("shapes-jdk17.jfr.gz"));
    for output in ["a.part", "a.profdata"] {
        let said = folder.fails(2, &format!("merge --partial a.jfr -o {output}"));
        assert!(said.contains("or .iprof for Java unless the merge is partial"), "{said}");
    }
}

#[test]
fn pictures_are_made_of_every_kind_of_profile() {
    let folder = Folder::new("pictures");
    folder.write("a.jfr", unpack("shapes-jdk17.jfr.gz")).write("b.collapsed", "Shapes.step;Shapes$Circle.area 7\n");
    folder.write("a.proftext", ":ir\nmain\n5\n2\n10\n90\n\nother\n6\n1\n300\n\n");
    folder.write("large.proftext", ":ir\nmain\n5\n2\n18446744073709551613\n10\n\n");
    folder.write(
        "a.iprof",
        concat!(
            r#"{"version":"1.0.0","types":[{"id":0,"name":"a.B"},{"id":1,"name":"void"}],"#,
            r#""methods":[{"id":0,"name":"f","signature":[0,1]}],"callCountProfiles":[{"ctx":"0:0","records":[5]}],"#,
            r#""conditionalProfiles":[{"ctx":"0:3","records":[8,0,1,9,1,3]}]}"#
        ),
    );
    for (arguments, text) in [
        ("report a.jfr -o out", "Flight Recorder 2.1"),
        ("report a.jfr --baseline b.collapsed -o out", "<h2 id=\"h0\">Overlap</h2>"),
        ("report a.proftext -o out", "<td>other</td><td class=\"n\" data-v=\"300\">300</td>"),
        (
            "report a.proftext --baseline a.proftext -o out",
            "<td>counters</td><td class=\"n\" data-v=\"100\">100.000</td>",
        ),
        ("report a.iprof -o out", "<td>a.B.f() @3</td><td class=\"n\" data-v=\"4\">4</td>"),
        ("flamegraph a.jfr b.collapsed -o out", "<title>Shapes$Circle.area: 7 hits"),
        ("flamegraph a.jfr b.collapsed -o out --baseline b.collapsed", ">a.jfr, b.collapsed against b.collapsed<"),
        ("report a.proftext --title Mine -o out", "<title>Mine</title>"),
        ("report a.proftext -o out", "<dt>Total of all counters</dt><dd>400</dd>"),
        ("report large.proftext -o out", "<dt>Total of all counters</dt><dd>18,446,744,073,709,551,623</dd>"),
        ("flamegraph a.iprof -o out", "<title>a.B.f(): 5 calls, 100.000 %</title>"),
        ("flamegraph a.jfr --per-thread -o out", "<title>poly; worker [2]: "),
        ("flamegraph a.jfr --merge Shapes.step --reverse -o out", "<title>Shapes.step(Shapes$Shape,int): "),
        ("flamegraph a.jfr --thread text -o out.html", ""),
        ("report a.jfr -o out.svg", ""),
    ] {
        folder.ok(arguments);
        assert!(folder.read("out").contains(text), "{arguments}: {text}");
    }
    assert!(folder.read("out.html").starts_with("<!doctype html>"), "flamegraph -o x.html is a page");
    assert!(folder.read("out.svg").starts_with("<?xml"), "report -o x.svg is a drawing");
    assert!(folder.fails(2, "report a.jfr --per-thread -o out").contains("cannot be used for a full report"));
    assert!(folder.fails(1, "flamegraph a.jfr --merge nothing -o out").contains("no stack contains the method"));
    assert!(folder.fails(1, "flamegraph a.proftext -o out").contains("has no stacks to draw"));
    assert!(folder.fails(1, "report a.jfr --baseline a.iprof -o out").contains("of different kinds"));
    folder.write("ms.collapsed", b"# unit: ms\nmain;a 2\n");
    let units = folder.fails(1, "flamegraph ms.collapsed --baseline b.collapsed -o out");
    assert!(units.contains("the profile counts ns, its baseline hits") && units.contains("--sample-type"), "{units}");
    assert!(folder.fails(1, "report a.jfr a.proftext -o out").contains("cannot draw"));
}

#[test]
fn show_prints_hot_methods_and_json_by_sort_and_thread() {
    let folder = Folder::new("show-stacks");
    folder.write("a.jfr", unpack("shapes-jdk25.jfr.gz"));
    let show = |arguments: &str| {
        let output = folder.run(arguments);
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = show("show a.jfr --topn=2");
    assert!(
        text.contains("Method name") && text.contains("more methods") && text.contains("poly; worker [2]"),
        "{text}"
    );
    let json: serde_json::Value = serde_json::from_str(&show("show a.jfr --events cpu-time --json")).unwrap();
    assert_eq!(json["schema"], "profbridge.show-stacks/2");
    assert_eq!(json["hits_by_sort"][0]["sort"], "cpu-time");
    let notes = json["notes"].as_array().unwrap();
    let others = "the recording also has other event types: 131 execution, 47 native";
    assert!(notes.iter().any(|note| note == others), "{notes:?}");
    // Notes about other event types do not apply.
    let of_execution = "Flight Recorder samples a limited number of running threads per interval";
    assert!(text.contains(of_execution) && notes.iter().all(|note| note != of_execution), "{text}{notes:?}");
    let sum = |list: &serde_json::Value, member: &str| -> u64 {
        list.as_array().unwrap().iter().map(|row| row[member].as_u64().unwrap()).sum()
    };
    let hits = json["hits"].as_u64().unwrap();
    assert_eq!((sum(&json["methods"], "exclusive"), sum(&json["threads"], "hits")), (hits, hits));
    assert_eq!(sum(&json["methods"], "exact") + sum(&json["methods"], "heuristic"), hits);
    let text = show("show a.jfr --events cpu-time --callers mix --bci");
    assert!(text.starts_with("Callers, ") && text.contains("\n  Shapes$Poly.area(int) @"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&show("show a.jfr --callees Shapes.step --json")).unwrap();
    assert_eq!(json["callees"][0]["method"], "Shapes.step(Shapes$Shape,int)");
    assert!(folder.fails(1, "show a.jfr --callers nothing").contains("no stack contains nothing"));
    let error = folder.fails(1, "show a.jfr --thread missing");
    assert!(error.contains("check --events and --thread"), "{error}");
}

#[test]
fn text_with_fractions_next_to_text_without_them_can_be_fixed() {
    let folder = Folder::new("fractions");
    folder.write("whole.collapsed", "a;b 5\nc 1\n");
    folder.write("parts.collapsed", "a;b 0.5\n");
    for command in ["merge whole.collapsed parts.collapsed -o sum.collapsed", "diff parts.collapsed whole.collapsed"] {
        let error = folder.fails(2, command);
        assert!(
            error.contains("write one count of the input without fractions with a fraction, such as 5.0"),
            "{error}"
        );
    }
    folder.write("whole.collapsed", "a;b 5.0\nc 1\n");
    assert!(folder.run("merge whole.collapsed parts.collapsed -o sum.collapsed").status.success());
    assert_eq!(std::fs::read_to_string(folder.0.join("sum.collapsed")).unwrap(), "a;b 5.5\nc 1\n");
}

#[test]
fn functions_of_go_stay_the_same_through_collapsed_text() {
    let folder = Folder::new("go-functions");
    let text = "main.main;runtime/pprof.Do;github.com/foo/bar.Fn 3\nruntime.goexit;net/http.(*conn).serve 4\n";
    folder.write("a.collapsed", text);
    folder.ok("merge a.collapsed -o b.collapsed");
    assert_eq!(folder.read("b.collapsed"), text);
    folder.ok("convert a.collapsed -o a.pprof");
    folder.ok("convert a.pprof -o c.collapsed");
    assert_eq!(folder.read("c.collapsed"), text);
    let compared = folder.run("overlap a.pprof c.collapsed --json");
    let stdout = String::from_utf8_lossy(&compared.stdout);
    assert_eq!(stdout.matches("\"overlap\":1.0").count(), 2, "{compared:?}");
    assert!(folder.fails(1, "convert a.collapsed -o a.iprof").contains("no sample has a Java frame"));
}

#[test]
fn names_with_the_separator_of_frames_are_reported_and_compared() {
    let folder = Folder::new("separator-in-names");
    let head = "spin 8540 3731.1:     250000 cycles:u: \n";
    folder.write("a.script", format!("{head}\t    1148 <[u8; 4] as a::T>::go (/bin/s)\n\t    1248 main (/bin/s)\n\n"));
    folder.ok("convert a.script -o a.pprof");
    let said = folder.ok("convert a.pprof -o a.collapsed");
    assert_eq!(folder.read("a.collapsed"), "main;<[u8: 4] as a::T>::go 1\n");
    assert!(said.contains("wrote `:` for `;`, which separates frames, in the names of 1 frame"), "{said}");
    for other in ["a.pprof", "a.script"] {
        let compared = folder.run(&format!("overlap {other} a.collapsed --json"));
        let stdout = String::from_utf8_lossy(&compared.stdout);
        assert_eq!(stdout.matches("\"overlap\":1.0").count(), 2, "{compared:?}");
        folder.ok(&format!("flamegraph {other} --baseline a.collapsed -o a.svg"));
        let svg = folder.read("a.svg");
        assert!(svg.contains("[u8; 4]") && !svg.contains("[u8: 4]"), "{svg}");
    }
}

#[test]
fn one_long_name_does_not_make_all_rows_of_a_table_long() {
    let folder = Folder::new("long-names");
    let long = format!("a.B.{}", "m".repeat(5000));
    let longest_thread = "t".repeat(3000);
    let stacks =
        format!("[{longest_thread} tid=1];a.B.main_[j];{long}_[j] 3\n[other tid=2];a.B.main_[j];a.B.f_[j] 5\n");
    folder.write("a.collapsed", stacks);
    let convert = folder.run("convert a.collapsed -o a.iprof");
    assert!(convert.status.success(), "{}", String::from_utf8_lossy(&convert.stderr));
    for name in ["a.collapsed", "a.iprof"] {
        let output = folder.run(&format!("show {name}"));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains(&long), "{text}");
        assert!(name == "a.iprof" || text.contains(&longest_thread), "{text}");
        let is_other = |line: &&str| !line.contains(&long) && !line.contains(&longest_thread);
        let tables = || text.lines().skip_while(|line| !line.starts_with("Method name"));
        assert!(tables().filter(is_other).any(|line| line.starts_with("a.B.f")), "{text}");
        for line in tables().filter(is_other) {
            assert!(line.chars().count() < 160, "{name}: {line}");
        }
    }
}
