#!/usr/bin/env python3
"""Does anybody wait for the compiler? Runs warmup_benchmark and prints its tables in Markdown:

    python -m benchmarks.warmup [--program "dist/run warmup_benchmark"] [--device cuda] [--quick] [--picture FILE.svg] [--output FILE.md]

Ten models (warmup_models.py) are loaded and at once sent requests of sizes that change, open loop at 60 % of what hearth
without a compiler can answer, with two models replaced in the middle as the daemon does it: loaded and made warm for what
is called while the old ones serve. A latency counts from the time when a request was due. Each round goes through all
ways, each in a fresh process, with the same requests at the same times: hearth without its compiler, hearth, and torch.jit
in the same harness. Figures are medians over the rounds. Everything is as in a daemon that was given no flags: a
thread for each processor, and operators with as many threads as LibTorch and, in hearth, the runs under way leave them.

Under a quota the rate is 60 % of what was reached under it. The quota is a cgroup's where one may be made and is seen to
be kept; else the processes are stopped and continued so that they keep to it (quota.py), and the table says so. The
archives are made here, by torch and torchvision, with random weights.
"""

import argparse
import array
import collections
import contextlib
import dataclasses
import json
import math
import os
import pathlib
import shlex
import statistics
import struct
import subprocess
import sys
import tempfile

from benchmarks import ROOT
from benchmarks.latency_picture import draw
from benchmarks.quota import NoQuota, cgroup, stopping
from benchmarks.run import commit, machine, table
from benchmarks.sections import make_apart, tell

OFF = "compiler off"
WAYS = {OFF: ["off"], "compiler on": ["on"], "torch.jit": ["torch.jit"]}
# A quota is spent by whoever runs, whatever his priority: compiling gets a share of it.
LIMITED = {OFF: ["off"], "compiler on": ["on"], "compiler on, 5 % of a processor": ["on", "--compiler-share", "0.05"],
           "torch.jit": ["torch.jit"]}
SWAPPED = ["encoder", "mobilenet_v3_small"]
RECORD = struct.Struct("<ffffHH")
BINS = 100


def make_archives(folder: pathlib.Path):
    from benchmarks import warmup_models

    warmup_models.make(folder)


@dataclasses.dataclass
class Run:
    """One way, once."""
    summary: dict
    due: array.array
    latency: array.array  # microseconds, from the due time
    service: array.array  # microseconds, from being taken up; on the CPU, of the processor
    kind: list  # (model, kind)

    @classmethod
    def read(cls, summary: dict, file: pathlib.Path, device: str):
        run = cls(summary, array.array("d"), array.array("d"), array.array("d"), [])
        for due, latency, service, processor, model, kind in RECORD.iter_unpack(file.read_bytes()):
            run.due.append(due)
            run.latency.append(latency)
            # A processor's time does not count what its neighbours take; a GPU is waited for.
            run.service.append(processor if device == "cpu" else service)
            run.kind.append((model, kind))
        return run

    def quantile(self, part: float) -> float:
        ordered = sorted(self.latency)
        return ordered[max(0, math.ceil(part * len(ordered)) - 1)]

    def steady_service(self) -> dict:
        """The median time from being taken up to the answer in the last fifth, by model and kind."""
        times = collections.defaultdict(list)
        for at in range(4 * len(self.due) // 5, len(self.due)):
            times[self.kind[at]].append(self.service[at])
        return {kind: statistics.median(values) for kind, values in times.items()}

    def seconds_to_steady(self) -> float:
        """The first hundredth of the run from which on, for ten of them, requests are as seldom slower than their kind is
        at the end (by a quarter or more) as they are in the last fifth, give or take a twentieth."""
        steady = self.steady_service()
        window = self.due[-1] / BINS
        slow, all_of = [0] * BINS, [0] * BINS
        for due, service, kind in zip(self.due, self.service, self.kind):
            if kind not in steady:
                continue
            at = min(BINS - 1, int(due / window))
            all_of[at] += 1
            slow[at] += service > 1.25 * steady[kind]
        share = [a / b if b else 0 for a, b in zip(slow, all_of)]
        allowed = statistics.median(share[-BINS // 5:]) + 0.05
        for begin in range(BINS - 10):
            if statistics.median(share[begin:begin + 10]) <= allowed and share[begin] <= allowed:
                return begin * window
        return self.due[-1]


class Benchmark:
    def __init__(self, options):
        self.options = options
        self.program = shlex.split(options.program)
        self.processors = sorted(os.sched_getaffinity(0))
        self.threads = options.threads or len(self.processors)

    def start(self, arguments, group):
        command = [*self.program, *arguments, "--threads", self.threads, "--senders", max(1, self.threads // 4),
                   "--device", self.options.device]

        def enter():
            if group is not None:
                (group / "cgroup.procs").write_text("0")

        return subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True, preexec_fn=enter)

    def finish(self, process) -> dict:
        out, _ = process.communicate()
        if process.returncode != 0:
            sys.exit(f"warmup: {' '.join(map(str, process.args))} ended with {process.returncode}")
        return json.loads(out.splitlines()[-1])

    def launch(self, arguments, quota, group) -> dict:
        process = self.start(arguments, group)
        # Python's own `exec` into the program is over in milliseconds, well before the models are loaded.
        limit = stopping(process, quota) if quota and group is None else contextlib.nullcontext([])
        with limit as stops:
            summary = self.finish(process)
        summary["stops"] = len(stops)
        return summary

    def rounds(self, ways, quota, group, notes):
        """[{way: Run}], of which each round is one."""
        folder = self.options.work
        measured = [self.launch(["capacity", folder, "--seconds", self.options.capacity_seconds], quota, group)["capacity"]
                    for _ in range(1 if self.options.quick else 3)]
        rate = self.options.load * statistics.median(measured)
        requests = self.options.requests
        if self.options.minutes:
            # Loading takes a while too, and who is slower than the requests come ends later than they do.
            seconds = 0.8 * 60 * self.options.minutes / len(self.scenarios()) / (len(ways) * self.options.rounds) - 3
            requests = max(1000, min(requests, int(rate * seconds)))
        notes.append(f"{requests} requests a run at {rate:.0f}/s, {self.options.load:.0%} of "
                     f"{statistics.median(measured):.0f}/s")
        done = []
        with tempfile.TemporaryDirectory() as temporary:
            file = pathlib.Path(temporary) / "requests"
            for number in range(self.options.rounds):
                runs, throttled = {}, 0
                # Nobody always comes first.
                names = list(ways)[number % len(ways):] + list(ways)[:number % len(ways)]
                for name in names:
                    before = times_throttled(group)
                    summary = self.launch(
                        [ways[name][0], folder, *ways[name][1:], "--requests", requests, "--rate", rate,
                         "--seed", 1000 + number, "--output", file, "--swap", *SWAPPED], quota, group)
                    summary["throttled"] = times_throttled(group) - before + summary["stops"]
                    runs[name] = Run.read(summary, file, self.options.device)
                    print(f"  round {number + 1}, {name}: p99.9 {runs[name].quantile(0.999) / 1000:.1f} ms, maximum "
                          f"{runs[name].quantile(1) / 1000:.1f} ms, {summary['plans']} plans", file=sys.stderr, flush=True)
                done.append({name: runs[name] for name in ways})
        faults = sum(run.summary["major_faults"] for each in done for run in each.values())
        if faults:
            notes.append(f"{faults} page faults waited for a disk, which may be what a latency is")
        return done

    def scenario(self, quota, notes):
        if quota is None:
            return self.rounds(WAYS, None, None, notes)
        with contextlib.ExitStack() as stack:
            try:
                group = stack.enter_context(cgroup(quota, self.processors, notes))
            except NoQuota as reason:
                notes.append(f"no cgroup ({reason}): stopped and continued instead")
                group = None
            return self.rounds(LIMITED, quota, group, notes)

    def report(self):
        options = self.options
        yield (f"Machine: {machine()}. Commit: {commit()}. {self.threads} threads serve, device {options.device}. Medians of {options.rounds} "
               f"rounds, of requests to ten models, from a cold start; {' and '.join(SWAPPED)} are replaced in the "
               f"middle. Latencies in ms from the time a request was due; `x` is the ratio to hearth "
               f"without its compiler. `steady x`: the time a request takes once it is taken up (on the CPU, of its processor), "
               f"in the last fifth, geometric mean over models and kinds of requests. `steady after`: seconds until "
               f"requests take no longer than they do at the end. `bailouts`: calls that plans left to the baseline.")
        pictures = []
        for name, quota in self.scenarios():
            print(f"{name} ...", file=sys.stderr, flush=True)
            notes = []
            rounds = self.scenario(quota, notes)
            notes += steady_by_model(rounds)
            notes += swaps_by_model(rounds)
            header = ["way", "p50", "p99", "p99.9", "max", "x p50", "x p99", "x p99.9", "x max", "steady x",
                      "steady after", "plans", "bailouts", "processors", "of them compiling", "times throttled"]
            yield f"### {name}\n\n" + table(header, rows(rounds)) + "\n\n" + "\n".join(f"- {note}." for note in notes)
            pictures.append((name, rounds[0]))
        if options.picture:
            options.picture.write_text(draw(pictures))

    def scenarios(self):
        known = {"free": None}
        for share in self.options.quota:
            known[f"quota of {share * self.threads:g} processors"] = share * self.threads
        return [(name, quota) for name, quota in known.items() if quota is not None or not self.options.no_free]


def times_throttled(group) -> int:
    if group is None:
        return 0
    return int(dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())["nr_throttled"])


def steady_ratio(each, way, model=None):
    """How long requests take at the end of a round, to one model or to all, by what they take without the compiler."""
    own, off = each[way].steady_service(), each[OFF].steady_service()
    return statistics.geometric_mean(own[kind] / off[kind] for kind in own.keys() & off.keys() if model in (None, kind[0]))


def steady_by_model(rounds):
    names = rounds[0][OFF].summary["models"]
    for way in rounds[0]:
        if way != OFF:
            figures = (statistics.median(steady_ratio(each, way, number) for each in rounds) for number in range(len(names)))
            yield f"steady x, {way}: " + ", ".join(f"{name} {figure:.2f}" for name, figure in zip(names, figures))


def swaps_by_model(rounds):
    """How long a model was loaded and made warm beside the one that it replaced."""
    for way in rounds[0]:
        took, late = collections.defaultdict(list), 0
        for each in rounds:
            for name, began, swapped in each[way].summary["swaps"] or []:
                took[name].append(swapped - began)
                late += swapped > each[way].due[-1]
        figures = ", ".join(f"{name} {statistics.median(values):.2f}" for name, values in sorted(took.items()))
        after = f"; {late} of {sum(map(len, took.values()))} came after the last request" if late else ""
        yield f"seconds to a swap, {way}: {figures}{after}"


def rows(rounds):
    def median(way, figure):
        return statistics.median(figure(each[way]) for each in rounds)

    parts = (0.5, 0.99, 0.999, 1)
    quantiles = {way: [median(way, lambda run: run.quantile(part)) for part in parts] for way in rounds[0]}
    made = []
    for way, figures in quantiles.items():
        made.append([way, *(f"{figure / 1000:.2f}" for figure in figures),
                     *(f"{figure / off:.2f}" for figure, off in zip(figures, quantiles[OFF])),
                     f"{statistics.median(steady_ratio(each, way) for each in rounds):.2f}",
                     f"{median(way, Run.seconds_to_steady):.1f}",
                     f"{median(way, lambda run: run.summary['plans']):.0f}",
                     f"{median(way, lambda run: run.summary['bailouts']):.0f}",
                     f"{median(way, lambda run: run.summary['processors']):.2f}",
                     f"{median(way, lambda run: run.summary['compiler_processors']):.2f}",
                     f"{median(way, lambda run: run.summary['throttled']):.0f}"])
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/bin/warmup_benchmark"))
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "benchmarks" / "warmup")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--load", type=float, default=0.6)
    parser.add_argument("--threads", type=int, default=0, help="that run models; 0: one a processor")
    parser.add_argument("--quota", type=float, nargs="*", default=[0.75], help="parts of those processors")
    parser.add_argument("--minutes", type=float, help="send fewer requests if it would take longer than about this")
    parser.add_argument("--no-free", action="store_true", help="under the quotas only")
    parser.add_argument("--capacity-seconds", type=float, default=3)
    parser.add_argument("--quick", action="store_true", help="two rounds of 1200 requests: about a minute")
    parser.add_argument("--picture", type=pathlib.Path, help="an SVG of the first round's latencies over time")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    if options.quick:
        options.requests, options.rounds, options.capacity_seconds = 1200, 2, 1
    if not any(options.work.glob("*/inputs.pt")):
        make_apart(make_archives, options.work, "warmup")
    tell(Benchmark(options).report(), options.output)


if __name__ == "__main__":
    main()
