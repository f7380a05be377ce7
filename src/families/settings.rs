//! The settings of a merge of files of any family.

use crate::bytes::Encoding as RawEncoding;
use crate::call_chains::SampleSource;
use crate::driver::output_form::OutputForm;
use crate::families::partial::PartialOptions;
use crate::families::plan::StackOutput;
use crate::families::stack_files::{StackMergeOptions, StackOptions};
use crate::families::stack_output::StackWriteOptions;
use crate::instr::cross_release::HashPolicy;
use crate::instr::encode::{OutputFormat, WriteOptions};
use crate::instr::file_merge::MergeOptions;
use crate::instr::resolved_target::ResolvedTarget;
use crate::iprof::{self, SectionKind};
use crate::sampleprof::{self, Encoding};
use std::path::PathBuf;

/// Everything that decides the result of a merge, apart from its inputs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MergeSettings {
    /// Where to write; `-` is standard output.
    pub output: PathBuf,
    /// The format of the output.
    pub form: OutputForm,
    /// Fail instead of dropping data.
    pub strict: bool,
    /// For a partial merge: the filters and renamings that were applied to the inputs, in words.
    pub partial: Option<Vec<String>>,
    /// The target of an LLVM profile; `None` lets the inputs select it.
    pub target: Option<ResolvedTarget>,
    /// The treatment of hashes that differ between releases.
    pub hashes: HashPolicy,
    /// How files of each family are read and merged.
    pub options: PartialOptions,
    /// How a result of each family is written.
    pub write: WriteSettings,
}

/// How a result of each family is written.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WriteSettings {
    /// Drop functions that never ran from an LLVM profile.
    pub sparse: bool,
    /// The encoding of a raw profile.
    pub raw: Option<RawEncoding>,
    /// Sample profiles. The merge sets the encoding.
    pub sample: sampleprof::WriteOptions,
    /// The encoding of a sample profile; `None` uses the default of the inputs.
    pub sample_encoding: Option<Encoding>,
    /// Documents.
    pub iprof: iprof::WriteOptions,
    /// Sort all entries of an iprof and number them from 0.
    pub canonical: bool,
    /// The sections of iprof files that become LLVM records.
    pub sections: Vec<SectionKind>,
    /// Stacks.
    pub stacks: StackWriteOptions,
}

impl MergeSettings {
    /// Returns the default settings for an output of a form.
    pub fn new(output: impl Into<PathBuf>, form: OutputForm) -> Self {
        Self {
            output: output.into(),
            form,
            strict: false,
            partial: None,
            target: None,
            hashes: HashPolicy::default(),
            options: PartialOptions::default(),
            write: WriteSettings {
                sparse: false,
                raw: None,
                sample: sampleprof::WriteOptions::default(),
                sample_encoding: None,
                iprof: iprof::WriteOptions::default(),
                canonical: false,
                sections: SectionKind::EACH.to_vec(),
                stacks: StackWriteOptions::new(StackOutput::of_form(form).unwrap_or(StackOutput::Collapsed)),
            },
        }
    }

    /// Returns the options for writing a merge of LLVM profiles.
    pub(super) fn instr_write(&self, options: &MergeOptions, target: &ResolvedTarget) -> WriteOptions {
        let mut write = WriteOptions::default();
        write.format = match (self.form, self.write.raw) {
            (OutputForm::Raw, Some(encoding)) => OutputFormat::Raw { encoding },
            (form, _) => target.target.format(form),
        };
        write.compress_by_name = true;
        write.sparse = self.write.sparse;
        write.strict = self.strict;
        write.filter = options.filter.clone();
        write.threads = options.threads;
        write
    }

    /// Returns the options for reading stacks.
    pub(super) fn stack_options(&self) -> StackOptions {
        let mut read = self.options.stacks.read.clone();
        if self.write.stacks.format == StackOutput::Iprof && read.recording.events.is_empty() {
            // An iprof has a section for exact call counts.
            read.recording.events.extend(SampleSource::CALLS);
        }
        read
    }

    /// Returns the options for merging stacks.
    pub(super) fn stack_merge(&self) -> StackMergeOptions {
        let (read, keeps_inputs) = (self.stack_options(), self.partial.is_some());
        StackMergeOptions { read, keeps_inputs, ..self.options.stacks.clone() }
    }

    /// Returns true if only some events of recordings are written.
    pub(super) fn selects_events(&self) -> bool {
        let read = &self.options.stacks.read;
        !self.write.stacks.selection.sources.is_empty() || read.recording.from.is_some() || read.recording.to.is_some()
    }
}
