"""What the tests have in common."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path
from types import ModuleType
from typing import Optional, Sequence

#: The package's folder, and the main package's.
PACKAGE = Path(__file__).resolve().parent.parent
ROOT = PACKAGE.parent
TESTDATA = ROOT / "testdata"


def skip(reason: str) -> None:
    """Leave a test out, loudly."""
    print(f"SKIPPED: {reason}", flush=True)
    raise unittest.SkipTest(reason)


def needs(module: str) -> ModuleType:
    """A library that the package can do without."""
    try:
        return importlib.import_module(module)
    except ImportError:
        skip(f"the Python library {module} is not installed")
        raise AssertionError from None


def program(*arguments: object, environment: Optional[dict[str, str]] = None) -> subprocess.CompletedProcess[bytes]:
    """Run the program of the package."""
    script = Path(sys.executable).parent / "profbridge"
    command = [str(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, env={**os.environ, **(environment or {})})


def merged_by_program(inputs: Sequence[object], *options: str, name: str = "out.profdata") -> bytes:
    """The bytes that ``profbridge merge`` writes."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / name
        ran = program("merge", "-o", out, *options, *inputs)
        if ran.returncode != 0:
            raise AssertionError(ran.stderr.decode())
        return out.read_bytes()


class TestCase(unittest.TestCase):
    """A test with a folder of its own, in which warnings are errors unless it asks for them."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        catch = warnings.catch_warnings()
        catch.__enter__()
        self.addCleanup(catch.__exit__, None, None, None)
        warnings.simplefilter("error")
        # Other libraries may warn as they like.
        warnings.filterwarnings("default", category=DeprecationWarning)
        warnings.filterwarnings("default", category=ResourceWarning)


def raw_dumps(pattern: str = "*.profraw") -> list[Path]:
    """Raw profiles of the test data that name their records themselves."""
    paths = sorted((TESTDATA / "raw").glob(pattern))
    assert paths, pattern
    return paths
