//! Suggestions, and what shells complete.

use crate::program::Folder;
use std::process::Command;

#[test]
fn words_that_are_not_known_get_a_suggestion() {
    let folder = Folder::new();
    std::fs::write(folder.path("a.proftext"), ":ir\nmain\n1\n1\n5\n").unwrap();
    for (line, meant) in [
        ("mrge a.proftext", "merge"),
        ("merge a.proftext --sprase", "--sparse"),
        ("merge a.proftext --to txt -o x", "text"),
        ("merge a.proftext --for lvm-14 -o x", "did you mean llvm-14?"),
        ("show a.proftext --all-function", "--all-functions"),
        ("diff a.proftext a.proftext --tpon 3", "--topn"),
        ("flamegraph a.proftext --evnts all -o x.svg", "--events"),
        ("flamegraph a.proftext --events alocation -o x.svg", "allocation"),
    ] {
        let finished = folder.run(&line.split(' ').collect::<Vec<_>>());
        assert!(matches!(finished.code, Some(1 | 2)), "{line}");
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
