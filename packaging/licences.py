#!/usr/bin/env python3
"""Prints the licence texts of all packages that are linked into the program.

Fails if a dependency contains no licence text and names no licence: the program
must not be distributed then.
"""

import json
import pathlib
import subprocess
import sys

NAMES = ("licen", "copying", "notice", "unlicense")


def linked(metadata):
    """Return the packages that are part of the program, without build and test dependencies."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    todo, seen = [metadata["resolve"]["root"]], set()
    while todo:
        one = todo.pop()
        if one in seen:
            continue
        seen.add(one)
        for dependency in nodes[one]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                todo.append(dependency["pkg"])
    return [package for package in metadata["packages"] if package["id"] in seen]


def texts(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    files = [file for file in folder.iterdir() if file.is_file() and file.name.lower().startswith(NAMES)]
    return sorted(files)


def main():
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", host()]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    nameless = []
    for package in sorted(linked(metadata), key=lambda package: (package["name"], package["version"])):
        licence, files = package.get("license"), texts(package)
        if not licence and not files:
            nameless.append(package["name"])
            continue
        print("=" * 78)
        print(f"{package['name']} {package['version']}: {licence or 'see below'}")
        for file in files:
            print("-" * 78)
            print(file.read_text(errors="replace").strip())
    if nameless:
        sys.exit(f"error: no licence: {', '.join(nameless)}")


def host():
    version = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    return next(line.split()[1] for line in version.splitlines() if line.startswith("host: "))


if __name__ == "__main__":
    main()
