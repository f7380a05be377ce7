//! The files that a run reads: named files, weighted files, directories, list files.
//!
//! The order is that of `llvm-profdata merge`: the files named on the command line, then the weighted ones, then those
//! of the list. A file can occur several times and counts each time.

use super::source::Input;
use crate::ascii::trim;
use crate::bytes::without_byte_order_mark;
use crate::compat::Compat;
use crate::compression::uncompressed_name;
use crate::error::{Error, Result, StoredError};
use crate::system::{Identity, has_several_names, home_of, identity, os_string};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Parses `WEIGHT,FILE`, as in list files and on command lines. The weight is a decimal integer above 0. A leading `~/`
/// of FILE is the home directory, and FILE `-` is standard input. `Input::from` a string takes all of it as a path.
///
/// ```
/// use profbridge::input::WeightedInput;
///
/// let input: WeightedInput = "3,a.profraw".parse()?;
/// assert_eq!((input.weight.get(), input.path.to_str()), (3, Some("a.profraw")));
/// assert_eq!(input.to_string(), "3,a.profraw");
/// # Ok::<(), profbridge::Error>(())
/// ```
impl FromStr for Input {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let input = parse_weighted(text.as_bytes())?;
        if input.path.as_os_str().is_empty() {
            return Err(Error::usage("missing file after the weight"));
        }
        Ok(input)
    }
}

/// Displays `WEIGHT,FILE`. Parts of the path that are not text are replaced.
impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.weight, self.path.display())
    }
}

/// The directories and links of a directory tree.
struct Walk {
    /// The parent directories, and in profbridge mode all directories that were entered: a link to one of them would
    /// count its files twice.
    entered: Vec<Identity>,
    /// The places of the inputs that are links, symbolic ones and hard ones.
    links: BTreeSet<usize>,
}

/// Collects the inputs of a run in order.
#[derive(Debug, Default)]
pub struct InputList {
    compat: Compat,
    inputs: Vec<Input>,
    found: BTreeSet<PathBuf>,
    named: BTreeSet<PathBuf>,
    output: Option<Identity>,
    skipped_output: Option<PathBuf>,
}

impl InputList {
    /// Creates an empty list that follows the rules of `compat`.
    ///
    /// In llvm-profdata mode, the files of a directory have the order of the file system, and pipes and devices in it
    /// are skipped silently. In profbridge mode files are sorted, and explicitly named pipes and devices are read; in a
    /// directory, pipes, devices and dangling links with the file extension of a profile fail as inputs.
    pub fn new(compat: Compat) -> Self {
        Self { compat, ..Self::default() }
    }

    /// Skips `output` if a directory or a list contains it, because it is the result of an earlier run and would be
    /// counted again. A file that is named explicitly counts, so that profiles can be accumulated.
    #[must_use]
    pub fn without_output(mut self, output: &Path) -> Self {
        let file = fs::metadata(output).ok().filter(fs::Metadata::is_file);
        self.output = file.map(|metadata| identity(output, &metadata));
        self
    }

    /// Adds a file with weight 1, or every file in a directory tree. As on a command line, `-` is standard input.
    ///
    /// # Errors
    ///
    /// I/O errors if the path does not exist or a directory cannot be listed.
    pub fn push(&mut self, path: impl AsRef<Path>) -> Result<()> {
        self.push_weighted(path.as_ref(), NonZeroU64::MIN)
    }

    /// Like [`push`](Self::push), with a weight.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Self::push).
    pub fn push_weighted(&mut self, path: &Path, weight: NonZeroU64) -> Result<()> {
        self.push_entry(path, weight, false)
    }

    fn push_entry(&mut self, path: &Path, weight: NonZeroU64, is_listed: bool) -> Result<()> {
        if path.as_os_str() == "-" {
            // Standard input can be read only once; a second reader finds its end.
            let is_first = !self.inputs.iter().any(Input::is_stdin);
            let input = Input::stdin().weighted_by(weight);
            self.inputs.push(if is_first { input } else { input.drained() });
            return Ok(());
        }
        let metadata = fs::metadata(path).map_err(|source| {
            let error = Error::io("cannot open", source).in_file(path);
            let is_pattern = path.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte));
            match is_pattern && !self.compat.is_llvm() {
                true => error.with_hint(
                    "check that files match the pattern, and remove quotes around it, so that the shell expands it",
                ),
                false => error,
            }
        })?;
        if metadata.is_dir() {
            let mut walk = Walk { entered: vec![identity(path, &metadata)], links: BTreeSet::new() };
            let before = self.inputs.len();
            self.push_folder(path, weight, &mut walk)?;
            if !self.compat.is_llvm() && !walk.links.is_empty() {
                self.drop_links(before, &walk.links);
            }
            return Ok(());
        }
        if is_listed && self.skips(path, &metadata) {
            return Ok(());
        }
        if metadata.is_file() || !self.compat.is_llvm() {
            // An explicitly named file counts as named even if it is also in a directory.
            self.found.remove(path);
            self.named.insert(path.to_path_buf());
            self.inputs.push(Input::with_weight(path, weight));
        }
        Ok(())
    }

    /// Adds the regular files below `folder`.
    fn push_folder(&mut self, folder: &Path, weight: NonZeroU64, walk: &mut Walk) -> Result<()> {
        let refused = |source| Error::io("cannot list", source).in_file(folder);
        let entry = |entry: io::Result<fs::DirEntry>| {
            let entry = entry?;
            Ok((entry.path(), entry.file_type().is_ok_and(|kind| kind.is_symlink())))
        };
        let entries = fs::read_dir(folder).map_err(refused)?;
        let mut entries = entries.map(entry).collect::<io::Result<Vec<_>>>().map_err(refused)?;
        if !self.compat.is_llvm() {
            entries.sort_unstable();
        }
        for (path, is_link) in entries {
            let metadata = match fs::metadata(&path) {
                Ok(metadata) => metadata,
                Err(source) => {
                    // Files that were removed during the scan are not inputs.
                    if fs::symlink_metadata(&path).is_ok() {
                        self.push_unreadable(path, weight, source);
                    }
                    continue;
                }
            };
            if self.skips(&path, &metadata) {
                continue;
            }
            if metadata.is_file() {
                if !self.named.contains(&path) {
                    self.found.insert(path.clone());
                }
                if is_link || has_several_names(&metadata) {
                    walk.links.insert(self.inputs.len());
                }
                self.inputs.push(Input::with_weight(path, weight));
            } else if metadata.is_dir() {
                let identity = identity(&path, &metadata);
                // A link to a parent directory would never end.
                if !walk.entered.contains(&identity) {
                    walk.entered.push(identity);
                    self.push_folder(&path, weight, walk)?;
                    if self.compat.is_llvm() {
                        walk.entered.pop();
                    }
                }
            } else {
                self.push_unreadable(path, weight, io::Error::other("not a regular file"));
            }
        }
        Ok(())
    }

    /// Drops links from the inputs of a directory whose file is another of them, because it would be counted twice.
    /// `start` is the first input of the directory.
    fn drop_links(&mut self, start: usize, links: &BTreeSet<usize>) {
        let file = |input: &Input| Some(identity(&input.path, &fs::metadata(&input.path).ok()?));
        let inputs: Vec<(bool, Input)> =
            (start..).map(|at| links.contains(&at)).zip(self.inputs.drain(start..)).collect();
        let files = inputs.iter().filter(|(is_link, _)| !is_link);
        let mut seen: BTreeSet<Identity> = files.filter_map(|(_, input)| file(input)).collect();
        for (is_link, input) in inputs {
            let is_new = !is_link || file(&input).is_none_or(|file| seen.insert(file));
            if is_new {
                self.inputs.push(input);
            } else {
                self.found.remove(&input.path);
            }
        }
    }

    /// Adds an entry of a directory that leads to no regular file as an input that fails, if its name is that of a
    /// profile, so that its counts are not missed silently. A pipe is not opened, because that would wait for a writer.
    fn push_unreadable(&mut self, path: PathBuf, weight: NonZeroU64, source: io::Error) {
        if !self.compat.is_llvm() && has_profile_extension(&path) {
            let error = StoredError::from(&Error::io("cannot open", source));
            self.inputs.push(Input::unreadable(path, &error).weighted_by(weight));
        }
    }

    /// Returns true if a file from a directory or a list is the output, and records it.
    fn skips(&mut self, path: &Path, metadata: &fs::Metadata) -> bool {
        let is_output = self.output.as_ref().is_some_and(|output| *output == identity(path, metadata));
        if is_output {
            self.skipped_output.get_or_insert_with(|| path.to_path_buf());
        }
        is_output
    }

    /// Adds `WEIGHT,FILE`; a leading `~/` or `~user/` of FILE is expanded.
    ///
    /// # Errors
    ///
    /// A usage error if the weight is not a decimal integer above 0; the errors of [`push`](Self::push).
    pub fn push_weighted_text(&mut self, text: &OsStr) -> Result<()> {
        let form = |error: Error| {
            if self.compat.is_llvm() { error } else { error.with_hint("write an input with a weight as WEIGHT,FILE") }
        };
        let Input { path, weight, .. } = parse_weighted(text.as_encoded_bytes()).map_err(form)?;
        if path.as_os_str().is_empty() && !self.compat.is_llvm() {
            return Err(form(Error::usage("missing file after the weight")));
        }
        self.push_weighted(&path, weight)
    }

    /// Adds the entries of a list file: `[WEIGHT,]FILE` per line. `#` begins a comment line, and blanks around an entry
    /// are dropped.
    ///
    /// In profbridge mode, a line that is the path of a file, with all its commas and blanks, means that file, and
    /// digits before the first comma are a weight. In llvm-profdata mode, a line with a comma has a weight.
    ///
    /// # Errors
    ///
    /// The errors of [`push_weighted_text`](Self::push_weighted_text), for the first invalid entry, with its line in
    /// profbridge mode.
    pub fn push_list(&mut self, list: &[u8]) -> Result<()> {
        if self.compat.is_llvm() {
            for entry in parse_list(list, self.compat) {
                let Input { path, weight, .. } = entry?;
                self.push_entry(&path, weight, true)?;
            }
            return Ok(());
        }
        for (number, line) in (1u64..).zip(without_byte_order_mark(list).split(|byte| *byte == b'\n')) {
            self.push_line(line).map_err(|error| match error.path() {
                Some(_) if line.contains(&0) => error.with_hint("use -0 for lists in which NUL separates the names"),
                Some(_) => error.with_hint(format!("line {number} of the list names it")),
                None => Error::usage(format!("line {number}, {:?}: {error}", String::from_utf8_lossy(line))),
            })?;
        }
        Ok(())
    }

    fn push_line(&mut self, line: &[u8]) -> Result<()> {
        let path = PathBuf::from(os_string(line.strip_suffix(b"\r").unwrap_or(line)));
        if path.is_file() {
            return self.push_entry(&path, NonZeroU64::MIN, true);
        }
        let entry = trim(line);
        if matches!(entry.first(), None | Some(b'#')) {
            return Ok(());
        }
        let before = entry.iter().position(|byte| *byte == b',').map(|comma| &entry[..comma]);
        let has_weight = before.is_some_and(|text| !text.is_empty() && text.iter().all(u8::is_ascii_digit));
        let Input { path, weight, .. } =
            if has_weight { parse_weighted(entry)? } else { Input::argument(os_string(entry)) };
        self.push_entry(&path, weight, true)
    }

    /// Adds the paths of a list in which a zero byte ends each one, as `find -print0` writes it. All other bytes are part
    /// of the paths.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Self::push).
    pub fn push_paths(&mut self, list: &[u8]) -> Result<()> {
        let paths = list.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        paths.map(os_string).try_for_each(|path| self.push_entry(Path::new(&path), NonZeroU64::MIN, true))
    }

    /// Returns the path of the output that was [skipped](Self::without_output).
    pub fn skipped_output(&self) -> Option<&Path> {
        self.skipped_output.as_deref()
    }

    /// Returns the inputs collected so far.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Returns the inputs that were found in a directory and not named.
    pub fn found(&self) -> &BTreeSet<PathBuf> {
        &self.found
    }

    /// Returns the inputs in order.
    pub fn into_inputs(self) -> Vec<Input> {
        self.inputs
    }
}

/// Returns true if a name has the file extension of a profile, optionally followed by that of a compression.
pub(crate) fn has_profile_extension(path: &Path) -> bool {
    const EXTENSIONS: [&str; 14] = [
        "profraw",
        "profdata",
        "proftext",
        "memprofraw",
        "memprofyaml",
        "prof",
        "afdo",
        "iprof",
        "jfr",
        "collapsed",
        "folded",
        "pprof",
        "pgo",
        "gcda",
    ];
    let extension = uncompressed_name(path).and_then(|name| name.rsplit_once('.')).map(|(_, extension)| extension);
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
}

/// Parses the entries of a list file without accessing the file system. See [`InputList::push_list`].
///
/// # Errors
///
/// A usage error for each entry whose weight is not a decimal integer above 0.
pub fn parse_list(list: &[u8], compat: Compat) -> impl Iterator<Item = Result<Input>> {
    let lines = list.split(|b| *b == b'\n').filter(|line| !line.is_empty()).map(trim);
    let entries = lines.filter(move |entry| match entry.first() {
        Some(first) => *first != b'#',
        None => compat.is_llvm(),
    });
    entries
        .map(|entry| if entry.contains(&b',') { parse_weighted(entry) } else { Ok(Input::argument(os_string(entry))) })
}

/// Parses `WEIGHT,FILE` and expands `~`.
fn parse_weighted(text: &[u8]) -> Result<Input> {
    let (weight, path) = match text.iter().position(|b| *b == b',') {
        Some(comma) => (&text[..comma], &text[comma + 1..]),
        None => (text, &text[text.len()..]),
    };
    let weight = parse_weight(weight)?;
    Ok(Input::argument(expand_home(&os_string(path))).weighted_by(weight))
}

/// Parses a weight of decimal digits only: no sign, no blanks.
fn parse_weight(text: &[u8]) -> Result<NonZeroU64> {
    let digits = text.iter().all(u8::is_ascii_digit);
    let weight = digits.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten();
    weight.ok_or_else(|| Error::usage("input weight must be a positive integer"))
}

/// Replaces `~` or `~user` at the beginning by the home directory, if it is known.
fn expand_home(path: &OsStr) -> PathBuf {
    let whole = PathBuf::from(path);
    let Some(text) = path.to_str().and_then(|text| text.strip_prefix('~')) else { return whole };
    let (user, rest) = text.split_once('/').map_or((text, None), |(user, rest)| (user, Some(rest)));
    let home = home_of(Some(user).filter(|user| !user.is_empty()));
    match (home, rest) {
        (Some(home), Some(rest)) => home.join(rest),
        (Some(home), None) => home,
        (None, _) => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &InputList, root: &Path) -> Vec<(u64, String)> {
        let shown = |input: &Input| {
            let path = input.path.strip_prefix(root).unwrap_or(&input.path);
            (input.weight.get(), path.display().to_string().replace(std::path::MAIN_SEPARATOR, "/"))
        };
        list.inputs().iter().map(shown).collect()
    }

    #[test]
    fn lists_carry_weights_comments_and_blanks() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["a", "b", "c#d", "e,f"] {
            fs::write(root.join(name), "x").unwrap();
        }
        let at = |name: &str| root.join(name).display().to_string();
        let text = format!(
            "# comment, not 1,a\n  # another\n\n\t{}  \r\n3,{}\n{}\n1,{}",
            at("a"),
            at("b"),
            at("c#d"),
            at("e,f")
        );
        let mut list = InputList::new(Compat::Llvm22);
        list.push_list(text.as_bytes()).unwrap();
        let expected = [(1, "a"), (3, "b"), (1, "c#d"), (1, "e,f")].map(|(w, n)| (w, n.to_string()));
        assert_eq!(names(&list, root), expected);
    }

    #[test]
    fn a_blank_line_is_an_empty_name_for_llvm_only() {
        assert!(InputList::new(Compat::Llvm22).push_list(b"  \n").is_err());
        let mut ours = InputList::new(Compat::Profbridge);
        ours.push_list(b"  \n").unwrap();
        assert!(ours.inputs().is_empty());
    }

    #[test]
    fn weights_are_decimal_and_positive() {
        for bad in ["0,f", "-1,f", "+1,f", "x,f", ",f", "1", " 1,f", "0x1,f", "99999999999999999999,f"] {
            let failure = InputList::new(Compat::Llvm22).push_weighted_text(OsStr::new(bad)).unwrap_err();
            let missing_file = bad == "1";
            assert_eq!(failure.to_string().contains("positive integer"), !missing_file, "{bad}: {failure}");
        }
    }

    #[test]
    fn directories_expand_to_their_files_and_loops_end() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("in/sub")).unwrap();
        for name in ["in/b", "in/a", "in/sub/c"] {
            fs::write(root.join(name), "x").unwrap();
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("..", root.join("in/sub/up")).unwrap();
            std::os::unix::fs::symlink("nowhere", root.join("in/dangling")).unwrap();
            // llvm-profdata reads the files below twice.
            std::os::unix::fs::symlink("sub", root.join("in/twice")).unwrap();
            // A link to a file that the directory has, too, and two links to another one.
            std::os::unix::fs::symlink("b", root.join("in/_latest")).unwrap();
            fs::write(root.join("elsewhere"), "x").unwrap();
            for name in ["in/y", "in/z"] {
                std::os::unix::fs::symlink(root.join("elsewhere"), root.join(name)).unwrap();
            }
            // Two names of one file in the directory, and a file with another name outside.
            fs::hard_link(root.join("in/a"), root.join("in/also-a")).unwrap();
            fs::hard_link(root.join("in/sub/c"), root.join("c-outside")).unwrap();
        }
        let mut list = InputList::new(Compat::Profbridge);
        list.push_weighted(&root.join("in"), NonZeroU64::new(5).unwrap()).unwrap();
        let expected = ["in/a", "in/b", "in/sub/c", "in/y"].map(|name| (5, name.to_string()));
        assert_eq!(names(&list, root), expected[..if cfg!(unix) { 4 } else { 3 }]);
        if cfg!(unix) {
            let mut list = InputList::new(Compat::Llvm22);
            list.push(root.join("in")).unwrap();
            assert_eq!(list.inputs().len(), 8);
        }
    }

    #[cfg(unix)]
    #[test]
    fn entries_named_like_profiles_that_lead_to_no_file_fail() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["link.profraw", "link"] {
            std::os::unix::fs::symlink("nowhere", root.join(name)).unwrap();
        }
        let _sockets = ["socket.profdata.gz", "socket"]
            .map(|name| std::os::unix::net::UnixListener::bind(root.join(name)).unwrap());
        let mut list = InputList::new(Compat::Profbridge);
        list.push_weighted(root, NonZeroU64::new(5).unwrap()).unwrap();
        assert_eq!(names(&list, root), [(5, "link.profraw".into()), (5, "socket.profdata.gz".into())]);
        let failures: Vec<String> = list.inputs().iter().map(|input| input.look().unwrap_err().to_string()).collect();
        assert!(failures[0].ends_with("link.profraw: cannot open: No such file or directory"), "{failures:?}");
        assert!(failures[1].ends_with("socket.profdata.gz: cannot open: not a regular file"), "{failures:?}");
        let mut list = InputList::new(Compat::Llvm22);
        list.push(root).unwrap();
        assert!(list.inputs().is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn llvm_skips_devices_and_profbridge_does_not() {
        for (compat, expected) in [(Compat::Llvm22, 0), (Compat::Profbridge, 1)] {
            let mut list = InputList::new(compat);
            list.push("/dev/null").unwrap();
            assert_eq!(list.inputs().len(), expected);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_missing_file_is_named() {
        let failure = InputList::new(Compat::Llvm22).push("no/such").unwrap_err();
        assert_eq!(failure.to_string(), "no/such: cannot open: No such file or directory");
    }

    #[test]
    fn standard_input_is_passed_on() {
        let mut list = InputList::default();
        list.push("-").unwrap();
        list.push_weighted_text(OsStr::new("4,-")).unwrap();
        assert_eq!(names(&list, Path::new("")), [(1, "-".to_string()), (4, "-".to_string())]);
    }

    #[test]
    fn the_home_folder_is_expanded_only_where_it_is_known() {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        if let Some(home) = home {
            assert_eq!(expand_home(OsStr::new("~/x/y")), home.join("x/y"));
        }
        assert_eq!(expand_home(OsStr::new("~no-such-account/x")), PathBuf::from("~no-such-account/x"));
        assert_eq!(expand_home(OsStr::new("a~/x")), PathBuf::from("a~/x"));
    }
}
