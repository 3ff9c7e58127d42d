"""Recorded answers of a real server, and a server that replays them over TLS.

The recordings are not part of the project: `Material` finds them below the folder that PVE_MATERIAL names.
"""

import hashlib
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import threading

# What each `type` of `/cluster/resources` lets through.
KINDS = {"vm": ("qemu", "lxc"), "node": ("node",), "storage": ("storage",)}
# What the server says of a question that it has no answer to.
UNRECORDED = re.compile(r"([^\s:]+@[^\s:]+): ([A-Z]+) (/\S*?)(?=never |\s|$)")


class Material:
    """The recordings, by name."""

    def __init__(self, folder):
        self.server = os.path.join(folder, "replay", "pve_replay.py")
        self.folder = os.path.join(folder, "pve-recordings")

    def data(self, name):
        """What the recorded answer `name` holds."""
        return json.loads(self._response(name)["body_raw"])["data"]

    def overlay(self, state):
        """The resources of another state were recorded whole; these are the parts that a filter gives."""
        if not state or not os.path.exists(self._path(f"{state}-cluster-resources")):
            return []
        response = self._response(f"{state}-cluster-resources")
        if response["status"] != 200:
            return []
        rows = json.loads(response["body_raw"])["data"]
        return [
            {"path": re.escape(f"/cluster/resources?type={name}"), "status": 200, "reason": "OK",
             "body": {"data": [row for row in rows if row["type"] in kinds]}}
            for name, kinds in KINDS.items()
        ]

    def _response(self, name):
        with open(self._path(name), encoding="utf-8") as file:
            return json.load(file)["response"]

    def _path(self, name):
        return os.path.join(self.folder, f"{name}.json")


class Replay:
    """The replaying server in one state of the cluster, as long as the `with` block lasts."""

    def __init__(self, material, state=None):
        self.material = material
        self.state = state
        self.unrecorded = []

    def __enter__(self):
        self.work = tempfile.TemporaryDirectory()
        certificate = os.path.join(self.work.name, "certificate.pem")
        overlay = os.path.join(self.work.name, "overlay.json")
        with open(overlay, "w", encoding="utf-8") as file:
            json.dump(self.material.overlay(self.state), file)
        command = [sys.executable, self.material.server, "--port", "0", "--dir", self.material.folder,
                   "--cert", certificate, "--overlay", overlay, *(["--state", self.state] if self.state else [])]
        # Its own temporary files go where ours are removed.
        place = {**os.environ, "TMPDIR": self.work.name}
        self.process = subprocess.Popen(command, env=place, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = self.process.stdout.readline()
        address = re.match(r"https://127\.0\.0\.1:(\d+)/", line)
        if not address:
            raise RuntimeError(f"the replaying server did not start: {line} {self.process.stderr.read()}")
        self.port = int(address[1])
        self.certificate = certificate
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.listener.join()
        self.work.cleanup()

    def fingerprint(self):
        """The certificate's SHA-256, as PVE shows it."""
        with open(self.certificate, encoding="ascii") as file:
            digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(file.read())).hexdigest().upper()
        return ":".join(digest[at:at + 2] for at in range(0, 64, 2))

    def _listen(self):
        for line in self.process.stderr:
            # Two threads of the server may write into one line.
            self.unrecorded += [f"{token}: {method} {path}" for token, method, path in UNRECORDED.findall(line)]
