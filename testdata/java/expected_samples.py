#!/usr/bin/env python3
"""Counts the samples in the output of `jfr print --json` on standard input.

One line for each distinct sample: hits, event, thread, truncated, frames (the
innermost first), separated by tabs. The recordings' tests compare with it.
"""
import collections
import json
import sys

counts = collections.Counter()
for event in json.load(sys.stdin)["recording"]["events"]:
    values = event["values"]
    if values.get("stackTrace") is None:
        continue
    thread = values.get("sampledThread") or values.get("eventThread")
    frames = []
    for frame in values["stackTrace"]["frames"]:
        method = frame["method"]
        frames.append("{}.{}{}@{}:{}:{}".format(
            method["type"]["name"], method["name"], method["descriptor"],
            frame["bytecodeIndex"], frame["lineNumber"], frame["type"]))
    key = (event["type"], thread["javaName"] or thread["osName"], values["stackTrace"]["truncated"], "\t".join(frames))
    counts[key] += 1
for (event, thread, truncated, frames), hits in sorted(counts.items()):
    print(hits, event, thread, str(truncated).lower(), frames, sep="\t")
