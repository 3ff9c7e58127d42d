"""The protocol's own schemas, and what a check does with an answer."""

import json
import os

from jsonschema import Draft7Validator, Draft202012Validator


class Judge:
    """Looks at answers and counts what is right and wrong. Without `folder`, nothing is validated."""

    def __init__(self, tally, folder):
        self.tally, self.folder = tally, folder

    def of(self, revision):
        """The schema of one revision."""
        return Schemas(self.tally, self.folder, revision)

    def result(self, what, answer):
        """The result of an answer, or an empty one."""
        self.tally.check(f"{what} has a result", "result" in answer, answer)
        return answer.get("result", {})

    def error(self, what, schemas, answer, code):
        """Looks at an answer that must be a protocol error."""
        if self.tally.check(f"{what} is an error", "error" in answer, answer):
            schemas.check(what, ("JSONRPCErrorResponse", "JSONRPCError"), answer)
            self.tally.check(f"{what} has the code {code}", answer["error"]["code"] == code, answer["error"])


class Schemas:
    """The protocol's schema of one revision."""

    def __init__(self, tally, folder, revision):
        self.tally, self.root = tally, None
        if folder:
            with open(os.path.join(folder, revision, "schema.json"), encoding="utf-8") as file:
                self.root = json.load(file)
            self.key = "$defs" if "$defs" in self.root else "definitions"
            self.validator = Draft202012Validator if self.key == "$defs" else Draft7Validator

    def check(self, what, name, value):
        """Whether `value` is what the revision calls `name`."""
        if self.root is None:
            return
        names = [name] if isinstance(name, str) else name
        name = next((name for name in names if name in self.root[self.key]), None)
        if not self.tally.check(f"{what}: the schema knows one of {names}", name):
            return
        found = self.validator({**self.root, "$ref": f"#/{self.key}/{name}"}).iter_errors(value)
        wrong = [f"{error.message[:300]} at /{'/'.join(map(str, error.absolute_path))}" for error in found]
        self.tally.check(f"{what} is a valid {name}", not wrong, "; ".join(wrong[:3]))
