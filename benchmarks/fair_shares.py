#!/usr/bin/env python3
"""How long the requests of one client take while others flood another model:

    .venv/bin/python -m benchmarks.fair_shares [--hearth build/release/bin/hearthd] [--clients 64] [--output FILE.md]

hearthd serves two models of which a call keeps one processor busy. One has a single client, the other none or many, each
of which asks again when it has its answer (rest_clients.py). Measured with fair shares, and with so many runs at once
that none waits for a slot: threads are then given to requests in the order in which they come.
"""

import argparse
import concurrent.futures
import functools
import pathlib
import statistics
import sys

from benchmarks import ROOT
from benchmarks.busy_models import Work, save_models
from benchmarks.rest_clients import load
from benchmarks.run import commit, machine, table
from benchmarks.served_gpu import Server, message_for, run

FLOODED = Work("flooded", 20)
OTHERS = [Work("other_1_ms", 1), Work("other_20_ms", 20)]
ORDERS = {"order of arrival": ["--max-running-requests", 1_000_000], "fair shares": []}


class Benchmark:
    def __init__(self, options):
        self.options = options
        self.notes = []

    def side_by_side(self, server, other):
        """The load of the one client, and that of the flood."""
        messages = {name: message_for(self.options.work / name) for name in (FLOODED.name, other.name)}
        with concurrent.futures.ThreadPoolExecutor() as pool:
            flood = pool.submit(load, server.port, messages[FLOODED.name], self.options.clients,
                                seconds=self.options.seconds + 2)
            one = pool.submit(load, server.port, messages[other.name], 1, seconds=self.options.seconds)
            return one.result(), flood.result()

    def rows(self, order, flags):
        server = Server([self.options.hearth, "--model-repository", self.options.work, "--grpc-port", 0, "--http-port",
                         0, "--metrics-port", 0, "--operator-threads", 1, *flags])
        try:
            for work in (FLOODED, *OTHERS):
                load(server.port, message_for(self.options.work / work.name), 4, seconds=self.options.warm_up)
            for other in OTHERS:
                alone = load(server.port, message_for(self.options.work / other.name), 1, seconds=self.options.seconds)
                rounds = [self.side_by_side(server, other) for _ in range(self.options.rounds)]
                if any(each.failed for pair in rounds for each in pair):
                    self.notes.append(f"{order}, {other.name}: requests failed")
                p50, p99 = (statistics.median(one.quantile(part) for one, _ in rounds) * 1e3 for part in (0.5, 0.99))
                yield [order, f"{other.milliseconds:g} ms", f"{alone.quantile(0.5) * 1e3:.1f}",
                       f"{alone.quantile(0.99) * 1e3:.1f}", f"{p50:.1f}", f"{p99:.1f}",
                       f"{statistics.median(one.rate for one, _ in rounds):.0f}",
                       f"{statistics.median(flood.rate for _, flood in rounds):.0f}"]
                print(order, other.name, f"{p99:.1f} ms", file=sys.stderr, flush=True)
        finally:
            server.stop()

    def report(self):
        options = self.options
        yield (f"Machine: {machine()}. Commit: {commit()}. One client of a model beside {options.clients} of a model of "
               f"{FLOODED.milliseconds:g} ms a call. Medians of {options.rounds} rounds of {options.seconds:g} s; "
               "latencies in ms.")
        columns = ["threads are given in", "a call takes", "p50 alone", "p99 alone", "p50 in the flood",
                   "p99 in the flood", "a second", "the flood's a second"]
        yield table(columns, [row for order, flags in ORDERS.items() for row in self.rows(order, flags)])
        if self.notes:
            yield "\n".join(f"- {note}." for note in self.notes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hearth", type=pathlib.Path, default=ROOT / "build/release/bin/hearthd")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--warm-up", type=float, default=2)
    parser.add_argument("--output", type=pathlib.Path)
    run(Benchmark(parser.parse_args()), "fair_shares", functools.partial(save_models, works=[FLOODED, *OTHERS]))


if __name__ == "__main__":
    main()
