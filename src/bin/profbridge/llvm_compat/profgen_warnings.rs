//! The warnings of llvm-profgen.

use super::messages;
use profbridge::profgen::{
    ContextFindings, LineNotice, LoadFindings, ReadFindings, RunFault, RunFindings, SampleDetails,
};
use profbridge::sampleprof::Rules;
use std::io::Write;

/// Prints `P%(N/M) TEXT` if there is anything to print.
fn summary(number: u64, of: u64, text: &str) {
    if number != 0 && of != 0 {
        let percent = number as f64 * 100.0 / of as f64;
        messages::warning(None, &format!("{percent:.2}%({number}/{of}) {text}"));
    }
}

/// Prints what loading the program found.
pub(super) fn loading(found: &LoadFindings) {
    if found.shared_starts != 0 {
        messages::warning(None, &format!("Found {} start addresses with multiple symbols", found.shared_starts));
    }
    if found.missing_units != 0 {
        let (number, path) = (found.missing_units, "Please check the .o, .dwo or .dwp path.");
        messages::warning(None, &format!(" DWO debug information was not loaded for {number} modules. {path}"));
    }
    if found.has_no_functions {
        messages::warning(None, "Loading of DWARF info completed, but no binary functions have been retrieved.");
    }
    if found.undecodable != 0 {
        messages::warning(None, &format!("Found {} invalid instructions", found.undecodable));
    }
    let text = "of functions failed to determine function entry due to inconsistent name from symbol table and dwarf \
                info.";
    summary(found.functions_without_entry, found.functions, text);
}

/// Prints a notice of a line; mappings only if wanted.
pub(super) fn line(notice: LineNotice<'_>, name: &str, base: u64, show_mappings: bool) {
    match notice {
        LineNotice::Mapping { path, start } if show_mappings => {
            let line = [b"Mmap: Binary ", path, format!(" loaded at 0x{start:x}: \n").as_bytes()].concat();
            // Ignore write errors: the profile matters, and it is written elsewhere.
            let _ = std::io::stdout().lock().write_all(&line);
        }
        LineNotice::Mapping { .. } => {}
        LineNotice::BadMapping(line) => {
            messages::warning(None, &format!("Cannot parse mmap event: {} ", String::from_utf8_lossy(line)));
        }
        LineNotice::BadSample(number, line) => {
            let line = String::from_utf8_lossy(line);
            messages::warning(None, &format!("Invalid address in LBR record at line {number}: {line}"));
        }
        LineNotice::NoMapping => {
            let text = format!(
                "No relevant mmap event is matched for {name}, will use preferred address (0x{base:x}) as the base \
                 loading address!"
            );
            messages::warning(None, &text);
        }
        _ => {}
    }
}

/// Prints what reading samples found.
pub(super) fn samples(read: &ReadFindings, runs: Option<&RunFindings>, details: &SampleDetails) {
    summary(read.external_leaves, read.lines, "of samples have leaf external frame in call stack.");
    for address in &details.invalid_return_addresses {
        let text = "Truncated stack sample due to invalid return address at";
        messages::warning(None, &format!("{text} 0x{address:x}, likely caused by frame pointer omission"));
    }
    let truncated =
        "of truncated stack samples due to invalid return address, likely caused by frame pointer omission.";
    summary(read.invalid_return_addresses, read.distinct_chains, truncated);
    let Some(runs) = runs else {
        messages::warning(None, "No samples in perf script!");
        return;
    };
    for (start, end, fault) in &details.runs {
        let text = match fault {
            RunFault::NotOnBoundary => {
                "Range is not on instruction boundary, likely due to profile and binary mismatch."
            }
            RunFault::WithoutFunction => {
                "Range does not belong to any functions, likely from PLT, .init or .fini section."
            }
            RunFault::CrossingFunctions => {
                "Fall through range should not cross function boundaries, likely due to profile and binary mismatch."
            }
            RunFault::Impossible => "Range start is after or too far from range end.",
            _ => continue,
        };
        messages::warning(None, &format!("[{start:8x},{end:8x}]: {text}"));
    }
    let of_ranges = "of samples are from ranges that";
    summary(runs.not_on_boundary, runs.all, &format!("{of_ranges} are not on instruction boundary."));
    summary(runs.without_function, runs.all, &format!("{of_ranges} do not belong to any functions."));
    let recovered = "belong to functions recovered from symbol table.";
    summary(runs.in_symbol_functions, runs.all, &format!("{of_ranges} {recovered}"));
    summary(runs.crossing_functions, runs.all, &format!("{of_ranges} do cross function boundaries."));
    let impossible = "have range start after or too far from range end acrossing the unconditinal jmp.";
    summary(runs.impossible, runs.all, &format!("{of_ranges} {impossible}"));
}

/// Prints what following call chains found.
pub(super) fn contexts(found: &ContextFindings, shows_details: bool) {
    if shows_details && found.cut > 0 {
        // LLVM writes 1 for all addresses outside of the program.
        messages::warning(None, "Profile context truncated due to missing probe for call instruction at 0x1");
    }
    let truncated = "of profiled contexts are truncated due to missing probe for call instruction.";
    summary(found.cut, found.contexts, truncated);
    let unmatched = "of branches'source is a call instruction but doesn't match call frame stack, likely due to";
    summary(found.unknown_external_calls, found.branches, &format!("{unmatched} unwinding error of external frame."));
    let paired = "of branches containing paired external address.";
    summary(found.external_pairs * 2, found.branches, paired);
    let unpaired = "of branches containing external address but doesn't have another external address to pair, likely \
                    due to interrupt jmp or broken perf script.";
    summary(found.unpaired_external, found.branches, unpaired);
    summary(found.unknown_calls, found.branches, &format!("{unmatched} frame in prolog/epilog."));
}

/// The messages about the density, which differ between releases.
pub(super) struct DensityWording {
    /// Below this density, a warning is printed.
    pub(super) threshold: f64,
    /// Whether the density is that of code, not of locations.
    pub(super) is_of_code: bool,
    profile: &'static str,
    empty: &'static str,
}

impl DensityWording {
    pub(super) fn of(rules: Rules) -> Self {
        match rules.release().0 {
            ..19 => Self {
                threshold: 1000.0,
                is_of_code: true,
                profile: "AutoFDO",
                empty: "The --profile-summary-cutoff-hot option may be set too low. Please check your command.",
            },
            _ => Self {
                threshold: 50.0,
                is_of_code: false,
                profile: "Sample PGO",
                empty: "The output profile is empty or the --profile-density-cutoff-hot option is set too low. Please \
                        check your command.",
            },
        }
    }

    fn shown(&self, density: f64, share: f64) -> String {
        if self.is_of_code {
            return format!(
                "Minimum profile density for hot functions with top {share:.2}% total samples: {density:.1}\n"
            );
        }
        format!("Functions with density >= {density:.1} account for {share:.2}% total sample counts.\n")
    }
}

/// Prints the density, if wanted, and a warning if it is low.
pub(super) fn density(wording: &DensityWording, density: f64, threshold: f64, cutoff: u32, show: bool) {
    if density == 0.0 {
        messages::warning(None, wording.empty);
    } else if density < threshold {
        let (profile, factor) = (wording.profile, threshold / density);
        let text = format!(
            "{profile} is estimated to optimize better with {factor:.1}x more samples. Please consider increasing \
             sampling rate or profiling for longer duration to get more samples."
        );
        messages::warning(None, &text);
    }
    if show {
        // Ignore write errors, as above.
        let text = wording.shown(density, f64::from(cutoff) / 10_000.0);
        let _ = std::io::stdout().lock().write_all(text.as_bytes());
    }
}
