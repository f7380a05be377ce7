//! Compilers take what we write and make the same of it as of the genuine
//! tool's file.

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

#[test]
fn object_code_is_the_same() {
    for release in [14, 16, 19, 22] {
        let (clang, tool) = (format!("clang-{release}"), format!("llvm-profdata-{release}"));
        if !available("object_code_is_the_same", &[&clang, &tool]) {
            continue;
        }
        let workspace = Workspace::with(&[]);
        workspace.write("a.c", PROGRAM);
        workspace.write("a.prof", PROFILE);
        for (output, options) in
            [("binary", ""), ("extbinary", ""), ("extbinary", "--compress-all-sections"), ("extbinary", "--use-md5")]
        {
            workspace.run(&format!("{tool} merge --sample --{output} {options} a.prof -o genuine.afdo"));
            workspace.run(&format!(
                "profbridge convert --for llvm-{release} --sample-format {output} {options} a.prof -o ours.afdo"
            ));
            for profile in ["genuine", "ours"] {
                workspace.run(&format!(
                    "{clang} -O2 -gline-tables-only -fprofile-sample-use={profile}.afdo -S -emit-llvm a.c -o {profile}.ll"
                ));
                workspace.run(&format!(
                    "{clang} -O2 -gline-tables-only -fprofile-sample-use={profile}.afdo -c a.c -o {profile}.o"
                ));
            }
            let code = workspace.bytes("ours.ll");
            assert_eq!(workspace.bytes("ours.o"), workspace.bytes("genuine.o"), "clang {release}, {output} {options}");
            assert!(String::from_utf8_lossy(&code).contains("branch_weights"), "the profile was used");
        }
    }
}
