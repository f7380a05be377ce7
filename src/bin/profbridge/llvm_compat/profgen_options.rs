//! The options of llvm-profgen 22 as data.

use super::options::{
    COLOR, Command, H, HELP, HELP_HIDDEN, HELP_LIST, HELP_LIST_HIDDEN, OptionSpec, OptionValue, PRINT_ALL_OPTIONS,
    PRINT_OPTIONS, VERSION, alias, choice, row, switch, text, uint,
};

const fn int(name: &'static str, help: &'static str) -> OptionSpec {
    row(name, OptionValue::Signed(32), "int", help)
}

const fn float(name: &'static str, help: &'static str) -> OptionSpec {
    row(name, OptionValue::Float, "number", help)
}

/// The only command.
pub(super) static PROFGEN: Command = Command {
    name: "llvm-profgen",
    about: "llvm SPGO profile generator",
    operands: "",
    least: 0,
    most: Some(0),
    required: &["output", "binary"],
    options: &[
        COLOR,
        text("binary", "binary", "Program that was sampled"),
        int("compress-recursion", "Longest repeated sequence of frames that is stored once, -1 for all").hidden(),
        uint("csprof-max-cold-context-depth", "Frames that cold contexts keep"),
        int("csprof-max-context-depth", "Frames that contexts keep, -1 for all"),
        int("csprof-max-unsymbolized-context-depth", "Frames that contexts of addresses keep, -1 for all"),
        switch("csprof-merge-cold-context", "Merge cold contexts into shorter ones"),
        switch("csspgo-preinliner", "Decide about inlining of contexts").hidden(),
        int("csspgo-preinliner-multiplier-for-previous-inlining", "Factor of the size of inlined functions").hidden(),
        switch("csspgo-replay-preinline", "Inline contexts that were inlined").hidden(),
        text("data-access-perftrace", "data-access-perftrace", "Text of `perf report -D` with memory samples"),
        text("debug-binary", "debug-binary", "File with the debug info of the program"),
        text("disassemble-functions", "string", "Functions to print"),
        text("dwp", "string", "Package of the split debug info, PROGRAM.dwp by default"),
        switch("fill-zero-for-all-funcs", "Functions without samples get locations with a count of 0").hidden(),
        choice("format", &["binary", "extbinary", "text", "gcc"], "Format of the profile, extbinary by default"),
        switch("gen-cs-nested-profile", "Contexts become inlined functions").hidden(),
        switch("ignore-stack-samples", "Skip the call chains of samples"),
        switch("infer-missing-frames", "Infer frames that tail calls removed"),
        switch("kernel", "The program is a kernel"),
        text("llvm-sample-profile", "llvm sample profile", "Sample profile to finish"),
        switch("load-function-from-symbol", "Functions without debug info come from symbols"),
        switch("mark-all-context-preinlined", "Mark every function to be inlined where it was").hidden(),
        uint("max-search-depth", "Frames that are inferred in a row"),
        text("output", "output", "Profile to write"),
        alias("o", "output"),
        text("perfdata", "perfdata", "Recording of perf with branch records"),
        alias("pd", "perfdata"),
        text("perfscript", "perfscript", "Text of perf script with branch records"),
        alias("ps", "perfscript"),
        row("pid", OptionValue::Signed(32), "process Id", "Only mappings of this process"),
        switch("populate-profile-symbol-list", "List all functions of the program (extbinary)").hidden(),
        int("profile-density-cutoff-hot", "Share of the samples that determines the density, per million"),
        float("profile-density-threshold", "A warning is printed for a lower density"),
        switch("show-canonical-fname", "Names in printed code"),
        switch("show-density", "Print the density"),
        switch("show-detailed-warning", "Print each finding of a warning"),
        switch("show-disassembly-only", "Not supported: print code"),
        switch("show-mmap-events", "Print mappings"),
        switch("show-pseudo-probe", "Pseudo probes in printed code"),
        switch("show-source-locations", "Lines in printed code"),
        switch("skip-symbolization", "Write an unsymbolized profile"),
        switch("time-profgen", "Accepted and ignored").hidden(),
        switch("trim-cold-profile", "Drop cold functions"),
        text("unsymbolized-profile", "unsymbolized profile", "Unsymbolized profile"),
        alias("up", "unsymbolized-profile"),
        switch("update-total-samples", "Totals are the sums of counts of locations"),
        switch("use-context-cost-for-preinliner", "Accepted and ignored").hidden(),
        switch("use-dwarf-correlation", "Use lines although the program has pseudo probes"),
        switch("use-first-loadable-segment-as-base", "Base of the offsets of unsymbolized profiles"),
        switch("use-md5", "Hashes in place of names (extbinary)").hidden(),
        switch("use-offset", "Unsymbolized profiles have offsets, not addresses"),
        HELP,
        H,
        HELP_HIDDEN,
        HELP_LIST,
        HELP_LIST_HIDDEN,
        PRINT_OPTIONS,
        PRINT_ALL_OPTIONS,
        VERSION,
    ],
};
