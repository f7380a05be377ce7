//! Tests of files for GCC: GCC reads them and uses their counts.

use crate::tools::{Workspace, available};

const SOURCE: &str = "__attribute__((noinline)) int cold(int x)
{
  return x * 3;
}
__attribute__((noinline)) int hot(int x)
{
  int s = 0;
  for (int i = 0; i < x; i++)
    s += i & 3 ? i : cold(i);
  return s;
}
int main(int c, char **v)
{
  return hot(c * 1000) & 1;
}
";

/// The first line number is that of the function's name.
const PROFILE: &str = "hot:190300:100\n 0: 100\n 2: 100\n 3: 100000\n 3.1: 20000\n 4: 70000\n 5: 100\n\
                       main:120:1\n 2: 100\n 4: inlined:20\n  1: 20 hot:20\n";

fn workspace() -> Workspace {
    let workspace = Workspace::with(&[]);
    workspace.write("app.c", SOURCE);
    workspace.write("app.prof", PROFILE);
    workspace
}

/// Returns the functions that GCC marks as hot.
fn hot_functions(workspace: &Workspace, arguments: &str) -> Vec<String> {
    workspace.run(&format!("gcc -O2 -g {arguments} -fdump-tree-optimized=app.dump -c app.c -o app.o"));
    let dump = String::from_utf8_lossy(&workspace.bytes("app.dump")).into_owned();
    let heads = dump.lines().filter(|line| line.starts_with(";; Function") && line.ends_with("(hot)"));
    heads.filter_map(|line| line.split(' ').nth(2).map(str::to_string)).collect()
}

#[test]
fn gcc_uses_the_counts_of_a_written_file() {
    if !available("gcc_uses_the_counts_of_a_written_file", &["gcc"]) {
        return;
    }
    let workspace = workspace();
    assert!(hot_functions(&workspace, "").is_empty(), "without a profile no function is hot");
    workspace.run("profbridge convert app.prof -o fbdata.afdo --to gcc");
    assert!(hot_functions(&workspace, "-fauto-profile=fbdata.afdo").contains(&"hot".to_string()));
    // A file of the other version is rejected because of its version, not its content.
    workspace.run("profbridge convert app.prof -o old.afdo --sample-format gcc --sample-format-version 1");
    // A merge of files of GCC is a file of GCC.
    workspace.run("profbridge merge old.afdo old.afdo -o twice.afdo");
    let twice = workspace.attempt("profbridge info twice.afdo");
    let said = String::from_utf8_lossy(&twice.stdout).into_owned();
    assert!(said.contains("GCC sample profile") && said.contains("of GCC 11 and earlier"), "{said}");
    let old = workspace.attempt("gcc -O2 -g -fauto-profile=old.afdo -c app.c -o app.o");
    assert!(String::from_utf8_lossy(&old.stderr).contains("profile version 1 does not match 2"));
}

/// Samples seldom are in the first instructions of a long loop. GCC makes functions without entries cold.
#[test]
fn sampled_functions_have_an_entry() {
    const LOOP: &str = "volatile long sink;
static inline int mix(int x, int k) {
  if (x % 8 == 0)
    return x * 3 + k;
  return x ^ k;
}
__attribute__((noinline)) long work(int n) {
  long s = 0;
  for (int i = 0; i < n; i++) {
    s += mix(i, 5);
    if (i % 16 == 3)
      sink = s;
  }
  return s;
}
int main(void) {
  for (int i = 0; i < 3000; i++)
    sink = work(100000);
  return 0;
}
";
    if !available("sampled_functions_have_an_entry", &["gcc"]) {
        return;
    }
    let workspace = Workspace::with(&[]);
    workspace.write("app.c", LOOP);
    workspace.write("app.prof", "work:1351:0\n 2.1: 182\n 3: 105\n 4: 299\n 3: mix:539\n  2: 374\nmain:1:0\n 2: 1\n");
    workspace.run("profbridge convert app.prof -o fbdata.afdo --to gcc");
    assert!(hot_functions(&workspace, "-fauto-profile=fbdata.afdo").contains(&"work".to_string()));
}

#[test]
fn written_files_read_back_equal() {
    let workspace = workspace();
    for version in [1, 2] {
        workspace.run(&format!("profbridge convert app.prof -o a.afdo --to gcc --sample-format-version {version}"));
        workspace.run("profbridge convert a.afdo -o back.prof --to text");
        assert_eq!(String::from_utf8_lossy(&workspace.bytes("back.prof")), PROFILE, "version {version}");
        workspace.run("profbridge check a.afdo");
        // An earlier output can be replaced.
        workspace.run("profbridge merge a.afdo app.prof -o a.afdo --to gcc");
    }
}

#[test]
fn data_without_a_gcc_form_is_an_error_or_a_loss() {
    let workspace = workspace();
    let refused = |line: &str, words: &str| {
        let output = workspace.attempt(&format!("profbridge convert {line} -o out.afdo --to gcc"));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(words), "{line}: {text}");
    };
    workspace.write("contexts.prof", "[main:2 @ hot]:5:5\n 1: 5\n");
    workspace.write("probes.prof", "hot:5:5\n 1: 5\n !CFGChecksum: 7\n");
    refused("contexts.prof", "writing calling contexts for GCC is not supported");
    refused("probes.prof", "writing pseudo-probes for GCC is not supported");
    refused("app.prof --sample-format-version 3", "GCC 12 and later read 2, earlier releases 1");
    workspace.run("profbridge convert app.prof -o hashed.afdo --use-md5");
    refused("hashed.afdo", "writing hashes of names for GCC is not supported");
    workspace.write("names.list", "hot\nnever\n");
    workspace.run("profbridge convert app.prof -o listed.afdo --prof-sym-list names.list");
    let output = workspace.attempt("profbridge convert listed.afdo -o out.afdo --to gcc");
    assert!(String::from_utf8_lossy(&output.stderr).contains("2 profile symbols"));
}
