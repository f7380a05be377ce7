//! The recorded output of the real tool, in `golden.txt`.
//!
//! Each line starts with a mark: `$ ` a command line, `= ` its exit code, `> ` a line of standard output, `! ` a line
//! of standard error.

use super::both::{Finished, Folder, genuine};

const GOLDEN: &str = include_str!("golden.txt");

/// Returns the command lines with their recorded output.
fn blocks() -> impl Iterator<Item = (Vec<&'static str>, &'static str)> {
    GOLDEN.split("$ ").skip(1).map(|block| {
        let (line, kept) = block.split_once('\n').expect("a block has lines");
        (line.split_whitespace().collect(), kept)
    })
}

fn hint_text(finished: &Finished) -> String {
    let mut text = format!("= {}\n", finished.code.expect("no signal ends the program"));
    for (mark, lines) in [('>', &finished.stdout), ('!', &finished.stderr)] {
        lines.lines().for_each(|line| text.push_str(&format!("{mark} {line}\n")));
    }
    text
}

#[test]
fn the_drop_in_prints_the_stored_output() {
    let folder = Folder::new();
    assert!(blocks().count() > 30);
    for (words, kept) in blocks() {
        assert_eq!(hint_text(&folder.drop_in(&words, b"")), kept, "{words:?}");
    }
}

#[test]
fn the_stored_output_is_that_of_the_genuine_tool() {
    let Some(tool) = genuine("what_is_kept_is_what_the_genuine_tool_says") else { return };
    let folder = Folder::new();
    for (words, kept) in blocks() {
        assert_eq!(hint_text(&folder.run(&tool, &words, b"")), kept, "{words:?}");
    }
}
