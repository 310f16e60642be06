#!/usr/bin/env python3
"""What the first requests to a fresh process take. Runs warmup_benchmark and prints its tables in Markdown:

    python -m benchmarks.first_requests [--program "dist/run warmup_benchmark"] [--device cuda] [--first 1000]
              [--processors 2 16] [--output FILE.md]

A small transformer whose inputs change their lengths is called in a fresh process with everything as a daemon has it
that was given no flags: a thread for each processor, operators with as many threads as LibTorch takes. Requests come
in an open loop, at 60 % of what hearth without a compiler can answer, and from 1, N and 2N clients, where N is the
number of processors, that each send the next one when they have the last answer. Each is measured from a cold start,
and after the model was called once for every length before it serves, so that libraries have prepared what they need.
A latency counts from the time when a request was due.

The process may use the first N of the machine's processors (an affinity). The archive is made here, by torch, with
random weights.
"""

import argparse
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import tempfile

from benchmarks import ROOT
from benchmarks.run import commit, machine, table
from benchmarks.sections import make_apart, tell
from benchmarks.warmup import Run

WAYS = {"compiler off": "off", "compiler on": "on", "torch.jit": "torch.jit"}


def make_archives(folder: pathlib.Path):
    import torch
    from benchmarks.archives import save
    from benchmarks.warmup_models import Encoder

    torch.manual_seed(0)
    calls = [(torch.randint(0, 1000, (1, length)),) for length in (16, 48, 24, 64, 32, 96, 40, 80)]
    save(folder, "encoder", torch.jit.script(Encoder(width=256, heads=4, layers=4).eval()), calls)


class Benchmark:
    def __init__(self, options):
        self.options = options
        self.program = shlex.split(options.program)

    def launch(self, processors, *arguments) -> dict:
        command = [*self.program, *map(str, arguments), "--device", self.options.device]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True,
                              preexec_fn=lambda: os.sched_setaffinity(0, processors))
        return json.loads(done.stdout.splitlines()[-1])

    def run(self, processors, way, *arguments) -> Run:
        with tempfile.NamedTemporaryFile() as file:
            summary = self.launch(processors, way, self.options.work, "--requests", self.options.requests, "--output",
                                  file.name, *arguments)
            return Run.read(summary, pathlib.Path(file.name), self.options.device)

    def section(self, count: int) -> str:
        processors = sorted(os.sched_getaffinity(0))[:count]
        capacity = statistics.median(
            self.launch(processors, "capacity", self.options.work, "--seconds", 2)["capacity"] for _ in range(3))
        loads = {f"open loop, {0.6 * capacity:.0f}/s": ["--rate", 0.6 * capacity]}
        for clients in sorted({1, count, 2 * count}):
            loads[f"{clients} client{'s' * (clients > 1)}"] = ["--clients", clients]
        rows = []
        for load, arguments in loads.items():
            for start, flags in (("cold", []), ("warm", ["--warm"])):
                # In turns, so that what else the machine does meets all of them.
                rounds = [{name: self.run(processors, way, "--seed", number, *arguments, *flags)
                           for name, way in WAYS.items()} for number in range(self.options.rounds)]
                for name in WAYS:
                    rows.append([load, start, name, *figures([each[name] for each in rounds], self.options.first)])
        return f"### {count} processors\n\n" + table(
            ["load", "start", "way", f"first {self.options.first}: p50", "p99", "max", "later: p50", "p99", "max",
             "first p99 by later p99", "first max by later p99"], rows)

    def report(self):
        yield (f"Machine: {machine()}. Commit: {commit()}. Device {self.options.device}. "
               f"Medians of {self.options.rounds} rounds in fresh processes, "
               f"{self.options.requests} requests each; latencies in ms. `later`: the second half of the requests.")
        for count in self.options.processors:
            yield self.section(count)


def figures(runs, count):
    """Of a way's runs, each figure's median."""
    def median(figure):
        return statistics.median(figure(run) for run in runs)

    def first(run):
        return sorted(run.latency[:count])

    def later(run):
        return sorted(run.latency[len(run.latency) // 2:])

    def p99(latencies):
        return latencies[int(0.99 * len(latencies))]

    milliseconds = [median(lambda run, part=part, figure=figure: figure(part(run)))
                    for part in (first, later) for figure in (statistics.median, p99, max)]
    ratios = [median(lambda run, figure=figure: figure(first(run)) / p99(later(run))) for figure in (p99, max)]
    return [*(f"{value / 1000:.2f}" for value in milliseconds), *(f"{ratio:.2f}" for ratio in ratios)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/bin/warmup_benchmark"))
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "benchmarks" / "first_requests")
    parser.add_argument("--processors", type=int, nargs="*", default=[len(os.sched_getaffinity(0))])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--first", type=int, default=100, help="requests that are looked at apart")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    if not any(options.work.glob("*/inputs.pt")):
        make_apart(make_archives, options.work, "first_requests")
    tell(Benchmark(options).report(), options.output)


if __name__ == "__main__":
    main()
