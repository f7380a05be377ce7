//! `merge` of iprof files.

use super::arguments::{MergeArgs, MergeWork, OPTIONS_OF_EACH};
use super::option::MergeOption;
use crate::iprof_merge::IprofMerge;
use crate::merge_document::MergeDocument;
use crate::merge_gates::Sum;
use crate::refuse::refuse;
use profbridge::Result;
use profbridge::families::OutputForm;
use profbridge::families::merge::iprof::IprofMergeOptions;
use profbridge::instr::Release;
use std::num::NonZeroUsize;

impl MergeArgs {
    /// Adds up iprof files.
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
            (self.iprof_write.asks(), "how it is written"),
            (self.salvage, "--salvage"),
        ];
        if self.partial {
            refuse(&later, "for the end of the merge", "give it when the parts are merged")?;
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

    /// Refuses what chooses among the functions of LLVM profiles where an iprof is written.
    pub(super) fn refuse_filters_of_iprof(&self) -> Result<()> {
        for option in [MergeOption::Function, MergeOption::NoFunction, MergeOption::Sparse] {
            let (meant, hint) = refused_of_iprof(option);
            refuse(&[(option.is_given(self), option.name())], meant, hint)?;
        }
        Ok(())
    }

    /// Refuses what only iprof files have, and what leads to them.
    pub(crate) fn refuse_iprof_options(&self, meant: &str) -> Result<()> {
        let given = [self.iprof.given(), self.iprof_write.given(), self.bridge.given()].concat();
        refuse(&given, meant, OPTIONS_OF_EACH)
    }
}

/// Options that choose records of LLVM profiles, or how they are written,
/// would be without effect on iprof files, and the result another than the
/// one asked for.
pub(crate) fn refused_of_iprof(option: MergeOption) -> (&'static str, &'static str) {
    let hint = match option {
        MergeOption::Function => "`profbridge convert --only` keeps packages, classes or methods",
        MergeOption::NoFunction => "`profbridge convert --exclude` leaves out packages, classes or methods",
        MergeOption::RemappingFile => "names of an iprof are not changed",
        MergeOption::Sparse => "`profbridge convert --prune` leaves out methods and types that no entry needs",
        MergeOption::Show => "`profbridge show` shows the result",
        MergeOption::For | MergeOption::FormatVersion | MergeOption::WritePrevVersion => {
            "every GraalVM that takes iprof files reads the result; `profbridge convert --to-version` writes another \
             version"
        }
        MergeOption::Partial | MergeOption::KeepVtableSymbols | MergeOption::Text => {
            "`profbridge merge --help` has the options of iprof files under headings of their own"
        }
    };
    ("for LLVM profiles, not for iprof files", hint)
}
