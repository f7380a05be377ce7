//! LLVM's command line syntax in profbridge mode: `-sparse`, `--sparse=true`, `@FILE`, and options that state the
//! default.

use crate::llvm_compat::{COMMANDS, Command, OptionSpec, OptionValue, boolean, resolve};
use profbridge::{Error, ErrorKind, Result};
use std::ffi::OsString;
use std::io::Read;

/// Rewrites the arguments after the command into the form that `program`, the parser of profbridge mode, accepts. For
/// commands that llvm-profdata does not have, only single dashes are rewritten.
///
/// # Errors
///
/// Unsupported for kinds of profiles that only llvm-profdata handles.
pub(crate) fn normalize(program: &clap::Command, arguments: Vec<OsString>) -> Result<Vec<OsString>> {
    let ours = arguments.get(1).and_then(|name| program.find_subcommand(name));
    let letters = ours.map(letters_with_values).unwrap_or_default();
    let named = arguments.get(1).and_then(|name| COMMANDS.into_iter().find(|command| *name == command.name));
    let Some(command) = named else {
        let words = arguments.into_iter().enumerate();
        let long = |_: &str| false;
        return Ok(words.map(|(at, word)| if at < 2 { word } else { two_dashes(word, &letters, long) }).collect());
    };
    let is_long = |name: &str| command.options.iter().any(|option| option.name == name);
    let mut words = arguments.into_iter().peekable();
    let program = words.by_ref().take(2).collect();
    let mut rewriter = Rewriter { command, ours: &letters.long, switches: Vec::new(), others: Vec::new() };
    while let Some(word) = words.next() {
        if word == "--" {
            rewriter.others.push(word);
            rewriter.others.extend(words);
            break;
        }
        let word = two_dashes(word, &letters, is_long);
        match words.next_if(|next| word == "--binary" && is_program(next)) {
            Some(next) => rewriter.others.extend([word, next]),
            None => rewriter.rewrite(word, &mut words)?,
        }
    }
    Ok([program, rewriter.switches, rewriter.others].concat())
}

/// Whether a word names an ELF file. After `--binary`, which is an encoding for llvm-profdata, it is the program of a
/// perf recording.
fn is_program(word: &OsString) -> bool {
    let mut magic = [0; 4];
    let path = std::path::Path::new(word);
    let read = path.is_file() && std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok();
    read && magic == *b"\x7fELF"
}

/// Options of llvm-profdata that do not change its output.
const WITHOUT_EFFECT: [&str; 4] =
    ["debuginfod", "max-debug-info-correlation-warnings", "print-options", "print-all-options"];

struct Rewriter<'a> {
    command: &'static Command,
    /// The long options of the profbridge command of that name.
    ours: &'a [&'a str],
    /// Switches that are on in the end, in the order of their last occurrence.
    switches: Vec<OsString>,
    others: Vec<OsString>,
}

impl Rewriter<'_> {
    fn knows(&self, option: &OptionSpec) -> bool {
        self.ours.contains(&option.name)
    }

    fn rewrite(&mut self, word: OsString, words: &mut impl Iterator<Item = OsString>) -> Result<()> {
        let Some((option, value)) = option_of(self.command.options, &word) else {
            self.others.push(word);
            return Ok(());
        };
        let target = resolve(self.command, option);
        if target.name == "binary" && value.is_some() {
            self.others.push(word);
            return Ok(());
        }
        match target.takes {
            OptionValue::Switch => match value.as_deref().map_or(Some(true), boolean) {
                Some(true) if !self.knows(target) => self.require_no_effect(target)?,
                Some(on) => self.switch(target.name, on),
                // The parser reports an invalid Boolean.
                None => self.others.push(word),
            },
            OptionValue::Member(_) => self.member(target.name)?,
            OptionValue::Action(_) | OptionValue::Alias(_) => self.others.push(word),
            _ if self.knows(target) => {
                self.others.push(word);
                // The value is used unchanged, even if it looks like an option.
                self.others.extend(if value.is_none() { words.next() } else { None });
            }
            _ => {
                let value = value.or_else(|| words.next().map(OsString::into_encoded_bytes));
                // The only form of `profbridge show`, apart from `--json`.
                if (target.name, value) != ("show-format", Some("text".into())) {
                    self.require_no_effect(target)?;
                }
            }
        }
        Ok(())
    }

    fn require_no_effect(&self, option: &OptionSpec) -> Result<()> {
        if WITHOUT_EFFECT.contains(&option.name) {
            return Ok(());
        }
        let error = Error::usage(format!("--{} is an option of llvm-profdata only", option.name));
        Err(error.with_hint(format!("use `profbridge llvm-profdata {}`", self.command.name)))
    }

    fn switch(&mut self, name: &str, on: bool) {
        let spelled: OsString = format!("--{name}").into();
        self.switches.retain(|earlier| *earlier != spelled);
        self.switches.extend(on.then_some(spelled));
    }

    fn member(&mut self, name: &str) -> Result<()> {
        let what = match name {
            "gcc" => "writing GCC's format (--gcc)",
            // The content shows whether these are samples or counters.
            "instr" | "sample" | "memory" => {
                self.switch("memory", name == "memory");
                return Ok(());
            }
            format => {
                for (known, switch) in [("text", "text"), ("binary", "binary-format"), ("extbinary", "extbinary")] {
                    self.switch(switch, format == known);
                }
                return Ok(());
            }
        };
        let error = Error::new(ErrorKind::Unsupported { what: what.into() });
        Err(error.with_hint("use llvm-profdata from an LLVM release"))
    }
}

/// The one-letter options of a profbridge command that need a value, and its long options.
#[derive(Default)]
struct Letters<'a> {
    with_values: Vec<char>,
    long: Vec<&'a str>,
}

fn letters_with_values(ours: &clap::Command) -> Letters<'_> {
    let valued = ours.get_arguments().filter(|argument| argument.get_action().takes_values());
    Letters {
        with_values: valued.filter_map(|argument| argument.get_short()).collect(),
        long: ours.get_arguments().filter_map(|argument| argument.get_long()).collect(),
    }
}

/// Rewrites `-sparse` to `--sparse`. One letter keeps its dash, also with a value after it (`-j4`), unless an option
/// has that name.
fn two_dashes(word: OsString, letters: &Letters<'_>, is_long: impl Fn(&str) -> bool) -> OsString {
    let Some(text) = word.to_str() else { return word };
    let name = text.split('=').next().unwrap_or(text);
    let is_single = name.len() > 2 && name.starts_with('-') && !name.starts_with("--");
    if !is_single {
        return word;
    }
    let bare = &name[1..];
    let known = is_long(bare) || letters.long.contains(&bare);
    let is_letter = bare.starts_with(|first| letters.with_values.contains(&first));
    if is_letter && !known { word } else { format!("-{text}").into() }
}

/// Returns the option that a word names, and its value after `=`.
fn option_of(options: &'static [OptionSpec], word: &OsString) -> Option<(&'static OptionSpec, Option<Vec<u8>>)> {
    let text = word.to_str()?.strip_prefix('-')?;
    let body = text.strip_prefix('-').unwrap_or(text);
    let (name, value) = match body.split_once('=') {
        Some((name, value)) => (name, Some(value.as_bytes().to_vec())),
        None => (body, None),
    };
    options.iter().find(|option| option.name == name).map(|option| (option, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    fn normal(words: &[&str]) -> Vec<String> {
        let arguments: Vec<OsString> = ["profbridge"].iter().chain(words).map(OsString::from).collect();
        normalize(&Cli::needed(&arguments), arguments)
            .unwrap()
            .into_iter()
            .skip(1)
            .map(|word| word.into_string().unwrap())
            .collect()
    }

    #[test]
    fn switches_lose_their_booleans_and_the_last_counts() {
        assert_eq!(normal(&["merge", "-sparse=true", "a"]), ["merge", "--sparse", "a"]);
        assert_eq!(normal(&["merge", "--sparse", "-sparse=0", "a"]), ["merge", "a"]);
        assert_eq!(normal(&["merge", "--sparse=maybe"]), ["merge", "--sparse=maybe"]);
    }

    #[test]
    fn values_are_left_alone() {
        assert_eq!(normal(&["merge", "-o", "-sparse", "-output=x"]), ["merge", "-o", "-sparse", "--output=x"]);
        assert_eq!(normal(&["show", "-function", "-x", "f"]), ["show", "--function", "-x", "f"]);
        assert_eq!(normal(&["merge", "--", "-sparse"]), ["merge", "--", "-sparse"]);
    }

    #[test]
    fn options_without_meaning_here_vanish() {
        assert_eq!(normal(&["merge", "--sample", "--instr", "a"]), ["merge", "a"]);
        assert_eq!(normal(&["show", "--memory", "--instr", "a"]), ["show", "a"]);
        assert_eq!(normal(&["show", "--instr", "-memory", "a"]), ["show", "--memory", "a"]);
        assert_eq!(normal(&["merge", "--text", "--binary", "a"]), ["merge", "--binary-format", "a"]);
        assert_eq!(normal(&["merge", "--binary", "--text", "a"]), ["merge", "--text", "a"]);
    }

    #[test]
    fn llvm_only_options_are_errors_with_a_message() {
        for words in [["profbridge", "merge", "--gcc"], ["profbridge", "merge", "-gcc"]] {
            let failure = normalize(&Cli::whole(), words.map(OsString::from).to_vec()).unwrap_err();
            assert!(failure.to_string().ends_with("is not supported"), "{failure}");
        }
    }

    #[test]
    fn a_short_option_may_be_followed_by_its_value() {
        assert_eq!(normal(&["merge", "-j4", "-oout", "-output=x", "a"]), ["merge", "-j4", "-oout", "--output=x", "a"]);
        assert_eq!(normal(&["merge", "-o=out"]), ["merge", "-o=out"]);
        assert_eq!(normal(&["convert", "-oout.iprof", "-output", "x"]), ["convert", "-oout.iprof", "--output", "x"]);
    }

    #[test]
    fn other_commands_only_fix_single_dashes() {
        assert_eq!(normal(&["info", "-json", "-x"]), ["info", "--json", "-x"]);
    }
}
