"""Speaks MCP to the program as a client does, line by line, without an SDK that would hide mistakes.

Everything the program writes to standard output is kept: a line that is no JSON-RPC message is a defect.
"""

import json
import os
import queue
import subprocess
import threading

MODERN = "2026-07-28"
LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
# A call may take 50 s by design.
SECONDS = 60
ERA = "io.modelcontextprotocol/"


def environment(**settings):
    """The environment for the program: ours without its settings, and `settings`."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PVE_")}
    return {**clean, **settings}


class Gone(Exception):
    """The program ended, or did not answer."""


class Session:
    """One process of the program, and the conversation with it."""

    def __init__(self, command, revision, capabilities=None, **settings):
        self.revision = revision
        self.capabilities = capabilities or {}
        self.requests = []
        self.notifications = []
        self.process = subprocess.Popen(
            command, env=environment(**settings), text=True, bufsize=1, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        self.messages = queue.Queue()
        self.strays = []
        self.errors = []
        self.next_id = 0
        self.readers = [threading.Thread(target=reader, daemon=True) for reader in (self._read, self._read_errors)]
        for reader in self.readers:
            reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def open(self):
        """Begins the conversation in the way of its era. Returns the result."""
        if self.revision == MODERN:
            return self.ask("server/discover")
        who = {"protocolVersion": self.revision, "capabilities": self.capabilities, "clientInfo": {"name": "check", "version": "0"}}
        answer = self.ask("initialize", who)
        self.tell("notifications/initialized")
        return answer

    def begin(self, method, parameters=None, meta=None, progress=None):
        """Sends a request and returns its id. `meta` replaces what the modern era wants to know; `progress` is the token
        under which progress is told."""
        self.next_id += 1
        message = {"jsonrpc": "2.0", "id": self.next_id, "method": method}
        if self.revision == MODERN:
            parameters = {**(parameters or {}), "_meta": self.meta() if meta is None else meta}
        if progress is not None:
            parameters = {**(parameters or {}), "_meta": {**(parameters or {}).get("_meta", {}), "progressToken": progress}}
        if parameters is not None:
            message["params"] = parameters
        self.write(json.dumps(message))
        return self.next_id

    def ask(self, method, parameters=None, meta=None, progress=None, respond=None):
        """Sends a request and returns the whole answer. What the server asks meanwhile, `respond` answers with a result.
        Requests and notifications of the server are kept."""
        asked = self.begin(method, parameters, meta, progress)
        while True:
            answer = self.receive()
            if "method" not in answer:
                if answer.get("id") == asked:
                    return answer
            elif "id" in answer:
                self.requests.append(answer)
                if respond:
                    self.write(json.dumps({"jsonrpc": "2.0", "id": answer["id"], "result": respond(answer)}))
            else:
                self.notifications.append(answer)

    def tell(self, method, parameters=None):
        """Sends a notification."""
        message = {"jsonrpc": "2.0", "method": method}
        if parameters is not None:
            message["params"] = parameters
        self.write(json.dumps(message))

    def write(self, line):
        """Sends a line as it is."""
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Gone(f"the program has closed its input; it said: {self.errors}") from None

    def receive(self):
        """The next message."""
        try:
            message = self.messages.get(timeout=SECONDS)
        except queue.Empty:
            raise Gone(f"no answer within {SECONDS} s") from None
        if message is None:
            raise Gone(f"the program has ended; it said: {self.errors}")
        return message

    def meta(self, revision=None):
        """What every request of the modern era carries."""
        return {
            f"{ERA}protocolVersion": revision or self.revision,
            f"{ERA}clientInfo": {"name": "check", "version": "0"},
            f"{ERA}clientCapabilities": self.capabilities,
        }

    def rest(self):
        """What the program said and nobody has received, after it has ended."""
        return list(iter(self.messages.get, None))

    def leave(self):
        """Closes the program's input, and returns its exit code."""
        self.process.stdin.close()
        try:
            code = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "still running 5 s after the end of its input"
        for reader in self.readers:
            reader.join()
        return code

    def _read(self):
        for line in self.process.stdout:
            try:
                message = json.loads(line)
                if message.get("jsonrpc") != "2.0":
                    raise ValueError(line)
                self.messages.put(message)
            except (ValueError, AttributeError):
                self.strays.append(line)
        self.messages.put(None)

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line.rstrip())
