"""The types of arguments, and the settings of merges."""

from __future__ import annotations

import os
import sys
from typing import (
    TYPE_CHECKING,
    Any,
    BinaryIO,
    Iterable,
    Literal,
    Mapping,
    Optional,
    Sequence,
    TypedDict,
    Union,
    cast,
    get_args,
)

from ._errors import UsageError
from ._profbridge import Iprof, MemoryProfile, Profile, SampleProfile, Stacks

if TYPE_CHECKING:
    # Type checkers include it; nothing of it is needed at run time.
    from typing_extensions import Unpack as Unpack
elif sys.version_info >= (3, 11):
    from typing import Unpack
else:

    class Unpack:
        """The type of keywords, for ``typing.get_type_hints``."""

        def __class_getitem__(cls, item: Any) -> Any:
            return item


#: A path as a string, bytes, or an object with ``__fspath__``.
Path = Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]
#: One or more paths.
Paths = Union[Path, Sequence[Path]]
#: A profile of any family.
AnyProfile = Union[Profile, SampleProfile, MemoryProfile, Iprof, Stacks]
#: A path, the bytes of a file, a file that is open in binary mode, or a profile. A path as bytes must be passed
#: through ``os.fsdecode``, because bytes are the content of a file.
Source = Union[str, os.PathLike[str], os.PathLike[bytes], bytes, bytearray, memoryview, BinaryIO, AnyProfile]
#: When unreadable inputs end a merge.
FailureMode = Union[Literal["any"], Literal["all"], Literal["warn"]]
#: The name of a family.
Family = Union[Literal["instr"], Literal["sampleprof"], Literal["memprof"], Literal["iprof"], Literal["stacks"]]
#: Changed limits on the resources that an input can use; see :data:`LIMITS`.
Limits = Mapping[str, int]


class MergeSettings(TypedDict, total=False):
    """The settings of a merge. All settings are optional.

    Attributes
    ----------
    target : str, optional
        The target toolchain, such as ``"llvm-16"``, ``"rustc-1.75"`` or ``"swift-5.9"`` [default: that of
        ``PROFBRIDGE_FOR``, otherwise the oldest release that can have written the newest input].
    failure_mode : {"any", "all", "warn"}
        When unreadable inputs end the merge: ``"any"`` (raises the first error), ``"all"`` or ``"warn"``. Each skipped
        input is reported as a :class:`profbridge.ProfileWarning`.
    salvage : bool
        Whether to keep the records of damaged inputs up to the damage.
    allow_duplicates : bool
        Whether to count inputs twice that are also in a partial merge; otherwise they are an error.
    function, no_function : str, optional
        Regular expressions for the names of functions to keep and to drop.
    remapping_file : path, optional
        A file with functions to rename, one ``OLD NEW`` per line.
    keep_vtable_symbols : bool
        Whether files that are not text have the names of vtables, too. They have all that :func:`read` and
        :func:`convert` find.
    min_inputs, min_functions, min_total_count : int
        Thresholds for the result. A lower value raises a :class:`profbridge.GateError`.
    binary_files, debug_info : path or list of paths
        Images that wrote raw profiles without names and records, or files with their debug info.
    profiled_binaries : path or list of paths
        Programs that wrote raw memory profiles.
    binary : path or list of paths
        Programs of recordings of perf, used instead of the recorded paths; also debug files of stripped programs.
    events : str or list of str
        Event types of recordings to read, such as ``"allocation"`` or ``"method-timing"``, as in ``profbridge show --help``
        [default: those that measure time]. A :class:`Merger` does not have this setting.
    threads : int, optional
        Worker threads [default: one per processor]. The result is the same for any number.
    limits : dict of int, optional
        Limits on the resources that an input can use: ``inflated_bytes``, ``inflate_ratio``, ``stream_bytes``,
        ``window_bytes``, ``name_bytes``, ``json_depth``, ``context_depth``. An input that needs more raises a
        :class:`profbridge.LimitError`.
    family : str, optional
        The family of inputs that are not profiles, such as damaged files, if no other input determines it. It selects
        the error messages. For LLVM profiles together with iprof files, the family of the result: ``"instr"`` or
        ``"iprof"``.
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
    binary_files: Paths
    debug_info: Paths
    profiled_binaries: Paths
    binary: Paths
    events: Union[str, Sequence[str]]
    threads: Optional[int]
    limits: Optional[Limits]
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
    "binary": (),
    "events": (),
    "threads": None,
    "limits": None,
    "family": None,
}
_FLAGS = ("salvage", "allow_duplicates", "keep_vtable_symbols")
_NUMBERS = ("min_inputs", "min_functions", "min_total_count")
_PATHS = ("binary_files", "debug_info", "profiled_binaries", "binary")
_TEXTS = ("target", "function", "no_function", "family")


def settings(is_read: bool = False, /, **given: Unpack[MergeSettings]) -> dict[str, Any]:
    """Return all settings for the extension; an unknown name is a ``TypeError``."""
    for name in given:
        if name not in _DEFAULTS:
            raise TypeError(f"{name!r} is not a setting of a merge; settings: {', '.join(_DEFAULTS)}")
    chosen: dict[str, Any] = {**_DEFAULTS, **given}
    for name in _FLAGS:
        if not isinstance(chosen[name], bool):
            raise UsageError(f"{name} must be True or False, not {chosen[name]!r}")
    for name in _NUMBERS:
        chosen[name] = number(name, chosen[name], 0)
    for name in _TEXTS:
        if not isinstance(chosen[name], (str, type(None))):
            raise UsageError(f"{name} must be a string, not {chosen[name]!r}")
    if chosen["threads"] is not None:
        chosen["threads"] = number("threads", chosen["threads"], 1)
    if chosen["remapping_file"] is not None:
        chosen["remapping_file"] = os.fsdecode(chosen["remapping_file"])
    for name in _PATHS:
        chosen[name] = paths(name, chosen[name])
    chosen["events"] = texts("events", chosen["events"])
    chosen["limits"] = limits(chosen["limits"])
    chosen["is_read"] = is_read
    chosen["reads_calls"] = False
    return chosen


def number(name: str, value: Any, least: int) -> int:
    """Return an integer of at least ``least``."""
    try:
        found = int(value.__index__())
    except AttributeError:
        found = -1
    if found < least or found >= 1 << 63 or isinstance(value, bool):
        raise UsageError(f"{name} must be an integer of at least {least}, not {value!r}")
    return found


def paths(name: str, given: Any) -> list[str]:
    """Return one or more paths as a list."""
    if isinstance(given, (str, bytes, os.PathLike)):
        given = [given]
    try:
        return [os.fsdecode(path) for path in given]
    except TypeError:
        raise UsageError(f"{name} must be a path or a list of paths, not {given!r}") from None


def texts(name: str, given: Union[str, Iterable[str]]) -> list[str]:
    """Return one or more strings as a list."""
    chosen = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(text, str) for text in chosen):
        raise UsageError(f"{name} must be a string or a list of strings, not {given!r}")
    return chosen


def limits(given: Optional[Limits]) -> dict[str, int]:
    """Return the changed limits."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise UsageError(f"limits must be a dictionary of integers, not {given!r}")
    return {name: number(f"the limit {name}", value, 0) for name, value in given.items()}


def sources_of(given: Union[Source, Iterable[Source]]) -> list[Source]:
    """Return one or more sources as a list."""
    is_one = isinstance(given, (str, bytes, bytearray, memoryview, os.PathLike, *get_args(AnyProfile)))
    if is_one or hasattr(given, "read"):
        return [cast(Source, given)]
    return list(cast("Iterable[Source]", given))
