"""Read, merge, analyze and write compiler profiles.

>>> import profbridge
>>> profile = profbridge.merge([b":ir\\nmain\\n1\\n2\\n5\\n3\\n", b":ir\\nmain\\n1\\n2\\n1\\n0\\n"], weights=[1, 10])
>>> for row in profile.functions():
...     print(row["name"], row["max_count"], row["counters"])
main 15 [15, 3]
>>> profile.to_bytes(target="llvm-16")[:8]
b'\\xfflprofi\\x81'

Each of the five profile families has a class: :class:`Profile` (LLVM instrumentation, for PGO and coverage),
:class:`SampleProfile` (LLVM samples), :class:`MemoryProfile` (LLVM heap profiles), :class:`Iprof` (GraalVM) and
:class:`Stacks` (Flight Recorder, collapsed stacks, pprof).

All classes have ``functions()``, ``summary()``, ``report``, ``warnings``, ``write()`` and ``to_bytes()``, can be
pickled and compared with ``==``, and are accepted wherever a file is.

A :class:`Table` is an Arrow table: pass it to ``pandas.DataFrame.from_arrow(table)``, ``polars.DataFrame(table)``,
``pyarrow.table(table)`` or ``duckdb``. The package itself needs none of these libraries.
"""

from __future__ import annotations

from typing import Callable, Iterable, Optional, Sequence, Union

from . import _profbridge
from ._errors import (
    Error,
    FormatError,
    GateError,
    IoError,
    LimitError,
    LossError,
    MergeError,
    ProfileWarning,
    ProgramError,
    UnsupportedError,
    UsageError,
)
from ._merger import Merger
from ._profbridge import Column, Iprof, MemoryProfile, Profile, Record, SampleProfile, Stacks, Table
from ._settings import (
    AnyProfile,
    FailureMode,
    Family,
    Limits,
    MergeSettings,
    Path,
    Paths,
    Source,
    Unpack,
    settings as _settings,
)
from ._tools import (
    check,
    convert,
    describe,
    diff,
    fit,
    flamegraph,
    generate,
    interop,
    order,
    overlap,
    repair,
    report,
)
from ._types import (
    AllocationRow,
    AllocatorRow,
    Check,
    Description,
    Diff,
    EntryRow,
    Finding,
    Fit,
    FunctionRow,
    Generated,
    InputReport,
    InstrReport,
    InstrSummary,
    LineRow,
    MergeReport,
    MethodRow,
    Order,
    SampledFunctionRow,
    SampledMethodRow,
    SampleSummary,
    StackRow,
    ValueSiteRow,
)

__version__ = _profbridge.VERSION

#: A callback for the number of finished inputs and of all inputs. An exception from it ends the work.
Progress = Callable[[int, int], object]

__all__ = [
    "AllocationRow",
    "AllocatorRow",
    "AnyProfile",
    "Check",
    "Column",
    "Description",
    "Diff",
    "EntryRow",
    "Error",
    "FailureMode",
    "Family",
    "Finding",
    "Fit",
    "FormatError",
    "FunctionRow",
    "GateError",
    "Generated",
    "InputReport",
    "InstrReport",
    "InstrSummary",
    "IoError",
    "Iprof",
    "LimitError",
    "Limits",
    "LineRow",
    "LossError",
    "MemoryProfile",
    "MergeError",
    "MergeReport",
    "MergeSettings",
    "Merger",
    "MethodRow",
    "Order",
    "Path",
    "Paths",
    "Profile",
    "ProfileWarning",
    "ProgramError",
    "Progress",
    "Record",
    "SampleProfile",
    "SampleSummary",
    "SampledFunctionRow",
    "SampledMethodRow",
    "Source",
    "StackRow",
    "Stacks",
    "Table",
    "UnsupportedError",
    "UsageError",
    "ValueSiteRow",
    "check",
    "convert",
    "describe",
    "diff",
    "family_of",
    "fit",
    "flamegraph",
    "generate",
    "interop",
    "merge",
    "order",
    "overlap",
    "read",
    "repair",
    "report",
]


def __dir__() -> list[str]:
    return [*__all__, "__doc__", "__file__", "__name__", "__path__", "__version__"]


def read(
    source: Source,
    *,
    name: Optional[str] = None,
    binary: Paths = (),
    binary_files: Paths = (),
    debug_info: Paths = (),
    profiled_binaries: Paths = (),
    events: Union[str, Sequence[str]] = (),
    limits: Optional[Limits] = None,
) -> AnyProfile:
    """Read a profile of any family, format and version.

    Parameters
    ----------
    source : path, bytes, open binary file or profile
        The file, which may be compressed with gzip, zstd or xz. A path as bytes must be passed through ``os.fsdecode``,
        because bytes are the content of a file.
    name : str, optional
        The name of bytes in messages; if it ends in ``.iprof``, damaged bytes are read as an iprof.
    binary : path or list of paths, optional
        The program of a recording of perf, with which ``perf.data`` and the text of ``perf script -F ip,brstack`` become
        a :class:`SampleProfile`. With several programs, the recording is read as :class:`Stacks`, as :func:`merge` does
        with one, too.
    binary_files, debug_info : path or list of paths, optional
        The image that wrote a raw profile without names and records, or its debug info.
    profiled_binaries : path or list of paths, optional
        The programs that wrote a raw memory profile.
    events, limits : optional
        See :class:`MergeSettings`.

    Returns
    -------
    Profile, SampleProfile, MemoryProfile, Iprof or Stacks
        The class follows from the content. Use ``isinstance`` before methods that not all of them have.

    Examples
    --------
    >>> import profbridge
    >>> profile = profbridge.read(b":ir\\nmain\\n1\\n2\\n5\\n3\\n")
    >>> profile
    <profbridge.Profile of 1 functions, 1 records>
    >>> [record] = profile["main"]
    >>> record.counters.to_pylist()
    [5, 3]
    """
    settings = _settings(
        True,
        binary=binary,
        binary_files=binary_files,
        debug_info=debug_info,
        profiled_binaries=profiled_binaries,
        events=events,
        limits=limits,
    )
    return _profbridge.read(source, name, settings)


def merge(
    sources: Union[Source, Iterable[Source]],
    *,
    weights: Optional[Iterable[int]] = None,
    progress: Optional[Progress] = None,
    **settings: Unpack[MergeSettings],
) -> AnyProfile:
    """Merge profiles of one family, in order. The output has the same bytes as that of ``profbridge merge``.

    Parameters
    ----------
    sources : path, bytes, open binary file or profile, or an iterable of them
        The inputs. A directory means the profiles in it.
    weights : iterable of int, optional
        How often the counts of each input are added, from 1.
    progress : callable, optional
        Is called with the number of finished inputs and of all inputs. An exception from it ends the merge.
    **settings
        ``target``, ``failure_mode``, ``function``, ``min_inputs``, ``threads`` and others; see :class:`MergeSettings`.

    Returns
    -------
    Profile, SampleProfile, MemoryProfile, Iprof or Stacks
        The class follows from the content of the inputs.

    Examples
    --------
    >>> import profbridge
    >>> merged = profbridge.merge([b":ir\\nmain\\n1\\n1\\n5\\n", b"\\x81rforpl\\xff"], failure_mode="warn")
    >>> [(each["outcome"], each["records"]) for each in merged.report["inputs"]]
    [('used', 1), ('failed', 0)]
    """
    return _profbridge.merge(sources, weights, _settings(**settings), progress)


def family_of(source: Source, *, name: Optional[str] = None) -> Optional[Family]:
    """Return the profile family of a file, detected from its content.

    Parameters
    ----------
    source : path, bytes, open binary file or profile
        The file.
    name : str, optional
        The name of bytes in messages.

    Returns
    -------
    str or None
        ``None`` if the file is not a profile.

    Examples
    --------
    >>> import profbridge
    >>> profbridge.family_of(b"main;f 3\\nmain;g 4\\n")
    'stacks'
    """
    return _profbridge.family_of(source, name)
