"""Random programs: 20,600 of seed 1, generated (conformance/random_programs), each called twice with random arguments.
Twenty share a file, with its classes and functions, and the state of one module. A program that torch.jit itself
refuses, cannot load after saving it, or fails in with an internal error is not counted. Where torch.jit's optimizer
shows (a folded tensor shared, an error in dead code left out), a program may do what torch.jit does without it.

`python -m conformance.random_programs.reducer 1 FILE [PROGRAM...]` shrinks what differs; a case is FILE/PROGRAM."""

from conformance import workers
from conformance.case import Case
from conformance.random_programs.program import PROGRAMS_A_FILE

NAME = "random_programs"
TITLE = "Random programs: what a seeded generator of typed programs writes"

SEED = 1
FILES = 1030
QUICK_FILES = 50
TIMEOUT = 300  # seconds for a file


def cases(folder, quick, device="cpu"):
    for file in range(QUICK_FILES if quick else FILES):
        for program in range(PROGRAMS_A_FILE):
            first = file // 100 * 100
            yield Case(name=f"{file}/p{program}", group=f"files {first} to {first + 99}", archive="", inputs="")


def judged(cases, hearth):
    """(case, verdict) of each. A file is one piece of work; if a worker dies, its programs are tried one by one."""
    files = {}
    for case in cases:
        file, program = case.name.split("/")
        files.setdefault(int(file), {})[program] = case
    items = [_item(file, list(programs), hearth) for file, programs in files.items()]
    single = []
    for item, answer in workers.each("conformance.random_programs.check:judge", items, TIMEOUT):
        if isinstance(answer, workers.Died):
            single += [_item(item["file"], [name], hearth) for name in item["programs"]]
        else:
            yield from _verdicts(files[item["file"]], answer)
    for item, answer in workers.each("conformance.random_programs.check:judge", single, TIMEOUT):
        if isinstance(answer, workers.Died):
            answer = {item["programs"][0]: {"verdict": "torch", "reason": f"torch.jit: {answer}"}}
        yield from _verdicts(files[item["file"]], answer)


def _item(file, programs, hearth):
    return {"seed": SEED, "file": file, "programs": programs, "hearth": str(hearth.binary)}


def _verdicts(cases, answer):
    for name, verdict in answer.items():
        yield cases[name], verdict
