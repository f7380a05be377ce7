//! The manual page of llvm-profdata mode.

use super::page::Page;
use roff::bold;

/// Its name differs from LLVM's own page, so that both can be installed.
pub(super) fn page() -> Page {
    let mut page = Page::new("profbridge-llvm-profdata", "drop-in replacement for llvm-profdata");
    page.section("SYNOPSIS");
    page.usage("llvm-profdata <merge|show|overlap|order> [OPTIONS]");
    page.section("DESCRIPTION");
    page.text(
        "A link to profbridge with the name llvm-profdata or llvm-profdata-16 accepts the command lines of that tool, \
        and prints and writes the same bytes with the same exit codes. The options are those of llvm-profdata 22, \
        with one dash or two.",
    );
    page.paragraph();
    page.text(
        "profbridge also reads files that llvm-profdata 22 rejects only because of their version. The output then \
        targets the releases that wrote them. A number in the link's name selects the release whose bytes are written.",
    );
    page.paragraph();
    page.text("Without a link, use profbridge llvm-profdata.");
    page.section("EXIT STATUS");
    page.text("0 for success and 1 for failure, like llvm-profdata.");
    page.section("ENVIRONMENT");
    let rows = [
        (
            "PROFBRIDGE_FOR",
            "The target toolchain, such as llvm-16. The value exact rejects all files that llvm-profdata 22 rejects.",
        ),
        ("LLVM_PROFDATA", "The variable that cargo-llvm-cov uses to find the tool."),
    ];
    for (name, text) in rows {
        page.entry(vec![bold(name)], &[text.to_string()]);
    }
    page.section("FILES");
    page.text("The same as for profbridge, but options select the output format, not the file extension.");
    page.section("EXAMPLES");
    page.lines([
        "  ln -s \"$(command -v profbridge)\" bin/llvm-profdata",
        "  PATH=\"$PWD/bin:$PATH\" llvm-profdata merge -o app.profdata *.profraw",
        "  PROFBRIDGE_FOR=llvm-19 llvm-profdata merge -o app.profdata *.profraw",
        "  LLVM_PROFDATA=\"$(command -v profbridge)\" cargo llvm-cov",
    ]);
    page.see_also(&["profbridge", "profbridge-merge", "profbridge-doctor"].map(str::to_string));
    page
}
