"""Print the hot functions of a profile with pandas.

    python hot_functions.py app.profdata
"""

from __future__ import annotations

import sys

import pandas as pd

import profbridge


def hot_functions(source: str, share: float = 0.9) -> pd.DataFrame:
    """Return the hottest functions that together have the given share of all counts."""
    table = profbridge.read(source).functions()
    frame = pd.DataFrame({name: table[name].to_pylist() for name in ("name", "max_count", "total_count")})
    frame = frame.sort_values("total_count", ascending=False, ignore_index=True)
    frame["share"] = frame["total_count"] / frame["total_count"].sum()
    held_before = frame["share"].cumsum() - frame["share"]
    return frame[held_before < share]


if __name__ == "__main__":
    print(hot_functions(sys.argv[1]).to_string(index=False))
