//! Tests of the same commands in profbridge mode.

use super::both::Folder;
use super::schema::assert_has_schema;
use serde_json::Value;

/// Runs a command that must succeed and returns its JSON.
#[track_caller]
fn json(folder: &Folder, line: &str) -> Value {
    let words: Vec<&str> = line.split_whitespace().collect();
    let finished = folder.ours(&words, b"");
    assert_eq!(finished.code, Some(0), "{line}: {}", finished.stderr);
    serde_json::from_str(&finished.stdout).expect("the output is JSON")
}

#[test]
fn every_view_has_json_that_fits_its_schema() {
    let folder = Folder::new();
    for file in ["a.proftext", "hot.proftext", "traces.proftext", "front-end.proftext", "blank.proftext"] {
        let all = json(
            &folder,
            &format!(
                "show --json --all-functions --counts --ic-targets --memop-sizes --show-vtables --topn=3 \
                 --hot-func-list --value-cutoff=1 --detailed-summary --binary-ids --profile-version \
                 --temporal-profile-traces {file}"
            ),
        );
        assert_has_schema(&all, "show-instr-2.json");
        assert_has_schema(&json(&folder, &format!("show --json --covered {file}")), "show-instr-2.json");
        let below = json(&folder, &format!("show --json --list-below-cutoff --value-cutoff=9 {file}"));
        assert_has_schema(&below, "show-instr-2.json");
    }
    let same = json(&folder, "overlap --json --function=main a.proftext a.proftext");
    assert_has_schema(&same, "overlap-instr-2.json");
    assert_eq!(
        (same["functions"][0]["name"].as_str(), same["program"]["common"]["entries"].as_u64()),
        (Some("main"), Some(3))
    );
    let compared = json(&folder, "overlap --json a.proftext b.proftext");
    assert_has_schema(&compared, "overlap-instr-2.json");
    assert_eq!(
        (&compared["program"]["mismatch"]["entries"], &compared["base"]["path"]),
        (&2.into(), &"a.proftext".into())
    );
    assert_has_schema(&json(&folder, "order --json traces.proftext"), "order-2.json");
    let judged = json(&folder, "order --json --num-test-traces=1 traces.proftext");
    assert_has_schema(&judged, "order-2.json");
    assert_eq!(judged["page_fault_area"], 1.0);
}

#[test]
fn the_text_is_the_one_of_the_drop_in() {
    let folder = Folder::new();
    for line in [
        "show --all-functions --counts --ic-targets a.proftext",
        "show -all-functions=true -counts=1 -covered=false a.proftext",
        "overlap -function main a.proftext b.proftext",
        "order -num-test-traces=1 traces.proftext",
        "merge --instr -text -j 1 --weighted-input=2,b.proftext a.proftext",
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (ours, theirs) = (folder.ours(&words, b""), folder.drop_in(&words, b""));
        assert_eq!(ours.code, Some(0), "{line}: {}", ours.stderr);
        assert_eq!(ours.stdout, theirs.stdout, "{line}");
    }
}

#[test]
fn the_drop_in_is_a_command_as_well() {
    let folder = Folder::new();
    let finished = folder.ours(&["llvm-profdata", "show", "--covered", "a.proftext"], b"");
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "main\nhelper\n"));
    let finished = folder.ours(&["llvm-profdata", "merge", "--bogus"], b"");
    assert!(finished.stderr.starts_with("llvm-profdata: Unknown command line argument '--bogus'."));
}

#[test]
fn profiles_come_from_standard_input_and_go_to_a_pipe() {
    let folder = Folder::new();
    let text = super::examples::A.as_bytes();
    for merged in [folder.ours(&["merge", "-"], text), folder.drop_in(&["merge", "-"], text)] {
        assert_eq!(merged.code, Some(0), "{}", merged.stderr);
        assert!(merged.stdout.contains("lprofi"), "an indexed profile has its magic number");
        assert!(merged.stdout.contains("helper"));
    }
    assert_eq!(folder.ours(&["show", "--covered", "-"], text).stdout, "main\nhelper\n");
    assert_eq!(folder.drop_in(&["show", "--covered", "-"], text).stdout, "main\nhelper\n");
}

#[test]
fn kinds_that_only_llvm_handles_are_refused_in_words() {
    let folder = Folder::new();
    let ours = folder.ours(&["merge", "--gcc", "a.proftext"], b"");
    assert_eq!(ours.code, Some(2));
    assert!(ours.stderr.contains("is not supported\n  hint: use llvm-profdata"), "{}", ours.stderr);
}

#[test]
fn completions_and_manual_pages_name_the_commands() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let finished = folder.ours(&["completions", shell], b"");
        assert_eq!(finished.code, Some(0));
        assert!(finished.stdout.contains("overlap") && finished.stdout.contains("hot-func-list"), "{shell}");
    }
    folder.write("man/keep", b"");
    assert_eq!(folder.ours(&["man", "man"], b"").code, Some(0));
    let page = std::fs::read_to_string(folder.path("man/profbridge-show.1")).expect("the page is written");
    assert!(page.contains("hot\\-func\\-list"), "{page}");
    assert_eq!(folder.ours(&["man", "missing"], b"").code, Some(1));
}

#[test]
fn every_command_has_help_with_examples() {
    let folder = Folder::new();
    for command in ["merge", "show", "overlap", "order", "completions", "man"] {
        let help = folder.ours(&[command, "--help"], b"");
        assert_eq!(help.code, Some(0));
        assert!(help.stdout.contains(&format!("Examples:\n  profbridge {command}")), "{command}: {}", help.stdout);
    }
}

#[test]
fn nothing_to_compare_is_an_error_with_a_hint() {
    let folder = Folder::new();
    let finished = folder.ours(&["overlap", "blank.proftext", "a.proftext"], b"");
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.starts_with("error: blank.proftext: all counts are 0"), "{}", finished.stderr);
}

#[test]
fn threads_do_not_change_where_a_bitmap_sticks() {
    let folder = Folder::new();
    // The record with a bitmap comes first, so LLVM's reader keeps the bitmap and also gives it to the next record.
    let with_bitmap = "f\n1\n1\n5\n$1\n0x3\n\n";
    for (name, text) in [
        ("1.proftext", with_bitmap.to_string()),
        ("2.proftext", with_bitmap.to_string()),
        ("3.proftext", with_bitmap.to_string()),
        ("4.proftext", format!("{with_bitmap}\ng\n2\n1\n7\n")),
    ] {
        std::fs::write(folder.path(name), text).expect("the folder takes files");
    }
    let merge = |threads: &str| {
        let inputs = ["1.proftext", "2.proftext", "3.proftext", "4.proftext"];
        let finished = folder.drop_in(&[&["merge", "--text", "-o", "-", threads][..], &inputs].concat(), b"");
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        finished.stdout
    };
    let one = merge("--num-threads=1");
    assert_eq!(one.matches("$1").count(), 2, "{one}");
    assert_eq!(merge("--num-threads=2"), one);
}
