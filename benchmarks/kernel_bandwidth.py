#!/usr/bin/env python3
"""How near fused kernels come to the bandwidth of a plain copy, beside torch.compile and eager torch:

    python3 -m benchmarks.kernel_bandwidth [--device cuda] [--program "dist/run model_benchmark"] [--groups NAME...]
              [--dtypes float16 ...] [--mib 1 16 128 512] [--rivals eager torch.compile] [--rounds N] [--output FILE.md]

A group's size is what it must read and write. Small ones are run on several sets of inputs in turn. The copy is of as
many bytes, read and written, in the same run: torch's `copy_`, and on the CPU, where all have one thread, the C library's
if that is faster.

On a GPU torch's side is recorded as a graph and its replay timed by events. hearth's plan for the exact sizes is timed by
model_benchmark, whose calls copy inputs and answers, too: so a program's answer is one number of each result, and what
the same program takes that reads these numbers of the inputs is taken off. hearth's numbers are compared with eager
torch's.
"""

import argparse
import concurrent.futures
import contextlib
import math
import os
import pathlib
import shlex
import statistics
import sys
import tempfile
import threading
import time
from typing import Callable, NamedTuple

import numpy
import torch
from torch.nn import functional

from benchmarks import ROOT
from benchmarks.engines import EngineError, Process, distance
from benchmarks.model_list import DTYPES
from benchmarks.models import TOLERANCE
from benchmarks.run import commit, machine, table
from integration_tests.networks import SEED
from integration_tests.values import to

MIB = 1 << 20
ENGINE = "hearth:exact"
SMALL = 32  # MiB, below which a program has SETS sets of inputs
SETS = 16
STARTED_AT_ONCE = 8
TRACING = threading.Lock()  # torch traces and seeds for one thread at a time


class Way(NamedTuple):
    """How kernels of a kind of device are measured, where nobody says otherwise."""
    program: str
    dtypes: list
    mib: list
    goal: float  # of the copy's bandwidth


WAYS = {"cpu": Way(str(ROOT / "build" / "release" / "bin" / "model_benchmark"), ["float32"], [16, 128], 0.80),
        "cuda": Way("dist/run model_benchmark", list(DTYPES), [1, 16, 128, 512], 0.85)}


class Group(NamedTuple):
    compute: Callable
    inputs: Callable  # of the number of elements in the largest one, a dtype, a device
    accesses: float  # of as many elements, reads and writes


def flat(count, dtype, device, tensors=1):
    return tuple(torch.randn(count, dtype=dtype, device=device) for _ in range(tensors))


def rows(count, dtype, device, tensors=1, width=1024):
    return tuple(torch.randn(count // width, width, dtype=dtype, device=device) for _ in range(tensors))


def picture(count, dtype, device, channels=64, side=32):
    shape = max(1, count // (channels * side * side)), channels, side, side
    x = torch.randn(shape, dtype=dtype, device=device).contiguous(memory_format=torch.channels_last)
    return x, torch.randn(channels, 1, 1, dtype=dtype, device=device)


def masked(count, dtype, device):
    (x,) = rows(count, dtype, device)
    return x, (torch.rand(1, x.shape[1], device=device) < 0.9)


def normed(count, dtype, device):
    x, y = rows(count, dtype, device, 2)
    return x, y, *(torch.randn(x.shape[1], dtype=dtype, device=device) for _ in range(2))


def layer_norm(x, y, weight, bias):
    return functional.layer_norm(x + y, (1024,), weight, bias)


GROUPS = {
    "add, relu": Group(lambda x, y: torch.relu(x + y), lambda *how: flat(*how, 2), 3),
    "gelu, add": Group(lambda x, y: functional.gelu(x) + y, lambda *how: flat(*how, 2), 3),
    "silu, mul (gate)": Group(lambda x, y: functional.silu(x) * y, lambda *how: flat(*how, 2), 3),
    "layer norm of a sum": Group(layer_norm, normed, 3),
    "masked softmax": Group(lambda x, mask: torch.softmax(x.masked_fill(~mask, -1e4) * 0.125, -1), masked, 2),
    "bias, relu (channels-last)": Group(lambda x, bias: torch.relu(x + bias), picture, 2),
    "casts (float32 within)": Group(lambda x: torch.clamp(x.float() * 0.5 + 1, 0, 6).to(x.dtype), flat, 2),
    "sum of rows": Group(lambda x: (x * x).sum(-1), rows, 1),
    "mean of rows, scaled": Group(lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5), rows, 2),
}


def one_number(tensor, index):
    """That of the first row at `index`: read by an operator that no kernel of a group takes in."""
    return tensor[(0,) * (tensor.dim() - 1)].index_select(0, index)


class Program(torch.nn.Module):
    """A group on several sets of inputs, or with `compute` of None what a call takes without it."""

    def __init__(self, compute, sets):
        super().__init__()
        self.compute = compute
        self.sets = sets

    def forward(self, index, *inputs):
        size = len(inputs) // self.sets
        numbers = []
        for at in range(0, len(inputs), size):
            result = self.compute(*inputs[at : at + size]) if self.compute else inputs[at]
            numbers.append(one_number(result, index))
        return torch.cat(numbers)


class Case:
    """A group of one dtype in all sizes that have as many sets."""

    def __init__(self, name, dtype, mib, sets, options):
        self.name, self.dtype, self.mib, self.sets = name, dtype, mib, sets
        self.group = GROUPS[name]
        self.device = options.device
        self.options = options
        self.bytes = []  # of one set, by size
        self.processes = {}

    def inputs(self, size):
        """Sets of inputs of this size; the same whenever they are made."""
        torch.manual_seed(SEED)
        dtype = DTYPES[self.dtype]
        count = int(size * MIB / self.group.accesses / dtype.itemsize) // 65536 * 65536
        made = []
        for _ in range(self.sets):
            made.append(self.group.inputs(count, dtype, self.device))
        moved = sum(value.nbytes for value in made[0])
        with torch.inference_mode():
            moved += self.group.compute(*made[0]).nbytes
        return made, moved

    def start(self):
        """Processes that are ready to be timed: of the program, and of what is to be taken off."""
        with tempfile.TemporaryDirectory(dir=self.options.work) as folder:
            folder = pathlib.Path(folder)
            with TRACING:
                expected = self.save(folder)
            for what in ("group", "bare"):
                self.processes[what] = Process(shlex.split(self.options.program), 1, folder / f"{what}.pt",
                                               folder / "inputs.pt", [ENGINE], self.device)
            found = distance(self.processes["group"].answer(ENGINE, folder / "answer.pt"), expected)
            if found > TOLERANCE[self.dtype]:
                raise EngineError(f"answers otherwise than eager torch, by {found:.2g} of the largest number")
        return self

    def save(self, folder):
        """Writes the programs and the inputs of their calls; gives what the first call is to answer."""
        index = torch.zeros(1, dtype=torch.int64, device=self.device)
        calls = [(index, *(value for each in self.inputs(size)[0] for value in each)) for size in self.mib]
        torch.save(to("cpu", calls), folder / "inputs.pt")
        with torch.no_grad():
            for what, compute in (("group", self.group.compute), ("bare", None)):
                program = Program(compute, self.sets)
                torch.jit.trace(program, calls[0], check_trace=False).save(str(folder / f"{what}.pt"))
            return to("cpu", Program(self.group.compute, self.sets)(*calls[0]))

    def stop(self):
        for process in self.processes.values():
            with contextlib.suppress(Exception):
                process.__exit__()

    def hearth(self):
        """Seconds of one set's group, by size."""
        taken = {what: [[] for _ in self.mib] for what in self.processes}
        for _ in range(self.options.rounds):
            for what, process in self.processes.items():
                times = [int(word) for word in process.ask("time", ENGINE, self.options.milliseconds).split()]
                for at in range(len(self.mib)):
                    own = times[at :: len(self.mib)]
                    taken[what][at].append(statistics.median(own) if own else math.nan)
        medians = {what: [statistics.median(rounds) for rounds in of] for what, of in taken.items()}
        return [(group - bare) / 1e9 / self.sets for group, bare in zip(medians["group"], medians["bare"])]

    def torch_seconds(self, rival, made):
        """Of one set."""
        torch._dynamo.reset()
        compute = self.group.compute
        if rival == "torch.compile":
            compute = torch.compile(compute, dynamic=False)
        return timed(lambda: [compute(*each) for each in made] and None, self.options) / self.sets


def copy_seconds(moved, sets, device, options):
    sources = [torch.zeros(moved // 2, dtype=torch.uint8, device=device) for _ in range(sets)]
    target = torch.empty_like(sources[0])
    taken = [timed(lambda: [target.copy_(source) for source in sources] and None, options)]
    if device == "cpu":
        taken.append(timed(lambda: [numpy.copyto(target.numpy(), source.numpy()) for source in sources] and None, options))
    return min(taken) / sets


def timed(call, options):
    """Seconds of a call: on a GPU of its replay, between two events."""
    def measured(run):
        taken = []
        for _ in range(options.rounds):
            start = time.perf_counter()
            while not taken or time.perf_counter() - start < options.milliseconds / 1e3:
                taken.append(run())
        return statistics.median(taken)

    with torch.inference_mode():
        if options.device == "cpu":
            def run():
                start = time.perf_counter()
                call()
                return time.perf_counter() - start

            call()
            return measured(run)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                call()
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            call()
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))

        def replay():
            first.record()
            graph.replay()
            last.record()
            last.synchronize()
            return first.elapsed_time(last) / 1e3

        replay()
        seconds = measured(replay)
        del graph
        return seconds


class Report:
    def __init__(self, options):
        self.options = options
        self.rows, self.misses = [], []
        self.shares = {name: [] for name in ("hearth", *options.rivals)}
        self.below = []

    def add(self, case):
        try:
            seconds = {"hearth": case.hearth()}
        except EngineError as error:
            self.miss(case, f"hearth: {error}")
            seconds = {}
        finally:
            case.stop()
        for at, size in enumerate(case.mib):
            made, moved = case.inputs(size)
            taken = {name: of[at] for name, of in seconds.items()}
            for rival in self.options.rivals:
                try:
                    taken[rival] = case.torch_seconds(rival, made)
                except Exception as error:
                    self.miss(case, f"{rival}: {type(error).__name__}: {str(error).strip().splitlines()[0][:200]}")
            del made
            copy = copy_seconds(moved, case.sets, case.device, self.options)
            self.row(case, size, moved, copy, taken)
            if case.device != "cpu":
                torch.cuda.empty_cache()

    def row(self, case, size, moved, copy, taken):
        cells = []
        for name in self.shares:
            if name in taken and taken[name] > 0:
                share = copy / taken[name]
                self.shares[name].append(share)
                cells += [f"{moved / taken[name] / 1e9:.0f}", f"{share:.2f}"]
                if name == "hearth" and share < self.options.goal:
                    self.below.append(f"{case.name}, {case.dtype}, {size:g} MiB ({share:.2f})")
            else:
                cells += ["-", "-"]
        self.rows.append([case.name, case.dtype, f"{size:g}", f"{moved / copy / 1e9:.0f}", *cells])
        print(" ".join(self.rows[-1]), file=sys.stderr, flush=True)

    def miss(self, case, text):
        self.misses.append(f"{case.name}, {case.dtype}: {text}")
        print(self.misses[-1], file=sys.stderr, flush=True)

    def text(self):
        options = self.options
        threads = " One thread." if options.device == "cpu" else ""
        gpu = "" if options.device == "cpu" else f", {torch.cuda.get_device_name(options.device)}"
        header = ["group", "dtype", "MiB", "copy, GB/s"]
        for name in self.shares:
            header += [f"{name}, GB/s", "of the copy"]
        notes = [f"{name}: {statistics.geometric_mean(shares):.2f} of the copy's bandwidth "
                 f"(geometric mean of {len(shares)})"
                 for name, shares in self.shares.items() if shares]
        if self.shares["hearth"]:
            notes.append(f"hearth below {options.goal:g} of the copy: {'; '.join(self.below) or 'none'}")
        return "\n\n".join([
            f"Machine: {machine()}{gpu}. Commit: {commit()}. torch {torch.__version__}. "
            f"Medians of {options.rounds} rounds.{threads}\n"
            f"Groups below {SMALL} MiB have {SETS} sets of inputs in turn; what fits a cache may stay there.",
            table(header, self.rows), "\n".join(f"- {note}." for note in [*notes, *self.misses])]) + "\n"


def cases(options):
    for name in options.groups:
        for dtype in options.dtypes:
            for sets, fits in ((SETS, lambda size: size < SMALL), (1, lambda size: size >= SMALL)):
                if mib := [size for size in options.mib if fits(size)]:
                    yield Case(name, dtype, mib, sets, options)


def defaults(name):
    return "; ".join(f"{device}: {getattr(way, name)}" for device, way in WAYS.items())


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    parser.add_argument("--program", help=defaults("program"))
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=list(GROUPS), metavar="GROUP",
                        help=", ".join(GROUPS))
    parser.add_argument("--dtypes", nargs="+", choices=DTYPES, help=defaults("dtypes"))
    parser.add_argument("--mib", nargs="+", type=float, help=defaults("mib"))
    parser.add_argument("--rivals", nargs="*", choices=["eager", "torch.compile"], default=["eager", "torch.compile"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--milliseconds", type=float, default=40, help="of a turn")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/dev/shm"), help="a folder for inputs")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    way = WAYS.get(options.device.partition(":")[0])
    if way is None:
        parser.error(f"--device: {' or '.join(WAYS)} expected, not {options.device}")
    for name in ("program", "dtypes", "mib"):
        setattr(options, name, getattr(options, name) or getattr(way, name))
    options.goal = way.goal
    return options


def main():
    options = parsed()
    os.chdir(ROOT)
    torch.set_num_threads(1)
    report = Report(options)
    waiting = list(cases(options))
    with concurrent.futures.ThreadPoolExecutor(STARTED_AT_ONCE) as threads:
        while waiting:
            batch, waiting = waiting[:STARTED_AT_ONCE], waiting[STARTED_AT_ONCE:]
            # All are ready before the first is timed: starting would be seen in the others' times.
            started = [(case, threads.submit(case.start)) for case in batch]
            concurrent.futures.wait([future for _, future in started])
            for case, future in started:
                try:
                    report.add(future.result())
                except Exception as error:
                    report.miss(case, f"{type(error).__name__}: {str(error).strip()[:300]}")
                    case.stop()
            if options.output:
                options.output.write_text(report.text())
    print(report.text())
    sys.exit(1 if report.misses else 0)


if __name__ == "__main__":
    main()
