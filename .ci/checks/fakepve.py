"""Console tools of the program against fakepve, an independent fake of Proxmox VE.

fakepve has no API tokens to give away, so a small proxy stands in front of it that logs in with its password and
turns the token's header into the session's. fakepve is AGPL: it is only ever run, as a process of its own.
"""

import asyncio
import json
import os
import re
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
import zlib

from tally import Tally

GUESTS = {
    "guests": [
        {"vmid": 100, "name": "web01", "status": "running", "config": {"serial0": "socket", "memory": 512}},
        {"vmid": 101, "name": "db01", "status": "running", "config": {"memory": 512}},
        {"vmid": 102, "name": "off", "status": "stopped", "config": {"serial0": "socket", "memory": 512}},
    ]
}
PASSWORD = "simulated"
TOKEN = "root@pam!check=00000000-0000-0000-0000-000000000000"


def trusting():
    """A context for fakepve's certificate, which is made anew each time."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def log_in(port):
    """The headers of a session."""
    form = urllib.parse.urlencode({"username": "root@pam", "password": PASSWORD}).encode()
    url = f"https://127.0.0.1:{port}/api2/json/access/ticket"
    with urllib.request.urlopen(url, form, context=trusting()) as answer:
        data = json.load(answer)["data"]
    return f"Cookie: PVEAuthCookie={data['ticket']}\r\nCSRFPreventionToken: {data['CSRFPreventionToken']}\r\n"


async def pass_on(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


def proxy(port, session):
    """Serves one request for each connection, and a WebSocket for as long as it lasts."""

    async def serve(reader, writer):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:
            writer.close()
            return
        head = re.sub(r"(?im)^authorization:.*\r\n", "", head)
        if not re.search(r"(?im)^upgrade:", head):
            head = re.sub(r"(?im)^connection:.*\r\n", "", head).replace("\r\n", "\r\nConnection: close\r\n", 1)
        head = head.replace("\r\n", f"\r\n{session}", 1)
        behind, ahead = await asyncio.open_connection("127.0.0.1", port, ssl=trusting())
        ahead.write(head.encode("latin-1"))
        await asyncio.gather(pass_on(reader, ahead), pass_on(behind, writer), return_exceptions=True)

    return serve


async def call(program, port, tool, *arguments, tier="read"):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PVE_")}
    token, secret = TOKEN.split("=")
    environment |= {
        "PVE_HOST": f"127.0.0.1:{port}",
        "PVE_TOKEN_ID": token,
        "PVE_TOKEN_SECRET": secret,
        "PVE_TLS_REJECT_UNAUTHORIZED": "false",
        "PVE_ACCESS_TIER": tier,
        "PVE_LOG": "trace",
    }
    process = await asyncio.create_subprocess_exec(
        program, "call", tool, *arguments, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    output, errors = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, output.decode(), errors.decode()


async def check(program, folder, port, tally):
    certificate, key = f"{folder}/cert.pem", f"{folder}/key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-keyout", key, "-out", certificate], check=True, capture_output=True,
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    session = await asyncio.to_thread(log_in, port)
    server = await asyncio.start_server(proxy(port, session), "127.0.0.1", 0, ssl=context)
    front = server.sockets[0].getsockname()[1]
    said = []

    async def told(tool, *arguments, **options):
        result = await call(program, front, tool, *arguments, **options)
        said.append("".join(result[1:]))
        return result

    code, output, errors = await told("get_vm_console", "vm=web01", "listen_seconds=1", "--json")
    tally.check("its serial terminal is opened and said to be silent", code == 0 and "nothing came" in output, output + errors[-800:])

    code, output, errors = await told(
        "send_vm_keys", "vm=web01", "serial=0", "text=echo hällo", "keys=enter", "listen_seconds=1", "--json",
        "--yes", tier="write",
    )
    answer = json.loads(output) if code == 0 else {}
    tally.check("what is typed into its terminal comes back", "echo hällo" in answer.get("screen", []), output + errors[-800:])
    tally.check("every key is counted", answer.get("keys_sent") == "11 of 11", output)

    picture = f"{folder}/screen.png"
    code, output, errors = await told("get_vm_screenshot", "vm=web01", "--save", picture)
    size = os.path.getsize(picture) if os.path.exists(picture) else 0
    tally.check("its screen is seen", code == 0 and "4 x 2 pixels" in output and size > 50, output + errors[-800:])
    tally.check("in its colours", colours(picture) == bytes(range(24)), colours(picture))

    code, output, errors = await told("get_vm_console", "vm=db01")
    tally.check("a VM without serial port is told how to get one", code == 1 and "--serial0 socket" in errors, errors[-800:])
    code, output, errors = await told("get_vm_console", "vm=off")
    tally.check("a stopped VM is said to be stopped", code == 1 and "does not run" in errors, errors[-800:])

    everything = "".join(said)
    tally.check("the log was on", "upgraded" in everything, everything[-500:])
    tally.check("no ticket is told", "PVEVNC" not in everything and "vncticket" not in everything, "")
    server.close()


def colours(picture):
    """The pixels of a PNG with a palette, or with eight bits for each of red, green and blue."""
    if not os.path.exists(picture):
        return None
    with open(picture, "rb") as file:
        data = file.read()
    chunks, at = {}, 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        chunks[kind] = chunks.get(kind, b"") + data[at + 8 : at + 8 + length]
        at += 12 + length
    width, height, bits, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    filtered = zlib.decompress(chunks[b"IDAT"])
    stride = len(filtered) // height
    back = 3 if kind == 2 else 1
    above, pixels = bytes(stride - 1), b""
    for y in range(height):
        how, *row = filtered[y * stride : (y + 1) * stride]
        for x in range(len(row)):
            left, corner = (row[x - back], above[x - back]) if x >= back else (0, 0)
            straight = left + above[x] - corner
            nearest = min((left, above[x], corner), key=lambda level: abs(straight - level))
            row[x] = (row[x] + (0, left, above[x], (left + above[x]) // 2, nearest)[how]) % 256
        above = bytes(row)
        if kind == 2:
            pixels += above
            continue
        for bit in range(0, width * bits, bits):
            index = above[bit // 8] >> (8 - bits - bit % 8) & ((1 << bits) - 1)
            pixels += chunks[b"PLTE"][index * 3 : index * 3 + 3]
    return pixels


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def main():
    program = sys.argv[1]
    tally = Tally("fakepve")
    with tempfile.TemporaryDirectory() as folder:
        guests = f"{folder}/guests.json"
        with open(guests, "w", encoding="utf-8") as file:
            json.dump(GUESTS, file)
        port = free_port()
        command = [sys.executable, "-m", "fakepve", guests, "--host", "127.0.0.1", "--port", str(port)]
        fake = subprocess.Popen(command, env={**os.environ, "PVE_PASS": PASSWORD}, stdout=subprocess.PIPE, text=True)
        try:
            line = fake.stdout.readline()
            if tally.check("fakepve listens", "listening" in line, line):
                asyncio.run(check(program, folder, port, tally))
        finally:
            fake.kill()
            fake.wait()
    tally.close()


if __name__ == "__main__":
    main()
