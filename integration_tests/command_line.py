"""The built binaries, and `hearth` as a function."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("HEARTH_BUILD") or ROOT / "build" / "release")
HEARTH = BUILD / "bin" / "hearth"


def hearth(*arguments, timeout=300, **options):
    """Runs `hearth ARGUMENTS...`; gives the finished process, its output as text."""
    command = [str(HEARTH), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, errors="backslashreplace", check=False, **options
    )


def run_cases(cases, timeout=600, extra=()):
    """One `hearth run --cases` over (archive, inputs, output, method) tuples. Gives a line for each case; a process that
    ended early gives fewer lines and a last one that says how it ended."""
    text = "".join("\t".join(str(field) for field in case) + "\n" for case in cases)
    done = hearth("run", "--cases", "-", *extra, input=text, timeout=timeout)
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) < len(cases):
        lines.append(f"the process ended with {done.returncode}: {done.stderr[-2000:]}")
    return lines


def unescape(text):
    """What `raised MESSAGE` and `bad MESSAGE` say, with the escapes taken back."""
    escapes = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}
    out, i = [], 0
    while i < len(text):
        if text[i] == "\\" and i + 1 < len(text):
            if text[i + 1] == "x":
                out.append(chr(int(text[i + 2 : i + 4], 16)))
                i += 4
                continue
            out.append(escapes[text[i + 1]])
            i += 2
            continue
        out.append(text[i])
        i += 1
    return "".join(out)
