//! The manual page of llvm-profdata mode.

use super::page::Page;
use roff::bold;

/// Its name differs from LLVM's own page, so that both can be installed.
pub(super) fn page() -> Page {
    let mut page = Page::new("profbridge-llvm-profdata", "profbridge in the place of llvm-profdata");
    page.section("SYNOPSIS");
    page.usage("llvm-profdata <merge|show|overlap|order> [OPTIONS]");
    page.section("DESCRIPTION");
    page.text(
        "A link to profbridge called llvm-profdata, or llvm-profdata-16, takes the command lines of that tool and gives \
         its bytes, texts and exit codes, faster. The options are those of llvm-profdata 22, in one dash or two.",
    );
    page.paragraph();
    page.text(
        "A file that llvm-profdata 22 refuses for its version alone is read and written for the compilers of its era. \
         A number in the link's name chooses the release whose bytes are written.",
    );
    page.paragraph();
    page.text("Without a link, profbridge llvm-profdata does the same.");
    page.section("EXIT STATUS");
    page.text("As of llvm-profdata: 0 when it succeeds, 1 when it does not.");
    page.section("ENVIRONMENT");
    let rows = [
        (
            "PROFBRIDGE_FOR",
            "The toolchain that results are for, such as llvm-16; exact brings all refusals of 22 back.",
        ),
        ("LLVM_PROFDATA", "Where cargo-llvm-cov looks for the tool."),
    ];
    for (name, text) in rows {
        page.entry(vec![bold(name)], &[text.to_string()]);
    }
    page.section("FILES");
    page.text("Those of profbridge; here options say what an output is, not its name.");
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
