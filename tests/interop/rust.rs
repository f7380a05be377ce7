//! rustc optimises with our profiles as with those of llvm-profdata.

use crate::tools::{Workspace, available, skip};

/// Whether the installed rustc carries the LLVM whose tools are compared with.
fn rustc_has_llvm_22(test: &str) -> bool {
    if !available(test, &["rustc", "cargo", "llvm-profdata-22"]) {
        return false;
    }
    let version = Workspace::with(&[]).run("rustc --version --verbose");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let found = version.contains("LLVM version: 22.");
    if !found {
        skip(test, "the installed rustc does not carry LLVM 22");
    }
    found
}

/// A package with a library and a program that uses it.
fn package() -> Workspace {
    let ws = Workspace::with(&["words.rs"]);
    ws.write("Cargo.toml", "[package]\nname = \"words\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n");
    ws.write(
        "src/lib.rs",
        "//! Collatz steps.\n\
         /// Steps until 1.\n\
         pub fn steps(mut value: u64) -> u32 {\n    let mut count = 0;\n    while value > 1 {\n        \
         value = if value % 2 == 0 { value / 2 } else { 3 * value + 1 };\n        count += 1;\n    }\n    count\n}\n",
    );
    let main = String::from_utf8(ws.bytes("words.rs")).expect("the source is UTF-8");
    ws.write(
        "src/main.rs",
        &main.replace("println!(\"{}\", counts", "println!(\"{}\", words::steps(27));\n    println!(\"{}\", counts"),
    );
    ws
}

/// Builds the package from nothing with `flags` and keeps the program as `name`.
fn build(ws: &Workspace, flags: &str, name: &str) {
    let target = ws.path("target");
    if target.exists() {
        std::fs::remove_dir_all(&target).expect("folder can be removed");
    }
    let variables = [("RUSTFLAGS", flags), ("CARGO_TARGET_DIR", "target"), ("CARGO_INCREMENTAL", "0")];
    let output = ws.run_with("cargo build --release --offline --quiet", &variables);
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(messages.is_empty(), "cargo build with {flags}: {messages}");
    std::fs::rename(ws.path("target/release/words"), ws.path(name)).expect("the program was built");
}

#[test]
fn a_trained_crate_is_compiled_alike() {
    if !rustc_has_llvm_22("rustc -C profile-use") {
        return;
    }
    let ws = package();
    build(&ws, "-Cprofile-generate", "trained");
    ws.train("./trained 50", "a.profraw");
    ws.train("./trained 3000", "b.profraw");
    ws.run("llvm-profdata-22 merge --num-threads=1 a.profraw b.profraw -o theirs.profdata");
    ws.run("profbridge merge --for rustc-1.95 a.profraw b.profraw -o ours.profdata");
    ws.assert_same("ours.profdata", "theirs.profdata");
    // The path of the profile is an option of the compiler: the same for both.
    let used = ws.path("used.profdata");
    let flags = format!("-Cprofile-use={}", used.display());
    for whose in ["ours", "theirs"] {
        std::fs::copy(ws.path(&format!("{whose}.profdata")), &used).expect("file can be copied");
        build(&ws, &flags, whose);
    }
    build(&ws, "", "without");
    ws.assert_same("ours", "theirs");
    assert_ne!(ws.bytes("ours"), ws.bytes("without"), "the profile changed nothing");
}

#[test]
fn reports_of_an_instrumented_crate_are_the_same() {
    if !rustc_has_llvm_22("rustc -C instrument-coverage") || !available("llvm-cov of a crate", &["llvm-cov-22"]) {
        return;
    }
    let ws = package();
    build(&ws, "-Cinstrument-coverage", "covered");
    ws.train("./covered 2", "a.profraw");
    ws.train("./covered 0", "b.profraw");
    ws.run("llvm-profdata-22 merge --num-threads=1 -sparse a.profraw b.profraw -o theirs.profdata");
    ws.run("profbridge merge --for llvm-22 -sparse a.profraw b.profraw -o ours.profdata");
    ws.run("profbridge merge -sparse a.profraw b.profraw -o by-inputs.profdata");
    ws.assert_same("ours.profdata", "theirs.profdata");
    let report = |whose: &str| ws.run(&format!("llvm-cov-22 export covered -instr-profile={whose}.profdata")).stdout;
    let ours = report("ours");
    assert_eq!(ours, report("theirs"));
    assert_eq!(ours, report("by-inputs"), "profiles of one toolchain determine the target");
    assert!(String::from_utf8_lossy(&ours).contains("words5steps"), "the library's function is in the report");
}
