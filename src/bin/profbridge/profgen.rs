//! Sample profiles of programs, in profbridge mode: `convert` and `merge` with `--binary`.

use crate::console;
use crate::limits;
use crate::merge_document::MergeDocument;
use crate::outputs::OutputArgs;
use crate::plural::{inputs_of, number_of};
use crate::sample_files::SampleArgs;
use crate::target;
use clap::Args;
use profbridge::families::OutputForm;
use profbridge::input::{Family, Input};
use profbridge::profgen::{self, ProfileOptions, ProgramFiles};
use profbridge::sampleprof::{self, Rules, WriteOptions};
use profbridge::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options for recordings of branches.
#[derive(Debug, Args)]
#[command(next_help_heading = "Recordings of branches")]
pub(crate) struct ProfgenArgs {
    /// The file with the program's debug info, if that is not in the program
    #[arg(long, value_name = "FILE", requires = "binary")]
    debug_binary: Option<PathBuf>,
    /// The package of the program's split debug info; by default the file PROGRAM.dwp
    #[arg(long, value_name = "FILE", requires = "binary")]
    dwp: Option<PathBuf>,
}

/// The conversion of recordings.
pub(crate) struct ProfgenRun<'a> {
    pub(crate) inputs: &'a [Input],
    pub(crate) output: &'a Path,
    pub(crate) written: &'a OutputArgs,
    pub(crate) sample: &'a SampleArgs,
    pub(crate) consumer: Option<&'a str>,
    pub(crate) strict: bool,
    pub(crate) quiet: bool,
    pub(crate) json: bool,
}

impl ProfgenArgs {
    /// Returns the files of the recorded program.
    pub(crate) fn files(&self, program: &Path) -> ProgramFiles {
        let mut files = ProgramFiles::new(program);
        files.debug.clone_from(&self.debug_binary);
        files.package.clone_from(&self.dwp);
        files
    }
}

impl ProfgenRun<'_> {
    /// Makes the profile and writes it; the document has the given schema.
    pub(crate) fn run(&self, files: &ProgramFiles, schema: &str) -> Result<ExitCode> {
        if self.json {
            console::needs_file(self.output)?;
        }
        let inputs = if self.json { self.inputs } else { &[] };
        let mut document = MergeDocument::of_conversion(inputs);
        let result = self.convert(files, &mut document);
        if self.json {
            if result.is_ok() {
                document.note_rest_used();
            }
            document.print(schema, result.as_ref().err())?;
        }
        result.map(|()| ExitCode::SUCCESS)
    }

    fn convert(&self, files: &ProgramFiles, document: &mut MergeDocument) -> Result<()> {
        let form = self.written.form(self.output, &self.sample.forms())?;
        if form.is_some_and(|form| !matches!(form, OutputForm::SampleProf | OutputForm::Indexed | OutputForm::Text)) {
            let error = Error::usage("recordings of branches become a sample profile").in_file(self.output);
            return Err(error.with_hint("name the output .prof or .proftext"));
        }
        self.written.guard(self.inputs, self.output, OutputForm::SampleProf, Some(Family::SampleProf))?;
        let target = target::of_samples(self.consumer)?;
        let mut options = ProfileOptions::default();
        options.release = target.release;
        let made = profgen::convert(self.inputs, files, &options, &limits::chosen())?;
        document.samples = Some(made.report);
        document.warn(&made.warnings);
        if !self.quiet {
            made.warnings.iter().for_each(console::warning);
        }
        let text = (form == Some(OutputForm::Text)).then_some(sampleprof::Encoding::Text);
        let rules = Rules::of(target.release);
        let mut write = WriteOptions::default();
        self.sample.set_write_options(&mut write);
        write.rules = rules;
        write.encoding = self.sample.encoding(text).unwrap_or_else(|| made.profile.default_encoding(rules));
        let losses = sampleprof::write_file(&made.profile, &write, self.strict, self.output)?;
        document.lose(&losses);
        document.wrote(self.output, Family::SampleProf.name());
        if !self.quiet {
            console::losses(&losses, &[], self.output);
        }
        if !self.quiet && !self.json {
            let functions = number_of(made.profile.functions.len() as u64, "function");
            let inputs = inputs_of(self.inputs.len(), self.inputs.len());
            console::status(&format!("{}: {functions} from {inputs}", self.output.display()));
        }
        Ok(())
    }
}
