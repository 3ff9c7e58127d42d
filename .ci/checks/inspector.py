"""Drives the program with the Inspector's command line, which lints tool schemas for strict clients.

    inspector.py PROGRAM SIMULATOR CLIENTS

Each call is a process of its own, with a demo cluster of its own. What one call takes from the answer of another is asked
of one simulated cluster that SIMULATOR keeps running beside them. CLIENTS holds `node_modules`. Its command line has no method for completions (`prompts/complete` and
`completion/complete` are refused by it), which the SDKs' checks make.
"""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager

from examples import CALLS, EVERYTHING, FIXED, PROMPTS, RESOURCES, address, filled, sources
from session import environment
from tally import Tally

PROGRAM, SIMULATOR, CLIENTS = sys.argv[1:4]
ERAS = ("legacy", "auto", "modern")
tally = Tally("inspector")


@contextmanager
def cluster():
    """A simulated cluster that outlives a call: the settings that lead to it."""
    with tempfile.TemporaryDirectory() as folder:
        authority = os.path.join(folder, "ca.pem")
        command = [SIMULATOR, "--port", "0", "--quick", "--ca", authority]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            said = dict(process.stdout.readline().split() for _ in range(2))
            token, secret = said["token"].split("=")
            try:
                yield {"PVE_HOST": said["address"], "PVE_TOKEN_ID": token, "PVE_TOKEN_SECRET": secret, "PVE_TLS_CA_FILE": authority}
            finally:
                process.kill()


def inspect(era, *arguments, settings=None):
    """Runs the Inspector on a demo cluster, or on the one that `settings` lead to."""
    command = ["node", os.path.join(CLIENTS, "node_modules", ".bin", "mcp-inspector"), "--cli", "--protocol-era", era]
    passed_on = [part for name, value in {**EVERYTHING, **(settings or {})}.items() for part in ("-e", f"{name}={value}")]
    command += [*passed_on, *arguments, "--", PROGRAM]
    if not settings:
        command.append("--demo")
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120)


def shape(value):
    """An argument as the Inspector reads it: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


for each in ERAS:
    done = inspect(each, "--method", "tools/list", "--strict")
    said = done.stderr.strip()
    tally.check(f"{each}: the tool list passes the strict lint", done.returncode == 0, f"exit code {done.returncode}: {said}")
    # Its runtime complains about old versions of Node.js in the same place.
    ours = [line for line in said.splitlines() if "warn" in line.lower() and "ExperimentalWarning" not in line]
    tally.check(f"{each}: the strict lint has no warning", not ours, ours)
    listed = []
    if tally.check(f"{each}: the tool list is JSON", done.stdout.strip().startswith("{"), done.stdout[:300]):
        listed = [tool["name"] for tool in json.loads(done.stdout)["tools"]]
    tally.check(f"{each}: every tool of the examples is listed", sorted(listed) == sorted(CALLS), listed)



def call(name, written, settings=None):
    """The structured answer of a call."""
    arguments = [part for key, value in written.items() for part in ("--tool-arg", f"{key}={shape(value)}")]
    done = inspect("auto", "--method", "tools/call", "--tool-name", name, *arguments, settings=settings)
    works = done.returncode == 0 and '"isError": true' not in done.stdout
    tally.check(f"{name} works", works, done.stdout[:500] + done.stderr[:500])
    return json.loads(done.stdout).get("structuredContent", {}) if works else {}


def read(uri, settings=None):
    """Whether a resource is read."""
    done = inspect("auto", "--method", "resources/read", "--uri", uri, settings=settings)
    tally.check(f"{uri} is read", done.returncode == 0 and '"contents"' in done.stdout, done.stdout[:500] + done.stderr[:500])


# One process of Node.js for each call is slow: one era, and the first example of each tool.
for name, calls in CALLS.items():
    if not sources(calls[:1]):
        call(name, calls[0])
with cluster() as settings:
    answers = {}
    for name, calls in CALLS.items():
        if sources(calls[:1]):
            answers |= {source: call(source, {}, settings) for source in sources(calls[:1]) if source not in answers}
            call(name, filled(calls[0], answers), settings)
    for resource in RESOURCES:
        if sources([resource]):
            answers |= {source: call(source, {}, settings) for source in sources([resource]) if source not in answers}
            read(address(resource, answers), settings)
for name, examples in PROMPTS.items():
    arguments = [part for key, value in examples[-1].items() for part in ("--prompt-args", f"{key}={value}")]
    done = inspect("auto", "--method", "prompts/get", "--prompt-name", name, *arguments)
    tally.check(f"{name} is got", done.returncode == 0 and '"messages"' in done.stdout, done.stdout[:500] + done.stderr[:500])
for method, key, wanted in (
    ("prompts/list", "prompts", len(PROMPTS)),
    ("resources/list", "resources", len(FIXED)),
    ("resources/templates/list", "resourceTemplates", len(RESOURCES)),
):
    for each in ERAS:
        done = inspect(each, "--method", method)
        listed = json.loads(done.stdout).get(key) if done.returncode == 0 else None
        is_right = listed is not None and wanted in (None, len(listed))
        tally.check(f"{each}: {method} works", is_right, done.stdout[:500] + done.stderr[:500])
        if is_right and method == "resources/list":
            uris = sorted(resource["uri"] for resource in listed)
            tally.check(f"{each}: every resource with an address of its own is listed", uris == sorted(FIXED), uris)
for uri in FIXED:
    read(uri)
for resource in RESOURCES:
    if not sources([resource]):
        read(address(resource, {}))
tally.close()
