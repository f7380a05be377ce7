//! Formats that are detected but not read, so that every command names them and gives a hint.

use crate::bytes::Head;
use crate::digits::{parse_decimal, parse_hex};

/// A format that profbridge does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OtherFormat {
    /// An ELF program, library or object file.
    Elf,
    /// A Mach-O program, library or object file.
    MachO,
    /// A Windows program or library.
    Pe,
    /// An archive of object files.
    Archive,
    /// LLVM bitcode.
    Bitcode,
    /// LLVM IR as text.
    LlvmIr,
    /// A Java class file.
    JavaClass,
    /// A stream of bzip2.
    Bzip2,
    /// A stream of lz4.
    Lz4,
    /// A zip or jar archive.
    Zip,
    /// A tar archive.
    Tar,
    /// An HTML page.
    Html,
    /// XML, such as a coverage report of Cobertura.
    Xml,
    /// A PDF document.
    Pdf,
    /// A PNG image.
    Png,
    /// A pointer of Git LFS instead of the file.
    LfsPointer,
    /// A coverage report of lcov.
    Lcov,
    /// GCC's notes for coverage (`.gcno`).
    Gcno,
    /// GCC's coverage counts (`.gcda`).
    Gcda,
    /// A profile of speedscope.
    Speedscope,
    /// A profile or a trace of Chrome.
    Chrome,
    /// A profile of Firefox.
    Firefox,
    /// BOLT's profile as text (`.fdata`).
    BoltText,
    /// BOLT's profile as YAML.
    BoltYaml,
    /// Branch records as `perf script` prints them.
    BranchRecords,
    /// The counters of a program without names, as `llvm-profgen --skip-symbolization` writes them.
    Unsymbolized,
    /// The output of `go tool preprofile`.
    GoPreprofile,
    /// Zero bytes only.
    Zeros,
}

impl OtherFormat {
    /// Returns the stable name for programs, the words for people, and one sentence of advice.
    fn row(self) -> (&'static str, &'static str, &'static str) {
        const PROGRAM: &str = "run the instrumented program, and give the profile that it writes";
        const LINK: &str = "link it, and pass the linked program, or the profile that it writes";
        const UNPACK: &str = "unpack it, and give the profiles in it";
        const COVERAGE: &str =
            "a coverage report cannot become a profile again; give the profile that it was made from";
        const JAVA: &str = "it contains the types of methods; give it as a reference for stacks";
        const SAMPLES: &str = "make a sample profile of it with the program that was sampled";
        const BROWSER: &str = "export it as collapsed stacks or pprof";
        match self {
            Self::Elf => ("elf", "ELF program or object file", PROGRAM),
            Self::MachO => ("mach-o", "Mach-O program or object file", PROGRAM),
            Self::Pe => ("pe", "Windows program", PROGRAM),
            Self::Archive => ("archive", "archive of object files", PROGRAM),
            Self::Bitcode => ("bitcode", "LLVM bitcode", LINK),
            Self::LlvmIr => ("llvm-ir", "LLVM IR", PROGRAM),
            Self::JavaClass => ("java-class", "Java class file", JAVA),
            Self::Bzip2 => ("bzip2", "bzip2 stream", "decompress it; gzip, zstd and xz streams are read as they are"),
            Self::Lz4 => ("lz4", "lz4 stream", "decompress it; gzip, zstd and xz streams are read as they are"),
            Self::Zip => ("zip", "zip or jar archive", UNPACK),
            Self::Tar => ("tar", "tar archive", UNPACK),
            Self::Html => ("html", "HTML page", "download the profile itself, not the page about it"),
            Self::Xml => ("xml", "XML", COVERAGE),
            Self::Pdf => ("pdf", "PDF document", "check the path of the profile"),
            Self::Png => ("png", "PNG image", "check the path of the profile"),
            Self::LfsPointer => ("git-lfs-pointer", "Git LFS pointer", "fetch the file itself with `git lfs pull`"),
            Self::Lcov => ("lcov", "lcov report", COVERAGE),
            Self::Gcno => {
                ("gcno", "GCC coverage notes", "use `gcov` of the GCC that wrote it, or `llvm-cov gcov` for clang")
            }
            Self::Gcda => {
                ("gcda", "GCC coverage counts", "use `gcov` of the GCC that wrote it, or `llvm-cov gcov` for clang")
            }
            Self::Speedscope => ("speedscope", "speedscope profile", BROWSER),
            Self::Chrome => ("chrome", "Chrome profile", BROWSER),
            Self::Firefox => ("firefox", "Firefox profile", BROWSER),
            Self::BoltText => ("bolt-text", "BOLT profile", "use `merge-fdata` and `llvm-bolt`"),
            Self::BoltYaml => ("bolt-yaml", "BOLT profile in YAML", "use `llvm-bolt`"),
            Self::BranchRecords => ("branch-records", "branch records of `perf script`", SAMPLES),
            Self::Unsymbolized => ("unsymbolized-profile", "unsymbolized profile of llvm-profgen", SAMPLES),
            Self::GoPreprofile => {
                ("go-preprofile", "output of `go tool preprofile`", "give the pprof profile that it was made from")
            }
            Self::Zeros => (
                "zeros",
                "file of zero bytes",
                "the disk was full, or the process was killed before it wrote the profile",
            ),
        }
    }

    /// Returns the stable name for programs: `elf`, `git-lfs-pointer`.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the name for people: `ELF program or object file`.
    pub fn words(self) -> &'static str {
        self.row().1
    }

    /// Returns what to do with such a file, as an instruction.
    pub fn advice(self) -> &'static str {
        self.row().2
    }
}

/// Formats by the bytes at the beginning.
const MAGICS: [(&[u8], OtherFormat); 26] = [
    (b"\x7fELF", OtherFormat::Elf),
    (b"\xfe\xed\xfa\xce", OtherFormat::MachO),
    (b"\xfe\xed\xfa\xcf", OtherFormat::MachO),
    (b"\xce\xfa\xed\xfe", OtherFormat::MachO),
    (b"\xcf\xfa\xed\xfe", OtherFormat::MachO),
    (b"!<arch>\n", OtherFormat::Archive),
    (b"!<thin>\n", OtherFormat::Archive),
    (b"BC\xc0\xde", OtherFormat::Bitcode),
    (b"\xde\xc0\x17\x0b", OtherFormat::Bitcode),
    (b"; ModuleID = ", OtherFormat::LlvmIr),
    (b"source_filename = ", OtherFormat::LlvmIr),
    (b"BZh", OtherFormat::Bzip2),
    (b"\x04\x22\x4d\x18", OtherFormat::Lz4),
    (b"PK\x03\x04", OtherFormat::Zip),
    (b"PK\x05\x06", OtherFormat::Zip),
    (b"%PDF-", OtherFormat::Pdf),
    (b"\x89PNG", OtherFormat::Png),
    (b"version https://git-lfs.github.com/spec/", OtherFormat::LfsPointer),
    (b"TN:", OtherFormat::Lcov),
    (b"SF:", OtherFormat::Lcov),
    (b"oncg", OtherFormat::Gcno),
    (b"gcno", OtherFormat::Gcno),
    (b"adcg", OtherFormat::Gcda),
    (b"gcda", OtherFormat::Gcda),
    (b"GO PREPROFILE V", OtherFormat::GoPreprofile),
    (b"<?xml", OtherFormat::Xml),
];

/// Members of JSON documents that only one format has.
const JSON_MEMBERS: [(&[&[u8]], OtherFormat); 4] = [
    (&[b"https://www.speedscope.app/file-format-schema.json"], OtherFormat::Speedscope),
    (&[b"\"traceEvents\""], OtherFormat::Chrome),
    (&[b"\"nodes\"", b"\"callFrame\""], OtherFormat::Chrome),
    (&[b"\"preprocessedProfileVersion\""], OtherFormat::Firefox),
];

/// The first major version of Java class files. A fat Mach-O file has the same magic number, and fewer architectures.
const FIRST_CLASS_VERSION: u16 = 45;

/// Returns the format of a file that no family reads.
pub(super) fn detect(head: &Head<'_>) -> Option<OtherFormat> {
    let bytes = head.bytes();
    if let Some((_, format)) = MAGICS.into_iter().find(|(magic, _)| head.begins(magic)) {
        return Some(format);
    }
    if bytes.starts_with(b"\xca\xfe\xba\xbe") {
        let version = bytes.get(6..8).map_or(0, |word| u16::from_be_bytes([word[0], word[1]]));
        return Some(if version >= FIRST_CLASS_VERSION { OtherFormat::JavaClass } else { OtherFormat::MachO });
    }
    if bytes.starts_with(b"MZ") && bytes.len() > 64 && bytes.contains(&0) {
        return Some(OtherFormat::Pe);
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return Some(OtherFormat::Tar);
    }
    if head.begins(b"---") && head.has(b"profile-version") {
        return Some(OtherFormat::BoltYaml);
    }
    if bytes.len() >= 8 && bytes.iter().all(|byte| *byte == 0) {
        return Some(OtherFormat::Zeros);
    }
    let text = bytes.trim_ascii_start();
    if text.starts_with(b"{") {
        let has_all = |members: &[&[u8]]| members.iter().all(|member| head.has(member));
        return JSON_MEMBERS.into_iter().find(|(members, _)| has_all(members)).map(|(_, format)| format);
    }
    if [&b"<!doctype html"[..], b"<html"].iter().any(|tag| starts_with_ignoring_case(text, tag)) {
        return Some(OtherFormat::Html);
    }
    if is_unsymbolized(head) {
        return Some(OtherFormat::Unsymbolized);
    }
    let first = head.lines().find(|line| !line.is_empty() && line[0] != b'#')?;
    is_bolt_line(first).then_some(OtherFormat::BoltText)
}

/// Returns true for a number of runs of code and the first run, `START-END:COUNT`, or the number of branches. A calling
/// context in brackets can come first.
fn is_unsymbolized(head: &Head<'_>) -> bool {
    let mut lines = head.lines().map(<[u8]>::trim_ascii).peekable();
    lines.next_if(|line| line.starts_with(b"[") && line.ends_with(b"]"));
    let is_number = |line: &[u8]| parse_decimal(line).is_some();
    let is_run = |line: &[u8]| {
        let (Some(dash), Some(colon)) = (memchr::memchr(b'-', line), memchr::memchr(b':', line)) else { return false };
        let end = line.get(dash + 1..colon);
        parse_hex(&line[..dash]).is_some() && end.and_then(parse_hex).is_some() && is_number(&line[colon + 1..])
    };
    match (lines.next().and_then(parse_decimal), lines.next()) {
        (Some(0), Some(branches)) => is_number(branches),
        (Some(_), Some(run)) => is_run(run),
        _ => false,
    }
}

fn starts_with_ignoring_case(text: &[u8], tag: &[u8]) -> bool {
    text.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag))
}

/// Returns true for `1 FROM OFFSET 1 TO OFFSET MISPREDICTED COUNT`, or one of its headings.
fn is_bolt_line(line: &[u8]) -> bool {
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').take(9).collect();
    match words.as_slice() {
        [b"boltedcollection" | b"no_lbr", ..] => true,
        [from, _, from_at, to, _, to_at, missed, count] => {
            let sort = |word: &[u8]| matches!(word, b"0" | b"1" | b"2" | b"3");
            let is_hex = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_hexdigit);
            let is_number = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_digit);
            sort(from) && sort(to) && is_hex(from_at) && is_hex(to_at) && is_number(missed) && is_number(count)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_tools_are_named() {
        let mut tar = vec![b'a'; 300];
        tar[257..262].copy_from_slice(b"ustar");
        let mut program = b"MZ".to_vec();
        program.resize(100, 0);
        let cases: [(&[u8], Option<OtherFormat>); 24] = [
            (b"2\n90-a1:3\n100-100:1\n0\n", Some(OtherFormat::Unsymbolized)),
            (b"[main:1 @ f]\n  1\n  90-a1:3\n  0\n", Some(OtherFormat::Unsymbolized)),
            (b"0\n0\n", Some(OtherFormat::Unsymbolized)),
            (b"5\n 401136 0x401136/0x401140/P/-/-/1\n", None),
            (b"1 main 3d 1 foo 0 0 17\n", Some(OtherFormat::BoltText)),
            (b"# comment\nno_lbr cycles\n1 main 3d 17\n", Some(OtherFormat::BoltText)),
            (b"---\nheader:\n  profile-version: 1\n", Some(OtherFormat::BoltYaml)),
            (b"adcg*704\0\0\0\0\0\0\0\x01", Some(OtherFormat::Gcda)),
            (b"a;b;c 12\na;d 3\n", None),
            (b"\x7fELF\x02\x01\x01\0\0", Some(OtherFormat::Elf)),
            (b"\xca\xfe\xba\xbe\0\0\0\x34", Some(OtherFormat::JavaClass)),
            (b"\xca\xfe\xba\xbe\0\0\0\x02", Some(OtherFormat::MachO)),
            (&program, Some(OtherFormat::Pe)),
            (b"MZ;main 3\n", None),
            (&tar, Some(OtherFormat::Tar)),
            (b"  <!DOCTYPE html>\n", Some(OtherFormat::Html)),
            (b"<?xml version=\"1.0\"?>\n<coverage/>", Some(OtherFormat::Xml)),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", Some(OtherFormat::LfsPointer)),
            (b"TN:\nSF:/a.c\n", Some(OtherFormat::Lcov)),
            (b"{\"traceEvents\":[]}", Some(OtherFormat::Chrome)),
            (b"{\"version\":\"1.0.0\"}", None),
            (b"\0\0\0\0\0\0\0\0", Some(OtherFormat::Zeros)),
            (b"", None),
            (b"GO PREPROFILE V1\nmain.main\n", Some(OtherFormat::GoPreprofile)),
        ];
        for (bytes, expected) in cases {
            assert_eq!(detect(&Head::new(bytes)), expected, "{}", bytes.escape_ascii());
        }
    }
}
