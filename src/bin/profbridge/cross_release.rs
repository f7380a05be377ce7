//! `--hashes`, and messages about profiles that are adapted to another release.

use crate::console;
use crate::hints::hint_text;
use crate::validate::refuse;
use clap::Args;
use profbridge::input::{Family, Input};
use profbridge::instr::cross_release::{Finding, Followed, HashPolicy};
use profbridge::{Result, Warning};
use std::path::Path;

/// Options for adapting profiles to another release.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct CrossReleaseArgs {
    /// How to write the hashes of front-end records, which LLVM 22 computes differently: `keep` for coverage, `reader`
    /// for optimization
    #[arg(long, value_enum, value_name = "HASHES", default_value_t)]
    pub(crate) hashes: HashPolicy,
}

/// Prints the changes, and warnings about records that the target will not use.
pub(crate) fn print_findings(findings: &[Finding], output: &Path, quiet: bool) {
    for finding in findings {
        let advice = finding.kind.advice().map(|advice| hint_text(&advice));
        if finding.kind.is_loss() {
            console::warning_with(&Warning::new(finding.to_string()).in_file(output), advice.as_deref());
        } else if !quiet {
            console::note(&format!("{}: {finding}", output.display()));
            if let Some(advice) = advice {
                console::hint(&advice);
            }
        }
    }
}

/// Options for comparing functions whose names and hashes differ between releases.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct ExactNamesArgs {
    /// Compare names and hashes of LLVM instrumentation profiles unchanged, also between releases
    #[arg(long)]
    exact_names: bool,
}

impl ExactNamesArgs {
    /// Returns true if names and hashes must be equal.
    pub(crate) fn is_given(self) -> bool {
        self.exact_names
    }

    /// Rejects the option for families without such names.
    pub(crate) fn refuse_for_others(self, inputs: [&Input; 2]) -> Result<()> {
        let is_other = |input: &&Input| matches!(input.family(), Ok(Some(family)) if family != Family::Instr);
        if !inputs.iter().any(is_other) {
            return Ok(());
        }
        refuse(&["--exact-names"], "for LLVM instrumentation profiles", "omit it")
    }
}

/// Prints the functions that were matched across releases.
pub(crate) fn print_followed(followed: &[Followed]) {
    for followed in followed {
        console::note(&format!("{followed} (use --exact-names to compare them unchanged)"));
    }
}

/// Returns the findings for JSON output.
pub(crate) fn findings_json(findings: &[Finding]) -> Vec<serde_json::Value> {
    let names = |finding: &Finding| -> Vec<String> {
        finding.first_names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    };
    let row = |finding: &Finding| {
        serde_json::json!({
            "kind": finding.kind.word(),
            "is_loss": finding.kind.is_loss(),
            "functions": finding.functions,
            "share": finding.share(),
            "first_names": names(finding),
        })
    };
    findings.iter().map(row).collect()
}
