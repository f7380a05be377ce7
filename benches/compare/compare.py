"""Runs profbridge and llvm-profdata alternately; called by benches/compare.sh.

With --check it fails where a goal of goals.py that must be reached is missed: by
hand, on an idle machine."""

import argparse
import filecmp
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import goals
import workloads as make

ROOT = make.PACKAGE / "target" / "compare"
# The directory for outputs, in memory if possible, because a disk that is still writing the last output
# slows down the next run.
OUTPUTS = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else ROOT
PEER = [make.PROFDATA]
# The llvm-profdata of another release or build, which is only measured.
SECOND_PEER = os.environ.get("SECOND_PEER")
# In llvm-profdata mode the program has the same arguments.
PROGRAM = str(ROOT / "bin" / "profbridge")
OURS = {"llvm-profdata": [str(ROOT / "bin" / "llvm-profdata")], "profbridge": [PROGRAM]}


class Workload:
    """Inputs, arguments for both tools, and the input size in bytes."""

    def __init__(self, name, what, inputs, arguments, command="merge", own=None, names=None):
        self.name, self.what, self.inputs = name, what, inputs
        self.command, self.arguments = command, arguments
        # Arguments and inputs in profbridge mode, if they differ.
        self.own = own
        # The modes that support the workload.
        self.names = names or list(OURS)

    def command_line(self, tool, output, threads):
        called = Path(tool[0]).name
        if called == "profbridge":
            return self.own_command_line(tool, output, threads)
        line = list(tool) + [self.command] + self.arguments
        if self.command == "merge":
            line += [f"--num-threads={threads}"]
        if len(self.inputs) > 50:
            listing = ROOT / f"{self.name}.list"
            listing.write_text("".join(f"{path}\n" for path in self.inputs))
            line += ["-f", str(listing)]
        else:
            line += [str(path) for path in self.inputs]
        return line + ["-o", str(output)]

    def own_command_line(self, tool, output, threads):
        arguments, inputs = self.own or (self.arguments, self.inputs)
        line = list(tool) + [self.command] + arguments
        if self.command == "merge":
            line += ["-j", str(threads)] + ([] if "--sample" in self.arguments else ["--for", "llvm-22"])
        return line + [str(path) for path in inputs] + ["-o", str(output)]

    def size(self):
        return sum(path.stat().st_size for path in self.inputs)


def workloads(scale):
    """All workloads by name; each is created on demand."""

    def some(count, least=2):
        return max(least, round(count * scale))

    def raws():
        return make.coverage_runs(ROOT / f"coverage-{some(1000)}", ROOT, some(1000))

    def functions(count):
        return some(count, 1000)

    def instr(form, count, counters, distinct, files=1):
        return make.instr_profiles(ROOT, PROGRAM, form, functions(count), counters, distinct, files)

    def huge(distinct):
        return instr("raw", 500_000, 45, distinct)

    def indexed(distinct):
        return instr("indexed", 150_000, 45, distinct)

    def text(distinct):
        return instr("text", 150_000, 45, distinct)

    def many_sites():
        return make.runs_with_many_sites(ROOT / f"many-sites-{some(100)}", ROOT, some(100))

    def first_weighted():
        files = raws()
        return Workload("W7w", "W1a, weighted", files[1:], [f"--weighted-input=3,{files[0]}"])

    def sampled(name, what, encoding):
        inputs = make.sample_profiles(ROOT, PROGRAM, encoding, 100, functions(20_000))
        return Workload(name, what, inputs, ["--sample", f"--{encoding}"], own=(["--sample-format", encoding], inputs))

    def sampled_one(name, what, encoding, into=None):
        inputs = make.sample_profiles(ROOT, PROGRAM, encoding, 1, functions(500_000))
        if into is None:
            return Workload(name, what, inputs, ["--sample"], "show", own=([], inputs))
        return Workload(name, what, inputs, ["--sample", f"--{into}"], own=(["--sample-format", into], inputs))

    def parts():
        files = raws()
        made = make.parts_of(ROOT / f"parts-{some(1000)}", [PROGRAM], files, 4)
        return Workload("P", "four parts of W1a against all of its raws", files, [], own=([], made), names=["profbridge"])

    def allocations(name, what, command="merge"):
        contexts = some(200_000)
        dump = make.memory_dump(ROOT / f"memory-{contexts}", ROOT, contexts)
        arguments = [f"--profiled-binary={make.deep_program(ROOT)}"]
        if command == "show":
            return shown_memory(name, what, dump, arguments)
        return Workload(name, what, dump, arguments, command)

    def shown_memory(name, what, inputs, arguments=()):
        # profbridge mode lists the largest sites, and prints no YAML.
        return Workload(name, what, inputs, [*arguments, "--memory"], "show", names=["llvm-profdata"])

    def stored_allocations():
        contexts = some(200_000)
        section = make.memory_section(ROOT / f"memory-section-{contexts}", ROOT, contexts)
        return shown_memory("W10i", "memory profile of 200,000 contexts, show the section", section)

    many, few = 129_000, 1_400
    listing = ["--all-functions", "--counts"]
    return {
        "W1a": lambda: Workload("W1a", "coverage raws of one program", raws(), []),
        "W1p": lambda: Workload("W1p", "IR raws with values of one program",
                                make.pgo_runs(ROOT / f"pgo-{some(300)}", ROOT, some(300)), []),
        "W2": lambda: Workload("W2", "programs that share functions",
                               make.binaries_that_share_functions(ROOT / f"shared-{some(50)}", ROOT, some(50), 4), []),
        "W3": lambda: Workload("W3", "one huge raw, many distinct counts", huge(many), []),
        "W3r": lambda: Workload("W3r", "one huge raw, few distinct counts", huge(few), []),
        "W4": lambda: Workload("W4", "C++ raws heavy with values",
                               make.value_heavy_runs(ROOT / f"values-{some(100)}", ROOT, some(100)), []),
        "W4m": lambda: Workload("W4m", "C++ raws with 36,000 sites", many_sites(), []),
        "W4s": lambda: Workload("W4s", "show one of them", many_sites()[:1],
                                ["--all-functions", "--counts", "--ic-targets"], "show"),
        "W5": lambda: Workload("W5", "indexed profiles", instr("indexed", 100_000, 20, 20_000, files=20), []),
        "W6o": lambda: Workload("W6o", "text out, many distinct counts", indexed(many), ["--text"]),
        "W6ro": lambda: Workload("W6ro", "text out, few", indexed(few), ["--text"]),
        "W6i": lambda: Workload("W6i", "text in, many", text(many), []),
        "W6ri": lambda: Workload("W6ri", "text in, few", text(few), []),
        "W6s": lambda: Workload("W6s", "show counts, many", indexed(many), listing, "show"),
        "W6rs": lambda: Workload("W6rs", "show counts, few", indexed(few), listing, "show"),
        "W6t": lambda: Workload("W6t", "show --topn, many", indexed(many), ["--topn=10"], "show"),
        "W6rt": lambda: Workload("W6rt", "show --topn, few", indexed(few), ["--topn=10"], "show"),
        "W7w": first_weighted,
        "W7s": lambda: Workload("W7s", "W1a, sparse", raws(), ["--sparse"]),
        "W7f": lambda: Workload("W7f", "W1a, filtered", raws(), ["--function=merge"]),
        "W9t": lambda: sampled("W9t", "sample profiles, text", "text"),
        "W9x": lambda: sampled("W9x", "sample profiles, extensible binary", "extbinary"),
        "W9st": lambda: sampled_one("W9st", "show of 500,000 functions, text", "text"),
        "W9sx": lambda: sampled_one("W9sx", "the same, extensible binary", "extbinary"),
        "W9ct": lambda: sampled_one("W9ct", "text to extensible binary, 500,000 functions", "text", "extbinary"),
        "W9cx": lambda: sampled_one("W9cx", "extensible binary to text, 500,000 functions", "extbinary", "text"),
        "W10m": lambda: allocations("W10m", "memory dump of 200,000 contexts, merge"),
        "W10s": lambda: allocations("W10s", "memory dump of 200,000 contexts, show", "show"),
        "W10i": stored_allocations,
        "P": parts,
        "S": lambda: Workload("S", "one 1 MB raw: start-up", make.instr_profiles(ROOT, PROGRAM, "raw", 8000, 4, 500), []),
    }


# No other tool checks, shows, merges or converts iprof files, so compare with
# reading the files into memory.
IPROF_PEER = ["python3", "-c", "import json, sys\nfor name in sys.argv[1:]: json.load(open(name, 'rb'))"]


def iprof_rows(scale, runs):
    """The iprof commands against Python's json.load of the same files, a merge has two."""
    contexts = max(1000, round(800_000 * scale))
    profile = make.iprof_profile(ROOT, PROGRAM, contexts)
    program, output = PROGRAM, OUTPUTS / f"profbridge-compare-{os.getpid()}.iprof"
    commands = {
        "check": [program, "check", str(profile)],
        "show": [program, "show", str(profile)],
        "merge": [program, "merge", str(profile), str(profile), "-o", str(output)],
        "convert": [program, "convert", str(profile), "-o", str(output)],
    }
    for name, command in commands.items():
        figures = {"ours": [], "theirs": []}
        for _ in range(runs):
            inputs = [str(profile)] * command.count(str(profile))
            figures["theirs"].append(run(IPROF_PEER + inputs))
            figures["ours"].append(run(command))
        # json.load has one thread; profbridge uses all of the machine.
        yield table_row("W8", f"iprof {name}, against json.load", "profbridge", profile.stat().st_size, os.cpu_count(),
                        medians(figures), "-")
    output.unlink(missing_ok=True)


def command_rows(scale, runs):
    """Commands that read a huge raw profile, or a file made from it, compared with `merge` of it."""
    program, output = PROGRAM, str(OUTPUTS / f"profbridge-compare-{os.getpid()}")
    functions = max(1000, round(500_000 * scale))
    raw, other = make.instr_profiles(ROOT, program, "raw", functions, 45, 129_000, files=2)
    folder = ROOT / f"forms-of-generated-{functions}"
    make.forms_of(folder, program, raw, other)

    def at(name):
        return str(folder / name)

    def to(name, *arguments):
        return [program, *arguments, "-o", output + name]

    rows = [
        ("W12p", "merge --partial", to(".profdata", "merge", "--partial", str(raw))),
        ("W12q", "finishing a part", to(".profdata", "merge", at("part.profdata"))),
        ("W12d", "diff of two indexed profiles", [program, "diff", at("one.profdata"), at("two.profdata")]),
        ("W12f", "fit of an indexed profile against a raw one",
         [program, "fit", at("one.profdata"), "--against", str(raw)]),
        ("W12h", "report", to(".html", "report", str(raw))),
        ("W12b", "merge of the profile in big-endian", to(".profdata", "merge", at("big-endian.profraw"))),
        ("W12z", "merge of the profile in gzip", to(".profdata", "merge", at("one.profraw.gz"))),
        ("W12s", "merge of standard input", ["sh", "-c", f"{shlex.join(to('.profdata', 'merge', '-'))} < {shlex.quote(str(raw))}"]),
        ("W12r", "convert to raw", to(".profraw", "convert", "--force", "--to", "raw", str(raw))),
        ("W12i", "convert an indexed profile to iprof", to(".iprof", "convert", at("one.profdata"))),
        ("W12l", "convert that iprof to LLVM", to(".profdata", "convert", at("one.iprof"))),
    ]
    merge = to(".profdata", "merge", str(raw))
    for name, what, command in rows:
        figures = {"ours": [], "theirs": []}
        for _ in range(runs):
            figures["theirs"].append(run(merge))
            figures["ours"].append(run(command))
        yield table_row(name, f"{what}, against merge", "profbridge", raw.stat().st_size, os.cpu_count(), medians(figures), "-")
    for made in OUTPUTS.glob(Path(output).name + ".*"):
        made.unlink()


def stack_rows(scale, runs):
    """Sampled stacks, compared with other tools, which are rarely installed."""
    program, picture, sum_of_all = PROGRAM, str(ROOT / "out.svg"), str(ROOT / "out.pprof")
    text = make.collapsed_stacks(ROOT, program, max(10_000, round(1_700_000 * scale)))
    pprofs = make.pprof_profiles(ROOT, program, 9, max(2000, round(90_000 * scale)))
    (jfr,) = make.recording(ROOT / f"recording-{scale}", max(10, round(1000 * scale)))
    rows = [
        ("W11r", "samples of a recording", "jfr", ["jfr", "print", "--stack-depth", "64", "--events",
         "jdk.ExecutionSample,jdk.NativeMethodSample", str(jfr)], [jfr], [program, "show", str(jfr)]),
        ("W11c", "collapsed text to SVG", "inferno-flamegraph", ["inferno-flamegraph", str(text)], [text],
         [program, "flamegraph", str(text), "-o", picture]),
        ("W11p", "merge of 9 pprof profiles", "go", ["go", "tool", "pprof", "-proto"] + [str(path) for path in pprofs], pprofs,
         [program, "merge"] + [str(path) for path in pprofs] + ["-o", sum_of_all]),
    ]
    for name, what, peer, theirs, inputs, ours in rows:
        if not shutil.which(peer):
            print(f"SKIPPED: {name}, {what}: {peer} is not installed", flush=True)
            continue
        figures = {"ours": [], "theirs": []}
        for _ in range(runs):
            figures["theirs"].append(run(theirs))
            figures["ours"].append(run(ours))
        size = sum(path.stat().st_size for path in inputs)
        yield table_row(name, f"{what}, against {peer}", "profbridge", size, os.cpu_count(), medians(figures), "-")


def run(command):
    """Seconds of one run, and the peak memory in MB of the first run of that command."""
    seconds = seconds_of(command)
    if tuple(command) not in PEAKS:
        PEAKS[tuple(command)] = peak_of(command)
    return seconds, PEAKS[tuple(command)]


# The peaks of several runs are similar, so measure once.
PEAKS = {}


def seconds_of(command):
    """Starts the program directly, because starting a wrapper such as `time` takes as long as some jobs."""
    with open(os.devnull, "wb") as nowhere, tempfile.TemporaryFile() as faults:
        actions = [(os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1), (os.POSIX_SPAWN_DUP2, faults.fileno(), 2)]
        began = time.perf_counter()
        child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
        _, status = os.waitpid(child, 0)
        seconds = time.perf_counter() - began
        if status:
            faults.seek(0)
            raise SystemExit(f"{' '.join(command[:6])} ...: {faults.read().decode(errors='replace')[-2000:]}")
    return seconds


def peak_of(command):
    report = ROOT / "time"
    # GNU time is small, so the peak is that of the program and not that of this script.
    subprocess.run(["time", "--format=%M", f"--output={report}"] + command, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)
    return int(report.read_text().split()[-1]) / 1024


def measure(workload, threads, runs):
    """Medians of alternating runs of the peers and of each mode, and the modes whose output is that of the peer with one
    thread. Each round begins with another program, because a run can slow down the next one."""
    outputs = {who: OUTPUTS / f"profbridge-compare-{os.getpid()}-{who}" for who in ("reference", "theirs", *workload.names)}
    run(workload.command_line(PEER, outputs["reference"], 1))
    lines = {called: workload.command_line(OURS[called], outputs[called], threads) for called in workload.names}
    lines["theirs"] = workload.command_line(PEER, outputs["theirs"], threads)
    if SECOND_PEER:
        lines["second"] = for_second_peer(workload).command_line([SECOND_PEER], outputs["theirs"], threads)
    figures = {who: [] for who in lines}
    order = list(lines)
    for _ in range(runs):
        for who in order:
            figures[who].append(run(lines[who]))
        order.append(order.pop(0))
    same = {called for called in workload.names if filecmp.cmp(outputs[called], outputs["reference"], shallow=False)}
    for output in outputs.values():
        output.unlink()
    return medians(figures), same


def for_second_peer(workload):
    """The workload with raw profiles that LLVM 23 reads, which rejects all older raw versions."""
    inputs = []
    for path in workload.inputs:
        if path.suffix == ".profraw":
            later = path.parent / "llvm-23" / path.name
            if not later.exists():
                later.parent.mkdir(exist_ok=True)
                make.quiet([PROGRAM, "convert", "--to", "raw", "--for", "llvm-23", str(path), "-o", str(later)])
            path = later
        inputs.append(path)
    return Workload(f"{workload.name}-second", workload.what, inputs, workload.arguments, workload.command)


def medians(figures):
    return {who: [statistics.median(column) for column in zip(*rows)] for who, rows in figures.items()}


HEADINGS = ("id", "workload", "called as", "MB", "threads", "peer s", "ours s", "ratio", "must", "aim", "limit",
            "peer MB", "ours MB", "ratio", "must", "second peer s", "ratio", "same", "verdict")


def rows_of(workload, threads, runs):
    """One row per mode that supports the workload."""
    median, same = measure(workload, threads, runs)
    for called in workload.names:
        yield table_row(workload.name, workload.what, called, workload.size(), threads, {**median, "ours": median[called]},
                        "yes" if called in same else "NO")


def table_row(name, what, called, size, threads, median, same):
    (their_time, their_memory), (our_time, our_memory) = median["theirs"], median["ours"]
    time_ratio, memory_ratio = our_time / their_time, our_memory / their_memory
    goal = goals.of(name, threads)
    return (name, what, called, f"{size / 1e6:.1f}", threads, f"{their_time:.3f}", f"{our_time:.3f}", f"{time_ratio:.3f}",
            shown(goal.must), shown(goal.aim), shown(goal.limit), f"{their_memory:.0f}", f"{our_memory:.0f}",
            f"{memory_ratio:.2f}", shown(goal.memory_must), *second_peer(median, our_time), same,
            goal.verdict(time_ratio, memory_ratio))


def second_peer(median, our_time):
    if "second" not in median:
        return "-", "-"
    seconds, _ = median["second"]
    return f"{seconds:.3f}", f"{our_time / seconds:.3f}"


def shown(figure):
    return "-" if figure is None else f"{figure:.2f}"


def print_row(cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(cells=HEADINGS):
    print_row(cells)
    print_row(["---"] * len(cells))


def growth(scale, runs):
    """Measures three numbers of files, functions and threads."""
    def some(count):
        return max(2, round(count * scale))

    files = make.coverage_runs(ROOT / f"coverage-{some(1000)}", ROOT, some(1000))
    for part in (100, 10, 1):
        yield from rows_of(Workload("files", "coverage raws", files[: max(1, len(files) // part)], []), 1, runs)
    for functions in (10_000, 50_000, 250_000):
        count = max(1000, round(functions * scale))
        inputs = make.instr_profiles(ROOT, PROGRAM, "raw", count, 3, 1400, files=20)
        yield from rows_of(Workload("functions", f"{count} functions", inputs, []), 1, runs)
    for threads in (1, 2, 4):
        yield from rows_of(Workload("threads", "coverage raws", files, []), threads, runs)


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    version = subprocess.run(PEER + ["--version"], stdout=subprocess.PIPE, check=True).stdout.decode().split("\n")[0].strip()
    return f"{time.strftime('%Y-%m-%d')}, {model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}; peer: {version}"


def forget_pages(path):
    """Makes the system read a file from the disk, like an installed program: the cache has larger blocks for a file
    that was just written, and more of it counts as the program's memory."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measured(names, known, options):
    """Yields the rows of the workloads `names`."""
    for name in names:
        if name in OTHERS:
            yield from OTHERS[name](options.scale, options.runs)
            continue
        workload = known[name]()
        for threads in sorted({options.threads} | ({1} if name in goals.ALSO_ONE_THREAD else set())):
            yield from rows_of(workload, threads, options.runs)


# Rows that are compared with other tools than llvm-profdata.
OTHERS = {"W8": iprof_rows, "W11": stack_rows, "W12": command_rows}


def main():
    parser = argparse.ArgumentParser(prog="benches/compare.sh", description=__doc__)
    parser.add_argument("names", nargs="*", help="workloads, all by default")
    parser.add_argument("--scale", type=float, default=0.3, help="size of the inputs, 1 for the full one (default 0.3)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each tool (default 5)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads of both tools")
    parser.add_argument("--growth", action="store_true", help="growth with files, functions and threads instead")
    parser.add_argument("--check", action="store_true", help="fail when a goal that must be reached is missed")
    options = parser.parse_args()
    if not (shutil.which("time") and shutil.which(PEER[0])):
        raise SystemExit(f"GNU time and {PEER[0]} are needed")
    (ROOT / "bin").mkdir(parents=True, exist_ok=True)
    # A copy, because creating the inputs may rebuild the program.
    for (name,) in OURS.values():
        shutil.copy2(os.environ.get("PROGRAM", make.PACKAGE / "target" / "release" / "profbridge"), name)
        forget_pages(name)
    known = workloads(options.scale)
    names = options.names or list(known) + list(OTHERS)
    unknown = [name for name in names if name not in known and name not in OTHERS]
    if unknown:
        raise SystemExit(f"unknown workload {', '.join(unknown)}; known: {', '.join(list(known) + list(OTHERS))}")
    print(f"{machine()}; medians of {options.runs} alternating runs, scale {options.scale}\n")
    head()
    different, missed = False, []
    rows = growth(options.scale, options.runs) if options.growth else measured(names, known, options)
    for cells in rows:
        print_row(cells)
        different |= cells[HEADINGS.index("same")] == "NO"
        if "missed" in cells[-1]:
            missed.append(f"{cells[0]}, {cells[1]}, as {cells[2]} with {cells[4]} threads: {cells[-1]}")
    if options.check and missed:
        print("\nFAILED: goals that must be reached:", *missed, sep="\n")
    sys.exit(1 if different or (options.check and missed) else 0)


if __name__ == "__main__":
    main()
