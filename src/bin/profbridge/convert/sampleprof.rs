//! `convert` of LLVM sample profiles: another encoding.

use super::arguments::{ConvertArgs, ConvertWork};
use crate::merge_document::MergeDocument;
use crate::refuse::refuse;
use crate::sample_files::SampleRun;
use profbridge::Result;
use profbridge::families::{FailureMode, OutputForm};
use profbridge::instr::Remapping;
use profbridge::sampleprof;

impl ConvertArgs {
    /// Refuses what sample profiles do not have.
    pub(super) fn refuse_for_samples(&self) -> Result<()> {
        let own = vec![
            (self.sparse, "--sparse"),
            (self.format_version.is_some(), "--format-version"),
            (self.raw_version.is_some(), "--raw-version"),
        ];
        let others = [self.memprof.given(), self.bridge.given(), self.stacks.given(), self.write_stacks.given()];
        let iprof = [self.iprof.given(), self.iprof_write.given()].concat();
        let given = [own, others.concat(), iprof].concat();
        refuse(&given, "not for sample profiles", "--sample-format chooses the encoding, --for the release")
    }

    /// Writes a sample profile in another encoding.
    pub(crate) fn convert_samples(&self, work: &ConvertWork<'_>, document: &mut MergeDocument) -> Result<()> {
        self.refuse_for_samples()?;
        let encoding = (work.form == OutputForm::Text).then_some(sampleprof::Encoding::Text);
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
