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
use profbridge::instr::Release;
use profbridge::profgen::{self, ContextOptions, ProfileOptions, ProgramFiles};
use profbridge::sampleprof::{self, MergeOptions, Merger, Rules, SampleProfile, WriteOptions};
use profbridge::{Error, Result, Warning};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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
    pub(crate) contexts: bool,
}

/// The conversion of recordings.
pub(crate) struct ProfgenRun<'a> {
    pub(crate) inputs: &'a [Input],
    pub(crate) output: &'a Path,
    pub(crate) written: &'a OutputArgs,
    pub(crate) sample: &'a SampleArgs,
    pub(crate) consumer: Option<&'a str>,
    pub(crate) contexts: bool,
    pub(crate) strict: bool,
    pub(crate) quiet: bool,
    pub(crate) json: bool,
}

impl ProfgenArgs {
    /// Returns the files of the recorded programs.
    ///
    /// # Errors
    ///
    /// Usage for files of one program if there are several.
    pub(crate) fn files(&self, programs: &[PathBuf]) -> Result<Vec<ProgramFiles>> {
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

impl ProfgenRun<'_> {
    /// Makes the profiles and writes them; the document has the given schema.
    pub(crate) fn run(&self, programs: &[ProgramFiles], schema: &str) -> Result<ExitCode> {
        if self.json {
            console::needs_file(self.output)?;
        }
        let inputs = if self.json { self.inputs } else { &[] };
        let mut document = MergeDocument::of_conversion(inputs);
        let result = self.convert(programs, &mut document);
        if self.json {
            if result.is_ok() {
                document.note_rest_used();
            }
            document.print(schema, result.as_ref().err())?;
        }
        result.map(|()| ExitCode::SUCCESS)
    }

    /// A directory gets one profile for each program, a file one profile for all.
    fn convert(&self, programs: &[ProgramFiles], document: &mut MergeDocument) -> Result<()> {
        let form = self.written.form(self.output, &self.sample.forms())?;
        if form.is_some_and(|form| !matches!(form, OutputForm::SampleProf | OutputForm::Indexed | OutputForm::Text)) {
            let error = Error::usage("recordings of perf become a sample profile").in_file(self.output);
            return Err(error.with_hint("name the output .prof or .proftext"));
        }
        let is_directory = self.output.is_dir() || self.output.as_os_str().as_encoded_bytes().ends_with(b"/");
        let outputs = if is_directory { self.outputs_in_directory(programs, form)? } else { vec![self.output.into()] };
        for output in &outputs {
            self.written.guard(self.inputs, output, OutputForm::SampleProf, Some(Family::SampleProf))?;
        }
        let target = target::of_samples(self.consumer)?;
        let mut options = ProfileOptions::default();
        options.release = target.release;
        let mut contexts = ContextOptions::default();
        contexts.release = target.release;
        let contexts = self.contexts.then_some(&contexts);
        let mut profiles = Vec::new();
        for files in programs {
            let made = profgen::convert(self.inputs, files, &options, contexts, &limits::chosen())?;
            document.count_samples(&files.program, made.report);
            document.warn(&made.warnings);
            if !self.quiet {
                made.warnings.iter().for_each(console::warning);
            }
            profiles.push(made.profile);
        }
        if is_directory {
            std::fs::create_dir_all(self.output)
                .map_err(|source| Error::io("cannot create the directory", source).in_file(self.output))?;
        } else {
            profiles = vec![self.merge(profiles, target.release, document)?];
        }
        for (profile, output) in profiles.iter().zip(&outputs) {
            self.write(profile, output, form, target.release, document)?;
        }
        document.wrote(self.output, Family::SampleProf.name());
        Ok(())
    }

    /// Returns the profile of each program in the output directory.
    fn outputs_in_directory(&self, programs: &[ProgramFiles], form: Option<OutputForm>) -> Result<Vec<PathBuf>> {
        let extension = if form == Some(OutputForm::Text) { ".proftext" } else { ".prof" };
        let mut outputs: Vec<PathBuf> = Vec::new();
        for ProgramFiles { program, .. } in programs {
            let mut name = program.file_name().unwrap_or_default().to_os_string();
            name.push(extension);
            let output = self.output.join(name);
            if outputs.contains(&output) {
                let error = Error::usage("two programs have the same name").in_file(program);
                return Err(error.with_hint("convert the recordings once per program"));
            }
            outputs.push(output);
        }
        Ok(outputs)
    }

    /// Merges the profiles of several programs.
    fn merge(
        &self,
        profiles: Vec<SampleProfile>,
        release: Release,
        document: &mut MergeDocument,
    ) -> Result<SampleProfile> {
        let mut all = 0;
        let mut merger = Merger::new(&MergeOptions::of(Rules::of(release)));
        let mut profiles = profiles.into_iter();
        if profiles.len() == 1
            && let Some(only) = profiles.next()
        {
            return Ok(only);
        }
        for profile in profiles {
            all += profile.functions.len();
            merger.add(profile, 1, &mut |_, _| ())?;
        }
        let shared = all - merger.len();
        if shared != 0 {
            let functions = number_of(shared as u64, "function");
            let warning =
                Warning::new(format!("several programs have {functions} of the same name: their counts add up"))
                    .in_file(self.output);
            document.warn([&warning]);
            if !self.quiet {
                console::warning(&warning);
            }
        }
        Ok(merger.finish()?.profile)
    }

    fn write(
        &self,
        profile: &SampleProfile,
        output: &Path,
        form: Option<OutputForm>,
        release: Release,
        document: &mut MergeDocument,
    ) -> Result<()> {
        let text = (form == Some(OutputForm::Text)).then_some(sampleprof::Encoding::Text);
        let rules = Rules::of(release);
        let mut write = WriteOptions::default();
        self.sample.set_write_options(&mut write);
        write.rules = rules;
        write.encoding = self.sample.encoding(text).unwrap_or_else(|| profile.default_encoding(rules));
        let losses = sampleprof::write_file(profile, &write, self.strict, output)?;
        document.lose(&losses);
        if !self.quiet {
            console::losses(&losses, &[], output);
        }
        if !self.quiet && !self.json {
            let functions = number_of(profile.functions.len() as u64, "function");
            let inputs = inputs_of(self.inputs.len(), self.inputs.len());
            console::status(&format!("{}: {functions} from {inputs}", output.display()));
        }
        Ok(())
    }
}
