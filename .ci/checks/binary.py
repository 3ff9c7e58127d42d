"""Says what a program file is, by its headers, and checks that it needs nothing but the system itself.

    binary.py FILE TRIPLE [LIMIT]

LIMIT is the largest size in bytes. Prints one line; ends with 1 where the file is not what the triple says.
"""

import os
import struct
import sys

MACHINES = {"x86_64": {"elf": 0x3E, "macho": 0x01000007, "pe": 0x8664}, "aarch64": {"elf": 0xB7, "macho": 0x0100000C, "pe": 0xAA64}}
# Libraries that every installation of the system has. A prefix is enough: Windows splits its C runtime.
OF_THE_SYSTEM = {
    "apple": ("/usr/lib/libSystem.B.dylib", "/usr/lib/libiconv.2.dylib", "/usr/lib/libcharset.1.dylib"),
    "windows": ("kernel32", "ntdll", "ws2_32", "bcrypt", "bcryptprimitives", "advapi32", "userenv", "msvcrt", "api-ms-win-"),
}


class Wrong(Exception):
    """The file is not what it should be."""


def elf(data, machine):
    """A static Linux program, which the system may place anywhere."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise Wrong("no 64-bit ELF file")
    if struct.unpack_from("<H", data, 18)[0] != machine:
        raise Wrong("ELF for another machine")
    if struct.unpack_from("<H", data, 16)[0] != 3:
        raise Wrong("it is not position independent")
    offset, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for at in range(offset, offset + size * count, size):
        if struct.unpack_from("<I", data, at)[0] == 3:
            raise Wrong("it names an interpreter, so it is not static")
    return "ELF, static, position independent", []


def macho(data, machine):
    """A macOS program, and the libraries that it loads."""
    magic, kind, _, _, commands = struct.unpack_from("<IIIII", data, 0)
    if magic != 0xFEEDFACF:
        raise Wrong("no 64-bit Mach-O file")
    if kind != machine:
        raise Wrong("Mach-O for another machine")
    libraries, at, is_signed = [], 32, False
    for _ in range(commands):
        command, size = struct.unpack_from("<II", data, at)
        if command & 0x7FFFFFFF in (0xC, 0x18, 0x1F):
            name = data[at + struct.unpack_from("<I", data, at + 8)[0]:at + size]
            libraries.append(name.split(b"\0")[0].decode())
        is_signed |= command == 0x1D
        at += size
    if machine == MACHINES["aarch64"]["macho"] and not is_signed:
        raise Wrong("it has no signature, without which Apple's processors do not start it")
    return "Mach-O", libraries


def pe(data, machine):
    """A Windows program, and the libraries that it loads."""
    start, = struct.unpack_from("<I", data, 0x3C)
    if data[:2] != b"MZ" or data[start:start + 4] != b"PE\0\0":
        raise Wrong("no PE file")
    if struct.unpack_from("<H", data, start + 4)[0] != machine:
        raise Wrong("PE for another machine")
    sections, = struct.unpack_from("<H", data, start + 6)
    optional, = struct.unpack_from("<H", data, start + 20)
    if struct.unpack_from("<H", data, start + 24)[0] != 0x20B:
        raise Wrong("no PE32+ file")
    table = [struct.unpack_from("<IIII", data, start + 24 + optional + 40 * at + 8) for at in range(sections)]

    def place(address):
        for size, virtual, raw_size, raw in table:
            if virtual <= address < virtual + max(size, raw_size):
                return address - virtual + raw
        raise Wrong("an address outside the file")

    at, libraries = place(struct.unpack_from("<I", data, start + 24 + 120)[0]), []
    while (name := struct.unpack_from("<I", data, at + 12)[0]) != 0:
        text = data[place(name):]
        libraries.append(text[:text.index(b"\0")].decode().lower())
        at += 20
    return "PE32+", libraries


def look(path, triple):
    """What the file is, and what it loads."""
    with open(path, "rb") as file:
        data = file.read()
    machine = MACHINES[triple.split("-")[0]]
    for system, form, read in (("linux", "elf", elf), ("apple", "macho", macho), ("windows", "pe", pe)):
        if system in triple:
            kind, libraries = read(data, machine[form])
            foreign = [name for name in libraries if not name.startswith(OF_THE_SYSTEM.get(system, ()))]
            if foreign:
                raise Wrong(f"it needs libraries that not every system has: {', '.join(foreign)}")
            return kind, libraries
    raise Wrong("no system that is known here")


file_path, target = sys.argv[1:3]
n_bytes = os.path.getsize(file_path)
try:
    form_found, loaded = look(file_path, target)
    if len(sys.argv) > 3 and n_bytes > int(sys.argv[3]):
        raise Wrong(f"{n_bytes} bytes are more than {sys.argv[3]}")
except Wrong as wrong:
    print(f"{target:28} FAILED: {wrong}")
    sys.exit(1)
needs = f", loads {', '.join(loaded)}" if loaded else ""
print(f"{target:28} {form_found}, {n_bytes} bytes ({n_bytes / 1e6:.2f} MB){needs}")
