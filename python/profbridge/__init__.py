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

A :class:`Table` is an Arrow table: pass it to ``pandas.DataFrame.from_arrow(table)``, ``polars.DataFrame(table)``,
``pyarrow.table(table)`` or ``duckdb``. The package itself needs none of these libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, Optional, Sequence, Union

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
from ._settings import FailureMode, Family, MergeSettings, Path, Source, settings as _settings

if TYPE_CHECKING:
    from ._settings import Unpack

__version__ = _profbridge.VERSION

#: A profile of any family.
AnyProfile = Union[Profile, SampleProfile, MemoryProfile, Iprof, Stacks]
#: A callback for the number of finished inputs and of all inputs. An exception from it ends the work.
Progress = Callable[[int, int], object]

__all__ = [
    "AnyProfile",
    "Column",
    "Error",
    "FailureMode",
    "Family",
    "FormatError",
    "GateError",
    "IoError",
    "Iprof",
    "LimitError",
    "LossError",
    "MemoryProfile",
    "MergeError",
    "MergeSettings",
    "Merger",
    "Profile",
    "ProfileWarning",
    "ProgramError",
    "Record",
    "SampleProfile",
    "Source",
    "Stacks",
    "Table",
    "UnsupportedError",
    "UsageError",
    "check",
    "describe",
    "diff",
    "family_of",
    "merge",
    "read",
]


def read(
    source: Source,
    *,
    name: Optional[str] = None,
    binary_files: Sequence[Path] = (),
    debug_info: Sequence[Path] = (),
    profiled_binaries: Sequence[Path] = (),
) -> Any:
    """Read a profile of any family, format and version.

    ``source`` is a path or the bytes of a file, which may be compressed with gzip, zstd or xz. ``name`` is the name of
    bytes in messages; if it ends in ``.iprof``, damaged bytes are read as an iprof. Profiles without names and
    records need the image that wrote them (``binary_files`` or ``debug_info``), and raw memory profiles need
    ``profiled_binaries``.

    Returns a :class:`Profile`, :class:`SampleProfile`, :class:`MemoryProfile`, :class:`Iprof` or :class:`Stacks`.

    >>> import profbridge
    >>> profile = profbridge.read(b":ir\\nmain\\n1\\n2\\n5\\n3\\n")
    >>> profile
    <profbridge.Profile of 1 functions, 1 records>
    >>> [record] = profile.find("main")
    >>> record.counters.to_pylist()
    [5, 3]
    """
    return _profbridge.read(
        source,
        name,
        _settings(binary_files=binary_files, debug_info=debug_info, profiled_binaries=profiled_binaries),
    )


def merge(
    sources: Union[Source, Iterable[Source]],
    *,
    weights: Optional[Iterable[int]] = None,
    progress: Optional[Progress] = None,
    **settings: Unpack[MergeSettings],
) -> Any:
    """Merge profiles of one family, in order. The output has the same bytes as that of ``profbridge merge``.

    ``sources`` are paths, directories, or bytes. ``weights`` has an integer for each of them.
    ``progress`` is called with the number of finished inputs and of all inputs.

    The keywords (``target``, ``failure_mode``, ``function``, ``min_inputs``, ``threads`` and others) are described in
    :class:`MergeSettings`.

    >>> import profbridge
    >>> merged = profbridge.merge([b":ir\\nmain\\n1\\n1\\n5\\n", b"\\x81rforpl\\xff"], failure_mode="warn")
    >>> [(each["outcome"], each["records"]) for each in merged.report["inputs"]]
    [('used', 1), ('failed', 0)]
    """
    return _profbridge.merge(sources, weights, _settings(**settings), progress)  # type: ignore[arg-type]


def check(source: Source, *, name: Optional[str] = None) -> dict[str, Any]:
    """Check a file of any format. Faults of the file are part of the result and raise no exception.

    >>> import profbridge
    >>> found = profbridge.check(b":ir\\nmain\\n1\\n2\\n5\\n", name="cut.proftext")
    >>> found["verdict"], [finding["code"] for finding in found["findings"]]
    ('unusable: record again', ['text.truncated'])
    """
    return _profbridge.check(source, name)


def describe(source: Source, *, name: Optional[str] = None) -> dict[str, Any]:
    """Describe a file and its sections, like ``profbridge info --json``.

    >>> import profbridge
    >>> profbridge.describe(b":ir\\nmain\\n1\\n1\\n5\\n")["description"]
    'LLVM text profile'
    """
    return _profbridge.describe(source, name)


def diff(first: Source, second: Source, *, topn: int = 10, exact_names: bool = False) -> dict[str, Any]:
    """Compare two profiles, like ``profbridge diff --json``.

    Functions whose names or hashes differ between LLVM releases are matched unless ``exact_names`` is true.

    >>> import profbridge
    >>> found = profbridge.diff(b":ir\\nmain\\n1\\n1\\n5\\n", b":ir\\nmain\\n1\\n1\\n5\\n\\nf\\n1\\n1\\n5\\n")
    >>> found["total_overlap"], found["new_functions"]["functions"]
    (0.5, ['f'])
    """
    return _profbridge.diff(first, second, topn, exact_names)


def family_of(source: Source, *, name: Optional[str] = None) -> Optional[Family]:
    """Return the profile family of a file, detected from its content; ``None`` if it is not a profile.

    >>> import profbridge
    >>> profbridge.family_of(b"main;f 3\\nmain;g 4\\n")
    'stacks'
    """
    return _profbridge.family_of(source, name)
