//! Sample profiles of programs, in profbridge mode: `convert` and `merge` of recordings with `--binary`.

use crate::console;
use crate::merge_document::MergeDocument;
use crate::merge_gates::MergeGateArgs;
use crate::merge_report::Messages;
use crate::outputs::OutputArgs;
use crate::sample_files::SampleArgs;
use crate::stacks::StackArgs;
use crate::validate::refuse;
use clap::Args;
use profbridge::families::{MergeSettings, Merged, MergedRecordings, OutputForm, merge_recordings};
use profbridge::input::{Family, Input};
use profbridge::profgen::ProgramFiles;
use profbridge::{Error, Result};
use std::path::{Path, PathBuf};

/// Options for recordings of perf.
#[derive(Debug, Args)]
#[command(next_help_heading = "Recordings of perf")]
pub(crate) struct ProfgenArgs {
    /// The file with the program's debug info, if that is not in the program
    #[arg(long, value_name = "FILE", requires = "binary")]
    debug_binary: Option<PathBuf>,
    /// The package of the program's split debug info; by default the file PROGRAM.dwp
    #[arg(long, value_name = "FILE", requires = "binary")]
    dwp: Option<PathBuf>,
    /// Make a profile with calling contexts (CSSPGO), from samples with branch records and call chains
    #[arg(long, requires = "binary")]
    contexts: bool,
}

const FOR_SAMPLES: &str = "for sample profiles";

/// The options for stacks that recordings of programs also have.
pub(crate) const FOR_RECORDINGS: [&str; 2] = ["--binary", "--sample-type"];

/// Returns the programs whose recordings become sample profiles. For other outputs, recordings are stacks.
///
/// # Errors
///
/// Usage for options of sample profiles if recordings are stacks.
pub(crate) fn recorded_programs<'a>(
    written: &OutputArgs,
    output: &Path,
    sample: &SampleArgs,
    stacks: &'a StackArgs,
) -> Result<&'a [PathBuf]> {
    let form = written.form(output, &sample.forms()).ok().flatten();
    let has_stacks = matches!(form, Some(OutputForm::Collapsed | OutputForm::Pprof | OutputForm::Iprof));
    if !has_stacks {
        return Ok(stacks.programs());
    }
    refuse(&["--debug-binary"], FOR_SAMPLES, "for stacks, pass the debug file with --binary")?;
    refuse(&["--dwp", "--contexts"], FOR_SAMPLES, "omit it, or name the output .prof or .proftext")?;
    Ok(&[])
}

/// A merge of recordings.
pub(crate) struct RecordingsRun<'a> {
    pub(crate) inputs: &'a [Input],
    pub(crate) programs: &'a [PathBuf],
    pub(crate) arguments: &'a ProfgenArgs,
    pub(crate) written: &'a OutputArgs,
    pub(crate) gates: &'a MergeGateArgs,
    pub(crate) messages: Messages,
    pub(crate) quiet: bool,
}

impl ProfgenArgs {
    /// Returns the files of the recorded programs.
    ///
    /// # Errors
    ///
    /// Usage for files of one program if there are several.
    fn files(&self, programs: &[PathBuf]) -> Result<Vec<ProgramFiles>> {
        if programs.len() > 1 && (self.debug_binary.is_some() || self.dwp.is_some()) {
            return Err(Error::usage("--debug-binary and --dwp are for one program, but there are several")
                .with_hint("convert the recordings once per program"));
        }
        let files = programs.iter().map(|program| {
            let mut files = ProgramFiles::new(program);
            files.debug.clone_from(&self.debug_binary);
            files.package.clone_from(&self.dwp);
            files
        });
        Ok(files.collect())
    }
}

impl RecordingsRun<'_> {
    /// Makes the profiles and writes them. A directory gets one profile for each program, a file one profile for all.
    pub(crate) fn run(&self, settings: &MergeSettings, document: &mut MergeDocument) -> Result<()> {
        let (output, form) = (&settings.output, settings.form);
        if !matches!(form, OutputForm::SampleProf | OutputForm::Indexed | OutputForm::Text) {
            let error = Error::usage("recordings of perf become a sample profile").in_file(output);
            return Err(error.with_hint("name the output .prof or .proftext"));
        }
        let programs = self.arguments.files(self.programs)?;
        let is_directory = output.is_dir() || output.as_os_str().as_encoded_bytes().ends_with(b"/");
        let outputs = match is_directory {
            true => outputs_in_directory(output, &programs, settings)?,
            false => vec![output.clone()],
        };
        for output in &outputs {
            let partial = settings.partial.is_some();
            self.written.guard(self.inputs, output, OutputForm::SampleProf, Some(Family::SampleProf), partial)?;
        }
        // Nothing is written before all profiles are made.
        let made = self.merge(&programs, is_directory, settings, document)?;
        if is_directory {
            std::fs::create_dir_all(output)
                .map_err(|source| Error::io("cannot create the directory", source).in_file(output))?;
        }
        for (merged, output) in made.into_iter().zip(outputs) {
            let mut settings = settings.clone();
            settings.output = output;
            self.gates.write(merged, self.inputs, &settings, self.messages, document)?;
        }
        document.wrote(output, Family::SampleProf.name());
        Ok(())
    }

    /// Makes one profile of all programs, or one of each.
    fn merge(
        &self,
        programs: &[ProgramFiles],
        is_split: bool,
        settings: &MergeSettings,
        document: &mut MergeDocument,
    ) -> Result<Vec<Merged>> {
        let progress = console::Progress::new("merging", self.quiet);
        let mut update = |done, total| progress.update(done, total);
        let contexts = self.arguments.contexts;
        let made = merge_recordings(self.inputs, programs, contexts, is_split, settings, &mut update);
        progress.finish();
        let MergedRecordings { profiles, samples, inputs, .. } = made?;
        for (files, report) in programs.iter().zip(samples) {
            document.count_samples(&files.program, report);
        }
        document.name_inputs(inputs.iter().map(|report| &report.input));
        inputs.iter().enumerate().for_each(|(at, report)| document.note_outcome(at, &report.outcome));
        Ok(profiles)
    }
}

/// Returns the profile of each program in the output directory.
fn outputs_in_directory(directory: &Path, programs: &[ProgramFiles], settings: &MergeSettings) -> Result<Vec<PathBuf>> {
    let extension = match settings.form {
        _ if settings.partial.is_some() => ".part",
        OutputForm::Text => ".proftext",
        _ => ".prof",
    };
    let mut outputs: Vec<PathBuf> = Vec::new();
    for ProgramFiles { program, .. } in programs {
        let mut name = program.file_name().unwrap_or_default().to_os_string();
        name.push(extension);
        let output = directory.join(name);
        if outputs.contains(&output) {
            let error = Error::usage("two programs have the same name").in_file(program);
            return Err(error.with_hint("convert the recordings once per program"));
        }
        outputs.push(output);
    }
    Ok(outputs)
}
