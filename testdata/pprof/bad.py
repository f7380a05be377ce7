#!/usr/bin/env python3
"""Writes bad/: each file is a valid profile with a single defect, which is its name.

Usage: bad.py OUT_FOLDER (called by make.sh)
"""

import gzip
import sys
from pathlib import Path

out = Path(sys.argv[1])
out.mkdir(exist_ok=True)


def varint(number):
    data = b""
    while number > 0x7F:
        data += bytes([number & 0x7F | 0x80])
        number >>= 7
    return data + bytes([number])


def number(field, value):
    return varint(field << 3) + varint(value)


def part(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field, values):
    return part(field, b"".join(varint(value) for value in values))


TEXTS = ["", "samples", "count", "main.main", "main.loop", "main.go"]


def profile(**changed):
    """main.main calls main.loop; every part can be replaced."""
    parts = {
        "kind": part(1, number(1, 1) + number(2, 2)),
        "sample": part(2, packed(1, [2, 1]) + packed(2, [3]) + part(3, number(1, 3) + number(2, 4))),
        "mapping": part(3, number(1, 1) + number(2, 0x1000) + number(3, 0x2000) + number(5, 5)),
        "outer": part(4, number(1, 1) + number(2, 1) + number(3, 0x1010) + part(4, number(1, 1) + number(2, 12))),
        "inner": part(4, number(1, 2) + number(2, 1) + number(3, 0x1020) + part(4, number(1, 2) + number(2, 22))),
        "main": part(5, number(1, 1) + number(2, 3) + number(4, 5) + number(5, 10)),
        "loop": part(5, number(1, 2) + number(2, 4) + number(4, 5) + number(5, 20)),
        "texts": b"".join(part(6, text.encode()) for text in TEXTS),
        "rest": b"",
    }
    assert changed.keys() <= parts.keys()
    return b"".join({**parts, **changed}.values())


def save(name, data):
    (out / f"{name}.pprof").write_bytes(data)


save("good", profile())
save("text-cut", profile(rest=b"\x32\x7f" + b"abc"))
save("tag-cut", profile(rest=b"\x80"))
save("number-endless", profile(rest=b"\x48" + b"\xff" * 11))
save("nested-length-beyond-parent", profile(outer=part(4, number(1, 1) + b"\x22\x40" + b"\x08")))
save("group", profile(rest=b"\x0b"))
save("field-0", profile(rest=b"\x02\x00"))
save("fixed-cut", profile(rest=b"\x09\x01"))
save("number-for-message", profile(rest=b"\x08\x01"))
save("message-for-number", profile(rest=b"\x4a\x00"))
save("first-text-not-empty", profile(texts=b"".join(part(6, text.encode()) for text in ["x"] + TEXTS[1:])))
save("text-not-there", profile(kind=part(1, number(1, 77) + number(2, 2))))
save("mapping-without-id", profile(mapping=part(3, number(2, 0x1000))))
save("location-without-id", profile(outer=part(4, number(3, 0x1010))))
save("function-twice", profile(loop=part(5, number(1, 1) + number(2, 4))))
save("location-twice", profile(inner=part(4, number(1, 1))))
save("mapping-not-there", profile(outer=part(4, number(1, 1) + number(2, 9))))
save("function-not-there", profile(inner=part(4, number(1, 2) + part(4, number(1, 9)))))
save("location-not-there", profile(sample=part(2, packed(1, [9]) + packed(2, [3]))))
save("location-id-huge", profile(sample=part(2, packed(1, [2**64 - 1]) + packed(2, [3]))))
save("values-missing", profile(sample=part(2, packed(1, [2, 1]))))
save("values-too-many", profile(sample=part(2, packed(1, [2, 1]) + packed(2, [3, 4]))))
save("label-text-not-there", profile(sample=part(2, packed(1, [2, 1]) + packed(2, [3]) + part(3, number(1, 99)))))
save("gzip-cut", gzip.compress(profile(), mtime=0)[:-12])
save("gzip-of-zeros", gzip.compress(profile(rest=part(100, bytes(3_000_000))), mtime=0))
