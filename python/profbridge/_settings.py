"""What the functions that merge have in common."""

from __future__ import annotations

import os
from typing import Any, Optional, Sequence, Union

Path = Union[str, "os.PathLike[str]"]


def settings(
    *,
    target: Optional[str] = None,
    failure_mode: str = "any",
    salvage: bool = False,
    function: Optional[str] = None,
    no_function: Optional[str] = None,
    remapping_file: Optional[Path] = None,
    keep_vtable_symbols: bool = False,
    min_inputs: int = 0,
    min_functions: int = 0,
    min_total_count: int = 0,
    binary_files: Sequence[Path] = (),
    debug_info: Sequence[Path] = (),
    profiled_binaries: Sequence[Path] = (),
    threads: Optional[int] = None,
) -> dict[str, Any]:
    """The settings as the extension takes them; a name that is not known is refused here."""
    return {
        "target": target,
        "failure_mode": failure_mode,
        "salvage": salvage,
        "function": function,
        "no_function": no_function,
        "remapping_file": None if remapping_file is None else os.fspath(remapping_file),
        "keep_vtable_symbols": keep_vtable_symbols,
        "min_inputs": min_inputs,
        "min_functions": min_functions,
        "min_total_count": min_total_count,
        "binary_files": [os.fspath(path) for path in binary_files],
        "debug_info": [os.fspath(path) for path in debug_info],
        "profiled_binaries": [os.fspath(path) for path in profiled_binaries],
        "threads": threads,
    }
