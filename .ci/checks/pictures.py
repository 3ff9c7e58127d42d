"""The pictures of the documentation, made from what the program really says on its simulated cluster.

    pictures.py PROGRAM           are they current? (times and identifiers of tasks, which differ at every run, aside)
    pictures.py PROGRAM --write   make them anew

The recording is an SVG that needs no script: each scene is a command and its answer, shown for some seconds. Pictures of
points (a chart, a screen) cannot be compared, so of those only the form is looked at.
"""

import html
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
COLUMNS, LINES = 116, 22
WIDTH, HEIGHT = 8.02, 18

# What is typed, what is run for it, and for how many seconds the answer is shown.
SCENES = [
    ("mcp-proxmox --demo call get_cluster_health", ["call", "get_cluster_health"], 9),
    ("mcp-proxmox --demo call list_vms sort=cpu limit=4", ["call", "list_vms", "sort=cpu", "limit=4"], 7),
    ("mcp-proxmox --demo call get_storage_status storage=nas", ["call", "get_storage_status", "storage=nas"], 8),
    (
        "mcp-proxmox --demo --access-tier write call reboot_vm vm=webshop",
        ["--access-tier", "write", "call", "reboot_vm", "vm=webshop"],
        7,
    ),
]
TYPING = 1.5

# A chart and a screen: file, arguments.
DRAWN = [
    ("chart.png", ["call", "get_metrics_chart", "vm=postgres", "timeframe=day"]),
]


def said(program, arguments):
    answer = subprocess.run([program, "--demo", *arguments], capture_output=True, text=True, check=True)
    return answer.stdout


def fitted(text):
    """Lines that fit: the terminal of the picture cuts, as `less -S` does."""
    lines = [line.rstrip() for line in text.rstrip("\n").split("\n")]
    more = len(lines) > LINES
    lines = lines[: LINES - 1] + ["…"] if more else lines
    return [line if len(line) <= COLUMNS else cut(line) for line in lines]


def cut(line):
    """A word that goes on is marked; a column that ends before the edge needs no mark."""
    kept = line[: COLUMNS - 1]
    return kept + "…" if kept[-1] != " " else kept.rstrip()


def line(row, text, kind="", style=""):
    """One line at its row; blanks stay."""
    css = f' class="{kind}"' if kind else ""
    return f'<text{css}{style} x="16" y="{52 + row * HEIGHT:g}" xml:space="preserve">{html.escape(text, quote=False)}</text>'


def colour(text):
    if text.startswith("$ "):
        return "typed"
    if re.match(r"\s+(warning|critical|error)\b", text):
        return "warning"
    if text.startswith("- ") or text == "notes:":
        return "faint"
    return ""


def recording(scenes):
    total = sum(TYPING + seconds for _, _, seconds in scenes)
    width, height = int(COLUMNS * WIDTH + 32), 52 + (LINES + 1) * HEIGHT
    rules, shown, begin = [], [], 0.0
    for number, (typed, answer, seconds) in enumerate(scenes):
        share = lambda at: f"{100 * at / total:.3f}%"  # noqa: E731
        end = begin + TYPING + seconds
        rules.append(
            f"@keyframes scene{number}{{0%{{opacity:{int(number == 0)}}}"
            + (f"{share(begin)}{{opacity:0}}{share(begin + 0.01)}{{opacity:1}}" if number else "")
            + f"{share(end - 0.01)}{{opacity:1}}{share(end)}{{opacity:0}}100%{{opacity:0}}}}"
            f"@keyframes answer{number}{{0%,{share(begin + TYPING)}{{opacity:0}}"
            f"{share(begin + TYPING + 0.01)},100%{{opacity:1}}}}"
            f"@keyframes typing{number}{{0%,{share(begin)}{{transform:scaleX(1);opacity:1}}"
            f"{share(begin + TYPING * 0.8)},100%{{transform:scaleX(0);opacity:1}}}}"
            f"#scene{number}{{animation:scene{number} {total:g}s infinite;opacity:{int(number == 0)}}}"
            f"#answer{number}{{animation:answer{number} {total:g}s infinite}}"
            f"#typing{number}{{animation:typing{number} {total:g}s infinite steps({len(typed)});"
            f"transform-origin:{width - 16}px 0}}"
        )
        rows = [line(row + 1, text, colour(text)) for row, text in enumerate(answer)]
        shown.append(
            f'<g id="scene{number}">{line(0, "$ " + typed, "typed")}'
            f'<rect id="typing{number}" class="back" opacity="0" x="{16 + 2 * WIDTH:g}" y="38" width="{width - 32 - 2 * WIDTH:g}" height="20"/>'
            f'<g id="answer{number}">' + "\n".join(rows) + "</g></g>"
        )
        begin = end
    style = (
        "text{font-size:13.33px;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d6deeb}"
        ".typed{fill:#9ece6a}.warning{fill:#e6c07b}.faint{fill:#8a94a7}.back{fill:#1a1e29}" + "".join(rules) +
        "@media (prefers-reduced-motion:reduce){g,rect{animation:none!important}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">\n'
        "<title>mcp-proxmox on its simulated cluster, in a terminal</title>\n"
        f"<style>{style}</style>\n"
        f'<rect class="back" width="{width}" height="{height}" rx="8"/>\n'
        '<circle cx="20" cy="17" r="5.5" fill="#ff5f57"/><circle cx="39" cy="17" r="5.5" fill="#febc2e"/>'
        '<circle cx="58" cy="17" r="5.5" fill="#28c840"/>\n' + "\n".join(shown) + "\n</svg>\n"
    )


def steady(text):
    """Without what differs at every run: numbers, identifiers, and how wide they make a column."""
    drawn, words = text.split("</style>", 1)
    words = re.sub(r"UPID:[^\s<…]*…?", "UPID", words)
    # An age has a second figure unless that is nothing: `4d` and `4d 1h` are one.
    words = re.sub(r"\b(\d+[dhm]) \d+[hms]\b", r"\1", words)
    words = re.sub(r">([^<]*)<", lambda shown: ">" + re.sub(r"\d+(\.\d+)?", "0", shown[1]) + "<", words)
    return drawn + re.sub(r"[ …]+", " ", words)


def size_of(picture):
    data = picture.read_bytes()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        sys.exit(f"{picture.name} is no PNG")
    return struct.unpack(">II", data[16:24])


def main():
    program, write = sys.argv[1], "--write" in sys.argv[2:]
    made = recording([(typed, fitted(said(program, arguments)), seconds) for typed, arguments, seconds in SCENES])
    kept = PICTURES / "terminal.svg"
    if write:
        kept.write_text(made)
        for name, arguments in DRAWN:
            said(program, [*arguments, "--save", str(PICTURES / name)])
    if steady(kept.read_text()) != steady(made):
        sys.exit("docs/pictures/terminal.svg is not current: python .ci/checks/pictures.py target/release/mcp-proxmox --write")
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in DRAWN:
            fresh = Path(folder) / name
            said(program, [*arguments, "--save", str(fresh)])
            if size_of(fresh) != size_of(PICTURES / name):
                sys.exit(f"docs/pictures/{name} is not current")
    for picture in PICTURES.iterdir():
        if picture.suffix == ".png":
            size_of(picture)
    print(f"pictures: {len(SCENES)} scenes and {len(DRAWN)} drawing as the program makes them")


main()
