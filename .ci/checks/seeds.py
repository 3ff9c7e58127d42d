"""Writes recorded answers of a real server as seeds for fuzzing, a file each.

    seeds.py RECORDINGS FOLDER
"""

import base64
import json
import re
import sys
from pathlib import Path

recordings, folder = map(Path, sys.argv[1:])
UPID = re.compile(r"UPID:[^\s\"\\/]+:")
seen = set()


def keep(target, data):
    if (target, data) not in seen and len(data) <= 65536:
        seen.add((target, data))
        (folder / target).mkdir(parents=True, exist_ok=True)
        (folder / target / f"recorded-{len(seen)}").write_bytes(data)


for path in sorted(recordings.glob("*.json")):
    recorded = json.loads(path.read_text())
    request, response = recorded.get("request", {}), recorded.get("response", {})
    body = (response.get("body_raw") or "").encode()
    head = [response.get("status_line", ""), *(f"{name}: {value}" for name, value in response.get("headers", []))]
    keep("answers", body)
    keep("http", "\r\n".join([*head, "", ""]).encode("latin-1", "replace") + body)
    status = response.get("status", 200)
    if status >= 400:
        keep("refusal", ((status - 400) % 200).to_bytes(2, "big") + response.get("reason", "").encode() + b"\0" + body)
    asked = request.get("path", "").split("?")[0]
    if asked.endswith("/journal"):
        keep("journal", body)
    if asked.endswith("/log"):
        keep("task_log", body)
    if asked.endswith("/report"):
        keep("report", body)
    for upid in UPID.findall(body.decode("utf-8", "replace"))[:3]:
        keep("upid", upid.encode())


def frame(payload):
    """A frame of a WebSocket as a server sends it: binary, whole, without a mask."""
    if len(payload) < 126:
        return bytes([0x82, len(payload)]) + payload
    if len(payload) < 1 << 16:
        return b"\x82\x7e" + len(payload).to_bytes(2, "big") + payload
    return b"\x82\x7f" + len(payload).to_bytes(8, "big") + payload


MOST = 65536
for path in sorted(recordings.glob("console/*.json")):
    frames = json.loads(path.read_text()).get("frames", [])
    said = [base64.b64decode(it["b64"]) for it in frames if it.get("from") == "server" and it.get("b64")]
    stream = b"".join(said)
    keep("frames", b"".join(map(frame, said))[:MOST])
    if stream.startswith(b"RFB "):
        keep("rfb", stream[:MOST])
    else:
        # The first byte says where the text is cut in two.
        keep("terminal", b"\x80" + stream.removeprefix(b"OK")[: MOST - 1])
print(f"{len(seen)} seeds of recorded answers")
