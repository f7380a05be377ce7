"""The console script: the program ``profbridge`` as it is."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from . import _profbridge


def main() -> NoReturn:
    """Run the program on the arguments of the process and end with its exit code."""
    # A wheel that holds an extension module cannot hold a program as well; so the
    # program is a function of the module. Ctrl-C ends it at once, as it ends the program.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_profbridge.run_program(sys.argv))
