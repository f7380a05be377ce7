#!/usr/bin/env python3
"""Gives a raw profile of version 11 (64 bits, little-endian) uniform counters.

    uniform.py PLAIN.profraw UNIFORM.profraw

Only programs of a GPU have them, so a program of the host is made to look as if
its first, third, fifth … block were always entered by a whole wave, and the
others seven times out of eight: most of those are not uniform.
"""
import struct
import sys

HEADER_WORDS = 19
RECORD = 72
UNIFORM_POINTER, NUM_COUNTERS = 24, 56
# Offsets in the header.
(VERSION, BINARY_IDS, DATA, PAD_BEFORE, COUNTERS, PAD_AFTER, BITMAP, PAD_BITMAP, UNIFORM, PAD_UNIFORM, DELTA, _,
 COUNTERS_DELTA) = range(1, 14)


def main(plain, uniform):
    with open(plain, "rb") as file:
        data = bytearray(file.read())
    words = list(struct.unpack_from(f"<{HEADER_WORDS}Q", data))
    assert words[VERSION] & 0xFFFFFFFF == 11 and words[UNIFORM] == 0
    records = 8 * HEADER_WORDS + words[BINARY_IDS]
    counters = records + RECORD * words[DATA] + words[PAD_BEFORE]
    bitmap = counters + 8 * words[COUNTERS] + words[PAD_AFTER]
    section = bitmap + words[BITMAP] + words[PAD_BITMAP]
    # Assume that the sections are contiguous in memory, like in the file.
    words[DELTA] = section - records
    added = []
    for record in range(records, records + RECORD * words[DATA], RECORD):
        pointer, = struct.unpack_from("<Q", data, record + 16)
        number, = struct.unpack_from("<I", data, record + NUM_COUNTERS)
        first = counters + (pointer - words[COUNTERS_DELTA] + record - records & 0xFFFFFFFFFFFFFFFF)
        counts = struct.unpack_from(f"<{number}Q", data, first)
        struct.pack_into("<Q", data, record + UNIFORM_POINTER, section + 8 * len(added) - record)
        added += [count - (count // 8 if at % 2 else 0) for at, count in enumerate(counts)]
    words[UNIFORM] = len(added)
    struct.pack_into(f"<{HEADER_WORDS}Q", data, 0, *words)
    data[section:section] = struct.pack(f"<{len(added)}Q", *added)
    with open(uniform, "wb") as file:
        file.write(data)


main(*sys.argv[1:])
