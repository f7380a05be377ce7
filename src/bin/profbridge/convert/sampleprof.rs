//! `convert` of LLVM sample profiles: another encoding.

use super::arguments::{ConvertArgs, ConvertWork};
use crate::merge_document::MergeDocument;
use crate::merge_report::Messages;
use crate::profgen::RecordingsRun;
use crate::target;
use crate::validate::refuse;
use profbridge::Result;
use profbridge::families::plan::MergePlan;
use profbridge::families::{MergeSettings, OutputForm};
use profbridge::input::{Family, Input};
use profbridge::instr::resolved_target::ResolvedTarget;
use std::path::PathBuf;

impl ConvertArgs {
    /// Rejects options that sample profiles do not support, except one.
    pub(super) fn refuse_for_samples(&self, accepted: &str) -> Result<()> {
        let own = vec![
            (self.sparse, "--sparse"),
            (self.format_version.is_some(), "--format-version"),
            (self.raw_version.is_some(), "--raw-version"),
        ];
        let others = [self.memprof.given(), self.bridge.given(), self.stacks.given(), self.write_stacks.given()];
        let iprof = [self.iprof.given(), self.iprof_write.given()].concat();
        let mut given = [own, others.concat(), iprof].concat();
        given.retain(|(_, option)| *option != accepted);
        refuse(
            &given,
            "not for sample profiles",
            "use --sample-format to choose the encoding, and --for to choose the release",
        )
    }

    /// Makes the sample profiles of recorded programs.
    pub(super) fn convert_recordings(
        &self,
        inputs: &[Input],
        programs: &[PathBuf],
        form: OutputForm,
        document: &mut MergeDocument,
    ) -> Result<()> {
        self.refuse_for_samples("--binary")?;
        self.sample.refuse_for_recordings()?;
        let run = RecordingsRun {
            inputs,
            programs,
            arguments: &self.profgen,
            written: &self.written,
            gates: &self.gates(),
            messages: Messages::new(self.quiet, self.json),
            quiet: self.quiet,
        };
        run.run(&self.sample_settings(form)?, document)
    }

    /// Writes a sample profile in another encoding.
    pub(crate) fn convert_samples(&self, work: &ConvertWork<'_>, document: &mut MergeDocument) -> Result<()> {
        self.refuse_for_samples("")?;
        let messages = Messages::new(self.quiet, self.json);
        let settings = self.sample_settings(work.form)?;
        self.merge_and_write(MergePlan::Family(Family::SampleProf), work, &settings, messages, document)
    }

    fn sample_settings(&self, form: OutputForm) -> Result<MergeSettings> {
        let mut settings = self.settings(form)?;
        let target = target::of_samples(self.consumer.as_deref())?;
        settings.target = Some(ResolvedTarget::requested(target, false));
        settings.options.sample = self.sample.merge_options()?;
        self.sample.set_write_options(&mut settings.write.sample);
        settings.write.sample_encoding = self.sample.encoding(self.written.sample_encoding(form));
        Ok(settings)
    }
}
