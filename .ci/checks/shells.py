"""Asks fish and zsh what they complete of the commands, with the scripts that the program prints for them."""

import os
import pty
import re
import select
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(sys.argv[1]).resolve()

# What is typed, and what is offered then: all of it, or some of it where `…` stands at the end.
TYPED = {
    "mcp-proxmox con": ["config"],
    "mcp-proxmox config cl": ["claude-code", "claude-desktop"],
    "mcp-proxmox config cursor --via ": ["binary", "docker", "npx"],
    "mcp-proxmox call list_n": ["list_networks", "list_nodes"],
    "mcp-proxmox --demo call start_": ["start_vm"],
    "mcp-proxmox --access-tier ": ["read", "write"],
    "mcp-proxmox --confirm never config z": ["zed"],
    "mcp-proxmox tools --output s": ["structured"],
    "mcp-proxmox completions ": ["bash", "elvish", "fish", "powershell", "zsh"],
    "mcp-proxmox check --ho": ["--host"],
}

# Prints the candidates that zsh's own functions hand over, and types none of them.
ZSH = r"""
PS1='> '
unsetopt BEEP PROMPT_SP
fpath=(~/functions $fpath)
autoload -Uz compinit && compinit -u -D
over() { print completion over; zle .kill-whole-line; zle reset-prompt; }
zle -N over
bindkey '^Xe' over
bindkey '^U' kill-whole-line
compadd() {
    local -a told
    builtin compadd -O told "$@"
    (( $#told )) && print -rl -- "${(@)told/#/offered:}" >> ~/offered
    builtin compadd "$@"
}
"""


def script(shell):
    return subprocess.run([PROGRAM, "completions", shell], check=True, capture_output=True, text=True).stdout


def by_fish(home, typed):
    said = subprocess.run(
        ["fish", "-c", 'complete -C "$TYPED"'],
        check=True,
        capture_output=True,
        text=True,
        cwd=home,
        env={**os.environ, "HOME": str(home), "TYPED": typed, "XDG_CONFIG_HOME": ""},
    )
    assert not said.stderr, said.stderr
    return [line.split("\t")[0].strip() for line in said.stdout.splitlines()]


def by_zsh(home, typed):
    """Types it into a zsh on a terminal, and Tab."""
    (home / "offered").unlink(missing_ok=True)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(home)
        os.environ.update({"HOME": str(home), "ZDOTDIR": str(home), "TERM": "dumb"})
        os.execvp("zsh", ["zsh", "-i"])
    seen = b""

    def until(what):
        nonlocal seen
        while what not in seen:
            assert select.select([terminal], [], [], 60)[0], f"zsh says no more after {seen!r}"
            seen += os.read(terminal, 65536)
        seen = seen.split(what, 1)[1]

    until(b"> ")
    # Behind the completion the line is thrown away, and a key tells that it is over.
    os.write(terminal, typed.encode() + b"\t\x15\x18e")
    until(b"completion over")
    os.write(terminal, b"exit\n")
    # Closed from the other side: only then is it over.
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        pass
    os.close(terminal)
    os.waitpid(child, 0)
    told = (home / "offered").read_text(encoding="utf-8") if (home / "offered").exists() else ""
    return re.findall(r"^offered:(.*)$", told, re.MULTILINE)


def main():
    n_asked = 0
    with tempfile.TemporaryDirectory(prefix="shells-") as folder:
        home = Path(folder)
        for name in ("bin", ".config/fish/completions", "functions"):
            (home / name).mkdir(parents=True)
        (home / "bin/mcp-proxmox").symlink_to(PROGRAM)
        os.environ["PATH"] = f"{home}/bin:{os.environ['PATH']}"
        (home / ".config/fish/completions/mcp-proxmox.fish").write_text(script("fish"), encoding="utf-8")
        (home / "functions/_mcp-proxmox").write_text(script("zsh"), encoding="utf-8")
        (home / ".zshrc").write_text(ZSH, encoding="utf-8")
        for shell, ask in (("fish", by_fish), ("zsh", by_zsh)):
            for typed, wanted in TYPED.items():
                offered = sorted(set(ask(home, typed)))
                assert offered == wanted, f"{shell} offers {offered} for {typed!r}, and not {wanted}"
                n_asked += 1
    print(f"fish and zsh complete {n_asked} beginnings as they should")


main()
