"""How coverage drifts from build to build: functions that tests reached before and reach no more.

    python coverage_drift.py monday.profdata tuesday.profdata wednesday.profdata
"""

from __future__ import annotations

import sys

import polars as pl

import profbridge


def coverage(source: str) -> pl.DataFrame:
    """Each function with the share of its counters that are not zero."""
    table = pl.DataFrame(profbridge.read(source).functions())
    sums = table.group_by("name").agg(pl.col("num_covered").sum(), pl.col("num_counters").sum())
    return sums.select("name", (pl.col("num_covered") / pl.col("num_counters")).fill_nan(0.0).alias("covered"))


def drift(sources: list[str]) -> pl.DataFrame:
    """One row a pair of builds: how many functions are new or gone, were lost or are better covered."""
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
