"""How profiles are merged: the settings that all functions and classes that merge take."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, Optional, Sequence, TypedDict, Union

if TYPE_CHECKING:
    # Checkers of types bring it; nothing of it is needed to run.
    from typing_extensions import Unpack as Unpack

Path = Union[str, "os.PathLike[str]"]
#: A path, or the bytes of a file.
Source = Union[Path, bytes, bytearray, memoryview]
FailureMode = Literal["any", "all", "warn"]
Family = Literal["instr", "sampleprof", "memprof", "iprof", "stacks"]


class MergeSettings(TypedDict, total=False):
    """The settings of a merge, each of which may be left out.

    ``target``
        The toolchain that the result is for (``"llvm-16"``, ``"rustc-1.75"``, ``"swift-5.9"``); without it, what
        ``PROFBRIDGE_FOR`` says, or whoever may have written the inputs.
    ``failure_mode``
        When bad inputs end the merge: ``"any"`` (the first one's error is raised), ``"all"`` or ``"warn"``; what is
        skipped is given as a :class:`profbridge.ProfileWarning`.
    ``salvage``
        Whether the good records of bad inputs count.
    ``allow_duplicates``
        Whether a profile counts twice that occurs in a partial merge and in another input; else this is an error.
    ``function``, ``no_function``
        Patterns of the functions that are kept, and of those that are not.
    ``remapping_file``
        Functions that are renamed while reading, a line each.
    ``keep_vtable_symbols``
        Whether the names of vtables are kept.
    ``min_inputs``, ``min_functions``, ``min_total_count``
        The least that has to be in the result; else a :class:`profbridge.GateError` is raised.
    ``binary_files``, ``debug_info``
        Images that wrote raw profiles which have neither names nor records, or files with their debug info.
    ``profiled_binaries``
        Programs that wrote raw memory profiles.
    ``threads``
        Worker threads; by default the machine is asked. The result is the same for any number.
    ``family``
        What inputs belong to that are no profile at all (damaged from their first byte on) where no other input
        tells: it decides what is said of them.
    """

    target: Optional[str]
    failure_mode: FailureMode
    salvage: bool
    allow_duplicates: bool
    function: Optional[str]
    no_function: Optional[str]
    remapping_file: Optional[Path]
    keep_vtable_symbols: bool
    min_inputs: int
    min_functions: int
    min_total_count: int
    binary_files: Sequence[Path]
    debug_info: Sequence[Path]
    profiled_binaries: Sequence[Path]
    threads: Optional[int]
    family: Optional[Family]


_DEFAULTS: MergeSettings = {
    "target": None,
    "failure_mode": "any",
    "salvage": False,
    "allow_duplicates": False,
    "function": None,
    "no_function": None,
    "remapping_file": None,
    "keep_vtable_symbols": False,
    "min_inputs": 0,
    "min_functions": 0,
    "min_total_count": 0,
    "binary_files": (),
    "debug_info": (),
    "profiled_binaries": (),
    "threads": None,
    "family": None,
}


def settings(**given: Unpack[MergeSettings]) -> dict[str, Any]:
    """Return all settings for the extension; an unknown name is a ``TypeError``."""
    for name in given:
        if name not in _DEFAULTS:
            raise TypeError(f"{name!r} is no setting of a merge; there are {', '.join(_DEFAULTS)}")
    chosen: dict[str, Any] = {**_DEFAULTS, **given}
    if chosen["remapping_file"] is not None:
        chosen["remapping_file"] = os.fspath(chosen["remapping_file"])
    for name in ("binary_files", "debug_info", "profiled_binaries"):
        chosen[name] = [os.fspath(path) for path in chosen[name]]
    return chosen
