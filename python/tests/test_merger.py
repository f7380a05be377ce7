"""Merging in parts: the same bytes for every split and every tree, through pickle and the program."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import profbridge
from support import PACKAGE, TESTDATA, TestCase, merged_by_program, program, raw_dumps

SETTINGS = {"failure_mode": "warn"}


def joined(mergers: list[profbridge.Merger], chance: random.Random) -> profbridge.Merger:
    """Join neighbours in a random tree, some of them in another process, as far as pickle can tell."""
    while len(mergers) > 1:
        at = chance.randrange(len(mergers) - 1)
        later = mergers.pop(at + 1)
        mergers[at].merge(pickle.loads(pickle.dumps(later)) if chance.random() < 0.5 else later)
    return mergers[0]


class Failures(TestCase):
    def test_a_part_keeps_the_class_and_the_fields_of_errors(self) -> None:
        cut = profbridge.read(b":ir\nmain\n1\n1\n5\n").to_bytes()[:60]
        (self.folder / "cut.profdata").write_bytes(cut)
        (self.folder / "cut.afdo").write_bytes(b"main:1:1\n 1: 1\n zz\n")
        (self.folder / "cut.iprof").write_bytes(b'{"version": "1.0.0", "x')
        (self.folder / "cut.collapsed").write_bytes(b"main;f x\n")
        names = ["cut.profdata", "cut.afdo", "cut.iprof", "cut.collapsed", "missing.profdata"]
        fields = ("kind", "path", "format", "section", "offset", "line", "expected", "found", "hint", "message")
        for path in [self.folder / name for name in names]:
            with self.assertRaises(profbridge.Error) as whole:
                profbridge.merge([path])
            part = profbridge.Merger(failure_mode="all").add(path).to_bytes()
            with self.assertRaises(profbridge.Error) as kept:
                profbridge.Merger.from_bytes(part, failure_mode="any").finish()
            self.assertIs(type(kept.exception), type(whole.exception), path)
            for field in fields:
                self.assertEqual(getattr(kept.exception, field), getattr(whole.exception, field), (path, field))
        self.assertIsInstance(kept.exception, FileNotFoundError)
        self.assertEqual((kept.exception.errno, kept.exception.filename), (2, str(path)))


class SameForEveryTree(TestCase):
    def setUp(self) -> None:
        super().setUp()
        warnings.simplefilter("ignore", profbridge.ProfileWarning)

    def compare(self, inputs: list[Path], name: str = "out.profdata", **settings: object) -> None:
        whole = profbridge.merge(inputs, **{**SETTINGS, **settings})
        whole.write(self.folder / name)
        expected = (self.folder / name).read_bytes()
        chance = random.Random(17)
        for _ in range(4):
            cuts = sorted(chance.choices(range(len(inputs) + 1), k=chance.randrange(5)))
            runs = [inputs[start:end] for start, end in zip([0, *cuts], [*cuts, len(inputs)])]
            # Some inputs occur twice.
            in_parts = {**SETTINGS, **settings, "allow_duplicates": True}
            mergers = [profbridge.Merger(**in_parts).add_all(run) for run in runs]
            merger = joined(mergers, chance)
            self.assertEqual(len(merger), len(inputs))
            finished = merger.finish()
            finished.write(self.folder / name)
            self.assertEqual((self.folder / name).read_bytes(), expected, (cuts, settings))
            self.assertEqual(finished.warnings, whole.warnings)

    def test_instrumentation_profiles(self) -> None:
        self.compare(raw_dumps("clang-*-ir.profraw"))
        self.compare(raw_dumps("clang-*-ir.profraw"), target="llvm-14")
        self.compare(raw_dumps("clang-*-fe-values.profraw"), keep_vtable_symbols=True)
        self.compare(raw_dumps("clang-*-fe*.profraw"), no_function="^main$")

    def test_bad_and_empty_inputs_among_them(self) -> None:
        bad, empty = self.folder / "bad.profraw", self.folder / "empty.profraw"
        bad.write_bytes(raw_dumps("clang-22-ir.profraw")[0].read_bytes()[:300])
        empty.write_bytes(b"")
        good = raw_dumps("clang-*-ir.profraw")
        self.compare([bad, *good[:2], empty, *good[2:], bad])

    def samples(self) -> list[Path]:
        for number in range(6):
            text = b"foo:1%d:1\n 1: 5\n 3: %d\nbar:9:2\n 1: 4 callee:%d\n" % (number, number, number + 1)
            (self.folder / f"{number}.prof").write_bytes(text)
        return sorted(self.folder.glob("?.prof"))

    def test_sample_profiles(self) -> None:
        self.compare(self.samples(), name="out.prof")
        self.compare(self.samples(), name="out.prof", no_function="^bar$")
        self.compare(self.samples(), name="out.prof", target="llvm-16")

    def test_memory_profiles(self) -> None:
        text = "---\nHeapProfileRecords:\n  - GUID: 0x%x\n    AllocSites:\n      - Callstack:\n          - { Function: 0x%x, LineOffset: 7, Column: 1, IsInlineFrame: false }\n        MemInfoBlock:\n          AllocCount: %d\n          TotalSize: 400\n    CallSites: []\n...\n"
        for number in range(4):
            (self.folder / f"{number}.memprofyaml").write_text(text % (number % 3, number % 2 + 1, number + 1))
        paths = sorted(self.folder.glob("?.memprofyaml"))
        self.assertGreater(len(profbridge.merge(paths)), 1)
        self.compare(paths)

    def test_iprof_files(self) -> None:
        names = ("fibonacci", "even-or-odd", "fibonacci")
        self.compare([TESTDATA / "iprof" / f"{name}.iprof" for name in names], name="out.iprof")

    def test_stacks(self) -> None:
        for number in range(5):
            (self.folder / f"{number}.collapsed").write_bytes(b"main;f %d\nmain;g 4\nmain;f;h%d 1\n" % (number + 1, number))
        collapsed = sorted(self.folder.glob("?.collapsed"))
        self.compare(collapsed, name="out.collapsed")
        for path in collapsed:
            profbridge.read(path).write(path.with_suffix(".pprof"))
        self.compare(sorted(self.folder.glob("?.pprof")), name="out.pprof")

    def test_empty_files_go_with_any_family(self) -> None:
        empty = self.folder / "empty"
        empty.write_bytes(b"")
        samples = self.samples()
        self.compare([empty, empty, *samples[:3], empty, *samples[3:], empty], name="out.prof")
        self.compare([empty, TESTDATA / "iprof" / "fibonacci.iprof", empty], name="out.iprof")

    def test_what_is_no_profile_goes_with_the_family_that_is_named(self) -> None:
        bad = self.folder / "bad"
        bad.write_bytes(b"\xff\xfe\xfd no profile at all")
        self.compare([bad, *self.samples(), bad], name="out.prof", family="sampleprof")
        self.compare([bad, TESTDATA / "iprof" / "fibonacci.iprof", bad], name="out.iprof", family="iprof")
        merger = profbridge.Merger(failure_mode="warn").add(bad)
        with self.assertRaisesRegex(profbridge.UsageError, "family=") as caught:
            merger.add(self.samples()[0])
        self.assertEqual((caught.exception.kind, len(merger)), ("usage", 1))
        with self.assertRaisesRegex(profbridge.UsageError, "unknown family \"none\""):
            profbridge.Merger(family="none").add(bad)  # type: ignore[typeddict-item]

    def test_weights_apply_as_inputs_are_added(self) -> None:
        one, other = raw_dumps("clang-1[46]-ir.profraw")
        first, second = profbridge.Merger().add(one, weight=3), profbridge.Merger().add(other, weight=5)
        expected = merged_by_program([], f"--weighted-input=3,{one}", f"--weighted-input=5,{other}")
        self.assertEqual(first.merge(second).finish().to_bytes(), expected)


class Parts(TestCase):
    def test_a_merger_goes_on_after_its_result(self) -> None:
        merger = profbridge.Merger().add(b":ir\nmain\n1\n1\n5\n")
        self.assertEqual(merger.finish().find("main")[0].counters.to_pylist()[0], 5)
        merger.add(b":ir\nmain\n1\n1\n6\n")
        self.assertEqual(merger.finish().find("main")[0].counters.to_pylist()[0], 11)
        self.assertEqual([each["outcome"] for each in merger.inputs], ["used", "used"])

    def test_a_merger_without_inputs_is_pickled_too(self) -> None:
        merger = pickle.loads(pickle.dumps(profbridge.Merger(target="llvm-14")))
        self.assertEqual(len(merger), 0)
        with self.assertRaises(profbridge.UsageError):
            merger.finish()
        self.assertEqual(merger.add(raw_dumps("clang-14-ir.profraw")[0]).finish().target, "llvm-14")

    def test_a_bad_input_leaves_the_merger_as_it_was(self) -> None:
        merger = profbridge.Merger().add(b":ir\nmain\n1\n1\n5\n")
        before = merger.to_bytes()
        with self.assertRaises(profbridge.FormatError) as caught:
            merger.add(b"\x81rforpl\xff", name="a.profraw")
        self.assertEqual(caught.exception.path, "a.profraw")
        with self.assertRaises(OSError):
            merger.add(self.folder / "none")
        self.assertEqual((len(merger), merger.to_bytes()), (1, before))

    def test_the_program_and_the_package_take_each_others_parts(self) -> None:
        one, other = raw_dumps("clang-1[46]-ir.profraw")
        part, rest = self.folder / "part.profdata", self.folder / "rest.part"
        self.assertEqual(program("merge", "--partial", "-o", part, one).returncode, 0)
        rest.write_bytes(profbridge.Merger().add(other).to_bytes())
        expected = merged_by_program([one, other])
        self.assertEqual(profbridge.Merger().add(part).merge(profbridge.Merger().add(rest)).finish().to_bytes(), expected)
        self.assertEqual(profbridge.Merger.from_bytes(part.read_bytes()).add(other).finish().to_bytes(), expected)
        self.assertEqual(merged_by_program([part, rest]), expected)

    def test_a_profile_in_a_partial_merge_and_in_another_input_is_an_error(self) -> None:
        paths = []
        for name, count in (("a.proftext", 5), ("b.proftext", 7)):
            paths.append(self.folder / name)
            paths[-1].write_text(f":ir\nmain\n1\n1\n{count}\n")
        part = self.folder / "a.part"
        part.write_bytes(profbridge.Merger().add(paths[0]).to_bytes())
        for inputs in ([part, part], [part, paths[1], paths[0]], [paths[0], part]):
            with self.assertRaisesRegex(profbridge.UsageError, "both contain a.proftext"):
                profbridge.merge(inputs)
            with self.assertRaisesRegex(profbridge.UsageError, "both contain a.proftext"):
                profbridge.Merger().add_all(inputs)
            whole = profbridge.merge(inputs, allow_duplicates=True).to_bytes()
            self.assertEqual(profbridge.Merger(allow_duplicates=True).add_all(inputs).finish().to_bytes(), whole)
        with self.assertRaises(profbridge.UsageError):
            profbridge.Merger.from_bytes(part.read_bytes()).add(paths[0])

    def test_thresholds_count_local_functions_of_several_releases_once(self) -> None:
        inputs = [TESTDATA / "raw" / f"clang-{release}-ir.profraw" for release in (14, 22)]
        merged = profbridge.merge(inputs, target="llvm-19")
        written = profbridge.read(merged.to_bytes(target="llvm-19"))
        self.assertLess(len(written), len(merged))
        self.assertEqual(merged.report["functions"], len(written))
        for minimum, target in [(len(merged), "llvm-19"), (len(merged), None)]:
            with self.assertRaises(profbridge.GateError):
                profbridge.merge(inputs, target=target, min_functions=minimum)

    def test_an_input_of_two_mergers_is_an_error(self) -> None:
        path = self.folder / "a.proftext"
        path.write_text(":ir\nmain\n1\n1\n5\n")

        def merger(**settings: Any) -> profbridge.Merger:
            return profbridge.Merger(**settings).add(path)

        def pickled(merger: profbridge.Merger) -> profbridge.Merger:
            return pickle.loads(pickle.dumps(merger))

        for one, other in [
            (merger(), merger()),
            (pickled(merger()), merger()),
            (merger(), pickled(merger())),
            (pickled(merger()), pickled(merger())),
        ]:
            with self.assertRaisesRegex(profbridge.UsageError, "another merger and .* both contain a.proftext"):
                one.merge(other)
            self.assertEqual(one.finish().find("main")[0].counters.to_pylist(), [5])
        for one in [profbridge.Merger().merge(merger()), profbridge.Merger.from_bytes(merger().to_bytes())]:
            with self.assertRaisesRegex(profbridge.UsageError, "both contain a.proftext"):
                one.add(path)
        # Hosts may write the same bytes to files of one name.
        other_host = self.folder / "host" / "a.proftext"
        other_host.parent.mkdir()
        other_host.write_bytes(path.read_bytes())
        of_host = profbridge.Merger().add(other_host)
        restored = profbridge.Merger.from_bytes
        for one, other in [
            (merger(), of_host),
            (pickled(merger()), pickled(of_host)),
            (restored(merger().to_bytes()), restored(of_host.to_bytes())),
        ]:
            self.assertEqual(one.merge(other).finish().find("main")[0].counters.to_pylist(), [10])
        part = self.folder / "a.part"
        part.write_bytes(merger().to_bytes())
        with self.assertRaisesRegex(profbridge.UsageError, "both contain a.proftext"):
            profbridge.Merger().add(part).merge(of_host)
        # Two runs of a program may write the same bytes.
        same = self.folder / "b.proftext"
        same.write_bytes(path.read_bytes())
        for twice in [
            merger().add(path),
            merger().merge(profbridge.Merger().add(same)),
            merger(allow_duplicates=True).merge(merger()),
        ]:
            self.assertEqual(twice.finish().find("main")[0].counters.to_pylist(), [10])

    def test_parts_of_every_family_are_inputs_everywhere(self) -> None:
        files = {
            "out.prof": [b"foo:10:1\n 1: 5\n", b"foo:12:1\n 1: 7\n"],
            "out.iprof": [(TESTDATA / "iprof" / f"{name}.iprof").read_bytes() for name in ("fibonacci", "even-or-odd")],
            "out.collapsed": [b"main;f 3\nmain;g 4\n", b"main;g 1\nmain;h 2\n"],
        }
        for name, (one, other) in files.items():
            paths = [self.folder / f"one-{name}", self.folder / f"other-{name}"]
            for path, content in zip(paths, (one, other)):
                path.write_bytes(content)
            expected = merged_by_program(paths, name=name)
            front, bare = self.folder / f"front-{name}", self.folder / "bare.part"
            ran = program("merge", "--partial", "-o", front, paths[0])
            self.assertEqual(ran.returncode, 0, ran.stderr)
            bare.write_bytes(profbridge.Merger().add(paths[1]).to_bytes())
            self.assertEqual(profbridge.family_of(bare), profbridge.family_of(paths[1]), name)
            for parts in ([front, bare], [front.read_bytes(), bare.read_bytes()], [paths[0], bare]):
                for merged in (profbridge.merge(parts), profbridge.Merger().add_all(parts).finish()):
                    merged.write(self.folder / name)
                    self.assertEqual((self.folder / name).read_bytes(), expected, name)
            self.assertEqual(merged_by_program([front, bare], name=name), expected, name)

    def test_what_was_applied_is_recorded(self) -> None:
        merger = profbridge.Merger(no_function="^f$").add(b":ir\nmain\n1\n1\n5\n", weight=3)
        found = profbridge.describe(merger.to_bytes(), name="a.part")
        self.assertEqual(found["description"], "partial merge of LLVM instrumentation profiles")
        self.assertEqual(found["partial_merge"]["applied"], ["--no-function=^f$"])
        [one] = found["partial_merge"]["inputs"]
        self.assertEqual((one["path"], one["weight"], one["outcome"], one["records"]), ("<bytes>", 3, "used", 1))
        checked = profbridge.check(merger.to_bytes())
        self.assertEqual((checked["format"], checked["verdict"]), ("partial", "usable"))
        checked = profbridge.check(merger.to_bytes()[1:])
        self.assertEqual((checked["format"], checked["verdict"]), ("partial", "unusable: record again"))

    def test_bytes_keep_target_and_thresholds(self) -> None:
        for source, settings in [
            (b":ir\nmain\n1\n1\n5\n", {"target": "llvm-16", "min_functions": 3}),
            (b"foo:10:1\n 1: 5\n", {"target": "llvm-16", "min_functions": 3}),
            (b"main;f 3\nmain;g 4\n", {"min_functions": 9}),
        ]:
            part = profbridge.Merger(**settings).add(source).to_bytes()
            with self.subTest(source=source):
                merger = profbridge.Merger.from_bytes(part)
                with self.assertRaises(profbridge.GateError):
                    merger.finish()
                merger = profbridge.Merger.from_bytes(part, min_functions=1)
                self.assertEqual(getattr(merger.finish(), "target", None), settings.get("target"))
                self.assertEqual(profbridge.Merger.from_bytes(merger.to_bytes()).finish(), merger.finish())

    def test_mergers_that_contradict_each_other_are_refused(self) -> None:
        one, other = profbridge.Merger(target="llvm-16"), profbridge.Merger(target="llvm-19")
        with self.assertRaisesRegex(profbridge.UsageError, "llvm-16 and llvm-19"):
            one.add(b":ir\nmain\n1\n1\n5\n").merge(other.add(b":ir\nmain\n1\n1\n5\n"))
        with self.assertRaisesRegex(profbridge.UsageError, "itself"):
            one.merge(one)
        self.assertEqual(len(one), 1)

    def test_damaged_inputs_raise_their_own_error(self) -> None:
        for name, content in [
            ("raw", (TESTDATA / "raw" / "clang-22-ir.profraw").read_bytes()[:300]),
            ("iprof", b"{\"version\":\"1.0.0\",\"types\":[{]"),
            ("sampleprof", b"foo:10:1\n 1: x\n"),
        ]:
            with self.subTest(name=name):
                expected = found = None
                try:
                    profbridge.read(content, name="a")
                except profbridge.Error as error:
                    expected = error
                try:
                    profbridge.Merger().add(content, name="a")
                except profbridge.Error as error:
                    found = error
                self.assertIsNotNone(expected)
                self.assertEqual((type(found), found and found.kind, found and found.section, found and found.offset),
                                 (type(expected), expected and expected.kind, expected and expected.section, expected and expected.offset))

    def test_directories_and_weights(self) -> None:
        folder = self.folder / "runs"
        folder.mkdir()
        for number in (1, 2):
            (folder / f"{number}.proftext").write_text(f":ir\nmain\n1\n1\n{number}\n")
        merger = profbridge.Merger().add(folder, weight=10)
        self.assertEqual(merger.finish()["main"][0].counters.to_pylist(), [30])
        merger = profbridge.Merger().add_all(sorted(folder.iterdir()), weights=[1, 5])
        self.assertEqual(merger.finish()["main"][0].counters.to_pylist(), [11])
        self.assertEqual(len(profbridge.Merger().add_all(str(folder))), 2)
        with self.assertRaises(profbridge.UsageError):
            profbridge.Merger().add_all([b"", b""], weights=[1])

    def test_damaged_and_foreign_parts_are_refused(self) -> None:
        part = profbridge.Merger().add(b":ir\nmain\n1\n1\n5\n").to_bytes()
        for bytes_ in (b"", b"x", part[:-1], part[:5] + bytes([part[5] ^ 1]) + part[6:]):
            with self.assertRaises(profbridge.Error):
                profbridge.Merger.from_bytes(bytes_)
        with self.assertRaises(profbridge.Error):
            profbridge.Merger().add(b":ir\nmain\n1\n1\n5\n").merge(profbridge.Merger().add(b"foo:10:1\n 1: 5\n"))
        with self.assertRaises(profbridge.UsageError):
            profbridge.Merger(target="llvm-99")
        with self.assertRaisesRegex(TypeError, "'tresholds' is not a setting"):
            profbridge.Merger(tresholds=1)  # type: ignore[call-arg]

    def test_processes_of_one_machine(self) -> None:
        dumps = self.folder / "dumps"
        dumps.mkdir()
        for number, path in enumerate(raw_dumps("clang-*-ir.profraw") * 3):
            (dumps / f"{number:03}.profraw").write_bytes(path.read_bytes())
        out = self.folder / "out.profdata"
        subprocess.run([sys.executable, PACKAGE / "examples" / "merge_in_processes.py", dumps, out], check=True)
        self.assertEqual(out.read_bytes(), merged_by_program(sorted(dumps.iterdir())))
