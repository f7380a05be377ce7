"""Merging with Spark: the engine reads, partitions merge, a tree of tasks joins the parts.

:func:`merge` gives the bytes that one merge of all files, in the order of their paths, gives on one machine. Tasks
that fail are repeated by Spark and change nothing about the result; bad files never fail a
task: each is remembered by the part that read it, and judged when the merge ends.

PySpark is needed when this module's functions are called, not to import it. The workers need this package.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Optional, Sequence, Union

from ._errors import MergeError, UsageError
from ._merger import Merger
from ._settings import MergeSettings, Path

if TYPE_CHECKING:
    from ._settings import Unpack
    from pyspark.sql import SparkSession

__all__ = ["collect", "merge"]

#: Parts that one task joins, and that the driver joins at the end.
FAN_IN = 8

#: What is done with the bytes of a file before they are merged: called with its path and them.
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

    ``paths`` are what Spark's readers take: globs and folders of any file system it knows, ``"s3a://..."`` among
    them. ``out`` is a path of the driver's machine. The settings are those of :func:`profbridge.merge`. ``partitions`` is the number of runs of files that are merged at a time (default: two for
    each core that Spark has); ``prepare`` is called with the path and the bytes of each file before they are
    merged, to decrypt them, for example.
    """
    profile = collect(spark, paths, partitions=partitions, prepare=prepare, **settings).finish()
    if out is None:
        return profile.to_bytes()  # type: ignore[no-any-return]
    profile.write(os.fspath(out))
    return None


def collect(
    spark: SparkSession,
    paths: Union[str, Sequence[str]],
    *,
    partitions: Optional[int] = None,
    prepare: Optional[Prepare] = None,
    **settings: Unpack[MergeSettings],
) -> Merger:
    """The same as a :class:`profbridge.Merger`, to be joined with others, looked at or finished."""
    context = _context(spark)
    files = _list(spark, paths)
    if not files:
        raise UsageError(f"no file: {paths}", kind="usage")
    wanted = 2 * context.defaultParallelism if partitions is None else partitions
    # What is wrong with a file is judged at the end: a task that raises is only repeated.
    # Runs of one program may have written the same bytes in several tasks.
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
        raise MergeError(f"{len(files)} files were listed and {len(whole)} came back", kind="other")
    return whole


def _context(spark: SparkSession) -> Any:
    try:
        return spark.sparkContext
    except Exception as error:
        # Spark Connect has no RDDs, of which the parts are made.
        raise UsageError("a session with a SparkContext is needed, which Spark Connect has not") from error


def _list(spark: SparkSession, paths: Union[str, Sequence[str]]) -> list[tuple[str, int]]:
    """Paths and sizes, in the order of the paths. No content is read."""
    given = [paths] if isinstance(paths, str) else list(paths)
    # Spark lists the files of a glob with a task for each, unless it is told to take fewer.
    option, tasks = "spark.sql.sources.parallelPartitionDiscovery.parallelism", _context(spark).defaultParallelism
    before = spark.conf.get(option)
    spark.conf.set(option, str(4 * tasks))
    try:
        rows = spark.read.format("binaryFile").load(given).select("path", "length").collect()
    finally:
        spark.conf.set(option, before or "")
    return sorted((row["path"], row["length"]) for row in rows)


def _runs(files: Sequence[tuple[str, int]], wanted: int) -> list[list[str]]:
    """Cut the files into runs of neighbours that weigh about the same."""
    # A file costs something however small it is.
    weights = [size + (64 << 10) for _, size in files]
    total, wanted = sum(weights), min(wanted, len(files))
    runs: list[list[str]] = [[] for _ in range(wanted)]
    before = 0
    for (path, _), weight in zip(files, weights):
        runs[min(wanted - 1, (before + weight // 2) * wanted // total)].append(path)
        before += weight
    return [run for run in runs if run]


def _read(context: Any, number: int, run: Sequence[str], settings: MergeSettings, prepare: Optional[Prepare]) -> Any:
    """One task: reads a run of files and gives ``(number, part)``."""
    files = context.binaryFiles(",".join(map(_escape, run)), 1).coalesce(1)
    return files.mapPartitions(_MergeRun(number, list(run), settings, prepare))


def _escape(path: str) -> str:
    """A path as a pattern that matches it and perhaps others; a comma cannot be said, since it ends a pattern."""
    return re.sub(r"([{}\[\]*?\\])", r"\\\1", path).replace(",", "?")


class _MergeRun:
    """Merges the files of a run, in whatever order they come."""

    def __init__(self, number: int, run: list[str], settings: MergeSettings, prepare: Optional[Prepare]) -> None:
        self.number, self.run, self.settings, self.prepare = number, run, settings, prepare

    def __call__(self, files: Iterable[tuple[str, bytes]]) -> Iterator[tuple[int, bytes]]:
        places = {_plain(path): place for place, path in enumerate(self.run)}
        sums = _Runs(self.settings)
        for path, content in files:
            name = _plain(path)
            if name not in places:
                continue  # Another that matches, or one that matches twice.
            content = content if self.prepare is None else self.prepare(name, content)
            sums.add(places.pop(name), content, name)
        yield self.number, sums.whole(len(self.run)).to_bytes()


class _Runs:
    """Sums of neighbours, which are joined as soon as nothing is missing between them."""

    def __init__(self, settings: MergeSettings) -> None:
        self.settings = settings
        #: First place → place behind the last, sum.
        self.sums: dict[int, tuple[int, Merger]] = {}
        #: Place behind the last → first place.
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
            raise MergeError(f"not all of {files} files came, as if some were gone", kind="other")
        return self.sums[0][1]


def _to_group(part: tuple[int, bytes]) -> tuple[int, tuple[int, bytes]]:
    return part[0] // FAN_IN, part


class _Join:
    """Joins parts in their order."""

    def __init__(self, settings: MergeSettings) -> None:
        self.settings = settings

    def __call__(self, group: tuple[int, Iterable[tuple[int, bytes]]]) -> tuple[int, bytes]:
        number, parts = group
        merger = Merger(**self.settings)
        for _, part in sorted(parts):
            merger.merge(Merger.from_bytes(part, **self.settings))
        return number, merger.to_bytes()


def _plain(path: str) -> str:
    """Local files by their path; Spark writes ``file:`` with one slash or three."""
    return re.sub(r"^file:/+", "/", path)
