"""Creates the inputs: profiles of real programs, and synthetic profiles
with a given number of distinct counts."""

import gzip
import hashlib
import os
import random
import struct
import subprocess
import zlib
from array import array
from pathlib import Path

CLANG = "clang++-22"
PROFDATA = "llvm-profdata-22"
PACKAGE = Path(__file__).resolve().parents[2]


def quiet(command, **options):
    """Runs a command that must succeed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    if done.returncode:
        raise SystemExit(f"{command}: {done.stderr.decode(errors='replace')[-2000:]}")


SUFFIXES = (".memprofraw", ".profraw", ".profdata", ".proftext", ".iprof", ".prof", ".afdo", ".collapsed", ".pprof", ".jfr")


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


# Synthetic profiles.


def name_of(index):
    return b"_ZN7example6module%d8function%dEv" % (index % 997, index)


def counts(generator, distinct, total):
    """`total` counters out of about `distinct` values, small ones most often."""
    values = [0, 0, 0, 1, 1, 2] + [int(generator.paretovariate(0.3)) % (1 << 40) for _ in range(distinct)]
    return array("Q", generator.choices(values, k=total))


def uleb128(number):
    out = bytearray()
    while True:
        byte, number = number & 0x7F, number >> 7
        out.append(byte | (0x80 if number else 0))
        if not number:
            return bytes(out)


def write_raw(path, functions, per_function, distinct, seed):
    """A raw profile of version 10, IR, without value data."""
    counters = counts(random.Random(seed), distinct, functions * per_function)
    # The distance from the data section to the counters.
    counters_delta = 64 * functions
    records = bytearray()
    for index in range(functions):
        name_ref = int.from_bytes(hashlib.md5(name_of(index)).digest()[:8], "little")
        # The distance from the record to its counters.
        pointer = (counters_delta - 64 * index + 8 * per_function * index) % (1 << 64)
        records += struct.pack("<QQQQQQIHHHxxI", name_ref, 1000 + index, pointer, 0, 0, 0, per_function, 0, 0, 0, 0)
    chunks = bytearray()
    for start in range(0, functions, 2000):
        plain = b"\x01".join(name_of(index) for index in range(start, min(start + 2000, functions)))
        packed = zlib.compress(plain, 9)
        chunks += uleb128(len(plain)) + uleb128(len(packed)) + packed
    header = struct.pack("<16Q", 0xFF6C70726F667281, (1 << 56) | 10, 0, functions, 0, len(counters), 0, 0, 0, len(chunks),
                         counters_delta, 0, 0, 0, 0, 2)
    path.write_bytes(header + records + counters.tobytes() + chunks + bytes(-len(chunks) % 8))
    return path


@once
def one_huge_raw(folder, functions, distinct):
    write_raw(folder / "huge.profraw", functions, 45, distinct, 1)


@once
def synthetic_raws(folder, files, functions):
    for file in range(files):
        write_raw(folder / f"{file:03}.profraw", functions, 3, 1400, file)


@once
def indexed_profiles(folder, files, functions):
    for file in range(files):
        raw = write_raw(folder / "one.raw", functions, 20, 20000, file)
        quiet([PROFDATA, "merge", str(raw), "-o", str(folder / f"{file:03}.profdata")])
        raw.unlink()


@once
def one_indexed_profile(folder, functions, distinct):
    raw = write_raw(folder / "one.raw", functions, 45, distinct, 7)
    quiet([PROFDATA, "merge", str(raw), "-o", str(folder / "one.profdata")])
    raw.unlink()


@once
def one_text_profile(folder, indexed):
    quiet([PROFDATA, "merge", "--text", str(indexed), "-o", str(folder / "one.proftext")])


@once
def small_raw(folder):
    write_raw(folder / "small.profraw", 8000, 4, 500, 3)


# Sample profiles: the functions of one program, with samples at other lines in each run.


def text_name(index):
    return name_of(index).decode()


def sampled_lines(generator, callee_names, indent, depth):
    """The lines of a function and of its inlined callees, and the total of their samples."""
    lines, total = [], 0
    for place in sorted(generator.sample(range(1, 60), generator.randrange(2, 12))):
        samples = int(generator.paretovariate(0.8))
        total += samples
        calls = ""
        if generator.random() < 0.15:
            calls = "".join(f" {text_name(callee)}:{samples}" for callee in generator.sample(callee_names, 2))
        mark = f".{generator.randrange(1, 8)}" if generator.random() < 0.2 else ""
        lines.append(f"{indent}{place}{mark}: {samples}{calls}\n")
    # Inlined callees follow the lines of their caller.
    inlined = generator.randrange(4) if depth else 0
    for place in sorted(generator.sample(range(1, 60), inlined)):
        below, samples = sampled_lines(generator, callee_names, indent + " ", depth - 1)
        total += samples
        lines += [f"{indent}{place}: {text_name(generator.choice(callee_names))}:{samples}\n"] + below
    return lines, total


@once
def sample_profiles(folder, files, functions, encoding):
    for run in range(files):
        text = folder / f"{run:04}.prof"
        with text.open("w", encoding="ascii") as out:
            for index in range(functions):
                # The shape of a function depends on the program, its counts on the run.
                generator = random.Random(index * 7 + run % 5)
                callees = [(index * 31 + step) % functions for step in range(1, 12)]
                lines, total = sampled_lines(generator, callees, " ", 3)
                if generator.random() < 0.9:
                    out.write(f"{text_name(index)}:{total}:{total // 9}\n" + "".join(lines))
        if encoding != "text":
            quiet([PROFDATA, "merge", "--sample", f"--{encoding}", str(text), "-o", str(text.with_suffix(".afdo"))])
            text.unlink()


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
def forms_of(folder, program, raw):
    """A raw profile in all forms that single commands read, and another run of the program."""
    here = {name: str(folder / name) for name in
            ("one.profdata", "two.profraw", "two.profdata", "part.profdata", "big-endian.profraw", "one.iprof")}
    functions = struct.unpack_from("<Q", raw.read_bytes()[:32], 24)[0]
    write_raw(Path(here["two.profraw"]), functions, 45, 129_000, 2)
    quiet([program, "merge", str(raw), "-o", here["one.profdata"]])
    quiet([program, "merge", here["two.profraw"], "-o", here["two.profdata"]])
    quiet([program, "merge", "--partial", str(raw), "-o", here["part.profdata"]])
    quiet([program, "convert", str(raw), "--to", "raw", "--raw-arch", "64be", "-o", here["big-endian.profraw"]])
    quiet([program, "convert", here["one.profdata"], "-o", here["one.iprof"]])
    with gzip.open(folder / "one.profraw.gz", "wb", compresslevel=1) as packed:
        packed.write(raw.read_bytes())


# Sampled stacks.


def stack_lines(count, seed):
    """Lines of collapsed text, sorted, 30 to 60 frames deep."""
    generator = random.Random(seed)
    classes = [f"org.example.package{index % 31}.Class{index}" for index in range(900)]
    lines = set()
    while len(lines) < count:
        # Many stacks share the frames near the root.
        frames = [f"{classes[generator.randrange(1 + depth * 14)]}.method{generator.randrange(1 + depth // 2)}"
                  for depth in range(generator.randrange(30, 61))]
        lines.add(";".join(frames))
    return [f"{line} {1 + generator.randrange(40)}\n" for line in sorted(lines)]


@once
def collapsed_stacks(folder, count):
    (folder / "one.collapsed").write_text("".join(stack_lines(count, 5)))


@once
def recording(folder, copies):
    """Concatenates the chunks of a small recording, which creates a long one."""
    with gzip.open(PACKAGE / "testdata" / "java" / "shapes-jdk17.jfr.gz") as packed:
        chunks = packed.read()
    with (folder / "one.jfr").open("wb") as out:
        for _ in range(copies):
            out.write(chunks)


@once
def pprof_profiles(folder, program, files, count):
    for file in range(files):
        text = folder / "one.txt"
        text.write_text("".join(stack_lines(count, file)))
        quiet([program, "convert", str(text), "-o", str(folder / f"{file}.pprof")])
        text.unlink()


# iprof: many types and methods, few of them in contexts, sampled stacks deep.


class Contexts:
    """Contexts; each occurs once in its section."""

    def __init__(self, generator, methods):
        self.generator, self.methods, self.seen = generator, methods, set()

    def new(self, depth, leaf):
        while True:
            frames = [f"{self.generator.randrange(self.methods)}:{leaf}"]
            frames += [f"{self.generator.randrange(self.methods)}:{self.generator.randrange(400)}" for _ in range(depth)]
            ctx = "<".join(frames)
            if ctx not in self.seen:
                self.seen.add(ctx)
                return ctx
            depth += 1


@once
def one_iprof(folder, contexts):
    generator = random.Random(11)
    types, methods = contexts // 8, contexts // 2
    executed = max(1, methods // 12)

    def section(name, number, entry):
        found = Contexts(generator, executed)
        return f'"{name}":' + join(entry(found) for _ in range(number))

    def join(entries):
        return "[" + ",".join(entries) + "]"

    def call_count(found):
        return f'{{"ctx":"{found.new(generator.randrange(6), 0)}","records":[{generator.randrange(1 << 30)}]}}'

    def branch(found):
        leaf = generator.randrange(400)
        records = f"{leaf + 3},0,{generator.randrange(99999)},{leaf + 9},1,{generator.randrange(99999)}"
        return f'{{"ctx":"{found.new(generator.randrange(4), leaf)}","records":[{records}]}}'

    def receivers(found):
        chosen = generator.sample(range(10, types), 1 + generator.randrange(4))
        records = ",".join(f"{index},{generator.randrange(9999)}" for index in chosen)
        return f'{{"ctx":"{found.new(generator.randrange(4), generator.randrange(400))}","records":[{records}]}}'

    def sample(found):
        return (f'{{"ctx":"{found.new(generator.randrange(8, 60), generator.randrange(400))}",'
                f'"records":[{1 + generator.randrange(40)}]}}')

    def method(index):
        # The declaring class, the return type (9 is Object), the parameters.
        signature = [generator.randrange(10, types), generator.randrange(10)]
        signature += [generator.randrange(9, types) for _ in range(generator.randrange(4))]
        return f'{{"id":{index},"name":"method{index}","signature":[{",".join(map(str, signature))}]}}'

    named = "boolean byte short char int float long double void java.lang.Object".split()
    named += [f"org.example.package{index % 211}.Class{index}" for index in range(len(named), types)]
    parts = [
        '"version":"1.0.0"',
        '"types":' + join(f'{{"id":{index},"name":"{name}"}}' for index, name in enumerate(named)),
        '"methods":' + join(method(index) for index in range(methods)),
        section("callCountProfiles", contexts, call_count),
        section("conditionalProfiles", contexts, branch),
        section("virtualInvokeProfiles", contexts // 4, receivers),
        '"monitorProfiles":[{"ctx":"0:0","records":[9,100]}]',
        section("samplingProfiles", contexts // 3, sample),
    ]
    (folder / "one.iprof").write_text("{" + ",".join(parts) + "}")
