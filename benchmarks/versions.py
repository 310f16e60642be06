#!/usr/bin/env python3
"""How fast plans answer beside those of another build, on small programs of which much is the making of tensors:

    python -m benchmarks.versions --before OTHER/bin/model_benchmark [--after build/release/bin/model_benchmark]
                [--programs layers ...] [--traffic one many large] [--tier plan] [--rounds N] [--milliseconds MS]

One thread. Round by round both builds take a turn on the same inputs, in an order that is drawn anew; a turn's figure
is the median of its calls, and a ratio is how many times as long the other build takes (ratios.py). Traffic is batches
of one size, of 32 sizes in turn, or of three small ones and then a large one. Whole models: models.py --before.
"""

import argparse
import pathlib
import random
import statistics
import sys
import tempfile

import torch
from torch import nn

from benchmarks import ROOT
from benchmarks.engines import Process
from benchmarks.ratios import cell, ratios, slower
from benchmarks.run import machine, table
from integration_tests.networks import SEED


class Elementwise(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        a = torch.sigmoid(x)
        b = a + y
        c = torch.tanh(b) * a
        d = torch.exp(c) - b
        return torch.maximum(d, c) * x + y


class Gate(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.value = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.value(x) * torch.sigmoid(self.gate(x)) + x


def layers(count, width):
    return nn.Sequential(*[layer for _ in range(count) for layer in (nn.Linear(width, width), nn.ReLU())])


# What makes a module, how wide its inputs are, and how many it has.
PROGRAMS = {
    "elementwise": (Elementwise, 16, 2),
    "layers": (lambda: layers(12, 32), 32, 1),
    "gated": (lambda: nn.Sequential(*[Gate(64) for _ in range(6)]), 64, 1),
}
TRAFFIC = {"one": [16], "many": list(range(2, 34)), "large": [12, 12, 12, 2000]}


def measure(archive, inputs, options):
    """The medians of every round, in microseconds, before and after."""
    engine = f"hearth:{options.tier}"
    times = [[], []]
    with Process([options.before], 1, archive, inputs, [engine]) as before, \
            Process([options.after], 1, archive, inputs, [engine]) as after:
        for _ in range(options.rounds):
            for turn in random.sample([0, 1], 2):
                times[turn].append((before, after)[turn].time(engine, options.milliseconds) * 1e3)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", default=str(ROOT / "build" / "release" / "bin" / "model_benchmark"))
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS), metavar="PROGRAM")
    parser.add_argument("--traffic", nargs="+", choices=TRAFFIC, default=list(TRAFFIC))
    parser.add_argument("--tier", choices=["plan", "auto"], default="plan")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--milliseconds", type=float, default=40)
    options = parser.parse_args()
    torch.manual_seed(SEED)
    random.seed(SEED)
    rows, by_name = [], {}
    with tempfile.TemporaryDirectory() as folder:
        archive, inputs = pathlib.Path(folder) / "model.pt", pathlib.Path(folder) / "inputs.pt"
        for name in options.programs:
            make, width, count = PROGRAMS[name]
            torch.jit.script(make().eval()).save(str(archive))
            for traffic in options.traffic:
                torch.save([tuple(torch.randn(batch, width) for _ in range(count))
                            for batch in TRAFFIC[traffic]], inputs)
                before, after = measure(archive, inputs, options)
                rounds = by_name[f"{name} {traffic}"] = ratios(before, after)
                rows.append([name, traffic, f"{statistics.median(before):.2f}", f"{statistics.median(after):.2f}",
                             cell([rounds])])
                print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    print(f"Machine: {machine()}. {options.rounds} rounds of {options.milliseconds:g} ms a build.\n")
    print(table(["program", "traffic", "before, µs", "after, µs", "before by after"], rows))
    print("\n" + slower("before", by_name))


if __name__ == "__main__":
    main()
