"""The wheel: what is in it, for which machines, and that tools of the trade take it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from support import TestCase, needs, skip


class Wheel(TestCase):
    def setUp(self) -> None:
        super().setUp()
        wheel = os.environ.get("PROFBRIDGE_WHEEL")
        if not wheel:
            skip("no wheel was built: run python/test.sh")
        self.wheel = Path(str(wheel))

    def run_tool(self, *command: str) -> None:
        ran = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_it_is_for_every_python_from_3_9_on_many_systems(self) -> None:
        name, version, python, abi, platform = self.wheel.stem.split("-")
        self.assertEqual((name, python, abi), ("profbridge", "cp39", "abi3"))
        self.assertRegex(platform, "manylinux|macosx|win")

    def test_it_holds_types_licences_and_the_script(self) -> None:
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            for name in ("py.typed", "_profbridge.pyi", "spark.py"):
                self.assertIn(f"profbridge/{name}", names)
            self.assertTrue(any(name.endswith("LICENSE-MIT") for name in names), names)
            self.assertFalse([name for name in names if "test" in name], names)
            [scripts] = [name for name in names if name.endswith("entry_points.txt")]
            self.assertIn("profbridge=profbridge._program:main", wheel.read(scripts).decode().replace(" ", ""))
            [metadata] = [name for name in names if name.endswith("METADATA")]
            self.assertIn("Requires-Python: >=3.9", wheel.read(metadata).decode())

    def test_twine_takes_it(self) -> None:
        needs("twine")
        self.run_tool("twine", "check", "--strict", str(self.wheel))

    def test_only_the_stable_interface_of_3_9_is_used(self) -> None:
        needs("abi3audit")
        self.run_tool("abi3audit", "--strict", str(self.wheel))

    def test_installed_from_a_folder_it_is_the_whole_program(self) -> None:
        clean = Path(sys.prefix).parent / "clean" / "bin" / "profbridge"
        if not clean.exists():
            skip("there is no environment with the wheel alone")
        text = self.folder / "a.proftext"
        text.write_bytes(b":ir\nmain\n1\n1\n5\n")
        out = self.folder / "out.profdata"
        environment = {"PATH": os.defpath}
        subprocess.run([str(clean), "merge", "-q", "-o", str(out), str(text)], check=True, env=environment)
        self.assertTrue(out.read_bytes().startswith(b"\xfflprofi\x81"))
        self.assertIsNotNone(shutil.which(str(clean)))
