"""The console script, which runs the program ``profbridge``."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from . import _profbridge


def main() -> NoReturn:
    """Run the program with the arguments of the process and exit with its exit code."""
    # A wheel with an extension module cannot contain a program as well, so the program is
    # a function of the module. Ctrl-C must end it immediately, like the program.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_profbridge.run_program(sys.argv))
