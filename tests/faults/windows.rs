//! Large files, which are read in windows, give the same results as the same bytes from a pipe.

use super::program::{Finished, indexed_bytes, large_profile, profile, text_bytes};
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

/// The number of functions in a file of more than 1 MiB, as text and as indexed profile.
const FUNCTIONS: usize = 20_000;

/// Returns the output, messages and written file of a command whose input is a path, or `-`.
fn outcome(program: &Path, arguments: &[&str], input: &Path, is_piped: bool) -> String {
    let folder = input.parent().unwrap();
    let output = folder.join("out");
    let mut command = Command::new(program);
    command.args(arguments).stdin(File::open(input).unwrap()).stderr(Stdio::piped());
    if is_piped {
        command.arg("-")
    } else {
        command.arg(input)
    };
    if arguments[0] == "merge" {
        command.arg("-o").arg(&output);
    }
    let finished: Finished = command.output().unwrap().into();
    finished.assert_orderly();
    let written = fs::read(&output).unwrap_or_default();
    let _ = fs::remove_file(&output);
    let said = finished.stderr.replace(&input.display().to_string(), "-");
    format!("{:?}\n{said}\n{}\n{}", finished.code, finished.stdout.escape_ascii(), written.escape_ascii())
}

/// Returns the content, and copies with overwritten or truncated bytes.
fn damaged(content: &[u8], damages: &[(usize, &[u8])]) -> Vec<Vec<u8>> {
    let over = |(at, bytes): &(usize, &[u8])| {
        let mut content = content.to_vec();
        content[*at..*at + bytes.len()].copy_from_slice(bytes);
        content
    };
    let cut = content[..content.len() * 2 / 3].to_vec();
    [content.to_vec(), cut].into_iter().chain(damages.iter().map(over)).collect()
}

fn assert_same_as_piped(contents: &[Vec<u8>]) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("small.proftext"), text_bytes(&profile(&[("f", 4)]))).unwrap();
    let small = path("small.proftext").display().to_string();
    symlink(env!("CARGO_BIN_EXE_profbridge"), path("llvm-profdata")).unwrap();
    let programs = [Path::new(env!("CARGO_BIN_EXE_profbridge")).to_path_buf(), path("llvm-profdata")];
    for (number, content) in contents.iter().enumerate() {
        assert!(content.len() > 1 << 20, "{} bytes", content.len());
        fs::write(path("large"), content).unwrap();
        for program in &programs {
            let commands = [
                &["merge"][..],
                &["merge", &small, &small, &small],
                &["merge", "--failure-mode=warn", &small],
                &["show", "--all-functions", "--counts"],
            ];
            for arguments in commands {
                let [file, piped] = [false, true].map(|is_piped| outcome(program, arguments, &path("large"), is_piped));
                assert!(file == piped, "content {number}, {} {arguments:?}", program.display());
            }
        }
    }
}

#[test]
fn a_large_text_reads_the_same_through_a_pipe() {
    let content = text_bytes(&large_profile(FUNCTIONS, 3));
    let line = |from: usize| from + content[from..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let late = line(content.len() * 3 / 4);
    let damages: [(usize, &[u8]); 3] = [(late, b"\n\nx\ny\nz\n"), (late, b"\0"), (line(700_000), b"17\n18\n19\n")];
    assert_same_as_piped(&damaged(&content, &damages));
}

#[test]
fn a_large_indexed_file_reads_the_same_through_a_pipe() {
    let content = indexed_bytes(&large_profile(FUNCTIONS, 3));
    let name = b"function_with_a_long_name_77";
    let name_at = content.windows(name.len()).position(|part| part == name).unwrap();
    let key_len = name_at - 16;
    // A name longer than the file, truncated records, a header with nonexistent traces, another position of the index.
    let damages: [(usize, &[u8]); 4] = [(key_len, &[0xff; 8]), (key_len + 8, &[17]), (15, &[0x81]), (32, &[1])];
    assert_same_as_piped(&damaged(&content, &damages));
}
