"""Reads `.ci/examples.json`: for every tool, prompt, resource and completion, what must work on the demo cluster, and
the settings for it.

Calls that must be refused are made from the tool's own schema, so that nobody has to write them down.
"""

import json
import os
import urllib.parse

with open(os.path.join(os.path.dirname(__file__), "..", "examples.json"), encoding="utf-8") as file:
    _written = json.load(file)

# The calls for each tool: a list of argument objects by the tool's name.
CALLS = _written["tools"]
# Arguments for each prompt, by its name.
PROMPTS = _written["prompts"]
# A template and a value for each resource with a variable in its address.
RESOURCES = _written["resources"]
# The resources with an address of their own.
FIXED = _written["fixed"]
# What somebody types into an argument, and the beginning of what must be suggested.
COMPLETIONS = _written["completions"]
# Settings that offer every tool, and none that stops to ask. The demo cluster is made anew for each process.
EVERYTHING = _written["settings"]


def sources(calls):
    """The tools whose answers the calls take values from."""
    return {reference[0] for arguments in calls for value in arguments.values() if (reference := _reference(value))}


def filled(arguments, answers):
    """The arguments, with what they take from the structured answers of other tools."""
    def value(written):
        if not (reference := _reference(written)):
            return written
        tool, table, column = reference
        answer = answers[tool][table]
        return answer["rows"][0][answer["columns"].index(column)]

    return {name: value(written) for name, written in arguments.items()}


def address(resource, answers):
    """The address of an example of a resource."""
    value = filled({"value": resource["value"]}, answers)["value"]
    before, _, after = resource["template"].partition("{")
    # As clients expand a template: everything but letters, digits and a few signs is encoded.
    return before + urllib.parse.quote(value, safe="") + after.partition("}")[2]


def reference(completion):
    """What the argument of a completion belongs to, as the protocol says it."""
    if "prompt" in completion:
        return {"type": "ref/prompt", "name": completion["prompt"]}
    return {"type": "ref/resource", "uri": completion["template"]}


def finds(completion, values):
    """Whether what must be suggested is."""
    return any(value.startswith(completion["finds"]) for value in values) and len(values) <= 100


def misfits(tool):
    """Arguments that `tool` must refuse, each with what is wrong about it."""
    schema = tool["inputSchema"]
    fields = schema.get("properties", {})
    good = dict.fromkeys(schema.get("required", []), "100")
    yield "an argument that does not exist", {**good, "no_such_argument": 1}
    if good:
        yield "a required argument is missing", {}
    for name, field in fields.items():
        kind = field.get("type")
        if "enum" in field:
            yield f"`{name}` is none of its words", {**good, name: "no such word"}
        elif kind in ("integer", "number"):
            yield f"`{name}` is no number", {**good, name: "many"}
            if "maximum" in field:
                yield f"`{name}` is too large", {**good, name: field["maximum"] + 1}
            if "minimum" in field:
                yield f"`{name}` is too small", {**good, name: field["minimum"] - 1}
        elif kind == "boolean":
            yield f"`{name}` is neither true nor false", {**good, name: "perhaps"}
        elif kind == "string":
            yield f"`{name}` is an object", {**good, name: {}}


def _reference(value):
    return value[1:].split(".") if isinstance(value, str) and value.startswith("$") else None
