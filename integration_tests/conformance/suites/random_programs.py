"""Random programs: 20,600 of seed 1, generated (random_programs/ beside the suites), each called twice with random arguments.
Twenty share a file, with its classes and functions, and the state of one module. Another 5,000 are functions, run as the
source that they were written as. A program that torch.jit itself refuses, cannot load after saving it, or fails in with
an internal error is not counted. Where torch.jit's optimizer shows (a folded tensor shared, an error in dead code left
out), a program may do what torch.jit does without it.

`python -m integration_tests.conformance.random_programs.reducer 1 FILE [PROGRAM...]` shrinks what differs; a case is FILE/PROGRAM, or
source/FILE/PROGRAM, which is FILE [PROGRAM...] --functions."""

from pathlib import Path

from integration_tests.command_line import is_answer
from integration_tests.conformance import workers
from integration_tests.conformance.case import Case
from integration_tests.conformance.random_programs.program import PROGRAMS_A_FILE

NAME = "random_programs"
TITLE = "Random programs: what a seeded generator of typed programs writes"

SEED = 1
FILES = {"": 1030, "source/": 250}
QUICK_FILES = {"": 50, "source/": 10}
TIMEOUT = 300  # seconds for a file


# What decides what the programs are.
MADE_BY = sorted((Path(__file__).parents[1] / "random_programs").glob("*.py"))


def cases(folder, quick, device="cpu"):
    for form, files in (QUICK_FILES if quick else FILES).items():
        for file in range(files):
            first = file // 100 * 100
            group = f"{form.replace('/', ' ')}files {first} to {first + 99}"
            for program in range(PROGRAMS_A_FILE):
                yield Case(name=f"{form}{file}/p{program}", group=group, archive="", inputs="")


def judged(cases, hearth):
    """(case, verdict) of each. A file is one piece of work; if a worker dies, its programs are tried one by one."""
    files = {}
    for case in cases:
        file, _, program = case.name.rpartition("/")
        files.setdefault(file, {})[program] = case
    items = [_item(file, list(programs), hearth) for file, programs in files.items()]
    single = []
    for item, answer in workers.each("integration_tests.conformance.random_programs.check:judge", items, TIMEOUT):
        if isinstance(answer, workers.Died):
            single += [{**item, "programs": [name]} for name in item["programs"]]
        else:
            yield from _verdicts(files[item["name"]], answer)
    died = []
    for item, answer in workers.each("integration_tests.conformance.random_programs.check:judge", single, TIMEOUT):
        if isinstance(answer, workers.Died):
            died.append({**item, "death": str(answer)})
        else:
            yield from _verdicts(files[item["name"]], answer)
    for item, lines in workers.each("integration_tests.conformance.random_programs.check:ask", died, TIMEOUT):
        yield from _verdicts(files[item["name"]], {item["programs"][0]: verdict_on_death(item["death"], lines)})


def verdict_on_death(death, lines):
    """Where a program ends torch.jit's process or takes too long there; `lines` are what hearth says of its calls."""
    said = "" if isinstance(lines, workers.Died) else next((line for line in lines if not is_answer(line)), "")
    return {"verdict": "miss" if said else "torch", "reason": f"torch.jit: {death}; hearth: {said}", "torch": "failed"}


def _item(name, programs, hearth):
    form, _, file = name.rpartition("/")
    which = {"seed": SEED, "file": int(file), "functions": form == "source"}
    return {"name": name, **which, "programs": programs, "how": hearth.how}


def _verdicts(cases, answer):
    for name, verdict in answer.items():
        yield cases[name], verdict
