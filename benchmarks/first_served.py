#!/usr/bin/env python3
"""What the first requests to a fresh daemon take on a GPU, with warm-up samples in its configuration and without:

    python3 -m benchmarks.first_served [--hearth dist] [--models resnet50 bert_base] [--clients 4] [--requests 1000]
              [--rounds N] [--output FILE.md]

In each round hearthd is started anew and asked by some clients at once as soon as it is ready, over HTTP with binary
tensors, batch 1. After so many requests as `--requests` it is asked until its plans and recordings are made, and then so
many again: `steady`. Random weights.
"""

import os
import shutil
import statistics
import sys
import time

import torch

from benchmarks.rest_clients import load
from benchmarks.run import commit, machine, table
from benchmarks.served_gpu import DTYPE, TOLERANCE, difference, gpu, hearthd, input_names, message_for, parser, run

SAMPLE_TYPES = {"float16": "TYPE_FP16", "int64": "TYPE_INT64"}


def write_warm_up(folder, file):
    """A configuration with a sample of the request's sizes."""
    inputs = torch.load(folder / "inputs.pt", weights_only=True)
    samples = [f'  inputs {{ key: "{name}" value {{ data_type: {SAMPLE_TYPES[str(value.dtype).removeprefix("torch.")]} '
               f'dims: {list(value.shape)} random_data: true }} }}\n' for name, value in zip(input_names(folder), inputs)]
    file.write_text(f'model_warmup {{\n  name: "a request"\n{"".join(samples)}  count: 4\n}}\n')


class Benchmark:
    def __init__(self, options):
        self.options = options
        self.notes = []

    def run(self, name, warm, number):
        """(seconds until it was ready, its first requests, its later ones)."""
        options, folder = self.options, self.options.work / name
        repository = options.work / f"repository-{name}-{number}-{warm}"
        shutil.copytree(folder / "1", repository / name / "1", copy_function=os.link)
        if warm:
            write_warm_up(folder, repository / name / "config.pbtxt")
        message = message_for(folder)
        began = time.monotonic()
        server = hearthd(options, repository)
        ready = time.monotonic() - began
        try:
            first = load(server.port, message, options.clients, requests=options.requests)
            load(server.port, message, options.clients, seconds=options.until_steady)
            steady = load(server.port, message, options.clients, requests=options.requests)
            if not difference(server.port, message, folder) <= TOLERANCE:
                self.notes.append(f"{name}: answers otherwise than eager torch")
        finally:
            server.stop()
        if failed := first.failed + steady.failed:
            self.notes.append(f"{name}: {failed} requests failed")
        return ready, first, steady

    def report(self):
        options = self.options
        yield (f"Machine: {machine()}{gpu(options.device)}. Commit: {commit()}. {DTYPE}, batch 1, "
               f"{options.clients} clients. Medians of {options.rounds} rounds in fresh daemons; latencies in ms. `x p99`: of the first "
               f"{options.requests}, by that of the steady ones.")
        rows = []
        for name in options.models:
            for warm in (False, True):
                try:
                    runs = [self.run(name, warm, number) for number in range(options.rounds)]
                except Exception as error:
                    self.notes.append(f"{name}: {type(error).__name__}: {error}")
                    continue

                def median(figure):
                    return statistics.median(figure(*run) for run in runs)

                cells = [median(lambda ready, first, steady, of=of, part=part: 1e3 * (first, steady)[of].quantile(part))
                         for of in (0, 1) for part in (0.5, 0.99, 1)]
                ratio = median(lambda ready, first, steady: first.quantile(0.99) / steady.quantile(0.99))
                rows.append([name, "yes" if warm else "no", f"{median(lambda ready, first, steady: ready):.1f}",
                             *(f"{cell:.2f}" for cell in cells), f"{ratio:.2f}"])
                print(" ".join(rows[-1]), file=sys.stderr, flush=True)
        yield table(["model", "model_warmup", "ready after, s", f"first {options.requests}: p50", "p99", "max",
                     "steady: p50", "p99", "max", "x p99"], rows)
        if self.notes:
            yield "\n".join(f"- {note}." for note in self.notes)


def main():
    options_of = parser(__doc__)
    options_of.add_argument("--clients", type=int, default=4)
    options_of.add_argument("--requests", type=int, default=1000)
    options_of.add_argument("--rounds", type=int, default=3)
    options_of.add_argument("--until-steady", type=float, default=8, help="seconds of requests in between")
    run(Benchmark(options_of.parse_args()), "first_served")


if __name__ == "__main__":
    main()
