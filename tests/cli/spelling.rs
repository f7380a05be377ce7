//! Tests that all commands use the same names, and of suggestions and shell completions.

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
        let prints_names = matches!(command, "show" | "check" | "diff" | "order" | "overlap" | "fit");
        assert_eq!(help.contains("--demangle"), prints_names, "{command}");
        let chooses_names = !matches!(command, "check" | "fit" | "repair" | "info");
        assert_eq!(help.contains("--filter"), chooses_names, "{command}");
        let has_lists = matches!(command, "show" | "diff" | "order" | "overlap" | "fit" | "report");
        assert_eq!(help.contains("--topn"), has_lists, "{command}");
    }
}

#[test]
fn lists_are_shortened_and_filtered_alike_in_every_command() {
    let folder = Folder::new();
    let write = |name: &str, text: &str| std::fs::write(folder.path(name), text).unwrap();
    write("a.proftext", ":ir\nalpha\n1\n1\n5\n\nbravo\n1\n1\n9\n\ngamma\n1\n1\n2\n");
    write("b.proftext", ":ir\nalpha\n1\n1\n9\n\nbravo\n1\n1\n4\n\ngamma\n1\n1\n3\n");
    write(
        "t.proftext",
        ":ir\n:temporal_prof_traces\n1\n1\n1\nalpha,bravo,gamma\nalpha\n1\n1\n5\n\nbravo\n1\n1\n5\n\ngamma\n1\n1\n5\n",
    );
    write("s", "alpha:10:1\n 1: 5\nbravo:20:1\n 1: 9\ngamma:4:1\n 1: 2\n");
    write("c", "alpha;bravo 3\ngamma 1\n");
    write("d", "alpha;bravo 1\ngamma 3\n");
    let names = |line: &str| {
        let finished = folder.run(&line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(finished.code, Some(0), "{line}: {}", finished.stderr);
        let said = String::from_utf8(finished.stdout).unwrap();
        ["alpha", "bravo", "gamma"].into_iter().filter(|name| said.contains(name)).collect::<Vec<_>>()
    };
    let all = vec!["alpha", "bravo", "gamma"];
    for (line, found) in [
        ("show a.proftext --topn 1", vec!["bravo"]),
        ("show a.proftext --topn 1 --json", vec!["bravo"]),
        ("show a.proftext --filter gam", vec!["gamma"]),
        ("show s --topn 1 --json", vec!["bravo"]),
        ("show s --filter bravo", vec!["bravo"]),
        ("show c --topn 1", vec!["bravo"]),
        ("show c --topn 1 --json", vec!["bravo"]),
        ("show c --filter alp --json", vec!["alpha"]),
        ("overlap a.proftext b.proftext --topn 1", vec!["alpha"]),
        ("overlap a.proftext b.proftext --topn 5 --json", all.clone()),
        ("overlap a.proftext b.proftext --filter a --topn 5", vec!["alpha", "bravo", "gamma"]),
        ("overlap s s --topn 1 --json", vec!["bravo"]),
        ("diff a.proftext b.proftext --topn 5", all.clone()),
        ("diff a.proftext b.proftext --filter gam", vec!["gamma"]),
        ("diff a.proftext b.proftext --topn 0", vec![]),
        ("diff c d --filter gam --json", vec!["gamma"]),
        ("order t.proftext", all),
        ("order t.proftext --filter gam", vec!["gamma"]),
        ("order t.proftext --json --topn 1", vec!["alpha"]),
    ] {
        assert_eq!(names(line), found, "{line}");
    }
    for line in ["order t.proftext --filter nix", "show c --filter nix", "show s --filter nix"] {
        let finished = folder.run(&line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(finished.code, Some(1), "{line}: {}", finished.stderr);
    }
    let shortened = folder.run(&["report", "c", "--topn", "1", "-o", "c.html"]);
    assert_eq!(shortened.code, Some(0), "{}", shortened.stderr);
    assert!(std::fs::read_to_string(folder.path("c.html")).unwrap().contains("more rows are not shown"));
}

/// A noun agrees with its number in all messages: `1 function` and `2 functions`.
#[test]
fn counts_of_one_use_the_singular() {
    let folder = Folder::new();
    let write = |name: &str, text: &str| std::fs::write(folder.path(name), text).unwrap();
    write("a.proftext", ":ir\nmain\n1\n1\n5\n");
    write("s", "main:10:1\n 1: 5\n");
    write("c", "app.Main.main;app.Main.loop 1\n");
    write(
        "f.iprof",
        "{\"version\":\"1.0.0\",\"types\":[{\"id\":0,\"name\":\"A\"}],\"methods\":[{\"id\":0,\"name\":\"m\",\"signature\":[0,0]}],\"callCountProfiles\":[{\"ctx\":\"0:0\",\"records\":[3]}]}",
    );
    for line in [
        "merge a.proftext -o x.profdata",
        "merge s -o x.prof",
        "merge c -o x.collapsed",
        "merge c -o x.pprof",
        "merge c -o x.iprof",
        "merge f.iprof -o y.iprof",
        "merge f.iprof a.proftext -o z.iprof",
        "convert c -o w.iprof --drop-hidden",
        "convert c -o w.pprof",
        "check a.proftext s c f.iprof x.pprof x.profdata",
        "show a.proftext",
        "show c",
        "show x.pprof",
        "show f.iprof",
        "info a.proftext s c f.iprof x.pprof x.profdata x.iprof",
        "fit a.proftext --against x.profdata",
        "fit s --against x.prof",
        "fit f.iprof --against y.iprof",
        "diff a.proftext x.profdata",
        "diff c x.pprof",
        "overlap a.proftext x.profdata",
        "report c -o x.html",
    ] {
        let finished = folder.run(&line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(finished.code, Some(0), "{line}: {}", finished.stderr);
        let mut said = format!("{}{}", String::from_utf8(finished.stdout).unwrap(), finished.stderr);
        if line.starts_with("report") {
            said = std::fs::read_to_string(folder.path("x.html")).unwrap();
        }
        let lines = said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        for words in lines.flat_map(|line| line.windows(2).map(<[&str]>::to_vec).collect::<Vec<_>>()) {
            let noun = words[1].trim_end_matches(|c: char| !c.is_ascii_alphabetic());
            let is_plural = noun.ends_with('s') && !["is", "has", "as", "was", "ns", "ms", "s"].contains(&noun);
            assert!(words[0] != "1" || !is_plural, "{line}: 1 {noun} in:\n{said}");
        }
    }
}

#[test]
fn quiet_keeps_warnings_back_and_nothing_else() {
    let folder = Folder::new();
    // A version newer than the known ones.
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
        ("merge a.proftext --for lvm-14 -o x", "use llvm-14"),
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

#[test]
fn options_that_only_llvm_profdata_obeys_are_refused() {
    let folder = Folder::new();
    std::fs::write(folder.path("a.proftext"), "f\n1\n1\n5\n").unwrap();
    for line in [
        "merge a.proftext -o x.profdata --supplement-instr-with-sample=a.prof",
        "merge a.proftext -o x.profdata --suppl-min-size-threshold 1",
        "merge a.proftext -o x.profdata -dump-input-file-list",
        "show a.proftext --show-format=yaml",
        "overlap a.proftext a.proftext --similarity-cutoff=5",
    ] {
        let finished = folder.run(&line.split(' ').collect::<Vec<_>>());
        finished.assert_refused(2, &["is an option of llvm-profdata only", "use `profbridge llvm-profdata "]);
    }
    for line in [
        "merge a.proftext -o x.profdata --dump-input-file-list=false --print-options",
        "merge a.proftext -o x.profdata --max-debug-info-correlation-warnings=3",
        "show a.proftext --show-format text",
    ] {
        let finished = folder.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(finished.code, Some(0), "{line}: {}", finished.stderr);
    }
}
