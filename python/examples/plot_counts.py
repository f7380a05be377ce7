"""Plot the share of all counts that the hottest functions have.

    python plot_counts.py app.profdata counts.png
"""

from __future__ import annotations

import sys

import matplotlib
import numpy as np

import profbridge

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


def plot(source: str, out: str) -> None:
    """Plot the share of all counts over the share of the functions, the hottest first."""
    counts = profbridge.read(source).functions()["total_count"].to_pylist()
    # Functions with a pseudo count have no total.
    totals = np.sort(np.array([count for count in counts if count is not None], dtype=np.uint64))[::-1]
    held = np.cumsum(totals, dtype=float) / max(totals.sum(), 1)
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.step(np.arange(1, len(held) + 1) / len(held), held, where="post")
    axes.set(xlabel="share of the functions", ylabel="share of the counts", xlim=(0, 1), ylim=(0, 1.02))
    axes.set_title(f"{len(totals)} functions")
    figure.savefig(out)


if __name__ == "__main__":
    plot(sys.argv[1], sys.argv[2])
