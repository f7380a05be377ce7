//! Tests of symbol lists, and of the order of compact binaries, with the real tools.

use crate::tools::{Workspace, available};
use std::os::unix::fs::symlink;

/// Creates a workspace with two profiles, symbol lists, and profbridge with the name of each release's tool.
fn workspace() -> Workspace {
    let workspace = Workspace::with(&[]);
    for release in [14, 16, 19, 22] {
        let name = format!("llvm-profdata-{release}");
        symlink(env!("CARGO_BIN_EXE_profbridge"), workspace.path(&name)).unwrap();
    }
    workspace.write("a.prof", "foo:300:10\n 1: 10\n 2: 20 bar:15 baz:5\nbaz:50:5\n 1: 50\n");
    workspace.write("b.prof", "foo:300:10\n 1: 10\nqux:50:5\n 1: 50\n");
    // Spaces around names, empty lines, lines of spaces, a duplicate name, no newline at the end.
    workspace.write("one.list", "zed\nfoo\n\n  padded  \r\nfoo\n   \nalone\n");
    workspace.write("two.list", "alone\nother\n_Z1fv");
    workspace.write("empty.list", "");
    workspace
}

/// Compares both tools: messages, output, and the file `out` if there is one.
fn compare(workspace: &Workspace, tool: &str, arguments: &str, out: &str) {
    let written = || std::fs::read(workspace.path(out)).ok();
    let _ = std::fs::remove_file(workspace.path(out));
    let ours = workspace.attempt(&format!("./{tool} {arguments}"));
    let our_bytes = written();
    let _ = std::fs::remove_file(workspace.path(out));
    let genuine = workspace.attempt(&format!("{tool} {arguments}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&ours.stderr), text(&genuine.stderr), "{tool} {arguments}");
    assert_eq!(text(&ours.stdout), text(&genuine.stdout), "{tool} {arguments}");
    assert_eq!(ours.status.code(), genuine.status.code(), "{tool} {arguments}");
    assert!(our_bytes == written(), "{tool} {arguments}: other bytes");
}

#[test]
fn lists_are_read_added_up_cut_and_dropped_as_the_genuine_tools_do() {
    let workspace = workspace();
    for release in [14, 16, 19, 22] {
        let tool = format!("llvm-profdata-{release}");
        if !available("lists_are_read_added_up_cut_and_dropped_as_the_genuine_tools_do", &[&tool]) {
            continue;
        }
        let merge = |arguments: &str, out: &str| {
            compare(&workspace, &tool, &format!("merge --sample {arguments} -o {out}"), out);
        };
        merge("--extbinary --prof-sym-list=one.list a.prof", "a.afdo");
        merge("--extbinary --prof-sym-list=two.list b.prof", "b.afdo");
        merge("--extbinary a.afdo b.afdo", "both.afdo");
        merge("--extbinary --prof-sym-list=two.list a.afdo", "added.afdo");
        merge("--extbinary --prof-sym-list=empty.list a.prof", "empty.afdo");
        merge("--extbinary --compress-all-sections a.afdo b.afdo", "compressed.afdo");
        merge("--extbinary compressed.afdo", "inflated.afdo");
        merge("--extbinary --use-md5 a.afdo", "hashes.afdo");
        // Each input's list is shortened, not the merged list.
        for most in 0..4 {
            merge(&format!("--extbinary --profile-symbol-list-cutoff={most} a.afdo b.afdo"), "cut.afdo");
        }
        // Other encodings cannot store a list. This is reported.
        merge("--text a.afdo", "lost.prof");
        merge("--binary --prof-sym-list=one.list a.prof", "lost.bin");
        if release >= 16 {
            merge("--extbinary --drop-profile-symbol-list a.afdo b.afdo", "dropped.afdo");
        }
        for shown in [
            "a.afdo --show-prof-sym-list",
            "both.afdo --show-prof-sym-list --profile-symbol-list-cutoff=2",
            "both.afdo --show-prof-sym-list --profile-symbol-list-cutoff=0",
            "both.afdo --show-sec-info-only",
            "compressed.afdo --show-prof-sym-list",
            "compressed.afdo --show-sec-info-only",
        ] {
            compare(&workspace, &tool, &format!("show --sample {shown}"), "nothing");
        }
    }
}

#[test]
fn symbol_lists_are_joined_in_profbridge_mode() {
    let workspace = workspace();
    workspace.run("profbridge convert a.prof --prof-sym-list=one.list -o a.afdo");
    workspace.run("profbridge convert b.prof --prof-sym-list=two.list -o b.afdo");
    let listed = |options: &str| {
        workspace.run(&format!("profbridge merge a.afdo b.afdo {options} -o sum.afdo"));
        let shown = workspace.run("profbridge show --show-prof-sym-list sum.afdo").stdout;
        let shown = String::from_utf8(shown).unwrap();
        let list = shown.split_once("======== Dump profile symbol list ========\n").unwrap().1;
        list.lines().map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(listed(""), ["", "_Z1fv", "alone", "foo", "other", "padded", "zed"]);
    assert_eq!(listed("--drop-profile-symbol-list"), [""; 0]);
}

/// Functions with few different weights, so that the result depends on the order in which they are read.
fn alike(seed: u64) -> String {
    let mut state = seed;
    let mut below = move |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let functions = 1 + below(60);
    let record = |at: u64, total: u64, count: u64| format!("f{at}:{total}:1\n 1: {count}\n 2: 60 g:3 h:3\n");
    (0..functions).map(|at| record(7 * at + seed, 100 * (1 + below(3)), 50 + 10 * below(2))).collect()
}

#[test]
fn compact_binaries_are_read_in_the_order_of_their_releases() {
    let workspace = workspace();
    for release in [14, 16] {
        let tool = format!("llvm-profdata-{release}");
        if !available("compact_binaries_are_read_in_the_order_of_their_releases", &[&tool]) {
            continue;
        }
        for seed in 1..8 {
            workspace.write("alike.prof", &alike(seed));
            workspace.run(&format!("{tool} merge --sample --compbinary alike.prof -o alike.compact"));
            for options in ["--hot-func-list", "--topn=5", ""] {
                compare(&workspace, &tool, &format!("show --sample {options} alike.compact"), "nothing");
            }
            let merge = "merge --sample --extbinary alike.compact alike.compact -o sum";
            compare(&workspace, &tool, merge, "sum");
        }
    }
}
