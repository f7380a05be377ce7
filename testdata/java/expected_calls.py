#!/usr/bin/env python3
"""Counts the calls in the output of `jfr print --json` on standard input.

One line for each event type and method: calls, event, method, separated by tabs. jdk.MethodTiming holds the number of
calls since the start, so its last event counts. The recordings' tests compare with it.
"""
import collections
import json
import sys

calls = collections.Counter()
for event in json.load(sys.stdin)["recording"]["events"]:
    values = event["values"]
    method = values["method"]
    key = (event["type"], "{}.{}".format(method["type"]["name"], method["name"]))
    calls[key] = max(calls[key], values["invocations"]) if "invocations" in values else calls[key] + 1
for (event, method), count in sorted(calls.items()):
    if count > 0:
        print(count, event, method, sep="\t")
