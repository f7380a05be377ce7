"""Times every command for every family at two sizes; called by benches/commands.sh."""

import argparse
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import workloads as make

ROOT = make.PACKAGE / "target" / "compare" / "commands"
PROGRAM = str(Path(os.environ["PROGRAM"]).resolve())
# Reports that are printed are not written to a disk.
OUTPUTS = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else ROOT


def generated(folder, *arguments):
    """A file of `profbridge generate`."""
    (path,) = make.generated(folder, PROGRAM, *arguments)
    return path


def made(folder, name, *arguments):
    """The output of another command that creates profiles."""
    path = folder / name
    if not path.exists():
        make.quiet([PROGRAM, *map(str, arguments), "-o", str(path)])
    return path


def instr(folder, scale):
    (one,) = make.instr_profiles(folder, PROGRAM, "raw", round(220_000 * scale), 45, 20_000)
    indexed = made(folder, "one.profdata", "merge", one)
    text = made(folder, "one.proftext", "convert", indexed)
    iprof = made(folder, "llvm.iprof", "convert", indexed)
    part = made(folder, "part.profdata", "merge", "--partial", one)
    big_endian = generated(folder, "--format", "raw", "--raw-arch", "64be", "--functions", round(400_000 * scale))
    traces = generated(folder, "--format", "indexed", "--kinds", "temporal", "--functions", round(60_000 * scale))
    return one, [
        ("merge", ["merge", one, "-o", "OUT.profdata"]),
        ("merge, indexed", ["merge", indexed, indexed, "-o", "OUT.profdata"]),
        ("merge, text", ["merge", text, "-o", "OUT.profdata"]),
        ("merge, big-endian", ["merge", big_endian, "-o", "OUT.profdata"]),
        ("merge --partial", ["merge", "--partial", one, "-o", "OUT.profdata"]),
        ("merge of a partial merge", ["merge", part, "-o", "OUT.profdata"]),
        ("convert to text", ["convert", indexed, "-o", "OUT.proftext"]),
        ("convert to raw", ["convert", indexed, "--to", "raw", "-o", "OUT.profraw"]),
        ("convert to iprof", ["convert", indexed, "-o", "OUT.iprof"]),
        ("convert iprof back", ["convert", iprof, "-o", "OUT.profdata"]),
        ("show", ["show", indexed]),
        ("show --counts", ["show", "--all-functions", "--counts", indexed]),
        ("show --json", ["show", "--json", indexed]),
        ("show --topn", ["show", "--topn=10", indexed]),
        ("check", ["check", indexed]),
        ("info", ["info", indexed]),
        ("overlap", ["overlap", indexed, indexed]),
        ("diff", ["diff", indexed, indexed]),
        ("fit", ["fit", indexed, "--against", one]),
        ("order", ["order", traces, "-o", "OUT.order"]),
        ("report", ["report", indexed, "-o", "OUT.html"]),
    ]


def iprof(folder, scale):
    one = make.iprof_profile(folder, PROGRAM, round(400_000 * scale))
    part = made(folder, "part.iprof", "merge", "--partial", one)
    return one, [
        ("merge", ["merge", one, "-o", "OUT.iprof"]),
        ("merge --partial", ["merge", "--partial", one, "-o", "OUT.iprof"]),
        ("merge of a partial merge", ["merge", part, "-o", "OUT.iprof"]),
        ("convert", ["convert", one, "-o", "OUT.iprof"]),
        ("convert --canonical", ["convert", "--canonical", one, "-o", "OUT.iprof"]),
        ("convert to LLVM", ["convert", one, "-o", "OUT.profdata"]),
        ("convert to collapsed", ["convert", one, "-o", "OUT.collapsed"]),
        ("convert to pprof", ["convert", one, "-o", "OUT.pprof"]),
        ("repair", ["repair", one, "-o", "OUT.iprof"]),
        ("show", ["show", one]),
        ("show --json", ["show", "--json", one]),
        ("check", ["check", one]),
        ("info", ["info", one]),
        ("diff", ["diff", one, one]),
        ("fit", ["fit", one, "--against", one]),
        ("report", ["report", one, "-o", "OUT.html"]),
        ("flamegraph", ["flamegraph", one, "-o", "OUT.svg"]),
    ]


def sample(folder, scale):
    (one,) = make.sample_profiles(folder, PROGRAM, "text", 1, round(74_000 * scale))
    binary = made(folder, "one.afdo", "merge", one)
    part = made(folder, "part.afdo", "merge", "--partial", one)
    return one, [
        ("merge", ["merge", one, "-o", "OUT.afdo"]),
        ("merge, binary", ["merge", binary, "-o", "OUT.afdo"]),
        ("merge --partial", ["merge", "--partial", one, "-o", "OUT.afdo"]),
        ("merge of a partial merge", ["merge", part, "-o", "OUT.afdo"]),
        ("convert to text", ["convert", binary, "--to", "text", "-o", "OUT.prof"]),
        ("show", ["show", one]),
        ("show --json", ["show", "--json", one]),
        ("check", ["check", one]),
        ("info", ["info", one]),
        ("overlap", ["overlap", one, one]),
        ("diff", ["diff", one, one]),
        ("fit", ["fit", one, "--against", binary]),
        ("report", ["report", one, "-o", "OUT.html"]),
        ("flamegraph", ["flamegraph", one, "-o", "OUT.svg"]),
    ]


def memory(folder, scale):
    count = round(200_000 * scale)
    one = generated(folder, "--format", "memory-indexed", "--functions", count)
    yaml = generated(folder, "--format", "memory-yaml", "--functions", count)
    return one, [
        ("merge", ["merge", one, "-o", "OUT.profdata"]),
        ("merge, YAML", ["merge", yaml, "-o", "OUT.profdata"]),
        ("convert to YAML", ["convert", one, "-o", "OUT.memprofyaml"]),
        ("show", ["show", "--memory", one]),
        ("check", ["check", one]),
        ("info", ["info", one]),
        ("diff", ["diff", one, one]),
        ("report", ["report", one, "-o", "OUT.html"]),
        ("flamegraph", ["flamegraph", one, "-o", "OUT.svg"]),
    ]


def stacks_of(one, name):
    """The commands of all sources of stacks."""
    return one, [
        ("merge", ["merge", one, "-o", f"OUT.{name}"]),
        ("convert to collapsed", ["convert", one, "-o", "OUT.collapsed"]),
        ("convert to pprof", ["convert", one, "-o", "OUT.pprof"]),
        ("convert to iprof", ["convert", one, "-o", "OUT.iprof"]),
        ("show", ["show", one]),
        ("check", ["check", one]),
        ("info", ["info", one]),
        ("overlap", ["overlap", one, one]),
        ("diff", ["diff", one, one]),
        ("report", ["report", one, "-o", "OUT.html"]),
        ("flamegraph", ["flamegraph", one, "-o", "OUT.svg"]),
    ]


def collapsed(folder, scale):
    one = make.collapsed_stacks(folder, PROGRAM, round(400_000 * scale))
    source, commands = stacks_of(one, "collapsed")
    part = made(folder, "part.collapsed", "merge", "--partial", one)
    commands.insert(1, ("merge --partial", ["merge", "--partial", one, "-o", "OUT.collapsed"]))
    commands.insert(2, ("merge of a partial merge", ["merge", part, "-o", "OUT.collapsed"]))
    return source, commands


def pprof(folder, scale):
    text = make.collapsed_stacks(folder, PROGRAM, round(400_000 * scale))
    return stacks_of(made(folder, "one.pprof", "convert", text), "pprof")


def jfr(folder, scale):
    (one,) = make.recording(folder / "jfr", round(100 * scale))
    return stacks_of(one, "pprof")


FAMILIES = {
    "instr": instr,
    "iprof": iprof,
    "sample": sample,
    "memory": memory,
    "collapsed": collapsed,
    "pprof": pprof,
    "jfr": jfr,
}


def measured(arguments, runs):
    """The least processor time in seconds, and the peak memory in MB; a text for a failure."""
    best = None
    for _ in range(runs):
        with tempfile.TemporaryDirectory(dir=OUTPUTS) as folder:
            command = [str(argument).replace("OUT", f"{folder}/out") for argument in arguments]
            figures = Path(folder) / "time"
            done = subprocess.run(["time", "--format=%U %S %M", f"--output={figures}", PROGRAM, *command],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if done.returncode:
                return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            user, system, peak = figures.read_text().split()[-3:]
            seconds = float(user) + float(system)
            best = (seconds, int(peak) / 1024) if best is None or seconds < best[0] else best
    return best


# Work on more data also misses the cache more often.
TOLERANCE = 1.25
# Times and memory below these are those of starting the program.
LEAST_SECONDS, LEAST_MB = 0.03, 20


def rows_of(family, scale, runs):
    """The rows of the table for one family."""
    sizes, results = [], {}
    for part in (scale / 10, scale):
        source, commands = FAMILIES[family](ROOT / f"{family}-{part:g}", part)
        sizes.append(source.stat().st_size)
        for name, arguments in commands:
            results.setdefault(name, []).append(measured(arguments, runs * (3 if part < scale else 1)))
    growth = sizes[1] / sizes[0]
    merge = results["merge"]
    grown = growth * TOLERANCE
    if not any(isinstance(result, str) for result in merge):
        grown = max(grown, merge[1][0] / max(merge[0][0], LEAST_SECONDS) * TOLERANCE)
    for name, (small, large) in results.items():
        if isinstance(small, str) or isinstance(large, str):
            yield f"| {family} | {name} | | | | | | | failed: {small if isinstance(small, str) else large} |"
            continue
        time = large[0] / max(small[0], LEAST_SECONDS)
        memory = large[1] / max(small[1], LEAST_MB)
        ratio, memory_ratio = large[0] / merge[1][0], large[1] / merge[1][1]
        marks = ["grows"] if time > grown or memory > growth * TOLERANCE else []
        marks += ["slow"] if ratio > 2 else []
        yield (f"| {family} {sizes[1] / 1e6:.0f} MB | {name} | {small[0]:.2f} | {large[0]:.2f} | {time:.1f} | {ratio:.2f} "
               f"| {large[1]:.0f} | {memory:.1f} | {memory_ratio:.2f} | {', '.join(marks)} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    if not shutil.which("time"):
        raise SystemExit("GNU time is not installed (Debian: time)")
    ROOT.mkdir(parents=True, exist_ok=True)
    print("| input | command | tenth, CPU s | whole, CPU s | growth | of merge | MB | growth | of merge | |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for family in options.families or FAMILIES:
        for row in rows_of(family, options.scale, options.runs):
            print(row, flush=True)


main()
