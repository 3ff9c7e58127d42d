"""Drives the program with the Inspector's command line, which lints tool schemas for strict clients.

    inspector.py PROGRAM CLIENTS

CLIENTS holds `node_modules`. Its command line has no method for completions (`prompts/complete` and
`completion/complete` are refused by it), which the SDKs' checks make.
"""

import json
import os
import subprocess
import sys

from examples import CALLS, EVERYTHING, PROMPTS, RESOURCES, address, sources
from session import environment
from tally import Tally

PROGRAM, CLIENTS = sys.argv[1:3]
ERAS = ("legacy", "auto", "modern")
tally = Tally("inspector")


def inspect(era, *arguments):
    """Runs the Inspector on the demo cluster."""
    command = ["node", os.path.join(CLIENTS, "node_modules", ".bin", "mcp-inspector"), "--cli", "--protocol-era", era]
    passed_on = [part for name, value in EVERYTHING.items() for part in ("-e", f"{name}={value}")]
    command += [*passed_on, *arguments, "--", PROGRAM, "--demo"]
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

# One process of Node.js for each call is slow: one era, and the first example of each tool. A call that takes
# something from another's answer cannot be made: the cluster is another one in each process.
for name, calls in CALLS.items():
    if sources(calls[:1]):
        continue
    arguments = [part for key, value in calls[0].items() for part in ("--tool-arg", f"{key}={shape(value)}")]
    done = inspect("auto", "--method", "tools/call", "--tool-name", name, *arguments)
    tally.check(f"{name} works", done.returncode == 0 and '"isError": true' not in done.stdout, done.stdout[:500] + done.stderr[:500])
for name, examples in PROMPTS.items():
    arguments = [part for key, value in examples[-1].items() for part in ("--prompt-args", f"{key}={value}")]
    done = inspect("auto", "--method", "prompts/get", "--prompt-name", name, *arguments)
    tally.check(f"{name} is got", done.returncode == 0 and '"messages"' in done.stdout, done.stdout[:500] + done.stderr[:500])
for method, key, wanted in (
    ("prompts/list", "prompts", len(PROMPTS)),
    ("resources/list", "resources", 1),
    ("resources/templates/list", "resourceTemplates", len(RESOURCES)),
):
    for each in ERAS:
        done = inspect(each, "--method", method)
        listed = json.loads(done.stdout).get(key) if done.returncode == 0 else None
        is_right = listed is not None and wanted in (None, len(listed))
        tally.check(f"{each}: {method} works", is_right, done.stdout[:500] + done.stderr[:500])
        # One process for each: those with an address of their own are few.
        for resource in listed or [] if (method, each) == ("resources/list", "auto") else []:
            done = inspect("auto", "--method", "resources/read", "--uri", resource["uri"])
            tally.check(f"{resource['uri']} is read", done.returncode == 0 and '"contents"' in done.stdout, done.stdout[:500] + done.stderr[:500])
for resource in RESOURCES:
    if not sources([resource]):
        uri = address(resource, {})
        done = inspect("auto", "--method", "resources/read", "--uri", uri)
        tally.check(f"{uri} is read", done.returncode == 0 and '"contents"' in done.stdout, done.stdout[:500] + done.stderr[:500])
tally.close()
