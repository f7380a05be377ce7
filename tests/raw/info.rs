//! Tests of `info` with every file of the test data.

use crate::testdata;
use profbridge::Limits;
use profbridge::families::describe;
use std::process::Command;

fn info(arguments: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_profbridge"))
        .arg("info")
        .args(arguments)
        .current_dir(testdata(""))
        .output()
        .expect("the program runs");
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
}

#[test]
fn sections_lie_in_the_file_in_order_and_leave_only_padding() {
    let mut seen = 0;
    for entry in std::fs::read_dir(testdata("raw")).unwrap() {
        let path = entry.unwrap().path();
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if !["profraw", "profdata"].contains(&extension) {
            continue;
        }
        let file = std::fs::read(&path).unwrap();
        let description = describe(&file, &Limits::default());
        let name = path.display();
        assert!(description.supported && description.error.is_none(), "{name}: {:?}", description.error);
        let mut end = 0;
        for section in description.parts.iter().flat_map(|part| &part.sections) {
            let start = section.offset.unwrap();
            // Byte counters and names are padded to 8.
            assert!(
                start >= end && start - end < 8,
                "{name}: {} begins at {start:#x}, before it {end:#x}",
                section.name
            );
            end = start + section.size;
        }
        assert!(end <= file.len() as u64 && file.len() as u64 - end < 8, "{name}: ends at {end:#x}");
        seen += 1;
    }
    assert!(seen > 100, "{seen} files");
}

#[test]
fn a_raw_file_of_two_images_has_two_parts() {
    let file = std::fs::read(testdata("raw/clang-22-shared-library.profraw")).unwrap();
    let description = describe(&file, &Limits::default());
    let parts: Vec<(u64, usize)> = description.parts.iter().map(|part| (part.offset, part.binary_ids.len())).collect();
    assert_eq!(parts, [(0, 1), (0x200, 1)]);
    let data = description.parts[1].sections.iter().find(|section| section.name == "data").unwrap();
    assert_eq!((data.offset, data.size, data.entries), (Some(0x2a0), 320, Some(5)));
}

#[test]
fn releases_are_named() {
    let (text, code) = info(&["raw/clang-14-ir.profraw", "raw/clang-16-ir.profdata"]);
    assert_eq!(code, Some(0));
    assert!(text.contains("written by    LLVM 14 to 17 (rustc 1.60 to 1.77)"), "{text}");
    assert!(text.contains("read by       LLVM 16 and later"), "{text}");
}

#[test]
fn info_shows_the_header_of_a_damaged_file() {
    let (text, code) = info(&["bad/truncated.profraw"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("LLVM raw profile, version 10\n"), "{text}");
    assert!(text.contains("  error         raw v10, section data, byte 0xa0: bad header"), "{text}");
    let (text, code) = info(&["no/such/file"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("no/such/file: cannot open: No such file or directory"), "{text}");
}

#[test]
fn json_begins_with_its_schema() {
    let (text, _) = info(&["--json", "raw/clang-22-ir.profraw"]);
    assert!(
        text.starts_with(r#"{"schema":"profbridge.info/2","ok":true,"files":[{"path":"raw/clang-22-ir.profraw","format":"raw","version":"10","#),
        "{text}"
    );
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["files"][0]["parts"][0]["version"], "10");
    let (text, _) = info(&["--json", "--versions"]);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let row = value["releases"].as_array().unwrap().iter().find(|row| row["llvm"] == "18").unwrap().clone();
    assert_eq!((row["raw_version"].as_u64(), row["rustc"].as_str()), (Some(9), Some("1.78 to 1.81")));
}

#[test]
fn other_formats_are_recognised() {
    let (text, code) = info(&["java/shapes-jdk17.jfr.gz", "raw/clang-13-ir.proftext"]);
    assert_eq!(code, Some(0));
    assert!(text.contains("Flight Recorder recording, version 2.1, in a gzip stream"), "{text}");
    assert!(text.contains("LLVM text profile\n"), "{text}");
}
