"""Merging in parts: the same bytes for every split and every tree, through pickle and the program."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
import warnings
from pathlib import Path

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
            mergers = [profbridge.Merger(**{**SETTINGS, **settings}).add_all(run) for run in runs]
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

    def test_other_families_say_that_they_cannot(self) -> None:
        for source in (b"foo:10:1\n 1: 5\n", TESTDATA / "iprof" / "fibonacci.iprof", b"main;f 3\nmain;g 4\n"):
            merger = profbridge.Merger()
            with self.assertRaisesRegex(profbridge.UnsupportedError, "in parts"):
                merger.add(source)
            self.assertEqual(len(merger), 0)

    def test_weights_apply_as_inputs_are_added(self) -> None:
        one, other = raw_dumps("clang-1[46]-ir.profraw")
        first, second = profbridge.Merger().add(one, weight=3), profbridge.Merger().add(other, weight=5)
        expected = merged_by_program([], f"--weighted-input=3,{one}", f"--weighted-input=5,{other}")
        self.assertEqual(first.merge(second).finish().to_bytes(), expected)


class Parts(TestCase):
    def test_a_merger_goes_on_after_its_result(self) -> None:
        merger = profbridge.Merger().add(b":ir\nmain\n1\n1\n5\n")
        self.assertEqual(merger.finish().find("main")[0].entry_count, 5)
        merger.add(b":ir\nmain\n1\n1\n6\n")
        self.assertEqual(merger.finish().find("main")[0].entry_count, 11)
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

    def test_damaged_and_foreign_parts_are_refused(self) -> None:
        part = profbridge.Merger().add(b":ir\nmain\n1\n1\n5\n").to_bytes()
        for bytes_ in (b"", b"x", part[:-1], part[:5] + bytes([part[5] ^ 1]) + part[6:]):
            with self.assertRaises(profbridge.Error):
                profbridge.Merger.from_bytes(bytes_)
        with self.assertRaises(profbridge.Error):
            profbridge.Merger().add(b":ir\nmain\n1\n1\n5\n").merge(profbridge.Merger().add(b"foo:10:1\n 1: 5\n"))
        with self.assertRaises(profbridge.UsageError):
            profbridge.Merger(target="llvm-99")

    def test_processes_of_one_machine(self) -> None:
        dumps = self.folder / "dumps"
        dumps.mkdir()
        for number, path in enumerate(raw_dumps("clang-*-ir.profraw") * 3):
            (dumps / f"{number:03}.profraw").write_bytes(path.read_bytes())
        out = self.folder / "out.profdata"
        subprocess.run([sys.executable, PACKAGE / "examples" / "merge_in_processes.py", dumps, out], check=True)
        self.assertEqual(out.read_bytes(), merged_by_program(sorted(dumps.iterdir())))
