//! Options of `merge` that only some families support, and that are not listed under the heading of a family.

/// These options. A family's row lists those that it supports; all others are rejected. If several are rejected, the
/// error names the first.
pub(crate) const OPTIONS: [&str; 11] = [
    "--partial",
    "--function",
    "--no-function",
    "--remapping-file",
    "--sparse",
    "--format-version",
    "--write-prev-version",
    "--keep-vtable-symbols",
    "--text",
    "--for",
    "--show",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::MergeArgs;
    use clap::{Args, Command};

    /// Options that are the same for every family.
    const FOR_ALL: [&str; 17] = [
        "--output",
        "--input-files",
        "--null",
        "--weighted-input",
        "--to",
        "--strict",
        "--failure-mode",
        "--salvage",
        "--same-program",
        "--temporal-profile-trace-reservoir-size",
        "--temporal-profile-max-trace-length",
        "--num-threads",
        "--json",
        "--quiet",
        "--force",
        "--allow-duplicates",
        "--instr",
    ];

    #[test]
    fn an_option_without_a_heading_is_for_all_or_refused_where_it_means_nothing() {
        let command = MergeArgs::augment_args(Command::new("merge"));
        let own = command.get_arguments().filter(|argument| argument.get_help_heading().is_none());
        for option in own.filter_map(clap::Arg::get_long).map(|name| format!("--{name}")) {
            let is_listed = OPTIONS.contains(&option.as_str());
            let is_for_all = FOR_ALL.contains(&option.as_str());
            assert!(is_listed != is_for_all, "{option}");
        }
    }
}
