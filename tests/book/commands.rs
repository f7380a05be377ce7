//! Runs the commands of a page. Command lines that are only shown must be accepted by the program.

use crate::pages::{Page, Step, renews, root, steps};
use crate::{NOT_RUN, shell};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Commands that every shell has, and programs that are always installed.
const BUILT_IN: &[&str] = &["cd", "echo", "export", "profbridge", "true", "printf"];

/// Runs the `console` blocks of a page in order, in one directory.
pub fn run(page: Page, faults: &mut Vec<String>) {
    let steps: Vec<Step> = page.blocks().iter().filter(|block| block.language() == "console").flat_map(steps).collect();
    if steps.is_empty() {
        return;
    }
    let desk = Desk::new(&page);
    let mut renewed = Vec::new();
    for step in steps.into_iter().filter(|step| !NOT_RUN.iter().any(|begin| step.command.starts_with(begin))) {
        if let Some(missing) = desk.missing(&step.command) {
            // The next commands may need the output of this one.
            eprintln!("SKIPPED: {} from `{}` on: {missing} is not installed", page.path, step.command);
            break;
        }
        let (printed, succeeded) = desk.run(&step.command);
        if !succeeded {
            faults.push(format!("{}: `{}` failed:\n{}", page.path, step.command, printed.join("\n")));
            break;
        }
        if matches(&step.expected, &printed) {
            continue;
        }
        if renews() {
            renewed.push((step.output, printed));
        } else {
            let at = format!("{}:{}", page.path, step.output.start);
            faults.push(format!("{at}: `{}` printed\n{}", step.command, printed.join("\n")));
        }
    }
    if !renewed.is_empty() {
        page.rewrite(renewed);
    }
}

/// A warning about some recordings: the JVM can leave out a constant at its end.
const BY_CHANCE: &str = "dropped references to constants that are missing in the recording";

/// A directory for the commands, and one that contains the program with its name.
struct Desk {
    folder: tempfile::TempDir,
    programs: tempfile::TempDir,
}

impl Desk {
    fn new(page: &Page) -> Self {
        let desk = Self { folder: folder(), programs: folder() };
        #[cfg(unix)]
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_profbridge"), desk.programs.path().join("profbridge"))
            .expect("a link can be made");
        let testdata = ["testdata"].into_iter().filter(|name| page.text.contains(name));
        for file in testdata.chain(page.files()) {
            let copied = Command::new("cp").arg("-r").arg(root().join(file)).arg(desk.folder.path()).status();
            assert!(copied.is_ok_and(|status| status.success()), "{}: cannot copy {file}", page.path);
        }
        desk
    }

    /// Returns a program that a command needs and that is not installed.
    fn missing(&self, command: &str) -> Option<String> {
        let script = as_run(command.lines().next().unwrap_or(command));
        let programs = shell::commands(&script).into_iter().map(|words| words[0].clone());
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        programs.filter(|name| !BUILT_IN.contains(&name.as_str())).find(|name| {
            !self.folder.path().join(name).exists() && !folders.iter().any(|folder| folder.join(name).is_file())
        })
    }

    /// Returns the lines that a command prints on both streams, and whether it succeeded.
    fn run(&self, command: &str) -> (Vec<String>, bool) {
        let command = as_run(command);
        let mut paths = vec![self.programs.path().to_owned()];
        paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let run = quiet(&mut Command::new("bash"))
            .arg("-c")
            .arg(format!("exec 2>&1\n{command}"))
            .env("PATH", std::env::join_paths(paths).expect("paths join"))
            .current_dir(self.folder.path())
            .output()
            .expect("a shell runs");
        let folder = self.folder.path().to_string_lossy().into_owned();
        let printed = String::from_utf8_lossy(&run.stdout).replace('\t', "        ").replace(&folder, ".");
        let lines = printed.lines().filter(|line| !line.contains(BY_CHANCE));
        (lines.map(|line| line.trim_end().to_owned()).collect(), run.status.success())
    }
}

/// Returns the command with the path of the program under test.
fn as_run(command: &str) -> String {
    command.replace("cargo run --release --", "profbridge")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder for temporary files")
}

/// Removes environment variables that would change the program, compilers or their outputs.
fn quiet(command: &mut Command) -> &mut Command {
    for name in
        ["PROFBRIDGE_FOR", "LLVM_PROFILE_FILE", "RUSTFLAGS", "JAVA_TOOL_OPTIONS", "LS_COLORS", "CARGO_TARGET_DIR"]
    {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC").stdin(Stdio::null())
}

/// Returns true if the lines match the page, where `…` matches any text or any lines.
pub fn matches(expected: &[String], printed: &[String]) -> bool {
    match (expected, printed) {
        ([], _) => printed.is_empty(),
        ([gap, rest @ ..], _) if gap == "…" => (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..])),
        ([_, ..], []) => false,
        ([line, rest @ ..], [first, further @ ..]) => line_matches(line, first) && matches(rest, further),
    }
}

fn line_matches(expected: &str, printed: &str) -> bool {
    let Some((begin, rest)) = expected.split_once('…') else { return expected == printed };
    let Some(after) = printed.strip_prefix(begin) else { return false };
    after.char_indices().map(|(at, _)| at).chain([after.len()]).any(|at| line_matches(rest, &after[at..]))
}

/// Errors for a command line that the text shortens.
const UNFINISHED: &[&str] = &["required arguments were not provided", "a value is required for", "no input files"];

/// Errors that appear only if the options do not match the files, which are missing here.
const LATE: &[&str] = &["--sample-format is for sample profiles", "not a compiler", "no toolchain absent was found"];

/// Checks that the program accepts the command lines of `sh` blocks and of inline code, in an empty directory where all
/// files are missing. Returns their number.
pub fn accept(page: &Page, faults: &mut Vec<String>) -> usize {
    let blocks = page.blocks();
    let shown = blocks.iter().filter(|block| block.language() == "sh").map(|block| (true, block.lines.join("\n")));
    let named = spans(&page.text).into_iter().map(|span| (false, span));
    let commands = shown
        .chain(named)
        .flat_map(|(is_whole, line)| shell::commands(&line).into_iter().map(move |words| (is_whole, words)));
    let ours: Vec<(bool, Vec<String>)> = commands.filter(|(_, words)| words[0] == "profbridge").collect();
    for (is_whole, words) in ours.iter().filter(|(_, words)| !words.iter().any(|word| word.contains('…'))) {
        let empty = folder();
        let run = quiet(&mut Command::new(Path::new(env!("CARGO_BIN_EXE_profbridge"))))
            .args(&words[1..])
            // Without compilers, it ends at once.
            .args(if words.get(1).is_some_and(|word| word == "interop") { &["--toolchain", "absent"][..] } else { &[] })
            .current_dir(empty.path())
            .output()
            .expect("the program runs");
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        let says = |list: &[&str]| list.iter().any(|text| said.contains(text));
        let is_name = !is_whole && says(UNFINISHED);
        if run.status.code() == Some(2) && !is_name && !says(LATE) {
            faults.push(format!("{}: `{}` is refused: {said}", page.path, words.join(" ")));
        }
    }
    ours.len()
}

/// Returns the command lines in inline code.
fn spans(text: &str) -> Vec<String> {
    let mut inside = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        inside ^= is_fence;
        !inside && !is_fence
    });
    let spans = lines.flat_map(|line| line.split('`').skip(1).step_by(2));
    spans.filter(|span| span.starts_with("profbridge ")).map(|span| span.replace("\\|", "|")).collect()
}

#[test]
fn a_gap_replaces_lines_or_text() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(matches(&lines("a\n…\nd"), &lines("a\nb\nc\nd")));
    assert!(matches(&lines("took … s"), &lines("took 0.3 s")));
    assert!(!matches(&lines("a\n…\nd"), &lines("a\nb")));
    assert!(!matches(&lines("took … s"), &lines("took 0.3 m")));
    assert!(!matches(&[], &lines("a")));
}
