#!/usr/bin/env python3
"""Writes the software bill of materials of the program, as CycloneDX 1.5 in JSON.

    packaging/sbom.py [OUTPUT]

Everything comes from Cargo.toml and Cargo.lock, by `cargo metadata`; the same
sources give the same bytes. Dependencies of tests alone are left out, those of
other systems are in. Without OUTPUT it goes to standard output.
"""

import json
import os
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def metadata():
    cargo = os.environ.get("CARGO", "cargo")
    command = [cargo, "metadata", "--format-version=1", "--locked", "--all-features"]
    command += ["--manifest-path", str(ROOT / "Cargo.toml")]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def checksums():
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    return {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}


def built_from(resolve):
    """Return the packages of the program, each with its dependencies."""
    nodes = {node["id"]: node for node in resolve["nodes"]}
    found, waiting = {}, [resolve["root"]]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        is_used = lambda dep: any(kind["kind"] != "dev" for kind in dep["dep_kinds"])
        found[name] = sorted({dep["pkg"] for dep in nodes[name]["deps"] if is_used(dep)})
        waiting += found[name]
    return found


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, sums):
    kind = "application" if package["source"] is None else "library"
    made = {"type": kind, "bom-ref": purl(package), "name": package["name"], "version": package["version"]}
    made["description"] = " ".join((package["description"] or "").split())
    made["purl"] = purl(package)
    if package["license"]:
        # Old packages write expressions as "MIT/Apache-2.0".
        made["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    sum = sums.get((package["name"], package["version"]))
    if sum:
        made["hashes"] = [{"alg": "SHA-256", "content": sum}]
    if package["repository"]:
        made["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return made


def main():
    found = metadata()
    packages = {package["id"]: package for package in found["packages"]}
    used, sums = built_from(found["resolve"]), checksums()
    refs = {name: purl(packages[name]) for name in used}
    root = found["resolve"]["root"]
    others = sorted((name for name in used if name != root), key=lambda name: refs[name])
    bom = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(packages[root], sums)},
        "components": [component(packages[name], sums) for name in others],
        "dependencies": [
            {"ref": refs[name], "dependsOn": sorted(refs[other] for other in used[name])}
            for name in sorted(used, key=lambda name: refs[name])
        ],
    }
    # A serial number that depends only on the content.
    content = json.dumps(bom, sort_keys=True)
    bom["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}"
    text = json.dumps(bom, indent=1) + "\n"
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text)
    else:
        sys.stdout.write(text)


main()
