"""Reading: every family, every way in, and what errors say."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import pickle

import profbridge
from support import TESTDATA, TestCase, program, raw_dumps

DUMP = TESTDATA / "raw" / "clang-22-ir.profraw"


class Reading(TestCase):
    def test_every_family_gives_its_class(self) -> None:
        cases = [
            (DUMP, profbridge.Profile),
            (TESTDATA / "raw" / "clang-22-ir.profdata", profbridge.Profile),
            (TESTDATA / "raw" / "clang-22-ir.proftext", profbridge.Profile),
            (b"foo:10:1\n 1: 5\n", profbridge.SampleProfile),
            (TESTDATA / "iprof" / "fibonacci.iprof", profbridge.Iprof),
            (b"main;f 3\nmain;g 4\n", profbridge.Stacks),
            (b"---\nHeapProfileRecords:\n", profbridge.MemoryProfile),
        ]
        for source, expected in cases:
            with self.subTest(expected=expected.__name__):
                profile = profbridge.read(source)
                self.assertIsInstance(profile, expected)
                self.assertEqual(profbridge.family_of(source), expected.FAMILY)

    def test_paths_and_bytes_plain_and_compressed_give_the_same(self) -> None:
        plain = DUMP.read_bytes()
        expected = profbridge.read(DUMP).to_bytes()
        for source in (str(DUMP), plain, bytearray(plain), memoryview(plain), gzip.compress(plain), lzma.compress(plain)):
            self.assertEqual(profbridge.read(source).to_bytes(), expected)

    def test_an_open_pipe_is_written_to(self) -> None:
        profile = profbridge.read(DUMP)
        reader, writer = os.pipe()
        with open(reader, "rb") as pipe:
            os.write(writer, b"first")
            profile.write(f"/dev/fd/{writer}")
            os.write(writer, b"last")
            os.close(writer)
            self.assertEqual(pipe.read(), b"first" + profile.to_bytes() + b"last")

    def test_records_are_those_of_the_text(self) -> None:
        profile = profbridge.read(b":ir\n:entry_first\nmain\n7\n3\n5\n0\n9\n\nf\n8\n1\n18446744073709551615\n")
        self.assertEqual(profile.kind, ["ir", "entry-first"])
        self.assertEqual(len(profile), 2)
        self.assertIn("main", profile)
        self.assertNotIn(b"g", profile)
        [main] = profile.find("main")
        self.assertEqual((main.name, main.name_bytes, main.func_hash), ("main", b"main", 7))
        self.assertEqual((main.entry_count, main.counters.to_pylist()), (5, [5, 0, 9]))
        [hot] = profile.find(b"f")
        for name in (5, None, []):
            for look_up in (profile.find, profile.__getitem__, profile.__contains__):
                with self.assertRaisesRegex(TypeError, "a name is str or bytes, not "):
                    look_up(name)  # type: ignore[arg-type, operator]
        self.assertEqual((hot.entry_count, hot.pseudo_count), (None, "hot"))
        self.assertEqual([record.name for record in profile.records()], ["main", "f"])

    def test_records_and_the_table_of_functions_have_one_order(self) -> None:
        # An image of the dump has another record of an earlier function.
        profile = profbridge.read(TESTDATA / "raw" / "clang-22-shared-library.profraw")
        rows = [(row["name"], row["func_hash"]) for row in profile.functions()]
        self.assertEqual([(record.name, record.func_hash) for record in profile.records()], rows)

    def test_the_version_of_an_iprof_is_the_one_that_is_written(self) -> None:
        for name, version in [("layout-2022", "1.0.0"), ("newer", "1.1.0")]:
            profile = profbridge.read(TESTDATA / "iprof" / f"{name}.iprof")
            self.assertEqual((profile.version, profile.summary()["version"]), (version, version))
            self.assertEqual(json.loads(profile.to_bytes())["version"], version)

    def test_only_kinds_that_begin_with_the_entry_have_entry_counts(self) -> None:
        record = b"main\n7\n2\n25\n1\n"
        for header, kind, count in [
            (b":ir\n", ["ir"], None),
            (b":ir\n:entry_first\n", ["ir", "entry-first"], 25),
            (b"", ["front-end"], 25),
        ]:
            profile = profbridge.read(header + record)
            self.assertEqual(profile.kind, kind)
            self.assertEqual(profile.find("main")[0].entry_count, count)
            self.assertEqual(profile.functions()["entry_count"].to_pylist(), [count])

    def test_value_sites_are_pairs_of_value_and_count(self) -> None:
        text = b":ir\nmain\n7\n1\n5\n1\n0\n2\n2\nf:3\ng:4\n0\n\nf\n8\n1\n3\n"
        profile = profbridge.read(text)
        [main] = profile.find("main")
        sites = main.value_sites()
        self.assertEqual([[count for _, count in site] for site in sites], [[4, 3], []])
        rows = list(profile.value_sites())
        self.assertEqual({(row["target"], row["count"]) for row in rows}, {("f", 3), (None, 4)})
        with self.assertRaisesRegex(profbridge.UsageError, "there is no kind of value 'x'|\"x\""):
            main.value_sites("x")

    def test_names_that_are_no_text_are_escaped(self) -> None:
        lines = b"".join(b"f%d\n7\n1\n5\n\n" % number for number in range(100))
        profile = profbridge.read(b":ir\n" + lines + b"f\xff\n7\n1\n5\n")
        self.assertEqual(profile.functions()["name"][100], "f\\xff")
        self.assertEqual(profile.records()[100].name_bytes, b"f\xff")

    def test_a_summary_is_the_one_of_the_file(self) -> None:
        summary = profbridge.read(b":ir\nmain\n7\n2\n10\n90\n").summary()
        self.assertEqual((summary["total_count"], summary["max_count"], summary["num_counts"]), (100, 90, 2))
        self.assertEqual(summary["cutoffs"][-1][1:], (10, 2))
        half = b"%d\n" % (2**63 + 1)
        summary = profbridge.read(b":ir\nmain\n7\n2\n" + half + half).summary()
        self.assertEqual(summary["total_count"], 2**64 - 1)

    def test_context_sensitive_records_have_a_summary_of_their_own(self) -> None:
        sensitive = b"main\n%d\n2\n10\n5\n\n" % (2**60 + 5)
        profile = profbridge.read(b":csir\n" + sensitive + b"f\n5\n1\n3\n")
        for summary, expected in [(profile.summary(), (1, 3)), (profile.summary(context_sensitive=True), (1, 15))]:
            self.assertEqual((summary["num_functions"], summary["total_count"]), expected)
        # In a hash of the front end, the bit has no meaning.
        self.assertEqual(profbridge.read(sensitive).summary()["total_count"], 15)

    def test_statistics_of_an_iprof_have_the_sizes_of_its_file(self) -> None:
        profile = profbridge.read(TESTDATA / "iprof" / "fibonacci.iprof")
        profile.write(self.folder / "compact.iprof")
        shown = json.loads(program("show", self.folder / "compact.iprof", "--json").stdout)
        found = profile.summary()
        self.assertEqual((found["sections"], found["sizes"]), (shown["sections"], shown["sizes"]))
        self.assertGreater(found["sections"][0]["bytes"], 0)

    def test_every_dump_of_the_test_data_reads_as_its_text(self) -> None:
        compared = 0
        for path in raw_dumps():
            text = path.with_suffix(".proftext")
            if text.exists():
                rows = {(row["name"], row["func_hash"]): row["counters"] for row in profbridge.read(path).functions()}
                of_text = profbridge.read(text).functions()
                self.assertEqual(rows, {(row["name"], row["func_hash"]): row["counters"] for row in of_text}, path)
                compared += 1
        self.assertGreater(compared, 20)


class Errors(TestCase):
    def test_fields_say_what_and_where(self) -> None:
        path = self.folder / "cut.profdata"
        path.write_bytes((TESTDATA / "raw" / "clang-22-ir.profdata").read_bytes()[:20])
        with self.assertRaises(profbridge.FormatError) as caught:
            profbridge.read(path)
        error = caught.exception
        self.assertEqual((error.path, error.kind), (str(path), "truncated"))
        self.assertTrue(error.format and error.format.startswith("indexed v"), error.format)
        self.assertGreater(error.expected, error.found)
        self.assertEqual((error.section, error.offset), ("header", 16))
        self.assertIsInstance(error, ValueError)

    def test_a_missing_file_is_the_systems_error(self) -> None:
        with self.assertRaises(OSError) as caught:
            profbridge.read(self.folder / "none.profraw")
        self.assertIsInstance(caught.exception, profbridge.IoError)
        self.assertEqual((caught.exception.errno, caught.exception.filename), (2, str(self.folder / "none.profraw")))

    def test_errors_cross_processes(self) -> None:
        for source in (b"\xfflprofi\x81\x0c\0\0\0\0\0\0\0", "/no/such/file"):
            with self.assertRaises(profbridge.Error) as caught:
                profbridge.read(source)
            error = pickle.loads(pickle.dumps(caught.exception))
            self.assertIs(type(error), type(caught.exception))
            self.assertEqual(str(error), str(caught.exception))
            self.assertEqual(vars(error), vars(caught.exception))

    def test_errors_of_the_system_are_those_of_python(self) -> None:
        for path, expected in [(self.folder / "none", FileNotFoundError), (self.folder, IsADirectoryError)]:
            with self.assertRaises(expected) as caught:
                profbridge.read(path)
            self.assertIsInstance(caught.exception, profbridge.IoError)
            self.assertNotIn("os error", str(caught.exception.strerror))
            self.assertIs(type(pickle.loads(pickle.dumps(caught.exception))), type(caught.exception))

    def test_a_file_that_is_not_a_profile_is_an_error_with_a_hint(self) -> None:
        with self.assertRaises(profbridge.FormatError) as caught:
            profbridge.read(b"\x7fELF\x02\x01\x01\0\0")
        self.assertEqual(caught.exception.kind, "not-a-profile")
        self.assertIsNotNone(caught.exception.hint)
        self.assertIn(caught.exception.hint, str(caught.exception))
        with self.assertRaises(TypeError):
            profbridge.read(17)  # type: ignore[arg-type]

    def test_diff_follows_names_between_releases(self) -> None:
        old, new = b":ir\na.c:f\n1\n1\n5\n", b":ir\na.c;f\n1\n1\n5\n"
        found = profbridge.diff(old, new)
        self.assertEqual(found["total_overlap"], 1.0)
        self.assertEqual(found["followed"], [{"kind": "name", "functions": 1, "first_names": ["a.c;f"]}])
        self.assertEqual(profbridge.diff(old, new, exact_names=True)["total_overlap"], 0.0)

    def test_diff_has_the_warnings_of_the_program(self) -> None:
        sample = "spin 8540 3731.1:     250000 {}: \n\t    118e mix+0x10 (/usr/bin/spin)\n\n"
        one, other = (sample.format(event).encode() for event in ("cycles:u", "page-faults:u"))
        with self.assertWarnsRegex(profbridge.ProfileWarning, "samples of page-faults are compared with those of cycles"):
            profbridge.diff(one, other)

    def test_check_describe_and_diff_answer_for_any_file(self) -> None:
        self.assertEqual(profbridge.check(DUMP)["verdict"], "usable")
        with self.assertRaises(FileNotFoundError):
            profbridge.check(self.folder / "none")
        self.assertIn("raw profile", profbridge.describe(DUMP)["description"])
        self.assertEqual(profbridge.diff(DUMP, DUMP)["total_overlap"], 1.0)
        with self.assertRaises(profbridge.Error):
            profbridge.diff(DUMP, self.folder / "none")
