"""Looks at what was packed: `server.json` against the registry's schema, the image against what it must be, and
that every package says the same of the project.

    packages.py FOLDER SCHEMA

SCHEMA is the registry's for the revision that `server.json` names. Prints one line for each; ends with 1 where
something is wrong.
"""

import gzip
import hashlib
import json
import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import jsonschema
from tally import Tally

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "packaging"))
import archives  # noqa: E402
import project  # noqa: E402

tally = Tally("packages")
NAMES = [tool["name"] for tool in project.tools(project.asked({}))]


def registry(folder, schema):
    """`server.json` is valid, and names what was packed."""
    written = json.loads((folder / "server.json").read_text(encoding="utf-8"))
    schema = json.loads(Path(schema).read_text(encoding="utf-8"))
    tally.check("the schema is that of the revision", schema["$id"] == written["$schema"], schema["$id"])
    checker = jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())
    wrong = [f"{list(error.absolute_path)}: {error.message}" for error in checker.iter_errors(written)]
    tally.check("server.json is valid against its schema", not wrong, wrong)
    tally.check("its description is short enough", len(written["description"]) <= 100, written["description"])
    for package in written["packages"]:
        secret = [entry for entry in package["environmentVariables"] if entry["name"] == "PVE_TOKEN_SECRET"]
        tally.check("the secret is marked as one", [entry.get("isSecret") for entry in secret] == [True], package)
        if package["registryType"] == "mcpb":
            bundle = folder / package["identifier"].rsplit("/", 1)[1]
            digest = hashlib.sha256(bundle.read_bytes()).hexdigest()
            tally.check(f"{bundle.name} has its checksum", digest == package["fileSha256"], digest)
    return written["name"]


def npm(folder, name):
    """The npm packages agree on the version, and nothing runs at installation."""
    manifests, readme = {}, ""
    for tarball in folder.glob("*.tgz"):
        with tarfile.open(tarball) as tar:
            manifest = json.load(tar.extractfile("package/package.json"))
            manifests[manifest["name"]] = manifest
            names = tar.getnames()
            if "optionalDependencies" in manifest:
                readme = tar.extractfile("package/README.md").read().decode()
        tally.check(f"{tarball.name} has no scripts and no dependencies", not manifest.get("scripts") and not manifest.get("dependencies"), manifest)
        tally.check(f"{tarball.name} holds the licences", all(f"package/{licence}" in names for licence in project.LICENCES), names)
    main = manifests["@drmfar/mcp-proxmox"]
    tally.check("the registry's name is in the npm package", main["mcpName"] == name, main)
    tally.check("all six systems are named", len(main["optionalDependencies"]) == 6, main)
    for package, manifest in manifests.items():
        tally.check(f"{package} is of this version", manifest["version"] == project.VERSION, manifest["version"])
        if package != main["name"]:
            tally.check(f"{package} is named by the launcher's", main["optionalDependencies"].get(package) == project.VERSION, package)
    tally.check("its README names every tool", all(f"`{tool}`" in readme for tool in NAMES), readme)


def bundles(folder):
    """The MCPB bundles: the token is sensitive, the tools are named, each is for one platform."""
    for path in folder.glob("*.mcpb"):
        with zipfile.ZipFile(path) as bundle:
            manifest = json.loads(bundle.read("manifest.json"))
        tally.check(f"{path.name}: the token's secret is sensitive", manifest["user_config"]["token_secret"].get("sensitive") is True, manifest["user_config"])
        tally.check(f"{path.name}: it names every tool", [tool["name"] for tool in manifest["tools"]] == NAMES, manifest["tools"])
        tally.check(f"{path.name}: it is for one platform", len(manifest["compatibility"]["platforms"]) == 1, manifest["compatibility"])


def image(folder, name):
    """Every blob of the image is what its digest says; it runs as nobody special, and says whose it is."""
    with tarfile.open(folder / f"{project.NAME}-image.tar") as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar.getmembers()}

    def blob(descriptor):
        data = files[f"blobs/{descriptor['digest'].replace(':', '/')}"]
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        tally.check(f"{descriptor['digest'][:20]} is what it says", (digest, len(data)) == (descriptor["digest"], descriptor["size"]), digest)
        return data

    [index] = json.loads(files["index.json"])["manifests"]
    for each in json.loads(blob(index))["manifests"]:
        manifest = json.loads(blob(each))
        config = json.loads(blob(manifest["config"]))
        tar = gzip.decompress(blob(manifest["layers"][0]))
        tally.check("the layer has the digest that the configuration names", config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(tar).hexdigest()}"], config)
        tally.check("it does not run as root", config["config"]["User"].split(":")[0] not in ("", "0", "root"), config)
        tally.check("the registry's name is on it", config["config"]["Labels"]["io.modelcontextprotocol.server.name"] == name, config)


def binstall(folder):
    """What `cargo binstall` would ask for is what is packed, for each of Rust's names for a system."""
    with open(project.ROOT / "crates/mcp-proxmox/Cargo.toml", "rb") as file:
        metadata = tomllib.load(file)["package"]["metadata"]["binstall"]
    systems = {system.triple: system for system in project.SYSTEMS.values()}
    for target in sorted({*systems, *metadata["overrides"]}):
        how = {**metadata, **metadata["overrides"].get(target, {})}
        words = {"repo": project.REPOSITORY, "version": project.VERSION, "name": project.NAME, "target": target, "bin": project.NAME, "binary-ext": ".exe" if "windows" in target else ""}

        def filled(template):
            return re.sub(r"\{ ([\w-]+) \}", lambda match: words[match[1]], template)

        archive = filled(how["pkg-url"]).rsplit("/", 1)[1]
        own = [triple for triple in systems if triple in archive]
        ending = ".zip" if "windows" in target else ".tar.gz"
        tally.check(f"binstall: {target} finds an archive", archive == f"{project.NAME}-{own[0] if own else None}{ending}", archive)
        tally.check(f"binstall: {target} knows its format", how["pkg-fmt"] == ("zip" if "windows" in target else "tgz"), how)
        if (folder / archive).exists():
            if ending == ".zip":
                names = zipfile.ZipFile(folder / archive).namelist()
            else:
                with tarfile.open(folder / archive) as tar:
                    names = tar.getnames()
            tally.check(f"binstall: {target} finds the program in it", filled(how["bin-dir"]) in names, names)


def inside(folder):
    """The list of what is inside has what must be there, with licences and checksums, and nothing of the tests."""
    written = json.loads((folder / f"{project.NAME}.cdx.json").read_text(encoding="utf-8"))
    components = {component["name"]: component for component in written["components"]}
    tally.check("the list of what is inside is of this version", written["metadata"]["component"]["version"] == project.VERSION, written["metadata"])
    tally.check("it has what is linked", {"rmcp", "rustls", "ring", "pve-client"} <= set(components), list(components))
    tally.check("it has nothing that only tests and builds need", not {"insta", "proptest", "tiktoken-rs", "cc"} & set(components), list(components))
    ours = {"pve-client", "pve-sim"}
    bare = [name for name, component in components.items() if name not in ours and not ("licenses" in component and "hashes" in component)]
    tally.check("each has a licence and a checksum", not bare, bare)
    known = {component["bom-ref"] for component in [*written["components"], written["metadata"]["component"]]}
    needed = {reference for dependency in written["dependencies"] for reference in dependency["dependsOn"]}
    tally.check("all that is needed is there", needed <= known, needed - known)


folder = Path(sys.argv[1])
registry_name = registry(folder, sys.argv[2])
npm(folder, registry_name)
bundles(folder)
image(folder, registry_name)
binstall(folder)
inside(folder)
archives.checksums(folder)
tally.close()
