"""The example scripts, run on profiles of the test data."""

from __future__ import annotations

import subprocess
import sys

import profbridge
from support import PACKAGE, TESTDATA, TestCase, needs

EXAMPLES = PACKAGE / "examples"
RAW = TESTDATA / "raw"


class Examples(TestCase):
    def run_example(self, name: str, *arguments: object) -> str:
        command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def test_hot_functions(self) -> None:
        needs("pandas")
        shown = self.run_example("hot_functions.py", RAW / "clang-22-ir.profraw")
        table = profbridge.read(RAW / "clang-22-ir.profraw").functions()
        hottest = max(table, key=lambda row: row["total_count"])
        header, first = shown.splitlines()[:2]
        self.assertEqual(header.split(), ["name", "max_count", "total_count", "share"])
        self.assertEqual(first.split()[0], hottest["name"])

    def test_coverage_drift(self) -> None:
        needs("polars")
        builds = []
        for number, text in enumerate([b"f\n1\n2\n1\n1\n\ng\n1\n1\n4\n", b"f\n1\n2\n1\n0\n\ng\n1\n1\n0\n\nh\n1\n1\n1\n"]):
            path = self.folder / f"build-{number}.profdata"
            profbridge.merge([text]).write(path)
            builds.append(path)
        shown = self.run_example("coverage_drift.py", *builds)
        numbers = [line for line in shown.splitlines() if "build-0" in line or "│ 1" in line]
        self.assertTrue(numbers, shown)
        sys.path.insert(0, str(EXAMPLES))
        import coverage_drift

        [row] = coverage_drift.drift([str(path) for path in builds]).to_dicts()
        self.assertEqual({key: row[key] for key in ("new", "gone", "lost", "better", "worse")},
                         {"new": 1, "gone": 0, "lost": 1, "better": 0, "worse": 2})

    def test_plot(self) -> None:
        needs("matplotlib")
        out = self.folder / "counts.png"
        self.run_example("plot_counts.py", RAW / "clang-22-ir.profraw", out)
        self.assertTrue(out.read_bytes().startswith(b"\x89PNG"))
