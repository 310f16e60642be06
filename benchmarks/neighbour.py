#!/usr/bin/env python3
"""What a model's clients see of another model that is loaded beside it:

    .venv/bin/python -m benchmarks.neighbour [--hearth build/release/bin/hearthd] [--before OLDER_HEARTHD] [--rounds 9]
            [--output FILE.md]

hearthd with no flags but its ports serves a model of which a call takes a millisecond, asked over HTTP evenly and at a part
of what it can answer. Beside it a large one of linear layers is loaded and warmed up once, or is loaded, warmed up and
unloaded over and over; and as what the machine itself does to clients then, another process loads the same archive with
torch.jit and calls it, over and over. These take turns with time in which nothing is loaded. A latency counts from when its
request was due; of the turn with one load, those count that were due while it was loaded. Ratios are to the turn without
loads just before. With --before, an older hearthd takes turns with the one that is measured.
"""

import argparse
import asyncio
import contextlib
import functools
import http.client
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

import torch
from torch import nn

from benchmarks import ROOT
from benchmarks.archives import save
from benchmarks.busy_models import Work, save_models
from benchmarks.overload import open_loop
from benchmarks.rest_clients import load
from benchmarks.run import commit, machine, table
from benchmarks.served_gpu import Server, message_for, run

SMALL = Work("small", 1)
WIDTH = 2048
WARMED_UP = f"""
input {{ name: "input" data_type: TYPE_FP32 dims: [ 1, {WIDTH} ] }}
model_warmup {{
  name: "w"
  inputs {{ key: "input" value {{ data_type: TYPE_FP32 dims: [ 1, {WIDTH} ] random_data: true }} }}
}}
"""
ELSEWHERE = """
import sys, torch
while True:
    model = torch.jit.load(sys.argv[1])
    for _ in range(2):
        model(torch.rand(1, int(sys.argv[2])))
    print(flush=True)
"""
WAYS = ("one load", "loads over and over", "loads in another process")


def make_models(folder, layers):
    save_models(folder, [SMALL])
    large = nn.Sequential(*[part for _ in range(layers) for part in (nn.Linear(WIDTH, WIDTH), nn.ReLU())])
    save(folder, "large", torch.jit.script(large.eval()), [torch.rand(1, WIDTH)])
    (folder / "large/config.pbtxt").write_text(WARMED_UP)


class Loader:
    """Begin and end of each load, by time.perf_counter()."""

    def __init__(self, port):
        self.loads = []
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)

    def ask(self, what):
        self._connection.request("POST", f"/v2/repository/models/large/{what}", "{}")
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{what}: {text!r}")

    def once(self):
        begin = time.perf_counter()
        self.ask("load")
        self.loads.append((begin, time.perf_counter()))
        self.ask("unload")

    def over_and_over(self, until):
        while time.perf_counter() < until:
            self.once()


class Elsewhere:
    """The archive loaded by another process, over and over."""

    def __init__(self, archive):
        command = [sys.executable, "-c", ELSEWHERE, archive, str(WIDTH)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._process.stdout.readline()  # what it does once is over

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


def processor_seconds(pid):
    """(of the machine, of the process and this one) so far."""
    ticks = os.sysconf("SC_CLK_TCK")
    user, nice, system, _, _, irq, softirq, steal = map(int, open("/proc/stat").readline().split()[1:9])
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    own = os.times()
    ours = (int(fields[11]) + int(fields[12])) / ticks + own.user + own.system
    return (user + nice + system + irq + softirq + steal) / ticks, ours


class Benchmark:
    def __init__(self, options):
        self.options = options
        self.notes = []
        self.others = []  # processors that others had while nothing was loaded
        self.load_seconds = {}  # of each hearthd

    def latencies(self, server, rate, work=None):
        """Of a turn, in whose midst `work` is done by another thread; and when the turn began."""
        begin = time.perf_counter()
        working = threading.Thread(target=work) if work else None
        if working:
            working.start()
        message = message_for(self.options.work / SMALL.name)
        [calls] = asyncio.run(open_loop(server.port, message, [(rate, self.options.seconds)]))
        if working:
            working.join()
        if any(call.status != 200 for call in calls):
            self.notes.append("requests failed")
        return begin, calls

    def without_loads(self, server, rate):
        began, before = time.perf_counter(), processor_seconds(server.process.pid)
        _, calls = self.latencies(server, rate)
        all_, ours = (now - then for now, then in zip(processor_seconds(server.process.pid), before))
        self.others.append((all_ - ours) / (time.perf_counter() - began))
        return [call.latency for call in calls]

    def turn(self, way, which, server, rate):
        loader = Loader(server.port)
        if way == "loads in another process":
            with Elsewhere(self.options.work / "large/1/model.pt"):
                return [call.latency for call in self.latencies(server, rate)[1]]
        if way == "loads over and over":
            until = time.perf_counter() + self.options.seconds
            _, calls = self.latencies(server, rate, lambda: loader.over_and_over(until))
            self.load_seconds[which] += [end - begin for begin, end in loader.loads]
            return [call.latency for call in calls]
        begin, calls = self.latencies(server, rate, lambda: (time.sleep(1), loader.once()))
        ((first, last),) = loader.loads
        self.load_seconds[which].append(last - first)
        return [call.latency for call in calls if first <= begin + call.due <= last]

    def measure(self, servers, rate):
        """{(way, which hearthd): the ratios of p50, p99 and maximum of each round}."""

        def figures(latencies):
            ordered = sorted(latencies)
            return [ordered[min(len(ordered) - 1, int(part * len(ordered)))] for part in (0.5, 0.99, 1)]

        ratios = {(way, which): [] for way in self.options.ways for which in servers}
        for number in range(self.options.rounds):
            for way, which in ratios:
                alone = figures(self.without_loads(servers[which], rate))
                during = figures(self.turn(way, which, servers[which], rate))
                ratios[way, which].append([one / other for one, other in zip(during, alone, strict=True)])
                print(number, way, which, *[f"{1e3 * value:.1f}" for value in (*alone, *during)], file=sys.stderr, flush=True)
        return ratios

    def start(self, stack, hearth):
        """A hearthd that serves the small model, warm."""
        server = Server([hearth, "--model-repository", self.options.work, "--grpc-port", 0, "--http-port", 0,
                         "--metrics-port", 0])
        stack.callback(server.stop)
        Loader(server.port).ask("unload")
        load(server.port, message_for(self.options.work / SMALL.name), 4, seconds=2)
        return server

    def report(self):
        options = self.options
        hearths = {"hearthd": options.hearth} | ({"before": options.before.resolve()} if options.before else {})
        self.load_seconds = {which: [] for which in hearths}
        with contextlib.ExitStack() as stack:
            servers = {which: self.start(stack, hearth) for which, hearth in hearths.items()}
            message = message_for(options.work / SMALL.name)
            rate = options.load * load(servers["hearthd"].port, message, 4, seconds=3).rate
            ratios = self.measure(servers, rate)
        size = (options.work / "large/1/model.pt").stat().st_size >> 20
        yield (f"Machine: {machine()}. Commit: {commit()}. An archive of {size} MiB; requests at {options.load:g} of the "
               f"capacity; medians of {options.rounds} rounds of {options.seconds:g} s. Others had "
               f"{statistics.median(self.others):.1f} processors while nothing was loaded. A load took "
               + ", ".join(f"{statistics.median(each):.2f} s ({which})" for which, each in self.load_seconds.items() if each) + ".")
        rows = [[*of, *(f"{statistics.median(each):.2f}" for each in zip(*rounds, strict=True))]
                for of, rounds in ratios.items()]
        yield table(["meanwhile", "by", "x p50", "x p99", "x maximum"], rows)
        if self.notes:
            yield "\n".join(f"- {note}." for note in sorted(set(self.notes)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hearth", type=pathlib.Path, default=ROOT / "build/release/bin/hearthd")
    parser.add_argument("--before", type=pathlib.Path, help="an older hearthd, beside its hearth-codegen")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help="what happens meanwhile")
    parser.add_argument("--layers", type=int, default=20, help="of the large model, 16 MiB each")
    parser.add_argument("--load", type=float, default=0.25, help="requests by what can be answered")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    run(Benchmark(options), "neighbour", functools.partial(make_models, layers=options.layers))


if __name__ == "__main__":
    main()
