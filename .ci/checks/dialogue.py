"""What goes to and fro within a call, in every revision and against the protocol's own schemas: the question to a person,
the answer that is held back until it is there, progress, links, and each form of answers.

    dialogue.py PROGRAM [SCHEMAS]
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

from examples import CALLS, EVERYTHING, filled, sources
from schemas import Judge
from session import LEGACY, MODERN, Gone, Session
from tally import Tally

PROGRAM = sys.argv[1]
SCHEMAS = sys.argv[2] if len(sys.argv) > 2 else None
DEMO = [PROGRAM, "--demo"]
# Since when clients can be asked, and know links.
ASKING = LINKS = "2025-06-18"
FORMS = ("both", "text", "structured")

tally = Tally("dialogue")
judge = Judge(tally, SCHEMAS)
result = judge.result


def call(name, **arguments):
    """The parameters of a call."""
    return {"name": name, "arguments": arguments}


def look_at_progress(what, session, schemas, token):
    """Every notification of a call that told its progress."""
    told = [each["params"] for each in session.notifications if each["method"] == "notifications/progress"]
    tally.check(f"{what} tells its progress under its token", told and all(each["progressToken"] == token for each in told), told)
    figures = [each["progress"] for each in told]
    tally.check(f"{what}: progress only grows", figures == sorted(set(figures)), figures)
    for each in session.notifications:
        schemas.check(f"{what}: {each['method']}", "ProgressNotification", each)


def look_at_questions(revision, agrees):
    """A hard stop, before which the user wants to be asked."""
    schemas, what = judge.of(revision), f"{revision}, {'agreed' if agrees else 'declined'}"
    person = {"action": "accept", "content": {"confirm": True}} if agrees else {"action": "decline"}
    with Session(DEMO, revision, capabilities={"elicitation": {"form": {}}}, PVE_ACCESS_TIER="write") as session:
        session.open()
        answer = session.ask("tools/call", call("stop_vm", vm="205"), progress="stop-1", respond=lambda _: person)
        got = result(what, answer)
        if revision == MODERN:
            schemas.check(what, "InputRequiredResult", got)
            questions = got.get("inputRequests", {})
            tally.check(f"{what}: one question is asked", len(questions) == 1 and got.get("requestState"), got)
            for question in questions.values():
                schemas.check(f"{what}: the question", "InputRequest", question)
            tally.check(f"{what}: nothing else is asked", not session.requests, session.requests)
            responses = {key: person for key in questions}
            schemas.check(f"{what}: what is said to it", "InputResponses", responses)
            more = {**call("stop_vm", vm="205"), "requestState": got.get("requestState"), "inputResponses": responses}
            got = result(what, session.ask("tools/call", more, progress="stop-2"))
            token = "stop-2"
        else:
            token = "stop-1"
            tally.check(f"{what}: one question is asked", len(session.requests) == (revision >= ASKING), session.requests)
            for question in session.requests:
                schemas.check(f"{what}: the question", "ElicitRequest", question)
        schemas.check(what, "CallToolResult", got)
        outcome = got.get("structuredContent", {}).get("outcome")
        if revision < ASKING:
            text = got["content"][0]["text"]
            tally.check(f"{what}: whoever cannot be asked is told to confirm", got.get("isError") and "confirm" in text, got)
        elif agrees:
            tally.check(f"{what}: it is done", outcome == "done", got)
            look_at_progress(what, session, schemas, token)
        else:
            tally.check(f"{what}: it is not done, which is no error", outcome not in ("done", None) and not got.get("isError"), got)


def look_at_starts(revision):
    """A start before which nobody is asked, which is told about."""
    schemas, what = judge.of(revision), f"{revision}: a start"
    with Session(DEMO, revision, capabilities={"elicitation": {"form": {}}}, **EVERYTHING) as session:
        session.open()
        got = result(what, session.ask("tools/call", call("start_vm", vm="126"), progress=7))
        schemas.check(what, "CallToolResult", got)
        tally.check(f"{what}: it is done", got.get("structuredContent", {}).get("outcome") == "done", got)
        tally.check(f"{what}: nobody is asked", not session.requests, session.requests)
        look_at_progress(what, session, schemas, 7)


def look_at_cancellation(revision, begins):
    """A call that is given up while it tells its progress, or while it asks a person."""
    schemas, what = judge.of(revision), f"{revision}: {begins['name']} is cancelled"
    asks = begins["name"] == "stop_vm"
    settings = {"PVE_ACCESS_TIER": "write"} if asks else EVERYTHING
    with Session(DEMO, revision, capabilities={"elicitation": {"form": {}}}, **settings) as session:
        session.open()
        if not asks:
            tasks = result(what, session.ask("tools/call", call("list_tasks", outcome="running")))["structuredContent"]["tasks"]
            begins["arguments"]["upid"] = tasks["rows"][0][tasks["columns"].index("upid")]
        given_up = session.begin("tools/call", begins, progress="p")
        first = session.receive()
        while asks and first.get("method") != "elicitation/create":
            first = session.receive()
        if not asks:
            schemas.check(f"{what}: what it tells", "ProgressNotification", first)
        gone = {"requestId": given_up, "reason": "the user thought better of it"}
        schemas.check(f"{what}: what the client says", "CancelledNotification", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": gone})
        session.tell("notifications/cancelled", gone)
        session.ask("tools/list", {})
        tally.check(f"{what}: it ends well", (code := session.leave()) == 0, code)
        said = [*session.notifications, *session.rest()]
        tally.check(f"{what}: it is never answered", all(each.get("id") != given_up for each in said), said)
        withdrawn = [each for each in said if each.get("method") == "notifications/cancelled"]
        tally.check(f"{what}: its question is withdrawn", [each["params"]["requestId"] for each in withdrawn] == ([first["id"]] if asks else []), said)
        for each in withdrawn:
            schemas.check(f"{what}: the withdrawal", "CancelledNotification", each)


def look_at_forms(revision, form):
    """Every tool under one form of answers."""
    schemas = judge.of(revision)
    with Session(DEMO, revision, **EVERYTHING, PVE_OUTPUT=form) as session:
        session.open()
        listed = result(f"{revision} {form}: tools/list", session.ask("tools/list", {}))
        schemas.check(f"{revision} {form}: tools/list", "ListToolsResult", listed)
        promised = {tool["name"] for tool in listed.get("tools", []) if "outputSchema" in tool}
        tally.check(f"{revision} {form}: text alone promises no structure", bool(promised) == (form != "text"), promised)
        known = {source: result(source, session.ask("tools/call", call(source))) for source in sources(sum(CALLS.values(), []))}
        known = {source: got.get("structuredContent", {}) for source, got in known.items()}
        for name, calls in CALLS.items():
            if form == "text" and sources(calls[:1]):
                # What it takes from another's answer stands in the structure alone.
                continue
            arguments = filled(calls[0], known)
            what = f"{revision} {form}: {name} {json.dumps(arguments)}"
            got = result(what, session.ask("tools/call", {"name": name, "arguments": arguments}))
            schemas.check(what, "CallToolResult", got)
            has = {"text": any(block.get("text") for block in got.get("content", [])), "structured": "structuredContent" in got}
            picture = any(block["type"] == "image" for block in got.get("content", []))
            wanted = {"text": True, "structured": form != "text" and not picture}
            tally.check(f"{what} has what was wanted, and no more", has == wanted, {**has, "picture": picture})


def look_at_links(revision):
    """A log of which only a part is shown."""
    schemas, what = judge.of(revision), f"{revision}: a log that was cut"
    with Session(DEMO, revision, **EVERYTHING) as session:
        session.open()
        tasks = result(what, session.ask("tools/call", call("list_tasks", type="backup")))["structuredContent"]["tasks"]
        upid = tasks["rows"][0][tasks["columns"].index("upid")]
        got = result(what, session.ask("tools/call", call("get_task", upid=upid, lines=1)))
        schemas.check(what, "CallToolResult", got)
        links = [block for block in got["content"] if block["type"] == "resource_link"]
        tally.check(f"{what} is linked where links are known", len(links) == (revision >= LINKS), got["content"])
        for link in links:
            read = result(f"{what}: its link", session.ask("resources/read", {"uri": link["uri"]}))
            schemas.check(f"{what}: its link", "ReadResourceResult", read)
            tally.check(f"{what}: its link leads to the whole", upid in read["contents"][0]["text"], read)


def in_one(look, *arguments):
    """One of these, or what broke it off."""
    try:
        look(*arguments)
    except Gone as gone:
        tally.check(f"{look.__name__}{arguments} comes to its end", False, str(gone))


REVISIONS = (*LEGACY, MODERN)
WORK = [(look_at_links, each) for each in REVISIONS]
WORK += [(look_at_questions, each, agrees) for each in REVISIONS for agrees in (True, False)]
WORK += [(look_at_starts, each) for each in REVISIONS]
WORK += [(look_at_cancellation, each, call("get_task", wait_seconds=40)) for each in REVISIONS]
# The newest revision does not ask while a call waits, and older ones not at all.
WORK += [(look_at_cancellation, each, call("stop_vm", vm="205")) for each in REVISIONS if ASKING <= each < MODERN]
WORK += [(look_at_forms, each, form) for each in REVISIONS for form in FORMS]
with ThreadPoolExecutor() as side_by_side:
    list(side_by_side.map(lambda work: in_one(*work), WORK))
tally.close()
