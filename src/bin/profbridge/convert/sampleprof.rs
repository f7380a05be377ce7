//! `convert` of LLVM sample profiles: another encoding.

use super::arguments::{ConvertArgs, ConvertWork};
use crate::bridged::BridgeArgs;
use crate::iprof_convert::IprofConvertArgs;
use crate::iprof_files::IprofWriteArgs;
use crate::memprof::MemProfArgs;
use crate::merge_document::MergeDocument;
use crate::merge_report::Messages;
use crate::profgen::{FOR_RECORDINGS, RecordingsRun};
use crate::sample_files::SampleArgs;
use crate::stack_write::WriteStackArgs;
use crate::stacks::StackArgs;
use crate::target;
use crate::validate::{options_of, refuse};
use profbridge::Result;
use profbridge::families::plan::MergePlan;
use profbridge::families::{MergeSettings, OutputForm};
use profbridge::input::{Family, Input};
use std::path::PathBuf;

impl ConvertArgs {
    /// Rejects options that sample profiles do not support, except some.
    pub(super) fn refuse_for_samples(&self, accepted: &[&str]) -> Result<()> {
        let own = ["--sparse", "--format-version", "--raw-version"].map(String::from).to_vec();
        let stacks = [options_of::<StackArgs>(), options_of::<WriteStackArgs>()].concat();
        let iprof = [options_of::<IprofConvertArgs>(), options_of::<IprofWriteArgs>()].concat();
        let others = [own, options_of::<MemProfArgs>(), options_of::<BridgeArgs>(), iprof].concat();
        let of_encoding = "use --sample-format to choose the encoding, and --for to choose the release";
        for (mut options, hint) in [(stacks, "omit it, or write a pprof or collapsed stacks"), (others, of_encoding)] {
            options.retain(|option| !accepted.contains(&option.as_str()));
            refuse(&options, "not for sample profiles", hint)?;
        }
        Ok(())
    }

    /// Makes the sample profiles of recorded programs.
    pub(super) fn convert_recordings(
        &self,
        inputs: &[Input],
        programs: &[PathBuf],
        form: OutputForm,
        document: &mut MergeDocument,
    ) -> Result<()> {
        self.refuse_for_samples(&FOR_RECORDINGS)?;
        SampleArgs::refuse_for_recordings()?;
        let run = RecordingsRun {
            inputs,
            programs,
            arguments: &self.profgen,
            written: &self.written,
            gates: &self.gates(),
            messages: Messages::new(self.quiet, self.json),
            quiet: self.quiet,
        };
        let mut settings = self.sample_settings(form)?;
        settings.options.stacks.read = self.stacks.read_options();
        run.run(&settings, document)
    }

    /// Writes a sample profile in another encoding.
    pub(crate) fn convert_samples(&self, work: &ConvertWork<'_>, document: &mut MergeDocument) -> Result<()> {
        self.refuse_for_samples(&[])?;
        let messages = Messages::new(self.quiet, self.json);
        let settings = self.sample_settings(work.form)?;
        self.merge_and_write(MergePlan::Family(Family::SampleProf), work, &settings, messages, document)
    }

    fn sample_settings(&self, form: OutputForm) -> Result<MergeSettings> {
        let mut settings = self.settings(form)?;
        settings.target = target::of_samples(self.consumer.as_deref())?;
        settings.options.sample = self.sample.merge_options()?;
        self.sample.set_write_options(&mut settings.write.sample);
        settings.write.sample_encoding = self.sample.encoding(self.written.sample_encoding(form));
        Ok(settings)
    }
}
