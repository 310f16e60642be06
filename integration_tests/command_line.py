"""The built binaries, and `hearth` as a function."""

import os
import queue
import subprocess
import tempfile
import threading
from pathlib import Path

from integration_tests import ROOT

BUILD = Path(os.environ.get("HEARTH_BUILD") or ROOT / "build" / "release")
HEARTH = BUILD / "bin" / "hearth"


def hearth(*arguments, timeout=300, **options):
    """Runs `hearth ARGUMENTS...`; gives the finished process, its output as text."""
    command = _limited([HEARTH, *arguments])
    return subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, errors="backslashreplace", check=False, **options
    )


def run_cases(cases, case_timeout=300, extra=(), program=(HEARTH,), limited=True):
    """`hearth run --cases` over (archive, inputs, output, method[, seed[, guard]]) tuples: a line for each; with a guard,
    what it says of plans and what it says of the case, with a tab between. One process does them all; if it ends early, or a case takes more than `case_timeout` seconds, that case's line says so and another process
    goes on with the next. What programs print is left out. `limited` bounds the process's memory, which no process that
    uses a GPU can live with."""
    lines = []
    while len(lines) < len(cases):
        lines += _run_until_trouble(cases[len(lines) :], case_timeout, extra, program, limited)
    return lines


def _run_until_trouble(cases, case_timeout, extra, program, limited):
    text = "".join("\t".join(str(field) for field in case) + "\n" for case in cases)
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            (_limited if limited else _words)([*program, "run", "--cases", "-", *extra]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, errors="backslashreplace",
        )  # fmt: skip
        answers = queue.SimpleQueue()
        threading.Thread(target=_feed, args=(process, text), daemon=True).start()
        threading.Thread(target=collect, args=(process, answers), daemon=True).start()
        lines = []
        try:
            while len(lines) < len(cases):
                line = answers.get(timeout=case_timeout)
                if line is None:
                    code = process.wait()
                    errors.seek(0)
                    return [*lines, f"the process ended with {code}: {errors.read()[-2000:]}"]
                lines.append(line.removesuffix("\n"))
        except queue.Empty:
            process.kill()
            lines.append(f"no answer within {case_timeout} s")
        process.wait()
        return lines


def _feed(process, text):
    try:
        process.stdin.write(text)
        process.stdin.close()
    except BrokenPipeError:
        pass  # it ended early; its reader says so


def collect(process, answers):
    """Puts what the process says of each case into a queue, and None at its end."""
    plans = ""
    for line in process.stdout:
        if line.startswith("plans "):
            plans = line.removesuffix("\n") + "\t"
        elif is_answer(line.removesuffix("\n")):
            answers.put(plans + line)
            plans = ""
    answers.put(None)


def is_answer(line):
    """Whether `hearth run --cases` says this of a case, and not its reader of the process."""
    return line == "ok" or line.startswith(("raised ", "bad "))


def _limited(command):
    """The command, with a bound on its memory: a model that runs wild must not take the machine with it. Set by a program
    in between and not after a fork of this process, in which gRPC's clients may have threads that a fork does not bear."""
    if "asan" in str(BUILD) or "tsan" in str(BUILD):  # a sanitizer's shadow is larger than any limit
        return _words(command)
    return ["prlimit", f"--as={16 << 30}", *_words(command)]


def _words(command):
    return [str(word) for word in command]


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
