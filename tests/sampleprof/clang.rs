//! Compilers accept our files and use them like the real tool's files.

use crate::tools::{Workspace, available};

const PROGRAM: &str = "\
static int twice(int x) { return x * 2; }
int pick(int x) {
  if (x % 7 == 3)
    return twice(x);
  return x + 1;
}
int main(int argc, char **argv) {
  int sum = 0;
  for (int i = 0; i < 1000 * argc; i++) {
    sum += pick(i);
    if (sum > 100000)
      sum -= 99999;
  }
  return sum & 1;
}
";

const PROFILE: &str = "\
main:200000:1
 2: 20000
 3: 20000 pick:19000
 4: 150
 5: 30
 7: 1
 3: pick:120000
  1: 19000
  2: 2600
  4: 17000
  2: twice:2600
   0: 2600
pick:500:100
 1: 100
 2: 20 twice:20
 4: 80
";

/// Returns a compiler's command line for a profile, with all optimization remarks.
fn compile(clang: &str, profile: &str, options: &str) -> String {
    format!(
        "{clang} -O2 -gline-tables-only -fprofile-sample-use={profile}.afdo -fsave-optimization-record \
         -foptimization-record-file={profile}.yaml -Rpass=.* {options} a.c -o {profile}.out"
    )
}

#[test]
fn remarks_and_object_code_are_the_same() {
    const TEST: &str = "remarks_and_object_code_are_the_same";
    for release in [14, 16, 17, 18, 19, 20, 21, 22, 23] {
        let (clang, tool) = (format!("clang-{release}"), format!("llvm-profdata-{release}"));
        if !available(TEST, &[&clang, &tool]) {
            continue;
        }
        let workspace = Workspace::with(&[]);
        workspace.write("a.c", PROGRAM);
        workspace.write("a.prof", PROFILE);
        for (output, options) in [("binary", ""), ("extbinary", "--compress-all-sections"), ("extbinary", "--use-md5")]
        {
            workspace.run(&format!("{tool} merge --sample --{output} {options} a.prof -o genuine.afdo"));
            workspace.run(&format!(
                "profbridge convert --for llvm-{release} --sample-format {output} {options} a.prof -o ours.afdo"
            ));
            let made = |profile: &str, options: &str| {
                let said = workspace.run(&compile(&clang, profile, options)).stderr;
                let record = workspace.bytes(&format!("{profile}.yaml"));
                (String::from_utf8_lossy(&said).into_owned(), record, workspace.bytes(&format!("{profile}.out")))
            };
            let (genuine, ours) = (made("genuine", "-c"), made("ours", "-c"));
            assert!(ours == genuine, "clang {release}, {output} {options}: {} against {}", ours.0, genuine.0);
            assert!(ours.0.contains("remark: ") && !ours.1.is_empty(), "clang {release} said nothing: {}", ours.0);
            if output == "binary" {
                let code = made("ours", "-S -emit-llvm").2;
                assert!(String::from_utf8_lossy(&code).contains("branch_weights"), "clang {release} used the profile");
            }
        }
    }
}
