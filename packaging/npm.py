"""Makes the npm packages: one for each program that is given, and the one with the launcher that names them all.

    npm.py OUT [--built FOLDER] [SYSTEM=FILE…]

Leaves tarballs in OUT. The launcher's package always names all six as optional dependencies, whether or not
they were made in this run: npm installs the one for its system. Publish those for the systems first.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import project

SCOPE = "@drmfar"


def package_of(system):
    """The name of the package for a system."""
    return f"{SCOPE}/{project.NAME}-{system.key}"


def platform_package(folder, system, program, common):
    """The package that holds the program for one system, and nothing that runs at installation."""
    project.put(program, folder / "bin" / system.program, 0o755)
    project.write(folder / "package.json", project.as_json({
        "name": package_of(system),
        "version": project.VERSION,
        "description": f"The {project.NAME} program for {system.key}; install {SCOPE}/{project.NAME}, which brings it",
        **{key: common[key] for key in ("license", "author", "homepage", "bugs", "repository", "publishConfig")},
        "os": [system.npm_os],
        "cpu": [system.cpu],
        "files": ["bin", "LICENSE-*"],
        # Yarn's Plug'n'Play would leave it inside an archive, where nothing can be run.
        "preferUnplugged": True,
    }))
    project.write(folder / "README.md", (
        f"# {package_of(system)}\n\nThe program of [{SCOPE}/{project.NAME}](https://www.npmjs.com/package/{SCOPE}/{project.NAME}) "
        f"for {system.key}. Install that package; it brings this one where it is needed.\n"
    ))


def main_package(folder, common, program):
    """The package that people install: a launcher, and the names of all the others."""
    manifest = {"name": common["name"], "version": project.VERSION, **common}
    manifest["optionalDependencies"] = {package_of(system): project.VERSION for system in project.SYSTEMS.values()}
    project.write(folder / "package.json", project.as_json(manifest))
    project.put(project.ROOT / "npm" / "dist" / "index.js", folder / "dist" / "index.js", 0o755)
    readme = (project.ROOT / "npm" / "README.md").read_text(encoding="utf-8")
    rows = [f"| `{tool['name']}` | {project.first_sentence(tool['description'])} |" for tool in project.tools(program)]
    project.write(folder / "README.md", readme.replace("<!-- tools -->", "\n".join(["| tool | |", "|---|---|", *rows])))


def pack(folder, out):
    """Packs a folder with npm itself; what it says of the tarball."""
    for licence in project.LICENCES:
        project.put(project.ROOT / licence, folder / licence)
    command = ["npm", "pack", "--json", "--ignore-scripts", "--pack-destination", str(out)]
    said = json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout)
    said = said[0] if isinstance(said, list) else next(iter(said.values()))
    print(f"{said['filename']:48} {said['size']:>9} bytes packed, {said['unpackedSize']:>9} unpacked, {len(said['files'])} files")


def main(out, words):
    """Makes them all."""
    found = project.programs(words)
    out.mkdir(parents=True, exist_ok=True)
    with open(project.ROOT / "npm" / "package.json", encoding="utf-8") as file:
        common = json.load(file)
    stage = Path(tempfile.mkdtemp(prefix="npm-"))
    try:
        for key, program in found.items():
            folder = stage / key
            platform_package(folder, project.SYSTEMS[key], program, common)
            pack(folder, out)
        folder = stage / "main"
        main_package(folder, common, project.asked(found))
        pack(folder, out)
    finally:
        shutil.rmtree(stage)
    missing = [key for key in project.SYSTEMS if key not in found]
    if missing:
        print(f"not made, for lack of a program: {', '.join(missing)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
