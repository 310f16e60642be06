#!/usr/bin/env python3
"""How fast linear layers are by the format of their weight, which plans choose (jit/passes/weight_formats):

    python -m benchmarks.weight_formats [--threads 1 16] [--rounds N] [--output FILE.md]

LibTorch's own operators on random float32 numbers (plans call another oneDNN themselves): the weight as it is, transposed,
so that the elements of a column lie
side by side, and packed for oneDNN. Copies of a weight take turns, up to a dozen, so that it comes out of the caches no
sooner than in a model. Round by round the formats take turns in an order that is drawn anew; a figure is the median of
the rounds.
"""

import argparse
import pathlib
import random
import statistics
import time

import torch

from benchmarks.run import machine, table

# Rows, inputs and outputs: of a vision transformer, of BERT, of GPT-2, of small models, of a classifier, of Swin.
LAYERS = [(197, 768, 2304), (197, 768, 768), (197, 768, 3072), (197, 3072, 768), (128, 768, 768), (128, 768, 3072),
          (128, 3072, 768), (64, 768, 2304), (64, 768, 768), (64, 768, 3072), (64, 3072, 768), (32, 256, 256),
          (32, 256, 1024), (32, 1024, 256), (16, 768, 768), (1, 2048, 1000), (3136, 96, 288), (784, 192, 768),
          (784, 768, 192)]
SEED = 0
BYTES = 120e6  # of all copies
MOST_COPIES = 12


def times(rows, inputs, outputs, rounds):
    """By format, seconds of each round."""
    copies = max(2, min(MOST_COPIES, int(BYTES / (4 * inputs * outputs))))
    x, bias = torch.randn(rows, inputs), torch.randn(outputs)
    plain = [torch.randn(outputs, inputs) for _ in range(copies)]
    transposed = [weight.t().contiguous().t() for weight in plain]
    packed = [torch.ops.mkldnn._reorder_linear_weight(weight, None) for weight in plain]
    formats = {
        "as it is": lambda i: torch.nn.functional.linear(x, plain[i], bias),
        "transposed": lambda i: torch.nn.functional.linear(x, transposed[i], bias),
        "packed": lambda i: torch.ops.mkldnn._linear_pointwise(x, packed[i], bias, "none", [], None),
    }
    found, order = {name: [] for name in formats}, list(formats)
    for _ in range(rounds):
        random.shuffle(order)
        for name in order:
            formats[name](0)
            start = time.perf_counter()
            for i in range(copies):
                formats[name](i)
            found[name].append((time.perf_counter() - start) / copies)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, torch.get_num_threads()])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    torch.manual_seed(SEED)
    random.seed(SEED)
    rows = []
    with torch.inference_mode():
        for layer in LAYERS:
            cells = []
            for threads in options.threads:
                torch.set_num_threads(threads)
                found = times(*layer, options.rounds)
                plain, transposed, packed = (statistics.median(found[name]) for name in ("as it is", "transposed", "packed"))
                cells += [f"{plain * 1e6:.0f}", f"{plain / transposed:.2f}", f"{plain / packed:.2f}"]
            rows.append([*map(str, layer), *cells])
    header = ["rows", "inputs", "outputs"]
    for threads in options.threads:
        header += [f"{threads} thread{'s' if threads > 1 else ''}, µs", "transposed, times as fast", "packed, times as fast"]
    text = f"Machine: {machine()}. torch {torch.__version__}. {options.rounds} rounds.\n\n" + table(header, rows) + "\n"
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
