#!/usr/bin/env python3
"""Adds up the events in the output of `jfr print --json` on standard input.

One line for each event type, thread and stack: number of events, bytes, nanoseconds, event,
thread, truncated, frames (the innermost first), separated by tabs. The recordings' tests
compare with it.
"""
import collections
import json
import re
import sys

sums = collections.defaultdict(lambda: [0, 0, 0])


def nanos(text):
    """PT1M2.003S in nanoseconds."""
    hours, minutes, seconds, fraction = re.fullmatch(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?", text).groups()
    whole = int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    return whole * 10**9 + int((fraction or "0").ljust(9, "0"))


for event in json.load(sys.stdin)["recording"]["events"]:
    values = event["values"]
    if values.get("stackTrace") is None:
        continue
    thread = values["eventThread"]
    frames = []
    for frame in values["stackTrace"]["frames"]:
        method = frame["method"]
        frames.append("{}.{}{}@{}:{}:{}".format(
            method["type"]["name"], method["name"], method["descriptor"],
            frame["bytecodeIndex"], frame["lineNumber"], frame["type"]))
    sized = [values[key] for key in ("weight", "tlabSize", "bytesRead", "bytesWritten", "allocationSize") if key in values]
    name = "-" if thread is None else thread["javaName"] or thread["osName"]
    key = (event["type"], name, values["stackTrace"]["truncated"], "\t".join(frames))
    row = sums[key]
    row[0] += 1
    row[1] += max(sized[0], 0) if sized else 0
    row[2] += nanos(values["duration"]) if "duration" in values else 0
for (event, thread, truncated, frames), (count, size, time) in sorted(sums.items()):
    print(count, size, time, event, thread, str(truncated).lower(), frames, sep="\t")
