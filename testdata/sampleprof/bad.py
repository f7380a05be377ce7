"""Writes ../bad/sampleprof/: each file is a sample profile with a single defect, which is its name.

Usage: bad.py OUT_FOLDER (called by make.sh)
"""

import struct
import sys
import zlib
from pathlib import Path

out = Path(sys.argv[1])


def save(name, *parts):
    (out / name).write_bytes(b"".join(part.encode() if isinstance(part, str) else part for part in parts))


def uleb(*values):
    written = bytearray()
    for value in values:
        while value >= 0x80:
            written.append(value & 0x7F | 0x80)
            value >>= 7
        written.append(value)
    return bytes(written)


# Files that are not sample profiles.
save("indented-head.prof", " foo:1:1\n")
save("only-a-name.prof", "foo\n")
save("other-version-of-gcc.gcda", b"adcg*705", bytes(4))

# Text.
save("location-is-no-number.prof", "foo:1:1\n x\n")
save("line-too-large.prof", "foo:1:1\n 65536: 1\n")
save("line-of-33-bits.prof", "foo:1:1\n 4294967296.1: 1\n")
save("blank-at-the-end.prof", "foo:1:1\n 1: 1 \n")
save("target-without-count.prof", "foo:1:1\n 1: 1 a:b\n")
save("negative-count.prof", "foo:1:1\n 1: a:-3\n")
save("count-of-65-bits.prof", "foo:1:1\n 1: 18446744073709551616\n")
save("head-with-one-number.prof", "foo:1:1\nbar:1\n")
save("tab-for-blank.prof", "foo:1:1\n\t1: 1\n")
save("unknown-metadata.prof", "foo:1:1\n !Checksum: 5\n")
save("attributes-of-33-bits.prof", "foo:1:1\n !Attributes: 4294967296\n")
save("vtable-twice.prof", "foo:1:1\n 1: vtables A:1 A:2\n")
save("samples-after-metadata.prof", "foo:1:1\n !CFGChecksum: 1\n 1: 1\n")
save("context-without-frames.prof", "[]:1:1\n")
save("sum-overflows.prof", f"foo:{2**64 - 1}:1\nfoo:1:1\n")

# Plain binaries: magic, version, a summary, names, records.
PLAIN = 0x5350524F463432FF
EXT = 0x5350524F46343204
COMPACT = 0x5350524F46343202
SUMMARY = bytes(6)
FOO = uleb(1) + b"foo\0"


def plain(*rest, version=103):
    return uleb(PLAIN, version) + b"".join(rest)


save("version-105.binary", plain(SUMMARY, FOO, version=105))
save("version-102.binary", plain(SUMMARY, FOO, version=102))
save("ends-behind-version.binary", plain())
save("ends-in-summary.binary", plain(uleb(1, 2, 3)))
save("fewer-names-than-stated.binary", plain(SUMMARY, uleb(5), b"a\0"))
save("huge-number-of-names.binary", plain(SUMMARY, uleb(2**63), b"a\0"))
save("name-without-end.binary", plain(SUMMARY, uleb(1), b"abc"))
save("name-out-of-range.binary", plain(SUMMARY, FOO, uleb(1, 1)))
save("ends-in-body.binary", plain(SUMMARY, FOO, uleb(1, 0, 5, 1)))
save("callee-out-of-range.binary", plain(SUMMARY, FOO, uleb(1, 0, 5, 0, 1, 0, 0, 9)))
save("target-out-of-range.binary", plain(SUMMARY, FOO, uleb(1, 0, 5, 1, 1, 0, 5, 1, 9, 1)))
save("number-of-places-of-33-bits.binary", plain(SUMMARY, FOO, uleb(1, 0, 5, 1 << 32)))
save("number-of-targets-of-33-bits.binary", plain(SUMMARY, FOO, uleb(1, 0, 5, 1, 1, 0, 5, 1 << 32)))
save("number-of-callees-of-33-bits.binary", plain(SUMMARY, FOO, uleb(1, 0, 5, 0, 1 << 32)))
save("huge-number-of-places.binary", plain(SUMMARY, FOO, uleb(1, 0, 5, (1 << 32) - 1)))
save("line-too-large.binary", plain(SUMMARY, FOO, uleb(1, 0, 5, 1, 1 << 16, 0, 1, 0, 0)))
save("number-without-end.binary", plain(SUMMARY, FOO, uleb(1, 0), b"\xff" * 11 + b"\x7f"))
save("deep-inlining.binary", plain(SUMMARY, FOO, uleb(1, 0), uleb(1, 0, 1, 0, 0, 0) * 1200))


def ext(*sections, count=None, version=103):
    """Sections are type, flags and content. An optional offset and size replace the correct ones."""
    places, contents = b"", b""
    start = 18 + 32 * len(sections)
    for kind, flags, content, *lie in sections:
        offset, size = lie or (start + len(contents), len(content))
        places += struct.pack("<4Q", kind, flags, offset, size)
        contents += content
    number = struct.pack("<Q", len(sections) if count is None else count)
    return uleb(EXT, version) + number + places + contents


COMPRESSED, MD5, FIXED, CONTEXTS, VTABLES = 1, 1 << 32, 1 << 33, 1 << 33, 1 << 37
NAMES = (2, 0, FOO)
save("version-105.extbinary", ext(NAMES, version=105))
save("ends-behind-version.extbinary", uleb(EXT, 103))
save("ends-in-table.extbinary", ext(NAMES)[:30])
save("huge-number-of-sections.extbinary", ext(count=2**64 - 1))
save("section-behind-the-end.extbinary", ext((2, 0, FOO, 1 << 40, 5)))
save("section-offset-wraps.extbinary", ext((2, 0, FOO, 2**64 - 1, 5)))
save("section-too-long.extbinary", ext((2, 0, FOO, 50, 500)))
save("rest-behind-names.extbinary", ext((2, 0, FOO + b"x")))
save("rest-behind-summary.extbinary", ext((1, 0, SUMMARY + b"x")))
save("rest-behind-contexts.extbinary", ext(NAMES, (6, 0, uleb(0, 0))))
save("fewer-hashes-than-stated.extbinary", ext((2, MD5 | FIXED, uleb(2) + bytes(8))))
save("huge-number-of-hashes.extbinary", ext((2, MD5 | FIXED, uleb(2**61) + bytes(8))))
save("records-before-names.extbinary", ext((32, 0, uleb(1, 0, 0, 0, 0)), NAMES))
save("fewer-contexts-than-stated.extbinary", ext(NAMES, (6, 0, uleb(2, 0))))
save("fewer-frames-than-stated.extbinary", ext(NAMES, (6, 0, uleb(1, 9, 0))))
save("frame-out-of-range.extbinary", ext(NAMES, (6, 0, uleb(1, 1, 7, 1, 0))))
save("line-of-frame-too-large.extbinary", ext(NAMES, (6, 0, uleb(1, 1, 0, 1 << 16, 0))))
IN_CONTEXTS = (1, CONTEXTS, SUMMARY)
save("context-out-of-range.extbinary", ext(IN_CONTEXTS, NAMES, (6, 0, uleb(0)), (32, 0, uleb(1, 0, 0, 0, 0))))
save("context-without-frames.extbinary", ext(IN_CONTEXTS, NAMES, (6, 0, uleb(1, 0)), (32, 0, uleb(1, 0, 0, 0, 0))))
save("contexts-of-13.extbinary", ext(IN_CONTEXTS, (2, 0, uleb(1) + b"a:1 @ b\0"), (32, 0, uleb(1, 0, 0, 0, 0))))
RECORD = (32, 0, uleb(1, 0, 5, 0, 0))
save("ends-in-vtables.extbinary", ext((1, VTABLES, SUMMARY), NAMES, (32, 0, uleb(1, 0, 5, 0, 0, 1, 1))))
save("vtable-out-of-range.extbinary", ext((1, VTABLES, SUMMARY), NAMES, (32, 0, uleb(1, 0, 5, 0, 0, 1, 1, 0, 1, 4, 4))))
save("symbol-without-end.extbinary", ext(NAMES, (3, 0, b"abc")))
save("metadata-of-no-function.extbinary", ext(NAMES, RECORD, (5, 1 << 32, uleb(6, 7, 0))))
save("metadata-cut.extbinary", ext(NAMES, RECORD, (5, 1 << 32, uleb(0, 7))))
save("attributes-of-33-bits.extbinary", ext(NAMES, RECORD, (5, 1 << 33, uleb(0, 1 << 32, 0))))
save("deep-metadata.extbinary", ext(NAMES, RECORD, (5, 1 << 32, uleb(0) + uleb(7, 1, 0, 0, 0) * 1200)))
stream = zlib.compress(FOO, 9)
save("inflates-to-more.extbinary", ext((2, COMPRESSED, uleb(4, len(stream)) + stream)))
save("inflates-to-less.extbinary", ext((2, COMPRESSED, uleb(6, len(stream)) + stream)))
save("inflates-to-terabytes.extbinary", ext((2, COMPRESSED, uleb(1 << 42, len(stream)) + stream)))
save("stream-is-none.extbinary", ext((2, COMPRESSED, uleb(5, 4) + b"abcd")))
save("stream-is-cut.extbinary", ext((2, COMPRESSED, uleb(5, len(stream)) + stream[:-6])))
save("unknown-section-does-not-inflate.extbinary", ext(NAMES, (77, COMPRESSED, uleb(5, 4) + b"abcd")))


# Compact binaries: names as hashes; the offset of the table follows the records.
def compact(offset, *rest, names=uleb(1, 12345)):
    return uleb(COMPACT, 103) + SUMMARY + names + struct.pack("<Q", offset) + b"".join(rest)


HEAD = len(compact(0))
COMPACT_RECORD = uleb(1, 0, 5, 0, 0)
TABLE = HEAD + len(COMPACT_RECORD)
save("table-behind-the-end.compact", compact(2**64 - 1, COMPACT_RECORD))
save("fewer-functions-than-stated.compact", compact(TABLE, COMPACT_RECORD, uleb(2, 0, HEAD)))
save("huge-number-of-functions.compact", compact(TABLE, COMPACT_RECORD, uleb(2**63, 0, HEAD)))
save("record-behind-the-table.compact", compact(TABLE, COMPACT_RECORD, uleb(1, 0, 1 << 40)))
save("name-out-of-range.compact", compact(TABLE, COMPACT_RECORD, uleb(1, 3, HEAD)))
two = uleb(2, 12345, 54321)
save("another-function.compact", compact(TABLE + 3, COMPACT_RECORD, uleb(1, 1, HEAD + 3), names=two))


# GCC's form: words of four bytes.
def gcc(*words):
    return b"adcg*704" + struct.pack(f"<{len(words)}I", *words)


NAME = struct.unpack("<I", b"foo\0")[0]
NAME_TABLE = (0, 0xAA000000, 0, 1, 1, NAME)
FUNCTIONS = (*NAME_TABLE, 0xAC000000, 0, 1, 5, 0)
save("other-tag.gcda", gcc(0, 7))
save("fewer-names-than-stated.gcda", gcc(0, 0xAA000000, 0, 9))
save("huge-name.gcda", gcc(0, 0xAA000000, 0, 1, 0xFFFFFFFF, NAME))
save("no-functions.gcda", gcc(*NAME_TABLE))
save("name-out-of-range.gcda", gcc(*FUNCTIONS, 3))
save("ends-in-function.gcda", gcc(*FUNCTIONS, 0, 1, 0, 1))
save("other-histogram.gcda", gcc(*FUNCTIONS, 0, 1, 0, 1, 1, 5, 0, 6))
save("target-out-of-range.gcda", gcc(*FUNCTIONS, 0, 1, 0, 1, 1, 5, 0, 7, 9, 0, 5, 0))
save("deep-inlining.gcda", gcc(*FUNCTIONS, *(0, 0, 1, 1 << 16) * 1200))
