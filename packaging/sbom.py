"""Makes `mcp-proxmox.cdx.json`, the list of what is inside the program, as CycloneDX.

    sbom.py OUT

It has what is linked in, on any of the systems of a release, with the features that are built: not what only tests, builds and
checks need. Of each: version, licence, checksum, and what it needs in turn. Two runs on one version write the same.
"""

import json
import subprocess
import sys
import tomllib
import uuid
from datetime import datetime, timezone
from pathlib import Path

import project

ROOT = "mcp-proxmox"


def metadata(triple):
    """What cargo knows of every package for this system."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", triple]
    said = subprocess.run(command, cwd=project.ROOT, check=True, capture_output=True, text=True)
    return json.loads(said.stdout)


def is_linked(package):
    """Whether its code is in the program: macros run in the compiler."""
    return not any("proc-macro" in target["kind"] for target in package["targets"])


def linked():
    """The packages that are linked in by their identifier, and what each needs, over all systems."""
    packages, needs = {}, {}
    for system in project.SYSTEMS.values():
        told = metadata(system.triple)
        known = {package["id"]: package for package in told["packages"]}
        nodes = {node["id"]: node for node in told["resolve"]["nodes"]}
        left = [next(id for id, package in known.items() if package["name"] == ROOT and package["source"] is None)]
        while left:
            id = left.pop()
            first = id not in packages or system.triple not in packages[id]["for"]
            packages.setdefault(id, {**known[id], "for": set()})["for"].add(system.triple)
            if not first:
                continue
            for dependency in nodes[id]["deps"]:
                is_normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
                if is_normal and is_linked(known[dependency["pkg"]]):
                    needs.setdefault(id, set()).add(dependency["pkg"])
                    left.append(dependency["pkg"])
    return packages, needs


def reference(package):
    """The package's address, by which it is known everywhere."""
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, checksums):
    """One package as CycloneDX has it."""
    written = {
        "type": "application" if package["name"] == ROOT else "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
    }
    if package["license"]:
        # The old way to write two licences.
        written["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        written["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["repository"]:
        written["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return written


def document():
    """The whole list."""
    with open(project.ROOT / "Cargo.lock", "rb") as file:
        locked = tomllib.load(file)["package"]
    checksums = {(package["name"], package["version"]): package.get("checksum") for package in locked}
    packages, needs = linked()
    ordered = sorted(packages.values(), key=reference)
    main = next(package for package in ordered if package["name"] == ROOT)
    name = f"{project.REPOSITORY}@{project.VERSION}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, name)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(project.EPOCH, timezone.utc).isoformat().replace("+00:00", "Z"),
            "component": component(main, checksums),
        },
        "components": [component(package, checksums) for package in ordered if package is not main],
        "dependencies": [
            {
                "ref": reference(package),
                "dependsOn": sorted(reference(packages[id]) for id in needs.get(package["id"], ())),
            }
            for package in ordered
        ],
    }


if __name__ == "__main__":
    project.write(Path(sys.argv[1]), project.as_json(document()))
