"""Many cases through `hearth run --cases`: what it says of each, and the file it writes."""

import json
import os
import random
import re
from pathlib import Path
from typing import NamedTuple, Optional

from integration_tests import command_line

LOST = "CUDA error: "  # in what a process says that has no GPU any more, whatever it is asked


class Plans(NamedTuple):
    """What came of the plans of a case."""

    plans: int
    guards: int  # of the plan that has most
    bailouts: int  # runs that went back to the baseline
    unexplained: int = 0  # of these, for an exception that the plan alone raised: no guard had failed
    invalidated: int = 0  # plans taken out of use because they raised where the baseline does not
    recorded: int = 0  # plans whose runs on a GPU are recorded: what answers a case that is called again
    raised: tuple = ()  # {"operator", "node", "exception", "method", ...} of the places that raised

    @staticmethod
    def told(line):
        """From what `hearth run --cases` says of them."""
        pattern = r"plans (\d+) guards (\d+) bailouts (\d+) unexplained (\d+) invalidated (\d+) recorded (\d+) (\[.*\])"
        *numbers, raised = re.fullmatch(pattern, line).groups()
        return Plans(*map(int, numbers), tuple(json.loads(raised)))

    @property
    def fault(self):
        """What is wrong with them, whatever the answers were; "" if nothing is."""
        if not (self.unexplained or self.invalidated):
            return ""
        places = [f"{place['operator']} ({place['exception']})" for place in self.raised]
        return f"a plan raises where the baseline does not, in {'; '.join(dict.fromkeys(places)) or 'a plan that is gone'}"


def with_plans(verdict, plans):
    """The verdict on a case with what came of its plans. One that only the plans' faults speak against is a miss."""
    if plans is None:
        return verdict
    told = {key: value for key, value in plans._asdict().items() if key != "raised"}
    if plans.raised:
        told["raised"] = sorted({place["operator"] for place in plans.raised})
    if plans.fault and verdict["verdict"] != "miss":
        verdict = {**verdict, "verdict": "miss", "reason": plans.fault}
    return {**verdict, "plans": told}


class Answer(NamedTuple):
    line: str  # "ok", "raised ...", "bad ...", or what became of the process
    output: Path
    plans: Optional[Plans] = None  # if every call waits for its plan


def add_tier_options(parser):
    """The options of a command line that say what runs hearth's calls."""
    parser.add_argument("--tier", choices=["auto", "0", "1", "2"],
                        help="what runs hearth's calls; 1: a plan for each call; 2: a plan for exactly its sizes")
    parser.add_argument("--profiled", action="store_true", help="plans speculate on what a run before showed")
    parser.add_argument("--fail-guards", metavar="SEED|each",
                        help="in each call a guard of its plan fails, drawn by this seed; or each of them, a run for each")


def tiers(options):
    """What they say: `tiers` and `fail_guards` of Hearth. Without a tier, plans are those of tier 1."""
    if options.tier is None and (options.profiled or options.fail_guards is not None):
        options.tier = "1"
    tier = [] if options.tier is None else ["--tier", options.tier]
    profiled = ["--profiled"] if options.profiled else []
    guards = [] if options.fail_guards is None else ["--fail-guards", "0"]
    return tier + profiled + guards, options.fail_guards


def waits_for_plans(tiers):
    """Whether with these options of `hearth run` every call waits for its plan."""
    return tiers[:2] not in ([], ["--tier", "auto"], ["--tier", "0"])


def drawn_guard(seed, name):
    """The number of the guard that fails in a case."""
    return random.Random(f"{seed} {name}").getrandbits(32)


class Hearth:
    """The binary under test: the build's, one that is named, or that of a folder that deploy/bundle made. Thread-safe."""

    def __init__(self, path=None, device="cpu", tiers=(), fail_guards=None, repeat=1, keep_loaded=False):
        """`keep_loaded`: cases in a row of one archive call one loaded module, whose plans are counted together. `tiers` are
        `hearth run`'s options for what runs the calls; `fail_guards` is a seed, by which the guard that fails is drawn for
        each case, or "each". A case is called `repeat` times, each time with its arguments read anew, and answers last."""
        self.path = Path(path) if path else command_line.HEARTH
        self.binary = self.path
        self.program = [self.binary]
        if self.binary.is_dir():
            self.program = [self.binary / "run", "hearth"]
            self.binary = self.binary / "bin" / "hearth"
        self.device = device
        self.tiers = list(tiers)
        self.fail_guards = fail_guards
        self.repeat = repeat
        self.keep_loaded = keep_loaded

    @property
    def how(self):
        """What another process makes the same of: `Hearth(**how)`."""
        return {"path": str(self.path), "device": self.device, "tiers": self.tiers, "fail_guards": self.fail_guards,
                "repeat": self.repeat}  # fmt: skip

    def run(self, cases, folder, guards=None):
        """The Answer to each case. A crash or a hang is the line of its case, and another process goes on. `guards`, a
        number for each, are those that fail where each is to fail once."""
        outputs = [folder / f"{index}.out.pt" for index in range(len(cases))]
        for output in outputs:
            output.unlink(missing_ok=True)
        rows = [
            (self._spelling(case, index), case.inputs, output, case.method, case.seed)
            for index, (case, output) in enumerate(zip(cases, outputs))
        ]
        if self.waits_for_plans:
            guards = guards or [drawn_guard(self.fail_guards, case.name) for case in cases]
            rows = [(*row, guard) for row, guard in zip(rows, guards)]
        lines = self._lines([row for row in rows for _ in range(self.repeat)], max(case.timeout for case in cases))
        groups = [lines[at : at + self.repeat] for at in range(0, len(lines), self.repeat)]
        return [self._answer(_last(group), output) for group, output in zip(groups, outputs)]

    def _lines(self, rows, timeout):
        keep = self.keep_loaded or self.repeat > 1
        extra = ["--with-arguments", "--device", self.device, *self.tiers, *["--keep-loaded"] * keep]
        lines = []
        while len(lines) < len(rows):
            more = command_line.run_cases(rows[len(lines) :], timeout, extra, self.program, limited=self.device == "cpu")
            lost = next((at for at, line in enumerate(more) if LOST in line), len(more))
            lines += more[: lost + 1]
        return lines

    def _spelling(self, case, index):
        """The archive's path. Where only calls of one case are to share a loaded module, neighbours spell it differently."""
        if self.repeat == 1 or self.keep_loaded:
            return case.archive
        folder, name = os.path.split(case.archive)
        return os.path.join(folder, *["."] * (index % 2), name)

    @property
    def waits_for_plans(self):
        return waits_for_plans(self.tiers)

    @staticmethod
    def _answer(line, output):
        told, tab, rest = line.partition("\t")
        return Answer(rest, output, Plans.told(told)) if tab else Answer(line, output)


def _last(lines):
    """Of the calls of a case the last, or the first that ended the process."""
    return next((line for line in lines if not command_line.is_answer(line.rpartition("\t")[2])), lines[-1])
