"""Runs every command of the documentation, page by page, as somebody would who follows it.

    docs.py PROGRAM SIMULATOR PACKED [API_SCHEMA]

PACKED holds what was packed for this system. Each page has a home of its own; a simulated cluster stands for the
user's. Lines that begin with `$ ` are run in one shell, in order; lines that begin with `# ` are typed on a node and
are compared with the API of Proxmox VE, where its schema is given. Lines for PowerShell are read by its grammar. What
cannot be run here is said.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import tree_sitter_powershell
from tally import Tally
from tree_sitter import Language, Parser

ROOT = Path(__file__).resolve().parents[2]
PROGRAM, SIMULATOR, PACKED = (Path(word).resolve() for word in sys.argv[1:4])
SCHEMA = Path(sys.argv[4]) if len(sys.argv) > 4 else None
PAGES = ["README.md", "npm/README.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))]
# How a command begins that is not run here, and why.
ELSEWHERE = {
    "cargo run ": "the step `clients` runs the same program",
    "cargo test ": "the step `test`",
    "cargo install ": "the package is not on crates.io before its release; the step `release` builds the same",
    "cargo binstall ": "there is no release to take it from before the first",
    "docker ": "there is no container engine here; the step `npm` runs the image's contents where it can",
    "gh ": "there is no attestation before the first release",
    "claude ": "Claude Code is not installed here",
}
POWERSHELL = Parser(Language(tree_sitter_powershell.language()))
tally = Tally("documentation")


class Cluster:
    """The simulated cluster that stands for the user's."""

    def __init__(self, folder):
        self.ca = folder / "authority.pem"
        command = [SIMULATOR, "--port", "0", "--quick", "--ca", self.ca]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        said = {}
        while "fingerprint" not in said:
            name, _, value = self.process.stdout.readline().strip().partition(" ")
            said.setdefault(name, value.strip())
        self.address = said["address"].removeprefix("https://").rstrip("/")
        self.fingerprint = said["fingerprint"]
        self.token, self.secret = said["token"].split("=")

    def stand_in(self, command):
        """The command, with this cluster in the place of the user's."""
        for written, here in (
            ("--tls-server-name pve1.lan", "--tls-server-name pve1"),
            ("pve1.lan:8006", self.address),
            ("scp root@pve1.lan:/etc/pve/pve-root-ca.pem", f"cp {self.ca}"),
            ("pve1.lan", self.address),
            ("192.0.2.7", self.address),
            ("mcp@pve!monitor", self.token),
            (":".join(["5C"] * 32), self.fingerprint),
        ):
            command = command.replace(written, here)
        return command


def blocks(text):
    """The lines of each block that shows a terminal."""
    for block in re.findall(r"^( *)```console\n(.*?)^\1```", text, re.MULTILINE | re.DOTALL):
        yield [line.removeprefix(block[0]) for line in block[1].splitlines()]


def packed(pattern):
    """One of the packed files."""
    found = sorted(PACKED.glob(pattern))
    if not found:
        sys.exit(f"there is no {pattern} in {PACKED}")
    return found[0]


def runnable(command, cluster):
    """The command as it can be run here."""
    command = cluster.stand_in(command)
    if "; cat > " in command:
        own, _, comment = command.partition(" #")
        return f"{own} <<<'{cluster.secret}' #{comment}"
    if command.startswith("curl "):
        return "cp " + " ".join(str(packed(name)) for name in ("SHA256SUMS", "mcp-proxmox-x86_64-unknown-linux-musl.tar.gz")) + " ."
    if command.startswith("npm install"):
        # The launcher's package and the one for this system, instead of the registry.
        main = packed("drmfar-mcp-proxmox-[0-9]*.tgz")
        system = packed("drmfar-mcp-proxmox-linux-*.tgz")
        return command.replace("@drmfar/mcp-proxmox", f"{main} {system}")
    return command


def follow(page, cluster, left):
    """Runs the commands of a page in one shell, in a home of their own."""
    home = Path(tempfile.mkdtemp(prefix="docs-"))
    try:
        (home / "bin").mkdir()
        (home / ".config").mkdir()
        (home / ".local/share/bash-completion/completions").mkdir(parents=True)
        (home / "bin/mcp-proxmox").symlink_to(PROGRAM)
        # What earlier pages have the reader make.
        (home / ".config/pve-token").write_text(cluster.secret)
        (home / ".config/pve-token").chmod(0o600)
        shutil.copy(cluster.ca, home / ".config/pve-root-ca.pem")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PVE_", "XDG_", "npm_config_"))}
        environment = {
            **clean,
            "HOME": str(home),
            "PATH": f"{home}/bin:{clean['PATH']}",
            "npm_config_prefix": f"{home}/.npm-global",
            "npm_config_offline": "true",
            "npm_config_registry": "http://127.0.0.1:9",
        }
        script = ["set -uo pipefail"]
        commands = []
        for line in (line for block in blocks((ROOT / page).read_text(encoding="utf-8")) for line in block):
            if not line.startswith("$ "):
                continue
            command = line[2:]
            why = next((why for begin, why in ELSEWHERE.items() if command.startswith(begin)), None)
            if why:
                left.setdefault(command.split(" #")[0].strip(), why)
                continue
            if command.startswith("npx "):
                # It finds what is installed where it is started.
                script.append(f"(cd {home} && {runnable('npm install --silent @drmfar/mcp-proxmox', cluster)})")
            commands.append(command)
            # Its output in a file of its own, so that its end can be told from its words.
            script.append(f"{{ {runnable(command, cluster)}\n}} >{home}/said-{len(commands)} 2>&1; echo $? >{home}/code-{len(commands)}")
        ended = subprocess.run(["bash", "-c", "\n".join(script)], cwd=home, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False)
        for number, command in enumerate(commands, 1):
            code = (home / f"code-{number}").read_text().strip() if (home / f"code-{number}").exists() else "not reached"
            said = (home / f"said-{number}").read_text() if (home / f"said-{number}").exists() else ended.stderr
            tally.check(f"{page}: {command}", code == "0", f"exit code {code}: {said}")
            tally.check(f"{page}: {command} shows no secret", cluster.secret not in said, said)
        return len(commands)
    finally:
        shutil.rmtree(home)


class Api:
    """The API of Proxmox VE, as a server describes it."""

    def __init__(self, schema):
        self.calls = {}
        self._walk(json.loads(schema.read_text(encoding="utf-8")))
        self.privileges = set(re.findall(r"\b(?:VM|Sys|Datastore|SDN|Pool|Mapping|Permissions|Realm|User|Group)\.[A-Z]\w+(?:\.[A-Z]\w+)?", schema.read_text(encoding="utf-8")))

    def _walk(self, nodes):
        for node in nodes:
            for method, call in node.get("info", {}).items():
                self.calls[method, node["path"]] = set(call.get("parameters", {}).get("properties", {}))
            self._walk(node.get("children", []))


# What a node's command calls, and the parameters that its words without a name stand for.
ON_A_NODE = {
    "pveum user add": ("POST", "/access/users", ["userid"]),
    "pveum user delete": ("DELETE", "/access/users/{userid}", ["userid"]),
    "pveum user token add": ("POST", "/access/users/{userid}/token/{tokenid}", ["userid", "tokenid"]),
    "pveum user token remove": ("DELETE", "/access/users/{userid}/token/{tokenid}", ["userid", "tokenid"]),
    "pveum acl modify": ("PUT", "/access/acl", ["path"]),
    "pveum role add": ("POST", "/access/roles", ["roleid"]),
    "pveum pool add": ("POST", "/pools", ["poolid"]),
    "pveum pool modify": ("PUT", "/pools", ["poolid"]),
    "pvenode cert info": ("GET", "/nodes/{node}/certificates/info", []),
}
BUILT_IN = {"PVEAuditor", "PVEVMUser", "Administrator"}
# Of Proxmox VE 8 alone, as the page says.
OLD = {"VM.Monitor"}


def on_a_node(page, command, api, roles):
    """Looks whether a command that is typed on a node names what there is."""
    words = shlex.split(command, comments=True)
    begin = next((begin for begin in ON_A_NODE if command.startswith(f"{begin} ") or command == begin), None)
    if not tally.check(f"{page}: {command}: it is known", begin is not None):
        return
    method, path, names = ON_A_NODE[begin]
    rest = words[len(begin.split()):]
    positional, options = [], {}
    while rest:
        word = rest.pop(0)
        if word.startswith("--"):
            options[word[2:]] = rest.pop(0)
        else:
            positional.append(word)
    tally.check(f"{page}: {command}: it has the words that it needs", len(positional) == len(names), positional)
    parameters = api.calls.get((method, path), set())
    unknown = set(options) - parameters
    tally.check(f"{page}: {command}: Proxmox VE knows its options", parameters and not unknown or begin == "pvenode cert info", unknown)
    if begin == "pveum role add":
        roles.add(positional[0])
    if "roles" in options:
        known = set(options["roles"].split(",")) <= BUILT_IN | roles
        tally.check(f"{page}: {command}: the roles are there", known, options["roles"])
    for privilege in options.get("privs", "").split():
        tally.check(f"{page}: {command}: the privilege is there", privilege in api.privileges | OLD, privilege)


def main():
    """Goes through all pages."""
    left, folder = {}, Path(tempfile.mkdtemp(prefix="docs-cluster-"))
    cluster = Cluster(folder)
    try:
        n_run = sum(follow(page, cluster, left) for page in PAGES)
        for page in PAGES:
            for block in re.findall(r"```powershell\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL):
                has_error = POWERSHELL.parse(block.encode()).root_node.has_error
                tally.check(f"{page}: the lines for PowerShell can be read", not has_error, block)
                left[f"PowerShell of {page}"] = "there is no PowerShell here; only its grammar was looked at"
    finally:
        cluster.process.terminate()
        cluster.process.wait()
        shutil.rmtree(folder)
    print(f"{n_run} commands of {len(PAGES)} pages were run")
    if SCHEMA and SCHEMA.exists():
        api, roles, n_nodes = Api(SCHEMA), set(), 0
        for page in PAGES:
            for line in (line for block in blocks((ROOT / page).read_text(encoding="utf-8")) for line in block):
                if line.startswith("# "):
                    on_a_node(page, line[2:], api, roles)
                    n_nodes += 1
        print(f"{n_nodes} commands that are typed on a node were compared with the API")
    else:
        print("left out: the comparison of a node's commands with the API: there is no schema")
    for command, why in left.items():
        print(f"left out: `{command}`: {why}")
    tally.close()


main()
