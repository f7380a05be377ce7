//! Tests of files that `fit` cannot use: messages, and no crash.

use crate::support::{Folder, available, lost, testdata};

/// A section of the small ELF files below.
pub(crate) struct Part<'a> {
    name: &'a str,
    bytes: Vec<u8>,
}

/// Returns a 64-bit little-endian ELF file with these sections, none of them loaded.
pub(crate) fn elf(parts: &[Part<'_>]) -> Vec<u8> {
    let mut names = vec![0u8];
    let mut offsets = Vec::new();
    for part in parts {
        offsets.push(names.len() as u32);
        names.extend(part.name.as_bytes());
        names.push(0);
    }
    let own_name = names.len() as u32;
    names.extend(b".shstrtab\0");
    let mut content = vec![0u8; 64];
    let mut headers = vec![0u8; 64];
    let header = |name: u32, kind: u32, offset: usize, size: usize| {
        let mut bytes = [name.to_le_bytes(), kind.to_le_bytes()].concat();
        for word in [0, 0, offset as u64, size as u64] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend([0; 8]); // link, info
        bytes.extend([1u64.to_le_bytes(), 0u64.to_le_bytes()].concat());
        bytes
    };
    for (part, name) in parts.iter().zip(&offsets) {
        headers.extend(header(*name, 1, content.len(), part.bytes.len()));
        content.extend(&part.bytes);
        content.resize(content.len().next_multiple_of(8), 0);
    }
    headers.extend(header(own_name, 3, content.len(), names.len()));
    content.extend(&names);
    content.resize(content.len().next_multiple_of(8), 0);
    let table = content.len() as u64;
    let mut start = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    start.extend([3u16.to_le_bytes(), 62u16.to_le_bytes()].concat());
    start.extend(1u32.to_le_bytes());
    start.extend([0u64, 0, table].map(u64::to_le_bytes).concat());
    start.extend(0u32.to_le_bytes());
    start.extend([64u16, 0, 0, 64, parts.len() as u16 + 2, parts.len() as u16 + 1].map(u16::to_le_bytes).concat());
    content[..64].copy_from_slice(&start);
    content.extend(headers);
    content
}

/// Returns a record of raw version 8.
fn record(name: &str, hash: u64, counters: u32) -> Vec<u8> {
    let mut bytes = profbridge::instr::name_ref(name.as_bytes()).to_le_bytes().to_vec();
    bytes.extend(hash.to_le_bytes());
    bytes.extend([0; 24]);
    bytes.extend(counters.to_le_bytes());
    bytes.extend([0; 4]);
    bytes
}

fn names(names: &str) -> Vec<u8> {
    let text = names.replace(' ', "\x01").into_bytes();
    [&[text.len() as u8, 0][..], &text].concat()
}

pub(crate) fn part(name: &str, bytes: Vec<u8>) -> Part<'_> {
    Part { name, bytes }
}

const PROFILE: &str = ":ir\nmain\n10\n1\n5\n\nworks\n20\n2\n7\n7\n\n";

/// Returns the error of `fit` for a file that it must reject.
#[track_caller]
fn refusal(thing: &[u8], expected: &str) {
    let folder = Folder::new();
    folder.write("p.proftext", PROFILE);
    folder.write("thing", thing);
    let (code, said) = folder.failure("profbridge fit p.proftext --against thing");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(expected), "expected {expected:?}, found\n{said}");
    assert!(said.contains("thing: ") || said.contains("p.proftext: "), "the file is named: {said}");
}

#[test]
fn a_small_program_is_read_as_it_is() {
    let folder = Folder::new();
    folder.write("p.proftext", PROFILE);
    let data = [record("main", 10, 1), record("works", 20, 2)].concat();
    folder.write("thing", elf(&[part("__llvm_prf_data", data), part("__llvm_prf_names", names("main works"))]));
    let report = folder.fit("p.proftext --against thing");
    assert_eq!(report["used_counts"], 1.0, "{report:#}");
    assert!(report["notes"][0].as_str().unwrap().contains("the new build is stripped"), "{report:#}");
}

#[test]
fn programs_without_instrumentation_are_refused_with_advice() {
    refusal(
        &elf(&[part(".text", vec![0; 16])]),
        "the program has no data records (__llvm_prf_data) and no coverage map",
    );
    refusal(&elf(&[]), "hint: pass the instrumented program");
}

#[test]
fn another_program_has_nothing_in_common() {
    let data = [record("main", 10, 1), record("other", 20, 2)].concat();
    let program = elf(&[part("__llvm_prf_data", data), part("__llvm_prf_names", names("main other"))]);
    refusal(&program, "none of the 2 functions of the profile, except main, is among the 2 of the new build");
    refusal(&program, "hint: pass the program or library that has");
}

#[test]
fn a_program_with_only_renamed_functions_is_compared() {
    let folder = Folder::new();
    folder.write("p.proftext", ":ir\nmain\n10\n1\n5\n\n_ZN3old5worksEi\n20\n2\n7\n7\n\n");
    let data = [record("main", 10, 1), record("_ZN3new5worksEi", 20, 2)].concat();
    let names = names("main _ZN3new5worksEi");
    folder.write("thing", elf(&[part("__llvm_prf_data", data), part("__llvm_prf_names", names)]));
    let report = folder.fit("p.proftext --against thing --write-remapping names.txt");
    assert_eq!(lost(&report, "renamed").len(), 1, "{report:#}");
    let written = std::fs::read_to_string(folder.path("names.txt")).unwrap();
    assert!(written.contains("_ZN3old5worksEi _ZN3new5worksEi\n"), "{written}");
}

#[test]
fn fat_files_and_classes_are_distinguished() {
    // Two architectures, as created by `lipo`.
    let mut fat = [0xcafe_babeu32, 2].map(u32::to_be_bytes).concat();
    fat.extend([0; 64]);
    refusal(&fat, "a universal Mach-O file with 2 architectures");
    refusal(&fat, "lipo -thin");
    refusal(&std::fs::read(testdata("java/Shapes.class")).unwrap(), "class");
    refusal(&std::fs::read(testdata("java/Shapes.jar")).unwrap(), "class");
}

#[test]
fn an_archive_is_refused_with_advice() {
    refusal(b"!<arch>\n\n\n\n\n\n\n\n\n", "not an object file: an archive");
    refusal(
        b"!<arch>\n\n\n\n\n\n\n\n\n",
        "hint: pass the program that it is linked into, or extract an object file with `ar x`",
    );
}

/// With `-flto`, all object files are bitcode.
#[test]
fn bitcode_is_refused_with_advice() {
    for magic in [b"BC\xc0\xde", b"\xde\xc0\x17\x0b"] {
        refusal(magic, "not an object file: LLVM bitcode");
        refusal(magic, "hint: link it, and pass the linked program: with -flto, object files are bitcode");
    }
}

#[test]
fn records_of_no_known_layout_are_refused() {
    let odd = elf(&[part("__llvm_prf_data", vec![1; 50]), part("__llvm_prf_names", names("main works"))]);
    refusal(&odd, "50 bytes are not records of any raw version from 2 to 11 with names");
    let nameless = elf(&[part("__llvm_prf_data", record("lost", 1, 1)), part("__llvm_prf_names", names("main works"))]);
    refusal(&nameless, "are not records");
    let mut broken = names("main works");
    broken[0] = 100;
    let data = record("main", 10, 1);
    refusal(
        &elf(&[part("__llvm_prf_data", data.clone()), part("__llvm_prf_names", broken)]),
        "names chunk needs 100 bytes",
    );
    let bomb = [0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0].to_vec();
    refusal(&elf(&[part("__llvm_prf_data", data), part("__llvm_prf_names", bomb)]), "cannot contain the declared");
}

#[test]
fn damaged_coverage_maps_are_refused() {
    let huge = [&[7; 8][..], &[0xff; 4], &[1; 16]].concat();
    refusal(&elf(&[part("__llvm_covfun", huge)]), "coverage mapping needs 4294967295 bytes");
    let version = [0u32, 0, 0, 99].map(u32::to_le_bytes).concat();
    refusal(&elf(&[part("__llvm_covmap", version)]), "a coverage map of version 100 is not supported");
    refusal(&elf(&[part("__llvm_covmap", vec![0; 7])]), "truncated");
}

#[test]
fn no_cut_of_a_program_breaks_anything() {
    let data = [record("main", 10, 1), record("works", 20, 2)].concat();
    let whole = elf(&[
        part("__llvm_prf_data", data),
        part("__llvm_prf_names", names("main works")),
        part("__llvm_covmap", vec![0; 16]),
        part(".pseudo_probe_desc", vec![1; 20]),
    ]);
    let folder = Folder::new();
    folder.write("p.proftext", PROFILE);
    folder.write("s.prof", "main:5:1\n 1: 5\n");
    for len in (1..whole.len()).step_by(37) {
        folder.write("thing", &whole[..len]);
        for profile in ["p.proftext", "s.prof"] {
            let code = folder.failure(&format!("profbridge fit {profile} --against thing")).0;
            assert!(matches!(code, Some(0 | 1)), "{profile}, {len} bytes: {code:?}");
        }
    }
}

/// Section headers with wrong positions and sizes.
#[test]
fn hostile_section_tables_are_refused_at_once() {
    let data = record("main", 10, 1);
    let whole = elf(&[part("__llvm_prf_data", data), part("__llvm_prf_names", names("main works"))]);
    let table = u64::from_le_bytes(whole[0x28..0x30].try_into().unwrap()) as usize;
    let folder = Folder::new();
    folder.write("p.proftext", PROFILE);
    // Offset and size of the first section, the number of sections, and the position of the table.
    for (at, len) in [(table + 64 + 24, 8), (table + 64 + 32, 8), (0x3c, 2), (0x28, 8), (0x3e, 2), (table + 64, 4)] {
        let mut hostile = whole.clone();
        hostile[at..at + len].fill(0xff);
        folder.write("thing", &hostile);
        let (code, said) = folder.failure("profbridge fit p.proftext --against thing");
        assert_eq!(code, Some(1), "byte {at:#x}: {said}");
        assert!(said.contains("thing: ") && !said.contains("panicked"), "byte {at:#x}: {said}");
    }
}

#[test]
fn families_that_do_not_go_together_are_refused() {
    let folder = Folder::new();
    folder.write("p.proftext", PROFILE);
    folder.write("s.prof", "main:5:1\n 1: 5\n");
    folder.write("empty", "");
    let (jar, iprof) = (testdata("java/Shapes.jar"), testdata("iprof/fibonacci.iprof"));
    let (jar, iprof) = (jar.display(), iprof.display());
    for (profile, thing, words) in [
        (
            "p.proftext".to_string(),
            "s.prof".to_string(),
            "the profile (LLVM instrumentation profile) have different formats",
        ),
        ("s.prof".to_string(), "p.proftext".to_string(), "the profile (sample profile) have different formats"),
        (iprof.to_string(), "p.proftext".to_string(), "the profile (iprof) have different formats"),
        (iprof.to_string(), jar.to_string(), "none of the"),
        ("p.proftext".to_string(), "empty".to_string(), "the file is empty"),
        ("empty".to_string(), "p.proftext".to_string(), "the file is empty"),
        (jar.to_string(), "p.proftext".to_string(), "not a profile"),
        ("p.proftext".to_string(), "absent".to_string(), "cannot open"),
    ] {
        let (code, said) = folder.failure(&format!("profbridge fit {profile} --against {thing}"));
        assert!(code == Some(1) && said.contains(words), "{profile} {thing}: {said}");
    }
}

#[test]
fn the_kinds_of_instrumentation_have_to_agree() {
    let test = "the_kinds_of_instrumentation_have_to_agree";
    if !available(test, &["clang-22"]) {
        return;
    }
    let folder = Folder::new();
    folder.write("p.proftext", PROFILE);
    folder.write("a.c", "int main(void) { return 0; }\n");
    folder.run("clang-22 -fprofile-instr-generate a.c -o program");
    folder.run("clang-22 -fprofile-instr-generate -c a.c -o object");
    for build in ["program", "object"] {
        let (code, said) = folder.failure(&format!("profbridge fit p.proftext --against {build}"));
        assert!(code == Some(1) && said.contains("differ (IR instrumentation; front-end instrumentation)"), "{said}");
    }
}

/// Returns the faults that a program can have, one file in `testdata/fit` each.
fn conditions() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let data = record("main", 10, 1);
    let small =
        |names: Vec<u8>| elf(&[part("__llvm_prf_data", record("main", 10, 1)), part("__llvm_prf_names", names)]);
    let valid = small(names("main works"));
    let table = u64::from_le_bytes(valid[0x28..0x30].try_into().unwrap()) as usize;
    let overwritten = |at: usize, len: usize| {
        let mut bytes = valid.clone();
        bytes[at..at + len].fill(0xff);
        bytes
    };
    let other = [record("main", 10, 1), record("other", 20, 2)].concat();
    let fat = [&[0xcafe_babeu32, 2].map(u32::to_be_bytes).concat()[..], &[0; 64]].concat();
    let mut cut_names = names("main works");
    cut_names[0] = 100;
    vec![
        ("not-instrumented.elf", elf(&[part(".text", vec![0; 16])]), "no data records"),
        (
            "another-program.elf",
            elf(&[part("__llvm_prf_data", other), part("__llvm_prf_names", names("main other"))]),
            "none of the 2 functions of the profile",
        ),
        ("fat-mach-o.elf", fat, "a universal Mach-O file with 2 architectures"),
        ("truncated.elf", valid[..valid.len() - 70].to_vec(), "not an object file"),
        ("section-table-beyond-file.elf", overwritten(0x28, 8), "not an object file"),
        ("section-beyond-file.elf", overwritten(table + 64 + 24, 8), "__llvm_prf_data"),
        ("huge-section.elf", overwritten(table + 64 + 32, 8), "__llvm_prf_data"),
        (
            "records-of-no-layout.elf",
            elf(&[part("__llvm_prf_data", data[..20].to_vec()), part("__llvm_prf_names", names("main works"))]),
            "20 bytes are not records",
        ),
        ("records-without-names.elf", small(names("other names")), "are not records"),
        ("names-beyond-section.elf", small(cut_names), "names chunk needs 100 bytes"),
        (
            "huge-coverage-mapping.elf",
            elf(&[part("__llvm_covfun", [&[7; 8][..], &[0xff; 4], &[1; 16]].concat())]),
            "coverage mapping needs 4294967295 bytes",
        ),
        (
            "unknown-coverage-version.elf",
            elf(&[part("__llvm_covmap", [0u32, 0, 0, 99].map(u32::to_le_bytes).concat())]),
            "a coverage map of version 100 is not supported",
        ),
        ("cut-coverage-map.elf", elf(&[part("__llvm_covmap", vec![0; 7])]), "truncated"),
    ]
}

/// `PROFBRIDGE_RENEW=1` rewrites the files.
#[test]
fn each_condition_has_a_file_and_a_message() {
    let folder = testdata("fit");
    for (name, bytes, expected) in conditions() {
        if std::env::var_os("PROFBRIDGE_RENEW").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(name), &bytes).unwrap();
        }
        assert_eq!(std::fs::read(folder.join(name)).unwrap(), bytes, "{name}");
        refusal(&bytes, expected);
    }
}
