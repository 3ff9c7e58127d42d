"""Checks every message of the program against the protocol's own schemas, in every revision.

    wire.py PROGRAM [SCHEMAS]

SCHEMAS holds `REVISION/schema.json`. Without it everything but the validation is checked.
"""

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from jsonschema import Draft202012Validator

from examples import CALLS, COMPLETIONS, EVERYTHING, FIXED, PROMPTS, RESOURCES, address, filled, finds, misfits, reference, sources
from schemas import Judge
from session import LEGACY, MODERN, Gone, Session, environment
from tally import Tally

PROGRAM = sys.argv[1]
SCHEMAS = sys.argv[2] if len(sys.argv) > 2 else None
DEMO = [PROGRAM, "--demo"]

INVALID_PARAMS, NO_METHOD, WRONG_REVISION = -32602, -32601, -32022
NO_RESOURCE = -32002

tally = Tally("wire")


judge = Judge(tally, SCHEMAS)
result, error = judge.result, judge.error


def traps(schema, where=""):
    """Keywords at which one client or another refuses a whole tool list."""
    if isinstance(schema, bool):
        return
    for keyword in ("$schema", "$ref", "$defs", "definitions", "title", "format"):
        if keyword in schema:
            yield f"{where}/{keyword}"
    if isinstance(schema.get("type"), list):
        yield f"{where}/type: {schema['type']}"
    for keyword in ("properties", "patternProperties"):
        for name, field in schema.get(keyword, {}).items():
            yield from traps(field, f"{where}/{name}")
    for keyword in ("items", "additionalProperties", "not", "contains"):
        if isinstance(schema.get(keyword), dict):
            yield from traps(schema[keyword], f"{where}/{keyword}")
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for index, choice in enumerate(schema.get(keyword, [])):
            yield from traps(choice, f"{where}/{keyword}/{index}")


def look_at_definitions(tools):
    """Rules over all definitions. They are the same in every revision."""
    names = [tool["name"] for tool in tools]
    tally.check("tools have different names", len(set(names)) == len(names), names)
    for tool in tools:
        name = tool["name"]
        tally.check(f"{name} is a name that every client takes", re.fullmatch(r"[a-z][a-z0-9_]{2,39}", name))
        tally.check(f"{name} has a title and a description", tool.get("title") and tool.get("description"), tool)
        tally.check(f"{name} has example calls in .ci/examples.json", CALLS.get(name), "add one or more")
        hints = tool.get("annotations", {})
        tally.check(f"{name} says whether it only reads", isinstance(hints.get("readOnlyHint"), bool), hints)
        for part in ("inputSchema", "outputSchema"):
            schema = tool.get(part)
            if schema is None:
                continue
            tally.check(f"{name}: {part} is about an object", schema.get("type") == "object", schema)
            found = list(traps(schema))
            tally.check(f"{name}: {part} has nothing that clients trip over", not found, found)
            Draft202012Validator.check_schema(schema)
        for field, schema in tool["inputSchema"].get("properties", {}).items():
            tally.check(f"{name}: the argument {field} is described", schema.get("description"), schema)
    for name in CALLS:
        tally.check(f"{name} of .ci/examples.json is a tool", name in names)


def look_at_answer(what, tool, schemas, answer):
    """An answer to a call that must work."""
    got = result(what, answer)
    schemas.check(what, "CallToolResult", got)
    if not tally.check(f"{what} works", got.get("content") and not got.get("isError"), got):
        return
    structured = got.get("structuredContent")
    is_image = any(block["type"] == "image" for block in got["content"])
    if is_image:
        # Some clients show the model only one of the two.
        tally.check(f"{what}: a picture stands alone", structured is None and "outputSchema" not in tool)
        return
    tally.check(f"{what} has text", any(block.get("text", "").strip() for block in got["content"]), got["content"])
    if tally.check(f"{what} has structured content and a schema for it", structured and "outputSchema" in tool):
        wrong = [problem.message for problem in Draft202012Validator(tool["outputSchema"]).iter_errors(structured)]
        tally.check(f"{what} fits its output schema", not wrong, "; ".join(wrong[:3]))


def answer_of(session, tool):
    """The structured answer of a tool that needs no arguments."""
    return result(tool, session.ask("tools/call", {"name": tool, "arguments": {}})).get("structuredContent", {})


def look_at_prompts(session, schemas):
    """Every prompt, with arguments that fit and some that do not."""
    revision = session.revision
    listed = result(f"{revision}: prompts/list", session.ask("prompts/list", {}))
    schemas.check(f"{revision}: prompts/list", "ListPromptsResult", listed)
    prompts = listed.get("prompts", [])
    names = [prompt["name"] for prompt in prompts]
    tally.check(f"{revision}: the prompts are those of .ci/examples.json", sorted(names) == sorted(PROMPTS), names)
    for prompt in prompts:
        name = prompt["name"]
        tally.check(f"{revision}: {name} is described", prompt.get("title") and prompt.get("description"), prompt)
        for arguments in PROMPTS.get(name, []):
            what = f"{revision}: prompts/get {name} {json.dumps(arguments)}"
            got = result(what, session.ask("prompts/get", {"name": name, "arguments": arguments}))
            schemas.check(what, "GetPromptResult", got)
            texts = [message["content"].get("text", "") for message in got.get("messages", [])]
            tally.check(f"{what} names tools", any(tool in text for tool in CALLS for text in texts), texts)
        odd = session.ask("prompts/get", {"name": name, "arguments": {"no_such_argument": "1"}})
        error(f"{revision}: {name} with an argument that it has not", schemas, odd, INVALID_PARAMS)
    error(f"{revision}: an unknown prompt", schemas, session.ask("prompts/get", {"name": "no_such"}), INVALID_PARAMS)


def look_at_resources(session, schemas):
    """Every resource, and addresses that lead nowhere."""
    revision = session.revision
    listed = result(f"{revision}: resources/list", session.ask("resources/list", {}))
    schemas.check(f"{revision}: resources/list", "ListResourcesResult", listed)
    templates = result(f"{revision}: resources/templates/list", session.ask("resources/templates/list", {}))
    schemas.check(f"{revision}: resources/templates/list", "ListResourceTemplatesResult", templates)
    found = [template["uriTemplate"] for template in templates.get("resourceTemplates", [])]
    wanted = [resource["template"] for resource in RESOURCES]
    tally.check(f"{revision}: the templates are those of .ci/examples.json", sorted(found) == sorted(wanted), found)
    answers = {source: answer_of(session, source) for source in sources(RESOURCES)}
    uris = [resource["uri"] for resource in listed.get("resources", [])]
    tally.check(f"{revision}: every resource with an address of its own is listed", sorted(uris) == sorted(FIXED), uris)
    for uri in uris + [address(resource, answers) for resource in RESOURCES]:
        what = f"{revision}: resources/read {uri}"
        got = result(what, session.ask("resources/read", {"uri": uri}))
        schemas.check(what, "ReadResourceResult", got)
        contents = got.get("contents", [])
        holds = [content.get("text") or content.get("blob") for content in contents if content.get("uri") == uri]
        tally.check(f"{what} has content under its address", holds and all(holds), str(contents)[:300])
        if revision == MODERN:
            tally.check(f"{what} says how long it may be kept", "ttlMs" in got and got.get("cacheScope") == "private", str(got)[:300])
    code = INVALID_PARAMS if revision == MODERN else NO_RESOURCE
    for uri in ("pve://no/such", "pve://vms/999", "pve://nodes/..", "pve://vms/100%2Fstatus", "file:///etc/passwd"):
        error(f"{revision}: resources/read {uri}", schemas, session.ask("resources/read", {"uri": uri}), code)


def look_at_completions(session, schemas):
    """Every kind of completion."""
    revision = session.revision
    for completion in COMPLETIONS:
        what = f"{revision}: completion/complete {json.dumps(completion)}"
        argument = {"name": completion["argument"], "value": completion["typed"]}
        got = result(what, session.ask("completion/complete", {"ref": reference(completion), "argument": argument}))
        schemas.check(what, "CompleteResult", got)
        tally.check(f"{what} finds it", finds(completion, got.get("completion", {}).get("values", [])), got)
    for ref in ({"type": "ref/prompt", "name": "no_such"}, {"type": "ref/resource", "uri": "pve://no/{such}"}):
        odd = session.ask("completion/complete", {"ref": ref, "argument": {"name": "x", "value": ""}})
        error(f"{revision}: completing {json.dumps(ref)}", schemas, odd, INVALID_PARAMS)


def converse(revision):
    """One whole conversation in one revision. Returns the tools."""
    schemas = judge.of(revision)
    modern = revision == MODERN
    with Session(DEMO, revision, **EVERYTHING) as session:
        opened = result(f"{revision}: the opening", session.open())
        schemas.check(f"{revision}: the opening", "DiscoverResult" if modern else "InitializeResult", opened)
        tally.check(f"{revision}: there are instructions", opened.get("instructions"), opened)
        if modern:
            known = opened.get("supportedVersions", [])
            tally.check("every revision is offered", {MODERN, *LEGACY} <= set(known), known)
        else:
            tally.check(f"{revision} is agreed upon", opened.get("protocolVersion") == revision, opened)

        listed = result(f"{revision}: tools/list", session.ask("tools/list", {}))
        schemas.check(f"{revision}: tools/list", "ListToolsResult", listed)
        if not modern:
            tally.check(f"{revision}: the list says nothing that is newer", "ttlMs" not in listed and "cacheScope" not in listed, list(listed))
        capabilities = set(opened.get("capabilities", {}))
        known = {"tools", "prompts", "resources"} | ({"completions"} if revision != LEGACY[0] else set())
        tally.check(f"{revision}: the capabilities are what is there", capabilities == known, capabilities)
        tools = listed.get("tools", [])
        tally.check(f"{revision}: there are tools", tools)
        if modern:
            tally.check("how long the list may be kept is said", listed.get("ttlMs", 0) > 0 and listed.get("cacheScope"), listed)

        for tool in tools:
            name = tool["name"]
            calls = CALLS.get(name, [])
            answers = {source: answer_of(session, source) for source in sources(calls)}
            for arguments in (filled(arguments, answers) for arguments in calls):
                what = f"{revision}: {name} {json.dumps(arguments)}"
                look_at_answer(what, tool, schemas, session.ask("tools/call", {"name": name, "arguments": arguments}))
            for wrong, arguments in misfits(tool):
                what = f"{revision}: {name}, where {wrong},"
                got = result(what, session.ask("tools/call", {"name": name, "arguments": arguments}))
                schemas.check(what, "CallToolResult", got)
                text = "".join(block.get("text", "") for block in got.get("content", []))
                tally.check(f"{what} is refused in words", got.get("isError") is True and text.strip(), got)

        look_at_prompts(session, schemas)
        look_at_resources(session, schemas)
        look_at_completions(session, schemas)

        unknown = session.ask("tools/call", {"name": "no_such_tool", "arguments": {}})
        error(f"{revision}: an unknown tool", schemas, unknown, INVALID_PARAMS)
        odd = session.ask("tools/call", {"name": tools[0]["name"] if tools else "x", "arguments": [1]})
        error(f"{revision}: arguments that are a list", schemas, odd, INVALID_PARAMS)
        nameless = session.ask("tools/call", {"arguments": {}})
        error(f"{revision}: a call without a name", schemas, nameless, INVALID_PARAMS)
        error(f"{revision}: an unknown method", schemas, session.ask("no/such", {}), NO_METHOD)
        if modern:
            error("a request without _meta", schemas, session.ask("tools/list", {}, meta={}), INVALID_PARAMS)
            future = session.ask("tools/list", {}, meta=session.meta("2999-01-01"))
            error("a revision that does not exist", schemas, future, WRONG_REVISION)
            error("ping, which this revision has not,", schemas, session.ask("ping"), NO_METHOD)
        else:
            schemas.check(f"{revision}: ping", "EmptyResult", result(f"{revision}: ping", session.ask("ping", {})))

        session.write("{not json")
        alive = session.ask("tools/list", {})
        tally.check(f"{revision}: the server survives a line that is no JSON", "result" in alive, alive)
        tally.check(f"{revision}: the server leaves when its input ends", (code := session.leave()) == 0, code)
        tally.check(f"{revision}: standard output has messages only", not session.strays, session.strays)
    return tools


def look_at_openings():
    """What comes before the first request, or instead of it."""
    odd = {
        "a cancellation": {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}},
        "initialized": {"jsonrpc": "2.0", "method": "notifications/initialized"},
        "an answer": {"jsonrpc": "2.0", "id": 0, "result": {}},
    }
    for what, message in odd.items():
        with Session(DEMO, MODERN) as session:
            session.write(json.dumps(message))
            tally.check(f"the server survives {what} as the first message", "result" in session.ask("tools/list", {}))
    with Session(DEMO, MODERN) as session:
        session.ask("server/discover")
        session.revision = LEGACY[-1]
        session.open()
        tally.check("a client may discover and then initialize", "result" in session.ask("tools/list", {}))
    with Session(DEMO, MODERN) as session:
        tally.check("a client may leave without a word", (code := session.leave()) == 0, (code, session.errors))


def look_at_tiers(everything):
    """What the tiers offer, by the command line that needs no cluster."""
    def names(tier):
        told = subprocess.run([PROGRAM, "tools", "--json"], env=environment(PVE_ACCESS_TIER=tier), capture_output=True, text=True, check=True)
        listed = json.loads(told.stdout)
        return [tool["name"] for tool in (listed["tools"] if isinstance(listed, dict) else listed)]

    tally.check("`tools --json` lists what clients get", names("write") == [tool["name"] for tool in everything])
    reading = [tool["name"] for tool in everything if tool["annotations"]["readOnlyHint"]]
    tally.check("the read tier offers the tools that only read, and no other", names("read") == reading, (names("read"), reading))


def converse_to_the_end(revision):
    """A conversation, or none where the program breaks it off."""
    try:
        tools = converse(revision)
    except Gone as gone:
        tally.check(f"{revision}: the conversation comes to its end", False, str(gone))
        return None
    print(f"{revision}: {len(tools)} tools")
    return tools


# Each has its own process and its own cluster, and mostly waits for that cluster's tasks.
with ThreadPoolExecutor() as side_by_side:
    revisions = [*LEGACY, MODERN]
    lists = {each: tools for each, tools in zip(revisions, side_by_side.map(converse_to_the_end, revisions)) if tools}
if MODERN in lists:
    look_at_definitions(lists[MODERN])
    look_at_tiers(lists[MODERN])
    for each, tools in lists.items():
        same = [tool["name"] for tool in tools] == [tool["name"] for tool in lists[MODERN]]
        tally.check(f"{each}: the tools are the same in every revision", same)
try:
    look_at_openings()
except Gone as gone:
    tally.check("the server survives odd openings", False, str(gone))
tally.close()
