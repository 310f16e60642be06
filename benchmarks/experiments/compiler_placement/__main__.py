#!/usr/bin/env python3
"""May the background compiler be a thread of the daemon? Runs compiler_placement and prints its tables in Markdown:

    python -m benchmarks.experiments.compiler_placement [--program "dist/run compiler_placement"] [--models mlp ...] [--scenarios free ...]

Two processors serve (the first two that this process may use, on different cores where there is a choice; taskset
chooses others). In every scenario a fresh process goes through all placements of the compiler in turn, round by round;
a figure is the median over the rounds, and what counts is the ratio to the window without a compiler. A quota is a
cgroup's (version 2 or 1, or a scope of systemd's), which is tried out first; a scenario whose quota cannot be had is
left out, and the output says so. The archives are made here, by torch and torchvision, with random weights.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys

from benchmarks import ROOT
from benchmarks.quota import NoQuota, busy_processes, cgroup
from benchmarks.run import machine, table
from benchmarks.sections import make_apart, tell

ALONE = "none"
# As compiler_placement.cpp reads them.
PACED = ["thread:idle:20:passes", "thread:idle:20:anywhere", "process:idle:20:anywhere"]
SLOWER = ["thread:idle:5:passes", "process:idle:5:anywhere"]
FREE = [ALONE, "thread:idle", "process:idle", "thread:nice", "process:nice", *PACED]
LIMITED = [ALONE, "thread:idle", "process:idle", *PACED]
# Where others are busy, what is idle gets no processor: nice 19 shows what a compiler that hardly runs does.
BESIDE_OTHERS = [ALONE, "thread:idle", "process:idle", "thread:nice", "process:nice", "thread:nice:20:anywhere",
                 "process:nice:20:anywhere"]


@dataclasses.dataclass(frozen=True)
class Scenario:
    placements: list
    quota: float | None = None  # in processors
    neighbours: bool = False  # whether a busy process of normal priority is on either processor too
    environment: dict = dataclasses.field(default_factory=dict)


SCENARIOS = {
    "free": Scenario(FREE),
    "quota-150": Scenario(LIMITED + SLOWER, quota=1.5),
    "quota-100": Scenario(LIMITED + SLOWER, quota=1.0),
    "neighbours": Scenario(BESIDE_OTHERS, neighbours=True),
    # All threads of a process allocate under one lock.
    "one-arena": Scenario(LIMITED, environment={"MALLOC_ARENA_MAX": "1"}),
}
MODELS = {
    "mlp": "MLP 256-512-512-16, batch 8",
    "resnet18_64": "resnet18, one image of 64 x 64",
    "resnet18": "resnet18, one image of 224 x 224",
}


def make_archives(folder: pathlib.Path):
    """NAME.pt and NAME-inputs.pt for every model."""
    import torch
    import torchvision

    torch.manual_seed(0)
    linear, relu = torch.nn.Linear, torch.nn.ReLU
    mlp = torch.nn.Sequential(linear(256, 512), relu(), linear(512, 512), relu(), linear(512, 16))
    resnet = torchvision.models.resnet18(weights=None)
    folder.mkdir(parents=True, exist_ok=True)
    for name, model, inputs in (("mlp", mlp, torch.rand(8, 256)), ("resnet18_64", resnet, torch.rand(1, 3, 64, 64)),
                                ("resnet18", resnet, torch.rand(1, 3, 224, 224))):
        torch.jit.script(model.eval()).save(str(folder / f"{name}.pt"))
        torch.save((inputs,), str(folder / f"{name}-inputs.pt"))


def two_processors():
    """Two that this process may use, not of one core if that can be."""
    allowed = sorted(os.sched_getaffinity(0))
    siblings = pathlib.Path(f"/sys/devices/system/cpu/cpu{allowed[0]}/topology/thread_siblings")
    together = int(siblings.read_text().replace(",", ""), 16) if siblings.exists() else 0
    others = [cpu for cpu in allowed[1:] if not together >> cpu & 1] or allowed[1:]
    if not others:
        sys.exit("compiler_placement: needs two processors, may use one")
    return [allowed[0], others[0]]


def described(placement: str) -> str:
    """thread:idle:20:passes in words."""
    if placement == ALONE:
        return placement
    where, priority, *pace = placement.split(":")
    words = [where, {"idle": "SCHED_IDLE", "nice": "nice 19"}[priority]]
    if pace:
        words += [f"{pace[0]} %", {"passes": "rests between passes", "anywhere": "rests anywhere"}[pace[1]]]
    return ", ".join(words)


class Benchmark:
    def __init__(self, options):
        self.options = options
        self.program = shlex.split(options.program)
        self.processors = two_processors()

    def windows(self, model: str, scenario: Scenario, group=None, prefix=()):
        command = [*prefix, *self.program, self.options.work / f"{model}.pt", self.options.work / f"{model}-inputs.pt",
                   *scenario.placements, "--rounds", self.options.rounds, "--seconds", self.options.seconds, "--load",
                   self.options.load]
        if group is not None:
            command += ["--cpu-stat", group / "cpu.stat"]

        def enter():
            os.sched_setaffinity(0, self.processors)
            if group is not None:
                (group / "cgroup.procs").write_text("0")

        # One thread works on one request: two requests at once use two processors.
        environment = {**os.environ, "OMP_NUM_THREADS": "1", **scenario.environment}
        with busy_processes(self.processors if scenario.neighbours else []):
            done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, env=environment,
                                  preexec_fn=enter, check=True)
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def measure(self, model: str, scenario: Scenario, notes: list):
        if scenario.quota is None:
            return self.windows(model, scenario)
        try:
            with cgroup(scenario.quota, self.processors, notes) as group:
                return self.windows(model, scenario, group)
        except NoQuota as reason:
            if not shutil.which("systemd-run") or not pathlib.Path("/run/systemd/system").exists():
                raise NoQuota(f"{reason}; systemd does not run here") from reason
            notes.append(f"no cgroup of our own ({reason}); a scope of systemd's, not tried out")
            scope = ["systemd-run", "--scope", "--quiet", "-p", f"CPUQuota={scenario.quota:.0%}", "--"]
            return self.windows(model, scenario, prefix=scope)

    @staticmethod
    def rows(scenario: str, windows):
        def median(placement, key):
            return statistics.median(w[key] for w in windows if w["placement"] == placement)

        rows = []
        for placement in dict.fromkeys(w["placement"] for w in windows):
            of_placement = {key: median(placement, key) for key in ("p50_us", "p99_us", "p999_us", "max_us")}
            ratio = {key: value / median(ALONE, key) for key, value in of_placement.items()}
            lock_wait = max(w["lock_wait_us"] for w in windows if w["placement"] == placement) / 1000
            rows.append([scenario, described(placement),
                         sum(w["requests"] for w in windows if w["placement"] == placement),
                         *(f"{value / 1000:.2f}" for value in of_placement.values()),
                         *(f"{ratio[key]:.2f}" for key in of_placement),
                         f"{median(placement, 'modules_per_second'):.1f}", f"{100 * median(placement, 'compiler_cpu'):.0f}",
                         f"{lock_wait:.2f}",
                         "" if SCENARIOS[scenario].quota is None else sum(
                             w["throttled"] for w in windows if w["placement"] == placement)])
        return rows

    def report(self):
        processors = ", ".join(map(str, self.processors))
        yield (f"Machine: {machine()}; processors {processors} serve. Medians of {self.options.rounds} rounds of "
               f"{self.options.seconds:g} s, the placements in turn; load {self.options.load:.0%} of what was reached "
               f"without a compiler in the same scenario. Latencies in ms from the time a request was due; `x` is the "
               f"ratio to the row without a compiler; `lock wait` is the longest in any round, of a thread that uses "
               f"what all threads share (under a quota it holds the times of being throttled too).")
        for model in self.options.models:
            rows, notes = [], []
            for scenario in self.options.scenarios:
                print(f"{model}, {scenario} ...", file=sys.stderr, flush=True)
                kept = []
                try:
                    windows = self.measure(model, SCENARIOS[scenario], kept)
                except NoQuota as reason:
                    notes.append(f"{scenario}: left out, {reason}.")
                    continue
                rows += self.rows(scenario, windows)
                serving = statistics.median(w["serving_cpu"] for w in windows if w["placement"] == ALONE)
                stretch = max(w["stretch_ms"] for w in windows)
                notes.append(f"{scenario}: capacity {windows[0]['capacity']:.0f} requests/s; serving alone took "
                             f"{serving:.0%} of a processor; the thread compiled for up to {stretch:.0f} ms between two "
                             f"passes" + "".join(f"; {note}" for note in kept) + ".")
            header = ["scenario", "compiler", "requests", "p50", "p99", "p99.9", "max", "x p50", "x p99", "x p99.9",
                      "x max", "modules/s", "% of a processor", "lock wait", "times throttled"]
            yield f"### {MODELS[model]}\n\n" + table(header, rows) + "\n\n" + "\n".join(f"- {note}" for note in notes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/bin/compiler_placement"))
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "benchmarks" / "placement")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["mlp", "resnet18_64"])
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.5, help="length of a window")
    parser.add_argument("--load", type=float, default=0.6)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    if not all((options.work / f"{model}-inputs.pt").exists() for model in MODELS):
        make_apart(make_archives, options.work, "compiler_placement")
    tell(Benchmark(options).report(), options.output)


if __name__ == "__main__":
    main()
