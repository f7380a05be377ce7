"""Spark: the bytes of one local merge, whatever fails on the way."""

from __future__ import annotations

import os
import shutil
import sys
import unittest
import warnings
from pathlib import Path
from typing import Any

import profbridge
import profbridge.spark
from support import TestCase, merged_by_program, needs, raw_dumps, skip

FILES = 1000


class FailsOnce:
    """Lets the first task that reads a file fail, as a lost worker would."""

    def __init__(self, marker: Path, victim: str) -> None:
        self.marker, self.victim = str(marker), victim

    def __call__(self, path: str, content: bytes) -> bytes:
        if path.endswith(self.victim):
            try:
                os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return content
            raise RuntimeError("this task fails once")
        return content


class Spark(TestCase):
    spark: Any

    @classmethod
    def setUpClass(cls) -> None:
        pyspark = needs("pyspark")
        if shutil.which("java") is None:
            skip("java is not installed: Spark")
        session = pyspark.sql.SparkSession.builder if hasattr(pyspark, "sql") else None
        if session is None:
            from pyspark.sql import SparkSession

            session = SparkSession.builder
        # Two workers, and a second try for a task.
        session = session.master("local[2,2]").appName("profbridge").config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
        session = session.config("spark.driver.host", "localhost").config("spark.driver.bindAddress", "127.0.0.1")
        session = session.config("spark.driver.memory", "1g").config("spark.python.worker.reuse", "true")
        # Workers are this Python, which has the package.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        cls.spark = session.getOrCreate()
        cls.spark.sparkContext.setLogLevel("OFF")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.spark.stop()

    def setUp(self) -> None:
        super().setUp()
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", ResourceWarning)

    def write_dumps(self, number: int) -> list[Path]:
        """Dumps of several binaries, the order of which matters: their values sites differ."""
        kinds = [path.read_bytes() for path in raw_dumps("clang-*-ir.profraw") + raw_dumps("clang-*-cxx.profraw")]
        dumps = self.folder / "dumps"
        dumps.mkdir()
        for at in range(number):
            (dumps / f"{at:05}.profraw").write_bytes(kinds[at * at % len(kinds)])
        return sorted(dumps.iterdir())

    def merge(self, **settings: Any) -> Any:
        return profbridge.spark.merge(self.spark, str(self.folder / "dumps" / "*.profraw"), **settings)

    def test_a_thousand_dumps_and_a_task_that_fails(self) -> None:
        paths = self.write_dumps(FILES)
        marker = self.folder / "failed"
        # More runs than a task joins, so that there is a level of the tree between.
        merged = self.merge(partitions=20, prepare=FailsOnce(marker, "00417.profraw"))
        self.assertTrue(marker.exists(), "no task failed")
        self.assertEqual(merged, merged_by_program(paths))

    def test_every_number_of_partitions_gives_the_same_for_every_reader(self) -> None:
        paths = self.write_dumps(12)
        for partitions, target in ((1, None), (5, "llvm-14"), (30, "llvm-22")):
            options = [] if target is None else [f"--for={target}"]
            merged = self.merge(partitions=partitions, target=target)
            self.assertEqual(merged, merged_by_program(paths, *options), (partitions, target))
        out = self.folder / "out.profdata"
        self.assertIsNone(self.merge(out=out))
        self.assertEqual(out.read_bytes(), merged_by_program(paths))

    def test_one_bad_file_under_each_failure_mode(self) -> None:
        paths = self.write_dumps(9)
        paths[4].write_bytes(paths[4].read_bytes()[:300])
        with self.assertRaises(profbridge.Error) as caught:
            self.merge()
        self.assertIn(str(paths[4]), str(caught.exception))
        for mode in ("warn", "all"):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                merged = self.merge(failure_mode=mode)
            self.assertEqual(merged, merged_by_program(paths, f"--failure-mode={mode}"))
            skipped = [str(warning.message) for warning in told if "skipped" in str(warning.message)]
            self.assertEqual(len(skipped), 1, skipped)
            self.assertIn(str(paths[4]), skipped[0])
        for path in paths:
            path.write_bytes(b"\x81rforpl\xff")
        with self.assertRaises(profbridge.Error):
            self.merge(failure_mode="all")

    def test_sample_profiles_and_stacks(self) -> None:
        dumps = self.folder / "dumps"
        dumps.mkdir()
        for at in range(12):
            (dumps / f"{at:02}.prof").write_bytes(b"foo:1%d:1\n 1: 5\n" % at if at != 5 else b"")
            (dumps / f"{at:02}.collapsed").write_bytes(b"main;f%d %d\n" % (at % 3, at + 1))
        for pattern, name in (("*.prof", "out.prof"), ("*.collapsed", "out.collapsed")):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", profbridge.ProfileWarning)
                out = self.folder / name
                profbridge.spark.merge(self.spark, str(dumps / pattern), out, partitions=10, failure_mode="warn")
            paths = sorted(dumps.glob(pattern))
            self.assertEqual(out.read_bytes(), merged_by_program(paths, "--failure-mode=warn", name=name))

    def test_names_with_commas_and_stars_are_read_as_they_are(self) -> None:
        [dump] = raw_dumps("clang-22-ir.profraw")
        dumps = self.folder / "dumps"
        dumps.mkdir()
        paths = [dumps / name for name in ("a,b.profraw", "a*b.profraw", "a{b}[c].profraw", "a b.profraw")]
        for path in paths:
            path.write_bytes(dump.read_bytes())
        merger = profbridge.spark.collect(self.spark, str(dumps))
        self.assertEqual([each["path"] for each in merger.inputs], sorted(map(str, paths)))
        self.assertEqual(merger.finish().to_bytes(), merged_by_program(sorted(paths)))

    def test_hosts_with_equal_files_are_counted_for_every_number_of_partitions(self) -> None:
        [dump] = raw_dumps("clang-22-ir.profraw")
        paths = [self.folder / "dumps" / f"host{at}" / "default.profraw" for at in range(4)]
        for path in paths:
            path.parent.mkdir(parents=True)
            path.write_bytes(dump.read_bytes())
        for partitions in (1, 2, 4):
            merged = profbridge.spark.merge(self.spark, str(self.folder / "dumps" / "*"), partitions=partitions)
            self.assertEqual(merged, merged_by_program(paths), partitions)
        # A partial merge has the file, too.
        part = self.folder / "dumps" / "host0" / "x.part"
        part.write_bytes(profbridge.Merger().add(paths[0]).to_bytes())
        with self.assertRaisesRegex(profbridge.UsageError, "both contain default.profraw"):
            profbridge.spark.merge(self.spark, str(self.folder / "dumps" / "*"), partitions=5)

    def test_nothing_to_read_is_an_error(self) -> None:
        (self.folder / "dumps").mkdir()
        with self.assertRaises(profbridge.UsageError):
            profbridge.spark.merge(self.spark, str(self.folder / "dumps"))


if __name__ == "__main__":
    unittest.main()
