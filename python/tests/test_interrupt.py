"""Ctrl-C and progress for every family: no thread works on after the exception."""

from __future__ import annotations

import os
import signal
import threading
import time
import unittest
import warnings
from pathlib import Path
from typing import Callable

import profbridge
from support import TestCase

#: A format of each family, and the number of functions of a file that takes a while.
LARGE = {
    "indexed": 3000,
    "raw": 3000,
    "text": 3000,
    "sample-text": 2000,
    "memory-yaml": 300,
    "iprof": 1500,
    "collapsed": 1500,
    "pprof": 1500,
}
FILES = 40
#: The directory with an entry for each thread of the process.
TASKS = Path("/proc/self/task")


@unittest.skipUnless(TASKS.is_dir(), "threads are counted on Linux")
class Interrupts(TestCase):
    def setUp(self) -> None:
        super().setUp()
        warnings.simplefilter("ignore", profbridge.ProfileWarning)
        # What runs in the background is started with the signal ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

    def inputs(self, format: str) -> list[bytes]:
        files = [profbridge.generate(format, functions=LARGE[format], number=number).content for number in (1, 2)]
        return files * (FILES // 2)

    def test_progress_is_told_for_every_family(self) -> None:
        for format in LARGE:
            with self.subTest(format=format):
                told: list[tuple[int, int]] = []
                inputs = [profbridge.generate(format, functions=20, number=number).content for number in (1, 2, 3)]
                profbridge.merge(inputs, progress=lambda done, total: told.append((done, total)))
                self.assertEqual(told[-1], (3, 3))
                self.assertEqual(told, sorted(told))

    def test_what_a_callback_raises_ends_every_family(self) -> None:
        def stop(done: int, total: int) -> None:
            raise LookupError("enough")

        for format in LARGE:
            inputs = [profbridge.generate(format, functions=20, number=number).content for number in (1, 2, 3)]
            with self.subTest(format=format), self.assertRaisesRegex(LookupError, "enough"):
                profbridge.merge(inputs, progress=stop)

    def test_no_thread_works_on_after_ctrl_c(self) -> None:
        for format in LARGE:
            with self.subTest(format=format):
                inputs = self.inputs(format)
                start = time.process_time()
                profbridge.merge(inputs)
                whole = time.process_time() - start
                threads = len(list(TASKS.iterdir()))
                start = time.process_time()
                with self.assertRaises(KeyboardInterrupt):
                    profbridge.merge(inputs, progress=_press)
                ended = self.wait_for(threads)
                used = time.process_time() - start
                self.assertTrue(ended, "threads are still there")
                self.assertLess(used, max(0.7 * whole, 0.5), f"the whole merge takes {whole} s of processor time")

    def test_reading_one_file_ends_as_well(self) -> None:
        threads = len(list(TASKS.iterdir()))
        for format, functions in (("text", 60_000), ("iprof", 20_000)):
            content = profbridge.generate(format, functions=functions).content
            timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            try:
                profbridge.read(content)
            except KeyboardInterrupt:
                pass
            timer.join()
            self.assertTrue(self.wait_for(threads), format)

    def test_no_thread_works_on_after_ctrl_c_in_other_commands(self) -> None:
        files = [self.folder / name for name in ("a.profdata", "b.profdata", "t.profdata")]
        for number, path in enumerate(files):
            kinds = ["temporal"] if path.name == "t.profdata" else None
            path.write_bytes(profbridge.generate("indexed", functions=60_000, number=number + 1, kinds=kinds).content)
        one, other, traces = files
        threads = len(list(TASKS.iterdir()))
        commands: dict[str, Callable[[], object]] = {
            "diff": lambda: profbridge.diff(one, other),
            "overlap": lambda: profbridge.overlap(one, other),
            "order": lambda: profbridge.order(traces),
            "report": lambda: profbridge.report([one, other]),
        }
        for name, command in commands.items():
            with self.subTest(command=name):
                timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
                timer.start()
                with self.assertRaises(KeyboardInterrupt):
                    command()
                    time.sleep(1)
                timer.join()
                self.assertTrue(self.wait_for(threads), "threads are still there")

    def wait_for(self, threads: int) -> bool:
        """Return true if no more than the given number of threads are left within some seconds."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if len(list(TASKS.iterdir())) <= threads:
                return True
            time.sleep(0.02)
        return False


def _press(done: int, total: int) -> None:
    os.kill(os.getpid(), signal.SIGINT)
