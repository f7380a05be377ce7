"""The package itself: its documentation, types, console script, metadata."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
import types
import warnings
from pathlib import Path

import profbridge
from stubs import with_docstrings
from support import PACKAGE, ROOT, TESTDATA, TestCase, needs, program, skip
from test_objects import one_of_each

MODULES = ["profbridge", "profbridge._errors", "profbridge._merger", "profbridge._tools", "profbridge.spark"]


class Documentation(TestCase):
    def test_examples_in_docstrings_run(self) -> None:
        run = 0
        warnings.simplefilter("ignore", profbridge.ProfileWarning)
        for name in MODULES:
            found = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
            self.assertEqual(found.failed, 0, name)
            run += found.attempted
        self.assertGreater(run, 15)

    def test_examples_of_the_pages_run(self) -> None:
        needs("pyarrow")
        needs("pandas")
        needs("numpy")
        for path in (TESTDATA / "raw").glob("clang-*-ir.profraw"):
            shutil.copy(path, self.folder)
        pages = sorted((ROOT / "docs" / "guide").glob("python*.md"))
        self.assertEqual(len(pages), 4)
        for page in pages:
            blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
            self.assertGreater(len(blocks), 0, page)
            with self.subTest(page=page.name):
                ran = subprocess.run(
                    [sys.executable, "-c", "\n".join(blocks)], capture_output=True, text=True, cwd=self.folder, check=False
                )
                self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_every_column_is_in_the_help_and_on_the_page(self) -> None:
        page = (ROOT / "docs" / "guide" / "python-tables.md").read_text()
        warnings.simplefilter("ignore", profbridge.ProfileWarning)
        seen = 0
        for profile in one_of_each().values():
            for name in ("functions", "value_sites", "lines", "allocations", "entries", "samples"):
                method = getattr(profile, name, None)
                if method is None:
                    continue
                for column in method().column_names:
                    self.assertIn(f"``{column}``", method.__doc__, f"{type(profile).__name__}.{name}")
                    self.assertIn(f"`{column}`", page, f"{type(profile).__name__}.{name}")
                    seen += 1
        self.assertGreater(seen, 40)

    def test_help_describes_every_parameter(self) -> None:
        described = 0
        for name in profbridge.__all__:
            thing = getattr(profbridge, name)
            members = [thing] if isinstance(thing, types.FunctionType) else []
            if isinstance(thing, type):
                members += [each for name, each in vars(thing).items() if callable(each) and not name.startswith("_")]
            for member in members:
                try:
                    parameters = [each for each in inspect.signature(member).parameters if each not in ("self", "cls")]
                except (ValueError, AttributeError):
                    continue
                text = member.__doc__ or ""
                for parameter in parameters:
                    self.assertRegex(text, rf"\b{parameter}\b", f"{name}.{member.__name__}")
                    described += 1
        self.assertGreater(described, 100)

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
    def check(self, *command: object) -> None:
        ran = subprocess.run(
            [sys.executable, "-m", *map(str, command)], capture_output=True, text=True, cwd=self.folder, check=False
        )
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_stubs_are_those_of_the_extension(self) -> None:
        needs("mypy")
        self.check("mypy.stubtest", "profbridge", "--ignore-disjoint-bases")

    def test_the_stub_has_the_docstrings_of_the_extension(self) -> None:
        path = PACKAGE / "profbridge" / "_profbridge.pyi"
        expected = with_docstrings(path.read_text())
        if os.environ.get("PROFBRIDGE_RENEW") == "1":
            path.write_text(expected)
        self.assertEqual(path.read_text(), expected, "renew the stub: PROFBRIDGE_RENEW=1 python/test.sh")

    def test_the_package_and_its_examples_are_typed(self) -> None:
        needs("mypy")
        strict = ["--strict", "--python-version=3.10", "--ignore-missing-imports"]
        self.check("mypy", *strict, "-p", "profbridge")
        (self.folder / "user.py").write_text(USER)
        self.check("mypy", *strict, "user.py")
        for example in sorted((PACKAGE / "examples").glob("*.py")):
            self.check("mypy", *strict, example)

    def test_mistakes_are_found(self) -> None:
        needs("mypy")
        for mistake in (
            "profbridge.read('a').no_such_method()",
            "profbridge.merge(['a'], targt='llvm-16')",
            "profbridge.Merger().finish().functions()[0]['nme']",
            "profbridge.read('a').find('main')",
            "profbridge.check('a')['verdct']",
        ):
            (self.folder / "wrong.py").write_text(f"import profbridge\n{mistake}\n")
            ran = subprocess.run(
                [sys.executable, "-m", "mypy", "--strict", "wrong.py"], capture_output=True, text=True, cwd=self.folder
            )
            self.assertEqual(ran.returncode, 1, (mistake, ran.stdout))


#: What a user writes.
USER = """
import profbridge

profile = profbridge.read("a")
if isinstance(profile, profbridge.Profile):
    table: profbridge.Table[profbridge.FunctionRow] = profile.functions()
    total: int = profile.summary()["total_count"] + sum(row["num_counters"] for row in table)
    release: str = profile.report["target"]["release"]
    names: list[str] = [record.name for name in profile for record in profile[name]]
merged = profbridge.merge(["a", b"b", profile], weights=[1, 2, 3], limits={"inflated_bytes": 1 << 30}, threads=2)
merged.write("a.profdata")
for row in merged.functions():
    print(row["name"])
merger: profbridge.Merger = profbridge.Merger(target="llvm-16", binary_files="a.out").add("a", weight=3)
outcomes = [each["outcome"] for each in merger.inputs]
with open("a", "rb") as file:
    found: profbridge.Check = profbridge.check(file)
print(found["findings"][0]["code"], profbridge.diff(profile, merged)["total_overlap"])
svg: str = profbridge.flamegraph(["a", "b"], baseline="c", format="svg")
"""


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
