"""Writing: the extension of the output selects its format."""

from __future__ import annotations

import gzip

import profbridge
from support import TESTDATA, TestCase

MEMORY = TESTDATA / "memprof" / "clang-22-plain.yaml"


class Writing(TestCase):
    def format_of(self, name: str) -> str:
        return str(profbridge.describe(self.folder / name)["description"])

    def test_the_extension_selects_the_format(self) -> None:
        profile = profbridge.read(b":ir\nmain\n1\n1\n5\n")
        for name, expected in [
            ("a.profdata", "LLVM indexed profile"),
            ("a.proftext", "LLVM text profile"),
            ("a.profraw", "LLVM raw profile"),
            ("a", "LLVM indexed profile"),
        ]:
            profile.write(self.folder / name)
            self.assertIn(expected, self.format_of(name), name)
        profbridge.read(b"foo:10:1\n 1: 5\n").write(self.folder / "s.proftext")
        self.assertEqual((self.folder / "s.proftext").read_bytes(), b"foo:10:1\n 1: 5\n")
        profile.write(self.folder / "b.proftext.gz")
        self.assertTrue(gzip.decompress((self.folder / "b.proftext.gz").read_bytes()).startswith(b"#"))

    def test_a_family_refuses_what_it_cannot_write(self) -> None:
        cases = [
            (b":ir\nmain\n1\n1\n5\n", "x.iprof"),
            (b"foo:10:1\n 1: 5\n", "x.iprof"),
            ((TESTDATA / "iprof" / "fibonacci.iprof").read_bytes(), "x.profdata"),
            (b"main;f 3\nmain;g 4\n", "x.profdata"),
            (MEMORY.read_bytes(), "x.proftext"),
        ]
        for content, name in cases:
            with self.subTest(content=content[:20]):
                with self.assertRaisesRegex(profbridge.UsageError, "cannot be written as"):
                    profbridge.read(content).write(self.folder / name)
                self.assertFalse((self.folder / name).exists())
        with self.assertRaisesRegex(profbridge.UsageError, "was requested"):
            profbridge.read(b":ir\nmain\n1\n1\n5\n").write(self.folder / "x.profdata", text=True)

    def test_memory_profiles_stay_memory_profiles(self) -> None:
        merged = profbridge.merge([MEMORY, MEMORY], allow_duplicates=True)
        self.assertIsInstance(merged, profbridge.MemoryProfile)
        self.assertGreater(len(merged.allocations()), 0)
        merged.write(self.folder / "m.profdata", target="llvm-19")
        self.assertIn("LLVM indexed profile", self.format_of("m.profdata"))
        again = profbridge.read(self.folder / "m.profdata")
        self.assertIsInstance(again, profbridge.MemoryProfile)
        self.assertEqual(again.allocations()["bytes"].to_pylist(), merged.allocations()["bytes"].to_pylist())
        merged.write(self.folder / "m.memprofyaml")
        self.assertTrue((self.folder / "m.memprofyaml").read_bytes().startswith(b"---"))
        with self.assertRaises(profbridge.UsageError):
            merged.to_bytes(target="llvm-14")
        with self.assertRaises(profbridge.UsageError):
            profbridge.merge([MEMORY], function="main")
