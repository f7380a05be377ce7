"""The package itself: its documentation, types, console script, metadata."""

from __future__ import annotations

import doctest
import importlib
import re
import shutil
import subprocess
import sys
import types
import warnings
from pathlib import Path

import profbridge
from support import PACKAGE, ROOT, TESTDATA, TestCase, needs, program, skip

MODULES = ["profbridge", "profbridge._errors", "profbridge._merger", "profbridge.spark"]


class Documentation(TestCase):
    def test_examples_in_docstrings_run(self) -> None:
        run = 0
        warnings.simplefilter("ignore", profbridge.ProfileWarning)
        for name in MODULES:
            found = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
            self.assertEqual(found.failed, 0, name)
            run += found.attempted
        self.assertGreater(run, 15)

    def test_examples_of_the_page_run(self) -> None:
        page = ROOT / "docs" / "guide" / "python.md"
        blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
        self.assertGreater(len(blocks), 2)
        needs("pyarrow")
        needs("pandas")
        for path in (TESTDATA / "raw").glob("clang-*-ir.profraw"):
            shutil.copy(path, self.folder)
        ran = subprocess.run(
            [sys.executable, "-c", "\n".join(blocks)], capture_output=True, text=True, cwd=self.folder, check=False
        )
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_everything_public_has_a_docstring(self) -> None:
        for name in profbridge.__all__:
            thing = getattr(profbridge, name)
            if not isinstance(thing, (type, types.FunctionType)):
                continue
            self.assertTrue(thing.__doc__, name)
            members = vars(thing).items() if isinstance(thing, type) else []
            for member, value in members:
                if not member.startswith("_") and not member.isupper():
                    self.assertTrue(getattr(value, "__doc__", None), f"{name}.{member}")


class Types(TestCase):
    def check(self, *command: str) -> None:
        ran = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_stubs_are_those_of_the_extension(self) -> None:
        needs("mypy")
        self.check("mypy.stubtest", "profbridge._profbridge", "--ignore-disjoint-bases")

    def test_the_package_and_its_examples_are_typed(self) -> None:
        needs("mypy")
        self.check("mypy", "--strict", "--python-version=3.10", "--ignore-missing-imports", "-p", "profbridge")
        (self.folder / "user.py").write_text(
            "import profbridge\n"
            "table: profbridge.Table = profbridge.Profile.functions(profbridge.read('a'))\n"
            "merger: profbridge.Merger = profbridge.Merger(target='llvm-16').add('a', weight=3)\n"
        )
        self.check("mypy", "--strict", "user.py")


class Program(TestCase):
    def test_the_console_script_is_the_program(self) -> None:
        built = ROOT / "target" / "debug" / "profbridge"
        ran = program("--version")
        self.assertEqual((ran.returncode, ran.stdout.decode()), (0, f"profbridge {profbridge.__version__}\n"))
        self.assertEqual(program("check", "/no/such/file").returncode, program("check", "/no/such/file").returncode)
        dump = TESTDATA / "raw" / "clang-22-ir.profraw"
        shown = program("show", dump)
        self.assertEqual(shown.returncode, 0)
        self.assertIn(b"unctions", shown.stdout)
        wrong = program("merge", "--no-such-option")
        self.assertNotEqual(wrong.returncode, 0)
        if not built.exists():
            skip("the program of the main package is not built: exit codes are not compared")
        for arguments in (["--version"], ["show", dump], ["merge"], ["check", dump], ["info", "/none"], ["--no-option"]):
            own = program(*arguments)
            other = subprocess.run([built, *map(str, arguments)], capture_output=True, check=False)
            self.assertEqual((own.returncode, own.stdout), (other.returncode, other.stdout), arguments)

    def test_it_runs_as_a_module_and_in_the_place_of_llvm_profdata(self) -> None:
        ran = subprocess.run([sys.executable, "-m", "profbridge", "llvm-profdata", "--version"], capture_output=True)
        self.assertEqual(ran.returncode, 0)
        self.assertIn(b"LLVM", ran.stdout)

    def test_a_closed_pipe_is_no_failure(self) -> None:
        script = Path(sys.executable).parent / "profbridge"
        ran = subprocess.run(
            ["bash", "-c", f'"{script}" completions bash | head -1; echo ${{PIPESTATUS[0]}}'], capture_output=True
        )
        self.assertEqual(ran.stdout.split()[-1], b"0", ran)


class Metadata(TestCase):
    def test_versions_agree(self) -> None:
        def version(manifest: Path) -> str:
            found = re.search(r'^version = "(.*)"', manifest.read_text(), re.MULTILINE)
            assert found, manifest
            return found[1]

        main = version(ROOT / "Cargo.toml")
        self.assertEqual({main}, {version(PACKAGE / "Cargo.toml"), version(PACKAGE / "program" / "Cargo.toml")})
        self.assertEqual(profbridge.__version__, main)

    def test_unsafe_code_stands_in_one_file(self) -> None:
        with_unsafe = [path.name for path in (PACKAGE / "src").rglob("*.rs") if "unsafe " in path.read_text()]
        self.assertEqual(with_unsafe, ["shared.rs"])
