"""Runs the program against recorded answers of a real server, and checks what a person would read off them.

    replay.py PROGRAM MATERIAL

Facts are checked, not wording: identifiers, states, figures, the privilege and the path that are missing.
"""

import json
import sys

from recorded import Material, Replay
from replay_tools import everything_that_reads, those_with_less, what_else_there_is_to_read
from session import LEGACY, MODERN, Session
from user import ADMIN, AUDITOR, ONE_GUEST, OPERATOR, PROGRAM, SECRET, WITHOUT_RIGHTS, User, gib, mib, tally

MATERIAL = Material(sys.argv[2])


def is_listed(user, recorded):
    """`list_vms` says what the recorded list says, guest by guest."""
    said = user.call("list_vms")
    rows = said.rows("guests")
    user.check("all guests are listed and no other", sorted(rows) == sorted(guest["vmid"] for guest in recorded), said)
    user.check("they are counted", said.json and said.json.get("total") == len(recorded), said)
    for guest in recorded:
        row = rows.get(guest["vmid"], {})
        what = f"list_vms, {guest['vmid']}"
        status = "template" if guest.get("template") else guest["status"]
        user.check(f"{what}: state {status}", status in str(row.get("status")), row)
        user.check(f"{what}: name and node", (row.get("name"), row.get("node")) == (guest.get("name"), guest["node"]), row)
        if guest.get("lock"):
            user.check(f"{what}: the lock {guest['lock']}", guest["lock"] in str(row), row)
        figures = [row.get(column) for column in ("cpu%", "mem%", "disk%")]
        if guest["status"] != "running":
            user.check(f"{what}: nothing is made up of one that does not run", figures == [None] * 3, row)
        else:
            user.check(f"{what}: memory", row.get("mem%") == round(guest["mem"] * 100 / guest["maxmem"], 1), row)
            user.check(f"{what}: CPU", row.get("cpu%") == round(guest["cpu"] * 100, 1), row)
            # A VM's zero means that nobody knows; a container's figure is real.
            is_unknown = row.get("disk%") is None
            user.check(f"{what}: the use of its disk is known of containers only", is_unknown == (guest["type"] == "qemu"), row)


def is_a_cluster(user, quorate=True, offline="pve2", has_figures=True):
    """`list_nodes` shows both nodes, and nothing that is not known."""
    said = user.call("list_nodes")
    rows = said.rows("nodes")
    user.check("both nodes are listed", sorted(rows) == ["pve1", "pve2"], said)
    user.check(f"quorum: {quorate}", said.json and said.json.get("quorate") is quorate, said)
    for name, row in rows.items():
        status = "offline" if name == offline else "online"
        user.check(f"{name} is {status}", row.get("status") == status, row)
        figures = [row.get(column) for column in ("cpu%", "cores", "memory", "root_disk", "uptime")]
        wanted = has_figures and status == "online"
        user.check(f"{name}: {'there are' if wanted else 'no made-up'} figures", all(figures) if wanted else figures == [None] * 5, row)
    return said


def is_without(user, said, *fields):
    """None of the fields is in an answer: what is not known is left out, and never zero."""
    there = [field for field in fields if (said.json or {}).get(field) is not None]
    user.check(f"nothing is made up for {', '.join(fields)}", not there, said)


def those_who_may_see(replay):
    """Tokens that see the whole cluster."""
    for token, short in ((ADMIN, "root"), (AUDITOR, "ro"), (OPERATOR, "ops")):
        user = User(replay, token)
        is_listed(user, MATERIAL.data(f"by-token-types-vm--{short}"))
        said = is_a_cluster(user)
        user.check("the cluster has its name", said.json.get("cluster") == "lab", said)

        recorded = MATERIAL.data(f"by-token-cur100--{short}")
        for name in ("100", "web01", "WEB01"):
            said = user.call("get_vm_status", f"vm={name}")
            told = said.json or {}
            user.check(f"{name} is web01, running on pve1", (told.get("vmid"), told.get("name"), told.get("status"), told.get("node")) == (100, "web01", "running", "pve1"), said)
        user.tells("the state of 100", said, mib(recorded["mem"]), f"{mib(recorded['maxmem'])} MiB")
        said = user.call("get_vm_status", "vm=200")
        recorded = MATERIAL.data(f"by-token-cur200--{short}")
        user.check("200 is a running container", (said.json["type"], said.json["status"]) == ("lxc", "running"), said)
        user.tells("the state of 200", said, mib(recorded["mem"]), gib(recorded["disk"]), f"{gib(recorded['maxdisk'])} GiB")
        for vmid, name in ((107, "noguestos"), (201, "ct-db")):
            said = user.call("get_vm_status", f"vm={vmid}")
            user.check(f"{vmid} is {name}, stopped", (said.json["name"], said.json["status"]) == (name, "stopped"), said)
            is_without(user, said, "cpu_percent", "uptime", "network_since_start", "disk_io_since_start", "memory_on_host")
        said = user.call("get_vm_status", "vm=110")
        user.check("110 is unknown, on pve2", (said.json["status"], said.json["node"]) == ("unknown", "pve2"), said)
        user.tells("the state of 110", said, "offline")
        is_without(user, said, "name", "cpu_percent", "cores", "memory", "disk", "uptime", "network_since_start")

        recorded = MATERIAL.data(f"by-token-nodestatus--{short}")
        said = user.call("get_node_status", "node=pve1")
        user.check("pve1 is online", said.json["status"] == "online", said)
        user.check("its load", [float(load) for load in recorded["loadavg"]] == said.json.get("load"), said)
        user.tells("the state of pve1", said, "9.2.11", "6.17.4-2-pve", gib(recorded["memory"]["used"]), f"{gib(recorded['memory']['total'])} GiB", f"{gib(recorded['rootfs']['total'])} GiB")
        is_without(user, said, "swap", "ksm_shared")
        said = user.call("get_node_status", "node=pve2")
        user.check("pve2 is offline", said.json["status"] == "offline", said)
        is_without(user, said, "cpu_percent", "load", "memory", "swap", "root_disk", "uptime", "kernel", "pve_version")

        user.refused("get_vm_status", "vm=999", told=["999"])
        user.refused("get_vm_status", "vm=no-such-name", told=["no-such-name", "list_vms"])
        user.refused("get_node_status", "node=nope", told=["nope", "pve1", "pve2"])
        said = user.run("check")
        user.check("`check` is content", said.code == 0, said)
        user.tells("`check`", said, "9.2.11", token)


def one_who_sees_one_guest(replay):
    """A token with separated privileges: one guest and one node."""
    user = User(replay, ONE_GUEST)
    is_listed(user, MATERIAL.data("by-token-types-vm--sep"))
    said = is_a_cluster(user, quorate=None)
    user.tells("the cluster without its state", said, "Sys.Audit")
    user.check("100 is seen", user.call("get_vm_status", "vm=100").json["name"] == "web01", None)
    for vmid in (101, 110, 200):
        user.refused("get_vm_status", f"vm={vmid}", told=[str(vmid), "VM.Audit"])
    said = user.call("get_node_status", "node=pve1")
    user.tells("the state of pve1", said, "9.2.11")
    user.call("get_node_status", "node=pve2")


def those_who_see_nothing(replay):
    """Tokens without any rights: PVE answers 200 with less, which must not look like a fact."""
    for token in WITHOUT_RIGHTS:
        user = User(replay, token)
        said = user.call("list_vms")
        user.check("no guest is listed", said.json.get("total") == 0 and not said.rows("guests"), said)
        user.tells("an empty list", said, "VM.Audit")
        said = is_a_cluster(user, quorate=None, has_figures=False)
        user.tells("nodes without figures", said, "Sys.Audit")
        user.refused("get_vm_status", "vm=100", told=["VM.Audit"])
        said = user.call("get_node_status", "node=pve1")
        user.tells("a node without figures", said, "Sys.Audit", "/nodes/pve1")
        is_without(user, said, "cpu_percent", "load", "memory", "root_disk", "uptime", "kernel")
        said = user.run("check")
        user.check("`check` is not content", said.code == 1, said)
        user.tells("`check`", said, "pveum acl modify", token)


def the_way_there(replay):
    """TLS, wrong secrets, closed ports."""
    said = User(replay, ADMIN, PVE_TLS_REJECT_UNAUTHORIZED="false").call("list_nodes")
    tally.check("verification can be turned off, with a warning", "PVE_TLS_REJECT_UNAUTHORIZED" in said.errors, said.errors)
    said = User(replay, ADMIN, PVE_TLS_REJECT_UNAUTHORIZED="true").run("check")
    tally.check("an unknown issuer is refused", said.code == 1, said.all)
    # It is signed by itself: no authority would help.
    named = said.all.find("PVE_TLS_FINGERPRINT"), said.all.find("PVE_TLS_REJECT_UNAUTHORIZED")
    tally.check("the ways to trust it are named, the safe one first", 0 <= named[0] < named[1], said.all)
    tally.check("the certificate to compare is shown", replay.fingerprint() in said.all, said.all)
    other = ":".join(["AB"] * 32)
    user = User(replay, ADMIN, PVE_TLS_FINGERPRINT=other)
    user.refused("list_vms", told=["PVE_TLS_FINGERPRINT", replay.fingerprint()])
    user = User(replay, ADMIN, PVE_TOKEN_SECRET="wrong")
    user.refused("list_nodes", told=["401", "token"])
    said = user.run("check")
    tally.check("`check` tells that the token is not accepted", said.code == 1 and "401" in said.all, said.all)
    user = User(replay, "ghost@pve!gone")
    user.refused("list_nodes", told=["401"])
    user = User(replay, ADMIN, PVE_PORT="1")
    user.refused("list_nodes", told=["127.0.0.1", "PVE_HOST"])


def the_same_by_mcp(replay):
    """What MCP clients get is what the command line shows."""
    for revision in (LEGACY[-1], MODERN):
        user = User(replay, OPERATOR)
        with Session([PROGRAM], revision, **user.settings) as session:
            session.open()
            for tool, arguments in (("list_vms", {}), ("list_nodes", {}), ("get_vm_status", {"vm": 100}), ("get_node_status", {"node": "pve1"})):
                got = session.ask("tools/call", {"name": tool, "arguments": arguments}).get("result", {})
                shown = user.call(tool, *(f"{key}={value}" for key, value in arguments.items())).json
                user.check(f"{revision}: {tool} is the same by MCP", got.get("structuredContent") == shown, (got, shown))
            got = session.ask("tools/call", {"name": "get_vm_status", "arguments": {"vm": "999"}}).get("result", {})
            user.check(f"{revision}: a failure is an answer", got.get("isError") is True and "999" in json.dumps(got), got)
            tally.check(f"{revision}: the server leaves when its input ends", (code := session.leave()) == 0, code)
            told = "\n".join(session.errors)
            tally.check(f"{revision}: standard error names the token and keeps its secret", OPERATOR in told and SECRET not in told, told)


def without_quorum(replay):
    """One of two nodes is left: guests run, nothing can be changed."""
    user = User(replay, ADMIN)
    said = is_a_cluster(user, quorate=False)
    user.tells("a cluster without quorum", said, "no quorum")
    is_listed(user, [guest for guest in MATERIAL.data("noquorum-cluster-resources") if guest["type"] in ("qemu", "lxc")])
    user.check("100 runs", user.call("get_vm_status", "vm=100").json["status"] == "running", None)
    user.call("get_node_status", "node=pve1")


def without_pvedaemon(replay):
    """Half of the API is gone: lists answer, what the daemon does is 595."""
    user = User(replay, ADMIN)
    is_listed(user, [guest for guest in MATERIAL.data("pvedaemon-down-cluster-resources") if guest["type"] in ("qemu", "lxc")])
    said = is_a_cluster(user, quorate=None)
    user.tells("a cluster whose state nobody tells", said, "595")
    said = user.call("get_vm_status", "vm=100")
    user.check("100 is shown as the list knew it", (said.json["name"], said.json["status"]) == ("web01", "running"), said)
    user.tells("a state that is not live", said, "595", "not live")
    recorded = MATERIAL.data("pvedaemon-down-node-status")
    said = user.call("get_node_status", "node=pve1")
    user.tells("the state of pve1", said, gib(recorded["memory"]["used"]), "9.2.11")


def without_pmxcfs(replay):
    """Every call fails, and it is not the token's fault."""
    user = User(replay, ADMIN)
    for tool, arguments in (("list_vms", []), ("list_nodes", []), ("get_vm_status", ["vm=100"]), ("get_node_status", ["node=pve1"])):
        user.refused(tool, *arguments, told=["cluster file system", "pve-cluster"])
    said = user.run("check")
    user.check("`check` is not content", said.code == 1, said)
    user.tells("`check`", said, "cluster file system")


def with_both_nodes(replay):
    """The second node is back, and is asked through the first."""
    user = User(replay, ADMIN)
    is_a_cluster(user, offline=None)
    is_listed(user, [guest for guest in MATERIAL.data("remote-cluster-resources") if guest["type"] in ("qemu", "lxc")])
    said = user.call("get_vm_status", "vm=110")
    user.check("110 is on-pve2, as its node says", (said.json["name"], said.json["node"], said.json["status"]) == ("on-pve2", "pve2", "running"), said)
    user.check("it can be found by its name", user.call("get_vm_status", "vm=on-pve2").json["vmid"] == 110, None)
    recorded = MATERIAL.data("remote-status")
    said = user.call("get_node_status", "node=pve2")
    user.check("pve2 is online", said.json["status"] == "online", said)
    user.tells("the state of pve2", said, gib(recorded["memory"]["used"]), "9.2.11")


STATES = {
    None: (
        those_who_may_see, one_who_sees_one_guest, those_who_see_nothing, the_way_there, the_same_by_mcp,
        what_else_there_is_to_read, those_with_less, everything_that_reads,
    ),
    "noquorum": (without_quorum, everything_that_reads),
    "pvedaemon-down": (without_pvedaemon, everything_that_reads),
    "pmxcfs-down": (without_pmxcfs, everything_that_reads),
    "remote": (with_both_nodes, everything_that_reads),
}

unrecorded = set()
for state, looks in STATES.items():
    with Replay(MATERIAL, state) as server:
        for look in looks:
            before = tally.passed + tally.failed
            try:
                look(server)
            except (AttributeError, KeyError, TypeError) as error:
                # An answer without a field that the look reads has failed its own check already.
                tally.check(f"{state or 'normal'}: {look.__name__} comes to its end", False, repr(error))
            print(f"{state or 'normal'}: {look.__name__.replace('_', ' ')}: {tally.passed + tally.failed - before} checks")
    unrecorded.update(f"{state or 'normal'}: {line}" for line in server.unrecorded)
if unrecorded:
    print("asked for, but never recorded, so answered as unknown:")
    print("\n".join(f"  {line}" for line in sorted(unrecorded)))
tally.close()
