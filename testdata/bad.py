"""Writes bad/: each file is a valid one with a single defect, which is its name.

Usage: bad.py RAW_FOLDER MERGE_FOLDER OUT_FOLDER (called by make.sh)
"""

import struct
import sys
from pathlib import Path

raw, merged, out = (Path(argument) for argument in sys.argv[1:4])

# Words of a raw header of version 10, in order.
WORDS = (
    "Magic Version BinaryIdsSize NumData PadBeforeCounters NumCounters PadAfterCounters NumBitmapBytes "
    "PadAfterBitmap NamesSize CountersDelta BitmapDelta NamesDelta NumVTables VNamesSize ValueKindLast"
).split()
HEADER = 8 * len(WORDS)
RECORD = 64


class Profile:
    """Return a raw profile of version 10 and the offsets of its sections."""

    def __init__(self, path):
        self.bytes = bytearray(path.read_bytes())
        word = dict(zip(WORDS, struct.unpack_from(f"<{len(WORDS)}Q", self.bytes)))
        assert word["Version"] & 0xFFFFFFFF == 10, path
        self.word = word
        self.ids = HEADER
        self.data = self.ids + word["BinaryIdsSize"]
        self.counters = self.data + word["NumData"] * RECORD + word["PadBeforeCounters"]
        bitmap = self.counters + word["NumCounters"] * 8 + word["PadAfterCounters"]
        self.names = bitmap + word["NumBitmapBytes"] + word["PadAfterBitmap"]
        end = self.names + word["NamesSize"]
        self.values = end + -end % 8

    def header(self, name, value):
        struct.pack_into("<Q", self.bytes, 8 * WORDS.index(name), value)
        return self

    def patch(self, offset, layout, value):
        struct.pack_into("<" + layout, self.bytes, offset, value)
        return self


def good():
    return Profile(raw / "clang-22-ir.profraw")


def plain():
    """Return a profile with uncompressed names and without value data."""
    return Profile(raw / "clang-22-plain-names.profraw")


def save(name, content):
    (out / name).write_bytes(bytes(content.bytes if isinstance(content, Profile) else content))


# Not a profile at all.
save("empty.profraw", b"")
save("not-a-profile.profraw", b"\x89PNG\r\n\x1a\n" + bytes(range(128, 256)))
save("four-bytes.profraw", good().bytes[:4])

# Truncated in each section.
base = good()
save("truncated.profraw", base.bytes[: len(base.bytes) // 2])
save("truncated-in-header.profraw", base.bytes[:77])
save("truncated-in-binary-ids.profraw", base.bytes[: base.ids + 9])
save("truncated-in-data.profraw", base.bytes[: base.data + RECORD + 5])
save("truncated-in-counters.profraw", base.bytes[: base.counters + 11])
save("truncated-in-names.profraw", base.bytes[: base.names + 20])
save("truncated-in-value-data.profraw", base.bytes[: base.values + 20])

# Impossible lengths.
save("huge-length.profraw", good().header("NamesSize", 1 << 62))
save("huge-num-data.profraw", good().header("NumData", (1 << 64) // RECORD))
save("huge-num-counters.profraw", good().header("NumCounters", (1 << 61) + 3))
save("huge-binary-ids.profraw", good().header("BinaryIdsSize", (1 << 64) - 8))
save("huge-num-vtables.profraw", good().header("NumVTables", 1 << 63))
save("huge-vtable-names.profraw", good().header("VNamesSize", (1 << 64) - 8))
save("huge-bitmap.profraw", good().header("NumBitmapBytes", (1 << 64) - 1))
save("huge-padding.profraw", good().header("PadAfterCounters", (1 << 64) - 16))
save("huge-value-data.profraw", good().patch(base.values, "I", 0xFFFFFFF8))
save("huge-value-sites.profraw", good().patch(base.values + 12, "I", 0xFFFFFFFF))
save("huge-inflated-names.profraw", good().patch(base.names, "4s", b"\xff\xff\xff\x7f"))

# Unknown versions.
save("unsupported-version.profraw", good().header("Version", (1 << 56) | 99))
save("version-6.profraw", good().header("Version", (1 << 56) | 6))
save("memprof-bit.profraw", good().header("Version", (1 << 62) | 10))

# Binary ids.
save("unaligned-binary-ids.profraw", good().header("BinaryIdsSize", 31))
save("empty-binary-id.profraw", good().patch(base.ids, "Q", 0))
save("long-binary-id.profraw", good().patch(base.ids, "Q", 4096))

# Records.
save("no-counters.profraw", good().patch(base.data + 48, "I", 0))
save("too-many-counters.profraw", good().patch(base.data + 48, "I", 1 << 20))
save("counters-out-of-range.profraw", good().patch(base.data + 16, "Q", 1 << 40))
save("negative-counter-offset.profraw", good().patch(base.data + 16, "q", -(1 << 40)))
save("bitmap-out-of-range.profraw", good().patch(base.data + 60, "I", 8))
save("name-not-found.profraw", good().patch(base.data, "Q", 0x0123456789ABCDEF))
save("counter-above-2-56.profraw", good().patch(base.counters, "Q", (1 << 56) + 1))

# Names.
save("bad-zlib.profraw", good().patch(base.names + 4, "Q", 0))
text = plain()
save("endless-length-of-names.profraw", plain().patch(text.names, "8s", b"\xff" * 8))
save("names-beyond-section.profraw", plain().patch(text.names, "B", 0x7F))
save("empty-name.profraw", plain().patch(text.names + 2, "B", 1))

# Value data.
save("unaligned-value-data.profraw", good().patch(base.values, "I", 12))
save("too-many-value-kinds.profraw", good().patch(base.values + 4, "I", 9))
save("unknown-value-kind.profraw", good().patch(base.values + 8, "I", 7))

# Data after the first profile.
two = Profile(raw / "clang-22-shared-library.profraw")
second = two.bytes.index(two.bytes[:8], 8)
save("other-magic-behind.profraw", two.patch(second + 2, "B", 0x52))
save("rubbish-behind.profraw", good().bytes + b"rubbish")
save("unaligned-second-profile.profraw", good().bytes + bytes(4) + good().bytes)
save("truncated-second-profile.profraw", good().bytes + good().bytes[:60])

# Indexed profiles.
indexed = bytearray((merged / "clang-22" / "llvm-22.profdata").read_bytes())


def patched(offset, layout, value):
    copy = bytearray(indexed)
    struct.pack_into("<" + layout, copy, offset, value)
    return copy


# Magic, version, an unused word, hash type, offset of the hash table.
(hash_offset,) = struct.unpack_from("<Q", indexed, 32)
save("truncated.profdata", indexed[: len(indexed) // 2])
save("truncated-in-header.profdata", indexed[:20])
save("unsupported-version.profdata", patched(8, "Q", (1 << 56) | 99))
save("unknown-hash-type.profdata", patched(24, "Q", 5))
save("hash-table-out-of-range.profdata", patched(32, "Q", 1 << 50))
save("huge-bucket-count.profdata", patched(hash_offset, "Q", 1 << 60))

# Uniform counters, added by raw version 11: two sizes and a delta before NamesSize.
UNIFORM_HEADER, UNIFORM_RECORD = HEADER + 24, RECORD + 8
uniform = (raw / "clang-23-ir-uniform.profraw").read_bytes()
uniform_records = UNIFORM_HEADER + struct.unpack_from("<Q", uniform, 16)[0]
# UniformCounterPtr is the fourth field of a record.
(uniform_pointer,) = struct.unpack_from("<Q", uniform, uniform_records + 24)


def with_uniform(offset, value):
    copy = bytearray(uniform)
    struct.pack_into("<Q", copy, offset, value % (1 << 64))
    return copy


save("uniform-counters-out-of-range.profraw", with_uniform(uniform_records + 24, uniform_pointer + (1 << 30)))
save("negative-uniform-counter-offset.profraw", with_uniform(uniform_records + 24, uniform_pointer - 8))
save("no-pointer-to-uniform-counters.profraw", with_uniform(uniform_records + UNIFORM_RECORD + 24, 0))
save("huge-num-uniform-counters.profraw", with_uniform(8 * 9, 1 << 60))

# Indexed profiles of version 14, whose records have packed bytes behind two lengths.
packed = (merged / "clang-23" / "llvm-23-uniform.profdata").read_bytes()
item = 72 + 448 + 2
_, name_length, data_length = struct.unpack_from("<3Q", packed, item)
record = item + 24 + name_length
(counters,) = struct.unpack_from("<Q", packed, record + 8)
bitmap_length = record + 16 + 8 * counters
uniformity_length = bitmap_length + 8


def with_length(offset, value):
    copy = bytearray(packed)
    struct.pack_into("<Q", copy, offset, value)
    return copy


save("bitmap-beyond-record.profdata", with_length(bitmap_length, data_length))
save("bitmap-length-near-2-64.profdata", with_length(bitmap_length, (1 << 64) - 1))
save("uniformity-beyond-record.profdata", with_length(uniformity_length, data_length))
save("uniformity-length-near-2-64.profdata", with_length(uniformity_length, (1 << 64) - 7))
save("huge-number-of-counters.profdata", with_length(record + 8, 1 << 61))
save("version-15.profdata", with_length(8, (1 << 56) | 15))
save("version-13-as-14.profdata", patched(8, "Q", (1 << 56) | 14))

# Text profiles.
save("word-for-count.proftext", b":ir\nmain\n10\n2\n5\nmany\n")
save("count-missing.proftext", b":ir\nmain\n10\n3\n5\n")
save("unknown-header.proftext", b":sideways\nmain\n10\n1\n5\n")
save("huge-count-of-counters.proftext", b"main\n10\n18446744073709551615\n5\n")

# Memory profiles: a raw profile is a header of six words (magic, version, size, offsets of segments, records and
# stacks) and these parts.
dump = (out.parent / "memprof" / "clang-22-plain.memprofraw").read_bytes()
(_, _, dump_size, _, dump_records, dump_stacks) = struct.unpack_from("<6Q", dump)


def with_word(content, offset, value):
    copy = bytearray(content)
    struct.pack_into("<Q", copy, offset, value)
    return copy


save("truncated-in-header.memprofraw", dump[:20])
save("truncated.memprofraw", dump[: dump_size // 2])
save("unknown-version.memprofraw", with_word(dump, 8, 99))
save("records-out-of-range.memprofraw", with_word(dump, 32, dump_size + 8))
save("huge-number-of-records.memprofraw", with_word(dump, dump_records, 1 << 60))
save("stack-not-found.memprofraw", with_word(dump, dump_records + 8, 0x0123456789ABCDEF))
save("huge-stack.memprofraw", with_word(dump, dump_stacks + 16, 1 << 61))

# The section of version 3 in an indexed profile: version, offsets of stacks, records and
# their index, then the number of fields and their ids.
stored = (out.parent / "memprof" / "clang-22-plain.v3.profdata").read_bytes()
(section,) = struct.unpack_from("<Q", stored, 40)
save("memprof-out-of-range.profdata", with_word(stored, 40, 1 << 50))
save("memprof-unknown-version.profdata", with_word(stored, section, 9))
save("memprof-stacks-out-of-range.profdata", with_word(stored, section + 8, 1 << 40))
save("memprof-huge-schema.profdata", with_word(stored, section + 32, 1 << 61))
save("memprof-unknown-field.profdata", with_word(stored, section + 40, 99))
save("memprof-id-0.profdata", with_word(stored, section + 40, 0))
save("memprof-index-out-of-range.profdata", with_word(stored, section + 24, 1 << 40))
save("memprof-odd-stacks.profdata", with_word(stored, section + 8, struct.unpack_from("<Q", stored, section + 8)[0] + 1))

# More raw memory profiles.
save("other-magic-behind.memprofraw", dump + with_word(dump, 0, 1))
save("rubbish-behind.memprofraw", dump + b"rubbish")
save("size-0.memprofraw", with_word(dump, 16, 0))
save("long-build-id.memprofraw", with_word(dump, 48 + 8 + 24, 33))
save("other-segments-behind.memprofraw", dump + with_word(dump, 48 + 8, 0x1000))
save("huge-number-of-segments.memprofraw", with_word(dump, 48, 1 << 60))
save("huge-histogram.memprofraw", with_word(dump, dump_records + 16 + 132, (1 << 32) - 1))
save("huge-number-of-stacks.memprofraw", with_word(dump, dump_stacks, 1 << 60))

# YAML.
save("unknown-key.yaml", b"---\nHeapProfileRecords:\n  - GUID: f\n    Unknown: 1\n")
save("decimal-guid.yaml", b"---\nHeapProfileRecords:\n  - GUID: 12\n")
save("word-for-number.yaml", b"---\nHeapProfileRecords:\n  - GUID: f\n    AllocSites:\n      - Callstack: []\n"
     b"        MemInfoBlock: { AllocCount: many }\n")
save("open-bracket.yaml", b"---\nHeapProfileRecords: [\n")
save("missing-key.yaml", b"---\nHeapProfileRecords:\n  - AllocSites: []\n")
save("anchor.yaml", b"---\nHeapProfileRecords: &all []\n")
