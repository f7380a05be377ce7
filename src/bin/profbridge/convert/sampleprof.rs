//! `convert` of LLVM sample profiles: another encoding.

use super::arguments::{ConvertArgs, ConvertWork};
use crate::merge_document::MergeDocument;
use crate::sample_files::SampleRun;
use crate::validate::refuse;
use profbridge::Result;
use profbridge::families::FailureMode;
use profbridge::instr::Remapping;

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
        let encoding = self.written.sample_encoding(work.form);
        let run = SampleRun {
            applied: None,
            inputs: work.inputs,
            output: &self.output,
            arguments: &self.sample,
            encoding,
            consumer: self.consumer.as_deref(),
            function: None,
            no_function: None,
            remapping: Remapping::default(),
            failure_mode: FailureMode::Any,
            salvage: false,
            allow_duplicates: false,
            threads: None,
            strict: self.strict,
            quiet: self.quiet,
            json: self.json,
        };
        self.gates().write(run.add_up(document)?, document)
    }
}
