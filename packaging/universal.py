"""Joins programs for both of Apple's processors into one file that runs on each, as Apple's `lipo` does.

    universal.py OUT PROGRAM PROGRAM…

A universal file is a list (in big-endian numbers: processor, subtype, offset, size, alignment) and then the
programs as they are, each at a page's boundary. Their signatures cover themselves alone and stay valid.
"""

import struct
import sys
from pathlib import Path

MAGIC_64 = 0xFEEDFACF
FAT_MAGIC = 0xCAFEBABE
# The pages of Apple's own processors, as a power of two; those of Intel's are smaller.
ALIGNMENT = 14


def processor(program):
    """The processor and its subtype that a program is for."""
    magic, kind, subtype = struct.unpack_from("<III", program)
    if magic != MAGIC_64:
        sys.exit("not a 64-bit Mach-O program")
    return kind, subtype


def join(programs):
    """The bytes of the universal file."""
    heads = [processor(program) for program in programs]
    if len({kind for kind, _ in heads}) != len(heads):
        sys.exit("two programs for the same processor")
    page = 1 << ALIGNMENT
    offset = page
    listed, body = b"", b""
    for (kind, subtype), program in zip(heads, programs):
        body += b"\0" * (offset - page - len(body)) + program
        listed += struct.pack(">IIIII", kind, subtype, offset, len(program), ALIGNMENT)
        offset = -(-(offset + len(program)) // page) * page
    head = struct.pack(">II", FAT_MAGIC, len(programs)) + listed
    return head + b"\0" * (page - len(head)) + body


def split(data):
    """The programs inside a universal file, by their processor."""
    magic, count = struct.unpack_from(">II", data)
    if magic != FAT_MAGIC:
        sys.exit("not a universal file")
    parts = [struct.unpack_from(">IIIII", data, 8 + 20 * nth) for nth in range(count)]
    return {kind: data[offset:offset + size] for kind, _, offset, size, _ in parts}


def write(out, files):
    """Writes the universal file of some programs, and looks whether they are in it unchanged."""
    programs = [Path(file).read_bytes() for file in files]
    data = join(programs)
    if list(split(data).values()) != programs:
        sys.exit("the universal file does not hold the programs")
    Path(out).write_bytes(data)


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2:])
    print(f"{sys.argv[1]}: {len(sys.argv) - 2} programs")
