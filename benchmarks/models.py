#!/usr/bin/env python3
"""How fast models answer, beside eager torch, frozen torch.jit, other runtimes and another build:

    python -m benchmarks.models [--program "dist/run model_benchmark"] [--before OTHER/bin/model_benchmark]
              [--models resnet18 ...] [--device cuda] [--dtype float16] [--batch 1 32] [--threads 1 all] [--tier plan]
              [--rivals eager torch.jit:frozen ...] [--rounds N] [--milliseconds MS] [--turns-lock FILE] [--output FILE.md]

Random weights from a seed (model_list.py). hearth's plan has a process of its own (model_benchmark), and so has the other
build's; one more has hearth's interpreter and torch.jit, this one the other rivals (engines.py). Round by round all
engines take a turn of some milliseconds on the same inputs, in an order that is drawn anew, each when the threads of the
one before sleep (idle.py); a turn's figure is the median of its calls. A ratio is how many times as long a rival takes as
hearth's plan (ratios.py); the best of several rivals is told by model, those that are written by hand left out. Every
engine's answer is compared with eager torch's; what differs too much, or does not run, is named, and the exit status is 1
if it is hearth's.
"""

import argparse
import contextlib
import fcntl
import gc
import importlib.util
import os
import pathlib
import random
import shlex
import statistics
import sys
import tempfile

import torch

from benchmarks import ROOT
from benchmarks.engines import IN_BINARY, IN_PYTHON, EngineError, InProcess, Process, distance, make_in_python, rounding
from benchmarks.idle import wait_until_idle
from benchmarks.model_list import DTYPES, FIXED, LIBRARIES, MODELS, ON_CPU, ON_GPU, PRODUCTS, SMALL, make
from benchmarks.ratios import cell, ratios, slower
from benchmarks.run import commit, machine, table
from integration_tests.networks import SEED
from integration_tests.values import to

BASELINE = "hearth:baseline"
BEFORE = "before"
RIVALS = [*IN_BINARY, *IN_PYTHON]
# Of the largest number in an answer: how far two orders of the same sums may be apart after a hundred layers.
TOLERANCE = {"float32": 2e-3, "float16": 2e-2, "bfloat16": 1e-1}
# Deep networks with random weights amplify what is rounded to half precision: there an answer may be so many times as
# far from eager torch's as that is from float32's.
ROUNDINGS = 3


@contextlib.contextmanager
def threads_inside(count):
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def locked(path, how):
    """Without a path nothing is locked."""
    if path is None:
        yield
        return
    with path.open("a") as file:
        fcntl.flock(file, how)
        yield


class Measurement:
    """One model, batch and number of threads: `times` in milliseconds by engine and round, `misses` by engine."""

    def __init__(self, name, batch, threads, options):
        self.name = name
        self.plan = f"hearth:{options.tier}"
        self.times = {}
        self.misses = {}
        with tempfile.TemporaryDirectory(dir=options.work) as folder, threads_inside(threads), \
                contextlib.ExitStack() as processes:
            with locked(options.turns_lock, fcntl.LOCK_SH):
                engines = self.make_engines(pathlib.Path(folder), processes, batch, threads, options)
            with locked(options.turns_lock, fcntl.LOCK_EX):
                self.take_turns(engines, options)

    def take_turns(self, engines, options):
        self.times = {engine: [] for engine in engines}
        order, turns = list(engines), random.Random(SEED)
        numbers = {engine.process_number for engine in engines.values()}
        for _ in range(options.rounds):
            turns.shuffle(order)
            for engine in order:
                wait_until_idle(numbers)
                self.times[engine].append(engines[engine].time(options.milliseconds))

    def make_engines(self, folder, processes, batch, threads, options):
        try:
            made = make(self.name, batch, options.device, DTYPES[options.dtype])
        except Exception as error:  # whatever a model that nobody listed raises
            raise EngineError(f"cannot be made: {type(error).__name__} {error}") from error
        made.archive.save(str(folder / "model.pt"))
        torch.save(to("cpu", made.inputs), folder / "inputs.pt")
        made = made._replace(archive=None)
        gc.collect()
        expected = make_in_python("eager", made, options.device, threads, folder)

        def in_process(program, *names):
            process = processes.enter_context(Process(shlex.split(program), threads, folder / "model.pt",
                                                      folder / "inputs.pt", names, options.device))
            return {name: InProcess(process, name, folder, answers=not name.startswith("products:")) for name in names}

        has_products = self.name in PRODUCTS and options.device == "cpu" and options.dtype == "float32"
        bare = [f"products:{PRODUCTS[self.name]}"] if has_products else []
        rivals_there = [rival for rival in options.rivals if rival in IN_BINARY]
        # With one build on both sides, a plan that shared its process with torch.jit took up to a tenth longer on a GPU.
        engines = {**in_process(options.program, self.plan),
                   **in_process(options.program, BASELINE, *rivals_there, *bare)}
        others = {rival: lambda rival=rival: make_in_python(rival, made, options.device, threads, folder)
                  for rival in options.rivals if rival in IN_PYTHON}
        if "eager" in others:
            others["eager"] = lambda: expected
        if options.before:
            others[BEFORE] = lambda: in_process(options.before, self.plan)[self.plan]
        for label, make_other in others.items():
            try:
                engines[label] = make_other()
            except EngineError as error:
                self.misses[label] = str(error)
        tolerance = TOLERANCE[options.dtype]
        if options.dtype != "float32":
            tolerance = max(tolerance, ROUNDINGS * rounding(made, expected.answer))
        for label, engine in engines.items():
            if engine.answer is None or engine is expected:
                continue
            if (far := distance(engine.answer, expected.answer)) > tolerance:
                self.misses[label] = f"answers otherwise than eager torch, by {far:.2g} of the largest number"
        return engines

    def ratios(self, rival):
        """Of each round; None of a rival that did not run."""
        return ratios(self.times[rival], self.times[self.plan]) if rival in self.times else None

    def best(self, rivals):
        """(ratio, rival) of the one that takes the least time; None if none ran."""
        return min(((statistics.median(self.ratios(rival)), rival) for rival in rivals if rival in self.times), default=None)

    def milliseconds(self, engine):
        return f"{statistics.median(self.times[engine]):.3f}" if engine in self.times else "-"

    def about_products(self, rivals):
        for engine in self.times:
            if engine.startswith("products:"):
                products = statistics.median(self.times[engine])
                yield (f"The bare matrix products of {self.name} take {products:.4f} ms: "
                       "with them nothing is more than " +
                       ", ".join(f"{statistics.median(self.times[rival]) / products:.2f} times as fast as {rival}"
                                 for rival in rivals if rival in self.times) + ".")


class Section:
    """The table of one number of threads and one size of batch."""

    def __init__(self, batch, threads, options):
        self.title = f"### Models, {threads} thread{'s' if threads > 1 else ''}"
        if options.device != "cpu":
            self.title = f"### Models, {options.device}"
        self.title += f", {options.dtype}, batch {batch}"
        self.plan = f"hearth:{options.tier}"
        self.against = [BASELINE, *([BEFORE] if options.before else []), *options.rivals]
        self.rivals = options.rivals
        peers = [rival for rival in options.rivals if not rival.startswith("ceiling:")]
        self.peers = peers if len(peers) > 1 else []  # of which the best is told
        self.measured, self.rows, self.misses = [], [], []
        self.failed = False
        for name in options.models:
            self.add(name, batch, threads, options)

    def add(self, name, batch, threads, options):
        columns = 2 + 2 * len(self.against) + bool(self.peers)
        try:
            measurement = Measurement(name, batch, threads, options)
        except EngineError as error:
            self.failed = True
            self.rows.append([name] + ["-"] * (columns - 1))
            self.misses.append(f"{name}: {error}.")
        else:
            self.measured.append(measurement)
            of_rivals = [measurement.ratios(rival) for rival in self.against]
            self.rows.append([name, *(measurement.milliseconds(engine) for engine in [self.plan, *self.against]),
                              *(cell([rounds]) if rounds else "-" for rounds in of_rivals), *self.best_cell(measurement)])
            self.misses += [f"{name}, {engine}: {miss}." for engine, miss in measurement.misses.items()]
            self.failed = self.failed or any(engine.startswith("hearth") for engine in measurement.misses)
        print(" ".join(self.rows[-1]), file=sys.stderr, flush=True)

    def best_cell(self, measurement):
        """One, or none where there are not several."""
        if not self.peers:
            return []
        best = measurement.best(self.peers)
        return [f"{best[0]:.2f} {best[1]}" if best else "-"]

    def by_model(self, rival, names):
        """The ratios of those that the rival could run."""
        return {one.name: one.ratios(rival) for one in self.measured if one.name in names and rival in one.times}

    def means(self):
        names = [one.name for one in self.measured]
        for title, chosen in (("geometric mean", names),
                              ("of the small ones", [name for name in names if name in SMALL]),
                              ("of the others", [name for name in names if name not in SMALL])):
            if len(chosen) < 2 or (title != "geometric mean" and len(chosen) == len(names)):
                continue
            cells = []
            for rival in self.against:
                ran = self.by_model(rival, chosen)
                missing = "" if len(ran) == len(chosen) else f" of {len(ran)}"
                cells.append(cell(list(ran.values())) + missing if ran else "-")
            if self.peers:
                bests = [best[0] for one in self.measured if one.name in chosen and (best := one.best(self.peers))]
                cells.append(f"{statistics.geometric_mean(bests):.2f}" if bests else "-")
            yield [title] + [""] * (1 + len(self.against)) + cells

    def text(self):
        header = ["model", *(f"{engine}, ms" for engine in [self.plan, *self.against]),
                  *(f"{rival} by plan" for rival in self.against), *(["best of the others by plan"] if self.peers else [])]
        notes = [note for one in self.measured for note in one.about_products(self.rivals)]
        for rival in self.against:
            if rival != BASELINE and (ran := self.by_model(rival, [one.name for one in self.measured])):
                notes.append(slower(rival, ran))
        return "\n\n".join([self.title, table(header, [*self.rows, *self.means()]),
                            "\n".join(f"- {note}" for note in [*notes, *self.misses])])


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "bin" / "model_benchmark"))
    parser.add_argument("--before", metavar="PROGRAM", help="another build's model_benchmark, whose plans take turns too")
    parser.add_argument("--models", nargs="+", type=model_name, metavar="MODEL",
                        help=f"if not given, all but those of forks.py; on a GPU {', '.join(ON_GPU)}")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    parser.add_argument("--batch", nargs="+", type=int, default=[1])
    parser.add_argument("--threads", nargs="+", help="inside of operators; 1 and all, if not given, on a GPU all")
    parser.add_argument("--tier", choices=["plan", "exact", "auto"], default="plan",
                        help="plan: for all sizes; exact: for the inputs' very sizes, as the daemon makes plans for shapes that "
                             "are called often; auto: as the daemon runs, after a few calls")
    parser.add_argument("--rivals", nargs="+", choices=RIVALS, default=["eager", "torch.jit:frozen"], metavar="RIVAL",
                        help=", ".join(RIVALS))
    parser.add_argument("--rounds", type=int, help="40, on a GPU 20, if not given")
    parser.add_argument("--milliseconds", type=float, default=40, help="of a turn, which has three calls at least")
    parser.add_argument("--turns-lock", type=pathlib.Path, metavar="FILE",
                        help="for several of these programs at a time, one model each: they make their engines side by side, "
                             "and when all are made they take turns one program after the other")
    parser.add_argument("--work", type=pathlib.Path, help="a folder for archives, which go when they have been used")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    on_gpu = options.device != "cpu"
    options.models = options.models or (ON_GPU if on_gpu else ON_CPU)
    options.threads = options.threads or (["all"] if on_gpu else ["1", "all"])
    options.rounds = options.rounds or (20 if on_gpu else 40)
    if on_gpu and not torch.cuda.is_available():
        parser.error(f"there is no {options.device} here")
    fixed = [name for name in options.models if name in FIXED]
    if options.batch != [1] and fixed:
        parser.error(f"--batch: the inputs of {', '.join(fixed)} have one size")
    return options


def without_what_is_missing(rivals):
    for rival in rivals:
        if rival in IN_PYTHON and importlib.util.find_spec(IN_PYTHON[rival][1]) is None:
            print(f"{rival} is left out: there is no package {IN_PYTHON[rival][1]} "
                  "(benchmarks/requirements-rivals.txt)", file=sys.stderr)
        else:
            yield rival


def model_name(text):
    if text not in MODELS and text.partition(":")[0] not in LIBRARIES:
        raise argparse.ArgumentTypeError(f"{text} is none of {', '.join(MODELS)}, nor one of {', '.join(LIBRARIES)}:NAME")
    return text


def main():
    options = parsed()
    options.rivals = list(without_what_is_missing(options.rivals))
    processors = len(os.sched_getaffinity(0))
    gpu = "" if options.device == "cpu" else f", {torch.cuda.get_device_name(options.device)}"
    text = (f"Machine: {machine()}{gpu}. Commit: {commit()}. torch {torch.__version__}. {options.rounds} rounds of "
            f"{options.milliseconds:g} ms an engine.\nIn brackets the lower 95 % bound of the ratio. Calls and their "
            f"forks have {torch.get_num_interop_threads()} threads beside the caller's, in hearth as in torch.jit.\n")
    failed = False
    for threads in options.threads:
        for batch in options.batch:
            section = Section(batch, processors if threads == "all" else int(threads), options)
            failed = failed or section.failed
            text += "\n" + section.text() + "\n"
            if options.output:
                options.output.write_text(text)
    print(text)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
