//! The settings of a merge, from the command line.

use super::arguments::FILTERS;
use super::arguments::{MergeArgs, MergeWork, OPTIONS_OF_EACH};
use crate::bridged::BridgeArgs;
use crate::correlate::CorrelateArgs;
use crate::family_table;
use crate::iprof_files::IprofWriteArgs;
use crate::iprof_merge::IprofMergeArgs;
use crate::memprof::MemProfArgs;
use crate::profgen::FOR_RECORDINGS;
use crate::sample_files::{FOR_FINISHED, SampleArgs};
use crate::stack_write::{PprofArgs, WriteStackArgs};
use crate::stacks::{SELECTING, StackArgs};
use crate::target;
use crate::validate::{options_of, refuse};
use profbridge::families::plan::{MergePlan, StackOutput};
use profbridge::families::{FailureMode, MergeSettings, Merged, MergedProfile, OutputForm};
use profbridge::input::Family;
use profbridge::instr::Remapping;
use profbridge::sampleprof::{Encoding, FileMergeOptions, Filter};
use profbridge::{Error, Result};
use std::num::NonZeroUsize;

impl MergeArgs {
    /// Returns the settings of a merge.
    pub(super) fn settings(&self, plan: MergePlan, work: &MergeWork<'_>) -> Result<MergeSettings> {
        let form = work.form;
        let mut settings = MergeSettings::new(&self.output, form);
        (settings.strict, settings.hashes) = (self.strict, self.cross.hashes);
        settings.partial = self.partial.then(|| self.applied());
        settings.target = match plan.family() {
            Some(Family::SampleProf) => target::of_samples(self.consumer.as_deref())?,
            Some(Family::Iprof | Family::Stacks) => None,
            _ if form == OutputForm::MemProfYaml => None,
            _ => Some(self.target(work.inputs)?),
        };
        let options = &mut settings.options;
        options.instr = self.merge_options(form)?;
        options.instr.keep_vtable_names |= plan == MergePlan::Bridge(Family::Iprof);
        if plan.family() == Some(Family::SampleProf) {
            options.sample = self.sample_options(&options.instr.remapping)?;
        }
        options.iprof.read = crate::limits::iprof_options();
        options.iprof.read.threads = NonZeroUsize::new(self.num_threads);
        (options.iprof.scale, options.iprof.normalize) = self.iprof.scaling();
        (options.iprof.failure_mode, options.iprof.salvage) = (self.failure_mode, self.salvage);
        options.iprof.found.clone_from(&work.found);
        options.iprof.llvm = options.instr.clone();
        options.iprof.llvm.keep_vtable_names = true;
        options.iprof.trust = self.bridge.trust;
        options.iprof.to_iprof = self.bridge.to_iprof_options(self.iprof.on_branch_clash.unwrap_or_default());
        options.stacks.read = self.stacks.read_options();
        (options.stacks.failure_mode, options.stacks.salvage) = (self.failure_mode, self.salvage);
        let accepts_nothing = self.gates.allow_empty || self.partial;
        (options.iprof.accepts_nothing, options.stacks.accepts_nothing) = (accepts_nothing, accepts_nothing);
        options.stacks.allow_duplicates = self.allow_duplicates;
        options.stacks.pprof = self.write_stacks.pprof.merge_options();
        let write = &mut settings.write;
        write.sparse = self.sparse;
        self.sample.set_write_options(&mut write.sample);
        write.sample_encoding = self.sample.encoding(self.written.sample_encoding(form));
        if self.partial && !self.sample.names_encoding() {
            write.sample_encoding = Some(Encoding::ExtBinary);
        }
        write.iprof = self.iprof_write.options(NonZeroUsize::new(self.num_threads));
        write.canonical = self.iprof_write.canonical;
        self.write_stacks.set_options(&self.stacks, &mut write.stacks);
        Ok(settings)
    }

    /// Returns the options for reading and merging sample profiles.
    pub(super) fn sample_options(&self, remapping: &Remapping) -> Result<FileMergeOptions> {
        let mut options = self.sample.merge_options()?;
        (options.failure_mode, options.salvage) = (self.failure_mode, self.salvage);
        options.allow_duplicates = self.allow_duplicates;
        options.merge.remapping = remapping.clone();
        options.merge.filter = Filter::new(self.function.as_deref(), self.no_function.as_deref())?;
        options.threads = NonZeroUsize::new(self.num_threads);
        Ok(options)
    }

    /// Rejects options without effect on a merge.
    pub(super) fn refuse_for(&self, plan: MergePlan, work: &MergeWork<'_>) -> Result<()> {
        match plan {
            MergePlan::Stacks(StackOutput::Iprof) => {
                let hint = "name the output .collapsed or .pprof; the last merge can write an iprof";
                refuse(&["--partial"], "not for sampled stacks as an iprof", hint)?;
            }
            MergePlan::Bridge(_) => {
                let hint = "a partial merge has the format of its inputs; convert when you finish the merge";
                refuse(&["--partial"], "not for these inputs and this output", hint)?;
            }
            _ => {}
        }
        let meant =
            format!("not for {}", plan.family().map_or("LLVM profiles and iprof files", family_table::short_words));
        self.refuse_options_of(|family| !takes_options_of(plan, family), &meant)?;
        if plan.family() == Some(Family::Stacks) {
            self.stacks.refuse_without_effect(work.inputs)?;
        }
        match plan.family() {
            None => self.refuse_for_bridge(plan),
            Some(family) => {
                family_table::refuse_merge_options(family)?;
                self.refuse_for_family(family, plan, work.form)
            }
        }
    }

    /// Rejects options without effect on recordings.
    pub(super) fn refuse_for_recordings(&self) -> Result<()> {
        let meant = "not for recordings";
        let later = ["--function", "--no-function", "--remapping-file", "--salvage"];
        refuse(&later, meant, "use it in `profbridge merge` of the written profile")?;
        let hint = "make a profile of each recording, and use it in `profbridge merge` of these";
        refuse(&["--max-input-share"], meant, hint)?;
        if !matches!(self.failure_mode, FailureMode::Any) {
            refuse(&["--failure-mode"], meant, "omit it: a recording that cannot be read is an error")?;
        }
        family_table::refuse_merge_options(Family::SampleProf)?;
        self.refuse_options_of(|family| !matches!(family, Family::SampleProf | Family::Stacks), meant)?;
        let mut of_stacks = [options_of::<StackArgs>(), options_of::<WriteStackArgs>()].concat();
        of_stacks.retain(|option| !FOR_RECORDINGS.contains(&option.as_str()));
        refuse(&of_stacks, meant, OPTIONS_OF_EACH)?;
        if self.partial {
            refuse(&FOR_FINISHED, "not for partial merges", "use it when you finish the merge")?;
        }
        SampleArgs::refuse_for_recordings()
    }

    /// Rejects the options for files of some families.
    fn refuse_options_of(&self, is_refused: impl Fn(Family) -> bool, meant: &str) -> Result<()> {
        for family in [Family::SampleProf, Family::MemProf, Family::Instr, Family::Stacks, Family::Iprof] {
            if !is_refused(family) {
                continue;
            }
            let options = match family {
                Family::SampleProf => {
                    SampleArgs::refuse_for_others()?;
                    continue;
                }
                Family::MemProf => options_of::<MemProfArgs>(),
                Family::Iprof => {
                    [options_of::<IprofMergeArgs>(), options_of::<IprofWriteArgs>(), options_of::<BridgeArgs>()]
                        .concat()
                }
                Family::Stacks => [options_of::<StackArgs>(), options_of::<WriteStackArgs>()].concat(),
                _ => options_of::<CorrelateArgs>(),
            };
            refuse(&options, meant, OPTIONS_OF_EACH)?;
        }
        Ok(())
    }

    fn refuse_for_bridge(&self, plan: MergePlan) -> Result<()> {
        if self.iprof.scales() {
            return Err(Error::usage("--scale and --normalize require that all inputs and the output are iprof files"));
        }
        if plan == MergePlan::Bridge(Family::Iprof) {
            for option in ["--function", "--no-function", "--sparse"] {
                let (meant, hint) = family_table::refused(Family::Iprof, option);
                refuse(&[option], meant, hint)?;
            }
        }
        Ok(())
    }

    fn refuse_for_family(&self, family: Family, plan: MergePlan, form: OutputForm) -> Result<()> {
        let later = "use it when you finish the merge";
        match family {
            Family::SampleProf if self.partial => {
                refuse(&FOR_FINISHED, "not for partial merges", later)?;
                refuse(
                    &["--salvage"],
                    "not for partial merges of sample profiles",
                    "salvage each input first with `merge --failure-mode=warn --salvage`",
                )
            }
            Family::SampleProf => Ok(()),
            Family::Iprof if self.partial => {
                let scales = ["--scale".to_string(), "--normalize".to_string()];
                let options = [&scales[..], &options_of::<IprofWriteArgs>(), &["--salvage".to_string()]].concat();
                refuse(&options, "not for partial merges", later)
            }
            Family::Iprof => Ok(()),
            Family::Stacks => {
                if self.partial {
                    let options = [&SELECTING[..], &["--salvage"]].concat();
                    refuse(&options, "not for partial merges", later)?;
                    refuse(&options_of::<PprofArgs>(), "not for partial merges", later)?;
                }
                let MergePlan::Stacks(format) = plan else { return Ok(()) };
                self.write_stacks.refuse_for(format)
            }
            _ if form == OutputForm::MemProfYaml && !self.partial => {
                let others = ["--sparse", "--show", "--format-version", "--for"];
                refuse(&others, "not for a memory profile in YAML", "name the output .profdata")?;
                refuse(&FILTERS, "not for memory profiles", "omit the option")
            }
            _ => {
                if form == OutputForm::Indexed {
                    return Ok(());
                }
                refuse(&["--partial"], &format!("not for {}", form.words()), "name the output .profdata")
            }
        }
    }

    /// Rejects function filters: a memory profile stores hashes instead of names, and is written completely.
    pub(super) fn refuse_filters_of_memory(&self, merged: &Merged) -> Result<()> {
        let MergedProfile::Instr { report, write, .. } = &merged.profile else { return Ok(()) };
        if report.profile.memprof.is_none() || !(self.partial || write.format.holds_memory()) {
            return Ok(());
        }
        let hint = "omit the option: memory profiles contain hashes instead of names";
        refuse(&FILTERS, "not for memory profiles", hint)
    }
}

/// Returns true if options for files of a family can affect a merge.
fn takes_options_of(plan: MergePlan, family: Family) -> bool {
    let is_llvm = matches!(family, Family::Instr | Family::MemProf);
    match plan {
        MergePlan::Family(Family::Instr) => is_llvm,
        MergePlan::Bridge(_) => is_llvm || family == Family::Iprof,
        plan => plan.family() == Some(family),
    }
}
