"""Compare coverage between builds: functions that tests reached before and no longer reach.

    python coverage_drift.py monday.profdata tuesday.profdata wednesday.profdata
"""

from __future__ import annotations

import sys

import polars as pl

import profbridge


def coverage(source: str) -> pl.DataFrame:
    """Return each function with the share of its counters above zero."""
    table = pl.DataFrame(profbridge.read(source).functions())
    sums = table.group_by("name").agg(pl.col("num_covered").sum(), pl.col("num_counters").sum())
    return sums.select("name", (pl.col("num_covered") / pl.col("num_counters")).fill_nan(0.0).alias("covered"))


def drift(sources: list[str]) -> pl.DataFrame:
    """Return one row per pair of builds: the numbers of functions that are new, gone, lost, or better covered."""
    rows = []
    for before, after in zip(sources, sources[1:]):
        both = coverage(before).join(coverage(after), on="name", how="full", coalesce=True, suffix="_after")
        covered, covered_after = pl.col("covered"), pl.col("covered_after")
        rows.append(
            both.select(
                pl.lit(before).alias("before"),
                pl.lit(after).alias("after"),
                new=covered.is_null().sum(),
                gone=covered_after.is_null().sum(),
                lost=((covered > 0) & (covered_after == 0)).sum(),
                better=(covered_after > covered).sum(),
                worse=(covered_after < covered).sum(),
            )
        )
    return pl.concat(rows)


if __name__ == "__main__":
    print(drift(sys.argv[1:]))
