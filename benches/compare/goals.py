"""The required ratio and the goal of each row, relative to the peer's time and memory."""

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Goal:
    """Ratios to the peer's results. `limit` is the time of a single-threaded C program that
    only does the necessary work: read, decompress, hash, add, write."""

    must: Optional[float] = None
    aim: Optional[float] = None
    memory_must: Optional[float] = None
    memory_aim: Optional[float] = None
    limit: Optional[float] = None

    def verdict(self, time_ratio, memory_ratio):
        """Returns the missed requirements, otherwise whether the goals are reached."""
        missed = [what for what, ratio, must in (("time", time_ratio, self.must), ("memory", memory_ratio, self.memory_must))
                  if must is not None and ratio > must]
        if missed:
            return "missed: " + " and ".join(missed)
        if self.must is None:
            return "-"
        reached = (self.aim is None or time_ratio <= self.aim) and (self.memory_aim is None or memory_ratio <= self.memory_aim)
        return "aim" if reached else "must"


MANY_FILES = Goal(0.10, 0.04, 1.0, 0.3, 0.02)
TEXT_OUT = Goal(0.25, 0.15, 0.4, None, 0.11)
TEXT_IN = Goal(0.25, 0.15, 0.4, None, 0.07)
SAMPLES = Goal(0.33, 0.15, 0.5, 0.2)
ONE_OF_SAMPLES = Goal(0.40, None, 0.5, 0.2)
ALLOCATIONS = Goal(0.40, 0.20, 0.6)

GOALS = {
    "W1a": MANY_FILES,
    "W7w": MANY_FILES,
    "W7s": MANY_FILES,
    "W7f": MANY_FILES,
    "W1p": Goal(0.12, 0.06, 1.0, 0.3, 0.03),
    "W2": Goal(0.15, 0.07, 1.0, 0.3, 0.05),
    "W3": Goal(0.27, 0.18, 0.6, 0.4, 0.14),
    "W3r": Goal(0.40, 0.28, 0.6, 0.4, 0.25),
    "W4": Goal(0.45, 0.25, 0.6, 0.3, 0.40),
    "W4m": Goal(0.45, 0.25, 0.6, 0.3, 0.40),
    "W4s": Goal(0.35, 0.15, 0.25),
    "W5": Goal(0.20, 0.12, 0.4, None, 0.06),
    "W6o": TEXT_OUT,
    "W6ro": TEXT_OUT,
    "W6i": TEXT_IN,
    "W6ri": TEXT_IN,
    "W6s": Goal(0.20, 0.10, 0.6, None, 0.07),
    "W6rs": Goal(0.40, 0.25, 0.6, None, 0.17),
    "W6t": Goal(0.20, 0.15, 0.6, None, 0.12),
    "W6rt": Goal(0.42, 0.38, 0.6, None, 0.38),
    "W8": Goal(0.15, 0.07, 0.15, None, 0.07),
    "W9t": SAMPLES,
    "W9x": SAMPLES,
    "W9st": ONE_OF_SAMPLES,
    "W9sx": ONE_OF_SAMPLES,
    "W9ct": ONE_OF_SAMPLES,
    "W9cx": ONE_OF_SAMPLES,
    "W10m": ALLOCATIONS,
    "W10s": ALLOCATIONS,
    "W10i": ALLOCATIONS,
    "W11c": Goal(0.50, None, 1.0),
    "W11p": Goal(1.0, None, 1.0),
    # Ratios to `merge` of the raw profile from which the input was made.
    "W12p": Goal(1.3, 1.0, 1.0),
    "W12q": Goal(0.67, None, 1.0),
    "W12d": Goal(1.0, 0.75, 1.1),
    "W12f": Goal(1.0, None, 1.1),
    "W12h": Goal(0.67, None, 0.7),
    "W12b": Goal(1.15, 1.0, 1.15),
    "W12z": Goal(1.1, None, 1.0),
    "W12s": Goal(1.1, None, 1.0),
    "W12r": Goal(1.3, None, None),
    "W12i": Goal(2.1, 1.0, 1.1),
    "W12l": Goal(4.0, None, None),
    "P": Goal(0.15, 0.07, 1.0, 0.3),
    "S": Goal(0.22, 0.10, 0.15),
}

# Goals of the rows that are also measured with one thread.
ALSO_ONE_THREAD = {"W4": Goal(0.33, 0.28, 0.6, 0.3, 0.40), "W4m": Goal(0.33, 0.28, 0.6, 0.3, 0.40)}


def of(name, threads):
    """The goal of a row. Rows that show growth have none."""
    return (ALSO_ONE_THREAD.get(name) if threads == 1 else None) or GOALS.get(name, Goal())
