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

    def start(self, flags):
        return Server([self.options.hearth, "--model-repository", self.options.work, "--grpc-port", 0, "--http-port", 0,
                       "--metrics-port", 0, "--operator-threads", 1, *flags])

    def rows(self, servers, other):
        """One for each order; they take turns."""
        alone, rounds = {order: [] for order in servers}, {order: [] for order in servers}
        for _ in range(self.options.rounds):
            for order, server in servers.items():
                message = message_for(self.options.work / other.name)
                alone[order].append(load(server.port, message, 1, seconds=self.options.seconds))
                rounds[order].append(self.side_by_side(server, other))
        for order, pairs in rounds.items():
            if any(each.failed for pair in pairs for each in pair):
                self.notes.append(f"{order}, {other.name}: requests failed")

            def milliseconds(loads, part):
                return f"{statistics.median(each.quantile(part) for each in loads) * 1e3:.1f}"

            flooded = [one for one, _ in pairs]
            yield [f"{other.milliseconds:g} ms", order, milliseconds(alone[order], 0.5), milliseconds(alone[order], 0.99),
                   milliseconds(flooded, 0.5), milliseconds(flooded, 0.99),
                   f"{statistics.median(one.rate for one in flooded):.0f}",
                   f"{statistics.median(flood.rate for _, flood in pairs):.0f}"]

    def report(self):
        options = self.options
        yield (f"Machine: {machine()}. Commit: {commit()}. One client of a model beside {options.clients} of a model of "
               f"{FLOODED.milliseconds:g} ms a call. Medians of {options.rounds} rounds of {options.seconds:g} s; "
               "latencies in ms.")
        servers = {order: self.start(flags) for order, flags in ORDERS.items()}
        try:
            for server in servers.values():
                for work in (FLOODED, *OTHERS):
                    load(server.port, message_for(options.work / work.name), 4, seconds=options.warm_up)
            columns = ["a call takes", "threads are given in", "p50 alone", "p99 alone", "p50 in the flood",
                       "p99 in the flood", "a second", "the flood's a second"]
            yield table(columns, [row for other in OTHERS for row in self.rows(servers, other)])
        finally:
            for server in servers.values():
                server.stop()
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
