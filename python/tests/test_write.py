"""Writing: the extension of the output selects its format."""

from __future__ import annotations

import gzip
import pickle
import warnings

import profbridge
from support import TESTDATA, TestCase, program

RAW = TESTDATA / "raw"
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

    def test_one_memory_profile_stays_as_it_is(self) -> None:
        path = TESTDATA / "memprof" / "clang-22-two-dumps.v2.profdata"
        profile = profbridge.read(path)
        self.assertEqual(profile.to_bytes(), path.read_bytes())
        self.assertEqual(pickle.loads(pickle.dumps(profile)).to_bytes(), path.read_bytes())

    def test_fields_that_are_not_written_are_losses(self) -> None:
        profile = profbridge.merge([TESTDATA / "memprof" / "clang-19-plain.v1.profdata"], target="llvm-22")
        with self.assertWarnsRegex(profbridge.ProfileWarning, "dropped 23 fields of the memory profile"):
            profile.to_bytes()
        with self.assertRaisesRegex(profbridge.LossError, "23 fields of the memory profile"):
            profile.write(self.folder / "m.profdata", strict=True)

    def test_a_recording_with_other_events_only_has_a_warning(self) -> None:
        with self.assertWarnsRegex(profbridge.ProfileWarning, "other event types: .*allocation"):
            profbridge.read(TESTDATA / "java" / "waits-jdk17.jfr.gz")

    def test_event_types_of_recordings_do_not_add_up(self) -> None:
        stacks = profbridge.read(TESTDATA / "java" / "shapes-jdk25.jfr.gz")
        of_samples: dict[str, int] = {}
        for row in stacks.samples():
            of_samples[row["source"]] = of_samples.get(row["source"], 0) + row["hits"]
        self.assertEqual(of_samples, {"execution": 131, "cpu-time": 186, "native": 47})
        self.assertEqual(stacks.summary()["hits"], 131)
        self.assertEqual(sum(stacks.functions()["self_hits"].to_pylist()), 131)

    def test_stacks_keep_their_unit(self) -> None:
        path = self.folder / "heap.collapsed"
        with self.assertWarnsRegex(profbridge.ProfileWarning, r"dropped .*\d further values?,"):
            profbridge.read(TESTDATA / "pprof" / "heap.pprof").write(path)
        self.assertTrue(path.read_text().startswith("# unit: bytes\n"))
        self.assertEqual(profbridge.read(path).summary()["unit"], "bytes")

    def test_extensions_select_the_compression_of_stacks(self) -> None:
        stacks = profbridge.read(b"main;f 3\nmain;g 4\n")
        for name in ["a.collapsed", "a.pprof", "a.pb", "a.pb.gz", "a.collapsed.gz"]:
            stacks.write(self.folder / name)
        plain = (self.folder / "a.pb").read_bytes()
        for name in ["a.pprof", "a.pb.gz"]:
            self.assertEqual(gzip.decompress((self.folder / name).read_bytes()), plain)
        self.assertEqual(gzip.decompress(stacks.to_bytes(format="pprof")), plain)
        text = (self.folder / "a.collapsed").read_bytes()
        self.assertEqual(gzip.decompress((self.folder / "a.collapsed.gz").read_bytes()), text)


class Conversions(TestCase):
    def test_conversions_and_merges_are_those_of_the_program(self) -> None:
        warnings.simplefilter("ignore", profbridge.ProfileWarning)
        text, gcc, memory = self.folder / "f.prof", self.folder / "gcc.prof", TESTDATA / "memprof" / "clang-22-two-dumps"
        text.write_bytes(b"foo:10:1\n 1: 5\n")
        self.assertEqual(program("convert", text, "-o", gcc, "--to", "gcc").returncode, 0)
        binary = memory.with_suffix(".binary")
        for source, names, settings in [
            (RAW / "clang-22-vtables.profraw", ["proftext", "profdata", "profraw"], {}),
            (RAW / "clang-22-temporal.profraw", ["proftext", "profdata"], {}),
            (TESTDATA / "java" / "calls-jdk25.jfr.gz", ["iprof"], {}),
            (TESTDATA / "java" / "shapes-jdk21.jfr.gz", ["iprof", "collapsed", "pprof"], {}),
            (TESTDATA / "iprof" / "fibonacci.iprof", ["iprof", "profdata", "collapsed"], {}),
            (text, ["bin", "afdo"], {}),
            (gcc, ["bin", "afdo"], {}),
            (memory.with_suffix(".memprofraw"), ["profdata", "memprofyaml"], {"profiled_binaries": binary}),
        ]:
            options = [f"--profiled-binary={binary}"] if settings else []
            for name in names:
                ours, theirs = self.folder / f"ours.{name}", self.folder / f"theirs.{name}"
                with self.subTest(source=source.name, name=name):
                    self.assertEqual(program("convert", source, "-o", theirs, *options).returncode, 0)
                    profbridge.convert(source, ours, **settings)  # type: ignore[arg-type]
                    self.assertEqual(ours.read_bytes(), theirs.read_bytes())
                    # A merge of another family becomes the output's in the program, but not in Python.
                    if source.suffix != ".iprof" and name not in ("iprof", "collapsed"):
                        self.assertEqual(program("merge", source, "-o", theirs, "--force", *options).returncode, 0)
                        profbridge.merge([source], **settings).write(ours, force=True)  # type: ignore[arg-type]
                        self.assertEqual(ours.read_bytes(), theirs.read_bytes(), "merge")

    def test_counters_that_the_target_does_not_know_are_an_error(self) -> None:
        profile = profbridge.read(b":ir\n:instrument_loop_entries\nmain\n1\n1\n5\n")
        for text in (False, True):
            with self.assertRaisesRegex(profbridge.MergeError, "LLVM 16 does not know loop entries"):
                profile.to_bytes(target="llvm-16", text=text)
        profile.to_bytes(target="llvm-20")

    def test_names_of_vtables_are_read_and_stay(self) -> None:
        profile = profbridge.read(RAW / "clang-22-vtables.profraw")
        assert isinstance(profile, profbridge.Profile)
        targets = [row["target"] for row in profile.value_sites() if row["kind"] == "vtable-target"]
        self.assertTrue(targets and all(targets), targets)
        for again in (profbridge.read(profile.to_bytes()), pickle.loads(pickle.dumps(profile))):
            self.assertEqual(again.to_bytes(), profile.to_bytes())

    def test_event_types_are_read_if_they_are_asked_for(self) -> None:
        warnings.simplefilter("ignore", profbridge.ProfileWarning)
        path = TESTDATA / "java" / "calls-jdk25.jfr.gz"
        allocated = profbridge.read(TESTDATA / "java" / "waits-jdk21.jfr.gz", events="tlab")
        self.assertEqual(set(allocated.samples()["source"].to_pylist()), {"tlab"})  # type: ignore[union-attr]
        timed = profbridge.merge([path], events=["execution", "method-timing"])
        assert isinstance(timed, profbridge.Stacks)
        self.assertGreater(sum(timed.to_iprof().functions()["calls"].to_pylist()), 0)
        plain = profbridge.read(path)
        assert isinstance(plain, profbridge.Stacks)
        warnings.simplefilter("always", profbridge.ProfileWarning)
        with self.assertWarnsRegex(profbridge.ProfileWarning, "exact call counts of .*method-timing were not read"):
            plain.to_iprof()
        with self.assertRaisesRegex(profbridge.UsageError, 'unknown event type "x"; known types are .*allocation'):
            profbridge.read(path, events="x")
        with self.assertRaisesRegex(profbridge.UsageError, "events cannot be used"):
            profbridge.merge([text_profile()], events="lock")
        with self.assertRaisesRegex(profbridge.UsageError, "events cannot be used for a merger"):
            profbridge.Merger(events="lock").add(path)


def text_profile() -> bytes:
    return b":ir\nmain\n1\n1\n5\n"
