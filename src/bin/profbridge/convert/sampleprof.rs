//! `convert` of LLVM sample profiles: another encoding.

use super::arguments::{ConvertArgs, ConvertWork};
use crate::merge_document::MergeDocument;
use crate::merge_report::Messages;
use crate::target;
use crate::validate::refuse;
use profbridge::Result;
use profbridge::families::plan::MergePlan;
use profbridge::input::Family;
use profbridge::instr::resolved_target::ResolvedTarget;

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

    /// Writes a sample profile in another encoding.
    pub(crate) fn convert_samples(&self, work: &ConvertWork<'_>, document: &mut MergeDocument) -> Result<()> {
        self.refuse_for_samples("")?;
        let mut settings = self.settings(work.form)?;
        let target = target::of_samples(self.consumer.as_deref())?;
        settings.target = Some(ResolvedTarget::requested(target, false));
        settings.options.sample = self.sample.merge_options()?;
        self.sample.set_write_options(&mut settings.write.sample);
        settings.write.sample_encoding = self.sample.encoding(self.written.sample_encoding(work.form));
        let messages = Messages::new(self.quiet, self.json);
        self.merge_and_write(MergePlan::Family(Family::SampleProf), work, &settings, messages, document)
    }
}
