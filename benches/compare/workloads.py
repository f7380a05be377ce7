"""Creates the inputs: profiles of real programs, and synthetic profiles."""

import gzip
import os
import subprocess
from pathlib import Path

CLANG = "clang++-22"
PROFDATA = "llvm-profdata-22"
PACKAGE = Path(__file__).resolve().parents[2]


def quiet(command, **options):
    """Runs a command that must succeed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    if done.returncode:
        raise SystemExit(f"{command}: {done.stderr.decode(errors='replace')[-2000:]}")


SUFFIXES = (".memprofraw", ".memprofyaml", ".profraw", ".profdata", ".proftext", ".iprof", ".prof", ".afdo", ".collapsed", ".pprof", ".pb", ".jfr")


def once(make):
    """Creates a directory once; a marker file shows that it is complete."""

    def wrapped(folder, *arguments):
        mark = folder / "complete"
        if not mark.exists():
            folder.mkdir(parents=True, exist_ok=True)
            make(folder, *arguments)
            mark.touch()
        return sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)

    return wrapped


# Real programs: this one, instrumented.


def instrumented(root, name, flags, release=False):
    """This program built with `flags`; the path of the executable."""
    target = root / f"build-{name}"
    command = ["cargo", "build", "--quiet", "--target-dir", str(target), "--bin", "profbridge"]
    if release:
        # No link-time optimization: it would take minutes and much memory without benefit.
        command += ["--release", "--config", 'profile.release.lto="off"']
    environment = dict(os.environ, RUSTFLAGS=flags, LLVM_PROFILE_FILE="/dev/null")
    quiet(command, cwd=PACKAGE, env=environment)
    return target / ("release" if release else "debug") / "profbridge"


def exercise(program, folder, count, first=0):
    """Runs the program `count` times on the test data; each run writes a profile."""
    inputs = sorted((PACKAGE / "testdata" / "raw").glob("*.profraw"))
    for run in range(first, first + count):
        chosen = [str(inputs[(run * step) % len(inputs)]) for step in range(1, 2 + run % 5)]
        command = [str(program)] + (["show", "--all-functions", "--counts", chosen[0]] if run % 3 else
                                    ["merge", "--text", "-o", "/dev/null"] + chosen)
        environment = dict(os.environ, LLVM_PROFILE_FILE=str(folder / f"{program.parent.parent.name}-{run:05}.profraw"))
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, check=False)


@once
def coverage_runs(folder, root, count):
    exercise(instrumented(root, "coverage", "-Cinstrument-coverage"), folder, count)


@once
def pgo_runs(folder, root, count):
    exercise(instrumented(root, "pgo", "-Cprofile-generate", release=True), folder, count)


@once
def binaries_that_share_functions(folder, root, binaries, runs):
    """Executables with different build ids. They link the same objects, except for the
    program's own crate, which is compiled with four different names."""
    target = root / "build-coverage"
    environment = dict(os.environ, RUSTFLAGS="-Cinstrument-coverage", LLVM_PROFILE_FILE="/dev/null")
    for binary in range(binaries):
        flags = [f"-Cmetadata=compare{binary % 4}", f"-Clink-arg=-Wl,--build-id=0x{binary + 1:040x}"]
        quiet(["cargo", "rustc", "--quiet", "--target-dir", str(target), "--bin", "profbridge", "--"] + flags,
              cwd=PACKAGE, env=environment)
        copy = root / f"shared-{binary:03}" / "debug" / "profbridge"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((target / "debug" / "profbridge").read_bytes())
        copy.chmod(0o755)
        exercise(copy, folder, runs, binary)


# C++ with many value sites.

VALUES_SOURCE = """#include <cstdio>
#include <cstdlib>
typedef unsigned (*target)(unsigned);
template <int N> __attribute__((noinline)) unsigned f(unsigned x) { return x * (N + 3) + N; }
template <int N> struct fill { static void in(target *t) { t[N] = f<N>; fill<N - 1>::in(t); } };
template <> struct fill<-1> { static void in(target *) {} };
target targets[256];
template <int N> __attribute__((noinline)) unsigned site(unsigned x) {
  unsigned s = targets[x % 251](x);
  s += targets[(x / 3) % 127](s);
  return s + targets[(s ^ x) % 61](x);
}
template <int N> struct all { static unsigned run(unsigned x) { return site<N>(x + N) + all<N - 1>::run(x); } };
template <> struct all<-1> { static unsigned run(unsigned) { return 0; } };
int main(int argc, char **argv) {
  fill<255>::in(targets);
  unsigned seed = argc > 1 ? atoi(argv[1]) : 1, total = 0;
  for (unsigned i = 0; i < 3000; i++) { seed = seed * 1664525u + 1013904223u; total += all<399>::run(seed >> 8); }
  printf("%u\\n", total);
}
"""


@once
def value_heavy_runs(folder, root, count):
    source, program = root / "values.cpp", root / "values"
    source.write_text(VALUES_SOURCE)
    quiet([CLANG, "-O1", "-ftemplate-depth=2000", "-fprofile-generate", "-mllvm", "-vp-static-alloc=false", str(source), "-o",
           str(program)])
    for run in range(count):
        environment = dict(os.environ, LLVM_PROFILE_FILE=str(folder / f"{run:05}.profraw"), LLVM_VP_MAX_NUM_VALS_PER_SITE="255")
        quiet([str(program), str(run)], env=environment)


# C++ that allocates along many call stacks.

DEEP_SOURCE = """#include <cstdint>
#include <cstdlib>
#define OWN __attribute__((noinline))
#define WITHIN static inline __attribute__((always_inline))
constexpr int FUNCTIONS = 300;
void *volatile kept;
template <int N> WITHIN void *grab(uint64_t way) { return way & 1 ? malloc(8 + N) : operator new(24 + N); }
template <int N> OWN void *step(uint64_t way, int depth);
template <int N> WITHIN void *further(uint64_t way, int depth) { return step<N % FUNCTIONS>(way, depth); }
template <int N> OWN void *step(uint64_t way, int depth) {
  if (!depth) return way & 2 ? grab<N>(way) : grab<N + 1>(way);
  switch (way & 3) {
  case 0: return step<(N * 5 + 1) % FUNCTIONS>(way >> 2, depth - 1);
  case 1: return step<(N * 7 + 2) % FUNCTIONS>(way >> 2, depth - 1);
  case 2: return further<N * 11 + 3>(way >> 2, depth - 1);
  default: return further<N * 13 + 4>(way >> 2, depth - 1);
  }
}
int main(int, char **arguments) {
  uint64_t random = 1;
  for (int left = atoi(arguments[1]); left > 0; left--) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    void *block = step<0>(random >> 20, 10 + (random >> 60));
    *(volatile char *)block = 1;
    kept = block;
    free(block);
  }
}
"""


def deep_program(root):
    return root / "deep"


@once
def memory_dump(folder, root, contexts):
    """A raw memory profile with about `contexts` contexts."""
    source, program = root / "deep.cpp", deep_program(root)
    source.write_text(DEEP_SOURCE)
    quiet([CLANG, "-O1", "-gmlt", "-fdebug-info-for-profiling", "-fno-optimize-sibling-calls", "-fno-omit-frame-pointer",
           "-fmemory-profile", "-Wl,--build-id", str(source), "-o", str(program)])
    quiet([str(program), str(contexts)], env=dict(os.environ, MEMPROF_OPTIONS=f"log_path={folder}/dump"))
    (dump,) = folder.glob("dump.*")
    dump.rename(folder / "deep.memprofraw")


@once
def memory_section(folder, root, contexts):
    (dump,) = memory_dump(root / f"memory-{contexts}", root, contexts)
    quiet([PROFDATA, "merge", f"--profiled-binary={deep_program(root)}", str(dump), "-o", str(folder / "deep.profdata")])


MANY_SITES_HEAD = """#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <strings.h>
typedef int (*target)(int);
static unsigned mix(unsigned x) { x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; return x ^ x >> 16; }
"""


def many_sites_source(functions=6000, sites=6, targets=600):
    """A program with 36,000 indirect calls. In one of 32 functions, the sites call
    hundreds of targets per run; in six of 32, dozens; in the others, a few. Some
    targets are functions of the C library, whose addresses the profile does not
    know."""
    lines = [MANY_SITES_HEAD]
    lines += [f"__attribute__((noinline)) int f{at}(int x) {{ return x * {at + 3} + {at}; }}" for at in range(targets - 4)]
    known = ", ".join(f"f{at}" for at in range(targets - 4))
    lines.append(f"target targets[{targets}] = {{abs, ffs, toascii, isascii, {known}}};")
    for at in range(functions):
        population = targets if at % 32 == 0 else 40 if at % 32 < 7 else 4
        calls = "".join(f" s += targets[(mix(x + {site * 7919}) % {population} + {at * 13}) % {targets}](s);" for site in range(sites))
        lines.append(f"__attribute__((noinline)) int site{at}(unsigned x) {{ int s = 0;{calls} return s; }}")
    lines.append(f"int (*sites[{functions}])(unsigned) = {{{', '.join(f'site{at}' for at in range(functions))}}};")
    lines.append(f"""int main(int argc, char **argv) {{
  unsigned seed = argc > 1 ? atoi(argv[1]) : 1, total = 0;
  for (unsigned at = 0; at < {functions}; at++) {{
    unsigned calls = at % 32 == 0 ? 300 : at % 32 < 7 ? 30 : 3;
    for (unsigned i = 0; i < calls; i++) total += sites[at](mix(seed * 977u + mix(at * 4099u + i)));
  }}
  printf("%u\\n", total);
}}
""")
    return "\n".join(lines)


@once
def runs_with_many_sites(folder, root, count):
    source, program = root / "many-sites.cpp", root / "many-sites"
    source.write_text(many_sites_source())
    quiet([CLANG, "-O1", "-fprofile-generate", "-mllvm", "-vp-static-alloc=false", str(source), "-o", str(program)])
    for run in range(count):
        environment = dict(os.environ, LLVM_PROFILE_FILE=str(folder / f"{run:05}.profraw"), LLVM_VP_MAX_NUM_VALS_PER_SITE="255")
        quiet([str(program), str(run)], env=environment)


# Synthetic profiles: files of `profbridge generate`.


def generated(root, program, *arguments, files=1, seed=1):
    """Generates files once. The directory has the arguments in its name, so other arguments make other files."""
    words = [str(word) for word in arguments] + ["--files", str(files), "--seed", str(seed)]
    return generated_files(root / "-".join(word.lstrip("-") for word in words), [program, "generate", *words])


@once
def generated_files(folder, command):
    # The slash makes the output a directory. An interrupted run may have left files in it.
    quiet(command + ["--force", "-o", f"{folder}/"])


def instr_profiles(root, program, form, functions, counters, distinct, files=1):
    """Instrumentation profiles without values, which would be the default kind of content."""
    return generated(root, program, "--format", form, "--kinds", "entry-first", "--functions", functions, "--counters", counters,
                     "--distinct-counts", distinct, files=files)


def sample_profiles(root, program, encoding, files, functions):
    """Runs of a program whose functions have samples at other lines in each fifth run."""
    runs = [generated(root, program, "--format", f"sample-{encoding}", "--functions", functions, "--counters", 30,
                      files=max(1, files // 5), seed=seed) for seed in range(1, min(files, 5) + 1)]
    return [path for run in runs for path in run]


def collapsed_stacks(root, program, count):
    """Sorted lines of 30 to 60 frames."""
    (path,) = generated(root, program, "--format", "collapsed", "--methods", 10_000, "--contexts", count, "--depth", 60)
    return path


def pprof_profiles(root, program, files, count):
    """Profiles whose stacks are distinct and have the same methods."""
    return [generated(root, program, "--format", "pprof", "--methods", 10_000, "--contexts", count, "--depth", 60, seed=seed)[0]
            for seed in range(1, files + 1)]


def iprof_profile(root, program, contexts):
    """About as large as `contexts` entries each of calls and branches."""
    (path,) = generated(root, program, "--format", "iprof", "--methods", contexts // 2, "--contexts", contexts * 3 // 2)
    return path


# Partial merges.


@once
def parts_of(folder, program, files, count):
    """Partial merges of groups of equal size, in order."""
    for part in range(count):
        share = files[len(files) * part // count : len(files) * (part + 1) // count]
        listing = folder / f"part-{part}.list"
        listing.write_text("".join(f"{path}\n" for path in share))
        quiet(program + ["merge", "--partial", "--for", "llvm-22", "-f", str(listing), "-o", str(folder / f"part-{part}.profdata")])


@once
def forms_of(folder, program, raw, other):
    """A raw profile, and another run of the program, in all forms that single commands read."""
    here = {name: str(folder / name) for name in
            ("one.profdata", "two.profdata", "part.profdata", "big-endian.profraw", "one.iprof")}
    quiet([program, "merge", str(raw), "-o", here["one.profdata"]])
    quiet([program, "merge", str(other), "-o", here["two.profdata"]])
    quiet([program, "merge", "--partial", str(raw), "-o", here["part.profdata"]])
    quiet([program, "convert", str(raw), "--to", "raw", "--raw-arch", "64be", "-o", here["big-endian.profraw"]])
    quiet([program, "convert", here["one.profdata"], "-o", here["one.iprof"]])
    with gzip.open(folder / "one.profraw.gz", "wb", compresslevel=1) as packed:
        packed.write(raw.read_bytes())


# Recordings.


@once
def recording(folder, copies):
    """Concatenates the chunks of a small recording, which creates a long one."""
    with gzip.open(PACKAGE / "testdata" / "java" / "shapes-jdk17.jfr.gz") as packed:
        chunks = packed.read()
    with (folder / "one.jfr").open("wb") as out:
        for _ in range(copies):
            out.write(chunks)
