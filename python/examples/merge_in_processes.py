"""Merge a directory of profiles in several processes, like a cluster.

    python merge_in_processes.py DIRECTORY OUT.profdata

On one machine `profbridge.merge(folder)` is quicker: it uses threads, and knows a binary by its first dump. This shows
the shape that any engine needs: runs of neighbours, a merger for each, joined in order.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import profbridge


def merge_run(paths: list[Path]) -> profbridge.Merger:
    """Run in a worker, which returns the merger pickled."""
    return profbridge.Merger().add_all(paths)


def main(folder: Path, out: Path, processes: int = 2) -> None:
    paths = sorted(folder.glob("*.prof*"))
    size = -(-len(paths) // (2 * processes))
    runs = [paths[start : start + size] for start in range(0, len(paths), size)]
    whole = profbridge.Merger()
    with ProcessPoolExecutor(processes) as pool:
        for merger in pool.map(merge_run, runs):
            whole.merge(merger)
    whole.finish().write(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
