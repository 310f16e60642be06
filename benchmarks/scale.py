#!/usr/bin/env python3
"""How a model bears many kinds of arguments, and many threads. Runs scale_benchmark and prints its tables in Markdown:

    python -m benchmarks.scale [--program "dist/run scale_benchmark"] [--seconds 2] [--output FILE.md]

The archives are made here, by torch, with random weights.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import shlex
import statistics
import subprocess
import sys

from benchmarks import ROOT
from benchmarks.run import commit, machine, table



def make_archives(folder: pathlib.Path):
    import torch
    from torch import Tensor, nn

    class Three(nn.Module):
        def forward(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
            return torch.relu(x * 2 + y).sum() + (z - x.mean()).amax()

    torch.manual_seed(0)
    mlp = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16))
    folder.mkdir(parents=True, exist_ok=True)
    torch.jit.script(Three()).save(str(folder / "three.pt"))
    torch.jit.script(mlp.eval()).save(str(folder / "mlp.pt"))
    torch.save((torch.rand(2, 64),), str(folder / "mlp-inputs.pt"))


class Benchmark:
    def __init__(self, options):
        self.options = options
        self.program = shlex.split(options.program)

    def lines(self, *arguments):
        done = subprocess.run([*self.program, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True,
                              env={**os.environ, "OMP_NUM_THREADS": "1"})
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def specs(self) -> str:
        """Windows of 2000 kinds each; a call of a kind that is new, and of one that is called all the time."""
        rows = []
        for name, flags in (("compiler off", ["--off"]), ("compiler on", [])):
            for line in self.lines("specs", self.options.work / "three.pt", *flags):
                rows.append([name, line["kinds"], *(f"{line[key]:.1f}" for key in (
                    "new_p50", "new_p99", "hot_p50", "hot_p99", "hot_p999", "resident_mb")), line["held"], line["plans"],
                    line["compiled"]])
        return "### 10,000 kinds of arguments\n\n" + table(
            ["", "kinds so far", "new p50, µs", "new p99, µs", "hot p50, µs", "hot p99, µs", "hot p99.9, µs",
             "resident, MB", "kinds held", "plans held", "plans made"], rows)

    def threads(self) -> str:
        """The same calls by more and more threads; medians of the rounds."""
        rounds = [self.lines("threads", self.options.work / "mlp.pt", self.options.work / "mlp-inputs.pt", "--seconds",
                             self.options.seconds) for _ in range(self.options.rounds)]
        rows, single = [], {}
        for same in zip(*rounds):
            where, threads = same[0]["where"], same[0]["threads"]
            rate = statistics.median(line["calls_per_second"] for line in same)
            single.setdefault(where, rate)
            rows.append([{"callers": "in the thread that calls", "pool": "through the pool"}[where], threads, f"{rate:.0f}",
                         f"{rate / single[where]:.2f}",
                         f"{statistics.median(line['sleeps_per_1000'] for line in same):.2f}"])
        return "### One model, more and more threads\n\n" + table(
            ["calls run", "threads", "calls/s", "x one thread", "sleeps per 1000 calls"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/bin/scale_benchmark"))
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "benchmarks" / "scale")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1, help="for each number of threads")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    if not (options.work / "mlp-inputs.pt").exists():
        # A process of its own: torch's threads must not stay in one that forks.
        maker = multiprocessing.get_context("spawn").Process(target=make_archives, args=(options.work,))
        maker.start()
        maker.join()
        if maker.exitcode != 0:
            sys.exit("scale: the archives were not made")
    benchmark = Benchmark(options)
    sections = [f"Machine: {machine()}. Commit: {commit()}.", benchmark.specs(), benchmark.threads()]
    print("\n\n".join(sections))
    if options.output:
        options.output.write_text("\n\n".join(sections) + "\n")


if __name__ == "__main__":
    main()
