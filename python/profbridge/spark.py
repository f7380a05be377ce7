"""Merges with Spark: Spark reads the files, partitions merge them, and a tree of tasks merges the results.

:func:`merge` writes the same bytes as a merge of all files on one machine, in the order of their paths. Spark repeats
failed tasks, which does not change the result. Damaged files do not fail a task: the partial merge records them, and
the failure mode applies when the merge ends.

The functions of this module need PySpark; importing it does not. The workers need this package.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Optional, Sequence, Union

from ._errors import MergeError, UsageError
from ._merger import Merger
from ._settings import MergeSettings, Path, Unpack

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
else:
    # PySpark is not imported before it is used.
    SparkSession = Any

__all__ = ["collect", "merge"]

#: The maximum number of partial merges that one task, or the driver at the end, merges.
FAN_IN = 8

#: A function that changes the bytes of a file before the merge. It gets the path and the bytes.
Prepare = Callable[[str, bytes], bytes]


def merge(
    spark: SparkSession,
    paths: Union[str, Sequence[str]],
    out: Optional[Path] = None,
    *,
    partitions: Optional[int] = None,
    prepare: Optional[Prepare] = None,
    **settings: Unpack[MergeSettings],
) -> Optional[bytes]:
    """Merge the files that Spark finds under ``paths``; write ``out``, or return the bytes.

    Parameters
    ----------
    spark : SparkSession
        The session. Its workers need this package: set ``PYSPARK_PYTHON`` to the Python that has it.
    paths : str or list of str
        Globs and directories of any file system that Spark supports, such as ``"s3a://..."``.
    out : path, optional
        The output on the driver's machine.
    partitions : int, optional
        The number of groups of files [default: two per core].
    prepare : callable, optional
        Gets the path and the bytes of each file and returns the bytes to merge, for example decrypted.
    **settings
        See :class:`profbridge.MergeSettings`.

    Returns
    -------
    bytes or None
        The merged profile, if there is no `out`.
    """
    profile = collect(spark, paths, partitions=partitions, prepare=prepare, **settings).finish()
    if out is None:
        return profile.to_bytes()
    profile.write(out)
    return None


def collect(
    spark: SparkSession,
    paths: Union[str, Sequence[str]],
    *,
    partitions: Optional[int] = None,
    prepare: Optional[Prepare] = None,
    **settings: Unpack[MergeSettings],
) -> Merger:
    """Like :func:`merge`, but return a :class:`profbridge.Merger`.

    Parameters
    ----------
    spark, paths, partitions, prepare, **settings
        See :func:`merge`.

    Returns
    -------
    profbridge.Merger
        The merge of all files, which can be finished or continued.
    """
    context = _context(spark)
    files = _list(spark, paths)
    if not files:
        raise UsageError(f"no file with content: {paths}", kind="usage")
    wanted = 2 * context.defaultParallelism if partitions is None else partitions
    # The failure mode applies at the end, because Spark would only repeat a task that raises.
    # Different tasks may read files with the same bytes.
    in_tasks: MergeSettings = {**settings, "failure_mode": "warn", "allow_duplicates": True}
    runs = _runs(files, max(1, wanted))
    parts = context.union([_read(context, number, run, in_tasks, prepare) for number, run in enumerate(runs)])
    left = len(runs)
    while left > FAN_IN:
        tasks = -(-left // FAN_IN)
        grouped = parts.map(_to_group).groupByKey(numPartitions=tasks)
        parts = grouped.map(_Join(in_tasks))
        left = tasks
    whole = Merger(**settings)
    for _, part in sorted(parts.collect()):
        whole.merge(Merger.from_bytes(part, **in_tasks))
    if len(whole) != len(files):
        raise MergeError(f"Spark listed {len(files)} files, but returned {len(whole)}", kind="other")
    return whole


def _context(spark: SparkSession) -> Any:
    try:
        return spark.sparkContext
    except Exception as error:
        # Spark Connect has no RDDs.
        raise UsageError("the session has no SparkContext; Spark Connect is not supported") from error


def _list(spark: SparkSession, paths: Union[str, Sequence[str]]) -> list[tuple[str, int]]:
    """Return paths and sizes, ordered by path. Reads no content."""
    given = [paths] if isinstance(paths, str) else list(paths)
    # By default Spark lists the files of a glob with one task per file.
    option, tasks = "spark.sql.sources.parallelPartitionDiscovery.parallelism", _context(spark).defaultParallelism
    before = spark.conf.get(option)
    spark.conf.set(option, str(4 * tasks))
    try:
        rows = spark.read.format("binaryFile").load(given).select("path", "length").collect()
    finally:
        spark.conf.set(option, before or "")
    return sorted((row["path"], row["length"]) for row in rows)


def _runs(files: Sequence[tuple[str, int]], wanted: int) -> list[list[str]]:
    """Split the files into runs of similar size."""
    # Small files have a fixed cost.
    weights = [size + (64 << 10) for _, size in files]
    total, wanted = sum(weights), min(wanted, len(files))
    runs: list[list[str]] = [[] for _ in range(wanted)]
    before = 0
    for (path, _), weight in zip(files, weights):
        runs[min(wanted - 1, (before + weight // 2) * wanted // total)].append(path)
        before += weight
    return [run for run in runs if run]


def _read(context: Any, number: int, run: Sequence[str], settings: MergeSettings, prepare: Optional[Prepare]) -> Any:
    """Return a task that reads a run of files and yields ``(number, partial merge)``."""
    files = context.binaryFiles(",".join(map(_escape, run)), 1).coalesce(1)
    return files.mapPartitions(_MergeRun(number, list(run), settings, prepare))


def _escape(path: str) -> str:
    """Return a pattern that matches a path. It may match other paths, because a comma cannot be escaped."""
    return re.sub(r"([{}\[\]*?\\])", r"\\\1", path).replace(",", "?")


class _MergeRun:
    """Merges the files of a run, which arrive in any order."""

    def __init__(self, number: int, run: list[str], settings: MergeSettings, prepare: Optional[Prepare]) -> None:
        self.number, self.run, self.settings, self.prepare = number, run, settings, prepare

    def __call__(self, files: Iterable[tuple[str, bytes]]) -> Iterator[tuple[int, bytes]]:
        places = {_plain(path): place for place, path in enumerate(self.run)}
        sums = _Runs(self.settings)
        for path, content in files:
            name = _plain(path)
            if name not in places:
                continue  # Another file that matches the pattern, or the same file again.
            content = content if self.prepare is None else self.prepare(name, content)
            sums.add(places.pop(name), content, name)
        yield self.number, sums.whole(len(self.run)).to_bytes()


class _Runs:
    """Mergers of consecutive files, merged when they become adjacent."""

    def __init__(self, settings: MergeSettings) -> None:
        self.settings = settings
        #: First place → (place after the last, merger).
        self.sums: dict[int, tuple[int, Merger]] = {}
        #: Place after the last → first place.
        self.starts: dict[int, int] = {}

    def add(self, place: int, content: bytes, name: str) -> None:
        start, end = self.starts.pop(place, place), place + 1
        _, merger = self.sums.pop(start, (place, None))
        merger = Merger(**self.settings) if merger is None else merger
        merger.add(content, name=name)
        if end in self.sums:
            end, later = self.sums.pop(end)
            merger.merge(later)
        self.sums[start], self.starts[end] = (end, merger), start

    def whole(self, files: int) -> Merger:
        if list(self.starts.items()) != [(files, 0)]:
            raise MergeError(f"some of the {files} files are missing", kind="other")
        return self.sums[0][1]


def _to_group(part: tuple[int, bytes]) -> tuple[int, tuple[int, bytes]]:
    return part[0] // FAN_IN, part


class _Join:
    """Merges partial merges in order."""

    def __init__(self, settings: MergeSettings) -> None:
        self.settings = settings

    def __call__(self, group: tuple[int, Iterable[tuple[int, bytes]]]) -> tuple[int, bytes]:
        number, parts = group
        merger = Merger(**self.settings)
        for _, part in sorted(parts):
            merger.merge(Merger.from_bytes(part, **self.settings))
        return number, merger.to_bytes()


def _plain(path: str) -> str:
    """Return the path of a local file; Spark writes ``file:`` with one slash or three."""
    return re.sub(r"^file:/+", "/", path)
