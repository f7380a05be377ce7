//! The plan of a merge: the family whose merge is used, and the output format. It does not depend on the order of inputs
//! that can be merged. Of others, the first input whose family has the output format decides.

use crate::driver::output_form::OutputForm;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::input::{Family, Format, Input};
use std::path::Path;

/// The output format of stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StackOutput {
    /// An iprof with `samplingProfiles`.
    Iprof,
    /// Collapsed text.
    Collapsed,
    /// pprof, compressed unless the name ends in `.pb`.
    Pprof,
}

impl StackOutput {
    /// The form of an output, if it is one that stacks have.
    pub fn of_form(form: OutputForm) -> Option<Self> {
        match form {
            OutputForm::Iprof => Some(Self::Iprof),
            OutputForm::Collapsed => Some(Self::Collapsed),
            OutputForm::Pprof => Some(Self::Pprof),
            _ => None,
        }
    }
}

/// Which merge takes the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MergePlan {
    /// The merge of a family, which is also the family of the output. [`Family::Instr`] merges both instrumentation and
    /// memory profiles of LLVM.
    Family(Family),
    /// Sources of stacks.
    Stacks(StackOutput),
    /// Inputs of LLVM and iprof files, or of one into the other: through the
    /// bridge, into the family named.
    Bridge(Family),
}

impl MergePlan {
    /// Returns the merge for inputs of unknown formats, such as empty and damaged files: the family of the output's
    /// form, if it belongs to one family. Its reader reports the errors of the inputs.
    fn of_form(form: OutputForm) -> Option<Self> {
        match form {
            OutputForm::SampleProf => Some(Self::Family(Family::SampleProf)),
            // An iprof may come through the bridge.
            OutputForm::Iprof => None,
            form => StackOutput::of_form(form).map(Self::Stacks),
        }
    }

    /// The family whose merge it is; none where several meet.
    pub fn family(self) -> Option<Family> {
        match self {
            Self::Family(family) => Some(family),
            Self::Stacks(_) => Some(Family::Stacks),
            Self::Bridge(_) => None,
        }
    }

    /// Returns the output format; `said` is that of the file extension or of the caller.
    pub fn form(self, said: Option<OutputForm>) -> OutputForm {
        match self {
            Self::Family(Family::Iprof) | Self::Stacks(StackOutput::Iprof) | Self::Bridge(Family::Iprof) => {
                OutputForm::Iprof
            }
            Self::Stacks(StackOutput::Collapsed) => OutputForm::Collapsed,
            Self::Stacks(StackOutput::Pprof) => OutputForm::Pprof,
            Self::Family(family) => said.unwrap_or_else(|| default_form(family)),
            Self::Bridge(_) => said.unwrap_or(OutputForm::Indexed),
        }
    }
}

/// A family that is written only in its own formats.
struct FixedFamily {
    family: Family,
    /// The formats of the family's profiles, the default first.
    forms: &'static [OutputForm],
    /// The hint for other formats.
    hint: &'static str,
}

/// Families that are written only in their own formats. A file of such a family determines the family of the merge.
const FIXED_FAMILIES: &[FixedFamily] = &[FixedFamily {
    family: Family::SampleProf,
    forms: &[OutputForm::Indexed, OutputForm::Text, OutputForm::SampleProf],
    hint: "name the output .proftext or .profdata",
}];

/// Returns true if a family is written only in its own formats.
pub fn stays(family: Family) -> bool {
    FIXED_FAMILIES.iter().any(|settled| settled.family == family)
}

/// Returns true if a family can be written in a format.
fn has_form(family: Family, form: OutputForm) -> bool {
    match (family, FIXED_FAMILIES.iter().find(|settled| settled.family == family)) {
        (_, Some(settled)) => settled.forms.contains(&form),
        (Family::Stacks, None) => StackOutput::of_form(form).is_some(),
        _ => !matches!(form, OutputForm::Collapsed | OutputForm::Pprof | OutputForm::SampleProf),
    }
}

/// Returns the default output format of a family.
fn default_form(family: Family) -> OutputForm {
    let settled = FIXED_FAMILIES.iter().find(|settled| settled.family == family);
    settled.and_then(|settled| settled.forms.first().copied()).unwrap_or(OutputForm::Indexed)
}

/// The caller's settings for the output.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct MergeRequest<'a> {
    /// Where to write.
    pub output: &'a Path,
    /// The requested format; if there is none, the file extension selects it.
    pub form: Option<OutputForm>,
    /// The requested family, if no format was requested: [`Family::Instr`] or [`Family::Iprof`].
    pub to: Option<Family>,
    /// Standard input holds stacks, whatever it looks like.
    pub stdin_is_stacks: bool,
}

impl<'a> MergeRequest<'a> {
    /// Creates the settings for a path, without a requested format.
    pub fn new(output: &'a Path) -> Self {
        Self { output, form: None, to: None, stdin_is_stacks: false }
    }

    /// Returns the merge of the inputs. Files that are empty, damaged or not profiles are passed to the readers, which
    /// report them.
    ///
    /// # Errors
    ///
    /// Usage for inputs that cannot be written in the output format, for inputs that cannot be merged, and if neither
    /// the inputs nor the output determine the format.
    pub fn plan(&self, inputs: &[Input]) -> Result<MergePlan> {
        let form = OutputForm::choose(self.output, self.form)?;
        // An empty file belongs to the family of the others, with any name.
        let is_empty = |input: &Input| input.format().is_ok_and(|format| format == Format::Empty);
        let all_empty = inputs.iter().all(is_empty);
        let family_of = |input: &Input| self.family(input).filter(|_| all_empty || !is_empty(input));
        let first = |family: Family| inputs.iter().find(|input| family_of(input) == Some(family));
        // An iprof merges with LLVM profiles and with stacks.
        let mut deciding = inputs.iter().filter_map(family_of).filter(|family| *family != Family::Iprof);
        let decided = deciding.clone().find(|family| form.is_none_or(|form| has_form(*family, form)));
        let decided = decided.or_else(|| deciding.next());
        if let Some(settled) = FIXED_FAMILIES.iter().find(|settled| decided == Some(settled.family)) {
            return self.fixed_family_plan(settled, form);
        }
        if let Some(input) = first(Family::Stacks).filter(|_| decided == Some(Family::Stacks)) {
            return self.stack_output(inputs, input, form).map(MergePlan::Stacks);
        }
        let form = form.map(|form| form.of_inputs(inputs, self.output)).transpose()?;
        let mut families = inputs.iter().filter_map(family_of).peekable();
        if families.peek().is_none()
            && let Some(plan) = form.and_then(MergePlan::of_form)
        {
            return Ok(plan);
        }
        let all_iprof = families.peek().is_some() && families.all(|family| family == Family::Iprof);
        match form.and_then(StackOutput::of_form) {
            Some(output @ (StackOutput::Collapsed | StackOutput::Pprof)) if all_iprof => {
                return Ok(MergePlan::Stacks(output));
            }
            _ => {}
        }
        let has_iprof = first(Family::Iprof).is_some();
        self.refuse_form(form, has_iprof)?;
        let target = self.target(form, has_iprof, all_iprof)?;
        Ok(match target {
            Family::Iprof if all_iprof => MergePlan::Family(Family::Iprof),
            Family::Instr if !has_iprof => MergePlan::Family(Family::Instr),
            target => MergePlan::Bridge(target),
        })
    }

    fn family(&self, input: &Input) -> Option<Family> {
        if self.stdin_is_stacks && input.is_stdin() {
            return Some(Family::Stacks);
        }
        // The reader reports files that cannot be opened.
        input.family().ok().flatten()
    }

    /// The profiles keep their family.
    fn fixed_family_plan(&self, settled: &FixedFamily, form: Option<OutputForm>) -> Result<MergePlan> {
        match form.filter(|form| !settled.forms.contains(form)) {
            None => Ok(MergePlan::Family(settled.family)),
            Some(form) => Err(form.refuse_for(settled.family.words(), self.output, settled.hint)),
        }
    }

    fn stack_output(&self, inputs: &[Input], input: &Input, form: Option<OutputForm>) -> Result<StackOutput> {
        if let Some(form) = form {
            let found = StackOutput::of_form(form);
            return found.ok_or_else(|| form.refuse_for(Family::Stacks.words(), self.output, stack_outputs(inputs)));
        }
        let has = |format: Format| inputs.iter().any(|input| input.format().is_ok_and(|found| found == format));
        if has(Format::Pprof) {
            return Ok(StackOutput::Pprof);
        }
        if has(Format::Collapsed) {
            return Ok(StackOutput::Collapsed);
        }
        Err(Error::usage("cannot choose an output format for the stacks")
            .in_file(&input.path)
            .with_hint(stack_outputs(inputs)))
    }

    /// Rejects forms that cannot be written from LLVM profiles and iprof files.
    fn refuse_form(&self, form: Option<OutputForm>, has_iprof: bool) -> Result<()> {
        let Some(form) = form else { return Ok(()) };
        let (words, hint) = match (form, has_iprof) {
            (OutputForm::Collapsed | OutputForm::Pprof, false) => {
                (Family::Instr.words(), "name the output .profdata, .proftext or .iprof")
            }
            (OutputForm::Collapsed | OutputForm::Pprof, true) => {
                ("LLVM profiles and iprof files", "merge them to an iprof first")
            }
            (OutputForm::SampleProf, _) => (Family::Instr.words(), "name the output .profdata or .proftext"),
            (OutputForm::MemProfYaml, true) => (Family::Iprof.words(), "name the output .iprof or .profdata"),
            _ => return Ok(()),
        };
        Err(form.refuse_for(words, self.output, hint))
    }

    /// The family to write where LLVM's and iprof files meet.
    fn target(&self, form: Option<OutputForm>, has_iprof: bool, all_iprof: bool) -> Result<Family> {
        let by_form = form.map(|form| if form == OutputForm::Iprof { Family::Iprof } else { Family::Instr });
        let uniform = match (has_iprof, all_iprof) {
            (true, true) => Some(Family::Iprof),
            (false, _) => Some(Family::Instr),
            (true, false) => None,
        };
        by_form
            .or(self.to)
            .or(uniform)
            .ok_or_else(|| Error::usage("the inputs are LLVM profiles and iprof files").with_hint(Hint::ChooseFamily))
    }
}

/// Returns the hint for outputs that stacks do not have. Only stacks of Java become an iprof.
pub fn stack_outputs(inputs: &[Input]) -> Hint {
    let has = |format: Format| inputs.iter().any(|input| input.format().is_ok_and(|found| found == format));
    if has(Format::PerfData) {
        return Hint::StacksOrProgram;
    }
    match inputs.iter().all(|input| matches!(input.format(), Ok(Format::Pprof))) {
        true => "name the output .collapsed or .pprof".into(),
        false => "name the output .collapsed or .pprof, or .iprof for Java unless the merge is partial".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [(&str, &[u8]); 9] = [
        ("raw", b"\x81rforpl\xff"),
        ("text", b":ir\nmain\n1\n1\n5\n"),
        ("sample", b"foo:10:1\n 1: 5\n"),
        ("iprof", b"{\"version\":\"1.0.0\",\"types\":[]}"),
        ("collapsed", b"a;b 1\nc;d 2\n"),
        ("pprof", &[0x0a, 4, 0x08, 1, 0x10, 2, 0x12, 4, 0x0a, 2, 1, 2]),
        ("jfr", b"FLR\0\0\x02\0\x01"),
        ("empty", b""),
        ("prose", b"no profile at all\n"),
    ];

    fn plans(names: &[&str], output: &str) -> Vec<Option<MergePlan>> {
        let folder = tempfile::tempdir().unwrap();
        let mut inputs: Vec<Input> = names
            .iter()
            .map(|name| {
                let (_, content) = FILES.iter().find(|(known, _)| known == name).unwrap();
                std::fs::write(folder.path().join(name), content).unwrap();
                Input::new(folder.path().join(name))
            })
            .collect();
        let mut plan = || {
            inputs.rotate_left(1);
            MergeRequest::new(Path::new(output)).plan(&inputs).ok()
        };
        (0..names.len()).map(|_| plan()).collect()
    }

    #[test]
    fn the_first_input_with_the_output_format_decides_if_families_do_not_merge() {
        let (instr, samples) = (MergePlan::Family(Family::Instr), MergePlan::Family(Family::SampleProf));
        let cases: [(&[&str], &str, MergePlan); 7] = [
            (&["raw", "sample"], "a.profdata", instr),
            (&["sample", "raw"], "a.profdata", samples),
            (&["empty", "prose", "raw", "sample"], "-", instr),
            (&["raw", "sample"], "a.afdo", samples),
            (&["jfr", "raw"], "a.profdata", instr),
            (&["raw", "jfr"], "a.pprof", MergePlan::Stacks(StackOutput::Pprof)),
            (&["iprof", "jfr", "raw"], "a.iprof", MergePlan::Stacks(StackOutput::Iprof)),
        ];
        for (names, output, expected) in cases {
            assert_eq!(plans(names, output).last(), Some(&Some(expected)), "{names:?} to {output}");
        }
    }

    #[test]
    fn any_order_of_inputs_gives_the_same_plan() {
        let cases: [(&[&str], &str, Option<MergePlan>); 27] = [
            (&["raw", "text", "empty"], "-", Some(MergePlan::Family(Family::Instr))),
            (&["sample", "empty"], "-", Some(MergePlan::Family(Family::SampleProf))),
            (&["iprof", "iprof", "empty"], "-", Some(MergePlan::Family(Family::Iprof))),
            (&["iprof", "raw"], "-", None),
            (&["iprof", "raw"], "a.profdata", Some(MergePlan::Bridge(Family::Instr))),
            (&["iprof", "raw"], "a.iprof.gz", Some(MergePlan::Bridge(Family::Iprof))),
            (&["iprof"], "a.collapsed", Some(MergePlan::Stacks(StackOutput::Collapsed))),
            (&["collapsed", "iprof"], "a.iprof", Some(MergePlan::Stacks(StackOutput::Iprof))),
            (&["collapsed", "jfr"], "-", Some(MergePlan::Stacks(StackOutput::Collapsed))),
            (&["collapsed", "pprof", "jfr"], "-", Some(MergePlan::Stacks(StackOutput::Pprof))),
            (&["jfr"], "-", None),
            (&["pprof"], "a.profdata", None),
            (&["empty"], "-", Some(MergePlan::Family(Family::Instr))),
            (&["empty", "empty"], "a.pprof", Some(MergePlan::Stacks(StackOutput::Pprof))),
            (&["prose", "empty"], "a.pprof", Some(MergePlan::Stacks(StackOutput::Pprof))),
            (&["prose"], "a.afdo", Some(MergePlan::Family(Family::SampleProf))),
            (&["prose", "empty"], "a.iprof", Some(MergePlan::Bridge(Family::Iprof))),
            (&["prose"], "a.profdata", Some(MergePlan::Family(Family::Instr))),
            (&["prose", "raw"], "a.afdo", None),
            (&["raw"], "a.collapsed", None),
            (&["raw", "iprof"], "a.pprof", None),
            (&["sample"], "a.iprof", None),
            (&["sample"], "a.profraw", None),
            (&["iprof"], "a.json", Some(MergePlan::Family(Family::Iprof))),
            (&["raw"], "a.json", None),
            (&["iprof"], "a.yaml", None),
            (&["raw"], "a.jfr", None),
        ];
        for (names, output, expected) in cases {
            for plan in plans(names, output) {
                assert_eq!(plan, expected, "{names:?} to {output}");
            }
        }
    }
}
