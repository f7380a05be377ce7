"""Profiles and tables as Python objects: pickles, equality, iteration, sources, arguments."""

from __future__ import annotations

import copy
import gzip
import importlib
import io
import multiprocessing
import os
import pickle
import subprocess
import sys
import typing
import warnings
from pathlib import Path

import profbridge
from profbridge import spark
from support import TESTDATA, TestCase, needs

TEXT = b":ir\nmain\n1\n2\n5\n3\n\nf\n2\n1\n7\n"


def one_of_each() -> "dict[str, profbridge.AnyProfile]":
    sources: dict[str, profbridge.Source] = {
        "instr": TESTDATA / "raw" / "clang-22-ir.profraw",
        "sampleprof": b"foo:10:1\n 1: 5\n 2: bar:4\n  1: 4\n",
        "memprof": TESTDATA / "memprof" / "clang-22-plain.yaml",
        "iprof": TESTDATA / "iprof" / "fibonacci.iprof",
        "stacks": b"main;f 3\nmain;g 4\n",
        "pprof": TESTDATA / "pprof" / "circles.pprof",
    }
    return {name: profbridge.read(source) for name, source in sources.items()}


class Pickles(TestCase):
    def test_profiles_of_all_families_survive(self) -> None:
        warnings.simplefilter("ignore", profbridge.ProfileWarning)
        for name, profile in one_of_each().items():
            with self.subTest(family=name):
                again = pickle.loads(pickle.dumps(profile))
                self.assertIs(type(again), type(profile))
                self.assertEqual(again, profile)
                self.assertEqual(again.to_bytes(), profile.to_bytes())
                self.assertEqual((again.warnings, again.report), (profile.warnings, profile.report))
                self.assertEqual(again.functions(), profile.functions())
                self.assertEqual(copy.deepcopy(profile), profile)
                with self.assertRaises(TypeError):
                    hash(profile)

    def test_a_pickle_keeps_filter_and_target(self) -> None:
        merged = profbridge.merge([TESTDATA / "raw" / "clang-22-ir.profraw"], function="^main$", target="llvm-16")
        assert isinstance(merged, profbridge.Profile)
        again = pickle.loads(pickle.dumps(merged))
        self.assertEqual(again.to_bytes(), merged.to_bytes())
        self.assertEqual((again.target, again.target_is_given, list(again)), ("llvm-16", True, ["main"]))

    def test_tables_survive(self) -> None:
        for profile in one_of_each().values():
            for name in ("functions", "records", "value_sites", "lines", "allocations", "entries", "samples"):
                table = getattr(profile, name, list)()
                if isinstance(table, profbridge.Table):
                    again = pickle.loads(pickle.dumps(table))
                    self.assertEqual(again, table)
                    self.assertEqual(list(again), list(table))

    def test_a_damaged_pickle_is_an_error(self) -> None:
        table = profbridge.read(TEXT).functions()
        restore, (names, batches) = table.__reduce__()
        broken = [tuple((kind, count, valid, offsets, b"") for kind, count, valid, offsets, _ in batches[0])]
        with self.assertRaises((ValueError, TypeError)):
            restore(names, broken)
        with self.assertRaises(ValueError):
            restore(names, [])
        restore, (family, state) = profbridge.read(TEXT).__reduce__()
        for wrong in (state[:-5], b"{}", b""):
            with self.assertRaises(ValueError):
                restore(family, wrong)

    def test_a_pool_returns_tables_and_profiles(self) -> None:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            table = pool.apply(_functions, (TEXT,))
            profile = pool.apply(profbridge.read, (TEXT,))
        self.assertEqual(table, profbridge.read(TEXT).functions())
        self.assertEqual(profile, profbridge.read(TEXT))


def _functions(source: bytes) -> "profbridge.Table[typing.Any]":
    return profbridge.read(source).functions()  # type: ignore[return-value]


class Mappings(TestCase):
    def test_a_profile_is_a_mapping_of_records(self) -> None:
        profile = profbridge.read(TEXT)
        assert isinstance(profile, profbridge.Profile)
        self.assertEqual((list(profile), len(profile)), (["main", "f"], 2))
        self.assertEqual(profile["main"][0].counters.to_pylist(), [5, 3])
        self.assertEqual(profile[b"f"][0].func_hash, 2)
        with self.assertRaises(KeyError):
            profile["none"]

    def test_profiles_are_compared_by_content(self) -> None:
        self.assertEqual(profbridge.read(TEXT), profbridge.merge([TEXT]))
        self.assertNotEqual(profbridge.read(TEXT), profbridge.merge([TEXT], weights=[2]))
        self.assertNotEqual(profbridge.read(TEXT), 1)
        self.assertNotEqual(profbridge.read(b"main;f 3\n a;b 1\n"), profbridge.read(TEXT))

    def test_all_families_have_the_same_protocol(self) -> None:
        warnings.simplefilter("ignore", profbridge.ProfileWarning)
        for profile in one_of_each().values():
            self.assertIsInstance(profile.functions(), profbridge.Table)
            self.assertIsInstance(profile.summary(), dict)
            self.assertEqual([each["outcome"] for each in profile.report["inputs"]], ["used"])
            self.assertGreater(profile.report["functions"] or 0, 0)
            self.assertIsInstance(profile.warnings, list)
            self.assertEqual(profile.FAMILY, profbridge.family_of(profile))
            self.assertGreater(len(profile.to_bytes()), 0)


class Tables(TestCase):
    def test_rows_and_slices(self) -> None:
        table = profbridge.read(TEXT).functions()
        self.assertEqual(table[0]["name"], "main")
        self.assertEqual(table[-1], table.row(1))
        self.assertEqual(list(table[1:]), [table[1]])
        self.assertEqual(table[:], table)
        self.assertNotEqual(table[1:], table)
        self.assertEqual(list(table["name"]), ["main", "f"])
        with self.assertRaises(IndexError):
            table[2]
        with self.assertRaises(KeyError):
            table["none"]

    def test_columns_of_large_profiles_are_in_one_piece(self) -> None:
        numpy = needs("numpy")
        counters = b"".join(b"%d\n" % number for number in range(100))
        text = b":ir\n" + b"".join(b"f%d\n1\n100\n%s\n" % (number, counters) for number in range(6000))
        table = profbridge.read(text).functions()
        self.assertGreater(len(table["counters"].chunks), 1)
        totals = numpy.asarray(table["total_count"])
        self.assertEqual((totals.shape, int(totals[0]), totals.dtype), ((6000,), 4950, numpy.dtype("uint64")))
        self.assertEqual(numpy.asarray(table["name"])[5999], "f5999")
        self.assertEqual(pickle.loads(pickle.dumps(table)), table)
        self.assertEqual(table[10:20]["name"].to_pylist(), [f"f{number}" for number in range(10, 20)])

    def test_numpy_arrays(self) -> None:
        numpy = needs("numpy")
        table = profbridge.read(TEXT).functions()
        self.assertEqual(table["name"].to_numpy().tolist(), ["main", "f"])
        self.assertTrue(numpy.isnan(table["entry_count"].to_numpy()).all())
        self.assertEqual(table["counters"].to_numpy().tolist(), [[5, 3], [7]])
        self.assertEqual(numpy.asarray(table["max_count"], dtype="float64").tolist(), [5.0, 7.0])


class Sources(TestCase):
    def test_anything_with_the_content_of_a_file_is_read(self) -> None:
        path = self.folder / "a.proftext"
        path.write_bytes(TEXT)
        expected = profbridge.read(path)
        with open(path, "rb") as file, open(path) as text:
            self.assertEqual(profbridge.read(file), expected)
            with self.assertRaisesRegex(TypeError, "binary mode"):
                profbridge.read(text)  # type: ignore[arg-type]
        with os.scandir(os.fsencode(self.folder)) as entries:
            [entry] = entries
        for source in (entry, str(path), expected, memoryview(TEXT), bytearray(TEXT)):
            with self.subTest(source=type(source)):
                self.assertEqual(profbridge.read(source), expected)
                self.assertEqual(profbridge.merge(source), expected)
                self.assertEqual(profbridge.merge([source]), expected)
        self.assertEqual(profbridge.read(io.BytesIO(TEXT)), expected)
        self.assertEqual(profbridge.merge([io.BytesIO(TEXT), io.BytesIO(TEXT)]), profbridge.merge(TEXT, weights=[2]))

    def test_an_open_file_names_itself(self) -> None:
        path = self.folder / "cut.profdata"
        path.write_bytes((TESTDATA / "raw" / "clang-22-ir.profdata").read_bytes()[:20])
        with open(path, "rb") as file, self.assertRaises(profbridge.FormatError) as caught:
            profbridge.read(file)
        self.assertEqual(caught.exception.path, str(path))

    def test_a_path_as_bytes_gets_a_hint(self) -> None:
        for call in (profbridge.read, profbridge.merge):
            with self.assertRaises(profbridge.FormatError) as caught:
                call(os.fsencode(self.folder / "a.profraw"))  # type: ignore[operator]
            self.assertIn("os.fsdecode", str(caught.exception.hint))

    def test_files_are_written_to_any_path(self) -> None:
        profile = profbridge.read(TEXT)
        for name in (os.fsencode(self.folder / "a.profdata"), self.folder / "b.profdata", str(self.folder / "c.profdata")):
            profile.write(name)
            self.assertEqual(profbridge.read(os.fsdecode(name)), profile)

    def test_a_dash_is_a_file(self) -> None:
        before = Path.cwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        with self.assertRaises(FileNotFoundError):
            profbridge.read("-")
        profbridge.read(TEXT).write("-")
        self.assertEqual(profbridge.read("-"), profbridge.read(TEXT))


class Arguments(TestCase):
    def test_one_path_is_a_list_of_one(self) -> None:
        settings = importlib.import_module("profbridge._settings").settings(binary_files="a.out", profiled_binaries=b"b.out", binary=Path("c.out"))
        self.assertEqual(settings["binary_files"], ["a.out"])
        self.assertEqual((settings["profiled_binaries"], settings["binary"]), (["b.out"], ["c.out"]))
        with self.assertRaises(profbridge.Error) as caught:
            profbridge.merge([TEXT], binary_files=str(self.folder / "none"))
        self.assertIn("none", str(caught.exception))

    def test_wrong_values_are_usage_errors(self) -> None:
        wrong: list[dict[str, object]] = [
            {"threads": 0},
            {"threads": -1},
            {"threads": "two"},
            {"min_inputs": -1},
            {"min_functions": 1.5},
            {"salvage": "yes"},
            {"function": 3},
            {"binary_files": 3},
            {"family": "llvm"},
            {"limits": {"inflated_bytes": -1}},
            {"limits": {"bytes": 1}},
            {"limits": 3},
        ]
        for settings in wrong:
            with self.subTest(settings=settings), self.assertRaises(profbridge.UsageError):
                profbridge.merge([b"no profile"], **settings)  # type: ignore[arg-type]
        with self.assertRaises(TypeError):
            profbridge.merge([TEXT], no_such=1)  # type: ignore[call-arg]

    def test_settings_of_other_families_are_usage_errors(self) -> None:
        for source in (b"main;f 3\nmain;g 4\n", TESTDATA / "iprof" / "fibonacci.iprof"):
            for settings in ({"target": "llvm-16"}, {"function": "f"}, {"keep_vtable_symbols": True}, {"debug_info": "a"}):
                with self.subTest(settings=settings), self.assertRaises(profbridge.UsageError):
                    profbridge.merge([source], **settings)  # type: ignore[arg-type]

    def test_limits_apply_to_all_families(self) -> None:
        for source, limit in [
            (gzip.compress(TEXT), "stream_bytes"),
            (gzip.compress(b"foo:10:1\n 1: 5\n"), "stream_bytes"),
            (TESTDATA / "pprof" / "circles.pprof", "stream-bytes"),
        ]:
            with self.subTest(limit=limit), self.assertRaises(profbridge.LimitError):
                profbridge.read(source, limits={limit: 10})
        packed = gzip.compress((TESTDATA / "iprof" / "fibonacci.iprof").read_bytes())
        with self.assertRaises(profbridge.Error):
            profbridge.merge([packed], limits={"stream_bytes": 10})
        self.assertNotEqual(profbridge.check(packed, limits={"stream_bytes": 10})["findings"], [])

    def test_the_environment_matters_where_it_is_used(self) -> None:
        os.environ["PROFBRIDGE_FOR"] = "junk"
        self.addCleanup(os.environ.pop, "PROFBRIDGE_FOR")
        for profile in one_of_each().values():
            self.assertGreater(len(profile.functions()), 0)
        profile = profbridge.read(TEXT)
        with self.assertRaises(profbridge.UsageError):
            profile.to_bytes()
        self.assertEqual(profbridge.diff(profile, profile)["total_overlap"], 1.0)

    def test_an_empty_result_needs_permission(self) -> None:
        warnings.simplefilter("ignore", profbridge.ProfileWarning)
        results = [
            profbridge.merge([b"\x81rforpl\xff"], failure_mode="warn"),
            profbridge.merge([TEXT], function="nosuch"),
            profbridge.merge([b""], family="sampleprof"),
        ]
        for merged in results:
            for name in ("a.profdata", "b.proftext"):
                with self.assertRaises(profbridge.MergeError) as caught:
                    merged.write(self.folder / name)
                self.assertIn("allow_empty", str(caught.exception.hint))
                self.assertFalse((self.folder / name).exists())
            with self.assertRaises(profbridge.MergeError):
                merged.to_bytes()
            merged.write(self.folder / "c.profdata", allow_empty=True)
            (self.folder / "c.profdata").unlink()


class Hints(TestCase):
    def test_type_hints_resolve(self) -> None:
        functions = [getattr(profbridge, name) for name in profbridge.__all__]
        functions += [spark.merge, spark.collect, *(getattr(profbridge.Merger, name) for name in ("add", "finish", "merge"))]
        resolved = [typing.get_type_hints(each) for each in functions if hasattr(each, "__annotations__")]
        self.assertGreater(len(resolved), 20)
        # Alone, because hints that were resolved before stay resolved.
        for name in ("merge", "read", "diff"):
            code = f"import typing, profbridge; typing.get_type_hints(profbridge.{name})"
            subprocess.run([sys.executable, "-c", code], check=True)
        self.assertNotIn("Any", dir(profbridge))
        self.assertIn("read", dir(profbridge))
