"""How near to the processor's limit the networks are that are written by hand, on one thread:

    python -m benchmarks.ceilings [--rounds N] [--milliseconds MS] [--output FILE.md]

Operations are those of products and convolutions, as torch counts them. The limit is measured between the rounds. What
else there is, side by side: `python -m benchmarks.models --rivals ... ceiling:channels_last ceiling:blocked`."""

import argparse
import pathlib
import statistics

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.ceilings.engine import Ceiling, peak
from benchmarks.engines import distance
from benchmarks.model_list import make
from benchmarks.models import TOLERANCE
from benchmarks.run import machine, table
from benchmarks.sections import tell

MODELS = ["resnet50", "mobilenet_v3_large", "vit_small", "mlp_16_layers"]
LAYOUTS = ["channels_last", "blocked"]


def operations(made):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        made.module(*made.inputs)
    return counter.get_total_flops()


def report(options):
    torch.set_num_threads(1)
    rows, peaks = [], []
    for name in MODELS:
        made = make(name)
        engines = {layout: Ceiling(made.module, made.inputs, layout) for layout in LAYOUTS}
        with torch.no_grad():
            expected = made.module(*made.inputs)
        for layout, engine in engines.items():
            if (far := distance(engine.answer, expected)) > TOLERANCE["float32"]:
                raise SystemExit(f"{name}, {layout}: answers otherwise than torch, by {far:.2g} of the largest number")
        times = {layout: [] for layout in LAYOUTS}
        for _ in range(options.rounds):
            peaks.append(peak())
            for layout, engine in engines.items():
                times[layout].append(engine.time(options.milliseconds))
        count = operations(made)
        for layout in LAYOUTS:
            milliseconds = statistics.median(times[layout])
            rows.append([name, layout, f"{milliseconds:.4g}", f"{count / 1e9:.4g}", f"{count / milliseconds / 1e6:.0f}"])
    most = statistics.median(peaks)
    for row in rows:
        row.append(f"{float(row[-1]) / most:.0%}")
    yield (f"### Networks written by hand, one thread\n\nMachine: {machine()}. {options.rounds} rounds of "
           f"{options.milliseconds:.0f} ms. At most {most:.0f} GFLOP/s.\n\n" +
           table(["model", "layout", "ms", "GFLOP", "GFLOP/s", "of the limit"], rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--milliseconds", type=float, default=500)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    tell(report(options), options.output)


if __name__ == "__main__":
    main()
