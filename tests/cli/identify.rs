//! Tests of format detection, which does not depend on the order of inputs.

use crate::program::{Finished, Folder};

const INSTR: &str = ":ir\nmain\n1\n1\n5\n";
const SAMPLES: &str = "foo:10:1\n 1: 5\n";
const STACKS: &str = "app/Main.main;app/Main.loop 3\napp/Main.main;app/Main.stop 1\n";

fn folder(files: &[(&str, &str)]) -> Folder {
    let folder = Folder::new();
    for (name, content) in files {
        std::fs::write(folder.path(name), content).expect("written");
    }
    folder
}

fn run(folder: &Folder, line: &str) -> Finished {
    folder.run(&line.split(' ').collect::<Vec<_>>())
}

fn printed(finished: &Finished) -> String {
    String::from_utf8_lossy(&finished.stdout).into_owned()
}

#[test]
fn source_files_prose_and_other_json_are_not_profiles() {
    let files = [
        ("Demo.java", "package demo;\n\npublic class Demo {\n    int a = 1;\n}\n"),
        ("main.c", "#include <stdio.h>\n\nint main(void) { return 0; }\n"),
        ("README", "It was a dark\nand stormy night.\n"),
        ("package.json", "{\"name\": \"left-pad\", \"version\": \"1.3.0\"}\n"),
    ];
    let folder = folder(&files);
    for (name, _) in files {
        let info = run(&folder, &format!("info {name}"));
        let text = printed(&info);
        assert_eq!(info.code, Some(1), "{text}");
        assert!(!text.contains("LLVM") && !text.contains("GraalVM"), "{text}");
        let check = printed(&run(&folder, &format!("check {name}")));
        assert!(check.contains("unknown.unrecognized-format"), "{check}");
        run(&folder, &format!("merge {name} -o out")).assert_refused(1, &[name]);
    }
}

#[test]
fn recordings_of_stacks_are_first_class() {
    let folder = folder(&[("a.collapsed", STACKS), ("b", STACKS)]);
    let info = printed(&run(&folder, "info b"));
    assert!(info.contains("collapsed stacks") && info.contains("functions"), "{info}");
    assert!(printed(&run(&folder, "check b")).contains("b: collapsed: usable"));
    assert_eq!(run(&folder, "merge a.collapsed b -o sum.collapsed").code, Some(0));
    let sum = std::fs::read_to_string(folder.path("sum.collapsed")).expect("written");
    assert!(sum.contains(" 6\n") && sum.contains(" 2\n"), "{sum}");
    assert!(printed(&run(&folder, "diff a.collapsed b")).contains("100.000 %"));
}

#[test]
fn merge_does_the_same_for_either_order_of_inputs() {
    let iprof = "{\"version\":\"1.0.0\",\"types\":[],\"methods\":[]}";
    let folder = folder(&[("instr", INSTR), ("samples", SAMPLES), ("stacks", STACKS), ("iprof", iprof), ("empty", "")]);
    let names = ["instr", "samples", "stacks", "iprof", "empty"];
    for first in names {
        for second in names {
            for output in ["out", "out.profdata", "out.iprof", "out.collapsed"] {
                let ends = |one: &str, other: &str| {
                    let _ = std::fs::remove_file(folder.path(output));
                    let finished = run(&folder, &format!("merge -q {one} {other} -o {output}"));
                    (finished.code, std::fs::read(folder.path(output)).ok())
                };
                assert_eq!(ends(first, second), ends(second, first), "{first} and {second} to {output}");
            }
        }
    }
}

/// Files that no command can read, with their name in messages.
const OTHER_FILES: [(&str, &str, &str); 7] = [
    ("page.profdata", "<!DOCTYPE html>\n<html></html>\n", "HTML page"),
    ("pointer.profraw", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS pointer"),
    ("paper.prof", "%PDF-1.7\n%\n", "PDF document"),
    ("coverage.info", "TN:\nSF:/a.c\nDA:1,1\nend_of_record\n", "lcov report"),
    ("trace.json", "{\"traceEvents\":[]}", "Chrome profile"),
    ("bolt.fdata", "1 main 3d 1 foo 0 0 17\n", "BOLT profile"),
    ("zeros.profraw", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "file of zero bytes"),
];

#[test]
fn every_command_prints_the_same_error_for_an_unreadable_file() {
    let folder = folder(&[("good.proftext", INSTR)]);
    for (name, content, words) in OTHER_FILES {
        std::fs::write(folder.path(name), content).expect("written");
        let expected = format!("not a profile: {words}");
        for line in [
            format!("merge {name} -o out.profdata"),
            format!("merge {name} -o out.folded"),
            format!("merge {name} -o out.afdo"),
            format!("merge {name} good.proftext -o out.profdata"),
            format!("show {name}"),
            format!("diff {name} good.proftext"),
            format!("overlap {name} good.proftext"),
            format!("order {name}"),
            format!("report {name} -o out.html"),
            format!("flamegraph {name} -o out.svg"),
            format!("convert {name} -o out.proftext"),
            format!("repair {name} -o out.iprof"),
            format!("fit {name} --against good.proftext"),
        ] {
            let finished = run(&folder, &line);
            assert!(finished.stderr.contains(&expected), "{line}: {}", finished.stderr);
            assert!(finished.stderr.contains("hint: "), "{line}: {}", finished.stderr);
            assert_eq!(finished.code, Some(1), "{line}: {}", finished.stderr);
        }
        let info = run(&folder, &format!("info {name}"));
        assert!(printed(&info).contains(&expected) && info.code == Some(1), "{name}: {}", printed(&info));
        let check = run(&folder, &format!("check {name}"));
        assert!(printed(&check).contains("not a profile") && check.code == Some(3), "{name}: {}", printed(&check));
        assert!(!printed(&check).contains("record again"), "{name}: {}", printed(&check));
    }
    assert!(!folder.names().iter().any(|name| name.starts_with("out")), "{:?}", folder.names());
}
