//! What a merge makes of its inputs: which family's merge takes them, and what
//! is written. The same for any order of the inputs.

use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::input::{Family, Format, Input, is_iprof_name};
use std::path::Path;

/// What stacks are written as.
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
    /// By the name's ending, `.gz` aside.
    pub fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let name = name.strip_suffix(".gz").unwrap_or(name);
        match name.rsplit_once('.')?.1 {
            "iprof" => Some(Self::Iprof),
            "collapsed" | "folded" => Some(Self::Collapsed),
            "pprof" | "pgo" | "pb" => Some(Self::Pprof),
            _ => None,
        }
    }
}

/// Which merge takes the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MergePlan {
    /// LLVM instrumentation and memory profiles, into one of LLVM's formats.
    Instr,
    /// LLVM sample profiles.
    SampleProf,
    /// iprof files into an iprof.
    Iprof,
    /// Sources of stacks.
    Stacks(StackOutput),
    /// Inputs of LLVM and iprof files, or of one into the other: through the
    /// bridge, into the family named.
    Bridge(Family),
}

/// What the caller says of the output.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct MergeRequest<'a> {
    /// Where to write; the name tells what.
    pub output: &'a Path,
    /// What to write, if that was said: [`Family::Instr`] or [`Family::Iprof`].
    pub to: Option<Family>,
    /// LLVM's text form is asked for.
    pub text: bool,
    /// Standard input holds stacks, whatever it looks like.
    pub stdin_is_stacks: bool,
}

impl<'a> MergeRequest<'a> {
    /// Nothing said but where to write.
    pub fn new(output: &'a Path) -> Self {
        Self { output, to: None, text: false, stdin_is_stacks: false }
    }

    /// Which merge takes the inputs. What is empty, damaged or of no family goes
    /// with the others: whoever reads it says what is wrong with it.
    ///
    /// # Errors
    ///
    /// Usage for inputs that do not add up, and where neither the inputs nor the
    /// output's name tell what to write.
    pub fn plan(&self, inputs: &[Input]) -> Result<MergePlan> {
        let first = |family: Family| inputs.iter().find(|input| self.family(input) == Some(family));
        if first(Family::SampleProf).is_some() {
            return Ok(MergePlan::SampleProf);
        }
        let named = StackOutput::of_name(self.output);
        if let Some(input) = first(Family::Stacks) {
            return self.stack_output(inputs, input, named).map(MergePlan::Stacks);
        }
        let mut families = inputs.iter().filter_map(|input| self.family(input)).peekable();
        let all_iprof = families.peek().is_some() && families.all(|family| family == Family::Iprof);
        if all_iprof && let Some(output @ (StackOutput::Collapsed | StackOutput::Pprof)) = named {
            return Ok(MergePlan::Stacks(output));
        }
        let has_iprof = first(Family::Iprof).is_some();
        let target = self.target(has_iprof, all_iprof)?;
        Ok(match target {
            Family::Iprof if all_iprof => MergePlan::Iprof,
            Family::Instr if !has_iprof => MergePlan::Instr,
            target => MergePlan::Bridge(target),
        })
    }

    fn family(&self, input: &Input) -> Option<Family> {
        if self.stdin_is_stacks && input.path.as_os_str() == "-" {
            return Some(Family::Stacks);
        }
        // What cannot be opened is reported by whoever reads it.
        input.family().ok().flatten()
    }

    fn stack_output(&self, inputs: &[Input], input: &Input, named: Option<StackOutput>) -> Result<StackOutput> {
        if let Some(named) = named {
            return Ok(named);
        }
        if let Some(other @ ("profdata" | "proftext" | "profraw")) = extension(self.output) {
            let detail = format!("stacks do not become a .{other}: they say nothing about how often code ran");
            let error = Error::usage(detail).in_file(&input.path);
            return Err(error.with_hint("name the output .collapsed, .pprof or .iprof"));
        }
        let has = |format: Format| inputs.iter().any(|input| input.format().is_ok_and(|found| found == format));
        if has(Format::Pprof) {
            return Ok(StackOutput::Pprof);
        }
        if has(Format::Collapsed) {
            return Ok(StackOutput::Collapsed);
        }
        Err(Error::usage("recordings are read, not written")
            .in_file(&input.path)
            .with_hint("name the output .collapsed, .pprof or .iprof"))
    }

    /// The family to write where LLVM's and iprof files meet.
    fn target(&self, has_iprof: bool, all_iprof: bool) -> Result<Family> {
        let by_name = match extension(self.output) {
            _ if is_iprof_name(self.output) => Some(Family::Iprof),
            Some("profdata" | "proftext") => Some(Family::Instr),
            _ => self.text.then_some(Family::Instr),
        };
        let uniform = match (has_iprof, all_iprof) {
            (true, true) => Some(Family::Iprof),
            (false, _) => Some(Family::Instr),
            (true, false) => None,
        };
        self.to
            .or(by_name)
            .or(uniform)
            .ok_or_else(|| Error::usage("the inputs are LLVM profiles and iprof files").with_hint(Hint::ChooseFamily))
    }
}

fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|extension| extension.to_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [(&str, &[u8]); 8] = [
        ("raw", b"\x81rforpl\xff"),
        ("text", b":ir\nmain\n1\n1\n5\n"),
        ("sample", b"foo:10:1\n 1: 5\n"),
        ("iprof", b"{\"version\":\"1.0.0\",\"types\":[]}"),
        ("collapsed", b"a;b 1\nc;d 2\n"),
        ("pprof", &[0x0a, 4, 0x08, 1, 0x10, 2, 0x12, 4, 0x0a, 2, 1, 2]),
        ("jfr", b"FLR\0\0\x02\0\x01"),
        ("empty", b""),
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
    fn any_order_of_inputs_gives_the_same_plan() {
        let cases: [(&[&str], &str, Option<MergePlan>); 14] = [
            (&["raw", "text", "empty"], "-", Some(MergePlan::Instr)),
            (&["sample", "empty"], "-", Some(MergePlan::SampleProf)),
            (&["sample", "raw"], "a.profdata", Some(MergePlan::SampleProf)),
            (&["iprof", "iprof", "empty"], "-", Some(MergePlan::Iprof)),
            (&["iprof", "raw"], "-", None),
            (&["iprof", "raw"], "a.profdata", Some(MergePlan::Bridge(Family::Instr))),
            (&["iprof", "raw"], "a.iprof.gz", Some(MergePlan::Bridge(Family::Iprof))),
            (&["iprof"], "a.collapsed", Some(MergePlan::Stacks(StackOutput::Collapsed))),
            (&["collapsed", "iprof"], "a.iprof", Some(MergePlan::Stacks(StackOutput::Iprof))),
            (&["collapsed", "jfr"], "-", Some(MergePlan::Stacks(StackOutput::Collapsed))),
            (&["collapsed", "pprof", "jfr"], "-", Some(MergePlan::Stacks(StackOutput::Pprof))),
            (&["jfr"], "-", None),
            (&["pprof"], "a.profdata", None),
            (&["empty"], "-", Some(MergePlan::Instr)),
        ];
        for (names, output, expected) in cases {
            for plan in plans(names, output) {
                assert_eq!(plan, expected, "{names:?} to {output}");
            }
        }
    }
}
