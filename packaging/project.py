"""What every package says of the project: taken from the workspace and from the program, written nowhere twice.

A program is named on the command line as SYSTEM=FILE, such as `linux-x64=target/release/mcp-proxmox`. A folder
holds those that `ci/full` left in it: `--built target` stands for all that are there.
"""

import json
import os
import platform
import re
import stat
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "mcp-proxmox"
REGISTRY_NAME = "io.github.drmfar/mcp-proxmox"
IMAGE = "ghcr.io/drmfar/mcp-proxmox"
# At most 100 characters: the registry's limit.
SUMMARY = "Lets AI agents see and operate Proxmox VE: VMs, containers, nodes, storage, logs and consoles"
LICENCES = ("LICENSE-MIT", "LICENSE-APACHE")
# Files in archives carry this time, so that two builds of one version are the same.
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "1767225600"))

with open(ROOT / "Cargo.toml", "rb") as file:
    _WORKSPACE = tomllib.load(file)["workspace"]["package"]
VERSION = _WORKSPACE["version"]
REPOSITORY = _WORKSPACE["repository"]
LICENCE = _WORKSPACE["license"]
KEYWORDS = _WORKSPACE["keywords"]


@dataclass(frozen=True)
class System:
    """A system that the program is released for, in the words of those who package for it."""

    key: str
    triple: str
    npm_os: str
    cpu: str
    oci_arch: str | None = None

    @property
    def program(self):
        """The file's name there."""
        return f"{NAME}.exe" if self.npm_os == "win32" else NAME


SYSTEMS = {
    system.key: system
    for system in (
        System("linux-x64", "x86_64-unknown-linux-musl", "linux", "x64", "amd64"),
        System("linux-arm64", "aarch64-unknown-linux-musl", "linux", "arm64", "arm64"),
        System("darwin-x64", "x86_64-apple-darwin", "darwin", "x64"),
        System("darwin-arm64", "aarch64-apple-darwin", "darwin", "arm64"),
        System("win32-x64", "x86_64-pc-windows-gnu", "win32", "x64"),
        System("win32-arm64", "aarch64-pc-windows-gnullvm", "win32", "arm64"),
    )
}


def here():
    """The key of the system that this runs on, whether or not there is a program for it."""
    cpu = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), platform.machine().lower())
    return f"{sys.platform}-{cpu}"


def programs(words):
    """The programs that the command line names, by the system's key."""
    found, words = {}, list(words)
    while words:
        word = words.pop(0)
        if word == "--built":
            folder = Path(words.pop(0))
            for key, system in SYSTEMS.items():
                built = folder / system.triple / "release" / system.program
                if built.exists():
                    found.setdefault(key, built)
            continue
        key, _, path = word.partition("=")
        if key not in SYSTEMS or not path:
            sys.exit(f"`{word}` is not SYSTEM=FILE; systems: {', '.join(SYSTEMS)}")
        found[key] = Path(path).resolve(strict=True)
    return found


def asked(found):
    """The program that can be asked what it offers: the one for this system, or the one that PROGRAM names."""
    named = os.environ.get("PROGRAM")
    if here() in found:
        return found[here()]
    if named and Path(named).exists():
        return Path(named)
    return sys.exit(f"no program for this system ({here()}) to ask for its tools: give one, or set PROGRAM")


def tools(program, tier="write"):
    """Every tool of the tier as clients see it: name, title, description."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PVE_")}
    environment["PVE_ACCESS_TIER"] = tier
    said = subprocess.run([program, "tools", "--json"], env=environment, check=True, capture_output=True, text=True)
    return json.loads(said.stdout)


def settings():
    """What each setting means, by its variable, from the page that is made from the program's own table."""
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(PVE_\w+)` \|[^|]*\|([^|]*)\|$", page, re.MULTILINE)
    if not rows:
        sys.exit("docs/configuration.md has no table of settings")
    return {variable: meaning.strip() for variable, meaning in rows}


def first_sentence(text):
    """The first sentence of a description."""
    return re.split(r"(?<=[.;:])\s", text, maxsplit=1)[0].rstrip(".;:") + "."


def put(source, target, mode=0o644):
    """Copies a file, with a mode and a time that are the same on every machine."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(Path(source).read_bytes())
    settle(target, mode)


def write(target, text, mode=0o644):
    """Writes a file, with a mode and a time that are the same on every machine."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8", newline="\n")
    settle(target, mode)


def settle(target, mode):
    """The mode and the time of a file."""
    target.chmod(mode)
    os.utime(target, (EPOCH, EPOCH))


def as_json(value):
    """JSON as people read it."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def is_executable(path):
    """Whether the owner may run it."""
    return bool(path.stat().st_mode & stat.S_IXUSR)
