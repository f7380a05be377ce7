//! The same names for the same things in every command, suggestions, and what shells complete.

use crate::program::Folder;
use std::process::Command;

const COMMANDS: [&str; 12] =
    ["merge", "show", "overlap", "order", "convert", "check", "diff", "fit", "repair", "report", "flamegraph", "info"];

fn help(folder: &Folder, command: &str) -> String {
    let finished = folder.run(&[command, "--help"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    String::from_utf8(finished.stdout).unwrap()
}

#[test]
fn the_same_things_have_the_same_names_in_every_command() {
    let folder = Folder::new();
    for command in COMMANDS {
        let help = help(&folder, command);
        assert!(help.contains("-q, --quiet"), "{command}");
        let prints_report = !matches!(command, "report" | "flamegraph");
        assert_eq!(help.contains("--json"), prints_report, "{command}");
        let prints_names = matches!(command, "show" | "diff" | "order" | "overlap" | "fit");
        assert_eq!(help.contains("--demangle"), prints_names, "{command}");
        let chooses_names = matches!(command, "show" | "overlap" | "merge" | "convert" | "report" | "flamegraph");
        assert_eq!(help.contains("--filter"), chooses_names, "{command}");
    }
}

#[test]
fn quiet_keeps_warnings_back_and_nothing_else() {
    let folder = Folder::new();
    // A version that is newer than those known.
    std::fs::write(folder.path("f.iprof"), "{\"version\":\"1.9.0\",\"types\":[],\"methods\":[]}").unwrap();
    let loud = folder.run(&["show", "f.iprof"]);
    let quiet = folder.run(&["show", "f.iprof", "-q"]);
    assert_eq!((loud.code, quiet.code, &loud.stdout), (Some(0), Some(0), &quiet.stdout));
    assert!(loud.stderr.contains("warning"), "{}", loud.stderr);
    assert!(quiet.stderr.is_empty(), "{}", quiet.stderr);
    let failed = folder.run(&["show", "nowhere", "--quiet"]);
    assert!(failed.stderr.contains("error: nowhere"), "{}", failed.stderr);
}

#[test]
fn names_are_demangled_on_demand_in_every_command_that_prints_them() {
    let folder = Folder::new();
    let text = ":ir\n_Z3addii\n1\n1\n5\n\n:temporal_prof_traces\n";
    std::fs::write(folder.path("a.proftext"), text.split(":temporal").next().unwrap()).unwrap();
    std::fs::write(folder.path("b.proftext"), ":ir\n_Z3addii\n1\n1\n9\n\n_Z3subii\n1\n1\n4\n").unwrap();
    std::fs::write(folder.path("s"), "_Z3addii:10:1\n 1: 5\n").unwrap();
    std::fs::write(folder.path("c.folded"), "main;_Z3addii 3\n").unwrap();
    for line in [
        "show a.proftext --all-functions",
        "show a.proftext --topn 3",
        "show s",
        "show c.folded",
        "diff a.proftext b.proftext",
        "diff --json a.proftext b.proftext",
        "show --json --topn=3 a.proftext",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let plain = folder.run(&words);
        let named = folder.run(&[&words[..], &["--demangle"]].concat());
        let [plain, named] = [plain, named].map(|finished| {
            assert_eq!(finished.code, Some(0), "{line}: {}", finished.stderr);
            String::from_utf8(finished.stdout).unwrap()
        });
        let name = if line.starts_with("diff") { "sub(int, int)" } else { "add(int, int)" };
        assert!(plain.contains("_Z3") && !plain.contains("(int, int)"), "{line}: {plain}");
        assert!(named.contains(name) && !named.contains("_Z3"), "{line}: {named}");
    }
}

#[test]
fn words_that_are_not_known_get_a_suggestion() {
    let folder = Folder::new();
    std::fs::write(folder.path("a.proftext"), ":ir\nmain\n1\n1\n5\n").unwrap();
    for (line, meant) in [
        ("mrge a.proftext", "merge"),
        ("merge a.proftext --sprase", "--sparse"),
        ("show a.proftext --sparse", "--sparse is an option of `profbridge merge`, `profbridge convert`"),
        ("merge a.proftext --to txt -o x", "text"),
        ("merge a.proftext --for lvm-14 -o x", "did you mean llvm-14?"),
        ("show a.proftext --all-function", "--all-functions"),
        ("diff a.proftext a.proftext --tpon 3", "--topn"),
        ("flamegraph a.proftext --evnts all -o x.svg", "--events"),
        ("flamegraph a.proftext --events alocation -o x.svg", "allocation"),
    ] {
        let finished = folder.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(finished.code, Some(2), "{line}");
        assert!(finished.stderr.contains(meant), "{line}: {}", finished.stderr);
    }
}

#[test]
fn shells_complete_the_toolchains_that_for_takes() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = folder.run(&["completions", shell]);
        let text = String::from_utf8(script.stdout).unwrap();
        assert!(["llvm-14", "rustc-1.75", "swift-5.9", "xcode-16"].iter().all(|name| text.contains(name)), "{shell}");
        std::fs::write(folder.path(shell), text).unwrap();
    }
    for command in ["merge", "convert", "fit"] {
        let ask = format!(
            "source ./bash; COMP_WORDS=(profbridge {command} --for llvm-1); COMP_CWORD=3; \
             _profbridge profbridge llvm-1 --for; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        let Ok(output) = bash.args(["--norc", "-c", &ask]).current_dir(folder.path(".")).output() else {
            let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: bash is not installed\n");
            return;
        };
        let replies = String::from_utf8(output.stdout).unwrap();
        assert!(replies.lines().any(|reply| reply == "llvm-14"), "{command}: {replies:?}");
        assert!(replies.lines().all(|reply| reply.starts_with("llvm-1")), "{command}: {replies:?}");
    }
}
