#!/usr/bin/env python3
"""How soon a process that starts again has its plans, where the one before has kept the code of fused kernels:

    python -m benchmarks.restart [--models NAME...] [--hearth dist] [--device cuda] [--rounds N] [--output FILE.md]

Each model of model_list.py is called once by `hearth run --tier 1`, which waits for the plan, in a process of its own on
one thread: without kernels (--no-fuse), with an empty --cache-dir, and once more with what that left there. `plan` is how
long making the plan took by the clock, kernels included; `kernels` how long of it went to having their code, as the log
says: made by the helper, which is started for the first one, and written; or read. Medians over the rounds. The archives are made here, with random weights.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

from benchmarks import ROOT
from benchmarks.run import commit, machine, table
from benchmarks.sections import make_apart, tell

MODELS = ["activation_block", "bert_small", "distilgpt", "vit_small", "swin_t", "lstm"]


def make_archives(folder: pathlib.Path):
    from benchmarks.archives import save
    from benchmarks.model_list import make

    names = (folder / "names").read_text().split()
    for name in names:
        made = make(name)
        save(folder, name, made.archive, made.inputs)


class Benchmark:
    def __init__(self, options):
        self.options = options
        self.hearth = [options.hearth / "run", "hearth"] if options.hearth.is_dir() else [options.hearth]

    def plan(self, name, *flags):
        """Seconds that making the plan took, and the milliseconds of each kernel that the process made and read."""
        folder = self.options.work / name
        command = [*self.hearth, "run", folder / "1" / "model.pt", "--inputs", folder / "inputs.pt", "--tier", "1",
                   "--device", self.options.device, "--explain", "--json", *flags]
        environment = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", HEARTH_LOG="fuser/kernel_table=debug")
        ran = subprocess.run([str(part) for part in command], env=environment, check=True, capture_output=True, text=True)
        seconds = sum(run.get("compile_seconds", 0) for run in json.loads(ran.stdout)["explanation"])
        made, read = ([float(time) for time in re.findall(f"a kernel was {how}: .* in (.*) ms", ran.stderr)]
                      for how in ("made", "read"))
        return seconds, made, read

    def row(self, name):
        without, cold, again = [], [], []
        for _ in range(self.options.rounds):
            with tempfile.TemporaryDirectory() as cache:
                without.append(self.plan(name, "--no-fuse"))
                cold.append(self.plan(name, "--cache-dir", cache))
                again.append(self.plan(name, "--cache-dir", cache))
        assert not any(made for _, made, _ in again), f"{name}: kernels were made again"
        plans = [statistics.median(run[0] for run in runs) * 1e3 for runs in (without, cold, again)]
        made, read = statistics.median(sum(run[1]) for run in cold), statistics.median(sum(run[2]) for run in again)
        return [name, len(cold[0][1]), *(f"{plan:.0f}" for plan in plans), f"{made:.1f}", f"{read:.2f}",
                f"{read / made:.4f}" if made > 0 else "–"]

    def report(self):
        yield (f"Machine: {machine()}. Commit: {commit()}. Device {self.options.device}. "
               f"Medians of {self.options.rounds} rounds, milliseconds, one thread.")
        yield table(["model", "kernels", "plan without kernels", "plan, nothing kept", "plan, kernels kept",
                     "kernels made", "kernels read", "ratio"], [self.row(name) for name in self.options.models])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hearth", type=pathlib.Path, default=ROOT / "build/release/bin/hearth",
                        help="the binary, or a folder of deploy/bundle's")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "benchmarks" / "restart")
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    (options.work / "names").write_text("\n".join(name for name in options.models if not (options.work / name).exists()))
    make_apart(make_archives, options.work, "restart")
    tell(Benchmark(options).report(), options.output)


if __name__ == "__main__":
    main()
