"""One person with one token, who runs the program against a replaying server and looks at what it says."""

import json
import subprocess
import sys

from session import environment
from tally import Tally

PROGRAM = sys.argv[1]
SECRET = "5ec8e700-0000-4000-8000-00000badcafe"
ADMIN, AUDITOR, OPERATOR = "root@pam!lab", "monitor@pve!ro", "ops@pve!rw"
ONE_GUEST = "ops@pve!sep"
WITHOUT_RIGHTS = ("nopriv@pve!none", "ops@pve!sepnone", "root@pam!sep")

tally = Tally("replay")


class Said:
    """What one run of the program said."""

    def __init__(self, done):
        self.code = done.returncode
        self.out = done.stdout
        self.errors = done.stderr
        self.all = done.stdout + done.stderr
        try:
            self.json = json.loads(done.stdout)
        except ValueError:
            self.json = None

    def rows(self, table):
        """The rows of a table of the answer, as objects, by their first column."""
        found = (self.json or {}).get(table, {})
        columns, rows = found.get("columns", []), found.get("rows", [])
        return {row[0]: dict(zip(columns, row, strict=True)) for row in rows}


class User:
    """The program with one token, at one replaying server."""

    def __init__(self, replay, token, **settings):
        self.settings = {
            "PVE_HOST": "127.0.0.1", "PVE_PORT": str(replay.port), "PVE_TOKEN_ID": token, "PVE_TOKEN_SECRET": SECRET,
            **({} if "PVE_TLS_REJECT_UNAUTHORIZED" in settings else {"PVE_TLS_FINGERPRINT": replay.fingerprint()}),
            **settings,
        }
        self.name = f"{replay.state or 'normal'}, {token}"

    def run(self, *arguments):
        """Runs the program. It must end by itself, and must not tell the secret."""
        done = subprocess.run([PROGRAM, *arguments], env=environment(**self.settings), capture_output=True, text=True, timeout=90)
        said = Said(done)
        what = " ".join(arguments)
        tally.check(f"{self.name}: {what} keeps the secret", SECRET not in said.all, said.all)
        tally.check(f"{self.name}: {what} does not panic", "panicked" not in said.all and said.code >= 0, said.all)
        return said

    def call(self, tool, *arguments):
        """A call that must work."""
        said = self.run("call", tool, *arguments, "--json")
        self.check(f"{tool} {' '.join(arguments)} works", said.code == 0 and said.json is not None, said)
        return said

    def refused(self, tool, *arguments, told):
        """A call that must fail, telling every one of `told`, in few words."""
        said = self.run("call", tool, *arguments, "--json")
        what = f"{tool} {' '.join(arguments)}"
        self.check(f"{what} fails", said.code == 1 and not said.out.strip(), said)
        self.tells(what, said, *told)
        self.check(f"{what} takes fewer than 100 words to say why", len(said.errors.split()) < 100, said)
        return said

    def tells(self, what, said, *told):
        """Every one of `told` is in what was said, in letters of any size."""
        for fact in told:
            self.check(f"{what} tells {fact!r}", fact.lower() in said.all.lower(), said)

    def check(self, what, holds, said):
        """Counts one check."""
        found = f"exit code {said.code}\n{said.out}{said.errors}" if isinstance(said, Said) else said
        return tally.check(f"{self.name}: {what}", holds, found)


def mib(number):
    """A number of bytes in MiB as the program shows it."""
    return f"{number / 2**20:.1f}"


def gib(number):
    """A number of bytes in GiB as the program shows it."""
    return f"{number / 2**30:.1f}"
