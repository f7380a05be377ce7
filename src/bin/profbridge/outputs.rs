//! The outputs of commands: format, path, and files that must not be replaced.

use crate::console;
use clap::{Args, ValueEnum};
use profbridge::compression::Compression;
use profbridge::families::{OutputForm, Written, require_earlier_output};
use profbridge::input::output::is_standard_output;
use profbridge::input::{Family, Format, Input};
use profbridge::sampleprof::Encoding;
use profbridge::system::{is_device, is_same_file};
use profbridge::{Error, Hint, Result};
use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::Path;

/// The values of `--to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormArg {
    /// LLVM profile; the file extension selects the encoding [default: indexed or binary]
    Llvm,
    /// Indexed profile for compilers (.profdata)
    Indexed,
    /// Text profile (.proftext)
    Text,
    /// Raw profile, as instrumented programs write it (.profraw)
    Raw,
    /// A sample profile for GCC's -fauto-profile (.afdo)
    Gcc,
    /// A memory profile in YAML (.memprofyaml, .yaml)
    Yaml,
    /// GraalVM profile (.iprof, or .json if all inputs are iprof files)
    Iprof,
    /// Collapsed stacks (.collapsed, .folded)
    Collapsed,
    /// pprof profile, compressed (.pprof, .pgo) or not (.pb)
    Pprof,
}

impl FormArg {
    /// Returns the form; `None` if the option names only the family.
    fn form(self) -> Option<OutputForm> {
        match self {
            Self::Llvm => None,
            Self::Indexed => Some(OutputForm::Indexed),
            Self::Text => Some(OutputForm::Text),
            Self::Raw => Some(OutputForm::Raw),
            Self::Gcc => Some(OutputForm::SampleProf),
            Self::Yaml => Some(OutputForm::MemProfYaml),
            Self::Iprof => Some(OutputForm::Iprof),
            Self::Collapsed => Some(OutputForm::Collapsed),
            Self::Pprof => Some(OutputForm::Pprof),
        }
    }

    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
    }
}

/// Options for an output.
#[derive(Debug, Clone, Args)]
pub(crate) struct OutputArgs {
    /// Output format [default: from the file extension, otherwise that of the inputs]; .gz and .zst compress the output
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Option<FormArg>,
    /// Replace an output file that profbridge did not write, or an input of another format
    #[arg(long)]
    pub(crate) force: bool,
}

impl OutputArgs {
    /// Returns the output form; `also` lists other options that select a form.
    ///
    /// # Errors
    ///
    /// A usage error if the options and the file extension contradict each other.
    pub(crate) fn form(&self, output: &Path, also: &[(bool, &str, OutputForm)]) -> Result<Option<OutputForm>> {
        let mut asked = self.to.and_then(FormArg::form);
        let mut option = self.to.map(|to| format!("--to {}", to.name()));
        for (_, name, form) in also.iter().filter(|(given, ..)| *given) {
            match (asked, &option) {
                (Some(asked), Some(option)) if asked != *form => {
                    let detail = format!("{option} is {}, {name} {}", asked.words(), form.words());
                    return Err(Error::usage(detail).with_hint("omit one of them"));
                }
                _ => (asked, option) = (Some(*form), Some((*name).to_string())),
            }
        }
        let named = OutputForm::of_name(output)?;
        let form = OutputForm::choose(output, asked).map_err(|error| match (&option, asked, named) {
            (Some(option), Some(asked), Some(named)) => {
                let detail = format!(
                    "{option} selects {}, but the file extension of the output selects {}",
                    asked.words(),
                    named.words()
                );
                let hint = format!("name the output {}, or omit {option}", asked.extension());
                Error::usage(detail).in_file(output).with_hint(hint)
            }
            _ => error,
        })?;
        if self.to == Some(FormArg::Llvm)
            && let Some(other) = form.filter(|form| !is_llvm(*form))
        {
            let detail = format!(
                "--to llvm selects an LLVM profile, but the file extension of the output selects {}",
                other.words()
            );
            return Err(Error::usage(detail).in_file(output).with_hint("name the output .profdata or .proftext"));
        }
        Ok(form)
    }

    /// Returns the encoding that the options select for a sample profile.
    pub(crate) fn sample_encoding(&self, form: OutputForm) -> Option<Encoding> {
        match (self.to, form) {
            (Some(FormArg::Gcc), _) => Some(Encoding::Gcc),
            (_, OutputForm::Text) => Some(Encoding::Text),
            _ => None,
        }
    }

    /// Returns the family that `--to` selects without a form.
    pub(crate) fn family(&self) -> Option<Family> {
        (self.to == Some(FormArg::Llvm)).then_some(Family::Instr)
    }

    /// Rejects binary output on a terminal, and an output that would accidentally replace a file: an input of another
    /// format, or a file that is neither an input nor an earlier output. `family` is that of the inputs; `partial` is
    /// true for a partial merge.
    ///
    /// # Errors
    ///
    /// A usage error.
    pub(crate) fn guard(
        &self,
        inputs: &[Input],
        output: &Path,
        form: OutputForm,
        family: Option<Family>,
        partial: bool,
    ) -> Result<()> {
        refuse_terminal(output, form.is_text() && Compression::of_output(output)?.is_none())?;
        if self.force {
            return Ok(());
        }
        let is_kept = |format| is_same(format, form) || (partial && format == Format::Partial);
        refuse_replacing(inputs, output, form.words(), true, is_kept)?;
        let family = form.family(family);
        if inputs.iter().any(|input| is_same_file(&input.path, output)) {
            if inputs.len() > 1 {
                console::note(&format!("{}: the output is also an input: its counts are added", output.display()));
            }
            return Ok(());
        }
        let written = if partial { Written::Partial(family) } else { Written::Profile(family) };
        require_earlier_output(output, written, Hint::ReplaceFile)
    }
}

/// Like [`OutputArgs::guard`], for commands without `--force`. No input is replaced.
///
/// # Errors
///
/// A usage error.
pub(crate) fn guard(inputs: &[Input], output: &Path, words: &str, written: Written) -> Result<()> {
    refuse_replacing(inputs, output, words, false, |_| false)?;
    require_earlier_output(output, written, "choose another output")
}

/// Rejects binary output on a terminal.
///
/// # Errors
///
/// A usage error.
pub(crate) fn refuse_terminal(output: &Path, is_text: bool) -> Result<()> {
    if is_text || !is_terminal(output) {
        return Ok(());
    }
    Err(Error::usage("cannot write binary output to a terminal").with_hint("write to a file with -o, or to a pipe"))
}

/// Rejects replacing an input by output of another format; `may_force` is true if an option allows it.
///
/// # Errors
///
/// A usage error that names the data that would be lost.
fn refuse_replacing(
    inputs: &[Input],
    output: &Path,
    words: &str,
    may_force: bool,
    is_same: impl Fn(Format) -> bool,
) -> Result<()> {
    if is_standard_output(output) {
        return Ok(());
    }
    for input in inputs.iter().filter(|input| is_same_file(&input.path, output)) {
        // The reader reports inputs that cannot be opened.
        let Ok(format) = input.format() else { continue };
        if format != Format::Empty && !is_same(format) {
            let detail = format!("the output is also an input: this would replace {format} with {words}");
            let hint = if may_force {
                "choose another output, or use --force to replace the input"
            } else {
                "choose another output"
            };
            return Err(Error::usage(detail).in_file(output).with_hint(hint));
        }
    }
    Ok(())
}

/// Returns true if a file of this format has the same kind of content as an output of this form.
fn is_same(format: Format, form: OutputForm) -> bool {
    match form {
        OutputForm::Raw => matches!(format, Format::Raw { .. }),
        OutputForm::Indexed => {
            format == Format::Indexed || (format.is_sample_profile() && format != Format::SampleText)
        }
        OutputForm::Text => matches!(format, Format::Text | Format::SampleText),
        OutputForm::SampleProf => format.is_sample_profile(),
        OutputForm::MemProfYaml => format == Format::YamlMemProf,
        OutputForm::Iprof | OutputForm::Json => format == Format::Iprof,
        OutputForm::Collapsed => format == Format::Collapsed,
        OutputForm::Pprof => format == Format::Pprof,
        _ => false,
    }
}

fn is_llvm(form: OutputForm) -> bool {
    matches!(form, OutputForm::Raw | OutputForm::Indexed | OutputForm::Text | OutputForm::MemProfYaml)
}

/// Returns true if an output is a terminal: standard output, or a named one.
fn is_terminal(output: &Path) -> bool {
    if is_standard_output(output) {
        return io::stdout().is_terminal();
    }
    is_device(output) && File::open(output).is_ok_and(|file| file.is_terminal())
}
