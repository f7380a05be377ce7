"""The commands of the program as functions: the same results as the program's."""

from __future__ import annotations

import json
import shutil
import subprocess
import warnings
from pathlib import Path

import profbridge
from support import ROOT, TESTDATA, TestCase, program, skip

RAW = TESTDATA / "raw"
TRACES = TESTDATA / "merge"


def printed(*arguments: object) -> "dict[str, object]":
    """What the program prints as JSON."""
    ran = program(*arguments)
    if ran.returncode != 0:
        raise AssertionError(ran.stderr.decode())
    found: dict[str, object] = json.loads(ran.stdout)
    return found


class SameAsTheProgram(TestCase):
    def assertIsIn(self, found: "dict[str, object]", printed: "dict[str, object]") -> None:
        """The members of the result are those of the document, which has more: schema, files."""
        self.assertEqual(found, {name: printed.get(name) for name in found})
        self.assertGreater(len(found), 0)

    def test_overlap(self) -> None:
        warnings.simplefilter("ignore", profbridge.ProfileWarning)
        one, other = RAW / "clang-22-ir.profraw", RAW / "clang-14-ir.profraw"
        expected = printed("overlap", "--json", one, other)
        self.assertIsIn(profbridge.overlap(one, other), expected)
        self.assertIsIn(profbridge.overlap(profbridge.read(one), other), expected)
        top = profbridge.overlap(one, other, topn=2)
        self.assertIsIn(top, printed("overlap", "--json", "--topn=2", one, other))
        self.assertEqual(len(top["functions"]), 2)
        sample = TESTDATA / "sampleprof" / "plain.prof"
        self.assertIsIn(profbridge.overlap(sample, sample), printed("overlap", "--json", sample, sample))
        pprof = TESTDATA / "pprof" / "circles.pprof"
        self.assertIsIn(profbridge.overlap(pprof, pprof), printed("overlap", "--json", pprof, pprof))
        with self.assertRaises(profbridge.UsageError):
            profbridge.overlap(sample, sample, context_sensitive=True)
        iprof = TESTDATA / "iprof" / "fibonacci.iprof"
        with self.assertRaisesRegex(profbridge.UsageError, "diff"):
            profbridge.overlap(iprof, iprof)

    def test_diff_takes_profiles(self) -> None:
        for path in (
            RAW / "clang-22-ir.profraw",
            TESTDATA / "sampleprof" / "plain.prof",
            TESTDATA / "memprof" / "clang-22-plain.yaml",
            TESTDATA / "iprof" / "fibonacci.iprof",
            TESTDATA / "pprof" / "circles.pprof",
        ):
            with self.subTest(path=path.name):
                profile = profbridge.read(path)
                self.assertEqual(profbridge.diff(profile, profile)["total_overlap"], 1.0)
                self.assertIsIn(dict(profbridge.diff(path, profile)), printed("diff", "--json", path, path))

    def test_fit(self) -> None:
        old, new = RAW / "clang-14-ir.profraw", RAW / "clang-22-ir.profraw"
        expected = printed("fit", "--json", old, "--against", new)
        self.assertIsIn(dict(profbridge.fit(old, new)), expected)
        of_objects = profbridge.fit(profbridge.read(old), profbridge.read(new))
        self.assertEqual(of_objects["used_counts"], expected["used_counts"])
        with self.assertRaises(profbridge.UsageError):
            profbridge.fit(old, new, target="llvm-99")

    def test_errors_of_fit_name_the_profile(self) -> None:
        with self.assertRaisesRegex(profbridge.UnsupportedError, "^<Stacks>: comparing"):
            profbridge.fit(profbridge.read(b"a;b 3\n"), b"a;b 3\n")

    def test_fit_has_thresholds(self) -> None:
        old, new = RAW / "clang-14-ir.profraw", RAW / "clang-22-ir.profraw"
        profbridge.fit(new, new, fail_below={"used-counts": 1.0, "used-functions": 1.0})
        with self.assertRaises(profbridge.GateError) as failed:
            changed = b":ir\nmain\n1\n1\n5\n\nf\n2\n1\n5\n", b":ir\nmain\n1\n1\n7\n\nf\n3\n1\n9\n"
            profbridge.fit(*changed, fail_below={"used-counts": 0.9})
        self.assertEqual((failed.exception.expected, round(failed.exception.found, 2)), (0.9, 0.5))
        for wrong in ({"used": 0.5}, {"used-counts": 2}, 0.9):
            with self.assertRaises(profbridge.UsageError):
                profbridge.fit(old, new, fail_below=wrong)  # type: ignore[arg-type]

    def test_interop(self) -> None:
        with self.assertRaises(profbridge.UsageError):
            profbridge.interop("/nosuch/clang")
        with self.assertRaises(profbridge.UsageError):
            profbridge.interop(kinds="nosuch")
        if shutil.which("clang-16") is None or shutil.which("clang-19") is None:
            skip("clang-16 and clang-19 are not installed")
            return
        found = profbridge.interop(["clang-16", "clang-19"], kinds="ir")
        self.assertEqual(found["schema"], printed("interop", "--json", "--toolchain=clang-16", "--kind=ir")["schema"])
        self.assertIn("cells", json.dumps(found))
        # It starts itself, also in a virtual environment, whose interpreter is a link.
        self.assertNotIn("No module named", json.dumps(found))

    def test_limits_of_iprof_files_are_limit_errors(self) -> None:
        whole = profbridge.generate("iprof", functions=20, contexts=20, seed=1).content
        nested = b'{"version":"1.0.0","types":[],"methods":[],"more":[[[[1]]]]}'
        for limit, content in (("name-bytes", whole), ("context-depth", whole), ("json-depth", nested)):
            with self.assertRaises(profbridge.LimitError) as raised:
                profbridge.read(content, limits={limit: 1})
            self.assertIn(limit, str(raised.exception.hint))

    def test_order(self) -> None:
        file = self.folder / "traces.profdata"
        file.write_bytes(profbridge.generate("indexed", functions=40, kinds=["temporal"], seed=3).content)
        expected = printed("order", "--json", file)
        self.assertIsIn(dict(profbridge.order(file)), expected)
        self.assertEqual(profbridge.order(profbridge.read(file), topn=3)["functions"], expected["functions"][:3])  # type: ignore[index]
        with self.assertRaises(profbridge.MergeError):
            profbridge.order(b":ir\nmain\n1\n1\n5\n")

    def test_repair(self) -> None:
        damaged = self.folder / "cut.iprof"
        damaged.write_bytes((TESTDATA / "iprof" / "fibonacci.iprof").read_bytes()[:-40])
        expected = printed("repair", "--json", "--salvage", damaged, "-o", self.folder / "repaired.iprof")
        repaired = profbridge.repair(damaged, salvage=True)
        self.assertEqual(repaired.to_bytes(), (self.folder / "repaired.iprof").read_bytes())
        report = dict(repaired.report)
        self.assertEqual((report["verdict"], report["repairs"]), (expected["verdict"], expected["repairs"]))
        with self.assertRaises(profbridge.UnsupportedError):
            profbridge.repair(RAW / "clang-22-ir.profraw")

    def test_generate(self) -> None:
        for format, options, settings in [
            ("raw", ["--for=llvm-16", "--raw-arch=32be"], {"target": "llvm-16", "raw_arch": "32be"}),
            ("iprof", ["--to-version=1.1.0", "--contexts=9"], {"to_version": "1.1.0", "contexts": 9}),
            ("indexed", ["--damage=lengths"], {"damage": "lengths"}),
        ]:
            path, truth = self.folder / f"a.{format}", self.folder / f"{format}.json"
            ran = program("generate", "--format", format, "--functions=7", "--seed=5", *options, "-o", path, "--truth", truth)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            made = profbridge.generate(format, functions=7, seed=5, **settings)  # type: ignore[arg-type]
            self.assertEqual(made.content, path.read_bytes(), format)
            [file] = json.loads(truth.read_text())["files"]
            self.assertEqual((made.totals, made.damage), (file["totals"], file["damage"]))
        with self.assertRaises(profbridge.UsageError):
            profbridge.generate("no-format")


class Conversions(TestCase):
    def convert(self, source: Path, name: str, **settings: object) -> None:
        mine, theirs = self.folder / f"mine-{name}", self.folder / f"theirs-{name}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", profbridge.ProfileWarning)
            profbridge.convert(source, mine, **settings)  # type: ignore[arg-type]
        options = [f"--for={settings['target']}"] if "target" in settings else []
        ran = program("convert", source, "-o", theirs, *options)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(mine.read_bytes(), theirs.read_bytes(), name)

    def test_convert_writes_the_bytes_of_the_program(self) -> None:
        profile, iprof = RAW / "clang-22-ir.profraw", TESTDATA / "iprof" / "fibonacci.iprof"
        self.convert(profile, "a.iprof")
        self.convert(profile, "a.proftext")
        self.convert(iprof, "b.profdata")
        self.convert(iprof, "b.collapsed")
        self.convert(TESTDATA / "sampleprof" / "plain.prof", "c.proftext")
        self.convert(TESTDATA / "pprof" / "circles.pprof", "d.collapsed")

    def test_both_ways_of_the_bridge(self) -> None:
        warnings.simplefilter("ignore", profbridge.ProfileWarning)
        profile = profbridge.read(b"main\n1\n1\n30\n\nfoo\n2\n1\n10\n")
        assert isinstance(profile, profbridge.Profile)
        there = profile.to_iprof()
        self.assertIsInstance(there, profbridge.Iprof)
        back = there.to_llvm()
        self.assertEqual([(record.name, record.func_hash) for record in back.records()], [("main", 1), ("foo", 2)])
        iprof = profbridge.read(TESTDATA / "iprof" / "fibonacci.iprof")
        assert isinstance(iprof, profbridge.Iprof)
        again = iprof.to_llvm().to_iprof()
        self.assertEqual(profbridge.diff(iprof, again)["total_overlap"], 1.0)

    def test_stacks_that_measure_no_time_become_no_iprof_unasked(self) -> None:
        warnings.simplefilter("ignore", profbridge.ProfileWarning)
        hits = profbridge.read(b"app/Main.main;app/Main.f 3\n")
        assert isinstance(hits, profbridge.Stacks)
        self.assertEqual(hits.to_iprof().functions()["samples"].to_pylist(), [0, 3])
        allocated = profbridge.read(TESTDATA / "pprof" / "heap.pprof")
        assert isinstance(allocated, profbridge.Stacks)
        with self.assertRaisesRegex(profbridge.UsageError, "measure time"):
            allocated.to_iprof()
        self.assertIsInstance(allocated.to_iprof(any_value=True), profbridge.Iprof)

    def test_functions_and_statistics_join_hidden_classes_like_the_program(self) -> None:
        classes = ["App$$Lambda$8.0x00007fdc60007a08", "App$$Lambda$15.0x00007f9a50007a08"]
        stacks = profbridge.read("".join(f"App.main()V@1;{name}.run()V@4 3\n" for name in classes).encode())
        assert isinstance(stacks, profbridge.Stacks)
        rows = [("App.main()", 0, 6), ("App$$Lambda/0x….run()", 6, 6)]
        self.assertEqual(sorted(tuple(row.values()) for row in stacks.functions()), sorted(rows))
        methods = stacks.summary()["methods"]
        self.assertEqual({method["method"] for method in methods}, {name for name, _, _ in rows})

    def test_both_families_merge_into_the_named_one(self) -> None:
        warnings.simplefilter("ignore", profbridge.ProfileWarning)
        inputs = [RAW / "clang-22-ir.profraw", TESTDATA / "iprof" / "fibonacci.iprof"]
        with self.assertRaises(profbridge.UsageError) as caught:
            profbridge.merge(inputs)
        self.assertIn('family="iprof"', str(caught.exception.hint))
        for family, expected, name in (("iprof", profbridge.Iprof, "a.iprof"), ("instr", profbridge.Profile, "a.profdata")):
            merged = profbridge.merge(inputs, family=family)  # type: ignore[arg-type]
            self.assertIsInstance(merged, expected)
            self.assertEqual([each["outcome"] for each in merged.report["inputs"]], ["used", "used"])
            out = self.folder / name
            self.assertEqual(program("merge", *inputs, "-o", out).returncode, 0)
            self.assertEqual(merged.to_bytes(), out.read_bytes())

    def test_losses_of_stacks_are_warnings(self) -> None:
        with self.assertWarnsRegex(profbridge.ProfileWarning, "dropped"):
            profbridge.read(TESTDATA / "pprof" / "circles.pprof").to_bytes()


class Drawings(TestCase):
    def test_flame_graphs_are_those_of_the_program(self) -> None:
        one, other = self.folder / "one.collapsed", self.folder / "other.collapsed"
        one.write_bytes(b"main;f 3\nmain;g 4\n")
        other.write_bytes(b"main;f 3\nmain;h 4\n")
        for options, settings in [
            ([], {}),
            (["--reverse", "--width=900"], {"reverse": True, "width": 900}),
            (["--exclude=g"], {"exclude": "g"}),
            (["--baseline", other], {"baseline": other}),
        ]:
            out = self.folder / "out.svg"
            self.assertEqual(program("flamegraph", one, "-o", out, *options).returncode, 0)
            self.assertEqual(profbridge.flamegraph(one, **settings), out.read_text(), options)  # type: ignore[arg-type]
        self.assertIn("<html", profbridge.flamegraph(profbridge.read(one), format="html"))
        for wrong in ({"width": 3}, {"format": "png"}, {"min_width": -1.0}):
            with self.assertRaises(profbridge.UsageError):
                profbridge.flamegraph(one, **wrong)  # type: ignore[arg-type]
        with self.assertRaises(profbridge.MergeError):
            profbridge.flamegraph(b":ir\nmain\n1\n1\n5\n")

    def test_reports_are_those_of_the_program(self) -> None:
        cpp, samples = self.folder / "cpp.proftext", self.folder / "samples.afdo"
        cpp.write_text(":ir\n_Z3addii\n1\n1\n5\n")
        samples.write_text("_Z3addii:10:1\n 1: 10 _Z3subii:10\n")
        for one in (RAW / "clang-22-ir.profraw", TESTDATA / "iprof" / "fibonacci.iprof", cpp, samples):
            out = self.folder / "out.html"
            for options, settings in [
                ([], {}),
                (["--topn=3"], {"topn": 3}),
                (["--baseline", one], {"baseline": one}),
                (["--no-demangle"], {"demangle": False}),
            ]:
                self.assertEqual(program("report", one, "-o", out, *options).returncode, 0)
                self.assertEqual(profbridge.report(one, **settings), out.read_text())  # type: ignore[arg-type]


    def test_stacks_without_samples_are_a_profile_with_nothing_to_draw(self) -> None:
        warnings.simplefilter("ignore", profbridge.ProfileWarning)
        path = TESTDATA / "java" / "waits-jdk21.jfr.gz"
        stacks = profbridge.read(path)
        self.assertEqual((len(stacks), profbridge.check(stacks)["format"]), (0, "pprof"))
        self.assertEqual(len(profbridge.merge([stacks])), 0)
        for source in (path, stacks):
            for draw in (profbridge.report, profbridge.flamegraph):
                with self.assertRaisesRegex(profbridge.MergeError, "no stacks to draw"):
                    draw(source)


class Perf(TestCase):
    def record(self) -> "tuple[Path, Path]":
        """Record the branches of a program, as the tests of the program do."""
        sources, binary, recorder = ROOT / "tests" / "profgen", self.folder / "prog", self.folder / "recorder"
        if shutil.which("cc") is None:
            skip("cc is not installed: recordings of branches")
        subprocess.run(["cc", "-O1", "-o", recorder, sources / "record_branches.c"], check=True)
        subprocess.run(["cc", "-O2", "-g", "-o", binary, sources / "work.c"], check=True)
        recorded = subprocess.run([recorder, "61", "16", "200000", binary], capture_output=True, cwd=self.folder)
        if not recorded.stdout:
            skip("processes cannot be stepped here")
        text = self.folder / "prog.txt"
        text.write_bytes(recorded.stdout)
        return text, binary

    def test_recordings_become_sample_profiles_with_their_program(self) -> None:
        text, binary = self.record()
        warnings.simplefilter("ignore", profbridge.ProfileWarning)
        profile = profbridge.read(text, binary=binary)
        self.assertIsInstance(profile, profbridge.SampleProfile)
        out = self.folder / "out.prof"
        self.assertEqual(program("convert", text, "--binary", binary, "-o", out).returncode, 0)
        self.assertEqual(profile.to_bytes(), out.read_bytes())
        self.assertEqual(profbridge.merge([text], binary=binary).to_bytes(), out.read_bytes())

    def test_perf_data_without_branches_becomes_a_sample_profile(self) -> None:
        source, binary, data = ROOT / "tests" / "profgen" / "busy.c", self.folder / "busy", self.folder / "perf.data"
        for tool in ("cc", "perf"):
            if shutil.which(tool) is None:
                skip(f"{tool} is not installed: recordings of perf")
        subprocess.run(["cc", "-O2", "-g", "-fno-omit-frame-pointer", "-o", binary, source], check=True)
        record = ["perf", "record", "-q", "-F", "5000", "-e", "cpu-clock:u", "-g", "-o", data, binary, "2000"]
        if subprocess.run(record, capture_output=True, cwd=self.folder).returncode != 0:
            skip("perf cannot record here")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", profbridge.ProfileWarning)
            profile = profbridge.read(data, binary=binary)
        self.assertIsInstance(profile, profbridge.SampleProfile)
        self.assertTrue(any("no sample has branch records" in str(warning.message) for warning in caught))
        self.assertIn("small", profile.functions()["name"].to_pylist())
        out = self.folder / "out.prof"
        self.assertEqual(program("convert", data, "--binary", binary, "-o", out).returncode, 0)
        self.assertEqual(profile.to_bytes(), out.read_bytes())
        self.assertIsInstance(profbridge.merge(data, binary=binary), profbridge.Stacks)
        stacks, ours = self.folder / "out.collapsed", self.folder / "ours.collapsed"
        self.assertEqual(program("convert", data, "--binary", binary, "-o", stacks).returncode, 0)
        warnings.simplefilter("ignore", profbridge.ProfileWarning)
        profbridge.convert(data, ours, binary=binary)
        self.assertEqual(ours.read_bytes(), stacks.read_bytes())

    def test_a_program_of_another_file_is_a_usage_error(self) -> None:
        with self.assertRaises(profbridge.UsageError):
            profbridge.read(TESTDATA / "iprof" / "fibonacci.iprof", binary="a.out")
