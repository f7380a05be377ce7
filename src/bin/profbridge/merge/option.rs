//! Options of `merge` that only some families support, and that are not listed under the heading of a family.

use super::arguments::MergeArgs;

/// Such an option. A family's row lists the options that it supports; all others are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeOption {
    Partial,
    Function,
    NoFunction,
    RemappingFile,
    Sparse,
    FormatVersion,
    WritePrevVersion,
    KeepVtableSymbols,
    Text,
    For,
    Show,
}

impl MergeOption {
    /// All options. If several are rejected, the error names the first.
    pub(crate) const ALL: [Self; 11] = [
        Self::Partial,
        Self::Function,
        Self::NoFunction,
        Self::RemappingFile,
        Self::Sparse,
        Self::FormatVersion,
        Self::WritePrevVersion,
        Self::KeepVtableSymbols,
        Self::Text,
        Self::For,
        Self::Show,
    ];

    /// Returns the option as it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Partial => "--partial",
            Self::Function => "--function",
            Self::NoFunction => "--no-function",
            Self::RemappingFile => "--remapping-file",
            Self::Sparse => "--sparse",
            Self::FormatVersion => "--format-version",
            Self::WritePrevVersion => "--write-prev-version",
            Self::KeepVtableSymbols => "--keep-vtable-symbols",
            Self::Text => "--text",
            Self::For => "--for",
            Self::Show => "--show",
        }
    }

    /// Returns true if the option is given.
    pub(crate) fn is_given(self, arguments: &MergeArgs) -> bool {
        match self {
            Self::Partial => arguments.partial,
            Self::Function => arguments.function.is_some(),
            Self::NoFunction => arguments.no_function.is_some(),
            Self::RemappingFile => arguments.remapping_file.is_some(),
            Self::Sparse => arguments.sparse,
            Self::FormatVersion => arguments.format_version.is_some(),
            Self::WritePrevVersion => arguments.write_prev_version,
            Self::KeepVtableSymbols => arguments.keep_vtable_symbols,
            Self::Text => arguments.text,
            Self::For => arguments.consumer.is_some(),
            Self::Show => arguments.show,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            let is_listed = MergeOption::ALL.iter().any(|listed| listed.name() == option);
            let is_for_all = FOR_ALL.contains(&option.as_str());
            assert!(is_listed != is_for_all, "{option}");
        }
    }
}
