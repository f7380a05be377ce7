//! `merge` of iprof files.

use super::arguments::{MergeArgs, MergeWork, OPTIONS_OF_EACH};
use super::option::MergeOption;
use crate::iprof_merge::IprofMerge;
use crate::merge_document::MergeDocument;
use crate::merge_gates::Sum;
use crate::validate::refuse;
use profbridge::Result;
use profbridge::families::OutputForm;
use profbridge::families::merge::iprof::IprofMergeOptions;
use profbridge::instr::Release;
use std::num::NonZeroUsize;

impl MergeArgs {
    /// Merges iprof files.
    pub(crate) fn merge_iprof<'a>(
        &'a self,
        work: &'a MergeWork<'a>,
        document: &mut MergeDocument,
    ) -> Result<Box<dyn Sum + 'a>> {
        let mut options = IprofMergeOptions::default();
        options.read = crate::limits::iprof_options();
        (options.scale, options.normalize) = self.iprof.scaling();
        options.failure_mode = self.failure_mode.into();
        options.salvage = self.salvage;
        options.found.clone_from(&work.found);
        options.llvm = self.merge_options(Release::default(), OutputForm::Iprof)?;
        options.llvm.keep_vtable_names = true;
        options.trust = self.bridge.trust();
        options.to_iprof = self.bridge.to_iprof_options(self.iprof.branch_clash());
        let later = [
            (self.iprof.scales(), "--scale or --normalize"),
            (self.iprof_write.asks(), "an option for writing"),
            (self.salvage, "--salvage"),
        ];
        if self.partial {
            refuse(&later, "not for partial merges", "use it when you finish the merge")?;
        }
        let merge = IprofMerge {
            inputs: work.inputs,
            partial: self.partial,
            output: &self.output,
            options,
            write: &self.iprof_write,
            strict: self.strict,
            json: self.json,
            quiet: self.quiet,
            threads: NonZeroUsize::new(self.num_threads),
        };
        merge.add_up(document)
    }

    /// Rejects options that select functions of LLVM profiles, because the output is an iprof.
    pub(super) fn refuse_filters_of_iprof(&self) -> Result<()> {
        for option in [MergeOption::Function, MergeOption::NoFunction, MergeOption::Sparse] {
            let (meant, hint) = refused_of_iprof(option);
            refuse(&[(option.is_given(self), option.name())], meant, hint)?;
        }
        Ok(())
    }

    /// Rejects options that only apply to iprof files and to conversions to them.
    pub(crate) fn refuse_iprof_options(&self, meant: &str) -> Result<()> {
        let given = [self.iprof.given(), self.iprof_write.given(), self.bridge.given()].concat();
        refuse(&given, meant, OPTIONS_OF_EACH)
    }
}

/// Returns the message for options that select records or versions of LLVM profiles, because they have no effect on
/// iprof files.
pub(crate) fn refused_of_iprof(option: MergeOption) -> (&'static str, &'static str) {
    let hint = match option {
        MergeOption::Function => "use `profbridge convert --only` to keep packages, classes or methods",
        MergeOption::NoFunction => "use `profbridge convert --exclude` to drop packages, classes or methods",
        MergeOption::RemappingFile => "omit it: names in iprof files cannot be changed",
        MergeOption::Sparse => "use `profbridge convert --prune` to drop methods and types that no entry uses",
        MergeOption::Show => "use `profbridge show` to show the output",
        MergeOption::For | MergeOption::FormatVersion | MergeOption::WritePrevVersion => {
            "every GraalVM with iprof support reads the output; use `profbridge convert --to-version` to write another \
             version"
        }
        MergeOption::Partial | MergeOption::KeepVtableSymbols | MergeOption::Text => {
            "`profbridge merge --help` lists the options of iprof files"
        }
    };
    ("for LLVM profiles, not for iprof files", hint)
}
