//! Tests of unusual and invalid YAML in llvm-profdata mode.
//!
//! `syntax.txt` has the results of release 22. With `PROFBRIDGE_RENEW` in the environment, they are recorded again.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const TOOL: &str = "llvm-profdata-22";

/// A document, and the results of a program.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Case {
    name: String,
    document: Vec<u8>,
    status: String,
    said: Vec<u8>,
    shown: Vec<u8>,
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/memprof/syntax.txt")
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in std::fs::read_to_string(golden()).unwrap().lines() {
        if let Some(name) = line.strip_prefix('[') {
            cases.push(Case { name: name.trim_end_matches(']').to_string(), ..Case::default() });
        } else if let Some((key, value)) = line.split_once(": ").filter(|_| !line.starts_with('#')) {
            let case = cases.last_mut().unwrap();
            match key {
                "document" => case.document = unescaped(value),
                "status" => case.status = value.to_string(),
                "said" => case.said = unescaped(value),
                "shown" => case.shown = unescaped(value),
                _ => panic!("{line}"),
            }
        }
    }
    cases
}

fn unescaped(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next().unwrap() {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'x' => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                other => other,
            },
            byte => byte,
        });
    }
    bytes
}

fn escaped(bytes: &[u8]) -> String {
    let escape = |byte: &u8| match byte {
        b'\n' => "\\n".to_string(),
        b'\t' => "\\t".to_string(),
        b'\r' => "\\r".to_string(),
        b'\\' => "\\\\".to_string(),
        b' '..=b'~' => char::from(*byte).to_string(),
        byte => format!("\\x{byte:02x}"),
    };
    bytes.iter().map(escape).collect()
}

fn ours() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
    command.arg("llvm-profdata");
    command
}

/// Returns the result of a program for a document, and the written bytes.
fn outcome(tool: &dyn Fn() -> Command, case: &Case, folder: &Path) -> (Case, Option<Vec<u8>>) {
    let (document, merged) = (folder.join("document.yaml"), folder.join("merged"));
    std::fs::write(&document, &case.document).unwrap();
    let _ = std::fs::remove_file(&merged);
    let text = |output: &[u8]| String::from_utf8_lossy(output).into_owned();
    let output: Output = tool().args(["merge", "--num-threads=1", "-o"]).args([&merged, &document]).output().unwrap();
    let said = text(&output.stderr).replace(&format!("{TOOL}: "), "");
    let said = said.replace(document.to_str().unwrap(), "DOCUMENT");
    let shown = merged.exists().then(|| tool().args(["show", "--memory"]).arg(&merged).output().unwrap());
    // The summary before it consists of comments.
    let shown = shown.map(|output| text(&output.stdout)).unwrap_or_default();
    let shown = shown.rfind("---\n").map_or("", |at| &shown[at..]);
    let case = Case {
        name: case.name.clone(),
        document: case.document.clone(),
        status: output.status.code().map_or_else(|| "killed".to_string(), |code| code.to_string()),
        said: said.into_bytes(),
        shown: shown.as_bytes().to_vec(),
    };
    (case, std::fs::read(&merged).ok())
}

#[test]
fn documents_are_read_and_refused_as_release_22_does() {
    let has_tool = Command::new(TOOL).arg("--version").output().is_ok();
    if !has_tool {
        let line = format!("SKIPPED: {TOOL} is not installed; documents are compared with what it made of them\n");
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    }
    let folder = tempfile::tempdir().unwrap();
    let mut cases = cases();
    assert!(cases.len() > 200, "{}", cases.len());
    for case in &mut cases {
        let (mine, bytes) = outcome(&ours, case, folder.path());
        if has_tool {
            let (theirs, their_bytes) = outcome(&|| Command::new(TOOL), case, folder.path());
            assert!(bytes == their_bytes, "{}: other bytes", case.name);
            if std::env::var_os("PROFBRIDGE_RENEW").is_some() {
                *case = theirs.clone();
            }
            assert_eq!(theirs, *case, "{}: release 22 makes something else of it", case.name);
        }
        assert_eq!(
            [&mine.said, &mine.shown].map(|text| String::from_utf8_lossy(text).into_owned()),
            [&case.said, &case.shown].map(|text| String::from_utf8_lossy(text).into_owned()),
            "{}",
            case.name
        );
        assert_eq!(mine.status, case.status, "{}", case.name);
    }
    if has_tool && std::env::var_os("PROFBRIDGE_RENEW").is_some() {
        renew(&cases);
    }
}

fn renew(cases: &[Case]) {
    let mut text = "# Documents of unusual or broken YAML, and what llvm-profdata 22 makes of them: its
# status, what it says (a bad byte is shown as U+FFFD), and what it has read.
"
    .to_string();
    for Case { name, document, status, said, shown } in cases {
        let [document, said, shown] = [document, said, shown].map(|bytes| escaped(bytes));
        text += &format!("\n[{name}]\ndocument: {document}\nstatus: {status}\nsaid: {said}\nshown: {shown}\n");
    }
    std::fs::write(golden(), text).unwrap();
}

/// A key ends at most 1024 columns before its colon.
#[test]
fn keys_of_any_length_are_named_as_release_22_names_them() {
    let folder = tempfile::tempdir().unwrap();
    for (len, said) in [(1024, "unknown key 'xxx"), (1025, "not a mapping")] {
        let document = format!("---\n{}: []\n", "x".repeat(len)).into_bytes();
        let case = Case { document, ..Case::default() };
        let (mine, _) = outcome(&ours, &case, folder.path());
        assert!(String::from_utf8_lossy(&mine.said).contains(said), "{len}");
        if Command::new(TOOL).arg("--version").output().is_ok() {
            assert_eq!(mine, outcome(&|| Command::new(TOOL), &case, folder.path()).0, "{len}");
        }
    }
}
