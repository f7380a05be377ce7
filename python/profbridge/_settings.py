"""The settings of merges."""

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
    """The settings of a merge. All settings are optional.

    ``target``
        The target toolchain, such as ``"llvm-16"``, ``"rustc-1.75"`` or ``"swift-5.9"``. By default that of
        ``PROFBRIDGE_FOR``, otherwise the oldest release that can have written the newest input.
    ``failure_mode``
        When unreadable inputs end the merge: ``"any"`` (raises the first error), ``"all"`` or ``"warn"``. Each skipped
        input is reported as a :class:`profbridge.ProfileWarning`.
    ``salvage``
        Whether to keep the valid records of damaged inputs.
    ``allow_duplicates``
        Whether to count inputs twice that are also in a partial merge; otherwise they are an error.
    ``function``, ``no_function``
        Regular expressions for the names of functions to keep and to drop.
    ``remapping_file``
        A file with functions to rename, one ``OLD NEW`` per line.
    ``keep_vtable_symbols``
        Whether to keep the names of vtables.
    ``min_inputs``, ``min_functions``, ``min_total_count``
        Thresholds for the result. A lower value raises a :class:`profbridge.GateError`.
    ``binary_files``, ``debug_info``
        Images that wrote raw profiles without names and records, or files with their debug info.
    ``profiled_binaries``
        Programs that wrote raw memory profiles.
    ``threads``
        Worker threads, by default one per processor. The result is the same for any number.
    ``family``
        The family of inputs that are not profiles, such as damaged files, if no other input determines it. It
        selects the error messages.
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
            raise TypeError(f"{name!r} is not a setting of a merge; settings: {', '.join(_DEFAULTS)}")
    chosen: dict[str, Any] = {**_DEFAULTS, **given}
    if chosen["remapping_file"] is not None:
        chosen["remapping_file"] = os.fspath(chosen["remapping_file"])
    for name in ("binary_files", "debug_info", "profiled_binaries"):
        chosen[name] = [os.fspath(path) for path in chosen[name]]
    return chosen
