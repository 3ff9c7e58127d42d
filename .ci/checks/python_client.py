"""Drives the program with the official Python client, in each of its three ways to agree on a revision.

    python_client.py PROGRAM
"""

import asyncio
import json
import sys

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from examples import CALLS, EVERYTHING
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
            for arguments in CALLS.get(tool.name, []):
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


for each in ("legacy", "auto", MODERN):
    try:
        asyncio.run(asyncio.wait_for(converse(each), 120))
    except Exception as error:  # Whatever it is, the other modes are worth trying.
        tally.check(f"{each}: the conversation comes to its end", False, repr(error))
tally.close()
