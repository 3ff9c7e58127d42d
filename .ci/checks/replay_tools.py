"""What the other reading tools say about the recorded cluster.

`everything_that_reads` takes every tool that there is, so that a new one is at least seen to survive real answers;
`CALLS` says with which arguments.
"""

import json
import subprocess

from session import environment
from user import ADMIN, AUDITOR, ONE_GUEST, OPERATOR, PROGRAM, WITHOUT_RIGHTS, User

# When the answers were recorded; they grow older, and what is asked for by default is younger.
RECORDED = "since=2026-11-29T00:00:00Z"

# What to ask of the recorded cluster. A tool that is not named is asked without arguments.
CALLS = {
    "get_vm_status": ["vm=100"],
    "get_vm_details": ["vm=100"],
    "get_vm_console": ["vm=100", "listen_seconds=1"],
    "get_vm_screenshot": ["vm=100"],
    "get_node_status": ["node=pve1"],
    "get_storage_status": ["storage=local"],
    "get_metrics": ["node=pve1"],
    "get_metrics_chart": ["node=pve1"],
    "get_system_log": ["node=pve1"],
    "get_task": ["upid=UPID:pve1:0000186C:000B9424:6B0D166B:vzdump:107:root@pam!lab:"],
    "search_logs": ["pattern=error"],
}


def everything_that_reads(replay):
    """Every reading tool with every token: it answers or says in few words why not, and neither panics nor hangs."""
    told = subprocess.run([PROGRAM, "tools", "--json"], env=environment(), capture_output=True, text=True, check=True)
    listed = json.loads(told.stdout)
    tools = [tool["name"] for tool in (listed["tools"] if isinstance(listed, dict) else listed)]
    # Other states were recorded with one token.
    tokens = [ADMIN] if replay.state else [ADMIN, AUDITOR, OPERATOR, ONE_GUEST, *WITHOUT_RIGHTS]
    for token in tokens:
        user = User(replay, token)
        for tool in tools:
            said = user.run("call", tool, *CALLS.get(tool, []), "--json")
            what = f"{tool} {' '.join(CALLS.get(tool, []))}"
            if said.code == 0:
                user.check(f"{what} answers with something", said.out.strip(), said)
            else:
                user.check(f"{what} fails in fewer than 100 words", said.code == 1 and 0 < len(said.errors.split()) < 100, said)
            if replay.state == "pmxcfs-down":
                user.check(f"{what} fails where every question does", said.code == 1, said)


def what_else_there_is_to_read(replay):
    """What an administrator reads."""
    user = User(replay, ADMIN)
    said = user.call("get_vm_details", "vm=web01")
    user.tells("the details of 100", said, "web01", "BC:24:11:07:E3:6B", "vmbr0", "1.0 GiB", "local", "fe80::be24:11ff:fe07:e36b", "labvm")

    said = user.call("list_storage")
    rows = said.json["storages"]["rows"]
    known = {row[0] for row in rows}
    user.check("every storage is listed", {"local", "data", "nas", "olddisk", "pve2only"} <= known, said)
    columns = said.json["storages"]["columns"]
    for row in (dict(zip(columns, row, strict=True)) for row in rows):
        is_there = row["state"] == "available"
        user.check(f"{row['storage']} on {row['node']}: its use is shown exactly where it is known", (row["used"] is not None) == is_there, row)
    user.tells("the storages", said, "28.9 of 252.0 GiB", "offline")

    said = user.call("list_tasks", RECORDED)
    user.tells("the tasks", said, "job errors", "CT is locked (snapshot)", "UPID:pve1:0000186C:000B9424:6B0D166B:vzdump:107:root@pam!lab:", "pve2")
    said = user.call("list_networks")
    user.tells("the networks", said, "vmbr0", "192.168.77.11/24", "nic0", "pve2")
    said = user.call("get_network_stats")
    user.tells("the traffic", said, "web01", "db01", "ct-web")
    said = user.call("get_metrics", "node=pve1")
    user.tells("the history of pve1", said, "23.5 GiB", "252.0 GiB")
    said = user.call("get_access")
    user.tells("the rights", said, "root@pam", "lab", "9.2.11")
    said = user.call("search_logs", "pattern=error", RECORDED)
    user.tells("the logs", said, "lxc-checkpoint", "pve2")


def those_with_less(replay):
    """Rights that are missing are named, and what they hide is not taken for absent."""
    user = User(replay, OPERATOR)
    user.tells("the rights of the operator", user.call("get_access"), "ops@pve", "VM.GuestAgent")
    user = User(replay, AUDITOR)
    user.tells("the rights of the auditor", user.call("get_access"), "monitor@pve", "Sys.Syslog", "VM.Console")
    for token in WITHOUT_RIGHTS:
        user = User(replay, token)
        user.tells("no storages", user.call("list_storage"), "Datastore.Audit")
        user.tells("no bridges", user.call("list_networks"), "SDN.Audit")
        user.tells("no tasks", user.call("list_tasks"), "Sys.Audit")
        user.tells("no rights", user.call("get_access"), "VM.Audit", "Sys.Audit", "Datastore.Audit", "Sys.Syslog")
        user.refused("get_metrics", "node=pve1", told=["Sys.Audit", "/nodes/pve1"])
        user.refused("get_network_stats", told=["Sys.Audit", "/nodes/pve1"])
        user.refused("get_storage_status", "storage=local", told=["Datastore.Audit"])
        user.refused("get_vm_details", "vm=100", told=["VM.Audit"])
