//! `convert` of an iprof that stays one.

use super::arguments::for_llvm;
use super::arguments::{ConvertArgs, ConvertWork};
use crate::bridged::BridgeArgs;
use crate::iprof_convert::{self, Allowed};
use crate::merge_document::MergeDocument;
use crate::stack_write::WriteStackArgs;
use crate::stacks::StackArgs;
use crate::validate::{options_of, refuse};
use profbridge::Result;
use profbridge::input::Family;

impl ConvertArgs {
    /// Writes another version or a part of an iprof.
    pub(crate) fn convert_iprof(&self, work: &ConvertWork<'_>, document: &mut MergeDocument) -> Result<()> {
        self.refuse_for_iprof()?;
        let input = work.only_input()?;
        let allowed = Allowed { empty: self.allow_empty, losses: !self.strict };
        iprof_convert::run(input, &self.output, &self.iprof, &self.iprof_write, allowed, document)?;
        document.wrote(&self.output, Family::Iprof.name());
        Ok(())
    }

    /// Rejects options for LLVM profiles, because they have no effect on an iprof.
    fn refuse_for_iprof(&self) -> Result<()> {
        let others =
            [for_llvm(), options_of::<BridgeArgs>(), options_of::<StackArgs>(), options_of::<WriteStackArgs>()];
        refuse(
            &others.concat(),
            "not for conversions from iprof to iprof",
            "use --to-version to choose the version, and --prune to reduce the size",
        )
    }
}
