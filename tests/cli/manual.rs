//! Tests of the manual pages: every command has one, with the usual sections and without errors.

use crate::program::Folder;
use std::process::Command;

fn pages() -> (Folder, Vec<String>) {
    let folder = Folder::new();
    let finished = folder.run(&["man", "."]);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    let names = folder.names();
    (folder, names)
}

#[test]
fn every_command_has_a_page_with_the_usual_sections() {
    let (folder, names) = pages();
    let help = folder.run(&["--help"]);
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    // Each group of commands is indented below its purpose.
    let groups = help.split("\n\n").skip_while(|group| !group.starts_with("Create profiles:"));
    let groups = groups.take_while(|group| !group.starts_with("Options:"));
    let commands = groups.flat_map(|group| group.lines().skip(1)).filter_map(|line| line.split_whitespace().next());
    let commands: Vec<&str> = commands.collect();
    assert!(commands.len() > 10, "{help}");
    for command in commands {
        assert!(names.contains(&format!("profbridge-{command}.1")), "no page of {command}");
    }
    for name in ["profbridge.1", "profbridge-llvm-profdata.1"] {
        assert!(names.iter().any(|page| page == name), "no {name}");
    }
    for name in &names {
        let page = std::fs::read_to_string(folder.path(name)).expect("the page is readable");
        let sections: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
        let wanted = ["NAME", "SYNOPSIS", "DESCRIPTION", "\"EXIT STATUS\"", "ENVIRONMENT", "FILES", "EXAMPLES"];
        // The sections are in the usual order.
        let mut left = sections.iter();
        for section in wanted.into_iter().chain(["\"SEE ALSO\""]) {
            assert!(left.any(|found| *found == section), "{name}: no {section} in its place: {sections:?}");
        }
    }
}

#[test]
fn pages_list_the_aliases_of_options() {
    let (folder, _) = pages();
    for (page, alias) in [("merge", "--filter"), ("show", "--filter"), ("generate", "--methods")] {
        let page = std::fs::read_to_string(folder.path(&format!("profbridge-{page}.1"))).expect("the page is readable");
        // roff writes a dash as `\-`.
        assert!(page.replace('\\', "").contains(&format!("[alias: {alias}]")), "{page}");
    }
}

#[test]
fn manual_pages_pass_the_checker() {
    let (folder, names) = pages();
    let checked =
        Command::new("mandoc").args(["-Tlint", "-Werror"]).args(names.iter().map(|name| folder.path(name))).output();
    let Ok(checked) = checked else {
        println!("SKIPPED: a_checker_of_manual_pages_has_nothing_to_say: no mandoc");
        return;
    };
    assert_eq!(String::from_utf8_lossy(&checked.stdout), "");
}

#[test]
fn pages_are_not_written_into_a_folder_that_is_not_there() {
    Folder::new().run(&["man", "nowhere"]).assert_refused(1, &["nowhere", "hint"]);
}
