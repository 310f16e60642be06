"""Runs files of random programs in torch.jit and in hearth and compares, call by call. Meant for worker processes
(workers.py): what crashes or hangs ends one of them."""

import contextlib
import importlib.util
import itertools
import linecache
import queue
import re
import subprocess
import sys
import tempfile
import threading
import warnings
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import torch

from integration_tests import command_line
from integration_tests.conformance.compare import NOT_SEEN_ON_A_GPU, difference
from integration_tests.conformance.hearth import LOST, Hearth, Plans, drawn_guard
from integration_tests.conformance.oracle import by_reference, call, hearth_outcome
from integration_tests.conformance.random_programs.program import Source, generate
from integration_tests.values import to

_MODULE = "programs"


class Refused(Exception):
    """torch.jit does not compile the file. `program` is the one it complains of, None if it is what they share."""

    def __init__(self, program, reason):
        super().__init__(reason)
        self.program = program


class HearthProcess:
    """One `hearth run --cases` that is asked again and again; started anew after a crash, and where it lost its GPU. In it
    `fail_guards` of "each" draws as a seed does."""

    def __init__(self, hearth: Hearth, seconds=60):
        """`seconds`: for each row; one that takes longer hangs."""
        self._hearth = hearth
        self.device, self.repeat = hearth.device, hearth.repeat
        self._seconds = seconds
        self._process = None
        self.plans = []  # of each row of the last question, where calls wait for their plans; those of its whole module

    def ask(self, rows):
        """The line of each row; rows after a crash go to a new process."""
        self.plans = []
        if self._hearth.waits_for_plans:
            seed = self._hearth.fail_guards
            rows = [(*row, "", drawn_guard(seed, f"{row[3]} {Path(row[1]).name}")) for row in rows]
        lines = []
        while len(lines) < len(rows):
            self._start()
            rest = rows[len(lines) :]
            text = "".join("\t".join(map(str, row)) + "\n" for row in rest)
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(text)
                self._process.stdin.flush()
            for _ in rest:
                try:
                    answer = self._answers.get(timeout=self._seconds)
                except queue.Empty:
                    self.close()
                    lines.append(f"no answer within {self._seconds} s")
                    break
                if answer is None:
                    lines.append(f"the process ended with {self._process.wait()}")
                    self._process = None
                    break
                told, tab, line = answer.removesuffix("\n").rpartition("\t")
                if tab:
                    self.plans.append(Plans.told(told))
                lines.append(line)
                if LOST in line:
                    self.close()
                    break
        return lines

    def close(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _start(self):
        if self._process is None:
            self._process = subprocess.Popen(
                [*map(str, self._hearth.program), "run", "--cases", "-", "--with-arguments", "--keep-loaded",
                 "--device", self.device, *self._hearth.tiers],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                errors="backslashreplace",
            )  # fmt: skip
            self._answers = queue.SimpleQueue()
            threading.Thread(target=command_line.collect, args=(self._process, self._answers), daemon=True).start()


def script(source: Source, programs, path: Path):
    """The scripted module with the programs of these names, or for a file of functions an object that has them. The
    source is written to `path`."""
    text = source.text(programs)
    path.write_text(text)
    linecache.checkcache(str(path))
    torch.jit._state._clear_class_state()
    torch._C._jit_clear_class_registry()
    spec = importlib.util.spec_from_file_location(_MODULE, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE] = module
    code = compile(text, str(path), "exec")  # not from a cache of bytecode that goes by the time of a file
    exec(code, module.__dict__)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if source.module is None:
                scripted = {name: torch.jit.script(getattr(module, name)) for name in programs}
                return SimpleNamespace(**scripted, python=module)
            return torch.jit.script(module.Programs().eval())
    except Exception as error:
        reason = str(error).strip()
        raise Refused(_blamed(reason, text), reason) from None


def _blamed(reason, text):
    """The program that a message of the compiler points into."""
    lines = text.split("\n")
    for number in re.findall(r"line (\d+)", reason):
        for line in reversed(lines[: int(number)]):
            if found := re.match(r"(?:    )?def (p\d+)\(", line):
                return found[1]
            if re.match(r"class |def ", line):
                break
    return None


def load(source, programs, archive, device="cpu"):
    """The module as torch.jit loads it from an archive, or the functions of a file, and what torch.jit says of the
    programs that it refuses: one of the two."""
    try:
        scripted = script(source, programs, archive.with_suffix(".py"))
        if source.module is None:
            return scripted, {}
        torch.jit.save(scripted, str(archive))
        return torch.jit.load(str(archive), map_location=device), {}
    except Refused as error:
        blamed, reason = error.program, str(error)
    except RuntimeError as error:  # what torch.jit.save wrote is not always what torch.jit.load reads
        blamed, reason = None, f"torch.jit does not load what it saved: {str(error).strip()}"
    if blamed is not None:
        return None, {blamed: reason}
    alone = {}
    for name in programs if len(programs) > 1 else []:
        alone |= load(source, [name], archive)[1]
    return None, alone or dict.fromkeys(programs, reason)


def compare(source, programs, folder, hearth, first=False):
    """What came of each program: {name: (verdict, reason, facts)}, verdicts as in oracle.py.

    torch.jit's optimizer is seen at times: what it folds is one tensor where the program makes two, or one list for all
    runs that an attribute then keeps and others write; what it finds dead does not raise, and in some programs it fails.
    So a program agrees if it does what torch.jit does with or without, for this program alone or for all before it too.

    The programs of a file share the module's state. Where one differs, or torch.jit itself fails in it, the others are
    run again without it, so that each difference is reported once. `first`: only up to the first."""
    verdicts, left, attempts = {}, list(programs), iter(range(1000))
    while left:
        found = _compare_once(source, left, _new_archive(folder, attempts), hearth)
        bad = {name: verdict for name, verdict in found.items() if verdict[0] != "agree"}
        if not bad:
            return verdicts | found
        for name in [name for name, (_, _, facts) in bad.items() if facts]:
            until = left[: left.index(name) + 1]
            for unoptimized in ([name], until):
                again = _compare_once(source, until, _new_archive(folder, attempts), hearth, unoptimized).get(name)
                if again and again[0] == "agree":
                    again[2]["call: as torch.jit without its optimizer"] += 1
                    bad[name] = again
                    break
        verdicts |= bad
        if first and any(verdict[0] == "miss" for verdict in bad.values()):
            return verdicts
        left = [name for name in left if name not in bad]
    return verdicts


def _new_archive(folder, attempts):
    # hearth knows an archive by its path.
    return folder / f"programs.{next(attempts)}.pt"


def _compare_once(source, programs, archive, hearth, unoptimized=()):
    loaded, refused = load(source, programs, archive, hearth.device)
    if refused:
        return {name: ("torch", f"torch.jit refuses it: {reason}", {}) for name, reason in refused.items()}
    calls, rows = _calls(source, programs, archive, hearth.repeat)
    skip = () if hearth.device == "cpu" else NOT_SEEN_ON_A_GPU
    lines, verdicts = hearth.ask(rows), {}
    plans = hearth.plans if len(hearth.plans) == len(rows) else []
    for at, ((program, index, arguments, output), line) in enumerate(zip(calls, lines)):
        with torch.jit.optimized_execution(program.name not in unoptimized):
            expected = _expected(getattr(loaded, program.name), arguments, hearth.device)
        if source.module is None:  # a file that is run as source has no name
            expected.message = expected.message.replace(f"{_MODULE}.", "__main__.")
        facts = verdicts.setdefault(program.name, ("agree", "", Counter()))[2]
        facts[f"call: {expected.kind}"] += 1
        if plans and plans[at].plans:
            left = plans[at].bailouts > _before(plans, at, source).bailouts
            facts["plan: left for the baseline" if left else "plan: not left"] += 1
            if plans[at].recorded:
                facts["plan: recorded"] += 1
        if expected.kind == "raised":
            facts[f"raised: {_error(expected.message)}"] += 1
        if expected.kind == "refused":
            verdicts[program.name] = ("torch", f"torch.jit fails in it: {expected.message}", facts)
            break
        got = hearth_outcome(line, str(output))
        found = difference(expected, got, skip)
        if found and source.module is None and _is_python(loaded.python, source, program, index, expected, got, hearth.device):
            facts["call: as Python, where torch.jit is not"] += 1
            found = None
        found = found or (plans and _fault(plans, at, source))
        if found:
            verdicts[program.name] = ("miss", f"call {index}: {found}", facts)
            break
    return verdicts


def _calls(source, programs, archive, repeat):
    """Of each call of the programs (program, number, arguments, output), and hearth's row for it; all of them `repeat` times."""
    folder = archive.parent
    calls, rows = [], []
    for program in source.programs:
        if program.name not in programs:
            continue
        for index, arguments in itertools.chain.from_iterable(enumerate(source.calls(program)) for _ in range(repeat)):
            inputs, output = folder / f"{program.name}.{index}.in.pt", folder / f"{program.name}.{len(rows)}.out.pt"
            torch.save(arguments, inputs)
            output.unlink(missing_ok=True)
            calls.append((program, index, arguments, output))
            rows.append((archive if source.module else archive.with_suffix(".py"), inputs, output, program.name))
    return calls, rows


_NO_PLANS = Plans(0, 0, 0)


def _before(plans, at, source):
    """What had come of the plans before a call: those of a module are counted from its first call on."""
    return plans[at - 1] if at and source.module else _NO_PLANS


def _fault(plans, at, source):
    """What a call showed to be wrong with its plan."""
    now, before = plans[at], _before(plans, at, source)
    return now._replace(
        unexplained=now.unexplained - before.unexplained,
        invalidated=now.invalidated - before.invalidated,
        raised=tuple(place for place in now.raised if place not in before.raised),
    ).fault


def _is_python(module, source, program, index, expected, got, device):
    """Whether hearth does what Python itself does, an error's class aside: torch.jit's compiler loses writes to what a
    branch or a loop may have replaced. Python may print what it answers in another way."""
    arguments = _on(device, list(source.calls(program))[index])
    python = call(getattr(module, program.name), arguments, {}, 0)
    if python.kind != "value":
        return got.kind == "raised" and _words(got.message) == _words(python.message)
    if expected.kind == "value" and difference(expected, got, skip=("arguments", "aliasing")) is None:
        python.content["result"] = expected.content["result"]
        return difference(python, got, skip=("aliasing",)) is None
    return difference(python, got) is None


def _words(message):
    """What an error says, without its class, where TorchScript and Python say it differently: of a KeyError the key."""
    words = message.partition(":")[2].strip().removeprefix("KeyError: ").strip("'")
    words = words.replace("() iterable argument is empty", "() arg is an empty sequence")  # Python 3.12's words
    return words.replace("list assignment index", "list index")


def _error(message):
    """The class of an error, and of those that LibTorch raises the first words."""
    name, _, words = message.partition(":")
    words = re.sub(r"KeyError.*|AssertionError.*", lambda found: found[0].split(":")[0], words, flags=re.DOTALL)
    words = " ".join(re.findall(r"[A-Za-z]+", re.sub(r"'.*?'", "", words))[:4])
    return f"{name}: {words}" if name == "RuntimeError" else name


def _on(device, arguments):
    return arguments if device == "cpu" else to(device, arguments)


def _expected(function, arguments, device):
    arguments = _on(device, arguments)
    shared = tuple(by_reference(argument) for argument in arguments)
    outcome = call(function, shared, {}, 0)
    if outcome.kind == "refused":
        outcome = call(function, arguments, {}, 0)
    return outcome


_HEARTHS = {}


def _hearth(item):
    key = str(item["how"])
    if key not in _HEARTHS:
        _HEARTHS[key] = HearthProcess(Hearth(**item["how"]))
    return _HEARTHS[key]


def ask(item):
    """What hearth alone says of the calls of an item as judge() takes it, a line each; none if torch.jit refuses the
    programs."""
    source = generate(item["seed"], item["file"], item.get("functions", False))
    with tempfile.TemporaryDirectory(prefix="hearth-random-") as folder:
        archive = Path(folder) / "programs.pt"
        if load(source, item["programs"], archive)[1]:
            return []
        return _hearth(item).ask(_calls(source, item["programs"], archive, item["how"]["repeat"])[1])


def judge(item):
    """Item: {"seed", "file", "programs": their names, "how" as of Hearth, perhaps "functions": a file of those is run as source}. Gives {"verdict", "reason", "torch", "contains"} of each by name: `contains` counts the constructs of the
    program and how its calls ended."""
    torch.set_num_threads(1)
    source = generate(item["seed"], item["file"], item.get("functions", False))
    hearth = _hearth(item)
    with tempfile.TemporaryDirectory(prefix="hearth-random-") as folder:
        outcomes = compare(source, item["programs"], Path(folder), hearth)
    answer = {}
    for program in source.programs:
        if program.name in outcomes:
            verdict, reason, facts = outcomes[program.name]
            contains = {} if verdict == "torch" else {**dict.fromkeys(sorted(set(source.tags(program))), 1), **facts}
            kind = "failed" if verdict == "torch" else "raised" if facts["call: raised"] else "value"
            answer[program.name] = {"verdict": verdict, "reason": reason[:2000], "torch": kind, "contains": contains}
    return answer
