"""Drives the program with the official Python client, in each of its three ways to agree on a revision.

    python_client.py PROGRAM
"""

import asyncio
import json
import sys

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import ElicitResult, PromptReference, ResourceTemplateReference

from examples import CALLS, COMPLETIONS, EVERYTHING, FIXED, PROMPTS, RESOURCES, address, filled, finds, sources
from session import MODERN, environment
from tally import Tally

PROGRAM = sys.argv[1]
tally = Tally("python mcp")


def code_of(error):
    """The JSON-RPC code that an exception of the client carries, or the exception."""
    return getattr(getattr(error, "error", None), "code", repr(error))


async def converse(mode):
    """Every tool, with calls that must work and one that must be refused."""
    server = StdioServerParameters(command=PROGRAM, args=["--demo"], env=environment(**EVERYTHING))
    async with Client(server, mode=mode) as client:
        print(f"python mcp {mode} speaks {client.protocol_version}")
        tally.check(f"{mode}: the revision is what the mode is for", (mode == "legacy") == (client.protocol_version != MODERN), client.protocol_version)
        tools = (await client.list_tools()).tools
        tally.check(f"{mode}: every tool of the examples is listed", sorted(tool.name for tool in tools) == sorted(CALLS), [tool.name for tool in tools])
        for tool in tools:
            calls = CALLS.get(tool.name, [])
            answers = {source: (await client.call_tool(source, {})).structured_content for source in sources(calls)}
            for arguments in (filled(arguments, answers) for arguments in calls):
                what = f"{mode}: {tool.name} {json.dumps(arguments)}"
                got = await client.call_tool(tool.name, arguments)
                tally.check(f"{what} works", not got.is_error and got.content, repr(got))
                is_structured = got.structured_content is not None
                tally.check(f"{what} is structured where it says so", is_structured == (tool.output_schema is not None), repr(got))
            refused = await client.call_tool(tool.name, {"no_such_argument": 1})
            tally.check(f"{mode}: {tool.name} refuses an argument that does not exist", refused.is_error, repr(refused))
        try:
            code = repr(await client.call_tool("no_such_tool", {}))
        except Exception as error:  # The client's own class differs between its versions.
            code = code_of(error)
        tally.check(f"{mode}: an unknown tool is a protocol error", code == -32602, code)
        await beside(mode, client)


async def beside(mode, client):
    """Every prompt, resource and completion."""
    prompts = (await client.list_prompts()).prompts
    tally.check(f"{mode}: every prompt of the examples is listed", sorted(prompt.name for prompt in prompts) == sorted(PROMPTS), prompts)
    for name, examples in PROMPTS.items():
        for arguments in examples:
            got = await client.get_prompt(name, arguments)
            tally.check(f"{mode}: {name} {json.dumps(arguments)} has a text", got.messages and got.messages[0].content.text, repr(got))
    templates = [template.uri_template for template in (await client.list_resource_templates()).resource_templates]
    tally.check(f"{mode}: every template of the examples is listed", sorted(templates) == sorted(each["template"] for each in RESOURCES), templates)
    answers = {source: (await client.call_tool(source, {})).structured_content for source in sources(RESOURCES)}
    listed = [str(resource.uri) for resource in (await client.list_resources()).resources]
    tally.check(f"{mode}: every resource with an address of its own is listed", sorted(listed) == sorted(FIXED), listed)
    for uri in listed + [address(resource, answers) for resource in RESOURCES]:
        got = await client.read_resource(uri)
        holds = [getattr(content, "text", None) or getattr(content, "blob", None) for content in got.contents]
        tally.check(f"{mode}: {uri} has content", holds and all(holds), repr(got)[:300])
    try:
        code = repr(await client.read_resource("pve://vms/999"))
    except Exception as error:
        code = code_of(error)
    tally.check(f"{mode}: a resource that is not there has the code of the revision", code == (-32002 if mode == "legacy" else -32602), code)
    for completion in COMPLETIONS:
        if "prompt" in completion:
            reference = PromptReference(type="ref/prompt", name=completion["prompt"])
        else:
            reference = ResourceTemplateReference(type="ref/resource", uri=completion["template"])
        got = await client.complete(reference, {"name": completion["argument"], "value": completion["typed"]})
        tally.check(f"{mode}: {json.dumps(completion)} is completed", finds(completion, got.completion.values), repr(got))


async def write(mode):
    """Questions to the user, progress, and a call that is given up."""
    asking = environment(PVE_ACCESS_TIER="write", PVE_CONFIRM="destructive")
    server = StdioServerParameters(command=PROGRAM, args=["--demo"], env=asking)
    for action, content, outcome in [("accept", {"confirm": True}, "done"), ("accept", {"confirm": False}, "declined"), ("decline", None, "declined"), ("cancel", None, "unanswered")]:
        asked = []

        async def answer(_context, params):
            asked.append(params.message)
            return ElicitResult(action=action, content=content)

        async with Client(server, mode=mode, elicitation_callback=answer) as client:
            got = await client.call_tool("stop_vm", {"vm": "205"})
            found = (got.structured_content or {}).get("outcome")
            tally.check(f"{mode}: a user who says {action} {content} leads to {outcome}", found == outcome, repr(got))
            tally.check(f"{mode}: the user is asked once, about the guest", len(asked) == 1 and "205" in asked[0], asked)

    async with Client(server, mode=mode) as client:
        told = []

        async def tell(progress, _total, _message):
            told.append(progress)

        got = await client.call_tool("start_vm", {"vm": "126"}, progress_callback=tell)
        tally.check(f"{mode}: a start is done", (got.structured_content or {}).get("outcome") == "done", repr(got))
        tally.check(f"{mode}: its progress is told, always forward", len(told) > 1 and told == sorted(set(told)), told)
        shutting_down = asyncio.create_task(client.call_tool("shutdown_vm", {"vm": "126"}))
        await asyncio.sleep(0.5)
        shutting_down.cancel()
        await asyncio.gather(shutting_down, return_exceptions=True)
        tally.check(f"{mode}: a call can be cancelled", shutting_down.cancelled())
        got = await client.call_tool("start_vm", {"vm": "126"})
        tally.check(f"{mode}: the shutdown that goes on is found", "qmshutdown" in repr(got), repr(got))


for each in ("legacy", "auto", MODERN):
    try:
        asyncio.run(asyncio.wait_for(converse(each), 120))
        asyncio.run(asyncio.wait_for(write(each), 120))
    except Exception as error:  # Whatever it is, the other modes are worth trying.
        tally.check(f"{each}: the conversation comes to its end", False, repr(error))
tally.close()
