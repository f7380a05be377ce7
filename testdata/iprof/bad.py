#!/usr/bin/env python3
"""Writes testdata/iprof/bad: one file per finding, which is its name.

Each is a small sound profile with exactly one defect.
"""
import gzip
import json
import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bad")


def sound():
    """A profile without findings."""
    return {
        "version": "1.1.0",
        "types": [
            {"id": 0, "name": "boolean"},
            {"id": 4, "name": "int"},
            {"id": 8, "name": "void"},
            {"id": 9, "name": "app.Main"},
            {"id": 10, "name": "app.Circle"},
        ],
        "methods": [
            {"id": 1, "name": "main", "signature": [9, 8]},
            {"id": 2, "name": "area", "signature": [10, 4, 4]},
        ],
        "monitorProfiles": [{"ctx": "0:0", "records": [9, 3]}],
        "virtualInvokeProfiles": [{"ctx": "1:5", "records": [10, 20]}],
        "callCountProfiles": [{"ctx": "1:0", "records": [1]}, {"ctx": "2:0<1:5", "records": [20]}],
        "conditionalProfiles": [{"ctx": "2:3<1:5", "records": [7, 0, 15, 12, 1, 5]}],
        "samplingProfiles": [{"ctx": "2:4<1:5", "records": [6]}],
        "instanceofProfiles": [{"ctx": "2:8", "records": [10, 2]}],
    }


def text(profile):
    return json.dumps(profile, separators=(",", ":"), ensure_ascii=False)


def write(name, content):
    if isinstance(content, str):
        content = content.encode()
    with open(os.path.join(FOLDER, name), "wb") as file:
        file.write(content)


def changed(code, change):
    profile = sound()
    write(code + ".iprof", text(change(profile) or profile))


def at(*path, value):
    """Sets a member; a list index may be the length of the list."""

    def change(profile):
        place = profile
        for step in path[:-1]:
            place = place[step]
        if isinstance(place, list) and path[-1] == len(place):
            place.append(value)
        else:
            place[path[-1]] = value

    return change


def without(*path):
    def change(profile):
        place = profile
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return change


def renamed(old, new):
    return lambda profile: {new if key == old else key: value for key, value in profile.items()}


def main():
    os.makedirs(FOLDER, exist_ok=True)
    whole = text(sound())
    calls, ways, receivers = "callCountProfiles", "conditionalProfiles", "virtualInvokeProfiles"

    write("truncated.iprof", whole[: whole.index('"samplingProfiles"') - 20])
    write("bad-json.iprof", whole.replace('"records":[20]', '"records":[20,]', 1))
    write("unreadable.iprof", gzip.compress(whole.encode(), mtime=0)[:-150])
    write("empty-file.iprof", "")
    write("bad-encoding.iprof", whole.encode().replace(b"app.Circle", b"app.C\xffrcle"))
    write("byte-order-mark.iprof", "\ufeff" + whole)
    write("root-not-object.iprof", "[" + whole + "]")
    write("duplicate-key.iprof", whole[:-1] + ',"' + calls + '":[]}')
    changed("wrong-json-type", at(calls, 2, value=["1:5", 1]))
    write("not-an-iprof.iprof", '{"name":"app","version":"1.0.0","types":"index.d.ts","scripts":{"test":"run"}}')

    def placeholders(profile):
        profile["types"] = [{"id": -1, "name": ""}]
        profile["methods"] = [{"id": -1, "name": "", "signature": [-1, -1]}]

    changed("placeholder-tables", placeholders)
    changed("missing-field", at(calls, 2, value={"ctx": "1:5"}))
    changed("bad-version", at("version", value="1x1y0"))
    changed("unsupported-major", at("version", value="2.0.0"))
    changed("newer-minor", at("version", value="1.7.0"))

    def older(profile):
        profile["version"] = "0.4.0"
        del profile["instanceofProfiles"]

    changed("pre-release-version", older)
    legacy = sound()
    del legacy["instanceofProfiles"]
    legacy["version"] = "1.0.0"
    write("legacy-layout.iprof", text(renamed(calls, "hotnessPoints")(legacy)))
    changed("bad-name", at("methods", 2, value={"id": 3, "name": "line\nbreak", "signature": [9, 8]}))
    changed("empty-name", at("methods", 2, value={"id": 3, "name": "", "signature": [9, 8]}))
    changed("odd-type-name", at("types", 5, value={"id": 11, "name": "Lapp/Main;"}))
    changed("id-range", at("types", 5, value={"id": 2**31, "name": "app.Far"}))
    changed("repeated-type", at("types", 5, value={"id": 10, "name": "app.Circle"}))
    changed("repeated-method", at("methods", 2, value={"id": 1, "name": "main", "signature": [9, 8]}))
    changed("duplicate-type-id", at("types", 5, value={"id": 0, "name": "app.Other"}))
    changed("duplicate-method-id", at("methods", 2, value={"id": 1, "name": "other", "signature": [9, 8]}))
    changed("duplicate-type-name", at("types", 5, value={"id": 11, "name": "app.Circle"}))
    changed("duplicate-method", at("methods", 2, value={"id": 3, "name": "main", "signature": [9, 8]}))
    changed("short-signature", at("methods", 2, value={"id": 3, "name": "short", "signature": [9]}))
    changed("primitive-declarer", at("methods", 2, value={"id": 3, "name": "abs", "signature": [4, 4]}))
    changed("void-parameter", at("methods", 2, value={"id": 3, "name": "take", "signature": [9, 8, 8]}))
    changed("dangling-type", at(receivers, 0, "records", value=[77, 1, 10, 20]))
    changed("dangling-method", at(calls, 2, value={"ctx": "77:0", "records": [1]}))
    changed("bad-context", at(calls, 2, value={"ctx": "2:0<", "records": [1]}))
    changed("callcount-leaf-bci", at(calls, 2, value={"ctx": "2:3", "records": [1]}))
    changed("monitor-context", at("monitorProfiles", 0, "ctx", value="1:0"))
    changed("monitor-count", at("monitorProfiles", 1, value={"ctx": "0:0", "records": [10, 1]}))
    changed("bad-arity", at(ways, 0, "records", value=[7, 0, 15, 12, 1]))
    changed("empty-records", at(ways, 1, value={"ctx": "2:9", "records": []}))
    write("not-an-integer.iprof", whole.replace('"records":[20]', '"records":[2e1]', 1))
    changed("count-range", at(calls, 1, "records", value=[2**63]))
    changed("negative-count", at(calls, 1, "records", value=[-20]))
    changed("negative-branch-index", at(ways, 0, "records", value=[7, -1, 15, 12, 1, 5]))
    changed("branch-index-clash", at(ways, 0, "records", value=[7, 0, 15, 12, 0, 5]))
    changed("never-executed", at(ways, 0, "records", value=[7, 0, 0, 12, 1, 0]))
    changed("odd-bci", at(ways, 0, "ctx", value="2:-7<1:5"))
    changed("duplicate-context", at(calls, 2, value={"ctx": "1:0", "records": [4]}))
    changed("repeated-type-in-records", at(receivers, 0, "records", value=[10, 20, 10, 1]))

    def many(profile):
        names = ["app.T%d" % number for number in range(8)]
        profile["types"] += [{"id": 20 + number, "name": name} for number, name in enumerate(names)]
        profile[receivers][0]["records"] = [10, 20] + [x for number in range(8) for x in (20 + number, 1)]

    changed("many-receivers", many)
    changed("primitive-receiver", at(receivers, 0, "records", value=[0, 20]))

    def packed(profile):
        profile[receivers] = [
            {"ctx": "1:5", "records": [10, 1500 * 2**32 + 6858]},
            {"ctx": "1:9", "records": [10, 31 * 2**32 + 44]},
        ]

    changed("packed-counts", packed)
    changed("both-instanceof-spellings", at("instanceOfProfiles", value=[{"ctx": "2:9", "records": [10, 2]}]))
    changed("section-newer-than-version", at("version", value="1.0.0"))
    changed("unknown-section", at("futureProfiles", value=[{"x": 1}]))

    def bare(profile):
        for section in list(profile):
            if section.endswith("Profiles"):
                profile[section] = []

    changed("no-profiles", bare)


if __name__ == "__main__":
    main()
