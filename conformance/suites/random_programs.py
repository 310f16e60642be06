"""Random programs: 20,000 of seed 1, generated (conformance/random_programs), each called twice with random arguments.
Twenty share a file, with its classes and functions, and the state of one module. A program that torch.jit itself refuses,
cannot load after saving it, or fails in with an internal error is not counted.

`python -m conformance.random_programs.reducer 1 FILE [PROGRAM...]` shrinks one that differs; its case is FILE/PROGRAM."""

import json
from collections import Counter

from conformance import ROOT, workers
from conformance.case import Case
from conformance.random_programs.program import PROGRAMS_A_FILE

NAME = "random_programs"
TITLE = "Random programs: what a seeded generator of typed programs writes"

SEED = 1
FILES = 1000
QUICK_FILES = 25
CONSTRUCTS = ROOT / "conformance" / "results" / "random_programs.constructs.json"
TIMEOUT = 300  # seconds for a file


def cases(folder, quick, device="cpu"):
    for file in range(QUICK_FILES if quick else FILES):
        for program in range(PROGRAMS_A_FILE):
            yield Case(name=f"{file}/p{program}", group=f"files {file // 100 * 100} to {file // 100 * 100 + 99}", archive="", inputs="")


def judged(cases, hearth):
    """(case, {"verdict", "reason"}) of each. A file is one piece of work; if a worker dies of it, its programs are tried
    one by one."""
    files = {}
    for case in cases:
        file, program = case.name.split("/")
        files.setdefault(int(file), {})[program] = case
    items = [_item(file, list(programs), hearth) for file, programs in files.items()]
    counts = {"programs": Counter(), "calls": Counter()}
    single = []
    for item, answer in workers.each("conformance.random_programs.check:judge", items, TIMEOUT):
        if isinstance(answer, workers.Died):
            single += [_item(item["file"], [name], hearth) for name in item["programs"]]
        else:
            yield from _verdicts(files[item["file"]], answer, counts)
    for item, answer in workers.each("conformance.random_programs.check:judge", single, TIMEOUT):
        if isinstance(answer, workers.Died):
            answer = {"verdicts": {item["programs"][0]: ["torch", f"torch.jit: {answer}"]}, "constructs": {}, "facts": {}}
        yield from _verdicts(files[item["file"]], answer, counts)
    if len(files) == FILES:
        _write_constructs(counts)


def _item(file, programs, hearth):
    return {"seed": SEED, "file": file, "programs": programs, "hearth": str(hearth.binary)}


def _verdicts(cases, answer, counts):
    counts["programs"].update(answer["constructs"])
    counts["calls"].update(answer["facts"])
    for name, (verdict, reason) in answer["verdicts"].items():
        yield cases[name], {"verdict": verdict, "reason": reason[:2000]}


def _write_constructs(counts):
    """What the programs that counted contain, and how their calls ended: that the generator reaches every construct."""
    CONSTRUCTS.parent.mkdir(exist_ok=True)
    sorted_counts = {what: dict(sorted(counter.items())) for what, counter in counts.items()}
    CONSTRUCTS.write_text(json.dumps(sorted_counts, indent=1) + "\n")
