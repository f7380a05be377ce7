"""Merging: the bytes of the program, failure modes, progress, Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from pathlib import Path

import profbridge
from support import TESTDATA, TestCase, merged_by_program, raw_dumps

RAW = TESTDATA / "raw"


def dump(name: str, counts: list[int]) -> bytes:
    lines = [":ir", name, "1", str(len(counts)), *map(str, counts), ""]
    return "\n".join(lines).encode()


class ExistingFiles(TestCase):
    def test_write_replaces_an_earlier_output_and_nothing_else(self) -> None:
        profile = profbridge.merge([dump("main", [1])])
        path = self.folder / "x.profdata"
        profile.write(path)
        with self.assertRaises(profbridge.UsageError):
            profile.write(path, text=True)
        path.write_bytes(b"int main(void) { return 0; }\n")
        with self.assertRaises(profbridge.UsageError):
            profile.write(path)
        self.assertTrue(path.read_bytes().startswith(b"int"))
        profile.write(path, force=True)
        self.assertEqual(path.read_bytes(), profile.to_bytes())


class SameAsTheProgram(TestCase):
    def compare(self, inputs: list[Path], *options: str, name: str = "out.profdata", **settings: object) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", profbridge.ProfileWarning)
            merged = profbridge.merge(inputs, **settings)
            out = self.folder / name
            merged.write(out)
        self.assertEqual(out.read_bytes(), merged_by_program(inputs, *options, name=name), (options, settings))

    def test_for_every_release(self) -> None:
        inputs = raw_dumps("clang-*-ir.profraw")
        self.compare(inputs)
        for target in ("llvm-13", "llvm-14", "llvm-16", "llvm-19", "llvm-22", "llvm-23", "rustc-1.75", "swift-5.9"):
            with self.subTest(target=target):
                self.compare(inputs, f"--for={target}", target=target)

    def test_a_setting_that_cannot_be_used_names_the_input(self) -> None:
        stacks = self.folder / "stacks.collapsed"
        stacks.write_bytes(b"main;f 3\n")
        inputs = [self.folder / "a.proftext", stacks]
        inputs[0].write_bytes(b":ir\nmain\n1\n1\n5\n")
        with self.assertRaisesRegex(profbridge.UsageError, "stacks.collapsed: target cannot be used"):
            profbridge.merge(inputs, failure_mode="warn", target="llvm-19")

    def test_an_input_that_fails_does_not_choose_the_target(self) -> None:
        text = b":ir\nmain\n1\n1\n5\n"
        old, bad = self.folder / "old.profdata", self.folder / "bad.profdata"
        old.write_bytes(profbridge.merge([text], target="llvm-13").to_bytes())
        bad.write_bytes(profbridge.merge([text], target="llvm-19").to_bytes()[:-40])
        self.compare([bad, old], "--failure-mode=warn", failure_mode="warn")
        self.assertEqual((self.folder / "out.profdata").read_bytes(), merged_by_program([old]))
        iprof = self.folder / "old.iprof"
        iprof.write_bytes(profbridge.merge([old]).to_iprof().to_bytes())
        self.compare([iprof, bad, old], "--failure-mode=warn", failure_mode="warn", family="instr")
        self.assertEqual((self.folder / "out.profdata").read_bytes(), merged_by_program([iprof, old]))

    def test_each_dump_by_itself(self) -> None:
        for path in raw_dumps("clang-1[49]-*.profraw") + raw_dumps("clang-22-*.profraw"):
            with self.subTest(path=path.name):
                self.compare([path])

    def test_text_values_filters_and_front_end(self) -> None:
        inputs = raw_dumps("clang-*-fe-values.profraw")
        self.compare(inputs, "--text", name="out.proftext", keep_vtable_symbols=True)
        self.compare(inputs, "--function=main", function="main")
        self.compare(inputs, "--no-function=^m", no_function="^m")
        self.compare(raw_dumps("clang-*-fe.profraw"), "--for=llvm-22", target="llvm-22")
        self.compare(raw_dumps("clang-*-cs.profraw"))

    def test_weights(self) -> None:
        one, other = raw_dumps("clang-1[46]-ir.profraw")
        expected = merged_by_program([], f"--weighted-input=3,{one}", f"--weighted-input=1000,{other}")
        self.assertEqual(profbridge.merge([one, other], weights=[3, 1000]).to_bytes(), expected)
        for weights in ([1], [1, 0], [1, -1], [1, "x"]):
            with self.assertRaises(profbridge.UsageError):
                profbridge.merge([one, other], weights=weights)  # type: ignore[arg-type]
        with self.assertRaisesRegex(profbridge.UsageError, r"from 1 to 2\*\*64 - 1, not 18446744073709551616"):
            profbridge.merge([one], weights=[2**64])

    def test_a_result_is_written_for_another_reader(self) -> None:
        warnings.simplefilter("ignore", profbridge.ProfileWarning)
        merged = profbridge.merge(raw_dumps("clang-22-ir.profraw"))
        self.assertEqual(merged.to_bytes(target="llvm-14")[8], 7)
        self.assertEqual(merged.to_bytes(target="llvm-16")[8], 9)
        self.assertEqual(sorted(profbridge.read(merged.to_bytes(text=True)).functions()["name"].to_pylist()),
                         sorted(merged.functions()["name"].to_pylist()))
        with self.assertRaises(profbridge.UsageError):
            merged.to_bytes(target="llvm-99")

    def test_the_environment_chooses_as_for_the_program(self) -> None:
        paths = raw_dumps("clang-22-ir.profraw")
        warnings.simplefilter("ignore", profbridge.ProfileWarning)
        os.environ["PROFBRIDGE_FOR"] = "llvm-14"
        try:
            self.assertEqual(profbridge.merge(paths).to_bytes(), merged_by_program(paths))
            self.assertEqual(profbridge.merge(paths).target, "llvm-14")
        finally:
            del os.environ["PROFBRIDGE_FOR"]

    def test_other_families(self) -> None:
        (self.folder / "a.prof").write_bytes(b"foo:10:1\n 1: 5\n")
        (self.folder / "b.prof").write_bytes(b"foo:20:2\n 1: 7\n 3: 1\n\nbar:4:1\n 1: 4\n")
        self.compare([self.folder / "a.prof", self.folder / "b.prof"], name="out.prof")
        iprofs = [TESTDATA / "iprof" / "fibonacci.iprof", TESTDATA / "iprof" / "even-or-odd.iprof"]
        self.compare(iprofs, name="out.iprof")
        self.compare(iprofs, name="out.iprof.gz")
        (self.folder / "a.collapsed").write_bytes(b"main;f 3\nmain;g 4\n")
        (self.folder / "b.collapsed").write_bytes(b"main;f 2\nmain;h 1\n")
        stacks = [self.folder / "a.collapsed", self.folder / "b.collapsed"]
        for name in ("out.collapsed", "out.pprof"):
            self.compare(stacks, name=name)
        self.compare([TESTDATA / "pprof" / f"{name}.pprof" for name in ("circles", "squares")], name="out.pprof")
        yaml = sorted((TESTDATA / "memprof").glob("*.yaml"))[:1]
        self.compare(yaml, name="out.profdata")


class FailureModes(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.good = self.folder / "good.proftext"
        self.good.write_bytes(b":ir\nmain\n1\n1\n5\n")
        self.bad = self.folder / "bad.profraw"
        self.bad.write_bytes((RAW / "clang-22-ir.profraw").read_bytes()[:300])
        self.empty = self.folder / "empty.profraw"
        self.empty.write_bytes(b"")

    def test_any_raises_what_is_wrong_with_the_first(self) -> None:
        with self.assertRaises(profbridge.FormatError) as caught:
            profbridge.merge([self.good, self.bad])
        self.assertEqual(caught.exception.path, str(self.bad))
        self.assertEqual(caught.exception.kind, "bad-header")

    def test_warn_and_all_go_on(self) -> None:
        for mode in ("warn", "all"):
            with self.assertWarnsRegex(profbridge.ProfileWarning, "skipped: .*bad.profraw"):
                merged = profbridge.merge([self.good, self.bad], failure_mode=mode)  # type: ignore[arg-type]
            self.assertEqual(len(merged), 1)
            self.assertEqual([one["outcome"] for one in merged.report["inputs"]], ["used", "failed"])
        with self.assertRaises(profbridge.FormatError):
            profbridge.merge([self.bad], failure_mode="all")
        with self.assertRaisesRegex(profbridge.UsageError, "failure_mode must be"):
            profbridge.merge([self.good], failure_mode="never")  # type: ignore[arg-type]

    def test_an_empty_file_is_skipped_with_a_warning_that_names_the_caller(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            profbridge.merge([self.good, self.empty])
        self.assertEqual([(w.category, w.filename) for w in caught], [(profbridge.ProfileWarning, __file__)])
        self.assertIn("empty", str(caught[0].message))

    def test_minimums(self) -> None:
        families = {
            "instrumentation": [self.good],
            "samples": [b"foo:10:1\n 1: 5\n"],
            "stacks": [b"main;f 3\nmain;g 4\n"],
            "pprof": [TESTDATA / "pprof" / "circles.pprof"],
            "GraalVM": [TESTDATA / "iprof" / "fibonacci.iprof"],
            "memory": [TESTDATA / "memprof" / "clang-22-plain.yaml"],
        }
        for family, inputs in families.items():
            for least in ("min_inputs", "min_functions", "min_total_count"):
                with self.subTest(family=family, least=least):
                    profbridge.merge(inputs, **{least: 1})
                    with self.assertRaises(profbridge.GateError):
                        profbridge.merge(inputs, **{least: 10**15})
        with self.assertRaises(profbridge.UsageError):
            profbridge.merge([])

    def test_losses_are_warnings_or_errors(self) -> None:
        bitmap = b":ir\nmain\n1\n1\n5\n$1\n0xff\n"
        merged = profbridge.merge([bitmap])
        with self.assertWarnsRegex(profbridge.ProfileWarning, "bitmap"):
            merged.to_bytes(target="llvm-14")
        with self.assertRaises(profbridge.LossError):
            merged.to_bytes(target="llvm-14", strict=True)

    def test_soft_errors_are_counted(self) -> None:
        with self.assertWarnsRegex(profbridge.ProfileWarning, "number of counters differs"):
            merged = profbridge.merge([dump("main", [1]), dump("main", [1, 2])])
        [soft] = merged.report["soft_errors"]
        self.assertEqual(soft["records"], 1)


class WhileItRuns(TestCase):
    def dumps(self, number: int) -> list[bytes]:
        functions = b"".join(b"f%d\n1\n2\n5\n6\n\n" % function for function in range(2000))
        return [b":ir\n" + functions] * number

    def test_progress_is_told_in_the_callers_thread(self) -> None:
        told: list[tuple[int, int, bool]] = []
        here = threading.get_ident()
        profbridge.merge(
            self.dumps(20), progress=lambda done, total: told.append((done, total, threading.get_ident() == here))
        )
        self.assertEqual(told[-1], (20, 20, True))
        self.assertEqual(told, sorted(told))

    def test_what_a_callback_raises_ends_the_merge(self) -> None:
        def stop(done: int, total: int) -> None:
            raise LookupError("enough")

        with self.assertRaisesRegex(LookupError, "enough"):
            profbridge.merge(self.dumps(50), progress=stop)

    def test_other_threads_go_on_meanwhile(self) -> None:
        counted = 0
        stop = threading.Event()

        def count() -> None:
            nonlocal counted
            while not stop.is_set():
                counted += 1
                time.sleep(0)

        other = threading.Thread(target=count)
        other.start()
        before = counted
        profbridge.merge(self.dumps(40))
        after = counted
        stop.set()
        other.join()
        # With the interpreter's lock held the other thread would not have come to its turn.
        self.assertGreater(after - before, 10)

    def test_ctrl_c_ends_a_merge_at_once(self) -> None:
        dumps = self.dumps(2000)
        pressed = False

        # Once the merge has begun, however fast the machine is.
        def press(done: int, total: int) -> None:
            nonlocal pressed
            if not pressed:
                pressed = True
                os.kill(os.getpid(), signal.SIGINT)

        # What runs in the background is started with the signal ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            profbridge.merge(dumps, progress=press)
        took = time.monotonic() - start
        self.assertLess(took, 20)
