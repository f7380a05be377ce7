//! The options of llvm-profdata 22 as data.
//!
//! The order of the rows is that in which the original tool prefers suggestions for a misspelt name with several
//! equally near options (measured with the tool). The help sorts them by name.

use profbridge::instr::Release;

/// The value of an option.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum OptionValue {
    /// `--flag`, `--flag=true`, `--flag=0` …
    Switch,
    /// One of several flags of which the last takes effect. Contains the title of the group.
    Member(&'static str),
    /// No value: the option acts immediately.
    Action(Action),
    /// Any text.
    Text,
    /// An unsigned integer, and the word for it in errors: `uint` has 32 bits, others have 64.
    Unsigned(&'static str),
    /// A signed integer with this number of bits.
    Signed(u32),
    /// A decimal fraction.
    Float,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A comma-separated list of 32-bit integers.
    UnsignedList,
    /// The value of the option with this name.
    Alias(&'static str),
}

/// The action of an option that acts immediately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Help,
    HelpHidden,
    Version,
}

/// One option.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OptionSpec {
    pub(crate) name: &'static str,
    pub(crate) takes: OptionValue,
    /// The name of the value in the help; empty for flags.
    pub(super) value: &'static str,
    pub(super) help: &'static str,
    /// Whether only `--help-hidden` shows it.
    pub(super) hidden: bool,
}

impl OptionSpec {
    pub(super) const fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }
}

/// A subcommand.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(super) about: &'static str,
    pub(super) operands: &'static str,
    /// The minimum number of positional arguments.
    pub(super) least: usize,
    /// The maximum number of positional arguments; `None` is unlimited.
    pub(super) most: Option<usize>,
    /// Options that must be given.
    pub(super) required: &'static [&'static str],
    pub(crate) options: &'static [OptionSpec],
}

/// Returns the option that an alias refers to, or the option itself.
pub(crate) fn resolve(command: &Command, option: &'static OptionSpec) -> &'static OptionSpec {
    match option.takes {
        OptionValue::Alias(of) => command.find(of).unwrap_or(option),
        _ => option,
    }
}

pub(super) const fn row(name: &'static str, takes: OptionValue, value: &'static str, help: &'static str) -> OptionSpec {
    OptionSpec { name, takes, value, help, hidden: false }
}
pub(super) const fn switch(name: &'static str, help: &'static str) -> OptionSpec {
    row(name, OptionValue::Switch, "", help)
}
pub(super) const fn text(name: &'static str, value: &'static str, help: &'static str) -> OptionSpec {
    row(name, OptionValue::Text, value, help)
}
pub(super) const fn uint(name: &'static str, help: &'static str) -> OptionSpec {
    row(name, OptionValue::Unsigned("uint"), "uint", help)
}
pub(super) const fn ulong(name: &'static str, help: &'static str) -> OptionSpec {
    row(name, OptionValue::Unsigned("ulong"), "ulong", help)
}
/// An option whose type is `ulong` in the help and `ullong` in errors.
pub(super) const fn ullong(name: &'static str, help: &'static str) -> OptionSpec {
    row(name, OptionValue::Unsigned("ullong"), "ulong", help)
}
pub(super) const fn choice(name: &'static str, words: &'static [&'static str], help: &'static str) -> OptionSpec {
    row(name, OptionValue::Choice(words), "value", help)
}
pub(super) const fn alias(name: &'static str, of: &'static str) -> OptionSpec {
    row(name, OptionValue::Alias(of), "", "")
}
const fn member(name: &'static str, group: &'static str, help: &'static str) -> OptionSpec {
    row(name, OptionValue::Member(group), "", help)
}
pub(super) const fn action(name: &'static str, action: Action, help: &'static str) -> OptionSpec {
    row(name, OptionValue::Action(action), "", help)
}

pub(super) const HELP: OptionSpec = action("help", Action::Help, "Show the options");
pub(super) const HELP_HIDDEN: OptionSpec =
    action("help-hidden", Action::HelpHidden, "Show the hidden options as well").hidden();
pub(super) const HELP_LIST: OptionSpec = action("help-list", Action::Help, "Show the options in one list");
pub(super) const HELP_LIST_HIDDEN: OptionSpec =
    action("help-list-hidden", Action::HelpHidden, "Show all options in one list").hidden();
pub(super) const H: OptionSpec = alias("h", "help");
pub(super) const PRINT_OPTIONS: OptionSpec = switch("print-options", "Accepted and ignored").hidden();
pub(super) const PRINT_ALL_OPTIONS: OptionSpec = switch("print-all-options", "Accepted and ignored").hidden();
/// Accepted before and after every subcommand.
pub(super) const VERSION: OptionSpec = action("version", Action::Version, "Show the version");

const OUTPUT: OptionSpec = text("output", "output", "File to write, standard output by default");
const O: OptionSpec = alias("o", "output");
const KIND: &str = "Profile kind:";
const SHOW_KIND: &str = "Profile kind supported by show:";
const FORMAT: &str = "Format of output profile";
const INSTR: OptionSpec = member("instr", KIND, "Instrumentation profiles (default)");
const SAMPLE: OptionSpec = member("sample", KIND, "Sample profiles");
const FUNCTION: OptionSpec = text("function", "string", "Only functions that match");
const DEBUG_INFO: OptionSpec = text("debug-info", "string", "Object with debug info to correlate with");
const MAX_WARNINGS: OptionSpec =
    uint("max-debug-info-correlation-warnings", "Most warnings about incomplete debug info, 0 for all");
const PROFILED_BINARY: OptionSpec = text("profiled-binary", "string", "Program that wrote a raw memory profile");

/// The members of the output format group.
pub(super) const FORMATS: [&str; 5] = ["binary", "extbinary", "text", "gcc", "compbinary"];

/// The member that only LLVM 16 and earlier have.
static COMPBINARY: OptionSpec = member("compbinary", FORMAT, "Compact binary (sample profiles)");

/// Finds an option of a command that LLVM 22 does not have, but the imitated release.
pub(super) fn find_former(command: &Command, name: &str, release: Release) -> Option<&'static OptionSpec> {
    let has_it = command.name == MERGE.name && name == COMPBINARY.name && release <= Release(16);
    has_it.then_some(&COMPBINARY)
}

/// Members of the profile kind groups.
pub(super) const KINDS: [&str; 3] = ["instr", "sample", "memory"];

/// `merge`.
pub(super) static MERGE: Command = Command {
    name: "merge",
    about: "Adds up profiles into one",
    operands: "<filename...>",
    least: 0,
    most: None,
    required: &[],
    options: &[
        switch("keep-vtable-symbols", "Keep the names of vtables").hidden(),
        ulong("temporal-profile-trace-reservoir-size", "Most temporal traces kept (default 100)"),
        H,
        PRINT_OPTIONS,
        switch("debuginfod", "Find the object by build ID (not supported)").hidden(),
        switch("drop-profile-symbol-list", "Leave out the inputs' lists of symbols (sample profiles)").hidden(),
        switch("memprof-full-schema", "Write all that is known of allocations").hidden(),
        HELP_LIST_HIDDEN,
        PRINT_ALL_OPTIONS,
        switch("split-layout", "Functions without inlined callees apart (sample profiles)").hidden(),
        text("weighted-input", "weight>,<filename", "An input and how often it counts"),
        INSTR,
        PROFILED_BINARY,
        SAMPLE,
        uint("instr-prof-cold-threshold", "Only with --supplement-instr-with-sample").hidden(),
        choice(
            "convert-sample-profile-layout",
            &["nest", "flat"],
            "Layout of inlined callees and contexts (sample profiles)",
        ),
        member("binary", FORMAT, "Indexed"),
        text("supplement-instr-with-sample", "string", "Sample profile that warms cold functions").hidden(),
        member("extbinary", FORMAT, "Indexed (default)"),
        member("text", FORMAT, "Text"),
        text("remapping-file", "file", "Renames functions, `OLD NEW` per line"),
        member("gcc", FORMAT, "GCC's form (not written)"),
        uint("num-threads", "Workers, 0 asks the machine; the result is the same"),
        switch("compress-all-sections", "Compress every section (sample profiles)").hidden(),
        switch("dump-input-file-list", "Print the inputs and their weights, then stop").hidden(),
        switch("memprof-random-hotness", "Mark allocations as hot or cold randomly").hidden(),
        row("zero-counter-threshold", OptionValue::Float, "number", "Only with --supplement-instr-with-sample")
            .hidden(),
        HELP_HIDDEN,
        uint("memprof-random-hotness-seed", "Where chance begins; 0 is the time").hidden(),
        ulong("output-size-limit", "Most bytes of the output (sample profiles)").hidden(),
        uint("sample-frame-depth-for-cold-context", "Frames that cold contexts keep when merged (sample profiles)"),
        switch("sample-trim-cold-context", "Drop cold contexts (sample profiles)").hidden(),
        ulong("temporal-profile-max-trace-length", "Functions kept of each trace (default 10000)"),
        HELP_LIST,
        choice("failure-mode", &["warn", "any", "all"], "How many bad inputs make the merge fail (default any)"),
        text("no-function", "string", "Leave out functions that match"),
        switch("sample-merge-cold-context", "Merge cold contexts into shorter ones (sample profiles)").hidden(),
        DEBUG_INFO,
        switch("sparse", "Leave out functions that never ran"),
        alias("r", "remapping-file"),
        uint("suppl-min-size-threshold", "Only with --supplement-instr-with-sample").hidden(),
        alias("f", "input-files"),
        FUNCTION,
        switch("gen-partial-profile", "State that only part of the program was profiled (sample profiles)").hidden(),
        alias("j", "num-threads"),
        MAX_WARNINGS,
        choice("memprof-version", &["2", "3", "4"], "Version of the memory profile (default 3)").hidden(),
        O,
        switch("use-md5", "Hashes in place of names (sample profiles)").hidden(),
        HELP,
        text("input-files", "string", "File with inputs, `[WEIGHT,]FILE` per line; `-` is standard input"),
        text("binary-file", "string", "Unstripped binary to correlate with"),
        OUTPUT,
        text("prof-sym-list", "string", "File with symbols to add, one per line (sample profiles)"),
    ],
};

/// `show`.
pub(super) static SHOW: Command = Command {
    name: "show",
    about: "Shows what is in a profile",
    operands: "<profdata-file>",
    least: 0,
    most: Some(1),
    required: &[],
    options: &[
        switch("binary-ids", "Identities of the images that ran"),
        MAX_WARNINGS,
        switch("show-sec-info-only", "Only the sections (sample profiles)"),
        member("instr", SHOW_KIND, "Instrumentation profile (default)"),
        member("sample", SHOW_KIND, "Sample profile"),
        member("memory", SHOW_KIND, "Memory profile"),
        uint("value-cutoff", "Hide functions whose largest counter is below"),
        H,
        HELP_LIST_HIDDEN,
        PRINT_OPTIONS,
        switch("all-functions", "Details of every function"),
        DEBUG_INFO,
        row(
            "detailed-summary-cutoffs",
            OptionValue::UnsignedList,
            "800000,901000,999999",
            "Cutoffs of the detailed summary, parts per million",
        ),
        switch("list-below-cutoff", "Only functions below the value cutoff"),
        switch("show-vtables", "Vtables of virtual calls"),
        switch("counts", "Counters"),
        switch("detailed-summary", "How few counters hold most of the counts"),
        switch("temporal-profile-traces", "Temporal traces"),
        switch("ic-targets", "Targets of indirect calls"),
        switch("showcs", "Context-sensitive records instead of the plain ones"),
        O,
        PROFILED_BINARY,
        FUNCTION,
        switch("covered", "Only the names of functions that ran"),
        switch("json", "Not supported for instrumentation profiles"),
        switch("memop-sizes", "Sizes of memory operations"),
        PRINT_ALL_OPTIONS,
        switch("profile-version", "Version of the format"),
        uint("topn", "Show the N functions with the largest counters"),
        choice("show-format", &["text", "json", "yaml"], "Text (default); the others are not supported"),
        switch("text", "Functions in the text format"),
        HELP_HIDDEN,
        HELP,
        HELP_LIST,
        switch("hot-func-list", "Hot functions"),
        OUTPUT,
        switch("show-prof-sym-list", "With --debug-info, names of the functions found"),
    ],
};

/// `overlap`.
pub(super) static OVERLAP: Command = Command {
    name: "overlap",
    about: "Says how much two profiles have in common",
    operands: "<base profile file> <test profile file>",
    least: 2,
    most: Some(2),
    required: &[],
    options: &[
        INSTR,
        SAMPLE,
        HELP_LIST_HIDDEN,
        H,
        PRINT_OPTIONS,
        O,
        ullong("similarity-cutoff", "Details of functions less alike, per million (sample profiles)"),
        ullong("value-cutoff", "Details of functions whose largest counter is at least this"),
        FUNCTION,
        PRINT_ALL_OPTIONS,
        HELP_HIDDEN,
        switch("cs", "Totals of the context-sensitive records"),
        HELP_LIST,
        HELP,
        OUTPUT,
    ],
};

/// `order`.
pub(super) static ORDER: Command = Command {
    name: "order",
    about: "Prints an order of functions in which few pages are touched at start",
    operands: "<profdata-file>",
    least: 0,
    most: Some(1),
    required: &[],
    options: &[
        HELP_LIST_HIDDEN,
        PRINT_OPTIONS,
        H,
        O,
        HELP_HIDDEN,
        HELP,
        HELP_LIST,
        uint("num-test-traces", "Set aside the last traces and judge the order by them"),
        PRINT_ALL_OPTIONS,
        OUTPUT,
    ],
};

pub(super) const COLOR: OptionSpec = switch("color", "Colours in messages (decided by the terminal)");

/// The options without a subcommand.
pub(super) static TOP: Command = Command {
    name: "",
    about: "",
    operands: "",
    least: 0,
    most: Some(0),
    required: &[],
    options: &[COLOR, HELP, H, HELP_HIDDEN, HELP_LIST, HELP_LIST_HIDDEN, PRINT_OPTIONS, PRINT_ALL_OPTIONS, VERSION],
};

/// All subcommands, by name.
pub(crate) static COMMANDS: [&Command; 4] = [&MERGE, &ORDER, &OVERLAP, &SHOW];

impl Command {
    /// Finds an option by its name.
    pub(super) fn find(&self, name: &str) -> Option<&'static OptionSpec> {
        self.options.iter().find(|option| option.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_aliases_lead_somewhere() {
        for command in COMMANDS {
            for (at, option) in command.options.iter().enumerate() {
                assert!(command.options[..at].iter().all(|other| other.name != option.name), "{}", option.name);
                if let OptionValue::Alias(of) = option.takes {
                    assert!(command.find(of).is_some(), "{of}");
                }
            }
        }
    }

    #[test]
    fn groups_have_the_members_that_are_asked_for() {
        let find = |name| MERGE.find(name).or_else(|| find_former(&MERGE, name, Release(16)));
        assert!(FORMATS.iter().all(|name| find(name).is_some()));
        assert!(KINDS.iter().all(|name| SHOW.find(name).is_some()));
    }
}
