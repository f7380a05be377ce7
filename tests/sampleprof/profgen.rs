//! Tests with profiles that llvm-profgen creates, merged by profbridge and by the real tool.

use crate::tools::{Workspace, available};
use std::os::unix::fs::symlink;
use std::path::Path;

const PROGRAM: &str = "\
volatile int sink;
__attribute__((noinline)) int twice(int x) { sink += x; return x * 2; }
int main(int argc, char **argv) {
  int sum = 0;
  for (int i = 0; i < 1000 * argc; i++)
    sum += twice(i);
  return sum & 1;
}
";

/// The addresses of a loop that calls one function.
struct Loop {
    top: u64,
    call: u64,
    behind_call: u64,
    entry: u64,
    end: u64,
    jump: u64,
}

impl Loop {
    /// Parses the output of `llvm-objdump -d`.
    fn of(listing: &str) -> Option<Self> {
        let hexadecimal = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
        let mut function = "";
        let (mut main, mut twice) = (Vec::new(), Vec::new());
        for line in listing.lines() {
            if let Some((_, name)) = line.split_once(" <").filter(|_| line.ends_with(">:")) {
                function = name.trim_end_matches(">:");
                continue;
            }
            let Some((address, rest)) = line.trim().split_once(':') else { continue };
            let Some(address) = hexadecimal(address) else { continue };
            let mut words = rest.split_whitespace();
            let instruction = (address, words.next()?, words.next().unwrap_or_default().to_string());
            match function {
                "main" => main.push(instruction),
                "twice" => twice.push(instruction),
                _ => {}
            }
        }
        let at = main.iter().position(|(_, word, _)| word.starts_with("call"))?;
        let (call, behind_call) = (main[at].0, main.get(at + 1)?.0);
        let jumps = main[at..].iter().filter(|(_, word, _)| word.starts_with('j'));
        let (jump, top) =
            jumps.filter_map(|(from, _, to)| Some((*from, hexadecimal(to)?))).find(|(_, to)| *to < call)?;
        let end = twice.iter().find(|(_, word, _)| word.starts_with("ret"))?.0;
        Some(Self { top, call, behind_call, entry: twice.first()?.0, end, jump })
    }

    /// Returns the output of `perf script` for samples with branches, without and with call stacks.
    fn scripts(&self, program: &Path) -> (String, String) {
        let branch = |from: u64, to: u64| format!("0x{from:x}/0x{to:x}/P/-/-/0 ");
        let (jump, back, call) =
            (branch(self.jump, self.top), branch(self.end, self.behind_call), branch(self.call, self.entry));
        let (address, offset) = code_segment(&std::fs::read(program).expect("the program was made"));
        let mapped = format!(
            "PERF_RECORD_MMAP2 7/7: [{address:#x}(0x1000) @ {offset:#x} 00:1d 1 1]: r-xp {}\n",
            program.display()
        );
        let in_main = format!("{jump}{back}{call}").repeat(5);
        let in_twice = format!("{call}{jump}{back}").repeat(5);
        let branches = format!("          {:x}  {in_main}\n", self.top).repeat(20);
        let stacks = format!(
            "\n\t          {:x}\n {in_main}\n\n\t          {:x}\n\t          {:x}\n {in_twice}\n",
            self.top, self.entry, self.behind_call
        );
        (format!("{mapped}{branches}"), format!("{mapped}{}", stacks.repeat(20)))
    }
}

/// Returns the address and file offset of the code segment of a 64-bit ELF file.
fn code_segment(program: &[u8]) -> (u64, u64) {
    let word = |at: usize| u64::from_le_bytes(program[at..at + 8].try_into().expect("eight bytes"));
    let headers = word(32) as usize;
    let executable = |at: &usize| word(*at) as u32 == 1 && word(*at) >> 32 & 1 == 1;
    let segment = (0..16).map(|index| headers + 56 * index).find(executable).expect("a segment of code");
    (word(segment + 16) & !0xfff, word(segment + 8) & !0xfff)
}

#[test]
fn profiles_of_llvm_profgen_are_read_and_written_again() {
    let mut compared = 0;
    for release in [14, 16, 19, 20, 21, 22, 23] {
        let tool = |name: &str| format!("{name}-{release}");
        let (clang, profgen, profdata) = (tool("clang"), tool("llvm-profgen"), tool("llvm-profdata"));
        let needed = [clang.as_str(), &profgen, &profdata, &tool("llvm-objdump")];
        if !available("profiles_of_llvm_profgen_are_read_and_written_again", &needed) {
            continue;
        }
        let workspace = Workspace::with(&[]);
        symlink(env!("CARGO_BIN_EXE_profbridge"), workspace.path(&profdata)).unwrap();
        workspace.write("a.c", PROGRAM);
        for probes in ["", "-fpseudo-probe-for-profiling"] {
            workspace.run(&format!(
                "{clang} -O1 -gline-tables-only -fdebug-info-for-profiling {probes} -fno-pie -no-pie -fno-unroll-loops \
                 a.c -o a.bin"
            ));
            let listing = workspace.run(&format!("llvm-objdump-{release} -d --no-show-raw-insn a.bin"));
            let found = Loop::of(&String::from_utf8_lossy(&listing.stdout)).expect("a loop with a call");
            let (branches, stacks) = found.scripts(&workspace.path("a.bin"));
            workspace.write("branches.script", &branches);
            workspace.write("stacks.script", &stacks);
            // Pseudo-probes need call stacks.
            let scripts: &[&str] = if probes.is_empty() { &["branches", "stacks"] } else { &["stacks"] };
            for script in scripts {
                for encoding in ["text", "extbinary"] {
                    workspace.run(&format!(
                        "{profgen} --binary=a.bin --perfscript={script}.script --format={encoding} --output=made"
                    ));
                    for output in ["text", "extbinary"] {
                        workspace.run(&format!("{profdata} merge --sample --{output} made -o genuine"));
                        workspace.run(&format!("./{profdata} merge --sample --{output} made -o ours"));
                        workspace.assert_same("ours", "genuine");
                        workspace.run(&format!(
                            "profbridge convert made --sample-format {output} --for llvm-{release} -o ours"
                        ));
                        workspace.assert_same("ours", "genuine");
                        compared += 1;
                    }
                    let listed = workspace.run(&format!("{profdata} show --sample made")).stdout;
                    let ours = workspace.run(&format!("./{profdata} show --sample made")).stdout;
                    assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&listed));
                    assert!(String::from_utf8_lossy(&ours).contains("Function: main: "), "samples fell on the program");
                }
            }
        }
    }
    assert_eq!(compared % 12, 0);
}
