"""Holds every request that the tests caused against the schema that Proxmox VE reports of its own API: the path, the
method, that API tokens may call it, each parameter with its type, range, pattern and format, what must be there and what may
not be there together. Then the privileges: what the schema demands for the requests of a tool, against what we say that the
tool needs. Reports which of the simulator's endpoints and parameters no test reached.

    requests.py SCHEMA REQUESTS TOOLS

REQUESTS has a line of JSON for each request; TOOLS one for each tool, with its requests and the privileges that we name.
"""

import json
import pathlib
import re
import sys
import urllib.parse

# Formats, as Proxmox VE checks them. One that is not here and is met fails the check, so that none is passed unseen.
FORMATS = {
    "pve-node": r"[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?",
    "pve-vmid": r"[1-9][0-9]{2,8}",
    "pve-storage-id": r"[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]",
    "pve-storage-content": r"images|rootdir|vztmpl|iso|backup|snippets|import|none",
    "pve-task-status-type-list": r"(ok|error|warning|unknown)([,; ](ok|error|warning|unknown))*",
    "pve-iface": r"[a-zA-Z][a-zA-Z0-9_.:-]{1,20}",
}

# What the schema says in words only.
NEVER_TOGETHER = {"/nodes/{node}/journal": [("since", "startcursor"), ("until", "endcursor"), ("lastentries", "since")]}

# Endpoints that are never asked, and the cases of PVE's behaviour that cannot arise for it.
NEVER = [
    (r"POST /access/(ticket|tfa|openid)\b.*", "Q012, Q148: there is no login with a password, only API tokens"),
    (r"\w+ /access/(password|users|tfa)\b.*", "Q148: tickets, passwords and second factors are never asked for"),
    (r"\w+ /nodes/[^/]+/disks\b.*", "Q098: the physical disks of a node are not read"),
    (r"\w+ /nodes/[^/]+/(termproxy|vncshell|spiceshell|vncwebsocket)\b.*", "Q127: no shell of a node is offered"),
    (r".*\bskiplock\b.*", "Q147: no request of ours has the parameter skiplock"),
    (r"\w+ /nodes/[^/]+/config\b.*", "Q152: the configuration of a node is not read"),
]

PRIVILEGE = re.compile(r"\b(?:VM|Sys|Datastore|SDN|Pool|Mapping|Realm|Group|User|Permissions)\.[A-Z]\w+(?:\.\w+)*")

# Privileges that the schema demands for a request of a tool and that we do not name for it, and why.
NOT_NAMED = {
    ("start_vm", "Sys.Audit"): "quorum is looked at where the token may; else PVE itself refuses a start without it",
    ("resume_vm", "Sys.Audit"): "quorum is looked at where the token may; else PVE itself refuses a start without it",
    ("reboot_vm", "Sys.Audit"): "quorum is looked at where the token may; else the restart fails by itself",
    ("suspend_vm", "Sys.Audit"): "quorum is looked at before a hibernation where the token may; else PVE itself fails",
    ("stop_vm", "Sys.Audit"): "quorum is looked at under the HA manager where the token may; else PVE itself refuses",
    ("shutdown_vm", "Sys.Audit"): "quorum is looked at under the HA manager where the token may; else PVE itself refuses",
}
# The same of what is asked only where something is under way or slow, so that a run may not meet it.
SOMETIMES = {
    ("start_vm", "VM.Console"): "only with `watch_console`; without it the guest is started and its text is said to be hidden",
    ("reboot_vm", "VM.Console"): "only with `watch_console`; without it the guest is rebooted and its text is said to be hidden",
    ("list_networks", "VM.Audit"): "configurations are read where bridges are not; guests that are hidden are not among them",
}
# Privileges that we name though the schema does not, or the other way round, and why: it says little of what is left out of a
# list.
BEYOND = {
    "Datastore.Allocate": "shows every volume of a storage (case Q095)",
    "VM.Backup": "shows backups, with Datastore.AllocateSpace (case Q095)",
    "Pool.Audit": "shows the pool of a guest in the list of resources",
    "SDN.Use": "shows bridges as SDN.Audit does (case Q102)",
    "VM.Audit": "shows the guest that a task is about",
    "SDN.Allocate": "shows what SDN.Audit shows, and changes it",
    "VM.Monitor": "is what an agent's answers needed before PVE 9 (case Q084)",
}


# Privileges that no request needs and that we look for, and why.
LOOKED_FOR = {"Permissions.Modify": "tells, with others, that a token may do everything"}


def endpoints(schema):
    found = {}

    def walk(node):
        for method, info in (node.get("info") or {}).items():
            found[method, node["path"]] = info
        for child in node.get("children", []):
            walk(child)

    for node in schema:
        walk(node)
    return found


class Schema:
    def __init__(self, path):
        self.endpoints = endpoints(json.loads(pathlib.Path(path).read_text()))
        self.by_shape = {}
        for method, template in self.endpoints:
            parts = template.strip("/").split("/")
            self.by_shape.setdefault((method, len(parts)), []).append((template, parts))

    def find(self, method, path):
        """The template of a path, with its variable parts. Literal parts win over variable ones, as in PVE."""
        parts = [urllib.parse.unquote(part) for part in path.strip("/").split("/")]
        best = None
        for template, pattern in self.by_shape.get((method, len(parts)), []):
            values, literal = {}, 0
            for want, have in zip(pattern, parts):
                if want.startswith("{"):
                    values[want[1:-1]] = have
                elif want == have:
                    literal += 1
                else:
                    break
            else:
                if best is None or literal > best[0]:
                    best = (literal, template, values)
        return best and best[1:]


def misfit(rule, value):
    """Why a value does not fit its rule; None where it does."""
    kind = rule.get("type", "string")
    if kind == "integer":
        if not re.fullmatch(r"-?\d+", value):
            return "is no integer"
    elif kind == "number":
        if not re.fullmatch(r"-?\d+(\.\d+)?", value):
            return "is no number"
    elif kind == "boolean":
        if value not in ("0", "1"):
            return "is no boolean as PVE writes it"
    elif kind != "string":
        return f"has the type {kind}, which this check does not know"
    if kind in ("integer", "number"):
        if "minimum" in rule and float(value) < rule["minimum"]:
            return f"is below {rule['minimum']}"
        if "maximum" in rule and float(value) > rule["maximum"]:
            return f"is above {rule['maximum']}"
    if "enum" in rule and value not in rule["enum"]:
        return f"is none of {rule['enum']}"
    if "maxLength" in rule and len(value) > rule["maxLength"]:
        return f"is longer than {rule['maxLength']}"
    if "minLength" in rule and len(value) < rule["minLength"]:
        return f"is shorter than {rule['minLength']}"
    if "pattern" in rule and not re.search(r"^(?:" + rule["pattern"].replace("(?^:", "(?:") + r")$", value):
        return f"does not match {rule['pattern']}"
    name = rule.get("format")
    if name is not None:
        if not isinstance(name, str) or name not in FORMATS:
            return f"has the format {name}, which this check does not know"
        if not re.fullmatch(FORMATS[name], value):
            return f"is no {name}"
    return None


def check(schema, method, path, body):
    """The template of a request and the names of its parameters, and everything that is wrong with it."""
    target, _, query = path.partition("?")
    # A proxy may have the API below a path of its own.
    target = target.rpartition("/api2/json")[2]
    found = schema.find(method, target)
    if found is None:
        return None, [], ["there is no such method"]
    template, values = found
    info = schema.endpoints[method, template]
    wrong = []
    if not info.get("allowtoken", 0):
        wrong.append("it does not take API tokens")
    # PVE takes `;` for `&`.
    given = []
    for text in (query, body):
        try:
            given += urllib.parse.parse_qsl(text.replace(";", "&"), keep_blank_values=True, strict_parsing=bool(text))
        except ValueError as error:
            wrong.append(str(error))
    names = [name for name, _ in given]
    wrong += [f"`{name}` is given twice" for name in sorted({name for name in names if names.count(name) > 1})]
    values |= dict(given)
    rules = info.get("parameters", {}).get("properties") or {}
    for name, value in values.items():
        if name not in rules:
            wrong.append(f"PVE does not know the parameter `{name}`")
        elif problem := misfit(rules[name], value):
            wrong.append(f"`{name}` = {value!r} {problem}")
    for name, rule in rules.items():
        if name not in values and not rule.get("optional"):
            wrong.append(f"`{name}` is missing")
        if name in values and rule.get("requires", name) not in values:
            wrong.append(f"`{name}` needs `{rule['requires']}` beside it")
    for pair in NEVER_TOGETHER.get(template, []):
        if all(name in values for name in pair):
            wrong.append(f"{pair} may not be there together")
    return template, names, wrong


def demanded(permissions):
    """What `permissions` demands: a list of sets, from each of which one privilege is needed. From what is said in words alone,
    one set for each privilege that is named."""
    def of(check):
        match check:
            case ["perm", _, names, *rest]:
                return [set(names)] if "any" in rest else [{name} for name in names]
            case ["userid-param", *_] | ["userid-group", *_]:
                return []
            case ["and", *parts]:
                return [each for part in parts for each in of(part)]
            case ["or", *parts]:
                return [set().union(*(each for part in parts for each in of(part)))]
            case _:
                raise ValueError(f"a check that is not understood: {check}")

    sets = of(permissions["check"]) if "check" in permissions else []
    known = set().union(*sets) if sets else set()
    named = set(PRIVILEGE.findall(permissions.get("description", "")))
    return sets, sorted(named - known)


def main(schema_path, requests_path, tools_path):
    schema = Schema(schema_path)
    failed = []
    seen, parameters = {}, {}
    checked = {}
    lines = pathlib.Path(requests_path).read_text().splitlines()
    for line in lines:
        request = json.loads(line)
        key = request["method"], request["path"], request["body"]
        if key in checked:
            continue
        template, names, wrong = checked[key] = check(schema, *key)
        wrong += [why for never, why in NEVER if re.fullmatch(never, " ".join(key), re.DOTALL)]
        failed += [f"{key[0]} {key[1]} {key[2]}: {problem}" for problem in wrong]
        if template:
            seen[key[0], template] = seen.get((key[0], template), 0) + 1
            parameters.setdefault((key[0], template), set()).update(names)

    print(f"{len(lines)} requests, {len(checked)} different ones, of {len(seen)} methods of PVE's {len(schema.endpoints)}")
    for method, template in sorted(seen, key=lambda key: key[::-1]):
        names = ", ".join(sorted(parameters[method, template]))
        print(f"  {seen[method, template]:5} {method:4} {template}  {names}")

    # Privileges, tool by tool.
    documented = " ".join(path.read_text() for path in pathlib.Path("docs").glob("*.md"))
    used, in_words = set(), []
    # A slow machine leaves out parts of answers, so that what one tool names may be needed by requests that it had no time for.
    needed_at_all = set()
    for method, template in seen:
        sets, words = demanded(schema.endpoints[method, template].get("permissions", {}))
        needed_at_all |= set(words).union(*sets)
    for line in pathlib.Path(tools_path).read_text().splitlines():
        tool = json.loads(line)
        needs, hard, soft = set(tool["needs"]), {}, {}
        for request in tool["requests"]:
            key = request["method"], request["path"], request["body"]
            template, _, wrong = check(schema, *key)
            failed += [f"{tool['tool']}: {' '.join(key)}: {problem}" for problem in wrong if key not in checked]
            if template is None:
                continue
            sets, words = demanded(schema.endpoints[key[0], template].get("permissions", {}))
            for each in sets:
                hard.setdefault(frozenset(each), set()).add(template)
            for name in words:
                soft.setdefault(name, set()).add(template)
        for each, templates in hard.items():
            used |= {(tool["tool"], name) for name in each}
            excused = any((tool["tool"], name) in {*NOT_NAMED, *SOMETIMES} for name in each)
            if not each & needs and not excused:
                failed.append(
                    f"{tool['tool']} asks {', '.join(sorted(templates))}, which needs {' or '.join(sorted(each))}; "
                    f"we name {', '.join(sorted(needs)) or 'nothing'} for it"
                )
        allowed = set().union(set(soft), *hard)
        for name in sorted(needs - allowed):
            used.add(name)
            if name not in BEYOND and name not in needed_at_all:
                failed.append(f"we name {name} for {tool['tool']}, and no request needs it")
        for name, templates in sorted(soft.items()):
            if name not in needs:
                in_words.append(f"  {tool['tool']}: {name} ({', '.join(sorted(templates))})")
                used.add(name)
            if name not in documented and name not in BEYOND:
                failed.append(f"{name}, which the schema names in words for {tool['tool']}, is named nowhere below docs/")
        for name in sorted(needs):
            if name not in documented:
                failed.append(f"{name}, which {tool['tool']} needs, is named nowhere below docs/")

    known = {name for info in schema.endpoints.values() for name in PRIVILEGE.findall(json.dumps(info.get("permissions", {})))}
    for path in [*pathlib.Path("crates/mcp-proxmox/src").rglob("*.rs"), *pathlib.Path("docs").glob("*.md")]:
        for name in set(PRIVILEGE.findall(path.read_text())) - known - set(BEYOND) - set(LOOKED_FOR):
            failed.append(f"{path} names {name}, which is no privilege that the schema knows")

    failed += [f"the exception {key} of this check excuses nothing" for key in {*NOT_NAMED, *BEYOND} - used]
    print("privileges that the schema names in words alone and we not for that tool:")
    print("\n".join(in_words) or "  none")
    report_uncovered(schema, seen, parameters)
    for problem in sorted(set(failed)):
        print(f"FAILED: {problem}")
    print("every request is valid and the privileges agree" if not failed else f"{len(set(failed))} faults")
    return 1 if failed else 0


def report_uncovered(schema, seen, parameters):
    """What the simulator knows and no test asked for, and what the client has functions for."""
    rows = []
    for path in sorted(pathlib.Path("crates/pve-sim/src/endpoints").glob("*.rs")):
        text = path.read_text()
        rows += re.findall(r'method: "(\w+)",\s*path: "([^"]+)"', text)
        rows += [("POST", route) for route in re.findall(r'route!\("([^"]+)"', text)]
    missing = [row for row in rows if row not in {(method, template) for method, template in seen}]
    known = {(method, re.sub(r"\{\w+\}", "{}", template)) for method, template in seen}
    missing = [row for row in missing if (row[0], re.sub(r"\{\w+\}", "{}", row[1])) not in known]
    print(f"of {len(rows)} endpoints of the simulator no test reached {len(missing)}:")
    for method, path in missing:
        print(f"  {method} {path}")
    print("parameters of reached methods that nothing of the program sends:")
    for (method, template), names in sorted(parameters.items()):
        rules = schema.endpoints[method, template].get("parameters", {}).get("properties") or {}
        unused = sorted(name for name in rules if name not in names and f"{{{name}}}" not in template)
        if unused:
            print(f"  {method} {template}: {', '.join(unused)}")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
